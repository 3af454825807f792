/* cuda_transport: the functions that the transports between GPUs share.
 *
 * A start makes a request and returns. The transport gives the work to streams of the device, now or when the
 * other ranks have started theirs, and `issued` returns an event that is over when the work is done. `test`,
 * used at start-up and in tests, also waits for that event. */
#ifndef HIRC_CUDA_CUDA_TRANSPORT_H
#define HIRC_CUDA_CUDA_TRANSPORT_H
#include "base/str.h"
#include "cuda/cuda_heap.h"
#include "cuda/messages.h"
#include "rt/bell.h"

struct cuda_transport {
	struct rt_transport base;
	struct cuda *c;
	struct rt_bell *bell; /* another rank rings it to wake this one */
	struct cuda_stream_pool spare;
	struct cuda_messages *messages; /* messages that are copies on this GPU, of all ranks that share it */
	struct rt_request *first;       /* list of requests in flight */
	int64_t sleep_us;               /* length of the next sleep */
	struct cuda_heap *heap;         /* for peers and cuda-ipc; NULL: none */
	/* Tests a request, and sets r->event once its work has been given to the device. */
	enum status (*look)(struct cuda_transport *t, struct rt_request *r);
};

struct rt_request {
	struct rt_request *next, **link; /* in the transport's list */
	struct rt_collective c;          /* kind COLLECTIVE_COUNT: the request is a message */
	struct cuda_message message;
	CUevent event; /* over when the work is done; NULL: not known to be issued */
	CUevent ready; /* over when the data are ready; NULL: no other rank needs it */
	CUevent given; /* peers: will become `event`; another rank sets it, under the team's lock */
	void *place;   /* for the transport: the place of the request */
	struct rt_request *behind; /* for the transport: the next request at that place */
	size_t scratch;            /* nccl: offset of its scratch memory in that of its communicator */
	uint32_t turn;             /* cuda-ipc: turn of its slot, or number among the collectives of its
	                              team */
	int slot;                  /* cuda-ipc: slot of a message that was offered */
	int step;                  /* cuda-ipc: step of a collective */
};

static inline bool cuda_is_message(const struct rt_request *r)
{
	return r->c.kind == COLLECTIVE_COUNT;
}

/* Makes a request. Messages to other ranks are counted. */
struct rt_request *cuda_request_of(struct cuda_transport *t, const struct rt_collective *c);
struct rt_request *cuda_request_of_message(struct cuda_transport *t, const struct rt_p2p *p);
void cuda_request_free(struct cuda_transport *t, struct rt_request *r);

/* Functions of struct rt_transport_ops. */
enum status cuda_transport_issued(struct rt_transport *t, struct rt_request *r, void **event);
enum status cuda_transport_test(struct rt_transport *t, struct rt_request *r, bool *done);
enum status cuda_transport_heap(struct rt_transport *t, const size_t *piece, uint32_t n, const char *what,
                                void **out);
enum status cuda_transport_side_by_side(struct rt_transport *t, const int *ranks, int n, size_t offset,
                                        size_t bytes, void **out);
uint32_t cuda_transport_read(struct rt_transport *t);
void cuda_transport_wait(struct rt_transport *t, uint32_t seen, int64_t microseconds);
void cuda_transport_wake(struct rt_transport *t);

/* Lets the other ranks run, if ranks take turns; see struct rt_bootstrap. */
static inline void cuda_rest(struct cuda_transport *t, bool moved)
{
	struct rt_job *job = t->base.job;
	if (job->boot->rest)
		job->boot->rest(job, moved);
}

/* Makes a stream wait for an event. NULL: does nothing. */
enum status cuda_await(struct cuda *c, CUstream s, CUevent event);
/* Copies, unless both places are the same. */
enum status cuda_copy(struct cuda *c, CUstream s, void *to, const void *from, int64_t bytes);
/* Likewise by a kernel of hirc, with elements as wide as both places allow. */
enum status cuda_copy_by_kernel(struct cuda *c, CUstream s, void *to, const void *from, int64_t bytes);
/* Issues a collective of a team with one member. */
enum status cuda_collective_alone(struct cuda *c, CUstream s, const struct rt_collective *x);
/* Checks that a team is small enough for cuda_reduce_arrays; otherwise fails the job. */
enum status cuda_reduces(struct rt_transport *t, const struct rt_collective *x);

/* Fails the job for a reason that all ranks find. Rank 0 prints it. Collective. */
enum status cuda_refuse(struct rt_job *job, enum status status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Fails the job because two ranks disagree. own, peer: texts for the two. */
enum status cuda_disagree(struct rt_job *job, int rank, const char *own, int peer, const char *other);
/* Appends ` in  Y = f(X)  (f.hir:7)`, if the label is known. */
void cuda_describe_label(const struct rt_job *job, int rank, uint32_t label, struct buf *out);

#endif
