/* comm_run: runs calls of NCCL when their stream reaches them. Each member sends the other members the data
 * they need. A reduction takes all parts and adds them around a ring, as NCCL does: the sum that ends at one
 * rank begins at the next, and each rank is the end of one block of an allreduce. The ring is rotated from
 * launch to launch, because with network switches the order differs in each call. After each step the sum is
 * rounded to the type. Averages of floats multiply by 1/n first, 8-bit floats remain finite, and max and min
 * ignore NaN. */
#include "comm.h"
#include "element.h"
#include "flow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static enum element element_of(ncclDataType_t t)
{
	static const uint8_t element[] = {
	    [ncclInt8] = ELEMENT_I8,           [ncclUint8] = ELEMENT_U8,
	    [ncclInt32] = ELEMENT_I32,         [ncclUint32] = ELEMENT_U32,
	    [ncclInt64] = ELEMENT_I64,         [ncclUint64] = ELEMENT_U64,
	    [ncclFloat16] = ELEMENT_F16,       [ncclFloat32] = ELEMENT_F32,
	    [ncclFloat64] = ELEMENT_F64,       [ncclBfloat16] = ELEMENT_BF16,
	    [ncclFloat8e4m3] = ELEMENT_F8E4M3, [ncclFloat8e5m2] = ELEMENT_F8E5M2,
	};
	return (unsigned)t < ncclNumTypes ? (enum element)element[t] : ELEMENT_NONE;
}

size_t comm_type_bytes(ncclDataType_t t)
{
	return element_bytes(element_of(t));
}

/* ---- reductions */

static int64_t combine_whole(ncclRedOp_t op, enum element t, int64_t a, int64_t b)
{
	bool less = t == ELEMENT_U64 ? (uint64_t)a < (uint64_t)b : a < b;
	switch (op) {
	case ncclProd:
		return (int64_t)((uint64_t)a * (uint64_t)b);
	case ncclMin:
		return less ? a : b;
	case ncclMax:
		return less ? b : a;
	default:
		return (int64_t)((uint64_t)a + (uint64_t)b);
	}
}

static double combine(ncclRedOp_t op, enum element t, double a, double b)
{
	double x = op == ncclProd ? a * b : op == ncclMin ? fmin(a, b) : op == ncclMax ? fmax(a, b) : a + b;
	double largest = t == ELEMENT_F8E4M3 ? 448 : t == ELEMENT_F8E5M2 ? 57344 : INFINITY;
	char rounded[8];
	x = x > largest ? largest : x < -largest ? -largest : x;
	element_store(t, rounded, 0, x);
	return element_load(t, rounded, 0);
}

/* Reduces part[k], the data of rank k; out may be one of them. last: the end of the ring, modulo n. spread:
 * the end moves by one rank for each of n blocks. */
static void reduce(ncclRedOp_t op, enum element t, size_t count, int n, const char *const *part,
                   uint64_t last, bool spread, char *out)
{
	double share = op == ncclAvg ? combine(ncclSum, t, 1.0 / n, 0) : 1;
	size_t block = (count + (size_t)n - 1) / (size_t)n;
	for (size_t i = 0; i < count; i++) {
		int first = (int)((last + 1 + (spread ? i / block : 0)) % (uint64_t)n);
		if (element_is_whole(t)) {
			int64_t x = element_load_whole(t, part[first], i);
			for (int k = 1; k < n; k++)
				x = combine_whole(op, t, x, element_load_whole(t, part[(first + k) % n], i));
			element_store_whole(t, out, i, op == ncclAvg ? x / n : x);
		} else {
			double x = combine(ncclProd, t, element_load(t, part[first], i), share);
			for (int k = 1; k < n; k++)
				x = combine(
				    op, t, x,
				    combine(ncclProd, t, element_load(t, part[(first + k) % n], i), share));
			element_store(t, out, i, x);
		}
	}
}

/* ---- a call as flows */

struct running {
	const struct comm_call *call;
	struct ncclComm *comm;
	struct flows *flows;
	size_t block;    /* bytes of `count` elements */
	char *parts;     /* for a reduction, the data of all ranks; NULL: this rank has no result */
	uint64_t launch; /* number of the launch */
};

/* Returns the place in the window of memory that other members use, from 1 on; 0: it is in none. */
static uint64_t place_in_window(const struct ncclComm *c, const char *at)
{
	uint64_t offset = (uint64_t)(at - c->window);
	return c->window && at >= c->window && offset < c->window_bytes ? offset + 1 : 0;
}

/* Returns a number that is the same on all members if their data have the same places. */
static uint64_t place_of(const struct running *r)
{
	const struct comm_call *c = r->call;
	uint64_t in = place_in_window(r->comm, c->in), out = place_in_window(r->comm, c->out);
	return c->kind == COMM_ALLGATHER        ? out
	       : c->kind == COMM_REDUCE_SCATTER ? in
	       : c->kind == COMM_ALLREDUCE      ? in << 32 | out
	                                        : 0;
}

static void send_to(const struct running *r, int to, const char *data)
{
	const struct comm_call *c = r->call;
	struct flow_head head = {c->kind,           c->type,  (uint32_t)c->reduction,
	                         (uint32_t)c->root, r->block, place_of(r)};
	flows_add(r->flows, segment_pipe(r->comm->segment, PIPE_COLLECTIVES, r->comm->rank, to), to, true,
	          head, (char *)data);
}

static void take_from(const struct running *r, int from, char *data)
{
	const struct comm_call *c = r->call;
	struct flow_head head = {c->kind,           c->type,  (uint32_t)c->reduction,
	                         (uint32_t)c->root, r->block, place_of(r)};
	flows_add(r->flows, segment_pipe(r->comm->segment, PIPE_COLLECTIVES, from, r->comm->rank), from,
	          false, head, data);
}

