/* exec: the walk over a plan's instructions. */
#include "exec/exec.h"
#include "base/arena.h"
#include "exec/scalar_op.h"
#include "rt/device.h"
#include "rt/queue.h"
#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Tickets of one Communication that no wait has taken, oldest first. */
struct ticket_queue {
	struct rt_ticket *at; /* a ring of cap entries, a power of two */
	uint32_t first, n, cap;
};

struct exec {
	const struct plan *p;
	struct rt_job *job;
	struct rt_device *device;
	struct rt_transport *transport; /* NULL: one rank, nothing to move */
	struct rt_engine *engine;
	int64_t *reg;
	char *memory;  /* of all buffers */
	char **slot;   /* by slot: where it is */
	bool *touched; /* by slot: the run uses it */
	struct rt_task *
	    task; /* by plan task: all but addresses and sizes; of fixed ones, when they have run, complete */
	bool *complete; /* by plan task */
	struct rt_unit *
	    *unit;       /* by plan task: the newest record of a unit, in a ring; its next is the oldest */
	int *team;       /* by plan team: the transport's id */
	uint32_t *label; /* by op_id */
	struct rt_stream **handle; /* by handle_id */
	struct rt_stream *current;
	struct ticket_queue *queue;
	int64_t *blocks; /* scratch: four lists of the largest team's size */
	struct exec_stats stats;
	enum status status;
};

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

static enum status allocate(struct exec *e)
{
	void *memory = NULL;
	enum status status =
	    rt_transport_alloc(e->transport, e->device, (size_t)e->p->bytes, "buffers", &memory);
	e->memory = memory;
	return status;
}

/* Finds the slots, those of symmetric views among the peers' memory. */
static enum status find_slots(struct exec *e)
{
	const struct plan *p = e->p;
	for (uint32_t k = 0; k < p->buffer.n; k++) {
		const struct plan_buffer *b = &p->buffer.at[k];
		const struct plan_team *t = b->view ? &p->team.at[b->team] : NULL;
		if (t && t->n == 1)
			e->slot[b->first_slot] = e->memory + p->buffer.at[b->of].heap_at;
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
			e->slot[s] = e->memory + p->slot.at[s];
	}
	return STATUS_OK;
}

/* All of a task but addresses and sizes. */
static void prepare_task(const struct plan_task *t, struct rt_task *r)
{
	r->kernel = (enum rt_kernel)t->kernel;
	r->scalars = t->scalars;
	r->axes = t->axes;
	if (r->kernel == RT_TASK_POINTWISE)
		r->op = (enum rt_pointwise)t->op;
	else if (r->kernel == RT_TASK_REDUCE)
		r->reduce = (enum rt_reduce_op)t->op;
	else if (r->kernel == RT_TASK_GEMM)
		r->has_bias = t->has_bias, r->accumulate = t->accumulate;
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
	e->slot = mem_zalloc(sizeof *e->slot * (p->slot.n + 1));
	e->task = mem_zalloc(sizeof *e->task * (p->task.n + 1));
	e->complete = mem_zalloc(p->task.n + 1);
	e->unit = mem_zalloc(sizeof *e->unit * (p->task.n + 1));
	e->team = mem_zalloc(sizeof *e->team * (p->team.n + 1));
	e->handle = mem_zalloc(sizeof *e->handle * (p->handles + 1));
	e->queue = mem_zalloc(sizeof *e->queue * (p->queues + 1));
	e->blocks = mem_zalloc(sizeof *e->blocks * 4 * (p->members + 1));
	e->label = make_labels(job, labels);
	e->status = rt_device_open(job, o->device, &e->device);
	if (e->status == STATUS_OK)
		e->status = rt_transport_open(job, o->transport, &e->transport);
	if (e->status == STATUS_OK)
		e->status = open_teams(e);
	if (e->status == STATUS_OK)
		e->status = allocate(e);
	if (e->status == STATUS_OK)
		e->status = find_slots(e);
	if (e->status == STATUS_OK)
		e->status = rt_engine_new(job, o->engine, e->device, e->transport, &e->engine);
	for (uint32_t i = 0; i < p->task.n; i++)
		prepare_task(&p->task.at[i], &e->task[i]);
	if (e->status != STATUS_OK) {
		enum status status = rt_job_fail(job, e->status);
		exec_close(e);
		return status;
	}
	e->current = rt_stream_new(e->engine, "main");
	*out = e;
	return STATUS_OK;
}

