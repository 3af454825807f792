/* Tests of sched_gather: no other way to cut the row of small comms into buckets makes the host earlier, with
 * and without large comms between them. If memory is small, no bucket exceeds it. sched_gather_delay finds the
 * delay that sched_gather found, and options that do not admit them are noticed. Buckets of very many comms have the
 * delay and the memory of their members. */
#include "check.h"
#include "sched/gather.h"
#include "test_sched.h"

enum { PROBLEMS = 400, COMMS = 9, MANY = 400, LARGE = 8 << 20, SMALL = 1 << 20 };

struct row {
	struct sched_problem p;
	struct sched_node node[MANY];
	struct sched_transfer transfer[MANY];
	struct sched_source source[MANY];
	struct sched_family family;
	struct sched_gather_options o;
};

struct lane {
	int64_t free, late;
};

static void use(const struct row *r, struct lane *l, int64_t time, int64_t needed)
{
	l->free += (int64_t)((double)(time + r->p.launch) * r->o.inflate);
	l->late = l->free - needed > l->late ? l->free - needed : l->late;
}

/* Adds the large comms from k up to the next small one. */
static uint32_t use_large(const struct row *r, struct lane *l, uint32_t k)
{
	for (; k < r->p.n && r->transfer[k].in > r->o.threshold; k++)
		use(r, l, r->node[k].time, r->source[k].needed);
	return k;
}

/* Returns how late the host is if a bucket ends after small comm i for each bit i of cuts. */
static int64_t late(const struct row *r, const uint64_t *cuts)
{
	struct lane l = {0, 0};
	unsigned i = 0;
	for (uint32_t k = use_large(r, &l, 0); k < r->p.n;) {
		uint32_t first = k, end = k, members = 0;
		int64_t in = 0, out = 0;
		bool cut = false;
		while (k < r->p.n && !cut) {
			in += r->transfer[k].in;
			out += r->transfer[k].out;
			members++;
			cut = cuts[i / 64] >> i % 64 & 1;
			i++;
			for (k++; k < r->p.n && r->transfer[k].in > r->o.threshold; k++)
				;
			end = k;
		}
		use(r, &l, members == 1 ? r->node[first].time : sched_family_time(&r->family, in),
		    r->source[first].needed);
		if (members > 1)
			l.late += sched_copy_time(&r->p, in) + sched_copy_time(&r->p, out) +
			          2 * (2 - (int64_t)members) * r->p.launch;
		for (k = first; k < end; k++)
			if (r->transfer[k].in > r->o.threshold)
				use(r, &l, r->node[k].time, r->source[k].needed);
	}
	return l.late;
}

static void make(struct row *r, uint32_t n, uint32_t seed)
{
	static const struct sched_point points[] = {{1 << 18, 400}, {1 << 20, 600}, {8 << 20, 3000}};
	struct test_random random = {seed};
	int64_t when = 0;
	*r = (struct row){.family = {0, SCHED_ALLGATHER, false, points, 3},
	                  .o = {SMALL, 1 + 0.5 * test_draw(&random, 4), 0}};
	r->p = (struct sched_problem){.launch = 10,
	                              .bytes_per_ns = 1 << (13 + test_draw(&random, 6)),
	                              .n = n,
	                              .transfer_n = n,
	                              .family_n = 1,
	                              .lane_n = 1,
	                              .node = r->node,
	                              .transfer = r->transfer,
	                              .family = &r->family};
	for (uint32_t k = 0; k < n; k++) {
		int64_t in = test_draw(&random, 5) ? (int64_t)(1 + test_draw(&random, 8)) << 17 : LARGE;
		when += 100 * test_draw(&random, 12);
		r->transfer[k] = (struct sched_transfer){in, 2 * in, 0};
		r->node[k] = (struct sched_node){.transfer = k, .kind = SCHED_COMM};
		r->node[k].time = sched_family_time(&r->family, in);
		r->source[k] = (struct sched_source){k, when, 0};
	}
}

