/* number_counter: hands out numbers in order and skips those that a file stated. */
#ifndef HIRC_IR_NUMBER_COUNTER_H
#define HIRC_IR_NUMBER_COUNTER_H
#include "base/vec.h"
#include <stdbool.h>

enum { NUMBER_MAX = INT32_MAX / 2 }; /* larger ones are dropped, so that counters cannot overflow */

struct number_counter {
	VEC(int32_t) taken; /* sorted by number_counter_start */
	bool unsorted;      /* files usually state numbers in order, and no sort is needed */
	uint32_t at;        /* index of the first of taken that is >= next */
	int32_t next;
};

static inline void number_counter_claim(struct number_counter *c, int32_t number)
{
	c->unsorted |= c->taken.n && c->taken.at[c->taken.n - 1] > number;
	vec_push(&c->taken, number);
}

/* Starts the counter. All stated numbers must have been claimed. */
void number_counter_start(struct number_counter *c, int32_t first);
/* Takes the smallest `count` consecutive free numbers. Returns the first. */
int32_t number_counter_take(struct number_counter *c, int32_t count);
/* Takes the next `count` free numbers if they are consecutive. Otherwise takes none and returns -1. */
int32_t number_counter_take_next(struct number_counter *c, int32_t count);

#endif
