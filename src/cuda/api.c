/* api: see api.h. */
#include "cuda/api.h"
#include "rt/job.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct cuda_api api;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* The name after the header's macros. */
#define TEXT(name) #name
#define ENTRY(name) {TEXT(name), offsetof(struct cuda_api, name)},

struct entry {
	const char *name;
	size_t at; /* in struct cuda_api */
};

static const struct entry driver[] = {CUDA_DRIVER_CALLS(ENTRY)}, blas[] = {CUDA_BLAS_CALLS(ENTRY)},
                          nvrtc[] = {CUDA_NVRTC_CALLS(ENTRY)}, nccl[] = {CUDA_NCCL_CALLS(ENTRY)};

#define COUNT(a) (sizeof(a) / sizeof *(a))
static const struct {
	const char *name, *what;
	const struct entry *entry;
	size_t n;
} library[CUDA_LIBRARIES] = {
    [CUDA_DRIVER] = {"libcuda.so.1", "the driver of the GPU", driver, COUNT(driver)},
    [CUDA_BLAS] = {"libcublasLt.so.13", "what computes contractions", blas, COUNT(blas)},
    [CUDA_NVRTC] = {"libnvrtc.so.13", "what compiles kernels", nvrtc, COUNT(nvrtc)},
    [CUDA_NCCL] = {"libnccl.so.2", "what moves data between GPUs", nccl, COUNT(nccl)},
};

static bool is_open[CUDA_LIBRARIES]; /* under the lock */

static enum status absent(struct rt_job *job, enum cuda_library l, const char *why)
{
	rt_job_error(job, "--target=cuda needs %s, %s: %s", library[l].name, library[l].what, why);
	return rt_job_fail(job, STATUS_ABSENT);
}

static enum status open_library(struct rt_job *job, enum cuda_library l)
{
	void *handle = dlopen(library[l].name, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return absent(job, l, dlerror());
	for (size_t k = 0; k < library[l].n; k++) {
		void *entry = dlsym(handle, library[l].entry[k].name);
		if (!entry) {
			enum status status = absent(job, l, dlerror());
			dlclose(handle);
			return status;
		}
		memcpy((char *)&api + library[l].entry[k].at, &entry, sizeof entry);
	}
	is_open[l] = true;
	return STATUS_OK;
}

enum status cuda_api_open(struct rt_job *job, enum cuda_library l)
{
	pthread_mutex_lock(&opening);
	enum status status = is_open[l] ? STATUS_OK : open_library(job, l);
	pthread_mutex_unlock(&opening);
	return status;
}

const struct cuda_api *cuda_api(void)
{
	return &api;
}
