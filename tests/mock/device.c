/* device: GPUs of the mock driver, their primary contexts, and the names of errors. */
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>

static struct CUctx_st *primary[64]; /* by device; NULL: not retained */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool is_initialised;
static CUresult broken = CUDA_SUCCESS;
static _Thread_local CUcontext current;

/* ---- errors */

#define ERRORS(X)                                                                                            \
	X(CUDA_SUCCESS, "no error")                                                                          \
	X(CUDA_ERROR_INVALID_VALUE, "invalid argument")                                                      \
	X(CUDA_ERROR_OUT_OF_MEMORY, "out of memory")                                                         \
	X(CUDA_ERROR_NOT_INITIALIZED, "initialization error")                                                \
	X(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected")                                        \
	X(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal")                                               \
	X(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid")                                        \
	X(CUDA_ERROR_INVALID_CONTEXT, "invalid device context")                                              \
	X(CUDA_ERROR_OPERATING_SYSTEM, "OS call failed or operation not supported on this OS")               \
	X(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle")                                              \
	X(CUDA_ERROR_NOT_FOUND, "named symbol not found")                                                    \
	X(CUDA_ERROR_NOT_READY, "device not ready")                                                          \
	X(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered")                            \
	X(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch")                     \
	X(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure")                                            \
	X(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "operation not permitted when stream is capturing")         \
	X(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "operation failed due to a previous error during capture")  \
	X(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "capture was not ended in the same stream as it began")       \
	X(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "capturing stream has unjoined work")                          \
	X(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "dependency created on uncaptured work in another stream")    \
	X(CUDA_ERROR_CAPTURED_EVENT,                                                                         \
	  "operation not permitted on an event last recorded in a capturing stream")                         \
	X(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,                                                            \
	  "attempt to terminate a thread-local capture sequence from another thread")                        \
	X(CUDA_ERROR_NOT_SUPPORTED, "operation not supported")                                               \
	X(CUDA_ERROR_UNKNOWN, "unknown error")

static const struct {
	CUresult code;
	const char *name, *text;
} error[] = {
#define ROW(code, text) {code, #code, text},
    ERRORS(ROW)
#undef ROW
};

CUresult cuGetErrorName(CUresult code, const char **out)
{
	for (size_t k = 0; k < sizeof error / sizeof *error; k++)
		if (error[k].code == code) {
			*out = error[k].name;
			return CUDA_SUCCESS;
		}
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **out)
{
	for (size_t k = 0; k < sizeof error / sizeof *error; k++)
		if (error[k].code == code) {
			*out = error[k].text;
			return CUDA_SUCCESS;
		}
	*out = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

/* ---- state */

CUcontext driver_context(void)
{
	return current;
}

int mock_device_current(void)
{
	return current ? current->device : -1;
}

static CUresult state_of_driver(void)
{
	pthread_mutex_lock(&lock);
	CUresult r = is_initialised ? broken : CUDA_ERROR_NOT_INITIALIZED;
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult driver_state(void)
{
	CUresult r = state_of_driver();
	return r == CUDA_SUCCESS && !current ? CUDA_ERROR_INVALID_CONTEXT : r;
}

void driver_break(CUresult code)
{
	pthread_mutex_lock(&lock);
	broken = code;
	pthread_mutex_unlock(&lock);
}

bool driver_is_broken(void)
{
	pthread_mutex_lock(&lock);
	bool is = broken != CUDA_SUCCESS;
	pthread_mutex_unlock(&lock);
	return is;
}

/* ---- devices */

static bool is_device(CUdevice device)
{
	return device >= 0 && device < mock_settings()->devices;
}

CUresult cuInit(unsigned flags)
{
	MOCK_ENTER(CUDA_ERROR_UNKNOWN, NULL);
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	if (mock_settings()->devices > (int)(sizeof primary / sizeof *primary))
		mock_abort(__func__, "HIRC_MOCK_DEVICES=%d: too many", mock_settings()->devices);
	if (mock_settings()->devices == 0)
		return CUDA_ERROR_NO_DEVICE;
	pthread_mutex_lock(&lock);
	is_initialised = true;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* Returns the version of the headers that hirc is built with. */
CUresult cuDriverGetVersion(int *out)
{
	MOCK_ENTER(CUDA_ERROR_INVALID_VALUE, NULL);
	*out = mock_settings()->version;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetCount(int *out)
{
	MOCK_ENTER(CUDA_ERROR_UNKNOWN, NULL);
	CUresult r = state_of_driver();
	if (r == CUDA_SUCCESS)
		*out = mock_settings()->devices;
	return r;
}

CUresult cuDeviceGet(CUdevice *out, int ordinal)
{
	MOCK_ENTER(CUDA_ERROR_INVALID_DEVICE, "%d", ordinal);
	CUresult r = state_of_driver();
	if (r == CUDA_SUCCESS && !is_device(ordinal))
		r = CUDA_ERROR_INVALID_DEVICE;
	if (r == CUDA_SUCCESS)
		*out = ordinal;
	return r;
}

CUresult cuDeviceGetName(char *out, int bytes, CUdevice device)
{
	static const char name[] = "mock GPU";
	MOCK_ENTER(CUDA_ERROR_INVALID_DEVICE, "%d", device);
	if (!is_device(device) || bytes <= 0)
		return CUDA_ERROR_INVALID_VALUE;
	int n = 0;
	for (; n < bytes - 1 && name[n]; n++)
		out[n] = name[n];
	out[n] = 0;
	return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem(size_t *out, CUdevice device)
{
	MOCK_ENTER(CUDA_ERROR_INVALID_DEVICE, "%d", device);
	if (!is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (size_t)64 << 30;
	return CUDA_SUCCESS;
}

/* The result is the same in all processes. */
CUresult cuDeviceGetUuid(CUuuid *out, CUdevice device)
{
	MOCK_ENTER(CUDA_ERROR_INVALID_VALUE, "%d", device);
	if (!is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = (CUuuid){.bytes = {'m', 'o', 'c', 'k', (char)device}};
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int *out, CUdevice_attribute attribute, CUdevice device)
{
	static const struct {
		CUdevice_attribute attribute;
		int value;
	} row[] = {
	    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
	    {CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
	    {CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0},
	    {CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
	    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
	    {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, 2048},
	    {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 0x7fffffff},
	    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, MOCK_SHARED},
	    {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, MOCK_MOST_SHARED},
	    {CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
	    {CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
	    {CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 3},
	    {CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, 1}, /* and also of handles of memory */
	    {CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 0},
	    {CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 0},
	    {CU_DEVICE_ATTRIBUTE_MPS_ENABLED, 0},
	    {CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
	    {CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
	    {CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1},
	};
	MOCK_ENTER(CUDA_ERROR_INVALID_VALUE, "%d of %d", (int)attribute, device);
	if (!is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	if (attribute == CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES) {
		*out = mock_settings()->flushes;
		return CUDA_SUCCESS;
	}
	for (size_t k = 0; k < sizeof row / sizeof *row; k++)
		if (row[k].attribute == attribute) {
			bool off =
			    attribute == CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED && mock_settings()->no_ipc;
			*out = off ? 0 : row[k].value;
			return CUDA_SUCCESS;
		}
	return CUDA_ERROR_INVALID_VALUE;
}

/* Returns true for any two devices. */
CUresult cuDeviceCanAccessPeer(int *out, CUdevice device, CUdevice peer)
{
	MOCK_ENTER(CUDA_ERROR_INVALID_DEVICE, "%d of %d", device, peer);
	if (!is_device(device) || !is_device(peer))
		return CUDA_ERROR_INVALID_DEVICE;
	*out = device != peer && !mock_settings()->apart;
	return CUDA_SUCCESS;
}

/* ---- contexts */

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice device)
{
	MOCK_ENTER(CUDA_ERROR_OUT_OF_MEMORY, "%d", device);
	CUresult r = state_of_driver();
	if (r != CUDA_SUCCESS)
		return r;
	if (!is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	struct CUctx_st **c = &primary[device];
	if (!*c) {
		*c = calloc(1, sizeof **c);
		if (!*c)
			mock_abort(__func__, "the host has no memory");
		(*c)->device = device;
		mock_object_add(&(*c)->object, MOCK_CONTEXT);
	}
	(*c)->users++;
	*out = *c;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

/* When the last user releases the last context, everything is freed; the log lists what was left. */
CUresult cuDevicePrimaryCtxRelease(CUdevice device)
{
	MOCK_ENTER(CUDA_ERROR_UNKNOWN, "%d", device);
	if (!is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	pthread_mutex_lock(&lock);
	struct CUctx_st *c = primary[device];
	bool last = c && --c->users == 0;
	if (last) {
		primary[device] = NULL;
		mock_object_end(__func__, MOCK_CONTEXT, c);
	}
	pthread_mutex_unlock(&lock);
	if (last && !mock_object_count(MOCK_CONTEXT))
		mock_log("left: %u allocations, %u streams, %u events, %u modules", memory_count(),
		         mock_object_count(MOCK_STREAM), mock_object_count(MOCK_EVENT),
		         mock_object_count(MOCK_MODULE));
	if (last && !mock_object_count(MOCK_CONTEXT) && memory_count_opened())
		mock_log("left: %u allocations of other processes", memory_count_opened());
	if (last && !mock_object_count(MOCK_CONTEXT) && vmm_left())
		mock_log("left: %u handles, maps and reservations", vmm_left());
	return c ? state_of_driver() : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult cuCtxSetCurrent(CUcontext context)
{
	MOCK_ENTER(CUDA_ERROR_INVALID_CONTEXT, "context %u",
	           context ? mock_object_number(__func__, MOCK_CONTEXT, context) : 0);
	current = context;
	return state_of_driver();
}

CUresult cuCtxSynchronize(void)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_UNKNOWN, NULL);
	streams_wait(mock_device_current());
	return driver_state();
}
