/* recorded: timelines of programs whose statements have recorded times, with the rules by which the graphs'
 * referee replays them. */
#include "ir/print.h"
#include "sim/sim.h"
#include <string.h>

/* Returns "g0", or "g0 to 3" for messages. */
static const char *lane_name(struct timeline *t, op_id op)
{
	struct module *m = t->m;
	const struct attr *a = op_attr(m, op, "group"), *peer = op_attr(m, op, "peer"),
	                  *kind = op_attr(m, op, "kind");
	const char *group = a && a->kind == ATTR_NAME ? names_text(m->names, a->u.name) : "ranks";
	if (!block_is_message_in_flight(m, op) || !peer || peer->kind != ATTR_INT)
		return group;
	const char *way = op_by_hir(names_text(m->names, kind->u.name)) == OP_SEND ? "to" : "from";
	return arena_printf(t->arena, "%s %s %lld", group, way, (long long)peer->u.i);
}

static void add_lanes(const struct sim *s, struct timeline *t, struct timeline_class *c)
{
	const struct sched_problem *p = &s->block.p;
	vec_push(&c->lane, ((struct timeline_lane){.name = "host", .kind = LANE_HOST}));
	for (uint32_t l = 0; l < p->lane_n; l++)
		vec_push(&c->lane, ((struct timeline_lane){.name = "", .kind = LANE_COMMUNICATOR}));
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM) {
			struct timeline_lane *l = &c->lane.at[1 + p->node[x].lane];
			l->name = lane_name(t, s->block.op[x]);
			if (block_is_message_in_flight(s->m, s->block.op[x]))
				l->kind = LANE_MESSAGES;
		}
}

/* Adds a span for each wait, before the node that follows the wait. Most waits take no time. */
static void add_spans(const struct sim *s, struct timeline_class *c)
{
	const struct sched_problem *p = &s->block.p;
	uint32_t *span = mem_alloc(sizeof *span * ((size_t)p->n + 1)); /* by node that is a comm: its span */
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = s->order[k];
		const struct sched_node *n = &p->node[x];
		const struct sched_moment *m = &s->moment[k];
		struct timeline_span new = {.begin = m->begin,
		                            .end = m->end,
		                            .op = s->block.op[x],
		                            .comm = TIMELINE_NONE,
		                            .task = x,
		                            .iteration = -1};
		if (n->kind == SCHED_COMM) {
			span[x] = c->span.n;
			new.kind =
			    block_is_message_in_flight(s->m, new.op) ? TIMELINE_MESSAGE : TIMELINE_COLLECTIVE;
			new.lane = 1 + n->lane;
			new.bytes = sched_transfer(p, x)->in;
			vec_push(&c->span, new);
			continue;
		}
		if (n->comm != SCHED_NONE) {
			struct timeline_span wait = new;
			wait.kind = TIMELINE_WAIT;
			wait.begin = m->start;
			wait.end = m->start + m->stall;
			wait.comm = span[n->comm];
			wait.task = TIMELINE_NONE;
			vec_push(&c->span, wait);
		}
		if (m->end > m->begin)
			vec_push(&c->span, new);
	}
	free(span);
}

/* ---- memory */

static int by_size(const void *a, const void *b)
{
	const struct timeline_held *x = a, *y = b;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->op != y->op)
		return x->op < y->op ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static void add_held(const struct sim *s, struct timeline_class *c, const bool *live)
{
	const struct sched_problem *p = &s->block.p;
	for (uint32_t i = 0; i < p->storage_n; i++)
		if (live[i] && p->storage[i].bytes) {
			struct timeline_held h = {
			    .value = s->block.storage[i], .bytes = p->storage[i].bytes, .count = 1};
			if (p->storage[i].def != SCHED_NONE)
				h.op = s->block.op[p->storage[i].def];
			vec_push(&c->held, h);
		}
	if (c->held.n)
		qsort(c->held.at, c->held.n, sizeof *c->held.at, by_size);
}

