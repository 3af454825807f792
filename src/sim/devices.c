/* devices: makes timelines from the simulated events. */
#include "sim/devices.h"
#include "sim/causes.h"
#include "sim/reserve.h"
#include "sim/sim_bound.h"
#include <string.h>

struct moment { /* begin of a task, to be sorted */
	int64_t at;
	uint32_t task;
};

struct making {
	struct sim_events *e;
	struct timeline *t;
	struct timeline_class *c;
	uint32_t unit;
	uint32_t *span;          /* by task: the span of its communication; TIMELINE_NONE */
	VEC(struct moment) work; /* tasks that take time, by begin */
	uint32_t *lane_of_stream, *lane_of_place;
};

static const struct sim_unit *unit_of(const struct making *k)
{
	return &k->e->unit[k->unit];
}

/* ---- lanes */

static void add_lanes(struct making *k)
{
	const struct sim_rank *r = &unit_of(k)->r;
	uint32_t messages = TIMELINE_NONE;
	k->lane_of_stream = mem_alloc(sizeof *k->lane_of_stream * ((size_t)r->stream.n + 1));
	k->lane_of_place = mem_zalloc(sizeof *k->lane_of_place * ((size_t)r->place.n + 1));
	for (uint32_t i = 0; i < r->stream.n; i++) {
		k->lane_of_stream[i] = k->c->lane.n;
		vec_push(&k->c->lane,
		         ((struct timeline_lane){.kind = LANE_STREAM,
		                                 .name = r->stream.at[i] < 0
		                                             ? "main"
		                                             : arena_printf(k->t->arena, "stream %lld",
		                                                            (long long)r->stream.at[i])}));
	}
	for (uint32_t i = 0; i < r->place.n; i++) {
		const struct sim_channel *ch = &k->e->p->channel.at[r->place.at[i].channel];
		if (ch->kind == SIM_CHANNEL_FENCE)
			continue;
		bool message = ch->kind == SIM_CHANNEL_MESSAGES;
		if (message && messages != TIMELINE_NONE) {
			k->lane_of_place[i] = messages;
			continue;
		}
		k->lane_of_place[i] = k->c->lane.n;
		messages = message ? k->c->lane.n : messages;
		vec_push(&k->c->lane,
		         ((struct timeline_lane){
		             .kind = message ? LANE_MESSAGES : LANE_COMMUNICATOR,
		             .name = message ? "messages" : sim_channel_name(k->e->p, ch, k->t->arena)}));
	}
}

/* ---- spans */

static void add_spans(struct making *k)
{
	const struct sim_unit *u = unit_of(k);
	for (uint32_t i = 0; i < u->r.task.n; i++) {
		const struct sim_task *t = &u->r.task.at[i];
		struct timeline_span s = {.begin = u->moment[i].begin,
		                          .end = u->moment[i].end,
		                          .op = t->op,
		                          .bytes = t->bytes,
		                          .iteration = t->iteration,
		                          .comm = TIMELINE_NONE,
		                          .task = i};
		bool fence = t->kind == SIM_MEETING &&
		             k->e->p->channel.at[u->r.place.at[t->channel].channel].kind == SIM_CHANNEL_FENCE;
		k->span[i] = TIMELINE_NONE;
		if (t->kind == SIM_WORK && s.end > s.begin) {
			s.lane = k->lane_of_stream[t->stream];
			vec_push(&k->work, ((struct moment){s.begin, i}));
			vec_push(&k->c->span, s);
		} else if (t->kind >= SIM_MEETING && !fence) {
			s.kind = t->kind == SIM_MEETING ? TIMELINE_COLLECTIVE : TIMELINE_MESSAGE;
			s.lane = k->lane_of_place[t->channel];
			k->span[i] = k->c->span.n;
			vec_push(&k->c->span, s);
		}
	}
}

/* Follows causes from a task back over joins to the communication that made it ready. Returns SIM_NONE if it
 * was anything other than communication. *wait: the statement that waits for it. */
static uint32_t communication_behind(const struct making *k, uint32_t task, op_id *wait)
{
	const struct sim_unit *u = unit_of(k);
	struct sim_cause x = {k->unit, task};
	while (x.task != SIM_NONE && u->r.task.at[x.task].kind < SIM_MEETING) {
		if (u->r.task.at[x.task].kind == SIM_WORK && x.task != task)
			return SIM_NONE;
		*wait = u->r.task.at[x.task].op;
		x = sim_cause_ready(k->e, x);
	}
	return x.task;
}

/* Counts a stall: the device is idle from `from` to `to`, when a task becomes ready. The communication that
 * made the task ready gets the part in which it ran or was awaited; what made that communication ready gets
 * the rest, and so on back. */
