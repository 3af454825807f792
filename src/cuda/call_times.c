/* call_times: measures how long the driver's calls take.
 *
 *     issue   a batch of calls on idle streams; the host's time, divided by their number
 *     graph   the host's time for the launch of a graph with few kernels
 *     node    graphs of few and of many such calls, replayed in turns:
 *             the difference of their times until all is done, divided by the difference of their numbers
 *
 * Repeats that warm up come first. The host's times are medians. Nodes take the least time of either graph, since a
 * disturbance that lengthens both by different amounts would count as nodes. A batch is small enough for the driver's
 * queues, so that the host never waits for the GPU. */
#include "cuda/cuda_device.h"
#include "cuda/kernel.h"
#include <stdlib.h>
#include <time.h>

enum {
	REPEATS = 31,
	WARM = 4,
	BATCH = 64,
	SHORT = 16, /* calls of the two graphs */
	LONG = 528,
	TRIES = 4, /* of a measurement whose result is impossible */
	COPY_BYTES = 4096
};
#define LEAST_NS 1 /* less is an error of the measurement */

struct timing {
	struct cuda *c;
	CUstream stream, other;
	CUevent event;
	CUdeviceptr at; /* twice COPY_BYTES */
	unsigned wait_flags;
	struct cuda_launch kernel;
};

static const char *const call_name[CALL_COUNT] = {
#define CALL(id, issue, node, meaning) meaning,
#include "base/driver_calls.def"
#undef CALL
};
static const bool is_node[CALL_COUNT] = {
#define CALL(id, issue, node, meaning) sizeof node > 1,
#include "base/driver_calls.def"
#undef CALL
};

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double time[REPEATS])
{
	qsort(time, REPEATS, sizeof *time, compare);
	return time[REPEATS / 2];
}

static double least(const double time[REPEATS])
{
	double t = time[0];
	for (int k = 1; k < REPEATS; k++)
		t = time[k] < t ? time[k] : t;
	return t;
}

/* ---- calls */

/* Makes n calls of a kind. A record and a wait for it are two, and so are a write and a wait for its value. */
static bool make_calls(struct timing *t, enum driver_call call, int n)
{
	struct cuda *c = t->c;
	bool ok = true;
	for (int k = 0; k < n && ok; k++)
		switch (call) {
		case CALL_KERNEL:
			ok = cuda_kernel_launch(c, t->stream, &t->kernel) == STATUS_OK;
			break;
		case CALL_COPY:
			ok =
			    cuda_call(c, cuMemcpyDtoDAsync, t->at, t->at + COPY_BYTES, COPY_BYTES, t->stream);
			break;
		case CALL_EVENT:
			ok = k % 2 ? cuda_call(c, cuStreamWaitEvent, t->other, t->event, 0)
			           : cuda_call(c, cuEventRecord, t->event, t->stream);
			break;
		case CALL_MEMORY:
			ok = k % 2 ? cuda_call(c, cuStreamWaitValue32, t->stream, t->at, 1, t->wait_flags)
			           : cuda_call(c, cuStreamWriteValue32, t->stream, t->at, 1,
			                       CU_STREAM_WRITE_VALUE_DEFAULT);
			break;
		default:
			ok = false;
		}
	return ok;
}

static bool finish(struct timing *t)
{
	return cuda_call(t->c, cuStreamSynchronize, t->stream) &&
	       cuda_call(t->c, cuStreamSynchronize, t->other);
}

/* ---- the host's time */

static bool time_issue(struct timing *t, enum driver_call call, double *out)
{
	double time[REPEATS];
	for (int k = -WARM; k < REPEATS; k++) {
		double start = now_ns();
		if (!make_calls(t, call, BATCH))
			return false;
		time[k < 0 ? 0 : k] = now_ns() - start;
		if (!finish(t))
			return false;
	}
	*out = median(time) / BATCH;
	return true;
}

/* ---- nodes */

static bool make_graph(struct timing *t, enum driver_call call, int n, void **out)
{
	struct rt_device *d = &t->c->base;
	if (cuda_device_capture_begin(d, t->stream) != STATUS_OK)
		return false;
	if (make_calls(t, call, n))
		return cuda_device_capture_end(d, t->stream, out) == STATUS_OK;
	cuda_device_capture_drop(d, t->stream);
	return false;
}

