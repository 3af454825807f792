/* gpu: --fuse-relu. */
#include "cli/gpu.h"
#include <assert.h>
#include <string.h>

struct option_table gpu_options_table(struct gpu_options *o)
{
	const struct option options[] = {
	    {.name = "fuse-relu",
	     .kind = OPTION_SWITCH,
	     .to = &o->fuse_relu,
	     .help = "of --target=cuda: relu of a product is computed along with it, which makes 0 of NaN"},
	};
	static_assert(sizeof options / sizeof *options == GPU_OPTIONS, "GPU_OPTIONS is their number");
	memcpy(o->option, options, sizeof options);
	return (struct option_table){.title = "GPU", .at = o->option, .n = GPU_OPTIONS};
}

static bool is_cuda(const char *target)
{
	return strcmp(target, "cuda") == 0;
}

bool gpu_options_check(const struct gpu_options *o, const char *target, struct diag *d)
{
	if (!is_cuda(target) && o->fuse_relu)
		diag_error(d, DIAG_NOWHERE, "--fuse-relu is of --target=cuda: on the cpu relu keeps NaN");
	return is_cuda(target) || !o->fuse_relu;
}

struct plan_target gpu_options_plan(const struct gpu_options *o, const char *target, int64_t streams)
{
	struct plan_target plan = {.streams = streams};
	if (is_cuda(target))
		plan.epilogues = UINT64_C(1) << RT_GELU_TANH | (uint64_t)o->fuse_relu << RT_RELU;
	return plan;
}
