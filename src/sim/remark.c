/* remark: see remark.h.
 *
 *     for i in 0..3 parallel(stream) {
 *       set_stream(i)
 *       synchronize(main)
 *       T <- linear(…)                 the next one waits for c by way of main,
 *       Y <- allreduce(T) as c
 *       wait(c)
 *       set_stream(main)
 *       synchronize(i)                 since main waits for it here
 *     }
 *
 * The search starts at work before which the device was idle, and goes back over joins to communication.
 * Among the synchronize statements on the way, the one nearest to the communication passes the wait to
 * another stream. Work is related to communication if both touch one buffer, in the same iteration if the
 * buffer is allocated there, unless each touches its own slice. */
#include "sim/remark.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "sim/causes.h"
#include "sim/sim_run.h"
#include <string.h>

enum { MOST = 8 }; /* candidates that are tried */

struct suspect {
	op_id op, work, comm; /* op: the synchronize; work: what waited longest through it; comm: the
	                         communication it waited for */
	int64_t time, longest;
};

struct search {
	const struct sim_events *e;
	struct module *m;
	VEC(struct suspect) suspect;
};

/* ---- tests if work has to do with communication */

/* The part of a buffer that is touched: all of it, or a slice with an index. */
struct part {
	value_id root;
	expr_id slice; /* 0: all of it */
};

static struct part part_of(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	struct part x = {.root = ir_root(m, v)};
	if (def && m->op.at[def].kind == OP_SHARD_BY_STREAM)
		x.slice = op_scalar_expr(m, def, 0);
	return x;
}

/* Returns the task that took the memory of a buffer; SIM_NONE: it was there from the beginning. */
static uint32_t find_take(const struct sim_unit *u, uint32_t task, value_id root)
{
	while (task-- > 0)
		if (u->r.task.at[task].kind == SIM_TAKE && u->r.task.at[task].value == root)
			return task;
	return SIM_NONE;
}

static bool has_common_part(const struct search *s, const struct sim_unit *u, uint32_t a, uint32_t b,
                            value_id v, value_id w)
{
	struct part x = part_of(s->m, v), y = part_of(s->m, w);
	if (x.root != y.root || find_take(u, a, x.root) != find_take(u, b, x.root))
		return false;
	return !x.slice || x.slice != y.slice || u->r.task.at[a].iteration == u->r.task.at[b].iteration;
}

static bool is_tensor(const struct operand *x)
{
	return x->role == ROLE_READ || x->role == ROLE_WRITE || x->role == ROLE_DEF;
}

/* Returns true if the work is related to b, a communication or a group of them. */
static bool needs_one(const struct search *s, const struct sim_unit *u, uint32_t work, uint32_t comm, op_id b)
{
	op_id a = u->r.task.at[work].op;
	for (unsigned i = 0; i < s->m->op.at[a].operand_n; i++)
		for (unsigned k = 0; k < s->m->op.at[b].operand_n; k++) {
			const struct operand *x = ir_operand(s->m, a, i), *y = ir_operand(s->m, b, k);
			bool reads = x->role == ROLE_READ && y->role == ROLE_READ;
			if (is_tensor(x) && is_tensor(y) && !reads &&
			    has_common_part(s, u, work, comm, x->id, y->id))
				return true;
		}
	return false;
}

static bool needs(const struct search *s, const struct sim_unit *u, uint32_t work, uint32_t comm)
{
	op_id op = u->r.task.at[comm].op;
	if (s->m->op.at[op].kind == OP_END_COALESCING)
		coalesce_each (s->m, member, op)
			if (needs_one(s, u, work, comm, member))
				return true;
	return needs_one(s, u, work, comm, op);
}

/* ---- waits and their causes */

static void add_suspect(struct search *s, op_id op, op_id work, op_id comm, int64_t time)
{
	uint32_t k = 0;
	while (k < s->suspect.n && s->suspect.at[k].op != op)
		k++;
	if (k == s->suspect.n)
		vec_push(&s->suspect, ((struct suspect){.op = op}));
	struct suspect *x = &s->suspect.at[k];
	x->time += time;
	if (time > x->longest) {
		x->longest = time;
		x->work = work;
		x->comm = comm;
	}
}

