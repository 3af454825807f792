/* mpi_collective: starts collectives as those of MPI.
 *
 * Reductions run in the wide type (f32, f64, i64), so that each result is rounded once. Other types are
 * converted before and after. */
#ifdef HIRC_HAVE_MPI
#include "base/arena.h"
#include "rt/transport_mpi.h"
#include <limits.h>
#include <math.h>
#include <string.h>

#define DEFINE_OP(name, op)                                                                                  \
	static void name(void *in, void *inout, int *n, MPI_Datatype *t)                                     \
	{                                                                                                    \
		if (*t == MPI_DOUBLE)                                                                        \
			rt_combine_f64(op, inout, in, (size_t)*n);                                           \
		else if (*t == MPI_FLOAT)                                                                    \
			rt_combine_f32(op, inout, in, (size_t)*n);                                           \
		else                                                                                         \
			rt_combine_i64(op, inout, in, (size_t)*n);                                           \
	}

DEFINE_OP(op_minimum, REDUCE_MIN)
DEFINE_OP(op_maximum, REDUCE_MAX)

static MPI_Datatype moved_type(enum dtype t)
{
	switch (dtype_bytes(t)) {
	case 1:
		return MPI_UINT8_T;
	case 2:
		return MPI_UINT16_T;
	case 4:
		return MPI_UINT32_T;
	default:
		return MPI_UINT64_T;
	}
}

static MPI_Datatype wide_type(enum dtype t)
{
	enum dtype wide = dtype_wide(t);
	return wide == DTYPE_F64 ? MPI_DOUBLE : wide == DTYPE_F32 ? MPI_FLOAT : MPI_INT64_T;
}

static MPI_Op reduce_op(struct mpi *m, enum reduce_op op)
{
	return op == REDUCE_PROD  ? MPI_PROD
	       : op == REDUCE_MIN ? m->minimum
	       : op == REDUCE_MAX ? m->maximum
	                          : MPI_SUM;
}

bool mpi_collective_make_ops(struct mpi *m)
{
	return RT_MPI(m->base.job, MPI_Op_create(op_minimum, 1, &m->minimum)) &&
	       RT_MPI(m->base.job, MPI_Op_create(op_maximum, 1, &m->maximum));
}

void mpi_collective_free_ops(struct mpi *m)
{
	RT_MPI(m->base.job, MPI_Op_free(&m->minimum));
	RT_MPI(m->base.job, MPI_Op_free(&m->maximum));
}

/* Converts counts and offsets to ints. Returns false after a message if they do not fit. */
static bool fill_counts(struct rt_job *job, struct rt_request *r, bool prefix)
{
	r->counts = mem_alloc((size_t)r->members * sizeof *r->counts);
	r->offsets = mem_alloc((size_t)r->members * sizeof *r->offsets);
	int64_t next = 0;
	for (int i = 0; i < r->members; i++) {
		struct rt_block b = rt_collective_block(&r->c, i);
		if (prefix)
			b.offset = next;
		next += b.count;
		if (b.offset + b.count > INT_MAX) {
			rt_job_error_at(job, r->c.at, "%s of more than %d elements is too large for MPI",
			                collective_name(r->c.kind), INT_MAX);
			rt_job_fail(job, STATUS_INTERNAL);
			return false;
		}
		r->counts[i] = (int)b.count;
		r->offsets[i] = (int)b.offset;
	}
	return true;
}

static bool start_allgather(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	struct rt_job *job = m->base.job;
	const struct rt_collective *c = &r->c;
	MPI_Datatype type = moved_type(c->dtype);
	if (!fill_counts(job, r, false))
		return false;
	bool in_place = c->in == (char *)c->out + (size_t)r->offsets[index] * dtype_bytes(c->dtype);
	return RT_MPI(job, MPI_Iallgatherv(in_place ? MPI_IN_PLACE : c->in, in_place ? 0 : r->counts[index],
	                                   type, c->out, r->counts, r->offsets, type, comm, r->piece));
}

