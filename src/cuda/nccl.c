/* nccl: the transport for ranks with a GPU each; see nccl.h.
 *
 * A collective is issued at once, on the stream of its communicator. Collectives of a group are issued when
 * the group ends, so that NCCL has all of them before it waits for any. Messages of a pair and channel are
 * sent in the order of their sequence; a message that starts too early is kept. Messages of a rank to itself
 * are copies. */
#include "cuda/nccl.h"

static enum status get_nccl_status(const struct nccl *n)
{
	return rt_job_status(n->base.base.job);
}

static struct nccl_link *link_of(struct nccl *n, const struct rt_request *r)
{
	return cuda_is_message(r) ? r->place : &n->team[r->c.team];
}

/* ---- issuing */

static enum status message_step(struct nccl *n, const struct rt_request *r, int step)
{
	const struct rt_p2p *p = &r->message.p;
	const struct nccl_link *l = r->place;
	size_t bytes = (size_t)p->count * dtype_bytes(p->dtype);
	n->base.c->at = p->at;
	if (step != 1 || !bytes)
		return STATUS_OK;
	bool ok = p->send ? nccl_call(n, ncclSend, p->data, bytes, ncclUint8, 1, l->comm, l->stream)
	                  : nccl_call(n, ncclRecv, p->data, bytes, ncclUint8, 0, l->comm, l->stream);
	return ok ? STATUS_OK : get_nccl_status(n);
}

static enum status one_step(struct nccl *n, struct rt_request *first, int step)
{
	enum status status = STATUS_OK;
	for (struct rt_request *r = first; r && status == STATUS_OK; r = r->behind)
		status = cuda_is_message(r) ? message_step(n, r, step) : nccl_collective_step(n, r, step);
	return status;
}

bool nccl_group_opened(struct nccl *n)
{
	if (!n->step_grouped)
		n->step_grouped = cuda_call_nccl(n->base.c, ncclGroupStart);
	return n->step_grouped;
}

/* Runs a step of all requests in one NCCL group, if any of them has a call in it. */
static enum status grouped_step(struct nccl *n, struct rt_request *first, int step)
{
	enum status status = one_step(n, first, step);
	if (!n->step_grouped)
		return status;
	n->step_grouped = false;
	if (status != STATUS_OK) {
		n->base.c->api->ncclGroupEnd(); /* the error has been reported */
		return status;
	}
	return cuda_call_nccl(n->base.c, ncclGroupEnd) ? STATUS_OK : get_nccl_status(n);
}

/* Gives scratch memory to all collectives that are issued together. */
static enum status give_scratch(struct nccl *n, struct rt_request *first)
{
	enum status status = STATUS_OK;
	for (struct rt_request *r = first; r; r = r->behind)
		link_of(n, r)->scratch_used = 0;
	for (struct rt_request *r = first; r && status == STATUS_OK; r = r->behind) {
		struct nccl_link *l = link_of(n, r);
		size_t bytes;
		if (cuda_is_message(r))
			continue;
		status = nccl_collective_scratch(n, r, &bytes);
		if (status != STATUS_OK || !bytes)
			continue;
		r->scratch = l->scratch_used;
		l->scratch_used += bytes;
		status = nccl_scratch(n, l, l->scratch_used, collective_name(r->c.kind));
	}
	return status;
}

/* Gives a list of requests to the device. */
static enum status issue_requests(struct nccl *n, struct rt_request *first)
{
	enum status status = give_scratch(n, first);
	for (int step = 0; step < NCCL_STEPS && status == STATUS_OK; step++)
		status = step % 2 ? grouped_step(n, first, step) : one_step(n, first, step);
	for (struct rt_request *r = first; r && status == STATUS_OK; r = r->behind)
		status = cuda_event_record(n->base.c, link_of(n, r)->stream, &r->event);
	return status;
}

