/* cost_group: Communications that start together.
 *
 *     A1 = allgather(A)  4096 bytes        0 ns
 *     B1 = allgather(B)  1024 bytes        0 ns
 *     end_coalescing()                     an allgather of 5120 bytes
 *
 * All members of one kind take the time of one communication with their bytes together. A group of
 * several kinds pays one latency, the longest. */
#include "cost/model.h"
#include "ir/coalesce.h"

static int64_t sum_bytes(int64_t a, int64_t b)
{
	return a < LOCAL_MAX_BYTES - b ? a + b : LOCAL_MAX_BYTES;
}

bool group_time(const struct cost *c, op_id end, int64_t *time, int64_t *bytes)
{
	int64_t of[COLLECTIVE_COUNT] = {0}, start = 0;
	bool has[COLLECTIVE_COUNT] = {0};
	struct links_team t;
	coalesce_each (c->m, op, end) {
		enum collective kind;
		int64_t one, excess;
		if (!collective_kind((enum op_kind)c->m->op.at[op].kind, &kind))
			continue;
		if (!collective_parts(c, op, kind, &t, &one, &excess))
			return false;
		has[kind] = true;
		of[kind] = sum_bytes(of[kind], one);
		*bytes = sum_bytes(*bytes, one);
		*time += excess;
	}
	for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
		if (!has[k])
			continue;
		int64_t empty = collective_time(c, (enum collective)k, &t, 0);
		*time += collective_time(c, (enum collective)k, &t, of[k]) - empty;
		start = empty > start ? empty : start;
	}
	*time += start;
	return true;
}
