/* peers: the transport for ranks that are threads of one process and share a GPU.
 *
 * All ranks can use each other's memory, streams and events. A member of a team posts its data, with an event
 * that it is ready, and continues. The member that arrives last gives the whole collective to its stream of
 * the team:
 *
 *     rank 0   posts ────────────────────────────────> issued: its event
 *     rank 1        posts ────────────────────────────> issued: its event
 *     rank 2             arrives last: its stream waits for the events of all, copies, reduces,
 *                        records an event for each
 *
 * Members match by the number of collectives of the team that they have started. A stream waits only for work
 * that is already issued, so streams cannot form a cycle. The lock of a team is held while a meeting changes
 * and while it is issued. So a rank that closes the transport knows that no other is about to use its
 * memory. */
#include "cuda/peers.h"
#include "cuda/peers_graph.h"
#include <pthread.h>

enum { SPARE_STREAMS = 8 /* for messages */ };

/* A collective that some members have reached. */
struct meeting {
	struct meeting *next;
	uint64_t sequence;
	int posted;
	struct rt_request *member[]; /* by index; NULL: has not arrived */
};

/* The meetings of a team, shared by its members. */
struct place {
	pthread_mutex_t lock;
	struct meeting *meeting, *last; /* meetings that are not complete, by sequence */
	bool closed;                    /* a member has left: nothing is issued any more */
};

/* Data that all ranks share. Rank 0 makes it; the last rank to close frees it. */
struct shared {
	_Atomic int users;
	struct cuda_messages *messages;
	struct peers_graph *graph;
	pthread_mutex_t lock;
	VEC(struct place *) place; /* owned; protected by the lock */
	struct rt_bell bell[];     /* by rank */
};

struct peers_team {
	struct place *place; /* NULL: the rank is not a member, or the only one */
	CUstream stream;
	uint64_t next; /* number of the next collective to start */
};

struct peers {
	struct cuda_transport base;
	struct shared *shared;
	struct peers_team *team; /* by id */
	struct peers_graph_rank graph;
};

static void wake(struct peers *p, int rank)
{
	if (rank != p->base.base.job->rank)
		rt_bell_ring(&p->shared->bell[rank]);
}

/* ---- meetings: under the lock of the place */

static struct meeting *meeting_of(struct place *l, uint64_t sequence, int n)
{
	struct meeting *m = l->last && l->last->sequence < sequence ? NULL : l->meeting;
	while (m && m->sequence != sequence)
		m = m->next;
	if (!m) {
		m = mem_zalloc(sizeof *m + (size_t)n * sizeof(struct rt_request *));
		m->sequence = sequence;
		*(l->last ? &l->last->next : &l->meeting) = m;
		l->last = m;
	}
	return m;
}

static void meeting_end(struct place *l, struct meeting *m)
{
	struct meeting *before = NULL;
	for (struct meeting *k = l->meeting; k != m; k = k->next)
		before = k;
	*(before ? &before->next : &l->meeting) = m->next;
	if (l->last == m)
		l->last = before;
	free(m);
}

/* Gives a collective to this rank's stream; this rank has arrived last. */
static enum status issue_meeting(struct peers *p, const struct rt_team *team, CUstream s, struct meeting *m)
{
	struct cuda *c = p->base.c;
	struct peers_part *part = mem_alloc((size_t)team->n * sizeof *part);
	enum status status = STATUS_OK;
	for (int k = 0; k < team->n; k++) {
		part[k] = (struct peers_part){.rank = team->rank[k], .c = m->member[k]->c};
		if (status == STATUS_OK)
			status = cuda_await(c, s, m->member[k]->ready);
	}
	if (status == STATUS_OK)
		status = peers_issue(c, s, part, team->n);
	free(part);
	CUevent *event = mem_zalloc((size_t)team->n * sizeof *event);
	for (int k = 0; k < team->n && status == STATUS_OK; k++)
		status = cuda_event_record(c, s, &event[k]);
	for (int k = 0; k < team->n && status == STATUS_OK; k++) {
		m->member[k]->place = NULL;
		m->member[k]->given = event[k];
		wake(p, team->rank[k]);
	}
	free(event);
	return status;
}

/* Joins a meeting. */
static enum status join_meeting(struct peers *p, struct rt_request *r)
{
	struct peers_team *t = &p->team[r->c.team];
	const struct rt_team *team = &p->base.base.team[r->c.team];
	struct meeting *m = meeting_of(t->place, t->next++, team->n);
	struct peers_part own = {.rank = p->base.base.job->rank, .c = r->c};
	for (int k = 0; k < team->n; k++)
		if (m->member[k]) {
			struct peers_part other = {.rank = team->rank[k], .c = m->member[k]->c};
			enum status status = peers_compare(p->base.base.job, &own, &other, team->n);
			if (status != STATUS_OK)
				return status;
			break; /* was compared with all the others */
		}
	m->member[team->index] = r;
	r->place = m;
	if (++m->posted < team->n)
		return STATUS_OK;
	enum status status = issue_meeting(p, team, t->stream, m);
	if (status == STATUS_OK)
		meeting_end(t->place, m);
	return status;
}

