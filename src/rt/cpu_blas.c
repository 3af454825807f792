/* cpu_blas: see cpu_blas.h. */
#ifdef HIRC_HAVE_BLAS
#include "rt/cpu_blas.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

/* Data of the process, protected by the lock. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;
static struct cpu_blas blas;
static unsigned callers;       /* that may compute at the same time; 0: the library is not open */
static unsigned buffers;       /* that OpenBLAS has mapped for them */
static void *(*allocate)(int); /* OpenBLAS's own; NULL: another library */
static void (*release)(void *);

static const char variable[] = "OPENBLAS_NUM_THREADS";

enum {
	LIBRARY_BYTES = 64 << 20, /* OpenBLAS itself, with the libraries that it needs */
	THREAD_BYTES = 136 << 20, /* a buffer of 128 MiB, and a stack */
};

/* Returns true if the process may map the memory that OpenBLAS maps. OpenBLAS itself would try for ever. */
static bool has_room(size_t bytes, struct buf *why)
{
	void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at != MAP_FAILED) {
		munmap(at, bytes);
		return true;
	}
	buf_printf(
	    why,
	    "it maps %zu MiB, and the process has no room for them (`ulimit -v` limits it; %s=1 takes the "
	    "least)",
	    bytes >> 20, variable);
	return false;
}

/* Loads the library. It reads the number of its threads from the environment, before it can be called. */
static void *load(int threads)
{
	bool said = threads <= 0 || getenv(variable);
	if (!said) {
		char text[STR_INT + 1];
		snprintf(text, sizeof text, "%d", threads);
		setenv(variable, text, 1);
	}
	void *handle = dlopen(HIRC_BLAS_LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!said)
		unsetenv(variable);
	return handle;
}

/* Makes OpenBLAS map a buffer for each of n callers. By itself, OpenBLAS maps one more when products run at the same
 * time, and then there may be no room. An earlier caller may be using a buffer now, so one more must fit. Above
 * MOST callers, OpenBLAS maps the rest itself. */
static bool map_buffers(unsigned n, struct buf *why)
{
	enum { MOST = 64 };
	void *at[MOST];
	if (!allocate || !release || n <= buffers || n > MOST)
		return true;
	if (!has_room((size_t)(n - buffers + (buffers > 0)) * THREAD_BYTES, why))
		return false;
	for (unsigned k = 0; k < n; k++)
		at[k] = allocate(0);
	for (unsigned k = n; k-- > 0;)
		release(at[k]);
	buffers = n;
	return true;
}

static void find_entry(void *handle, const char *name, void *entry)
{
	*(void **)entry = dlsym(handle, name);
}

static bool open_library(int threads, struct buf *why)
{
	if (!has_room(LIBRARY_BYTES + (size_t)(threads > 1 ? threads : 1) * THREAD_BYTES, why))
		return false;
	void *handle = load(threads);
	if (handle) {
		find_entry(handle, "cblas_sgemm", &blas.sgemm);
		find_entry(handle, "cblas_dgemm", &blas.dgemm);
		find_entry(handle, "openblas_set_num_threads", &blas.set_threads);
		find_entry(handle, "openblas_get_corename", &blas.core_name);
		find_entry(handle, "openblas_get_config", &blas.config);
		find_entry(handle, "blas_memory_alloc", &allocate);
		find_entry(handle, "blas_memory_free", &release);
	}
	if (!handle)
		buf_puts(why, dlerror());
	else if (!blas.sgemm || !blas.dgemm)
		buf_puts(why, HIRC_BLAS_LIBRARY " has no cblas_sgemm and cblas_dgemm");
	else
		return true;
	if (handle)
		dlclose(handle);
	return false;
}

const struct cpu_blas *cpu_blas_open(int threads, struct buf *why)
{
	pthread_mutex_lock(&opening);
	bool ok = (callers || open_library(threads, why)) && map_buffers(callers + 1, why);
	/* where OpenBLAS has the threads of OpenMP, which do not read the variable */
	if (ok && !callers && blas.set_threads && threads > 0 && !getenv(variable))
		blas.set_threads(threads);
	callers += ok;
	pthread_mutex_unlock(&opening);
	return ok ? &blas : NULL;
}

void cpu_blas_close(const struct cpu_blas *b)
{
	pthread_mutex_lock(&opening);
	callers -= b && callers > 1; /* the library stays open */
	pthread_mutex_unlock(&opening);
}
#else
typedef int cpu_no_blas; /* a C file must not be empty */
#endif
