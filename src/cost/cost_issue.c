/* cost_issue: finds the time in which the host issues a statement, or a replayed graph begins it.
 *
 *     wait(c)                              1 event
 *     synchronize(main)                    2 events
 *     Y <- add(A, B)                       1 kernel
 *     Y <- allgather(X, axis=x) as c       1 kernel, 3 events with NCCL; copies and memory operations otherwise
 *
 * The time is the sum of the calls' times that the cluster states. Without times of copies, events and memory
 * operations, each statement takes the time of a kernel. A statement has the calls of the rank that makes most of
 * them. The test cuda/mock/issue compares them with the calls of a run. */
#include "base/transport_kind.h"
#include "cost/model.h"
#include "ir/coalesce.h"

/* Returns true if the cluster states times of calls besides kernels. */
static bool states_calls(const struct cluster *c)
{
	const int64_t *time = c->replayed ? c->node : c->issue;
	return time[CALL_COPY] || time[CALL_EVENT] || time[CALL_MEMORY];
}

/* Returns the time of a call. A graph has no nodes for events. */
static int64_t call_time(const struct cluster *c, enum driver_call call)
{
	const int64_t *time = c->replayed ? c->node : c->issue;
	if (c->replayed && !cluster_call_key(call, true))
		return 0;
	return time[call] ? time[call] : time[CALL_KERNEL];
}

static enum transport_kind transport_of(const struct cost *c)
{
	const char *name = c->cluster->network.transport;
	return name ? transport_kind_find(name) : TRANSPORT_NCCL;
}

/* Returns the number of messages that a rank sends and receives for a statement. */
static int64_t count_own_messages(const struct cost *c, op_id op)
{
	return c->m->op.at[op].kind == OP_COLLECTIVE_PERMUTE ? 2 : (op_traits(c->m, op) & TRAIT_P2P) != 0;
}

/* Counts the calls of n messages. Each has a stream, which waits for the work before it. */
static void count_messages(enum transport_kind transport, int64_t messages, int64_t n[CALL_COUNT])
{
	n[CALL_EVENT] += 3 * messages;
	n[CALL_KERNEL] += transport == TRANSPORT_NCCL;
	n[CALL_COPY] += transport != TRANSPORT_NCCL;
	n[CALL_MEMORY] += transport == TRANSPORT_CUDA_IPC ? 2 * messages : 0;
}

/* Counts the calls of a collective of threads that share a GPU. The last member issues the work of all. */
static void count_peers(enum collective kind, int64_t ranks, int64_t n[CALL_COUNT])
{
	bool rooted = collective_is_rooted(kind), scatters = collective_out(kind) == PART_OWN;
	n[CALL_EVENT] += 1 + 2 * ranks;
	if (!collective_reduces(kind)) {
		n[CALL_COPY] += rooted ? ranks : ranks * ranks;
	} else {
		n[CALL_KERNEL] += scatters ? ranks : 1;
		n[CALL_COPY] += rooted || scatters ? 0 : ranks - 1;
	}
}

/* Counts the calls of a collective of processes. A rank tells its partners when its part is there, waits for
 * theirs, and tells them when it has read them. */
static void count_ipc(enum collective kind, int64_t ranks, int64_t n[CALL_COUNT])
{
	bool rooted = collective_is_rooted(kind), reduces = collective_reduces(kind);
	n[CALL_EVENT] += 2;
	n[CALL_MEMORY] += (rooted ? 2 : 3) * (ranks - 1);
	n[CALL_COPY] += reduces ? 1 : rooted ? 2 : 1 + ranks;
	n[CALL_KERNEL] += reduces;
}

/* Counts the calls that move the data of a collective. */
static void count_collective(const struct cost *c, op_id op, enum collective kind, int64_t n[CALL_COUNT])
{
	struct links_team t = {.ranks = 1};
	if (c->m->op.at[op].team)
		collective_team(c, c->m->op.at[op].team, &t);
	switch (transport_of(c)) {
	case TRANSPORT_PEERS:
		count_peers(kind, t.ranks, n);
		return;
	case TRANSPORT_CUDA_IPC:
		count_ipc(kind, t.ranks, n);
		return;
	default:
		n[CALL_KERNEL]++;
	}
}

/* Counts the calls of a group, for which NCCL has one kernel. */
static void count_group(const struct cost *c, op_id end, int64_t n[CALL_COUNT])
{
	enum collective kind;
	coalesce_each (c->m, op, end) {
		if (count_own_messages(c, op))
			count_messages(transport_of(c), count_own_messages(c, op), n);
		else if (collective_kind((enum op_kind)c->m->op.at[op].kind, &kind))
			count_collective(c, op, kind, n);
	}
	if (transport_of(c) == TRANSPORT_NCCL)
		n[CALL_KERNEL] = 1;
	n[CALL_EVENT] += 3;
}

/* Returns the number of events that a wait waits for. */
static int64_t count_awaited(const struct cost *c, op_id wait)
{
	int64_t n = 0;
	for (unsigned k = 0; k < op_role_count(c->m, wait, ROLE_STATEMENT); k++) {
		int64_t messages = count_own_messages(c, op_operand_id(c->m, wait, ROLE_STATEMENT, k));
		n += messages ? messages : 1;
	}
	return n;
}

static void count_calls(const struct cost *c, op_id op, int64_t n[CALL_COUNT])
{
	const struct op *o = &c->m->op.at[op];
	int64_t messages = count_own_messages(c, op);
	bool waits = !(o->flags & OP_ASYNC); /* for the communication that it starts */
	enum collective kind;
	if (o->kind == OP_WAIT) {
		n[CALL_EVENT] = count_awaited(c, op);
	} else if (o->kind == OP_SYNCHRONIZE) {
		n[CALL_EVENT] = 2;
	} else if (o->kind == OP_END_COALESCING) {
		count_group(c, op, n);
	} else if (messages) {
		count_messages(transport_of(c), messages, n);
		n[CALL_EVENT] += waits ? messages : 0;
	} else if (collective_kind((enum op_kind)o->kind, &kind)) {
		count_collective(c, op, kind, n);
		n[CALL_EVENT] += 3 + waits;
	} else {
		n[CALL_KERNEL] = 1;
	}
}

int64_t cost_op_issue(const struct cost *c, op_id op)
{
	int64_t n[CALL_COUNT] = {0};
	cost_amount time = 0;
	if (!cost_is_launched(c->m, op))
		return 0;
	if (!states_calls(c->cluster))
		return cost_launch(c);
	count_calls(c, op, n);
	for (enum driver_call k = 0; k < CALL_COUNT; k++)
		time += (cost_amount)n[k] * call_time(c->cluster, k);
	return curve_limit(time);
}

int64_t cost_launch(const struct cost *c)
{
	return call_time(c->cluster, CALL_KERNEL);
}

int64_t cost_step_begin(const struct cost *c)
{
	return c->cluster->replayed ? c->cluster->issue[CALL_GRAPH] : 0;
}
