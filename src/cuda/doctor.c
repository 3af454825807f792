/* doctor: examines driver, GPUs and NVIDIA's libraries for `hirc doctor`. */
#include "base/str.h"
#include "cuda/api.h"
#include "cuda/cuda_cache.h"
#include "cuda/open.h"
#include <string.h>

#define GIB (1024.0 * 1024 * 1024)
enum { MAX_GPUS = 64 };

static const char *error_text(CUresult r)
{
	const char *text = NULL;
	cuda_api()->cuGetErrorString(r, &text);
	return text ? text : "unknown error";
}

/* Returns true if a library is found; otherwise adds a finding. */
static bool has_library(struct findings *f, enum cuda_library l, const char *subject, const char *fix)
{
	struct buf names = {0}, why = {0};
	buf_puts(&why, "");
	bool ok = cuda_api_try(l, &names, &why);
	if (!ok)
		finding_add(f, FINDING_MISSING, subject, fix, "%s%s%s", strstr(why.at, ".so") ? "" : names.at,
		            strstr(why.at, ".so") ? "" : ": ", why.at);
	buf_free(&names);
	buf_free(&why);
	return ok;
}

static void no_gpu(struct findings *f)
{
	finding_add(f, FINDING_MISSING, "gpu", "docker run --gpus=all, or unset CUDA_VISIBLE_DEVICES",
	            "the driver shows none");
}

static bool examine_driver(struct findings *f)
{
	static const char fix[] = "apt-get install nvidia-driver";
	int version = 0;
	if (!has_library(f, CUDA_DRIVER, "driver", fix))
		return false;
	CUresult r = cuda_api()->cuInit(0);
	if (r == CUDA_ERROR_NO_DEVICE) {
		no_gpu(f);
		return false;
	}
	if (r == CUDA_SUCCESS)
		r = cuda_api()->cuDriverGetVersion(&version);
	if (r != CUDA_SUCCESS) {
		finding_add(f, FINDING_MISSING, "driver", "nvidia-smi says more", "cuInit: %s",
		            error_text(r));
		return false;
	}
	finding_add(f, FINDING_OK, "driver", NULL, "of CUDA %d.%d; hirc was built with headers of %d.%d",
	            version / 1000, version % 1000 / 10, CUDA_VERSION / 1000, CUDA_VERSION % 1000 / 10);
	return true;
}

static bool examine_gpu(struct findings *f, int index)
{
	const struct cuda_api *api = cuda_api();
	char name[96] = "";
	CUdevice device;
	size_t bytes = 0;
	int major = 0, minor = 0, mode = 0;
	CUresult r = api->cuDeviceGet(&device, index);
	if (r == CUDA_SUCCESS)
		r = api->cuDeviceGetName(name, sizeof name, device);
	if (r == CUDA_SUCCESS)
		r = api->cuDeviceTotalMem(&bytes, device);
	if (r == CUDA_SUCCESS)
		r = api->cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
	if (r == CUDA_SUCCESS)
		r = api->cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
	if (r == CUDA_SUCCESS)
		r = api->cuDeviceGetAttribute(&mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, device);
	if (r != CUDA_SUCCESS)
		finding_add(f, FINDING_WARNING, "gpu", "nvidia-smi says more", "%d: %s", index,
		            error_text(r));
	else if (mode != CU_COMPUTEMODE_DEFAULT)
		finding_add(f, FINDING_WARNING, "gpu", "nvidia-smi -c DEFAULT",
		            "%d: %s, %.1f GiB, sm_%d%d; %s", index, name, (double)bytes / GIB, major, minor,
		            mode == CU_COMPUTEMODE_PROHIBITED ? "no process may use it"
		                                              : "one process may use it");
	else
		finding_add(f, FINDING_OK, "gpu", NULL, "%d: %s, %.1f GiB, sm_%d%d", index, name,
		            (double)bytes / GIB, major, minor);
	return r == CUDA_SUCCESS && mode != CU_COMPUTEMODE_PROHIBITED;
}

