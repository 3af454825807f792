/* block: memory of a device, a file in memory that other processes map as well.
 *
 *     mapping  │ filler │ bytes … │ up to ALIGNMENT - 1 │ page that nobody may touch
 *
 * The file has no name: it is open in the process that made it, and goes with that process and the last
 * mapping, however they end. What runs over the end faults, or shows under ASan. */
#ifndef HIRC_MOCK_BLOCK_H
#define HIRC_MOCK_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What finds a block from another process. */
struct block_id {
	int32_t process, file; /* /proc/<process>/fd/<file> */
	uint64_t inode;        /* another file may have that number later */
	uint64_t bytes;
};

struct block {
	char *at;
	size_t bytes;
	int file; /* -1: another process has made it */
};

/* False: the host has no memory. */
bool block_new(size_t bytes, struct block *out);
/* Maps what another process, or this one, has made. False: it has been freed, or that process has ended. */
bool block_open(const struct block_id *id, struct block *out);
struct block_id block_id(const struct block *b); /* that this process has made */
void block_free(struct block *b);

#endif
