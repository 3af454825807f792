/* plan_lifetime: a dry run of the plan that follows the executor, but advances a clock for each stream
 * and does no work.
 *
 * Only registers control a run. So the dry run knows which task touches which slot on which stream, and
 * which events are ordered:
 *
 *     task         an event of the current stream
 *     sync s       the current stream has seen all events that s has seen
 *     collective   uses its slots from here, after the events that the current stream has seen …
 *     wait         … to here, an event of the stream that waits
 *
 *     stream 0    A = exp(X)    B = A + A                     A and C may have the same memory:
 *     stream 1                     sync 0   C = sin(B)        C's first event has seen all events of A
 *
 * A slot is in use from its first event to its last, its lifetime. If it is allocated in a loop, each
 * iteration has a lifetime of its own. Two slots meet if an event of one is within a lifetime of the
 * other, or is not ordered after all earlier events of the other. Slots that meet cannot share memory.
 * If there are too many slots that meet, they are not listed. If the dry run takes too long or needs more
 * than USES_MAX_STREAMS clocks, it gives up, and nothing is known. */
#include "plan/plan_lifetime.h"
#include "plan/plan_control.h"
#include "plan/plan_uses.h"
#include <string.h>

enum { MAX_SLOTS = 1 << 18 };

struct use {
	uint32_t slot;
	int64_t written; /* number of elements written; -1: it is read */
};

struct ticket { /* its uses are in the list of struct dry_run */
	uint32_t first, n;
	uint32_t issued; /* its number in struct uses */
};

struct tickets {
	VEC(struct ticket) list;
	uint32_t head;
};

struct dry_run {
	const struct plan *p;
	struct lifetimes *out;
	struct uses u;
	int64_t *reg;
	uint32_t *iteration; /* by register of a loop: a number unique to the iteration */
	uint32_t iterations;
	uint32_t *handle; /* by handle: the stream */
	struct tickets *queue;
	VEC(struct use) uses;
	uint32_t group; /* length of the list of uses when the group began */
	bool grouping;
};

/* ---- uses */

static uint32_t life_of(const struct dry_run *run, uint32_t slot)
{
	return run->iteration[run->p->buffer.at[run->u.slot[slot].buffer].loop];
}

static void touch_slot(struct dry_run *run, uint32_t stream, uint32_t slot)
{
	uses_touch(&run->u, stream, slot, life_of(run, slot));
}

/* Returns the number of elements in a view, at most the elements of its slot. */
static int64_t count_view_elements(const struct dry_run *run, const struct plan_view *v)
{
	int64_t n = 1;
	for (unsigned k = 0; k < v->nd; k++)
		if (run->reg[v->n[k]] < 0 || !checked_mul(n, run->reg[v->n[k]], &n))
			return 0;
	return v->bytes ? n / (int64_t)dtype_bytes(run->p->buffer.at[v->buffer].dtype) : n;
}

/* Adds the use of a view to the list. A buffer that is read before anything wrote it keeps memory of its
 * own, so that NaN shows it. */
static void add_use(struct dry_run *run, const struct plan_view *v, bool write)
{
	const struct plan_buffer *buffer = &run->p->buffer.at[v->buffer];
	int64_t slot = run->reg[v->slot], n = count_view_elements(run, v);
	if (buffer->local)
		return;
	if (slot < 0 || slot >= buffer->slots)
		run->u.work = USES_MAX_WORK; /* give up: the run will report the error */
	else if (n > 0)
		vec_push(&run->uses, (struct use){.slot = buffer->first_slot + (uint32_t)slot,
		                                  .written = write ? n : -1});
}

static void count_written(struct dry_run *run, const struct use *u)
{
	struct slot_uses *x = &run->u.slot[u->slot];
	if (u->written < 0 && !x->written)
		run->out->alone[u->slot] = true;
	else if (u->written > 0 && !checked_add(x->written, u->written, &x->written))
		x->written = INT64_MAX;
}

