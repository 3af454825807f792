/* nccl_collective: runs a collective in steps.
 *
 *     step 0  this GPU   copies of a member to itself; the start value of a root without operand
 *     step 1  NCCL       the collective of the same name, or sends and receives of blocks
 *     step 2  this GPU   the division of a mean; the reduction of separate blocks
 *     step 3  NCCL       an Allreduce of separate blocks: sends the results to all members
 *
 * NCCL reduces in the type of its elements, rounds at each step, and takes members in an order of its own. A
 * mean is a sum, then a division. ncclAvg instead multiplies each term by 1 / members, which rounds it unless
 * members is a power of two; and network switches cannot do it.
 *
 * Some reductions give other results in NCCL. Their data are sent in separate blocks, each to one member,
 * which reduces it in team order, in the wide type, with one rounding. This sends as many bytes as a ring
 * does. These reductions are: minimum and maximum of floats, where NCCL loses NaN; sums of 8-bit floats,
 * which NCCL clamps to the largest number where hirc gives inf or NaN; means of f16, whose sum may overflow;
 * and means of integers, whose sum has 64 bits in hirc. With exact reductions, all reductions of floats are
 * done in this way. */
#include "cuda/kernel.h"
#include "cuda/nccl.h"
#include <math.h>
#include <string.h>

enum {
	ALL_BYTES = 32 << 10, /* most bytes of an Allreduce for which each member reduces the whole */
	ALIGN = 256,          /* of data received in scratch memory */
};

static enum status get_collective_status(const struct nccl *n)
{
	return rt_job_status(n->base.base.job);
}

/* ---- collectives of NCCL itself */

static bool is_native(const struct nccl *n, const struct rt_collective *c)
{
	if (dtype_is_float(c->dtype))
		return !n->exact && dtype_bytes(c->dtype) > 1 && c->op != REDUCE_MIN && c->op != REDUCE_MAX &&
		       (c->op != REDUCE_AVG || c->dtype != DTYPE_F16);
	return dtype_bytes(c->dtype) != 2 && /* NCCL has no 16-bit integers */
	       (c->op != REDUCE_AVG || c->dtype == DTYPE_I64 || c->dtype == DTYPE_BOOL);
}

static ncclDataType_t type_of(enum dtype t)
{
	switch (t) {
	case DTYPE_F64:
		return ncclFloat64;
	case DTYPE_F32:
		return ncclFloat32;
	case DTYPE_BF16:
		return ncclBfloat16;
	case DTYPE_F16:
		return ncclFloat16;
	case DTYPE_I64:
		return ncclInt64;
	case DTYPE_I32:
		return ncclInt32;
	case DTYPE_I8:
		return ncclInt8;
	default:
		return ncclUint8; /* also for BOOL, which is 0 or 1 */
	}
}

static ncclRedOp_t op_of(const struct rt_collective *c)
{
	if (c->dtype == DTYPE_BOOL) /* or, and */
		return c->op == REDUCE_PROD || c->op == REDUCE_MIN ? ncclMin : ncclMax;
	return c->op == REDUCE_PROD  ? ncclProd
	       : c->op == REDUCE_MIN ? ncclMin
	       : c->op == REDUCE_MAX ? ncclMax
	                             : ncclSum;
}

/* ---- parts of a member */

struct view {
	struct nccl *n;
	const struct rt_collective *c;
	const struct rt_team *team;
	const struct nccl_link *link;
	ncclComm_t comm; /* for collectives of NCCL: that of the mover */
	int own;         /* index of this rank */
	int64_t size;    /* bytes of one element */
	char *scratch, *out;
	const char *in;
	bool is_root;
};

