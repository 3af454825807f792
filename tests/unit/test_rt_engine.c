/* LABELS: tsan
 * The stream engine: order within and between streams, communications that overlap, and the watchdog. */
#include "rt/queue.h"
#include "test_rt.h"
#include <signal.h>

static const struct rt_origin nowhere = {0, -1};
static const char *engine; /* the engine that is tested */

struct rig {
	struct rt_job *job;
	struct rt_device *device;
	struct rt_transport *transport;
	struct rt_engine *engine;
	struct rt_stream *main;
	int all; /* team of all ranks */
};

static void rig_free(struct rig *g)
{
	rt_engine_free(g->engine);
	rt_transport_close(g->transport);
	rt_device_close(g->device);
}

/* Fails if another rank has failed meanwhile; then there is nothing to close. */
static enum status rig_open(struct rig *g, struct rt_job *job)
{
	int ranks[64];
	*g = (struct rig){.job = job};
	for (int r = 0; r < job->size; r++)
		ranks[r] = r;
	if (rt_device_open(job, "cpu", &g->device) != STATUS_OK ||
	    rt_transport_open(job, TRANSPORT_SHM, &g->transport) != STATUS_OK ||
	    rt_transport_team(g->transport, ranks, job->size, &g->all) != STATUS_OK ||
	    rt_engine_new(job, engine, g->device, g->transport, &g->engine) != STATUS_OK) {
		rig_free(g);
		return rt_job_status(job);
	}
	g->main = rt_stream_new(g->engine, "main");
	return STATUS_OK;
}

static int rig_close(struct rig *g, bool ok)
{
	enum status status = rt_drain(g->engine);
	if (status == STATUS_OK)
		status = rt_job_barrier(g->job, "the end");
	rig_free(g);
	return status != STATUS_OK ? status : ok ? STATUS_OK : STATUS_WRONG;
}

static struct rt_origin origin(struct rig *g, const char *statement, const char *where)
{
	return (struct rt_origin){rt_label_add(g->job, statement, where), -1};
}

static void call(struct rig *g, struct rt_stream *s, enum status (*f)(void *, int64_t), void *arg,
                 int64_t value)
{
	rt_submit_compute(
	    g->engine, s,
	    &(struct rt_task){.kernel = RT_TASK_CALL, .call = f, .call_arg = arg, .call_value = value},
	    nowhere);
}

/* x[0..n) += value, in floats. */
static void add(struct rig *g, struct rt_stream *s, float *x, int64_t n, double value)
{
	struct rt_view v = rt_view_dense(x, DTYPE_F32, 1, &n);
	rt_submit_compute(g->engine, s,
	                  &(struct rt_task){.kernel = RT_TASK_POINTWISE,
	                                    .op = POINTWISE_ADD,
	                                    .out = v,
	                                    .in = {v},
	                                    .scalars = 2,
	                                    .scalar = {{0}, {value, (int64_t)value}}},
	                  nowhere);
}

static struct rt_ticket message(struct rig *g, struct rt_stream *s, bool send, int peer, uint32_t channel,
                                float *data, int64_t n)
{
	return rt_submit_p2p(g->engine, s,
	                     &(struct rt_p2p){.send = send,
	                                      .peer = peer,
	                                      .channel = channel,
	                                      .dtype = DTYPE_F32,
	                                      .count = n,
	                                      .data = data,
	                                      .at = nowhere});
}

/* Order */

struct log {
	int n, at[64];
};

static enum status note(void *arg, int64_t value)
{
	struct log *l = arg;
	l->at[l->n++] = (int)value; /* one lane, so no other thread writes */
	return STATUS_OK;
}

static int order(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	struct log l = {0};
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	struct rt_stream *a = rt_stream_get(g.engine, 0), *b = rt_stream_get(g.engine, 1);
	bool ok = rt_stream_get(g.engine, 0) == a;
	/* b: 1, then a: 2, then main: 3; b's 4 comes anywhere after 1 */
	for (int i = 0; i < 1000; i++)
		call(&g, b, note, &(struct log){0}, 0), rt_drain(g.engine);
	call(&g, b, note, &l, 1);
	rt_submit_sync(g.engine, a, b, nowhere);
	call(&g, b, note, &l, 4);
	call(&g, a, note, &l, 2);
	rt_submit_sync(g.engine, g.main, a, nowhere);
	rt_submit_sync(g.engine, g.main, g.main, nowhere); /* nothing to wait for */
	call(&g, g.main, note, &l, 3);
	ok &= rt_drain(g.engine) == STATUS_OK && l.n == 4 && l.at[0] == 1;
	int place[5] = {0};
	for (int i = 0; i < l.n; i++)
		place[l.at[i]] = i;
	ok &= place[1] < place[2] && place[2] < place[3];
	return rig_close(&g, ok);
}

