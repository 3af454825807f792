/* fifo: see fifo.h. Storing `written` publishes a record and the link to its chunk. It is sequentially
 * consistent, so that rt_bell_nudge may follow. */
#include "rt/fifo.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64 /* records in a chunk */ };

struct rt_fifo_chunk {
	struct rt_fifo_chunk *next;
	_Alignas(16) char records[];
};

static struct rt_fifo_chunk *chunk_new(struct rt_fifo *f)
{
	struct rt_fifo_chunk *c = atomic_exchange(&f->spare, NULL);
	if (!c)
		c = mem_alloc(sizeof *c + CHUNK * f->spacing);
	c->next = NULL;
	return c;
}

void rt_fifo_start(struct rt_fifo *f, size_t record)
{
	*f = (struct rt_fifo){.record = record, .spacing = (record + 15) & ~(size_t)15};
	f->first = f->last = chunk_new(f);
}

void rt_fifo_end(struct rt_fifo *f)
{
	for (struct rt_fifo_chunk *c = f->first, *next; c; c = next) {
		next = c->next;
		free(c);
	}
	free(f->spare);
}

void *rt_fifo_claim(struct rt_fifo *f)
{
	uint64_t n = atomic_load_explicit(&f->written, memory_order_relaxed);
	if (n > 0 && n % CHUNK == 0 && f->last_number < n / CHUNK) {
		struct rt_fifo_chunk *c = chunk_new(f);
		f->last->next = c;
		f->last = c;
		f->last_number = n / CHUNK;
	}
	return f->last->records + n % CHUNK * f->spacing;
}

void rt_fifo_publish(struct rt_fifo *f)
{
	uint64_t n = atomic_load_explicit(&f->written, memory_order_relaxed);
	atomic_store(&f->written, n + 1);
}

void rt_fifo_put(struct rt_fifo *f, const void *record)
{
	memcpy(rt_fifo_claim(f), record, f->record);
	rt_fifo_publish(f);
}

void *rt_fifo_peek(struct rt_fifo *f)
{
	if (f->read == f->seen) {
		f->seen = atomic_load(&f->written);
		if (f->read == f->seen)
			return NULL;
	}
	if (f->first_number <
	    f->read / CHUNK) { /* the reader has read all of it, and the writer no longer uses it */
		struct rt_fifo_chunk *old = f->first;
		f->first = old->next;
		f->first_number++;
		free(atomic_exchange(&f->spare, old));
	}
	return f->first->records + f->read % CHUNK * f->spacing;
}

void rt_fifo_drop(struct rt_fifo *f)
{
	f->read++;
}
