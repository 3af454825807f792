/* bench_collective_rank: what a rank does: for each kind and size first timing, then one that is checked.
 *
 * A time is that of n collectives one after the other, divided by n, after a common start; five times, the
 * median. Teams work at the same time. */
#include "cli/bench_collective.h"
#include "cli/output.h"
#include "rt/bell.h"
#include "rt/device.h"
#include <stdlib.h>
#include <string.h>

enum {
	BATCHES = 5,
	MIN_TIMES = 3,
	MAX_TIMES = 10000,
	LOOK_US = 20000, /* how often a waiting rank looks whether the job has failed */
};
#define BATCH_NS 4e6 /* of a batch whose length is chosen here */

struct member {
	struct rt_job *job;
	const struct bench_collectives *c;
	struct rt_transport *t;
	struct rt_device *device;
	struct bench_data data;
	int team, members, index; /* the transport's team; index -1: of none */
	const int *rank;          /* of the team */
	bool one_clock;
	char *in, *out;                                         /* room for the largest size */
	int64_t *counts, *offsets, *send_counts, *send_offsets; /* all_to_allv; by member */
	uint64_t rounds;                                        /* of the ring */
	double bus;                                             /* sum over figures */
	int64_t figures, wrong;
};

/* One size of one kind on one rank. */
struct shape {
	enum rt_collective_kind kind;
	int64_t block; /* elements of a member's block */
	int64_t count; /* of the larger buffer */
	bool in_place;
};

/* ---- shapes */

/* Elements that member i gives to member k: of an all_to_allv blocks of two sizes. */
static int64_t given(const struct shape *s, int i, int k)
{
	if (s->kind != RT_ALL_TO_ALLV)
		return s->block;
	return (i + k) % 2 ? s->block + s->block / 2 : s->block - s->block / 2;
}

static int64_t given_before(const struct shape *s, int i, int k)
{
	int64_t sum = 0;
	for (int j = 0; j < k; j++)
		sum += given(s, i, j);
	return sum;
}

static struct shape shape(const struct member *x, enum rt_collective_kind kind, int64_t bytes)
{
	struct shape s = {.kind = kind};
	if (kind == RT_BARRIER)
		return s;
	int64_t elements = bytes / (int64_t)x->data.size,
	        parts = rt_collective_has_blocks(kind) ? x->members : 1;
	s.block = elements / parts > 0 ? elements / parts : 1;
	s.count = s.block * parts;
	return s;
}

/* Bytes of a buffer of `count` elements: an all_to_allv may need half as much again. */
static size_t room(const struct member *x, int64_t count)
{
	return ((size_t)(count + x->members) * x->data.size * 2 + 63) & ~(size_t)63;
}

static char *own_block(const struct member *x, const struct shape *s, char *whole)
{
	return whole + (size_t)(x->index * s->block) * x->data.size;
}