static void add_task(struct dry_run *run, const struct plan_task *t)
{
	for (unsigned k = 0; k < t->in_n; k++)
		if (!(t->scalars >> k & 1))
			add_use(run, &t->in[k], t->writes >> k & 1);
	add_use(run, &t->out, true);
}

static void run_task(struct dry_run *run, uint32_t stream, const struct plan_task *t)
{
	uint32_t first = run->uses.n;
	uses_event(&run->u, stream, run->u.now);
	if (t->kernel != RT_TASK_UNIT)
		add_task(run, t);
	for (uint32_t k = t->first; k < t->first + t->steps; k++)
		add_task(run, &run->p->step.at[k]);
	for (uint32_t k = first; k < run->uses.n; k++) {
		touch_slot(run, stream, run->uses.at[k].slot);
		count_written(run, &run->uses.at[k]);
		uses_end(&run->u, stream, run->uses.at[k].slot);
	}
	run->uses.n = first;
}

/* Starts a communication that has the uses from `first` on. */
static void issue_uses(struct dry_run *run, uint32_t stream, uint32_t first, uint32_t queue)
{
	struct ticket t = {.first = first, .n = run->uses.n - first, .issued = uses_issue(&run->u)};
	for (uint32_t k = first; k < run->uses.n; k++) {
		const struct use *u = &run->uses.at[k];
		touch_slot(run, stream, u->slot);
		count_written(run, u);
		run->u.slot[u->slot].pending++;
	}
	if (queue != PLAN_NO_QUEUE)
		vec_push(&run->queue[queue].list, t);
}

static bool run_wait(struct dry_run *run, uint32_t stream, struct tickets *q)
{
	if (q->head == q->list.n)
		return false; /* the run will report the error */
	struct ticket t = q->list.at[q->head++];
	uses_wait(&run->u, stream, t.issued);
	for (uint32_t k = t.first; k < t.first + t.n; k++) {
		run->u.slot[run->uses.at[k].slot].pending--;
		uses_end(&run->u, stream, run->uses.at[k].slot);
	}
	return true;
}

static void run_communication(struct dry_run *run, uint32_t stream, const struct plan_instruction *i)
{
	uint32_t first = run->uses.n;
	if (i->code == PLAN_MESSAGE) {
		const struct plan_message *m = &run->p->message.at[i->a];
		add_use(run, &m->data, !m->send);
	} else {
		const struct plan_collective *c = &run->p->collective.at[i->a];
		if (c->has_in)
			add_use(run, &c->in, false);
		if (c->has_out)
			add_use(run, &c->out, true);
		for (unsigned k = 0; k < 2 && c->is_late; k++)
			add_use(run, &c->late[k], false);
	}
	if (!run->grouping)
		issue_uses(run, stream, first, i->b);
}

/* ---- the dry run */

/* Keeps outputs in use to the end. Outputs with unwritten elements share no memory, so that NaN shows
 * them. */
static void end_outputs(struct dry_run *run)
{
	run->u.now++;
	for (uint32_t k = 0; k < run->p->output.n; k++) {
		uint32_t number = run->p->output.at[k].buffer;
		if (number == UINT32_MAX || run->p->buffer.at[number].input >= 0)
			continue;
		const struct plan_buffer *buffer = &run->p->buffer.at[number];
		for (uint32_t s = buffer->first_slot; s < buffer->first_slot + (uint32_t)buffer->slots; s++) {
			struct slot_uses *x = &run->u.slot[s];
			run->out->alone[s] |= !x->used || x->written < buffer->held;
			if (x->used)
				touch_slot(run, USES_NONE, s);
			x->used = true;
		}
	}
}

