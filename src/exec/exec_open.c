/* exec_open: makes the executor of a plan ready: device, transport, memory and the records of its work.
 * Closes it, too. */
#include "base/arena.h"
#include "cuda/open.h"
#include "exec/exec_device.h"
#include "exec/exec_faults.h"
#include "exec/exec_movers.h"
#include "exec/exec_ranges.h"
#include "exec/exec_records.h"
#include "exec/exec_written.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

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
	e->uploaded = mem_zalloc(sizeof *e->uploaded * (p->buffer.n + 1));
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
		e->able = exec_device_movers(e->transport, o);
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
	if (e->status == STATUS_OK) {
		exec_records_make(e);
		e->status = exec_movers_choose(e, o);
	}
	if (e->status != STATUS_OK) {
		enum status status = rt_job_fail(job, e->status);
		exec_close(e);
		return status;
	}
	if (o->calls)
		exec_movers_put_comments(e, o->calls->out);
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
	for (unsigned k = 0; e->graph && k < rt_engine_graphs(e->engine); k++)
		rt_graph_free(e->engine, e->graph[k]);
	free(e->graph);
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
	free(e->uploaded);
	exec_records_free(e);
	exec_movers_free(e);
	free(e->team);
	free(e->handle);
	free(e->packing);
	exec_marks_free(e->marks);
	free(e->queue);
	free(e->label);
	free(e);
}
