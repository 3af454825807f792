/* transport_kind: the transports, their names and traits; the table is transports.def.
 *
 *     transport_kind_has(transport_kind_find("peers"), TRANSPORT_HAS_VIEWS)    true */
#ifndef HIRC_BASE_TRANSPORT_KIND_H
#define HIRC_BASE_TRANSPORT_KIND_H
#include "base/str.h"
#include <stdbool.h>

enum transport_kind {
#define TRANSPORT(id, device, name, traits, meaning) TRANSPORT_##id,
#include "base/transports.def"
#undef TRANSPORT
	TRANSPORT_COUNT
};

enum transport_trait {
	TRANSPORT_ON_CPU = 1 << 0,          /* moves data of --target=cpu */
	TRANSPORT_ON_GPU = 1 << 1,          /* moves data of --target=cuda */
	TRANSPORT_NEEDS_LAUNCHER = 1 << 2,  /* ranks that MPI's launcher has started */
	TRANSPORT_NEEDS_THREADS = 1 << 3,   /* ranks that are threads of one process */
	TRANSPORT_NEEDS_PROCESSES = 1 << 4, /* ranks that are processes */
	TRANSPORT_HAS_VIEWS = 1 << 5,       /* ranks on one host see each other's memory: --zero-copy */
	TRANSPORT_HAS_P2P_OPTIONS = 1 << 6, /* --p2p-protocol and --p2p-transport */
	TRANSPORT_ROUNDS_STEPS = 1 << 7,    /* a sum of floats may be rounded at each step */
	TRANSPORT_WAITS = 1 << 8,           /* ranks wait for each other's calls */
	TRANSPORT_CROSSES_HOSTS = 1 << 9,   /* ranks may be on several hosts */
};

/* The values of --transport, for the field `value` of struct option; _gpu: those for --target=cuda, without
 * `auto`. They are constants, so that static tables can use them. Each name has a `|` before it. */
extern const char transport_kind_list[], transport_kind_list_gpu[];
#define transport_kind_values (transport_kind_list + 1)
#define transport_kind_values_gpu (transport_kind_list_gpu + 1)

const char *transport_kind_name(enum transport_kind k);
/* Finds a transport by name; TRANSPORT_COUNT: there is none. */
enum transport_kind transport_kind_find(const char *name);
/* Returns true if the transport has all of these traits; TRANSPORT_COUNT has no traits. */
bool transport_kind_has(enum transport_kind k, unsigned traits);
/* Puts the names of transports with these traits, `word` before the last: "nccl, peers and cuda-ipc". */
void transport_kind_put(struct buf *out, unsigned traits, const char *word);

#endif
