/* live_ranges: finds the first and the last use of buffers. */
#ifndef HIRC_PASS_LIVES_H
#define HIRC_PASS_LIVES_H
#include "base/vec.h"
#include "pass/stream_order.h"

/* Live ranges of a program, valid for the statements at the time of live_ranges_find. Statements added
 * later may only be views and deallocations. */
struct live_ranges {
	struct module *m;
	uint32_t n;       /* number of statements */
	op_id *wait;      /* by op: the last wait that names it; next_wait continues the list */
	op_id *next_wait; /* by wait */
	op_id *group;     /* by op: the end_coalescing that starts it; 0: it starts by itself */
	struct stream_order streams;
};

/* Finds the live ranges. Also numbers statements in program order (struct op's order). */
void live_ranges_find(struct module *m, struct live_ranges *out);
void live_ranges_free(struct live_ranges *l);

struct live_range {
	region_id block; /* the block that contains the uses, directly or in inner blocks */
	op_id last;      /* statement of the block that is or contains the last use; 0: none */
	bool open; /* a Communication uses the buffer, and a wait in the block does not certainly follow */
	VEC(op_id) use; /* the statements that end uses: for Communications the waits */
};

/* Finds the uses of a buffer and its views in a block. A wait is a use of its Communication's buffers. */
void live_range_find(const struct live_ranges *l, value_id v, region_id block, struct live_range *out);
void live_range_free(struct live_range *life);
/* Returns the first statement of the block, from the last use on, after which the current stream follows
 * all uses; 0: none. */
op_id live_range_end(struct live_ranges *l, const struct live_range *life);

#endif
