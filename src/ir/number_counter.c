/* number_counter: a list of taken numbers and a place in it that only goes up. */
#include "ir/number_counter.h"

static int compare_numbers(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

void number_counter_start(struct number_counter *c, int32_t first)
{
	if (c->unsorted)
		qsort(c->taken.at, c->taken.n, sizeof *c->taken.at, compare_numbers);
	c->next = first;
}

/* Moves next to a free number. */
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
