/* cuda_device: the parts of the device "cuda".
 *
 *   cuda_device.c    opens and closes it
 *   device_memory.c  memory, and copies between it and the host's
 *   device_stream.c  streams, events, graphs; the test that all work is done
 *   device_launch.c  tasks
 *
 * A function named cuda_device_… implements the one in struct rt_device_ops or rt_async_ops, whose comment is
 * its contract. */
#ifndef HIRC_CUDA_CUDA_DEVICE_H
#define HIRC_CUDA_CUDA_DEVICE_H
#include "base/vec.h"
#include "cuda/cuda.h"
#include "rt/job.h"

/* All streams of a rank. */
struct cuda_streams {
	VEC(CUstream) stream;
	uint32_t busy;       /* a stream that was busy at the last test; it is tested first */
	VEC(CUevent) unused; /* events that are not in use */
	bool have_times;     /* events made from now on have times */
	CUstream copies;     /* stream of upload, download and poison */
	VEC(struct cuda_memory) memory;
	uint64_t allocations; /* allocations made so far, freed ones too */
};

static inline struct cuda *cuda_of(struct rt_device *d)
{
	return (struct cuda *)d;
}

/* Returns how the job ends after a call has failed. */
static inline enum status cuda_failure(const struct cuda *c)
{
	return rt_job_status(c->base.job);
}

/* ---- device_memory.c */

enum status cuda_device_poison(struct rt_device *d, void *at, size_t bytes);
enum status cuda_device_alloc(struct rt_device *d, size_t bytes, const char *what, void **out);
void cuda_device_free(struct rt_device *d, void *at);
enum status cuda_device_upload(struct rt_device *d, void *to, const void *from, size_t bytes);
enum status cuda_device_download(struct rt_device *d, void *to, const void *from, size_t bytes);
enum status cuda_device_staging_new(struct rt_device *d, size_t bytes, const char *what, void **out);
void cuda_device_staging_free(struct rt_device *d, void *at);

/* ---- device_stream.c */

enum status cuda_device_stream_new(struct rt_device *d, void **out);
enum status cuda_device_record(struct rt_device *d, void *stream, struct rt_origin at, void **event);
enum status cuda_device_await(struct rt_device *d, void *stream, void *event, struct rt_origin at);
enum status cuda_device_is_over(struct rt_device *d, void *event, bool *over);
void cuda_device_release(struct rt_device *d, void *event);
enum status cuda_device_time_events(struct rt_device *d);
enum status cuda_device_clock(struct rt_device *d, void **event, int64_t *ns, int64_t *error);
enum status cuda_device_elapsed(struct rt_device *d, void *from, void *to, int64_t *ns);
enum status cuda_device_capture_begin(struct rt_device *d, void *stream);
enum status cuda_device_capture_end(struct rt_device *d, void *stream, void **out);
void cuda_device_capture_drop(struct rt_device *d, void *stream);
enum status cuda_device_replay(struct rt_device *d, void *stream, void *graph);
void cuda_device_graph_free(struct rt_device *d, void *graph);
void cuda_device_stream_free(struct rt_device *d, void *stream);
enum status cuda_device_is_idle(struct rt_device *d, bool *idle);

/* ---- device_launch.c */

enum status cuda_device_launch(struct rt_device *d, void *stream, const struct rt_task *task,
                               struct rt_origin at, char *why, void **begin);

#endif
