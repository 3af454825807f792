/* Tests of exposure: each reason on a schedule that shows it, and sums on random schedules. */
#include "check.h"
#include "sched/exposure.h"
#include "test_sched.h"

enum { PROBLEMS = 300, NODES = 20, MIB = 1 << 20 };

static struct sched_node work(int64_t time)
{
	return (struct sched_node){.time = time, .comm = SCHED_NONE};
}

static struct sched_node comm(int64_t time)
{
	return (struct sched_node){.time = time, .kind = SCHED_COMM};
}

static struct sched_node wait_for(uint32_t comm)
{
	return (struct sched_node){.comm = comm, .kind = SCHED_WAIT};
}

/* Computes the exposure of nodes in their order, with these edges. The first node makes 100 MiB for the last
 * but one, and the last makes 100 MiB, too. which: number among the comms. */
static struct sched_exposure exposure(struct sched_node *node, uint32_t n, const struct sched_pair *edge,
                                      uint32_t edges, int64_t limit, uint32_t which)
{
	struct arena *a = arena_new();
	struct sched_storage storage[] = {{100 * MIB, 0, false}, {100 * MIB, n - 1, false}};
	struct sched_pair use = {n - 2, 0};
	struct sched_transfer transfer = {.family = SCHED_NONE};
	struct sched_problem p = {.n = n,
	                          .transfer_n = 1,
	                          .lane_n = 1,
	                          .storage_n = 2,
	                          .bytes_per_ns = 1,
	                          .node = node,
	                          .transfer = &transfer,
	                          .storage = storage};
	struct sched_exposures e;
	sched_problem_finish(&p, a, edge, edges, &use, 1);
	sched_exposures(&p, test_original(a, &p), limit, a, &e);
	struct sched_exposure got = e.at[which];
	arena_free(a);
	return got;
}

static void each_reason(void)
{
	enum { FREE = 300 * MIB, TIGHT = 150 * MIB };
	static const struct sched_pair chain[] = {{0, 1}, {1, 2}, {2, 3}, {3, 4}};
	struct sched_node alone[] = {work(100), comm(50), wait_for(1), work(100), work(10)};
	struct sched_exposure e = exposure(alone, 5, chain, 4, FREE, 0);
	CHECK_EQ(e.reason, SCHED_CHAIN);
	CHECK(e.comm == 1 && e.wait == 2 && e.issue == 100 && e.begin == 100 && e.end == 150);
	CHECK(e.exposed == 50 && e.hidden == 0);

	static const struct sched_pair two[] = {{0, 4}, {1, 2}, {2, 3}, {0, 3}};
	struct sched_node queued[] = {comm(100), comm(50), wait_for(1), work(10), wait_for(0)};
	e = exposure(queued, 5, two, 4, FREE, 1);
	CHECK_EQ(e.reason, SCHED_LANE);
	CHECK(e.exposed == 50 && e.hidden == 0 && e.begin == 100);
	CHECK(e.behind == 100 && e.front == 0 && !e.behind_others);
	e = exposure(queued, 5, two, 4, FREE, 0);
	CHECK_EQ(e.reason, SCHED_HIDDEN);
	CHECK(e.exposed == 0 && e.hidden == 100 && e.wait == 4);
	CHECK(e.behind == 0 && e.front == SCHED_NONE);

	static const struct sched_pair third[] = {{0, 5}, {1, 5}, {2, 3}, {3, 4}, {4, 5}};
	struct sched_node behind_two[] = {comm(100), comm(20), comm(50), wait_for(2), work(10), work(10)};
	e = exposure(behind_two, 6, third, 5, FREE, 2);
	CHECK(e.exposed == 50 && e.behind == 120 && e.front == 1 && e.behind_others);

	static const struct sched_pair between[] = {{1, 3}, {3, 4}, {0, 4}};
	struct sched_node spent[] = {work(80), comm(100), work(30), wait_for(1), work(10), work(0)};
	e = exposure(spent, 6, between, 3, FREE, 0);
	CHECK_EQ(e.reason, SCHED_WORK);
	CHECK(e.exposed == 70 && e.hidden == 30);

	static const struct sched_pair frees[] = {{0, 1}, {1, 2}, {2, 3}};
	struct sched_node big[] = {work(10), comm(100), wait_for(1), work(10), work(100)};
	e = exposure(big, 5, frees, 3, TIGHT, 0);
	CHECK_EQ(e.reason, SCHED_MEMORY);
	CHECK_EQ(e.exposed, 100);
	CHECK_EQ(exposure(big, 5, frees, 3, FREE, 0).reason, SCHED_WORK);
	big[4].time = 99; /* less than the comm's time */
	CHECK_EQ(exposure(big, 5, frees, 3, TIGHT, 0).reason, SCHED_CHAIN);
}