static struct view view_of(struct nccl *n, const struct rt_request *r)
{
	const struct rt_collective *c = &r->c;
	const struct rt_team *team = &n->base.base.team[c->team];
	const struct nccl_link *l = &n->team[c->team];
	return (struct view){.n = n,
	                     .c = c,
	                     .team = team,
	                     .link = l,
	                     .comm = nccl_window_comm(n, c),
	                     .own = team->index,
	                     .size = (int64_t)dtype_bytes(c->dtype),
	                     .scratch = l->scratch ? (char *)l->scratch + r->scratch : NULL,
	                     .out = c->out,
	                     .in = c->in,
	                     .is_root = team->index == c->root};
}

/* Returns true if all blocks have one size. All members find the same answer. */
static bool are_even(const struct view *v)
{
	for (int k = 1; v->c->counts && k < v->team->n; k++)
		if (v->c->counts[k] != v->c->counts[0])
			return false;
	return true;
}

/* Returns true if the blocks follow each other in memory. Members may find different answers. */
static bool are_in_order(const struct view *v)
{
	int64_t next = 0;
	for (int k = 0; k < v->team->n; k++) {
		struct rt_block b = rt_collective_block(v->c, k);
		if (b.offset != next)
			return false;
		next += b.count;
	}
	return true;
}

/* Returns block `index` of an Allreduce in separate blocks. */
static struct rt_block get_even_part(const struct view *v, int index)
{
	return rt_even_block(v->c->count, v->team->n, index);
}

static bool reduces_all(const struct view *v)
{
	return v->c->count * v->size <= ALL_BYTES;
}

/* ---- elements that come apart: each member's in scratch memory, at a multiple of this */

static size_t apart_bytes(const struct view *v)
{
	int64_t count = v->c->count;
	if (v->c->kind == COLLECTIVE_REDUCE_SCATTER)
		count = rt_collective_block(v->c, v->own).count;
	else if (v->c->kind == COLLECTIVE_ALLREDUCE && !reduces_all(v))
		count = get_even_part(v, v->own).count;
	return ((size_t)(count * v->size) + ALIGN - 1) / ALIGN * ALIGN;
}

static char *apart(const struct view *v, int member)
{
	return v->scratch + (size_t)member * apart_bytes(v);
}

enum status nccl_collective_scratch(struct nccl *n, const struct rt_request *r, size_t *out)
{
	struct view v = view_of(n, r);
	const struct rt_collective *c = &r->c;
	*out = 0;
	if (v.team->n == 1)
		return STATUS_OK;
	if (c->kind == COLLECTIVE_BARRIER)
		*out = ALIGN;
	bool native = !collective_reduces(c->kind) || is_native(n, c);
	if ((c->kind == COLLECTIVE_ALLGATHER || (c->kind == COLLECTIVE_REDUCE_SCATTER && native)) &&
	    are_even(&v) && !are_in_order(&v))
		*out = (size_t)(rt_collective_total(c, v.team->n) * v.size);
	if (!native && (c->kind != COLLECTIVE_REDUCE || v.is_root))
		*out = (size_t)v.team->n * apart_bytes(&v);
	*out = (*out + ALIGN - 1) / ALIGN * ALIGN;
	return native ? STATUS_OK : cuda_reduces(&n->base.base, c);
}

/* ---- calls */

static bool send_elements(const struct view *v, int to, const void *at, int64_t count)
{
	return !count || nccl_call(v->n, ncclSend, at, (size_t)(count * v->size), ncclUint8, to,
	                           v->link->comm, v->link->stream);
}

static bool receive_elements(const struct view *v, int from, void *at, int64_t count)
{
	return !count || nccl_call(v->n, ncclRecv, at, (size_t)(count * v->size), ncclUint8, from,
	                           v->link->comm, v->link->stream);
}

static bool copy_own_elements(const struct view *v, void *to, const void *from, int64_t count)
{
	return cuda_copy(v->n->base.c, v->link->stream, to, from, count * v->size) == STATUS_OK;
}