/* ---- starts */

static enum status start_collective(struct peers *p, struct rt_request *r)
{
	struct rt_transport *base = &p->base.base;
	struct peers_team *t = &p->team[r->c.team];
	struct cuda *c = p->base.c;
	c->at = r->c.at;
	enum status status = cuda_await(c, t->stream, r->c.after);
	if (status == STATUS_OK && !t->place) {
		status = cuda_collective_alone(c, t->stream, &r->c);
		return status == STATUS_OK ? cuda_event_record(c, t->stream, &r->event) : status;
	}
	if (status == STATUS_OK && collective_reduces(r->c.kind))
		status = cuda_reduces(base, &r->c);
	if (status == STATUS_OK)
		status = cuda_event_record(c, t->stream, &r->ready);
	if (status != STATUS_OK)
		return status;
	rt_transport_count(base, &r->c);
	pthread_mutex_lock(&t->place->lock);
	if (!t->place->closed)
		status = join_meeting(p, r);
	pthread_mutex_unlock(&t->place->lock);
	return status;
}

/* Takes back the data that this rank has posted, so that no other uses its memory. */
static void withdraw(struct peers *p, struct rt_request *r)
{
	if (cuda_is_message(r)) {
		cuda_messages_withdraw(p->shared->messages, p->base.c, &r->message);
		r->given = r->message.done;
		return;
	}
	const struct rt_team *team = &p->base.base.team[r->c.team];
	struct place *l = p->team[r->c.team].place;
	if (!l)
		return;
	pthread_mutex_lock(&l->lock);
	l->closed = true;
	struct meeting *m = r->place;
	if (m) {
		m->member[team->index] = NULL;
		if (--m->posted == 0)
			meeting_end(l, m);
	}
	pthread_mutex_unlock(&l->lock);
}

/* Drops a request, after the work that the GPU already has for it. */
static void drop_peers_request(struct peers *p, struct rt_request *r)
{
	withdraw(p, r);
	if (!r->event && r->given)
		cuda_stream_pool_follow(p->base.c, &p->base.spare, r->event = r->given);
	if (r->event)
		cuda_event_release(p->base.c, r->event);
	cuda_request_free(&p->base, r);
}

static enum status return_peers_request(struct peers *p, struct rt_request *r, enum status status,
                                        struct rt_request **out)
{
	if (status == STATUS_OK) {
		*out = r;
		return STATUS_OK;
	}
	drop_peers_request(p, r);
	return rt_job_fail(p->base.base.job, status);
}

static enum status peers_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	struct peers *p = (struct peers *)t;
	struct rt_request *r = cuda_request_of(&p->base, c);
	return return_peers_request(p, r, start_collective(p, r), out);
}

static enum status peers_start_p2p(struct rt_transport *t, const struct rt_p2p *x, struct rt_request **out)
{
	struct peers *p = (struct peers *)t;
	struct rt_request *r = cuda_request_of_message(&p->base, x);
	int woken;
	p->base.c->at = x->at;
	enum status status =
	    cuda_messages_post(p->shared->messages, p->base.c, &p->base.spare, &r->message, &woken);
	if (woken >= 0)
		wake(p, woken);
	return return_peers_request(p, r, status, out);
}

static enum status poll_peers_request(struct cuda_transport *t, struct rt_request *r)
{
	struct peers *p = (struct peers *)t;
	if (cuda_is_message(r)) {
		r->event = cuda_messages_issued(p->shared->messages, t->c, &r->message);
		return r->event ? cuda_stream_pool_follow(t->c, &t->spare, r->event) : STATUS_OK;
	}
	struct peers_team *team = &p->team[r->c.team];
	if (pthread_mutex_trylock(&team->place->lock) != 0) /* another rank is about to arrive */
		return STATUS_OK;
	r->event = r->given;
	pthread_mutex_unlock(&team->place->lock);
	/* the device must not be idle before it */
	return t->c->captured ? STATUS_OK : cuda_await(t->c, team->stream, r->event);
}

static enum status peers_progress(struct rt_transport *t, bool *moved)
{
	(void)moved; /* the rank that arrives last makes progress */
	cuda_rest((struct cuda_transport *)t, false);
	return STATUS_OK;
}

/* ---- teams */

static struct place *place_new(void)
{
	struct place *l = mem_zalloc(sizeof *l);
	pthread_mutex_init(&l->lock, NULL);
	return l;
}

/* Returns the place of a team. The first rank to ask makes it. */
static struct place *place_of(struct shared *all, int id)
{
	pthread_mutex_lock(&all->lock);
	while (all->place.n <= (uint32_t)id)
		vec_push(&all->place, place_new());
	struct place *l = all->place.at[id];
	pthread_mutex_unlock(&all->lock);
	return l;
}

