/* exec: runs the executor of a plan, also as a graph, and shows the host its memory and counts. */
#include "exec/exec.h"
#include "base/arena.h"
#include "exec/exec_ranges.h"
#include "exec/exec_submit.h"
#include "exec/exec_written.h"
#include "rt/bell.h"
#include <stdlib.h>
#include <string.h>

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
	e->uploaded[buffer] = false;
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
	e->uploaded[buffer] = own != NULL;
	return own ? own->upload(e->device, at, e->staging[buffer], slot_bytes(e, buffer)) : STATUS_OK;
}

bool exec_upload_again(struct exec *e, uint32_t buffer, enum status *status)
{
	if (!e->uploaded[buffer])
		return false;
	e->contents[e->p->buffer.at[buffer].contents]++;
	*status = exec_upload(e, buffer);
	return true;
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

/* ---- runs */

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
		status =
		    rt_replay(e->engine, e->current, e->graph[e->replays++ % rt_engine_graphs(e->engine)]);
		count_replay(e, 1);
	} else {
		status = exec_submit(e);
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

/* Finds the data that were given to the transport, and does not count them: a capture moves nothing. */
static void count_capture(struct exec *e, const struct rt_counter *before)
{
	for (unsigned k = 0; k < RT_COUNTERS; k++) {
		const struct rt_counter *now = &e->transport->counter[k];
		e->counted[k] = (struct rt_counter){now->operations - before[k].operations,
		                                    now->bytes_sent - before[k].bytes_sent,
		                                    now->bytes_received - before[k].bytes_received};
	}
	count_replay(e, -1);
}

static enum status capture_run(struct exec *e, void **graph)
{
	enum status status = rt_capture_begin(e->engine, e->current);
	if (status == STATUS_OK)
		status = exec_submit(e);
	exec_ranges_leave(e->ranges);
	return status == STATUS_OK ? rt_capture_end(e->engine, e->current, graph) : status;
}

enum status exec_capture(struct exec *e)
{
	struct rt_counter before[RT_COUNTERS];
	unsigned graphs = rt_engine_graphs(e->engine);
	enum status status = STATUS_OK;
	e->counted = mem_zalloc(sizeof before);
	e->graph = mem_zalloc(graphs * sizeof *e->graph);
	for (unsigned k = 0; k < graphs && status == STATUS_OK; k++) {
		memcpy(before, e->transport->counter, sizeof before);
		status = capture_run(e, &e->graph[k]);
		count_capture(e, before);
	}
	return e->status = status;
}