static bool run_kernel(const struct view *v, const struct rt_task *task)
{
	char why[RT_WHY_BYTES] = "";
	struct cuda_launch launch;
	enum status status = cuda_kernel_make(v->n->base.c, task, &launch, why);
	if (status == STATUS_OK && launch.grid)
		status = cuda_kernel_launch(v->n->base.c, v->link->stream, &launch);
	if (status != STATUS_OK && why[0])
		rt_job_error_at(v->n->base.base.job, v->c->at, "%s", why);
	if (status != STATUS_OK)
		rt_job_fail(v->n->base.base.job, status);
	return status == STATUS_OK;
}

/* ---- step 0 */

static bool fill_output(const struct view *v, double x, int64_t i)
{
	struct rt_task task = {.kernel = RT_TASK_FILL,
	                       .out = rt_view_dense(v->out, v->c->dtype, 1, &v->c->count),
	                       .scalar[0] = {.f = x, .i = i},
	                       .scalars = 1};
	return !v->c->count || run_kernel(v, &task);
}

/* Fills the output with elements that do not change NCCL's reduction. */
static bool fill_neutral(const struct view *v)
{
	enum reduce_op op = v->c->op;
	enum dtype t = v->c->dtype;
	return fill_output(v, reduce_identity_f64(op, t), reduce_identity_i64(op, t));
}

static bool prepare_output(const struct view *v)
{
	const struct rt_collective *c = v->c;
	struct rt_block own = {0}, given = {0};
	if (collective_has_blocks(c->kind))
		own = rt_collective_block(c, v->own);
	switch (c->kind) {
	case COLLECTIVE_GATHER:
		return !v->is_root || copy_own_elements(v, v->out + own.offset * v->size, v->in, own.count);
	case COLLECTIVE_SCATTER:
		return !v->is_root || copy_own_elements(v, v->out, v->in + own.offset * v->size, own.count);
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		given = rt_collective_send_block(c, v->own);
		return copy_own_elements(v, v->out + own.offset * v->size, v->in + given.offset * v->size,
		                         own.count);
	case COLLECTIVE_REDUCE:
		return !v->is_root || v->in || !is_native(v->n, c) || fill_neutral(v);
	case COLLECTIVE_REDUCE_SCATTER:
		if (!is_native(v->n, c) || !are_even(v) || are_in_order(v))
			return true;
		for (int k = 0; k < v->team->n; k++)
			if (!copy_own_elements(v, v->scratch + k * own.count * v->size,
			                       v->in + rt_collective_block(c, k).offset * v->size, own.count))
				return false;
		return true;
	default:
		return true;
	}
}

/* ---- step 1 */

static bool allgather(const struct view *v)
{
	struct rt_block own = rt_collective_block(v->c, v->own);
	if (are_even(v))
		return !own.count ||
		       nccl_call(v->n, ncclAllGather, v->in, are_in_order(v) ? v->out : v->scratch,
		                 (size_t)(own.count * v->size), ncclUint8, v->comm, v->link->stream);
	for (int k = 0; k < v->team->n; k++) {
		struct rt_block b = rt_collective_block(v->c, k);
		char *to = v->out + b.offset * v->size;
		if (b.count &&
		    !nccl_call(v->n, ncclBroadcast, k == v->own ? v->in : to, to, (size_t)(b.count * v->size),
		               ncclUint8, k, v->link->comm, v->link->stream))
			return false;
	}
	return true;
}

static bool reduce_scatter(const struct view *v)
{
	ncclDataType_t type = type_of(v->c->dtype);
	struct rt_block own = rt_collective_block(v->c, v->own);
	if (are_even(v))
		return !own.count ||
		       nccl_call(v->n, ncclReduceScatter, are_in_order(v) ? v->in : v->scratch, v->out,
		                 (size_t)own.count, type, op_of(v->c), v->comm, v->link->stream);
	for (int k = 0; k < v->team->n; k++) {
		struct rt_block b = rt_collective_block(v->c, k);
		if (b.count &&
		    !nccl_call(v->n, ncclReduce, v->in + b.offset * v->size, v->out, (size_t)b.count, type,
		               op_of(v->c), k, v->link->comm, v->link->stream))
			return false;
	}
	return true;
}

