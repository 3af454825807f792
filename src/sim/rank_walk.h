/* rank_walk: the state of a rank's walk, shared by rank.c and rank_meet.c. */
#ifndef HIRC_SIM_RANK_WALK_H
#define HIRC_SIM_RANK_WALK_H
#include "sim/needs.h"
#include "sim/rank.h"
#include "walk/walk.h"

struct rank_transfer {    /* a transfer that has not been waited for */
	uint32_t task, n; /* tasks task … task + n - 1; n 0: the rank takes no part */
};

struct rank_message {
	op_id op;
	int64_t peer;
};

struct rank_shift { /* a turn moves ranks within the slices of a team by `by` places of n */
	enum { SHIFT_UNKNOWN, SHIFT_NONE, SHIFT_FOUND } state;
	int64_t by, n;
};

struct rank_walk {
	struct sim_program *p;
	struct module *m;
	struct sim_rank *out;
	uint32_t rank;
	int64_t now;  /* time of the host, ns */
	int64_t host; /* ns that the host takes for the current statement */
	int64_t slow; /* per mille of the normal time of work */
	struct walker walker;
	struct step step;                   /* the current step */
	VEC(uint32_t) last;                 /* by stream: its last task; SIM_NONE */
	VEC(uint32_t) number;               /* by channel of the rank: number of tasks on it */
	VEC(struct rank_transfer) transfer; /* by number of the walk */
	bool *holds;                        /* by value: its memory was taken and not freed */
	bool *on;                           /* by mesh: the rank is in it; [0] is true */
	struct sim_makers *makers;          /* NULL: the caller does not want needs */
	uint32_t *asked;                    /* by team: index into `asked` of the rank, + 1 */
	uint32_t group_asked; /* channel of the open group's Communications, as an index into `asked`;
	                         SIM_NONE: it has none */
	VEC(op_id) grouped;   /* Communications of the open group */
	VEC(struct rank_message) group;
	struct rank_shift *shift; /* by team and turn of the symmetry */
};

/* ---- rank.c */
/* Reports an error, once. Returns false. */
bool rank_fail(struct rank_walk *w, enum diagnostic code, op_id op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Adds a task after all earlier work of the current stream, and after task.also. Returns its number. */
uint32_t rank_add_task(struct rank_walk *w, struct sim_task task);
/* Adds a task that the stream waits for. */
void rank_add_in_order(struct rank_walk *w, struct sim_task task);
/* Notes that a task runs a statement. */
void rank_carry_out(struct rank_walk *w, op_id op, uint32_t task);
/* Takes memory for the results of a statement. */
void rank_take_results(struct rank_walk *w, op_id op);

/* ---- rank_issue.c */
/* Issues a statement: the host's time goes on. Returns false if the walk breaks a turn of the symmetry. */
bool rank_issue(struct rank_walk *w, op_id op);

/* ---- rank_meet.c */
/* Handles a collective. If it is not a Communication, the stream waits for it. Returns false if the walk has failed. */
bool rank_collective(struct rank_walk *w, const struct step *s);
void rank_fence(struct rank_walk *w, op_id op, team_id team);
void rank_join(struct rank_walk *w, op_id op, uint32_t also);
/* Issues a message, alone or with the open group. */
bool rank_message_issue(struct rank_walk *w, const struct step *s);
/* Handles a message of a tensor that the rank does not hold. */
void rank_message_absent(struct rank_walk *w, const struct step *s);
void rank_end_group(struct rank_walk *w, const struct step *s);
void rank_wait(struct rank_walk *w, const struct step *s);

#endif
