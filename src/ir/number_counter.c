/* number_counter: a sorted list of taken numbers, and a position in it that only advances. */
#include "ir/number_counter.h"

enum { DENSE = 8 }; /* numbers at least this dense are sorted by marks, without comparisons */

static int compare_numbers(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

/* Sorts the taken numbers and removes duplicates. None is above `most`. */
static void sort_by_marks(struct number_counter *c, int32_t most)
{
	uint8_t *mark = mem_zalloc((size_t)most + 1);
	uint32_t n = 0;
	for (uint32_t i = 0; i < c->taken.n; i++)
		mark[c->taken.at[i]] = 1;
	for (int32_t x = 0; x <= most; x++)
		if (mark[x])
			c->taken.at[n++] = x;
	c->taken.n = n;
	free(mark);
}

void number_counter_start(struct number_counter *c, int32_t first)
{
	int32_t most = 0;
	for (uint32_t i = 0; i < c->taken.n && c->unsorted; i++)
		most = c->taken.at[i] > most ? c->taken.at[i] : most;
	if (c->unsorted && (uint32_t)most / DENSE < c->taken.n)
		sort_by_marks(c, most);
	else if (c->unsorted)
		qsort(c->taken.at, c->taken.n, sizeof *c->taken.at, compare_numbers);
	c->next = first;
}

/* Advances `next` to a free number. */
static void skip_taken(struct number_counter *c)
{
	for (; c->at < c->taken.n && c->taken.at[c->at] <= c->next; c->at++)
		if (c->taken.at[c->at] == c->next)
			c->next++;
}

static bool are_free(const struct number_counter *c, int32_t count)
{
	return c->at == c->taken.n || c->taken.at[c->at] >= c->next + count;
}

int32_t number_counter_take(struct number_counter *c, int32_t count)
{
	for (skip_taken(c); !are_free(c, count); skip_taken(c))
		c->next = c->taken.at[c->at] + 1;
	c->next += count;
	return c->next - count;
}

int32_t number_counter_take_next(struct number_counter *c, int32_t count)
{
	skip_taken(c);
	if (!are_free(c, count))
		return -1;
	c->next += count;
	return c->next - count;
}
