/* explain: makes rows from the spans of a timeline. */
#include "explain/explain.h"
#include "explain/explain_rows.h"
#include "ir/edit.h"
#include "sim/causes.h"
#include <stdlib.h>
#include <string.h>

const char *const explain_why_word[EXPLAIN_WHY_COUNT] = {
#define EXPLAIN_WORD(id, word, text) word,
    EXPLAIN_WHYS(EXPLAIN_WORD)
#undef EXPLAIN_WORD
};
const char *const explain_part_word[EXPLAIN_PARTS] = {"compute", "memory", "bandwidth", "latency", "host"};

/* ---- rows */

struct explain_row *explain_row_of(struct explain_making *k, op_id op)
{
	if (!k->row[op]) {
		vec_push(&k->to->row, ((struct explain_row){.op = op}));
		k->row[op] = k->to->row.n;
	}
	return &k->to->row.at[k->row[op] - 1];
}

void explain_add_idle(struct explain_row *r, int64_t time, op_id after, const char *lane)
{
	r->idle += time;
	if (time <= r->after_time)
		return;
	r->after_time = time;
	r->after = after;
	r->after_lane = lane;
}

void explain_add_why(struct explain_row *r, int64_t time, enum explain_why why, op_id other)
{
	if (time > r->longest[why]) {
		r->longest[why] = time;
		r->other[why] = other;
	}
	r->why[why] += time;
}

enum explain_why explain_main_why(const struct explain_row *r)
{
	unsigned most = EXPLAIN_UNKNOWN;
	for (unsigned k = 0; k < EXPLAIN_WHY_COUNT; k++)
		if (r->why[k] > r->why[most])
			most = k;
	return (enum explain_why)most;
}

static void add_span(struct explain_making *k, const struct timeline_span *s, int64_t alone)
{
	struct explain_row *r = explain_row_of(k, s->op);
	int64_t time = s->end - s->begin;
	r->communicates = s->kind != TIMELINE_WORK;
	if (!r->count || s->begin < r->begin) {
		r->begin = s->begin;
		r->first = time;
		r->exposed_first = s->exposed;
	}
	if (!r->count)
		r->lane = s->lane;
	r->count++;
	r->time += time;
	r->alone += alone;
	r->bytes += s->bytes;
	r->exposed += s->exposed;
}

struct pair {
	uint32_t row, lane;
};

