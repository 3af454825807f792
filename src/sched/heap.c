/* heap: a binary heap. */
#include "sched/heap.h"
#include "base/arena.h"
#include <stdlib.h>

static bool is_node_above(const struct heap *h, uint32_t x, uint32_t y)
{
	int64_t a = h->key ? h->key[x] : 0, b = h->key ? h->key[y] : 0;
	return a > b || (a == b && x < y);
}

void heap_open(struct heap *h, const int64_t *key, uint32_t most)
{
	*h = (struct heap){.at = mem_alloc(sizeof *h->at * ((size_t)most + 1)), .key = key};
}

void heap_close(struct heap *h)
{
	free(h->at);
}

/* Moves node up from i to its place. */
static void rise(struct heap *h, uint32_t i, uint32_t node)
{
	for (; i && is_node_above(h, node, h->at[(i - 1) / 2]); i = (i - 1) / 2)
		h->at[i] = h->at[(i - 1) / 2];
	h->at[i] = node;
}

/* Moves node down from i to its place. */
static void sink(struct heap *h, uint32_t i, uint32_t node)
{
	uint32_t child;
	while ((child = 2 * i + 1) < h->n) {
		if (child + 1 < h->n && is_node_above(h, h->at[child + 1], h->at[child]))
			child++;
		if (is_node_above(h, node, h->at[child]))
			break;
		h->at[i] = h->at[child];
		i = child;
	}
	h->at[i] = node;
}

void heap_push(struct heap *h, uint32_t node)
{
	rise(h, h->n++, node);
}

uint32_t heap_pop(struct heap *h)
{
	uint32_t top = h->at[0];
	heap_remove(h, 0);
	return top;
}

void heap_remove(struct heap *h, uint32_t i)
{
	uint32_t moved = h->at[--h->n];
	if (i == h->n)
		return;
	if (i && is_node_above(h, moved, h->at[(i - 1) / 2]))
		rise(h, i, moved);
	else
		sink(h, i, moved);
}