/* Finds independent work by following all paths from and to the comm. */
static int64_t independent(const struct sched_problem *p, uint32_t comm)
{
	bool tied[NODES] = {0};
	int64_t work = 0;
	tied[comm] = true;
	for (uint32_t x = comm + 1; x < p->n; x++)
		for (uint32_t i = p->pred.at[x]; i < p->pred.end[x]; i++)
			tied[x] |= p->pred.item[i] >= comm && tied[p->pred.item[i]];
	for (uint32_t x = comm; x-- > 0;)
		for (uint32_t i = p->succ.at[x]; i < p->succ.end[x]; i++)
			tied[x] |= p->succ.item[i] <= comm && tied[p->succ.item[i]];
	for (uint32_t x = 0; x < p->n; x++)
		work += tied[x] || p->node[x].kind != SCHED_COMPUTE ? 0 : p->node[x].time;
	return work;
}

static void sums_and_counts(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	struct sched_exposures e;
	static const unsigned percents[] = {0, 50, 100, 130};
	uint32_t comms = 0, hidden = 0, hideable[4] = {0}, either = 0;
	int64_t exposed = 0;
	test_problem(a, seed, NODES, &p);
	uint32_t *order = test_original(a, &p);
	struct sched_result r = sched_simulate(&p, order, NULL);
	sched_exposures(&p, order, r.peak, a, &e);
	for (uint32_t x = 0; x < p.n; x++) {
		if (p.node[x].kind != SCHED_COMM)
			continue;
		const struct sched_exposure *of = &e.at[comms++];
		CHECK_EQ(of->comm, x);
		CHECK(of->wait == SCHED_NONE || p.node[of->wait].comm == x);
		CHECK_EQ(of->exposed + of->behind > 0, of->reason != SCHED_HIDDEN);
		CHECK_EQ(of->exposed + of->hidden, p.node[x].time);
		CHECK(!of->behind || (of->front != SCHED_NONE && p.node[of->front].lane == p.node[x].lane));
		CHECK_EQ(of->end - of->begin, p.node[x].time);
		if (of->reason == SCHED_CHAIN)
			CHECK(independent(&p, x) < p.node[x].time);
		exposed += of->exposed + of->behind;
		hidden += of->reason == SCHED_HIDDEN;
		either += of->reason == SCHED_HIDDEN || independent(&p, x) >= p.node[x].time;
		for (unsigned k = 0; k < 4; k++)
			hideable[k] += percents[k] ? percents[k] * independent(&p, x) >= 100 * p.node[x].time
			                           : independent(&p, x) > 0;
	}
	CHECK_EQ(comms, e.n);
	CHECK_EQ(hidden, e.hidden);
	CHECK_EQ(exposed, r.exposed);
	for (unsigned k = 0; k < 4; k++)
		CHECK_EQ(sched_hideable(&p, NULL, percents[k]), hideable[k]);
	CHECK_EQ(sched_hideable(&p, &e, 100), either);
	arena_free(a);
}

int main(void)
{
	each_reason();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		sums_and_counts(seed);
	return check_result();
}