static bool start_allreduce(struct mpi *m, struct rt_request *r, MPI_Comm comm)
{
	const struct rt_collective *c = &r->c;
	enum dtype wide = dtype_wide(c->dtype);
	void *out = c->out;
	const void *in = c->in;
	if (c->dtype != wide) {
		out = r->wide_out = mem_alloc((size_t)c->count * dtype_bytes(wide));
		rt_convert(wide, out, c->dtype, c->in, (size_t)c->count);
		in = out;
	}
	r->out_count = c->count;
	return RT_MPI(m->base.job, MPI_Iallreduce(in == out ? MPI_IN_PLACE : in, out, (int)c->count,
	                                          wide_type(c->dtype), reduce_op(m, c->op), comm, r->piece));
}

static bool start_reduce_scatter(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	struct rt_job *job = m->base.job;
	const struct rt_collective *c = &r->c;
	enum dtype wide = dtype_wide(c->dtype);
	size_t size = dtype_bytes(c->dtype), wide_size = dtype_bytes(wide);
	if (!fill_counts(job, r, true))
		return false;
	/* One block after the other, in the wide type. Also copies if the result is inside of the
	 * buffer. */
	int64_t total = rt_collective_total(c, r->members);
	struct rt_block own = rt_collective_block(c, index);
	r->wide_in = mem_alloc((size_t)total * wide_size);
	for (int i = 0; i < r->members; i++) {
		struct rt_block b = rt_collective_block(c, i);
		rt_convert(wide, (char *)r->wide_in + (size_t)r->offsets[i] * wide_size, c->dtype,
		           (const char *)c->in + (size_t)b.offset * size, (size_t)b.count);
	}
	if (c->dtype != wide)
		r->wide_out = mem_alloc((size_t)own.count * wide_size);
	r->out_count = own.count;
	return RT_MPI(job, MPI_Ireduce_scatter(r->wide_in, r->wide_out ? r->wide_out : c->out, r->counts,
	                                       wide_type(c->dtype), reduce_op(m, c->op), comm, r->piece));
}

/* Fills `at` with n neutral elements of a reduction of type t, in its wide type. */
static void fill_identity(enum reduce_op op, enum dtype t, void *at, int64_t n)
{
	enum dtype wide = dtype_wide(t);
	for (int64_t i = 0; i < n; i++)
		if (wide == DTYPE_I64)
			((int64_t *)at)[i] = reduce_identity_i64(op, t);
		else
			rt_store_f64(wide, (char *)at + (size_t)i * dtype_bytes(wide),
			             reduce_identity_f64(op, t));
}

static bool start_reduce(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	const struct rt_collective *c = &r->c;
	enum dtype wide = dtype_wide(c->dtype);
	bool root = index == c->root;
	r->wide_in = mem_alloc((size_t)c->count * dtype_bytes(wide));
	if (c->in)
		rt_convert(wide, r->wide_in, c->dtype, c->in, (size_t)c->count);
	else
		fill_identity(c->op, c->dtype, r->wide_in, c->count);
	if (root && c->dtype != wide)
		r->wide_out = mem_alloc((size_t)c->count * dtype_bytes(wide));
	r->out_count = root ? c->count : 0;
	r->members -= !c->in; /* members that a mean counts */
	return RT_MPI(m->base.job, MPI_Ireduce(r->wide_in,
	                                       r->wide_out ? r->wide_out
	                                       : root      ? c->out
	                                                   : NULL,
	                                       (int)c->count, wide_type(c->dtype), reduce_op(m, c->op),
	                                       c->root, comm, r->piece));
}

/* Open MPI takes equal addresses of both buffers for MPI_IN_PLACE on that rank. So a buffer from which
 * nothing is moved, and which may have any address, gets an address of its own. */
static void *unless_empty(const int *counts, int n, const void *buffer)
{
	static char empty;
	for (int i = 0; i < n; i++)
		if (counts[i])
			return (void *)buffer;
	return &empty;
}

