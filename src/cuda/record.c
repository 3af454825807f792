/* record: functions with the libraries' types that print their calls. */
#include "cuda/record.h"
#include "base/vec.h"
#include "cuda/cuda.h"
#include <stdlib.h>
#include <string.h>

enum {
	PROCESSORS = 132, /* of the GPU that is pretended: an H100 */
	MAJOR = 9,
	ALIGNMENT = 256,
	TITLE_BYTES = 160,
};

/* What a handle points to: its number, and what is known of it. */
struct handle {
	int number;
	int64_t a, b, c;         /* of layouts: rows, columns, leading dimension */
	int64_t batch;           /* of layouts */
	char title[TITLE_BYTES]; /* of kernels */
};

struct cuda_record {
	struct buf *out;
	const struct cuda *device;
	struct rt_origin at; /* of the last line */
	VEC(struct handle *) made;
	int streams, events, communicators;
	CUdeviceptr next; /* where memory is pretended to be */
};

static _Thread_local struct cuda_record *record;

static struct handle *handle_new(int number)
{
	struct handle *h = mem_zalloc(sizeof *h);
	h->number = number;
	vec_push(&record->made, h);
	return h;
}

static int number(const void *handle)
{
	return handle ? ((const struct handle *)handle)->number : -1;
}

/* Names the statement, where it is another than that of the last call. */
static void say_statement(void)
{
	struct rt_origin at = record->device->at;
	if (at.label == record->at.label && at.iteration == record->at.iteration)
		return;
	record->at = at;
	if (!at.label)
		return;
	buf_puts(record->out, "# ");
	rt_board_label(record->device->base.job->board, record->device->base.job->rank, at.label,
	               record->out);
	if (at.iteration >= 0)
		buf_printf(record->out, " iteration %lld", (long long)at.iteration);
	buf_putc(record->out, '\n');
}

#define SAY_MORE(...) buf_printf(record->out, __VA_ARGS__)
#define SAY(...) (say_statement(), SAY_MORE(__VA_ARGS__))

/* ---- the driver */

static CUresult record_init(unsigned flags)
{
	(void)flags;
	return CUDA_SUCCESS;
}

static CUresult record_error_text(CUresult r, const char **text)
{
	(void)r;
	*text = "";
	return CUDA_SUCCESS;
}

static CUresult record_device_count(int *count)
{
	*count = 1;
	return CUDA_SUCCESS;
}

static CUresult record_device_get(CUdevice *device, int ordinal)
{
	*device = ordinal;
	return CUDA_SUCCESS;
}

static CUresult record_device_name(char *name, int n, CUdevice device)
{
	(void)device;
	snprintf(name, (size_t)n, "a GPU");
	return CUDA_SUCCESS;
}

static CUresult record_attribute(int *value, CUdevice_attribute which, CUdevice device)
{
	(void)device;
	*value = which == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR ? MAJOR
	         : which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT   ? PROCESSORS
	                                                               : 0;
	return CUDA_SUCCESS;
}

static CUresult record_retain(CUcontext *context, CUdevice device)
{
	(void)device;
	*context = (CUcontext)handle_new(0);
	return CUDA_SUCCESS;
}

static CUresult record_release(CUdevice device)
{
	(void)device;
	return CUDA_SUCCESS;
}

static CUresult record_current(CUcontext context)
{
	(void)context;
	return CUDA_SUCCESS;
}

