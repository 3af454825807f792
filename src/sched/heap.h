/* heap: nodes by key, the largest first, of equals the least. Keys do not change while a node is in it. */
#ifndef HIRC_SCHED_HEAP_H
#define HIRC_SCHED_HEAP_H
#include <stdbool.h>
#include <stdint.h>

struct heap {
	uint32_t *at, n;
	const int64_t *key; /* by node */
};

/* nodes: 0 … most - 1, each at most once. */
void heap_open(struct heap *h, const int64_t *key, uint32_t most);
void heap_close(struct heap *h);
void heap_push(struct heap *h, uint32_t node);
uint32_t heap_pop(struct heap *h);
/* Takes out at[i]. */
void heap_remove(struct heap *h, uint32_t i);

#endif
