/* gpu: the options of how a GPU computes, where it may do so less exactly. */
#ifndef HIRC_CLI_GPU_H
#define HIRC_CLI_GPU_H
#include "base/diag.h"
#include "cli/options.h"
#include "exec/exec.h"

struct gpu_options {
	bool allow_tf32, exact_reductions, fuse_relu;
};

/* Points into o, which stays where it is while the command line is read. */
struct option_table gpu_options_table(struct gpu_options *o);
/* False after reporting that one of them was given for another target. */
bool gpu_options_check(const struct gpu_options *o, const char *target, struct diag *d);
/* Returns the options of the device's arithmetic; no other member is set. */
struct exec_options gpu_options_exec(const struct gpu_options *o);
/* Returns the properties of the target that a plan is made for. */
struct plan_target gpu_options_plan(const struct gpu_options *o, const char *target, int64_t streams);

#endif
