/* import_build: the program of a graph.
 *
 *     node 7 ag all_gather… in=5 out=bf16[8,4] time_us=3 kind=comm st=9 group=0 coll=allgather inbytes=16
 *
 *     ag: bf16[8, 4] = extern "all_gather…"(x) {kind=allgather, time=3000, group=g0}
 *
 * Every node is a statement, with all tensors of the nodes that it needs as operands; kind= is that of the
 * node, for a comm the collective. A result whose storage is that of an operand is a view of it, others are
 * made; bytes= is stated if it differs from the type's. Inputs are statements as well, since they take
 * the host's time: kind=input. A node without results has its name as an attribute. Tables whose points are
 * steps (src=table) get a point at the end of each step. */
#ifndef HIRC_IMPORT_IMPORT_BUILD_H
#define HIRC_IMPORT_IMPORT_BUILD_H
#include "import/import_graph.h"
#include "ir/ir.h"

/* Reports to d, with line and field, and returns NULL. The module keeps g's source, and owns names. */
struct module *graph_build(struct diag *d, const struct graph *g);

#endif
