/* intervals: see intervals.h. */
#include "exec/intervals.h"
#include <stdlib.h>

void intervals_add(intervals *s, int64_t begin, int64_t end)
{
	vec_push(s, (struct interval){.begin = begin, .end = end});
}

static int by_begin(const void *a, const void *b)
{
	const struct interval *x = a, *y = b;
	return (x->begin > y->begin) - (x->begin < y->begin);
}

void intervals_unite(intervals *s)
{
	uint32_t n = 0;
	int64_t before = 0;
	if (s->n)
		qsort(s->at, s->n, sizeof *s->at, by_begin);
	for (uint32_t k = 0; k < s->n; k++) {
		struct interval i = s->at[k];
		if (i.begin >= i.end)
			continue;
		if (n && i.begin <= s->at[n - 1].end) {
			if (i.end > s->at[n - 1].end)
				s->at[n - 1].end = i.end;
			continue;
		}
		s->at[n++] = i;
	}
	s->n = n;
	for (uint32_t k = 0; k < n; k++) {
		s->at[k].before = before;
		before += s->at[k].end - s->at[k].begin;
	}
}

/* Returns the length of the intervals before a moment. */
static int64_t measure_before(const intervals *s, int64_t moment)
{
	uint32_t low = 0, high = s->n; /* intervals below low have begun */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (s->at[middle].begin < moment)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	const struct interval *i = &s->at[low - 1];
	return i->before + (i->end < moment ? i->end : moment) - i->begin;
}

int64_t intervals_length(const intervals *s)
{
	return s->n ? measure_before(s, INT64_MAX) : 0;
}

int64_t intervals_within(const intervals *s, int64_t begin, int64_t end)
{
	return begin < end ? measure_before(s, end) - measure_before(s, begin) : 0;
}

int64_t intervals_gaps(const intervals *s)
{
	int64_t gaps = 0;
	for (uint32_t k = 1; k < s->n; k++)
		gaps += s->at[k].begin - s->at[k - 1].end;
	return gaps;
}