/* Overlap */

/* Rank 0's stream 0 waits for a message that rank 1 sends only after later work of stream 1. */
static int no_blocking(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	float x = -1, y = 0;
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	struct rt_stream *s[] = {rt_stream_get(g.engine, 0), rt_stream_get(g.engine, 1)};
	if (job->rank == 0) {
		struct rt_ticket t = message(&g, s[0], false, 1, 1, &x, 1);
		rt_submit_wait(g.engine, s[0], t, nowhere);
		add(&g, s[0], &x, 1, 1);
		add(&g, s[1], &y, 1, 5);
		message(&g, s[1], true, 1, 2, &y, 1);
	} else if (job->rank == 1) {
		struct rt_ticket t = message(&g, g.main, false, 0, 2, &y, 1);
		rt_submit_wait(g.engine, g.main, t, nowhere);
		add(&g, g.main, &y, 1, 1);
		message(&g, g.main, true, 0, 1, &y, 1);
	}
	bool ok = rt_drain(g.engine) == STATUS_OK;
	return rig_close(&g, ok && (job->rank != 0 || x == 7));
}

/* Every rank sends before it receives and waits for the send first, in many rounds; messages overtake each
 * other in the order of starts. */
static int ring(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { N = 3000, ROUNDS = 40 };
	struct rig g;
	static _Thread_local float out[ROUNDS][N], in[ROUNDS][N];
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size;
	for (int i = 0; i < ROUNDS; i++) {
		struct rt_stream *s = rt_stream_get(g.engine, i % 4),
		                 *r = rt_stream_get(g.engine, (i + i / 4) % 4);
		memset(out[i], 0, sizeof out[i]);
		add(&g, s, out[i], N, job->rank * 100 + i);
		struct rt_ticket sent = message(&g, s, true, right, 0, out[i], N);
		struct rt_ticket received = message(&g, r, false, left, 0, in[i], N);
		rt_submit_wait(g.engine, s, sent, nowhere);
		rt_submit_wait(g.engine, r, received, nowhere);
		add(&g, r, in[i], N, 1);
	}
	bool ok = rt_drain(g.engine) == STATUS_OK;
	for (int i = 0; i < ROUNDS; i++)
		for (int k = 0; k < N; k++)
			ok &= in[i][k] == (float)(left * 100 + i + 1);
	return rig_close(&g, ok);
}

/* A pipelined loop: compute, allreduce, wait on stream i; main joins. More iterations than ticket slots and
 * window. */
static int loop(struct rt_job *job, void *arg)
{
	enum { STREAMS = 4, N = 64 };
	int rounds = *(int *)arg;
	struct rig g;
	float x[STREAMS][N] = {0}, sum[STREAMS][N], total[N] = {0};
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	int64_t n = N;
	for (int i = 0; i < rounds; i++) {
		int k = i % STREAMS;
		struct rt_stream *s = rt_stream_get(g.engine, k);
		rt_submit_sync(g.engine, s, g.main, nowhere);
		add(&g, s, x[k], N, 1);
		struct rt_ticket t =
		    rt_submit_collective(g.engine, s,
		                         &(struct rt_collective){.kind = COLLECTIVE_ALLREDUCE,
		                                                 .dtype = DTYPE_F32,
		                                                 .op = REDUCE_SUM,
		                                                 .team = g.all,
		                                                 .in = x[k],
		                                                 .out = sum[k],
		                                                 .count = N,
		                                                 .at = nowhere});
		rt_submit_wait(g.engine, s, t, nowhere);
		rt_submit_sync(g.engine, g.main, s, nowhere);
		struct rt_view v = rt_view_dense(total, DTYPE_F32, 1, &n);
		rt_submit_compute(g.engine, g.main,
		                  &(struct rt_task){.kernel = RT_TASK_POINTWISE,
		                                    .op = POINTWISE_ADD,
		                                    .out = v,
		                                    .in = {v, rt_view_dense(sum[k], DTYPE_F32, 1, &n)}},
		                  nowhere);
	}
	bool ok = rt_drain(g.engine) == STATUS_OK;
	double want = 0;
	for (int i = 0; i < rounds; i++)
		want += (i / STREAMS + 1) * job->size;
	for (int i = 0; i < N; i++)
		ok &= total[i] == (float)want;
	return rig_close(&g, ok);
}

