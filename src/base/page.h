/* page: the page size, and the memory of the machine. */
#ifndef HIRC_BASE_PAGE_H
#define HIRC_BASE_PAGE_H
#include <stdint.h>
#include <unistd.h>

static inline int64_t page_bytes(void)
{
	return sysconf(_SC_PAGESIZE);
}

/* Returns the machine's memory in bytes; 0: unknown. */
static inline int64_t machine_bytes(void)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES), page = page_bytes();
	return pages > 0 && page > 0 && pages <= INT64_MAX / page ? pages * page : 0;
}

#endif
