/* kernel: see kernel.h. */
#include "cuda/kernel.h"
#include "base/hash.h"
#include "base/vec.h"
#include "cuda/cuda_compile.h"
#include "cuda/kernel_write.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct kernel_entry {
	uint64_t hash;
	size_t bytes;
	unsigned char *key; /* owned */
	CUmodule module;
	CUfunction function;
};

struct kernel_scratch {
	CUstream stream;
	CUdeviceptr at;
};

/* The kernels of a rank. */
struct cuda_kernels {
	VEC(struct kernel_entry) made;
	VEC(struct kernel_scratch) scratch;
	int shared;                  /* most bytes of shared memory of a block */
	struct kernel_writer writer; /* its texts keep their memory from one kernel to the next */
};

enum status cuda_kernels_open(struct cuda *c)
{
	enum status status = cuda_need(c, CUDA_NVRTC);
	if (status != STATUS_OK)
		return status;
	c->kernels = mem_zalloc(sizeof *c->kernels);
	return cuda_call(c, cuDeviceGetAttribute, &c->kernels->shared,
	                 CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, c->device)
	           ? STATUS_OK
	           : rt_job_status(c->base.job);
}

void cuda_kernels_close(struct cuda *c)
{
	struct cuda_kernels *k = c->kernels;
	if (!k)
		return;
	for (uint32_t i = 0; i < k->made.n; i++) {
		cuda_call(c, cuModuleUnload, k->made.at[i].module);
		free(k->made.at[i].key);
	}
	for (uint32_t i = 0; i < k->scratch.n; i++)
		cuda_call(c, cuMemFree, k->scratch.at[i].at);
	vec_free(&k->made);
	vec_free(&k->scratch);
	buf_free(&k->writer.text);
	buf_free(&k->writer.fields);
	free(k);
	c->kernels = NULL;
}

/* ---- writing */

static void start_kernel(struct kernel_writer *w, bool wants_text, int shared, struct cuda_launch *launch,
                         char *why)
{
	w->shared = shared;
	w->wants_text = wants_text;
	w->text.n = w->fields.n = 0;
	w->narrow = false;
	w->arguments = 0;
	w->end = sizeof(struct kernel_head);
	w->key_bytes = 0;
	w->too_large = false;
	w->launch = launch;
	w->why = why;
	why[0] = 0;
	launch->function = NULL;
	launch->grid = 0;
	launch->block = KERNEL_THREADS;
	launch->shared = 0;
	launch->scratch = false;
	launch->bytes = sizeof(struct kernel_head);
	memset(launch->argument, 0, sizeof(struct kernel_head));
}

static bool has_step(const struct rt_unit *u, enum rt_kernel kernel)
{
	for (unsigned k = 0; k < u->steps; k++)
		if (u->step[k].task.kernel == kernel)
			return true;
	return false;
}

static bool write_copy(struct kernel_writer *w, const struct rt_task *t)
{
	bool turns = kernel_is_transpose(t);
	kernel_key(w, turns);
	if (!turns)
		return kernel_write_chain(w, t);
	kernel_write_transpose(w, t);
	return true;
}

