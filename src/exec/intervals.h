/* intervals: sets of moments, as intervals of nanoseconds that hold their begin and not their end. */
#ifndef HIRC_EXEC_INTERVALS_H
#define HIRC_EXEC_INTERVALS_H
#include "base/vec.h"
#include <stdint.h>

struct interval {
	int64_t begin, end;
	int64_t before; /* length of those before this one; set by intervals_unite */
};
typedef VEC(struct interval) intervals;

void intervals_add(intervals *s, int64_t begin, int64_t end);
/* Makes them disjoint and sorted, with none that is empty: of any order before. The functions below need it.
 */
void intervals_unite(intervals *s);
/* Length of all intervals, and of their parts from begin to end. */
int64_t intervals_length(const intervals *s);
int64_t intervals_within(const intervals *s, int64_t begin, int64_t end);
/* Length of the gaps between the first begin and the last end. */
int64_t intervals_gaps(const intervals *s);

#endif
