/* rt_region: memory that all ranks of a host see, a range of a file without a name.
 *
 * The file has no name, so nothing is left when the last process has ended. Ranges of the file may be
 * mapped again at other addresses. */
#ifndef HIRC_RT_RT_REGION_H
#define HIRC_RT_RT_REGION_H
#include "rt/job.h"

enum { RT_HUGE_BYTES = 2 << 20 /* bytes of a huge page; larger ranges begin at multiples of it */ };

struct rt_region {
	void *at;
	size_t bytes;
	int file;      /* file descriptor */
	size_t offset; /* offset of `at` in the file */
	void *owner;   /* for the bootstrap */
};

size_t rt_page_bytes(void);
/* Returns the unit at whose multiples a range of so many bytes may begin: a page, or a huge page. */
size_t rt_region_unit(size_t bytes);

/* Makes a file of that size, which stays: nobody can cut it, and so end ranks that use its pages. Returns -1 with
 * errno. */
int rt_region_file(size_t bytes);
/* Maps a range of the file for reading and writing; NULL with errno. */
void *rt_region_map(int file, size_t offset, size_t bytes);
/* Reserves `bytes` of addresses at which nothing is mapped, aligned to `align`; returns NULL with errno. */
void *rt_region_reserve(size_t bytes, size_t align);
/* Maps a range of the file over reserved addresses. Returns false with errno. */
bool rt_region_map_at(int file, size_t offset, size_t bytes, void *at);
/* Allocates the pages of mapped memory, huge ones if possible. Returns false with errno if there are not
 * enough: without this call, the first access would end the process. */
bool rt_region_populate(const struct rt_region *r, void *at, size_t bytes);
/* Maps the pages that another process or mapping has allocated. Without this call, each first access to
 * a page takes a page fault. */
void rt_region_touch(void *at, size_t bytes);

/* Reports `no shared memory for X (N bytes): why` and fails the job. */
enum status rt_region_failed(struct rt_job *job, const char *what, size_t bytes, int error);

#endif
