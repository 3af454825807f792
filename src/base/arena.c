/* arena: bump allocation from a list of zeroed blocks.
 *
 * The first block is small, so that a scratch arena costs little; each further
 * block doubles up to BLOCK_MAX, so that a module of a million ops takes few
 * blocks. A large object gets a block of its own. This block is linked behind
 * the current one, so that later allocations still use the current block.
 * Blocks come from calloc: large ones are zero pages that nothing touched yet. */
#include "base/arena.h"
#include "base/status.h"
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

enum {
	BLOCK_FIRST = 8 << 10, /* bytes of the first block, header included */
	BLOCK_MAX = 4 << 20,
	ALIGNMENT = _Alignof(max_align_t),
};

struct block {
	struct block *next;
	_Alignas(max_align_t) char data[];
};

struct arena {
	struct block *blocks;  /* the newest first; NULL before the first allocation */
	char *room, *room_end; /* free bytes of the current block */
	size_t block_size;     /* bytes of the next block */
	size_t bytes;          /* allocated so far, rounding included */
};

_Noreturn static void out_of_memory(size_t n)
{
	fprintf(stderr, "hirc: error: out of memory (%zu bytes wanted)\n", n);
	exit(STATUS_INTERNAL);
}

void *mem_alloc(size_t n)
{
	void *p = malloc(n ? n : 1);
	if (!p)
		out_of_memory(n);
	return p;
}

void *mem_zalloc(size_t n)
{
	void *p = calloc(1, n ? n : 1);
	if (!p)
		out_of_memory(n);
	return p;
}

void *mem_realloc(void *p, size_t n)
{
	void *q = realloc(p, n ? n : 1);
	if (!q)
		out_of_memory(n);
	return q;
}

void mem_return_blocks(void)
{
#ifdef __GLIBC__ /* its threshold rises to 32 MiB as blocks are freed; the holes between smaller ones stay */
	mallopt(M_MMAP_THRESHOLD, 1 << 20);
	mallopt(M_TRIM_THRESHOLD, 8 << 20);
#endif
}

char *mem_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(mem_alloc(n), s, n);
}

struct arena *arena_new(void)
{
	struct arena *a = mem_zalloc(sizeof *a);
	a->block_size = BLOCK_FIRST;
	return a;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	for (struct block *b = a->blocks, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(a);
}

/* Allocates a block for these n bytes alone, linked behind the current block. */
static void *alloc_alone(struct arena *a, size_t n)
{
	struct block *b = mem_zalloc(sizeof *b + n);
	if (a->blocks) {
		b->next = a->blocks->next;
		a->blocks->next = b;
	} else {
		a->blocks = b;
	}
	return b->data;
}

static void add_block(struct arena *a)
{
	struct block *b = mem_zalloc(a->block_size);
	b->next = a->blocks;
	a->blocks = b;
	a->room = b->data;
	a->room_end = (char *)b + a->block_size;
	if (a->block_size < BLOCK_MAX)
		a->block_size *= 2;
}

void *arena_alloc(struct arena *a, size_t n)
{
	if (n > SIZE_MAX / 2)
		out_of_memory(n);
	n = n ? (n + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1) : ALIGNMENT;
	a->bytes += n;
	if (n > (size_t)(a->room_end - a->room)) {
		if (n > a->block_size / 4)
			return alloc_alone(a, n);
		add_block(a);
	}
	char *p = a->room;
	a->room += n;
	return p;
}

void *arena_copy(struct arena *a, const void *from, size_t n)
{
	void *p = arena_alloc(a, n);
	return n ? memcpy(p, from, n) : p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *p = arena_alloc(a, n + 1);
	if (n)
		memcpy(p, s, n);
	return p;
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	char text[256];
	va_list args, again;
	va_start(args, format);
	va_copy(again, args);
	int n = vsnprintf(text, sizeof text, format, args);
	va_end(args);
	size_t bytes = n > 0 ? (size_t)n + 1 : 1;
	char *p = arena_alloc(a, bytes);
	if (bytes > sizeof text)
		vsnprintf(p, bytes, format, again);
	else if (n > 0)
		memcpy(p, text, bytes);
	va_end(again);
	return p;
}

size_t arena_bytes(const struct arena *a)
{
	return a->bytes;
}
