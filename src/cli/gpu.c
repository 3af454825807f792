/* gpu: --allow-tf32, --exact-reductions, --fuse-relu, --time-products. */
#include "cli/gpu.h"
#include <string.h>

static const struct option rows[] = {
    {.name = "allow-tf32",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct gpu_options, allow_tf32),
     .help = "round operands of f32 products to tf32, of 11 bits, with --target=cuda"},
    {.name = "exact-reductions",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct gpu_options, exact_reductions),
     .help = "reduce floats in f32 or f64, in order, and round once; only NCCL does not do so anyway"},
    {.name = "fuse-relu",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct gpu_options, fuse_relu),
     .help = "compute relu along with its product, which makes 0 of NaN, with --target=cuda"},
    {.name = "time-products",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct gpu_options, time_products),
     .help = "time cuBLASLt's algorithms once for each shape, and keep the fastest, with --target=cuda"},
};

struct option_table gpu_options_table(struct gpu_options *o)
{
	return OPTION_TABLE("GPU", rows, o);
}

static bool is_cuda(const char *target)
{
	return strcmp(target, "cuda") == 0;
}

bool gpu_options_check(const struct gpu_options *o, const char *target, struct diag *d)
{
	if (is_cuda(target))
		return true;
	if (o->allow_tf32)
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--allow-tf32 is of --target=cuda: on the cpu products of f32 round nothing");
	if (o->fuse_relu)
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--fuse-relu is of --target=cuda: on the cpu relu keeps NaN");
	if (o->time_products)
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--time-products is of --target=cuda: on the cpu there is nothing to choose");
	return !o->allow_tf32 && !o->fuse_relu && !o->time_products;
}

struct exec_options gpu_options_exec(const struct gpu_options *o)
{
	return (struct exec_options){.tf32 = o->allow_tf32,
	                             .time_products = o->time_products,
	                             .exact_reductions = o->exact_reductions};
}

struct plan_target gpu_options_plan(const struct gpu_options *o, const char *target, int64_t streams)
{
	struct plan_target plan = {.streams = streams, .views = true};
	plan.transposes = is_cuda(target);
	plan.row = is_cuda(target) ? RT_UNIT_ROW : 0;
	plan.page = is_cuda(target) ? RT_HEAP_UNIT : 0;
	plan.epilogue[POINTWISE_GELU_TANH] = plan.epilogue[POINTWISE_ADD] = is_cuda(target);
	plan.epilogue[POINTWISE_RELU] = is_cuda(target) && o->fuse_relu;
	return plan;
}
