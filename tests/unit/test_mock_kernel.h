/* test_mock_kernel: a kernel for tests of the mock driver. It waits at a gate and then counts. */
#ifndef HIRC_TEST_MOCK_KERNEL_H
#define HIRC_TEST_MOCK_KERNEL_H
#include "test_mock.h"

static const char source[] =
    "#include <unistd.h>\n"
    "struct arguments { volatile int *gate; int *sum; int value; };\n"
    "const unsigned long hirc_kernel_argument_bytes = sizeof(struct arguments);\n"
    "void hirc_kernel_run(unsigned grid, unsigned block, unsigned shared, const void *at)\n"
    "{\n"
    "	const struct arguments *a = at;\n"
    "	while (a->gate && !__atomic_load_n(a->gate, __ATOMIC_ACQUIRE))\n"
    "		usleep(100);\n"
    "	*a->sum = (int)((unsigned)*a->sum * 10u + (unsigned)a->value * grid * block);\n"
    "}\n";

struct arguments {
	int *gate; /* NULL: none */
	int *sum;
	int value;
};

static CUmodule module;
static CUfunction function;
static int *gate; /* pinned; closed */

static inline void make_kernel(void)
{
	static const char *const option[] = {"--gpu-architecture=sm_90"};
	nvrtcProgram program;
	size_t bytes;
	MOCK_OPEN("libnvrtc.so.13", CUDA_NVRTC_CALLS);
	CHECK_EQ(api.nvrtcCreateProgram(&program, source, "gate", 0, NULL, NULL), NVRTC_SUCCESS);
	CHECK_EQ(api.nvrtcCompileProgram(program, 1, option), NVRTC_SUCCESS);
	CHECK_EQ(api.nvrtcGetCUBINSize(program, &bytes), NVRTC_SUCCESS);
	char *image = malloc(bytes);
	CHECK_EQ(api.nvrtcGetCUBIN(program, image), NVRTC_SUCCESS);
	CHECK_EQ(api.nvrtcDestroyProgram(&program), NVRTC_SUCCESS);
	CHECK_EQ(api.cuModuleLoadData(&module, image), CUDA_SUCCESS);
	CHECK_EQ(api.cuModuleGetFunction(&function, module, "hirc_kernel"), CUDA_SUCCESS);
	CUfunction none;
	CHECK_EQ(api.cuModuleGetFunction(&none, module, "other"), CUDA_ERROR_NOT_FOUND);
	memset(image, 0, bytes);
	CUmodule damaged;
	CHECK_EQ(api.cuModuleLoadData(&damaged, image), CUDA_ERROR_INVALID_IMAGE);
	free(image);
	CHECK_EQ(api.cuMemHostAlloc((void **)&gate, 2 * sizeof *gate, CU_MEMHOSTALLOC_DEVICEMAP),
	         CUDA_SUCCESS);
	gate[0] = gate[1] = 0;
}

static inline CUresult launch(CUstream s, int *at_gate, int *sum, int value)
{
	struct arguments a = {at_gate, sum, value};
	void *parameter[] = {&a};
	CUresult r = api.cuLaunchKernel(function, 2, 1, 1, 3, 1, 1, 0, s, parameter, NULL);
	memset(&a, 0xff, sizeof a);
	return r;
}

static inline void open_gate(int k)
{
	__atomic_store_n(&gate[k], 1, __ATOMIC_RELEASE);
}

static inline int *zero(CUstream s)
{
	int *at = mock_memory(sizeof *at);
	CHECK_EQ(api.cuMemsetD8Async((CUdeviceptr)at, 0, sizeof *at, s), CUDA_SUCCESS);
	return at;
}

static inline int value_of(const int *at, CUstream s)
{
	int value;
	mock_read(&value, at, sizeof value, s);
	return value;
}

#endif
