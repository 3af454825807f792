/* combine: estimates each pair of choices, and makes list schedules of the best pairs only.
 *
 * Buckets of sources save time of a lane and cost time of the host; so do buckets of sinks. The one makes the
 * other needless, so neither can be chosen alone. The time that each choice adds to the host and to the lanes
 * is found once. The estimate of a pair is the larger of both sums; a lane has pauses, so its sum counts with
 * a factor. The estimate knows nothing of memory, so each pair of shares of the memory gives the best pair of
 * sizes for a list schedule. Larger buckets of sources are tried only if a lane takes longer than the host with
 * the smaller ones. */
#include "sched/combine.h"
#include "sched/scatter.h"
#include <stdlib.h>
#include <string.h>

static const double inflates[] = {1, 1.5}, factors[] = {1.05, 1};
static const double shares[] = {1, 1.5, 0.5, 0.25, 0, 0.75, 0.125}; /* 0: memory does not count */
static const unsigned by_share[] = {4, 1, 0, 5, 2, 3, 6};           /* indices of shares, the largest first */
static const struct {
	double span, pack;
} spreads[] = {{1, 1}, {1, 0.7}, {1, 0.5}, {1, 0.25}, {0.05, 1}, {0.01, 1}, {1, 0.125}, {1, 0.35}, {1, 0.06}};
enum {
	SHARES = sizeof shares / sizeof *shares,
	SPREADS = sizeof spreads / sizeof *spreads,
	FEW_SHARES = 4,  /* the first ones, unless all are tried */
	FEW_SPREADS = 5, /* likewise */
};
#define COUNT(a) (sizeof(a) / sizeof *(a))

struct choice { /* of sources, or of sinks */
	int64_t threshold;
	double inflate; /* of sources */
	unsigned kind;  /* sources: index in shares, sinks: in spreads; SHARES or SPREADS: no buckets */
	int64_t host;   /* ns that it adds to the host */
	int64_t lane[SCHED_MAX_LANES]; /* likewise to the lanes */
};

struct choices {
	struct choice *at;
	uint32_t n, cap;
};

struct pair {
	int64_t estimate; /* ns */
	uint32_t gather, scatter;
};

/* Finds the times that buckets add. bucket: by transfer. */
static void add_times(const struct scheduler *s, const uint32_t *bucket, uint32_t bucket_n, struct choice *c)
{
	const struct sched_problem *p = s->p;
	struct bucket_sum *sum = plan_bucket_sums(s, bucket, bucket_n);
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *n = &p->node[s->comm.at[i]];
		if (bucket[n->transfer] == SCHED_NONE)
			continue;
		c->lane[n->lane] -= n->time > 0 ? n->time + p->launch : 0;
		c->host -= 2 * p->launch; /* of the comm and its wait */
	}
	for (uint32_t k = 0; k < bucket_n; k++) {
		struct bucket_time t = plan_bucket_time(p, &sum[k]);
		c->lane[t.lane] += t.time;
		c->host += t.host + 2 * p->launch;
	}
	free(sum);
}

/* Finds the times of the choice with the buckets of a plan. */
static void measure_choice(struct scheduler *s, const struct plan *plan, struct choice *c)
{
	uint32_t bucket_n = plan_buckets(s, plan);
	add_times(s, s->planned, bucket_n, c);
}

static void choose_sources(const struct choice *c, struct plan *plan)
{
	plan->gather = c->threshold;
	plan->inflate = c->inflate;
	plan->share = c->kind < SHARES ? shares[c->kind] : 1;
}

static void choose_sinks(const struct scheduler *s, const struct choice *c, struct plan *plan)
{
	plan->scatter = c->threshold;
	plan->span = c->kind < SPREADS ? (int64_t)(spreads[c->kind].span * (double)s->work) : 0;
	plan->pack = c->kind < SPREADS ? spreads[c->kind].pack : 1;
}

/* Finds the time of all comms by lane. */
static void find_lanes(const struct scheduler *s, int64_t lane[SCHED_MAX_LANES])
{
	memset(lane, 0, sizeof *lane * SCHED_MAX_LANES);
	for (uint32_t i = 0; i < s->comm.n; i++) {
		const struct sched_node *c = &s->p->node[s->comm.at[i]];
		lane[c->lane] += c->time > 0 ? c->time + s->p->launch : 0;
	}
}

/* Returns the time of the host, with the work that comms slow. */
static int64_t host_time(const struct scheduler *s, const int64_t lane[SCHED_MAX_LANES],
                         const struct choice *gather, const struct choice *scatter)
{
	int64_t host = s->work + gather->host + scatter->host;
	double slowed = 0;
	for (uint32_t l = 0; s->slows && l < s->p->lane_n; l++)
		slowed += s->slows[l] * s->slowed[l] * (double)(lane[l] + gather->lane[l] + scatter->lane[l]);
	return host + (int64_t)slowed;
}