static void no_cuts_are_better(uint32_t seed)
{
	struct row r;
	uint32_t bucket[COMMS], bucket_n = 0, small = 0, before = SCHED_NONE;
	uint64_t cuts = 0;
	make(&r, COMMS, seed);
	memset(bucket, 0xff, sizeof bucket);
	int64_t found = sched_gather(&r.p, r.source, COMMS, &r.o, bucket, &bucket_n);
	CHECK_EQ(sched_gather_delay(&r.p, r.source, COMMS, &r.o, bucket), found);
	for (uint32_t k = 0; k < COMMS; k++) {
		if (r.transfer[k].in > r.o.threshold) {
			CHECK_EQ(bucket[k], SCHED_NONE);
			continue;
		}
		if (small && (bucket[k] == SCHED_NONE || bucket[k] != before))
			cuts |= (uint64_t)1 << (small - 1);
		before = bucket[k];
		small++;
	}
	int64_t got = late(&r, &cuts), least = got;
	for (uint64_t other = 0; small && other < (uint64_t)1 << (small - 1); other++) {
		int64_t t = late(&r, &other);
		least = t < least ? t : least;
	}
	CHECK_EQ(got, least);
}

/* Returns the most members of a bucket, where memory has room for four gathered tensors. */
static uint32_t most_members(double share)
{
	struct row r;
	uint32_t bucket[COMMS], bucket_n = 0, members[COMMS] = {0}, most = 0;
	make(&r, COMMS, 0);
	r.o = (struct sched_gather_options){SMALL, 1, share};
	for (uint32_t k = 0; k < COMMS; k++) {
		r.transfer[k].in = SMALL / 8;
		r.transfer[k].out = SMALL;
		r.node[k].time = sched_family_time(&r.family, r.transfer[k].in);
		r.source[k] = (struct sched_source){k, 0, 4 * SMALL};
	}
	memset(bucket, 0xff, sizeof bucket);
	sched_gather(&r.p, r.source, COMMS, &r.o, bucket, &bucket_n);
	r.o.threshold = SMALL / 8 - 1; /* no comm is small enough */
	CHECK_EQ(sched_gather_delay(&r.p, r.source, COMMS, &r.o, bucket), INT64_MAX);
	for (uint32_t k = 0; k < COMMS; k++)
		if (bucket[k] != SCHED_NONE && ++members[bucket[k]] > most)
			most = members[bucket[k]];
	return most;
}

/* The results are copied out of the gathered buffer, so two of them fill the memory. */
static void buckets_fit(void)
{
	CHECK(most_members(0) > 2);
	CHECK_EQ(most_members(1), 2u);
}

/* One bucket of very many comms: its delay is that of the model, and memory admits it up to its least room. */
static void many_members(uint32_t seed)
{
	struct row r;
	struct test_random random = {seed};
	uint32_t bucket[MANY], small = 0, first = test_draw(&random, 100),
	                       last = first + test_draw(&random, 200);
	uint64_t cuts[MANY / 64 + 1];
	int64_t out = 0, room = INT64_MAX;
	make(&r, MANY, seed);
	memset(bucket, 0xff, sizeof bucket);
	memset(cuts, 0xff, sizeof cuts);
	for (uint32_t k = 0; k < MANY; k++) {
		r.source[k].room = (int64_t)(1000 + test_draw(&random, 1000)) << 20;
		if (r.transfer[k].in > r.o.threshold || small++ < first || small > last + 1)
			continue;
		bucket[k] = 0;
		out += r.transfer[k].out;
		room = r.source[k].room < room ? r.source[k].room : room;
		if (small <= last)
			cuts[(small - 1) / 64] &= ~((uint64_t)1 << (small - 1) % 64);
	}
	CHECK_EQ(sched_gather_delay(&r.p, r.source, MANY, &r.o, bucket), late(&r, cuts));
	r.o.share = 2.0 * (double)out / (double)room + 1e-6;
	CHECK(sched_gather_delay(&r.p, r.source, MANY, &r.o, bucket) < INT64_MAX);
	r.o.share -= 1e-3;
	CHECK_EQ(sched_gather_delay(&r.p, r.source, MANY, &r.o, bucket) == INT64_MAX, last > first);
}

int main(void)
{
	buckets_fit();
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		many_members(seed);
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		no_cuts_are_better(seed);
	return check_result();
}
