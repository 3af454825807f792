/* test_mock: runs tests of the mock libraries, each in its own process, since the mock reads its environment
 * once. */
#ifndef HIRC_TEST_MOCK_H
#define HIRC_TEST_MOCK_H
#include "check.h"
#include "cuda/api.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static struct cuda_api api;

static inline void mock_find(void *library, const char *name, void *out)
{
	void *entry = library ? dlsym(library, name) : NULL;
	if (!entry) {
		printf("%s\n", dlerror());
		exit(1);
	}
	memcpy(out, &entry, sizeof entry);
}

#define MOCK_TEXT(name) #name
#define MOCK_FIND(name) mock_find(library, MOCK_TEXT(name), &api.name);

/* Opens all entry points of a library that api.h lists. */
#define MOCK_OPEN(file, CALLS)                                                                               \
	do {                                                                                                 \
		void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);                                         \
		CALLS(MOCK_FIND)                                                                             \
	} while (0)

/* Runs a test with an environment of "NAME=value" words. Returns its exit status, or minus the signal that
 * ended it. */
static inline int mock_status(void (*run)(void), const char *environment)
{
	int status;
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		char words[512];
		snprintf(words, sizeof words, "%s", environment);
		for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
			char *value = strchr(word, '=');
			*value++ = 0;
			setenv(word, value, 1);
		}
		check_failures = 0;
		run();
		fflush(stdout);
		_exit(check_result());
	}
	if (child < 0 || waitpid(child, &status, 0) != child)
		return -1000;
	return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

#define MOCK_CASE(run, environment) CHECK_EQ(mock_status(run, environment), 0)

/* Opens the first GPU and makes its context current. */
static inline void mock_begin(void)
{
	CUcontext context;
	MOCK_OPEN("libcuda.so.1", CUDA_DRIVER_CALLS);
	CHECK_EQ(api.cuInit(0), CUDA_SUCCESS);
	CHECK_EQ(api.cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
	CHECK_EQ(api.cuCtxSetCurrent(context), CUDA_SUCCESS);
}

static inline CUstream mock_stream(void)
{
	CUstream s;
	CHECK_EQ(api.cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
	return s;
}

static inline void *mock_memory(size_t bytes)
{
	CUdeviceptr at;
	CHECK_EQ(api.cuMemAlloc(&at, bytes), CUDA_SUCCESS);
	return (void *)at;
}

static inline void mock_write(void *to, const void *from, size_t bytes, CUstream s)
{
	CHECK_EQ(api.cuMemcpyHtoDAsync((CUdeviceptr)to, from, bytes, s), CUDA_SUCCESS);
}

static inline void mock_read(void *to, const void *from, size_t bytes, CUstream s)
{
	CHECK_EQ(api.cuMemcpyDtoHAsync(to, (CUdeviceptr)from, bytes, s), CUDA_SUCCESS);
}

#endif
