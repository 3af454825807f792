/* rank: the statements of one rank as tasks that wait for each other.
 *
 *     set_stream(i)                   the host goes on; later work is on stream i
 *     synchronize(main)               a join: after the last task of stream i and the last of main
 *     T <- linear(X, W)               work, after the last task of its stream
 *     Y <- allreduce(T) as c          a collective, after the last task of its stream; the stream goes on
 *     wait(c)                         a join: after the last task of its stream and c
 *
 * The host never waits. It issues one statement after the other; each takes it a time (cost_op_issue_of), except
 * loops, conditions and views. So the text alone tells which statements a rank issues, and when.
 *
 * Ranks meet on channels. A channel is a slice of a team with a backend, the fences of a slice, or the
 * messages from one rank to another with a backend. A rank numbers its channels in the order in which it
 * reaches them. The k-th task of a member on a channel meets the k-th of every other. */
#ifndef HIRC_SIM_RANK_H
#define HIRC_SIM_RANK_H
#include "base/hash.h"
#include "base/vec.h"
#include "cost/cost.h"
#include "walk/walk_program.h"

#define SIM_NONE UINT32_MAX

enum {
	SIM_MAX_TASKS = 1 << 23, /* tasks of all simulated ranks */
	SIM_MAX_PLACES = 1 << 23 /* places on channels, of all ranks that are walked one by one */
};
#define SIM_MAX_STEPS ((int64_t)1 << 32) /* statements of all ranks that are walked together */

enum sim_task_kind {
	SIM_WORK,    /* on the device, one at a time */
	SIM_JOIN,    /* takes no time */
	SIM_VIEW,    /* a copy of a view that a run leaves out; takes no time */
	SIM_TAKE,    /* takes memory for a value; takes no time */
	SIM_GIVE,    /* frees that memory */
	SIM_MEETING, /* a collective or fence, with all other members of its channel, one after the other */
	SIM_MESSAGE  /* a message, with its other end */
};

struct sim_task {
	int64_t issue;     /* when the host issues it, ns */
	int64_t host;      /* ns that the host takes for its statement */
	int64_t time;      /* ns, if nothing else runs */
	int64_t bytes;     /* of communication, or of memory */
	int64_t iteration; /* of the innermost loop; -1: none */
	op_id op;
	value_id value;   /* of memory */
	uint32_t before;  /* the task before it on its stream; SIM_NONE */
	uint32_t also;    /* another task that must be over before it; SIM_NONE */
	uint32_t stream;  /* of the rank */
	uint32_t channel; /* of the rank; for meetings and messages */
	uint32_t number;  /* its number on that channel */
	uint8_t kind;     /* enum sim_task_kind */
};
typedef VEC(struct sim_task) sim_tasks;

enum sim_channel_kind { SIM_CHANNEL_TEAM, SIM_CHANNEL_FENCE, SIM_CHANNEL_MESSAGES };

struct sim_channel {
	uint8_t kind;           /* enum sim_channel_kind */
	uint32_t n;             /* members; messages have 2: sender, receiver */
	const uint32_t *device; /* n of them */
	uint32_t ends[2];       /* of messages: the devices; both may be the same */
	name_id backend;
};

struct sim_place {        /* place of a rank on a channel */
	uint32_t channel; /* of the program */
	uint32_t joint;   /* the channel that stands for it, see symmetry.h; if none does, itself */
	uint32_t members; /* members of the channel for which this rank stands, with itself */
	bool receives;
};

struct sim_asked { /* a rank looks up its channel of a team */
	team_id team;
	uint8_t kind; /* enum sim_channel_kind */
	name_id backend;
	uint32_t channel; /* of the program; SIM_NONE: no slice holds the rank */
	uint32_t place;   /* of the rank; SIM_NONE: the rank meets no other there */
	uint32_t next;    /* the next one of the same team: index into `asked` + 1 */
};

