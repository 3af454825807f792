/* reshard_meshes: which communication takes a tensor from one mesh to another; see reshard.h. */
#ifndef HIRC_PASS_RESHARD_MESHES_H
#define HIRC_PASS_RESHARD_MESHES_H
#include "ir/domain.h"
#include "pass/reshard.h"

/* r->mesh and r->to differ. Layouts of the operand and of the result, the latter without pending
 * reductions. Fills the rest of r. */
void reshard_meshes(struct module *m, const struct sugar *from, const struct sugar *to, struct reshard *r);
bool mesh_equal(const struct mesh *a, const struct mesh *b); /* in all but the name */
bool mesh_same_shape(const struct mesh *a, const struct mesh *b);
bool mesh_disjoint(const struct mesh *a, const struct mesh *b);

#endif
