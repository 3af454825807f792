/* machine: J. R. Jackson's preemptive schedule of one machine. */
#include "sched/machine.h"
#include "base/arena.h"
#include "sched/heap.h"
#include <stdlib.h>

static int by_head(const void *a, const void *b)
{
	const int64_t *x = *(const int64_t *const *)a, *y = *(const int64_t *const *)b;
	return *x != *y ? (*x > *y) - (*x < *y) : (x > y) - (x < y);
}

int64_t sched_machine_end(const int64_t *head, const int64_t *tail, const int64_t *time, uint32_t node_n,
                          const uint32_t *job, uint32_t n)
{
	const int64_t **from = mem_alloc(sizeof *from * ((size_t)n + 1));
	int64_t *left = mem_alloc(sizeof *left * ((size_t)node_n + 1)), now = 0, end = 0;
	struct heap ready;
	heap_open(&ready, tail, node_n);
	for (uint32_t i = 0; i < n; i++) {
		from[i] = &head[job[i]];
		left[job[i]] = time[job[i]];
	}
	qsort(from, n, sizeof *from, by_head);
	for (uint32_t i = 0; i < n || ready.n;) {
		if (!ready.n && now < *from[i])
			now = *from[i];
		while (i < n && *from[i] <= now)
			heap_push(&ready, (uint32_t)(from[i++] - head));
		uint32_t x = heap_pop(&ready);
		if (i < n && now + left[x] > *from[i]) {
			left[x] -= *from[i] - now;
			now = *from[i];
			heap_push(&ready, x);
			continue;
		}
		now += left[x];
		if (now + tail[x] > end)
			end = now + tail[x];
	}
	heap_close(&ready);
	free(left);
	free(from);
	return end;
}
