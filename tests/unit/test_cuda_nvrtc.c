/* LABELS: cuda
 * The kernels of the device "cuda", compiled by NVRTC for two architectures; no GPU is needed. */
#ifndef HIRC_HAVE_CUDA
#include <stdio.h>

int main(void)
{
	printf("CUDA's headers were not found when this was built\n");
	return 77;
}
#else
#include "test_cuda_cases.h"
#include <dlfcn.h>
#include <stdlib.h>

enum { SOURCES_A_PROGRAM = 64 };

#define CALLS(X)                                                                                             \
	X(nvrtcCreateProgram)                                                                                \
	X(nvrtcDestroyProgram)                                                                               \
	X(nvrtcCompileProgram)                                                                               \
	X(nvrtcGetProgramLogSize)                                                                            \
	X(nvrtcGetProgramLog)                                                                                \
	X(nvrtcGetCUBINSize)

#define MEMBER(name) static __typeof__(&name) call_##name;
CALLS(MEMBER)
#undef MEMBER

static bool open_nvrtc(void)
{
	void *library = dlopen("libnvrtc.so.13", RTLD_NOW);
	if (!library)
		library = dlopen("/usr/local/cuda/lib64/libnvrtc.so.13", RTLD_NOW);
	if (!library)
		return false;
#define OPEN(name) *(void **)&call_##name = dlsym(library, #name);
	CALLS(OPEN)
#undef OPEN
	return true;
}

static void compile(const char *source, const char *architecture)
{
	const char *option[] = {architecture, "--std=c++17", "--fmad=false", "--disable-warnings"};
	nvrtcProgram program;
	size_t n = 0;
	CHECK_EQ(call_nvrtcCreateProgram(&program, source, "kernels.cu", 0, NULL, NULL), NVRTC_SUCCESS);
	nvrtcResult r = call_nvrtcCompileProgram(program, 4, option);
	CHECK_EQ(r, NVRTC_SUCCESS);
	if (r != NVRTC_SUCCESS && call_nvrtcGetProgramLogSize(program, &n) == NVRTC_SUCCESS) {
		char *log = mem_zalloc(n + 1);
		call_nvrtcGetProgramLog(program, log);
		printf("%.4000s\n", log);
		free(log);
	} else {
		CHECK_EQ(call_nvrtcGetCUBINSize(program, &n), NVRTC_SUCCESS);
		CHECK(n > 0);
	}
	call_nvrtcDestroyProgram(&program);
}

/* The units of all operations go without those that compute several elements in a row: their text is the
 * same, and NVRTC takes seconds for each. */
static void leave_out(void)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < sources.n; k++)
		if (strcmp(first_of.at[k]->name, "pointwise") != 0)
			sources.at[n++] = sources.at[k];
	sources.n = n;
}

int main(void)
{
	if (!open_nvrtc()) {
		printf("libnvrtc.so.13 was not found\n");
		return 77;
	}
	all_cases();
	leave_out();
	printf("%u kernels\n", sources.n);
	for (uint32_t first = 0; first < sources.n; first += SOURCES_A_PROGRAM) {
		uint32_t end = first + SOURCES_A_PROGRAM < sources.n ? first + SOURCES_A_PROGRAM : sources.n;
		struct buf all = {0};
		scene_join(&all, first, end);
		compile(all.at, "--gpu-architecture=sm_80");
		compile(all.at, "--gpu-architecture=sm_90");
		buf_free(&all);
		if (check_failures)
			break;
	}
	return check_result();
}
#endif
