/* repartition: see repartition.h. */
#include "sched/repartition.h"
#include <string.h>

enum {
	MOST_COMMS = 24,
	MOST_MEMBERS = 256,
	MIB = 1 << 20,
};

struct run {
	const struct sched_problem *p;
	uint32_t member[MOST_MEMBERS], n;
	uint32_t family;
	uint32_t comms; /* that have these members now */
	int64_t time;   /* of the lane for them */
	int64_t bytes;
	int64_t most; /* bytes of the largest of them */
};

/* Returns the time of the lane for a bucket of so many bytes. alone: its only member, or SCHED_NONE. */
static int64_t measure_time(const struct sched_problem *p, uint32_t family, int64_t bytes, uint32_t alone)
{
	int64_t time =
	    alone != SCHED_NONE ? p->node[alone].time : sched_family_time(&p->family[family], bytes);
	return time + p->launch;
}

/* Returns the bytes of comm k of the row. time: receives the time of the lane. */
static int64_t measure_comm(const struct sched_problem *p, const struct sched_row *row, uint32_t k,
                            int64_t *time)
{
	uint32_t from = row->first[k], end = row->first[k + 1];
	int64_t bytes = 0;
	for (uint32_t i = from; i < end; i++)
		bytes += sched_transfer(p, row->member[i])->in;
	*time = measure_time(p, sched_transfer(p, row->member[from])->family, bytes,
	                     end - from == 1 ? row->member[from] : SCHED_NONE);
	return bytes;
}

/* Lists the members of comms of a family from comm k on. */
static void list_run(struct run *r, const struct sched_row *row, uint32_t k, uint32_t comms)
{
	r->family = sched_transfer(r->p, row->member[row->first[k]])->family;
	for (; k < row->n && r->comms < comms; k++) {
		uint32_t from = row->first[k], n = row->first[k + 1] - from;
		if (sched_transfer(r->p, row->member[from])->family != r->family)
			continue;
		if (r->n + n > MOST_MEMBERS)
			break;
		int64_t time, bytes = measure_comm(r->p, row, k, &time);
		memcpy(r->member + r->n, row->member + from, sizeof *r->member * n);
		r->time += time;
		r->bytes += bytes;
		r->most = bytes > r->most ? bytes : r->most;
		r->n += n;
		r->comms++;
	}
}

/* Fills buckets of at most `most` bytes: each begins with the first member that is left, and takes the next
 * ones that fit. into: receives the bucket by member. Returns the time of the lane. */
static int64_t fill_buckets(const struct run *r, int64_t most, uint32_t *into)
{
	uint32_t n = 0, first = 0;
	int64_t time = 0;
	memset(into, 0xff, sizeof *into * r->n);
	for (; first < r->n; n++) {
		int64_t bytes = 0;
		uint32_t members = 0;
		for (uint32_t i = first; i < r->n; i++) {
			int64_t here = sched_transfer(r->p, r->member[i])->in;
			if (into[i] != SCHED_NONE || (members && bytes + here > most))
				continue;
			into[i] = n;
			bytes += here;
			members++;
		}
		time += measure_time(r->p, r->family, bytes, members == 1 ? r->member[first] : SCHED_NONE);
		while (first < r->n && into[first] != SCHED_NONE)
			first++;
	}
	return time;
}

/* Finds the largest size of buckets with which the lane takes the least time: the size of the largest bucket
 * now, or one below a point or step of the table. Returns that time. */
static int64_t find_most(const struct run *r, int64_t *most)
{
	const struct sched_family *f = &r->p->family[r->family];
	uint32_t into[MOST_MEMBERS];
	int64_t least = fill_buckets(r, r->most, into);
	*most = r->most;
	for (unsigned i = 0; i < 2 * f->n; i++) {
		int64_t size = (int64_t)f->point[i / 2].bytes + (i % 2 && f->stepped ? MIB : 0) - 1;
		if (size > r->bytes)
			continue;
		int64_t time = fill_buckets(r, size, into);
		if (time < least) {
			least = time;
			*most = size;
		}
	}
	return least;
}

/* Draws a comm of the lane that works longest. */
static uint32_t draw_busy(const struct sched_problem *p, const struct sched_row *row, struct sched_random *r)
{
	int64_t busy[SCHED_MAX_LANES] = {0};
	uint32_t lane = p->node[row->member[0]].lane, n = 0;
	for (uint32_t k = 0; k < row->n; k++) {
		int64_t time;
		measure_comm(p, row, k, &time);
		busy[p->node[row->member[row->first[k]]].lane] += time;
	}
	for (uint32_t l = 0; l < p->lane_n; l++)
		lane = busy[l] > busy[lane] ? l : lane;
	for (uint32_t k = 0; k < row->n; k++)
		n += p->node[row->member[row->first[k]]].lane == lane;
	n = sched_draw(r, n);
	for (uint32_t k = 0;; k++)
		if (p->node[row->member[row->first[k]]].lane == lane && !n--)
			return k;
}

bool sched_repartition(const struct sched_problem *p, const struct sched_row *row, struct sched_random *r,
                       uint32_t *bucket, uint32_t *bucket_n, uint32_t *member)
{
	struct run run = {.p = p};
	uint32_t into[MOST_MEMBERS];
	int64_t most;
	list_run(&run, row, draw_busy(p, row, r), 2 + sched_draw(r, MOST_COMMS - 1));
	if (run.comms < 2 || find_most(&run, &most) >= run.time)
		return false;
	fill_buckets(&run, most, into);
	for (uint32_t i = 0; i < run.n; i++)
		bucket[p->node[run.member[i]].transfer] = *bucket_n + into[i];
	*bucket_n = sched_regroup_number(p, row, bucket, *bucket_n + run.n);
	*member = run.member[0];
	return true;
}
