/* events: handles all events of one moment, then those of the next. At each moment tasks end and others
 * become ready until nothing changes; then free devices begin work, and this is repeated until nothing
 * changes. So the order in which events of one moment are handled does not matter. */
#include "sim/events.h"
#include "ir/print.h"
#include "sim/meetings.h"
#include "sim/sim_queue.h"
#include <string.h>

enum event { EVENT_READY, EVENT_WORK_ENDS, EVENT_MEETING_ENDS };

/* Most rules: a collective, or other communication, on a shared link or on none. */
enum { MOST_RULES = COLLECTIVE_COUNT * (CLUSTER_MAX_LINKS + 1) };

struct progress { /* of a running task that others may slow down */
	struct sched_progress p;
	uint32_t version;
};

struct device {
	struct queue ready;
	uint32_t running, last; /* tasks; SIM_NONE */
	struct progress progress;
	uint32_t *beside; /* by rule: number of its communications that are running; NULL: none contend */
	bool listed, changed;
};

struct underway { /* a meeting or message that has begun */
	uint32_t meeting, instance;
	uint32_t rule;
	struct progress progress;
};

struct follower { /* list of the tasks that follow a task */
	uint32_t task, next;
};

struct engine {
	struct sim_events *e;
	int64_t now;
	bool contends;
	VEC(struct sched_contention) rule; /* how communication and work slow each other */
	uint32_t *rule_of;                 /* by op: its rule + 1; 0: not known yet */
	struct queue queue;
	VEC(struct queue_entry) list; /* tasks that become ready now: time, unit, task */
	struct device *device;        /* by unit */
	VEC(uint32_t) free;           /* units whose device may begin a task */
	VEC(uint32_t) changed;        /* units where a task began or ended */
	VEC(struct underway) underway;
	uint32_t **left;  /* by unit and task: number of tasks before it that are not over */
	uint32_t **first; /* by unit and task: its followers, an index into `follower` + 1 */
	VEC(struct follower) follower;
	uint64_t over, tasks;
};

/* ---- progress */

/* Returns the progress of a task that begins now and runs alone. */
static struct progress begun(const struct engine *g, int64_t time)
{
	return (struct progress){.p = sched_progress_begin(time, g->now)};
}

/* Updates the remaining work of a task, which has this rate from now on. Returns false if it had the rate
 * before. */
static bool go_on(const struct engine *g, struct progress *x, int64_t rate)
{
	if (rate == x->p.rate)
		return false;
	sched_progress_turn(&x->p, g->now, rate);
	x->version++;
	return true;
}

static void list_device(struct engine *g, uint32_t unit)
{
	if (!g->device[unit].listed)
		vec_push(&g->free, unit);
	g->device[unit].listed = true;
}

static void list_changed(struct engine *g, uint32_t unit)
{
	if (g->contends && !g->device[unit].changed) {
		vec_push(&g->changed, unit);
		g->device[unit].changed = true;
	}
}

/* ---- tasks */

static void finish_task(struct engine *g, uint32_t unit, uint32_t task)
{
	struct sim_unit *u = &g->e->unit[unit];
	u->moment[task].end = g->now;
	u->end = g->now;
	g->over++;
	for (uint32_t k = g->first[unit][task]; k; k = g->follower.at[k - 1].next) {
		uint32_t next = g->follower.at[k - 1].task;
		if (--g->left[unit][next])
			continue;
		struct queue_entry entry = {.at = u->r.task.at[next].issue, .who = unit, .what = next};
		if (entry.at > g->now)
			queue_push(&g->queue, entry);
		else
			vec_push(&g->list, entry);
	}
}

/* ---- rules of contention */

/* Returns the rule of a statement that communicates. */
static uint32_t rule_of(struct engine *g, op_id op)
{
	if (g->rule_of[op])
		return g->rule_of[op] - 1;
	struct sched_contention new = cost_contention(g->e->p->cost, op, false);
	uint32_t k = 0;
	while (k < g->rule.n && !sched_contention_is(&g->rule.at[k], &new))
		k++;
	if (k == g->rule.n)
		vec_push(&g->rule, new);
	g->rule_of[op] = k + 1;
	return k;
}

static uint32_t rule_of_instance(struct engine *g, const struct sim_meeting *q, uint32_t number)
{
	struct sim_member m = g->e->member.at[q->member];
	const struct sim_unit *u = &g->e->unit[m.unit];
	return rule_of(g, u->r.task.at[u->slot[m.local][number]].op);
}

