/* here: the part of a value that a rank has in an iteration, by its type.
 *
 *     Y: f32[10@stream(4)]      y = shard_by_stream(Y, i)      i = 3: 1 element, in a block of 3 */
#ifndef TESTS_EVENTS_HERE_H
#define TESTS_EVENTS_HERE_H
#include "walk/walk.h"

struct here {
	bool known;
	bool open; /* the writer of the value decides which block of a loop it is: all blocks count */
	int64_t elements, padded; /* by the type; of the full block in memory that contains them */
};

/* The loops of each value, found once. */
struct here_loops {
	struct here_value **value; /* by value_id */
};

void here_open(struct here_loops *l, const struct module *m);
void here_close(struct here_loops *l, const struct module *m);
struct here here_find(struct here_loops *l, struct walker *w, value_id v);
/* Returns true if the rank is in the mesh of a value. */
bool here_is(const struct module *m, value_id v, int64_t rank);

#endif