/* A group of both sends, both receives and a collective has one ticket; uneven counts are copied. */
static int group(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	int right = (job->rank + 1) % job->size, left = (job->rank + job->size - 1) % job->size;
	float mine = 0, from[2] = {0}, gathered[64];
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	add(&g, g.main, &mine, 1, job->rank + 1);
	rt_group_begin(g.engine);
	message(&g, g.main, true, right, 3, &mine, 1);
	message(&g, g.main, true, left, 4, &mine, 1);
	message(&g, g.main, false, left, 3, &from[0], 1);
	message(&g, g.main, false, right, 4, &from[1], 1);
	int64_t *counts = malloc((size_t)job->size * sizeof *counts);
	for (int r = 0; r < job->size; r++)
		counts[r] = r % 2; /* ranks with an even number give nothing */
	rt_submit_collective(g.engine, g.main,
	                     &(struct rt_collective){.kind = COLLECTIVE_ALLGATHER,
	                                             .dtype = DTYPE_F32,
	                                             .team = g.all,
	                                             .in = &mine,
	                                             .out = gathered,
	                                             .counts = counts,
	                                             .at = nowhere});
	free(counts);
	struct rt_ticket t = rt_group_end(g.engine, g.main, nowhere);
	struct rt_stream *other = rt_stream_get(g.engine, 0);
	rt_submit_wait(g.engine, other, t, nowhere);
	rt_submit_wait(g.engine, other, t, nowhere); /* waiting twice is allowed */
	add(&g, other, from, 2, 10);
	bool ok = rt_drain(g.engine) == STATUS_OK;
	ok &= from[0] == (float)(left + 11) && from[1] == (float)(right + 11);
	for (int r = 1; r < job->size; r += 2)
		ok &= gathered[r / 2] == (float)(r + 1);
	rt_group_begin(g.engine);
	ok &= rt_group_end(g.engine, g.main, nowhere).generation == 0;
	return rig_close(&g, ok);
}

/* All collectives of a group are in flight before another rank has reached them; work after the group is
 * not. */
static int together(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { MEMBERS = 40 }; /* more than a team has slots */
	struct rig g;
	float mine[2] = {(float)job->rank, 1}, gathered[MEMBERS][64], total[3000];
	float *large = calloc(3000, sizeof *large);
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	bool ok = true;
	if (job->rank > 0)
		ok &= rt_job_barrier(job, "the first rank") == STATUS_OK;
	rt_group_begin(g.engine);
	for (int i = 0; i < MEMBERS; i++)
		rt_submit_collective(g.engine, g.main,
		                     &(struct rt_collective){.kind = COLLECTIVE_ALLGATHER,
		                                             .dtype = DTYPE_F32,
		                                             .team = g.all,
		                                             .in = &mine[i % 2],
		                                             .out = gathered[i],
		                                             .count = 1,
		                                             .at = nowhere});
	struct rt_collective sum = {.kind = COLLECTIVE_ALLREDUCE,
	                            .dtype = DTYPE_F32,
	                            .op = REDUCE_SUM,
	                            .team = g.all,
	                            .in = large,
	                            .out = total,
	                            .count = 3000,
	                            .at = nowhere};
	for (int i = 0; i < 3000; i++)
		large[i] = (float)(i + job->rank);
	rt_submit_collective(g.engine, g.main, &sum);
	struct rt_ticket t = rt_group_end(g.engine, g.main, nowhere);
	struct rt_ticket behind = rt_submit_collective(
	    g.engine, g.main,
	    &(struct rt_collective){.kind = COLLECTIVE_BARRIER, .team = g.all, .at = nowhere});
	if (job->rank == 0 && !strcmp(engine, "inline") && job->size > 1) {
		ok &= g.transport->counter[COLLECTIVE_ALLGATHER].operations == MEMBERS;
		ok &= g.transport->counter[COLLECTIVE_ALLREDUCE].operations == 1;
		ok &= g.transport->counter[COLLECTIVE_BARRIER].operations == 0;
	}
	if (job->rank == 0)
		ok &= rt_job_barrier(job, "the first rank") == STATUS_OK;
	rt_submit_wait(g.engine, g.main, t, nowhere);
	rt_submit_wait(g.engine, g.main, behind, nowhere);
	ok &= rt_drain(g.engine) == STATUS_OK;
	for (int i = 0; i < MEMBERS; i++)
		for (int r = 0; r < job->size; r++)
			ok &= gathered[i][r] == (i % 2 ? 1 : (float)r);
	for (int i = 0; i < 3000; i++)
		ok &= total[i] == (float)(i * job->size + job->size * (job->size - 1) / 2);
	free(large);
	return rig_close(&g, ok);
}

