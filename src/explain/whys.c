/* whys: the reasons for exposed communication.
 *
 *     Y <- allreduce(T) as c         1000 ns; the device is idle for 800 of them:
 *     wait(c)
 *     Z <- relu(Y)                   needs Y: cannot run meanwhile
 *     V <- linear(A, B)              does not need Y: could have run meanwhile
 *
 * The search follows the order of issue, which defines the meaning of the program. A statement needs a
 * Communication if it reads the Communication's result or a value computed from it, or overwrites an operand
 * of such a statement. A use of a buffer counts as a use of all of it, except for slices of a loop's streams.
 * A receive needs all earlier sends, since another rank may have passed the data on. So a statement reported
 * as independent is independent: all its operands were ready, and all memory that it overwrites was free. */
#include "explain/explain_rows.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/unit.h"
#include "sim/causes.h"
#include <stdlib.h>

enum { LOOKS = 8000000 }; /* tasks looked at, for all waits of a class */

struct part {
	value_id root;
	expr_id slice; /* slice by a loop's streams; 0: the whole buffer */
};

struct taint { /* a mark on a buffer, by its root */
	uint32_t round;
	uint32_t depth; /* 1: the Communication's own result; 2: a value computed from that */
	expr_id slice;  /* 0: the whole buffer */
	int64_t iteration;
};

struct search {
	struct explain_making *k;
	const struct sim_events *e;
	const struct sim_unit *u;
	struct module *m;
	struct taint *taint;       /* by value: the Communication's result, and values computed from it */
	struct taint *held;        /* by value: operands of the Communication, and of statements that need
	                              it */
	uint32_t *reached, *depth; /* by task: the round in which it was reached, and its depth then */
	uint32_t round;
	bool sent;        /* data of a reached task was sent */
	int64_t *written; /* by value: when the last part of the buffer was written */
	int64_t *read;    /* by value: when the buffer was last read */
	int64_t *made;    /* by task: when its operands were ready and its memory was free */
	int64_t looks;
	VEC(struct work {
		int64_t begin;
		uint32_t task;
	})
	work; /* sorted by begin */
};

