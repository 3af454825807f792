/* The mock NCCL: every call moves its data between ranks that are threads or processes; calls of a group run
 * together, communicators are independent; a call without a match hangs until it is aborted. LABELS: tsan */
#include "test_mock.h"
#include <math.h>
#include <pthread.h>
#include <stdint.h>

enum { RANKS = 3, COUNT = 5000 /* COUNT: more than fits into a pipe */ };

/* The data of one rank of a test. */
struct rank {
	int rank, n;
	const ncclUniqueId *id; /* two ids */
	CUstream stream;
	void (*body)(struct rank *r);
};

static ncclComm_t make(struct rank *r, int which)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclComm_t comm;
	CHECK_EQ(api.ncclCommInitRankConfig(&comm, r->n, r->id[which], r->rank, &config), ncclSuccess);
	return comm;
}

static void use_device(int k)
{
	CUcontext context;
	CHECK_EQ(api.cuDevicePrimaryCtxRetain(&context, k), CUDA_SUCCESS);
	CHECK_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static void *run_rank(void *argument)
{
	struct rank *r = argument;
	use_device(r->rank);
	r->stream = mock_stream();
	r->body(r);
	return NULL;
}

static void open_all(ncclUniqueId id[2])
{
	MOCK_OPEN("libcuda.so.1", CUDA_DRIVER_CALLS);
	MOCK_OPEN("libnccl.so.2", CUDA_NCCL_CALLS);
	CHECK_EQ(api.cuInit(0), CUDA_SUCCESS);
	for (int k = 0; k < 2; k++)
		CHECK_EQ(api.ncclGetUniqueId(&id[k]), ncclSuccess);
}

static void as_threads(void (*body)(struct rank *r), int n)
{
	ncclUniqueId id[2];
	pthread_t thread[8];
	struct rank rank[8];
	open_all(id);
	for (int k = 0; k < n; k++) {
		rank[k] = (struct rank){.rank = k, .n = n, .id = id, .body = body};
		pthread_create(&thread[k], NULL, run_rank, &rank[k]);
	}
	for (int k = 0; k < n; k++)
		pthread_join(thread[k], NULL);
}

static void as_processes(void (*body)(struct rank *r), int n)
{
	ncclUniqueId id[2];
	open_all(id);
	for (int k = 0; k < n; k++)
		if (fork() == 0) {
			struct rank rank = {.rank = k, .n = n, .id = id, .body = body};
			run_rank(&rank);
			fflush(stdout);
			_exit(check_result());
		}
	for (int k = 0; k < n; k++) {
		int status;
		CHECK(wait(&status) > 0);
		CHECK_EQ(status, 0);
	}
}

/* ---- numbers */

/* Returns element i of rank k: sums are exact. */
static float number(int k, int i)
{
	return (float)((i * 7 + k * 3) % 11 - 5);
}

static float *numbers(struct rank *r, int n)
{
	float *host = malloc((size_t)n * sizeof *host), *at = mock_memory((size_t)n * sizeof *at);
	for (int i = 0; i < n; i++)
		host[i] = number(r->rank, i);
	mock_write(at, host, (size_t)n * sizeof *at, r->stream);
	free(host);
	return at;
}

static float *fetch(struct rank *r, const float *at, int n)
{
	float *host = malloc((size_t)n * sizeof *host);
	mock_read(host, at, (size_t)n * sizeof *at, r->stream);
	return host;
}

#define SAME(at, n, want)                                                                                    \
	do {                                                                                                 \
		float *got = fetch(r, (at), (n));                                                            \
		int wrong = 0;                                                                               \
		for (int i = 0; i < (n); i++)                                                                \
			wrong += got[i] != (float)(want);                                                    \
		CHECK_EQ(wrong, 0);                                                                          \
		free(got);                                                                                   \
	} while (0)

static float sum_of(int n, int i)
{
	float sum = 0;
	for (int k = 0; k < n; k++)
		sum += number(k, i);
	return sum;
}

static void finish(struct rank *r, ncclComm_t comm)
{
	(void)r;
	CHECK_EQ(api.ncclCommFinalize(comm), ncclSuccess);
	CHECK_EQ(api.ncclCommDestroy(comm), ncclSuccess);
}

/* All collectives, the last ones in place. */
static void collectives(struct rank *r)
{
	ncclComm_t c = make(r, 0);
	int n = r->n, all = n * COUNT;
	float *in = numbers(r, all), *out = mock_memory((size_t)all * sizeof *out);
	CHECK_EQ(api.ncclAllReduce(in, out, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	SAME(out, COUNT, sum_of(n, i));
	CHECK_EQ(api.ncclAllReduce(in, out, COUNT, ncclFloat32, ncclMax, c, r->stream), ncclSuccess);
	SAME(out, COUNT, fmaxf(fmaxf(number(0, i), number(1, i)), number(n - 1, i)));
	CHECK_EQ(api.ncclAllGather(in, out, COUNT, ncclFloat32, c, r->stream), ncclSuccess);
	SAME(out, all, number(i / COUNT, i % COUNT));
	CHECK_EQ(api.ncclReduceScatter(in, out, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	SAME(out, COUNT, sum_of(n, r->rank * COUNT + i));
	CHECK_EQ(api.ncclBroadcast(in, out, COUNT, ncclFloat32, 1, c, r->stream), ncclSuccess);
	SAME(out, COUNT, number(1, i));
	CHECK_EQ(api.ncclReduce(in, out, COUNT, ncclFloat32, ncclSum, 1, c, r->stream), ncclSuccess);
	SAME(out, COUNT, r->rank == 1 ? sum_of(n, i) : number(1, i));
	float *block = in + (size_t)r->rank * COUNT;
	CHECK_EQ(api.ncclReduceScatter(in, block, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	SAME(block, COUNT, sum_of(n, r->rank * COUNT + i));
	CHECK_EQ(api.ncclAllGather(block, in, COUNT, ncclFloat32, c, r->stream), ncclSuccess);
	SAME(in, all, sum_of(n, i));
	CHECK_EQ(api.ncclAllReduce(in, in, COUNT, ncclInt32, ncclMin, c, r->stream), ncclSuccess);
	SAME(in, all, sum_of(n, i));
	finish(r, c);
}

/* A ring in a group: without the group each send would wait for a later receive. */
static void groups(struct rank *r)
{
	ncclComm_t c = make(r, 0);
	int n = r->n, next = (r->rank + 1) % n, before = (r->rank + n - 1) % n;
	float *in = numbers(r, COUNT), *out = mock_memory(COUNT * sizeof *out),
	      *own = mock_memory(COUNT * sizeof *own);
	CUstream other = mock_stream();
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
	CHECK_EQ(api.ncclGroupStart(), ncclSuccess);
	CHECK_EQ(api.ncclSend(in, COUNT, ncclFloat32, next, c, r->stream), ncclSuccess);
	CHECK_EQ(api.ncclRecv(out, COUNT, ncclFloat32, before, c, other), ncclSuccess);
	CHECK_EQ(api.ncclSend(in, COUNT, ncclFloat32, r->rank, c, r->stream), ncclSuccess);
	CHECK_EQ(api.ncclRecv(own, COUNT, ncclFloat32, r->rank, c, r->stream), ncclSuccess);
	CHECK_EQ(api.cuStreamQuery(r->stream), CUDA_SUCCESS); /* nothing runs before the end of the group */
	CHECK_EQ(api.ncclGroupEnd(), ncclSuccess);
	CHECK_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
	SAME(out, COUNT, number(before, i));
	SAME(own, COUNT, number(r->rank, i));
	CHECK_EQ(api.ncclGroupEnd(), ncclInvalidUsage);
	finish(r, c);
}

/* Ranks issue calls of two communicators in different orders, on separate streams: each makes progress by
 * itself. */
static void independent(struct rank *r)
{
	ncclComm_t c[2] = {make(r, 0), make(r, 1)};
	CUstream s[2] = {r->stream, mock_stream()};
	float *in = numbers(r, COUNT), *out[2];
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
	for (int k = 0; k < 2; k++) {
		int which = (k + r->rank) % 2;
		out[which] = mock_memory(COUNT * sizeof(float));
		CHECK_EQ(api.ncclAllReduce(in, out[which], COUNT, ncclFloat32, ncclSum, c[which], s[which]),
		         ncclSuccess);
	}
	for (int k = 0; k < 2; k++) {
		CHECK_EQ(api.cuStreamSynchronize(s[k]), CUDA_SUCCESS);
		SAME(out[k], COUNT, sum_of(r->n, i));
		finish(r, c[k]);
	}
}

/* A graph of two sums that is launched twice, with other sums before and between. */
static void in_graphs(struct rank *r)
{
	ncclComm_t c = make(r, 0);
	CUgraph graph;
	CUgraphExec executable;
	float *at = numbers(r, COUNT);
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamBeginCapture(r->stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
	for (int k = 0; k < 2; k++)
		CHECK_EQ(api.ncclAllReduce(at, at, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	CHECK_EQ(api.cuStreamEndCapture(r->stream, &graph), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
	for (int k = 0; k < 2; k++) {
		CHECK_EQ(api.ncclAllReduce(at, at, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
		CHECK_EQ(api.cuGraphLaunch(executable, r->stream), CUDA_SUCCESS);
	}
	SAME(at, COUNT, 32 * sum_of(r->n, i)); /* six sums of two ranks */
	CHECK_EQ(api.cuGraphExecDestroy(executable), CUDA_SUCCESS);
	finish(r, c);
}

/* bf16: each step rounds; averages multiply first; max ignores NaN. */
static void roundings(struct rank *r)
{
	static const uint16_t value[2][3] = {{0x4380, 0x3f80, 0x7fc0}, {0x3f80, 0x4040, 0x3f80}};
	static const uint16_t sum[3] = {0x4380, 0x4080, 0x7fc0}, average[3] = {0x4300, 0x4000, 0x7fc0},
	                      most[3] = {0x4380, 0x4040, 0x3f80};
	uint16_t got[3], *at = mock_memory(sizeof got), *out = mock_memory(sizeof got);
	ncclComm_t c = make(r, 0);
	mock_write(at, value[r->rank], sizeof got, r->stream);
	for (int k = 0; k < 3; k++) {
		static const ncclRedOp_t op[] = {ncclSum, ncclAvg, ncclMax};
		const uint16_t *want[] = {sum, average, most};
		CHECK_EQ(api.ncclAllReduce(at, out, 3, ncclBfloat16, op[k], c, r->stream), ncclSuccess);
		mock_read(got, out, sizeof got, r->stream);
		for (int i = 0; i < 3; i++)
			CHECK_EQ(got[i], want[k][i]);
	}
	finish(r, c);
}

/* ---- what goes wrong */

static void mismatch(struct rank *r)
{
	ncclComm_t c = make(r, 0);
	ncclResult_t error;
	float *in = numbers(r, COUNT), *out = mock_memory(COUNT * sizeof *out);
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
	CHECK_EQ(api.ncclAllReduce(in, out, r->rank ? COUNT : 10, ncclFloat32, ncclSum, c, r->stream),
	         ncclSuccess);
	CHECK_EQ(api.ncclAllReduce(in, out, 1, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	usleep(20000);
	CHECK_EQ(api.cuStreamQuery(r->stream), CUDA_ERROR_NOT_READY);
	CHECK_EQ(api.ncclCommGetAsyncError(c, &error), ncclSuccess);
	CHECK_EQ(error, ncclSuccess);
	CHECK_EQ(api.ncclCommAbort(c), ncclSuccess);
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
}

/* The second launch of the process fails. */
static void breaks(struct rank *r)
{
	ncclComm_t c = make(r, 0);
	ncclResult_t error = ncclSuccess;
	float *in = numbers(r, COUNT);
	CHECK_EQ(api.ncclAllReduce(in, in, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
	CHECK_EQ(api.ncclAllReduce(in, in, COUNT, ncclFloat32, ncclSum, c, r->stream), ncclSuccess);
	for (int k = 0; k < 1000 && error == ncclSuccess; k++) {
		usleep(1000);
		CHECK_EQ(api.ncclCommGetAsyncError(c, &error), ncclSuccess);
	}
	CHECK_EQ(error, ncclRemoteError);
	CHECK_EQ(api.cuStreamQuery(r->stream), CUDA_ERROR_NOT_READY);
	CHECK_EQ(api.ncclCommAbort(c), ncclSuccess);
	CHECK_EQ(api.cuStreamSynchronize(r->stream), CUDA_SUCCESS);
}

static void call_fails(struct rank *r)
{
	ncclComm_t c = make(r, 0);
	float *in = numbers(r, 4);
	CHECK_EQ(api.ncclGroupStart(), ncclSuccess);
	CHECK_EQ(api.ncclAllReduce(in, in, 4, ncclFloat32, ncclSum, c, r->stream), ncclUnhandledCudaError);
	CHECK(strstr(api.ncclGetLastError(NULL), "ncclAllReduce") != NULL);
	CHECK_EQ(api.ncclGroupEnd(), ncclUnhandledCudaError);
	CHECK_EQ(api.ncclAllGather(in, in, 4, ncclNumTypes, c, r->stream), ncclInvalidArgument);
	CHECK_EQ(api.ncclBroadcast(in, in, 4, ncclFloat32, 2, c, r->stream), ncclInvalidArgument);
	finish(r, c);
}

/* Both ranks on GPU 0. */
static void one_device(struct rank *r)
{
	ncclComm_t comm;
	use_device(0);
	CHECK_EQ(api.ncclCommInitRankConfig(&comm, r->n, r->id[0], r->rank, NULL), ncclInvalidUsage);
	CHECK(strstr(api.ncclGetLastError(NULL), "Duplicate GPU detected") != NULL);
	CHECK(comm == NULL);
}

static void one_device_allowed(struct rank *r)
{
	use_device(0);
	r->stream = mock_stream();
	collectives(r);
}

/* ---- cases */

#define CASE(name, ranks, as)                                                                                \
	static void name##_##as(void)                                                                        \
	{                                                                                                    \
		as_##as(name, ranks);                                                                        \
	}
CASE(collectives, RANKS, threads)
CASE(collectives, RANKS, processes)
CASE(groups, RANKS, threads)
CASE(groups, RANKS, processes)
CASE(independent, 2, threads)
CASE(in_graphs, 2, threads)
CASE(roundings, 2, threads)
CASE(mismatch, 2, threads)
CASE(mismatch, 2, processes)
CASE(breaks, 1, threads)
CASE(call_fails, 2, threads)
CASE(one_device, 2, threads)
CASE(one_device_allowed, 2, threads)

int main(void)
{
	MOCK_CASE(collectives_threads, "HIRC_MOCK_DEVICES=3");
	MOCK_CASE(collectives_threads, "HIRC_MOCK_DEVICES=3 HIRC_MOCK_DELAY_US=1000");
	MOCK_CASE(collectives_processes, "HIRC_MOCK_DEVICES=3");
	MOCK_CASE(groups_threads, "HIRC_MOCK_DEVICES=3");
	MOCK_CASE(groups_processes, "HIRC_MOCK_DEVICES=3");
	MOCK_CASE(independent_threads, "HIRC_MOCK_DEVICES=2");
	MOCK_CASE(in_graphs_threads, "HIRC_MOCK_DEVICES=2");
	MOCK_CASE(roundings_threads, "HIRC_MOCK_DEVICES=2");
	MOCK_CASE(mismatch_threads, "HIRC_MOCK_DEVICES=2");
	MOCK_CASE(mismatch_processes, "HIRC_MOCK_DEVICES=2");
	MOCK_CASE(breaks_threads, "HIRC_MOCK_FAIL=nccl:2");
	MOCK_CASE(call_fails_threads, "HIRC_MOCK_DEVICES=2 HIRC_MOCK_FAIL=ncclAllReduce");
	MOCK_CASE(one_device_threads, "HIRC_MOCK_DEVICES=2");
	MOCK_CASE(one_device_allowed_threads, "HIRC_MOCK_DEVICES=2 HIRC_MOCK_SHARED_GPU=1");
	return check_result();
}
