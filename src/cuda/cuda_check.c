/* cuda_check: checks the results of library calls, see cuda_call. */
#include "cuda/cuda.h"
#include "rt/job.h"

static bool report_failed_call(struct cuda *c, const char *call, const char *name, const char *text)
{
	rt_job_error_at(c->base.job, c->at, "%s: %s: %s", call, name, text);
	rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
	return false;
}

bool cuda_check(struct cuda *c, CUresult r, const char *call)
{
	const char *name = NULL, *text = NULL;
	if (r == CUDA_SUCCESS)
		return true;
	c->api->cuGetErrorName(r, &name);
	c->api->cuGetErrorString(r, &text);
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
