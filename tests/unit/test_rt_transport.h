/* test_rt_transport: compares collectives with their expected results, on any job; run by test_rt_transport.c
 * (threads, processes) and test_rt_mpi.c. */
#ifndef HIRC_TESTS_TEST_RT_TRANSPORT_H
#define HIRC_TESTS_TEST_RT_TRANSPORT_H
#include "rt/device.h"
#include "rt/transport.h"
#include "test_rt.h"
#include "test_rt_mixed.h"

/* Returns element i of rank r's data: small integers, exact in every type used here. */
static double element_of(int r, int64_t i)
{
	return (double)((r * 3 + i) % 5);
}

/* The origin of buffers: the rank's memory, which peers can read, malloc, or a mixture. */
enum room_use { USE_NONE, USE_ALL, USE_OF_EVEN_RANKS, USE_OF_EVERY_OTHER, ROOM_USES };
enum { ROOM_BYTES = 8 << 20 };

static _Thread_local struct room {
	enum room_use use;
	char *at;
	size_t used;
	int rank, buffers, made;
} room;

static char *buffer_new(size_t bytes)
{
	room.made++;
	bool here = room.use == USE_ALL || (room.use == USE_OF_EVEN_RANKS && room.rank % 2 == 0) ||
	            (room.use == USE_OF_EVERY_OTHER && room.made % 2 == 0);
	if (!here)
		return calloc(1, bytes);
	if (room.used + bytes > ROOM_BYTES)
		abort();
	char *p = room.at + room.used;
	memset(p, 0, bytes);
	room.used += (bytes + 63) / 64 * 64;
	room.buffers++;
	return p;
}

/* Frees memory for immediate reuse: a peer that still reads it gets wrong numbers. */
static void buffer_free(char *p)
{
	if (!p || p < room.at || p >= room.at + ROOM_BYTES) {
		free(p);
		return;
	}
	if (--room.buffers == 0)
		room.used = 0;
}

static char *filled(enum dtype t, int rank, int64_t n)
{
	char *p = buffer_new((size_t)n * dtype_bytes(t) + 1);
	for (int64_t i = 0; i < n; i++)
		rt_store_f64(t, p + (size_t)i * dtype_bytes(t), element_of(rank, i));
	return p;
}

static double load(enum dtype t, const char *p, int64_t i)
{
	return rt_load_f64(t, p + (size_t)i * dtype_bytes(t));
}

struct suite {
	struct rt_transport *t;
	int team;
	const int *ranks;
	int n, index;
	int wrong;
};

