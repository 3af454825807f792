/* The mock driver and compiler: streams are asynchronous, a wait for an event is for the record at the call,
 * kernels run, and failures come on request. LABELS: tsan */
#include "test_mock_kernel.h"
#include <signal.h>

/* ---- streams and events */

static void stream_is_asynchronous(void)
{
	mock_begin();
	make_kernel();
	CUstream s = mock_stream(), other = mock_stream();
	int *sum = zero(s);
	CHECK_EQ(launch(s, gate, sum, 1), CUDA_SUCCESS);
	CHECK_EQ(launch(s, NULL, sum, 2), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	CHECK_EQ(api.cuStreamSynchronize(other), CUDA_SUCCESS);
	int *own = zero(other);
	CHECK_EQ(launch(other, NULL, own, 1), CUDA_SUCCESS);
	CHECK_EQ(value_of(own, other), 6);
	CHECK_EQ(api.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	open_gate(0);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamQuery(s), CUDA_SUCCESS);
	CHECK_EQ(value_of(sum, s), 6 * 10 + 12);
	CHECK_EQ(api.cuStreamDestroy(other), CUDA_SUCCESS);
}

/* The waiting stream continues when the first record is over, though the event was recorded again. */
static void wait_is_for_the_record_at_the_call(void)
{
	mock_begin();
	make_kernel();
	CUstream a = mock_stream(), b = mock_stream();
	int *sum = zero(a);
	CUevent e;
	CHECK_EQ(api.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventQuery(e), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS); /* never recorded: no wait */
	CHECK_EQ(api.cuStreamSynchronize(b), CUDA_SUCCESS);
	launch(a, &gate[0], sum, 1);
	CHECK_EQ(api.cuEventRecord(e, a), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS);
	launch(a, &gate[1], sum, 2);
	CHECK_EQ(api.cuEventRecord(e, a), CUDA_SUCCESS);
	usleep(5000);
	CHECK_EQ(api.cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	open_gate(0);
	CHECK_EQ(api.cuStreamSynchronize(b), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventQuery(e), CUDA_ERROR_NOT_READY);
	CHECK_EQ(api.cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventDestroy(e), CUDA_SUCCESS); /* streams that wait for it still do */
	usleep(5000);
	CHECK_EQ(api.cuStreamQuery(b), CUDA_ERROR_NOT_READY);
	open_gate(1);
	CHECK_EQ(api.cuStreamSynchronize(b), CUDA_SUCCESS);
	CHECK_EQ(value_of(sum, b), 6 * 10 + 12);
}

/* An event of one stream orders the work of another, with any delays. */
static void events_order(void)
{
	mock_begin();
	make_kernel();
	CUstream s[2] = {mock_stream(), mock_stream()};
	int *sum = zero(s[0]);
	CUevent e;
	CHECK_EQ(api.cuEventCreate(&e, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
	long want = 0;
	for (int k = 0; k < 8; k++) {
		want = want * 10 + (k % 2 + 1) * 6;
		launch(s[k % 2], NULL, sum, k % 2 + 1);
		CHECK_EQ(api.cuEventRecord(e, s[k % 2]), CUDA_SUCCESS);
		CHECK_EQ(api.cuStreamWaitEvent(s[(k + 1) % 2], e, 0), CUDA_SUCCESS);
	}
	CHECK_EQ(value_of(sum, s[0]), want);
}

static float elapsed(CUevent from, CUevent to)
{
	float ms = -1;
	CHECK_EQ(api.cuEventElapsedTime(&ms, from, to), CUDA_SUCCESS);
	return ms;
}

/* The time of an event is when its stream reached it, not when it was recorded. */
static void events_have_times(void)
{
	CUevent e[3], without, never;
	float ms;
	mock_begin();
	make_kernel();
	CUstream s = mock_stream();
	int *sum = zero(s);
	for (int k = 0; k < 3; k++)
		CHECK_EQ(api.cuEventCreate(&e[k], CU_EVENT_DEFAULT), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventCreate(&never, CU_EVENT_DEFAULT), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventCreate(&without, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventRecord(e[0], s), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventRecord(without, s), CUDA_SUCCESS);
	launch(s, gate, sum, 1);
	CHECK_EQ(api.cuEventRecord(e[1], s), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventRecord(e[2], s), CUDA_SUCCESS);
	usleep(20000);
	CHECK_EQ(api.cuEventElapsedTime(&ms, e[0], e[1]), CUDA_ERROR_NOT_READY);
	open_gate(0);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
	CHECK(elapsed(e[0], e[1]) > 15);
	CHECK(elapsed(e[1], e[2]) >= 0);
	CHECK(elapsed(e[1], e[0]) == -elapsed(e[0], e[1]));
	CHECK_EQ(api.cuEventElapsedTime(&ms, e[0], without), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(api.cuEventElapsedTime(&ms, never, e[0]), CUDA_ERROR_INVALID_HANDLE);
}

/* ---- memory */

static void copies(void)
{
	mock_begin();
	make_kernel();
	CUstream s = mock_stream();
	int *pinned, pageable = 5, *sum = zero(s), *at = mock_memory(2 * sizeof *at), fresh[2];
	CHECK_EQ(api.cuMemHostAlloc((void **)&pinned, sizeof *pinned, 0), CUDA_SUCCESS);
	mock_read(fresh, at, sizeof fresh, s);
	CHECK(fresh[0] != 0 && fresh[1] != 0);
	*pinned = 6;
	launch(s, gate, sum, 1);
	mock_write(at, &pageable, sizeof *at, s);
	mock_write(at + 1, pinned, sizeof *at, s);
	CHECK_EQ(api.cuMemcpyDtoDAsync((CUdeviceptr)sum, (CUdeviceptr)(at + 1), sizeof *at, s), CUDA_SUCCESS);
	pageable = 50; /* it was read at the call */
	*pinned = 60;  /* it is read when the stream reaches the copy */
	/* The query also takes the stream's lock: ThreadSanitizer does not see the order that the gate makes. */
	CHECK_EQ(api.cuStreamQuery(s), CUDA_ERROR_NOT_READY);
	open_gate(0);
	CHECK_EQ(value_of(at, s), 5);
	CHECK_EQ(value_of(at + 1, s), 60);
	CHECK_EQ(value_of(sum, s), 60);
	CHECK_EQ(api.cuMemFreeHost(pinned), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemFree((CUdeviceptr)at), CUDA_SUCCESS);
}

static void memory_ends(void)
{
	CUdeviceptr at, more;
	mock_begin();
	CHECK_EQ(api.cuMemAlloc(&at, 600), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemAlloc(&more, 401), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(api.cuMemAlloc(&more, 400), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemFree(at), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemAlloc(&at, 600), CUDA_SUCCESS);
	CHECK_EQ(api.cuMemAlloc(&at, 0), CUDA_ERROR_INVALID_VALUE);
}

/* ---- mistakes of the caller */

static void use_destroyed_stream(void)
{
	mock_begin();
	CUstream s = mock_stream();
	api.cuStreamDestroy(s);
	api.cuStreamQuery(s);
}

static void use_other_handle(void)
{
	CUevent e;
	mock_begin();
	api.cuEventCreate(&e, 0);
	api.cuStreamQuery((CUstream)e);
}

static void copy_too_much(void)
{
	static char from[65];
	mock_begin();
	mock_write(mock_memory(64), from, 65, mock_stream());
}

static void free_twice(void)
{
	mock_begin();
	void *at = mock_memory(64);
	api.cuMemFree((CUdeviceptr)at);
	api.cuMemFree((CUdeviceptr)at);
}

static void no_context(void)
{
	CUstream s;
	mock_begin();
	CHECK_EQ(api.cuCtxSetCurrent(NULL), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_ERROR_INVALID_CONTEXT);
}

static void bad_launches(void)
{
	struct arguments a = {0};
	void *parameter[] = {&a};
	mock_begin();
	make_kernel();
	CUstream s = mock_stream();
	CHECK_EQ(api.cuLaunchKernel(function, 0, 1, 1, 32, 1, 1, 0, s, parameter, NULL),
	         CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuLaunchKernel(function, 1, 1, 1, 1025, 1, 1, 0, s, parameter, NULL),
	         CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 49153, s, parameter, NULL),
	         CUDA_ERROR_INVALID_VALUE);
}

/* ---- failures on request */

static void third_allocation_fails(void)
{
	CUdeviceptr at;
	mock_begin();
	for (int k = 1; k <= 4; k++)
		CHECK_EQ(api.cuMemAlloc(&at, 8), k == 3 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS);
}

static void calls_fail(void)
{
	CUevent e;
	mock_begin();
	CUstream s = mock_stream();
	for (int k = 0; k < 2; k++)
		CHECK_EQ(api.cuEventCreate(&e, 0), CUDA_ERROR_OUT_OF_MEMORY);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_ERROR_LAUNCH_FAILED);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
	CUevent from, to;
	float ms;
	api.cuEventCreate(&from, 0);
	api.cuEventCreate(&to, 0);
	api.cuEventRecord(from, s);
	api.cuEventRecord(to, s);
	api.cuStreamSynchronize(s);
	CHECK_EQ(api.cuEventElapsedTime(&ms, from, to), CUDA_ERROR_UNKNOWN);
	CHECK_EQ(api.cuEventElapsedTime(&ms, from, to), CUDA_SUCCESS);
}

/* The fault of a kernel shows in all later calls. */
static void kernel_fails(void)
{
	CUdeviceptr at;
	mock_begin();
	make_kernel();
	CUstream s = mock_stream();
	int *sum = zero(s);
	CHECK_EQ(launch(s, NULL, sum, 1), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
	CHECK_EQ(launch(s, NULL, sum, 1), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
	CHECK_EQ(api.cuMemAlloc(&at, 8), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void no_devices(void)
{
	MOCK_OPEN("libcuda.so.1", CUDA_DRIVER_CALLS);
	CHECK_EQ(api.cuInit(0), CUDA_ERROR_NO_DEVICE);
}

static void several_devices(void)
{
	CUcontext context;
	CUstream s;
	CUevent e;
	int count, major;
	mock_begin();
	CHECK_EQ(api.cuEventCreate(&e, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuDeviceGetCount(&count), CUDA_SUCCESS);
	CHECK_EQ(count, 3);
	CHECK_EQ(api.cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 2),
	         CUDA_SUCCESS);
	CHECK_EQ(major, 9);
	CHECK_EQ(api.cuDevicePrimaryCtxRetain(&context, 3), CUDA_ERROR_INVALID_DEVICE);
	CHECK_EQ(api.cuDevicePrimaryCtxRetain(&context, 2), CUDA_SUCCESS);
	CHECK_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	CHECK_EQ(api.cuEventRecord(e, s), CUDA_ERROR_INVALID_HANDLE); /* it belongs to another context */
	CHECK_EQ(api.cuStreamWaitEvent(s, e, 0), CUDA_SUCCESS);
}

/* ---- the compiler, and the log */

static void compiler_complains(void)
{
	static const char *const option[] = {"--gpu-architecture=sm_80", "--no-such-option"};
	nvrtcProgram program;
	size_t bytes;
	MOCK_OPEN("libnvrtc.so.13", CUDA_NVRTC_CALLS);
	CHECK_EQ(api.nvrtcCreateProgram(&program, "int f(void) { return nowhere; }", "k", 0, NULL, NULL),
	         NVRTC_SUCCESS);
	CHECK_EQ(api.nvrtcCompileProgram(program, 2, option), NVRTC_ERROR_INVALID_OPTION);
	CHECK_EQ(api.nvrtcCompileProgram(program, 1, option), NVRTC_ERROR_COMPILATION);
	CHECK_EQ(api.nvrtcGetProgramLogSize(program, &bytes), NVRTC_SUCCESS);
	char *log = malloc(bytes);
	CHECK_EQ(api.nvrtcGetProgramLog(program, log), NVRTC_SUCCESS);
	CHECK_EQ(strlen(log) + 1, bytes);
	CHECK(strstr(log, "nowhere") != NULL);
	CHECK_EQ(api.nvrtcGetCUBINSize(program, &bytes), NVRTC_ERROR_INVALID_PROGRAM);
	free(log);
}

static char log_path[] = "/tmp/hirc-test-mock-XXXXXX";

static void write_log(void)
{
	CUevent e;
	mock_begin();
	make_kernel();
	CUstream s = mock_stream();
	launch(s, NULL, zero(s), 1);
	api.cuEventCreate(&e, 0);
	api.cuEventRecord(e, s);
	api.cuStreamSynchronize(s);
	api.cuModuleUnload(module);
	api.cuDevicePrimaryCtxRelease(0);
}

static void log_is_written(void)
{
	static const char want[] = "cuStreamCreate flags 1\n"
	                           "cuMemAlloc 4\n"
	                           "cuMemsetD8Async 4 stream 1\n"
	                           "cuLaunchKernel hirc_kernel grid 2 block 3 shared 0 stream 1\n"
	                           "cuEventCreate flags 0\n"
	                           "cuEventRecord event 1 stream 1\n"
	                           "cuStreamSynchronize stream 1\n"
	                           "cuModuleUnload module 1\n"
	                           "cuDevicePrimaryCtxRelease 0\n"
	                           "left: 2 allocations, 1 streams, 1 events, 0 modules\n";
	char environment[128], text[4096];
	int file = mkstemp(log_path);
	snprintf(environment, sizeof environment, "HIRC_MOCK_LOG=%s", log_path);
	MOCK_CASE(write_log, environment);
	ssize_t n = read(file, text, sizeof text - 1);
	text[n > 0 ? n : 0] = 0;
	const char *from = strstr(text, "cuStreamCreate");
	CHECK_STR(from ? from : text, want);
	close(file);
	unlink(log_path);
}

int main(void)
{
	MOCK_CASE(stream_is_asynchronous, "");
	MOCK_CASE(wait_is_for_the_record_at_the_call, "");
	for (int seed = 1; seed <= 4; seed++) {
		char environment[64];
		snprintf(environment, sizeof environment, "HIRC_MOCK_DELAY_US=2000 HIRC_MOCK_SEED=%d", seed);
		MOCK_CASE(events_order, environment);
	}
	MOCK_CASE(events_have_times, "");
	MOCK_CASE(copies, "");
	MOCK_CASE(memory_ends, "HIRC_MOCK_MEMORY=1000");
	printf("the next four abort\n");
	CHECK_EQ(mock_status(use_destroyed_stream, ""), -SIGABRT);
	CHECK_EQ(mock_status(use_other_handle, ""), -SIGABRT);
	CHECK_EQ(mock_status(copy_too_much, ""), -SIGABRT);
	CHECK_EQ(mock_status(free_twice, ""), -SIGABRT);
	MOCK_CASE(no_context, "");
	MOCK_CASE(bad_launches, "");
	MOCK_CASE(third_allocation_fails, "HIRC_MOCK_FAIL=cuMemAlloc:3");
	MOCK_CASE(
	    calls_fail,
	    "HIRC_MOCK_FAIL=cuEventCreate:1,cuEventCreate:2,cuStreamSynchronize:1,cuEventElapsedTime:1");
	MOCK_CASE(kernel_fails, "HIRC_MOCK_FAIL=kernel:2");
	MOCK_CASE(no_devices, "HIRC_MOCK_DEVICES=0");
	MOCK_CASE(several_devices, "HIRC_MOCK_DEVICES=3");
	MOCK_CASE(compiler_complains, "");
	log_is_written();
	return check_result();
}
