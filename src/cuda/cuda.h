/* cuda: the GPU of one rank, and the shared parts of the files of this folder.
 *
 *     api.c             the libraries' entry points
 *     cuda_check.c      calls of them, checked
 *     cuda_device.c     the device "cuda": context, memory, streams, events; device_*.c
 *     cuda_clock.c      times of events by the host's clock
 *     nvtx.c            ranges for tools
 *     kernel.c          a task as a launch: kernel_*.c write its source, cuda_compile.c makes a cubin of it
 *     gemm.c            contractions, by cuBLASLt
 *     record.c          the calls as text, without a GPU: record_*.c are those of a library
 *     launch_cache.c         the launches of tasks that come again
 *     gpu_assignment.c           where ranks are, and the choice between transports
 *     cuda_transport.c  shared parts of transports; stream_pool.c, messages.c
 *     nccl.c            the transport "nccl": nccl_*.c
 *     peers.c           the transport "peers": ranks that are threads of one process; peers_collective.c
 *     ipc.c             the transport "cuda-ipc": ranks that are processes of one host; ipc_*.c
 *     cuda_heap.c       of these two: memory that all ranks map; handles.c
 *
 * Ranks that are threads share the primary context of a GPU. */
#ifndef HIRC_CUDA_CUDA_H
#define HIRC_CUDA_CUDA_H
#include "cuda/api.h"
#include "cuda/open.h"
#include "rt/device.h"

struct cuda_kernels;      /* see kernel.h */
struct cuda_gemms;        /* see gemm.h */
struct cuda_launch_cache; /* see launch_cache.h */

/* A fault that a kernel found, in memory that both sides see: the first one counts. */
struct cuda_fault {
	uint32_t kind;  /* enum rt_fault; 0: none */
	uint32_t label; /* of the statement */
	int64_t value, iteration, limit;
};

struct cuda {
	struct rt_device base;
	const struct cuda_api *api;
	struct cuda_record *record; /* NULL: api is the libraries' */
	int ordinal;                /* of the GPU, among those that are visible */
	CUdevice device;
	CUcontext context;
	int major, minor, processors; /* compute capability; multiprocessors */
	struct rt_origin at;          /* the statement that is being issued, for messages */
	struct cuda_fault *fault;     /* pinned, mapped */
	CUdeviceptr fault_at;         /* where kernels see it */
	struct cuda_kernels *kernels;
	struct cuda_gemms *gemms;
	struct cuda_launch_cache *launch_cache;
	struct cuda_streams *streams; /* cuda_device.h */
};

/* Memory that the device has allocated. */
struct cuda_memory {
	CUdeviceptr at;
	size_t bytes;
	uint64_t number; /* from 1 on; no other memory of this device has had it */
};
/* Finds the memory in which bytes from `at` on lie, valid until the next allocation; NULL: in none. */
const struct cuda_memory *cuda_memory_find(const struct cuda *c, const void *at, size_t bytes);

/* Opens a library, unless calls are recorded only. As cuda_api_open. */
enum status cuda_need(struct cuda *c, enum cuda_library library);

/* Calls of the libraries, checked: false after a message with the statement, the call and the library's own
 * text, and failing the job.
 *     if (!cuda_call(c, cuMemAlloc, &at, bytes)) return rt_job_status(c->base.job);                    */
#define cuda_call(c, name, ...) cuda_check((c), (c)->api->name(__VA_ARGS__), #name)
#define cuda_call_blas(c, name, ...) cuda_check_blas((c), (c)->api->name(__VA_ARGS__), #name)
#define cuda_call_nvrtc(c, name, ...) cuda_check_nvrtc((c), (c)->api->name(__VA_ARGS__), #name)
#define cuda_call_nccl(c, name, ...) cuda_check_nccl((c), (c)->api->name(__VA_ARGS__), #name)
bool cuda_check(struct cuda *c, CUresult r, const char *call);
bool cuda_check_blas(struct cuda *c, cublasStatus_t r, const char *call);
bool cuda_check_nvrtc(struct cuda *c, nvrtcResult r, const char *call);
bool cuda_check_nccl(struct cuda *c, ncclResult_t r, const char *call);

/* The device's, for transports: as in struct rt_async_ops. */
enum status cuda_stream_new(struct cuda *c, CUstream *out);
enum status cuda_event_record(struct cuda *c, CUstream s, CUevent *out);
void cuda_event_release(struct cuda *c, CUevent e);

enum status cuda_nccl_open(struct rt_job *job, struct cuda *c, bool exact, struct rt_transport **out);
enum status cuda_peers_open(struct rt_job *job, struct cuda *c, struct rt_transport **out);
enum status cuda_ipc_open(struct rt_job *job, struct cuda *c, struct rt_transport **out);

#endif
