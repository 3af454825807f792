/* cuda_check: checks the results of library calls, see cuda_call. */
#include "cuda/cuda.h"
#include "rt/job.h"
#include <string.h>

static bool report_failed_call(struct cuda *c, const char *call, const char *name, const char *text)
{
	rt_job_error_at(c->base.job, c->at, "%s: %s: %s", call, name, text);
	rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
	return false;
}

/* Returns true for errors of kernels, which a later call reports. */
static bool is_late(CUresult r)
{
	switch ((int)r) {
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
		return true;
	default:
		return false;
	}
}

/* Reports an error of a kernel that ran before this call, with the statements that it can come from. */
static bool report_late(struct cuda *c, const char *call, const char *name, const char *text)
{
	const struct rt_board *board = c->base.job->board;
	struct buf list = {0};
	uint64_t n = c->launched < CUDA_RECENT ? c->launched : CUDA_RECENT;
	for (uint64_t k = 0; k < n && board; k++) {
		buf_puts(&list, k ? ",  " : n < c->launched ? " of the last statements  " : " of  ");
		rt_board_label(board, c->base.job->rank, c->recent[(c->launched - 1 - k) % CUDA_RECENT].label,
		               &list);
	}
	rt_job_error_at(c->base.job,
	                strcmp(call, "cuLaunchKernel") ? (struct rt_origin){.iteration = -1} : c->at,
	                "%s: %s: %s; a kernel%s can have done this; --sync finds it", call, name, text,
	                list.n ? list.at : "");
	rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
	buf_free(&list);
	return false;
}

bool cuda_check(struct cuda *c, CUresult r, const char *call)
{
	const char *name = NULL, *text = NULL;
	if (r == CUDA_SUCCESS)
		return true;
	c->api->cuGetErrorName(r, &name);
	c->api->cuGetErrorString(r, &text);
	if (is_late(r) && !c->base.is_awaited)
		return report_late(c, call, name ? name : "unknown error", text ? text : "");
	return report_failed_call(c, call, name ? name : "unknown error", text ? text : "");
}

bool cuda_check_blas(struct cuda *c, cublasStatus_t r, const char *call)
{
	return r == CUBLAS_STATUS_SUCCESS ||
	       report_failed_call(c, call, "cuBLASLt", c->api->cublasLtGetStatusString(r));
}

bool cuda_check_nvrtc(struct cuda *c, nvrtcResult r, const char *call)
{
	return r == NVRTC_SUCCESS || report_failed_call(c, call, "NVRTC", c->api->nvrtcGetErrorString(r));
}

bool cuda_check_nccl(struct cuda *c, ncclResult_t r, const char *call)
{
	if (r == ncclSuccess)
		return true;
	const char *last = c->api->ncclGetLastError(NULL);
	return report_failed_call(c, call, c->api->ncclGetErrorString(r), last ? last : "");
}
