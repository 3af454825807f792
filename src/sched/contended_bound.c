/* contended_bound: see contended_bound.h.
 *
 * Comm i takes t_i alone, and slows work by f_i; work slows it by g_i. W is the work of the host, L its launches.
 * Let o_i be the time for which work runs beside comm i. In o_i the comm does o_i / g_i of its time, and the host
 * does o_i / f_i of its work. So for any schedule of length T
 *
 *     T ≥ W + sum of t_i − o_i (1 / f_i + 1 / g_i − 1)      the lane, and the work that runs beside none of it
 *     T ≥ L + W + sum of o_i (1 − 1 / f_i)                  the host
 *
 * The bound is the least T that admits some o_i from 0 to t_i g_i. More o_i lowers the first line and raises the
 * second; the comms whose first line falls most for what the second one rises come first. */
#include "sched/contended_bound.h"
#include <math.h>
#include <stdlib.h>

#define ROUNDING 1e-3 /* ns; times are whole, and rates are rounded up by less */

struct share {             /* all comms of one rule */
	double most;       /* ns: the most time beside work */
	double gain, cost; /* of a ns of it: by how much it lowers the lane's line and raises the host's */
};

/* Returns the least time of a comm, alone or in a bucket. */
static double least_time(const struct sched_problem *p, uint32_t x, bool bucket, const int64_t *bytes)
{
	const struct sched_node *n = &p->node[x];
	if (!bucket || n->family == SCHED_NONE || !n->in)
		return (double)n->time;
	return fmin((double)n->time,
	            sched_family_least(&p->family[n->family], bytes[n->family]) * (double)n->in);
}

static int by_worth(const void *a, const void *b)
{
	const struct share *x = a, *y = b;
	double l = x->gain * y->cost, r = y->gain * x->cost;
	return (l < r) - (l > r);
}

/* Finds the shares of a lane, and adds their times. */
static struct share *find_shares(const struct sched_problem *p, uint32_t lane, bool bucket, double *time)
{
	struct share *share = mem_zalloc(sizeof *share * p->contention_n);
	int64_t *bytes = mem_zalloc(sizeof *bytes * ((size_t)p->family_n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		if (p->node[x].kind == SCHED_COMM && p->node[x].family != SCHED_NONE)
			bytes[p->node[x].family] += p->node[x].in;
	for (uint32_t k = 0; k < p->contention_n; k++) {
		share[k].cost = 1 - (double)SCHED_ALONE / (double)p->contention[k].compute;
		share[k].gain = (double)SCHED_ALONE / (double)p->contention[k].comm - share[k].cost;
	}
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		if (n->kind != SCHED_COMM || n->lane != lane || n->time <= 0)
			continue;
		double least = least_time(p, x, bucket, bytes);
		*time += least;
		share[n->contention].most +=
		    least * (double)p->contention[n->contention].comm / (double)SCHED_ALONE;
	}
	free(bytes);
	return share;
}

int64_t sched_bound_contended(const struct sched_problem *p, uint32_t lane, bool bucket, const int64_t *tail)
{
	double time = 0, work = 0, launches = 0;
	struct share *share = find_shares(p, lane, bucket, &time);
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		uint32_t comm = n->kind == SCHED_COMM ? x : n->comm;
		bool joins = bucket && comm != SCHED_NONE && p->node[comm].family != SCHED_NONE;
		work += n->kind != SCHED_COMM && n->time > 0 ? (double)n->time : 0;
		if (tail[x] >= 0 && !joins && (n->kind == SCHED_COMM || n->time > -p->launch))
			launches += (double)p->launch;
	}
	launches = fmax(0, launches - (double)p->launch); /* the last one is after the end */
	double on_lane = work + time, on_host = launches + work;
	qsort(share, p->contention_n, sizeof *share, by_worth);
	for (uint32_t k = 0; k < p->contention_n && on_lane > on_host; k++) {
		if (share[k].gain <= 0)
			continue;
		double part = fmin(share[k].most, (on_lane - on_host) / (share[k].gain + share[k].cost));
		on_lane -= part * share[k].gain;
		on_host += part * share[k].cost;
	}
	free(share);
	return (int64_t)ceil(fmax(on_lane, on_host) - ROUNDING);
}
