/* graph: the statements of a rank as a graph. It has a lane for each stream and each communicator, a node for
 * each executed statement, and edges for uses of values, for waits, and for starts of Communications.
 *
 *     main                 stream 0               (0 1)
 *     linear(X, W) ──────▶ synchronize(main)
 *                          allreduce … starts ──▶ allreduce(T, axis=x)
 *                          wait(c)  ◀───────────────────┘
 *
 * Loops are walked, so that each iteration has its nodes. Edges lead down; the nodes of one lane are in
 * order. */
#ifndef HIRC_SHOW_GRAPH_H
#define HIRC_SHOW_GRAPH_H
#include "sim/rank.h"

enum { GRAPH_MOST = 600 }; /* nodes that are shown; the others are counted */

enum graph_edge_kind { GRAPH_DATA, GRAPH_WAIT, GRAPH_START };

struct graph_node {
	const char *text, *place; /* the statement; " (f.hir:7)" or "" */
	uint32_t lane, level;     /* level: higher than the levels of all nodes with an edge to this one */
	uint8_t kind;             /* enum sim_task_kind */
	int64_t iteration;        /* -1: outside loops */
};
struct graph_edge {
	uint32_t from, to; /* nodes, from < to */
	uint8_t kind;      /* enum graph_edge_kind */
};
struct graph_lane {
	const char *name;
	bool stream;
};

struct graph_picture {
	struct arena *arena;
	const char *title;
	VEC(struct graph_node) node; /* in the order of issue */
	VEC(struct graph_edge) edge; /* by to */
	VEC(struct graph_lane) lane;
	uint32_t levels, more; /* more: number of nodes that are not shown */
};

/* rank: of the program. d: the diagnostics of the program's source. Returns false after reporting. */
bool graph_picture_open(struct graph_picture *p, struct module *m, const struct cost *cost, int64_t streams,
                        int64_t rank, struct diag *d);
void graph_picture_close(struct graph_picture *p);
void graph_picture_print(const struct graph_picture *p, struct buf *out);
void graph_picture_dot(const struct graph_picture *p, struct buf *out);
void graph_picture_svg(const struct graph_picture *p, struct buf *out);

#endif
