/* clock: happened-before as vectors of counts.
 *
 * Each thread of a rank (a stream, a Communication) counts its steps. A clock says, for each thread, how many
 * of its steps are known to be over. Step e of thread t happened before each thread whose clock c has
 * clock_get(c, t) >= e (vector clocks, Mattern 1989; FastTrack, Flanagan and Freund 2009). */
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
/* Adds to `to` all steps that `from` knows. */
void clock_join(struct clock *to, const struct clock *from);
/* Returns a copy that the caller must free. */
struct clock clock_copy(const struct clock *c);

#endif
