/* heap: nodes by key, the largest key first, and the least node first among equals. The key of a node
 * must not change while the node is in the heap. Without keys, the least node comes first. */
#ifndef HIRC_SCHED_HEAP_H
#define HIRC_SCHED_HEAP_H
#include <stdbool.h>
#include <stdint.h>

struct heap {
	uint32_t *at, n;
	const int64_t *key; /* by node; NULL: all keys are equal */
};

/* Opens a heap of the nodes 0 … most - 1, each at most once. */
void heap_open(struct heap *h, const int64_t *key, uint32_t most);
void heap_close(struct heap *h);
void heap_push(struct heap *h, uint32_t node);
uint32_t heap_pop(struct heap *h);
/* Removes at[i]. */
void heap_remove(struct heap *h, uint32_t i);

#endif