static bool write_task(struct kernel_writer *w, const struct rt_task *t)
{
	switch (t->kernel) {
	case RT_TASK_COPY:
	case RT_TASK_BITCAST:
		return write_copy(w, t);
	case RT_TASK_FILL:
	case RT_TASK_IOTA:
	case RT_TASK_UNIFORM:
	case RT_TASK_POINTWISE:
		return kernel_write_chain(w, t);
	case RT_TASK_UNIT:
		return has_step(t->unit, RT_TASK_NORM)     ? kernel_write_norm(w, t)
		       : has_step(t->unit, RT_TASK_REDUCE) ? kernel_write_reduce(w, t)
		                                           : kernel_write_chain(w, t);
	case RT_TASK_REDUCE:
		return kernel_write_reduce(w, t);
	case RT_TASK_SCAN:
		return kernel_write_scan(w, t);
	case RT_TASK_SOFTMAX:
		return kernel_write_softmax(w, t);
	case RT_TASK_NORM:
		return kernel_write_norm(w, t);
	case RT_TASK_ATTENTION:
		return kernel_write_attention(w, t);
	case RT_TASK_GRADIENT:
		return kernel_write_gradient(w, t);
	case RT_TASK_GRADIENT_SUMS:
		return kernel_write_gradient_sums(w, t);
	case RT_TASK_GATHER:
		return kernel_write_gather(w, t);
	case RT_TASK_PUT:
	case RT_TASK_ACCUMULATE:
		return kernel_write_put(w, t);
	case RT_TASK_GROUPED:
		return kernel_write_grouped(w, t);
	case RT_TASK_TOPK:
		return kernel_write_topk(w, t);
	case RT_TASK_ROUTE:
	case RT_TASK_COUNT:
		return kernel_write_buckets(w, t);
	case RT_TASK_SCATTER:
		return kernel_write_scatter(w, t);
	case RT_TASK_GEMM:
		return kernel_write_gemm(w, t);
	case RT_TASK_CALL:
		break;
	}
	snprintf(w->why, RT_WHY_BYTES, "kernel %d is unknown to the GPU", (int)t->kernel);
	return false;
}

/* The work of a kernel: a task, or a reduction of arrays. */
struct subject {
	const struct rt_task *task;
	enum reduce_op op;
	enum dtype type;
	void *out;
	const void *const *in;
	int n;
	int64_t count;
};

static bool write_subject(struct kernel_writer *w, const struct subject *s)
{
	kernel_key(w, s->task ? s->task->kernel : RT_TASK_CALL);
	bool ok = s->task ? write_task(w, s->task)
	                  : kernel_write_arrays(w, s->op, s->type, s->out, s->in, s->n, s->count);
	if (ok && w->too_large)
		snprintf(w->why, RT_WHY_BYTES,
		         "too many operands for one kernel: let fewer operations be a unit");
	return ok && !w->too_large;
}

/* Writes a title for the kernel, in words, with the facts on which its text depends. */
static void put_title(const struct rt_task *t, struct buf *out)
{
	static const char *const name[] = {
	    [RT_TASK_COPY] = "copy",
	    [RT_TASK_FILL] = "fill",
	    [RT_TASK_IOTA] = "iota",
	    [RT_TASK_UNIFORM] = "uniform",
	    [RT_TASK_SCAN] = "scan",
	    [RT_TASK_SOFTMAX] = "softmax",
	    [RT_TASK_BITCAST] = "bitcast",
	    [RT_TASK_GATHER] = "gather",
	    [RT_TASK_TOPK] = "topk",
	    [RT_TASK_GROUPED] = "grouped",
	    [RT_TASK_PUT] = "put",
	    [RT_TASK_ACCUMULATE] = "accumulate",
	    [RT_TASK_ROUTE] = "route",
	    [RT_TASK_COUNT] = "count",
	    [RT_TASK_SCATTER] = "scatter",
	    [RT_TASK_GEMM] = "gemm",
	    [RT_TASK_ATTENTION] = "attention",
	    [RT_TASK_GRADIENT_SUMS] = "gradient sums",
	};
	static const int operands[] = {
	    [RT_TASK_COPY] = 1,         [RT_TASK_REDUCE] = 1,    [RT_TASK_SCAN] = 1,
	    [RT_TASK_GROUPED] = 3,      [RT_TASK_PUT] = 2,       [RT_TASK_SOFTMAX] = 1,
	    [RT_TASK_BITCAST] = 1,      [RT_TASK_NORM] = 1,      [RT_TASK_GATHER] = 2,
	    [RT_TASK_TOPK] = 1,         [RT_TASK_ROUTE] = 1,     [RT_TASK_COUNT] = 1,
	    [RT_TASK_SCATTER] = 3,      [RT_TASK_GEMM] = 2,      [RT_TASK_CALL] = 0,
	    [RT_TASK_ACCUMULATE] = 2,   [RT_TASK_ATTENTION] = 3, [RT_TASK_GRADIENT] = 3,
	    [RT_TASK_GRADIENT_SUMS] = 2};
	static const char *const of_gradient[] = {"gradient of q", "gradient of k", "gradient of v"};
	if (t->kernel == RT_TASK_UNIT) {
		for (unsigned k = 0; k < t->unit->steps; k++) {
			buf_puts(out, k ? ", " : "");
			put_title(&t->unit->step[k].task, out);
		}
		return;
	}
	bool pointwise = t->kernel == RT_TASK_POINTWISE,
	     puts = t->kernel == RT_TASK_PUT || t->kernel == RT_TASK_ACCUMULATE;
	if (t->kernel == RT_TASK_SCAN || t->kernel == RT_TASK_ACCUMULATE)
		buf_printf(out, "%s ", reduce_op_name(t->reduce));
	buf_puts(out, pointwise                       ? pointwise_name(t->op)
	              : t->kernel == RT_TASK_REDUCE   ? reduce_op_name(t->reduce)
	              : t->kernel == RT_TASK_GRADIENT ? of_gradient[t->gradient]
	              : t->kernel == RT_TASK_NORM     ? (t->norm == RT_NORM_LAYER ? "layernorm" : "rmsnorm")
	                                              : name[t->kernel]);
	for (int k = 0; k < (pointwise ? pointwise_operands(t->op) : operands[t->kernel]); k++)
		buf_printf(out, " %s",
		           (pointwise || puts) && t->scalars >> k & 1 ? "scalar"
		                                                      : dtype_name(t->in[k].dtype));
	buf_printf(out, " to %s", dtype_name(t->out.dtype));
}

