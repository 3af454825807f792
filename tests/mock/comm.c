/* comm: communicators of the mock NCCL. All members make and end one together. */
#include "comm.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static _Thread_local char last_error[256];

ncclResult_t comm_fail(ncclResult_t r, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(last_error, sizeof last_error, format, arguments);
	va_end(arguments);
	return r;
}

#define ENTER(...)                                                                                           \
	do {                                                                                                 \
		if (mock_enter(__func__, __VA_ARGS__))                                                       \
			return comm_fail(ncclSystemError, "%s fails as asked for", __func__);                \
	} while (0)
#define NUMBER(comm) mock_object_number(__func__, MOCK_OTHER, (comm))

ncclResult_t ncclGetVersion(int *version)
{
	MOCK_ENTER(ncclInternalError, NULL);
	*version = mock_settings()->nccl_version ? mock_settings()->nccl_version : NCCL_VERSION_CODE;
	return ncclSuccess;
}

const char *ncclGetErrorString(ncclResult_t r)
{
	static const char *const text[] = {
	    [ncclSuccess] = "no error",
	    [ncclUnhandledCudaError] = "unhandled cuda error",
	    [ncclSystemError] = "unhandled system error",
	    [ncclInternalError] = "internal error",
	    [ncclInvalidArgument] = "invalid argument",
	    [ncclInvalidUsage] = "invalid usage",
	    [ncclRemoteError] = "remote process exited or there was a network error",
	    [ncclInProgress] = "NCCL operation in progress",
	};
	return (unsigned)r < ncclNumResults ? text[r] : "unknown result code";
}

const char *ncclGetLastError(ncclComm_t comm)
{
	(void)comm;
	return last_error;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *out)
{
	ENTER(NULL);
	return segment_id(out) ? ncclSuccess : comm_fail(ncclSystemError, "no file for an id");
}

/* ---- beginning */

/* Returns true if two members are on one GPU, which the real NCCL refuses. */
static bool shares_device(const struct segment *s, int *first, int *second)
{
	for (*second = 1; *second < s->n; (*second)++)
		for (*first = 0; *first < *second; (*first)++)
			if (s->member[*first].device == s->member[*second].device)
				return true;
	return false;
}

static bool is_config(const ncclConfig_t *c)
{
	return c->magic == 0xcafebeef && c->size == sizeof *c;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *out, int n, ncclUniqueId id, int rank, ncclConfig_t *config)
{
	const char *why;
	int first, second;
	ENTER("rank %d of %d%s", rank, n,
	      config && config->CTAPolicy == NCCL_CTA_POLICY_ZERO ? " without CTAs" : "");
	*out = NULL;
	if (n < 1 || rank < 0 || rank >= n)
		return comm_fail(ncclInvalidArgument, "rank %d of %d", rank, n);
	if (config && !is_config(config))
		return comm_fail(ncclInvalidArgument, "the configuration was not initialised");
	if (config && config->blocking == 0)
		return comm_fail(ncclInvalidUsage, "the mock has blocking communicators only");
	int device = mock_device_current();
	if (device < 0)
		return comm_fail(ncclUnhandledCudaError, "the thread has no context");
	struct segment *s = segment_join(&id, n, rank, device, &why);
	if (!s)
		return comm_fail(ncclInvalidUsage, "rank %d of %d: %s", rank, n, why);
	if (!mock_settings()->shared_gpu && shares_device(s, &first, &second)) {
		comm_fail(ncclInvalidUsage,
		          "Duplicate GPU detected : rank %d and rank %d both on CUDA device %d", first,
		          second, s->member[first].device);
		segment_leave(s);
		return ncclInvalidUsage;
	}
	struct ncclComm *c = calloc(1, sizeof *c);
	if (!c)
		mock_abort(__func__, "the host has no memory");
	c->segment = s;
	c->n = n;
	c->rank = rank;
	c->device = device;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->changed, NULL);
	mock_object_add(&c->object, MOCK_OTHER);
	*out = c;
	return ncclSuccess;
}

/* ---- end */

