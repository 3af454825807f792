/* contended_bound: see contended_bound.h.
 *
 * Comm i takes t_i alone, and slows work by f_i; work slows it by g_i. W is the work of the host, L its launches.
 * Let o_i be the time for which work runs beside comm i. In o_i the comm does o_i / g_i of its time, and the host
 * does o_i / f_i of its work. So for any schedule of length T
 *
 *     T ≥ W + sum of t_i − o_i (1 / f_i + 1 / g_i − 1)      the lane, and the work that runs beside none of it
 *     T ≥ L + W + sum of o_i (1 − 1 / f_i)                  the host
 *
 * A comm in a bucket takes the lane less time, and the host packs it, which is work in both lines. T is no less than
 * the first line times `part` and the second times 1 − part. For a given part each comm makes its own choice: alone
 * or in a bucket, and beside work all of its time or none of it. */
#include "sched/contended_bound.h"
#include "sched/concave.h"
#include <stdlib.h>

#define ROUNDING 1e-3 /* ns; times are whole, and rates are rounded up by less */

struct choice {         /* a way to run a comm */
	double time;    /* ns of the lane */
	double packing; /* ns of the host */
};

struct item { /* a comm of the lane */
	const struct sched_contention *rule;
	struct choice choice[2]; /* alone, and in a bucket */
	unsigned n;              /* of its choices */
};

struct bound {
	struct item *item;
	uint32_t n;
	double work, launches;
};

/* Returns the least times of a comm in a bucket. bytes: of the operands of all comms of its family. */
static struct choice packed(const struct sched_problem *p, const struct sched_transfer *n, int64_t bytes)
{
	const struct sched_family *f = &p->family[n->family];
	bool copied = p->copies || f->collective == SCHED_ALLGATHER;
	double moved = 2 * (double)n->in + (copied ? 2 * (double)n->out : 0);
	/* The pack and the unpack of a bucket are rounded to whole ns. */
	return (struct choice){.time = sched_family_least(f, bytes) * (double)n->in,
	                       .packing = p->grouped ? 0 : fmax(0, moved / p->bytes_per_ns - 1)};
}

static void find_items(const struct sched_problem *p, uint32_t lane, bool bucket, struct bound *b)
{
	int64_t *bytes = mem_zalloc(sizeof *bytes * ((size_t)p->family_n + 1));
	for (uint32_t k = 0; k < p->transfer_n; k++)
		if (p->transfer[k].family != SCHED_NONE)
			bytes[p->transfer[k].family] += p->transfer[k].in;
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		const struct sched_transfer *moved = sched_transfer(p, x);
		if (n->kind != SCHED_COMM || n->lane != lane || n->time <= 0)
			continue;
		struct item *i = &b->item[b->n++];
		*i = (struct item){&p->contention[n->contention], {{.time = (double)n->time}}, 1};
		if (bucket && moved->family != SCHED_NONE && moved->in)
			i->choice[i->n++] = packed(p, moved, bytes[moved->family]);
	}
	free(bytes);
}

/* Returns the least that a comm adds to both lines together. */
static double least_of(const struct item *i, double part)
{
	double f = SCHED_ALONE / (double)i->rule->compute, g = SCHED_ALONE / (double)i->rule->comm, least = 0;
	for (unsigned k = 0; k < i->n; k++) {
		const struct choice *c = &i->choice[k];
		double beside = c->time / g * ((1 - part) * (1 - f) - part * (f + g - 1));
		double sum = part * c->time + c->packing + fmin(0, beside);
		least = !k || sum < least ? sum : least;
	}
	return least;
}

/* A bound by part is concave. */
static double bound_of(void *of, double part)
{
	const struct bound *b = of;
	double sum = b->work + (1 - part) * b->launches;
	for (uint32_t k = 0; k < b->n; k++)
		sum += least_of(&b->item[k], part);
	return sum;
}

int64_t sched_bound_contended(const struct sched_problem *p, uint32_t lane, bool bucket, const int64_t *tail)
{
	struct bound b = {.item = mem_alloc(sizeof *b.item * ((size_t)p->n + 1))};
	for (uint32_t x = 0; x < p->n; x++) {
		const struct sched_node *n = &p->node[x];
		uint32_t comm = n->kind == SCHED_COMM ? x : n->comm;
		bool joins = bucket && comm != SCHED_NONE && sched_transfer(p, comm)->family != SCHED_NONE;
		b.work += n->kind != SCHED_COMM && n->time > 0 ? (double)n->time : 0;
		if (tail[x] >= 0 && !joins)
			b.launches +=
			    (double)(p->launch + (n->kind == SCHED_COMM || n->time > 0 ? 0 : n->time));
	}
	b.launches = fmax(0, b.launches - (double)p->launch); /* the last one is after the end */
	find_items(p, lane, bucket, &b);
	int64_t runtime = (int64_t)ceil(concave_most(bound_of, &b) - ROUNDING);
	free(b.item);
	return runtime;
}
