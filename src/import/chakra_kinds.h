/* chakra_kinds: the kind of communication that a node is, where its fields do not say it.
 *
 *     COMM_COLL ncclDevKernel_AllReduce_Sum_f32_RING_LL, no comm_type   →  an allreduce
 *     COMM_COLL c10d::allreduce_, is_cpu_op, beside the kernel          →  work of the host
 *     COMM_COLL nccl:send 0->1, no comm_type                            →  a message to rank 1
 */
#ifndef HIRC_IMPORT_CHAKRA_KINDS_H
#define HIRC_IMPORT_CHAKRA_KINDS_H
#include "import/chakra.h"

enum { CHAKRA_NAMES_SEND = -2, CHAKRA_NAMES_RECV = -3 };

/* Returns the comm_type that a name tells, or one of the above; -1: it tells nothing. */
int chakra_kinds_of_name(const char *name);
/* Sets on_devices, and the kind, collective and peer of nodes whose names alone say them. */
void chakra_kinds_find(struct chakra *t);

#endif