static void join_source(const struct kernel_writer *w, const struct subject *s, struct buf *out)
{
	buf_puts(out, "// ");
	if (s->task)
		put_title(s->task, out);
	else
		buf_printf(out, "%s of %d arrays of %s", reduce_op_name(s->op), s->n, dtype_name(s->type));
	buf_puts(out, "\n");
	for (int k = 0; k < KERNEL_PRELUDE; k++)
		buf_puts(out, kernel_prelude[k]);
	buf_printf(out, "/* the kernel */\ntypedef %s offset;\n", w->narrow ? "i32" : "i64");
	buf_puts(out, "struct arguments {\n\tstruct head head;\n");
	buf_putn(out, w->fields.at ? w->fields.at : "", w->fields.n);
	buf_puts(out, "};\n");
	buf_putn(out, w->text.at ? w->text.at : "", w->text.n);
}

static bool source_of(const struct subject *s, int shared, struct buf *source, struct cuda_launch *launch,
                      char *why)
{
	struct kernel_writer *w = mem_zalloc(sizeof *w);
	start_kernel(w, true, shared, launch, why);
	bool ok = write_subject(w, s);
	if (ok && launch->grid)
		join_source(w, s, source);
	buf_free(&w->text);
	buf_free(&w->fields);
	free(w);
	return ok;
}

bool kernel_source(const struct rt_task *t, int shared, struct buf *source, struct cuda_launch *launch,
                   char *why)
{
	return source_of(&(struct subject){.task = t}, shared, source, launch, why);
}

bool kernel_source_arrays(enum reduce_op op, enum dtype t, void *out, const void *const *in, int n,
                          int64_t count, struct buf *source, struct cuda_launch *launch, char *why)
{
	return source_of(&(struct subject){.op = op, .type = t, .out = out, .in = in, .n = n, .count = count},
	                 KERNEL_LEAST_SHARED, source, launch, why);
}

bool cuda_kernel_source(const struct rt_task *t, struct buf *out, char *why)
{
	struct cuda_launch *launch = mem_alloc(sizeof *launch);
	bool ok = kernel_source(t, KERNEL_LEAST_SHARED, out, launch, why);
	free(launch);
	return ok;
}

/* ---- making */

static const struct kernel_entry *find_kernel(const struct cuda_kernels *k, uint64_t hash)
{
	for (uint32_t i = 0; i < k->made.n; i++) {
		const struct kernel_entry *e = &k->made.at[i];
		if (e->hash == hash && e->bytes == k->writer.key_bytes &&
		    !memcmp(e->key, k->writer.key, e->bytes))
			return e;
	}
	return NULL;
}

