/* transport: the parts that the transports share. */
#include "rt/transport.h"
#include "base/arena.h"
#include "rt/transport_mixed.h"
#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_US = 20000 /* interval at which rt_transport_run tests if the job has failed */ };

#ifdef HIRC_HAVE_MPI
/* Returns true if some ranks can use shared memory, and others need MPI. */
static bool wants_mixed(const struct rt_job *job)
{
	const int *host = job->boot->hosts ? job->boot->hosts(job) : NULL;
	int hosts = 0;
	for (int r = 0; host && r < job->size; r++)
		hosts = host[r] >= hosts ? host[r] + 1 : hosts;
	return hosts > 1 && hosts < job->size && job->size <= RT_SHM_MAX_RANKS;
}

static enum status open_mixed(struct rt_job *job, struct rt_transport **out)
{
	struct rt_transport *far;
	enum status status = rt_mpi_open(job, &far);
	return status == STATUS_OK ? rt_mixed_open(job, job->boot->hosts(job), far, out) : status;
}
#endif

/* Chooses the transport for `auto`: shm, mpi or mixed. */
static enum transport_kind choose_kind(const struct rt_job *job, bool under_mpi)
{
#ifdef HIRC_HAVE_MPI
	if (under_mpi && wants_mixed(job))
		return TRANSPORT_MIXED;
#else
	(void)job;
#endif
	return under_mpi ? TRANSPORT_MPI : TRANSPORT_SHM;
}

static enum status refuse_hosts(struct rt_job *job, const char *name)
{
	struct buf others = {0};
	transport_kind_put(&others, TRANSPORT_ON_CPU | TRANSPORT_CROSSES_HOSTS, "or");
	rt_job_error(job, "transport %s needs all ranks on one host; for several use --transport=%s", name,
	             others.at);
	buf_free(&others);
	return rt_job_fail(job, STATUS_ABSENT);
}

enum status rt_transport_open(struct rt_job *job, enum transport_kind kind, struct rt_transport **out)
{
	bool under_mpi = strcmp(job->boot->name, "mpi") == 0;
	if (kind == TRANSPORT_AUTO)
		kind = choose_kind(job, under_mpi);
	const char *name = transport_kind_name(kind);
	if (!transport_kind_has(kind, TRANSPORT_ON_CPU)) {
		rt_job_error(job, "transport %s moves data between GPUs: it is of --target=cuda", name);
		return rt_job_fail(job, STATUS_ABSENT);
	}
	if (!transport_kind_has(kind, TRANSPORT_CROSSES_HOSTS) && !job->boot->shares(job))
		return refuse_hosts(job, name);
	if (kind == TRANSPORT_SHM)
		return rt_shm_open(job, out);
#ifdef HIRC_HAVE_MPI
	if (under_mpi)
		return kind == TRANSPORT_MIXED ? open_mixed(job, out) : rt_mpi_open(job, out);
	rt_job_error(job, "transport %s needs ranks that a launcher has started (mpirun -np %d hirc …)", name,
	             job->size);
#else
	rt_job_error(job, "this hirc was built without MPI: it has no transport %s", name);
#endif
	return rt_job_fail(job, STATUS_ABSENT);
}

void rt_transport_close(struct rt_transport *t)
{
	if (!t)
		return;
	struct rt_team *team = t->team;
	int teams = t->teams;
	t->ops->close(t);
	for (int i = 0; i < teams; i++)
		free(team[i].rank);
	free(team);
}