static enum status peers_team(struct rt_transport *t, int id, const int *ranks, int n)
{
	struct peers *p = (struct peers *)t;
	(void)ranks;
	p->team = mem_realloc(p->team, (size_t)(id + 1) * sizeof *p->team);
	p->team[id] = (struct peers_team){0};
	if (t->team[id].index < 0)
		return STATUS_OK;
	if (n > 1)
		p->team[id].place = place_of(p->shared, id);
	return cuda_stream_new(p->base.c, &p->team[id].stream);
}

/* ---- graphs */

static enum status begin_peers_graph(struct rt_transport *t, void *stream)
{
	struct peers *p = (struct peers *)t;
	return peers_graph_begin(p->base.c, &p->graph, stream);
}

static enum status end_peers_graph(struct rt_transport *t, void *stream, void **graph)
{
	struct peers *p = (struct peers *)t;
	return peers_graph_end(p->base.c, &p->graph, stream, graph);
}

static enum status replay_peers_graph(struct rt_transport *t, void *stream, void *graph)
{
	struct peers *p = (struct peers *)t;
	return peers_graph_replay(p->base.c, &p->graph, stream, graph);
}

static void drop_peers_graph(struct rt_transport *t, void *stream)
{
	struct peers *p = (struct peers *)t;
	peers_graph_drop(p->base.c, &p->graph, stream);
}

static void free_peers_graph(struct rt_transport *t, void *graph)
{
	peers_graph_end_use(((struct peers *)t)->base.c, graph);
}

/* ---- beginning and end */

static struct shared *shared_new(int ranks)
{
	struct shared *all = mem_zalloc(sizeof *all + (size_t)ranks * sizeof *all->bell);
	atomic_init(&all->users, ranks);
	pthread_mutex_init(&all->lock, NULL);
	all->messages = cuda_messages_new();
	all->graph = peers_graph_new(ranks);
	return all;
}

static void shared_leave(struct shared *all)
{
	if (atomic_fetch_sub(&all->users, 1) != 1)
		return;
	for (uint32_t k = 0; k < all->place.n; k++) {
		pthread_mutex_destroy(&all->place.at[k]->lock);
		free(all->place.at[k]);
	}
	vec_free(&all->place);
	pthread_mutex_destroy(&all->lock);
	cuda_messages_free(all->messages);
	peers_graph_free(all->graph);
	free(all);
}

static void drop_peers_requests(struct rt_transport *t)
{
	struct peers *p = (struct peers *)t;
	while (p->base.first)
		drop_peers_request(p, p->base.first);
}

/* Closes the transport after the GPU is done, since work issued by any rank may use this rank's memory. */
static void peers_close(struct rt_transport *t)
{
	struct peers *p = (struct peers *)t;
	drop_peers_requests(t);
	for (int k = 0; k < t->teams; k++)
		if (p->team && p->team[k].stream)
			cuda_call(p->base.c, cuStreamSynchronize, p->team[k].stream);
	cuda_stream_pool_end(p->base.c, &p->base.spare);
	cuda_heap_free(p->base.heap);
	shared_leave(p->shared);
	free(p->team);
	free(p);
}

static const struct rt_transport_ops peers_ops = {
    .kind = TRANSPORT_PEERS,
    .team = peers_team,
    .start = peers_start,
    .start_p2p = peers_start_p2p,
    .progress = peers_progress,
    .test = cuda_transport_test,
    .issued = cuda_transport_issued,
    .heap = cuda_transport_heap,
    .side_by_side = cuda_transport_side_by_side,
    .read = cuda_transport_read,
    .wait = cuda_transport_wait,
    .wake = cuda_transport_wake,
    .graph_begin = begin_peers_graph,
    .graph_end = end_peers_graph,
    .replay = replay_peers_graph,
    .graph_drop = drop_peers_graph,
    .graph_free = free_peers_graph,
    .drop = drop_peers_requests,
    .close = peers_close,
};

enum status cuda_peers_open(struct rt_job *job, struct cuda *c, struct rt_transport **out)
{
	struct shared *own = job->rank == 0 ? shared_new(job->size) : NULL,
	              **all = mem_alloc((size_t)job->size * sizeof(struct shared *));
	enum status status = rt_job_allgather(job, "the transport", &own, sizeof(struct shared *), all);
	if (status == STATUS_OK) { /* otherwise it is left: others may use it */
		struct peers *p = mem_zalloc(sizeof *p);
		p->base.base.ops = &peers_ops;
		p->base.base.job = job;
		p->base.c = c;
		p->base.look = poll_peers_request;
		p->base.spare.most = SPARE_STREAMS;
		p->shared = all[0];
		p->graph.all = p->shared->graph;
		p->base.messages = p->shared->messages;
		p->base.bell = &p->shared->bell[job->rank];
		*out = &p->base.base;
	}
	free(all);
	return status;
}
