/* progress: which steps must come before which others, on all ranks. A cycle in this order is a deadlock.
 *
 *     rank 0: a = allgather   e = allreduce, of another communicator   wait(a)   wait(e)
 *     rank 1: e = allreduce   a = allgather                            wait(e)   wait(a)
 *
 *     start a on rank 0 ──► meet a ──► wait(a) on rank 0
 *     start a on rank 1 ──►      ──► wait(a) on rank 1
 *
 * A node is a start on a rank, the meeting of all ranks that must start, or a wait. Edges lead to a node from
 * the nodes before it. A start comes after the waits of its stream. A meeting comes after all starts, and
 * after the previous meeting on its communicator. A wait comes after the meeting. Computations always end, so
 * they have no nodes.
 *
 * Edges have a level:
 *
 *     PROGRESS_ALWAYS   the text orders the two nodes
 *     PROGRESS_DEVICE   a device runs one collective at a time, and a stream holds a bounded number of
 * statements: a host waits until the oldest is over before it issues more PROGRESS_HOST     a host stops at
 * each wait of its streams
 *
 * A program must end with the edges of the first two levels. If it does not end with those of the third, a
 * warning says that it may hang where a host does not run ahead.
 *
 * Nodes without a predecessor are removed, with their edges, until none is left (Kahn, CACM 5(11), 1962). The
 * remaining nodes are on a circle or after one. */
#include "check/progress.h"
#include "check/checker.h"
#include "check/report_deadlock.h"
#include "ir/coalesce.h"
#include <stdio.h>
#include <string.h>

/* ---- the graph */

static uint32_t node_new(struct checker *c, const struct progress_node *n)
{
	struct progress *p = &c->progress;
	if (!p->node.n)
		vec_push(&p->node, (struct progress_node){0});
	vec_push(&p->node, *n);
	return p->node.n - 1;
}

static void edge(struct checker *c, uint32_t from, uint32_t to, enum progress_level level)
{
	if (from)
		vec_push(&c->progress.edge, (struct progress_edge){from, to, (uint8_t)level});
}

/* Adds a node of the walk's rank on its current stream. */
static uint32_t node_here(struct rank_check *w, enum progress_kind kind, op_id op)
{
	progress_issue(w);
	uint32_t n = node_new(
	    w->c, &(struct progress_node){
	              .kind = (uint8_t)kind, .op = op, .rank = (uint32_t)w->rank, .iteration = w->now});
	edge(w->c, w->stream.at[w->current].after, n, PROGRESS_ALWAYS);
	edge(w->c, w->host, n, PROGRESS_HOST);
	edge(w->c, w->room, n, PROGRESS_DEVICE);
	return n;
}

uint32_t progress_meeting(struct checker *c, op_id op, uint32_t before)
{
	uint32_t n = node_new(c, &(struct progress_node){.kind = PROGRESS_MEET, .op = op});
	edge(c, before, n, PROGRESS_ALWAYS);
	return n;
}

void progress_start(struct rank_check *w, op_id op, uint32_t meeting)
{
	uint32_t n = node_here(w, PROGRESS_START, op);
	edge(w->c, n, meeting, PROGRESS_ALWAYS);
	if (op_traits(w->m, op) & TRAIT_P2P)
		return;
	edge(w->c, w->collective, n, PROGRESS_DEVICE);
	w->collective = meeting;
}

/* Puts a node before the current stream's next statements. */
static void stream_follows(struct rank_check *w, uint32_t node)
{
	struct stream *s = &w->stream.at[w->current];
	s->after = node;
	if (w->c->o->queue)
		vec_push(&s->behind, (struct behind){s->issued, node});
}

void progress_stand(struct rank_check *w, uint32_t meeting)
{
	stream_follows(w, meeting);
	w->host = meeting;
}

void progress_issue(struct rank_check *w)
{
	struct stream *s = &w->stream.at[w->current];
	uint32_t before = w->room;
	s->issued++;
	for (; s->passed < s->behind.n && s->issued - s->behind.at[s->passed].issued > w->c->o->queue;
	     s->passed++) {
		uint32_t after = s->behind.at[s->passed].node;
		w->room = node_new(w->c, &(struct progress_node){.kind = PROGRESS_ROOM,
		                                                 .op = w->c->progress.node.at[after].op,
		                                                 .rank = (uint32_t)w->rank,
		                                                 .iteration = w->now});
		edge(w->c, after, w->room, PROGRESS_DEVICE);
		edge(w->c, before, w->room, PROGRESS_DEVICE);
		before = w->room;
	}
}