/* Counts pairs of GPUs, in both directions, of which one cannot read the other's memory. */
static void examine_peers(struct findings *f, int n)
{
	const struct cuda_api *api = cuda_api();
	int apart = 0, first = -1, second = -1;
	for (int a = 0; a < n; a++)
		for (int b = 0; b < n; b++) {
			CUdevice from, to;
			int can = 0;
			if (a == b || api->cuDeviceGet(&from, a) != CUDA_SUCCESS ||
			    api->cuDeviceGet(&to, b) != CUDA_SUCCESS)
				continue;
			if (api->cuDeviceCanAccessPeer(&can, from, to) == CUDA_SUCCESS && can)
				continue;
			first = apart++ ? first : a;
			second = apart == 1 ? b : second;
		}
	if (apart)
		finding_add(f, FINDING_WARNING, "peers", "hirc run --transport=nccl",
		            "%d of %d pairs of GPUs cannot read each other's memory, the first %d and %d: "
		            "data between them goes through the host",
		            apart, n * (n - 1), first, second);
	else if (n > 1)
		finding_add(f, FINDING_OK, "peers", NULL, "all GPUs read each other's memory");
}

/* Has a stream write a value and wait for it. Returns the call that failed, its result in *r; NULL: none. */
static const char *use_values(CUdevice device, CUresult *r)
{
	const struct cuda_api *api = cuda_api();
	CUcontext context = NULL;
	CUstream stream = NULL;
	CUdeviceptr at = 0;
	const char *failed = NULL;
#define TRY(call, ...) (failed || (*r = api->call(__VA_ARGS__)) == CUDA_SUCCESS || (failed = #call))
	TRY(cuDevicePrimaryCtxRetain, &context, device);
	TRY(cuCtxSetCurrent, context);
	TRY(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
	TRY(cuMemAlloc, &at, sizeof(uint32_t));
	TRY(cuStreamWriteValue32, stream, at, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
	TRY(cuStreamWaitValue32, stream, at, 1, CU_STREAM_WAIT_VALUE_GEQ);
	TRY(cuStreamSynchronize, stream);
#undef TRY
	if (at)
		api->cuMemFree(at);
	if (stream)
		api->cuStreamDestroy(stream);
	if (context)
		api->cuDevicePrimaryCtxRelease(device);
	return failed;
}

/* Examines how streams of several processes wait for each other. */
static void examine_values(struct findings *f, CUdevice device)
{
	CUresult r = CUDA_SUCCESS;
	int flushes = 0;
	const char *failed = use_values(device, &r);
	if (failed) {
		finding_add(f, FINDING_WARNING, "values", "hirc run --transport=nccl",
		            "%s: %s: the transport cuda-ipc will not work", failed, error_text(r));
		return;
	}
	cuda_api()->cuDeviceGetAttribute(&flushes, CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, device);
	finding_add(f, FINDING_OK, "values", NULL, "streams wait for values in memory%s",
	            flushes ? ", and flush the writes of other GPUs" : "");
}

/* Examines how processes share a GPU. Drivers before CUDA 12.4 do not know. */
static void examine_sharing(struct findings *f, CUdevice device)
{
	int mps = 0;
	if (cuda_api()->cuDeviceGetAttribute(&mps, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) == CUDA_SUCCESS)
		finding_add(
		    f, FINDING_OK, "mps", NULL,
		    mps ? "on: processes use a GPU at the same time"
		        : "off: processes that share a GPU take turns; ranks that are threads do not");
}

/* Examines the number of hardware queues. Streams that share one wait for each other. */
static void examine_queues(struct findings *f)
{
	enum { DEFAULT_QUEUES = 8, MOST_QUEUES = 32 };
	const char *text = getenv("CUDA_DEVICE_MAX_CONNECTIONS");
	char *end = NULL;
	long n = text ? strtol(text, &end, 10) : DEFAULT_QUEUES;
	if (text && (end == text || *end || n < 1 || n > MOST_QUEUES))
		finding_add(f, FINDING_WARNING, "queues", "unset CUDA_DEVICE_MAX_CONNECTIONS",
		            "CUDA_DEVICE_MAX_CONNECTIONS=%s: it has to be a number from 1 to %d", text,
		            MOST_QUEUES);
	else if (n < DEFAULT_QUEUES)
		finding_add(f, FINDING_WARNING, "queues", "unset CUDA_DEVICE_MAX_CONNECTIONS",
		            "CUDA_DEVICE_MAX_CONNECTIONS=%ld: the streams of a process share %ld hardware "
		            "queue%s, and streams in one queue wait for each other",
		            n, n, n == 1 ? "" : "s");
	else
		finding_add(f, FINDING_OK, "queues", NULL, "%ld hardware queues for the streams of a process",
		            n);
}

static int examine_gpus(struct findings *f)
{
	int n = 0, good = 0;
	CUresult r = cuda_api()->cuDeviceGetCount(&n);
	if (r != CUDA_SUCCESS)
		finding_add(f, FINDING_MISSING, "gpu", "nvidia-smi says more", "cuDeviceGetCount: %s",
		            error_text(r));
	else if (!n)
		no_gpu(f);
	if (r != CUDA_SUCCESS || !n)
		return 0;
	for (int k = 0; k < n && k < MAX_GPUS; k++)
		good += examine_gpu(f, k);
	examine_peers(f, n < MAX_GPUS ? n : MAX_GPUS);
	CUdevice first;
	if (good && cuda_api()->cuDeviceGet(&first, 0) == CUDA_SUCCESS) {
		examine_values(f, first);
		examine_sharing(f, first);
		examine_queues(f);
	}
	return good;
}

static void examine_libraries(struct findings *f)
{
	int major, minor, nccl;
	if (has_library(f, CUDA_BLAS, "cublaslt",
	                "pip install nvidia-cublas, and LD_LIBRARY_PATH with its folder lib")) {
		size_t v = cuda_api()->cublasLtGetVersion(); /* 130100 is 13.1.0; versions before 13 have
		                                                the same form */
		finding_add(f, FINDING_OK, "cublaslt", NULL, "cuBLASLt %zu.%zu.%zu", v / 10000, v / 100 % 100,
		            v % 100);
	}
	if (has_library(f, CUDA_NVRTC, "nvrtc",
	                "pip install nvidia-cuda-nvrtc, and LD_LIBRARY_PATH with its folder lib") &&
	    cuda_api()->nvrtcVersion(&major, &minor) == NVRTC_SUCCESS)
		finding_add(f, FINDING_OK, "nvrtc", NULL, "NVRTC %d.%d", major, minor);
	if (has_library(f, CUDA_NCCL, "nccl", "apt-get install libnccl2, of NVIDIA's repository") &&
	    cuda_api()->ncclGetVersion(&nccl) == ncclSuccess)
		finding_add(f, FINDING_OK, "nccl", NULL, "NCCL %d.%d.%d", nccl / 10000, nccl / 100 % 100,
		            nccl % 100);
}

static void examine_cache(struct findings *f)
{
	struct buf folder = {0}, why = {0};
	const char *said = getenv("HIRC_CACHE");
	if (said && !strcmp(said, "off"))
		finding_add(f, FINDING_WARNING, "cache", "unset HIRC_CACHE",
		            "HIRC_CACHE=off: each process compiles its kernels again");
	else if (cuda_cache_folder(&folder, &why))
		finding_add(f, FINDING_OK, "cache", NULL, "compiled kernels are in %s", folder.at);
	else if (why.n)
		finding_add(f, FINDING_WARNING, "cache", "export XDG_CACHE_HOME=/a/folder/of/your/own",
		            "%s: each process compiles its kernels again", why.at);
	else
		finding_add(f, FINDING_WARNING, "cache",
		            "export XDG_CACHE_HOME=/a/folder/that/can/be/written",
		            "no folder for compiled kernels: each process compiles them again");
	buf_free(&folder);
	buf_free(&why);
}

void cuda_doctor(struct findings *f, int *gpus)
{
	*gpus = 0;
	if (!examine_driver(f))
		return;
	*gpus = examine_gpus(f);
	examine_libraries(f);
	examine_cache(f);
}