static void add_stall(struct making *k, int64_t from, int64_t to, uint32_t task)
{
	const struct sim_unit *u = unit_of(k);
	uint32_t lane = k->lane_of_stream[u->r.task.at[task].stream];
	op_id wait = u->r.task.at[task].op;
	uint32_t comm = communication_behind(k, task, &wait);
	while (comm != SIM_NONE && to > from) {
		struct sim_cause x = {k->unit, comm}, before;
		bool queued = sim_cause_is_channel(k->e, x);
		int64_t since = queued ? u->moment[comm].begin : u->moment[comm].ready;
		since = since > from ? since : from;
		if (k->span[comm] != TIMELINE_NONE && since < to)
			vec_push(&k->c->span, ((struct timeline_span){.begin = since,
			                                              .end = to,
			                                              .op = wait,
			                                              .lane = lane,
			                                              .iteration = -1,
			                                              .task = TIMELINE_NONE,
			                                              .comm = k->span[comm],
			                                              .kind = TIMELINE_WAIT}));
		to = since;
		before = queued ? sim_cause_begin(k->e, x) : sim_cause_ready(k->e, x);
		comm = queued ? before.task : communication_behind(k, before.task, &wait);
	}
}

static int by_begin(const void *a, const void *b)
{
	const struct timeline_span *x = *(const struct timeline_span *const *)a,
	                           *y = *(const struct timeline_span *const *)b;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x > y) - (x < y);
}

static void sort_spans(struct timeline_class *c)
{
	struct timeline_span *sorted = mem_alloc(sizeof *sorted * ((size_t)c->span.n + 1)), **order;
	uint32_t *place = mem_alloc(sizeof *place * ((size_t)c->span.n + 1));
	order = mem_alloc(sizeof *order * ((size_t)c->span.n + 1));
	for (uint32_t i = 0; i < c->span.n; i++)
		order[i] = &c->span.at[i];
	qsort(order, c->span.n, sizeof *order, by_begin);
	for (uint32_t i = 0; i < c->span.n; i++) {
		sorted[i] = *order[i];
		place[order[i] - c->span.at] = i;
	}
	for (uint32_t i = 0; i < c->span.n; i++)
		if (sorted[i].comm != TIMELINE_NONE)
			sorted[i].comm = place[sorted[i].comm];
	if (c->span.n)
		memcpy(c->span.at, sorted, sizeof *sorted * c->span.n);
	free(sorted);
	free(place);
	free(order);
}

/* Returns the task that ends last; if there are several, the first. */
static uint32_t last_task(const struct sim_unit *u)
{
	uint32_t last = SIM_NONE;
	for (uint32_t i = 0; i < u->r.task.n; i++)
		if (last == SIM_NONE || u->moment[i].end > u->moment[last].end)
			last = i;
	return last;
}

static int by_moment(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return (x->task > y->task) - (x->task < y->task);
}

/* Adds the stalls of the device between two pieces of work, and at the end. */
static void add_stalls(struct making *k)
{
	const struct sim_unit *u = unit_of(k);
	int64_t idle = 0;
	if (k->work.n)
		qsort(k->work.at, k->work.n, sizeof *k->work.at, by_moment);
	for (uint32_t i = 0; i < k->work.n; i++) {
		uint32_t task = k->work.at[i].task;
		if (u->moment[task].begin > idle && u->moment[task].device == SIM_NONE)
			add_stall(k, idle, u->moment[task].begin, task);
		idle = u->moment[task].end;
	}
	uint32_t last = last_task(u);
	if (last != SIM_NONE && u->end > idle)
		add_stall(k, idle, u->end, last);
}

/* Adds empty waits, so that every communication leads to its wait. */
static void add_waits(struct making *k)
{
	const struct sim_unit *u = unit_of(k);
	bool *stalled = mem_zalloc((size_t)k->c->span.n + 1);
	for (uint32_t i = 0; i < k->c->span.n; i++)
		if (k->c->span.at[i].comm != TIMELINE_NONE)
			stalled[k->c->span.at[i].comm] = true;
	for (uint32_t i = 0; i < u->r.task.n; i++) {
		const struct sim_task *t = &u->r.task.at[i];
		if (t->kind != SIM_JOIN || t->also == SIM_NONE || k->span[t->also] == TIMELINE_NONE ||
		    stalled[k->span[t->also]])
			continue;
		vec_push(&k->c->span, ((struct timeline_span){.begin = u->moment[i].end,
		                                              .end = u->moment[i].end,
		                                              .op = t->op,
		                                              .lane = k->lane_of_stream[t->stream],
		                                              .iteration = t->iteration,
		                                              .task = TIMELINE_NONE,
		                                              .comm = k->span[t->also],
		                                              .kind = TIMELINE_WAIT}));
	}
	free(stalled);
}

