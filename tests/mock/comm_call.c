/* comm_call: passes NCCL calls to streams. Calls of a group are kept until it ends. Then those of one
 * communicator run together, on the stream of the first one; the other streams wait for them, and they wait
 * for the other streams' earlier work. */
#include "comm.h"
#include <stdlib.h>
#include <string.h>

static _Thread_local struct {
	int depth, n, room;
	struct comm_call *call;
	ncclResult_t error; /* error of a call in the group */
} group;

#define ENTER(...)                                                                                           \
	do {                                                                                                 \
		if (mock_enter(__func__, __VA_ARGS__))                                                       \
			return comm_fail(ncclUnhandledCudaError, "%s fails as asked for", __func__);         \
	} while (0)

/* ---- from calls to items */

/* Makes `first` wait for the work of each other stream, and those streams wait for `over`. */
static void join_streams(const struct comm_launch *l, CUstream first)
{
	for (int k = 1; k < l->n; k++) {
		CUstream s = l->call[k].stream;
		int j = 0;
		while (l->call[j].stream != s)
			j++;
		if (j < k || s == first)
			continue;
		struct mock_mark *before = mock_mark_new();
		mock_stream_signal(s, before);
		mock_stream_wait(first, before);
		mock_mark_release(before);
	}
}

static void launch(struct comm_launch *l)
{
	CUstream first = l->call[0].stream;
	struct mock_mark *over = mock_mark_new();
	int n = l->n;
	CUstream *stream = malloc((size_t)n * sizeof *stream); /* the launch may be freed before they are
	                                                          used */
	if (!stream)
		mock_abort("nccl", "the host has no memory");
	for (int k = 0; k < n; k++)
		stream[k] = l->call[k].stream;
	join_streams(l, first);
	mock_stream_push(first, (struct mock_work){comm_run, free, comm_issue, l});
	mock_stream_signal(first, over);
	for (int k = 1; k < n; k++)
		if (stream[k] != first)
			mock_stream_wait(stream[k], over);
	mock_mark_release(over);
	free(stream);
}

static void issue(const struct comm_call *call, int n)
{
	bool *taken = calloc((size_t)n, sizeof *taken);
	for (int k = 0; taken && k < n; k++) {
		if (taken[k])
			continue;
		struct comm_launch *l = malloc(sizeof *l + (size_t)n * sizeof *l->call);
		if (!l)
			mock_abort("nccl", "the host has no memory");
		*l = (struct comm_launch){.comm = call[k].comm};
		for (int j = k; j < n; j++)
			if (call[j].comm == call[k].comm) {
				l->call[l->n++] = call[j];
				taken[j] = true;
			}
		launch(l);
	}
	if (!taken)
		mock_abort("nccl", "the host has no memory");
	free(taken);
}

static void keep(const struct comm_call *call)
{
	if (group.n == group.room) {
		group.room = group.room ? 2 * group.room : 16;
		group.call = realloc(group.call, (size_t)group.room * sizeof *call);
		if (!group.call)
			mock_abort("nccl", "the host has no memory");
	}
	group.call[group.n++] = *call;
}

/* ---- calls */

/* Checks the memory that the call reads and writes on this rank. */
static void check_memory(const char *name, const struct comm_call *c)
{
	size_t block = c->count * comm_type_bytes(c->type), all = block * (size_t)c->comm->n;
	bool is_root = c->comm->rank == c->root;
	size_t in = c->kind == COMM_REDUCE_SCATTER ? all : block,
	       out = c->kind == COMM_ALLGATHER ? all : block;
	if (c->kind == COMM_RECEIVE || (c->kind == COMM_BROADCAST && !is_root))
		in = 0;
	if (c->kind == COMM_SEND || (c->kind == COMM_REDUCE && !is_root))
		out = 0;
	mock_memory_check(name, c->in, in);
	mock_memory_check(name, c->out, out);
}

static ncclResult_t call(const char *name, struct comm_call c)
{
	ncclResult_t r = ncclSuccess;
	mock_object_get(name, MOCK_OTHER, c.comm);
	mock_object_get(name, MOCK_STREAM, c.stream);
	bool fails = mock_enter(name, "rank %d of %d count %zu type %d stream %u", c.comm->rank, c.comm->n,
	                        c.count, (int)c.type, mock_object_number(name, MOCK_STREAM, c.stream));
	if (fails)
		r = comm_fail(ncclUnhandledCudaError, "%s fails as asked for", name);
	else if (!comm_type_bytes(c.type) || (unsigned)c.reduction >= ncclNumOps)
		r = comm_fail(ncclInvalidArgument, "%s: type %d, reduction %d", name, (int)c.type,
		              (int)c.reduction);
	else if (c.root < 0 || c.root >= c.comm->n)
		r = comm_fail(ncclInvalidArgument, "%s: rank %d of %d", name, c.root, c.comm->n);
	if (r != ncclSuccess) {
		group.error = group.depth ? r : ncclSuccess;
		return r;
	}
	check_memory(name, &c);
	if (group.depth)
		keep(&c);
	else
		issue(&c, 1);
	return ncclSuccess;
}

ncclResult_t ncclGroupStart(void)
{
	ENTER(NULL);
	group.depth++;
	return ncclSuccess;
}

ncclResult_t ncclGroupEnd(void)
{
	ENTER(NULL);
	if (!group.depth)
		return comm_fail(ncclInvalidUsage, "ncclGroupEnd without ncclGroupStart");
	if (--group.depth)
		return ncclSuccess;
	ncclResult_t r = group.error;
	if (r == ncclSuccess && group.n)
		issue(group.call, group.n);
	free(group.call);
	memset(&group, 0, sizeof group);
	return r;
}

ncclResult_t ncclAllGather(const void *in, void *out, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream)
{
	return call(__func__,
	            (struct comm_call){COMM_ALLGATHER, comm, stream, in, out, count, type, ncclSum, 0});
}

ncclResult_t ncclAllReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                           ncclComm_t comm, cudaStream_t stream)
{
	return call(__func__, (struct comm_call){COMM_ALLREDUCE, comm, stream, in, out, count, type, op, 0});
}

ncclResult_t ncclReduceScatter(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                               ncclComm_t comm, cudaStream_t stream)
{
	return call(__func__,
	            (struct comm_call){COMM_REDUCE_SCATTER, comm, stream, in, out, count, type, op, 0});
}

ncclResult_t ncclBroadcast(const void *in, void *out, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream)
{
	return call(__func__,
	            (struct comm_call){COMM_BROADCAST, comm, stream, in, out, count, type, ncclSum, root});
}

ncclResult_t ncclReduce(const void *in, void *out, size_t count, ncclDataType_t type, ncclRedOp_t op,
                        int root, ncclComm_t comm, cudaStream_t stream)
{
	return call(__func__, (struct comm_call){COMM_REDUCE, comm, stream, in, out, count, type, op, root});
}

ncclResult_t ncclSend(const void *in, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
	return call(__func__,
	            (struct comm_call){COMM_SEND, comm, stream, in, NULL, count, type, ncclSum, peer});
}

ncclResult_t ncclRecv(void *out, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream)
{
	return call(__func__,
	            (struct comm_call){COMM_RECEIVE, comm, stream, NULL, out, count, type, ncclSum, peer});
}
