/* Handles of the mock driver: other processes can map memory. It is an error to open memory that is one's
 * own, is freed, or belongs to a process that has ended. LABELS: tsan */
#include "test_mock_ipc.h"

enum { OPEN = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS };

static void set(void *at, unsigned char value, size_t bytes, CUstream s)
{
	CHECK_EQ(api.cuMemsetD8Async((CUdeviceptr)at, value, bytes, s), CUDA_SUCCESS);
	CHECK_EQ(api.cuStreamSynchronize(s), CUDA_SUCCESS);
}

static int byte_of(const void *at, size_t k, CUstream s)
{
	unsigned char value;
	mock_read(&value, (const char *)at + k, 1, s);
	return value;
}

/* Memory of any size is shared from its beginning to its end. */
static void memory_is_shared(void)
{
	static const size_t size[] = {1, 255, 256, 4096, 5000, 1 << 20};
	struct other o = other_begin();
	mock_begin();
	CUstream s = mock_stream();
	for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
		char go = 0;
		unsigned char *at = other_share(&o, size[k]);
		CUdeviceptr from;
		size_t bytes;
		CHECK_EQ((CUdeviceptr)at % 256, 0);
		CHECK_EQ(api.cuMemGetAddressRange(&from, &bytes, (CUdeviceptr)(at + size[k] - 1)),
		         CUDA_SUCCESS);
		CHECK(from == (CUdeviceptr)at && bytes == size[k]);
		if (o.process) {
			set(at, 7, size[k], s);
			other_send(&o, &go, 1);
			other_receive(&o, &go, 1);
			CHECK_EQ(byte_of(at, 0, s), 8);
			CHECK_EQ(byte_of(at, size[k] - 1, s), 8);
			CHECK_EQ(api.cuMemFree((CUdeviceptr)at), CUDA_SUCCESS);
		} else {
			other_receive(&o, &go, 1);
			CHECK_EQ(byte_of(at, 0, s), 7);
			CHECK_EQ(byte_of(at, size[k] - 1, s), 7);
			set(at, 8, size[k], s);
			CHECK_EQ(api.cuIpcCloseMemHandle((CUdeviceptr)at), CUDA_SUCCESS);
			other_send(&o, &go, 1);
		}
	}
	other_end(&o);
}

/* Opening returns the same pointer until it was closed as often as opened. */
static void opened_twice(void)
{
	CUdeviceptr at[2];
	CUipcMemHandle handle;
	struct other o = other_begin();
	char go = 0;
	mock_begin();
	CUstream s = mock_stream();
	if (o.process) {
		void *own = mock_memory(64);
		set(own, 3, 64, s);
		CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)own), CUDA_SUCCESS);
		other_send(&o, &handle, sizeof handle);
		other_receive(&o, &go, 1);
	} else {
		other_receive(&o, &handle, sizeof handle);
		for (int k = 0; k < 2; k++)
			CHECK_EQ(api.cuIpcOpenMemHandle(&at[k], handle, OPEN), CUDA_SUCCESS);
		CHECK_EQ(at[0], at[1]);
		CHECK_EQ(api.cuIpcCloseMemHandle(at[0]), CUDA_SUCCESS);
		CHECK_EQ(byte_of((void *)at[1], 63, s), 3);
		CHECK_EQ(api.cuIpcCloseMemHandle(at[1]), CUDA_SUCCESS);
		CHECK_EQ(api.cuIpcCloseMemHandle(at[1]), CUDA_ERROR_INVALID_VALUE);
		CHECK_EQ(api.cuMemGetAddressRange(&at[0], NULL, at[1]), CUDA_ERROR_NOT_FOUND);
		other_send(&o, &go, 1);
	}
	other_end(&o);
}

/* Calls that are refused within one process. */
static void mistakes(void)
{
	CUipcMemHandle handle;
	CUdeviceptr at;
	void *pinned;
	mock_begin();
	char *own = mock_memory(512);
	CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)(own + 256)), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuMemHostAlloc(&pinned, 8, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)pinned), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)own), CUDA_SUCCESS);
	CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, 0), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, OPEN), CUDA_ERROR_INVALID_CONTEXT);
	memset(&handle, 0, sizeof handle);
	CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, OPEN), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(api.cuIpcCloseMemHandle((CUdeviceptr)own), CUDA_ERROR_INVALID_VALUE);
}

