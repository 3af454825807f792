/* page: the unit in which memory is mapped. */
#ifndef HIRC_BASE_PAGE_H
#define HIRC_BASE_PAGE_H
#include <stdint.h>
#include <unistd.h>

static inline int64_t page_bytes(void)
{
	return sysconf(_SC_PAGESIZE);
}

#endif
