/* sim_bound: see sim_bound.h. It sweeps twice over the simulated tasks, in an order in which needed tasks
 * come first: forwards for heads, backwards for tails. The number of tasks that it looks at for communication
 * is limited for each rank, so that the bound is the same whether or not equal ranks are joined. */
#include "sim/sim_bound.h"
#include "sched/machine.h"
#include <stdlib.h>
#include <string.h>

enum {
	LOOKS = 4000000,  /* tasks of a rank that it looks at for all its communication */
	LEAST_LOOKS = 256 /* and at least for each one */
};

struct lists { /* lists of a unit, by task: item[at[k]] … item[at[k + 1] - 1] */
	uint32_t *at, *item;
};

struct unit {
	const struct sim_unit *u;
	struct lists before, after; /* tasks that a task needs, tasks that need it */
	int64_t *head, *tail, *time;
	uint32_t *left; /* by task: number of tasks that it still waits for in a sweep */
	uint32_t *marked, round, looks;
	uint32_t *job;
};

struct member { /* a task of a unit */
	uint32_t unit, task;
};

struct bounds {
	const struct sim_events *e;
	struct unit *unit;
	uint32_t *left;           /* by instance: number of members that are not ready in a sweep */
	VEC(struct member) order; /* work, and the first member of each instance */
	VEC(struct member) ready;
	struct pair { /* two jobs */
		int64_t from, time;
	} * pair;
	struct sim_bound best;
};

static void raise_runtime(struct bounds *b, int64_t runtime, const char *by)
{
	if (runtime > b->best.runtime)
		b->best = (struct sim_bound){runtime, by};
}

/* ---- tasks and meetings */

static bool is_meeting(const struct sim_task *t)
{
	return t->kind >= SIM_MEETING;
}

static const struct sim_meeting *meeting_of(const struct bounds *b, struct member x, uint32_t *number)
{
	const struct sim_unit *u = b->unit[x.unit].u;
	const struct sim_task *t = &u->r.task.at[x.task];
	*number = t->number;
	return &b->e->meeting.at[u->meeting[t->channel]];
}

static struct member member_of(const struct bounds *b, const struct sim_meeting *q, uint32_t k,
                               uint32_t number)
{
	struct sim_member m = b->e->member.at[q->member + k];
	return (struct member){m.unit, b->unit[m.unit].u->slot[m.local][number]};
}

/* ---- a unit */

static struct lists lists_of(struct arena *a, const struct sim_unit *u, bool after)
{
	uint32_t n = u->r.task.n;
	struct lists l = {arena_new_array(a, uint32_t, n + 2), arena_new_array(a, uint32_t, u->r.need.n + 1)};
	for (uint32_t k = 0; k < u->r.need.n; k++)
		l.at[(after ? u->r.need.at[k].of : u->r.need.at[k].task) + 2]++;
	for (uint32_t k = 2; k < n + 2; k++)
		l.at[k] += l.at[k - 1];
	for (uint32_t k = 0; k < u->r.need.n; k++) {
		struct sim_need x = u->r.need.at[k];
		l.item[l.at[(after ? x.of : x.task) + 1]++] = after ? x.task : x.of;
	}
	return l;
}

static void open_unit(struct bounds *b, uint32_t number, struct arena *a)
{
	struct unit *x = &b->unit[number];
	const struct sim_unit *u = x->u = &b->e->unit[number];
	uint32_t n = u->r.task.n, communicates = 1;
	int64_t delay = b->e->p->delay ? b->e->p->delay[u->rank] : 0;
	x->before = lists_of(a, u, false);
	x->after = lists_of(a, u, true);
	x->head = arena_new_array(a, int64_t, n + 1);
	x->tail = arena_new_array(a, int64_t, n + 1);
	x->time = arena_new_array(a, int64_t, n + 1);
	x->left = arena_new_array(a, uint32_t, n + 1);
	x->marked = arena_new_array(a, uint32_t, n + 1);
	x->job = arena_new_array(a, uint32_t, n + 1);
	for (uint32_t k = 0; k < n; k++) {
		const struct sim_task *t = &u->r.task.at[k];
		x->head[k] = delay + b->e->p->begin + t->host;
		x->time[k] = is_meeting(t)         ? sim_instance_of(b->e, number, k)->time
		             : t->kind == SIM_WORK ? t->time
		                                   : 0;
		communicates += is_meeting(t);
	}
	x->looks = LOOKS / communicates > LEAST_LOOKS ? LOOKS / communicates : LEAST_LOOKS;
}

/* ---- the order */

static void come_to(struct bounds *b, struct member x)
{
	const struct sim_task *t = &b->unit[x.unit].u->r.task.at[x.task];
	uint32_t number;
	if (!is_meeting(t)) {
		vec_push(&b->ready, x);
		return;
	}
	const struct sim_meeting *q = meeting_of(b, x, &number);
	if (!--b->left[q->instance + number])
		vec_push(&b->ready, member_of(b, q, 0, number));
}

