/* Measures the time of the engines for a statement that does nothing, in ns: median and least of several
 * rounds.
 *
 *     statement          a loop of a plan whose body is one task without elements, in the host's thread
 *     submit             rt_submit_compute alone, of a function that returns
 *     enqueued           the same, to the end of the compute lane's work
 *     round trip         one submit and rt_drain, to the compute lane and back
 *     collective         an Allgather of 8 bytes and its wait, two ranks on one core each */
#include "exec/exec.h"
#include "rt/bootstrap.h"
#include "rt/queue.h"
#include <dirent.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ROUNDS = 15, STATEMENTS = 1000000, SUBMITS = 200000, TRIPS = 20000, COLLECTIVES = 20000 };

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static void report(const char *name, double *ns, double goal)
{
	qsort(ns, ROUNDS, sizeof *ns, compare);
	printf("%-12s %8.1f %8.1f %8.0f\n", name, ns[ROUNDS / 2], ns[0], goal);
	fflush(stdout);
}

static enum status nothing(void *arg, int64_t value)
{
	(void)arg, (void)value;
	return STATUS_OK;
}

static void pin(pid_t thread, int core)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	CPU_SET(core, &set);
	sched_setaffinity(thread, sizeof set, &set); /* if this fails, the thread is not pinned */
}

/* Pins this thread to the first core, and the threads it has started to the second. */
static void pin_threads(void)
{
	DIR *tasks = opendir("/proc/self/task");
	for (struct dirent *t; tasks && (t = readdir(tasks));)
		if (atoi(t->d_name) > gettid())
			pin(atoi(t->d_name), 1);
	if (tasks)
		closedir(tasks);
	pin(0, 0);
}

/* A loop of a plan */

static struct plan *loop_plan(void)
{
	enum { ZERO, TIMES, INDEX, REGISTERS };
	struct plan *p = mem_zalloc(sizeof *p);
	int64_t reg[REGISTERS] = {[TIMES] = STATEMENTS};
	p->arena = arena_new();
	p->ranks = 1;
	p->bytes = 64;
	p->varies = arena_new_array(p->arena, bool, REGISTERS);
	p->varies[INDEX] = true;
	for (int k = 0; k < REGISTERS; k++)
		vec_push(&p->reg, reg[k]);
	vec_push(&p->buffer,
	         (struct plan_buffer){.dtype = DTYPE_F32, .slots = 1, .elements = 1, .slot_bytes = 64});
	vec_push(&p->slot, 0);
	struct plan_view empty = {.nd = 1, .stride = {1}};
	vec_push(&p->task,
	         (struct plan_task){.kernel = RT_TASK_FILL, .scalars = 1, .fixed = true, .out = empty});
	vec_push(&p->code,
	         (struct plan_instruction){.code = PLAN_FOR, .a = INDEX, .b = ZERO, .c = TIMES, .to = 3});
	vec_push(&p->code, (struct plan_instruction){.code = PLAN_TASK, .loop = INDEX});
	vec_push(&p->code, (struct plan_instruction){.code = PLAN_NEXT, .a = INDEX, .c = TIMES, .to = 1});
	vec_push(&p->code, (struct plan_instruction){.code = PLAN_END});
	return p;
}

static int statements(struct rt_job *job, void *name)
{
	struct plan *p = loop_plan();
	struct plan_label label = {.statement = "", .where = ""};
	struct plan_labels labels = {.n = 1, .at = &label};
	struct exec_options o = {.transport = TRANSPORT_SHM, .device = "cpu", .engine = name};
	struct exec *e;
	double ns[ROUNDS];
	enum status status = exec_open(job, p, &labels, &o, &e);
	if (status != STATUS_OK)
		return status;
	pin_threads();
	for (int k = 0; k < ROUNDS && status == STATUS_OK; k++) {
		double start = now_ns();
		status = exec_run(e);
		ns[k] = (now_ns() - start) / STATEMENTS;
	}
	bool lanes = strcmp(name, "lanes") == 0;
	report(lanes ? "in lanes" : "statement", ns, lanes ? 60 : 25);
	exec_close(e);
	plan_free(p);
	return status;
}

