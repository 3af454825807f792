/* fifo: an unbounded queue of fixed-size records from one writing to one reading thread.
 *
 * Records are in chunks. The reader returns a chunk to the writer after reading it, so that a queue of
 * constant length allocates nothing. */
#ifndef HIRC_RT_FIFO_H
#define HIRC_RT_FIFO_H
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_fifo_chunk;

/* Distance between the words of the two sides, so that they are in different cache lines. */
enum { RT_APART = 64 };

struct rt_fifo {
	size_t record;                         /* bytes of a record */
	size_t spacing;                        /* distance between records */
	_Atomic(struct rt_fifo_chunk *) spare; /* a chunk that the reader returns to the writer */
	char writers[RT_APART];
	_Atomic uint64_t written;   /* number of records written */
	struct rt_fifo_chunk *last; /* the writer's chunk, like the next field */
	uint64_t last_number;       /* number of chunk `last` */
	char readers[RT_APART];
	struct rt_fifo_chunk *first; /* the reader's chunk, like the next fields */
	uint64_t read, seen;         /* numbers of records read, and known to be written */
	uint64_t first_number;       /* number of chunk `first` */
	char others[RT_APART];
};

void rt_fifo_start(struct rt_fifo *f, size_t record);
void rt_fifo_end(struct rt_fifo *f);
/* For the writer: appends a copy of the record. */
void rt_fifo_put(struct rt_fifo *f, const void *record);
/* For the writer: return the next record to fill in, and publish it. */
void *rt_fifo_claim(struct rt_fifo *f);
void rt_fifo_publish(struct rt_fifo *f);
/* For the reader: returns the oldest record; NULL if there is none. It is valid until rt_fifo_drop, and
 * may be changed. */
void *rt_fifo_peek(struct rt_fifo *f);
void rt_fifo_drop(struct rt_fifo *f);

#endif
