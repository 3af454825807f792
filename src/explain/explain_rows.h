/* explain_rows: the functions shared by the files that make rows. */
#ifndef HIRC_EXPLAIN_EXPLAIN_ROWS_H
#define HIRC_EXPLAIN_EXPLAIN_ROWS_H
#include "explain/explain.h"

struct explain_making {
	struct explanation *x;
	struct explain_class *to;
	const struct timeline_class *c;
	uint32_t *row;          /* by op: its row + 1 */
	const int64_t *latency; /* by op: latency of communication, see cost_choice */
};

/* Returns the row of a statement. */
struct explain_row *explain_row_of(struct explain_making *k, op_id op);
/* Adds idle time of the row's stream, spent waiting for `after` on a lane. */
void explain_add_idle(struct explain_row *r, int64_t time, op_id after, const char *lane);
/* Adds exposed time of a row's communication, with its reason. */
void explain_add_why(struct explain_row *r, int64_t time, enum explain_why why, op_id other);
/* whys.c: sets, for each wait of the class, the reason for its exposed communication. */
void explain_find_whys(struct explain_making *k, const struct sim_events *e);
/* whys_recorded.c: the same for recorded programs. */
void explain_find_recorded_whys(struct explain_making *k, const struct sim *s);

#endif
