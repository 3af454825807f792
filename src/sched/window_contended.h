/* window_contended: the times of a window in which work and communication slow each other.
 *
 * The clocks are kept at each event of the present order. A draft is timed from the event before it on,
 * node by node, up to an event at which the clocks differ from the kept ones by one number alone. */
#ifndef HIRC_SCHED_WINDOW_CONTENDED_H
#define HIRC_SCHED_WINDOW_CONTENDED_H
#include "sched/window.h"

struct window_contended *window_contended_new(const struct sched_problem *p, uint32_t events);
void window_contended_free(struct window_contended *x); /* NULL is allowed */
/* Computes the times from event e on. */
void window_contended_set(struct window *w, uint32_t e);
/* Returns the runtime with places a … b - 1 as drafted; INT64_MAX if it is seen to be over `most`. */
int64_t window_contended_runtime(struct window *w, uint32_t a, uint32_t b, int64_t most);

#endif
