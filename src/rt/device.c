/* device: opens devices by name, and calls them through their vtable. */
#include "rt/device_impl.h"
#include "rt/job.h"
#include <string.h>

static const struct {
	const char *name;
	enum status (*open)(struct rt_job *job, struct rt_device **out);
} devices[] = {
    {"cpu", rt_cpu_open},
};

enum status rt_device_open(struct rt_job *job, const char *name, struct rt_device **out)
{
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
		if (strcmp(name, devices[i].name) == 0)
			return devices[i].open(job, out);
	rt_job_error(job, "this hirc has no device '%s'", name);
	return rt_job_fail(job, STATUS_ABSENT);
}

enum status rt_device_alloc(struct rt_device *d, size_t bytes, const char *what, void **out)
{
	return d->ops->alloc(d, bytes, what, out);
}

void rt_device_free(struct rt_device *d, void *at)
{
	if (at)
		d->ops->free(d, at);
}

void rt_device_count(struct rt_device *d, int64_t bytes)
{
	int64_t now = atomic_fetch_add(&d->bytes_now, bytes) + bytes, peak = atomic_load(&d->bytes_peak);
	while (now > peak && !atomic_compare_exchange_weak(&d->bytes_peak, &peak, now))
		;
}

/* Returns true if the operand is a single matrix, whatever the batch is. */
static bool is_one_matrix(const struct rt_view *v)
{
	for (int d = 0; d < v->nd - 2; d++)
		if (v->n[d] != 1 && v->stride[d] != 0)
			return false;
	return true;
}

/* The thresholds are measured. Orders have blocks of at most 64 rows or columns. */
size_t rt_pack_bytes(const struct rt_task *t)
{
	const struct rt_view *a = &t->in[0], *b = &t->in[1];
	int last = t->out.nd - 1;
	if (last < 1 || a->dtype != b->dtype || (a->dtype != DTYPE_F32 && a->dtype != DTYPE_BF16) ||
	    !is_one_matrix(b) || a->stride[last] != 1 || (b->stride[last] != 1 && b->stride[last - 1] != 1))
		return 0;
	int64_t k = b->n[last - 1], n = b->n[last];
	bool narrow = a->dtype == DTYPE_BF16, swapped = b->stride[last] != 1;
	double rows = 1, work;
	for (int d = 0; d < last; d++)
		rows *= (double)t->out.n[d];
	work = rows * (double)n * (double)k;
	if (work < (narrow ? RT_BF16_LEAST_WORK : RT_LEAST_WORK) ||
	    (narrow && swapped && k >= 2048 && rows >= 128))
		return 0;
	return (size_t)((n + 63) / 64 * 64) * (size_t)((k + 63) / 64 * 64) * dtype_bytes(b->dtype);
}

void rt_device_prepare(struct rt_device *d, int lane, const struct rt_task *task)
{
	d->ops->prepare(d, lane, task);
}

enum status rt_device_run(struct rt_device *d, int lane, const struct rt_task *task, char *why)
{
	return d->ops->run(d, lane, task, why);
}

void rt_device_close(struct rt_device *d)
{
	if (d)
		d->ops->close(d);
}
