/* show_steps: the computations, sends and receives of each rank in each step of a loop.
 *
 *     loop over i2, 4 steps, 4 ranks
 *     rank  step 0  step 1               step 2               step 3
 *        0  Y0      X0->3  G1<-1  Y1     X0->2  G2<-2  Y2     X0->1  G3<-3  Y3
 *        1  Y1      X1->0  G2<-2  Y2     …
 *
 * A block is shown by the tensor's name and a number: its place along the first axis that the loop cuts, or,
 * if the loop cuts none, that devices cut. The loop is walked for each rank, with the branches that the rank
 * takes. */
#ifndef HIRC_SHOW_SHOW_STEPS_H
#define HIRC_SHOW_SHOW_STEPS_H
#include "base/vec.h"
#include "ir/ir.h"

enum {
	STEPS_MOST_CELLS = 1 << 14,
	STEPS_ALL = -1,    /* peer: all others of the team */
	STEPS_WHOLE = -1,  /* block: the tensor is not cut */
	STEPS_NOTHING = -2 /* block: it has no elements */
};

enum steps_kind { STEPS_COMPUTE, STEPS_SEND, STEPS_RECV, STEPS_EXCHANGE };

struct steps_event {
	uint8_t kind; /* enum steps_kind; EXCHANGE: a collective in which all members give and get */
	op_id op;
	const char *name;    /* of the tensor */
	int64_t block, peer; /* peer: a device */
	const char *part;    /* "axis 0, 24 to 48"; "" */
};

struct steps_cell {
	VEC(struct steps_event) event;
};

struct steps_picture {
	struct module *m;
	struct arena *arena;
	const char *title;
	uint32_t *rank; /* ranks that do something in the loop, ascending */
	uint32_t rank_n;
	int64_t first, n;        /* steps first … first + n - 1 */
	struct steps_cell *cell; /* by rank, then step */
	VEC(op_id) op;           /* the statements that compute or communicate, in program order */
};

/* which: the number of the loop, from 1, among the loops of the program's body that compute or send. 0: the
 * first stream-parallel one, otherwise the first. Returns false after reporting. */
bool steps_picture_open(struct steps_picture *p, struct module *m, int64_t which, struct diag *d);
void steps_picture_close(struct steps_picture *p);
void steps_picture_print(const struct steps_picture *p, struct buf *out);
void steps_picture_svg(const struct steps_picture *p, struct buf *out);

static inline const struct steps_cell *steps_cell_of(const struct steps_picture *p, uint32_t rank,
                                                     int64_t step)
{
	return &p->cell[(int64_t)rank * p->n + step];
}
/* Appends "Y 3"; "Y none" for an empty block; "Y" for a whole tensor. */
void steps_put_block(const struct steps_event *e, const char *between, struct buf *out);

#endif