static void leave_task(struct bounds *b, struct member x)
{
	const struct unit *u = &b->unit[x.unit];
	for (uint32_t i = u->after.at[x.task]; i < u->after.at[x.task + 1]; i++)
		if (!--u->left[u->after.item[i]])
			come_to(b, (struct member){x.unit, u->after.item[i]});
}

/* Finds an order for the sweeps. Returns false if the needs of ranks form a cycle, which is possible in a
 * program with races. */
static bool find_order(struct bounds *b)
{
	uint32_t n = 0, number;
	for (uint32_t i = 0; i < b->e->meeting.n; i++) {
		const struct sim_meeting *q = &b->e->meeting.at[i];
		n += q->instance_n;
		for (uint32_t k = 0; k < q->instance_n; k++)
			b->left[q->instance + k] = q->member_n;
	}
	for (uint32_t u = 0; u < b->e->n; u++) {
		struct unit *x = &b->unit[u];
		for (uint32_t k = 0; k < x->u->r.task.n; k++) {
			uint8_t kind = x->u->r.task.at[k].kind;
			x->left[k] = x->before.at[k + 1] - x->before.at[k];
			n += kind == SIM_WORK;
			if (!x->left[k] && (kind == SIM_WORK || kind >= SIM_MEETING))
				come_to(b, (struct member){u, k});
		}
	}
	while (b->ready.n) {
		struct member x = b->ready.at[--b->ready.n];
		vec_push(&b->order, x);
		if (!is_meeting(&b->unit[x.unit].u->r.task.at[x.task])) {
			leave_task(b, x);
			continue;
		}
		const struct sim_meeting *q = meeting_of(b, x, &number);
		for (uint32_t k = 0; k < q->member_n; k++)
			leave_task(b, member_of(b, q, k, number));
	}
	return b->order.n == n;
}

/* ---- heads and tails */

static int by_from(const void *a, const void *b)
{
	int64_t x = ((const struct pair *)a)->from, y = ((const struct pair *)b)->from;
	return (x > y) - (x < y);
}

/* Returns the time when n pieces of work are done if each begins as early as it can. */
static int64_t done_by(struct pair *pair, uint32_t n)
{
	int64_t now = 0;
	qsort(pair, n, sizeof *pair, by_from);
	for (uint32_t k = 0; k < n; k++)
		now = (pair[k].from > now ? pair[k].from : now) + pair[k].time;
	return now;
}

/* Finds work of the unit, among near neighbours, that a task needs (back) or that needs it. */
static uint32_t find_work(struct bounds *b, struct unit *x, uint32_t task, bool back, const int64_t *from)
{
	const struct lists *l = back ? &x->before : &x->after;
	uint32_t n = 0, ahead = 1, room = back ? task : x->u->r.task.n - 1 - task;
	uint32_t looks = room < x->looks ? room : x->looks;
	x->marked[task] = ++x->round;
	for (uint32_t k = 0; k <= looks && ahead; k++) {
		uint32_t y = back ? task - k : task + k;
		if (x->marked[y] != x->round)
			continue;
		ahead--;
		if (x->u->r.task.at[y].kind == SIM_WORK && x->time[y])
			b->pair[n++] = (struct pair){from[y], x->time[y]};
		for (uint32_t i = l->at[y]; i < l->at[y + 1]; i++) {
			ahead += x->marked[l->item[i]] != x->round;
			x->marked[l->item[i]] = x->round;
		}
	}
	return n;
}

/* Returns the bound of one task from the tasks of its unit that it needs, or that need it. */
static int64_t least_of(struct bounds *b, struct member m, bool back)
{
	struct unit *x = &b->unit[m.unit];
	const int64_t *from = back ? x->head : x->tail;
	const struct lists *l = back ? &x->before : &x->after;
	int64_t least = from[m.task];
	for (uint32_t i = l->at[m.task]; i < l->at[m.task + 1]; i++) {
		uint32_t y = l->item[i];
		least = from[y] + x->time[y] > least ? from[y] + x->time[y] : least;
	}
	if (!is_meeting(&x->u->r.task.at[m.task]) || l->at[m.task] == l->at[m.task + 1])
		return least;
	int64_t done = done_by(b->pair, find_work(b, x, m.task, back, from));
	return done > least ? done : least;
}

