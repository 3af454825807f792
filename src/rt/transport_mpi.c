/* transport_mpi: nonblocking MPI, one communicator a team.
 *
 * Reductions run in the wide type (f32, f64, i64), so that each result is rounded once: other types are
 * converted before and after. Messages carry channel and sequence in the tag, since they may be posted in
 * another order than they were issued; they are synchronous, so that a send without receive never ends. */
#ifdef HIRC_HAVE_MPI
#include "base/arena.h"
#include "rt/bell.h"
#include "rt/mpi_call.h"
#include "rt/transport.h"
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	SEQUENCE_BITS = 20,    /* of a tag; the channel has the 11 above */
	PIECE_BYTES = 1 << 30, /* longest single message */
	FIRST_SLEEP_US = 5,    /* between looks while MPI has work */
	LONGEST_SLEEP_US = 200,
};

struct mpi {
	struct rt_transport base;
	MPI_Comm messages;
	MPI_Comm *team;           /* by id; MPI_COMM_NULL where this rank is no member */
	MPI_Op minimum, maximum;  /* MPI's own leave open what NaN does */
	struct rt_bell bell;      /* rung by wake */
	int under_way;            /* requests */
	struct rt_request *first; /* of them, by next */
	int64_t sleep_us;         /* of the next wait */
};

struct rt_request {
	struct rt_request *next, **link; /* link: where the pointer to this request stands */
	struct rt_collective c;          /* kind RT_COLLECTIVE_COUNT: a message */
	bool send;                       /* message */
	int peer;
	int64_t bytes; /* message */
	struct rt_origin at;
	void *wide_in, *wide_out; /* reductions in another type than the buffers'; else NULL */
	int64_t out_count;        /* elements of out (reductions) */
	int members;
	int *counts, *offsets; /* as MPI takes them */
	int *send_counts, *send_offsets;
	int pieces;
	MPI_Request *piece;
};

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

DEFINE_OP(op_minimum, RT_MIN)
DEFINE_OP(op_maximum, RT_MAX)

static MPI_Datatype moved_type(enum rt_dtype t)
{
	switch (rt_dtype_size(t)) {
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

static MPI_Datatype wide_type(enum rt_dtype t)
{
	enum rt_dtype wide = rt_dtype_wide(t);
	return wide == RT_F64 ? MPI_DOUBLE : wide == RT_F32 ? MPI_FLOAT : MPI_INT64_T;
}

static MPI_Op reduce_op(struct mpi *m, enum rt_reduce_op op)
{
	return op == RT_PROD ? MPI_PROD : op == RT_MIN ? m->minimum : op == RT_MAX ? m->maximum : MPI_SUM;
}

static void release(struct rt_request *r)
{
	free(r->wide_in);
	free(r->wide_out);
	free(r->counts);
	free(r->offsets);
	free(r->send_counts);
	free(r->send_offsets);
	free(r->piece);
	free(r);
}

static void request_free(struct mpi *m, struct rt_request *r)
{
	m->under_way--;
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	release(r);
}

static struct rt_request *request_new(struct mpi *m, int pieces)
{
	struct rt_request *r = mem_zalloc(sizeof *r);
	r->piece = mem_alloc((size_t)(pieces ? pieces : 1) * sizeof(MPI_Request));
	for (int i = 0; i < pieces; i++)
		r->piece[i] = MPI_REQUEST_NULL;
	r->pieces = pieces;
	r->next = m->first;
	r->link = &m->first;
	if (r->next)
		r->next->link = &r->next;
	m->first = r;
	m->under_way++;
	m->sleep_us = FIRST_SLEEP_US;
	return r;
}

/* Counts and offsets as ints; false if they do not fit (a message was printed). */
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
			                rt_collective_name(r->c.kind), INT_MAX);
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
	bool in_place = c->in == (char *)c->out + (size_t)r->offsets[index] * rt_dtype_size(c->dtype);
	return RT_MPI(job, MPI_Iallgatherv(in_place ? MPI_IN_PLACE : c->in, in_place ? 0 : r->counts[index],
	                                   type, c->out, r->counts, r->offsets, type, comm, r->piece));
}

