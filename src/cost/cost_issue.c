/* cost_issue: finds the time in which the host issues a statement, or a replayed graph begins it.
 *
 *     wait(c)                              1 event
 *     synchronize(main)                    2 events
 *     Y <- add(A, B)                       1 kernel
 *     Y <- allgather(X, axis=x) as c       1 kernel, 3 events with NCCL; copies and memory operations otherwise
 *
 * The time is the sum of the calls' times that the cluster states. Without times of copies, events and memory
 * operations, each statement takes the time of a kernel. A rank may be the root, or its own peer, in some iterations of a
 * loop. The simulator, which walks them, asks for the calls of each; the scheduler for those of the rank that makes most of
 * them, on average. The test cuda/mock/issue compares them with the calls of plans. */
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

/* Counts the calls of messages to other ranks, each with a stream that waits for the work before it. Of two threads
 * that share a GPU, the last one issues the work of both. */
static void count_messages(enum transport_kind transport, int64_t messages, int64_t n[CALL_COUNT])
{
	n[CALL_EVENT] += (transport == TRANSPORT_PEERS ? 6 : 3) * messages;
	n[CALL_KERNEL] += transport == TRANSPORT_NCCL;
	n[CALL_COPY] += transport == TRANSPORT_PEERS ? messages : transport != TRANSPORT_NCCL;
	n[CALL_MEMORY] += transport == TRANSPORT_CUDA_IPC ? 2 * messages : 0;
}

/* Counts the calls of messages of a rank to itself: a copy that waits for both ends. */
static void count_own(enum transport_kind transport, int64_t messages, int64_t n[CALL_COUNT])
{
	n[CALL_EVENT] += (transport == TRANSPORT_PEERS ? 5 : 4) * messages;
	n[CALL_COPY]++;
}

/* Returns true if the plan has a kernel that copies the root's own block. */
static bool plan_moves_own(enum collective kind)
{
	return collective_is_rooted(kind) && collective_in(kind) != collective_out(kind);
}

/* Counts the calls of a collective of threads that share a GPU. The last member issues the work of all. */
static void count_peers(enum collective kind, int64_t ranks, int64_t n[CALL_COUNT])
{
	bool rooted = collective_is_rooted(kind), scatters = collective_out(kind) == PART_OWN;
	n[CALL_EVENT] += 1 + 2 * ranks;
	if (!collective_reduces(kind)) {
		n[CALL_COPY] += !rooted ? ranks * ranks : ranks - plan_moves_own(kind);
	} else {
		n[CALL_KERNEL] += scatters ? ranks : 1;
		n[CALL_COPY] += rooted || scatters ? 0 : ranks - 1;
	}
}

/* Counts the calls of a collective of processes. A rank that gives copies its data to a stage and tells each partner that
 * takes; a rank that takes waits for each partner that gives, moves its data, and tells it. */
static void count_ipc(enum collective kind, int64_t ranks, bool is_root, int64_t n[CALL_COUNT])
{
	bool rooted = collective_is_rooted(kind), to_root = collective_is_to_root(kind);
	bool reduces = collective_reduces(kind), takes = !rooted || to_root == is_root;
	bool gives = !rooted || to_root != is_root || reduces;
	int64_t takers = !gives ? 0 : to_root ? !is_root : ranks - 1;
	int64_t givers = !takes ? 0 : rooted && !to_root ? 1 : ranks - 1;
	bool has_own =
	    !rooted || (kind == COLLECTIVE_BROADCAST && is_root); /* a block that it copies itself */
	n[CALL_EVENT] += 2;
	n[CALL_MEMORY] += takers + 2 * givers;
	n[CALL_COPY] += gives;
	if (reduces)
		n[CALL_KERNEL] += takes;
	else
		n[CALL_COPY] += givers + has_own;
}

/* Counts the calls that move the data of a collective. */
static void count_collective(const struct cost *c, op_id op, enum collective kind, bool is_root,
                             int64_t n[CALL_COUNT])
{
	struct links_team t = {.ranks = 1};
	if (c->m->op.at[op].team)
		collective_team(c, c->m->op.at[op].team, &t);
	n[CALL_KERNEL] += is_root && plan_moves_own(kind);
	switch (transport_of(c)) {
	case TRANSPORT_PEERS:
		count_peers(kind, t.ranks, n);
		return;
	case TRANSPORT_CUDA_IPC:
		count_ipc(kind, t.ranks, is_root, n);
		return;
	default:
		n[CALL_KERNEL]++;
	}
}

/* The members of a group, whose messages are those of collective_permutes. */
struct members {
	int64_t collectives, messages;
};

static struct members count_members(const struct cost *c, op_id end)
{
	struct members x = {0};
	coalesce_each (c->m, op, end) {
		int64_t messages = count_own_messages(c, op);
		x.messages += messages;
		x.collectives += !messages;
	}
	return x;
}

/* Counts the calls of a member of a group. NCCL has one kernel for all members, which is not among them. */
static void count_member(const struct cost *c, op_id op, bool is_root, int64_t n[CALL_COUNT])
{
	int64_t messages = count_own_messages(c, op);
	enum collective kind;
	if (messages)
		(is_root ? count_own : count_messages)(transport_of(c), messages, n);
	else if (collective_kind((enum op_kind)c->m->op.at[op].kind, &kind))
		count_collective(c, op, kind, is_root, n);
	if (transport_of(c) == TRANSPORT_NCCL)
		n[CALL_KERNEL] -= !messages || !is_root;
}

