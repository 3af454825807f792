/* sim_views: copies, also of views, that a run leaves out, as src/plan/plan_views.c decides. */
#ifndef HIRC_SIM_SIM_VIEWS_H
#define HIRC_SIM_SIM_VIEWS_H
#include "sim/rank.h"

/* Marks the copies in p->left_out. The program has its number of streams. A program without a plan, or with too many
 * ranks for one (reserve.h), has none. */
void sim_views_find(struct sim_program *p);

#endif
