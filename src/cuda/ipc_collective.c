/* ipc_collective: issues a member's GPU work for a collective.
 *
 *     Barrier        nothing but the wait for the others
 *     Allgather, Broadcast, SendRecv, Gather, Scatter, AllToAll, AllToAllv
 *                    copies its part from the others' memory
 *     ReduceScatter, Reduce
 *                    reduces its part, and reads the others' operands in place
 *     Allreduce      staged: reduces the whole
 *                    not staged: reduces its own block; when the others have reduced theirs, it
 *                    copies them. All members have the same bits in both cases
 *
 * Operands are combined in team order and rounded once. A member writes only to its own memory. In an
 * Allreduce in place others may still read that memory; there a member writes only its own block, which no
 * other reads, and each other block after its reader has reduced it. So nothing large is copied twice. */
#include "cuda/ipc.h"

enum { BLOCK_UNIT = 128 /* bytes: blocks of an Allreduce begin at multiples of this */ };

bool ipc_reads(const struct rt_collective *c, int to, int from)
{
	return c->kind == COLLECTIVE_BARRIER || rt_collective_gives(c, from, to);
}

bool ipc_gives(const struct rt_collective *c, int to, int from)
{
	return rt_collective_gives(c, from, to);
}

static int64_t end_of_blocks(const struct rt_collective *c, int n, bool sent)
{
	int64_t end = 0;
	for (int k = 0; k < n; k++) {
		struct rt_block b = sent ? rt_collective_send_block(c, k) : rt_collective_block(c, k);
		if (b.count)
			end = b.offset + b.count > end ? b.offset + b.count : end;
	}
	return end;
}

int64_t ipc_bytes_given(const struct rt_collective *c, int n, int index)
{
	int64_t size = (int64_t)dtype_bytes(c->dtype);
	if (!c->in || (collective_is_rooted(c->kind) && !collective_is_to_root(c->kind) && index != c->root))
		return 0;
	switch (collective_in(c->kind)) {
	case PART_WHOLE:
		return c->count * size;
	case PART_OWN:
		return rt_collective_block(c, index).count * size;
	case PART_EACH:
		return end_of_blocks(c, n, collective_exchanges(c->kind)) * size;
	case PART_NONE:
		break;
	}
	return 0;
}

static struct rt_block block_of_allreduce(const struct rt_collective *c, int n, int index)
{
	int64_t unit = BLOCK_UNIT / (int64_t)dtype_bytes(c->dtype), most = (c->count + n - 1) / n;
	int64_t each = (most + unit - 1) / unit * unit,
	        from = each * index < c->count ? each * index : c->count;
	return (struct rt_block){.offset = from, .count = c->count - from < each ? c->count - from : each};
}

/* Returns the k-th of the other members, beginning after this one. */
static int other(int index, int k, int n)
{
	return (index + 1 + k) % n;
}

static bool has_halves(const struct ipc *t, const struct rt_collective *c)
{
	return c->kind == COLLECTIVE_ALLREDUCE && !ipc_is_staged(t, c);
}

/* The type of ipc_team_await and ipc_team_signal. */
typedef enum status team_call(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which,
                              uint32_t turn);

/* Calls it for each member from which this one reads. */
static enum status for_all(team_call *call, struct ipc *t, int id, const struct rt_collective *c,
                           enum ipc_signal which, uint32_t turn)
{
	const struct rt_team *team = &t->base.base.team[id];
	enum status status = STATUS_OK;
	for (int k = 0; k < team->n - 1 && status == STATUS_OK; k++) {
		int from = other(team->index, k, team->n);
		if (ipc_reads(c, team->index, from))
			status = call(t, id, t->team[id].moves, from, which, turn);
	}
	return status;
}

static enum status reduce_own_block(struct ipc *t, int id, const struct peers_part *part, uint32_t turn)
{
	const struct rt_team *team = &t->base.base.team[id];
	const struct rt_collective *own = &part[team->index].c;
	struct rt_block b = {.count = own->count};
	void *out = own->out;
	enum status status = STATUS_OK;
	if (own->kind == COLLECTIVE_REDUCE && team->index != own->root)
		return STATUS_OK;
	if (own->kind == COLLECTIVE_REDUCE_SCATTER) {
		status = peers_same_block(t->base.base.job, part, team->n, team->index);
		b = rt_collective_block(own, team->index);
	}
	if (has_halves(t, own)) {
		b = block_of_allreduce(own, team->n, team->index);
		out = (char *)out + b.offset * (int64_t)dtype_bytes(own->dtype);
	}
	if (status == STATUS_OK)
		status = for_all(ipc_team_await, t, id, own, IPC_READY, turn);
	if (status == STATUS_OK)
		status = peers_reduce(t->base.c, t->team[id].moves, part, team->n, out, b.offset, b.count);
	return status;
}

/* Takes the blocks of all members. The own block needs no wait. */
static enum status take_all(struct ipc *t, int id, const struct peers_part *part, uint32_t turn)
{
	const struct rt_team *team = &t->base.base.team[id];
	enum status status = STATUS_OK;
	for (int k = -1; k < team->n - 1 && status == STATUS_OK; k++) {
		struct rt_block given, taken;
		int to = team->index, from = other(to, k, team->n);
		if (from != to && !ipc_reads(&part[to].c, to, from))
			continue;
		if (from != to)
			status = ipc_team_await(t, id, t->team[id].moves, from, IPC_READY, turn);
		if (status == STATUS_OK && peers_moves(part, from, to, &given, &taken))
			status =
			    peers_move(t->base.c, t->team[id].moves, part, team->n, from, given, to, taken);
		if (status == STATUS_OK && from != to && ipc_gives(&part[to].c, to, from))
			status = ipc_team_signal(t, id, t->team[id].moves, from, IPC_OVER, turn);
	}
	return status;
}

enum status ipc_collective_first(struct ipc *t, int id, const struct peers_part *part, uint32_t turn)
{
	const struct rt_collective *own = &part[t->base.base.team[id].index].c;
	if (!collective_reduces(own->kind))
		return take_all(t, id, part, turn);
	enum status status = reduce_own_block(t, id, part, turn);
	if (status != STATUS_OK)
		return status;
	return for_all(ipc_team_signal, t, id, own, has_halves(t, own) ? IPC_HALF : IPC_OVER, turn);
}

enum status ipc_collective_second(struct ipc *t, int id, const struct peers_part *part, uint32_t turn)
{
	const struct rt_team *team = &t->base.base.team[id];
	const struct rt_collective *own = &part[team->index].c;
	int64_t size = (int64_t)dtype_bytes(own->dtype);
	enum status status = STATUS_OK;
	for (int k = 0; k < team->n - 1 && status == STATUS_OK; k++) {
		int from = other(team->index, k, team->n);
		struct rt_block b = block_of_allreduce(own, team->n, from);
		status = ipc_team_await(t, id, t->team[id].moves, from, IPC_HALF, turn);
		if (status == STATUS_OK)
			status = cuda_copy(t->base.c, t->team[id].moves, (char *)own->out + b.offset * size,
			                   (const char *)part[from].c.out + b.offset * size, b.count * size);
		if (status == STATUS_OK)
			status = ipc_team_signal(t, id, t->team[id].moves, from, IPC_OVER, turn);
	}
	return status;
}
