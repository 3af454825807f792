/* model: the state that the files of the cost model share. */
#ifndef HIRC_COST_MODEL_H
#define HIRC_COST_MODEL_H
#include "cost/cost.h"
#include "cost/curve.h"
#include "cost/links.h"
#include "cost/local.h"

struct cost {
	struct module *m;
	struct cluster machine;        /* the cluster; `sharers` are those of this program */
	const struct cluster *cluster; /* &machine */
	struct arena *arena;
	/* Statements without a time are reported here, once for each param. NULL after cost_new. */
	struct diag *d;
	bool *reported;                     /* by param: a message named it */
	const struct cluster_table **table; /* the cluster's tables, sorted by collective, ranks, span */
	struct cluster_points
	    product[DTYPE_COUNT]; /* times by the operations of one product; n 0: none was measured */
	struct links_team *team;  /* by team id, team_n entries */
	uint32_t team_n;
	struct links_team *group; /* by group id, group_n entries; ranks 0: no link joins them */
	uint32_t group_n;
	int64_t streams;      /* streams of each rank; 0: no limit */
	struct touched {      /* bytes that one iteration reads and writes; see cost_reach.c */
		int64_t near; /* bytes of values that exist before the loop */
		int64_t own;  /* bytes of values that an iteration makes or takes a part of */
	} * touched;          /* by region, touched_n entries */
	uint32_t touched_n;
};

/* ---- cost_share.c */

/* Returns the number of ranks of a program that share a device of the cluster. */
int64_t share_ranks(const struct module *m, const struct cluster *c);
/* Returns the time of a computation beside those of all ranks that share its device, from its measured time. */
int64_t share_work(const struct cost *c, int64_t time);
/* Returns the measured time of reading and writing so many bytes. */
int64_t touch_time(const struct cost *c, int64_t bytes);

/* ---- cost_collective.c */

/* Sorts the cluster's tables and looks up the teams. */
void collective_prepare(struct cost *c);
/* Finds the links of the team's largest slice. Returns false if no link joins one of the slices. */
bool collective_team(const struct cost *c, team_id team, struct links_team *out);
int64_t collective_time(const struct cost *c, enum collective kind, const struct links_team *t,
                        int64_t bytes);
/* Returns true if a table has the time. */
bool collective_measured(const struct cost *c, enum collective kind, const struct links_team *t);
/* Finds the time of a collective by another transport of the cluster; team 0: a message on link t.
 * Returns false if the transport has no link that joins these ranks. */
bool collective_time_by(const struct cost *c, const struct cluster_network *n, enum collective kind,
                        team_id team, const struct links_team *t, int64_t bytes, int64_t *out);
/* Finds the kind of an operation of the IR. Returns false if it is no collective. */
bool collective_kind(enum op_kind op, enum collective *out);
/* Returns the bytes of the larger buffer, from those of the operand and the result on ranks of a team. */
int64_t collective_bytes(enum collective kind, int64_t ranks, int64_t in, int64_t out);

/* ---- cost_product.c */

void product_prepare(struct cost *c);
/* Returns NULL if the dtype has no grid. */
const struct cluster_grid *product_grid(const struct cost *c, enum dtype t);
/* Returns the bytes of the product whose time is used: each extent is limited to the grid's largest.
 * LOCAL_MAX_BYTES if there is no grid. */
int64_t product_measured_bytes(const struct cost *c, enum dtype t, int64_t m, int64_t n, int64_t k);
/* Returns the time of `batch` products [m, k] x [k, n] that read and write so many bytes. The cluster
 * must know the dtype. */
int64_t product_time(const struct cost *c, enum dtype t, int64_t batch, int64_t m, int64_t n, int64_t k,
                     int64_t bytes);

/* ---- cost_reach.c */

enum { TRAFFIC_PARTS = 8 };

/* The traffic of a statement. */
struct traffic {
	cost_amount bytes;
	struct {
		cost_amount bytes;
		int64_t reach; /* bytes touched from one use to the next; 0: not known */
	} part[TRAFFIC_PARTS];
	unsigned n;
};

/* Finds the bytes that each region touches, if the cluster has figures for caches. */
void reach_prepare(struct cost *c);
void traffic_add(const struct cost *c, op_id op, value_id v, cost_amount bytes, struct traffic *t);
/* Returns the extra time of traffic, or of a part of so many bytes, because other data is touched in
 * between; measurements touch none. far: see struct cluster_grid; NULL: the cluster's `touch`. */
