/* ipc: the transport "cuda-ipc"; see ipc.h. */
#include "cuda/ipc.h"
#include <string.h>

enum {
	STREAMS = 8,            /* for messages, and as many that wait for others */
	RESCUED = 0x3f,         /* each byte of a semaphore value that is past every turn */
	CHUNK_BYTES = 16 << 20, /* of shared memory at once; pages are allocated at their first use */
	LINE = 64,
};

static struct rt_bell *bell_of(struct ipc *t, int rank)
{
	return (struct rt_bell *)t->region.at + rank;
}

void ipc_wake(struct ipc *t, int rank)
{
	rt_bell_ring(bell_of(t, rank));
}

enum status ipc_share(struct ipc *t, size_t bytes, void *out)
{
	struct rt_job *job = t->base.base.job;
	bytes = (bytes + LINE - 1) / LINE * LINE;
	if (!t->more.n || t->more_used + bytes > t->more.at[t->more.n - 1].bytes) {
		struct rt_region region;
		enum status status = job->boot->share(job, "the transport's teams",
		                                      bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES, &region);
		if (status != STATUS_OK)
			return status;
		vec_push(&t->more, region);
		t->more_used = 0;
	}
	*(char **)out = (char *)t->more.at[t->more.n - 1].at + t->more_used;
	t->more_used += bytes;
	return STATUS_OK;
}

/* ---- semaphores */

enum status ipc_await(struct ipc *t, CUstream s, uint32_t semaphore, uint32_t value)
{
	enum status status = ipc_graph_before_wait(t, s);
	if (status != STATUS_OK)
		return status;
	return cuda_call(t->base.c, cuStreamWaitValue32, s,
	                 t->semaphores + ipc_word(t->capture.set, semaphore), value, t->wait_flags)
	           ? STATUS_OK
	           : ipc_failure(t);
}

enum status ipc_signal(struct ipc *t, CUstream s, int rank, uint32_t semaphore, uint32_t value)
{
	CUdeviceptr at = t->peer[rank].semaphores + ipc_word(t->capture.set, semaphore);
	/* by default, the stream's earlier writes are visible to a reader of the value */
	return cuda_call(t->base.c, cuStreamWriteValue32, s, at, value, CU_STREAM_WRITE_VALUE_DEFAULT)
	           ? ipc_graph_after_signal(t, s, rank)
	           : ipc_failure(t);
}

/* ---- starts */

static enum status start_message(struct ipc *t, struct rt_request *r)
{
	const struct rt_p2p *p = &r->message.p;
	int woken;
	t->base.c->at = p->at;
	if (p->peer == t->base.base.job->rank)
		return cuda_messages_post(t->base.messages, t->base.c, &t->itself, &r->message, &woken);
	return ipc_message_start(t, r);
}

static enum status start_collective(struct ipc *t, struct rt_request *r)
{
	struct cuda *c = t->base.c;
	CUstream s = t->team[r->c.team].moves;
	c->at = r->c.at;
	if (t->base.base.team[r->c.team].n > 1)
		return ipc_team_start(t, r);
	enum status status = cuda_await(c, s, r->c.after);
	if (status == STATUS_OK)
		status = cuda_collective_alone(c, s, &r->c);
	return status == STATUS_OK ? cuda_event_record(c, s, &r->event) : status;
}

/* Returns a new request. A request that fails is freed with the transport. */
static enum status return_ipc_request(struct ipc *t, struct rt_request *r, enum status status,
                                      struct rt_request **out)
{
	if (status != STATUS_OK)
		return rt_job_fail(t->base.base.job, status);
	*out = r;
	return STATUS_OK;
}

static enum status ipc_start(struct rt_transport *base, const struct rt_collective *c,
                             struct rt_request **out)
{
	struct ipc *t = (struct ipc *)base;
	struct rt_request *r = cuda_request_of(&t->base, c);
	return return_ipc_request(t, r, start_collective(t, r), out);
}

static enum status ipc_start_p2p(struct rt_transport *base, const struct rt_p2p *p, struct rt_request **out)
{
	struct ipc *t = (struct ipc *)base;
	struct rt_request *r = cuda_request_of_message(&t->base, p);
	return return_ipc_request(t, r, start_message(t, r), out);
}

/* ---- progress */

static bool is_to_itself(const struct ipc *t, const struct rt_request *r)
{
	return cuda_is_message(r) && r->message.p.peer == t->base.base.job->rank;
}

