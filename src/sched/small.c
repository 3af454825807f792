/* small: tries all ways to put comms into buckets, with the best order of each.
 *
 *     comms a, b, c of one family   →   a b c,  ab c,  ac b,  a bc,  abc
 *
 * A comm starts a bucket of its own or joins the bucket of an earlier comm of its family. */
#include "sched/small.h"
#include "sched/exact.h"
#include <string.h>

enum {
	MOST_COMMS = 10,
	MOST_STATES = 20000, /* visited for one order */
};

struct small {
	struct scheduler *s;
	uint32_t states; /* that may still be visited */
	uint32_t comm[MOST_COMMS], n;
	uint32_t leader[MOST_COMMS]; /* the first comm of its bucket */
};

/* Gives numbers to the buckets of two comms and more. */
static uint32_t number_buckets(const struct small *k, uint32_t *bucket)
{
	uint32_t bucket_n = 0;
	const struct sched_problem *p = k->s->p;
	memset(bucket, 0xff, sizeof *bucket * p->transfer_n);
	for (uint32_t i = 0; i < k->n; i++) {
		uint32_t *first = &bucket[p->node[k->comm[k->leader[i]]].transfer];
		if (k->leader[i] == i)
			continue;
		if (*first == SCHED_NONE)
			*first = bucket_n++;
		bucket[p->node[k->comm[i]].transfer] = *first;
	}
	return bucket_n;
}

/* Finds the best order for the present buckets. Returns false if it gave up. */
static bool try_buckets(struct small *k)
{
	struct scheduler *s = k->s;
	struct trial t = plan_trial(s, &s->best.plan);
	struct sched_schedule *made = &t.schedule;
	struct sched_exact_options o = {.limit = s->o->limit, .below = s->best.schedule.result.runtime};
	bool found = false, complete = true;
	t.bucket_n = number_buckets(k, made->bucket);
	if (plan_open(s->p, &t)) {
		made->order = arena_new_array(made->arena, uint32_t, made->b.p.n);
		uint32_t most = k->states < MOST_STATES ? k->states : MOST_STATES, left = most;
		complete = sched_exact(&made->b.p, &o, &left, made->order, &found);
		k->states -= most - left;
	}
	if (found)
		plan_offer(s, &t);
	else
		sched_schedule_free(made);
	return complete;
}

/* Tries all buckets of the comms from number i on. Returns false if it gave up. */
static bool try_from(struct small *k, uint32_t i)
{
	const struct sched_problem *p = k->s->p;
	if (k->s->best.schedule.result.runtime <= k->s->bound)
		return true;
	if (i == k->n)
		return try_buckets(k);
	bool complete = true;
	for (uint32_t j = i + 1; j-- > 0 && k->states;) { /* alone first, since that is the quickest to try */
		if (k->leader[j] != j && j != i)
			continue;
		if (j != i && sched_transfer(p, k->comm[j])->family != sched_transfer(p, k->comm[i])->family)
			continue;
		k->leader[i] = j;
		complete &= try_from(k, i + 1);
	}
	return complete && k->states;
}

bool sched_small(struct scheduler *s, uint32_t states)
{
	struct small k = {.s = s, .states = states};
	if (s->p->n > SCHED_EXACT_NODES)
		return false;
	for (uint32_t i = 0; s->bucket && i < s->comm.n; i++) {
		if (sched_transfer(s->p, s->comm.at[i])->family == SCHED_NONE)
			continue;
		if (k.n == MOST_COMMS)
			return false;
		k.comm[k.n++] = s->comm.at[i];
	}
	return try_from(&k, 0);
}