/* The number of the file then belongs to other memory. */
static void freed_memory(void)
{
	CUipcMemHandle handle, again;
	CUdeviceptr at;
	struct other o = other_begin();
	char go = 0;
	mock_begin();
	if (o.process) {
		void *own = mock_memory(64);
		CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)own), CUDA_SUCCESS);
		CHECK_EQ(api.cuMemFree((CUdeviceptr)own), CUDA_SUCCESS);
		own = mock_memory(64);
		CHECK_EQ(api.cuIpcGetMemHandle(&again, (CUdeviceptr)own), CUDA_SUCCESS);
		CHECK(memcmp(&handle, &again, sizeof handle) != 0);
		other_send(&o, &handle, sizeof handle);
		other_receive(&o, &go, 1);
	} else {
		other_receive(&o, &handle, sizeof handle);
		CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, OPEN), CUDA_ERROR_INVALID_HANDLE);
		other_send(&o, &go, 1);
	}
	other_end(&o);
}

/* Memory of a killed process remains with those who mapped it, and cannot be mapped again. */
static void killed_process(void)
{
	CUipcMemHandle handle;
	CUdeviceptr at, more;
	int status;
	struct other o = other_begin();
	mock_begin();
	CUstream s = mock_stream();
	if (!o.process) {
		void *own = mock_memory(64);
		set(own, 9, 64, s);
		CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)own), CUDA_SUCCESS);
		other_send(&o, &handle, sizeof handle);
		for (;;)
			pause();
	}
	other_receive(&o, &handle, sizeof handle);
	CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, OPEN), CUDA_SUCCESS);
	kill(o.process, SIGKILL);
	CHECK(waitpid(o.process, &status, 0) == o.process);
	CHECK_EQ(byte_of((void *)at, 5, s), 9);
	CHECK_EQ(api.cuIpcOpenMemHandle(&more, handle, OPEN), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(api.cuIpcCloseMemHandle(at), CUDA_SUCCESS);
}

static void calls_fail(void)
{
	CUipcMemHandle handle;
	CUdeviceptr at;
	int version;
	mock_begin();
	void *own = mock_memory(64);
	CHECK_EQ(api.cuDriverGetVersion(&version), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuDriverGetVersion(&version), CUDA_SUCCESS);
	CHECK_EQ(version, CUDA_VERSION);
	CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)own), CUDA_ERROR_INVALID_VALUE);
	CHECK_EQ(api.cuIpcGetMemHandle(&handle, (CUdeviceptr)own), CUDA_SUCCESS);
	CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, OPEN), CUDA_ERROR_INVALID_HANDLE);
	CHECK_EQ(api.cuIpcOpenMemHandle(&at, handle, OPEN), CUDA_ERROR_INVALID_CONTEXT);
	CHECK_EQ(api.cuMemGetAddressRange(&at, NULL, (CUdeviceptr)own), CUDA_ERROR_NOT_FOUND);
	CHECK_EQ(api.cuMemGetAddressRange(&at, NULL, (CUdeviceptr)own), CUDA_SUCCESS);
}

static void attributes(void)
{
	static const CUdevice_attribute has[] = {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING,
	                                         CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED};
	int value;
	mock_begin();
	for (int k = 0; k < 2; k++) {
		CHECK_EQ(api.cuDeviceGetAttribute(&value, has[k], 0), CUDA_SUCCESS);
		CHECK_EQ(value, 1);
	}
}

/* An access past the end of an allocation faults at the latest in the next page. */
static void run_over_the_end(void)
{
	mock_begin();
	volatile char *at = mock_memory(4096);
	at[4096] = 1;
}

int main(void)
{
	MOCK_CASE(memory_is_shared, "");
	MOCK_CASE(memory_is_shared, "HIRC_MOCK_DELAY_US=2000");
	MOCK_CASE(opened_twice, "");
	MOCK_CASE(mistakes, "");
	MOCK_CASE(freed_memory, "");
	MOCK_CASE(killed_process, "");
	MOCK_CASE(calls_fail, "HIRC_MOCK_FAIL=cuDriverGetVersion:1,cuIpcGetMemHandle:1,"
	                      "cuIpcOpenMemHandle:1,cuMemGetAddressRange:1");
	MOCK_CASE(attributes, "");
	printf("the next one ends by a fault\n");
	CHECK(mock_status(run_over_the_end, "") != 0);
	return check_result();
}