static int by_begin(const void *a, const void *b)
{
	const struct work *x = a, *y = b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

/* Returns the part of a buffer that an operand names. It is a slice only if the innermost loop cuts it, since
 * the iteration then tells slices apart. */
static struct part part_of(const struct module *m, op_id op, value_id v)
{
	op_id def = m->value.at[v].def, loop[IR_MAX_NESTING];
	struct part x = {.root = ir_root(m, v)};
	unsigned n = ir_enclosing_loops(m, op, loop, IR_MAX_NESTING);
	if (n && def && m->op.at[def].kind == OP_SHARD_BY_STREAM) {
		expr_id slice = op_scalar_expr(m, def, 0);
		x.slice =
		    expr_uses_index(m, slice, m->region.at[m->op.at[loop[n - 1]].region].index) ? slice : 0;
	}
	return x;
}

/* ---- parts that statements touch */

/* Kinds of access of a statement to an operand. */
enum touch { READS = 1, WRITES = 2 };

typedef void touched(struct search *s, struct part x, enum touch how, void *to);

/* Calls a function for each operand of a statement; of a unit, for each operand of its statements. */
static void each_touched(struct search *s, op_id op, touched *call, void *to)
{
	bool adds = op_attr_is_true(s->m, op, "accumulate");
	for (unsigned i = 0; i < s->m->op.at[op].operand_n; i++) {
		const struct operand *x = ir_operand(s->m, op, i);
		bool writes = x->role == ROLE_WRITE || x->role == ROLE_DEF;
		if (x->role == ROLE_READ || (writes && adds))
			call(s, part_of(s->m, op, x->id), READS, to);
		if (writes)
			call(s, part_of(s->m, op, x->id), WRITES, to);
	}
	if (op_is_unit(s->m, op))
		region_each (s->m, inner, s->m->op.at[op].region)
			each_touched(s, inner, call, to);
	if (s->m->op.at[op].kind == OP_END_COALESCING)
		coalesce_each (s->m, member, op)
			each_touched(s, member, call, to);
}

/* Returns the depth of the marks on a part; 0: it has none. */
static uint32_t tainted(const struct search *s, const struct taint *by_value, struct part x,
                        int64_t iteration)
{
	const struct taint *t = &by_value[x.root];
	bool apart = t->slice && t->slice == x.slice && t->iteration != iteration;
	return t->round == s->round && !apart ? t->depth : 0;
}

static void set_taint(const struct search *s, struct taint *by_value, struct part x, int64_t iteration,
                      uint32_t depth)
{
	struct taint *t = &by_value[x.root];
	if (t->round == s->round) {
		if (t->slice != x.slice || t->iteration != iteration)
			t->slice = 0;
		t->depth = depth < t->depth ? depth : t->depth;
		return;
	}
	*t = (struct taint){s->round, depth, x.slice, iteration};
}

struct needing {
	int64_t iteration;
	uint32_t depth; /* the least depth found; 0: the statement does not need the Communication */
};

static void look_at_operand(struct search *s, struct part x, enum touch how, void *to)
{
	struct needing *n = to;
	uint32_t d = how == READS ? tainted(s, s->taint, x, n->iteration)
	             : tainted(s, s->held, x, n->iteration) || tainted(s, s->taint, x, n->iteration) ? 2
	                                                                                             : 0;
	n->depth = d && (!n->depth || d < n->depth) ? d : n->depth;
}

static void mark_operand(struct search *s, struct part x, enum touch how, void *to)
{
	const struct needing *n = to;
	set_taint(s, how == READS ? s->held : s->taint, x, n->iteration, n->depth);
}

/* ---- statements that need a Communication */

static bool touches_operands(const struct sim_task *t)
{
	return t->kind == SIM_WORK || t->kind == SIM_VIEW || t->kind >= SIM_MEETING;
}

static void look_at(struct search *s, uint32_t task)
{
	const struct sim_task *t = &s->u->r.task.at[task];
	enum op_kind kind = (enum op_kind)s->m->op.at[t->op].kind;
	if (t->kind == SIM_TAKE) {
		s->taint[ir_root(s->m, t->value)].round = 0;
		s->held[ir_root(s->m, t->value)].round = 0;
		return;
	}
	if (!touches_operands(t))
		return;
	struct needing n = {.iteration = t->iteration};
	each_touched(s, t->op, look_at_operand, &n);
	if (kind == OP_RECV && s->sent && !n.depth)
		n.depth = 2;
	if (!n.depth)
		return;
	s->reached[task] = s->round;
	s->depth[task] = n.depth;
	s->sent |= t->kind >= SIM_MEETING;
	n.depth = 2;
	each_touched(s, t->op, mark_operand, &n);
}

/* Marks all tasks that need the communication. Returns false if the search would take too long. */
static bool find_needing(struct search *s, uint32_t comm)
{
	const struct sim_task *t = &s->u->r.task.at[comm];
	s->looks += s->u->r.task.n - comm;
	if (s->looks > LOOKS)
		return false;
	s->round++;
	s->sent = false;
	each_touched(s, t->op, mark_operand, &(struct needing){t->iteration, 1});
	for (uint32_t k = comm + 1; k < s->u->r.task.n; k++)
		look_at(s, k);
	return true;
}

/* ---- when it could have begun */

static void latest(int64_t *at, int64_t end)
{
	*at = end > *at ? end : *at;
}

static void look_when(struct search *s, struct part x, enum touch how, void *to)
{
	latest(to, s->written[x.root]);
	if (how == WRITES)
		latest(to, s->read[x.root]);
}

static void mark_when(struct search *s, struct part x, enum touch how, void *to)
{
	const int64_t *end = to;
	latest(how == READS ? &s->read[x.root] : &s->written[x.root], *end);
}

/* Finds for each task when all buffers that it touches were ready. Buffers count whole, so the time may be
 * too late but never too early. */
static void find_made(struct search *s)
{
	for (uint32_t k = 0; k < s->u->r.task.n; k++) {
		const struct sim_task *t = &s->u->r.task.at[k];
		if (t->kind == SIM_TAKE)
			s->written[ir_root(s->m, t->value)] = s->read[ir_root(s->m, t->value)] = 0;
		if (!touches_operands(t))
			continue;
		each_touched(s, t->op, look_when, &s->made[k]);
		/* a view is there as soon as its source is */
		each_touched(s, t->op, mark_when, t->kind == SIM_VIEW ? &s->made[k] : &s->u->moment[k].end);
	}
}

/* ---- reasons */

static int64_t compute_overlap(int64_t a, int64_t b, int64_t from, int64_t to)
{
	from = from > a ? from : a;
	to = to < b ? to : b;
	return to > from ? to - from : 0;
}

/* Returns the collective that waits for this one on its channel, and for which the device is then idle. */
static op_id queued_behind(const struct search *s, uint32_t comm, const struct timeline_span *wait)
{
	const struct timeline_class *c = s->k->c;
	const struct sim_task *t = &s->u->r.task.at[comm];
	const struct sim_meeting *q = &s->e->meeting.at[s->u->meeting[t->channel]];
	if (t->kind != SIM_MEETING || t->number + 1 >= q->instance_n)
		return 0;
	uint32_t next = s->u->slot[t->channel][t->number + 1];
	struct sim_cause x = {c->unit, next};
	if (s->u->moment[next].begin != wait->end || !sim_cause_is_channel(s->e, x))
		return 0;
	for (uint32_t i = (uint32_t)(wait - c->span.at) + 1;
	     i < c->span.n && c->span.at[i].begin <= wait->end; i++) {
		const struct timeline_span *w = &c->span.at[i];
		if (w->kind == TIMELINE_WAIT && w->begin == wait->end && w->end > w->begin &&
		    w->comm != TIMELINE_NONE && c->span.at[w->comm].task == next)
			return s->u->r.task.at[next].op;
	}
	return 0;
}

/* Returns the reason why a communication began later than its data were ready, if that delay is at least half
 * of its exposed time. Returns UNKNOWN if there is no such delay, or if others came later. */
static enum explain_why delayed(const struct search *s, uint32_t comm, int64_t exposed, op_id *other)
{
	struct sim_cause x = {s->k->c->unit, comm};
	const struct sim_moment *m = &s->u->moment[comm];
	bool queued = sim_cause_is_channel(s->e, x);
	int64_t since = s->made[comm];
	if (queued && 2 * (m->begin - (m->ready > since ? m->ready : since)) >= exposed) {
		x = sim_cause_begin(s->e, x);
		*other = s->u->r.task.at[x.task].op;
		return EXPLAIN_BUSY;
	}
	if (queued || m->begin > m->ready || m->ready == since || 2 * (m->ready - since) < exposed)
		return EXPLAIN_UNKNOWN;
	for (x = sim_cause_ready(s->e, x); x.task != SIM_NONE; x = sim_cause_ready(s->e, x)) {
		const struct sim_task *t = &s->u->r.task.at[x.task];
		if (t->kind != SIM_WORK && t->kind < SIM_MEETING)
			continue;
		*other = t->op;
		return EXPLAIN_STREAM;
	}
	return EXPLAIN_LAUNCH;
}

/* Finds the work that runs after `at`: preferably work that could have begun before, otherwise the first. */
static enum explain_why find_next_work(struct search *s, int64_t at, op_id *other)
{
	uint32_t low = 0, high = s->work.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (s->work.at[middle].begin < at)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == s->work.n)
		return EXPLAIN_LAST;
	for (uint32_t k = low; k < s->work.n; k++, s->looks++)
		if (s->reached[s->work.at[k].task] != s->round && s->made[s->work.at[k].task] < at) {
			*other = s->u->r.task.at[s->work.at[k].task].op;
			return EXPLAIN_ORDER;
		}
	*other = s->u->r.task.at[s->work.at[low].task].op;
	bool needs = s->reached[s->work.at[low].task] == s->round && s->depth[s->work.at[low].task] == 1;
	return needs ? EXPLAIN_NEEDED : EXPLAIN_REST;
}

