/* bench_member: times and checks collectives, see bench_member.h. */
#include "cli/bench_member.h"
#include "exec/exec_device.h"
#include <stdlib.h>
#include <string.h>

enum {
	BATCHES = 5,
	MIN_TIMES = 3,
	MAX_TIMES = 10000,
};
#define BATCH_NS 4e6 /* time of a batch, if its length is not given */

/* ---- shapes */

/* Returns the elements that member i sends to member k; in an all_to_allv, blocks have two sizes. */
static int64_t count_given(const struct bench_shape *s, int i, int k)
{
	if (s->kind != COLLECTIVE_ALL_TO_ALLV)
		return s->block;
	return (i + k) % 2 ? s->block + s->block / 2 : s->block - s->block / 2;
}

static int64_t given_before(const struct bench_shape *s, int i, int k)
{
	int64_t sum = 0;
	for (int j = 0; j < k; j++)
		sum += count_given(s, i, j);
	return sum;
}

struct bench_shape bench_member_shape(const struct bench_member *x, enum collective kind, int64_t bytes)
{
	struct bench_shape s = {.kind = kind};
	if (kind == COLLECTIVE_BARRIER)
		return s;
	int64_t elements = bytes / (int64_t)x->data.size,
	        parts = collective_has_blocks(kind) ? x->members : 1;
	s.block = elements / parts > 0 ? elements / parts : 1;
	s.count = s.block * parts;
	return s;
}

/* Returns the bytes of a buffer of `count` elements; an all_to_allv may need 1.5 times as much. */
static size_t room(const struct bench_member *x, int64_t count)
{
	return ((size_t)(count + x->job->size) * dtype_bytes(x->c->dtype) * 2 + 63) & ~(size_t)63;
}

/* Returns the memory that the host reads and writes in place of a buffer. */
static char *host_of(const struct bench_member *x, const void *at)
{
	return x->host && at ? x->host + ((const char *)at - x->in) : (char *)at;
}

/* Copies the part of both buffers that a collective of this size uses, to the device or from it. */
static enum status send_buffers(struct bench_member *x, const struct bench_shape *s)
{
	size_t bytes = room(x, s->count);
	enum status status = STATUS_OK;
	for (int k = 0; k < 2 && x->host && status == STATUS_OK; k++)
		status = x->device->ops->async->upload(x->device, k ? x->out : x->in,
		                                       host_of(x, k ? x->out : x->in), bytes);
	return status;
}

static enum status fetch_buffers(struct bench_member *x, const struct bench_shape *s)
{
	size_t bytes = room(x, s->count);
	enum status status = STATUS_OK;
	for (int k = 0; k < 2 && x->host && status == STATUS_OK; k++)
		status = x->device->ops->async->download(x->device, host_of(x, k ? x->out : x->in),
		                                         k ? x->out : x->in, bytes);
	return status;
}

static char *own_block(const struct bench_member *x, const struct bench_shape *s, char *whole)
{
	return whole + (size_t)(x->index * s->block) * x->data.size;
}

/* All ranks have their buffers at the same places. */
enum mover bench_member_mover(const struct bench_member *x, const struct bench_shape *s, struct buf *why)
{
	const struct mover_case of = {.kind = s->kind,
	                              .op = x->c->op,
	                              .dtype = x->c->dtype,
	                              .transport = x->t->ops->kind,
	                              .members = x->members,
	                              .bytes = s->block * (int64_t)x->data.size,
	                              .placed = true,
	                              .even = s->kind != COLLECTIVE_ALL_TO_ALLV,
	                              .exact = x->c->b->ranks.gpu.exact_reductions,
	                              .able = x->able};
	return mover_choose(mover_find(x->c->b->ranks.mover), &of, why);
}

static struct rt_collective describe_collective(struct bench_member *x, const struct bench_shape *s)
{
	struct rt_collective c = {.kind = s->kind,
	                          .dtype = x->c->dtype,
	                          .op = x->c->op,
	                          .team = x->team,
	                          .root = collective_is_rooted(s->kind) ? (int)x->c->root : 0,
	                          .in = x->in,
	                          .out = x->out,
	                          .count = s->block};
	struct buf why = {0};
	c.mover = (uint8_t)bench_member_mover(x, s, &why);
	buf_free(&why);
	if (s->kind == COLLECTIVE_BARRIER)
		c.in = c.out = NULL;
	else if (s->in_place && s->kind == COLLECTIVE_ALLGATHER)
		c.in = own_block(x, s, x->out);
	else if (s->in_place && s->kind == COLLECTIVE_REDUCE_SCATTER)
		c.out = own_block(x, s, x->in);
	else if (s->in_place)
		c.in = x->out;
	if (s->kind == COLLECTIVE_ALL_TO_ALLV) {
		int64_t offset = 0;
		for (int k = 0; k < x->members; k++) {
			x->send_counts[k] = count_given(s, x->index, k);
			x->send_offsets[k] = given_before(s, x->index, k);
			x->counts[k] = count_given(s, k, x->index);
			x->offsets[k] = offset;
			offset += x->counts[k];
		}
		c.counts = x->counts;
		c.offsets = x->offsets;
		c.send_counts = x->send_counts;
		c.send_offsets = x->send_offsets;
	}
	return c;
}