static void free_units(struct exec *e)
{
	for (uint32_t i = 0; i < e->p->task.n; i++) {
		struct rt_unit *newest = e->unit[i];
		for (struct rt_unit *u = newest ? newest->next : NULL, *next; u; u = next) {
			next = u == newest ? NULL : u->next;
			free(u);
		}
	}
	free(e->unit);
}

void exec_close(struct exec *e)
{
	if (!e)
		return;
	rt_engine_free(e->engine);
	if (e->device) {
		rt_transport_free(e->transport, e->device, e->memory);
		assert(e->device->bytes_now == 0);
	}
	rt_transport_close(e->transport);
	rt_device_close(e->device);
	for (uint32_t i = 0; i < e->p->queues; i++)
		free(e->queue[i].at);
	free(e->reg);
	free(e->touched);
	free(e->slot);
	free(e->task);
	free(e->complete);
	free_units(e);
	free(e->team);
	free(e->handle);
	free(e->queue);
	free(e->blocks);
	free(e->label);
	free(e);
}

void *exec_memory(struct exec *e, uint32_t buffer)
{
	uint32_t slot = e->p->buffer.at[buffer].first_slot;
	e->touched[slot] = true;
	return e->slot[slot];
}

/* The end of the memory that was used. */
static int64_t bytes_used(const struct exec *e)
{
	int64_t most = e->p->heap;
	for (uint32_t k = 0; k < e->p->buffer.n; k++) {
		const struct plan_buffer *b = &e->p->buffer.at[k];
		for (uint32_t s = b->first_slot; s < b->first_slot + (uint32_t)b->slots && !b->view; s++)
			if (e->touched[s] && e->p->slot.at[s] + b->slot_bytes > most)
				most = e->p->slot.at[s] + b->slot_bytes;
	}
	return most;
}

