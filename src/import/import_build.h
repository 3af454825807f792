/* import_build: builds a program from a graph.
 *
 *     node 7 ag all_gather… in=5 out=bf16[8,4] time_us=3 kind=comm st=9 group=0 coll=allgather inbytes=16
 *
 *     ag: bf16[8, 4] = extern "all_gather…"(x) {kind=allgather, time=3000, group=g0}
 *
 * Every node becomes a statement. Its operands are all tensors of the nodes that it needs; kind= is the
 * node's kind, for a comm its collective. A result with the storage of an operand is a view of it; other
 * results have their own storage. bytes= is stated if it differs from the type's. Inputs are statements, too,
 * since they take host time: kind=input. A node without results has its name as an attribute. Tables whose
 * points are steps (src=table) get a point at the end of each step. */
#ifndef HIRC_IMPORT_IMPORT_BUILD_H
#define HIRC_IMPORT_IMPORT_BUILD_H
#include "import/import_graph.h"
#include "ir/ir.h"

/* Reports errors to d, with line and field, and returns NULL after one. The module keeps g's source, and owns
 * names. */
struct module *graph_build(struct diag *d, const struct graph *g);

#endif