/* ---- data */

int64_t bench_member_input(const struct bench_member *x, const struct bench_shape *s)
{
	if (collective_in(s->kind) == PART_EACH)
		return given_before(s, x->index, x->members);
	return s->block;
}

/* Puts this rank's input where the collective reads it. */
static void fill_input(const struct bench_member *x, const struct bench_shape *s,
                       const struct rt_collective *c)
{
	int64_t n = bench_member_input(x, s);
	memset(host_of(x, x->out), 0xff, room(x, s->count));
	bench_data_fill(&x->data, x->index, 0, n, host_of(x, c->in));
}

/* Counts the wrong elements of this rank's result. */
static int64_t wrong(const struct bench_member *x, const struct bench_shape *s, const struct rt_collective *c)
{
	const struct bench_data *d = &x->data;
	int root = (int)x->c->root, me = x->index;
	int64_t n = s->block, bad = 0;
	switch (s->kind) {
	case COLLECTIVE_REDUCE:
		return me == root ? bench_data_wrong(d, BENCH_REDUCED, 0, n, host_of(x, c->out)) : 0;
	case COLLECTIVE_ALLREDUCE:
		return bench_data_wrong(d, BENCH_REDUCED, 0, n, host_of(x, c->out));
	case COLLECTIVE_REDUCE_SCATTER:
		return bench_data_wrong(d, BENCH_REDUCED, me * n, n, host_of(x, c->out));
	case COLLECTIVE_BROADCAST:
		return bench_data_wrong(d, root, 0, n, host_of(x, c->out));
	case COLLECTIVE_SCATTER:
		return bench_data_wrong(d, root, me * n, n, host_of(x, c->out));
	case COLLECTIVE_BARRIER:
		return 0;
	case COLLECTIVE_SEND_RECV:
		return bench_data_wrong(d, (me + x->members - 1) % x->members, 0, n, host_of(x, c->out));
	default: /* one block from each member */
		if (s->kind == COLLECTIVE_GATHER && me != root)
			return 0;
		const char *at = host_of(x, c->out);
		for (int k = 0; k < x->members; k++) {
			bool exchanged = collective_exchanges(s->kind);
			int64_t first = exchanged ? given_before(s, k, me) : 0,
			        count = exchanged ? count_given(s, k, me) : n;
			bad += bench_data_wrong(d, k, first, count, at);
			at += (size_t)count * d->size;
		}
		return bad;
	}
}

/* ---- timing */

/* Combines the numbers of all ranks in teams into one, as --average says. */
static double combine_ranks(const struct bench_member *x, const double *all)
{
	double sum = 0, least = -1, most = 0;
	int n = 0;
	if (!strcmp(x->c->average, "rank0") && all[0] >= 0)
		return all[0];
	for (int k = 0; k < x->job->size; k++) {
		if (all[k] < 0) /* the rank is in no team */
			continue;
		n++;
		sum += all[k];
		least = least < 0 || all[k] < least ? all[k] : least;
		most = all[k] > most ? all[k] : most;
	}
	return !strcmp(x->c->average, "min") ? least : !strcmp(x->c->average, "max") ? most : n ? sum / n : 0;
}

/* Collective. Runs `times` collectives; *out becomes the nanoseconds of one. */
static enum status time_batch(struct bench_member *x, const struct bench_shape *s,
                              const struct rt_collective *c, int64_t times, double *out)
{
	double mine, *all = mem_zalloc(sizeof *all * (size_t)x->job->size);
	enum status status = bench_start(x->job, x->one_clock);
	int64_t start = bench_now_ns();
	if (status == STATUS_OK)
		status = bench_member_run(x, s, c, times);
	mine = x->index < 0 ? -1 : (double)(bench_now_ns() - start) / (double)times;
	if (status == STATUS_OK)
		status = rt_job_allgather(x->job, "a time", &mine, sizeof mine, all);
	if (status == STATUS_OK)
		*out = combine_ranks(x, all);
	free(all);
	return status;
}