static void message(const struct running *r)
{
	const struct comm_call *c = r->call;
	bool is_send = c->kind == COMM_SEND;
	int from = is_send ? r->comm->rank : c->root, to = is_send ? c->root : r->comm->rank;
	struct flow_head head = {COMM_SEND, 0, 0, 0, r->block, 0};
	flows_add(r->flows, segment_pipe(r->comm->segment, PIPE_MESSAGES, from, to), c->root, is_send, head,
	          is_send ? (char *)c->in : c->out);
}

/* Makes room for the parts of all ranks, and copies this rank's own. */
static void make_parts(struct running *r, const char *own)
{
	r->parts = malloc((size_t)r->comm->n * r->block + 1);
	if (!r->parts)
		mock_abort("nccl", "the host has no memory");
	memcpy(r->parts + (size_t)r->comm->rank * r->block, own, r->block);
}

static void begin(struct running *r)
{
	const struct comm_call *c = r->call;
	int rank = r->comm->rank;
	if (c->kind == COMM_SEND || c->kind == COMM_RECEIVE) {
		message(r);
		return;
	}
	if (c->kind == COMM_ALLGATHER)
		memmove(c->out + (size_t)rank * r->block, c->in, r->block);
	if (c->kind == COMM_BROADCAST && rank == c->root)
		memmove(c->out, c->in, r->block);
	if (c->kind == COMM_ALLREDUCE || (c->kind == COMM_REDUCE && rank == c->root))
		make_parts(r, c->in);
	if (c->kind == COMM_REDUCE_SCATTER)
		make_parts(r, c->in + (size_t)rank * r->block);
	for (int k = 0; k < r->comm->n; k++) {
		size_t block = (size_t)k * r->block;
		if (k == rank)
			continue;
		if (c->kind == COMM_ALLGATHER)
			take_from(r, k, c->out + block);
		else if (c->kind == COMM_BROADCAST && k == c->root)
			take_from(r, k, c->out);
		else if (r->parts)
			take_from(r, k, r->parts + block);
		if (c->kind == COMM_REDUCE_SCATTER)
			send_to(r, k, c->in + block);
		else if (c->kind == COMM_BROADCAST ? rank == c->root : c->kind != COMM_REDUCE || k == c->root)
			send_to(r, k, c->in);
	}
}

static void end(const struct running *r)
{
	if (!r->parts)
		return;
	const char **part = malloc((size_t)r->comm->n * sizeof *part);
	if (!part)
		mock_abort("nccl", "the host has no memory");
	const struct comm_call *c = r->call;
	int last = c->kind == COMM_REDUCE ? c->root : c->kind == COMM_REDUCE_SCATTER ? r->comm->rank : 0;
	for (int k = 0; k < r->comm->n; k++)
		part[k] = r->parts + (size_t)k * r->block;
	reduce(c->reduction, element_of(c->type), c->count, r->comm->n, part, r->launch + (uint64_t)last,
	       c->kind == COMM_ALLREDUCE, c->out);
	free(part);
}

/* ---- a launch */

/* Waits for a launch's turn. Returns false if the communicator was aborted. */
static bool wait_for_turn(struct ncclComm *c, uint64_t number)
{
	pthread_mutex_lock(&c->lock);
	while (c->done != number && !atomic_load(&c->is_aborted))
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
	return !atomic_load(&c->is_aborted);
}

/* Never ends, except by an abort. */
static void break_down(struct ncclComm *c)
{
	pthread_mutex_lock(&c->lock);
	c->error = ncclRemoteError;
	while (!atomic_load(&c->is_aborted))
		pthread_cond_wait(&c->changed, &c->lock);
	pthread_mutex_unlock(&c->lock);
}

static bool move_all(struct ncclComm *c, struct flows *flows)
{
	for (;;) {
		bool moved = false;
		uint32_t seen = atomic_load(&c->segment->member[c->rank].bell);
		if (atomic_load(&c->is_aborted))
			return false;
		if (flows_progress(flows, c->segment, &moved))
			return true;
		if (!moved)
			segment_sleep(c->segment, c->rank, seen);
	}
}

static void run_calls(struct comm_launch *l, uint64_t number)
{
	struct flows flows = {0};
	struct running *running = calloc((size_t)l->n, sizeof *running);
	if (!running)
		mock_abort("nccl", "the host has no memory");
	for (int k = 0; k < l->n; k++) {
		size_t block = l->call[k].count * comm_type_bytes(l->call[k].type);
		running[k] = (struct running){&l->call[k], l->comm, &flows, block, NULL, number};
		begin(&running[k]);
	}
	bool whole = move_all(l->comm, &flows);
	for (int k = 0; k < l->n; k++) {
		if (whole)
			end(&running[k]);
		free(running[k].parts);
	}
	flows_free(&flows);
	free(running);
}

uint64_t comm_issue(void *data)
{
	struct ncclComm *c = ((struct comm_launch *)data)->comm;
	pthread_mutex_lock(&c->lock);
	uint64_t number = c->issued++;
	pthread_mutex_unlock(&c->lock);
	return number;
}

void comm_run(void *data, uint64_t number)
{
	struct comm_launch *l = data;
	struct ncclComm *c = l->comm;
	if (wait_for_turn(c, number)) {
		if (mock_fails("nccl"))
			break_down(c);
		else
			run_calls(l, number);
		usleep(mock_settings()->nccl_us);
	}
	pthread_mutex_lock(&c->lock);
	c->done = c->done == number ? number + 1 : c->done;
	pthread_cond_broadcast(&c->changed);
	pthread_mutex_unlock(&c->lock);
}
