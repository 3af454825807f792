/* window_memory: finds the memory of a draft. */
#ifndef HIRC_SCHED_WINDOW_MEMORY_H
#define HIRC_SCHED_WINDOW_MEMORY_H
#include "sched/window.h"

/* Reads the live bytes at places from … to - 1 again. Those before `from` have not changed. */
void window_memory_set(struct window *w, uint32_t from, uint32_t to);
/* Returns true if the draft of places a … b - 1 is within the limit, and sets w->raised. */
bool window_memory_fits(struct window *w, uint32_t a, uint32_t b);

#endif
