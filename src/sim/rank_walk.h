/* rank_walk: the walk over the statements of a rank, which rank.c and rank_meet.c share. */
#ifndef HIRC_SIM_RANK_WALK_H
#define HIRC_SIM_RANK_WALK_H
#include "sim/needs.h"
#include "sim/rank.h"
#include "walk/walk.h"

struct rank_transfer {    /* that is not waited for yet */
	uint32_t task, n; /* tasks task … task + n - 1; n 0: the rank takes no part */
};

struct rank_message {
	op_id op;
	int64_t peer;
};

struct rank_walk {
	struct sim_program *p;
	struct module *m;
	struct sim_rank *out;
	uint32_t rank;
	int64_t now;  /* of the host */
	int64_t slow; /* per mille */
	struct walker walker;
	struct step step;                   /* that is being taken */
	VEC(uint32_t) last;                 /* by stream: its last task; SIM_NONE */
	VEC(uint32_t) number;               /* by channel of the rank: tasks on it */
	VEC(struct rank_transfer) transfer; /* by number of the walk */
	bool *holds;                        /* by value: memory was taken and not given back */
	bool *on;                           /* by mesh: the rank is in it; by 0, none, it is */
	struct sim_makers *makers;          /* NULL: needs are not asked for */
	uint32_t *asked;                    /* by team: in `asked` of the rank, + 1 */
	uint32_t group_asked; /* of the Communications of the group, in `asked`; SIM_NONE: it has none */
	VEC(op_id) grouped;   /* its Communications */
	VEC(struct rank_message) group;
};

/* ---- rank.c */
/* Reports, once. Returns false. */
bool rank_fail(struct rank_walk *w, enum diagnostic code, op_id op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
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
void rank_collective(struct rank_walk *w, const struct step *s);
void rank_fence(struct rank_walk *w, op_id op, team_id team);
void rank_join(struct rank_walk *w, op_id op, uint32_t also);
/* A message is issued: alone, or with the group that is open. */
bool rank_message_issue(struct rank_walk *w, const struct step *s);
/* A message of a tensor that the rank does not hold. */
void rank_message_absent(struct rank_walk *w, const struct step *s);
void rank_end_group(struct rank_walk *w, const struct step *s);
void rank_wait(struct rank_walk *w, const struct step *s);

#endif