static enum status ipc_progress(struct rt_transport *base, bool *moved)
{
	struct ipc *t = (struct ipc *)base;
	cuda_rest(&t->base, false);
	enum status status = ipc_messages_advance(t, moved);
	for (int id = 0; id < base->teams && status == STATUS_OK; id++)
		if (t->team[id].first || t->team[id].moved)
			status = ipc_team_advance(t, id, moved);
	if (*moved)
		cuda_rest(&t->base, true);
	return status == STATUS_OK ? status : rt_job_fail(base->job, status);
}

static enum status poll_ipc_request(struct cuda_transport *base, struct rt_request *r)
{
	struct ipc *t = (struct ipc *)base;
	if (is_to_itself(t, r))
		r->event = cuda_messages_issued(base->messages, base->c, &r->message);
	return STATUS_OK;
}

enum status cuda_ipc_p2p(struct rt_transport *base, const struct cuda_p2p *how)
{
	struct ipc *t = (struct ipc *)base;
	if (base->ops->kind == TRANSPORT_CUDA_IPC) {
		t->p2p = *how;
		return STATUS_OK;
	}
	if (!how->asked)
		return STATUS_OK;
	return cuda_refuse(base->job, STATUS_USAGE,
	                   "--p2p-protocol and --p2p-transport are of --transport=%s; the transport is %s",
	                   transport_kind_name(TRANSPORT_CUDA_IPC), transport_kind_name(base->ops->kind));
}

static enum status ipc_team(struct rt_transport *base, int id, const int *ranks, int n)
{
	(void)ranks, (void)n;
	return ipc_team_open((struct ipc *)base, id);
}

/* ---- graphs */

static enum status begin_ipc_graph(struct rt_transport *t, void *stream)
{
	return ipc_graph_begin((struct ipc *)t, stream);
}

static enum status end_ipc_graph(struct rt_transport *t, void *stream, void **graph)
{
	return ipc_graph_end((struct ipc *)t, stream, graph);
}

static enum status replay_ipc_graph(struct rt_transport *t, void *stream, void *graph)
{
	return ipc_graph_replay((struct ipc *)t, stream, graph);
}

static void drop_ipc_graph(struct rt_transport *t, void *stream)
{
	ipc_graph_drop((struct ipc *)t, stream);
}

static void free_ipc_graph(struct rt_transport *t, void *graph)
{
	ipc_graph_free((struct ipc *)t, graph);
}

/* ---- beginning and end */

/* Lets streams continue that wait for a process which has ended. */
static void rescue(struct ipc *t)
{
	for (unsigned set = 0; t->semaphores && set < IPC_SETS; set++)
		t->base.c->api->cuMemsetD8Async(t->semaphores + ipc_word(set, 0), RESCUED, IPC_WORD_BYTES,
		                                t->rescue);
}

/* Waits until no other rank maps this rank's memory, so that it can be freed. After a failure nothing waits,
 * and mapped memory is freed with the process. */
static void ipc_before_free(struct rt_transport *base)
{
	struct ipc *t = (struct ipc *)base;
	if (ipc_failure(t) != STATUS_OK) {
		rescue(t);
		return;
	}
	for (int id = 0; id < base->teams; id++)
		if (t->team[id].moves)
			cuda_call(t->base.c, cuStreamSynchronize, t->team[id].moves);
	for (uint32_t k = 0; k < t->moves.stream.n; k++)
		cuda_call(t->base.c, cuStreamSynchronize, t->moves.stream.at[k]);
	ipc_close_memory(t);
	rt_job_barrier(base->job, "the end of the memory of all GPUs");
}

/* Frees the semaphores once no other rank maps them. */
static void free_semaphores(struct ipc *t)
{
	struct rt_job *job = t->base.base.job;
	for (int r = 0; r < job->size && ipc_failure(t) == STATUS_OK; r++)
		if (r != job->rank)
			cuda_call(t->base.c, cuIpcCloseMemHandle, t->peer[r].semaphores);
	if (rt_job_barrier(job, "the end of the semaphores") == STATUS_OK)
		rt_device_free(&t->base.c->base, (void *)t->semaphores);
}

static void drop_requests(struct ipc *t)
{
	while (t->base.first) {
		struct rt_request *r = t->base.first;
		if (is_to_itself(t, r)) {
			cuda_messages_withdraw(t->base.messages, t->base.c, &r->message);
			r->event = r->event ? r->event : r->message.done;
		}
		if (r->event)
			cuda_event_release(t->base.c, r->event);
		cuda_request_free(&t->base, r);
	}
}