static int not_member(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	int one[1] = {1}, team;
	float x = (float)job->rank, y = -1;
	if (rig_open(&g, job) != STATUS_OK || rt_transport_team(g.transport, one, 1, &team) != STATUS_OK)
		return rt_job_status(job);
	struct rt_ticket t = rt_submit_collective(g.engine, g.main,
	                                          &(struct rt_collective){.kind = COLLECTIVE_ALLREDUCE,
	                                                                  .dtype = DTYPE_F32,
	                                                                  .team = team,
	                                                                  .in = &x,
	                                                                  .out = &y,
	                                                                  .count = 1,
	                                                                  .at = nowhere});
	rt_submit_wait(g.engine, g.main, t, nowhere);
	bool ok = rt_drain(g.engine) == STATUS_OK && (t.generation != 0) == (job->rank == 1);
	return rig_close(&g, ok && y == (job->rank == 1 ? 1 : -1));
}

/* A host that is far ahead waits while its peer makes progress, however long that takes. */
enum { AHEAD = 150000, OUTSTANDING = 1 << 16 };

static enum status count(void *arg, int64_t value)
{
	(void)value;
	atomic_fetch_add((_Atomic int *)arg, 1);
	return STATUS_OK;
}

static enum status nap(void *arg, int64_t value)
{
	(void)arg;
	usleep((unsigned)value);
	return STATUS_OK;
}

static int far_ahead(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	float x = 0;
	_Atomic int ran = 0;
	int most = 0;
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	if (job->rank == 0) {
		rt_submit_wait(g.engine, g.main, message(&g, g.main, false, 1, 0, &x, 1), nowhere);
		for (int i = 1; i <= AHEAD; i++) {
			call(&g, g.main, count, &ran, 0);
			if (i - atomic_load(&ran) > most)
				most = i - atomic_load(&ran);
		}
	} else {
		for (int i = 0; i < 40; i++)
			call(&g, g.main, nap, NULL, 10000);
		message(&g, g.main, true, 0, 0, &x, 1);
	}
	bool ok = rt_drain(g.engine) == STATUS_OK && most <= OUTSTANDING;
	return rig_close(&g, ok && (job->rank != 0 || (ran == AHEAD && most > 1000)));
}

/* Failures */

static int stuck(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	float x = 0;
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	if (job->rank == 0) {
		struct rt_stream *s = rt_stream_get(g.engine, 1);
		struct rt_ticket t = rt_submit_p2p(
		    g.engine, s,
		    &(struct rt_p2p){.peer = 1,
		                     .dtype = DTYPE_F32,
		                     .count = 1,
		                     .data = &x,
		                     .at = origin(&g, "recv(b, peer=1)", "two_streams.hir:12")});
		rt_submit_wait(g.engine, s, t, origin(&g, "wait(r)", "two_streams.hir:13"));
		rt_submit_sync(g.engine, g.main, s, origin(&g, "synchronize(1)", "two_streams.hir:14"));
	}
	return rig_close(&g, true);
}

/* A send is done before it is received, but the program is not. */
static int unreceived(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	float x = 0;
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	for (int i = 0; i < 3; i++)
		if (job->rank == 0 || i == 0)
			message(&g, g.main, job->rank == 0, 1 - job->rank, 0, &x, 1);
	return rig_close(&g, rt_drain(g.engine) == STATUS_OK);
}

static void test_stuck(enum rt_boot_kind kind)
{
	struct captured c;
	launch_captured(kind, 2, 600, unreceived, NULL, &c);
	CHECK_EQ(c.status, STATUS_STUCK);
	CHECK(has(c.text, "rank 0: waiting for rank 1 to receive 2 messages\n"));
	launch_captured(kind, 2, 600, stuck, NULL, &c);
	CHECK_EQ(c.status, STATUS_STUCK);
	CHECK(has(c.text, "rank 0 main: waiting in  synchronize(1)  (two_streams.hir:14)\n"));
	CHECK(
	    has(c.text, "rank 0 message: waiting in  recv(b, peer=1)  (two_streams.hir:12)  for  rank 1\n"));
	CHECK(has(c.text, "rank 0 stream 1: waiting in  wait(r)  (two_streams.hir:13)  for  recv(b, peer=1)  "
	                  "(two_streams.hir:12)\n"));
	CHECK(has(c.text, "rank 1: waiting for the end\n"));
}

