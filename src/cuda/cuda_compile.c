/* cuda_compile: see cuda_compile.h. */
#include "cuda/cuda_compile.h"
#include "base/vec.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { OPTIONS = 4 /* that NVRTC gets */ };

struct entry {
	struct cuda_cache_key key;
	struct cuda_cubin cubin;
};

/* Data of the process, protected by the lock. Cubins remain until it ends. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static VEC(struct entry) kept;

/* Reports that NVRTC refuses a kernel, with the first lines of its log. hirc wrote the source, so it is
 * hirc's error. It prints one message, since no second one of a failed rank is printed. */
static bool report_refused_kernel(struct cuda *c, nvrtcProgram program)
{
	size_t n = 0;
	char *log = NULL;
	if (c->api->nvrtcGetProgramLogSize(program, &n) == NVRTC_SUCCESS && n > 0) {
		log = mem_zalloc(n + 1);
		if (c->api->nvrtcGetProgramLog(program, log) != NVRTC_SUCCESS)
			*log = '\0';
	}
	rt_job_error_at(c->base.job, c->at, "nvrtcCompileProgram: NVRTC: %s, of a kernel of hirc%s%.1500s",
	                c->api->nvrtcGetErrorString(NVRTC_ERROR_COMPILATION), log && *log ? ": " : "",
	                log ? log : "");
	rt_job_fail(c->base.job, STATUS_DIAGNOSTICS);
	free(log);
	return false;
}

static bool run_nvrtc(struct cuda *c, nvrtcProgram program, const char *const *option, struct cuda_cubin *out)
{
	nvrtcResult r = c->api->nvrtcCompileProgram(program, OPTIONS, option);
	size_t bytes;
	if (r == NVRTC_ERROR_COMPILATION)
		return report_refused_kernel(c, program);
	if (!cuda_check_nvrtc(c, r, "nvrtcCompileProgram") ||
	    !cuda_call_nvrtc(c, nvrtcGetCUBINSize, program, &bytes))
		return false;
	char *at = mem_alloc(bytes + 1);
	if (!cuda_call_nvrtc(c, nvrtcGetCUBIN, program, at)) {
		free(at);
		return false;
	}
	*out = (struct cuda_cubin){at, bytes};
	return true;
}

static bool compile_cuda_program(struct cuda *c, const char *source, const char *const *option,
                                 struct cuda_cubin *out)
{
	nvrtcProgram program;
	struct cuda_cubin made = {0};
	if (!cuda_call_nvrtc(c, nvrtcCreateProgram, &program, source, "kernel.cu", 0, NULL, NULL))
		return false;
	bool ok = run_nvrtc(c, program, option, &made);
	ok = cuda_call_nvrtc(c, nvrtcDestroyProgram, &program) && ok;
	if (ok)
		*out = made;
	else
		free((void *)made.at);
	return ok;
}

static bool find_or_make(struct cuda *c, const char *source, const char *const *option,
                         struct cuda_cache_key key, struct cuda_cubin *out)
{
	bool keeps = !c->record;
	if (keeps && cuda_cache_read(key, out))
		return true;
	bool ok = compile_cuda_program(c, source, option, out);
	if (ok && keeps)
		cuda_cache_write(key, *out);
	return ok;
}

enum status cuda_compile(struct cuda *c, const char *source, struct cuda_cubin *out)
{
	char architecture[64];
	const char *option[OPTIONS] = {architecture, "--std=c++17", "--fmad=false", "--disable-warnings"};
	int major = 0, minor = 0;
	if (!cuda_call_nvrtc(c, nvrtcVersion, &major, &minor))
		return rt_job_status(c->base.job);
	/* sm_90a has wgmma, which later GPUs lack */
	snprintf(architecture, sizeof architecture, "--gpu-architecture=sm_%d%d%s", c->major, c->minor,
	         c->major == 9 && c->minor == 0 ? "a" : "");
	struct cuda_cache_key key = cuda_cache_key(source, OPTIONS, option, major, minor);
	pthread_mutex_lock(&lock);
	for (uint32_t k = 0; k < kept.n; k++)
		if (kept.at[k].key.a == key.a && kept.at[k].key.b == key.b) {
			*out = kept.at[k].cubin;
			pthread_mutex_unlock(&lock);
			return STATUS_OK;
		}
	struct entry made = {.key = key};
	bool ok = find_or_make(c, source, option, key, &made.cubin);
	if (ok) {
		vec_push(&kept, made);
		*out = made.cubin;
	}
	pthread_mutex_unlock(&lock);
	return ok ? STATUS_OK : rt_job_status(c->base.job);
}