#define WANT(s, got, want)                                                                                   \
	do {                                                                                                 \
		double got_ = (got), want_ = (want);                                                         \
		if (got_ != want_ && (s)->wrong++ < 3)                                                       \
			printf("%s:%d: rank %d: %s: got %g, want %g\n", __FILE__, __LINE__,                  \
			       (s)->t->job->rank, #got, got_, want_);                                        \
	} while (0)

static void go(struct suite *s, const struct rt_collective *c)
{
	if (rt_transport_run(s->t, c) != STATUS_OK)
		s->wrong++;
}

/* Returns a sum over all members but one. */
static double reduced_without(const struct suite *s, int index, int64_t i)
{
	double sum = 0;
	for (int k = 0; k < s->n; k++)
		sum += k == index ? 0 : element_of(s->ranks[k], i);
	return sum;
}

static double reduced(const struct suite *s, enum reduce_op op, int64_t i)
{
	double acc = element_of(s->ranks[0], i);
	for (int k = 1; k < s->n; k++) {
		double x = element_of(s->ranks[k], i);
		acc = op == REDUCE_PROD  ? acc * x
		      : op == REDUCE_MIN ? (x < acc ? x : acc)
		      : op == REDUCE_MAX ? (x > acc ? x : acc)
		                         : acc + x;
	}
	return op == REDUCE_AVG ? acc / s->n : acc;
}

/* Returns the value in type t, rounded or truncated. */
static double in_type(enum dtype t, double x)
{
	uint64_t raw = 0;
	rt_store_f64(t, &raw, x);
	return rt_load_f64(t, &raw);
}

static void allgather(struct suite *s, enum dtype t, int64_t base, bool uneven, bool in_place, bool offsets)
{
	int64_t counts[8], at[8], total = 0;
	size_t size = dtype_bytes(t);
	for (int k = 0; k < s->n; k++) {
		counts[k] = uneven ? base * k / 2 : base;
		total += counts[k];
	}
	for (int k = s->n - 1, next = 0; k >= 0; k--) { /* in reverse order in memory */
		at[k] = next;
		next += (int)counts[k];
	}
	char *mine = filled(t, s->ranks[s->index], counts[s->index]),
	     *out = buffer_new((size_t)total * size + 1);
	struct rt_collective c = {.kind = COLLECTIVE_ALLGATHER,
	                          .dtype = t,
	                          .team = s->team,
	                          .in = mine,
	                          .out = out,
	                          .count = base,
	                          .counts = uneven || offsets ? counts : NULL,
	                          .offsets = offsets ? at : NULL};
	if (in_place) {
		char *place = out + (size_t)rt_collective_block(&c, s->index).offset * size;
		memcpy(place, mine, (size_t)counts[s->index] * size);
		c.in = place;
	}
	go(s, &c);
	for (int k = 0; k < s->n; k++)
		for (int64_t i = 0; i < counts[k]; i++)
			WANT(s, load(t, out, rt_collective_block(&c, k).offset + i),
			     element_of(s->ranks[k], i));
	buffer_free(mine);
	buffer_free(out);
}

static void allreduce(struct suite *s, enum dtype t, enum reduce_op op, int64_t n, bool in_place)
{
	char *in = filled(t, s->ranks[s->index], n),
	     *out = in_place ? in : buffer_new((size_t)n * dtype_bytes(t) + 1);
	go(s, &(struct rt_collective){.kind = COLLECTIVE_ALLREDUCE,
	                              .dtype = t,
	                              .op = op,
	                              .team = s->team,
	                              .in = in,
	                              .out = out,
	                              .count = n});
	for (int64_t i = 0; i < n; i++)
		WANT(s, load(t, out, i), in_type(t, reduced(s, op, i)));
	if (!in_place)
		buffer_free(out);
	buffer_free(in);
}

static void reduce_scatter(struct suite *s, enum dtype t, enum reduce_op op, int64_t base, bool uneven,
                           bool in_place)
{
	int64_t counts[8], total = 0;
	size_t size = dtype_bytes(t);
	for (int k = 0; k < s->n; k++) {
		counts[k] = uneven ? base * (s->n - k) / 2 : base;
		total += counts[k];
	}
	char *in = filled(t, s->ranks[s->index], total),
	     *own = buffer_new((size_t)counts[s->index] * size + 1);
	struct rt_collective c = {.kind = COLLECTIVE_REDUCE_SCATTER,
	                          .dtype = t,
	                          .op = op,
	                          .team = s->team,
	                          .in = in,
	                          .out = own,
	                          .count = base,
	                          .counts = uneven ? counts : NULL};
	struct rt_block b = rt_collective_block(&c, s->index);
	if (in_place)
		c.out = in + (size_t)b.offset * size;
	go(s, &c);
	for (int64_t i = 0; i < b.count; i++)
		WANT(s, load(t, c.out, i), in_type(t, reduced(s, op, b.offset + i)));
	buffer_free(own);
	buffer_free(in);
}

static void from_root(struct suite *s, enum collective kind, enum dtype t, int root, int64_t n, bool in_place)
{
	char *in = filled(t, s->ranks[s->index], n),
	     *out = in_place ? in : buffer_new((size_t)n * dtype_bytes(t) + 1);
	go(s, &(struct rt_collective){
	          .kind = kind, .dtype = t, .team = s->team, .root = root, .in = in, .out = out, .count = n});
	if (kind == COLLECTIVE_BROADCAST || s->index != root || s->n == 1)
		for (int64_t i = 0; i < n; i++)
			WANT(s, load(t, out, i), element_of(s->ranks[root], i));
	if (!in_place)
		buffer_free(out);
	buffer_free(in);
}

static void to_root(struct suite *s, enum dtype t, enum reduce_op op, int root, int64_t n)
{
	bool here = s->index == root;
	char *in = filled(t, s->ranks[s->index], n),
	     *out = here ? buffer_new((size_t)n * dtype_bytes(t) + 1) : NULL;
	go(s, &(struct rt_collective){.kind = COLLECTIVE_REDUCE,
	                              .dtype = t,
	                              .op = op,
	                              .team = s->team,
	                              .root = root,
	                              .in = in,
	                              .out = out,
	                              .count = n});
	for (int64_t i = 0; i < n && here; i++)
		WANT(s, load(t, out, i), in_type(t, reduced(s, op, i)));
	buffer_free(out);
	buffer_free(in);
}

/* The root has no operand. */
static void to_silent_root(struct suite *s, enum dtype t, int root, int64_t n)
{
	bool here = s->index == root;
	char *x = here ? buffer_new((size_t)n * dtype_bytes(t) + 1) : filled(t, s->ranks[s->index], n);
	go(s, &(struct rt_collective){.kind = COLLECTIVE_REDUCE,
	                              .dtype = t,
	                              .op = REDUCE_SUM,
	                              .team = s->team,
	                              .root = root,
	                              .in = here ? NULL : x,
	                              .out = here ? x : NULL,
	                              .count = n});
	for (int64_t i = 0; i < n && here; i++)
		WANT(s, load(t, x, i), in_type(t, reduced_without(s, root, i)));
	buffer_free(x);
}

/* Makes blocks of k * base / 2 elements, block 0 last in memory. */
static int64_t uneven_blocks(const struct suite *s, int64_t base, int64_t *counts, int64_t *at)
{
	int64_t total = 0;
	for (int k = s->n - 1; k >= 0; k--) {
		counts[k] = base * k / 2;
		at[k] = total;
		total += counts[k];
	}
	return total;
}

static void gather(struct suite *s, enum dtype t, int root, int64_t base)
{
	int64_t counts[8], at[8], total = uneven_blocks(s, base, counts, at);
	bool here = s->index == root;
	char *in = filled(t, s->ranks[s->index], counts[s->index]),
	     *out = here ? buffer_new((size_t)total * dtype_bytes(t) + 1) : NULL;
	go(s, &(struct rt_collective){.kind = COLLECTIVE_GATHER,
	                              .dtype = t,
	                              .team = s->team,
	                              .root = root,
	                              .in = in,
	                              .out = out,
	                              .counts = counts,
	                              .offsets = at});
	for (int k = 0; k < s->n && here; k++)
		for (int64_t i = 0; i < counts[k]; i++)
			WANT(s, load(t, out, at[k] + i), element_of(s->ranks[k], i));
	buffer_free(out);
	buffer_free(in);
}

static void scatter(struct suite *s, enum dtype t, int root, int64_t base)
{
	int64_t counts[8], at[8], total = uneven_blocks(s, base, counts, at), own = counts[s->index];
	char *in = s->index == root ? filled(t, s->ranks[root], total) : NULL,
	     *out = buffer_new((size_t)own * dtype_bytes(t) + 1);
	go(s, &(struct rt_collective){.kind = COLLECTIVE_SCATTER,
	                              .dtype = t,
	                              .team = s->team,
	                              .root = root,
	                              .in = in,
	                              .out = out,
	                              .counts = counts,
	                              .offsets = at});
	for (int64_t i = 0; i < own; i++)
		WANT(s, load(t, out, i), element_of(s->ranks[root], at[s->index] + i));
	buffer_free(out);
	buffer_free(in);
}

/* Returns the number of elements that member i sends to member k. */
static int64_t exchanged(bool uneven, int64_t base, int i, int k)
{
	return uneven ? base * ((i + 2 * k) % 3) / 2 : base;
}

static void exchange(struct suite *s, enum dtype t, int64_t base, bool uneven)
{
	int64_t take[8], take_at[8], give[8], give_at[8], in_n = 0, out_n = 0;
	for (int k = s->n - 1; k >= 0; k--) {
		take[k] = exchanged(uneven, base, k, s->index);
		give[k] = exchanged(uneven, base, s->index, k);
		take_at[k] = out_n, give_at[k] = in_n;
		out_n += take[k], in_n += give[k];
	}
	char *in = filled(t, s->ranks[s->index], in_n), *out = buffer_new((size_t)out_n * dtype_bytes(t) + 1);
	go(s, &(struct rt_collective){.kind = uneven ? COLLECTIVE_ALL_TO_ALLV : COLLECTIVE_ALL_TO_ALL,
	                              .dtype = t,
	                              .team = s->team,
	                              .in = in,
	                              .out = out,
	                              .counts = take,
	                              .offsets = take_at,
	                              .send_counts = give,
	                              .send_offsets = give_at});
	for (int k = 0; k < s->n; k++) {
		int64_t from = 0; /* place of this member's block in the data that k sends */
		for (int j = s->n - 1; j > s->index; j--)
			from += exchanged(uneven, base, k, j);
		for (int64_t i = 0; i < take[k]; i++)
			WANT(s, load(t, out, take_at[k] + i), element_of(s->ranks[k], from + i));
	}
	buffer_free(in);
	buffer_free(out);
}

static void team_suite(struct suite *s)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16, DTYPE_F16,
	                                   DTYPE_I64, DTYPE_I32, DTYPE_U8};
	static const int64_t sizes[] = {0, 1, 3, 1000, 122, 5001, 977};
	for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
		enum dtype t = types[z];
		for (int v = 0; v < 8; v++)
			allgather(s, t, sizes[z], v & 1, v & 2, v & 4);
		for (int op = 0; op < REDUCE_COUNT; op++) {
			allreduce(s, types[(z + (size_t)op) % 7], op, sizes[z], op & 1);
			reduce_scatter(s, types[(z + (size_t)op + 3) % 7], op, sizes[z], op & 1, z & 1);
		}
		for (int root = 0; root < s->n; root++) {
			from_root(s, COLLECTIVE_BROADCAST, t, root, sizes[z], root & 1);
			to_root(s, types[(z + (size_t)root) % 7], (root % REDUCE_COUNT), root, sizes[z]);
			if (s->n > 1)
				to_silent_root(s, t, root, sizes[z]);
			gather(s, t, root, sizes[z]);
			scatter(s, t, root, sizes[z]);
		}
		for (int v = 0; v < 4; v++)
			exchange(s, types[(z + (size_t)v) % 7], sizes[z], v & 1);
		if (s->n <= 2)
			for (int root = 0; root < s->n; root++)
				from_root(s, COLLECTIVE_SEND_RECV, t, root, sizes[z], false);
	}
}