static CUresult record_alloc(CUdeviceptr *at, size_t bytes)
{
	SAY("cuMemAlloc %zu bytes\n", bytes);
	*at = record->next;
	record->next += (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
	return CUDA_SUCCESS;
}

static CUresult record_free(CUdeviceptr at)
{
	(void)at;
	return CUDA_SUCCESS;
}

static CUresult record_host_alloc(void **at, size_t bytes, unsigned flags)
{
	(void)flags;
	*at = mem_zalloc(bytes);
	return CUDA_SUCCESS;
}

static CUresult record_host_free(void *at)
{
	free(at);
	return CUDA_SUCCESS;
}

static CUresult record_host_pointer(CUdeviceptr *at, void *host, unsigned flags)
{
	(void)flags;
	*at = (CUdeviceptr)host;
	return CUDA_SUCCESS;
}

static CUresult record_upload(CUdeviceptr to, const void *from, size_t bytes, CUstream s)
{
	(void)to;
	(void)from;
	SAY("cuMemcpyHtoDAsync %zu bytes on stream %d\n", bytes, number(s));
	return CUDA_SUCCESS;
}

static CUresult record_download(void *to, CUdeviceptr from, size_t bytes, CUstream s)
{
	(void)from;
	memset(to, 0, bytes);
	SAY("cuMemcpyDtoHAsync %zu bytes on stream %d\n", bytes, number(s));
	return CUDA_SUCCESS;
}

static CUresult record_copy(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream s)
{
	(void)to;
	(void)from;
	SAY("cuMemcpyDtoDAsync %zu bytes on stream %d\n", bytes, number(s));
	return CUDA_SUCCESS;
}

static CUresult record_memset(CUdeviceptr at, unsigned char value, size_t bytes, CUstream s)
{
	(void)at;
	SAY("cuMemsetD8Async %zu bytes to 0x%02x on stream %d\n", bytes, (unsigned)value, number(s));
	return CUDA_SUCCESS;
}

static CUresult record_stream_new(CUstream *s, unsigned flags)
{
	(void)flags;
	*s = (CUstream)handle_new(record->streams++);
	SAY("cuStreamCreate stream %d\n", number(*s));
	return CUDA_SUCCESS;
}

static CUresult record_stream_done(CUstream s)
{
	(void)s;
	return CUDA_SUCCESS;
}

static CUresult record_synchronize(CUstream s)
{
	SAY("cuStreamSynchronize stream %d\n", number(s));
	return CUDA_SUCCESS;
}

static CUresult record_wait(CUstream s, CUevent e, unsigned flags)
{
	(void)flags;
	SAY("cuStreamWaitEvent stream %d for event %d\n", number(s), number(e));
	return CUDA_SUCCESS;
}

static CUresult record_event_new(CUevent *e, unsigned flags)
{
	(void)flags;
	*e = (CUevent)handle_new(-1);
	return CUDA_SUCCESS;
}

static CUresult record_event_record(CUevent e, CUstream s)
{
	((struct handle *)e)->number = record->events++;
	SAY("cuEventRecord event %d on stream %d\n", number(e), number(s));
	return CUDA_SUCCESS;
}

static CUresult record_event_over(CUevent e)
{
	(void)e;
	return CUDA_SUCCESS;
}

/* ---- kernels: the image is the source, whose first line is a comment that says what it does */

static nvrtcResult record_version(int *major, int *minor)
{
	*major = *minor = 0;
	return NVRTC_SUCCESS;
}

static const char *record_nvrtc_error(nvrtcResult r)
{
	(void)r;
	return "";
}

static nvrtcResult record_program_new(nvrtcProgram *p, const char *source, const char *name, int headers,
                                      const char *const *header, const char *const *include)
{
	struct handle *h = handle_new(0);
	(void)name, (void)headers, (void)header, (void)include;
	size_t n = strcspn(source, "\n");
	snprintf(h->title, sizeof h->title, "%.*s", (int)n, source);
	*p = (nvrtcProgram)h;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_program_free(nvrtcProgram *p)
{
	*p = NULL;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_compile(nvrtcProgram p, int options, const char *const *option)
{
	(void)p, (void)options, (void)option;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_size(nvrtcProgram p, size_t *bytes)
{
	(void)p;
	*bytes = TITLE_BYTES;
	return NVRTC_SUCCESS;
}

static nvrtcResult record_image(nvrtcProgram p, char *image)
{
	memcpy(image, ((struct handle *)p)->title, TITLE_BYTES);
	return NVRTC_SUCCESS;
}

static nvrtcResult record_log(nvrtcProgram p, char *log)
{
	(void)p;
	memset(log, 0, TITLE_BYTES);
	return NVRTC_SUCCESS;
}

static CUresult record_module(CUmodule *m, const void *image)
{
	struct handle *h = handle_new(0);
	memcpy(h->title, image, TITLE_BYTES);
	*m = (CUmodule)h;
	return CUDA_SUCCESS;
}

static CUresult record_module_free(CUmodule m)
{
	(void)m;
	return CUDA_SUCCESS;
}

static CUresult record_function(CUfunction *f, CUmodule m, const char *name)
{
	(void)name;
	*f = (CUfunction)m;
	return CUDA_SUCCESS;
}

static CUresult record_launch(CUfunction f, unsigned x, unsigned y, unsigned z, unsigned threads, unsigned ty,
                              unsigned tz, unsigned shared, CUstream s, void **parameter, void **extra)
{
	const char *title = ((struct handle *)f)->title;
	(void)y, (void)z, (void)ty, (void)tz, (void)shared, (void)parameter, (void)extra;
	title += strspn(title, "/ ");
	SAY("cuLaunchKernel on stream %d, %u x %u threads: %s\n", number(s), x, threads, title);
	return CUDA_SUCCESS;
}

/* ---- graphs */

static CUresult record_capture_begin(CUstream s, CUstreamCaptureMode mode)
{
	(void)mode;
	SAY("cuStreamBeginCapture stream %d\n", number(s));
	return CUDA_SUCCESS;
}

static CUresult record_capture_end(CUstream s, CUgraph *graph)
{
	SAY("cuStreamEndCapture stream %d\n", number(s));
	*graph = (CUgraph)handle_new(0);
	return CUDA_SUCCESS;
}

static CUresult record_instantiate(CUgraphExec *executable, CUgraph graph, unsigned long long flags)
{
	(void)flags;
	*executable = (CUgraphExec)graph;
	return CUDA_SUCCESS;
}

static CUresult record_graph_launch(CUgraphExec executable, CUstream s)
{
	(void)executable;
	SAY("cuGraphLaunch on stream %d\n", number(s));
	return CUDA_SUCCESS;
}

static CUresult record_graph_free(CUgraph graph)
{
	(void)graph;
	return CUDA_SUCCESS;
}

static CUresult record_executable_free(CUgraphExec executable)
{
	(void)executable;
	return CUDA_SUCCESS;
}

/* ---- cuBLASLt */

static cublasStatus_t record_blas_new(cublasLtHandle_t *h)
{
	*h = (cublasLtHandle_t)handle_new(0);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_blas_free(cublasLtHandle_t h)
{
	(void)h;
	return CUBLAS_STATUS_SUCCESS;
}

static const char *record_blas_error(cublasStatus_t r)
{
	(void)r;
	return "";
}

static cublasStatus_t record_matmul_new(cublasLtMatmulDesc_t *d, cublasComputeType_t compute,
                                        cudaDataType_t scale)
{
	(void)compute, (void)scale;
	*d = (cublasLtMatmulDesc_t)handle_new(0);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_matmul_free(cublasLtMatmulDesc_t d)
{
	(void)d;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_matmul_set(cublasLtMatmulDesc_t d, cublasLtMatmulDescAttributes_t which,
                                        const void *value, size_t bytes)
{
	struct handle *h = (struct handle *)d;
	int32_t x = 0;
	memcpy(&x, value, bytes < sizeof x ? bytes : sizeof x);
	if (which == CUBLASLT_MATMUL_DESC_TRANSA)
		h->a = x;
	else if (which == CUBLASLT_MATMUL_DESC_TRANSB)
		h->b = x;
	else if (which == CUBLASLT_MATMUL_DESC_EPILOGUE)
		h->c = x;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_layout_new(cublasLtMatrixLayout_t *l, cudaDataType type, uint64_t rows,
                                        uint64_t columns, int64_t leading)
{
	struct handle *h = handle_new((int)type);
	h->a = (int64_t)rows;
	h->b = (int64_t)columns;
	h->c = leading;
	h->batch = 1;
	*l = (cublasLtMatrixLayout_t)h;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_layout_free(cublasLtMatrixLayout_t l)
{
	(void)l;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_layout_set(cublasLtMatrixLayout_t l, cublasLtMatrixLayoutAttribute_t which,
                                        const void *value, size_t bytes)
{
	int32_t x = 0;
	memcpy(&x, value, bytes < sizeof x ? bytes : sizeof x);
	if (which == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT)
		((struct handle *)l)->batch = x;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_preference_new(cublasLtMatmulPreference_t *p)
{
	*p = (cublasLtMatmulPreference_t)handle_new(0);
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_preference_free(cublasLtMatmulPreference_t p)
{
	(void)p;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_preference_set(cublasLtMatmulPreference_t p,
                                            cublasLtMatmulPreferenceAttributes_t which, const void *value,
                                            size_t bytes)
{
	(void)p, (void)which, (void)value, (void)bytes;
	return CUBLAS_STATUS_SUCCESS;
}

static cublasStatus_t record_heuristic(cublasLtHandle_t h, cublasLtMatmulDesc_t d, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c,
                                       cublasLtMatrixLayout_t to, cublasLtMatmulPreference_t p, int want,
                                       cublasLtMatmulHeuristicResult_t *result, int *n)
{
	(void)h, (void)d, (void)a, (void)b, (void)c, (void)to, (void)p, (void)want;
	memset(result, 0, sizeof *result);
	*n = 1;
	return CUBLAS_STATUS_SUCCESS;
}

static const char *type_name(int type)
{
	switch (type) {
	case CUDA_R_64F:
		return "f64";
	case CUDA_R_32F:
		return "f32";
	case CUDA_R_16BF:
		return "bf16";
	case CUDA_R_16F:
		return "f16";
	case CUDA_R_8F_E4M3:
		return "f8e4m3";
	case CUDA_R_8F_E5M2:
		return "f8e5m2";
	default:
		return "?";
	}
}

static void say_layout(const char *name, cublasLtMatrixLayout_t l)
{
	const struct handle *h = (const struct handle *)l;
	SAY_MORE("%s %s %lldx%lld/%lld", name, type_name(h->number), (long long)h->a, (long long)h->b,
	         (long long)h->c);
	if (h->batch > 1)
		SAY_MORE("*%lld", (long long)h->batch);
}

/* Matrices by columns, as cuBLASLt has them: type, rows x columns / leading dimension * batch. */
static cublasStatus_t record_matmul(cublasLtHandle_t h, cublasLtMatmulDesc_t d, const void *alpha,
                                    const void *a, cublasLtMatrixLayout_t la, const void *b,
                                    cublasLtMatrixLayout_t lb, const void *beta, const void *c,
                                    cublasLtMatrixLayout_t lc, void *to, cublasLtMatrixLayout_t ld,
                                    const cublasLtMatmulAlgo_t *algorithm, void *workspace, size_t bytes,
                                    cudaStream_t s)
{
	const struct handle *m = (const struct handle *)d;
	(void)h, (void)alpha, (void)a, (void)b, (void)c, (void)lc, (void)to, (void)algorithm, (void)workspace;
	(void)bytes, (void)beta;
	SAY("cublasLtMatmul on stream %d:", number(s));
	say_layout(m->a == CUBLAS_OP_T ? " a^T" : " a", la);
	say_layout(m->b == CUBLAS_OP_T ? ", b^T" : ", b", lb);
	say_layout(", out", ld);
	SAY_MORE("%s\n", m->c & CUBLASLT_EPILOGUE_BIAS ? ", bias" : "");
	return CUBLAS_STATUS_SUCCESS;
}

/* ---- NCCL */

static const char *const nccl_type[] = {"i8",  "u8",  "i32", "u32",  "i64",    "u64",
                                        "f16", "f32", "f64", "bf16", "f8e4m3", "f8e5m2"};
static const char *const nccl_op[] = {"sum", "prod", "max", "min", "avg"};

static const char *record_nccl_error(ncclResult_t r)
{
	(void)r;
	return "";
}

static const char *record_nccl_last(ncclComm_t c)
{
	(void)c;
	return "";
}

static ncclResult_t record_nccl_id(ncclUniqueId *id)
{
	memset(id, 0, sizeof *id);
	return ncclSuccess;
}

static ncclResult_t record_nccl_init(ncclComm_t *c, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	(void)id, (void)config;
	*c = (ncclComm_t)handle_new(record->communicators++);
	SAY("ncclCommInitRankConfig communicator %d, rank %d of %d\n", number(*c), rank, n);
	return ncclSuccess;
}

static ncclResult_t record_nccl_end(ncclComm_t c)
{
	(void)c;
	return ncclSuccess;
}

static ncclResult_t record_nccl_async(ncclComm_t c, ncclResult_t *error)
{
	(void)c;
	*error = ncclSuccess;
	return ncclSuccess;
}

static ncclResult_t record_nccl_group_start(void)
{
	SAY("ncclGroupStart\n");
	return ncclSuccess;
}

static ncclResult_t record_nccl_group_end(void)
{
	SAY("ncclGroupEnd\n");
	return ncclSuccess;
}

static void say_collective(const char *name, size_t count, ncclDataType_t t, ncclComm_t c, cudaStream_t s)
{
	SAY("%s of %zu %s, communicator %d on stream %d", name, count, nccl_type[t], number(c), number(s));
}

static ncclResult_t record_allgather(const void *in, void *out, size_t count, ncclDataType_t t, ncclComm_t c,
                                     cudaStream_t s)
{
	(void)in, (void)out;
	say_collective("ncclAllGather", count, t, c, s);
	SAY_MORE("\n");
	return ncclSuccess;
}

static ncclResult_t record_allreduce(const void *in, void *out, size_t count, ncclDataType_t t,
                                     ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	(void)in, (void)out;
	say_collective("ncclAllReduce", count, t, c, s);
	SAY_MORE(", %s\n", nccl_op[op]);
	return ncclSuccess;
}

static ncclResult_t record_reduce_scatter(const void *in, void *out, size_t count, ncclDataType_t t,
                                          ncclRedOp_t op, ncclComm_t c, cudaStream_t s)
{
	(void)in, (void)out;
	say_collective("ncclReduceScatter", count, t, c, s);
	SAY_MORE(", %s\n", nccl_op[op]);
	return ncclSuccess;
}

static ncclResult_t record_broadcast(const void *in, void *out, size_t count, ncclDataType_t t, int root,
                                     ncclComm_t c, cudaStream_t s)
{
	(void)in, (void)out;
	say_collective("ncclBroadcast", count, t, c, s);
	SAY_MORE(", root %d\n", root);
	return ncclSuccess;
}

static ncclResult_t record_reduce(const void *in, void *out, size_t count, ncclDataType_t t, ncclRedOp_t op,
                                  int root, ncclComm_t c, cudaStream_t s)
{
	(void)in, (void)out;
	say_collective("ncclReduce", count, t, c, s);
	SAY_MORE(", %s, root %d\n", nccl_op[op], root);
	return ncclSuccess;
}

static ncclResult_t record_send(const void *from, size_t count, ncclDataType_t t, int peer, ncclComm_t c,
                                cudaStream_t s)
{
	(void)from;
	say_collective("ncclSend", count, t, c, s);
	SAY_MORE(", to %d\n", peer);
	return ncclSuccess;
}

static ncclResult_t record_receive(void *to, size_t count, ncclDataType_t t, int peer, ncclComm_t c,
                                   cudaStream_t s)
{
	(void)to;
	say_collective("ncclRecv", count, t, c, s);
	SAY_MORE(", from %d\n", peer);
	return ncclSuccess;
}

/* ---- all */

const struct cuda_api *cuda_record_api(void)
{
	static const struct cuda_api api = {
	    .cuInit = record_init,
	    .cuGetErrorName = record_error_text,
	    .cuGetErrorString = record_error_text,
	    .cuDeviceGetCount = record_device_count,
	    .cuDeviceGet = record_device_get,
	    .cuDeviceGetName = record_device_name,
	    .cuDeviceGetAttribute = record_attribute,
	    .cuDevicePrimaryCtxRetain = record_retain,
	    .cuDevicePrimaryCtxRelease = record_release,
	    .cuCtxSetCurrent = record_current,
	    .cuMemAlloc = record_alloc,
	    .cuMemFree = record_free,
	    .cuMemHostAlloc = record_host_alloc,
	    .cuMemFreeHost = record_host_free,
	    .cuMemHostGetDevicePointer = record_host_pointer,
	    .cuMemcpyHtoDAsync = record_upload,
	    .cuMemcpyDtoHAsync = record_download,
	    .cuMemcpyDtoDAsync = record_copy,
	    .cuMemsetD8Async = record_memset,
	    .cuStreamCreate = record_stream_new,
	    .cuStreamDestroy = record_stream_done,
	    .cuStreamQuery = record_stream_done,
	    .cuStreamSynchronize = record_synchronize,
	    .cuStreamWaitEvent = record_wait,
	    .cuEventCreate = record_event_new,
	    .cuEventDestroy = record_event_over,
	    .cuEventRecord = record_event_record,
	    .cuEventQuery = record_event_over,
	    .cuModuleLoadData = record_module,
	    .cuModuleUnload = record_module_free,
	    .cuModuleGetFunction = record_function,
	    .cuLaunchKernel = record_launch,
	    .cuStreamBeginCapture = record_capture_begin,
	    .cuStreamEndCapture = record_capture_end,
	    .cuGraphInstantiate = record_instantiate,
	    .cuGraphLaunch = record_graph_launch,
	    .cuGraphDestroy = record_graph_free,
	    .cuGraphExecDestroy = record_executable_free,
	    .cublasLtCreate = record_blas_new,
	    .cublasLtDestroy = record_blas_free,
	    .cublasLtGetStatusString = record_blas_error,
	    .cublasLtMatmulDescCreate = record_matmul_new,
	    .cublasLtMatmulDescDestroy = record_matmul_free,
	    .cublasLtMatmulDescSetAttribute = record_matmul_set,
	    .cublasLtMatrixLayoutCreate = record_layout_new,
	    .cublasLtMatrixLayoutDestroy = record_layout_free,
	    .cublasLtMatrixLayoutSetAttribute = record_layout_set,
	    .cublasLtMatmulPreferenceCreate = record_preference_new,
	    .cublasLtMatmulPreferenceDestroy = record_preference_free,
	    .cublasLtMatmulPreferenceSetAttribute = record_preference_set,
	    .cublasLtMatmulAlgoGetHeuristic = record_heuristic,
	    .cublasLtMatmul = record_matmul,
	    .nvrtcVersion = record_version,
	    .nvrtcGetErrorString = record_nvrtc_error,
	    .nvrtcCreateProgram = record_program_new,
	    .nvrtcDestroyProgram = record_program_free,
	    .nvrtcCompileProgram = record_compile,
	    .nvrtcGetProgramLogSize = record_size,
	    .nvrtcGetProgramLog = record_log,
	    .nvrtcGetCUBINSize = record_size,
	    .nvrtcGetCUBIN = record_image,
	    .ncclGetErrorString = record_nccl_error,
	    .ncclGetLastError = record_nccl_last,
	    .ncclGetUniqueId = record_nccl_id,
	    .ncclCommInitRankConfig = record_nccl_init,
	    .ncclCommFinalize = record_nccl_end,
	    .ncclCommDestroy = record_nccl_end,
	    .ncclCommAbort = record_nccl_end,
	    .ncclCommGetAsyncError = record_nccl_async,
	    .ncclGroupStart = record_nccl_group_start,
	    .ncclGroupEnd = record_nccl_group_end,
	    .ncclAllGather = record_allgather,
	    .ncclAllReduce = record_allreduce,
	    .ncclReduceScatter = record_reduce_scatter,
	    .ncclBroadcast = record_broadcast,
	    .ncclReduce = record_reduce,
	    .ncclSend = record_send,
	    .ncclRecv = record_receive,
	};
	return &api;
}

struct cuda_record *cuda_record_begin(const struct cuda *c, struct buf *out)
{
	record = mem_zalloc(sizeof *record);
	record->out = out;
	record->device = c;
	record->at.iteration = -1;
	record->next = 1u << 30;
	return record;
}

void cuda_record_end(struct cuda_record *r)
{
	for (uint32_t k = 0; k < r->made.n; k++)
		free(r->made.at[k]);
	vec_free(&r->made);
	free(r);
	record = NULL;
}
