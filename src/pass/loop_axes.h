/* loop_axes: expresses loop axes as placements, from which passes make loops. */
#ifndef HIRC_PASS_LOOP_AXES_H
#define HIRC_PASS_LOOP_AXES_H
#include "pass/pass.h"

/* Returns true if a stream or serial axis is among the loop axes, at any position. */
bool loop_axes_any(const struct domain *d);
/* Changes the layouts of all values whose loop axes are no placements to equivalent placements, which
 * make the same slices. */
void loop_axes_place(struct module *m, struct pass_context *cx);
/* Gives tensors without loops the loop order of placements; memory and blocks stay. Types of views, and
 * of tensors with views, are left alone, as each follows from the other. */
void loop_axes_order(struct module *m);

#endif