/* Returns the largest slowdown of work by the communications of a device. */
static int64_t most_beside(const struct engine *g, const struct device *d)
{
	int64_t most = SCHED_ALONE;
	for (uint32_t k = 0; k < g->rule.n; k++)
		if (d->beside[k] && g->rule.at[k].compute > most)
			most = g->rule.at[k].compute;
	return most;
}

/* Returns the number of communications of a device that run on a shared link. */
static uint32_t count_sharing(const struct engine *g, const struct device *d, uint32_t link)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < g->rule.n; k++)
		n += g->rule.at[k].link == link ? d->beside[k] : 0;
	return n;
}

/* ---- meetings */

static void finish_instance(struct engine *g, uint32_t meeting, uint32_t number);

static void begin_instance(struct engine *g, uint32_t meeting, uint32_t number)
{
	struct sim_meeting *q = &g->e->meeting.at[meeting];
	struct sim_instance *x = &g->e->instance.at[q->instance + number];
	x->begin = g->now;
	q->busy = true;
	if (!x->time) {
		finish_instance(g, meeting, number);
		return;
	}
	queue_push(&g->queue,
	           (struct queue_entry){
	               .at = g->now + x->time, .who = meeting, .what = number, .kind = EVENT_MEETING_ENDS});
	if (!g->contends)
		return;
	struct underway under = {meeting, number, rule_of_instance(g, q, number), begun(g, x->time)};
	vec_push(&g->underway, under);
	for (uint32_t k = 0; k < q->member_n; k++) {
		uint32_t unit = g->e->member.at[q->member + k].unit;
		g->device[unit].beside[under.rule]++;
		list_changed(g, unit);
	}
}

/* Begins the next meetings of a channel, in their order. */
static void begin_next(struct engine *g, uint32_t meeting)
{
	struct sim_meeting *q = &g->e->meeting.at[meeting];
	while (!q->busy && q->next < q->instance_n &&
	       g->e->instance.at[q->instance + q->next].arrived == q->expected)
		begin_instance(g, meeting, q->next);
}

static void finish_instance(struct engine *g, uint32_t meeting, uint32_t number)
{
	struct sim_meeting *q = &g->e->meeting.at[meeting];
	struct sim_instance *x = &g->e->instance.at[q->instance + number];
	x->end = g->now;
	for (uint32_t k = 0; k < q->member_n; k++) {
		struct sim_member m = g->e->member.at[q->member + k];
		uint32_t task = g->e->unit[m.unit].slot[m.local][number];
		g->e->unit[m.unit].moment[task].begin = x->begin;
		finish_task(g, m.unit, task);
	}
	q->busy = false;
	q->next++;
}

static void arrive(struct engine *g, uint32_t unit, const struct sim_task *t)
{
	uint32_t meeting = g->e->unit[unit].meeting[t->channel];
	struct sim_meeting *q = &g->e->meeting.at[meeting];
	struct sim_instance *x = &g->e->instance.at[q->instance + t->number];
	x->time = t->time > x->time ? t->time : x->time;
	if (g->now > x->latest || unit < x->who)
		x->who = unit;
	x->latest = g->now;
	x->arrived++;
	if (q->messages && x->arrived == q->expected)
		begin_instance(g, meeting, t->number);
	else if (!q->messages)
		begin_next(g, meeting);
}

/* ---- moments */

static void become_ready(struct engine *g, uint32_t unit, uint32_t task)
{
	struct sim_unit *u = &g->e->unit[unit];
	const struct sim_task *t = &u->r.task.at[task];
	u->moment[task].ready = g->now;
	u->moment[task].device = SIM_NONE;
	if (t->kind >= SIM_MEETING) {
		arrive(g, unit, t);
	} else if (t->kind == SIM_WORK) {
		queue_push(&g->device[unit].ready, (struct queue_entry){.at = g->now, .what = task});
		list_device(g, unit);
	} else {
		u->moment[task].begin = g->now;
		finish_task(g, unit, task);
	}
}

static void begin_work(struct engine *g, uint32_t unit)
{
	struct device *d = &g->device[unit];
	if (d->running != SIM_NONE || !d->ready.heap.n)
		return;
	uint32_t task = queue_pop(&d->ready).what;
	struct sim_moment *m = &g->e->unit[unit].moment[task];
	int64_t time = g->e->unit[unit].r.task.at[task].time;
	m->begin = g->now;
	m->device = m->begin > m->ready ? d->last : SIM_NONE;
	d->last = task;
	if (!time) {
		finish_task(g, unit, task);
		list_device(g, unit);
		return;
	}
	d->running = task;
	d->progress = begun(g, time);
	queue_push(&g->queue, (struct queue_entry){
	                          .at = g->now + time, .who = unit, .what = task, .kind = EVENT_WORK_ENDS});
	list_changed(g, unit);
}