/* Counts the calls of a group. Each collective and each message waits for the work before it, and is waited for. */
static void count_group(const struct cost *c, op_id end, bool is_root, int64_t n[CALL_COUNT])
{
	coalesce_each (c->m, op, end)
		count_member(c, op, is_root, n);
	n[CALL_KERNEL] += transport_of(c) == TRANSPORT_NCCL;
	n[CALL_EVENT] += 3 * count_members(c, end).collectives;
}

/* Returns the number of events that a wait waits for. */
static int64_t count_awaited(const struct cost *c, op_id wait)
{
	int64_t n = 0;
	for (unsigned k = 0; k < op_role_count(c->m, wait, ROLE_STATEMENT); k++) {
		op_id op = op_operand_id(c->m, wait, ROLE_STATEMENT, k);
		struct members x = {.messages = count_own_messages(c, op)};
		if (c->m->op.at[op].kind == OP_END_COALESCING)
			x = count_members(c, op);
		n += x.messages + x.collectives ? x.messages + x.collectives : 1;
	}
	return n;
}

/* Counts the calls of a statement. is_root: the rank is the root of its collective, or its own peer. */
static void count_calls(const struct cost *c, op_id op, bool is_root, int64_t n[CALL_COUNT])
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
		count_group(c, op, is_root, n);
	} else if (messages) {
		(is_root ? count_own : count_messages)(transport_of(c), messages, n);
		n[CALL_EVENT] += waits ? messages : 0;
	} else if (collective_kind((enum op_kind)o->kind, &kind)) {
		count_collective(c, op, kind, is_root, n);
		n[CALL_EVENT] += 3 + waits;
	} else {
		n[CALL_KERNEL] = 1;
	}
}

static cost_amount add_times(const struct cost *c, const int64_t n[CALL_COUNT])
{
	cost_amount time = 0;
	for (enum driver_call k = 0; k < CALL_COUNT; k++)
		time += (cost_amount)n[k] * (cost_amount)call_time(c->cluster, k);
	return time;
}

static cost_amount time_calls(const struct cost *c, op_id op, bool is_root)
{
	int64_t n[CALL_COUNT] = {0};
	count_calls(c, op, is_root, n);
	return add_times(c, n);
}

/* Returns the time of the calls of a member of a group. NCCL has no kernel for a group in which the rank is its own peer
 * alone. */
static int64_t time_member(const struct cost *c, op_id op, bool is_root)
{
	struct members x = count_members(c, ir_coalesce_end(c->m, op));
	int64_t n[CALL_COUNT] = {0};
	count_member(c, op, is_root, n);
	if (x.collectives + x.messages == count_own_messages(c, op))
		n[CALL_KERNEL] += transport_of(c) == TRANSPORT_NCCL && !is_root;
	return curve_limit(add_times(c, n));
}

/* Returns true if the calls of a rank depend on its being the root, or its own peer. */
static bool has_root(const struct cost *c, op_id op)
{
	enum op_kind kind = (enum op_kind)c->m->op.at[op].kind;
	enum collective collective;
	return kind == OP_COLLECTIVE_PERMUTE ||
	       (collective_kind(kind, &collective) && collective_is_rooted(collective));
}

int64_t cost_op_issue(const struct cost *c, op_id op)
{
	struct turns t;
	if (!cost_is_launched(c->m, op))
		return 0;
	if (!states_calls(c->cluster))
		return cost_launch(c);
	if (c->m->op.at[op].kind == OP_END_COALESCING)
		return curve_limit(time_calls(c, op, true));
	cost_amount other = time_calls(c, op, false);
	if (!has_root(c, op))
		return curve_limit(other);
	turns_find(c, op, &t);
	cost_amount root = time_calls(c, op, true),
	            most = root * (cost_amount)t.most + other * (cost_amount)(t.of - t.most),
	            least = root * (cost_amount)t.least + other * (cost_amount)(t.of - t.least);
	return curve_limit((most > least ? most : least) / (cost_amount)t.of);
}

struct cost_issue cost_op_issue_of(const struct cost *c, op_id op)
{
	bool grouped = c->m->op.at[op].flags & OP_GROUPED;
	struct cost_issue x = {0};
	if (!states_calls(c->cluster) || (!grouped && !cost_is_launched(c->m, op)))
		return (struct cost_issue){cost_op_issue(c, op), 0};
	if (!grouped)
		x.other = curve_limit(time_calls(c, op, false));
	if (has_root(c, op))
		x.root = grouped ? time_member(c, op, true) - time_member(c, op, false)
		                 : curve_limit(time_calls(c, op, true)) - x.other;
	return x;
}

int64_t cost_launch(const struct cost *c)
{
	return call_time(c->cluster, CALL_KERNEL);
}

int64_t cost_step_begin(const struct cost *c)
{
	return c->cluster->replayed ? c->cluster->issue[CALL_GRAPH] : 0;
}
