/* Test of repartition: buckets are filled up to the step of the table, small members go between large ones, and
 * the lane takes less time for the same members. */
#include "check.h"
#include "sched/repartition.h"
#include "test_sched.h"

enum { MIB = 1 << 20, COMMS = 12, LARGE = MIB * 3 / 4, SMALL = MIB / 8 };

int main(void)
{
	static const struct sched_point points[] = {{MIB, 1000}, {2 * MIB, 2000}, {8 * MIB, 8000}};
	static const struct sched_family family = {0, SCHED_ALLGATHER, true, points, 3};
	struct sched_node node[COMMS];
	struct sched_transfer transfer[COMMS];
	uint32_t comm[COMMS], member[COMMS], first[COMMS + 1], bucket[COMMS], bucket_n = 0, any, changed = 0;
	int64_t weight[COMMS + 1] = {0}, bytes[COMMS] = {0};
	for (uint32_t x = 0; x < COMMS; x++) {
		node[x] = (struct sched_node){.kind = SCHED_COMM, .transfer = x, .time = 1000};
		transfer[x] = (struct sched_transfer){.in = x % 3 ? SMALL : LARGE};
		comm[x] = member[x] = first[x] = x;
		bucket[x] = SCHED_NONE;
	}
	first[COMMS] = COMMS;
	struct sched_problem p = {.n = COMMS,
	                          .lane_n = 1,
	                          .family_n = 1,
	                          .node = node,
	                          .transfer = transfer,
	                          .transfer_n = COMMS,
	                          .family = &family,
	                          .launch = 10,
	                          .bytes_per_ns = 1};
	struct sched_row row = {COMMS, comm, first, member, weight};
	for (uint64_t seed = 0; seed < 64 && !changed; seed++) {
		struct sched_random r = sched_random_from(seed);
		if (sched_repartition(&p, &row, &r, bucket, &bucket_n, &any))
			changed = 1;
	}
	CHECK(changed && bucket_n > 0 && any < COMMS);
	for (uint32_t x = 0; x < COMMS; x++)
		if (bucket[x] != SCHED_NONE) {
			CHECK(bucket[x] < bucket_n);
			bytes[bucket[x]] += transfer[x].in;
		}
	for (uint32_t k = 0; k < bucket_n; k++)
		CHECK(bytes[k] > SMALL && bytes[k] < 3 * MIB);
	CHECK(bytes[0] >= MIB - SMALL);
	return check_result();
}