int64_t traffic_excess(const struct cost *c, const struct traffic *t, const struct cluster_points *far,
                       int64_t measured);

/* ---- cost_extern.c */

enum extern_cost { EXTERN_NOT_STATED, EXTERN_KNOWN, EXTERN_NO_GROUP, EXTERN_NO_LINK, EXTERN_NO_RATE };

/* Looks up the links of the groups. */
void extern_prepare(struct cost *c);
/* Finds the time of a statement that states its kind but no time. */
enum extern_cost extern_stated(const struct cost *c, op_id op, const char *kind, int64_t *time,
                               int64_t *bytes);

struct extern_parts { /* a collective of an imported graph */
	enum collective kind;
	group_id group;
	struct links_team team; /* valid if joined */
	bool table, joined;     /* table: the group has figures of its own; joined: a link joins it */
	int64_t ranks, bytes;   /* bytes: see cost_op_bytes */
};
/* Returns false if the statement is no collective of a group. */
bool extern_parts(const struct cost *c, op_id op, struct extern_parts *out);

/* ---- cost_refuse.c */

/* Reports that a statement has no time, because of this. Returns false. */
bool cost_refuse(const struct cost *c, enum diagnostic code, op_id op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Reports that no link joins the ranks of a statement. Returns false. */
bool cost_refuse_team(const struct cost *c, op_id op);
/* Finds the largest part of a tensor on one rank. Returns false after reporting why it is not known. */
bool cost_shape(const struct cost *c, op_id op, value_id v, struct local_shape *out);

/* ---- cost_turns.c */

struct turns {                   /* of `of` iterations of the innermost loop, a member is the root: */
	int64_t most, least, of; /* the member that is it most often, and the one that is it least often */
};
/* Counts the iterations in which members are the root of a collective. For a collective_permute, it counts those in
 * which the first member is its own peer. */
void turns_find(const struct cost *c, op_id op, struct turns *out);

/* ---- cost_traffic.c: each function returns false after reporting why the bytes are not known */

/* Finds the bytes that a statement reads and writes. */
bool traffic_find(const struct cost *c, op_id op, struct traffic *out);
/* Finds the bytes that a unit reads from outside, and those that it writes. */
bool traffic_find_unit(const struct cost *c, op_id op, struct traffic *out);
/* Finds the bytes that a statement reads and writes, as one number. */
bool traffic_bytes(const struct cost *c, op_id op, int64_t *out);
/* Returns the time of reading and writing. */
int64_t traffic_time(const struct cost *c, const struct traffic *t);

/* ---- cost_contraction.c */

struct product { /* batch products [m, k] x [k, n] */
	int64_t batch, m, n, k;
};
bool contraction_is(enum op_kind kind);
/* Finds the product that a contraction computes; without elements it has no operations. result: its first
 * result. */
bool contraction_product(const struct cost *c, op_id op, struct product *out, struct local_shape *result);
bool contraction_time(const struct cost *c, op_id op, int64_t *out);

/* ---- cost_transfer.c */

/* Finds the team of a collective, its bytes (see cost_op_bytes), and the extra time of adding up beyond
 * that in the tables. */
bool collective_parts(const struct cost *c, op_id op, enum collective kind, struct links_team *t,
                      int64_t *bytes, int64_t *excess);
/* Finds the team of a dispatch or combine, and the bytes that a rank sends if each rank gets the same
 * number of rows. The receiver has room for all rows. */
bool experts_parts(const struct cost *c, op_id op, struct links_team *t, team_id *team, int64_t *bytes);
/* Finds the widest link that a message of a send or receive may take. Returns false if no link joins
 * these ranks. */
bool message_team(const struct cost *c, op_id op, struct links_team *out);
bool collective_op_time(const struct cost *c, op_id op, enum collective kind, int64_t *time, int64_t *bytes);
bool message_op_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes);
/* Finds the time of moving rows to their experts or back: two local copies and the transfer. */
bool experts_op_time(const struct cost *c, op_id op, int64_t *time);

/* ---- cost_op.c */

/* Returns elements a second; 0 if the cluster states no rate. */
int64_t function_rate(const struct cost *c, enum op_kind op, enum dtype t);
/* Returns false after reporting that the statement has no time. bytes: see cost_op_bytes. */
bool op_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes);

/* ---- cost_group.c */

/* Finds the time of an end_coalescing; messages take 0. */
bool group_time(const struct cost *c, op_id end, int64_t *time, int64_t *bytes);

#endif