static bool reduce_natively(const struct view *v)
{
	ncclDataType_t type = type_of(v->c->dtype);
	size_t count = (size_t)v->c->count;
	if (v->c->kind == COLLECTIVE_REDUCE_SCATTER)
		return reduce_scatter(v);
	if (!count)
		return true;
	if (v->c->kind == COLLECTIVE_ALLREDUCE)
		return nccl_call(v->n, ncclAllReduce, v->in, v->out, count, type, op_of(v->c), v->comm,
		                 v->link->stream);
	return nccl_call(v->n, ncclReduce, v->in ? v->in : v->out, v->out, count, type, op_of(v->c),
	                 v->c->root, v->link->comm, v->link->stream);
}

/* Returns the elements of `in` that member k reduces. */
static struct rt_block reduced_by(const struct view *v, int k)
{
	if (v->c->kind == COLLECTIVE_REDUCE_SCATTER)
		return rt_collective_block(v->c, k);
	if (v->c->kind == COLLECTIVE_ALLREDUCE && !reduces_all(v))
		return get_even_part(v, k);
	return (struct rt_block){.count =
	                             v->c->kind == COLLECTIVE_ALLREDUCE || k == v->c->root ? v->c->count : 0};
}

static bool send_apart(const struct view *v)
{
	int64_t own = reduced_by(v, v->own).count;
	bool silent = v->c->kind == COLLECTIVE_REDUCE && v->is_root; /* it sends nothing */
	for (int k = 0; k < v->team->n; k++) {
		struct rt_block b = reduced_by(v, k);
		if (k == v->own)
			continue;
		if (!silent && !send_elements(v, k, v->in + b.offset * v->size, b.count))
			return false;
		if (own && !receive_elements(v, k, apart(v, k), own))
			return false;
	}
	return true;
}

static bool exchange_blocks(const struct view *v)
{
	const struct rt_collective *c = v->c;
	bool all = collective_exchanges(c->kind), gathers = c->kind == COLLECTIVE_GATHER;
	for (int k = 0; k < v->team->n; k++) {
		struct rt_block to = rt_collective_block(c, k),
		                from = all ? rt_collective_send_block(c, k) : to;
		if (k == v->own)
			continue;
		if ((all || (v->is_root && !gathers)) &&
		    !send_elements(v, k, v->in + from.offset * v->size, from.count))
			return false;
		if ((all || (v->is_root && gathers)) &&
		    !receive_elements(v, k, v->out + to.offset * v->size, to.count))
			return false;
	}
	int64_t own = rt_collective_block(c, v->own).count;
	if (all || v->is_root)
		return true;
	return gathers ? send_elements(v, c->root, v->in, own) : receive_elements(v, c->root, v->out, own);
}

static bool issue_nccl_transfer(const struct view *v)
{
	switch (v->c->kind) {
	case COLLECTIVE_ALLGATHER:
		return allgather(v);
	case COLLECTIVE_ALLREDUCE:
	case COLLECTIVE_REDUCE_SCATTER:
	case COLLECTIVE_REDUCE:
		return is_native(v->n, v->c) ? reduce_natively(v) : send_apart(v);
	case COLLECTIVE_BROADCAST:
		return !v->c->count || nccl_call(v->n, ncclBroadcast, v->is_root ? v->in : v->out, v->out,
		                                 (size_t)(v->c->count * v->size), ncclUint8, v->c->root,
		                                 v->link->comm, v->link->stream);
	case COLLECTIVE_SEND_RECV:
		return v->is_root ? send_elements(v, 1 - v->own, v->in, v->c->count)
		                  : receive_elements(v, v->c->root, v->out, v->c->count);
	case COLLECTIVE_GATHER:
	case COLLECTIVE_SCATTER:
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		return exchange_blocks(v);
	case COLLECTIVE_BARRIER:
		return nccl_call(v->n, ncclAllReduce, v->scratch, v->scratch, 1, ncclUint8, ncclMax,
		                 v->link->comm, v->link->stream);
	case COLLECTIVE_COUNT:
		break;
	}
	return true;
}

