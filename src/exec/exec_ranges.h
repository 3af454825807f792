/* exec_ranges: names ranges of the host's work, for tools that show it beside the work of a GPU. Each
 * statement has a range around its issue, and so has a replay. All functions do nothing if nobody asked
 * for ranges. */
#ifndef HIRC_EXEC_EXEC_RANGES_H
#define HIRC_EXEC_EXEC_RANGES_H
#include "plan/plan.h"
#include "rt/job.h"

struct exec_ranges;

/* Sets *out to NULL if there is no tool and `wanted` is false. */
enum status exec_ranges_open(struct rt_job *job, const struct plan_labels *l, bool wanted,
                             struct exec_ranges **out);
void exec_ranges_close(struct exec_ranges *r);
/* Tells that the host reaches an instruction. */
void exec_ranges_enter(struct exec_ranges *r, const struct plan_instruction *i);
void exec_ranges_enter_replay(struct exec_ranges *r);
/* Tells that the host has issued everything. */
void exec_ranges_leave(struct exec_ranges *r);

#endif