enum status rt_transport_team(struct rt_transport *t, const int *ranks, int n, int *id)
{
	assert(n >= 1);
	struct rt_team team = {.n = n, .index = -1, .rank = mem_alloc((size_t)n * sizeof *team.rank)};
	for (int i = 0; i < n; i++) {
		team.rank[i] = ranks[i];
		if (ranks[i] == t->job->rank)
			team.index = i;
		bool twice = false;
		for (int k = 0; k < i; k++)
			twice |= ranks[k] == ranks[i];
		if (twice)
			rt_job_error(t->job, "a team names device %d twice", ranks[i]);
		else if (ranks[i] < 0 || ranks[i] >= t->job->size)
			rt_job_error(t->job, "a team names device %d, but the job has %d ranks", ranks[i],
			             t->job->size);
		else
			continue;
		free(team.rank);
		return rt_job_fail(t->job, STATUS_USAGE);
	}
	t->team = mem_realloc(t->team, (size_t)(t->teams + 1) * sizeof *t->team);
	t->team[t->teams] = team;
	*id = t->teams++;
	return t->ops->team(t, *id, ranks, n);
}

static struct rt_block compute_block(int64_t count, const int64_t *counts, const int64_t *offsets, int index)
{
	struct rt_block b = {.count = counts ? counts[index] : count};
	if (offsets)
		b.offset = offsets[index];
	else if (!counts)
		b.offset = count * index;
	else
		for (int i = 0; i < index; i++)
			b.offset += counts[i];
	return b;
}

struct rt_block rt_collective_block(const struct rt_collective *c, int index)
{
	return compute_block(c->count, c->counts, c->offsets, index);
}

struct rt_block rt_collective_send_block(const struct rt_collective *c, int index)
{
	return compute_block(c->count, c->send_counts, c->send_offsets, index);
}

bool rt_collective_gives(const struct rt_collective *c, int from, int to)
{
	return collective_gives(c->kind, c->root, from, to);
}

/* Returns the block that a member shares with another, in a buffer that contains this part. */
static struct rt_block part_of(const struct rt_collective *c, enum collective_part part, int own,
                               struct rt_block each)
{
	switch (part) {
	case PART_EACH:
		return each;
	case PART_OWN:
		return (struct rt_block){.count = rt_collective_block(c, own).count};
	default:
		return (struct rt_block){.count = c->count};
	}
}

struct rt_block rt_collective_given(const struct rt_collective *c, int own, int to)
{
	return part_of(c, collective_in(c->kind), own,
	               collective_exchanges(c->kind) ? rt_collective_send_block(c, to)
	                                             : rt_collective_block(c, to));
}

struct rt_block rt_collective_taken(const struct rt_collective *c, int own, int from)
{
	return part_of(c, collective_out(c->kind), own, rt_collective_block(c, from));
}

struct rt_block rt_even_block(int64_t count, int n, int index)
{
	int64_t each = count / n, more = count % n;
	return (struct rt_block){.offset = each * index + (index < more ? index : more),
	                         .count = each + (index < more)};
}

int64_t rt_collective_total(const struct rt_collective *c, int members)
{
	if (!collective_has_blocks(c->kind))
		return c->count;
	int64_t total = 0;
	for (int i = 0; i < members; i++)
		total += c->counts ? c->counts[i] : c->count;
	return total;
}

int64_t rt_collective_common_total(const struct rt_collective *c, int members)
{
	bool root_knows = collective_is_rooted(c->kind) && collective_has_blocks(c->kind);
	return root_knows || collective_exchanges(c->kind) ? 0 : rt_collective_total(c, members);
}

void rt_collective_round(const struct rt_collective *c, int members, void *wide, void *out, int64_t count)
{
	size_t n = (size_t)count;
	if (c->op == REDUCE_AVG && c->dtype != DTYPE_BOOL)
		for (size_t i = 0; i < n; i++)
			switch (dtype_wide(c->dtype)) {
			case DTYPE_F64:
				((double *)wide)[i] /= members;
				break;
			case DTYPE_F32:
				((float *)wide)[i] /= (float)members;
				break;
			default:
				((int64_t *)wide)[i] /= members;
				break;
			}
	if (wide != out)
		rt_convert(c->dtype, out, dtype_wide(c->dtype), wide, n);
}

static void copy_own_bytes(void *to, const void *from, size_t bytes)
{
	if (to != from && bytes)
		memmove(to, from, bytes);
}

