/* api: see api.h. */
#include "cuda/api.h"
#include "base/str.h"
#include "rt/job.h"
#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

static struct cuda_api api;
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

/* The name after the header's macros are expanded. */
#define TEXT(name) #name
#define ENTRY(name) {TEXT(name), offsetof(struct cuda_api, name), false},
#define LATER_ENTRY(name) {TEXT(name), offsetof(struct cuda_api, name), true},

struct entry {
	const char *name;
	size_t at;     /* offset in struct cuda_api */
	bool is_later; /* older libraries lack it */
};

static const struct entry driver[] = {CUDA_DRIVER_CALLS(ENTRY) CUDA_HEAP_CALLS(ENTRY)},
                          blas[] = {CUDA_BLAS_CALLS(ENTRY)}, nvrtc[] = {CUDA_NVRTC_CALLS(ENTRY)},
                          nccl[] = {CUDA_NCCL_CALLS(ENTRY) CUDA_WINDOW_CALLS(LATER_ENTRY)};

#define COUNT(a) (sizeof(a) / sizeof *(a))
static const struct {
	const char *name; /* names of the file; a dot at the end: a major version of CUDA follows */
	const char *what;
	const struct entry *entry;
	size_t n;
} library[CUDA_LIBRARIES] = {
    [CUDA_DRIVER] = {"libcuda.so.1", "the driver of the GPU", driver, COUNT(driver)},
    [CUDA_BLAS] = {"libcublasLt.so.", "the library of contractions", blas, COUNT(blas)},
    [CUDA_NVRTC] = {"libnvrtc.so.", "the compiler of kernels", nvrtc, COUNT(nvrtc)},
    [CUDA_NCCL] = {"libnccl.so.2", "the library that moves data between GPUs", nccl, COUNT(nccl)},
};

/* The variables below are protected by the lock. */
static bool is_open[CUDA_LIBRARIES];
static int driver_version; /* version of CUDA that the driver supports, as CUDA_VERSION; 0: not known */

/* The versions of CUDA whose libraries have the functions, constants and structures that hirc uses; the
 * version of the headers first. */
static const int major[] = {CUDA_VERSION / 1000 == 12 ? 12 : 13, CUDA_VERSION / 1000 == 12 ? 13 : 12};
enum { FIRST_MAJOR = 12, MAJORS = sizeof major / sizeof *major };

/* ---- a file */

/* Finds a driver's function; older drivers have some of them under another name. */
static void *find_driver_entry(void *handle, const char *name)
{
	void *entry = dlsym(handle, name);
	if (!entry && !strcmp(name, "cuEventElapsedTime_v2")) /* name before 12.8 */
		entry = dlsym(handle, "cuEventElapsedTime");
	return entry;
}

/* Opens a library's file; appends the reason if that fails. */
static bool open_file(enum cuda_library l, const char *file, struct buf *why)
{
	void *handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	bool ok = handle != NULL;
	if (ok && l == CUDA_DRIVER) {
		CUresult (*version)(int *) = NULL;
		*(void **)&version = dlsym(handle, "cuDriverGetVersion");
		if (version && version(&driver_version) != CUDA_SUCCESS)
			driver_version = 0;
		if (driver_version && driver_version / 1000 < FIRST_MAJOR) {
			buf_printf(why, "it is of CUDA %d.%d, and %d.0 is the first that will do",
			           driver_version / 1000, driver_version % 1000 / 10, FIRST_MAJOR);
			dlclose(handle);
			return false;
		}
	}
	for (size_t k = 0; k < library[l].n && ok; k++) {
		void *entry = find_driver_entry(handle, library[l].entry[k].name);
		ok = entry || library[l].entry[k].is_later;
		if (ok)
			memcpy((char *)&api + library[l].entry[k].at, &entry, sizeof entry);
	}
	if (!ok)
		buf_printf(why, "%s%s", why->n ? "; " : "", dlerror());
	if (!ok && handle)
		dlclose(handle);
	return ok;
}

/* ---- libraries */

/* Opens a library that comes with CUDA. A driver supports libraries of its own major version and older
 * ones. */
static bool open_version(enum cuda_library l, struct buf *names, struct buf *why)
{
	bool ok = false, skipped = false;
	for (int k = 0; k < MAJORS && !ok; k++) {
		struct buf file = {0};
		if (driver_version && major[k] > driver_version / 1000) {
			skipped = true;
			continue;
		}
		buf_printf(&file, "%s%d", library[l].name, major[k]);
		buf_printf(names, "%s%s", names->n ? " or " : "", file.at);
		ok = open_file(l, file.at, why);
		buf_free(&file);
	}
	if (skipped)
		buf_printf(why, "; newer ones need a newer driver than this, which is of CUDA %d.%d",
		           driver_version / 1000, driver_version % 1000 / 10);
	return ok;
}

static bool open_library(enum cuda_library l, struct buf *names, struct buf *why)
{
	const char *name = library[l].name;
	if (name[strlen(name) - 1] == '.')
		return open_version(l, names, why);
	buf_puts(names, name);
	return open_file(l, name, why);
}

bool cuda_api_try(enum cuda_library l, struct buf *names, struct buf *why)
{
	pthread_mutex_lock(&opening);
	bool ok = is_open[l] || open_library(l, names, why);
	is_open[l] = ok;
	pthread_mutex_unlock(&opening);
	return ok;
}

enum status cuda_api_open(struct rt_job *job, enum cuda_library l)
{
	struct buf names = {0}, why = {0};
	enum status status = STATUS_OK;
	if (!cuda_api_try(l, &names, &why)) {
		rt_job_error(job, "--target=cuda needs %s, %s: %s", names.at, library[l].what, why.at);
		status = rt_job_fail(job, STATUS_ABSENT);
	}
	buf_free(&names);
	buf_free(&why);
	return status;
}

const struct cuda_api *cuda_api(void)
{
	return &api;
}