static bool start_allreduce(struct mpi *m, struct rt_request *r, MPI_Comm comm)
{
	const struct rt_collective *c = &r->c;
	enum rt_dtype wide = rt_dtype_wide(c->dtype);
	void *out = c->out;
	const void *in = c->in;
	if (c->dtype != wide) {
		out = r->wide_out = mem_alloc((size_t)c->count * rt_dtype_size(wide));
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
	enum rt_dtype wide = rt_dtype_wide(c->dtype);
	size_t size = rt_dtype_size(c->dtype), wide_size = rt_dtype_size(wide);
	if (!fill_counts(job, r, true))
		return false;
	/* One block after the other in the wide type; a copy also where the result lies inside. */
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

/* What changes no reduction. */
static void fill_neutral(enum rt_reduce_op op, enum rt_dtype wide, void *at, int64_t n)
{
	double f = op == RT_PROD ? 1 : op == RT_MIN ? INFINITY : op == RT_MAX ? -INFINITY : 0;
	int64_t k = op == RT_PROD ? 1 : op == RT_MIN ? INT64_MAX : op == RT_MAX ? INT64_MIN : 0;
	for (int64_t i = 0; i < n; i++)
		if (wide == RT_I64)
			((int64_t *)at)[i] = k;
		else
			rt_store_f64(wide, (char *)at + (size_t)i * rt_dtype_size(wide), f);
}

static bool start_reduce(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index)
{
	const struct rt_collective *c = &r->c;
	enum rt_dtype wide = rt_dtype_wide(c->dtype);
	bool root = index == c->root;
	r->wide_in = mem_alloc((size_t)c->count * rt_dtype_size(wide));
	if (c->in)
		rt_convert(wide, r->wide_in, c->dtype, c->in, (size_t)c->count);
	else
		fill_neutral(c->op, wide, r->wide_in, c->count);
	if (root && c->dtype != wide)
		r->wide_out = mem_alloc((size_t)c->count * rt_dtype_size(wide));
	r->out_count = root ? c->count : 0;
	r->members -= !c->in; /* of the mean */
	return RT_MPI(m->base.job, MPI_Ireduce(r->wide_in,
	                                       r->wide_out ? r->wide_out
	                                       : root      ? c->out
	                                                   : NULL,
	                                       (int)c->count, wide_type(c->dtype), reduce_op(m, c->op),
	                                       c->root, comm, r->piece));
}

/* Open MPI takes equal addresses of both buffers for MPI_IN_PLACE, on the rank where they are equal: a buffer
 * of which nothing is moved, which may be any, gets an address of its own. */
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
	if (c->kind == RT_GATHER)
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
			                rt_collective_name(c->kind), INT_MAX);
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
	if (c->kind == RT_BROADCAST) {
		if (index == c->root && c->in != c->out && c->count)
			memcpy(c->out, c->in, (size_t)c->count * rt_dtype_size(c->dtype));
		return RT_MPI(job, MPI_Ibcast(c->out, (int)c->count, type, c->root, comm, r->piece));
	}
	if (index == c->root)
		return RT_MPI(job, MPI_Issend(c->in, (int)c->count, type, 1 - index, 0, comm, r->piece));
	return RT_MPI(job, MPI_Irecv(c->out, (int)c->count, type, c->root, 0, comm, r->piece));
}

