/* print_type: the parts of a type for the printer of the concise surface. */
#ifndef HIRC_IR_PRINT_TYPE_H
#define HIRC_IR_PRINT_TYPE_H
#include "ir/ir.h"

/* The type as a declaration states it: `on MESH` where it is not the program's mesh. */
void print_type_stated(struct module *m, type_id t, struct buf *out);
/* ` { split 0 inner 2; … }` when the stated type alone would give another domain; io: the default
 * allocation is that of program inputs and outputs. Returns true if anything was printed. */
bool print_type_schedule(struct module *m, type_id t, bool io, struct buf *out);

/* `mesh ring(x = 2)`, `group g(8)`: the text of a declaration, without indentation or newline. */
void print_mesh(const struct module *m, mesh_id mesh, struct buf *out);
void print_group(const struct module *m, group_id group, struct buf *out);
void print_cluster(const struct module *m, struct buf *out);

#endif
