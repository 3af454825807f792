/* reference: calls with which tools/gpu-acceptance compares programs, made alone on the first GPU.
 *
 *     gpu_reference matmul N TIMES      the product of two N×N matrices of bf16, by the algorithm that
 *                                       cuBLASLt names first
 *     gpu_reference copy BYTES TIMES    a copy on the device
 *
 * Prints the median in us, of calls one after the other, each from its call until the host knows that it is
 * done, as `hirc run --repeat` measures runs. Two more calls come first. Operands are drawn as
 * inputs of programs are, since the power and so the time of a product depend on them. */
#include "base/vec.h"
#include "cuda/cuda.h"
#include "rt/bootstrap.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARMUP = 2, WORKSPACE = 32 << 20 };

struct reference {
	const char *what;
	int64_t size, times;
};

/* A call that is repeated. */
struct call {
	struct cuda *c;
	CUstream stream;
	CUdeviceptr a, b, d, workspace;
	size_t bytes;
	cublasLtHandle_t handle;
	cublasLtMatmulDesc_t desc;
	cublasLtMatrixLayout_t layout;
	cublasLtMatmulHeuristicResult_t algorithm;
};

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- the calls */

static bool copy(struct call *x)
{
	return cuda_call(x->c, cuMemcpyDtoDAsync, x->d, x->a, x->bytes, x->stream);
}

/* A row-major D = A B is a column-major D' = B' A'. */
static bool multiply(struct call *x)
{
	const float one = 1, zero = 0;
	return cuda_call_blas(x->c, cublasLtMatmul, x->handle, x->desc, &one, (const void *)x->b, x->layout,
	                      (const void *)x->a, x->layout, &zero, (void *)x->d, x->layout, (void *)x->d,
	                      x->layout, &x->algorithm.algo, (void *)x->workspace, x->algorithm.workspaceSize,
	                      x->stream);
}

/* ---- their operands */

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

/* Fills memory with multiples of 1/8 from -1 to 1, which are exact in bf16. */
static bool fill(struct call *x, CUdeviceptr to, uint64_t seed)
{
	uint16_t *host = malloc(x->bytes);
	for (size_t k = 0; host && k < x->bytes / sizeof *host; k++) {
		float value = (float)((int64_t)((mix(seed << 40 | k) >> 32) * 17 >> 32) - 8) / 8;
		uint32_t bits;
		memcpy(&bits, &value, sizeof bits);
		host[k] = (uint16_t)(bits >> 16);
	}
	bool ok = host && cuda_call(x->c, cuMemcpyHtoDAsync, to, host, x->bytes, x->stream) &&
	          cuda_call(x->c, cuStreamSynchronize, x->stream);
	free(host);
	return ok;
}

static bool prepare_copy(struct call *x, int64_t bytes)
{
	x->bytes = (size_t)bytes;
	return cuda_call(x->c, cuMemAlloc, &x->a, x->bytes) && cuda_call(x->c, cuMemAlloc, &x->d, x->bytes) &&
	       cuda_call(x->c, cuMemsetD8Async, x->a, 1, x->bytes, x->stream);
}

static bool prepare_multiply(struct call *x, int64_t n)
{
	uint64_t most = WORKSPACE;
	int answers = 0;
	cublasLtMatmulPreference_t preference;
	x->bytes = (size_t)n * (size_t)n * sizeof(uint16_t);
	if (cuda_need(x->c, CUDA_BLAS) != STATUS_OK || !cuda_call(x->c, cuMemAlloc, &x->a, x->bytes) ||
	    !cuda_call(x->c, cuMemAlloc, &x->b, x->bytes) || !cuda_call(x->c, cuMemAlloc, &x->d, x->bytes) ||
	    !cuda_call(x->c, cuMemAlloc, &x->workspace, most) || !fill(x, x->a, 1) || !fill(x, x->b, 2) ||
	    !cuda_call_blas(x->c, cublasLtCreate, &x->handle) ||
	    !cuda_call_blas(x->c, cublasLtMatmulDescCreate, &x->desc, CUBLAS_COMPUTE_32F, CUDA_R_32F) ||
	    !cuda_call_blas(x->c, cublasLtMatrixLayoutCreate, &x->layout, CUDA_R_16BF, (uint64_t)n,
	                    (uint64_t)n, n) ||
	    !cuda_call_blas(x->c, cublasLtMatmulPreferenceCreate, &preference) ||
	    !cuda_call_blas(x->c, cublasLtMatmulPreferenceSetAttribute, preference,
	                    CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most, sizeof most) ||
	    !cuda_call_blas(x->c, cublasLtMatmulAlgoGetHeuristic, x->handle, x->desc, x->layout, x->layout,
	                    x->layout, x->layout, preference, 1, &x->algorithm, &answers) ||
	    !cuda_call_blas(x->c, cublasLtMatmulPreferenceDestroy, preference))
		return false;
	if (!answers)
		fprintf(stderr, "cuBLASLt names no algorithm\n");
	return answers > 0;
}

static void release(struct call *x)
{
	const CUdeviceptr memory[] = {x->a, x->b, x->d, x->workspace};
	if (x->layout)
		cuda_call_blas(x->c, cublasLtMatrixLayoutDestroy, x->layout);
	if (x->desc)
		cuda_call_blas(x->c, cublasLtMatmulDescDestroy, x->desc);
	if (x->handle)
		cuda_call_blas(x->c, cublasLtDestroy, x->handle);
	for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
		if (memory[k])
			cuda_call(x->c, cuMemFree, memory[k]);
	if (x->stream)
		cuda_call(x->c, cuStreamDestroy, x->stream);
}

/* ---- the measurement */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static bool measure(struct call *x, bool (*one)(struct call *), int64_t times)
{
	double *us = mem_zalloc(sizeof *us * (size_t)times);
	bool ok = cuda_call(x->c, cuStreamSynchronize, x->stream);
	for (int64_t k = -WARMUP; k < times && ok; k++) {
		double start = now_us();
		ok = one(x) && cuda_call(x->c, cuStreamSynchronize, x->stream);
		us[k < 0 ? 0 : k] = now_us() - start;
	}
	qsort(us, (size_t)times, sizeof *us, compare);
	if (ok)
		printf("%.3f\n", us[(times - 1) / 2]);
	free(us);
	return ok;
}

static int reference_main(struct rt_job *job, void *data)
{
	const struct reference *r = data;
	struct rt_device *device;
	enum status status = cuda_open(job, &device);
	if (status != STATUS_OK)
		return status;
	struct call x = {.c = (struct cuda *)device};
	bool is_copy = !strcmp(r->what, "copy");
	bool ok = cuda_call(x.c, cuStreamCreate, &x.stream, CU_STREAM_NON_BLOCKING) &&
	          (is_copy ? prepare_copy : prepare_multiply)(&x, r->size) &&
	          measure(&x, is_copy ? copy : multiply, r->times);
	release(&x);
	rt_device_close(device);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

int main(int argc, char **argv)
{
	struct reference r = {.what = argc > 1 ? argv[1] : ""};
	r.size = argc == 4 ? atoll(argv[2]) : 0;
	r.times = argc == 4 ? atoll(argv[3]) : 0;
	if ((strcmp(r.what, "copy") && strcmp(r.what, "matmul")) || r.size <= 0 || r.times <= 0) {
		fprintf(stderr, "usage: gpu_reference matmul N TIMES | copy BYTES TIMES\n");
		return STATUS_USAGE;
	}
	return rt_launch(&(struct rt_launch_options){.kind = RT_BOOT_THREAD, .np = 1}, reference_main, &r);
}
