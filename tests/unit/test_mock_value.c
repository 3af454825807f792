/* Streams of the mock driver that wait for numbers in memory, of their own process and of others, however
 * late these come; they sleep while they wait. LABELS: tsan */
#include "test_mock_ipc.h"
#include <time.h>

static CUresult await(CUstream s, const uint32_t *at, uint32_t value, unsigned flags)
{
	return api.cuStreamWaitValue32(s, (CUdeviceptr)at, value, flags);
}

static CUresult put(CUstream s, const uint32_t *at, uint32_t value)
{
	return api.cuStreamWriteValue32(s, (CUdeviceptr)at, value, CU_STREAM_WRITE_VALUE_DEFAULT);
}

static uint32_t *zeros(int n, CUstream s)
{
	uint32_t *at = mock_memory((size_t)n * sizeof *at);
	CHECK_EQ(api.cuMemsetD8Async((CUdeviceptr)at, 0, (size_t)n * sizeof *at, s), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
	return at;
}

/* Values that end a wait, and values that do not. GEQ is cyclic. */
static void conditions(void)
{
	static const struct {
		uint32_t wanted, value;
		unsigned flags;
		bool over;
	} row[] = {
	    {5, 4, CU_STREAM_WAIT_VALUE_GEQ, false},         {5, 5, CU_STREAM_WAIT_VALUE_GEQ, true},
	    {5, 6, CU_STREAM_WAIT_VALUE_GEQ, true},          {5, 4, CU_STREAM_WAIT_VALUE_EQ, false},
	    {5, 6, CU_STREAM_WAIT_VALUE_EQ, false},          {5, 5, CU_STREAM_WAIT_VALUE_EQ, true},
	    {0xfffffff0, 3, CU_STREAM_WAIT_VALUE_GEQ, true}, {3, 0xfffffff0, CU_STREAM_WAIT_VALUE_GEQ, false},
	    {0, 0x7fffffff, CU_STREAM_WAIT_VALUE_GEQ, true}, {0, 0x80000000, CU_STREAM_WAIT_VALUE_GEQ, false},
	};
	mock_begin();
	CUstream s = mock_stream(), other = mock_stream();
	uint32_t *at = zeros(1, s);
	for (size_t k = 0; k < sizeof row / sizeof *row; k++) {
		CHECK_EQ(put(s, at, row[k].value), CUDA_SUCCESS);
		CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
		CHECK_EQ(await(other, at, row[k].wanted, row[k].flags), CUDA_SUCCESS);
		if (!row[k].over) {
			usleep(5000);
			CHECK_EQ(api.cuStreamQuery(other), CUDA_ERROR_NOT_READY);
			CHECK_EQ(put(s, at, row[k].wanted), CUDA_SUCCESS);
		}
		CHECK_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
	}
}

/* A write by a copy or by a fill is seen, too. */
static void other_writes(void)
{
	static const uint32_t seven = 7;
	mock_begin();
	CUstream s = mock_stream(), other = mock_stream();
	uint32_t *at = zeros(2, s);
	CHECK_EQ(await(other, at, 7, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	CHECK_EQ(await(other, at + 1, 0x01010101, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	mock_write(at, &seven, sizeof seven, s);
	CHECK_EQ(api.cuMemsetD8Async((CUdeviceptr)(at + 1), 1, 4, s), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
}

enum { ROUNDS = 200 };

/* Two processes pass a number back and forth: data written before a flag are there once the other has seen
 * the flag. */
static void to_and_fro(void)
{
	char go = 0;
	struct other o = other_begin();
	mock_begin();
	CUstream s = mock_stream();
	uint32_t *at = other_share(&o, 3 * sizeof *at), mine = o.process ? 0 : 1, sum;
	if (o.process) {
		CHECK_EQ(api.cuMemsetD8Async((CUdeviceptr)at, 0, 3 * sizeof *at, s), CUDA_SUCCESS);
		CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
		other_send(&o, &go, 1);
	} else {
		other_receive(&o, &go, 1);
	}
	for (uint32_t k = 1; k <= ROUNDS; k++) {
		CHECK_EQ(await(s, at + 1 - mine, k - 1 + mine, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
		if (k > 1 || mine) {
			mock_read(&sum, at + 2, sizeof sum, s);
			CHECK_EQ(sum, 2 * k - 2 + mine);
		}
		sum = 2 * k - 1 + mine;
		mock_write(at + 2, &sum, sizeof sum, s);
		CHECK_EQ(put(s, at + mine, k), CUDA_SUCCESS);
	}
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
	if (o.process) /* the memory belongs to this process, so it ends last */
		other_receive(&o, &go, 1);
	else
		other_send(&o, &go, 1);
	other_end(&o);
}

/* A waiting stream takes no host time. */
static void waits_asleep(void)
{
	struct timespec from, to;
	mock_begin();
	CUstream s = mock_stream(), other = mock_stream();
	uint32_t *at = zeros(1, s);
	CHECK_EQ(await(other, at, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	usleep(200000);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	CHECK((to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec) < 100e6);
	CHECK_EQ(put(s, at, 1), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
}

/* The waits and writes of a graph are done at each launch. */
static void in_a_graph(void)
{
	CUgraph graph;
	CUgraphExec executable;
	mock_begin();
	CUstream s = mock_stream(), other = mock_stream();
	uint32_t *at = zeros(2, s), value;
	CHECK_EQ(api.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
	CHECK_EQ(await(s, at, 1, CU_STREAM_WAIT_VALUE_GEQ), CUDA_SUCCESS);
	CHECK_EQ(put(s, at + 1, 2), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamEndCapture(s, &graph), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphLaunch(executable, s), CUDA_SUCCESS);
	usleep(5000);
	CHECK_EQ(api.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CHECK_EQ(put(other, at, 1), CUDA_SUCCESS);
	mock_read(&value, at + 1, sizeof value, s);
	CHECK_EQ(value, 2);
	CHECK_EQ(api.cuGraphExecDestroy(executable), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
}

static void mistakes(void)
{
	mock_begin();
	CUstream s = mock_stream();
	uint32_t *at = zeros(2, s);
	CHECK_EQ(put(s, (uint32_t *)((char *)at + 2), 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(await(s, (uint32_t *)((char *)at + 1), 1, CU_STREAM_WAIT_VALUE_EQ),
	         CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(await(s, at, 1, CU_STREAM_WAIT_VALUE_NOR), CUDA_ERROR_NOT_SUPPORTED);
	CHECK_EQ(await(s, at, 1, CU_STREAM_WAIT_VALUE_EQ | CU_STREAM_WAIT_VALUE_FLUSH),
	         CUDA_ERROR_NOT_SUPPORTED);
}

static void calls_fail(void)
{
	mock_begin();
	CUstream s = mock_stream();
	uint32_t *at = zeros(1, s);
	CHECK_EQ(put(s, at, 1), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(put(s, at, 1), CUDA_SUCCESS);
	CHECK_EQ(await(s, at, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(await(s, at, 1, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
}

static void no_memory(void)
{
	uint32_t here = 0;
	mock_begin();
	put(mock_stream(), &here, 1);
}

int main(void)
{
	MOCK_CASE(conditions, "");
	MOCK_CASE(conditions, "HIRC_MOCK_DELAY_US=1000 HIRC_MOCK_SEED=2");
	MOCK_CASE(other_writes, "");
	MOCK_CASE(to_and_fro, "");
	MOCK_CASE(to_and_fro, "HIRC_MOCK_DELAY_US=300 HIRC_MOCK_SEED=3");
	MOCK_CASE(waits_asleep, "");
	MOCK_CASE(in_a_graph, "");
	MOCK_CASE(mistakes, "");
	MOCK_CASE(calls_fail, "HIRC_MOCK_FAIL=cuStreamWriteValue32:1,cuStreamWaitValue32:1");
	printf("the next one aborts\n");
	CHECK_EQ(mock_status(no_memory, ""), -SIGABRT);
	return check_result();
}