static enum status load_kernel(struct cuda *c, const struct subject *s, struct kernel_entry *e)
{
	struct buf source = {0};
	struct cuda_cubin cubin;
	join_source(&c->kernels->writer, s, &source);
	enum status status = cuda_compile(c, source.at, &cubin);
	buf_free(&source);
	if (status != STATUS_OK)
		return status;
	unsigned shared = c->kernels->writer.launch->shared;
	if (!cuda_call(c, cuModuleLoadData, &e->module, cubin.at) ||
	    !cuda_call(c, cuModuleGetFunction, &e->function, e->module, "hirc_kernel") ||
	    (shared > KERNEL_LEAST_SHARED &&
	     !cuda_call(c, cuFuncSetAttribute, e->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
	                (int)shared)))
		return rt_job_status(c->base.job);
	return STATUS_OK;
}

static enum status make_launch(struct cuda *c, const struct subject *s, struct cuda_launch *out, char *why)
{
	struct cuda_kernels *k = c->kernels;
	struct kernel_writer *w = &k->writer;
	start_kernel(w, false, k->shared, out, why);
	if (!write_subject(w, s))
		return STATUS_DIAGNOSTICS;
	if (!out->grid)
		return STATUS_OK;
	uint64_t hash = hash_bytes(HASH_START, w->key, w->key_bytes);
	const struct kernel_entry *known = find_kernel(k, hash);
	if (!known) {
		struct kernel_entry made = {.hash = hash};
		start_kernel(w, true, k->shared, out, why);
		if (!write_subject(w, s))
			return STATUS_DIAGNOSTICS;
		enum status status = load_kernel(c, s, &made);
		if (status != STATUS_OK)
			return status;
		made.bytes = w->key_bytes;
		made.key = memcpy(mem_alloc(made.bytes + 1), w->key, made.bytes);
		vec_push(&k->made, made);
		known = &k->made.at[k->made.n - 1];
	}
	out->function = known->function;
	return STATUS_OK;
}

enum status cuda_kernel_make(struct cuda *c, const struct rt_task *t, struct cuda_launch *out, char *why)
{
	return make_launch(c, &(struct subject){.task = t}, out, why);
}

/* ---- launching */

/* Returns the scratch memory of a stream, initially zeroed; 0 after a message. */
static CUdeviceptr scratch_of(struct cuda *c, CUstream s)
{
	struct cuda_kernels *k = c->kernels;
	for (uint32_t i = 0; i < k->scratch.n; i++)
		if (k->scratch.at[i].stream == s)
			return k->scratch.at[i].at;
	struct kernel_scratch made = {.stream = s};
	if (!cuda_call(c, cuMemAlloc, &made.at, KERNEL_SCRATCH_BYTES))
		return 0;
	vec_push(&k->scratch, made);
	return cuda_call(c, cuMemsetD8Async, made.at, 0, KERNEL_SCRATCH_BYTES, s) ? made.at : 0;
}

enum status cuda_kernel_launch(struct cuda *c, CUstream s, struct cuda_launch *l)
{
	struct kernel_head *head = (struct kernel_head *)l->argument;
	void *arguments[] = {l->argument};
	*head = (struct kernel_head){.fault = c->fault_at,
	                             .scratch = l->scratch ? scratch_of(c, s) : 0,
	                             .label = c->at.label,
	                             .iteration = c->at.iteration};
	if ((l->scratch && !head->scratch) || !cuda_call(c, cuLaunchKernel, l->function, l->grid, 1, 1,
	                                                 l->block, 1, 1, l->shared, s, arguments, NULL))
		return rt_job_status(c->base.job);
	return STATUS_OK;
}

enum status cuda_reduce_arrays(struct cuda *c, CUstream s, enum reduce_op op, enum dtype t, void *out,
                               const void *const *in, int n, int64_t count)
{
	struct cuda_launch launch;
	char why[RT_WHY_BYTES];
	assert(n >= 1 && n <= CUDA_REDUCE_ARRAYS);
	enum status status = make_launch(
	    c, &(struct subject){.op = op, .type = t, .out = out, .in = in, .n = n, .count = count}, &launch,
	    why);
	return status == STATUS_OK && launch.grid ? cuda_kernel_launch(c, s, &launch) : status;
}
