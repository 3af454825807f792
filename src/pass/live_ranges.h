/* live_ranges: from where to where statements use a buffer. */
#ifndef HIRC_PASS_LIVES_H
#define HIRC_PASS_LIVES_H
#include "base/vec.h"
#include "pass/stream_order.h"

/* Live ranges of a program at the time when they were made; statements that are added later may be views and
 * ends of life. */
struct live_ranges {
	struct module *m;
	uint32_t n;       /* statements */
	op_id *wait;      /* by op: the last wait that names it, a list by next_wait */
	op_id *next_wait; /* by wait */
	op_id *group;     /* by op: the end_coalescing that starts it; 0: it starts itself */
	struct stream_order streams;
};

/* Numbers statements in program order, too (struct op's order). */
void live_ranges_find(struct module *m, struct live_ranges *out);
void live_ranges_free(struct live_ranges *l);

struct live_range {
	region_id block; /* the uses are in it, or in blocks within */
	op_id last;      /* statement of the block that holds the last use; 0: there is none */
	bool open;       /* a Communication of the buffer is not surely waited for after it, in the block */
	VEC(op_id) use;  /* statements that the uses end with: waits for those of Communications */
};

/* The uses of a buffer and of views of it in a block; a wait is a use of its Communication's buffers. */
void live_range_find(const struct live_ranges *l, value_id v, region_id block, struct live_range *out);
void live_range_free(struct live_range *life);
/* The first statement of the block, from the last use on, after which the current stream follows all uses; 0:
 * there is none. */
op_id live_range_end(struct live_ranges *l, const struct live_range *life);

#endif