static void explain_wait(struct search *s, const struct timeline_span *wait)
{
	uint32_t comm = s->k->c->span.at[wait->comm].task;
	const struct sim_moment *m = &s->u->moment[comm];
	struct explain_row *r = explain_row_of(s->k, s->u->r.task.at[comm].op);
	int64_t late = compute_overlap(wait->begin, wait->end, m->ready,
	                               sim_instance_of(s->e, s->k->c->unit, comm)->latest);
	int64_t rest = wait->end - wait->begin - late;
	enum explain_why why = EXPLAIN_QUEUE;
	op_id other = queued_behind(s, comm, wait);
	if (late)
		explain_add_why(r, late, EXPLAIN_LATE, 0);
	if (!rest)
		return;
	if (!other)
		why = delayed(s, comm, rest, &other);
	if (why == EXPLAIN_UNKNOWN && find_needing(s, comm))
		why = find_next_work(s, wait->end, &other);
	explain_add_why(r, rest, why, other);
}

void explain_find_whys(struct explain_making *k, const struct sim_events *e)
{
	struct search s = {.k = k, .e = e, .u = &e->unit[k->c->unit], .m = k->x->t->m};
	uint32_t n = s.u->r.task.n;
	s.taint = mem_zalloc(sizeof *s.taint * s.m->value.n);
	s.held = mem_zalloc(sizeof *s.held * s.m->value.n);
	s.reached = mem_zalloc(sizeof *s.reached * ((size_t)n + 1));
	s.written = mem_zalloc(sizeof *s.written * s.m->value.n);
	s.read = mem_zalloc(sizeof *s.read * s.m->value.n);
	s.made = mem_zalloc(sizeof *s.made * ((size_t)n + 1));
	find_made(&s);
	s.depth = mem_zalloc(sizeof *s.depth * ((size_t)n + 1));
	for (uint32_t i = 0; i < n; i++)
		if (s.u->r.task.at[i].kind == SIM_WORK && s.u->r.task.at[i].time)
			vec_push(&s.work, ((struct work){s.u->moment[i].begin, i}));
	if (s.work.n)
		qsort(s.work.at, s.work.n, sizeof *s.work.at, by_begin);
	for (uint32_t i = 0; i < k->c->span.n; i++) {
		const struct timeline_span *w = &k->c->span.at[i];
		if (w->kind == TIMELINE_WAIT && w->end > w->begin && w->comm != TIMELINE_NONE)
			explain_wait(&s, w);
	}
	free(s.taint);
	free(s.held);
	free(s.reached);
	free(s.depth);
	free(s.written);
	free(s.read);
	free(s.made);
	vec_free(&s.work);
}
