/* regroup: see regroup.h. */
#include "sched/regroup.h"
#include "base/vec.h"
#include "sched/simulate.h"
#include <stdlib.h>
#include <string.h>

enum {
	HOPS = 3,   /* most neighbours between two that are joined, plus one */
	BEFORE = 8, /* comms before one that holds the host that are drawn instead of it */
};

struct ranked {
	int64_t rank;
	uint32_t comm;
};

static int by_rank(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return (x->comm > y->comm) - (x->comm < y->comm);
}

/* Lists the members of the comms. at: by node of r->p, its index in the row. */
static void list_members(const struct sched_rebucket *r, const uint32_t *at, const int64_t *rank,
                         struct sched_row *row)
{
	const struct sched_problem *p = r->parts.p;
	const uint32_t *number = r->parts.number;
	VEC(struct ranked) member = {0};
	for (uint32_t x = 0, k = 0; x < p->n; x++) {
		if (p->node[x].kind != SCHED_COMM)
			continue;
		if (at[number[x]] != SCHED_NONE)
			vec_push(&member, (struct ranked){rank[k], x});
		k++;
	}
	if (member.n > 1)
		qsort(member.at, member.n, sizeof *member.at, by_rank);
	for (uint32_t i = 0; i < member.n; i++)
		row->first[at[number[member.at[i].comm]] + 1]++;
	for (uint32_t k = 0; k < row->n; k++)
		row->first[k + 1] += row->first[k];
	for (uint32_t i = member.n; i-- > 0;) /* afterwards first[k + 1] is the first member of k */
		row->member[--row->first[at[number[member.at[i].comm]] + 1]] = member.at[i].comm;
	memmove(row->first, row->first + 1, sizeof *row->first * row->n);
	row->first[row->n] = member.n;
	vec_free(&member);
}

void sched_row(const struct sched_rebucket *r, const uint32_t *order, const int64_t *rank, struct arena *a,
               struct sched_row *out)
{
	const struct sched_problem *q = &r->p;
	struct sched_moment *trace = mem_alloc(sizeof *trace * ((size_t)q->n + 1));
	uint32_t *at = mem_alloc(sizeof *at * ((size_t)q->numbers + 1));
	*out = (struct sched_row){.comm = arena_new_array(a, uint32_t, q->n),
	                          .member = arena_new_array(a, uint32_t, r->parts.p->n)};
	sched_simulate(q, order, trace);
	memset(at, 0xff, sizeof *at * q->numbers);
	for (uint32_t k = 0; k < q->n; k++)
		if (q->node[order[k]].kind == SCHED_COMM &&
		    sched_transfer(q, order[k])->family != SCHED_NONE) {
			at[order[k]] = out->n;
			out->comm[out->n++] = order[k];
		}
	out->first = arena_new_array(a, uint32_t, out->n + 2);
	out->weight = arena_new_array(a, int64_t, out->n + 1);
	for (uint32_t k = 0; k < q->n; k++)
		if (trace[k].stall && at[q->node[order[k]].comm] != SCHED_NONE)
			out->weight[at[q->node[order[k]].comm] + 1] += trace[k].stall;
	for (uint32_t k = 0; k < out->n; k++)
		out->weight[k + 1] += out->weight[k];
	list_members(r, at, rank, out);
	free(trace);
	free(at);
}

/* Draws a comm: one whose wait holds the host, one shortly before it, or any. */
static uint32_t draw_comm(const struct sched_row *row, struct sched_random *r)
{
	int64_t total = row->weight[row->n];
	if (!total || sched_draw(r, 3))
		return sched_draw(r, row->n);
	int64_t at = (int64_t)((double)total * sched_draw(r, 1u << 30) / (1u << 30));
	uint32_t k = 0;
	while (row->weight[k + 1] <= at)
		k++;
	uint32_t back = sched_draw(r, 2) ? sched_draw(r, BEFORE) : 0;
	return k > back ? k - back : 0;
}

/* Draws a neighbour of comm k; returns k if it finds none. */
static uint32_t draw_neighbour(const struct sched_problem *p, const struct sched_row *row,
                               struct sched_random *r, uint32_t k)
{
	uint32_t family = sched_transfer(p, row->member[row->first[k]])->family, found = k;
	bool before = sched_draw(r, 2);
	for (uint32_t hops = sched_draw(r, 2) ? 1 : 1 + sched_draw(r, HOPS), i = k; hops;) {
		if (before ? !i : i + 1 == row->n)
			break;
		i = before ? i - 1 : i + 1;
		if (sched_transfer(p, row->member[row->first[i]])->family != family)
			continue;
		found = i;
		hops--;
	}
	return found;
}

