/* hoist_buffers: moves buffers of loops before the loops; a part of the pass allocate. */
#ifndef HIRC_PASS_HOIST_BUFFERS_H
#define HIRC_PASS_HOIST_BUFFERS_H
#include "pass/live_ranges.h"
#include "pass/pass.h"

/* Moves the ALLOCATE of a value out of as many loops as possible. */
void hoist_buffer(struct module *m, struct pass_context *cx, const struct live_ranges *l, value_id v);

#endif
