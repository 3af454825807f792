/* record_driver: calls of the driver. */
#include "base/arena.h"
#include "cuda/record_calls.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSORS = 132, /* of the simulated GPU, an H100 */
	SHARED = 227 << 10,
	MAJOR = 9,
};

/* A call that prints nothing. */
#define SILENT(name, ...)                                                                                    \
	static CUresult record_##name(__VA_ARGS__)                                                           \
	{                                                                                                    \
		return CUDA_SUCCESS;                                                                         \
	}

/* ---- the GPU */

SILENT(cuInit, unsigned flags)
SILENT(cuDevicePrimaryCtxRelease, CUdevice device)
SILENT(cuCtxSetCurrent, CUcontext context)

static CUresult record_cuGetErrorName(CUresult r, const char **text)
{
	*text = "";
	return CUDA_SUCCESS;
}

static CUresult record_cuGetErrorString(CUresult r, const char **text)
{
	return record_cuGetErrorName(r, text);
}

static CUresult record_cuDriverGetVersion(int *version)
{
	*version = CUDA_VERSION;
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceGetCount(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceGet(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceGetName(char *name, int n, CUdevice device)
{
	snprintf(name, (size_t)n, "a GPU");
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceTotalMem(size_t *bytes, CUdevice device)
{
	*bytes = 0;
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceGetUuid(CUuuid *id, CUdevice device)
{
	memset(id, 0, sizeof *id);
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice device)
{
	*value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR            ? MAJOR
	         : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT              ? PROCESSORS
	         : which == CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN ? SHARED
	         : which == CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED ||
	                 which == CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED ||
	                 which == CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED
	             ? 1
	             : 0;
	return CUDA_SUCCESS;
}

static CUresult record_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	*can = 1;
	return CUDA_SUCCESS;
}

static CUresult record_cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	*context = record_handle_new(0);
	return CUDA_SUCCESS;
}

/* ---- memory */

SILENT(cuMemFree, CUdeviceptr at)

static CUresult record_cuMemAlloc(CUdeviceptr *at, size_t bytes)
{
	record_say("cuMemAlloc %zu bytes\n", bytes);
	*at = record_memory(bytes);
	return CUDA_SUCCESS;
}

static CUresult record_cuMemGetInfo(size_t *left, size_t *all)
{
	*left = *all = 0;
	return CUDA_SUCCESS;
}

static CUresult record_cuMemGetAddressRange(CUdeviceptr *from, size_t *bytes, CUdeviceptr at)
{
	*from = at;
	*bytes = 0;
	return CUDA_SUCCESS;
}

static CUresult say_block(const char *call, const struct record_block *b)
{
	if (!b)
		return CUDA_ERROR_INVALID_VALUE;
	record_say("%s memory %d of rank %d, %zu bytes\n", call, b->number, b->rank, b->bytes);
	return CUDA_SUCCESS;
}

static CUresult record_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr at)
{
	static_assert(sizeof(struct record_block) <= sizeof *handle, "a handle says which block it is of");
	const struct record_block *b = record_find(at);
	memset(handle, 0, sizeof *handle);
	if (b)
		memcpy(handle, b, sizeof *b);
	return say_block("cuIpcGetMemHandle", b);
}

static CUresult record_cuIpcOpenMemHandle(CUdeviceptr *at, CUipcMemHandle handle, unsigned flags)
{
	struct record_block b;
	memcpy(&b, &handle, sizeof b);
	record_open(&b);
	*at = b.at;
	return say_block("cuIpcOpenMemHandle", &b);
}

static CUresult record_cuIpcCloseMemHandle(CUdeviceptr at)
{
	return say_block("cuIpcCloseMemHandle", record_find(at));
}

static CUresult record_cuMemHostAlloc(void **at, size_t bytes, unsigned flags)
{
	*at = mem_zalloc(bytes);
	return CUDA_SUCCESS;
}

static CUresult record_cuMemFreeHost(void *at)
{
	free(at);
	return CUDA_SUCCESS;
}

static CUresult record_cuMemHostGetDevicePointer(CUdeviceptr *at, void *host, unsigned flags)
{
	*at = (CUdeviceptr)host;
	return CUDA_SUCCESS;
}

static CUresult say_copy(const char *call, size_t bytes, CUstream s)
{
	record_say("%s %zu bytes on stream %d\n", call, bytes, record_number(s));
	return CUDA_SUCCESS;
}

static CUresult record_cuMemcpyHtoDAsync(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
	return say_copy("cuMemcpyHtoDAsync", bytes, s);
}

static CUresult record_cuMemcpyDtoHAsync(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
	memset(to, 0, bytes);
	return say_copy("cuMemcpyDtoHAsync", bytes, s);
}

/* Prints ` from rank 1` for memory of another rank. */
static void say_rank(const char *word, CUdeviceptr at)
{
	if (record_other_rank(at) >= 0)
		record_more(" %s rank %d", word, record_other_rank(at));
}

static CUresult record_cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	record_say("cuMemcpyDtoDAsync %zu bytes", bytes);
	say_rank("from", from);
	say_rank("to", to);
	record_more(" on stream %d%s\n", record_number(s), record_owner(s));
	return CUDA_SUCCESS;
}

static CUresult record_cuMemsetD8Async(CUdeviceptr at, unsigned char value, size_t bytes, CUstream s)
{
	record_say("cuMemsetD8Async %zu bytes to 0x%02x on stream %d\n", bytes, (unsigned)value,
	           record_number(s));
	return CUDA_SUCCESS;
}

/* ---- streams and events: all that they were given is over */

SILENT(cuStreamDestroy, CUstream s)
SILENT(cuStreamQuery, CUstream s)
SILENT(cuEventDestroy, CUevent e)
SILENT(cuEventQuery, CUevent e)

static CUresult record_cuStreamCreate(CUstream *s, unsigned flags)
{
	*s = record_handle_new(record_next(RECORD_STREAMS));
	record_say("cuStreamCreate stream %d\n", record_number(*s));
	return CUDA_SUCCESS;
}

static CUresult record_cuStreamSynchronize(CUstream s)
{
	record_say("cuStreamSynchronize stream %d\n", record_number(s));
	return CUDA_SUCCESS;
}

static CUresult record_cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
	record_say("cuStreamWaitEvent stream %d for event %d%s\n", record_number(s), record_number(e),
	           record_owner(e));
	return CUDA_SUCCESS;
}

