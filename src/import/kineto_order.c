/* kineto_order: finds the dependencies among the events of a trace, and makes nodes of them.
 *
 *     stream 7     mm ──── mm ────────░░ mm        a node needs the one before it on its lane
 *     stream 20       └ allreduce ───┘             a communication needs the work that the host issued before it;
 *                                                  the first work that begins after its end needs it
 *
 * The trace does not say what needs a result. So the first work after the end of a communication, on any lane, waits
 * for it: the true wait is there or later. Where the trace has the waits of streams for events, these are taken
 * instead. Nodes are numbered in the order in which the host issued them. */
#include "import/chakra_kinds.h"
#include "import/kineto.h"
#include <stdlib.h>
#include <string.h>

/* ---- the host's operations: the outermost ones, without those that only issue a communication */

static int by_begin(const void *a, const void *b)
{
	const struct kineto_event *x = a, *y = b;
	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end > y->end ? -1 : 1;
	return (y->communicates > x->communicates) - (y->communicates < x->communicates);
}

/* Removes events inside others of their lane; a communication inside an operation stays. */
static void remove_inner(struct kineto *k)
{
	uint32_t kept = 0;
	int64_t end = INT64_MIN;
	for (uint32_t i = 0; i < k->event.n; i++) {
		struct kineto_event e = k->event.at[i];
		if (i && e.lane != k->event.at[i - 1].lane)
			end = INT64_MIN;
		if (e.begin < end && e.end <= end && !e.communicates && e.launches == -1)
			continue;
		end = e.end > end ? e.end : end;
		k->event.at[kept++] = e;
	}
	k->event.n = kept;
}

/* Returns the communication that an operation issues: the first of its kind that ends after it begins. */
static struct kineto_event *find_issued(struct kineto *k, const struct kineto_event *e, const bool *taken)
{
	struct kineto_event *found = NULL;
	for (uint32_t i = 0; i < k->event.n; i++) {
		struct kineto_event *x = &k->event.at[i];
		int kind = x->node.kind == CHAKRA_COMM_SEND   ? CHAKRA_NAMES_SEND
		           : x->node.kind == CHAKRA_COMM_RECV ? CHAKRA_NAMES_RECV
		                                              : x->node.collective;
		if (x->communicates && !taken[i] && kind == e->launches && x->end > e->begin &&
		    (!found || x->begin < found->begin))
			found = x;
	}
	return found;
}

/* Gives communications the launches of the operations that issue them, and removes these operations. An operation
 * that issues nothing recorded is a communication itself. */
static void match_launches(struct kineto *k)
{
	bool *taken = mem_zalloc((size_t)k->event.n + 1);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < k->event.n; i++) {
		struct kineto_event *e = &k->event.at[i];
		struct kineto_event *issued = e->launches == -1 ? NULL : find_issued(k, e, taken);
		if (!issued)
			continue;
		issued->launch = e->begin;
		if (issued->node.kind == CHAKRA_COMM_SEND)
			issued->node.to = e->node.to;
		if (issued->node.kind == CHAKRA_COMM_RECV)
			issued->node.from = e->node.from;
		taken[issued - k->event.at] = true;
		e->node.kind = CHAKRA_INVALID;
	}
	for (uint32_t i = 0; i < k->event.n; i++) {
		struct kineto_event e = k->event.at[i];
		if (e.node.kind == CHAKRA_INVALID)
			continue;
		e.communicates |= e.launches != -1;
		if (e.launches != -1)
			e.node.kind = e.launches == CHAKRA_NAMES_SEND   ? CHAKRA_COMM_SEND
			              : e.launches == CHAKRA_NAMES_RECV ? CHAKRA_COMM_RECV
			                                                : CHAKRA_COMM_COLL;
		if (e.launches >= 0)
			e.node.collective = e.launches;
		k->event.at[kept++] = e;
	}
	k->event.n = kept;
	free(taken);
}

/* ---- dependencies */

static int by_launch(const void *a, const void *b)
{
	const struct kineto_event *x = a, *y = b;
	if (x->launch != y->launch)
		return x->launch < y->launch ? -1 : 1;
	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	return (x->lane > y->lane) - (x->lane < y->lane);
}

static int sync_by_launch(const void *a, const void *b)
{
	const struct kineto_sync *x = a, *y = b;
	return (x->launch > y->launch) - (x->launch < y->launch);
}

