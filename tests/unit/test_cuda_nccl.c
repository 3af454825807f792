/* LABELS: tsan
 * The transport between ranks that have a GPU each. */
#include "rt/convert_bits.h"
#include "test_cuda_transport.h"
#include <math.h>

/* ---- reductions */

static enum status run_allreduce(struct rt_transport *t, int team, enum dtype type, enum reduce_op op,
                                 void *x, int64_t n)
{
	struct rt_collective c = {.kind = COLLECTIVE_ALLREDUCE,
	                          .dtype = type,
	                          .op = op,
	                          .team = team,
	                          .in = x,
	                          .out = x,
	                          .count = n};
	return rt_transport_run(t, &c);
}

/* Adds 0.625, 0.625 and x in bf16, where x is a multiple of 2 above 256. NCCL rounds at each step, so 0.625
 * is lost if it is added to x, which happens in two of a ring's three blocks. */
static int sum_of_bf16(struct rt_transport *t, int team, bool exact)
{
	enum { LARGE = 40000 }; /* separate blocks; the last one is shorter */
	bool last = t->job->rank == 2;
	uint16_t *h = calloc(LARGE, sizeof *h);
	int wrong = 0, stepwise = 0;
	for (int k = 0; k < LARGE; k++)
		h[k] = bits_f32_to_bf16(last ? 256 + (float)(k % 100) * 2 : 0.625f);
	wrong |= run_allreduce(t, team, DTYPE_BF16, REDUCE_SUM, h, LARGE) != STATUS_OK;
	for (int k = 0; k < LARGE; k++) {
		float x = 256 + (float)(k % 100) * 2;
		stepwise += h[k] == bits_f32_to_bf16(x);
		wrong |= h[k] != bits_f32_to_bf16(x + 1.25f) && h[k] != bits_f32_to_bf16(x);
	}
	free(h);
	return wrong || (stepwise > 0) == exact;
}

/* NaN is kept; bool reductions are or and and; means of integers use a 64-bit sum; the sum of a mean of f16
 * may overflow f16; sums of 8-bit floats become NaN. arg: "nccl", or "exact", where sums of floats are in
 * team order and rounded once. */