/* The statements of a program with their times, and the channels of all ranks. */
struct sim_program {
	struct module *m;
	const struct cost *cost;
	struct diag *d;
	struct arena *arena;
	int64_t streams, ranks, begin; /* begin: ns from the begin of a step to its first statement */
	int64_t *time, *moved;         /* by op: cost_op_time, cost_op_bytes */
	struct cost_issue *issue;      /* by op: cost_op_issue_of */
	bool *left_out;                /* by op: a copy of a view that a run leaves out, see sim_views.h */
	int64_t *held;                 /* by value: bytes of its storage; 0: it has no storage of its own */
	uint32_t *dies; /* by op: the values whose last use it is, as an index into `dying` + 1 */
	VEC(struct sim_dying {
		value_id value;
		uint32_t next;
	})
	dying;
	struct walk_program walk_program;
	VEC(struct sim_channel) channel;
	const uint32_t *
	    *member;         /* by team, then rank: its place in its slice, + 1; NULL: not yet asked for */
	VEC(uint32_t) known; /* by slice of the walk: the last channel that was looked up, + 1; 0: none */
	struct hash_table channels; /* of channels, + 1 */
	struct sim_local {          /* by channel and direction: its number on the rank */
		uint32_t walk, number;
	} * local;
	uint32_t local_n, walks;     /* walk: the walk in which the number is valid */
	const int64_t *delay, *slow; /* by rank: ns before its first statement; per mille of the normal
	                                time of work */
	struct symmetry *symmetry;   /* NULL: each rank stands for itself */
	bool peers;                  /* ranks that are walked list their peers */
	op_id ignored;               /* a synchronize that is skipped; 0: none */
	int64_t steps;               /* statements walked so far */
	bool failed;
};

/* Returns false after reporting. d: the diagnostics of the program's source. */
bool sim_program_open(struct sim_program *p, struct module *m, const struct cost *cost, struct diag *d);
void sim_program_close(struct sim_program *p);
/* Returns true if a rank is in a mesh. All ranks are in mesh 0. */
bool sim_rank_is_on(const struct sim_program *p, mesh_id mesh, uint32_t rank);
/* Returns the bytes that an input takes on a rank from the start. */
int64_t sim_input_bytes(const struct sim_program *p, uint32_t input, uint32_t rank);

/* Returns "(0 1 2 3 … 63)", with the backend if one is stated. */
const char *sim_channel_name(const struct sim_program *p, const struct sim_channel *ch, struct arena *a);
/* Returns the number of a channel of the program; adds a new one. */
uint32_t sim_channel_find(struct sim_program *p, const struct sim_channel *key);
/* Returns the channel of the team's slice that holds a rank; SIM_NONE: none does. */
uint32_t sim_channel_of_team(struct sim_program *p, team_id team, enum sim_channel_kind kind, name_id backend,
                             uint32_t rank);

struct sim_need { /* a task uses the result of another, see needs.h */
	uint32_t task, of;
};

struct sim_peer { /* a part of a task on a channel: a message, or both of a collective_permute's */
	uint32_t task;
	op_id op;
	int64_t to, from; /* ranks; -1: none */
};

struct sim_rank {
	sim_tasks task;
	VEC(struct sim_peer) peer;   /* by task, ascending; empty unless the program has `peers` */
	VEC(struct sim_need) need;   /* by task, ascending; `of` is an earlier task */
	VEC(struct sim_place) place; /* by number of the channel on the rank */
	VEC(int64_t) stream;         /* index of each stream; -1: the first one, which has a handle only */
	VEC(struct sim_asked) asked;
	bool by_rank; /* its work depends on its rank number, not only on meshes, teams and times */
};
/* Walks a rank; empties *out first. needs: also find these. Returns false after reporting, or if the walk
 * breaks a turn of the symmetry. */
bool sim_rank_walk(struct sim_program *p, uint32_t rank, bool needs, struct sim_rank *out);
/* Finds the places of a rank that does the same as a walked rank. That rank looked up n channels and is not
 * by_rank. Returns false if this rank does not meet on the same number of channels. place: place_n of
 * them. */
bool sim_rank_meets_alike(struct sim_program *p, uint32_t rank, const struct sim_asked *asked, uint32_t n,
                          struct sim_place *place, uint32_t place_n);
void sim_rank_free(struct sim_rank *r);

#endif