static void end_work(struct engine *g, const struct queue_entry *x)
{
	struct device *d = &g->device[x->who];
	if (d->running != x->what || d->progress.version != x->version)
		return;
	d->running = SIM_NONE;
	finish_task(g, x->who, x->what);
	list_device(g, x->who);
	list_changed(g, x->who);
}

static void end_meeting(struct engine *g, const struct queue_entry *x)
{
	uint32_t k = 0;
	const struct sim_meeting *q = &g->e->meeting.at[x->who];
	if (!g->contends) {
		finish_instance(g, x->who, x->what);
		if (!q->messages)
			begin_next(g, x->who);
		return;
	}
	while (k < g->underway.n &&
	       (g->underway.at[k].meeting != x->who || g->underway.at[k].instance != x->what))
		k++;
	if (k == g->underway.n || g->underway.at[k].progress.version != x->version)
		return;
	uint32_t rule = g->underway.at[k].rule;
	g->underway.at[k] = g->underway.at[--g->underway.n];
	for (uint32_t i = 0; i < q->member_n; i++) {
		uint32_t unit = g->e->member.at[q->member + i].unit;
		g->device[unit].beside[rule]--;
		list_changed(g, unit);
	}
	finish_instance(g, x->who, x->what);
	if (!q->messages)
		begin_next(g, x->who);
}

/* Handles the events of this moment until nothing changes. */
static void settle_events(struct engine *g)
{
	while (g->list.n || g->free.n) {
		while (g->list.n) {
			struct queue_entry x = g->list.at[--g->list.n];
			become_ready(g, x.who, x.what);
		}
		uint32_t n = g->free.n;
		for (uint32_t k = 0; k < n; k++) {
			uint32_t unit = g->free.at[k];
			g->device[unit].listed = false;
			begin_work(g, unit);
		}
		if (n)
			memmove(g->free.at, g->free.at + n, sizeof *g->free.at * (g->free.n - n));
		g->free.n -= n;
	}
}

/* ---- contention */

/* Returns the rate of a meeting: it waits for its slowest member. */
static int64_t meeting_rate(const struct engine *g, const struct underway *x)
{
	const struct sim_meeting *q = &g->e->meeting.at[x->meeting];
	const struct sched_contention *rule = &g->rule.at[x->rule];
	bool works = false;
	uint32_t sharing = 1;
	for (uint32_t k = 0; k < q->member_n; k++) {
		const struct device *d = &g->device[g->e->member.at[q->member + k].unit];
		uint32_t n = rule->link ? count_sharing(g, d, rule->link) : 1;
		works |= d->running != SIM_NONE;
		sharing = n > sharing ? n : sharing;
	}
	return sched_comm_rate(rule, works, sharing);
}

static void slow_down(struct engine *g)
{
	for (uint32_t k = 0; k < g->changed.n; k++) {
		uint32_t unit = g->changed.at[k];
		struct device *d = &g->device[unit];
		d->changed = false;
		if (d->running != SIM_NONE && go_on(g, &d->progress, sched_work_rate(most_beside(g, d))))
			queue_push(&g->queue, (struct queue_entry){.at = sched_progress_end(&d->progress.p),
			                                           .who = unit,
			                                           .what = d->running,
			                                           .version = d->progress.version,
			                                           .kind = EVENT_WORK_ENDS});
	}
	for (uint32_t k = 0; g->changed.n && k < g->underway.n; k++) {
		struct underway *x = &g->underway.at[k];
		if (go_on(g, &x->progress, meeting_rate(g, x)))
			queue_push(&g->queue, (struct queue_entry){.at = sched_progress_end(&x->progress.p),
			                                           .who = x->meeting,
			                                           .what = x->instance,
			                                           .version = x->progress.version,
			                                           .kind = EVENT_MEETING_ENDS});
	}
	g->changed.n = 0;
}

/* ---- the run */

static void add_follower(struct engine *g, uint32_t unit, uint32_t task, uint32_t of)
{
	if (of == SIM_NONE)
		return;
	vec_push(&g->follower, ((struct follower){task, g->first[unit][of]}));
	g->first[unit][of] = g->follower.n;
	g->left[unit][task]++;
}

