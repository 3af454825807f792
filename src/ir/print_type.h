/* print_type: prints types for the printer of the concise surface. */
#ifndef HIRC_IR_PRINT_TYPE_H
#define HIRC_IR_PRINT_TYPE_H
#include "ir/ir.h"

/* Prints a type as declarations do, with `on MESH` unless it is the program's mesh. */
void print_type_stated(struct module *m, type_id t, struct buf *out);
/* Prints ` { split 0 inner 2; … }` if the stated type alone would give another domain. io: use the
 * default allocation of program inputs and outputs. Returns true if it printed anything. */
bool print_type_schedule(struct module *m, type_id t, bool io, struct buf *out);

/* Print the text of a declaration, `mesh ring(x = 2)` or `group g(8)`, without indentation and newline. */
void print_mesh(const struct module *m, mesh_id mesh, struct buf *out);
void print_group(const struct module *m, group_id group, struct buf *out);
void print_cluster(const struct module *m, struct buf *out);

#endif