/* Submits */

static int submits(struct rt_job *job, void *name)
{
	struct rt_task task = {.kernel = RT_TASK_CALL, .call = nothing, .fixed = true};
	struct rt_origin at = {.iteration = -1};
	struct rt_device *device;
	struct rt_engine *e;
	double ns[ROUNDS], trip[ROUNDS];
	bool lanes = strcmp(name, "lanes") == 0;
	if (rt_device_open(job, "cpu", &device) != STATUS_OK ||
	    rt_engine_new(job, name, device, NULL, &e) != STATUS_OK)
		return rt_job_status(job);
	struct rt_stream *s = rt_stream_new(e, "main");
	pin_threads();
	for (int k = 0; k < ROUNDS; k++) {
		double start = now_ns();
		for (int i = 0; i < SUBMITS; i++)
			rt_submit_compute(e, s, &task, at);
		rt_drain(e);
		ns[k] = (now_ns() - start) / SUBMITS;
	}
	for (int k = 0; k < ROUNDS; k++) {
		double start = now_ns();
		for (int i = 0; i < TRIPS; i++) {
			rt_submit_compute(e, s, &task, at);
			rt_drain(e);
		}
		trip[k] = (now_ns() - start) / TRIPS;
	}
	report(lanes ? "enqueued" : "submit", ns, lanes ? 60 : 25);
	if (lanes)
		report("round trip", trip, 200);
	rt_engine_free(e);
	rt_device_close(device);
	return rt_job_status(job);
}

/* Collectives */

static int collectives(struct rt_job *job, void *name)
{
	struct rt_origin at = {.iteration = -1};
	struct rt_device *device;
	struct rt_transport *t;
	struct rt_engine *e;
	int ranks[] = {0, 1}, team;
	void *memory;
	double ns[ROUNDS];
	pin(0, job->rank);
	if (rt_device_open(job, "cpu", &device) != STATUS_OK ||
	    rt_transport_open(job, TRANSPORT_SHM, &t) != STATUS_OK ||
	    rt_transport_team(t, ranks, 2, &team) != STATUS_OK ||
	    rt_transport_alloc(t, device, 4096, "data", &memory) != STATUS_OK ||
	    rt_engine_new(job, name, device, t, &e) != STATUS_OK)
		return rt_job_status(job);
	double *data = memory;
	struct rt_stream *s = rt_stream_new(e, "main");
	struct rt_collective c = {.kind = COLLECTIVE_ALLGATHER,
	                          .dtype = DTYPE_F64,
	                          .team = team,
	                          .in = data + 8,
	                          .out = data,
	                          .count = 1,
	                          .at = at};
	for (int k = 0; k < ROUNDS; k++) {
		rt_job_barrier(job, "a round");
		double start = now_ns();
		for (int i = 0; i < COLLECTIVES; i++)
			rt_submit_wait(e, s, rt_submit_collective(e, s, &c), at);
		rt_drain(e);
		ns[k] = (now_ns() - start) / COLLECTIVES;
	}
	if (job->rank == 0)
		report("collective", ns, 100);
	rt_job_barrier(job, "the end");
	rt_engine_free(e);
	rt_transport_free(t, device, memory);
	rt_transport_close(t);
	rt_device_close(device);
	return rt_job_status(job);
}

int main(void)
{
	struct rt_launch_options one = {.kind = RT_BOOT_THREAD, .np = 1, .timeout_ms = 30000},
	                         two = {.kind = RT_BOOT_FORK, .np = 2, .timeout_ms = 30000};
	printf("%-12s %8s %8s %8s\n", "ns", "median", "least", "goal");
	enum status status = rt_launch(&one, statements, "inline");
	if (status == STATUS_OK)
		status = rt_launch(&one, submits, "inline");
	if (status == STATUS_OK)
		status = rt_launch(&one, statements, "lanes");
	if (status == STATUS_OK)
		status = rt_launch(&one, submits, "lanes");
	if (status == STATUS_OK && sysconf(_SC_NPROCESSORS_ONLN) >= 2)
		status = rt_launch(&two, collectives, "inline");
	return status;
}
