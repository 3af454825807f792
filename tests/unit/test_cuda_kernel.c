/* The kernels of the device "cuda", compiled for the host, compared with those of the CPU. */
#include "test_cuda_cases.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

enum { SOURCES_A_FILE = 120 };

typedef void run_function(unsigned grid, unsigned block, unsigned shared, const void *arguments);

static VEC(run_function *) function; /* by source */
static struct rt_device *cpu;
static uint64_t scratch[KERNEL_SCRATCH_BYTES / 8];

/* Returns false if there is no compiler. */
static bool compile(void)
{
	char folder[] = "/tmp/hirc_kernels_XXXXXX", command[256], path[64], name[64];
	if (!mkdtemp(folder) || system("cc --version > /dev/null 2>&1"))
		return false;
	for (uint32_t first = 0; first < sources.n; first += SOURCES_A_FILE) {
		uint32_t end = first + SOURCES_A_FILE < sources.n ? first + SOURCES_A_FILE : sources.n;
		struct buf all = {0};
		scene_put_prelude(&all);
		for (uint32_t k = first; k < end; k++)
			scene_put_source(&all, k);
		snprintf(path, sizeof path, "%s/%u.c", folder, first);
		FILE *f = fopen(path, "w");
		fwrite(all.at, 1, all.n, f);
		fclose(f);
		buf_free(&all);
		snprintf(command, sizeof command, "cc -shared -fPIC -O0 -w -DHIRC_HOST -o %s/%u.so %s -lm",
		         folder, first, path);
		CHECK_EQ(system(command), 0);
		snprintf(path, sizeof path, "%s/%u.so", folder, first);
		void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
		for (uint32_t k = first; k < end; k++) {
			snprintf(name, sizeof name, "hirc_kernel_run_%u", k);
			vec_push(&function, so ? (run_function *)dlsym(so, name) : NULL);
			snprintf(name, sizeof name, "hirc_kernel_argument_bytes_%u", k);
			const unsigned long *bytes = so ? dlsym(so, name) : NULL;
			CHECK(bytes && *bytes == first_of.at[k]->launch.bytes);
		}
	}
	snprintf(command, sizeof command, "rm -r %s", folder);
	CHECK_EQ(system(command), 0);
	return true;
}

/* ---- comparison */

static double ulp(enum dtype t)
{
	static const double of[] = {[DTYPE_F64] = 0x1p-52, [DTYPE_F32] = 0x1p-23,   [DTYPE_BF16] = 0x1p-7,
	                            [DTYPE_F16] = 0x1p-10, [DTYPE_F8E4M3] = 0x1p-3, [DTYPE_F8E5M2] = 0x1p-2};
	return of[t];
}

static bool same(enum dtype t, const void *a, const void *b, double ulps, double least)
{
	if (!memcmp(a, b, dtype_bytes(t)))
		return true;
	if (!dtype_is_float(t))
		return false;
	double x = rt_load_f64(t, a), y = rt_load_f64(t, b), most = fmax(fabs(x), fabs(y));
	return (x != x && y != y) || fabs(x - y) <= ulps * ulp(t) * most + least;
}

/* Compares each element of a result; equal ones get the same bits. move: distance from want's memory to
 * got's. */
static int compare(const struct rt_view *want, ptrdiff_t move, double ulps, double least, const char *name)
{
	int64_t index[RT_MAX_DIMS] = {0};
	int wrong = 0;
	if (rt_view_count(want) == 0)
		return 0;
	for (int d = 0; d >= 0;) {
		int64_t at = 0;
		for (d = 0; d < want->nd; d++)
			at += index[d] * want->stride[d];
		char *x = (char *)want->data + at * (int64_t)dtype_bytes(want->dtype), *y = x + move;
		if (same(want->dtype, y, x, ulps, least))
			memcpy(y, x, dtype_bytes(want->dtype));
		else if (wrong++ == 0)
			printf("    %s: element %lld is %.17g, not %.17g\n", name, (long long)at,
			       rt_load_f64(want->dtype, y), rt_load_f64(want->dtype, x));
		for (d = want->nd - 1; d >= 0 && ++index[d] == want->n[d]; d--)
			index[d] = 0;
	}
	return wrong;
}

static int compare_all(const struct scene *s, ptrdiff_t move)
{
	int wrong = 0;
	if (s->arrays) {
		struct rt_view out = rt_view_dense(s->out, s->type, 1, &s->count);
		return compare(&out, move, 0, 0, s->name);
	}
	if (s->task.kernel != RT_TASK_UNIT)
		return compare(&s->task.out, move, s->ulps, s->least, s->name);
	for (unsigned k = 0; k < s->task.unit->steps; k++) {
		const struct rt_task *t = &s->task.unit->step[k].task;
		bool named = t->kernel == RT_TASK_POINTWISE;
		double ulps = named && ulps_of(t->op) > 0 ? ulps_of(t->op) : s->ulps;
		if (!s->task.unit->step[k].local[0])
			wrong += compare(&t->out, move, ulps, 0, named ? pointwise_name(t->op) : s->name);
	}
	return wrong;
}