static int by_pair(const void *a, const void *b)
{
	const struct pair *x = a, *y = b;
	if (x->row != y->row)
		return x->row < y->row ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

static void count_lanes(struct explain_making *k)
{
	VEC(struct pair) seen = {0};
	for (uint32_t i = 0; i < k->c->span.n; i++) {
		const struct timeline_span *s = &k->c->span.at[i];
		if (s->kind != TIMELINE_WAIT)
			vec_push(&seen, ((struct pair){k->row[s->op] - 1, s->lane}));
	}
	if (seen.n)
		qsort(seen.at, seen.n, sizeof *seen.at, by_pair);
	for (uint32_t i = 0; i < seen.n; i++)
		if (!i || by_pair(&seen.at[i - 1], &seen.at[i]))
			k->to->row.at[seen.at[i].row].lanes++;
	vec_free(&seen);
}

struct placed { /* a row to be sorted */
	uint32_t place;
	struct explain_row row;
};

static int by_place(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	return (x->place > y->place) - (x->place < y->place);
}

/* Sorts rows by the program's order. place: by op. */
static void sort_rows(struct explain_class *to, const uint32_t *place)
{
	struct placed *sorted = mem_alloc(sizeof *sorted * ((size_t)to->row.n + 1));
	for (uint32_t k = 0; k < to->row.n; k++)
		sorted[k] = (struct placed){place[to->row.at[k].op], to->row.at[k]};
	qsort(sorted, to->row.n, sizeof *sorted, by_place);
	for (uint32_t k = 0; k < to->row.n; k++)
		to->row.at[k] = sorted[k].row;
	free(sorted);
}

static uint32_t *places(struct module *m, struct arena *a)
{
	uint32_t *place = arena_new_array(a, uint32_t, m->op.n), n = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		place[op] = n++;
	return place;
}

/* Fills in the work of rows that compute, and adds up communication and contention. */
static void add_work(struct explain_making *k)
{
	for (uint32_t i = 0; i < k->to->row.n; i++) {
		struct explain_row *r = &k->to->row.at[i];
		struct cost_work w = cost_op_work(k->x->cost, r->op);
		k->to->contention += r->time - r->alone;
		if (r->communicates) {
			k->to->communication += r->time;
			continue;
		}
		r->flops = w.flops * r->count;
		r->bytes += w.bytes * r->count;
		r->memory = 2 * w.memory >= cost_op_time(k->x->cost, r->op);
	}
}

/* ---- the chain */

/* Counts the rest of the class's time as the host's: it had not yet issued the next statement. */
static void add_chain(struct explain_making *k)
{
	int64_t *chain = k->to->chain;
	chain[EXPLAIN_HOST] = k->c->end;
	for (uint32_t i = 0; i < k->c->critical.n; i++) {
		const struct timeline_step *s = &k->c->critical.at[i];
		uint32_t row = k->row[s->op];
		bool communicates =
		    row ? k->to->row.at[row - 1].communicates : cost_op_bytes(k->x->cost, s->op) > 0;
		int64_t latency = communicates ? k->latency[s->op] * s->count : 0;
		latency = latency < s->time ? latency : s->time;
		if (communicates) {
			chain[EXPLAIN_LATENCY] += latency;
			chain[EXPLAIN_BANDWIDTH] += s->time - latency;
		} else {
			chain[row && k->to->row.at[row - 1].memory ? EXPLAIN_MEMORY : EXPLAIN_COMPUTE] +=
			    s->time;
		}
		chain[EXPLAIN_HOST] -= s->time;
	}
}

/* ---- causes of waits */

static const char *lane_of(const struct explain_making *k, const uint32_t *span, uint32_t task)
{
	return span[task] == TIMELINE_NONE ? "" : k->c->lane.at[k->c->span.at[span[task]].lane].name;
}

/* Follows causes back over items that take no time. */
static struct sim_cause cause_of(const struct sim_events *e, struct sim_cause x)
{
	for (x = sim_cause_begin(e, x); x.task != SIM_NONE; x = sim_cause_ready(e, x)) {
		uint8_t kind = e->unit[x.unit].r.task.at[x.task].kind;
		if (kind == SIM_WORK || kind >= SIM_MEETING)
			break;
	}
	return x;
}

/* Adds the idle time of a stream before each task: from the moment when the task was issued and the stream's
 * earlier work was over. */
static void add_idle(struct explain_making *k, const struct sim_events *e)
{
	const struct sim_unit *u = &e->unit[k->c->unit];
	uint32_t *span = mem_alloc(sizeof *span * ((size_t)u->r.task.n + 1));
	int64_t *over =
	    mem_zalloc(sizeof *over * ((size_t)u->r.task.n + 1)); /* work of the stream before each task */
	memset(span, 0xff, sizeof *span * ((size_t)u->r.task.n + 1));
	for (uint32_t i = 0; i < k->c->span.n; i++)
		if (k->c->span.at[i].task != TIMELINE_NONE)
			span[k->c->span.at[i].task] = i;
	for (uint32_t i = 0; i < u->r.task.n; i++) {
		const struct sim_task *t = &u->r.task.at[i];
		int64_t since = t->before == SIM_NONE ? 0 : over[t->before];
		over[i] = t->kind == SIM_WORK ? u->moment[i].end : since;
		since = t->issue > since ? t->issue : since;
		if (span[i] == TIMELINE_NONE || u->moment[i].begin <= since)
			continue;
		struct sim_cause by = cause_of(e, (struct sim_cause){k->c->unit, i});
		bool other = by.task != SIM_NONE && by.unit != k->c->unit;
		explain_add_idle(explain_row_of(k, t->op), u->moment[i].begin - since,
		                 by.task == SIM_NONE ? 0 : e->unit[by.unit].r.task.at[by.task].op,
		                 by.task == SIM_NONE || other ? "" : lane_of(k, span, by.task));
	}
	free(span);
	free(over);
}

/* Adds the time in which the host of a recorded program is idle in waits. */
static void add_stalls(struct explain_making *k)
{
	for (uint32_t i = 0; i < k->c->span.n; i++) {
		const struct timeline_span *s = &k->c->span.at[i];
		if (s->kind != TIMELINE_WAIT || s->comm == TIMELINE_NONE || s->end <= s->begin)
			continue;
		const struct timeline_span *comm = &k->c->span.at[s->comm];
		struct explain_row *r = explain_row_of(k, s->op);
		if (!r->count) {
			r->begin = s->begin;
			r->count = 1;
			r->lanes = 1;
			r->waits = true;
		}
		explain_add_idle(r, s->end - s->begin, comm->op, k->c->lane.at[comm->lane].name);
	}
}

/* ---- all of it */

static void find_collectives(struct explanation *x)
{
	for (op_id op = ir_walk_first(x->t->m); op; op = ir_walk(x->t->m, op)) {
		struct explain_collective c = {.op = op};
		if (cost_choice_find(x->cost, op, x->arena, &c.choice))
			vec_push(&x->collective, c);
	}
}

static void open_explanation(struct explanation *x, struct timeline *t, const struct cost *cost)
{
	*x = (struct explanation){.arena = arena_new(), .t = t, .cost = cost};
	find_collectives(x);
	for (uint32_t k = 0; k < t->class.n; k++)
		vec_push(&x->class, ((struct explain_class){.c = &t->class.at[k]}));
}

static void add_spans(struct explain_making *k, const struct sim_events *e, const struct sim *s)
{
	for (uint32_t i = 0; i < k->c->span.n; i++) {
		const struct timeline_span *p = &k->c->span.at[i];
		if (p->kind == TIMELINE_WAIT)
			continue;
		int64_t alone = s ? s->block.p.node[p->task].time : 0;
		if (e) {
			const struct sim_task *task = &e->unit[k->c->unit].r.task.at[p->task];
			alone = task->kind == SIM_WORK ? task->time
			                               : sim_instance_of(e, k->c->unit, p->task)->time;
		}
		add_span(k, p, alone);
	}
}

static void make_class(struct explanation *x, uint32_t class, const uint32_t *place, const int64_t *latency,
                       const struct sim_events *e, const struct sim *s)
{
	struct explain_making k = {
	    .x = x, .to = &x->class.at[class], .c = &x->t->class.at[class], .latency = latency};
	k.row = mem_zalloc(sizeof *k.row * x->t->m->op.n);
	add_spans(&k, e, s);
	count_lanes(&k);
	add_work(&k);
	add_chain(&k);
	if (e) {
		add_idle(&k, e);
		explain_find_whys(&k, e);
	} else {
		add_stalls(&k);
		explain_find_recorded_whys(&k, s);
	}
	sort_rows(k.to, place);
	free(k.row);
}

static void make_explanation(struct explanation *x, struct timeline *t, const struct cost *cost,
                             const struct sim_events *e, const struct sim *s)
{
	open_explanation(x, t, cost);
	const uint32_t *place = places(t->m, x->arena);
	int64_t *latency = arena_new_array(x->arena, int64_t, t->m->op.n);
	for (uint32_t k = 0; k < x->collective.n; k++)
		if (x->collective.at[k].choice.latency > 0)
			latency[x->collective.at[k].op] = x->collective.at[k].choice.latency;
	for (uint32_t k = 0; k < x->class.n; k++)
		make_class(x, k, place, latency, e, s ? &s[k] : NULL);
}

void explain_devices(struct explanation *x, struct timeline *t, const struct sim_events *e,
                     const struct cost *cost)
{
	make_explanation(x, t, cost, e, NULL);
}

void explain_recorded(struct explanation *x, struct timeline *t, const struct sim *s, const struct cost *cost)
{
	make_explanation(x, t, cost, NULL, s);
}

void explain_close(struct explanation *x)
{
	for (uint32_t k = 0; k < x->class.n; k++)
		vec_free(&x->class.at[k].row);
	vec_free(&x->class);
	vec_free(&x->collective);
	arena_free(x->arena);
}

uint32_t explain_class_of(const struct explanation *x, int64_t rank)
{
	if (rank < 0)
		return timeline_last_class(x->t);
	for (uint32_t k = 0; k < x->class.n; k++) {
		const struct timeline_class *c = x->class.at[k].c;
		for (uint32_t i = 0; i < c->ranks.n; i++)
			if (rank >= c->ranks.at[i].first && rank <= c->ranks.at[i].last)
				return k;
	}
	return UINT32_MAX;
}