static void prepare_engine(struct engine *g, struct arena *a)
{
	struct sim_events *e = g->e;
	g->rule_of = arena_new_array(a, uint32_t, e->p->m->op.n);
	g->device = arena_new_array(a, struct device, e->n);
	g->left = arena_new_array(a, uint32_t *, e->n);
	g->first = arena_new_array(a, uint32_t *, e->n);
	for (uint32_t u = 0; u < e->n; u++) {
		const sim_tasks *task = &e->unit[u].r.task;
		g->device[u].running = g->device[u].last = SIM_NONE;
		g->device[u].beside = g->contends ? arena_new_array(a, uint32_t, MOST_RULES) : NULL;
		g->left[u] = arena_new_array(a, uint32_t, task->n + 1);
		g->first[u] = arena_new_array(a, uint32_t, task->n + 1);
		g->tasks += task->n;
		for (uint32_t k = 0; k < task->n; k++) {
			add_follower(g, u, k, task->at[k].before);
			add_follower(g, u, k, task->at[k].also);
			if (!g->left[u][k])
				queue_push(&g->queue, (struct queue_entry){
				                          .at = task->at[k].issue, .who = u, .what = k});
		}
	}
}

/* Reports ranks that wait for a member that never comes. */
static void report_stuck(struct engine *g)
{
	struct sim_program *p = g->e->p;
	struct buf text = {0};
	for (uint32_t i = 0; i < g->e->meeting.n; i++) {
		const struct sim_meeting *q = &g->e->meeting.at[i];
		for (uint32_t n = 0; n < q->instance_n; n++) {
			const struct sim_instance *x = &g->e->instance.at[q->instance + n];
			if (!x->arrived || x->arrived == q->expected)
				continue;
			const struct sim_unit *u = &g->e->unit[x->who];
			uint32_t k = 0;
			while (g->e->member.at[q->member + k].unit != x->who)
				k++;
			op_id op = u->r.task.at[u->slot[g->e->member.at[q->member + k].local][n]].op;
			ir_print_statement(p->m, op, &text);
			while (text.n && text.at[text.n - 1] == '\n')
				text.at[--text.n] = '\0';
			diag_error(p->d, E_DEADLOCK, p->m->op.at[op].at,
			           "rank %u waits for ever: `%s` is not met", u->rank,
			           text.at + strspn(text.at, " "));
			diag_note(p->d, DIAG_NOWHERE, "`hirc check` shows the mismatch");
			buf_free(&text);
			return;
		}
	}
}

static void run_engine(struct engine *g)
{
	while (g->queue.heap.n) {
		g->now = g->queue.heap.at[0].at;
		while (g->queue.heap.n && g->queue.heap.at[0].at == g->now) {
			struct queue_entry x = queue_pop(&g->queue);
			if (x.kind == EVENT_READY)
				vec_push(&g->list, x);
			else if (x.kind == EVENT_WORK_ENDS)
				end_work(g, &x);
			else
				end_meeting(g, &x);
		}
		settle_events(g);
		if (g->contends)
			slow_down(g);
	}
}

bool sim_events_run(struct sim_program *p, const struct sim_classes *c, bool each, struct sim_events *e)
{
	*e = (struct sim_events){.p = p, .arena = arena_new()};
	if (!sim_meetings_make(e, c, each))
		return false;
	struct arena *a = arena_new();
	struct engine g = {.e = e, .contends = cost_contends(p->cost)};
	prepare_engine(&g, a);
	run_engine(&g);
	bool ok = g.over == g.tasks;
	if (!ok)
		report_stuck(&g);
	for (uint32_t u = 0; u < e->n; u++) {
		e->runtime = e->unit[u].end > e->runtime ? e->unit[u].end : e->runtime;
		vec_free(&g.device[u].ready.heap);
	}
	vec_free(&g.queue.heap);
	vec_free(&g.list);
	vec_free(&g.free);
	vec_free(&g.changed);
	vec_free(&g.underway);
	vec_free(&g.rule);
	vec_free(&g.follower);
	arena_free(a);
	return ok;
}

void sim_events_free(struct sim_events *e)
{
	for (uint32_t u = 0; e->unit && u < e->n; u++)
		sim_rank_free(&e->unit[u].r);
	vec_free(&e->meeting);
	vec_free(&e->member);
	vec_free(&e->instance);
	arena_free(e->arena);
}