/* Tests counters by one collective of each kind, of known size. */
static void count_suite(struct suite *s)
{
	struct rt_counter before[RT_COUNTERS];
	int64_t copies = s->t->copies;
	memcpy(before, s->t->counter, sizeof before);
	allgather(s, DTYPE_F32, 100, false, false, false);
	allreduce(s, DTYPE_F32, REDUCE_SUM, 103, false);
	from_root(s, COLLECTIVE_BROADCAST, DTYPE_F64, 0, 10, false);
	to_root(s, DTYPE_F32, REDUCE_MAX, 0, 10);
	gather(s, DTYPE_F32, 0, 10);
	scatter(s, DTYPE_F32, 0, 10);
	exchange(s, DTYPE_F32, 10, false);
	const struct rt_counter *now = s->t->counter;
	int64_t others = s->n - 1, own = 4 * (103 / s->n + (s->index < 103 % s->n));
	WANT(s, now[COLLECTIVE_ALLGATHER].operations - before[COLLECTIVE_ALLGATHER].operations, s->n > 1);
	WANT(s, now[COLLECTIVE_ALLGATHER].bytes_sent - before[COLLECTIVE_ALLGATHER].bytes_sent, 400 * others);
	WANT(s, now[COLLECTIVE_ALLGATHER].bytes_received - before[COLLECTIVE_ALLGATHER].bytes_received,
	     400 * others);
	WANT(s, now[COLLECTIVE_ALLREDUCE].bytes_sent - before[COLLECTIVE_ALLREDUCE].bytes_sent,
	     412 - own + own * others);
	WANT(s, now[COLLECTIVE_BROADCAST].bytes_sent - before[COLLECTIVE_BROADCAST].bytes_sent,
	     s->index == 0 ? 80 * others : 0);
	WANT(s, now[COLLECTIVE_BROADCAST].bytes_received - before[COLLECTIVE_BROADCAST].bytes_received,
	     s->index == 0 ? 0 : 80);
	WANT(s, s->t->copies - copies, s->n > 1 ? 0 : 7);
	bool root = s->index == 0;
	int64_t block = 40 * s->index / 2, blocks = 40 * s->n * others / 4;
	WANT(s, now[COLLECTIVE_REDUCE].bytes_sent - before[COLLECTIVE_REDUCE].bytes_sent, root ? 0 : 40);
	WANT(s, now[COLLECTIVE_REDUCE].bytes_received - before[COLLECTIVE_REDUCE].bytes_received,
	     root ? 40 * others : 0);
	WANT(s, now[COLLECTIVE_GATHER].bytes_sent - before[COLLECTIVE_GATHER].bytes_sent, root ? 0 : block);
	WANT(s, now[COLLECTIVE_GATHER].bytes_received - before[COLLECTIVE_GATHER].bytes_received,
	     root ? blocks : 0);
	WANT(s, now[COLLECTIVE_SCATTER].bytes_sent - before[COLLECTIVE_SCATTER].bytes_sent,
	     root ? blocks : 0);
	WANT(s, now[COLLECTIVE_SCATTER].bytes_received - before[COLLECTIVE_SCATTER].bytes_received,
	     root ? 0 : block);
	WANT(s, now[COLLECTIVE_ALL_TO_ALL].bytes_sent - before[COLLECTIVE_ALL_TO_ALL].bytes_sent,
	     40 * others);
	WANT(s, now[COLLECTIVE_ALL_TO_ALL].bytes_received - before[COLLECTIVE_ALL_TO_ALL].bytes_received,
	     40 * others);
}