/* ---- step 2 */

/* Divides a sum by the number of members. */
static bool divide_sum(const struct view *v, int64_t count, int members)
{
	struct rt_view out = rt_view_dense(v->out, v->c->dtype, 1, &count);
	struct rt_task task = {.kernel = RT_TASK_POINTWISE,
	                       .op = POINTWISE_DIV,
	                       .out = out,
	                       .in[0] = out,
	                       .scalar[1] = {.f = members, .i = members},
	                       .scalars = 1u << 1};
	return !count || run_kernel(v, &task);
}

/* Reduces the separate blocks, in team order. */
static bool reduce_apart_blocks(const struct view *v)
{
	const void *in[CUDA_REDUCE_ARRAYS];
	struct rt_block own = reduced_by(v, v->own);
	char *out = v->out + (v->c->kind == COLLECTIVE_ALLREDUCE ? own.offset * v->size : 0);
	int terms = 0;
	if (!own.count)
		return true;
	for (int k = 0; k < v->team->n; k++) {
		if (k != v->own)
			in[terms++] = apart(v, k);
		else if (v->in)
			in[terms++] = v->in + own.offset * v->size;
	}
	return cuda_reduce_arrays(v->n->base.c, v->link->stream, v->c->op, v->c->dtype, out, in, terms,
	                          own.count) == STATUS_OK;
}

static bool finish_output(const struct view *v)
{
	const struct rt_collective *c = v->c;
	if (c->kind == COLLECTIVE_ALLGATHER && are_even(v) && !are_in_order(v))
		for (int k = 0; k < v->team->n; k++) {
			struct rt_block b = rt_collective_block(c, k);
			if (!copy_own_elements(v, v->out + b.offset * v->size,
			                       v->scratch + k * b.count * v->size, b.count))
				return false;
		}
	if (!collective_reduces(c->kind))
		return true;
	if (!is_native(v->n, c))
		return reduce_apart_blocks(v);
	if (c->op != REDUCE_AVG || c->dtype == DTYPE_BOOL || (c->kind == COLLECTIVE_REDUCE && !v->is_root))
		return true;
	return divide_sum(
	    v, c->kind == COLLECTIVE_REDUCE_SCATTER ? rt_collective_block(c, v->own).count : c->count,
	    v->team->n - !v->in);
}

/* ---- step 3 */

static bool spread_parts(const struct view *v)
{
	struct rt_block own = {0};
	if (v->c->kind != COLLECTIVE_ALLREDUCE || is_native(v->n, v->c) || reduces_all(v))
		return true;
	own = get_even_part(v, v->own);
	if (v->c->count % v->team->n == 0)
		return nccl_call(v->n, ncclAllGather, v->out + own.offset * v->size, v->out,
		                 (size_t)(own.count * v->size), ncclUint8, v->link->comm, v->link->stream);
	for (int k = 0; k < v->team->n; k++) {
		struct rt_block b = get_even_part(v, k);
		if (k == v->own)
			continue;
		if (!send_elements(v, k, v->out + own.offset * v->size, own.count) ||
		    !receive_elements(v, k, v->out + b.offset * v->size, b.count))
			return false;
	}
	return true;
}

enum status nccl_collective_step(struct nccl *n, const struct rt_request *r, int step)
{
	static bool (*const of[NCCL_STEPS])(const struct view *) = {prepare_output, issue_nccl_transfer,
	                                                            finish_output, spread_parts};
	struct view v = view_of(n, r);
	n->base.c->at = r->c.at;
	if (v.team->n == 1)
		return step ? STATUS_OK : cuda_collective_alone(n->base.c, v.link->stream, &r->c);
	return of[step](&v) ? STATUS_OK : get_collective_status(n);
}
