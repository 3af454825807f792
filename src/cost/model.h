/* model: the shared parts of the files of the cost model. */
#ifndef HIRC_COST_MODEL_H
#define HIRC_COST_MODEL_H
#include "cost/cost.h"
#include "cost/curve.h"
#include "cost/links.h"
#include "cost/local.h"

struct cost {
	struct module *m;
	const struct cluster *cluster;
	struct arena *arena;
	/* Statements without a time are reported here, once for each param; NULL: there are none any more. */
	struct diag *d;
	bool *reported;                             /* by param */
	const struct cluster_table **table;         /* the cluster's, by collective, ranks, span */
	struct cluster_points product[DTYPE_COUNT]; /* by operations of one product; n 0: none was measured */
	struct links_team *team;                    /* by team id, team_n of them */
	uint32_t team_n;
	struct links_team *group; /* by group id, group_n of them; ranks 0: no link joins them */
	uint32_t group_n;
	int64_t streams;      /* of each rank; 0: no limit */
	struct touched {      /* the bytes that an iteration reads and writes; see cost_reach.c */
		int64_t near; /* bytes that are there in each */
		int64_t own;  /* of values that it makes or takes a part of */
	} * touched;          /* by region, touched_n of them */
	uint32_t touched_n;
};

/* ---- cost_collective.c */

/* Sorts the cluster's tables, looks up the teams. */
void collective_prepare(struct cost *c);
/* The widest slice of a team; false: no link joins one of them. */
bool collective_team(const struct cost *c, team_id team, struct links_team *out);
int64_t collective_time(const struct cost *c, enum collective kind, const struct links_team *t,
                        int64_t bytes);
/* Returns true if a table has the time. */
bool collective_measured(const struct cost *c, enum collective kind, const struct links_team *t);
/* Finds the time of a collective by another transport of the cluster; team 0: a message on link t. False: no
 * link of it joins these ranks. */
bool collective_time_by(const struct cost *c, const struct cluster_network *n, enum collective kind,
                        team_id team, const struct links_team *t, int64_t bytes, int64_t *out);
/* The kind of an operation of IR; false: it is no collective. */
bool collective_kind(enum op_kind op, enum collective *out);
/* Bytes of the larger buffer by those of the operand and the result, on ranks of a team. */
int64_t collective_bytes(enum collective kind, int64_t ranks, int64_t in, int64_t out);

/* ---- cost_product.c */

void product_prepare(struct cost *c);
/* NULL: the dtype has no grid. */
const struct cluster_grid *product_grid(const struct cost *c, enum dtype t);
/* Bytes of the product that a time comes from: no extent is larger than the grid's. LOCAL_MAX_BYTES: there is
 * no grid. */
int64_t product_measured_bytes(const struct cost *c, enum dtype t, int64_t m, int64_t n, int64_t k);
/* batch products [m, k] x [k, n], which read and write so many bytes; the cluster knows the dtype. */
int64_t product_time(const struct cost *c, enum dtype t, int64_t batch, int64_t m, int64_t n, int64_t k,
                     int64_t bytes);

/* ---- cost_reach.c */

enum { TRAFFIC_PARTS = 8 };

/* The bytes that a statement reads and writes. */
struct traffic {
	cost_amount bytes;
	struct {
		cost_amount bytes;
		int64_t reach; /* bytes that are touched from one use to the next; 0: not known */
	} part[TRAFFIC_PARTS];
	unsigned n;
};

/* Finds the bytes that each region touches, if the cluster has figures for caches. */
void reach_prepare(struct cost *c);
void traffic_add(const struct cost *c, op_id op, value_id v, cost_amount bytes, struct traffic *t);
/* Returns the extra time of traffic where other data is touched in between, unlike when it was measured, or
 * of a part of it of so many bytes; far: see struct cluster_grid, NULL: the cluster's touch. */
int64_t traffic_excess(const struct cost *c, const struct traffic *t, const struct cluster_points *far,
                       int64_t measured);

/* ---- cost_extern.c */

enum extern_cost { EXTERN_NOT_STATED, EXTERN_KNOWN, EXTERN_NO_GROUP, EXTERN_NO_LINK, EXTERN_NO_RATE };

/* Looks up the groups' links. */
void extern_prepare(struct cost *c);
/* Finds the time of a statement of a kind that states no time. */
enum extern_cost extern_stated(const struct cost *c, op_id op, const char *kind, int64_t *time,
                               int64_t *bytes);

struct extern_parts { /* of a collective of an imported graph */
	enum collective kind;
	group_id group;
	struct links_team team; /* where joined */
	bool table, joined;     /* its group has figures of its own; a link joins it */
	int64_t ranks, bytes;   /* bytes as of cost_op_bytes */
};
/* False: it is no collective of a group. */
bool extern_parts(const struct cost *c, op_id op, struct extern_parts *out);

/* ---- cost_op.c */

/* Finds the team of a collective, its bytes as of cost_op_bytes, and the time of adding up beyond that in
 * tables. */
bool collective_parts(const struct cost *c, op_id op, enum collective kind, struct links_team *t,
                      int64_t *bytes, int64_t *excess);
/* Finds the team of a dispatch or combine, and the bytes that a rank sends if as many rows go to each; a rank
 * has room for all. */
bool experts_parts(const struct cost *c, op_id op, struct links_team *t, team_id *team, int64_t *bytes);
/* The widest link that one message of a send or receive may take; false: no link joins these ranks. */
bool message_team(const struct cost *c, op_id op, struct links_team *out);
/* False: it has no time, which is reported. bytes: see cost_op_bytes. */
bool op_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes);

/* ---- cost_group.c */

/* Finds the time of an end_coalescing; 0 of messages. */
bool group_time(const struct cost *c, op_id end, int64_t *time, int64_t *bytes);

#endif