/* Issues r now, or with its group. */
static enum status ready(struct nccl *n, struct rt_request *r)
{
	r->behind = NULL;
	if (!n->grouping)
		return issue_requests(n, r);
	*n->group_end = r;
	n->group_end = &r->behind;
	return STATUS_OK;
}

static enum status nccl_group_begin(struct rt_transport *t)
{
	struct nccl *n = (struct nccl *)t;
	n->grouping = true;
	n->group = NULL;
	n->group_end = &n->group;
	return STATUS_OK;
}

static enum status nccl_group_end(struct rt_transport *t, struct rt_origin at)
{
	struct nccl *n = (struct nccl *)t;
	n->grouping = false;
	n->base.c->at = at;
	enum status status = n->group ? issue_requests(n, n->group) : STATUS_OK;
	n->group = NULL;
	return status == STATUS_OK ? status : rt_job_fail(t->job, status);
}

/* ---- starts */

static enum status start_collective(struct nccl *n, struct rt_request *r)
{
	struct nccl_link *l = &n->team[r->c.team];
	n->base.c->at = r->c.at;
	if (n->base.base.team[r->c.team].n > 1)
		rt_transport_count(&n->base.base, &r->c);
	enum status status = cuda_await(n->base.c, l->stream, r->c.after);
	return status == STATUS_OK ? ready(n, r) : status;
}

/* Issues a message whose turn has come: after its own event and, if it was kept, after the event of its
 * data. */
static enum status take_turn(struct nccl *n, struct nccl_link *l, struct rt_request *r)
{
	enum status status = cuda_await(n->base.c, l->stream, r->ready ? r->ready : r->message.p.after);
	l->next++;
	return status == STATUS_OK ? ready(n, r) : status;
}

static struct rt_request *take_held(struct nccl_link *l)
{
	for (struct rt_request **at = &l->held; *at; at = &(*at)->behind)
		if ((*at)->message.p.sequence == l->next) {
			struct rt_request *r = *at;
			*at = r->behind;
			return r;
		}
	return NULL;
}

static enum status to_itself(struct nccl *n, struct rt_request *r)
{
	int woken;
	return cuda_messages_post(n->base.messages, n->base.c, &n->itself, &r->message, &woken);
}

static enum status start_message(struct nccl *n, struct rt_request *r)
{
	const struct rt_p2p *p = &r->message.p;
	int rank = n->base.base.job->rank;
	n->base.c->at = p->at;
	if (p->peer == rank)
		return to_itself(n, r);
	struct cuda_pair pair = {p->send ? rank : p->peer, p->send ? p->peer : rank, p->channel};
	struct nccl_link *l = r->place = nccl_pair_find(n, pair);
	if (!l) {
		rt_job_error_at(n->base.base.job, p->at,
		                "no communicator was made for messages of rank %d to rank %d on channel %u",
		                pair.sender, pair.receiver, pair.channel);
		return STATUS_INTERNAL;
	}
	if (p->sequence != l->next) {
		r->behind = l->held;
		l->held = r;
		return cuda_stream_pool_event(n->base.c, &n->base.spare, p->after, &r->ready);
	}
	enum status status = take_turn(n, l, r);
	while (status == STATUS_OK && (r = take_held(l)))
		status = take_turn(n, l, r);
	return status;
}

/* Returns a new request. A request that fails is freed with the transport. */
static enum status return_nccl_request(struct nccl *n, struct rt_request *r, enum status status,
                                       struct rt_request **out)
{
	if (status != STATUS_OK)
		return rt_job_fail(n->base.base.job, status);
	*out = r;
	return STATUS_OK;
}

static enum status nccl_start(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out)
{
	struct nccl *n = (struct nccl *)t;
	struct rt_request *r = cuda_request_of(&n->base, c);
	return return_nccl_request(n, r, start_collective(n, r), out);
}

static enum status nccl_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out)
{
	struct nccl *n = (struct nccl *)t;
	struct rt_request *r = cuda_request_of_message(&n->base, p);
	return return_nccl_request(n, r, start_message(n, r), out);
}

