/* loop_axes: loop axes as placements, from which loops are made. */
#ifndef HIRC_PASS_LOOP_AXES_H
#define HIRC_PASS_LOOP_AXES_H
#include "pass/pass.h"

/* Returns true if a stream or serial axis is among the loop axes, in front or not. */
bool loop_axes_any(const struct domain *d);
/* Changes the layouts of all values whose loop axes are no placements, to such as make the same slices. */
void loop_axes_place(struct module *m, struct pass_context *cx);

#endif