static struct rt_collective collective(struct member *x, const struct shape *s)
{
	struct rt_collective c = {.kind = s->kind,
	                          .dtype = x->c->dtype,
	                          .op = x->c->op,
	                          .team = x->team,
	                          .root = rt_collective_is_rooted(s->kind) ? (int)x->c->root : 0,
	                          .in = x->in,
	                          .out = x->out,
	                          .count = s->block};
	if (s->kind == RT_BARRIER)
		c.in = c.out = NULL;
	else if (s->in_place && s->kind == RT_ALLGATHER)
		c.in = own_block(x, s, x->out);
	else if (s->in_place && s->kind == RT_REDUCE_SCATTER)
		c.out = own_block(x, s, x->in);
	else if (s->in_place)
		c.in = x->out;
	if (s->kind == RT_ALL_TO_ALLV) {
		int64_t offset = 0;
		for (int k = 0; k < x->members; k++) {
			x->send_counts[k] = given(s, x->index, k);
			x->send_offsets[k] = given_before(s, x->index, k);
			x->counts[k] = given(s, k, x->index);
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

/* Puts this rank's input where the collective reads it. */
static void fill(const struct member *x, const struct shape *s, const struct rt_collective *c)
{
	int64_t n = s->block;
	if (s->kind == RT_REDUCE_SCATTER || s->kind == RT_SCATTER || rt_collective_exchanges(s->kind))
		n = given_before(s, x->index, x->members);
	memset(x->out, 0xff, room(x, s->count));
	bench_data_fill(&x->data, x->index, 0, n, (char *)c->in);
}

/* What this rank's result has wrong. */
static int64_t wrong(const struct member *x, const struct shape *s, const struct rt_collective *c)
{
	const struct bench_data *d = &x->data;
	int root = (int)x->c->root, me = x->index;
	int64_t n = s->block, bad = 0;
	switch (s->kind) {
	case RT_REDUCE:
		return me == root ? bench_data_wrong(d, BENCH_REDUCED, 0, n, c->out) : 0;
	case RT_ALLREDUCE:
		return bench_data_wrong(d, BENCH_REDUCED, 0, n, c->out);
	case RT_REDUCE_SCATTER:
		return bench_data_wrong(d, BENCH_REDUCED, me * n, n, c->out);
	case RT_BROADCAST:
		return bench_data_wrong(d, root, 0, n, c->out);
	case RT_SCATTER:
		return bench_data_wrong(d, root, me * n, n, c->out);
	case RT_BARRIER:
		return 0;
	case RT_SEND_RECV:
		return bench_data_wrong(d, (me + x->members - 1) % x->members, 0, n, c->out);
	default: /* a block of each member */
		if (s->kind == RT_GATHER && me != root)
			return 0;
		const char *at = c->out;
		for (int k = 0; k < x->members; k++) {
			bool exchanged = rt_collective_exchanges(s->kind);
			int64_t first = exchanged ? given_before(s, k, me) : 0,
			        count = exchanged ? given(s, k, me) : n;
			bad += bench_data_wrong(d, k, first, count, at);
			at += (size_t)count * d->size;
		}
		return bad;
	}
}

/* ---- running */

/* A message to the right and one from the left. */
static enum status run_ring(struct member *x, const struct shape *s)
{
	struct rt_watch watch = {0};
	struct rt_request *r[2] = {NULL, NULL};
	enum status status = STATUS_OK;
	for (int k = 0; k < 2 && status == STATUS_OK; k++) {
		int other = x->rank[(x->index + (k ? x->members - 1 : 1)) % x->members];
		const struct rt_p2p p = {.send = !k,
		                         .peer = other,
		                         .channel = (uint32_t)x->team,
		                         .sequence = x->rounds,
		                         .dtype = x->c->dtype,
		                         .count = s->block,
		                         .data = k ? x->out : x->in};
		status = rt_transport_start_p2p(x->t, &p, &r[k]);
	}
	x->rounds++;
	while (status == STATUS_OK && (r[0] || r[1])) {
		uint32_t seen = x->t->ops->read(x->t);
		bool moved = false, done = false;
		status = x->t->ops->progress(x->t, &moved);
		for (int k = 0; k < 2 && status == STATUS_OK; k++) {
			if (!r[k])
				continue;
			status = x->t->ops->test(x->t, r[k], &done);
			r[k] = done ? NULL : r[k];
			moved |= done;
		}
		if (status != STATUS_OK || moved)
			continue;
		status = rt_job_status(x->job);
		if (status == STATUS_OK && rt_watch_expired(&watch, x->job))
			status = rt_job_stuck(x->job, "a message does not end");
		x->t->ops->wait(x->t, seen, LOOK_US);
	}
	return status;
}

static enum status repeat(struct member *x, const struct shape *s, const struct rt_collective *c,
                          int64_t times)
{
	enum status status = STATUS_OK;
	for (int64_t k = 0; k < times && status == STATUS_OK && x->index >= 0; k++)
		status = s->kind == RT_SEND_RECV ? run_ring(x, s) : rt_transport_run(x->t, c);
	return status;
}

/* One number of the job from one of each rank in a team, as --average says. */
static double combine(const struct member *x, const double *all)
{
	double sum = 0, least = -1, most = 0;
	int n = 0;
	if (!strcmp(x->c->average, "rank0") && all[0] >= 0)
		return all[0];
	for (int k = 0; k < x->job->size; k++) {
		if (all[k] < 0) /* of no team */
			continue;
		n++;
		sum += all[k];
		least = least < 0 || all[k] < least ? all[k] : least;
		most = all[k] > most ? all[k] : most;
	}
	return !strcmp(x->c->average, "min") ? least : !strcmp(x->c->average, "max") ? most : n ? sum / n : 0;
}

/* Collective: nanoseconds of one of `times` collectives. */
static enum status time_batch(struct member *x, const struct shape *s, const struct rt_collective *c,
                              int64_t times, double *out)
{
	double mine, *all = mem_zalloc(sizeof *all * (size_t)x->job->size);
	enum status status = bench_start(x->job, x->one_clock);
	int64_t start = bench_now_ns();
	if (status == STATUS_OK)
		status = repeat(x, s, c, times);
	mine = x->index < 0 ? -1 : (double)(bench_now_ns() - start) / (double)times;
	if (status == STATUS_OK)
		status = rt_job_allgather(x->job, "a time", &mine, sizeof mine, all);
	if (status == STATUS_OK)
		*out = combine(x, all);
	free(all);
	return status;
}

static enum status time_shape(struct member *x, const struct shape *s, double *us)
{
	const struct bench *b = x->c->b;
	struct rt_collective c = collective(x, s);
	double once = 0, batch[BATCHES];
	memset(x->in, 0, room(x, s->count)); /* zeros stay zeros, however often they are reduced */
	memset(x->out, 0, room(x, s->count));
	enum status status = repeat(x, s, &c, b->warmup);
	if (status == STATUS_OK)
		status = time_batch(x, s, &c, 1, &once);
	double fit = BATCH_NS / (once > 1 ? once : 1);
	int64_t times = b->samples        ? b->samples
	                : fit < MIN_TIMES ? MIN_TIMES
	                : fit > MAX_TIMES ? MAX_TIMES
	                                  : (int64_t)fit;
	for (int k = 0; k < BATCHES && status == STATUS_OK; k++)
		status = time_batch(x, s, &c, times, &batch[k]);
	if (status == STATUS_OK)
		*us = bench_statistics(batch, BATCHES).median / 1e3;
	return status;
}

/* Collective: elements that are wrong on all ranks. */
static enum status check_shape(struct member *x, const struct shape *s, int64_t *out)
{
	struct rt_collective c = collective(x, s);
	int64_t mine = 0, *all = mem_zalloc(sizeof *all * (size_t)x->job->size);
	if (x->index >= 0 && s->count)
		fill(x, s, &c);
	enum status status = repeat(x, s, &c, 1);
	if (x->c->plant >= 0 && x->job->rank == 0 && s->count)
		((char *)c.out)[x->c->plant % (s->block * (int64_t)x->data.size)] ^= 1;
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

static enum status measure(struct member *x, struct shape *s, bool in_place, struct bench_line *line,
                           struct bench_figure *out)
{
	*out = (struct bench_figure){.wrong = -1};
	s->in_place = in_place;
	if (in_place && !bench_collective_in_place(s->kind))
		return STATUS_OK;
	enum status status = time_shape(x, s, &out->us);
	if (status == STATUS_OK && x->c->b->check)
		status = check_shape(x, s, &out->wrong);
	out->there = true;
	x->bus += bench_line_bus(line, out);
	x->figures++;
	x->wrong += out->wrong > 0 ? out->wrong : 0;
	return status;
}

/* ---- the sweep */

static enum status print(struct member *x, struct buf *text)
{
	bool ok = x->job->rank != 0 || output_write(text);
	text->n = 0;
	return ok ? STATUS_OK : rt_job_fail(x->job, STATUS_DIAGNOSTICS);
}

static enum status sweep(struct member *x, enum rt_collective_kind kind, struct buf *text)
{
	const struct bench_collectives *c = x->c;
	enum status status = STATUS_OK;
	int64_t before = -1;
	bench_collective_title(c, kind, text);
	for (int64_t bytes = c->least; bytes <= c->most && status == STATUS_OK;
	     bytes = c->step ? bytes + c->step : bytes * c->factor) {
		struct shape s = shape(x, kind, bytes);
		struct bench_line line = {.kind = kind,
		                          .members = x->members,
		                          .size = s.count * (int64_t)x->data.size,
		                          .count = s.count,
		                          .first = x->figures == 0};
		if (s.count == before) /* smaller than an element for each */
			continue;
		before = s.count;
		status = measure(x, &s, false, &line, &line.out_of_place);
		if (status == STATUS_OK)
			status = measure(x, &s, true, &line, &line.in_place);
		bench_collective_line(c, &line, text);
		if (status == STATUS_OK)
			status = print(x, text);
	}
	return status;
}

static enum status sweep_all(struct member *x)
{
	struct buf text = {0};
	enum status status = STATUS_OK;
	bench_collective_header(x->c, x->job->size, &text);
	for (unsigned k = 0; k < x->c->kinds && status == STATUS_OK; k++)
		status = sweep(x, x->c->kind[k], &text);
	bench_collective_footer(x->c, x->wrong, x->figures ? x->bus / (double)x->figures : 0, &text);
	if (status == STATUS_OK)
		status = print(x, &text);
	buf_free(&text);
	return status == STATUS_OK && x->wrong ? STATUS_WRONG : status;
}

/* ---- opening */

static enum status open_teams(struct member *x)
{
	const struct bench_collectives *c = x->c;
	enum status status = STATUS_OK;
	int *everyone = mem_zalloc(sizeof *everyone * (size_t)x->job->size);
	for (int k = 0; k < x->job->size; k++)
		everyone[k] = k;
	x->index = -1;
	for (uint32_t i = 0; i < (c->team.n ? c->team.n : 1) && status == STATUS_OK; i++) {
		const int *rank = c->team.n ? c->team.at[i].rank.at : everyone;
		int n = c->team.n ? (int)c->team.at[i].rank.n : x->job->size, id = 0;
		status = rt_transport_team(x->t, rank, n, &id);
		x->members = n; /* the same of all teams */
		for (int k = 0; k < n && status == STATUS_OK; k++)
			if (rank[k] == x->job->rank) {
				x->index = k;
				x->team = id;
				x->rank = x->t->team[id].rank;
			}
	}
	free(everyone);
	return status;
}

static enum status open_member(struct member *x)
{
	const struct bench_collectives *c = x->c;
	enum status status = bench_same_host(x->job, &x->one_clock);
	if (status == STATUS_OK)
		status = rt_device_open(x->job, "cpu", &x->device);
	if (status == STATUS_OK)
		status = rt_transport_open(x->job, c->b->ranks.transport, &x->t);
	if (status == STATUS_OK)
		status = open_teams(x);
	if (status != STATUS_OK)
		return status;
	if (c->root >= x->members) {
		if (x->job->rank != 0)
			return rt_job_barrier(x->job, "the check of options");
		rt_job_error(x->job, "--root=%lld is no index in a team of %d", (long long)c->root,
		             x->members);
		return rt_job_fail(x->job, STATUS_USAGE);
	}
	bench_data_make(c->dtype, c->op, x->members, &x->data);
	int64_t **lists[] = {&x->counts, &x->offsets, &x->send_counts, &x->send_offsets};
	for (unsigned k = 0; k < 4; k++)
		*lists[k] = mem_zalloc(sizeof **lists[k] * (size_t)x->members);
	size_t bytes = room(x, c->most / (int64_t)x->data.size);
	void *at = NULL;
	status = rt_transport_alloc(x->t, x->device, bytes * 2, "buffers", &at);
	x->in = at;
	x->out = status == STATUS_OK ? x->in + bytes : NULL;
	return status;
}

int bench_collective_rank(struct rt_job *job, void *collectives)
{
	struct member x = {.job = job, .c = collectives};
	enum status status = bench_agree(job, x.c->b);
	if (status != STATUS_OK)
		return status;
	status = open_member(&x);
	if (status == STATUS_OK)
		status = sweep_all(&x);
	else
		rt_job_fail(job, status);
	if (status == STATUS_OK || status == STATUS_WRONG) {
		enum status last = rt_job_barrier(job, "the end");
		status = last == STATUS_OK ? status : last;
	}
	if (x.in)
		rt_transport_free(x.t, x.device, x.in);
	rt_transport_close(x.t);
	rt_device_close(x.device);
	bench_data_free(&x.data);
	free(x.counts);
	free(x.offsets);
	free(x.send_counts);
	free(x.send_offsets);
	return status;
}