/* ---- memory */

static int by_size(const void *a, const void *b)
{
	const struct timeline_held *x = a, *y = b;
	int64_t m = x->bytes * x->count, n = y->bytes * y->count;
	if (m != n)
		return m < n ? 1 : -1;
	return (x->value > y->value) - (x->value < y->value);
}

static void add_held(struct making *k, const uint32_t *live)
{
	const struct sim_program *p = k->e->p;
	for (value_id v = 1; v < p->m->value.n; v++)
		if (live[v] && p->held[v])
			vec_push(&k->c->held, ((struct timeline_held){.value = v,
			                                              .op = p->m->value.at[v].def,
			                                              .bytes = p->held[v],
			                                              .count = live[v]}));
	if (k->c->held.n)
		qsort(k->c->held.at, k->c->held.n, sizeof *k->c->held.at, by_size);
}

/* The live tensors of values. Iterations on other streams have tensors of their own. */
struct live_tensors {
	uint32_t *last; /* by value: the number of the tensor that was taken last, + 1; 0: none is live */
	VEC(uint32_t) before; /* by tensor: the one that was taken before it, + 1 */
};

/* Adds the change of memory by a task. */
static void add_change(struct making *k, uint32_t task, struct live_tensors *live)
{
	const struct sim_task *t = &unit_of(k)->r.task.at[task];
	uint32_t *last = &live->last[t->value];
	if (t->kind == SIM_TAKE) {
		vec_push(&k->c->tensor, ((struct timeline_tensor){.value = t->value, .bytes = t->bytes}));
		while (live->before.n < k->c->tensor.n)
			vec_push(&live->before, 0);
		live->before.at[k->c->tensor.n - 1] = *last;
		*last = k->c->tensor.n;
	}
	if (!*last)
		return; /* another stream frees it before it is taken */
	vec_push(&k->c->change,
	         ((struct timeline_change){
	             .at = unit_of(k)->moment[task].end, .tensor = *last - 1, .frees = t->kind == SIM_GIVE}));
	if (t->kind == SIM_GIVE)
		*last = live->before.at[*last - 1];
}

static void add_memory(struct making *k)
{
	const struct sim_unit *u = unit_of(k);
	const struct sim_program *p = k->e->p;
	uint32_t *live = mem_zalloc(sizeof *live * p->m->value.n), peak = 0;
	struct live_tensors tensors = {.last = mem_zalloc(sizeof *tensors.last * p->m->value.n)};
	VEC(struct moment) order = {0};
	int64_t bytes = 0;
	for (uint32_t i = 0; i < p->m->input.n; i++) {
		int64_t n = sim_input_bytes(p, i, u->rank);
		live[p->m->input.at[i].value] = n > 0;
		if (n > 0)
			vec_push(&k->c->tensor, ((struct timeline_tensor){p->m->input.at[i].value, n, true}));
		bytes += n;
	}
	for (uint32_t i = 0; i < u->r.task.n; i++)
		if (u->r.task.at[i].kind == SIM_TAKE || u->r.task.at[i].kind == SIM_GIVE)
			vec_push(&order, ((struct moment){u->moment[i].end, i}));
	if (order.n)
		qsort(order.at, order.n, sizeof *order.at, by_moment);
	k->c->live = bytes;
	vec_push(&k->c->memory, ((struct timeline_level){0, bytes}));
	for (uint32_t i = 0; i < order.n; i++) {
		const struct sim_task *t = &u->r.task.at[order.at[i].task];
		bytes += t->kind == SIM_TAKE ? t->bytes : -t->bytes;
		add_change(k, order.at[i].task, &tensors);
		vec_push(&k->c->memory, ((struct timeline_level){u->moment[order.at[i].task].end, bytes}));
		if (bytes > k->c->live) {
			k->c->live = bytes;
			peak = i + 1;
		}
	}
	for (uint32_t i = 0; i < peak; i++) {
		const struct sim_task *t = &u->r.task.at[order.at[i].task];
		live[t->value] += t->kind == SIM_TAKE ? 1u : UINT32_MAX;
	}
	add_held(k, live);
	vec_free(&order);
	free(live);
	free(tensors.last);
	vec_free(&tensors.before);
}

/* ---- the chain that ends with the unit */

/* Returns true if two tasks are ends or members of one meeting. */
static bool is_same_meeting(const struct sim_events *e, struct sim_cause a, struct sim_cause b)
{
	return b.task != SIM_NONE && e->unit[a.unit].r.task.at[a.task].kind >= SIM_MEETING &&
	       e->unit[b.unit].r.task.at[b.task].kind >= SIM_MEETING &&
	       sim_instance_of(e, a.unit, a.task) == sim_instance_of(e, b.unit, b.task);
}