/* Returns the time of the host, or of the lane that takes longest with its pauses. */
static int64_t estimate(const struct scheduler *s, const int64_t lane[SCHED_MAX_LANES], double factor,
                        const struct choice *gather, const struct choice *scatter)
{
	int64_t most = host_time(s, lane, gather, scatter);
	for (uint32_t l = 0; l < s->p->lane_n; l++) {
		int64_t sum = lane[l] + gather->lane[l] + scatter->lane[l];
		int64_t t = (int64_t)((s->slowed ? s->slowed[l] : 1) * factor * (double)sum);
		most = t > most ? t : most;
	}
	return most;
}

/* Adds the choices of sources for a share and factor. Those that admit most come first, since others often have
 * their result. Returns true if the host takes longer than all lanes with one of them. */
static bool add_sources(struct scheduler *s, unsigned share, double inflate,
                        const int64_t lane[SCHED_MAX_LANES], struct choices *gather)
{
	const struct choice none = {0};
	bool enough = false;
	for (uint32_t k = s->gather.n; k-- > 0;) {
		struct choice c = {.threshold = s->gather.at[k], .kind = share};
		struct plan plan = {0};
		c.inflate = inflate * s->inflate > 1 ? inflate * s->inflate : 1;
		choose_sources(&c, &plan);
		measure_choice(s, &plan, &c);
		vec_push(gather, c);
		enough |= estimate(s, lane, factors[0], &c, &none) == host_time(s, lane, &c, &none);
	}
	return enough;
}

static void list_choices(struct scheduler *s, bool all, struct choices *gather, struct choices *scatter)
{
	int64_t lane[SCHED_MAX_LANES];
	find_lanes(s, lane);
	vec_push(gather, (struct choice){.inflate = 1, .kind = SHARES});
	vec_push(scatter, (struct choice){.kind = SPREADS});
	for (unsigned i = 0; i < SHARES; i++) {
		bool enough = !all && by_share[i] >= FEW_SHARES;
		for (unsigned j = 0; j < (all ? COUNT(inflates) : 1) && !enough; j++)
			enough = add_sources(s, by_share[i], inflates[j], lane, gather);
	}
	for (uint32_t k = 0; k < s->scatter.n; k++)
		for (unsigned i = 0; i < (all ? SPREADS : FEW_SPREADS); i++) {
			struct choice c = {.threshold = s->scatter.at[k], .kind = i};
			struct plan plan = {0};
			choose_sinks(s, &c, &plan);
			measure_choice(s, &plan, &c);
			vec_push(scatter, c);
		}
}

/* Finds the pair with the least estimate for each pair of kinds. */
static void find_pairs(const struct scheduler *s, const struct choices *gather, const struct choices *scatter,
                       double factor, struct pair pair[SHARES + 1][SPREADS + 1])
{
	int64_t lane[SCHED_MAX_LANES];
	find_lanes(s, lane);
	for (unsigned i = 0; i <= SHARES; i++)
		for (unsigned j = 0; j <= SPREADS; j++)
			pair[i][j] = (struct pair){.estimate = INT64_MAX};
	for (uint32_t i = 0; i < gather->n; i++)
		for (uint32_t j = 0; j < scatter->n; j++) {
			const struct choice *g = &gather->at[i], *c = &scatter->at[j];
			int64_t most = estimate(s, lane, factor, g, c);
			if (most < pair[g->kind][c->kind].estimate)
				pair[g->kind][c->kind] = (struct pair){most, i, j};
		}
}

void sched_combine(struct scheduler *s, bool all)
{
	struct choices gather = {0}, scatter = {0};
	struct pair pair[SHARES + 1][SPREADS + 1];
	struct plan plan = s->best.plan;
	if (!plan_may_try(s))
		return;
	list_choices(s, all, &gather, &scatter);
	for (unsigned f = 0; f < (all ? COUNT(factors) : 1); f++) {
		find_pairs(s, &gather, &scatter, factors[f], pair);
		for (unsigned i = 0; i <= SHARES; i++)
			for (unsigned j = 0; j <= SPREADS; j++) {
				if (pair[i][j].estimate == INT64_MAX)
					continue;
				choose_sources(&gather.at[pair[i][j].gather], &plan);
				choose_sinks(s, &scatter.at[pair[i][j].scatter], &plan);
				plan_try(s, &plan);
			}
	}
	vec_free(&gather);
	vec_free(&scatter);
}
