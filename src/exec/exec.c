/* exec: carries out the instructions of a plan. */
#include "base/arena.h"
#include "exec/exec_device.h"
#include "exec/exec_faults.h"
#include "exec/exec_ranges.h"
#include "exec/exec_records.h"
#include "exec/exec_written.h"
#include "plan/plan_control.h"
#include "rt/bell.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening */

static uint32_t *make_labels(struct rt_job *job, const struct plan_labels *l)
{
	uint32_t *label = mem_zalloc(sizeof *label * (l->n + 1));
	for (uint32_t i = 0; i < l->n; i++)
		if (*l->at[i].statement)
			label[i] = rt_label_add(job, l->at[i].statement, l->at[i].where);
	return label;
}

static enum status open_teams(struct exec *e)
{
	for (uint32_t i = 0; i < e->p->team.n; i++) {
		const struct plan_team *t = &e->p->team.at[i];
		enum status status =
		    rt_transport_team(e->transport, (const int *)t->rank, (int)t->n, &e->team[i]);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static enum status open_pairs(struct exec *e)
{
	plan_pairs found = {0};
	plan_pairs_find(e->p, &found);
	enum status status = exec_device_pairs(e->transport, &found);
	vec_free(&found);
	return status;
}

static enum status allocate_buffers(struct exec *e)
{
	const struct plan *p = e->p;
	void *memory = NULL, *heap = NULL;
	enum status status = rt_transport_heap(e->transport, e->device, p->heap_piece.at, p->heap_piece.n,
	                                       "symmetric buffers", &heap);
	e->heap = heap;
	if (status == STATUS_OK)
		status =
		    rt_transport_alloc(e->transport, e->device,
		                       (size_t)(heap ? p->bytes - p->heap : p->bytes), "buffers", &memory);
	e->memory = memory;
	return status;
}

/* Finds the addresses of the slots. Slots of symmetric views are in the peers' memory. */
static enum status find_slots(struct exec *e)
{
	const struct plan *p = e->p;
	for (uint32_t k = 0; k < p->buffer.n; k++) {
		const struct plan_buffer *b = &p->buffer.at[k];
		const struct plan_team *t = b->view ? &p->team.at[b->team] : NULL;
		if (t && t->n == 1)
			e->slot[b->first_slot] = exec_at(e, p->buffer.at[b->of].heap_at);
		else if (t && b->block_bytes) {
			void *at;
			enum status status = rt_transport_side_by_side(
			    e->transport, (const int *)t->rank, (int)t->n,
			    (size_t)p->buffer.at[b->of].heap_at, (size_t)b->block_bytes, &at);
			if (status != STATUS_OK)
				return status;
			e->slot[b->first_slot] = at;
		}
		for (uint32_t s = b->first_slot; s < b->first_slot + (uint32_t)b->slots && !t; s++)
			e->slot[s] = exec_at(e, p->slot.at[s]);
	}
	return STATUS_OK;
}

enum status exec_open(struct rt_job *job, const struct plan *p, const struct plan_labels *labels,
                      const struct exec_options *o, struct exec **out)
{
	struct exec *e = mem_zalloc(sizeof *e);
	e->p = p;
	e->job = job;
	e->reg = mem_zalloc(sizeof *e->reg * p->reg.n);
	memcpy(e->reg, p->reg.at, sizeof *e->reg * p->reg.n);
	e->touched = mem_zalloc(p->slot.n + 1);
	e->packs = mem_zalloc(p->pack.n + 1);
	e->slot = mem_zalloc(sizeof *e->slot * (p->slot.n + 1));
	e->staging = mem_zalloc(sizeof *e->staging * (p->buffer.n + 1));
	e->team = mem_zalloc(sizeof *e->team * (p->team.n + 1));
	e->handle = mem_zalloc(sizeof *e->handle * (p->handles + 1));
	e->queue = mem_zalloc(sizeof *e->queue * (p->queues + 1));
	e->label = make_labels(job, labels);
	e->statements = labels->n + 1;
	e->status = exec_device_open(job, o, p->heap > 0, &e->device, &e->transport);
	if (e->status == STATUS_OK)
		e->status = open_teams(e);
	if (e->status == STATUS_OK && strcmp(o->device, "cuda") == 0)
		e->status = open_pairs(e);
	if (e->status == STATUS_OK)
		e->status = allocate_buffers(e);
	if (e->status == STATUS_OK)
		e->status = find_slots(e);
	if (e->status == STATUS_OK)
		e->status = exec_ranges_open(job, labels, o->ranges, &e->ranges);
	if (e->status == STATUS_OK)
		e->status = exec_faults_open(job, p, labels, o->fault, o->faults, &e->faults);
	if (e->status == STATUS_OK)
		e->status = rt_engine_new(job, o->engine, e->device, e->transport, &e->engine);
	if (e->status == STATUS_OK)
		e->device->is_awaited = o->sync;
	if (e->status == STATUS_OK && o->adversary)
		e->status = rt_engine_set_adversary(e->engine, o->adversary);
	if (e->status != STATUS_OK) {
		enum status status = rt_job_fail(job, e->status);
		exec_close(e);
		return status;
	}
	exec_records_make(e);
	e->follows = o->follow_writes;
	if (e->follows)
		e->written = exec_written_new(e);
	e->marks = exec_marks_new(p, o->marks, o->mark_n);
	e->current = rt_stream_new(e->engine, "main");
	*out = e;
	return STATUS_OK;
}

void exec_close(struct exec *e)
{
	if (!e)
		return;
	if (e->graph)
		rt_graph_free(e->engine, e->graph);
	rt_engine_free(e->engine);
	exec_ranges_close(e->ranges);
	exec_faults_close(e->faults);
	exec_written_free(e->written);
	free(e->counted);
	if (e->device) {
		rt_transport_free(e->transport, e->device, e->memory); /* releases ranks that wait */
		for (uint32_t k = 0; k < e->p->buffer.n; k++)
			if (e->staging[k])
				e->device->ops->async->staging_free(e->device, e->staging[k]);
		assert(e->device->ops->async ||
		       e->device->bytes_now == 0); /* asynchronous devices: libraries may still hold memory */
	}
	rt_transport_close(e->transport);
	rt_device_close(e->device);
	for (uint32_t i = 0; i < e->p->queues; i++)
		free(e->queue[i].at);
	free(e->reg);
	free(e->touched);
	free(e->packs);
	free(e->slot);
	free(e->staging);
	exec_records_free(e);
	free(e->team);
	free(e->handle);
	free(e->packing);
	exec_marks_free(e->marks);
	free(e->queue);
	free(e->label);
	free(e);
}

enum status exec_trace(struct exec *e, struct rt_tracer *t)
{
	return rt_engine_trace(e->engine, t);
}

/* ---- memory, as the host sees it */

static size_t slot_bytes(const struct exec *e, uint32_t buffer)
{
	const struct plan_buffer *b = &e->p->buffer.at[buffer];
	return b->view ? (size_t)e->p->team.at[b->team].n * (size_t)b->block_bytes : (size_t)b->slot_bytes;
}

void *exec_memory(struct exec *e, uint32_t buffer)
{
	const struct plan_buffer *b = &e->p->buffer.at[buffer];
	const struct rt_async_ops *own = e->device->ops->async;
	e->touched[b->first_slot] = true;
	e->contents[b->contents]++; /* the caller may write to it */
	if (!own)
		return e->slot[b->first_slot];
	if (!e->staging[buffer] &&
	    own->staging_new(e->device, slot_bytes(e, buffer), b->what, &e->staging[buffer]) != STATUS_OK)
		return NULL;
	return e->staging[buffer];
}

enum status exec_upload(struct exec *e, uint32_t buffer)
{
	const struct rt_async_ops *own = e->device->ops->async;
	char *at = e->slot[e->p->buffer.at[buffer].first_slot];
	return own ? own->upload(e->device, at, e->staging[buffer], slot_bytes(e, buffer)) : STATUS_OK;
}

enum status exec_download(struct exec *e, uint32_t buffer)
{
	const struct rt_async_ops *own = e->device->ops->async;
	const char *at = e->slot[e->p->buffer.at[buffer].first_slot];
	return own ? own->download(e->device, e->staging[buffer], at, slot_bytes(e, buffer)) : STATUS_OK;
}

enum status exec_poison(struct exec *e)
{
	const struct rt_async_ops *own = e->device->ops->async;
	for (uint32_t k = 0; k < e->p->pack.n; k++)
		e->pack[k].have = 0;
	if (e->heap) {
		enum status status = own->poison(e->device, e->heap, (size_t)e->p->heap);
		return status == STATUS_OK
		           ? own->poison(e->device, e->memory, (size_t)(e->p->bytes - e->p->heap))
		           : status;
	}
	if (own)
		return own->poison(e->device, e->memory, (size_t)e->p->bytes);
	memset(e->memory, 0xff, (size_t)e->p->bytes);
	return STATUS_OK;
}

/* Returns the end of the used memory. */
static int64_t bytes_used(const struct exec *e)
{
	int64_t most = e->p->heap;
	for (uint32_t k = 0; k < e->p->buffer.n; k++) {
		const struct plan_buffer *b = &e->p->buffer.at[k];
		for (uint32_t s = b->first_slot; s < b->first_slot + (uint32_t)b->slots && !b->view; s++)
			if (e->touched[s] && e->p->slot.at[s] + b->slot_bytes > most)
				most = e->p->slot.at[s] + b->slot_bytes;
	}
	for (uint32_t k = 0; k < e->p->pack.n; k++)
		if (e->packs[k]) /* the device decides if it uses the pack */
			most = e->p->pack.at[k].at + e->p->pack.at[k].bytes;
	return most;
}

void exec_stats(struct exec *e, struct exec_stats *out)
{
	for (uint32_t k = 0; k < e->p->output.n;
	     k++) /* it counts as held, even if this rank has no element of it */
		if (e->p->output.at[k].buffer != UINT32_MAX)
			e->touched[e->p->buffer.at[e->p->output.at[k].buffer].first_slot] = true;
	*out = e->stats;
	for (unsigned i = 0; e->transport && i < RT_COUNTERS; i++) {
		out->bytes_sent += e->transport->counter[i].bytes_sent;
		out->bytes_received += e->transport->counter[i].bytes_received;
	}
	for (unsigned i = 0; e->transport && i < COLLECTIVE_COUNT; i++) {
		out->kind[i].operations = e->transport->counter[i].operations;
		out->kind[i].bytes_sent = e->transport->counter[i].bytes_sent;
	}
	if (e->transport) {
		out->sends = e->transport->sends;
		out->receives = e->transport->receives;
		out->copies = e->transport->copies;
	}
	out->bytes_planned = e->p->bytes;
	out->bytes_peak = bytes_used(e);
}

/* ---- failures */

static struct rt_origin origin_of(const struct exec *e, const struct plan_instruction *i)
{
	return (struct rt_origin){.label = e->label[i->statement],
	                          .iteration = i->loop ? e->reg[i->loop] : -1};
}

static bool fail_instruction(struct exec *e, const struct plan_instruction *i, enum status status,
                             const char *text)
{
	rt_job_error_at(e->job, origin_of(e, i), "%s", text);
	e->status = rt_job_fail(e->job, status);
	return false;
}

static bool fail_control(struct exec *e, const struct plan_instruction *i, const char *why)
{
	struct buf text = {0};
	plan_failure_print(e->p, i, e->reg, why, &text);
	fail_instruction(e, i, STATUS_DIAGNOSTICS, text.at);
	buf_free(&text);
	return false;
}

/* ---- tasks */

/* Returns the stream beside the current one on which a Communication packs or unpacks, after all earlier
 * work of the current stream. */
static struct rt_stream *stream_beside(struct exec *e, const struct plan_instruction *i)
{
	if (!e->packing)
		e->packing = mem_zalloc(sizeof(struct rt_stream *) * e->statements);
	if (!e->packing[i->statement])
		e->packing[i->statement] = rt_stream_new(e->engine, "packing");
	rt_submit_sync(e->engine, e->packing[i->statement], e->current, origin_of(e, i));
	return e->packing[i->statement];
}

/* Returns the stream from which a Communication starts: the one beside the current one if the data was
 * packed there. */
static struct rt_stream *starting_stream(struct exec *e)
{
	return e->beside ? e->beside : e->current;
}

static struct rt_stream *stream_of_task(struct exec *e, const struct plan_instruction *i)
{
	if (i->op != PLAN_TASK_PACKS && i->op != PLAN_TASK_UNPACKS)
		return e->current;
	struct rt_stream *s = stream_beside(e, i);
	if (i->op == PLAN_TASK_PACKS)
		e->beside = s;
	return s;
}

static void count_view(struct exec *e, const struct rt_view *v)
{
	int64_t bytes = (int64_t)dtype_bytes(v->dtype);
	for (int k = 0; k < v->nd; k++)
		bytes *= v->n[k];
	e->stats.view_copies++;
	e->stats.view_bytes += bytes;
}

static bool run_task(struct exec *e, const struct plan_instruction *i)
{
	struct task_record *r = &e->task[i->a];
	if (i->op == PLAN_TASK_POISONS && e->reversed)
		return true;
	if (!r->complete && !exec_task_build(e, r))
		return fail_instruction(e, i, STATUS_DIAGNOSTICS, PLAN_OUTSIDE);
	if (e->follows && i->op != PLAN_TASK_POISONS)
		exec_written_task(e->written, e, r);
	if (r->read && r->task.contents != *r->read) /* otherwise another thread may be reading it */
		r->task.contents = *r->read;
	++*r->contents;
	rt_submit_compute(e->engine, stream_of_task(e, i), &r->task, origin_of(e, i));
	e->stats.tasks++;
	if (r->t->kept)
		count_view(e, &r->task.out);
	return true;
}

/* ---- communication */

static void push_ticket(struct exec *e, uint32_t queue, struct rt_ticket t)
{
	if (queue == PLAN_NO_QUEUE)
		return;
	e->beside = NULL;
	struct ticket_queue *q = &e->queue[queue];
	if (q->n == q->cap) { /* rare: a loop that never waits */
		uint32_t cap = q->cap ? q->cap * 2 : 8;
		struct rt_ticket *at = mem_alloc(sizeof *at * cap);
		for (uint32_t k = 0; k < q->n; k++)
			at[k] = q->at[(q->first + k) & (q->cap - 1)];
		free(q->at);
		*q = (struct ticket_queue){.at = at, .n = q->n, .cap = cap};
	}
	q->at[(q->first + q->n++) & (q->cap - 1)] = t;
}

static bool run_wait(struct exec *e, const struct plan_instruction *i)
{
	struct ticket_queue *q = &e->queue[i->a];
	if (!q->n)
		return fail_instruction(
		    e, i, STATUS_DIAGNOSTICS,
		    "there is nothing to wait for: the Communication was not issued, or waited for before");
	struct rt_ticket t = q->at[q->first];
	q->first = (q->first + 1) & (q->cap - 1);
	q->n--;
	rt_submit_wait(e->engine, i->op == PLAN_WAIT_BESIDE ? stream_beside(e, i) : e->current, t,
	               origin_of(e, i));
	return true;
}

static bool run_collective(struct exec *e, const struct plan_instruction *i)
{
	struct collective_record *r = &e->collective[i->a];
	if (!r->complete && !exec_collective_build(e, i->a))
		return fail_instruction(e, i, STATUS_DIAGNOSTICS, PLAN_OUTSIDE);
	if (e->follows)
		exec_written_collective(e->written, e, i->a);
	r->c.at = origin_of(e, i);
	++*r->contents[0];
	++*r->contents[1];
	push_ticket(e, i->b, rt_submit_collective(e->engine, starting_stream(e), &r->c));
	e->stats.collectives++;
	return true;
}

static bool run_message(struct exec *e, const struct plan_instruction *i)
{
	struct message_record *r = &e->message[i->a];
	if (!r->complete && !exec_message_build(e, i->a))
		return fail_instruction(e, i, STATUS_DIAGNOSTICS, PLAN_OUTSIDE);
	if (e->follows)
		exec_written_message(e->written, e, i->a);
	r->p.at = origin_of(e, i);
	++*r->contents;
	push_ticket(e, i->b, rt_submit_p2p(e->engine, starting_stream(e), &r->p));
	e->stats.messages++;
	return true;
}

/* ---- streams */

static struct rt_stream *stream_of(struct exec *e, const struct plan_instruction *i)
{
	return i->op ? rt_stream_get(e->engine, e->reg[i->a]) : e->handle[i->a];
}

/* ---- the instructions */

static void start_run(struct exec *e)
{
	e->stats = (struct exec_stats){0};
	for (uint32_t k = 0; k < e->p->queues; k++)
		e->queue[k].n = 0;
}

/* Tells the watchers of the run about an instruction. Returns false if a fault makes it fail. */
static bool enter_instruction(struct exec *e, const struct plan_instruction *i, uint32_t place)
{
	if (e->ranges)
		exec_ranges_enter(e->ranges, i);
	if (e->faults && !exec_faults_enter(e->faults, i))
		return fail_instruction(e, i, STATUS_DIAGNOSTICS, "--fail asks for this");
	if (e->marks)
		exec_marks_enter(e->marks, e->engine, place, e->reg, e->reversed);
	return true;
}

/* Submits the program, starting with the first stream as the current one. */
static enum status submit_program(struct exec *e)
{
	const struct plan *p = e->p;
	int64_t *r = e->reg;
	struct rt_stream *main = e->current;
	bool is_watched = e->ranges || e->faults || e->marks;
	start_run(e);
	for (uint32_t at = 0;;) {
		const struct plan_instruction *i = &p->code.at[at++];
		bool ok = true;
		e->stats.instructions++;
		if (is_watched && !enter_instruction(e, i, at - 1))
			return rt_job_status(e->job);
		if (i->code == PLAN_NEXT && rt_job_status(e->job) != STATUS_OK)
			return rt_job_status(e->job);
		enum plan_step step = plan_control(p, i, r, &at);
		if (step == PLAN_DONE)
			continue;
		if (step == PLAN_FAILS) {
			fail_control(e, i, plan_failure(p, i));
			return rt_job_status(e->job);
		}
		switch ((enum plan_code)i->code) {
		case PLAN_HANDLE:
			e->handle[i->a] = e->current;
			break;
		case PLAN_STREAM:
			e->current = stream_of(e, i);
			break;
		case PLAN_SYNC:
			rt_submit_sync(e->engine, e->current, stream_of(e, i), origin_of(e, i));
			break;
		case PLAN_TASK:
			ok = run_task(e, i);
			break;
		case PLAN_COLLECTIVE:
			ok = run_collective(e, i);
			break;
		case PLAN_MESSAGE:
			ok = run_message(e, i);
			break;
		case PLAN_GROUP:
			rt_group_begin(e->engine);
			break;
		case PLAN_END_GROUP:
			push_ticket(e, i->b, rt_group_end(e->engine, starting_stream(e), origin_of(e, i)));
			break;
		case PLAN_WAIT:
			ok = run_wait(e, i);
			break;
		case PLAN_END:
			e->current = main;
			e->follows = false; /* later runs write the same elements */
			return STATUS_OK;
		default:
			ok = false;
		}
		if (!ok)
			return rt_job_status(e->job);
	}
}

/* Counts the data that a replay moves: as much as was given to the transport while the graph was made. */
static void count_replay(struct exec *e, int sign)
{
	struct rt_counter *to = e->transport->counter;
	for (unsigned k = 0; k < RT_COUNTERS; k++) {
		to[k].operations += sign * e->counted[k].operations;
		to[k].bytes_sent += sign * e->counted[k].bytes_sent;
		to[k].bytes_received += sign * e->counted[k].bytes_received;
	}
}

enum status exec_run(struct exec *e)
{
	enum status status;
	if (e->graph) {
		exec_ranges_enter_replay(e->ranges);
		status = rt_replay(e->engine, e->current, e->graph);
		count_replay(e, 1);
	} else {
		status = submit_program(e);
	}
	exec_ranges_leave(e->ranges);
	exec_marks_leave(e->marks, e->engine);
	e->issued_us = rt_clock_us();
	enum status drained = rt_drain(e->engine);
	return e->status = drained != STATUS_OK ? drained : status;
}

enum status exec_exchange_written(struct exec *e)
{
	return e->written ? exec_written_exchange(e->written, e) : STATUS_OK;
}

const uint64_t *exec_written(const struct exec *e, uint32_t buffer)
{
	return e->written ? exec_written_bits(e->written, buffer) : NULL;
}

void exec_set_reversed(struct exec *e, bool reversed)
{
	e->reversed = reversed;
}

int64_t exec_issued_us(const struct exec *e)
{
	return e->issued_us;
}

bool exec_reorders(const struct exec *e)
{
	if (!e->transport->reorders)
		return false;
	for (uint32_t k = 0; k < e->p->collective.n; k++) {
		const struct plan_collective *c = &e->p->collective.at[k];
		if (collective_reduces((enum collective)c->kind) && dtype_is_float(c->dtype) &&
		    e->p->team.at[c->team].n > 1)
			return true;
	}
	return false;
}

/* Returns the first statement that cannot be in a graph, since the host reads counts for it; 0: none. */
static op_id find_late(const struct plan *p)
{
	for (uint32_t k = 0; k < p->code.n; k++) {
		const struct plan_instruction *i = &p->code.at[k];
		if (i->code == PLAN_COLLECTIVE && p->collective.at[i->a].is_late)
			return i->statement;
	}
	return 0;
}

bool exec_can_replay(const struct exec *e, op_id *statement)
{
	*statement = 0;
	if (!rt_engine_captures(e->engine))
		return false;
	*statement = find_late(e->p);
	if (!e->transport->ops->graph_begin)
		return !*statement;
	op_id *all = mem_zalloc(sizeof *all * (size_t)e->job->size); /* one graph for all ranks */
	enum status status = rt_job_allgather(e->job, "graphs", statement, sizeof *all, all);
	for (int k = 0; k < e->job->size && !*statement; k++)
		*statement = all[k];
	free(all);
	return status == STATUS_OK && !*statement;
}

enum status exec_capture(struct exec *e)
{
	struct rt_counter before[RT_COUNTERS];
	memcpy(before, e->transport->counter, sizeof before);
	enum status status = rt_capture_begin(e->engine, e->current);
	if (status == STATUS_OK)
		status = submit_program(e);
	exec_ranges_leave(e->ranges);
	if (status == STATUS_OK)
		status = rt_capture_end(e->engine, e->current, &e->graph);
	e->counted = mem_zalloc(sizeof before);
	for (unsigned k = 0; k < RT_COUNTERS; k++) {
		const struct rt_counter *now = &e->transport->counter[k];
		e->counted[k] = (struct rt_counter){now->operations - before[k].operations,
		                                    now->bytes_sent - before[k].bytes_sent,
		                                    now->bytes_received - before[k].bytes_received};
	}
	count_replay(e, -1);
	return e->status = status;
}