/* Looks at work that began late because it waited for another stream. since: when the device was free. */
static void look_at(struct search *s, uint32_t unit, uint32_t work, int64_t since)
{
	const struct sim_unit *u = &s->e->unit[unit];
	struct sim_cause x = sim_cause_ready(s->e, (struct sim_cause){unit, work});
	op_id through = 0;
	while (x.task != SIM_NONE && u->r.task.at[x.task].kind < SIM_MEETING) {
		const struct sim_task *t = &u->r.task.at[x.task];
		if (t->kind == SIM_WORK)
			return;
		struct sim_cause before = sim_cause_ready(s->e, x);
		if (t->kind == SIM_JOIN && s->m->op.at[t->op].kind == OP_SYNCHRONIZE &&
		    before.task == t->also)
			through = t->op;
		x = before;
	}
	if (x.task == SIM_NONE || !through)
		return;
	if (!needs(s, u, work, x.task))
		add_suspect(s, through, u->r.task.at[work].op, u->r.task.at[x.task].op,
		            u->moment[work].begin - since);
}

struct moment {
	int64_t begin;
	uint32_t task;
};

static int by_begin(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

static void look_at_unit(struct search *s, uint32_t unit)
{
	const struct sim_unit *u = &s->e->unit[unit];
	VEC(struct moment) work = {0};
	int64_t idle = 0;
	for (uint32_t k = 0; k < u->r.task.n; k++)
		if (u->r.task.at[k].kind == SIM_WORK && u->r.task.at[k].time)
			vec_push(&work, ((struct moment){u->moment[k].begin, k}));
	if (work.n)
		qsort(work.at, work.n, sizeof *work.at, by_begin);
	for (uint32_t k = 0; k < work.n; k++) {
		uint32_t task = work.at[k].task;
		if (work.at[k].begin > idle && u->moment[task].device == SIM_NONE)
			look_at(s, unit, task, idle);
		idle = u->moment[task].end;
	}
	vec_free(&work);
}

/* ---- the cost */

static int by_time(const void *a, const void *b)
{
	const struct suspect *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? 1 : -1;
	return (x->op > y->op) - (x->op < y->op);
}

/* Returns the time of the step without a statement; -1: it does not end. */
static int64_t without(struct sim_program *p, op_id op, bool each)
{
	struct diag *told = p->d;
	struct sim_run run;
	int64_t runtime = -1;
	p->d = diag_new(NULL, DIAG_TEXT, 0);
	p->ignored = op;
	if (sim_run_open(p, each, &run)) {
		runtime = run.events.runtime;
		sim_run_close(&run);
	}
	diag_free(p->d);
	p->d = told;
	p->ignored = 0;
	p->failed = false;
	return runtime;
}

void sim_remarks(struct sim_program *p, const struct sim_events *e, bool each, struct timeline *t)
{
	struct search s = {.e = e, .m = p->m};
	for (uint32_t u = 0; u < e->n; u++)
		look_at_unit(&s, u);
	if (s.suspect.n)
		qsort(s.suspect.at, s.suspect.n, sizeof *s.suspect.at, by_time);
	for (uint32_t k = 0; k < s.suspect.n && k < MOST; k++) {
		const struct suspect *x = &s.suspect.at[k];
		int64_t time = without(p, x->op, each);
		if (time < 0 || time >= e->runtime)
			continue;
		struct timeline_remark r = {.op = x->op};
		r.text =
		    arena_printf(t->arena,
		                 "`%s` serialises: `%s` waits for `%s`, which it does not need; without it "
		                 "%lld ns instead of %lld",
		                 timeline_label(t, x->op), timeline_label(t, x->work),
		                 timeline_label(t, x->comm), (long long)time, (long long)e->runtime);
		vec_push(&t->remark, r);
	}
	vec_free(&s.suspect);
}
