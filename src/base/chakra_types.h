/* chakra_types: numbers in Chakra execution traces, for the import and the export of traces. */
#ifndef HIRC_BASE_CHAKRA_TYPES_H
#define HIRC_BASE_CHAKRA_TYPES_H

enum chakra_kind { /* the schema's NodeType */
	           CHAKRA_INVALID,
	           CHAKRA_METADATA,
	           CHAKRA_MEM_LOAD,
	           CHAKRA_MEM_STORE,
	           CHAKRA_COMP,
	           CHAKRA_COMM_SEND,
	           CHAKRA_COMM_RECV,
	           CHAKRA_COMM_COLL,
	           CHAKRA_STORAGE,
	           CHAKRA_BATCH,
	           CHAKRA_CHECKPOINT,
};
enum { CHAKRA_KINDS = CHAKRA_CHECKPOINT + 1 };

/* The schema's CollectiveCommType, and hirc's name for each. */
#define CHAKRA_COLLECTIVES(X)                                                                                \
	X(0, "allreduce")                                                                                    \
	X(1, "reduce")                                                                                       \
	X(2, "allgather")                                                                                    \
	X(3, "gather_to")                                                                                    \
	X(4, "scatter_from")                                                                                 \
	X(5, "broadcast_from")                                                                               \
	X(6, "all_to_all")                                                                                   \
	X(7, "reduce_scatter")                                                                               \
	X(8, "reduce_scatter") /* the schema's REDUCE_SCATTER_BLOCK */                                       \
	X(9, "barrier")
enum { CHAKRA_BARRIER = 9, CHAKRA_COLLECTIVE_COUNT };

#endif