/* Waits until this rank's work is done and all members have called it, or have aborted. */
static void finish(struct ncclComm *c)
{
	pthread_mutex_lock(&c->lock);
	while (c->done < c->issued)
		pthread_cond_wait(&c->changed, &c->lock);
	bool first = !c->is_finished;
	c->is_finished = true;
	pthread_mutex_unlock(&c->lock);
	if (!first)
		return;
	segment_finish(c->segment);
	for (;;) {
		uint32_t seen = atomic_load(&c->segment->member[c->rank].bell);
		if (atomic_load(&c->segment->finished) >= c->n)
			return;
		segment_sleep(c->segment, c->rank, seen);
	}
}

ncclResult_t ncclCommFinalize(ncclComm_t comm)
{
	ENTER("rank %d of %d", comm->rank, comm->n);
	NUMBER(comm);
	finish(comm);
	return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm)
{
	ENTER("rank %d of %d", comm->rank, comm->n);
	NUMBER(comm);
	finish(comm);
	mock_object_end(__func__, MOCK_OTHER, comm);
	segment_leave(comm->segment);
	return ncclSuccess;
}

/* Running work ends and waiting work is dropped, so that the streams come to their ends. */
ncclResult_t ncclCommAbort(ncclComm_t comm)
{
	ENTER("rank %d of %d", comm->rank, comm->n);
	mock_object_end(__func__, MOCK_OTHER, comm);
	pthread_mutex_lock(&comm->lock);
	atomic_store(&comm->is_aborted, true);
	pthread_cond_broadcast(&comm->changed);
	bool first = !comm->is_finished;
	comm->is_finished = true;
	pthread_mutex_unlock(&comm->lock);
	if (first)
		segment_finish(comm->segment);
	segment_ring(comm->segment, comm->rank);
	return ncclSuccess;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t *out)
{
	ENTER(NULL);
	NUMBER(comm);
	pthread_mutex_lock(&comm->lock);
	*out = comm->error;
	pthread_mutex_unlock(&comm->lock);
	return ncclSuccess;
}

/* ---- windows */

ncclResult_t ncclMemAlloc(void **out, size_t bytes)
{
	ENTER("%zu", bytes);
	CUdeviceptr at;
	if (cuMemAlloc(&at, bytes) != CUDA_SUCCESS)
		return comm_fail(ncclUnhandledCudaError, "no memory for %zu bytes", bytes);
	*out = (void *)at;
	return ncclSuccess;
}

ncclResult_t ncclMemFree(void *at)
{
	ENTER(NULL);
	return cuMemFree((CUdeviceptr)at) == CUDA_SUCCESS ? ncclSuccess : ncclUnhandledCudaError;
}

/* Succeeds without a window where GPUs do not reach each other's memory, as the real NCCL does. */
ncclResult_t ncclCommWindowRegister(ncclComm_t comm, void *at, size_t bytes, ncclWindow_t *out, int flags)
{
	size_t before = 0;
	ENTER("rank %d of %d bytes %zu flags %d", comm->rank, comm->n, bytes, flags);
	NUMBER(comm);
	mock_memory_check(__func__, at, bytes);
	*out = NULL;
	if (flags != NCCL_WIN_COLL_SYMMETRIC || comm->window)
		return comm_fail(ncclInvalidArgument, "the mock has one symmetric window for a communicator");
	if (!atomic_compare_exchange_strong(&comm->segment->window_bytes, &before, bytes) && before != bytes)
		return comm_fail(ncclInvalidArgument, "a window of %zu bytes, but of %zu on another rank",
		                 bytes, before);
	if (mock_settings()->no_windows)
		return ncclSuccess;
	comm->window = at;
	comm->window_bytes = bytes;
	*out = (ncclWindow_t)comm;
	return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window)
{
	ENTER("rank %d of %d", comm->rank, comm->n);
	NUMBER(comm);
	if (window != (ncclWindow_t)comm || !comm->window)
		mock_abort(__func__, "%p is no window of this communicator", (void *)window);
	comm->window = NULL;
	return ncclSuccess;
}