static void add_change(struct timeline_class *c, int64_t at, uint32_t storage, bool frees)
{
	vec_push(&c->change, ((struct timeline_change){at, storage, frees}));
}

/* Returns, by storage, the number of its users; the caller frees it. */
static uint32_t *count_users(const struct sched_problem *p)
{
	uint32_t *users = mem_alloc(sizeof *users * ((size_t)p->storage_n + 1));
	for (uint32_t i = 0; i < p->storage_n; i++)
		users[i] = p->users.end[i] - p->users.at[i];
	return users;
}

void sim_recorded_tensors(const struct sim *s, struct timeline_class *c)
{
	const struct sched_problem *p = &s->block.p;
	uint32_t *left = count_users(p);
	for (uint32_t i = 0; i < p->storage_n; i++)
		vec_push(&c->tensor, ((struct timeline_tensor){s->block.storage[i], p->storage[i].bytes,
		                                               p->storage[i].def == SCHED_NONE}));
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = s->order[k];
		int64_t next = k + 1 < p->n ? s->moment[k + 1].start : s->result.runtime;
		for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++)
			add_change(c, s->moment[k].start, p->makes.item[i], false);
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			if (!--left[p->uses.item[i]])
				add_change(c, next, p->uses.item[i], true);
	}
	free(left);
}

/* Adds the memory levels, and the storages that are live at the first peak. */
static void add_memory(const struct sim *s, struct timeline_class *c)
{
	const struct sched_problem *p = &s->block.p;
	uint32_t *left = count_users(p);
	bool *live = mem_zalloc((size_t)p->storage_n + 1), found = false;
	for (uint32_t i = 0; i < p->storage_n; i++)
		live[i] = p->storage[i].def == SCHED_NONE;
	vec_push(&c->memory, ((struct timeline_level){0, p->fixed}));
	if (p->fixed == c->peak) {
		add_held(s, c, live);
		found = true;
	}
	for (uint32_t k = 0; k < p->n; k++) {
		uint32_t x = s->order[k];
		for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++)
			live[p->makes.item[i]] = true;
		if (s->moment[k].live != c->memory.at[c->memory.n - 1].bytes)
			vec_push(&c->memory,
			         ((struct timeline_level){s->moment[k].start, s->moment[k].live}));
		if (!found && s->moment[k].live == c->peak) {
			add_held(s, c, live);
			found = true;
		}
		for (uint32_t i = p->uses.at[x]; i < p->uses.end[x]; i++)
			if (!--left[p->uses.item[i]])
				live[p->uses.item[i]] = false;
	}
	free(left);
	free(live);
}

/* ---- the chain that ends with the step */

static uint32_t *previous_on_lane(const struct sim *s)
{
	const struct sched_problem *p = &s->block.p;
	uint32_t *last = mem_alloc(sizeof *last * (SCHED_MAX_LANES + 1));
	uint32_t *before = mem_alloc(sizeof *before * ((size_t)p->n + 1));
	for (uint32_t l = 0; l < SCHED_MAX_LANES; l++)
		last[l] = SCHED_NONE;
	for (uint32_t k = 0; k < p->n; k++) {
		const struct sched_node *n = &p->node[s->order[k]];
		before[k] = SCHED_NONE;
		if (n->kind == SCHED_COMM) {
			before[k] = last[n->lane];
			last[n->lane] = k;
		}
	}
	free(last);
	return before;
}

/* Returns the place before `at` that occupied the host. Comms do not: the host only issues them. */
static uint32_t on_host(const struct sim *s, uint32_t at)
{
	while (at && s->block.p.node[s->order[at - 1]].kind == SCHED_COMM)
		at--;
	return at ? at - 1 : SCHED_NONE;
}

/* Follows the chain back from the last place that takes time: from host work to a wait that held it, to the
 * awaited comm, to the comm before that on its lane. */
