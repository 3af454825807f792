/* fifo: an unbounded queue of fixed-size records between one writing and one reading thread.
 *
 * Records lie in chunks; a chunk that was read goes back to the writer, so that a queue which keeps
 * its length allocates nothing. */
#ifndef HIRC_RT_FIFO_H
#define HIRC_RT_FIFO_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_fifo_chunk;

/* Distance between the words of both sides, so that they do not take each other's cache lines. */
enum { RT_APART = 64 };

struct rt_fifo {
	size_t record;                         /* bytes of one */
	size_t spacing;                        /* from one to the next */
	_Atomic(struct rt_fifo_chunk *) spare; /* one chunk on its way back */
	char writers[RT_APART];
	_Atomic uint64_t written;   /* records */
	struct rt_fifo_chunk *last; /* writer's, as the next */
	uint64_t last_number;       /* of chunk `last` */
	char readers[RT_APART];
	struct rt_fifo_chunk *first; /* reader's, as the next */
	uint64_t read, seen;         /* records; seen: that were written */
	uint64_t first_number;       /* of chunk `first` */
	char others[RT_APART];
};

void rt_fifo_start(struct rt_fifo *f, size_t record);
void rt_fifo_end(struct rt_fifo *f);
/* Writer: a copy of the record. */
void rt_fifo_put(struct rt_fifo *f, const void *record);
/* Writer: the next record, to be filled in, and making it visible. */
void *rt_fifo_claim(struct rt_fifo *f);
void rt_fifo_publish(struct rt_fifo *f);
/* Reader: the oldest record, NULL if there is none. It stays until rt_fifo_drop, and may be changed. */
void *rt_fifo_peek(struct rt_fifo *f);
void rt_fifo_drop(struct rt_fifo *f);

#endif
