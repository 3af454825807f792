/* record_heap: calls for memory that all ranks map.
 *
 *     cuMemCreate memory 2, 2097152 bytes
 *     cuMemAddressReserve 4194304 bytes
 *     cuMemMap memory 2, 2097152 bytes
 *     cuMemMap memory 2 of rank 1, 2097152 bytes
 *     cuMemSetAccess 4194304 bytes
 *
 * A handle is a record_handle, the same on all ranks. Its memory is numbered together with that of
 * cuMemAlloc. A file is a number that tells rank and memory. */
#include "cuda/cuda_heap.h"
#include "cuda/record_calls.h"

enum { FILE_RANK = 1 << 20 /* a file is this times the rank, plus the number of the memory */ };

#define SILENT(name, ...)                                                                                    \
	static CUresult record_##name(__VA_ARGS__)                                                           \
	{                                                                                                    \
		return CUDA_SUCCESS;                                                                         \
	}

SILENT(cuCtxSynchronize, void)
SILENT(cuMemRelease, CUmemGenericAllocationHandle handle)
SILENT(cuMemRetainAllocationHandle, CUmemGenericAllocationHandle *handle, void *at)
SILENT(cuMemAddressFree, CUdeviceptr at, size_t bytes)
SILENT(cuMemUnmap, CUdeviceptr at, size_t bytes)

static struct record_handle *handle_of(CUmemGenericAllocationHandle handle)
{
	return (struct record_handle *)(uintptr_t)handle;
}

static void record_memory_call(const char *call, CUmemGenericAllocationHandle handle)
{
	struct record_handle *h = handle_of(handle);
	record_say("%s memory %d%s", call, h->number, record_owner(h));
}

static CUresult record_cuMemGetAllocationGranularity(size_t *unit, const CUmemAllocationProp *p,
                                                     CUmemAllocationGranularity_flags option)
{
	*unit = RT_HEAP_UNIT;
	return CUDA_SUCCESS;
}

static CUresult record_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t bytes,
                                   const CUmemAllocationProp *p, unsigned long long flags)
{
	*handle = (uintptr_t)record_handle_new(record_next(RECORD_MEMORY));
	record_memory_call("cuMemCreate", *handle);
	record_more(", %zu bytes\n", bytes);
	return CUDA_SUCCESS;
}

static CUresult record_cuMemExportToShareableHandle(void *file, CUmemGenericAllocationHandle handle,
                                                    CUmemAllocationHandleType type, unsigned long long flags)
{
	const struct record_handle *h = handle_of(handle);
	*(int *)file = h->rank * FILE_RANK + h->number;
	record_memory_call("cuMemExportToShareableHandle", handle);
	record_more("\n");
	return CUDA_SUCCESS;
}

static CUresult record_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle, void *file,
                                                      CUmemAllocationHandleType type)
{
	int number = (int)(intptr_t)file;
	struct record_handle *h = record_handle_new(number % FILE_RANK);
	h->rank = number / FILE_RANK;
	*handle = (uintptr_t)h;
	record_memory_call("cuMemImportFromShareableHandle", *handle);
	record_more("\n");
	return CUDA_SUCCESS;
}

static CUresult record_cuMemAddressReserve(CUdeviceptr *at, size_t bytes, size_t alignment, CUdeviceptr hint,
                                           unsigned long long flags)
{
	*at = record_addresses(bytes);
	record_say("cuMemAddressReserve %zu bytes\n", bytes);
	return CUDA_SUCCESS;
}

static CUresult record_cuMemMap(CUdeviceptr at, size_t bytes, size_t offset,
                                CUmemGenericAllocationHandle handle, unsigned long long flags)
{
	record_memory_call("cuMemMap", handle);
	record_more(", %zu bytes\n", bytes);
	return CUDA_SUCCESS;
}

static CUresult record_cuMemSetAccess(CUdeviceptr at, size_t bytes, const CUmemAccessDesc *d, size_t n)
{
	record_say("cuMemSetAccess %zu bytes\n", bytes);
	return CUDA_SUCCESS;
}

void record_heap(struct cuda_api *api)
{
	CUDA_HEAP_CALLS(RECORD_ENTRY)
}
