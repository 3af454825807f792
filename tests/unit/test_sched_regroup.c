/* Tests of changes of buckets: after any change, a bucket has comms of one family and at least two members, and the
 * order that is carried over to the new buckets is a schedule. The same buckets keep their order. */
#include "check.h"
#include "sched/carry.h"
#include "sched/keyed.h"
#include "sched/regroup.h"
#include "test_sched.h"

enum { PROBLEMS = 200, NODES = 60, CHANGES = 20 };

static void are_buckets(const struct sched_problem *p, const uint32_t *bucket, uint32_t n)
{
	uint32_t members[NODES] = {0}, family[NODES];
	CHECK(n <= NODES);
	for (uint32_t k = 0; k < p->transfer_n; k++) {
		if (bucket[k] == SCHED_NONE)
			continue;
		CHECK(bucket[k] < n);
		CHECK(!members[bucket[k]]++ || family[bucket[k]] == p->transfer[k].family);
		family[bucket[k]] = p->transfer[k].family;
	}
	for (uint32_t k = 0; k < n; k++)
		CHECK(members[k] > 1);
}

/* Checks that the row has each comm of a family once, with members in the order of their ranks. */
static void is_row(const struct sched_rebucket *r, const struct sched_row *row, const int64_t *rank)
{
	const struct sched_problem *p = r->parts.p;
	uint32_t comms = 0;
	for (uint32_t x = 0; x < p->n; x++)
		comms += p->node[x].kind == SCHED_COMM && sched_transfer(p, x)->family != SCHED_NONE;
	CHECK_EQ(row->first[0], 0u);
	CHECK_EQ(row->first[row->n], comms);
	for (uint32_t k = 0; k < row->n; k++)
		for (uint32_t i = row->first[k]; i < row->first[k + 1]; i++) {
			CHECK_EQ(r->parts.number[row->member[i]], row->comm[k]);
			CHECK(i == row->first[k] || rank[row->member[i - 1]] <= rank[row->member[i]]);
		}
}

/* Carries an order of n nodes to the new buckets of r in all ways. Returns false if buckets wait for each other. */
static bool carries(const struct sched_rebucket *r, const uint32_t *order, uint32_t n, uint32_t late,
                    uint32_t *out)
{
	bool first = false;
	for (unsigned way = 0; way < 4; way++) {
		struct sched_carry_options o = {way & 1, way & 2 ? late : SCHED_NONE, way & 2};
		bool ok = sched_carry(r, order, n, &o, out);
		CHECK(!way || ok == first);
		first = ok;
		CHECK(!ok || sched_is_schedule(&r->p, out));
	}
	struct sched_carry_options o = {.first = true, .late = SCHED_NONE};
	return sched_carry(r, order, n, &o, out);
}

/* Nodes that go where others need them, but that no node needs, are not forgotten. */
static void places_all(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_problem p;
	uint32_t key[NODES] = {0}, out[NODES];
	bool late[NODES];
	test_problem(a, seed, NODES, &p);
	for (uint32_t x = 0; x < p.n; x++)
		late[x] = x % 3;
	sched_keyed(&p, key, 1, late, out);
	CHECK(sched_is_schedule(&p, out));
	arena_free(a);
}

/* Returns the number of changes that had an effect. */
static unsigned change(uint32_t seed)
{
	struct arena *a = arena_new();
	struct sched_random r = sched_random_from(seed);
	struct sched_problem p;
	struct sched_rebucket in_place;
	uint32_t bucket[NODES], before[NODES], slot[NODES], n = 0, nodes = NODES, order[NODES * 5],
	                                                    other[NODES * 5];
	int64_t rank[NODES], of_comm[NODES];
	unsigned changed = 0;
	test_problem(a, seed, NODES, &p);
	memset(bucket, 0xff, sizeof bucket);
	for (uint32_t x = 0, k = 0; x < p.n; x++) {
		rank[x] = seed % 2 ? x : p.n - x;
		order[x] = x;
		if (p.node[x].kind == SCHED_COMM)
			of_comm[k++] = rank[x];
	}
	sched_rebucket_open(&in_place, &p);
	for (unsigned k = 0; k < CHANGES; k++) {
		struct sched_row row;
		sched_row(&in_place, order, of_comm, a, &row);
		is_row(&in_place, &row, rank);
		if (!row.n)
			break;
		memcpy(before, bucket, sizeof before);
		if (k % 4)
			sched_regroup(&p, &row, &r, bucket, &n);
		else
			sched_regroup_together(&p, &row, row.member, 1, k % 8, bucket, &n);
		are_buckets(&p, bucket, n);
		changed += memcmp(before, bucket, sizeof before) != 0;
		sched_rebucket_slots(&in_place, bucket, n, slot);
		if (!sched_rebucket(&in_place, slot) ||
		    !carries(&in_place, order, nodes, row.member[0], other))
			break;
		nodes = in_place.p.n;
		memcpy(order, other, sizeof *order * nodes);
		sched_rebucket_slots(&in_place, bucket, n, slot);
		CHECK(sched_rebucket(&in_place, slot) && !in_place.nodes.n);
		struct sched_carry_options o = {.first = true, .late = SCHED_NONE};
		CHECK(sched_carry(&in_place, order, nodes, &o, other));
		CHECK(memcmp(order, other, sizeof *order * nodes) == 0);
	}
	sched_rebucket_close(&in_place);
	arena_free(a);
	return changed;
}

int main(void)
{
	unsigned changed = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++) {
		changed += change(seed);
		places_all(seed);
	}
	CHECK(changed > PROBLEMS * CHANGES / 8);
	return check_result();
}
