/* sim_chakra_comm: communications of a timeline as nodes of an execution trace.
 *
 *     allgather on (0 1)             COMM_COLL of group (0_1)
 *     collective_permute on (0 1)    COMM_SEND and COMM_RECV of group (0_1)
 *     send to 3                      COMM_SEND of group messages
 *
 * A node runs on a channel: one of its group for collectives, and one for the messages of a group to each peer and from
 * each peer, as in the import. The nodes of a channel run one after the other. */
#ifndef HIRC_SIM_SIM_CHAKRA_COMM_H
#define HIRC_SIM_SIM_CHAKRA_COMM_H
#include "base/diag.h"
#include "sim/sim_chakra_node.h"

struct chakra_group_name { /* a group that the trace declares */
	uint64_t key;      /* what it stands for */
	uint32_t copy;     /* the number of its channel between two ranks */
	const char *name;
	op_id op; /* a communication of the group; 0: the group has all ranks */
};

struct chakra_channel {
	uint32_t group; /* index of its name */
	enum chakra_kind kind;
	int64_t peer; /* of messages; -1: not stated, or collectives */
	int64_t end;  /* of its last communication so far, ns */
};

struct chakra_part { /* a node of a communication */
	uint32_t channel;
	op_id op;
	int64_t bytes, tag; /* tag: of messages; -1: none */
	int collective;     /* comm_type; -1: a message */
};

struct chakra_comms {
	struct timeline *t;
	const struct timeline_class *c;
	struct diag *d;
	int64_t rank; /* the rank of the trace */
	VEC(struct chakra_group_name) group;
	VEC(struct chakra_channel) channel;
	VEC(struct chakra_part) part; /* of the communication that was asked for last */
};

/* Lists the parts of a span that communicates. Returns false after reporting a communication that traces do not have. */
bool sim_chakra_find_parts(struct chakra_comms *k, const struct timeline_span *s);
/* Returns true if the communication begins when it is issued: its channel is free before. */
bool sim_chakra_begins_at_issue(const struct chakra_comms *k, int64_t begin);
/* Occupies the channels of the parts. */
void sim_chakra_take_channels(struct chakra_comms *k, int64_t end);
/* Adds kind and attributes of a part to its node. */
void sim_chakra_describe_part(const struct chakra_comms *k, const struct chakra_part *part,
                              struct chakra_draft *n);
/* Adds those of a recorded message without a group, for which the host waits. Returns false if the statement is none. */
bool sim_chakra_describe_message(const struct chakra_comms *k, op_id op, struct chakra_draft *n);
/* Returns the values of the node that declares the groups of all communications; NULL: there are none. Call it when
 * the parts of all were found and their channels taken, as they are to be once more; frees the channels. */
const char *sim_chakra_groups(struct chakra_comms *k);
void sim_chakra_free_comms(struct chakra_comms *k);

#endif
