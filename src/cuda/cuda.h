/* cuda: the GPU of one rank, and the functions that the files of this folder share.
 *
 *     api.c             the libraries' entry points
 *     cuda_check.c      their calls, checked
 *     cuda_device.c     the device "cuda": context, memory, streams, events; device_*.c
 *     cuda_clock.c      times of events on the host's clock
 *     call_times.c      times of the driver's calls
 *     nvtx.c            ranges for tools
 *     kernel.c          a task as a launch: kernel_*.c write its source, cuda_compile.c makes a cubin of it
 *     cuda_cache.c      cubins on disk
 *     gemm.c            contractions, by cuBLASLt; gemm_timing.c chooses among algorithms
 *     record.c          the calls as text, without a GPU; record_*.c: one library each
 *     launch_cache.c    launches of tasks that are run again
 *     gpu_assignment.c  the GPU of each rank, and the choice of a transport
 *     cuda_transport.c  functions shared by the transports; stream_pool.c, messages.c
 *     nccl.c            the transport "nccl": nccl_*.c
 *     peers.c           the transport "peers": ranks that are threads of one process; peers_collective.c
 *     ipc.c             the transport "cuda-ipc": ranks that are processes of one host; ipc_*.c
 *     cuda_heap.c       for peers and cuda-ipc: memory that all ranks map; handles.c
 *
 * Ranks that are threads share the primary context of a GPU. */
#ifndef HIRC_CUDA_CUDA_H
#define HIRC_CUDA_CUDA_H
#include "cuda/api.h"
#include "cuda/open.h"
#include "rt/device.h"

enum { CUDA_RECENT = 8 };

struct cuda_kernels;      /* see kernel.h */
struct cuda_gemms;        /* see gemm.h */
struct cuda_launch_cache; /* see launch_cache.h */

/* An error that a kernel found, in memory that host and GPU see. Only the first one is stored. */
struct cuda_fault {
	uint32_t kind;  /* enum rt_fault; 0: none */
	uint32_t label; /* of the statement */
	int64_t value, iteration, limit;
};

struct cuda {
	struct rt_device base;
	const struct cuda_api *api;
	struct cuda_record *record; /* NULL: `api` has the real libraries */
	int ordinal;                /* of the GPU, among the visible ones */
	CUdevice device;
	CUcontext context;
	int major, minor, processors; /* compute capability; number of multiprocessors */
	struct rt_origin at;          /* the statement that is being issued, for messages */
	struct rt_origin
	    recent[CUDA_RECENT];  /* statements launched last, each once: number k is at k % CUDA_RECENT */
	uint64_t launched;        /* number of these since the streams were idle */
	struct cuda_fault *fault; /* pinned, mapped */
	CUdeviceptr fault_at;     /* its address for kernels */
	struct cuda_kernels *kernels;
	struct cuda_gemms *gemms;
	struct cuda_launch_cache *launch_cache;
	struct cuda_streams *streams; /* see cuda_device.h */
	bool captured; /* work is captured into a graph that ranks share: no stream may be queried */
};

/* Memory that the device has allocated. */
struct cuda_memory {
	CUdeviceptr at;
	size_t bytes;
	uint64_t number; /* from 1 on; never used again on this device */
};
/* Finds the memory that contains bytes from `at` on, valid until the next allocation. NULL: none does. */
const struct cuda_memory *cuda_memory_find(const struct cuda *c, const void *at, size_t bytes);

/* Opens a library as cuda_api_open does, unless calls are only recorded. */
enum status cuda_need(struct cuda *c, enum cuda_library library);

/* Calls a library and checks the result. Returns false after failing the job with a message: statement, call
 * and the library's own text.
 *     if (!cuda_call(c, cuMemAlloc, &at, bytes)) return rt_job_status(c->base.job); */
#define cuda_call(c, name, ...) cuda_check((c), (c)->api->name(__VA_ARGS__), #name)
#define cuda_call_blas(c, name, ...) cuda_check_blas((c), (c)->api->name(__VA_ARGS__), #name)
#define cuda_call_nvrtc(c, name, ...) cuda_check_nvrtc((c), (c)->api->name(__VA_ARGS__), #name)
#define cuda_call_nccl(c, name, ...) cuda_check_nccl((c), (c)->api->name(__VA_ARGS__), #name)
bool cuda_check(struct cuda *c, CUresult r, const char *call);
bool cuda_check_blas(struct cuda *c, cublasStatus_t r, const char *call);
bool cuda_check_nvrtc(struct cuda *c, nvrtcResult r, const char *call);
bool cuda_check_nccl(struct cuda *c, ncclResult_t r, const char *call);

/* Operations of the device, for transports: as in struct rt_async_ops. */
enum status cuda_stream_new(struct cuda *c, CUstream *out);
enum status cuda_event_record(struct cuda *c, CUstream s, CUevent *out);
void cuda_event_release(struct cuda *c, CUevent e);
/* Finds the flags of a stream's wait for a value to be reached, which a rank on another GPU may write. Returns false
 * after a message. */
bool cuda_wait_flags(struct cuda *c, unsigned *out);

enum status cuda_nccl_open(struct rt_job *job, struct cuda *c, bool exact, struct rt_transport **out);
enum status cuda_peers_open(struct rt_job *job, struct cuda *c, struct rt_transport **out);
enum status cuda_ipc_open(struct rt_job *job, struct cuda *c, struct rt_transport **out);

#endif
