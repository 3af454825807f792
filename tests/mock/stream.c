/* stream: a thread with a queue, started with its first item. */
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct stream_item {
	void (*run)(void *data, uint64_t number);
	void *data;
	void (*free)(void *data); /* NULL: data belong to others */
	uint64_t number;
	struct stream_item *next;
};

static struct CUstream_st *all;
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the thread */

/* About half of the streams are late, which ones is the seed's choice: all as late as each other would keep
 * their order most of the time. */
static void delay(CUstream s)
{
	unsigned most = mock_settings()->delay_us;
	if (!most || !s->is_late)
		return;
	s->random = s->random * 6364136223846793005u + 1442695040888963407u;
	usleep((unsigned)((s->random >> 33) % (most + 1)));
}

static void *work(void *argument)
{
	CUstream s = argument;
	pthread_mutex_lock(&s->lock);
	for (;;) {
		while (!s->first && !s->is_ending)
			pthread_cond_wait(&s->changed, &s->lock);
		struct stream_item *i = s->first;
		if (!i)
			break;
		s->first = i->next;
		if (!s->first)
			s->end = &s->first;
		pthread_mutex_unlock(&s->lock);
		delay(s);
		i->run(i->data, i->number);
		if (i->free)
			i->free(i->data);
		free(i);
		pthread_mutex_lock(&s->lock);
		s->pending--;
		pthread_cond_broadcast(&s->changed);
	}
	pthread_mutex_unlock(&s->lock);
	return NULL;
}

static void start(CUstream s)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, s) != 0)
		mock_abort("stream", "the host has no thread");
	pthread_detach(thread);
	s->is_started = true;
}

void mock_stream_push(CUstream s, struct mock_work w)
{
	if (!graph_takes_work(s, &w))
		stream_enqueue(s, w.run, w.data, w.free, w.issue ? w.issue(w.data) : 0);
}

void stream_enqueue(CUstream s, void (*run)(void *, uint64_t), void *data, void (*release)(void *),
                    uint64_t number)
{
	struct stream_item *i = malloc(sizeof *i);
	if (!i)
		mock_abort("stream", "the host has no memory");
	*i = (struct stream_item){run, data, release, number, NULL};
	pthread_mutex_lock(&s->lock);
	*s->end = i;
	s->end = &i->next;
	s->pending++;
	if (!s->is_started)
		start(s);
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

void stream_wait_idle(CUstream s)
{
	pthread_mutex_lock(&s->lock);
	while (s->pending)
		pthread_cond_wait(&s->changed, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

void streams_wait(int device)
{
	pthread_mutex_lock(&all_lock);
	struct CUstream_st *s = all;
	pthread_mutex_unlock(&all_lock);
	for (; s; s = s->next)
		if (s->context->device == device)
			stream_wait_idle(s);
}

CUstream stream_make(CUcontext context, uint64_t seed)
{
	CUstream s = calloc(1, sizeof *s);
	if (!s)
		mock_abort("stream", "the host has no memory");
	s->context = context;
	s->end = &s->first;
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, NULL);
	s->random = (mock_settings()->seed + seed) * 0x9e3779b97f4a7c15u;
	s->is_late = ((s->random ^ s->random >> 29) * 0xbf58476d1ce4e5b9u) >> 63;
	pthread_mutex_lock(&all_lock);
	s->next = all;
	all = s;
	pthread_mutex_unlock(&all_lock);
	return s;
}

void stream_end(CUstream s)
{
	pthread_mutex_lock(&s->lock);
	s->is_ending = true;
	pthread_cond_broadcast(&s->changed);
	pthread_mutex_unlock(&s->lock);
}

/* ---- entry points */

CUresult cuStreamCreate(CUstream *out, unsigned flags)
{
	DRIVER_ENTER(CUDA_ERROR_OUT_OF_MEMORY, "flags %u", flags);
	if (flags != CU_STREAM_NON_BLOCKING && flags != CU_STREAM_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	CUstream s = stream_make(driver_context(), mock_object_count(MOCK_STREAM));
	mock_object_add(&s->object, MOCK_STREAM);
	*out = s;
	return CUDA_SUCCESS;
}

/* What the stream has is still done. */
CUresult cuStreamDestroy(CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_INVALID_HANDLE, "stream %u", STREAM_NUMBER(s));
	if (mock_stream_is_captured(s))
		mock_abort(__func__, "stream %u is captured", s->object.number);
	mock_object_end(__func__, MOCK_STREAM, s);
	stream_end(s);
	return CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_LAUNCH_FAILED, "stream %u", STREAM_NUMBER(s));
	CUresult forbidden = graph_forbids_stream(s);
	if (forbidden != CUDA_SUCCESS)
		return forbidden;
	pthread_mutex_lock(&s->lock);
	bool is_idle = !s->pending;
	pthread_mutex_unlock(&s->lock);
	return is_idle ? driver_state() : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream s)
{
	DRIVER_ENTER(CUDA_ERROR_LAUNCH_FAILED, "stream %u", STREAM_NUMBER(s));
	CUresult forbidden = graph_forbids_stream(s);
	if (forbidden != CUDA_SUCCESS)
		return forbidden;
	stream_wait_idle(s);
	return driver_state();
}
