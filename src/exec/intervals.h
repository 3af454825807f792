/* intervals: sets of moments, as intervals of nanoseconds. An interval includes its begin and excludes
 * its end. */
#ifndef HIRC_EXEC_INTERVALS_H
#define HIRC_EXEC_INTERVALS_H
#include "base/vec.h"
#include <stdint.h>

struct interval {
	int64_t begin, end;
	int64_t before; /* total length of the intervals before this one; set by intervals_unite */
};
typedef VEC(struct interval) intervals;

void intervals_add(intervals *s, int64_t begin, int64_t end);
/* Sorts the intervals, joins those that overlap and drops empty ones. The functions below need this. */
void intervals_unite(intervals *s);
/* Return the length of all intervals, and of their parts from begin to end. */
int64_t intervals_length(const intervals *s);
int64_t intervals_within(const intervals *s, int64_t begin, int64_t end);
/* Returns the length of the gaps between the first begin and the last end. */
int64_t intervals_gaps(const intervals *s);

#endif