static void ipc_close(struct rt_transport *base)
{
	struct ipc *t = (struct ipc *)base;
	struct rt_job *job = base->job;
	ipc_before_free(base);
	drop_requests(t);
	ipc_messages_close(t);
	cuda_heap_free(t->base.heap);
	if (ipc_failure(t) == STATUS_OK)
		free_semaphores(t);
	vec_free(&t->offers.stream);
	vec_free(&t->moves.stream);
	vec_free(&t->ends.stream);
	vec_free(&t->itself.stream);
	vec_free(&t->base.spare.stream);
	for (int r = 0; r < job->size; r++)
		vec_free(&t->peer[r].opened);
	vec_free(&t->exported);
	for (uint32_t k = 0; k < t->more.n; k++)
		job->boot->unshare(job, &t->more.at[k]);
	vec_free(&t->more);
	if (t->region.at)
		job->boot->unshare(job, &t->region);
	if (t->making)
		ipc_graph_free(t, t->making);
	free(t->capture.partner);
	cuda_messages_free(t->base.messages);
	free(t->peer);
	free(t->team);
	free(t);
}

static const struct rt_transport_ops ipc_ops = {
    .kind = TRANSPORT_CUDA_IPC,
    .graphs = IPC_SETS,
    .team = ipc_team,
    .start = ipc_start,
    .start_p2p = ipc_start_p2p,
    .progress = ipc_progress,
    .test = cuda_transport_test,
    .issued = cuda_transport_issued,
    .heap = cuda_transport_heap,
    .side_by_side = cuda_transport_side_by_side,
    .read = cuda_transport_read,
    .wait = cuda_transport_wait,
    .wake = cuda_transport_wake,
    .before_free = ipc_before_free,
    .graph_begin = begin_ipc_graph,
    .graph_end = end_ipc_graph,
    .replay = replay_ipc_graph,
    .graph_drop = drop_ipc_graph,
    .graph_free = free_ipc_graph,
    .close = ipc_close,
};

/* Opens the sets of all ranks. Their semaphores are zeroed before others see them. */
static enum status open_semaphores(struct ipc *t)
{
	struct rt_job *job = t->base.base.job;
	struct cuda *c = t->base.c;
	void *own;
	CUipcMemHandle handle, *all;
	if (!cuda_wait_flags(c, &t->wait_flags))
		return ipc_failure(t);
	enum status status = rt_device_alloc(&c->base, IPC_SETS * (size_t)IPC_SET_BYTES, "semaphores", &own);
	if (status != STATUS_OK)
		return status;
	t->semaphores = (CUdeviceptr)own;
	for (unsigned set = 0; set < IPC_SETS; set++)
		if (!cuda_call(c, cuMemsetD8Async, t->semaphores + ipc_word(set, 0), 0, IPC_WORD_BYTES,
		               t->rescue))
			return ipc_failure(t);
	if (!cuda_call(c, cuStreamSynchronize, t->rescue))
		return ipc_failure(t);
	status = ipc_handle(t, t->semaphores, &handle);
	if (status != STATUS_OK)
		return status;
	all = mem_alloc((size_t)job->size * sizeof *all);
	status = rt_job_allgather(job, "the semaphores", &handle, sizeof handle, all);
	for (int r = 0; r < job->size && status == STATUS_OK; r++)
		if (r == job->rank)
			t->peer[r].semaphores = t->semaphores;
		else
			status = ipc_open(t, &all[r], &t->peer[r].semaphores);
	free(all);
	return status;
}

enum status cuda_ipc_open(struct rt_job *job, struct cuda *c, struct rt_transport **out)
{
	struct ipc *t = mem_zalloc(sizeof *t);
	t->base.base.ops = &ipc_ops;
	t->base.base.job = job;
	t->base.c = c;
	t->base.messages = cuda_messages_new();
	t->base.look = poll_ipc_request;
	t->base.spare.most = t->offers.most = t->moves.most = t->ends.most = STREAMS;
	t->itself.most = 1;
	t->peer = mem_zalloc((size_t)job->size * sizeof *t->peer);
	t->capture.partner = mem_zalloc((size_t)job->size * sizeof *t->capture.partner);
	t->semaphores_used = ipc_message_semaphores(job->size);
	enum status status = job->boot->share(
	    job, "the transport", (size_t)job->size * sizeof(struct rt_bell) + ipc_boxes_bytes(job->size),
	    &t->region);
	if (status == STATUS_OK)
		status = cuda_stream_new(c, &t->rescue);
	if (status == STATUS_OK)
		status = open_semaphores(t);
	if (status != STATUS_OK) {
		rt_job_fail(job, status);
		ipc_close(&t->base.base);
		return status;
	}
	t->base.bell = bell_of(t, job->rank);
	*out = &t->base.base;
	return STATUS_OK;
}
