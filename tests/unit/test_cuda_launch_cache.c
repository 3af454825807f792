/* Fixed tasks of the device "cuda", on the mock: prepared at the first launch, forgotten when a stream is
 * freed. LABELS: cuda tsan */
#include "cuda/launch_cache.h"
#include "rt/device.h"
#include "test_rt.h"
#include <sched.h>

enum { RECORDS = 200, SIDE = 8, ELEMENTS = SIDE * SIDE };

static const struct rt_origin nowhere = {.iteration = -1};

static void finish(struct rt_device *d, void *stream)
{
	bool over = false;
	void *event;
	CHECK_EQ(d->ops->async->record(d, stream, nowhere, &event), STATUS_OK);
	while (d->ops->async->is_over(d, event, &over) == STATUS_OK && !over)
		sched_yield();
	d->ops->async->release(d, event);
}

static void run(struct rt_device *d, void *stream, const struct rt_task *t)
{
	char why[RT_WHY_BYTES];
	CHECK_EQ(d->ops->async->launch(d, stream, t, nowhere, why, NULL), STATUS_OK);
	finish(d, stream);
}

static float element(struct rt_device *d, float *at)
{
	float x = 0;
	CHECK_EQ(d->ops->async->download(d, &x, at, sizeof x), STATUS_OK);
	return x;
}

static struct rt_task fill(float *at, double value)
{
	const int64_t n = 1;
	return (struct rt_task){.kernel = RT_TASK_FILL,
	                        .fixed = true,
	                        .out = rt_view_dense(at, DTYPE_F32, 1, &n),
	                        .scalar = {{.f = value}},
	                        .scalars = 1};
}

/* A record that is changed, which is not allowed, keeps its old launch until a stream is freed. */
static void test_kept(struct rt_device *d, float *memory)
{
	void *stream, *other;
	struct rt_task t = fill(memory, 1), once = fill(memory, 3);
	once.fixed = false;
	CHECK_EQ(d->ops->async->stream_new(d, &stream), STATUS_OK);
	CHECK_EQ(d->ops->async->stream_new(d, &other), STATUS_OK);
	run(d, stream, &t);
	CHECK(element(d, memory) == 1);
	t.scalar[0].f = 2;
	run(d, stream, &once);
	CHECK(element(d, memory) == 3);
	once.scalar[0].f = 4;
	run(d, stream, &once);
	CHECK(element(d, memory) == 4);
	run(d, stream, &t);
	CHECK(element(d, memory) == 1);
	d->ops->async->stream_free(d, other);
	run(d, stream, &t);
	CHECK(element(d, memory) == 2);
	d->ops->async->stream_free(d, stream);
}

static void test_product(struct rt_device *d, float *memory)
{
	const int64_t n[] = {SIDE, SIDE};
	float one[2 * ELEMENTS];
	void *stream;
	struct rt_task t = {.kernel = RT_TASK_GEMM, .fixed = true};
	for (int k = 0; k < 2 * ELEMENTS; k++)
		one[k] = k < ELEMENTS ? 1 : 2;
	CHECK_EQ(d->ops->async->upload(d, memory, one, sizeof one), STATUS_OK);
	t.in[0] = rt_view_dense(memory, DTYPE_F32, 2, n);
	t.in[1] = rt_view_dense(memory + ELEMENTS, DTYPE_F32, 2, n);
	t.out = rt_view_dense(memory + 2 * ELEMENTS, DTYPE_F32, 2, n);
	CHECK_EQ(d->ops->async->stream_new(d, &stream), STATUS_OK);
	run(d, stream, &t);
	CHECK(element(d, memory + 3 * ELEMENTS - 1) == 2 * SIDE);
	t.in[1] = t.in[0];
	run(d, stream, &t);
	CHECK(element(d, memory + 3 * ELEMENTS - 1) == 2 * SIDE);
	d->ops->async->stream_free(d, stream);
	CHECK_EQ(d->ops->async->stream_new(d, &stream), STATUS_OK);
	run(d, stream, &t);
	CHECK(element(d, memory + 3 * ELEMENTS - 1) == SIDE);
	d->ops->async->stream_free(d, stream);
}

/* More records than the table has room for at first; empty launches are kept, too. */
static void test_many(struct rt_device *d, float *memory)
{
	struct rt_task *t = malloc(RECORDS * sizeof *t);
	void *stream;
	CHECK_EQ(d->ops->async->stream_new(d, &stream), STATUS_OK);
	for (int k = 0; k < RECORDS; k++) {
		t[k] = fill(memory + k, k);
		t[k].out.n[0] = k != 7;
		run(d, stream, &t[k]);
	}
	const struct cuda_launch_cache *l = ((struct cuda *)d)->launch_cache;
	for (int k = 0; k < RECORDS; k++) {
		const struct cuda_made *m = cuda_launch_cache_find(l, &t[k]);
		CHECK(m && m->task == &t[k] && m->launch && (m->launch->grid > 0) == (k != 7));
		t[k].scalar[0].f = -1;
	}
	CHECK_EQ(d->ops->async->poison(d, memory, RECORDS * sizeof *memory), STATUS_OK);
	for (int k = 0; k < RECORDS; k++) {
		run(d, stream, &t[k]);
		CHECK(k == 7 || element(d, memory + k) == (float)k);
	}
	d->ops->async->stream_free(d, stream);
	CHECK(!cuda_launch_cache_find(l, &t[0]));
	free(t);
}

static int rank_main(struct rt_job *job, void *arg)
{
	struct rt_device *d;
	void *memory = NULL;
	(void)arg;
	enum status status = cuda_open(job, &d);
	if (status != STATUS_OK)
		return status;
	CHECK_EQ(rt_device_alloc(d, RECORDS * sizeof(float) + 3 * ELEMENTS * sizeof(float), "it", &memory),
	         STATUS_OK);
	test_kept(d, memory);
	test_product(d, memory);
	test_many(d, memory);
	rt_device_free(d, memory);
	rt_device_close(d);
	return check_failures ? STATUS_WRONG : STATUS_OK;
}

int main(void)
{
	CHECK_EQ(launch(RT_BOOT_THREAD, 1, 0, rank_main, NULL), STATUS_OK);
	return check_result();
}