static bool start_blocks_of_root(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	struct rt_job *job = m->base.job;
	const struct rt_collective *c = &r->c;
	MPI_Datatype type = moved_type(c->dtype);
	bool root = index == c->root;
	int own = (int)rt_collective_block(c, index).count;
	if (root && !fill_counts(job, r, false))
		return false;
	if (c->kind == COLLECTIVE_GATHER)
		return RT_MPI(job, MPI_Igatherv(unless_empty(&own, 1, c->in), own, type, root ? c->out : NULL,
		                                r->counts, r->offsets, type, c->root, comm, r->piece));
	return RT_MPI(job, MPI_Iscatterv(root ? c->in : NULL, r->counts, r->offsets, type,
	                                 unless_empty(&own, 1, c->out), own, type, c->root, comm, r->piece));
}

static bool start_exchange(struct mpi *m, struct rt_request *r, MPI_Comm comm)
{
	struct rt_job *job = m->base.job;
	const struct rt_collective *c = &r->c;
	MPI_Datatype type = moved_type(c->dtype);
	if (!fill_counts(job, r, false))
		return false;
	r->send_counts = mem_alloc((size_t)r->members * sizeof *r->send_counts);
	r->send_offsets = mem_alloc((size_t)r->members * sizeof *r->send_offsets);
	for (int i = 0; i < r->members; i++) {
		struct rt_block b = rt_collective_send_block(c, i);
		if (b.offset + b.count > INT_MAX) {
			rt_job_error_at(job, c->at, "%s of more than %d elements is too large for MPI",
			                collective_name(c->kind), INT_MAX);
			rt_job_fail(job, STATUS_INTERNAL);
			return false;
		}
		r->send_counts[i] = (int)b.count;
		r->send_offsets[i] = (int)b.offset;
	}
	return RT_MPI(job, MPI_Ialltoallv(c->in, r->send_counts, r->send_offsets, type,
	                                  unless_empty(r->counts, r->members, c->out), r->counts, r->offsets,
	                                  type, comm, r->piece));
}

static bool start_from_root(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	struct rt_job *job = m->base.job;
	const struct rt_collective *c = &r->c;
	MPI_Datatype type = moved_type(c->dtype);
	if (c->kind == COLLECTIVE_BROADCAST) {
		if (index == c->root && c->in != c->out && c->count)
			memcpy(c->out, c->in, (size_t)c->count * dtype_bytes(c->dtype));
		return RT_MPI(job, MPI_Ibcast(c->out, (int)c->count, type, c->root, comm, r->piece));
	}
	if (index == c->root)
		return RT_MPI(job, MPI_Issend(c->in, (int)c->count, type, 1 - index, 0, comm, r->piece));
	return RT_MPI(job, MPI_Irecv(c->out, (int)c->count, type, c->root, 0, comm, r->piece));
}

bool mpi_collective_start(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	switch (r->c.kind) {
	case COLLECTIVE_ALLGATHER:
		return start_allgather(m, r, comm, index);
	case COLLECTIVE_ALLREDUCE:
		return start_allreduce(m, r, comm);
	case COLLECTIVE_REDUCE_SCATTER:
		return start_reduce_scatter(m, r, comm, index);
	case COLLECTIVE_REDUCE:
		return start_reduce(m, r, comm, index);
	case COLLECTIVE_GATHER:
	case COLLECTIVE_SCATTER:
		return start_blocks_of_root(m, r, comm, index);
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		return start_exchange(m, r, comm);
	case COLLECTIVE_BROADCAST:
	case COLLECTIVE_SEND_RECV:
		return start_from_root(m, r, comm, index);
	case COLLECTIVE_BARRIER:
		return RT_MPI(m->base.job, MPI_Ibarrier(comm, r->piece));
	case COLLECTIVE_COUNT:
		break;
	}
	return false;
}

void mpi_collective_finish(struct rt_request *r)
{
	const struct rt_collective *c = &r->c;
	rt_collective_round(c, r->members, r->wide_out ? r->wide_out : c->out, c->out, r->out_count);
}
#else
typedef int rt_no_mpi_collectives; /* a C file must not be empty */
#endif
