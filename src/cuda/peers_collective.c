/* peers_collective: collectives of ranks whose buffers are in one address space.
 *
 *     Allgather, Broadcast, SendRecv, Gather, Scatter, AllToAll, AllToAllv
 *                    blocks are copied to their members
 *     Allreduce      reduced once, and copied to the other members: all have the same bits
 *     ReduceScatter  the block of each member is reduced
 *     Reduce         as Allreduce, for members with an output
 *
 * Operands are combined in team order. */
#include "cuda/kernel.h"
#include "cuda/peers.h"

/* ---- the members' signs, compared */

/* As in shm_sign.c. */
static void describe_peers_part(const struct rt_job *job, const struct peers_part *p, int n, struct buf *out)
{
	const struct rt_collective *c = &p->c;
	const char *type = dtype_name(c->dtype);
	buf_puts(out, collective_name(c->kind));
	if (collective_reduces(c->kind))
		buf_printf(out, " (%s)", reduce_op_name(c->op));
	if (collective_is_rooted(c->kind))
		buf_printf(out, " %s root %d", collective_is_to_root(c->kind) ? "to" : "from", c->root);
	if (rt_collective_common_total(c, n))
		buf_printf(out, " of %lld %s", (long long)rt_collective_common_total(c, n), type);
	else
		buf_printf(out, " of %s", type);
	cuda_describe_label(job, p->rank, c->at.label, out);
}

enum status peers_compare(struct rt_job *job, const struct peers_part *own, const struct peers_part *other,
                          int n)
{
	const struct rt_collective *a = &own->c, *b = &other->c;
	if (a->kind == b->kind && a->dtype == b->dtype && (!collective_reduces(a->kind) || a->op == b->op) &&
	    (!collective_is_rooted(a->kind) || a->root == b->root) &&
	    rt_collective_common_total(a, n) == rt_collective_common_total(b, n))
		return STATUS_OK;
	struct buf here = {0}, there = {0};
	describe_peers_part(job, own, n, &here);
	describe_peers_part(job, other, n, &there);
	enum status status = cuda_disagree(job, own->rank, here.at, other->rank, there.at);
	buf_free(&here);
	buf_free(&there);
	return status;
}

static enum status blocks_differ(struct rt_job *job, const struct peers_part *from, int64_t given,
                                 const struct peers_part *to, int64_t taken, int n)
{
	struct buf here = {0}, there = {0};
	describe_peers_part(job, from, n, &here);
	buf_printf(&here, " (a block of %lld bytes)", (long long)given);
	describe_peers_part(job, to, n, &there);
	buf_printf(&there, " (a block of %lld bytes)", (long long)taken);
	enum status status = cuda_disagree(job, from->rank, here.at, to->rank, there.at);
	buf_free(&here);
	buf_free(&there);
	return status;
}

/* ---- moves */

enum status peers_move(struct cuda *c, CUstream s, const struct peers_part *part, int n, int from,
                       struct rt_block given, int to, struct rt_block taken)
{
	int64_t size = (int64_t)dtype_bytes(part[to].c.dtype);
	if (given.count != taken.count)
		return blocks_differ(c->base.job, &part[from], given.count * size, &part[to],
		                     taken.count * size, n);
	char *out = (char *)part[to].c.out + taken.offset * size;
	const char *in = (const char *)part[from].c.in + given.offset * size;
	return part[to].c.mover == MOVER_KERNEL ? cuda_copy_by_kernel(c, s, out, in, taken.count * size)
	                                        : cuda_copy(c, s, out, in, taken.count * size);
}

bool peers_moves(const struct peers_part *part, int from, int to, struct rt_block *given,
                 struct rt_block *taken)
{
	const struct rt_collective *f = &part[from].c, *t = &part[to].c;
	*given = rt_collective_given(f, from, to);
	*taken = rt_collective_taken(t, to, from);
	return !collective_reduces(f->kind) && rt_collective_gives(f, from, to);
}

enum status peers_same_blocks(struct rt_job *job, const struct peers_part *part, int n, int index)
{
	int64_t size = (int64_t)dtype_bytes(part[index].c.dtype);
	enum status status = STATUS_OK;
	for (int from = 0; from < n; from++)
		for (int to = 0; to < n && status == STATUS_OK; to++) {
			struct rt_block given, taken;
			if ((from == index || to == index) && peers_moves(part, from, to, &given, &taken) &&
			    given.count != taken.count)
				status = blocks_differ(job, &part[from], given.count * size, &part[to],
				                       taken.count * size, n);
		}
	return status;
}

static enum status move_all(struct cuda *c, CUstream s, const struct peers_part *part, int n)
{
	enum status status = STATUS_OK;
	struct rt_block given = {0}, taken = {0};
	bool from_root = collective_is_rooted(part[0].c.kind) && !collective_is_to_root(part[0].c.kind);
	for (int from = 0; from < n; from++)
		for (int to = 0; to < n && status == STATUS_OK && (!from_root || from == part[0].c.root);
		     to++)
			if (peers_moves(part, from, to, &given, &taken))
				status = peers_move(c, s, part, n, from, given, to, taken);
	return status;
}

/* ---- reductions */

enum status peers_reduce(struct cuda *c, CUstream s, const struct peers_part *part, int n, void *out,
                         int64_t offset, int64_t count)
{
	const void *in[CUDA_REDUCE_ARRAYS];
	const struct rt_collective *x = &part[0].c;
	int terms = 0;
	for (int k = 0; k < n; k++)
		if (part[k].c.in)
			in[terms++] = (const char *)part[k].c.in + offset * (int64_t)dtype_bytes(x->dtype);
	return count && terms ? cuda_reduce_arrays(c, s, x->op, x->dtype, out, in, terms, count) : STATUS_OK;
}

enum status peers_same_block(struct rt_job *job, const struct peers_part *part, int n, int to)
{
	int64_t size = (int64_t)dtype_bytes(part[to].c.dtype);
	struct rt_block own = rt_collective_block(&part[to].c, to);
	for (int m = 0; m < n; m++) {
		struct rt_block b = rt_collective_block(&part[m].c, to);
		if (b.count != own.count)
			return blocks_differ(job, &part[m], b.count * size, &part[to], own.count * size, n);
	}
	return STATUS_OK;
}

static enum status reduce_all(struct cuda *c, CUstream s, const struct peers_part *part, int n)
{
	const struct rt_collective *x = &part[0].c;
	enum status status = STATUS_OK;
	if (x->kind == COLLECTIVE_REDUCE)
		return peers_reduce(c, s, part, n, part[x->root].c.out, 0, x->count);
	if (x->kind == COLLECTIVE_ALLREDUCE) {
		status = peers_reduce(c, s, part, n, x->out, 0, x->count);
		for (int k = 1; k < n && status == STATUS_OK; k++)
			status =
			    cuda_copy(c, s, part[k].c.out, x->out, x->count * (int64_t)dtype_bytes(x->dtype));
		return status;
	}
	for (int k = 0; k < n && status == STATUS_OK; k++) {
		struct rt_block own = rt_collective_block(&part[k].c, k);
		status = peers_same_block(c->base.job, part, n, k);
		if (status == STATUS_OK)
			status = peers_reduce(c, s, part, n, part[k].c.out, own.offset, own.count);
	}
	return status;
}

enum status peers_issue(struct cuda *c, CUstream s, const struct peers_part *part, int n)
{
	return collective_reduces(part[0].c.kind) ? reduce_all(c, s, part, n) : move_all(c, s, part, n);
}
