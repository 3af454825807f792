/* mover: the choice of who moves the data of a collective between GPUs; the table is movers.def.
 *
 *     --mover=auto, Allgather of nccl, blocks of 16 MiB     zero-cta: blocks of 16777216 bytes
 *     --mover=auto, AllToAll of nccl                        transport: nothing else moves AllToAll with nccl */
#ifndef HIRC_BASE_MOVER_H
#define HIRC_BASE_MOVER_H
#include "base/collective.h"
#include "base/reduction.h"
#include "base/str.h"
#include "base/transport_kind.h"
#include <stdint.h>

enum mover {
#define MOVER(id, ...) MOVER_##id,
#include "base/movers.def"
#undef MOVER
	MOVER_COUNT,
	MOVER_AUTO = MOVER_COUNT, /* asked for: the first one that suits size and team */
};

/* The values of --mover, for the field `value` of struct option. */
extern const char mover_list[];

struct mover_case {
	enum collective kind;
	enum reduce_op op;
	enum dtype dtype;
	enum transport_kind transport;
	int members;
	int64_t
	    bytes; /* of a block, or of the whole where there are no blocks; negative: not known before the run */
	bool placed;   /* its buffers have the same places in each iteration */
	bool even;     /* blocks have one size and follow each other */
	bool exact;    /* floats are added up in the wide type */
	unsigned able; /* bit set of the movers that the device and its libraries have */
};

const char *mover_name(enum mover m);
enum mover mover_find(const char *name); /* `auto`, too; asserts that the name is one */
bool mover_needs_window(enum mover m);
/* Chooses the mover, and appends the reason. asked: MOVER_AUTO, or the only one besides MOVER_TRANSPORT. */
enum mover mover_choose(enum mover asked, const struct mover_case *c, struct buf *why);

#endif