/* Bytes as struct rt_counter says, wherever MPI really sends them. */
static void count(struct mpi *m, const struct rt_collective *c)
{
	const struct rt_team *team = &m->base.team[c->team];
	struct rt_counter *n = &m->base.counter[rt_collective_counted(c)];
	int64_t size = (int64_t)rt_dtype_size(c->dtype), others = team->n - 1;
	int64_t total = rt_collective_total(c, team->n) * size, own;
	switch (c->kind) {
	case RT_ALLGATHER:
	case RT_REDUCE_SCATTER:
		own = rt_collective_block(c, team->index).count * size;
		n->bytes_sent += c->kind == RT_ALLGATHER ? own * others : total - own;
		n->bytes_received += c->kind == RT_ALLGATHER ? total - own : own * others;
		break;
	case RT_ALLREDUCE:
		own = rt_even_block(c->count, team->n, team->index).count * size;
		n->bytes_sent += total - own + own * others;
		n->bytes_received += total - own + own * others;
		break;
	case RT_REDUCE:
		*(team->index == c->root ? &n->bytes_received : &n->bytes_sent) +=
		    team->index == c->root ? total * others : total;
		break;
	case RT_GATHER:
	case RT_SCATTER:
		own = rt_collective_block(c, team->index).count * size;
		*((team->index == c->root) == (c->kind == RT_GATHER) ? &n->bytes_received : &n->bytes_sent) +=
		    team->index == c->root ? total - own : own;
		break;
	case RT_ALL_TO_ALL:
	case RT_ALL_TO_ALLV:
		for (int i = 0; i < team->n; i++) {
			n->bytes_sent += i == team->index ? 0 : rt_collective_send_block(c, i).count * size;
			n->bytes_received += i == team->index ? 0 : rt_collective_block(c, i).count * size;
		}
		break;
	case RT_BARRIER:
		break;
	default:
		if (team->index == c->root)
			n->bytes_sent += total * others;
		else
			n->bytes_received += total;
		break;
	}
}

