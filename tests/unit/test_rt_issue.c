/* LABELS: tsan
 * The engine of devices that work on their own, on one whose tasks take time and do nothing. */
#include "rt/bell.h"
#include "rt/queue.h"
#include "test_rt.h"

enum { STREAMS = 4, MS = 1000, LARGE = 1 << 22 /* LARGE: elements after which a stream shows progress */ };

struct slow {
	struct rt_device base;
	int64_t over_at[STREAMS]; /* by stream: when it has done its work, by rt_clock_us */
	int streams, looks;
};

static enum status stream_new(struct rt_device *d, void **out)
{
	struct slow *s = (struct slow *)d;
	*out = &s->over_at[s->streams++];
	return STATUS_OK;
}

static void stream_free(struct rt_device *d, void *stream)
{
	(void)d, (void)stream;
}

/* The task takes scalar[0] us. */
static enum status begin_task(struct rt_device *d, void *stream, const struct rt_task *task,
                              struct rt_origin at, char *why, void **begin)
{
	int64_t *over_at = stream, now = rt_clock_us();
	(void)d, (void)at, (void)why, (void)begin;
	*over_at = (*over_at > now ? *over_at : now) + task->scalar[0].i;
	return STATUS_OK;
}

static enum status record(struct rt_device *d, void *stream, struct rt_origin at, void **event)
{
	int64_t *over_at = malloc(sizeof *over_at);
	(void)d, (void)at;
	*over_at = *(int64_t *)stream;
	*event = over_at;
	return STATUS_OK;
}

static void release(struct rt_device *d, void *event)
{
	(void)d;
	free(event);
}

static enum status is_over(struct rt_device *d, void *event, bool *over)
{
	(void)d;
	*over = rt_clock_us() >= *(int64_t *)event;
	return STATUS_OK;
}

static enum status is_idle(struct rt_device *d, bool *idle)
{
	struct slow *s = (struct slow *)d;
	int64_t now = rt_clock_us();
	s->looks++;
	*idle = true;
	for (int k = 0; k < s->streams; k++)
		*idle = *idle && now >= s->over_at[k];
	return STATUS_OK;
}

static const struct rt_async_ops async = {.stream_new = stream_new,
                                          .stream_free = stream_free,
                                          .launch = begin_task,
                                          .record = record,
                                          .release = release,
                                          .is_over = is_over,
                                          .is_idle = is_idle};
static const struct rt_device_ops slow_ops = {.name = "slow", .async = &async};

static void take(struct rt_job *job, struct rt_engine *e, int stream, int64_t microseconds)
{
	struct rt_task task = {.kernel = RT_TASK_FILL,
	                       .out = rt_view_dense(NULL, DTYPE_F32, 1, (int64_t[]){LARGE}),
	                       .scalar[0] = {.i = microseconds},
	                       .scalars = 1};
	rt_submit_compute(e, rt_stream_get(e, stream), &task,
	                  (struct rt_origin){rt_label_add(job, "Y = f(X)", "a.hir:3"), -1});
}

/* Runs a task longer than the timeout, and short tasks on another stream, which show that the device works.
 * The host tests rarely meanwhile. */
static int beats_main(struct rt_job *job, void *arg)
{
	(void)arg;
	struct slow d = {.base = {.ops = &slow_ops, .job = job}};
	struct rt_engine *e;
	if (rt_engine_new(job, "auto", &d.base, NULL, &e) != STATUS_OK)
		return rt_job_status(job);
	take(job, e, 0, 1200 * MS);
	for (int k = 0; k < 15; k++)
		take(job, e, 1, 70 * MS);
	int64_t start = rt_clock_us();
	enum status status = rt_drain(e);
	int64_t took = rt_clock_us() - start;
	bool ok = took >= 1100 * MS && d.looks < 10000;
	rt_engine_free(e);
	return status != STATUS_OK ? status : ok ? STATUS_OK : STATUS_WRONG;
}

/* Rank 0 waits for its device; rank 1 fails. */
static int fails_main(struct rt_job *job, void *arg)
{
	(void)arg;
	struct slow d = {.base = {.ops = &slow_ops, .job = job}};
	struct rt_engine *e;
	if (job->rank == 1) {
		usleep(100 * MS);
		return rt_job_fail(job, STATUS_DIAGNOSTICS);
	}
	if (rt_engine_new(job, "issue", &d.base, NULL, &e) != STATUS_OK)
		return rt_job_status(job);
	int64_t start = rt_clock_us();
	take(job, e, 0, 60000 * MS);
	enum status status = rt_drain(e);
	rt_engine_free(e);
	return rt_clock_us() - start < 30000 * MS ? status : STATUS_WRONG;
}

static int stuck_main(struct rt_job *job, void *arg)
{
	(void)arg;
	struct slow d = {.base = {.ops = &slow_ops, .job = job}};
	struct rt_engine *e;
	if (rt_engine_new(job, "issue", &d.base, NULL, &e) != STATUS_OK)
		return rt_job_status(job);
	take(job, e, 0, 60000 * MS);
	enum status status = rt_drain(e);
	rt_engine_free(e);
	return status;
}

int main(void)
{
	struct captured c;
	CHECK_EQ(launch(RT_BOOT_THREAD, 1, 500, beats_main, NULL), STATUS_OK);
	CHECK_EQ(launch(RT_BOOT_THREAD, 2, 0, fails_main, NULL), STATUS_DIAGNOSTICS);
	launch_captured(RT_BOOT_THREAD, 1, 300, stuck_main, NULL, &c);
	CHECK_EQ(c.status, STATUS_STUCK);
	CHECK(has(c.text, "hirc: rank 0: error: nothing has moved for "));
	CHECK(has(c.text, "rank 0 stream 0: running  Y = f(X)  (a.hir:3)"));
	return check_result();
}
