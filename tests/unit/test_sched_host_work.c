/* Tests of host_work: the work before each comm is done when a host that takes jobs in the order of their keys has done
 * all nodes that the comm needs, and the sum is over these nodes. */
#include "check.h"
#include "sched/host_work.h"
#include "test_sched.h"

enum { PROBLEMS = 300, NODES = 120 };

struct job {
	int64_t key, time;
};

static int by_key(const void *a, const void *b)
{
	const struct job *x = a, *y = b;
	return (x->key > y->key) - (x->key < y->key);
}

/* Marks the nodes that x needs. */
static void mark_needed(const struct sched_lists *pred, uint32_t x, bool needed[NODES])
{
	memset(needed, 0, NODES);
	for (uint32_t i = pred->at[x]; i < pred->end[x]; i++)
		needed[pred->item[i]] = true;
	for (uint32_t y = x; y-- > 0;)
		for (uint32_t i = pred->at[y]; needed[y] && i < pred->end[y]; i++)
			needed[pred->item[i]] = true;
}

static int64_t done_by(const struct host_side *side, const bool needed[NODES], int64_t *sum)
{
	struct job job[NODES];
	uint32_t n = 0;
	int64_t now = 0;
	*sum = 0;
	for (uint32_t x = 0; x < NODES; x++)
		if (needed[x] && side->time[x] && side->key[x] >= 0) {
			job[n++] = (struct job){side->key[x], side->time[x]};
			*sum += side->apart[x] ? 0 : side->time[x];
		}
	qsort(job, n, sizeof *job, by_key);
	for (uint32_t k = 0; k < n; k++)
		now = (job[k].key > now ? job[k].key : now) + job[k].time;
	return now;
}

/* Draws nodes that mostly need one of the few before them, so that comms have much work in common. */
static uint32_t draw_edges(struct test_random *r, struct sched_pair *edge)
{
	uint32_t n = 0, back = 2 + test_draw(r, 12);
	for (uint32_t x = 1; x < NODES; x++)
		for (uint32_t k = test_draw(r, 3); k-- > 0;) {
			uint32_t most = test_draw(r, 10) ? (x < back ? x : back) : x;
			edge[n++] = (struct sched_pair){x - 1 - test_draw(r, most), x};
		}
	return n;
}

static void work_is_done_in_time(uint32_t seed)
{
	struct test_random r = {seed};
	struct arena *a = arena_new();
	struct sched_pair edge[2 * NODES];
	struct sched_node node[NODES] = {{0}};
	struct sched_problem p = {.n = NODES, .node = node};
	int64_t key[NODES], time[NODES];
	bool apart[NODES], needed[NODES];
	sched_problem_finish(&p, a, edge, draw_edges(&r, edge), NULL, 0);
	for (uint32_t x = 0; x < NODES; x++) {
		key[x] = (int64_t)test_draw(&r, 20 + 10 * x) - 5;
		time[x] = test_draw(&r, 30);
		apart[x] = test_draw(&r, 2);
	}
	struct host_side side = {NODES, &p.pred, key, time, apart, NODES};
	struct host_work *w = host_work_new(&side);
	for (uint32_t x = 0; x < NODES; x++) {
		int64_t sum, want_sum;
		if (test_draw(&r, 3))
			continue;
		host_work_begin(w, x);
		for (uint32_t i = p.pred.at[x]; i < p.pred.end[x]; i++)
			host_work_add(w, p.pred.item[i]);
		mark_needed(&p.pred, x, needed);
		CHECK_EQ(host_work_end(w, &sum), done_by(&side, needed, &want_sum));
		CHECK_EQ(sum, want_sum);
	}
	host_work_free(w);
	arena_free(a);
}

int main(void)
{
	for (uint32_t seed = 1; seed <= PROBLEMS; seed++)
		work_is_done_in_time(seed);
	return check_result();
}