static int finish(struct rt_transport *t, struct rt_request *r)
{
	bool done = !r;
	while (!done && rt_job_status(t->job) == STATUS_OK) {
		bool moved = false;
		uint32_t seen = t->ops->read(t);
		if (t->ops->progress(t, &moved) != STATUS_OK || t->ops->test(t, r, &done) != STATUS_OK)
			return 1;
		if (!done && !moved)
			t->ops->wait(t, seen, 20000);
	}
	return !done;
}

/* All send to the right before they receive; then two messages start in the wrong order. first: sequence of
 * the first one. */
static int message_suite(struct rt_transport *t, int64_t n, uint32_t channel, uint64_t first)
{
	struct rt_job *job = t->job;
	int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size, wrong = 0;
	char *out[2], *in[2];
	for (int k = 0; k < 2; k++) {
		out[k] = filled(DTYPE_F32, job->rank + k, n);
		in[k] = buffer_new((size_t)n * 4 + 1);
	}
	struct rt_request *sent[2], *received[2];
	for (int k = 0; k < 2; k++)
		wrong |= rt_transport_start_p2p(t,
		                                &(struct rt_p2p){.send = true,
		                                                 .peer = right,
		                                                 .channel = channel,
		                                                 .sequence = first + (uint64_t)k,
		                                                 .dtype = DTYPE_F32,
		                                                 .count = n,
		                                                 .data = out[k]},
		                                &sent[k]);
	for (int k = 1; k >= 0; k--)
		wrong |= rt_transport_start_p2p(t,
		                                &(struct rt_p2p){.peer = left,
		                                                 .channel = channel,
		                                                 .sequence = first + (uint64_t)k,
		                                                 .dtype = DTYPE_F32,
		                                                 .count = n,
		                                                 .data = in[k]},
		                                &received[k]);
	for (int k = 0; k < 2 && !wrong; k++)
		wrong |= finish(t, received[k]) | finish(t, sent[k]);
	for (int k = 0; k < 2; k++) {
		for (int64_t i = 0; i < n; i++)
			wrong |= load(DTYPE_F32, in[k], i) != element_of(left + k, i);
		buffer_free(in[k]);
		buffer_free(out[k]);
	}
	return wrong;
}

