/* rt_region: memory that all ranks of a host see, as a range of one file without a name.
 *
 * Nobody can find it by a name, so nothing of it is left when the last process has ended. Ranges of the
 * file may be mapped again, at other addresses. */
#ifndef HIRC_RT_RT_REGION_H
#define HIRC_RT_RT_REGION_H
#include "rt/job.h"

enum { RT_HUGE_BYTES = 2 << 20 /* of a huge page: larger ranges begin at multiples of it */ };

struct rt_region {
	void *at;
	size_t bytes;
	int file;      /* descriptor */
	size_t offset; /* of `at` in the file */
	void *owner;   /* the bootstrap's own */
};

size_t rt_page_bytes(void);
/* Returns the unit at whose multiples a range of that many bytes may begin: a page, or a huge one. */
size_t rt_region_unit(size_t bytes);

/* A new file of that size; -1 with errno. */
int rt_region_file(size_t bytes);
/* Maps a range of the file for reading and writing; NULL with errno. */
void *rt_region_map(int file, size_t offset, size_t bytes);
/* `bytes` of addresses that nothing is mapped at, aligned to `align`; NULL with errno. */
void *rt_region_reserve(size_t bytes, size_t align);
/* Maps a range of the file over reserved addresses. False with errno. */
bool rt_region_map_at(int file, size_t offset, size_t bytes, void *at);
/* Gives mapped memory its pages, huge ones where there are such. False with errno if there are none left:
 * without this, the first access would end the process. */
bool rt_region_populate(const struct rt_region *r, void *at, size_t bytes);
/* Maps the pages that another process, or another mapping, has populated: else each access to a new page of
 * it takes a page fault. */
void rt_region_touch(void *at, size_t bytes);

/* `no shared memory for X (N bytes): why`; fails the job. */
enum status rt_region_failed(struct rt_job *job, const char *what, size_t bytes, int error);

#endif