static int rules_main(struct rt_job *job, void *arg)
{
	static const int all[] = {0, 1, 2};
	static const float cancels[] = {1e8f, -1e8f, 1};
	bool exact = strcmp(arg, "exact") == 0;
	struct rt_transport *t;
	int team, wrong = 0, last = job->rank == 2;
	if (staged_open(job, arg, &t) != STATUS_OK || rt_transport_team(t, all, 3, &team) != STATUS_OK)
		return rt_job_status(job);
	float f[2] = {job->rank == 1 ? NAN : 1, (float)job->rank};
	wrong |=
	    run_allreduce(t, team, DTYPE_F32, REDUCE_MAX, f, 2) != STATUS_OK || !isnan(f[0]) || f[1] != 2;
	f[0] = job->rank == 1 ? NAN : 1;
	wrong |=
	    run_allreduce(t, team, DTYPE_F32, REDUCE_MIN, f, 2) != STATUS_OK || !isnan(f[0]) || f[1] != 2;
	bool b[3] = {last, true, false};
	wrong |= run_allreduce(t, team, DTYPE_BOOL, REDUCE_SUM, b, 3) != STATUS_OK || !b[0] || !b[1] || b[2];
	b[0] = last;
	wrong |= run_allreduce(t, team, DTYPE_BOOL, REDUCE_PROD, b, 3) != STATUS_OK || b[0] || !b[1] || b[2];
	int8_t i = 100;
	wrong |= run_allreduce(t, team, DTYPE_I8, REDUCE_AVG, &i, 1) != STATUS_OK || i != 100;
	uint8_t e = 0x79; /* 288 */
	wrong |= run_allreduce(t, team, DTYPE_F8E4M3, REDUCE_SUM, &e, 1) != STATUS_OK ||
	         !isnan(rt_load_f64(DTYPE_F8E4M3, &e));
	f[0] = cancels[job->rank];
	wrong |= run_allreduce(t, team, DTYPE_F32, REDUCE_SUM, f, 1) != STATUS_OK || (exact && f[0] != 1);
	f[0] = job->rank ? 3 : 1.5f;
	wrong |= run_allreduce(t, team, DTYPE_F32, REDUCE_AVG, f, 1) != STATUS_OK || f[0] != 2.5f;
	uint16_t h = bits_f32_to_bf16(job->rank ? 3 : 1.5f);
	wrong |=
	    run_allreduce(t, team, DTYPE_BF16, REDUCE_AVG, &h, 1) != STATUS_OK || h != bits_f32_to_bf16(2.5f);
	h = bits_f32_to_f16(job->rank ? 3 : 1.5f);
	wrong |=
	    run_allreduce(t, team, DTYPE_F16, REDUCE_PROD, &h, 1) != STATUS_OK || h != bits_f32_to_f16(13.5f);
	h = bits_f32_to_f16(60000);
	wrong |=
	    run_allreduce(t, team, DTYPE_F16, REDUCE_AVG, &h, 1) != STATUS_OK || h != bits_f32_to_f16(60000);
	wrong |= sum_of_bf16(t, team, exact);
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- groups */

/* Collectives of one team, and messages, in one group: each has its own scratch memory. */
static int group_main(struct rt_job *job, void *arg)
{
	(void)arg;
	enum { COUNT = 1000, MEMBERS = 3 };
	static const int all[] = {0, 1, 2};
	static const enum dtype type[MEMBERS] = {DTYPE_BF16, DTYPE_F32, DTYPE_BF16};
	struct rt_transport *t;
	struct rt_request *r[MEMBERS + 2];
	int team, wrong = 0, n = 0;
	float sent = (float)job->rank, received = -1;
	char *x[MEMBERS];
	if (staged_open(job, "nccl", &t) != STATUS_OK || rt_transport_team(t, all, 3, &team) != STATUS_OK)
		return rt_job_status(job);
	struct rt_transport *inner = staged_of(t)->inner;
	inner->ops->group_begin(inner);
	for (int k = 0; k < MEMBERS; k++) {
		x[k] = filled(type[k], job->rank + k, COUNT);
		struct rt_collective c = {.kind = COLLECTIVE_ALLREDUCE,
		                          .dtype = type[k],
		                          .op = REDUCE_MAX,
		                          .team = team,
		                          .in = x[k],
		                          .out = x[k],
		                          .count = COUNT};
		wrong |= rt_transport_start(t, &c, &r[n++]) != STATUS_OK;
	}
	for (int send = 0; send < 2; send++) {
		struct rt_p2p p = {.send = send,
		                   .peer = (job->rank + (send ? 1 : 2)) % 3,
		                   .dtype = DTYPE_F32,
		                   .count = 1,
		                   .data = send ? &sent : &received};
		wrong |= rt_transport_start_p2p(t, &p, &r[n++]) != STATUS_OK;
	}
	void *event = NULL;
	wrong |= inner->ops->issued(inner, ((struct ticket *)r[0])->inner, &event) != STATUS_OK || event;
	wrong |= inner->ops->group_end(inner, (struct rt_origin){.iteration = -1}) != STATUS_OK;
	for (int k = 0; k < n; k++)
		wrong |= finish(t, r[k]);
	wrong |= received != (float)((job->rank + 2) % 3);
	for (int k = 0; k < MEMBERS; k++) {
		for (int64_t i = 0; i < COUNT; i++) {
			double want = 0;
			for (int m = 0; m < 3; m++)
				want = element_of(m + k, i) > want ? element_of(m + k, i) : want;
			wrong |= load(type[k], x[k], i) != want;
		}
		buffer_free(x[k]);
	}
	rt_job_barrier(job, "the end");
	rt_transport_close(t);
	return wrong ? STATUS_WRONG : STATUS_OK;
}

/* ---- failures */

/* A message without a communicator. */
static int no_pair(struct rt_job *job, void *arg)
{
	(void)arg;
	struct rt_transport *t;
	struct rt_request *r;
	float x = 0;
	if (staged_open(job, "nccl", &t) != STATUS_OK)
		return rt_job_status(job);
	struct rt_p2p p = {
	    .send = true, .peer = 1 - job->rank, .channel = 99, .dtype = DTYPE_F32, .count = 1, .data = &x};
	rt_transport_start_p2p(t, &p, &r);
	rt_transport_close(t);
	return rt_job_status(job);
}

/* arg: HIRC_MOCK_FAIL */
static int fails(struct rt_job *job, void *arg)
{
	static const int both[] = {0, 1};
	struct rt_transport *t;
	int team;
	float x = 1;
	if (job->rank == 1)
		setenv("HIRC_MOCK_FAIL", arg, 1);
	if (staged_open(job, "nccl", &t) != STATUS_OK || rt_transport_team(t, both, 2, &team) != STATUS_OK)
		return rt_job_status(job);
	for (int k = 0; k < 2; k++) {
		struct rt_collective c = {
		    .kind = COLLECTIVE_ALLREDUCE,
		    .dtype = DTYPE_F32,
		    .team = team,
		    .in = &x,
		    .out = &x,
		    .count = 1,
		    .at = {.label = rt_label_add(job, "c = allreduce(X)", "a.hir:7"), .iteration = -1}};
		rt_transport_run(t, &c);
	}
	rt_transport_close(t);
	return rt_job_status(job);
}

static void test_failures(void)
{
	struct captured c;
	launch_captured(RT_BOOT_FORK, 2, 20000, fails, "ncclAllReduce:2", &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "hirc: rank 1: error: ncclAllReduce: "));
	CHECK(has(c.text, "(in  c = allreduce(X)  (a.hir:7))"));
	launch_captured(RT_BOOT_FORK, 2, 20000, fails, "ncclCommInitRankConfig", &c);
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "hirc: rank 1: error: ncclCommInitRankConfig: "));
	launch_captured(RT_BOOT_FORK, 2, 20000, fails, "nccl:5",
	                &c); /* after the first messages of 4 pairs */
	CHECK_EQ(c.status, STATUS_DIAGNOSTICS);
	CHECK(has(c.text, "error: ncclCommGetAsyncError: "));
	launch_captured(RT_BOOT_FORK, 2, 20000, no_pair, NULL, &c);
	CHECK_EQ(c.status, STATUS_INTERNAL);
	CHECK(has(c.text, "no communicator was made for messages of rank "));
}

int main(void)
{
	static const int sizes[] = {1, 2, 4};
	setenv("HIRC_MOCK_DEVICES", "4", 0);
	setenv("HIRC_MOCK_DELAY_US", "30", 0);
	if (TEST_FORK) {
		test_failures();
		CHECK_EQ(launch(RT_BOOT_FORK, 2, 30000, cuda_transport_main, "auto"), STATUS_OK);
	}
	CHECK_EQ(launch(RT_BOOT_THREAD, 3, 30000, rules_main, "nccl"), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, 3, 30000, rules_main, "exact"), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, 3, 30000, group_main, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, CHAIN_RANKS, 30000, chain_main, "nccl"), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, KINDS_RANKS, 30000, kinds_main, "nccl"), STATUS_OK);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
		CHECK_EQ(launch(RT_BOOT_THREAD, sizes[i], 30000, cuda_transport_main, "nccl"), STATUS_OK);
	return check_result();
}