static bool follow_plan(struct dry_run *run)
{
	const struct plan *p = run->p;
	int64_t *r = run->reg;
	uint32_t current = uses_stream(&run->u, -1);
	for (uint32_t at = 0; run->u.work < USES_MAX_WORK;) {
		const struct plan_instruction *i = &p->code.at[at++];
		run->u.now++;
		run->u.work++;
		if (plan_control(p, i, r, &at) != PLAN_WORK) { /* a rank that fails uses no more memory */
			if (i->code == PLAN_FOR || i->code == PLAN_NEXT)
				run->iteration[i->a] = ++run->iterations;
			continue;
		}
		switch ((enum plan_code)i->code) {
		case PLAN_HANDLE:
			run->handle[i->a] = current;
			break;
		case PLAN_STREAM:
			current = i->op ? uses_stream(&run->u, r[i->a]) : run->handle[i->a];
			break;
		case PLAN_SYNC:
			uses_see(&run->u, current, i->op ? uses_stream(&run->u, r[i->a]) : run->handle[i->a]);
			break;
		case PLAN_TASK:
			run_task(run, current, &p->task.at[i->a]);
			break;
		case PLAN_COLLECTIVE:
		case PLAN_MESSAGE:
			run_communication(run, current, i);
			break;
		case PLAN_GROUP:
			run->grouping = true;
			run->group = run->uses.n;
			break;
		case PLAN_END_GROUP:
			run->grouping = false;
			issue_uses(run, current, run->group, i->b);
			break;
		case PLAN_WAIT:
			if (!run_wait(run, current, &run->queue[i->a]))
				return false;
			break;
		case PLAN_END:
			end_outputs(run);
			return true;
		default: /* a failed check; the run will report it */
			break;
		}
	}
	return false;
}

static void start_dry_run(struct dry_run *run)
{
	const struct plan *p = run->p;
	struct lifetimes *l = run->out;
	uint32_t *end = mem_zalloc(sizeof *end * ((size_t)l->n + 1) * USES_MAX_STREAMS);
	run->reg = mem_alloc(sizeof *run->reg * p->reg.n);
	memcpy(run->reg, p->reg.at, sizeof *run->reg * p->reg.n);
	run->iteration = mem_zalloc(sizeof *run->iteration * p->reg.n);
	run->u.slot = mem_zalloc(sizeof *run->u.slot * (l->n + 1));
	run->handle = mem_zalloc(sizeof *run->handle * (p->handles + 1));
	run->queue = mem_zalloc(sizeof *run->queue * (p->queues + 1));
	run->u.newest = USES_NONE;
	for (uint32_t b = 0; b < p->buffer.n; b++)
		for (uint32_t s = 0; s < (uint32_t)p->buffer.at[b].slots; s++) {
			uint32_t k = p->buffer.at[b].first_slot + s;
			run->u.slot[k] = (struct slot_uses){.buffer = b,
			                                    .pinned = p->buffer.at[b].input >= 0,
			                                    .newer = USES_NONE,
			                                    .older = USES_NONE};
			l->alone[k] = run->u.slot[k].pinned;
		}
	for (uint32_t k = 0; k <= l->n; k++)
		run->u.slot[k].end = end + (size_t)k * USES_MAX_STREAMS;
}

void lifetimes_find(const struct plan *p, bool pairs, struct lifetimes *out)
{
	struct dry_run run = {.p = p, .out = out, .u.out = out, .u.unpaired = !pairs};
	*out = (struct lifetimes){.n = p->slot.n};
	out->used = mem_zalloc(out->n + 1);
	out->alone = mem_zalloc(out->n + 1);
	out->late = mem_zalloc(p->buffer.n + 1);
	out->at = mem_zalloc(sizeof *out->at * (out->n + 1));
	if (out->n > MAX_SLOTS)
		return;
	start_dry_run(&run);
	out->known = follow_plan(&run) && !run.u.unpaired;
	if (out->known)
		uses_list(&run.u);
	for (uint32_t k = 0; k < out->n; k++)
		out->used[k] = run.u.slot[k].used || run.u.slot[k].pinned;
	for (uint32_t k = 0; k < p->queues; k++)
		vec_free(&run.queue[k].list);
	vec_free(&run.uses);
	uses_free(&run.u);
	free(run.u.slot[0].end);
	free(run.u.slot);
	free(run.reg);
	free(run.iteration);
	free(run.handle);
	free(run.queue);
}

void lifetimes_free(struct lifetimes *l)
{
	free(l->used);
	free(l->alone);
	free(l->late);
	free(l->at);
	free(l->first);
	free(l->with);
}