/* Returns the place of the bucket of a comm. */
static uint32_t *bucket_at(const struct sched_problem *p, uint32_t *bucket, uint32_t comm)
{
	return &bucket[p->node[comm].transfer];
}

uint32_t sched_regroup_number(const struct sched_problem *p, const struct sched_row *row, uint32_t *bucket,
                              uint32_t bucket_n)
{
	uint32_t *members = mem_zalloc(sizeof *members * ((size_t)bucket_n + 1)), n = 0;
	uint32_t *number = mem_alloc(sizeof *number * ((size_t)bucket_n + 1));
	for (uint32_t i = 0; i < row->first[row->n]; i++) {
		uint32_t b = *bucket_at(p, bucket, row->member[i]);
		if (b != SCHED_NONE)
			members[b]++;
	}
	for (uint32_t k = 0; k < bucket_n; k++)
		number[k] = members[k] > 1 ? n++ : SCHED_NONE;
	for (uint32_t i = 0; i < row->first[row->n]; i++) {
		uint32_t *b = bucket_at(p, bucket, row->member[i]);
		*b = *b == SCHED_NONE ? SCHED_NONE : number[*b];
	}
	free(members);
	free(number);
	return n;
}

struct span { /* members of a row */
	uint32_t from, end;
};

static void put_into(const struct sched_problem *p, const struct sched_row *row, struct span s, uint32_t into,
                     uint32_t *bucket)
{
	for (uint32_t i = s.from; i < s.end; i++)
		*bucket_at(p, bucket, row->member[i]) = into;
}

/* Draws some members of comm k: those next to comm j, in the order of the schedule. */
static struct span draw_end(const struct sched_row *row, struct sched_random *r, uint32_t k, uint32_t j)
{
	struct span all = {row->first[k], row->first[k + 1]};
	uint32_t n = all.end - all.from;
	uint32_t take = 1 + (sched_draw(r, 2) ? 0 : sched_draw(r, n));
	return j < k ? (struct span){all.from, all.from + take} : (struct span){all.end - take, all.end};
}

bool sched_regroup(const struct sched_problem *p, const struct sched_row *row, struct sched_random *r,
                   uint32_t *bucket, uint32_t *bucket_n)
{
	uint32_t k = draw_comm(row, r), j = draw_neighbour(p, row, r, k), n = *bucket_n,
	         way = sched_draw(r, 8);
	struct span all = {row->first[k], row->first[k + 1]}, other = {row->first[j], row->first[j + 1]};
	uint32_t into = *bucket_at(p, bucket, row->member[other.from]);
	if (way < 6 && j != k) {
		if (into == SCHED_NONE)
			put_into(p, row, other, into = n++, bucket);
		put_into(p, row, way < 3 ? all : draw_end(row, r, k, j), into, bucket);
	} else if (all.end - all.from > 1) { /* cut it in two, or take one member out */
		struct span cut = {all.from + sched_draw(r, all.end - all.from), all.end};
		if (way == 7)
			cut.end = cut.from + 1;
		put_into(p, row, cut, n++, bucket);
	} else {
		return false;
	}
	*bucket_n = sched_regroup_number(p, row, bucket, n);
	return true;
}

void sched_regroup_together(const struct sched_problem *p, const struct sched_row *row, const uint32_t *comm,
                            uint32_t n, bool join, uint32_t *bucket, uint32_t *bucket_n)
{
	uint32_t k = row->n, into = *bucket_n, new_n = into + 1;
	while (join && k-- > 0 &&
	       sched_transfer(p, row->member[row->first[k]])->family != sched_transfer(p, comm[0])->family)
		;
	if (join) {
		uint32_t *b = bucket_at(p, bucket, row->member[row->first[k]]);
		*b = *b == SCHED_NONE ? into : *b;
		into = *b;
	}
	for (uint32_t i = 0; i < n; i++)
		*bucket_at(p, bucket, comm[i]) = into;
	*bucket_n = sched_regroup_number(p, row, bucket, new_n);
}