void progress_wait(struct rank_check *w, op_id op, const struct transfer *t)
{
	uint32_t n = node_here(w, PROGRESS_WAIT, op);
	for (uint32_t k = 0; k < t->n; k++)
		edge(w->c, t->meeting[k], n, PROGRESS_ALWAYS);
	progress_stand(w, n);
}

void progress_join(struct rank_check *w, op_id op, uint32_t stream)
{
	struct stream *to = &w->stream.at[w->current];
	uint32_t after = w->stream.at[stream].after;
	if (!after || after == to->after)
		return;
	if (!to->after) {
		stream_follows(w, after);
		return;
	}
	uint32_t n = node_here(w, PROGRESS_WAIT, op);
	edge(w->c, after, n, PROGRESS_ALWAYS);
	stream_follows(w, n);
}

void progress_free(struct progress *p)
{
	vec_free(&p->node);
	vec_free(&p->edge);
}

/* ---- circles */

struct order {           /* the nodes after each node, and the number of nodes that must still come before
	                    it */
	uint32_t *first; /* by node: index into `next` */
	uint32_t *next;
	uint32_t *left;
};

static struct order order_make(const struct progress *p, enum progress_level level)
{
	struct order o = {0};
	o.first = mem_zalloc(sizeof *o.first * (p->node.n + 2u));
	o.left = mem_zalloc(sizeof *o.left * (p->node.n + 1u));
	o.next = mem_alloc(sizeof *o.next * (p->edge.n + 1u));
	for (uint32_t k = 0; k < p->edge.n; k++)
		if (p->edge.at[k].level <= level) {
			o.first[p->edge.at[k].from + 1]++;
			o.left[p->edge.at[k].to]++;
		}
	for (uint32_t n = 0; n <= p->node.n; n++)
		o.first[n + 1] += o.first[n];
	uint32_t *at = mem_alloc(sizeof *at * (p->node.n + 1u));
	memcpy(at, o.first, sizeof *at * (p->node.n + 1u));
	for (uint32_t k = 0; k < p->edge.n; k++)
		if (p->edge.at[k].level <= level)
			o.next[at[p->edge.at[k].from]++] = p->edge.at[k].to;
	free(at);
	return o;
}

static void order_free(struct order *o)
{
	free(o->first);
	free(o->next);
	free(o->left);
}

/* Removes nodes that can go on. Returns the number of nodes left. */
static uint32_t order_run(const struct progress *p, struct order *o)
{
	uint32_t *ready = mem_alloc(sizeof *ready * (p->node.n + 1u)), n = 0, left = p->node.n - 1;
	for (uint32_t k = 1; k < p->node.n; k++)
		if (!o->left[k])
			ready[n++] = k;
	while (n) {
		uint32_t k = ready[--n];
		left--;
		for (uint32_t i = o->first[k]; i < o->first[k + 1]; i++)
			if (!--o->left[o->next[i]])
				ready[n++] = o->next[i];
	}
	free(ready);
	return left;
}

/* Returns one of the remaining nodes that come before a node. */
static uint32_t find_blocker(const struct progress *p, const struct order *o, uint32_t node,
                             enum progress_level level)
{
	for (uint32_t k = 0; k < p->edge.n; k++)
		if (p->edge.at[k].to == node && o->left[p->edge.at[k].from] && p->edge.at[k].level <= level)
			return p->edge.at[k].from;
	return 0;
}

/* Finds a list of nodes in which each comes after the next one, and the last after the first. */
static void find_circle(const struct progress *p, const struct order *o, enum progress_level level,
                        struct circle *out)
{
	bool *seen = mem_zalloc(p->node.n);
	uint32_t node = 1;
	while (!o->left[node])
		node++;
	for (; !seen[node]; node = find_blocker(p, o, node, level))
		seen[node] = true;
	uint32_t first = node;
	do {
		vec_push(&out->node, node);
		node = find_blocker(p, o, node, level);
	} while (node != first);
	free(seen);
}

void progress_check(struct checker *c)
{
	const struct progress *p = &c->progress;
	for (enum progress_level level = PROGRESS_ALWAYS; level <= PROGRESS_HOST && p->node.n; level++) {
		struct order o = order_make(p, level);
		struct circle circle = {0};
		bool stuck = order_run(p, &o) > 0;
		if (stuck) {
			find_circle(p, &o, level, &circle);
			report_deadlock(c, &circle, level);
		}
		vec_free(&circle.node);
		order_free(&o);
		if (stuck)
			return;
	}
}
