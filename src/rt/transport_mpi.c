/* transport_mpi: uses nonblocking MPI, with one communicator a team.
 *
 * mpi_collective.c starts collectives. The tag of a message contains channel and sequence, since
 * messages may be posted in another order than they were issued. Messages are synchronous, so that a
 * send without receive never ends. */
#ifdef HIRC_HAVE_MPI
#include "rt/transport_mpi.h"
#include "base/arena.h"
#include <limits.h>
#include <stdlib.h>

enum {
	SEQUENCE_BITS = 20,    /* bits of a tag for the sequence; the channel has the 11 above */
	PIECE_BYTES = 1 << 30, /* longest single message */
	FIRST_SLEEP_US = 5,    /* first sleep while MPI has work */
	LONGEST_SLEEP_US = 200,
};

static void release_request(struct rt_request *r)
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
	mpi_progress_end(&m->progress);
	*r->link = r->next;
	if (r->next)
		r->next->link = r->link;
	release_request(r);
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
	mpi_progress_begin(&m->progress);
	m->sleep_us = FIRST_SLEEP_US;
	return r;
}

static enum status mpi_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	struct mpi *m = (struct mpi *)t;
	const struct rt_team *team = &t->team[c->team];
	MPI_Comm comm = m->team[c->team];
	if (c->count > INT_MAX && !c->counts) {
		rt_job_error_at(t->job, c->at, "%s of more than %d elements is too large for MPI",
		                collective_name(c->kind), INT_MAX);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	struct rt_request *r = request_new(m, 1);
	r->c = *c;
	r->at = c->at;
	r->members = team->n;
	if (!mpi_collective_start(m, r, comm, team->index)) {
		request_free(m, r);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	rt_transport_count(t, c);
	*out = r;
	return STATUS_OK;
}

static enum status mpi_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	struct mpi *m = (struct mpi *)t;
	struct rt_counter *n = &t->counter[RT_COUNTER_P2P];
	int64_t bytes = p->count * (int64_t)dtype_bytes(p->dtype);
	int pieces = (int)((bytes + PIECE_BYTES - 1) / PIECE_BYTES);
	if (p->channel >= RT_MAX_CHANNELS) {
		rt_job_error_at(t->job, p->at, "channel %u is above the limit of %d", p->channel,
		                RT_MAX_CHANNELS);
		return rt_job_fail(t->job, STATUS_INTERNAL);
	}
	int tag = (int)(p->channel << SEQUENCE_BITS | (p->sequence & ((1u << SEQUENCE_BITS) - 1)));
	struct rt_request *r = request_new(m, pieces ? pieces : 1);
	r->c.kind = COLLECTIVE_COUNT;
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

static enum status mpi_test(struct rt_transport *t, struct rt_request *r, bool *done)
{
	struct mpi *m = (struct mpi *)t;
	struct rt_job *job = t->job;
	*done = false;
	mpi_progress_tested(&m->progress);
	for (; r->pieces > 0; r->pieces--) {
		int flag = 0, got = 0, i = r->pieces - 1;
		MPI_Status status;
		if (!RT_MPI(job, MPI_Test(&r->piece[i], &flag, &status))) {
			request_free(m, r);
			return rt_job_fail(job, STATUS_INTERNAL);
		}
		if (!flag)
			return STATUS_OK;
		if (r->c.kind != COLLECTIVE_COUNT || r->send)
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
	if (r->c.kind != COLLECTIVE_COUNT && collective_reduces(r->c.kind) && r->out_count)
		mpi_collective_finish(r);
	request_free(m, r);
	m->sleep_us = FIRST_SLEEP_US;
	*done = true;
	return STATUS_OK;
}

static enum status mpi_progress(struct rt_transport *t, bool *moved)
{
	(void)t, (void)moved; /* MPI_Test moves the data */
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

/* Sleeps briefly while MPI has work, since MPI cannot ring. */
static void mpi_wait(struct rt_transport *t, uint32_t seen, int64_t microseconds)
{
	struct mpi *m = (struct mpi *)t;
	if (m->first) {
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

/* Leaves the requests of a failed job to the bootstrap: MPI may use them until MPI_Finalize. */
static void abandon(struct mpi *m)
{
	struct rt_mpi *boot = m->base.job->boot_state;
	while (m->first) {
		struct rt_request *r = m->first;
		m->first = r->next;
		for (int i = 0; r->c.kind == COLLECTIVE_COUNT && !r->send && i < r->pieces; i++)
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
		release_request(r);
	}
	boot->abandoned = NULL;
}

static void mpi_close(struct rt_transport *t)
{
	struct mpi *m = (struct mpi *)t;
	mpi_progress_close(&m->progress);
	abandon(m);
	if (rt_job_status(t->job) ==
	    STATUS_OK) { /* otherwise some ranks may not come here, and MPI_Abort follows */
		for (int i = 0; i < t->teams; i++)
			if (m->team[i] != MPI_COMM_NULL)
				RT_MPI(t->job, MPI_Comm_free(&m->team[i]));
		mpi_collective_free_ops(m);
		RT_MPI(t->job, MPI_Comm_free(&m->messages));
	}
	free(m->team);
	free(m);
}

static const struct rt_transport_ops mpi_ops = {
    .kind = TRANSPORT_MPI,
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
	mpi_progress_open(&m->progress, job, !boot->one_host);
	if (!RT_MPI(job, MPI_Comm_dup(boot->boot, &m->messages)) || !mpi_collective_make_ops(m)) {
		free(m);
		return rt_job_fail(job, STATUS_INTERNAL);
	}
	*out = &m->base;
	return STATUS_OK;
}
#else
typedef int rt_no_mpi_transport; /* a C file must not be empty */
#endif
