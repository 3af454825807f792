/* data_map: finds the elements of a logical tensor that a rank holds, and their places in memory.
 *
 * It works for any layout. A tensor is a product of independent groups of axes: one group an axis, or a
 * single group of all axes if the layout merges some. A group lists the positions that the rank holds.
 *
 *     f32[6@x, 4], x = 2, rank 1     group 0: rows 3 4 5     group 1: columns 0 1 2 3
 *
 * The elements are visited in batches, in the same order on all ranks:
 *
 *     struct data_cursor c = {0};
 *     struct data_batch b;
 *     while (data_map_next(&map, &c, DATA_BATCH, &b)) … b.linear[k], b.offset[k] … */
#ifndef HIRC_PLAN_DATA_MAP_H
#define HIRC_PLAN_DATA_MAP_H
#include "ir/ir.h"

enum { DATA_BATCH = 256 };

struct data_group {
	int64_t n;
	int64_t *linear; /* by position: addend to the logical, row-major index */
	int64_t *offset; /* by position: addend to the place in memory, in elements */
};

struct data_map {
	struct arena *arena;
	unsigned rank;
	int64_t extent[IR_MAX_LOGICAL];
	int64_t total; /* elements of the logical tensor */
	int64_t count; /* elements that the rank holds; 0 outside of the mesh */
	int64_t parts,
	    part; /* pending reduction: number of parts, and the part on this rank; otherwise 1 and 0 */
	unsigned group_n;
	struct data_group group[IR_MAX_LOGICAL];
};

/* Returns false if an extent has no value, or if the tensor is too large for its layout. */
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

/* Finds the next elements, at most max. Returns false at the end. */
bool data_map_next(const struct data_map *map, struct data_cursor *c, unsigned max, struct data_batch *out);

/* Appends the index of a logical element: `[1, 5]`. */
void data_index_text(const struct data_map *map, int64_t linear, struct buf *out);

#endif
