/* block: memory of a device. It is a file in memory, which other processes can map, too.
 *
 *     mapping  │ filler │ bytes … │ up to ALIGNMENT - 1 │ inaccessible page
 *
 * The file has no name. It is open in the process that made it, and is freed with that process and the last
 * mapping, however they end. An access past the end faults, or is reported by ASan. */
#ifndef HIRC_MOCK_BLOCK_H
#define HIRC_MOCK_BLOCK_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The id by which another process finds a block. */
struct block_id {
	int32_t process, file; /* /proc/<process>/fd/<file> */
	uint64_t inode;        /* another file may get the same number later */
	uint64_t bytes;
};

struct block {
	char *at;
	size_t bytes;
	int file; /* -1: made by another process */
};

/* Makes a block. Returns false if the host has no memory. */
bool block_new(size_t bytes, struct block *out);
/* Maps a block of this or another process. Returns false if it was freed, or if that process has ended. */
bool block_open(const struct block_id *id, struct block *out);
struct block_id block_id(const struct block *b); /* of a block that this process has made */
void block_free(struct block *b);

#endif