static enum status mpi_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	struct mpi *m = (struct mpi *)t;
	const struct rt_team *team = &t->team[c->team];
	MPI_Comm comm = m->team[c->team];
	if (c->count > INT_MAX && !c->counts) {
		rt_job_error_at(t->job, c->at, "%s of more than %d elements is too large for MPI",
		                rt_collective_name(c->kind), INT_MAX);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	struct rt_request *r = request_new(m, 1);
	r->c = *c;
	r->at = c->at;
	r->members = team->n;
	bool ok = false;
	switch (c->kind) {
	case RT_ALLGATHER:
		ok = start_allgather(m, r, comm, team->index);
		break;
	case RT_ALLREDUCE:
		ok = start_allreduce(m, r, comm);
		break;
	case RT_REDUCE_SCATTER:
		ok = start_reduce_scatter(m, r, comm, team->index);
		break;
	case RT_REDUCE:
		ok = start_reduce(m, r, comm, team->index);
		break;
	case RT_GATHER:
	case RT_SCATTER:
		ok = start_blocks_of_root(m, r, comm, team->index);
		break;
	case RT_ALL_TO_ALL:
	case RT_ALL_TO_ALLV:
		ok = start_exchange(m, r, comm);
		break;
	case RT_BROADCAST:
	case RT_SEND_RECV:
		ok = start_from_root(m, r, comm, team->index);
		break;
	case RT_BARRIER:
		ok = RT_MPI(t->job, MPI_Ibarrier(comm, r->piece));
		break;
	case RT_COLLECTIVE_COUNT:
		break;
	}
	if (!ok) {
		request_free(m, r);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	count(m, c);
	*out = r;
	return STATUS_OK;
}

static enum status mpi_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	struct mpi *m = (struct mpi *)t;
	struct rt_counter *n = &t->counter[RT_COUNTER_P2P];
	int64_t bytes = p->count * (int64_t)rt_dtype_size(p->dtype);
	int pieces = (int)((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
	if (p->channel >= RT_MAX_CHANNELS) {
		rt_job_error_at(t->job, p->at, "channel %u is above the limit of %d", p->channel,
		                RT_MAX_CHANNELS);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	int tag = (int)(p->channel << SEQUENCE_BITS | (p->sequence & ((1u << SEQUENCE_BITS) - 1)));
	struct rt_request *r = request_new(m, pieces ? pieces : 1);
	r->c.kind = RT_COLLECTIVE_COUNT;
	r->c.dtype = p->dtype;
	r->at = p->at;
	r->send = p->send;
	r->peer = p->peer;
	r->bytes = bytes;
	bool ok = true;
	for (int i = 0; i < r->pieces && ok; i++) {
		char *at = (char *)p->data + (int64_t)i * PIECE_BYTES;
		int64_t rest = bytes - (int64_t)i * PIECE_BYTES;
		int length = rest < PIECE_BYTES ? (int)rest : PIECE_BYTES;
		ok = p->send
		         ? RT_MPI(t->job,
		                  MPI_Issend(at, length, MPI_BYTE, p->peer, tag, m->messages, &r->piece[i]))
		         : RT_MPI(t->job,
		                  MPI_Irecv(at, length, MPI_BYTE, p->peer, tag, m->messages, &r->piece[i]));
	}
	if (!ok) {
		request_free(m, r);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	if (p->peer != t->job->rank) {
		if (p->send)
			n->bytes_sent += bytes;
		else
			n->bytes_received += bytes;
	}
	*out = r;
	return STATUS_OK;
}

/* What is left after MPI has reduced: the mean, and the rounding. */
static void finish(struct rt_request *r)
{
	const struct rt_collective *c = &r->c;
	size_t n = (size_t)r->out_count;
	void *from = r->wide_out ? r->wide_out : c->out;
	if (c->op == RT_AVG && c->dtype != RT_BOOL)
		for (size_t i = 0; i < n; i++)
			switch (rt_dtype_wide(c->dtype)) {
			case RT_F64:
				((double *)from)[i] /= r->members;
				break;
			case RT_F32:
				((float *)from)[i] /= (float)r->members;
				break;
			default:
				((int64_t *)from)[i] /= r->members;
				break;
			}
	if (r->wide_out)
		rt_convert(c->dtype, c->out, rt_dtype_wide(c->dtype), r->wide_out, n);
}

static enum status mpi_test(struct rt_transport *t, struct rt_request *r, bool *done)
{
	struct mpi *m = (struct mpi *)t;
	struct rt_job *job = t->job;
	*done = false;
	for (; r->pieces > 0; r->pieces--) {
		int flag = 0, got = 0, i = r->pieces - 1;
		MPI_Status status;
		if (!RT_MPI(job, MPI_Test(&r->piece[i], &flag, &status))) {
			request_free(m, r);
			return rt_job_fail(job, STATUS_INTERNAL);
		}
		if (!flag)
			return STATUS_OK;
		if (r->c.kind != RT_COLLECTIVE_COUNT || r->send)
			continue;
		int64_t want = r->bytes - (int64_t)i * PIECE_BYTES;
		MPI_Get_count(&status, MPI_BYTE, &got);
		if (got != (want < PIECE_BYTES ? want : PIECE_BYTES)) {
			rt_job_error_at(job, r->at, "recv of %lld bytes, but rank %d has sent %lld",
			                (long long)r->bytes, r->peer, (long long)i * PIECE_BYTES + got);
			request_free(m, r);
			return rt_job_fail(job, STATUS_DIAGNOSTICS);
		}
	}
	if (r->c.kind != RT_COLLECTIVE_COUNT && rt_collective_reduces(r->c.kind) && r->out_count)
		finish(r);
	request_free(m, r);
	m->sleep_us = FIRST_SLEEP_US;
	*done = true;
	return STATUS_OK;
}

static enum status mpi_progress(struct rt_transport *t, bool *moved)
{
	(void)t, (void)moved; /* MPI_Test does it */
	return STATUS_OK;
}

static enum status mpi_team(struct rt_transport *t, int id, const int *ranks, int n)
{
	struct mpi *m = (struct mpi *)t;
	m->team = mem_realloc(m->team, (size_t)(id + 1) * sizeof *m->team);
	m->team[id] = MPI_COMM_NULL;
	if (t->team[id].index < 0 || n == 1)
		return STATUS_OK;
	MPI_Group all, group;
	if (!RT_MPI(t->job, MPI_Comm_group(m->messages, &all)) ||
	    !RT_MPI(t->job, MPI_Group_incl(all, n, ranks, &group)) ||
	    !RT_MPI(t->job, MPI_Comm_create_group(m->messages, group, id, &m->team[id])) ||
	    !RT_MPI(t->job, MPI_Group_free(&group)) || !RT_MPI(t->job, MPI_Group_free(&all)))
		return rt_job_fail(t->job, STATUS_INTERNAL);
	return STATUS_OK;
}

static uint32_t mpi_read(struct rt_transport *t)
{
	return rt_bell_read(&((struct mpi *)t)->bell);
}

/* MPI cannot ring: while it has work, sleeps are short. */
static void mpi_wait(struct rt_transport *t, uint32_t seen, int64_t microseconds)
{
	struct mpi *m = (struct mpi *)t;
	if (m->under_way > 0) {
		if (microseconds < 0 || microseconds > m->sleep_us)
			microseconds = m->sleep_us;
		m->sleep_us = 2 * m->sleep_us < LONGEST_SLEEP_US ? 2 * m->sleep_us : LONGEST_SLEEP_US;
	}
	rt_bell_wait(&m->bell, seen, microseconds);
}

static void mpi_wake(struct rt_transport *t)
{
	rt_bell_ring(&((struct mpi *)t)->bell);
}

/* What a failed job leaves under way belongs to the bootstrap: MPI reads and writes it until MPI_Finalize. */
static void abandon(struct mpi *m)
{
	struct rt_mpi *boot = m->base.job->boot_state;
	while (m->first) {
		struct rt_request *r = m->first;
		m->first = r->next;
		for (int i = 0; r->c.kind == RT_COLLECTIVE_COUNT && !r->send && i < r->pieces; i++)
			if (r->piece[i] != MPI_REQUEST_NULL)
				RT_MPI(m->base.job, MPI_Cancel(&r->piece[i]));
		r->next = boot->abandoned;
		boot->abandoned = r;
	}
}

void rt_mpi_free_abandoned(struct rt_mpi *boot)
{
	for (struct rt_request *r = boot->abandoned, *next; r; r = next) {
		next = r->next;
		release(r);
	}
	boot->abandoned = NULL;
}

static void mpi_close(struct rt_transport *t)
{
	struct mpi *m = (struct mpi *)t;
	abandon(m);
	if (rt_job_status(t->job) ==
	    STATUS_OK) { /* else others may not come to these, and MPI_Abort follows */
		for (int i = 0; i < t->teams; i++)
			if (m->team[i] != MPI_COMM_NULL)
				RT_MPI(t->job, MPI_Comm_free(&m->team[i]));
		RT_MPI(t->job, MPI_Op_free(&m->minimum));
		RT_MPI(t->job, MPI_Op_free(&m->maximum));
		RT_MPI(t->job, MPI_Comm_free(&m->messages));
	}
	free(m->team);
	free(m);
}

static const struct rt_transport_ops mpi_ops = {
    .name = "mpi",
    .team = mpi_team,
    .start = mpi_start,
    .start_p2p = mpi_start_p2p,
    .progress = mpi_progress,
    .test = mpi_test,
    .read = mpi_read,
    .wait = mpi_wait,
    .wake = mpi_wake,
    .close = mpi_close,
};

enum status rt_mpi_open(struct rt_job *job, struct rt_transport **out)
{
	struct rt_mpi *boot = job->boot_state;
	struct mpi *m = mem_zalloc(sizeof *m);
	m->base.ops = &mpi_ops;
	m->base.job = job;
	m->sleep_us = FIRST_SLEEP_US;
	if (!RT_MPI(job, MPI_Comm_dup(boot->boot, &m->messages)) ||
	    !RT_MPI(job, MPI_Op_create(op_minimum, 1, &m->minimum)) ||
	    !RT_MPI(job, MPI_Op_create(op_maximum, 1, &m->maximum))) {
		free(m);
		return rt_job_fail(job, STATUS_INTERNAL);
	}
	*out = &m->base;
	return STATUS_OK;
}
#else
typedef int rt_no_mpi_transport; /* a file is not empty */
#endif