/* Prints `word 514 of rank 1`, the place in its allocation. */
static CUresult say_word(CUdeviceptr at)
{
	const struct record_block *b = record_find(at);
	if (!b)
		return CUDA_ERROR_INVALID_VALUE;
	record_more("word %zu", (size_t)(at - b->at) / sizeof(cuuint32_t));
	say_rank("of", at);
	record_more("\n");
	return CUDA_SUCCESS;
}

static CUresult record_cuStreamWaitValue32(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
	record_say("cuStreamWaitValue32 stream %d for %s %u, ", record_number(s),
	           flags == CU_STREAM_WAIT_VALUE_EQ ? "==" : ">=", value);
	return say_word(at);
}

static CUresult record_cuStreamWriteValue32(CUstream s, CUdeviceptr at, cuuint32_t value, unsigned flags)
{
	record_say("cuStreamWriteValue32 stream %d: %u to ", record_number(s), value);
	return say_word(at);
}

static CUresult record_cuEventCreate(CUevent *e, unsigned flags)
{
	*e = record_handle_new(-1);
	return CUDA_SUCCESS;
}

static CUresult record_cuEventRecord(CUevent e, CUstream s)
{
	record_event((struct record_handle *)e);
	record_say("cuEventRecord event %d on stream %d\n", record_number(e), record_number(s));
	return CUDA_SUCCESS;
}

static CUresult record_cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
	*milliseconds = 0;
	return CUDA_SUCCESS;
}

/* ---- kernels: the image is their title (record_nvrtc.c), the function is the module */

SILENT(cuModuleUnload, CUmodule m)
SILENT(cuFuncSetAttribute, CUfunction f, CUfunction_attribute which, int value)

static CUresult record_cuModuleLoadData(CUmodule *m, const void *image)
{
	struct record_handle *h = record_handle_new(0);
	memcpy(h->title, image, RECORD_TITLE_BYTES);
	*m = (CUmodule)h;
	return CUDA_SUCCESS;
}

static CUresult record_cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name)
{
	*f = (CUfunction)m;
	return CUDA_SUCCESS;
}

static CUresult record_cuLaunchKernel(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned threads,
                                      unsigned ty, unsigned tz, unsigned shared, CUstream s, void **parameter,
                                      void **extra)
{
	const char *title = ((struct record_handle *)f)->title;
	title += strspn(title, "/ ");
	record_say("cuLaunchKernel on stream %d, %u x %u threads: %s\n", record_number(s), x, threads, title);
	return CUDA_SUCCESS;
}

/* ---- graphs: the launched graph is the graph itself */

SILENT(cuGraphDestroy, CUgraph graph)
SILENT(cuGraphExecDestroy, CUgraphExec executable)

static CUresult record_cuStreamBeginCapture(CUstream s, CUstreamCaptureMode mode)
{
	record_say("cuStreamBeginCapture stream %d\n", record_number(s));
	return CUDA_SUCCESS;
}

static CUresult record_cuStreamEndCapture(CUstream s, CUgraph *graph)
{
	record_say("cuStreamEndCapture stream %d\n", record_number(s));
	*graph = record_handle_new(0);
	return CUDA_SUCCESS;
}

static CUresult record_cuGraphInstantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
	*executable = (CUgraphExec)graph;
	return CUDA_SUCCESS;
}

static CUresult record_cuGraphLaunch(CUgraphExec executable, CUstream s)
{
	record_say("cuGraphLaunch on stream %d\n", record_number(s));
	return CUDA_SUCCESS;
}

void record_driver(struct cuda_api *api)
{
	CUDA_DRIVER_CALLS(RECORD_ENTRY)
}
