/* data_map: which elements of a logical tensor a rank holds, and where in memory.
 *
 * Works for any layout: a tensor is a product of independent groups of axes (one an axis, or all
 * together where a layout merges axes), and a group is the list of positions that the rank holds.
 *
 *     f32[6@x, 4], x = 2, rank 1     group 0: rows 3 4 5     group 1: columns 0 1 2 3
 *
 * It is walked in batches, in one order on all ranks:
 *
 *     struct data_cursor c = {0};
 *     struct data_batch b;
 *     while (data_map_next(&map, &c, DATA_BATCH, &b)) … b.linear[k], b.offset[k] …                  */
#ifndef HIRC_PLAN_DATA_MAP_H
#define HIRC_PLAN_DATA_MAP_H
#include "ir/ir.h"

enum { DATA_BATCH = 256 };

struct data_group {
	int64_t n;
	int64_t *linear; /* the addend of each position to the logical, row-major index */
	int64_t *offset; /* and to the element's place in memory */
};

struct data_map {
	struct arena *arena;
	unsigned rank;
	int64_t extent[IR_MAX_LOGICAL];
	int64_t total;       /* elements of the logical tensor */
	int64_t count;       /* that the rank holds; 0 outside the mesh */
	int64_t parts, part; /* of a pending reduction: how many there are, which is here; 1, 0 without */
	unsigned group_n;
	struct data_group group[IR_MAX_LOGICAL];
};

/* False when an extent has no value, or the tensor is too large for this layout. */
bool data_map_make(const struct module *m, type_id t, int64_t rank, struct data_map *out);
void data_map_free(struct data_map *map);

struct data_cursor {
	int64_t at[IR_MAX_LOGICAL];
	bool ended;
};

struct data_batch {
	unsigned n;
	int64_t linear[DATA_BATCH], offset[DATA_BATCH];
	bool even; /* offsets are offset[0] + k * stride */
	int64_t stride;
};

/* The next elements, at most max. False at the end. */
bool data_map_next(const struct data_map *map, struct data_cursor *c, unsigned max, struct data_batch *out);

/* `[1, 5]`: the index of a logical element. */
void data_index_text(const struct data_map *map, int64_t linear, struct buf *out);

#endif
