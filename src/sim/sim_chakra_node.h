/* sim_chakra_node: the nodes of an execution trace that is being made, and their bytes.
 *
 * Nodes are kept until all are made, since the last user of a tensor is known at the end only. A node has its place in
 * the list as id, from 1 on. */
#ifndef HIRC_SIM_SIM_CHAKRA_NODE_H
#define HIRC_SIM_SIM_CHAKRA_NODE_H
#include "base/chakra_types.h"
#include "base/str.h"
#include "sim/timeline.h"

struct chakra_draft {
	const char *name;
	enum chakra_kind kind;
	int64_t time;             /* ns; 0: not stated */
	bool works;               /* it stands for the time since the node of work before it */
	int64_t until;            /* of work: its end; INT64_MAX: the end of the step */
	VEC(uint32_t) ctrl, data; /* ids of nodes */
	VEC(uint32_t) in, out;    /* tensors, from 0 on */
	const char *values;       /* the values of `inputs` if they are no tensors; NULL: they are */
	struct buf attributes;    /* as bytes of the node's message */
};

struct chakra_drafts {
	VEC(struct chakra_draft) list;
};

struct chakra_tensor_text { /* tensors as a trace states them, by number */
	struct module *m;
	const struct timeline_tensor *tensor;
};

/* Appends a node. Returns its id. */
uint32_t sim_chakra_add(struct chakra_drafts *all, struct chakra_draft n);
void sim_chakra_add_int(struct chakra_draft *n, const char *name, int64_t v);
void sim_chakra_add_text(struct chakra_draft *n, const char *name, const char *text);
/* Writes the metadata and all nodes. */
void sim_chakra_put(const struct chakra_drafts *all, const struct chakra_tensor_text *t, struct buf *out);
void sim_chakra_free_drafts(struct chakra_drafts *all);

#endif
