/* device_cpu: the device `cpu`: this machine's memory and cores. */
#include "base/arena.h"
#include "rt/cores.h"
#include "rt/cpu.h"
#include "rt/cpu_onednn.h"
#include "rt/device_impl.h"
#include "rt/job.h"
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HIRC_HAVE_BLAS
#include "rt/cpu_blas.h"
#endif

enum { ALIGNMENT = 64 };

struct cpu_device {
	struct rt_device base;
	struct cpu_lane lane[RT_MAX_LANES];
};

/* Header before each allocation; it keeps the size for the count. */
union block {
	size_t bytes;
	char pad[ALIGNMENT];
};

static enum status cpu_alloc(struct rt_device *d, size_t bytes, const char *what, void **out)
{
	size_t total = bytes + sizeof(union block);
	total = (total + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
	union block *b = total > bytes ? aligned_alloc(ALIGNMENT, total) : NULL;
	if (!b) {
		rt_job_error(d->job, "no memory for the %zu bytes of %s", bytes, what);
		return rt_job_fail(d->job, STATUS_DIAGNOSTICS);
	}
	b->bytes = bytes;
	memset(b + 1, 0xff, bytes);
	rt_device_count(d, (int64_t)bytes);
	*out = b + 1;
	return STATUS_OK;
}

static void cpu_free(struct rt_device *d, void *at)
{
	union block *b = (union block *)at - 1;
	rt_device_count(d, -(int64_t)b->bytes);
	free(b);
}

void *cpu_scratch(struct cpu_lane *lane, int which, size_t bytes, char *why)
{
	if (bytes <= lane->bytes[which] && lane->at[which])
		return lane->at[which];
	size_t n = bytes + bytes / 4;
	n = (n + ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
	free(lane->at[which]);
	lane->at[which] = n > bytes ? aligned_alloc(ALIGNMENT, n) : NULL;
	lane->bytes[which] = lane->at[which] ? n : 0;
	if (!lane->at[which])
		snprintf(why, RT_WHY_BYTES, "no memory for %zu bytes of scratch", bytes);
	return lane->at[which];
}

static enum status run_product(struct cpu_lane *lane, const struct rt_task *t, char *why)
{
	enum status status = cpu_gemm(lane, t, why);
	if (status != STATUS_OK || !t->function)
		return status;
	struct rt_task function = {
	    .kernel = RT_TASK_POINTWISE, .op = (t->function - 1), .out = t->out, .in = {t->out}};
	return cpu_pointwise(&function, why);
}

static enum status cpu_run(struct rt_device *d, int lane, const struct rt_task *t, char *why)
{
	struct cpu_device *c = (struct cpu_device *)d;
	assert(lane >= 0 && lane < RT_MAX_LANES);
	why[0] = 0;
	switch (t->kernel) {
	case RT_TASK_COPY:
		return cpu_copy(&t->out, &t->in[0]);
	case RT_TASK_FILL:
		return cpu_fill(&t->out, t->scalar[0]);
	case RT_TASK_IOTA:
		return cpu_iota(t);
	case RT_TASK_UNIFORM:
		return cpu_uniform(t);
	case RT_TASK_POINTWISE:
		return cpu_pointwise(t, why);
	case RT_TASK_REDUCE:
		return cpu_reduce(t, why);
	case RT_TASK_SCAN:
		return cpu_scan(t);
	case RT_TASK_SOFTMAX:
		return cpu_softmax(&c->lane[lane], t, why);
	case RT_TASK_NORM:
		return cpu_norm(&c->lane[lane], t, why);
	case RT_TASK_ATTENTION:
		return cpu_attention(&c->lane[lane], t, why);
	case RT_TASK_GRADIENT:
		return cpu_gradient(&c->lane[lane], t, why);
	case RT_TASK_GRADIENT_SUMS:
		return cpu_gradient_sums(t);
	case RT_TASK_BITCAST:
		return cpu_bitcast(&t->out, &t->in[0]);
	case RT_TASK_GATHER:
		return cpu_gather(t, why);
	case RT_TASK_TOPK:
		return cpu_topk(&c->lane[lane], t, why);
	case RT_TASK_PUT:
	case RT_TASK_ACCUMULATE:
		return cpu_put(t, why);
	case RT_TASK_ROUTE:
		return cpu_route(&c->lane[lane], t, why);
	case RT_TASK_COUNT:
		return cpu_count(&c->lane[lane], t, why);
	case RT_TASK_SCATTER:
		return cpu_scatter(t, why);
	case RT_TASK_GEMM:
		return run_product(&c->lane[lane], t, why);
	case RT_TASK_GROUPED:
		return cpu_grouped(&c->lane[lane], t, why);
	case RT_TASK_UNIT:
		return cpu_unit(&c->lane[lane], t->unit, why);
	case RT_TASK_CALL:
		return t->call(t->call_arg, t->call_value);
	}
	snprintf(why, RT_WHY_BYTES, "kernel %d is unknown to the cpu device", (int)t->kernel);
	return STATUS_INTERNAL;
}

static void cpu_prepare(struct rt_device *d, int lane, const struct rt_task *t)
{
	if (t->kernel == RT_TASK_GEMM)
		cpu_gemm_prepare(&((struct cpu_device *)d)->lane[lane], t);
}

static void cpu_close(struct rt_device *d)
{
	struct cpu_device *c = (struct cpu_device *)d;
	for (int l = 0; l < RT_MAX_LANES; l++) {
		cpu_onednn_free(&c->lane[l]);
#ifdef HIRC_HAVE_BLAS
		cpu_blas_close(c->lane[l].blas);
#endif
		for (int i = 0; i < CPU_SCRATCH; i++)
			free(c->lane[l].at[i]);
	}
	free(c);
}

static const struct rt_device_ops cpu_ops = {
    .name = "cpu",
    .alloc = cpu_alloc,
    .free = cpu_free,
    .prepare = cpu_prepare,
    .run = cpu_run,
    .close = cpu_close,
};

/* Returns the number of threads of a contraction. Ranks on one machine share its cores, and ranks that
 * are threads also share the threads of BLAS. */
static int choose_threads(struct rt_job *job)
{
	const char *said = getenv("OPENBLAS_NUM_THREADS");
	if (said)
		return atoi(said) > 0 ? atoi(said) : 0;
	bool alone = job->size == 1 && strcmp(job->boot->name, "thread") != 0;
	return alone ? rt_processors() : 1;
}

enum status rt_cpu_open(struct rt_job *job, struct rt_device **out)
{
	struct cpu_device *c = mem_zalloc(sizeof *c);
	c->base.ops = &cpu_ops;
	c->base.job = job;
	int threads = c->base.threads = choose_threads(job);
	for (int l = 0; l < RT_MAX_LANES; l++)
		c->lane[l].threads = threads;
	*out = &c->base;
	return STATUS_OK;
}