static void add_critical(struct making *k)
{
	const struct sim_events *e = k->e;
	uint32_t *place = mem_zalloc(sizeof *place * k->t->m->op.n);
	struct sim_cause at = {k->unit, last_task(unit_of(k))}, before;
	VEC(struct timeline_step) chain = {0};
	for (; at.task != SIM_NONE; at = before) {
		const struct sim_task *t = &e->unit[at.unit].r.task.at[at.task];
		const struct sim_moment *m = &e->unit[at.unit].moment[at.task];
		before = sim_cause_begin(e, at);
		bool again = is_same_meeting(e, at, before);
		if (!again && m->end > m->begin)
			vec_push(&chain, ((struct timeline_step){t->op, m->end - m->begin, 1}));
	}
	while (chain.n) {
		struct timeline_step s = chain.at[--chain.n];
		if (!place[s.op]) {
			vec_push(&k->c->critical, s);
			place[s.op] = k->c->critical.n;
		} else {
			k->c->critical.at[place[s.op] - 1].time += s.time;
			k->c->critical.at[place[s.op] - 1].count++;
		}
	}
	vec_free(&chain);
	free(place);
}

/* ---- all of it */

static void make_class(struct sim_events *e, uint32_t unit, struct timeline *t, struct timeline_class *c)
{
	struct making k = {.e = e, .t = t, .c = c, .unit = unit};
	const struct sim_unit *u = &e->unit[unit];
	k.span = mem_alloc(sizeof *k.span * ((size_t)u->r.task.n + 1));
	c->end = u->end;
	c->host = sim_host_time(e, u);
	add_lanes(&k);
	add_spans(&k);
	add_stalls(&k);
	add_waits(&k);
	sort_spans(c);
	add_memory(&k);
	add_critical(&k);
	free(k.span);
	free(k.lane_of_stream);
	free(k.lane_of_place);
	vec_free(&k.work);
}

static bool same_moments(const struct sim_unit *a, const struct sim_unit *b)
{
	if (a->r.task.n != b->r.task.n)
		return false;
	for (uint32_t i = 0; i < a->r.task.n; i++)
		if (a->moment[i].ready != b->moment[i].ready || a->moment[i].begin != b->moment[i].begin ||
		    a->moment[i].end != b->moment[i].end)
			return false;
	return true;
}

static void add_rank(struct timeline_class *c, uint32_t rank)
{
	struct timeline_ranks *last = c->ranks.n ? &c->ranks.at[c->ranks.n - 1] : NULL;
	c->count++;
	if (last && last->last + 1 == rank)
		last->last = rank;
	else
		vec_push(&c->ranks, ((struct timeline_ranks){rank, rank}));
}

/* Puts ranks of one class together. Where ranks were simulated one by one, ranks of one class with the same
 * times. */
void sim_devices_timeline(struct sim_events *e, const struct sim_classes *c, bool each, struct timeline *t)
{
	uint32_t *class_of = mem_alloc(sizeof *class_of * ((size_t)e->n + 1)); /* by unit: class of the
	                                                                          timeline */
	uint32_t *unit = mem_alloc(sizeof *unit * ((size_t)e->n + 1)), n = 0;  /* by class of the timeline:
	                                                                          its first unit */
	timeline_open(t, e->p->m);
	t->machine = cost_cluster(e->p->cost)->name;
	t->ranks = e->p->ranks;
	t->runtime = e->runtime;
	struct sim_bound bound = sim_bound(e);
	t->bound.runtime = bound.runtime;
	t->binding = bound.by;
	for (uint32_t u = 0; u < e->n; u++) {
		uint32_t k = each ? 0 : n;
		while (k < n && (c->of[e->unit[unit[k]].rank] != c->of[e->unit[u].rank] ||
		                 !same_moments(&e->unit[unit[k]], &e->unit[u])))
			k++;
		if (k == n)
			unit[n++] = u;
		class_of[u] = k;
	}
	for (uint32_t k = 0; k < n; k++) {
		vec_push(&t->class, ((struct timeline_class){.unit = unit[k]}));
		make_class(e, unit[k], t, &t->class.at[k]);
	}
	for (uint32_t r = 0, u = 0; r < c->rank_n; r++)
		if (c->of[r] != SIM_NONE)
			add_rank(&t->class.at[class_of[each ? u++ : c->of[r]]], r);
	for (uint32_t k = 0; k < n; k++) {
		struct timeline_class *x = &t->class.at[k];
		x->peak = x->live;
		x->unplanned =
		    sim_reserve(t->m, x, e->unit[unit[k]].r.task.n, t->ranks, e->p->streams, &x->peak);
	}
	timeline_finish(t);
	free(class_of);
	free(unit);
}
