/* show_layout: the device of each block of a tensor, and the data that moves from device to device when the
 * layout changes.
 *
 *     G: f32[96, 24] on ring                    G <- allgather of X over x: 20736 B move
 *       [0:96, 0:24]  9216 B  devices 0 1 2 3     from 0: 2304 B to 1, 2304 B to 2, …
 *
 * Devices that hold the same elements share one block. In a pending sum, a plus joins devices whose parts are
 * added up. A block covers all steps of the layout's loops. */
#ifndef HIRC_SHOW_SHOW_LAYOUT_H
#define HIRC_SHOW_SHOW_LAYOUT_H
#include "ir/domain.h"
#include "ir/part.h"
#include "pass/volume.h"

struct layout_block {
	const struct part_axis *axis; /* by axis */
	VEC(uint32_t) device;         /* ascending */
	int64_t elements;
	const char *devices; /* "0 4", "0+1 2+3", or "every" */
};

struct layout_side {
	value_id value;
	const char *name, *type; /* as the program writes them */
	struct sugar sugar;
	const struct mesh *mesh; /* NULL: none, each device holds the whole tensor */
	unsigned partial;        /* bit set of mesh axes over which a reduction is pending */
	unsigned rank;
	int64_t extent[IR_MAX_LOGICAL];
	int64_t bytes;    /* of one element */
	const char *note; /* the effect of loops; NULL: none */
	VEC(struct layout_block) block;
};

struct layout_picture {
	struct module *m;
	struct arena *arena;
	unsigned n; /* number of sides: 1 or 2 */
	struct layout_side side[2];
	const char *change; /* the statement that changes the layout, and its place; NULL: there is one
	                       side */
	struct volume_pairs pairs;
	bool counted;        /* set if pairs are known */
	const char *unknown; /* why pairs are not known */
	int64_t total, most; /* bytes: of all devices, and of the device that gives most */
};

/* what: `T`, `T,U`, or the name of a Communication. A tensor that a statement redistributes is shown with its
 * former layout, too. Returns false after reporting. */
bool layout_picture_open(struct layout_picture *p, struct module *m, const char *what, struct diag *d);
/* Returns true if a statement changes the order in memory alone. */
bool layout_is_copy(struct module *m, op_id op);
void layout_picture_close(struct layout_picture *p);
void layout_picture_print(const struct layout_picture *p, struct buf *out);
void layout_picture_svg(const struct layout_picture *p, struct buf *out);

/* Appends "[0:24 48:72, 0:32]"; "[]" for a scalar. */
void layout_put_block(const struct layout_side *s, const struct layout_block *b, struct buf *out);

#endif