void exec_stats(const struct exec *e, struct exec_stats *out)
{
	*out = e->stats;
	for (unsigned i = 0; e->transport && i < RT_COUNTERS; i++) {
		out->bytes_sent += e->transport->counter[i].bytes_sent;
		out->bytes_received += e->transport->counter[i].bytes_received;
	}
	for (unsigned i = 0; e->transport && i < RT_COLLECTIVE_COUNT; i++) {
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

static bool fail(struct exec *e, const struct plan_instruction *i, enum status status, const char *text)
{
	rt_job_error_at(e->job, origin_of(e, i), "%s", text);
	e->status = rt_job_fail(e->job, status);
	return false;
}

static bool fail_check(struct exec *e, const struct plan_instruction *i)
{
	const char *text = e->p->text.at[i->b];
	if (!i->op || e->reg[i->c] == PLAN_UNDEFINED)
		return fail(e, i, STATUS_DIAGNOSTICS, text);
	rt_job_error_at(e->job, origin_of(e, i), "%s: it is %lld", text, (long long)e->reg[i->c]);
	e->status = rt_job_fail(e->job, STATUS_DIAGNOSTICS);
	return false;
}

/* ---- tasks */

/* The window, or false when it is undefined or leaves its buffer. */
static bool build_view(const struct exec *e, const struct plan_view *v, struct rt_view *out)
{
	const struct plan_buffer *b = &e->p->buffer.at[v->buffer];
	int64_t slot = e->reg[v->slot], offset = e->reg[v->offset], first = offset, last = offset;
	bool empty = false;
	out->dtype = (enum rt_dtype)b->dtype;
	out->nd = v->nd;
	for (unsigned k = 0; k < v->nd; k++) {
		int64_t n = e->reg[v->n[k]];
		out->n[k] = n;
		out->stride[k] = v->stride[k];
		if (n < 0)
			return false;
		empty |= n == 0;
		last += (n - 1) * v->stride[k];
	}
	if (empty || b->local) {
		out->data = e->memory;
		return true;
	}
	if (slot < 0 || slot >= b->slots || first < 0 || last >= b->elements || offset == PLAN_UNDEFINED)
		return false;
	slot += b->first_slot;
	e->touched[slot] = true;
	out->data = e->slot[slot] + offset * (int64_t)rt_dtype_size(out->dtype);
	return true;
}

static bool build_task(struct exec *e, const struct plan_task *t, struct rt_task *out)
{
	if (!build_view(e, &t->out, &out->out))
		return false;
	for (unsigned k = 0; k < 3; k++) {
		if (t->scalars >> k & 1) {
			const struct plan_operand *s = &t->scalar[k];
			int64_t v = s->is_reg ? e->reg[s->reg] : 0;
			if (s->is_reg && v == PLAN_UNDEFINED)
				return false;
			out->scalar[k].f = s->is_reg ? (double)v : s->literal;
			out->scalar[k].i = s->is_reg                  ? v
			                   : s->literal >= 0x1p63     ? INT64_MAX
			                   : s->literal < -0x1p63     ? INT64_MIN
			                   : s->literal != s->literal ? 0
			                                              : (int64_t)s->literal;
		} else if (k < t->in_n && !build_view(e, &t->in[k], &out->in[k])) {
			return false;
		}
	}
	return true;
}

/* A record of a unit that no submitted task uses: the oldest, else a new one. */
static struct rt_unit *free_unit(struct exec *e, uint32_t task)
{
	const struct plan_task *t = &e->p->task.at[task];
	struct rt_unit *newest = e->unit[task];
	if (newest && !atomic_load_explicit(&newest->next->busy, memory_order_acquire))
		return e->unit[task] = newest->next;
	struct rt_unit *u = mem_zalloc(sizeof *u + sizeof *u->step * t->steps);
	u->locals = t->locals;
	u->steps = t->steps;
	for (uint32_t k = 0; k < t->steps; k++) {
		prepare_task(&e->p->step.at[t->first + k], &u->step[k].task);
		memcpy(u->step[k].local, e->p->step.at[t->first + k].local, sizeof u->step[k].local);
	}
	u->next = newest ? newest->next : u;
	if (newest)
		newest->next = u;
	return e->unit[task] = u;
}

/* Of a unit that loops change every run has a record of its own, used again when it is done. */
static bool build_unit(struct exec *e, uint32_t task, struct rt_task *out)
{
	const struct plan_task *t = &e->p->task.at[task];
	out->unit = free_unit(e, task);
	for (uint32_t k = 0; k < t->steps; k++)
		if (!build_task(e, &e->p->step.at[t->first + k], &out->unit->step[k].task))
			return false;
	atomic_store_explicit(&out->unit->busy, !t->fixed, memory_order_relaxed);
	return true;
}

static const char OUTSIDE[] = "an index is undefined or leads out of a buffer";

static bool run_task(struct exec *e, const struct plan_instruction *i)
{
	const struct plan_task *t = &e->p->task.at[i->a];
	struct rt_task *task = &e->task[i->a];
	bool unit = task->kernel == RT_TASK_UNIT;
	if (!e->complete[i->a] && !(unit ? build_unit(e, i->a, task) : build_task(e, t, task)))
		return fail(e, i, STATUS_DIAGNOSTICS, OUTSIDE);
	e->complete[i->a] = task->lasting = t->fixed;
	rt_submit_compute(e->engine, e->current, task, origin_of(e, i));
	e->stats.tasks++;
	return true;
}

/* ---- communication */

static void push_ticket(struct exec *e, uint32_t queue, struct rt_ticket t)
{
	if (queue == PLAN_NO_QUEUE)
		return;
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
		return fail(
		    e, i, STATUS_DIAGNOSTICS,
		    "there is nothing to wait for: the Communication was not issued, or waited for before");
	struct rt_ticket t = q->at[q->first];
	q->first = (q->first + 1) & (q->cap - 1);
	q->n--;
	rt_submit_wait(e->engine, e->current, t, origin_of(e, i));
	return true;
}

static bool run_collective(struct exec *e, const struct plan_instruction *i)
{
	const struct plan_collective *c = &e->p->collective.at[i->a];
	struct rt_view in = {0}, out = {0};
	struct rt_collective r = {
	    .kind = (enum rt_collective_kind)c->kind,
	    .counted = c->counted,
	    .dtype = (enum rt_dtype)c->dtype,
	    .op = (enum rt_reduce_op)c->reduce,
	    .team = e->team[c->team],
	    .root = (int)e->reg[c->root],
	    .count = e->reg[c->count],
	    .at = origin_of(e, i),
	};
	if ((c->has_in && !build_view(e, &c->in, &in)) || (c->has_out && !build_view(e, &c->out, &out)) ||
	    r.count < 0)
		return fail(e, i, STATUS_DIAGNOSTICS, OUTSIDE);
	bool alone = c->kind == RT_REDUCE; /* a root without operand adds nothing */
	r.in = c->has_in ? in.data : alone ? NULL : out.data;
	r.out = c->has_out ? out.data : in.data;
	const plan_reg *from[] = {c->counts, c->offsets, c->send_counts, c->send_offsets};
	const int64_t **to[] = {&r.counts, &r.offsets, &r.send_counts, &r.send_offsets};
	for (unsigned j = 0; j < 4 && c->members; j++) {
		int64_t *list = e->blocks + (size_t)j * c->members;
		for (uint32_t k = 0; k < c->members && from[j]; k++) {
			list[k] = e->reg[from[j][k]];
			if (list[k] < 0)
				return fail(e, i, STATUS_DIAGNOSTICS, OUTSIDE);
		}
		*to[j] = from[j] ? list : NULL;
	}
	if (c->is_late) {
		struct rt_view list[2];
		if (!build_view(e, &c->late[0], &list[0]) || !build_view(e, &c->late[1], &list[1]))
			return fail(e, i, STATUS_DIAGNOSTICS, OUTSIDE);
		r.late_counts = list[0].data;
		r.late_send_counts = list[1].data;
		r.late_unit = e->reg[c->late_unit];
		r.late_room = e->reg[c->late_room];
		r.late_send_room = e->reg[c->late_send_room];
	}
	push_ticket(e, i->b, rt_submit_collective(e->engine, e->current, &r));
	e->stats.collectives++;
	return true;
}

static bool run_message(struct exec *e, const struct plan_instruction *i)
{
	const struct plan_message *m = &e->p->message.at[i->a];
	struct rt_view data;
	int64_t peer = e->reg[m->peer];
	if (!build_view(e, &m->data, &data) || peer < 0 || peer >= e->job->size)
		return fail(e, i, STATUS_DIAGNOSTICS, OUTSIDE);
	struct rt_p2p p = {
	    .send = m->send,
	    .peer = (int)peer,
	    .channel = m->channel,
	    .dtype = (enum rt_dtype)m->dtype,
	    .count = data.n[0],
	    .data = data.data,
	    .at = origin_of(e, i),
	};
	push_ticket(e, i->b, rt_submit_p2p(e->engine, e->current, &p));
	e->stats.messages++;
	return true;
}

/* ---- streams */

static struct rt_stream *stream_of(struct exec *e, const struct plan_instruction *i)
{
	if (i->op)
		return e->reg[i->a] == PLAN_UNDEFINED ? NULL : rt_stream_get(e->engine, e->reg[i->a]);
	return e->handle[i->a];
}

/* ---- the walk */

static void start_run(struct exec *e)
{
	e->stats = (struct exec_stats){0};
	for (uint32_t k = 0; k < e->p->queues; k++)
		e->queue[k].n = 0;
}

enum status exec_run(struct exec *e)
{
	const struct plan *p = e->p;
	int64_t *r = e->reg;
	struct rt_stream *main = e->current;
	start_run(e);
	for (uint32_t at = 0;;) {
		const struct plan_instruction *i = &p->code.at[at++];
		bool ok = true;
		e->stats.instructions++;
		switch ((enum plan_code)i->code) {
		case PLAN_LET:
			r[i->a] = plan_let(p, i, r);
			break;
		case PLAN_CHECK:
			if (r[i->a] == 0 || r[i->a] == PLAN_UNDEFINED)
				ok = fail_check(e, i);
			break;
		case PLAN_FOR:
			r[i->a] = r[i->b];
			if (r[i->b] == PLAN_UNDEFINED || r[i->c] == PLAN_UNDEFINED)
				ok = fail(e, i, STATUS_DIAGNOSTICS, "the bounds of the loop are undefined");
			else if (r[i->b] >= r[i->c])
				at = i->to;
			break;
		case PLAN_NEXT:
			if (rt_job_status(e->job) != STATUS_OK)
				ok = false;
			else if (++r[i->a] < r[i->c])
				at = i->to;
			break;
		case PLAN_IF:
			if (r[i->a] == PLAN_UNDEFINED)
				ok = fail(e, i, STATUS_DIAGNOSTICS, "the condition is undefined");
			else if (!r[i->a])
				at = i->to;
			break;
		case PLAN_GOTO:
			at = i->to;
			break;
		case PLAN_HANDLE:
			e->handle[i->a] = e->current;
			break;
		case PLAN_STREAM:
		case PLAN_SYNC: {
			struct rt_stream *s = stream_of(e, i);
			if (!s)
				ok = fail(e, i, STATUS_DIAGNOSTICS, "the stream is undefined");
			else if (i->code == PLAN_STREAM)
				e->current = s;
			else
				rt_submit_sync(e->engine, e->current, s, origin_of(e, i));
			break;
		}
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
			push_ticket(e, i->b, rt_group_end(e->engine, e->current, origin_of(e, i)));
			break;
		case PLAN_WAIT:
			ok = run_wait(e, i);
			break;
		case PLAN_END:
			e->current = main;
			return e->status = rt_drain(e->engine);
		default:
			ok = false;
		}
		if (!ok) {
			enum status status = rt_drain(e->engine);
			return e->status = status != STATUS_OK ? status : rt_job_status(e->job);
		}
	}
}