enum status bench_member_time(struct bench_member *x, const struct bench_shape *s, double *us)
{
	const struct bench *b = x->c->b;
	struct rt_collective c = describe_collective(x, s);
	double once = 0, batch[BATCHES];
	memset(host_of(x, x->in), 0,
	       room(x, s->count)); /* zeros remain zeros, however often they are reduced */
	memset(host_of(x, x->out), 0, room(x, s->count));
	enum status status = send_buffers(x, s);
	if (status == STATUS_OK)
		status = bench_member_run(x, s, &c, b->warmup);
	if (status == STATUS_OK)
		status = time_batch(x, s, &c, 1, &once);
	double fit = BATCH_NS / (once > 1 ? once : 1);
	int64_t times = b->samples        ? b->samples
	                : fit < MIN_TIMES ? MIN_TIMES
	                : fit > MAX_TIMES ? MAX_TIMES
	                                  : (int64_t)fit;
	for (int k = 0; k < BATCHES && status == STATUS_OK; k++)
		status = time_batch(x, s, &c, times, &batch[k]);
	for (int k = 0; k < BATCHES && x->fresh && !x->engine; k++)
		batch[k] -= bench_member_time_writing(x, s, &c, times);
	if (status == STATUS_OK)
		*us = bench_statistics(batch, BATCHES).median / 1e3;
	return status;
}

enum status bench_member_check(struct bench_member *x, const struct bench_shape *s, int64_t *out)
{
	struct rt_collective c = describe_collective(x, s);
	int64_t mine = 0, *all = mem_zalloc(sizeof *all * (size_t)x->job->size);
	if (x->index >= 0 && s->count)
		fill_input(x, s, &c);
	enum status status = send_buffers(x, s);
	if (status == STATUS_OK)
		status = bench_member_run(x, s, &c, 1);
	if (status == STATUS_OK)
		status = fetch_buffers(x, s);
	if (x->c->plant >= 0 && x->job->rank == 0 && s->count)
		host_of(x, c.out)[x->c->plant % (s->block * (int64_t)x->data.size)] ^= 1;
	if (status == STATUS_OK && x->index >= 0)
		mine = wrong(x, s, &c);
	if (status == STATUS_OK)
		status = rt_job_allgather(x->job, "wrong elements", &mine, sizeof mine, all);
	*out = 0;
	for (int k = 0; k < x->job->size; k++)
		*out += all[k];
	free(all);
	return status;
}

/* ---- opening */

enum status bench_member_open(struct bench_member *x)
{
	const struct bench_collectives *c = x->c;
	size_t ranks = (size_t)x->job->size;
	const struct exec_options options = rank_options_exec(&c->b->ranks, NULL);
	enum status status = bench_same_host(x->job, &x->one_clock);
	if (status == STATUS_OK)
		status = exec_device_open(x->job, &options, false, &x->device, &x->t);
	if (status != STATUS_OK)
		return status;
	int64_t **lists[] = {&x->counts, &x->offsets, &x->send_counts, &x->send_offsets};
	for (unsigned k = 0; k < 4; k++)
		*lists[k] = mem_zalloc(sizeof **lists[k] * ranks);
	x->able = exec_device_movers(x->t, &options);
	size_t bytes = room(x, c->most / (int64_t)dtype_bytes(c->dtype));
	void *at = NULL;
	status = rt_transport_alloc(x->t, x->device, bytes * 2, "buffers", &at);
	x->in = at;
	x->out = status == STATUS_OK ? x->in + bytes : NULL;
	if (status == STATUS_OK && x->device->ops->async) {
		status = x->device->ops->async->staging_new(x->device, bytes * 2, "buffers", &at);
		x->host = status == STATUS_OK ? at : NULL;
	}
	bench_member_leave(x);
	return status;
}

void bench_member_leave(struct bench_member *x)
{
	rt_engine_free(x->engine);
	x->engine = NULL;
	bench_data_free(&x->data);
	x->data = (struct bench_data){0};
	x->index = -1;
	x->rounds = 0; /* each team has a channel of its own */
}

enum status bench_member_team(struct bench_member *x, const int *rank, int n)
{
	int id = 0;
	enum status status = rt_transport_team(x->t, rank, n, &id);
	if (x->members != n || !x->data.table) {
		bench_data_free(&x->data);
		bench_data_make(x->c->dtype, x->c->op, n, &x->data);
	}
	x->members = n; /* the same in all teams */
	for (int k = 0; k < n && status == STATUS_OK; k++)
		if (rank[k] == x->job->rank) {
			x->index = k;
			x->team = id;
			x->rank = x->t->team[id].rank;
		}
	return status;
}

void bench_member_close(struct bench_member *x)
{
	rt_engine_free(x->engine);
	if (x->host)
		x->device->ops->async->staging_free(x->device, x->host);
	if (x->in)
		rt_transport_free(x->t, x->device, x->in);
	rt_transport_close(x->t);
	rt_device_close(x->device);
	bench_data_free(&x->data);
	free(x->counts);
	free(x->offsets);
	free(x->send_counts);
	free(x->send_offsets);
}
