/* Tests of lane_work: a node begins when each lane has done all comms that it waits for, one at a time, and ends before
 * those that need it. The bound knows that work behind several comms begins after all of them. */
#include "check.h"
#include "sched/lane_work.h"
#include "sched/sched_bound.h"
#include "test_sched.h"

enum { PROBLEMS = 200, NODES = 120, LANES = 2 };

struct job {
	int64_t key, length;
};

static int by_key(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

/* Marks the nodes to which the lists of x lead. */
static void mark_reached(const struct sched_lists *next, uint32_t x, bool reached[NODES])
{
	memset(reached, 0, NODES);
	reached[x] = true;
	for (bool grows = true; grows;) {
		grows = false;
		for (uint32_t y = 0; y < NODES; y++)
			for (uint32_t i = next->at[y]; reached[y] && i < next->end[y]; i++) {
				grows |= !reached[next->item[i]];
				reached[next->item[i]] = true;
			}
	}
	reached[x] = false;
}

/* Returns true if comm c is on the side of a node from which these nodes are reached. */
static bool is_beside(const struct lane_side *side, const bool reached[NODES], uint32_t c)
{
	bool beside = !side->ahead && reached[c];
	for (uint32_t x = 0; side->ahead && x < NODES; x++)
		beside |= reached[x] && sched_awaited(&side->p->node[x]) == c;
	return beside && side->key[c] >= 0;
}

static int64_t done_by(const struct lane_side *side, const bool reached[NODES])
{
	int64_t most = 0;
	for (uint32_t lane = 0; lane < LANES; lane++) {
		struct job job[NODES];
		uint32_t n = 0;
		int64_t now = 0;
		for (uint32_t x = 0; x < NODES; x++)
			if (side->p->node[x].kind == SCHED_COMM && side->p->node[x].lane == lane &&
			    is_beside(side, reached, x))
				job[n++] = (struct job){side->key[x], side->length[x]};
		if (n)
			qsort(job, n, sizeof *job, by_key);
		for (uint32_t k = 0; k < n; k++)
			now = (job[k].key > now ? job[k].key : now) + job[k].length;
		most = now > most ? now : most;
	}
	return most;
}

/* Returns the number of nodes that have work beside them. */
static unsigned work_is_done_in_time(uint32_t seed, bool ahead, uint32_t most)
{
	struct arena *a = arena_new();
	struct test_random r = {seed};
	struct sched_problem p;
	int64_t key[NODES], length[NODES];
	bool reached[NODES];
	unsigned n = 0;
	test_problem(a, seed, NODES, &p);
	for (uint32_t x = 0; x < NODES; x++) {
		key[x] = (int64_t)test_draw(&r, 2000) - 100;
		length[x] = test_draw(&r, 400);
	}
	struct lane_side side = {&p, ahead, key, length, most};
	struct lane_work *w = lane_work_new(&side);
	for (uint32_t k = 0; k < NODES; k++) {
		uint32_t x = ahead ? k : NODES - 1 - k;
		int64_t t = lane_work_of(w, x);
		mark_reached(ahead ? &p.pred : &p.succ, x, reached);
		CHECK(!t || t == done_by(&side, reached));
		n += t > 0;
	}
	lane_work_free(w);
	CHECK(n <= most);
	arena_free(a);
	return n;
}

/* Comms, much work that needs all of them, and comms that need that work; all comms are alone on one lane. */
static void bound_knows_the_join(void)
{
	enum { SIDE = 3, JOIN = 2 * SIDE, COUNT = 4 * SIDE + 1 };
	struct arena *a = arena_new();
	struct sched_pair edge[4 * SIDE];
	struct sched_node node[COUNT];
	struct sched_transfer transfer[2 * SIDE];
	struct sched_problem p = {.launch = 1, .bytes_per_ns = 1, .n = COUNT, .lane_n = 1, .node = node};
	uint32_t n = 0;
	node[JOIN] = (struct sched_node){.kind = SCHED_COMPUTE, .comm = SCHED_NONE, .time = 2000};
	for (uint32_t k = 0; k < 2 * SIDE; k++) {
		uint32_t c = k < SIDE ? 2 * k : 2 * k + 1;
		transfer[k] = (struct sched_transfer){.family = SCHED_NONE};
		node[c] = (struct sched_node){.kind = SCHED_COMM, .comm = SCHED_NONE, .time = 1000};
		node[c].transfer = k;
		node[c + 1] = (struct sched_node){.kind = SCHED_WAIT, .comm = c};
		edge[n++] = (struct sched_pair){c, c + 1};
		edge[n++] = k < SIDE ? (struct sched_pair){c + 1, JOIN} : (struct sched_pair){JOIN, c};
	}
	p.transfer = transfer;
	p.transfer_n = 2 * SIDE;
	sched_problem_finish(&p, a, edge, n, NULL, 0);
	for (unsigned bucket = 0; bucket < 2; bucket++) {
		int64_t bound = sched_bound(&p, bucket).runtime, least = 2 * SIDE * 1000 + 2000;
		CHECK(bound >= least && bound <= least + COUNT * p.launch);
	}
	arena_free(a);
}

int main(void)
{
	unsigned n = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		n += work_is_done_in_time(seed, seed % 2, NODES);
		work_is_done_in_time(seed, seed % 2, 5);
	}
	CHECK(n > PROBLEMS);
	bound_knows_the_join();
	return check_result();
}
