/* cuda_transport: see cuda_transport.h. */
#include "cuda/cuda_transport.h"
#include "cuda/gpu_assignment.h"
#include "cuda/kernel.h"
#include <stdarg.h>
#include <string.h>

enum {
	FIRST_SLEEP_US = 5, /* between tests if work in flight is done */
	LONGEST_SLEEP_US = 200,
};

/* ---- requests */

static struct rt_request *request_new(struct cuda_transport *t)
{
	struct rt_request *r = mem_zalloc(sizeof *r);
	cuda_rest(t, true);
	r->c.kind = COLLECTIVE_COUNT;
	r->next = t->first;
	r->link = &t->first;
	if (r->next)
		r->next->link = &r->next;
	t->first = r;
	t->sleep_us = FIRST_SLEEP_US;
	return r;
}

struct rt_request *cuda_request_of(struct cuda_transport *t, const struct rt_collective *c)
{
	struct rt_request *r = request_new(t);
	r->c = *c;
	return r;
}

struct rt_request *cuda_request_of_message(struct cuda_transport *t, const struct rt_p2p *p)
{
	struct rt_request *r = request_new(t);
	struct rt_counter *n = &t->base.counter[RT_COUNTER_P2P];
	r->message.p = *p;
	r->message.rank = t->base.job->rank;
	if (p->peer != t->base.job->rank) /* a message to the rank itself is not counted */
		*(p->send ? &n->bytes_sent : &n->bytes_received) += p->count * (int64_t)dtype_bytes(p->dtype);
	return r;
}

void cuda_request_free(struct cuda_transport *t, struct rt_request *r)
{
	if (r->ready)
		cuda_event_release(t->c, r->ready);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	free(r);
}

enum status cuda_transport_issued(struct rt_transport *base, struct rt_request *r, void **event)
{
	struct cuda_transport *t = (struct cuda_transport *)base;
	enum status status = r->event ? STATUS_OK : t->look(t, r);
	if (status == STATUS_OK && r->event) {
		*event = r->event;
		cuda_request_free(t, r);
	}
	return status;
}

enum status cuda_transport_test(struct rt_transport *base, struct rt_request *r, bool *done)
{
	struct cuda_transport *t = (struct cuda_transport *)base;
	enum status status = r->event ? STATUS_OK : t->look(t, r);
	*done = false;
	if (status != STATUS_OK || !r->event)
		return status;
	CUresult result = t->c->api->cuEventQuery(r->event);
	if (result == CUDA_ERROR_NOT_READY)
		return STATUS_OK;
	if (!cuda_check(t->c, result, "cuEventQuery"))
		return rt_job_status(base->job);
	*done = true;
	cuda_event_release(t->c, r->event);
	cuda_request_free(t, r);
	return STATUS_OK;
}

/* ---- memory that all ranks map */

enum status cuda_transport_heap(struct rt_transport *base, const size_t *piece, uint32_t n, const char *what,
                                void **out)
{
	struct cuda_transport *t = (struct cuda_transport *)base;
	enum status status = cuda_heap_new(base->job, t->c, piece, n, what, &t->heap);
	if (status == STATUS_OK)
		*out = cuda_heap_of(t->heap, base->job->rank);
	return status;
}

enum status cuda_transport_side_by_side(struct rt_transport *base, const int *ranks, int n, size_t offset,
                                        size_t bytes, void **out)
{
	return cuda_heap_view(((struct cuda_transport *)base)->heap, ranks, n, offset, bytes, out);
}

/* ---- waiting */

uint32_t cuda_transport_read(struct rt_transport *t)
{
	return rt_bell_read(((struct cuda_transport *)t)->bell);
}

/* The GPU wakes nobody, so sleeps are short while requests are in flight. */
void cuda_transport_wait(struct rt_transport *base, uint32_t seen, int64_t microseconds)
{
	struct cuda_transport *t = (struct cuda_transport *)base;
	if (base->job->boot->rest) /* ranks take turns: others can run now, but not while this one sleeps */
		return;
	if (t->first) {
		if (microseconds < 0 || microseconds > t->sleep_us)
			microseconds = t->sleep_us;
		t->sleep_us = 2 * t->sleep_us < LONGEST_SLEEP_US ? 2 * t->sleep_us : LONGEST_SLEEP_US;
	}
	rt_bell_wait(t->bell, seen, microseconds);
}

void cuda_transport_wake(struct rt_transport *t)
{
	rt_bell_ring(((struct cuda_transport *)t)->bell);
}

/* ---- work for streams */

