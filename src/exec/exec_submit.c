/* exec_submit: submits the instructions of a plan to streams, one after the other. */
#include "exec/exec_submit.h"
#include "base/arena.h"
#include "exec/exec_faults.h"
#include "exec/exec_ranges.h"
#include "exec/exec_written.h"
#include "plan/plan_control.h"
#include <stdlib.h>

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

enum status exec_submit(struct exec *e)
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
