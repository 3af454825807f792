/* device_launch: runs tasks. gemm.c computes products; kernel.c computes all other tasks, and products that
 * cuBLASLt refuses. */
#include "cuda/cuda_device.h"
#include "cuda/launch_cache.h"
#include <stdio.h>

static enum status launch_kernel(struct cuda *c, CUstream s, struct cuda_launch *launch)
{
	return launch->grid ? cuda_kernel_launch(c, s, launch) : STATUS_OK;
}

/* Gives prepared work to a stream. *begin: an event before the work, after which nothing is allocated. begin
 * NULL: no event is made. */
static enum status launch_made(struct cuda *c, CUstream s, const struct cuda_made *m, void **begin)
{
	CUevent e;
	enum status status = STATUS_OK;
	if (begin && m->product)
		status = cuda_gemm_prepare(c, s, m->product);
	if (status == STATUS_OK && begin)
		status = cuda_event_record(c, s, &e);
	if (status != STATUS_OK)
		return status;
	if (begin)
		*begin = e;
	status = m->product ? cuda_gemm_run(c, s, m->product) : launch_kernel(c, s, m->launch);
	return status == STATUS_OK && m->function ? launch_kernel(c, s, m->function) : status;
}

/* Prepares the function that follows a product, applied to its result in memory. */
static enum status make_function(struct cuda *c, const struct rt_task *t, struct cuda_launch *out, char *why)
{
	struct rt_task function = {
	    .kernel = RT_TASK_POINTWISE, .op = (t->function - 1), .out = t->out, .in = {t->out}};
	return cuda_kernel_make(c, &function, out, why);
}

/* Prepares the calls of a task, keeps them if its record lasts, and launches them. */
static enum status make_and_launch(struct cuda *c, CUstream s, const struct rt_task *t, char *why,
                                   void **begin)
{
	struct cuda_made made = {.task = t};
	struct cuda_gemm_call product;
	struct cuda_launch launch, function;
	enum status status = STATUS_OK;
	bool taken = false;
	if (t->kernel == RT_TASK_GEMM)
		status = cuda_gemm_make(c, t, &product, &taken);
	if (taken)
		made.product = &product;
	else if (status == STATUS_OK) {
		made.launch = &launch;
		status = cuda_kernel_make(c, t, &launch, why);
	}
	if (status == STATUS_OK && t->kernel == RT_TASK_GEMM && t->function &&
	    (!taken || product.lacks_function)) {
		made.function = &function;
		status = make_function(c, t, &function, why);
	}
	if (status == STATUS_OK && t->fixed)
		cuda_launch_cache_keep(c->launch_cache, &made);
	return status == STATUS_OK ? launch_made(c, s, &made, begin) : status;
}

/* Remembers the statement of a launch, for errors that later calls report. Returns status. */
static enum status note_launch(struct cuda *c, enum status status)
{
	if (status == STATUS_OK &&
	    (!c->launched || c->recent[(c->launched - 1) % CUDA_RECENT].label != c->at.label))
		c->recent[c->launched++ % CUDA_RECENT] = c->at;
	return status;
}

enum status cuda_device_launch(struct rt_device *d, void *stream, const struct rt_task *task,
                               struct rt_origin at, char *why, void **begin)
{
	struct cuda *c = cuda_of(d);
	const struct cuda_made *made = task->fixed ? cuda_launch_cache_find(c->launch_cache, task) : NULL;
	why[0] = 0;
	c->at = at;
	if (made)
		return note_launch(c, launch_made(c, stream, made, begin));
	if (task->kernel == RT_TASK_CALL) {
		snprintf(why, RT_WHY_BYTES, "the GPU calls no function of the host");
		return STATUS_INTERNAL;
	}
	enum status status = make_and_launch(c, stream, task, why, begin);
	if (task->kernel == RT_TASK_UNIT) /* its record is no longer needed */
		atomic_store_explicit(&task->unit->busy, false, memory_order_release);
	return note_launch(c, status);
}
