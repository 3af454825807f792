/* event: marks in the work of streams. An event is the last mark that it was recorded as. A wait for an event
 * waits for the mark that it was at the call, even if the event is recorded again. */
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

struct CUevent_st {
	struct mock_object object;
	CUcontext context;
	bool has_time;
	struct mock_mark *mark; /* NULL: never recorded */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects all marks and events */

/* ---- marks */

struct mock_mark *mock_mark_new(void)
{
	struct mock_mark *m = malloc(sizeof *m);
	if (!m)
		mock_abort("mark", "the host has no memory");
	*m = (struct mock_mark){.references = 1};
	pthread_cond_init(&m->over, NULL);
	return m;
}

static void keep(struct mock_mark *m)
{
	pthread_mutex_lock(&lock);
	m->references++;
	pthread_mutex_unlock(&lock);
}

void mock_mark_release(struct mock_mark *m)
{
	pthread_mutex_lock(&lock);
	bool last = --m->references == 0;
	pthread_mutex_unlock(&lock);
	if (!last)
		return;
	pthread_cond_destroy(&m->over);
	free(m);
}

/* The device's clock has ticks of 500 ns and differs from the host's. */
static int64_t now(void)
{
	enum { TICK = 500, AHEAD = 3600 /* s */ };
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return ((int64_t)t.tv_sec + AHEAD) * 1000000000 + t.tv_nsec / TICK * TICK;
}

static void come(void *data, uint64_t number)
{
	(void)number;
	struct mock_mark *m = data;
	pthread_mutex_lock(&lock);
	m->is_over = true;
	m->at = now();
	pthread_cond_broadcast(&m->over);
	pthread_mutex_unlock(&lock);
}

void mock_mark_wait(struct mock_mark *m)
{
	pthread_mutex_lock(&lock);
	while (!m->is_over)
		pthread_cond_wait(&m->over, &lock);
	pthread_mutex_unlock(&lock);
}

static void await(void *data, uint64_t number)
{
	(void)number;
	mock_mark_wait(data);
}

static void release(void *data)
{
	mock_mark_release(data);
}

bool mock_mark_is_over(struct mock_mark *m)
{
	pthread_mutex_lock(&lock);
	bool over = m->is_over;
	pthread_mutex_unlock(&lock);
	return over;
}

void mock_stream_signal(CUstream s, struct mock_mark *m)
{
	if (graph_takes_signal(s, m))
		return;
	keep(m);
	stream_enqueue(s, come, m, release, 0);
}

CUresult mark_wait_in_stream(CUstream s, struct mock_mark *m)
{
	CUresult error = CUDA_SUCCESS;
	if (graph_takes_wait(s, m, &error))
		return error;
	keep(m);
	stream_enqueue(s, await, m, release, 0);
	return CUDA_SUCCESS;
}

void mock_stream_wait(CUstream s, struct mock_mark *m)
{
	if (mark_wait_in_stream(s, m) != CUDA_SUCCESS)
		mock_abort("stream", "a wait across the border of a capture");
}

/* ---- entry points */

CUresult cuEventCreate(CUevent *out, unsigned flags)
{
	DRIVER_ENTER(CUDA_ERROR_OUT_OF_MEMORY, "flags %u", flags);
	CUevent e = calloc(1, sizeof *e);
	if (!e)
		mock_abort(__func__, "the host has no memory");
	e->context = driver_context();
	e->has_time = !(flags & CU_EVENT_DISABLE_TIMING);
	mock_object_add(&e->object, MOCK_EVENT);
	*out = e;
	return CUDA_SUCCESS;
}

/* Returns the event's mark, which the caller must release; NULL: none. */
static struct mock_mark *mark_of(CUevent e)
{
	pthread_mutex_lock(&lock);
	struct mock_mark *m = e->mark;
	if (m)
		m->references++;
	pthread_mutex_unlock(&lock);
	return m;
}

static void set_mark(CUevent e, struct mock_mark *m)
{
	pthread_mutex_lock(&lock);
	struct mock_mark *before = e->mark;
	e->mark = m;
	pthread_mutex_unlock(&lock);
	if (before)
		mock_mark_release(before);
}

CUresult cuEventDestroy(CUevent e)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_HANDLE, "event %u", EVENT_NUMBER(e));
	mock_object_end(__func__, MOCK_EVENT, e);
	set_mark(e, NULL);
	return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent e, CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_HANDLE, "event %u stream %u", EVENT_NUMBER(e), STREAM_NUMBER(s));
	if (e->context != s->context)
		return CUDA_ERROR_INVALID_HANDLE;
	struct mock_mark *m = mock_mark_new();
	mock_stream_signal(s, m);
	set_mark(e, m);
	return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent e)
{
	DRIVER_ENTER_ALONE(CUDA_ERROR_LAUNCH_FAILED, "event %u", EVENT_NUMBER(e));
	struct mock_mark *m = mark_of(e);
	if (!m)
		return CUDA_SUCCESS;
	if (m->graph) {
		mock_mark_release(m);
		return CUDA_ERROR_CAPTURED_EVENT;
	}
	bool over = mock_mark_is_over(m);
	mock_mark_release(m);
	return over ? driver_state() : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamWaitEvent(CUstream s, CUevent e, unsigned flags)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_HANDLE, "stream %u event %u", STREAM_NUMBER(s), EVENT_NUMBER(e));
	if (flags)
		return CUDA_ERROR_INVALID_VALUE;
	struct mock_mark *m = mark_of(e);
	if (!m)
		return CUDA_SUCCESS;
	CUresult r = mark_wait_in_stream(s, m);
	mock_mark_release(m);
	return r;
}

/* Finds when a mark was reached. Returns an error if it was not. */
static CUresult time_of(struct mock_mark *m, int64_t *out)
{
	CUresult r = CUDA_ERROR_NOT_READY;
	pthread_mutex_lock(&lock);
	if (m->graph)
		r = CUDA_ERROR_CAPTURED_EVENT;
	else if (m->is_over)
		r = CUDA_SUCCESS;
	*out = m->at;
	pthread_mutex_unlock(&lock);
	return r;
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
	int64_t begin = 0, end = 0;
	DRIVER_ENTER_ALONE(CUDA_ERROR_UNKNOWN, "event %u event %u", EVENT_NUMBER(from), EVENT_NUMBER(to));
	if (!from->has_time || !to->has_time || from->context != to->context)
		return CUDA_ERROR_INVALID_HANDLE;
	struct mock_mark *a = mark_of(from), *b = mark_of(to);
	CUresult r = a && b ? time_of(a, &begin) : CUDA_ERROR_INVALID_HANDLE;
	if (r == CUDA_SUCCESS)
		r = time_of(b, &end);
	if (a)
		mock_mark_release(a);
	if (b)
		mock_mark_release(b);
	if (r == CUDA_SUCCESS)
		*milliseconds = (float)((double)(end - begin) * 1e-6);
	return r;
}
