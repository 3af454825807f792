/* chakra_cycles: control dependencies of a trace that no order can respect.
 *
 *     node 1 needs 2 and 9 for its order, node 2 needs 1; there is no node 9
 *     →  both dependencies of node 1 and that of node 2 are dropped, with one warning
 *
 * Real traces have such dependencies: a converter leaves nodes out, and makes an operation of the host need the
 * kernels that it starts. data_deps are never dropped. */
#ifndef HIRC_IMPORT_CHAKRA_CYCLES_H
#define HIRC_IMPORT_CHAKRA_CYCLES_H
#include "import/chakra.h"

#define CHAKRA_NO_NODE UINT64_MAX

/* Drops control dependencies on CHAKRA_NO_NODE and in cycles. deps: indices of nodes. */
void chakra_cycles_drop(struct diag *d, struct chakra *t);

#endif
