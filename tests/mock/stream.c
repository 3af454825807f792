/* stream: a stream's work waits in a queue. The first item starts a thread for the queue. */
#include "driver.h"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct stream_item {
	CUstream stream;
	void (*run)(void *data, uint64_t number);
	void *data;
	void (*free)(void *data); /* NULL: data belong to the caller */
	uint64_t number;
	struct stream_item *next;
};

struct queue {
	pthread_mutex_t lock; /* protects the members below, and the items of the queue's streams */
	pthread_cond_t changed;
	struct stream_item *first, **end;
	bool is_started, is_ending;
};

static struct CUstream_st *all;
static struct queue *shared[64]; /* used with HIRC_MOCK_QUEUES; protected by all_lock */
static unsigned streams;         /* number of streams ever made */
static pthread_mutex_t all_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- the thread */

/* Delays an item of a late stream. The seed makes about half of the streams late: if all were equally late,
 * they would mostly keep their order. */
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
	struct queue *q = argument;
	pthread_mutex_lock(&q->lock);
	for (;;) {
		while (!q->first && !q->is_ending)
			pthread_cond_wait(&q->changed, &q->lock);
		struct stream_item *i = q->first;
		if (!i)
			break;
		q->first = i->next;
		if (!q->first)
			q->end = &q->first;
		pthread_mutex_unlock(&q->lock);
		delay(i->stream);
		i->run(i->data, i->number);
		if (i->free)
			i->free(i->data);
		pthread_mutex_lock(&q->lock);
		i->stream->pending--;
		free(i);
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return NULL;
}

static void start(struct queue *q)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work, q) != 0)
		mock_abort("stream", "the host has no thread");
	pthread_detach(thread);
	q->is_started = true;
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
	*i = (struct stream_item){s, run, data, release, number, NULL};
	struct queue *q = s->queue;
	pthread_mutex_lock(&q->lock);
	*q->end = i;
	q->end = &i->next;
	s->pending++;
	if (!q->is_started)
		start(q);
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

void stream_wait_idle(CUstream s)
{
	struct queue *q = s->queue;
	pthread_mutex_lock(&q->lock);
	while (s->pending)
		pthread_cond_wait(&q->changed, &q->lock);
	pthread_mutex_unlock(&q->lock);
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

static struct queue *queue_make(void)
{
	struct queue *q = calloc(1, sizeof *q);
	if (!q)
		mock_abort("stream", "the host has no memory");
	q->end = &q->first;
	pthread_mutex_init(&q->lock, NULL);
	pthread_cond_init(&q->changed, NULL);
	return q;
}

/* Returns the queue for a new stream. The caller holds all_lock. */
static struct queue *queue_of_next(void)
{
	unsigned most = sizeof shared / sizeof *shared, n = mock_settings()->queues;
	if (!n)
		return queue_make();
	struct queue **q = &shared[streams++ % (n < most ? n : most)];
	if (!*q)
		*q = queue_make();
	return *q;
}

CUstream stream_make(CUcontext context, uint64_t seed)
{
	CUstream s = calloc(1, sizeof *s);
	if (!s)
		mock_abort("stream", "the host has no memory");
	s->context = context;
	s->random = (mock_settings()->seed + seed) * 0x9e3779b97f4a7c15u;
	s->is_late = ((s->random ^ s->random >> 29) * 0xbf58476d1ce4e5b9u) >> 63;
	pthread_mutex_lock(&all_lock);
	s->queue = queue_of_next();
	s->next = all;
	all = s;
	pthread_mutex_unlock(&all_lock);
	return s;
}

void stream_end(CUstream s)
{
	struct queue *q = s->queue;
	pthread_mutex_lock(&q->lock);
	q->is_ending = !mock_settings()->queues;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
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

/* The stream's work is still done. */
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
	pthread_mutex_lock(&s->queue->lock);
	bool is_idle = !s->pending;
	pthread_mutex_unlock(&s->queue->lock);
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