static enum status poll_nccl_request(struct cuda_transport *t, struct rt_request *r)
{
	if (cuda_is_message(r) && !r->place)
		r->event = cuda_messages_issued(t->messages, t->c, &r->message);
	return STATUS_OK;
}

static enum status nccl_progress(struct rt_transport *t, bool *moved)
{
	struct nccl *n = (struct nccl *)t;
	(void)moved; /* the GPU makes progress by itself */
	enum status status = nccl_links_look(n);
	if (status != STATUS_OK)
		nccl_links_close(n, true);
	return status;
}

static enum status nccl_team(struct rt_transport *t, int id, const int *ranks, int members)
{
	struct nccl *n = (struct nccl *)t;
	(void)ranks, (void)members;
	n->team = mem_realloc(n->team, (size_t)(id + 1) * sizeof *n->team);
	n->team[id] = (struct nccl_link){0};
	return nccl_team_open(n, id);
}

/* ---- beginning and end */

static void free_scratch(struct nccl *n)
{
	struct rt_device *d = &n->base.c->base;
	for (uint32_t k = 0; k < n->outgrown.n; k++)
		rt_device_free(d, n->outgrown.at[k]);
	for (int k = 0; n->team && k < n->base.base.teams; k++)
		rt_device_free(d, n->team[k].scratch);
	for (int k = 0; k < n->pairs; k++)
		rt_device_free(d, n->pair[k].scratch);
	vec_free(&n->outgrown);
}

/* Before memory is freed the driver waits for the GPU, which never ends a collective that others do not
 * join. */
static void nccl_before_free(struct rt_transport *t)
{
	struct nccl *n = (struct nccl *)t;
	if (get_nccl_status(n) != STATUS_OK)
		nccl_links_close(n, true);
}

static void nccl_close(struct rt_transport *t)
{
	struct nccl *n = (struct nccl *)t;
	nccl_links_close(n, get_nccl_status(n) != STATUS_OK);
	while (n->base.first) {
		struct rt_request *r = n->base.first;
		if (cuda_is_message(r) && !r->place) {
			cuda_messages_withdraw(n->base.messages, n->base.c, &r->message);
			r->event = r->event ? r->event : r->message.done;
		}
		if (r->event)
			cuda_event_release(n->base.c, r->event);
		cuda_request_free(&n->base, r);
	}
	cuda_stream_pool_end(n->base.c, &n->base.spare);
	cuda_stream_pool_end(n->base.c, &n->itself);
	free_scratch(n);
	cuda_messages_free(n->base.messages);
	vec_free(&n->window);
	free(n->team);
	free(n->pair);
	free(n);
}

static const struct rt_transport_ops nccl_ops = {
    .kind = TRANSPORT_NCCL,
    .team = nccl_team,
    .start = nccl_start,
    .start_p2p = nccl_start_p2p,
    .progress = nccl_progress,
    .test = cuda_transport_test,
    .issued = cuda_transport_issued,
    .group_begin = nccl_group_begin,
    .group_end = nccl_group_end,
    .read = cuda_transport_read,
    .wait = cuda_transport_wait,
    .wake = cuda_transport_wake,
    .alloc = nccl_alloc,
    .free = nccl_free,
    .before_free = nccl_before_free,
    .close = nccl_close,
};

enum status cuda_nccl_open(struct rt_job *job, struct cuda *c, bool exact, struct rt_transport **out)
{
	enum status status = cuda_need(c, CUDA_NCCL);
	if (status != STATUS_OK)
		return status;
	struct nccl *n = mem_zalloc(sizeof *n);
	n->base.base.ops = &nccl_ops;
	n->base.base.job = job;
	n->base.c = c;
	n->base.bell = &n->bell;
	n->base.base.reorders = !exact;
	n->exact = exact;
	n->base.messages = cuda_messages_new();
	n->itself.most = 1;
	n->base.look = poll_nccl_request;
	*out = &n->base.base;
	return STATUS_OK;
}
