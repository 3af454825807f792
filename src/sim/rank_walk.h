/* rank_walk: the walk over the statements of a rank, which rank.c and rank_meet.c share. */
#ifndef HIRC_SIM_RANK_WALK_H
#define HIRC_SIM_RANK_WALK_H
#include "sim/needs.h"
#include "sim/rank.h"

struct rank_instance { /* of a statement that is waited for */
	op_id op;
	uint32_t task, n; /* tasks task … task + n - 1; n 0: the rank takes no part */
	uint32_t next;    /* of the same statement, in `pending` + 1 */
};

struct rank_message { /* on its way to the statement that issues it */
	op_id op;     /* 0: not come to yet */
	int64_t peer;
};

struct rank_walk {
	struct sim_program *p;
	struct module *m;
	struct sim_rank *out;
	uint32_t rank;
	int64_t now;          /* of the host */
	int64_t iteration;    /* of the innermost loop */
	int64_t slow;         /* per mille */
	int64_t *index;       /* by index_id */
	uint32_t *handle;     /* by handle_id: stream */
	uint32_t current;     /* stream */
	VEC(uint32_t) last;   /* by stream: its last task; SIM_NONE */
	VEC(uint32_t) number; /* by channel of the rank: tasks on it */
	uint32_t *first,
	    *end; /* by op: the oldest and latest instance that was not waited for, in pending + 1 */
	VEC(struct rank_instance) pending;
	bool *holds;                 /* by value: memory was taken and not given back */
	bool *on;                    /* by mesh: the rank is in it; by 0, none, it is */
	struct rank_message *posted; /* by op */
	struct sim_makers *makers;   /* NULL: needs are not asked for */
	bool in_group;
	uint32_t *asked;      /* by team: in `asked` of the rank, + 1 */
	uint32_t group_asked; /* of the Communications of the group, in `asked`; SIM_NONE: it has none */
	VEC(op_id) grouped;   /* its Communications */
	VEC(struct rank_message) group;
};

/* ---- rank.c */
/* Reports, once. Returns false. */
bool rank_fail(struct rank_walk *w, enum diagnostic code, op_id op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* The k-th scalar of a statement, here, on which the rank's work depends. False after reporting, or
 * where ranks of an orbit find different ones. */
bool rank_scalar(struct rank_walk *w, op_id op, unsigned k, int64_t *out);
/* The peer of a message, likewise. */
bool rank_peer(struct rank_walk *w, op_id op, int64_t *out);
/* Adds a task after all earlier work of the current stream, and `also`. Returns its number. */
uint32_t rank_add_task(struct rank_walk *w, struct sim_task task);
/* Adds a task, after which the stream goes on. */
void rank_add_in_order(struct rank_walk *w, struct sim_task task);
/* The task carries out a statement. */
void rank_carry_out(struct rank_walk *w, op_id op, uint32_t task);
/* Takes memory for the results of a statement. */
void rank_take_results(struct rank_walk *w, op_id op);

/* ---- rank_meet.c */
/* A collective; one that is no Communication ends before the stream goes on. */
void rank_collective(struct rank_walk *w, op_id op);
void rank_fence(struct rank_walk *w, op_id op, team_id team);
void rank_join(struct rank_walk *w, op_id op, uint32_t also);
bool rank_message_issue(struct rank_walk *w, op_id op);
bool rank_post(struct rank_walk *w, op_id op);
void rank_end_group(struct rank_walk *w, op_id op);
bool rank_wait(struct rank_walk *w, op_id op);

#endif
