/* block_maker: the state while a block becomes a problem, for block.c and block_node.c. */
#ifndef HIRC_COST_BLOCK_MAKER_H
#define HIRC_COST_BLOCK_MAKER_H
#include "base/vec.h"
#include "cost/block.h"

struct keys { /* interned names of attributes */
	name_id kind, time, group, bytes, in_bytes, scratch, storage, writes, op, peer;
};

enum maker_waits {
	MAKER_STARTED = 1, /* it is in the block, and no wait was seen yet */
	MAKER_WAITED,      /* one wait, later in the block */
	MAKER_OTHERWISE    /* a wait in another block, or several waits */
};

struct reader {              /* a node that reads a buffer, in a list */
	uint32_t node, next; /* next: index in `readers` + 1 */
};

struct maker {
	struct module *m;
	const struct cost *cost;
	struct diag *d;
	struct arena *arena, *scratch;
	struct block *out;
	struct keys key;
	uint32_t *node; /* by op: its node + 1, also of ops in loops; 0: not in the block */
	value_id *root; /* by value: the value that owns its storage */
	uint32_t *home; /* by root: number of its storage + 1 */
	bool *written;  /* by root: some statement writes it */
	uint8_t *waits; /* by op: enum maker_waits */
	uint32_t *last; /* by root: the last node that writes it + 1 */
	uint32_t *
	    since; /* by root: the head of the list of its readers since that write, index in `readers` + 1 */
	uint32_t barrier; /* the last node that must not move + 1 */
	VEC(struct reader) readers;
	VEC(struct sched_node) nodes;
	VEC(struct sched_transfer) transfer;
	VEC(op_id) op;
	VEC(struct sched_storage) storage;
	VEC(value_id) owner;
	VEC(struct sched_family) family;
	VEC(uint64_t) family_key, family_like; /* by family: the properties that its members share */
	VEC(struct sched_pair) edge, use;
	VEC(uint64_t) lane;                      /* by lane: key of its communicator */
	VEC(struct sched_contention) contention; /* see struct sched_problem */
	const int64_t *inside;                   /* as in struct block_frame */
	int64_t launch;
	bool recorded_launch; /* the graph states the launch of each statement */
	double bytes_per_ns;
	bool contended;               /* recorded times contain contention */
	bool streams;                 /* the program sets streams itself */
	bool failed, copies, grouped; /* copies, grouped: as in struct sched_problem */
};

/* ---- block_kind.c: attributes, and the kinds of statements */
const struct attr *maker_attr(const struct maker *k, op_id op, name_id key);
int64_t maker_int(const struct maker *k, op_id op, name_id key, int64_t otherwise);
bool maker_name_is(const struct maker *k, op_id op, name_id key, const char *text);
bool block_is_wait(struct module *m, op_id op);

/* ---- block_node.c: the times and memory of statements */
/* Returns true for statements that act on streams, or on other ranks by more than their data, and for
 * blocks that contain one. */
bool maker_keeps_its_place(const struct maker *k, op_id op);
/* Adds the node of a statement. */
void maker_push_node(struct maker *k, op_id op);

#endif