static int divides(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	int32_t x = 1, zero = 0;
	float y = 0;
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	struct rt_view v = rt_view_dense(&x, DTYPE_I32, 0, NULL);
	struct rt_task t = {.kernel = RT_TASK_POINTWISE,
	                    .op = POINTWISE_DIV,
	                    .out = v,
	                    .in = {v, rt_view_dense(&zero, DTYPE_I32, 0, NULL)}};
	struct rt_origin at = origin(&g, "q = div(x, z)", "d.hir:4");
	at.iteration = 2;
	if (job->rank == 1)
		rt_submit_compute(g.engine, g.main, &t, at);
	rt_submit_wait(g.engine, g.main, message(&g, g.main, false, (job->rank + 1) % job->size, 0, &y, 1),
	               nowhere);
	for (int i = 0; i < 10000; i++) /* further work is dropped and does not block */
		add(&g, g.main, &y, 1, 1);
	return rig_close(&g, true);
}

static void test_error(enum rt_boot_kind kind)
{
	struct captured c;
	launch_captured(kind, 3, 20000, divides, NULL, &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK_STR(
	    c.text,
	    "hirc: rank 1: error: integer division by zero (in  q = div(x, z)  (d.hir:4) iteration 2)\n");
}

static int dies(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rig g;
	float x = 0;
	if (rig_open(&g, job) != STATUS_OK)
		return rt_job_status(job);
	struct rt_p2p p = {.peer = (job->rank + 1) % job->size,
	                   .dtype = DTYPE_F32,
	                   .count = 1,
	                   .data = &x,
	                   .at = origin(&g, "recv(a)", "k.hir:3")};
	rt_submit_wait(g.engine, g.main, rt_submit_p2p(g.engine, g.main, &p),
	               origin(&g, "wait(s)", "k.hir:4"));
	if (job->rank == 1) {
		usleep(100000);
		raise(9);
	}
	return rig_close(&g, true);
}

static void test_death(void)
{
	struct captured c;
	launch_captured(RT_BOOT_FORK, 4, 0, dies, NULL, &c);
	CHECK_EQ(c.status, STATUS_INTERNAL);
	CHECK(has(c.text, "hirc: error: rank 1 was killed by signal 9 (Killed)\n"));
	CHECK(has(c.text, "rank 1 main: waiting in  wait(s)  (k.hir:4)  for  recv(a)  (k.hir:3)"));
	CHECK(has(c.text, "rank 1: dead\n"));
	CHECK(has(c.text, "rank 0 main: waiting in  wait(s)  (k.hir:4)  for  recv(a)  (k.hir:3)"));
	CHECK(has(c.text, "rank 0 waits for rank 1\n"));
}

static void test_engine(const char *name)
{
	engine = name;
	static const enum rt_boot_kind kinds[] = {RT_BOOT_THREAD, RT_BOOT_FORK};
	int few = 300, many = 6000;
	for (int k = 0; k <= TEST_FORK; k++) {
		CHECK_EQ(launch(kinds[k], 1, 20000, order, NULL), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 2, 20000, no_blocking, NULL), STATUS_OK);
		for (int np = 1; np <= 4; np++) {
			CHECK_EQ(launch(kinds[k], np, 20000, ring, NULL), STATUS_OK);
			CHECK_EQ(launch(kinds[k], np, 20000, loop, &few), STATUS_OK);
			CHECK_EQ(launch(kinds[k], np, 20000, group, NULL), STATUS_OK);
			CHECK_EQ(launch(kinds[k], np, 20000, together, NULL), STATUS_OK);
		}
		CHECK_EQ(launch(kinds[k], 1, 20000, loop, &many), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 2, 20000, far_ahead, NULL), STATUS_OK);
		CHECK_EQ(launch(kinds[k], 3, 20000, not_member, NULL), STATUS_OK);
		test_stuck(kinds[k]);
		test_error(kinds[k]);
	}
	if (TEST_FORK)
		test_death();
}

int main(void)
{
	test_engine("inline");
	test_engine("lanes");
	return check_result();
}