/* Runs all suites on all teams of interest, with ROOM_BYTES of memory that peers may read. */
static int all_suites(struct rt_transport *t, void *memory)
{
	struct rt_job *job = t->job;
	room = (struct room){.at = memory, .rank = job->rank};
	static const int teams[][9] = {{8, 0, 1, 2, 3, 4, 5, 6, 7},
	                               {8, 0, 4, 1, 5, 2, 6, 3, 7},
	                               {4, 3, 1, 0, 2},
	                               {3, 2, 0, 1},
	                               {2, 1, 0},
	                               {2, 2, 3},
	                               {1, 0}};
	int wrong = 0;
	for (size_t i = 0; i < sizeof teams / sizeof *teams; i++) {
		struct suite s = {.t = t, .ranks = teams[i] + 1, .n = teams[i][0], .index = -1};
		int top = 0;
		for (int k = 0; k < s.n; k++) {
			top = s.ranks[k] > top ? s.ranks[k] : top;
			s.index = s.ranks[k] == job->rank ? k : s.index;
		}
		if (top >= job->size)
			continue;
		if (rt_transport_team(t, s.ranks, s.n, &s.team) != STATUS_OK)
			return rt_job_status(job);
		if (s.index < 0)
			continue;
		room.use = (enum room_use)((i + (size_t)job->size) % ROOM_USES);
		team_suite(&s);
		room.use = USE_NONE;
		count_suite(&s);
		wrong += s.wrong;
	}
	static const int64_t sizes[] = {0, 1, 5000, 300000};
	for (room.use = 0; room.use < ROOM_USES; room.use++)
		for (int i = 0; i < 4; i++)
			wrong += message_suite(t, sizes[i], (uint32_t)room.use, 2 * (uint64_t)i);
	return wrong;
}

