/* Tests of lane_share: the shares of the comms of any bucket are at most its time. */
#include "check.h"
#include "sched/lane_share.h"
#include "test_sched.h"

enum { PROBLEMS = 400, COMMS = 9, MIB = 1 << 20 };

static struct sched_problem make_problem(struct sched_node *node, struct sched_transfer *transfer, uint32_t n,
                                         const struct sched_family *family)
{
	for (uint32_t x = 0; x < n; x++) {
		node[x] = (struct sched_node){.kind = SCHED_COMM, .transfer = x};
		transfer[x].out = transfer[x].in;
	}
	return (struct sched_problem){.n = n,
	                              .lane_n = 1,
	                              .family_n = 1,
	                              .node = node,
	                              .transfer = transfer,
	                              .transfer_n = n,
	                              .family = family,
	                              .launch = 10,
	                              .bytes_per_ns = 1};
}

/* Two comms of 3/4 MiB need two buckets below the step at 1 MiB of the table; the rest of a bucket has no
 * share. */
static void steps_are_known(void)
{
	static const struct sched_point points[] = {{MIB, 1000}, {2 * MIB, 1800}};
	static const struct sched_family family = {0, SCHED_ALLGATHER, true, points, 2};
	struct sched_node node[2];
	struct sched_transfer transfer[] = {{.in = MIB + MIB * 3 / 4}, {.in = MIB + MIB * 3 / 4}};
	struct sched_problem p = make_problem(node, transfer, 2, &family);
	int64_t most = 8 * MIB;
	bool alone[2] = {false};
	double share[2] = {0};
	sched_lane_shares(&p, &most, alone, share);
	CHECK(share[0] > 1000 && share[0] <= 1010 && share[1] == share[0]);
}

static void no_bucket_is_below(uint32_t seed)
{
	struct test_random r = {seed * 7919u + 1};
	struct sched_point points[4];
	struct sched_node node[COMMS];
	struct sched_transfer transfer[COMMS] = {0};
	bool alone[COMMS] = {false};
	double share[COMMS] = {0};
	for (unsigned k = 0; k < 4; k++)
		points[k] = (struct sched_point){(double)((int64_t)MIB << k), 100 + test_draw(&r, 2000)};
	for (unsigned k = seed % 4 ? 1 : 3; k < 4; k++) /* mostly a larger bucket is no faster */
		points[k].time = points[k].time > points[k - 1].time ? points[k].time : points[k - 1].time;
	struct sched_family family = {0, SCHED_ALLGATHER, seed % 2, points, 4};
	int64_t size[3], largest = 0;
	for (unsigned k = 0; k < 3; k++)
		size[k] = 1 + (int64_t)test_draw(&r, seed % 3 ? 3 * MIB : 30) * (seed % 3 ? 1 : MIB / 8);
	for (uint32_t x = 0; x < COMMS; x++) {
		transfer[x].in = size[test_draw(&r, 3)];
		largest += transfer[x].in;
	}
	struct sched_problem p = make_problem(node, transfer, COMMS, &family);
	int64_t most = seed % 5 ? largest : largest / 2;
	sched_lane_shares(&p, &most, alone, share);
	for (uint32_t set = 1; set < 1u << COMMS; set++) {
		int64_t bytes = 0;
		double sum = 0;
		for (uint32_t x = 0; x < COMMS; x++)
			if (set >> x & 1) {
				bytes += transfer[x].in;
				sum += share[x];
			}
		if (bytes <= most)
			CHECK(sum <= (double)(sched_family_time(&family, bytes) + p.launch));
	}
}

int main(void)
{
	steps_are_known();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		no_bucket_is_below(seed);
	return check_result();
}
