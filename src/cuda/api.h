/* api: opens NVIDIA's libraries at run time and finds their entry points.
 *
 * One binary works on machines with and without a GPU: it links none of these libraries and needs their
 * headers only at build time. A library is opened when first needed and remains open; all ranks of a process
 * share it.
 *
 *     libcuda.so.1        the driver      CUDA_DRIVER_CALLS, CUDA_HEAP_CALLS
 *     libcublasLt.so.13   contractions    CUDA_BLAS_CALLS
 *     libnvrtc.so.13      the compiler    CUDA_NVRTC_CALLS
 *     libnccl.so.2        collectives     CUDA_NCCL_CALLS, CUDA_WINDOW_CALLS
 *
 * cuBLASLt and NVRTC of CUDA 12 are used if the driver is of CUDA 12, or if there are no others. The parts
 * that hirc uses (functions, numbers of attributes, epilogues and statuses, an algorithm of 64 bytes in a
 * result of 96) are the same in both. */
#ifndef HIRC_CUDA_API_H
#define HIRC_CUDA_API_H
#include "base/status.h"
#include <cublasLt.h>
#include <cuda.h>
#include <nccl.h>
#include <nvrtc.h>
#include <stdbool.h>

struct buf;
struct rt_job;

#define CUDA_DRIVER_CALLS(X)                                                                                 \
	X(cuInit)                                                                                            \
	X(cuDriverGetVersion)                                                                                \
	X(cuGetErrorName)                                                                                    \
	X(cuGetErrorString)                                                                                  \
	X(cuDeviceGetCount)                                                                                  \
	X(cuDeviceGet)                                                                                       \
	X(cuDeviceGetName)                                                                                   \
	X(cuDeviceGetUuid)                                                                                   \
	X(cuDeviceTotalMem)                                                                                  \
	X(cuDeviceGetAttribute)                                                                              \
	X(cuDeviceCanAccessPeer)                                                                             \
	X(cuDevicePrimaryCtxRetain)                                                                          \
	X(cuDevicePrimaryCtxRelease)                                                                         \
	X(cuCtxSetCurrent)                                                                                   \
	X(cuMemAlloc)                                                                                        \
	X(cuMemFree)                                                                                         \
	X(cuMemGetInfo)                                                                                      \
	X(cuMemGetAddressRange)                                                                              \
	X(cuIpcGetMemHandle)                                                                                 \
	X(cuIpcOpenMemHandle)                                                                                \
	X(cuIpcCloseMemHandle)                                                                               \
	X(cuMemHostAlloc)                                                                                    \
	X(cuMemFreeHost)                                                                                     \
	X(cuMemHostGetDevicePointer)                                                                         \
	X(cuMemcpyHtoDAsync)                                                                                 \
	X(cuMemcpyDtoHAsync)                                                                                 \
	X(cuMemcpyDtoDAsync)                                                                                 \
	X(cuMemsetD8Async)                                                                                   \
	X(cuStreamCreate)                                                                                    \
	X(cuStreamDestroy)                                                                                   \
	X(cuStreamQuery)                                                                                     \
	X(cuStreamSynchronize)                                                                               \
	X(cuStreamWaitEvent)                                                                                 \
	X(cuStreamWaitValue32)                                                                               \
	X(cuStreamWriteValue32)                                                                              \
	X(cuEventCreate)                                                                                     \
	X(cuEventDestroy)                                                                                    \
	X(cuEventRecord)                                                                                     \
	X(cuEventQuery)                                                                                      \
	X(cuEventElapsedTime)                                                                                \
	X(cuModuleLoadData)                                                                                  \
	X(cuModuleUnload)                                                                                    \
	X(cuModuleGetFunction)                                                                               \
	X(cuFuncSetAttribute)                                                                                \
	X(cuLaunchKernel)                                                                                    \
	X(cuStreamBeginCapture)                                                                              \
	X(cuStreamEndCapture)                                                                                \
	X(cuGraphInstantiate)                                                                                \
	X(cuGraphLaunch)                                                                                     \
	X(cuGraphDestroy)                                                                                    \
	X(cuGraphExecDestroy)

/* Calls that only cuda_heap.c makes. */
#define CUDA_HEAP_CALLS(X)                                                                                   \
	X(cuMemGetAllocationGranularity)                                                                     \
	X(cuMemCreate)                                                                                       \
	X(cuMemRelease)                                                                                      \
	X(cuMemRetainAllocationHandle)                                                                       \
	X(cuMemExportToShareableHandle)                                                                      \
	X(cuMemImportFromShareableHandle)                                                                    \
	X(cuMemAddressReserve)                                                                               \
	X(cuMemAddressFree)                                                                                  \
	X(cuMemMap)                                                                                          \
	X(cuMemUnmap)                                                                                        \
	X(cuMemSetAccess)                                                                                    \
	X(cuCtxSynchronize)

