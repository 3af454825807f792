/* Test of partner: a bucket of a comm that is alone and any other of its family would wait for itself. */
#include "check.h"
#include "sched/bucket.h"
#include "sched/partner.h"
#include "test_sched.h"

enum { PROBLEMS = 500, NODES = 16 };

static bool is_possible(const struct sched_problem *p, uint32_t x, uint32_t y)
{
	struct arena *a = arena_new();
	struct sched_bucketed b;
	uint32_t bucket[NODES];
	memset(bucket, 0xff, sizeof bucket);
	bucket[p->node[x].transfer] = bucket[p->node[y].transfer] = 0;
	bool ok = sched_bucket(p, bucket, 1, a, &b);
	arena_free(a);
	return ok;
}

int main(void)
{
	uint32_t found[2] = {0}, missed = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		struct arena *a = arena_new();
		struct sched_problem p;
		bool alone[NODES];
		test_problem(a, seed, NODES, &p);
		sched_partners(&p, alone);
		for (uint32_t x = 0; x < p.n; x++) {
			bool any = false;
			for (uint32_t y = 0; y < p.n && p.node[x].kind == SCHED_COMM; y++)
				any |= y != x && p.node[y].kind == SCHED_COMM &&
				       sched_transfer(&p, y)->family == sched_transfer(&p, x)->family &&
				       is_possible(&p, x, y);
			CHECK(!alone[x] || (p.node[x].kind == SCHED_COMM && !any));
			missed += p.node[x].kind == SCHED_COMM && !any && !alone[x];
			found[any] += p.node[x].kind == SCHED_COMM;
		}
		arena_free(a);
	}
	CHECK(missed < found[0] / 5); /* waits that need other nodes */
	CHECK(found[0] > PROBLEMS / 4 && found[1] > PROBLEMS / 4);
	return check_result();
}
