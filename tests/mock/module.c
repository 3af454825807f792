/* module: loads shared objects that the mock NVRTC made, and runs their kernels.
 *
 *     void NAME_run(unsigned grid, unsigned block, unsigned shared, const void *arguments)
 *     const unsigned long NAME_argument_bytes
 *
 * NAME_run runs all blocks of a launch. NAME_argument_bytes is needed if a launch does not state the size. */
#include "driver.h"
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct CUmod_st {
	struct mock_object object;
	void *library;
	int file; /* that it was loaded from */
};

typedef void kernel_run(unsigned grid, unsigned block, unsigned shared, const void *arguments);

struct CUfunc_st {
	struct mock_object object;
	CUmodule module;
	kernel_run *run;
	const unsigned long *argument_bytes; /* NULL: not stated */
	char name[64];
	unsigned shared; /* most bytes of shared memory of a block */
};

enum { MAX_BLOCK = 1024, MAX_ARGUMENTS = 4096 };

/* ---- modules */

static bool write_all(int file, const char *at, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(file, at, bytes);
		if (n <= 0)
			return false;
		at += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* Returns the size of a file that ends with its section headers, as linkers write it. */
static size_t image_bytes(const void *image)
{
	Elf64_Ehdr header;
	memcpy(&header, image, sizeof header);
	return header.e_shoff + (size_t)header.e_shentsize * header.e_shnum;
}

/* Loads an image. *file stays open with it: the loader takes two libraries of one name for one. */
static void *open_image(const void *image, int *file)
{
	char path[32];
	*file = memfd_create("hirc-mock-module", MFD_CLOEXEC);
	if (*file < 0)
		mock_abort("cuModuleLoadData", "memfd_create: %s", strerror(errno));
	snprintf(path, sizeof path, "/proc/self/fd/%d", *file);
	void *library =
	    write_all(*file, image, image_bytes(image)) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	if (!library) {
		mock_log("cuModuleLoadData: %s", dlerror());
		close(*file);
	}
	return library;
}

CUresult cuModuleLoadData(CUmodule *out, const void *image)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_IMAGE, NULL);
	if (memcmp(image, ELFMAG, SELFMAG) != 0)
		return CUDA_ERROR_INVALID_IMAGE;
	int file;
	void *library = open_image(image, &file);
	if (!library)
		return CUDA_ERROR_INVALID_IMAGE;
	CUmodule m = calloc(1, sizeof *m);
	if (!m)
		mock_abort(__func__, "the host has no memory");
	m->library = library;
	m->file = file;
	mock_object_add(&m->object, MOCK_MODULE);
	*out = m;
	return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule m)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_INVALID_HANDLE, "module %u",
	                   mock_object_number(__func__, MOCK_MODULE, m));
	streams_wait(mock_device_current());
	mock_object_end(__func__, MOCK_MODULE, m);
	dlclose(m->library);
	close(m->file);
	return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *out, CUmodule m, const char *name)
{
	char symbol[96];
	DRIVER_ENTER(CUDA_ERROR_NOT_FOUND, "%s of module %u", name,
	             mock_object_number(__func__, MOCK_MODULE, m));
	snprintf(symbol, sizeof symbol, "%s_run", name);
	void *run = dlsym(m->library, symbol);
	if (!run)
		return CUDA_ERROR_NOT_FOUND;
	CUfunction f = calloc(1, sizeof *f);
	if (!f)
		mock_abort(__func__, "the host has no memory");
	memcpy(&f->run, &run, sizeof run);
	snprintf(f->name, sizeof f->name, "%s", name);
	snprintf(symbol, sizeof symbol, "%s_argument_bytes", name);
	f->argument_bytes = dlsym(m->library, symbol);
	f->module = m;
	f->shared = MOCK_SHARED;
	mock_object_add(&f->object, MOCK_FUNCTION);
	*out = f;
	return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction f, CUfunction_attribute attribute, int value)
{
	f = mock_object_get(__func__, MOCK_FUNCTION, f);
	DRIVER_ENTER(CUDA_ERROR_INVALID_VALUE, "%s %d = %d", f->name, (int)attribute, value);
	if (attribute != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES || value < 0 ||
	    value > MOCK_MOST_SHARED)
		return CUDA_ERROR_INVALID_VALUE;
	f->shared = (unsigned)value;
	return CUDA_SUCCESS;
}

/* ---- launches */

struct launch {
	kernel_run *run;
	unsigned grid, block, shared;
	_Alignas(64) char argument[MAX_ARGUMENTS];
};

static void run(void *data, uint64_t number)
{
	struct launch *l = data;
	(void)number;
	usleep(mock_settings()->work_us);
	if (mock_fails("kernel"))
		driver_break(CUDA_ERROR_ILLEGAL_ADDRESS);
	else
		l->run(l->grid, l->block, l->shared, l->argument);
}

/* Returns the one argument structure of a launch; NULL: there is none. */
static const void *find_arguments(CUfunction f, void **parameter, void **extra, size_t *bytes)
{
	const void *at = NULL;
	*bytes = f->argument_bytes ? *f->argument_bytes : 0;
	if (parameter) {
		if (!f->argument_bytes)
			mock_abort("cuLaunchKernel", "the module of %s has no %s_argument_bytes", f->name,
			           f->name);
		return parameter[0];
	}
	for (; extra && *extra != CU_LAUNCH_PARAM_END; extra += 2)
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			at = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE)
			*bytes = *(size_t *)extra[1];
	if (at && f->argument_bytes && *bytes != *f->argument_bytes)
		mock_abort("cuLaunchKernel", "%zu bytes of arguments, %s has %lu", *bytes, f->name,
		           *f->argument_bytes);
	return at;
}

CUresult cuLaunchKernel(CUfunction f, unsigned grid, unsigned grid_y, unsigned grid_z, unsigned block,
                        unsigned block_y, unsigned block_z, unsigned shared, CUstream s, void **parameter,
                        void **extra)
{
	size_t bytes;
	f = mock_object_get(__func__, MOCK_FUNCTION, f);
	mock_object_get(__func__, MOCK_MODULE, f->module);
	DRIVER_ENTER(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "%s grid %u block %u shared %u stream %u", f->name,
	             grid, block, shared, STREAM_NUMBER(s));
	if (!grid || grid > 0x7fffffff || !block || block > MAX_BLOCK || shared > f->shared)
		return CUDA_ERROR_INVALID_VALUE;
	if (grid_y != 1 || grid_z != 1 || block_y != 1 || block_z != 1)
		mock_abort(__func__, "%s: launches here have one dimension", f->name);
	const void *argument = find_arguments(f, parameter, extra, &bytes);
	if (!argument || bytes > MAX_ARGUMENTS)
		return CUDA_ERROR_INVALID_VALUE;
	struct launch *l = aligned_alloc(64, sizeof *l);
	if (!l)
		mock_abort(__func__, "the host has no memory");
	l->run = f->run;
	l->grid = grid;
	l->block = block;
	l->shared = shared;
	memcpy(l->argument, argument, bytes);
	mock_stream_push(s, (struct mock_work){run, free, NULL, l});
	return CUDA_SUCCESS;
}