/* Does a collective of a team of one. */
static void local(const struct rt_collective *c)
{
	size_t size = dtype_bytes(c->dtype);
	struct rt_block from = rt_collective_given(c, 0, 0), to = rt_collective_taken(c, 0, 0);
	if (c->in)
		copy_own_bytes((char *)c->out + (size_t)to.offset * size,
		               (const char *)c->in + (size_t)from.offset * size, (size_t)to.count * size);
}

/* Counts an Allreduce as a reduce-scatter and an allgather. */
static void count_allreduce(struct rt_counter *n, const struct rt_collective *c, const struct rt_team *team)
{
	int64_t own = rt_even_block(c->count, team->n, team->index).count;
	int64_t bytes = (c->count + own * (team->n - 2)) * (int64_t)dtype_bytes(c->dtype);
	n->bytes_sent += bytes;
	n->bytes_received += bytes;
}

void rt_transport_count(struct rt_transport *t, const struct rt_collective *c)
{
	const struct rt_team *team = &t->team[c->team];
	struct rt_counter *n = &t->counter[rt_collective_counted(c)];
	int64_t size = (int64_t)dtype_bytes(c->dtype);
	if (c->kind == COLLECTIVE_ALLREDUCE) {
		count_allreduce(n, c, team);
		return;
	}
	for (int i = 0; i < team->n; i++) {
		if (i == team->index)
			continue;
		if (rt_collective_gives(c, team->index, i))
			n->bytes_sent += rt_collective_given(c, team->index, i).count * size;
		if (rt_collective_gives(c, i, team->index))
			n->bytes_received += rt_collective_taken(c, team->index, i).count * size;
	}
}

enum status rt_transport_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	assert(c->team >= 0 && c->team < t->teams && t->team[c->team].index >= 0);
	const struct rt_team *team = &t->team[c->team];
	if (team->n > 1)
		t->counter[rt_collective_counted(c)].operations++;
	else
		t->copies++;
	if (collective_is_rooted(c->kind) && (c->root < 0 || c->root >= team->n)) {
		rt_job_error_at(t->job, c->at, "root %d is no index of a team of %d", c->root, team->n);
		return rt_job_fail(t->job, STATUS_DIAGNOSTICS);
	}
	if (c->kind == COLLECTIVE_SEND_RECV && team->n > 2) {
		rt_job_error_at(t->job, c->at, "SendRecv in a team of %d: it takes two", team->n);
		return rt_job_fail(t->job, STATUS_DIAGNOSTICS);
	}
	if (team->n == 1 && !t->ops->issued) {
		local(c);
		*out = NULL;
		return STATUS_OK;
	}
	return t->ops->start(t, c, out);
}

enum status rt_transport_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	t->counter[RT_COUNTER_P2P].operations++;
	if (p->peer < 0 || p->peer >= t->job->size) {
		rt_job_error_at(t->job, p->at, "there is no rank %d to %s: the job has %d", p->peer,
		                p->send ? "send to" : "receive from", t->job->size);
		return rt_job_fail(t->job, STATUS_DIAGNOSTICS);
	}
	if (p->peer == t->job->rank)
		t->copies += p->send;
	else
		*(p->send ? &t->sends : &t->receives) += 1;
	return t->ops->start_p2p(t, p, out);
}

enum status rt_transport_run(struct rt_transport *t, const struct rt_collective *c)
{
	struct rt_request *r;
	struct rt_watch watch = {0};
	enum status status = rt_transport_start(t, c, &r);
	bool done = !r;
	while (status == STATUS_OK && !done) {
		uint32_t seen = t->ops->read(t);
		bool moved = false;
		status = t->ops->progress(t, &moved);
		if (status == STATUS_OK)
			status = t->ops->test(t, r, &done);
		if (status != STATUS_OK || done)
			break;
		if (moved) {
			rt_job_progress(t->job);
			continue;
		}
		status = rt_job_status(t->job);
		if (status == STATUS_OK && rt_watch_expired(&watch, t->job))
			status = rt_job_stuck(t->job, "a collective does not end");
		t->ops->wait(t, seen, LOOK_US);
	}
	return status;
}
