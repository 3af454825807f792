/* collective: the collectives, their names and their use of buffers; the table is collectives.def.
 *
 *     collective_in(COLLECTIVE_REDUCE_SCATTER)     PART_EACH
 *     collective_out(COLLECTIVE_REDUCE_SCATTER)    PART_OWN */
#ifndef HIRC_BASE_COLLECTIVE_H
#define HIRC_BASE_COLLECTIVE_H
#include <stdbool.h>

enum collective {
#define COLLECTIVE(id, ...) COLLECTIVE_##id,
#include "base/collectives.def"
#undef COLLECTIVE
	COLLECTIVE_COUNT
};

enum collective_part {
	PART_NONE,  /* there is no buffer */
	PART_WHOLE, /* all elements */
	PART_OWN,   /* the member's block */
	PART_EACH,  /* a block for each member */
};

const char *collective_name(enum collective c); /* ReduceScatter; "?": c is no collective */
const char *collective_key(enum collective c);  /* reduce_scatter: in `hirc bench` and cluster files */
bool collective_find(const char *key, enum collective *out);
enum collective_part collective_in(enum collective c), collective_out(enum collective c);
bool collective_reduces(enum collective c);
bool collective_is_rooted(enum collective c);
bool collective_is_to_root(enum collective c); /* Reduce, Gather */
bool collective_has_blocks(enum collective c); /* its larger buffer has a block for each member */
bool collective_exchanges(enum collective c);  /* both buffers have blocks: AllToAll, AllToAllv */
/* Returns true if a collective moves data of member `from` to member `to`. root: used if c has one. */
bool collective_gives(enum collective c, int root, int from, int to);
/* Returns the ratio of bus bandwidth to algorithm bandwidth, as nccl-tests defines them, for n ranks. */
double collective_bus(enum collective c, double n);

#endif