/* ---- both sides */

static enum status run_cpu(const struct scene *s)
{
	char why[RT_WHY_BYTES];
	if (!s->arrays)
		return rt_device_run(cpu, 0, &s->task, why);
	rt_reduce_arrays(s->op, s->type, s->out, s->in, s->arrays, (size_t)s->count);
	return STATUS_OK;
}

/* Runs the kernel on the scene's memory, since its arguments have those addresses. Copies the results,
 * restores the memory, and runs the CPU on it. */
static void run(const struct scene *s)
{
	struct cuda_fault fault = {0};
	struct cuda_launch launch = s->launch;
	struct kernel_head head = {
	    .fault = (CUdeviceptr)&fault, .scratch = (CUdeviceptr)scratch, .label = 3, .iteration = 5};
	char *before = mem_alloc(s->used), *got = mem_alloc(s->used);
	memcpy(before, s->base, s->used);
	memcpy(launch.argument, &head, sizeof head);
	if (s->kernel != EMPTY)
		function.at[s->kernel](launch.grid, launch.block, launch.shared, launch.argument);
	memcpy(got, s->base, s->used);
	memcpy(s->base, before, s->used);
	CHECK_EQ(fault.kind, s->fault);
	CHECK_EQ(run_cpu(s), s->fault ? STATUS_DIAGNOSTICS : STATUS_OK);
	if (s->fault) {
		CHECK_EQ(fault.label, 3);
		CHECK_EQ(fault.iteration, 5);
	} else {
		int wrong = compare_all(s, got - s->base);
		CHECK_EQ(wrong, 0);
		bool untouched = wrong || !memcmp(got, s->base, s->used);
		CHECK(untouched);
		if (wrong || !untouched)
			printf("    %s (%d)\n", s->name, s->kernel);
	}
	for (int k = 0; k < KERNEL_COUNTERS; k++)
		if (scratch[k])
			CHECK_EQ(scratch[k], 0);
	free(before);
	free(got);
}

static int rank_main(struct rt_job *job, void *arg)
{
	(void)arg;
	CHECK_EQ(rt_device_open(job, "cpu", &cpu), STATUS_OK);
	for (uint32_t k = 0; k < scenes.n; k++)
		run(scenes.at[k]);
	rt_device_close(cpu);
	return STATUS_OK;
}

/* Equal keys mean equal sources: a process finds its kernels only by keys. */
static void test_keys(void)
{
	for (uint32_t k = 0; k < first_of.n; k++)
		for (uint32_t i = 0; i < k; i++)
			CHECK(strcmp(sources.at[i], sources.at[k]) != 0);
}

/* More views than a kernel has arguments for. */
static void test_too_many(void)
{
	enum { STEPS = 200 };
	static float memory[2 * STEPS];
	struct rt_unit *u = mem_zalloc(sizeof *u + STEPS * sizeof *u->step);
	struct rt_task t = {.kernel = RT_TASK_UNIT, .unit = u};
	struct buf source = {0};
	char why[RT_WHY_BYTES];
	for (u->steps = 0; u->steps < STEPS; u->steps++)
		u->step[u->steps].task = (struct rt_task){
		    .kernel = RT_TASK_COPY,
		    .in = {rt_view_dense(&memory[2 * u->steps], DTYPE_F32, 1, (const int64_t[]){1})},
		    .out = rt_view_dense(&memory[2 * u->steps + 1], DTYPE_F32, 1, (const int64_t[]){1})};
	CHECK(!cuda_kernel_source(&t, &source, why));
	CHECK_STR(why, "too many operands for one kernel: let fewer operations be a unit");
	u->steps = 50;
	CHECK(cuda_kernel_source(&t, &source, why));
	CHECK(has(source.at, "// copy f32 to f32, copy f32 to f32"));
	buf_free(&source);
	free(u);
}

int main(void)
{
	test_too_many();
	all_cases();
	test_keys();
	printf("%u tasks, %u kernels\n", scenes.n, sources.n);
	fflush(stdout);
	if (!compile()) {
		printf("there is no compiler, cc\n");
		return 77;
	}
	struct rt_launch_options o = {.kind = RT_BOOT_THREAD, .np = 1};
	CHECK_EQ(rt_launch(&o, rank_main, NULL), STATUS_OK);
	return check_result();
}