static void sweep_tasks(struct bounds *b, bool back)
{
	for (uint32_t i = 0; i < b->order.n; i++) {
		struct member x = b->order.at[back ? i : b->order.n - 1 - i];
		uint32_t number = 0, n = 1;
		const struct sim_meeting *q = NULL;
		int64_t least = 0;
		if (is_meeting(&b->unit[x.unit].u->r.task.at[x.task])) {
			q = meeting_of(b, x, &number);
			n = q->member_n;
		}
		for (uint32_t k = 0; k < n; k++) {
			int64_t t = least_of(b, q ? member_of(b, q, k, number) : x, back);
			least = t > least ? t : least;
		}
		for (uint32_t k = 0; k < n; k++) {
			struct member m = q ? member_of(b, q, k, number) : x;
			(back ? b->unit[m.unit].head : b->unit[m.unit].tail)[m.task] = least;
		}
	}
}

/* ---- machines */

static int longest_first(const void *a, const void *b)
{
	return by_from(b, a);
}

int64_t sim_host_time(const struct sim_events *e, const struct sim_unit *u)
{
	int64_t delay = e->p->delay ? e->p->delay[u->rank] : 0;
	return u->r.task.n ? u->r.task.at[u->r.task.n - 1].issue - delay : 0;
}

/* Returns a bound for a host: it issues first the statement with the longest tail. Tasks that are issued at one
 * time are one statement, or follow one for which the host does nothing. */
static int64_t host_end(struct bounds *b, const struct unit *x)
{
	int64_t begin = b->e->p->begin, now = begin, end, issued = 0;
	int64_t delay = b->e->p->delay ? b->e->p->delay[x->u->rank] : 0;
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->u->r.task.n; k++) {
		const struct sim_task *t = &x->u->r.task.at[k];
		int64_t behind = t->kind == SIM_WORK || is_meeting(t) ? x->time[k] + x->tail[k] : 0;
		if (t->issue - delay == begin)
			continue; /* nothing was issued yet */
		if (!n || t->issue != issued)
			b->pair[n++] = (struct pair){0, 0};
		issued = t->issue;
		b->pair[n - 1].time = t->host > b->pair[n - 1].time ? t->host : b->pair[n - 1].time;
		b->pair[n - 1].from = behind > b->pair[n - 1].from ? behind : b->pair[n - 1].from;
	}
	qsort(b->pair, n, sizeof *b->pair, longest_first);
	end = sim_host_time(b->e, x->u);
	for (uint32_t k = 0; k < n; k++) {
		now += b->pair[k].time;
		end = now + b->pair[k].from > end ? now + b->pair[k].from : end;
	}
	return delay + end;
}

static void raise_unit(struct bounds *b, struct unit *x)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->u->r.task.n; k++) {
		uint8_t kind = x->u->r.task.at[k].kind;
		if (kind == SIM_WORK || kind >= SIM_MEETING)
			raise_runtime(b, x->head[k] + x->time[k] + x->tail[k],
			              "the longest chain of statements");
		if (kind == SIM_WORK && x->time[k])
			x->job[n++] = k;
	}
	raise_runtime(b, sched_machine_end(x->head, x->tail, x->time, x->u->r.task.n, x->job, n),
	              "work of a device");
	raise_runtime(b, host_end(b, x), "statements that the host issues");
}

static void raise_meeting(struct bounds *b, const struct sim_meeting *q)
{
	uint32_t n = q->instance_n;
	int64_t *head = mem_alloc(sizeof *head * 3 * ((size_t)n + 1)), *tail = head + n + 1,
	        *time = tail + n + 1;
	uint32_t *job = mem_alloc(sizeof *job * ((size_t)n + 1));
	for (uint32_t k = 0; k < n; k++) {
		struct member m = member_of(b, q, 0, k);
		job[k] = k;
		head[k] = b->unit[m.unit].head[m.task];
		tail[k] = b->unit[m.unit].tail[m.task];
		time[k] = b->unit[m.unit].time[m.task];
	}
	raise_runtime(b, sched_machine_end(head, tail, time, n, job, n), "communication of one team");
	free(head);
	free(job);
}

struct sim_bound sim_bound(const struct sim_events *e)
{
	struct arena *a = arena_new();
	struct bounds b = {.e = e, .best = {0, "work of a device"}};
	uint32_t most = 0;
	b.unit = arena_new_array(a, struct unit, e->n + 1);
	b.left = arena_new_array(a, uint32_t, e->instance.n + 1);
	for (uint32_t u = 0; u < e->n; u++) {
		open_unit(&b, u, a);
		most = e->unit[u].r.task.n > most ? e->unit[u].r.task.n : most;
	}
	b.pair = mem_alloc(sizeof *b.pair * ((size_t)most + 1));
	if (find_order(&b)) {
		sweep_tasks(&b, true);
		sweep_tasks(&b, false);
	}
	for (uint32_t u = 0; u < e->n; u++)
		raise_unit(&b, &b.unit[u]);
	for (uint32_t i = 0; i < e->meeting.n; i++)
		if (!e->meeting.at[i].messages)
			raise_meeting(&b, &e->meeting.at[i]);
	vec_free(&b.order);
	vec_free(&b.ready);
	free(b.pair);
	arena_free(a);
	return b.best;
}
