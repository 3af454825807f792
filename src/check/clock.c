/* clock: vectors that grow with the threads they count. */
#include "check/clock.h"
#include <string.h>

static void grow_clock(struct clock *c, uint32_t n)
{
	if (c->n >= n)
		return;
	vec_reserve(c, n);
	memset(c->at + c->n, 0, sizeof *c->at * (n - c->n));
	c->n = n;
}

void clock_set(struct clock *c, uint32_t thread, uint32_t step)
{
	grow_clock(c, thread + 1);
	c->at[thread] = step;
}

void clock_join(struct clock *to, const struct clock *from)
{
	grow_clock(to, from->n);
	for (uint32_t i = 0; i < from->n; i++)
		if (from->at[i] > to->at[i])
			to->at[i] = from->at[i];
}

struct clock clock_copy(const struct clock *c)
{
	struct clock r = {0};
	clock_join(&r, c);
	return r;
}