#define CUDA_BLAS_CALLS(X)                                                                                   \
	X(cublasLtGetVersion)                                                                                \
	X(cublasLtCreate)                                                                                    \
	X(cublasLtDestroy)                                                                                   \
	X(cublasLtGetStatusString)                                                                           \
	X(cublasLtMatmulDescCreate)                                                                          \
	X(cublasLtMatmulDescDestroy)                                                                         \
	X(cublasLtMatmulDescSetAttribute)                                                                    \
	X(cublasLtMatrixLayoutCreate)                                                                        \
	X(cublasLtMatrixLayoutDestroy)                                                                       \
	X(cublasLtMatrixLayoutSetAttribute)                                                                  \
	X(cublasLtMatmulPreferenceCreate)                                                                    \
	X(cublasLtMatmulPreferenceDestroy)                                                                   \
	X(cublasLtMatmulPreferenceSetAttribute)                                                              \
	X(cublasLtMatmulAlgoGetHeuristic)                                                                    \
	X(cublasLtMatmul)

#define CUDA_NVRTC_CALLS(X)                                                                                  \
	X(nvrtcVersion)                                                                                      \
	X(nvrtcGetErrorString)                                                                               \
	X(nvrtcCreateProgram)                                                                                \
	X(nvrtcDestroyProgram)                                                                               \
	X(nvrtcCompileProgram)                                                                               \
	X(nvrtcGetProgramLogSize)                                                                            \
	X(nvrtcGetProgramLog)                                                                                \
	X(nvrtcGetCUBINSize)                                                                                 \
	X(nvrtcGetCUBIN)

#define CUDA_NCCL_CALLS(X)                                                                                   \
	X(ncclGetVersion)                                                                                    \
	X(ncclGetErrorString)                                                                                \
	X(ncclGetLastError)                                                                                  \
	X(ncclGetUniqueId)                                                                                   \
	X(ncclCommInitRankConfig)                                                                            \
	X(ncclCommFinalize)                                                                                  \
	X(ncclCommDestroy)                                                                                   \
	X(ncclCommAbort)                                                                                     \
	X(ncclCommGetAsyncError)                                                                             \
	X(ncclGroupStart)                                                                                    \
	X(ncclGroupEnd)                                                                                      \
	X(ncclAllGather)                                                                                     \
	X(ncclAllReduce)                                                                                     \
	X(ncclReduceScatter)                                                                                 \
	X(ncclBroadcast)                                                                                     \
	X(ncclReduce)                                                                                        \
	X(ncclSend)                                                                                          \
	X(ncclRecv)

/* Calls for symmetric memory, which NCCL has from 2.27 on: NULL in an older one. */
#define CUDA_WINDOW_CALLS(X)                                                                                 \
	X(ncclMemAlloc)                                                                                      \
	X(ncclMemFree)                                                                                       \
	X(ncclCommWindowRegister)                                                                            \
	X(ncclCommWindowDeregister)

/* The headers' macros choose versions (cuMemAlloc is cuMemAlloc_v2), here and in the names that are looked
 * up. */
struct cuda_api {
#define CUDA_API_MEMBER(name) __typeof__(&name) name;
	CUDA_DRIVER_CALLS(CUDA_API_MEMBER)
	CUDA_HEAP_CALLS(CUDA_API_MEMBER)
	CUDA_BLAS_CALLS(CUDA_API_MEMBER)
	CUDA_NVRTC_CALLS(CUDA_API_MEMBER)
	CUDA_NCCL_CALLS(CUDA_API_MEMBER)
	CUDA_WINDOW_CALLS(CUDA_API_MEMBER)
#undef CUDA_API_MEMBER
};

enum cuda_library { CUDA_DRIVER, CUDA_BLAS, CUDA_NVRTC, CUDA_NCCL, CUDA_LIBRARIES };

/* Opens a library, once for each process; then its calls are in cuda_api(). Any thread may call it.
 * STATUS_ABSENT with a message that names the library and its use. */
enum status cuda_api_open(struct rt_job *job, enum cuda_library library);
/* Opens a library without a message. Returns false after appending the names of the files and the reasons why
 * they cannot be used. */
bool cuda_api_try(enum cuda_library library, struct buf *names, struct buf *why);
const struct cuda_api *cuda_api(void);

#endif
