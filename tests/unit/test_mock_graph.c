/* Graphs of the mock driver: captured work does not run, a launch runs all of it in order, and calls that
 * cannot be captured are refused. LABELS: tsan */
#include "test_mock_kernel.h"

static CUstream a, b;
static CUevent event;
static int *sum;

static void begin(void)
{
	mock_begin();
	make_kernel();
	a = mock_stream();
	b = mock_stream();
	sum = zero(a);
	CHECK_EQ(api.cuStreamSynchronize(a), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
}

/* Makes all work given to `to` from now on wait for the work of `from`. */
static CUresult order(CUstream from, CUstream to)
{
	CHECK_EQ(api.cuEventRecord(event, from), CUDA_SUCCESS);
	return api.cuStreamWaitEvent(to, event, 0);
}

static void capture(CUstream s)
{
	CHECK_EQ(api.cuStreamBeginCapture(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
}

/* Streams alternate: 1, 2, 3. The graph is launched three times, after work of its own stream. */
static void launches(void)
{
	CUgraph graph;
	CUgraphExec executable;
	unsigned want = 24; /* for the first launch */
	begin();
	capture(a);
	launch(a, NULL, sum, 1);
	CHECK_EQ(order(a, b), CUDA_SUCCESS);
	launch(b, NULL, sum, 2);
	CHECK_EQ(order(b, a), CUDA_SUCCESS);
	launch(a, NULL, sum, 3);
	CHECK_EQ(api.cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
	CHECK_EQ(value_of(sum, a), 0);
	CHECK_EQ(api.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphDestroy(graph), CUDA_SUCCESS);
	launch(a, gate, sum, 4);
	for (int k = 0; k < 2; k++) {
		CHECK_EQ(api.cuGraphLaunch(executable, a), CUDA_SUCCESS);
		want = ((want * 10 + 6) * 10 + 12) * 10 + 18;
	}
	CHECK_EQ(api.cuStreamQuery(a), CUDA_ERROR_NOT_READY);
	open_gate(0);
	CHECK_EQ(order(a, b), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphLaunch(executable, b), CUDA_SUCCESS);
	want = ((want * 10 + 6) * 10 + 12) * 10 + 18;
	CHECK_EQ(api.cuGraphExecDestroy(executable), CUDA_SUCCESS); /* launched work is still done */
	CHECK_EQ(value_of(sum, b), (int)want);
}

/* A copy from pageable memory reads its contents when the graph runs. */
static void copies(void)
{
	CUgraph graph;
	CUgraphExec executable;
	int from = 1, to = 0;
	begin();
	capture(a);
	mock_write(sum, &from, sizeof from, a);
	mock_read(&to, sum, sizeof to, a);
	CHECK_EQ(api.cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
	CHECK_EQ(api.cuGraphInstantiate(&executable, graph, 0), CUDA_SUCCESS);
	from = 2;
	CHECK_EQ(api.cuGraphLaunch(executable, a), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(a), CUDA_SUCCESS);
	CHECK_EQ(to, 2);
}

static void end_fails(CUstream s, CUresult want)
{
	CUgraph graph;
	CHECK_EQ(api.cuStreamEndCapture(s, &graph), want);
	CHECK(graph == NULL);
	launch(s, NULL, sum, 1); /* the stream can be used again */
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
}

static void refusals(void)
{
	CUdeviceptr at;
	begin();
	capture(a);
	CHECK_EQ(order(a, b), CUDA_SUCCESS);
	launch(b, NULL, sum, 2);
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);

	CHECK_EQ(api.cuEventRecord(event, b), CUDA_SUCCESS);
	capture(a);
	CHECK_EQ(api.cuStreamWaitEvent(a, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	capture(a);
	CHECK_EQ(api.cuStreamQuery(a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	capture(a);
	CHECK_EQ(api.cuMemAlloc(&at, 8), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
	end_fails(a, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);

	capture(a);
	CHECK_EQ(order(a, b), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventRecord(event, b), CUDA_SUCCESS);
	end_fails(b, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
	CHECK_EQ(api.cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
	CHECK_EQ(api.cuStreamWaitEvent(a, event, 0), CUDA_ERROR_CAPTURED_EVENT);
}

int main(void)
{
	MOCK_CASE(launches, "");
	MOCK_CASE(launches, "HIRC_MOCK_DELAY_US=2000");
	MOCK_CASE(copies, "");
	MOCK_CASE(refusals, "");
	return check_result();
}
