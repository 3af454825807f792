/* rt_region: makes files in memory and maps them; see rt_region.h. */
#include "rt/rt_region.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

size_t rt_page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

size_t rt_region_unit(size_t bytes)
{
	return bytes >= RT_HUGE_BYTES ? RT_HUGE_BYTES : rt_page_bytes();
}

int rt_region_file(size_t bytes)
{
	int file = memfd_create("hirc", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (file < 0 || (ftruncate(file, (off_t)bytes) == 0 &&
	                 fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0))
		return file;
	int error = errno;
	close(file);
	errno = error;
	return -1;
}

void *rt_region_reserve(size_t bytes, size_t align)
{
	size_t page = rt_page_bytes(), more = align > page ? align : 0;
	char *at = mmap(NULL, bytes + more, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED)
		return NULL;
	size_t before = more ? (align - (uintptr_t)at % align) % align : 0;
	if (before)
		munmap(at, before);
	if (more > before)
		munmap(at + before + bytes, more - before);
	return at + before;
}

bool rt_region_map_at(int file, size_t offset, size_t bytes, void *at)
{
	return mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
	            (off_t)offset) != MAP_FAILED;
}

void *rt_region_map(int file, size_t offset, size_t bytes)
{
	size_t page = rt_page_bytes(), whole = (bytes + page - 1) / page * page;
	void *at = rt_region_reserve(whole, rt_region_unit(bytes));
	if (!at || rt_region_map_at(file, offset, whole, at))
		return at;
	int error = errno;
	munmap(at, whole);
	errno = error;
	return NULL;
}

bool rt_region_populate(const struct rt_region *r, void *at, size_t bytes)
{
	if (bytes >= RT_HUGE_BYTES)
		(void)madvise(at, bytes, MADV_HUGEPAGE); /* only advice: small pages work, too */
	if (madvise(at, bytes, MADV_POPULATE_WRITE) == 0)
		return true;
	if (errno != EINVAL) /* kernels before 5.14 fail with EINVAL */
		return false;
	return fallocate(r->file, 0, (off_t)(r->offset + (size_t)((char *)at - (char *)r->at)),
	                 (off_t)bytes) == 0;
}

void rt_region_touch(void *at, size_t bytes)
{
	(void)madvise(at, bytes, MADV_POPULATE_READ); /* otherwise each page is mapped at its first use */
}

enum status rt_region_failed(struct rt_job *job, const char *what, size_t bytes, int error)
{
	rt_job_error(job, "no shared memory for %s (%zu bytes): %s", what, bytes, strerror(error));
	return rt_job_fail(job, STATUS_DIAGNOSTICS);
}