/* Replays a graph. *issue: the host's time. *all: the time until the graph has run. */
static bool replay(struct timing *t, void *graph, double *issue, double *all)
{
	double start = now_ns();
	if (cuda_device_replay(&t->c->base, t->stream, graph) != STATUS_OK)
		return false;
	*issue = now_ns() - start;
	bool ok = finish(t);
	*all = now_ns() - start;
	return ok;
}

static bool time_graphs(struct timing *t, void *const graph[2], double *node, double *launch)
{
	double of_few[REPEATS], of_many[REPEATS], issue[REPEATS], unused;
	for (int k = -WARM; k < REPEATS; k++) {
		int at = k < 0 ? 0 : k;
		if (!replay(t, graph[0], &issue[at], &of_few[at]) ||
		    !replay(t, graph[1], &unused, &of_many[at]))
			return false;
	}
	*node = (least(of_many) - least(of_few)) / (LONG - SHORT);
	*launch = median(issue);
	return true;
}

/* Measures a call as a node, and the launch of a graph with few of them. */
static bool time_node(struct timing *t, enum driver_call call, double *node, double *launch)
{
	void *graph[2] = {0};
	bool ok = make_graph(t, call, SHORT, &graph[0]) && make_graph(t, call, LONG, &graph[1]) &&
	          time_graphs(t, graph, node, launch);
	for (int k = 0; k < 2; k++)
		if (graph[k])
			cuda_device_graph_free(&t->c->base, graph[k]);
	return ok;
}

/* ---- all */

/* Measures a call until its times are possible. */
static bool time_call(struct timing *t, enum driver_call call, struct cuda_call_times *out)
{
	for (int k = 0; k < TRIES; k++) {
		double issue = 0, node = 0, launch = 0;
		if ((call != CALL_KERNEL && !time_issue(t, call, &issue)) ||
		    (is_node[call] && !time_node(t, call, &node, &launch)))
			return false;
		if ((call != CALL_KERNEL && issue < LEAST_NS) ||
		    (is_node[call] && (node < LEAST_NS || launch < LEAST_NS)))
			continue;
		out->issue[call] = issue;
		out->node[call] = node;
		if (call == CALL_KERNEL)
			out->issue[CALL_GRAPH] = launch;
		return true;
	}
	rt_job_error(t->c->base.job, "the time of %s cannot be measured: it varies too much",
	             call_name[call]);
	return false;
}

/* Prepares a kernel that writes one element. */
static bool make_kernel(struct timing *t)
{
	char why[RT_WHY_BYTES] = "";
	const struct rt_task fill = {
	    .kernel = RT_TASK_FILL,
	    .out = {.data = (void *)t->at, .dtype = DTYPE_F32, .nd = 1, .n = {1}, .stride = {1}},
	    .scalars = 1};
	if (cuda_kernel_make(t->c, &fill, &t->kernel, why) == STATUS_OK)
		return true;
	if (*why)
		rt_job_error(t->c->base.job, "%s", why);
	return false;
}

static bool open_timing(struct timing *t)
{
	struct cuda *c = t->c;
	return cuda_call(c, cuStreamCreate, &t->stream, CU_STREAM_NON_BLOCKING) &&
	       cuda_call(c, cuStreamCreate, &t->other, CU_STREAM_NON_BLOCKING) &&
	       cuda_call(c, cuEventCreate, &t->event, CU_EVENT_DISABLE_TIMING) &&
	       cuda_call(c, cuMemAlloc, &t->at, 2 * COPY_BYTES) && cuda_wait_flags(c, &t->wait_flags) &&
	       make_kernel(t);
}

static void close_timing(struct timing *t)
{
	if (t->at)
		cuda_call(t->c, cuMemFree, t->at);
	if (t->event)
		cuda_call(t->c, cuEventDestroy, t->event);
	if (t->other)
		cuda_call(t->c, cuStreamDestroy, t->other);
	if (t->stream)
		cuda_call(t->c, cuStreamDestroy, t->stream);
}

enum status cuda_time_calls(struct rt_device *d, struct cuda_call_times *out)
{
	struct timing t = {.c = cuda_of(d)};
	struct cuda_call_times times = {0};
	t.c->at = (struct rt_origin){.iteration = -1};
	bool ok = open_timing(&t);
	for (enum driver_call call = 0; call < CALL_GRAPH && ok; call++)
		ok = time_call(&t, call, &times);
	close_timing(&t);
	if (!ok)
		return rt_job_fail(d->job, STATUS_DIAGNOSTICS);
	*out = times;
	return STATUS_OK;
}
