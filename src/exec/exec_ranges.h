/* exec_ranges: ranges of the host's work, for tools that show them beside the work of a GPU: one around the
 * issue of each statement, or around a replay. All functions do nothing where nobody has asked for them. */
#ifndef HIRC_EXEC_EXEC_RANGES_H
#define HIRC_EXEC_EXEC_RANGES_H
#include "plan/plan.h"
#include "rt/job.h"

struct exec_ranges;

/* *out is NULL where there is neither a tool nor a wish. */
enum status exec_ranges_open(struct rt_job *job, const struct plan_labels *l, bool wanted,
                             struct exec_ranges **out);
void exec_ranges_close(struct exec_ranges *r);
/* The host comes to an instruction. */
void exec_ranges_enter(struct exec_ranges *r, const struct plan_instruction *i);
void exec_ranges_enter_replay(struct exec_ranges *r);
/* It has issued all. */
void exec_ranges_leave(struct exec_ranges *r);

#endif