static void add_critical(const struct sim *s, struct timeline_class *c)
{
	const struct sched_problem *p = &s->block.p;
	uint32_t *before = previous_on_lane(s), *place = mem_alloc(sizeof *place * ((size_t)p->n + 1));
	uint32_t at = SCHED_NONE;
	VEC(struct timeline_step) chain = {0};
	for (uint32_t k = 0; k < p->n; k++) {
		place[s->order[k]] = k;
		if (p->node[s->order[k]].time > 0 && s->moment[k].end == s->result.runtime &&
		    at == SCHED_NONE)
			at = k;
	}
	while (at != SCHED_NONE) {
		const struct sched_node *n = &p->node[s->order[at]];
		const struct sched_moment *m = &s->moment[at];
		if (n->time)
			vec_push(&chain,
			         ((struct timeline_step){s->block.op[s->order[at]], m->end - m->begin, 1}));
		if (n->kind == SCHED_COMM && m->begin > m->start)
			at = before[at];
		else if (n->kind == SCHED_WAIT && m->stall)
			at = place[n->comm];
		else
			at = on_host(s, at);
	}
	while (chain.n)
		vec_push(&c->critical, chain.at[--chain.n]);
	vec_free(&chain);
	free(before);
	free(place);
}

/* ---- all of it */

/* Returns true if collectives of the program are in buckets already. */
static bool has_buckets(const struct sim *s)
{
	for (uint32_t x = 0; x < s->block.p.n; x++) {
		op_id op = s->block.op[x];
		if (s->m->op.at[op].kind == OP_PACK || s->m->op.at[op].kind == OP_END_COALESCING ||
		    (s->block.p.node[x].kind == SCHED_COMM && op_result_count(s->m, op) > 1))
			return true;
	}
	return false;
}

static const char *binding_text(const struct sim *s, struct timeline *t, const struct timeline_class *c)
{
	static const char *const name[] = {[SCHED_BOUND_HOST] = "work of the host",
	                                   [SCHED_BOUND_PATH] = "the longest chain of statements",
	                                   [SCHED_BOUND_LANE] = "communication of",
	                                   [SCHED_BOUND_PACKING] = "communication in buckets of",
	                                   [SCHED_BOUND_CONTENTION] = "work beside communication of"};
	const char *lane = s->bound.resource >= SCHED_BOUND_LANE ? c->lane.at[1 + s->bound.lane].name : "";
	return arena_printf(t->arena, "%s%s%s%s", name[s->bound.resource], *lane ? " " : "", lane,
	                    has_buckets(s) ? ", with the buckets that it has" : "");
}

void sim_recorded_add(const struct sim *s, struct timeline *t, const struct timeline_class *of)
{
	vec_push(&t->class, *of);
	struct timeline_class *c = &t->class.at[t->class.n - 1];
	c->end = s->result.runtime;
	c->live = c->peak = s->result.peak;
	add_lanes(s, t, c);
	add_spans(s, c);
	add_memory(s, c);
	add_critical(s, c);
	if (s->result.runtime > t->runtime)
		t->runtime = s->result.runtime;
	if (t->class.n == 1 || s->bound.runtime > t->bound.runtime) {
		t->bound = s->bound;
		t->binding = binding_text(s, t, c);
	}
}

void sim_recorded_open(struct timeline *t, struct module *m)
{
	timeline_open(t, m);
	t->recorded = true;
	t->machine = m->recording.name ? names_text(m->names, m->recording.name) : NULL;
}

void sim_recorded_timeline(const struct sim *s, struct timeline *t)
{
	sim_recorded_open(t, s->m);
	const char *name =
	    s->straggler ? arena_printf(t->arena, "rank %lld", (long long)s->straggler->rank) : "ranks";
	sim_recorded_add(s, t, &(struct timeline_class){.name = name, .count = 1});
	timeline_finish(t);
	t->class.at[0].work = t->class.at[0].lane.at[0].busy = s->result.host;
}