/* arg: name of the transport. */
static int transport_main(struct rt_job *job, void *arg)
{
	struct rt_transport *t;
	struct rt_device *device;
	void *at;
	int host[TEST_MOST_RANKS];
	if (test_transport_open(job, arg, host, &t) != STATUS_OK ||
	    rt_device_open(job, "cpu", &device) != STATUS_OK ||
	    rt_transport_alloc(t, device, ROOM_BYTES, "buffers", &at) != STATUS_OK)
		return rt_job_status(job);
	int wrong = all_suites(t, at);
	rt_job_barrier(job, "the end");
	rt_transport_free(t, device, at);
	rt_transport_close(t);
	rt_device_close(device);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* Ranks that disagree: both are named, with their values. */
struct disagreement {
	enum status (*open)(struct rt_job *job, const char *name, struct rt_transport **out);
	const char *transport;
	struct rt_collective other; /* value of rank 1; rank 0 has an Allgather of 4 f32 for each rank */
};

static inline int disagree(struct rt_job *job, void *arg)
{
	const struct disagreement *d = arg;
	struct rt_transport *t;
	int both[2] = {0, 1}, team;
	char in[64] = {0}, out[64];
	if (d->open(job, d->transport, &t) != STATUS_OK || rt_transport_team(t, both, 2, &team) != STATUS_OK)
		return STATUS_INTERNAL;
	struct rt_collective c = {.kind = COLLECTIVE_ALLGATHER, .dtype = DTYPE_F32, .count = 4};
	c.at.label = rt_label_add(job, "c = allgather(X)", "a.hir:7");
	if (job->rank == 1) {
		c = d->other;
		c.at.label = rt_label_add(job, "d = other(X)", "a.hir:9");
	}
	c.team = team;
	c.in = in;
	c.out = out;
	enum status status = rt_transport_run(t, &c);
	while (status == STATUS_OK) /* this rank may be done before the other notices */
		status = rt_job_status(job);
	rt_transport_close(t);
	return status;
}

/* uneven: text about the block that differs, which is that of the rank that notices it. */
static inline void disagreement_suite(enum rt_boot_kind kind,
                                      enum status (*open)(struct rt_job *, const char *,
                                                          struct rt_transport **),
                                      const char *transport, const char *uneven)
{
	static const int64_t counts[] = {3, 5};
	const struct {
		struct rt_collective other;
		const char *message;
	} cases[] = {
	    {{.kind = COLLECTIVE_ALLGATHER, .dtype = DTYPE_F32, .count = 3},
	     "Allgather of 6 f32 in  d = other(X)  (a.hir:9)"},
	    {{.kind = COLLECTIVE_ALLGATHER, .dtype = DTYPE_I32, .count = 4}, "Allgather of 8 i32"},
	    {{.kind = COLLECTIVE_ALLREDUCE, .dtype = DTYPE_F32, .count = 8}, "Allreduce (sum) of 8 f32"},
	    {{.kind = COLLECTIVE_BROADCAST, .dtype = DTYPE_F32, .count = 8, .root = 1},
	     "Broadcast from root 1 of 8 f32"},
	    {{.kind = COLLECTIVE_ALLGATHER, .dtype = DTYPE_F32, .counts = counts}, uneven},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct disagreement d = {open, transport, cases[i].other};
		struct captured c;
		launch_captured(kind, 2, 5000, disagree, &d, &c);
		CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
		CHECK(has(c.text, "ranks disagree: rank "));
		CHECK(has(c.text, "Allgather of 8 f32 in  c = allgather(X)  (a.hir:7)"));
		CHECK(has(c.text, cases[i].message));
		CHECK_EQ(strstr(c.text, "(a block of ") != NULL, cases[i].other.counts != NULL);
	}
}

#endif
