/* gpu: options that let a GPU compute less exactly, or faster. */
#ifndef HIRC_CLI_GPU_H
#define HIRC_CLI_GPU_H
#include "base/diag.h"
#include "cli/options.h"
#include "exec/exec.h"

struct gpu_options {
	bool allow_tf32, exact_reductions, fuse_relu, time_products;
};

/* Returns the options' table. It points into o: do not move o while the command line is read. */
struct option_table gpu_options_table(struct gpu_options *o);
/* Returns false after reporting an option that was given for another target. */
bool gpu_options_check(const struct gpu_options *o, const char *target, struct diag *d);
/* Returns exec options in which only the device's arithmetic is set. */
struct exec_options gpu_options_exec(const struct gpu_options *o);
/* Returns the target for making a plan. */
struct plan_target gpu_options_plan(const struct gpu_options *o, const char *target, int64_t streams);

#endif
