/* sim_queue: a binary heap. */
#include "sim/sim_queue.h"

static bool is_entry_earlier(const struct queue_entry *a, const struct queue_entry *b)
{
	if (a->at != b->at)
		return a->at < b->at;
	if (a->what != b->what)
		return a->what < b->what;
	return a->who != b->who ? a->who < b->who : a->kind < b->kind;
}

void queue_push(struct queue *q, struct queue_entry e)
{
	vec_push(&q->heap, e);
	struct queue_entry *h = q->heap.at;
	uint32_t k = q->heap.n - 1;
	for (; k && is_entry_earlier(&e, &h[(k - 1) / 2]); k = (k - 1) / 2)
		h[k] = h[(k - 1) / 2];
	h[k] = e;
}

struct queue_entry queue_pop(struct queue *q)
{
	struct queue_entry *h = q->heap.at, top = h[0], last = h[--q->heap.n];
	uint32_t k = 0, n = q->heap.n;
	for (uint32_t c = 1; c < n; c = 2 * k + 1) {
		if (c + 1 < n && is_entry_earlier(&h[c + 1], &h[c]))
			c++;
		if (!is_entry_earlier(&h[c], &last))
			break;
		h[k] = h[c];
		k = c;
	}
	h[k] = last;
	return top;
}