struct order {
	struct kineto *k;
	uint32_t *last;      /* by lane: its last event + 1 */
	uint32_t *last_work; /* by lane: its last event that does not communicate + 1 */
	uint32_t *before;    /* by event: the event before it on its lane + 1 */
	VEC(uint32_t) open;  /* communications that nothing has waited for */
	VEC(uint32_t) syncs; /* waits of streams that no later event has taken over */
	uint32_t sync;       /* the next one */
};

static void add_dep(struct order *o, struct chakra_node *n, uint32_t event)
{
	struct chakra *t = o->k->t;
	for (uint32_t i = 0; i < n->dep_n; i++)
		if (t->deps.at[n->dep + i] == event + 1)
			return;
	vec_push(&t->deps, event + 1);
	n->dep_n++;
}

/* Adds the event before on the lane. Communications of a lane do not wait for each other on the host. */
static void add_lane(struct order *o, const struct kineto_event *e, struct chakra_node *n)
{
	uint32_t before = e->communicates ? o->last_work[e->lane] : o->last[e->lane];
	if (before)
		add_dep(o, n, before - 1);
}

/* Adds the last event of the awaited lane before each wait of this lane. */
static void add_syncs(struct order *o, uint32_t event, struct chakra_node *n)
{
	struct kineto *k = o->k;
	const struct kineto_event *e = &k->event.at[event];
	uint32_t kept = 0;
	for (; o->sync < k->sync.n && k->sync.at[o->sync].launch <= e->launch; o->sync++)
		vec_push(&o->syncs, o->sync);
	for (uint32_t i = 0; i < o->syncs.n; i++) {
		const struct kineto_sync *s = &k->sync.at[o->syncs.at[i]];
		if (s->lane != e->lane) {
			o->syncs.at[kept++] = o->syncs.at[i];
			continue;
		}
		uint32_t x = o->last[s->other];
		while (x && k->event.at[x - 1].launch > s->record)
			x = o->before[x - 1];
		if (x)
			add_dep(o, n, x - 1);
	}
	o->syncs.n = kept;
}

/* Adds the work of other lanes that was over, and the communications that end before this work begins. */
static void add_by_time(struct order *o, const struct kineto_event *e, struct chakra_node *n)
{
	struct kineto *k = o->k;
	uint32_t kept = 0;
	for (uint32_t l = 0; l < k->lanes; l++)
		if (l != e->lane && o->last_work[l] &&
		    (e->communicates || k->event.at[o->last_work[l] - 1].end <= e->begin))
			add_dep(o, n, o->last_work[l] - 1);
	for (uint32_t i = 0; i < o->open.n && !e->communicates; i++) {
		if (k->event.at[o->open.at[i]].end <= e->begin)
			add_dep(o, n, o->open.at[i]);
		else
			o->open.at[kept++] = o->open.at[i];
	}
	if (!e->communicates)
		o->open.n = kept;
}

void kineto_order(struct kineto *k)
{
	struct order o = {.k = k};
	if (k->event.n)
		qsort(k->event.at, k->event.n, sizeof *k->event.at, by_begin);
	remove_inner(k);
	match_launches(k);
	if (k->event.n)
		qsort(k->event.at, k->event.n, sizeof *k->event.at, by_launch);
	if (k->sync.n)
		qsort(k->sync.at, k->sync.n, sizeof *k->sync.at, sync_by_launch);
	o.last = mem_zalloc(sizeof *o.last * ((size_t)k->lanes + 1));
	o.last_work = mem_zalloc(sizeof *o.last_work * ((size_t)k->lanes + 1));
	o.before = mem_zalloc(sizeof *o.before * ((size_t)k->event.n + 1));
	for (uint32_t i = 0; i < k->event.n; i++) {
		const struct kineto_event *e = &k->event.at[i];
		struct chakra_node n = e->node;
		n.id = i + 1;
		n.dep = k->t->deps.n;
		add_lane(&o, e, &n);
		if (k->sync.n)
			add_syncs(&o, i, &n);
		else
			add_by_time(&o, e, &n);
		vec_push(&k->t->node, n);
		o.before[i] = o.last[e->lane];
		o.last[e->lane] = i + 1;
		if (e->communicates)
			vec_push(&o.open, i);
		else
			o.last_work[e->lane] = i + 1;
	}
	vec_free(&o.open);
	vec_free(&o.syncs);
	free(o.last);
	free(o.last_work);
	free(o.before);
}
