/* reshard_meshes: finds the communication that takes a tensor from one mesh to another; see reshard.h. */
#ifndef HIRC_PASS_RESHARD_MESHES_H
#define HIRC_PASS_RESHARD_MESHES_H
#include "ir/domain.h"
#include "pass/reshard.h"

/* Sets the rest of r; r->mesh and r->to must differ. from, to: layouts of operand and result; that of
 * the result has no pending reductions. */
void reshard_meshes(struct module *m, const struct sugar *from, const struct sugar *to, struct reshard *r);
bool mesh_disjoint(const struct mesh *a, const struct mesh *b);

#endif
