/* ipc: handles for mapping device memory in other processes. */
#include "block.h"
#include "driver.h"
#include <string.h>
#include <unistd.h>

struct handle {
	char magic[8];
	struct block_id block;
	int32_t device;
};
static const char magic[8] = "hircipc";
_Static_assert(sizeof(struct handle) <= sizeof(CUipcMemHandle), "a handle fits");

/* The handle is for the whole allocation that begins at `at`. */
CUresult cuIpcGetMemHandle(CUipcMemHandle *out, CUdeviceptr at)
{
	struct handle h;
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, NULL);
	memset(&h, 0, sizeof h);
	if (mock_settings()->no_ipc)
		return CUDA_ERROR_NOT_SUPPORTED;
	h.device = mock_device_current();
	if (!memory_id(at, &h.block))
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(h.magic, magic, sizeof magic);
	memset(out, 0, sizeof *out);
	memcpy(out, &h, sizeof h);
	return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
	struct handle h;
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_HANDLE, "flags %u", flags);
	if (flags != CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
		return CUDA_ERROR_INVALID_VALUE;
	memcpy(&h, &handle, sizeof h);
	if (memcmp(h.magic, magic, sizeof magic) != 0)
		return CUDA_ERROR_INVALID_HANDLE;
	if (h.block.process == getpid()) /* in its own process the address is usable without a handle */
		return CUDA_ERROR_INVALID_CONTEXT;
	if (mock_settings()->apart && h.device != mock_device_current())
		return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
	return memory_open(&h.block, out) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Streams that use the memory afterwards fault. */
CUresult cuIpcCloseMemHandle(CUdeviceptr at)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_VALUE, NULL);
	return memory_close(at) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
