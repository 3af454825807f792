/* printed_numbers: see the header. */
#include "ir/printed_numbers.h"
#include <stdlib.h>

void printed_numbers_add(struct printed_numbers *n, int32_t number)
{
	if (number >= 0)
		vec_push(&n->used, number);
}

static int compare_numbers(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return (x > y) - (x < y);
}

void printed_numbers_sort(struct printed_numbers *n)
{
	uint32_t kept = 0;
	bool sorted = true;
	for (uint32_t i = 1; i < n->used.n && sorted; i++)
		sorted = n->used.at[i - 1] <= n->used.at[i];
	if (!sorted)
		qsort(n->used.at, n->used.n, sizeof *n->used.at, compare_numbers);
	for (uint32_t i = 0; i < n->used.n; i++)
		if (!kept || n->used.at[kept - 1] != n->used.at[i])
			n->used.at[kept++] = n->used.at[i];
	n->used.n = kept;
}

/* Returns how many of the numbers are smaller. */
static uint32_t count_below(const struct printed_numbers *n, int32_t number)
{
	uint32_t low = 0, high = n->used.n;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (n->used.at[mid] < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

enum printed_pair printed_numbers_pair(const struct printed_numbers *n, int32_t number)
{
	return count_below(n, number) == (uint32_t)number ? PRINTED_OWN : PRINTED_UNDECIDED;
}

int32_t printed_numbers_hidden(const struct printed_numbers *n, int32_t number)
{
	return number - (int32_t)count_below(n, number);
}

bool printed_numbers_has(const struct printed_numbers *n, int32_t number)
{
	uint32_t at = count_below(n, number);
	return at < n->used.n && n->used.at[at] == number;
}

bool printed_numbers_is_made(const struct printed_numbers *n, uint32_t extent)
{
	for (uint32_t i = 0; i < n->made.n; i++)
		if (n->made.at[i] == extent)
			return true;
	return false;
}

void printed_numbers_add_made(struct printed_numbers *n, uint32_t extent)
{
	if (!printed_numbers_is_made(n, extent))
		vec_push(&n->made, extent);
}

void printed_numbers_free(struct printed_numbers *n)
{
	vec_free(&n->used);
	vec_free(&n->made);
}