enum status cuda_await(struct cuda *c, CUstream s, CUevent event)
{
	if (event && !cuda_call(c, cuStreamWaitEvent, s, event, 0))
		return rt_job_status(c->base.job);
	return STATUS_OK;
}

enum status cuda_copy(struct cuda *c, CUstream s, void *to, const void *from, int64_t bytes)
{
	if (to != from && bytes > 0 &&
	    !cuda_call(c, cuMemcpyDtoDAsync, (CUdeviceptr)to, (CUdeviceptr)from, (size_t)bytes, s))
		return rt_job_status(c->base.job);
	return STATUS_OK;
}

enum status cuda_copy_by_kernel(struct cuda *c, CUstream s, void *to, const void *from, int64_t bytes)
{
	static const enum dtype type[] = {DTYPE_I64, DTYPE_I32, DTYPE_I8};
	struct cuda_launch launch;
	char why[RT_WHY_BYTES] = "";
	int k = 0;
	if (to == from || !bytes)
		return STATUS_OK;
	while (((uintptr_t)to | (uintptr_t)from | (uintptr_t)bytes) % dtype_bytes(type[k]))
		k++;
	int64_t n = bytes / (int64_t)dtype_bytes(type[k]);
	const struct rt_task task = {.kernel = RT_TASK_COPY,
	                             .out = rt_view_dense(to, type[k], 1, &n),
	                             .in = {rt_view_dense((void *)from, type[k], 1, &n)}};
	enum status status = cuda_kernel_make(c, &task, &launch, why);
	if (status == STATUS_OK && launch.grid)
		return cuda_kernel_launch(c, s, &launch);
	if (status != STATUS_OK && why[0])
		rt_job_error_at(c->base.job, c->at, "%s", why);
	return status;
}

enum status cuda_collective_alone(struct cuda *c, CUstream s, const struct rt_collective *x)
{
	int64_t size = (int64_t)dtype_bytes(x->dtype);
	struct rt_block given = rt_collective_given(x, 0, 0), taken = rt_collective_taken(x, 0, 0);
	return x->in ? cuda_copy(c, s, (char *)x->out + taken.offset * size,
	                         (const char *)x->in + given.offset * size, taken.count * size)
	             : STATUS_OK;
}

enum status cuda_reduces(struct rt_transport *t, const struct rt_collective *x)
{
	if (t->team[x->team].n <= CUDA_REDUCE_ARRAYS)
		return STATUS_OK;
	rt_job_error_at(
	    t->job, x->at,
	    "%s (%s) of %s in a team of %d: the GPU reduces those of up to %d members; a mesh of two "
	    "axes has smaller teams, along one axis and then along the other",
	    collective_name(x->kind), reduce_op_name(x->op), dtype_name(x->dtype), t->team[x->team].n,
	    CUDA_REDUCE_ARRAYS);
	return rt_job_fail(t->job, STATUS_DIAGNOSTICS);
}

/* ---- disagreements */

enum status cuda_disagree(struct rt_job *job, int rank, const char *own, int peer, const char *other)
{
	rt_job_error(job, "ranks disagree: rank %d has  %s, but rank %d has  %s", rank, own, peer, other);
	return rt_job_fail(job, STATUS_DIAGNOSTICS);
}

void cuda_describe_label(const struct rt_job *job, int rank, uint32_t label, struct buf *out)
{
	struct buf text = {0};
	rt_board_label(job->board, rank, label, &text);
	if (text.n)
		buf_printf(out, " in  %s", text.at);
	buf_free(&text);
}

/* ---- opening one */

enum status cuda_refuse(struct rt_job *job, enum status status, const char *format, ...)
{
	struct buf why = {0};
	va_list args;
	va_start(args, format);
	buf_vprintf(&why, format, args);
	va_end(args);
	if (job->rank == 0)
		rt_job_error(job, "%s", why.at);
	buf_free(&why);
	rt_job_barrier(job, "printing messages");
	return rt_job_fail(job, status);
}

enum status cuda_transport_open(struct rt_job *job, enum transport_kind kind, bool exact, bool symmetric,
                                struct rt_device *d, struct rt_transport **out)
{
	struct cuda *c = (struct cuda *)d;
	enum status status = cuda_transport_choose(c, &kind, symmetric);
	if (status != STATUS_OK)
		return status;
	if (kind == TRANSPORT_NCCL)
		return cuda_nccl_open(job, c, exact, out);
	return kind == TRANSPORT_PEERS ? cuda_peers_open(job, c, out) : cuda_ipc_open(job, c, out);
}
