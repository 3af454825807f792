/* clock: happened-before as vectors of counts.
 *
 * Each thread of a rank (a stream, a Communication) counts its steps. A clock says, for each thread,
 * how many of its steps are known to be over: step e of thread t happened before whoever has a clock c
 * with clock_get(c, t) >= e (vector clocks, Mattern 1989; FastTrack, Flanagan and Freund 2009). */
#ifndef HIRC_CHECK_CLOCK_H
#define HIRC_CHECK_CLOCK_H
#include "base/vec.h"

struct clock {
	uint32_t *at;
	uint32_t n, cap;
};

static inline uint32_t clock_get(const struct clock *c, uint32_t thread)
{
	return thread < c->n ? c->at[thread] : 0;
}
void clock_set(struct clock *c, uint32_t thread, uint32_t step);
/* to knows all that from knows, too. */
void clock_join(struct clock *to, const struct clock *from);
/* A clock of its own with the same knowledge. */
struct clock clock_copy(const struct clock *c);

#endif
