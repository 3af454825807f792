/* nccl_link: makes communicators.
 *
 * All members must make a communicator at the same time. A team's communicator is made when the team is
 * declared, which all ranks do in one order. Messages have a communicator for each sender, receiver and
 * channel, so that no message waits for one of another pair; for this the pairs of all ranks are sorted
 * first. NCCL connects two ranks at their first message, and the host waits for it. In a ring in which all
 * send first, no rank would reach its receive. So each pair sends one message, in sorted order, when its
 * communicator is made. */
#include "cuda/nccl.h"
#include "cuda/record.h"
#include <stdio.h>
#include <string.h>

enum {
	PROCESSORS_OF_MESSAGES = 64, /* most processors of a GPU that kernels of all pairs of a rank use
	                                together */
	MOST_OF_PAIR = 32,           /* most processors for one pair */
	SCRATCH_UNIT = 256,
};

static enum status get_link_status(const struct nccl *n)
{
	return rt_job_status(n->base.base.job);
}

/* Reports that two ranks are on one GPU, which NCCL refuses, and names them. */
static enum status report_refused_link(struct nccl *n, ncclResult_t r)
{
	struct cuda *c = n->base.c;
	const char *last = c->api->ncclGetLastError(NULL);
	rt_job_error(n->base.base.job,
	             "ncclCommInitRankConfig: %s: %s; ranks that share a GPU have --transport=%s, as "
	             "processes, and %s, "
	             "as threads",
	             c->api->ncclGetErrorString(r), last ? last : "", transport_kind_name(TRANSPORT_CUDA_IPC),
	             transport_kind_name(TRANSPORT_PEERS));
	return rt_job_fail(n->base.base.job, STATUS_ABSENT);
}

/* The properties of a communicator. */
struct plan {
	const int *rank; /* the members */
	int members, index;
	int most;   /* processors that its kernels use; 0: NCCL decides */
	int policy; /* of NCCL, NCCL_CTA_POLICY_…; 0: the usual one */
};

static enum status make_communicator(struct nccl *n, const struct plan *p, const ncclUniqueId *id,
                                     ncclComm_t *out)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	config.blocking = 1;
	if (p->most)
		config.maxCTAs = p->most;
	if (p->policy)
		config.CTAPolicy = p->policy;
	if (n->base.c->record)
		cuda_record_members(n->base.c->record, p->rank, p->members);
	ncclResult_t r = n->base.c->api->ncclCommInitRankConfig(out, p->members, *id, p->index, &config);
	if (r != ncclSuccess)
		*out = NULL;
	rt_job_progress(n->base.base.job);
	if (r == ncclInvalidUsage)
		return report_refused_link(n, r);
	return cuda_check_nccl(n->base.c, r, "ncclCommInitRankConfig") ? STATUS_OK : get_link_status(n);
}

/* Makes a communicator and its stream. */
static enum status link_open(struct nccl *n, struct nccl_link *l, const struct plan *p,
                             const ncclUniqueId *id)
{
	enum status status = cuda_stream_new(n->base.c, &l->stream);
	return status == STATUS_OK ? make_communicator(n, p, id, &l->comm) : status;
}

enum status nccl_team_more(struct nccl *n, int id, int policy, ncclComm_t *out)
{
	struct rt_job *job = n->base.base.job;
	const struct rt_team *team = &n->base.base.team[id];
	const struct plan p = {
	    .rank = team->rank, .members = team->n, .index = team->index, .policy = policy};
	ncclUniqueId own = {{0}}, *all;
	if (team->index == 0 && !cuda_call_nccl(n->base.c, ncclGetUniqueId, &own))
		return get_link_status(n);
	all = mem_alloc((size_t)job->size * sizeof *all);
	enum status status = rt_job_allgather(job, "a communicator", &own, sizeof own, all);
	if (status == STATUS_OK && team->index >= 0)
		status = make_communicator(n, &p, &all[team->rank[0]], out);
	free(all);
	return status;
}

enum status nccl_team_open(struct nccl *n, int id)
{
	const struct rt_team *team = &n->base.base.team[id];
	struct nccl_link *l = &n->team[id];
	enum status status = team->index < 0 ? STATUS_OK : cuda_stream_new(n->base.c, &l->stream);
	return status == STATUS_OK && team->n > 1 ? nccl_team_more(n, id, 0, &l->comm) : status;
}

enum status nccl_scratch(struct nccl *n, struct nccl_link *l, size_t bytes, const char *what)
{
	char text[64];
	void *at;
	if (bytes <= l->scratch_bytes)
		return STATUS_OK;
	if (bytes < 2 * l->scratch_bytes)
		bytes = 2 * l->scratch_bytes;
	bytes = (bytes + SCRATCH_UNIT - 1) / SCRATCH_UNIT * SCRATCH_UNIT;
	snprintf(text, sizeof text, "a receive buffer of %s", what);
	enum status status = rt_device_alloc(&n->base.c->base, bytes, text, &at);
	if (status != STATUS_OK)
		return status;
	if (l->scratch)
		vec_push(&n->outgrown, l->scratch);
	l->scratch = at;
	l->scratch_bytes = bytes;
	return STATUS_OK;
}

/* ---- pairs */

static int compare_pairs(const void *a, const void *b)
{
	const struct cuda_pair *x = a, *y = b;
	if (x->sender != y->sender)
		return x->sender < y->sender ? -1 : 1;
	if (x->receiver != y->receiver)
		return x->receiver < y->receiver ? -1 : 1;
	return x->channel == y->channel ? 0 : x->channel < y->channel ? -1 : 1;
}

static int compare_links(const void *a, const void *b)
{
	const struct nccl_link *x = a, *y = b;
	return compare_pairs(&x->pair, &y->pair);
}

/* Sorts pairs, and removes duplicates and pairs of a rank with itself. */
static int sort_pairs(struct cuda_pair *pair, int n)
{
	int left = 0;
	qsort(pair, (size_t)n, sizeof *pair, compare_pairs);
	for (int k = 0; k < n; k++)
		if (pair[k].sender != pair[k].receiver &&
		    (!left || compare_pairs(&pair[left - 1], &pair[k]) != 0))
			pair[left++] = pair[k];
	return left;
}

/* Gathers the lists of all ranks, one after the other; the caller frees them. *total: number of entries. NULL
 * after a failure. */
static void *gather_lists(struct rt_job *job, const char *what, const void *own, int n, size_t bytes,
                          int *total, enum status *status)
{
	int *count = mem_alloc((size_t)job->size * sizeof *count), most = 0;
	char *all = NULL, *mine = NULL;
	*status = rt_job_allgather(job, what, &n, sizeof n, count);
	*total = 0;
	for (int r = 0; r < job->size && *status == STATUS_OK; r++)
		most = count[r] > most ? count[r] : most;
	if (*status == STATUS_OK) {
		all = mem_alloc((size_t)job->size * (size_t)most * bytes + 1);
		mine = mem_zalloc((size_t)most * bytes + 1);
		if (n)
			memcpy(mine, own, (size_t)n * bytes);
		if (most)
			*status = rt_job_allgather(job, what, mine, (size_t)most * bytes, all);
	}
	for (int r = 0; r < job->size && *status == STATUS_OK; r++) {
		memmove(all + (size_t)*total * bytes, all + (size_t)r * (size_t)most * bytes,
		        (size_t)count[r] * bytes);
		*total += count[r];
	}
	if (*status != STATUS_OK) {
		free(all);
		all = NULL;
	}
	free(mine);
	free(count);
	return all;
}

/* Returns the largest number of pairs of one rank. */
static int most_of_rank(const struct cuda_pair *pair, int n, int ranks)
{
	int *count = mem_zalloc((size_t)ranks * sizeof *count), most = 1;
	for (int k = 0; k < n; k++) {
		count[pair[k].sender]++;
		count[pair[k].receiver]++;
	}
	for (int r = 0; r < ranks; r++)
		most = count[r] > most ? count[r] : most;
	free(count);
	return most;
}

/* Sends the first message of a pair, of one byte, so that NCCL connects both sides. */
static enum status connect_pair(struct nccl *n, struct nccl_link *l, bool sends)
{
	enum status status = nccl_scratch(n, l, 1, "the first message");
	if (status != STATUS_OK)
		return status;
	bool ok = sends
	              ? cuda_call_nccl(n->base.c, ncclSend, l->scratch, 1, ncclUint8, 1, l->comm, l->stream)
	              : cuda_call_nccl(n->base.c, ncclRecv, l->scratch, 1, ncclUint8, 0, l->comm, l->stream);
	return ok ? STATUS_OK : get_link_status(n);
}

/* Adds pairs; ids: one for each. No message may be in flight. */
static enum status open_pairs(struct nccl *n, const struct cuda_pair *pair, int pairs,
                              const ncclUniqueId *ids)
{
	int rank = n->base.base.job->rank;
	int most = PROCESSORS_OF_MESSAGES / most_of_rank(pair, pairs, n->base.base.job->size);
	enum status status = STATUS_OK;
	struct nccl_link *all = mem_zalloc((size_t)(n->pairs + pairs) * sizeof *all + 1);
	if (n->pairs)
		memcpy(all, n->pair, (size_t)n->pairs * sizeof *all);
	free(n->pair);
	n->pair = all;
	for (int k = 0; k < pairs && status == STATUS_OK; k++) {
		if (pair[k].sender != rank && pair[k].receiver != rank)
			continue;
		struct nccl_link *l = &n->pair[n->pairs++];
		l->pair = pair[k];
		const int member[] = {pair[k].sender, pair[k].receiver};
		const struct plan p = {.rank = member,
		                       .members = 2,
		                       .index = pair[k].receiver == rank,
		                       .most = most < 1              ? 1
		                               : most > MOST_OF_PAIR ? MOST_OF_PAIR
		                                                     : most};
		status = link_open(n, l, &p, &ids[k]);
		if (status == STATUS_OK)
			status = connect_pair(n, l, pair[k].sender == rank);
	}
	if (n->pairs)
		qsort(n->pair, (size_t)n->pairs, sizeof *n->pair, compare_links);
	return status;
}

/* Makes only the pairs of this rank, for recorded calls, where no other rank tells its pairs. */
static enum status record_pairs(struct nccl *n, const struct cuda_pair *pairs, int count)
{
	struct cuda_pair *own = mem_zalloc((size_t)count * sizeof *own + 1);
	ncclUniqueId *id = mem_zalloc((size_t)count * sizeof *id + 1);
	if (count)
		memcpy(own, pairs, (size_t)count * sizeof *own);
	enum status status = open_pairs(n, own, sort_pairs(own, count), id);
	free(id);
	free(own);
	return status;
}

enum status cuda_nccl_pairs(struct rt_transport *t, const struct cuda_pair *pairs, int n)
{
	struct nccl *own = (struct nccl *)t;
	struct rt_job *job = t->job;
	enum status status;
	int total, made = 0, ids = 0;
	if (t->ops->kind != TRANSPORT_NCCL)
		return STATUS_OK;
	if (own->base.c->record)
		return record_pairs(own, pairs, n);
	struct cuda_pair *all = gather_lists(job, "the messages", pairs, n, sizeof *pairs, &total, &status);
	if (!all)
		return status;
	total = sort_pairs(all, total);
	ncclUniqueId *mine = mem_zalloc((size_t)total * sizeof *mine + 1), *id = NULL;
	for (int k = 0; k < total && status == STATUS_OK; k++) /* in the order of their senders */
		if (all[k].sender == job->rank &&
		    !cuda_call_nccl(own->base.c, ncclGetUniqueId, &mine[made++]))
			status = get_link_status(own);
	if (status == STATUS_OK)
		id = gather_lists(job, "the communicators of messages", mine, made, sizeof *mine, &ids,
		                  &status);
	if (id)
		status = open_pairs(own, all, total, id);
	free(id);
	free(mine);
	free(all);
	return status;
}

struct nccl_link *nccl_pair_find(const struct nccl *n, struct cuda_pair pair)
{
	int low = 0, high = n->pairs;
	while (low < high) {
		int middle = (low + high) / 2;
		int order = compare_pairs(&n->pair[middle].pair, &pair);
		if (order == 0)
			return &n->pair[middle];
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return NULL;
}

/* ---- all of them */

static struct nccl_link *link_at(struct nccl *n, int k)
{
	int teams = n->team ? n->base.base.teams : 0, more = k - teams - n->pairs;
	if (more >= 0)
		return more < (int)n->window.n ? &n->window.at[more].link : NULL;
	return k < teams ? &n->team[k] : &n->pair[k - teams];
}

enum status nccl_links_look(struct nccl *n)
{
	struct cuda *c = n->base.c;
	struct nccl_link *l;
	for (int k = 0; !n->aborted && (l = link_at(n, k)); k++) {
		ncclResult_t found = ncclSuccess;
		if (!l->comm)
			continue;
		ncclResult_t r = c->api->ncclCommGetAsyncError(l->comm, &found);
		if (r == ncclSuccess && (found == ncclSuccess || found == ncclInProgress))
			continue;
		cuda_check_nccl(c, r == ncclSuccess ? found : r, "ncclCommGetAsyncError");
		return get_link_status(n);
	}
	return STATUS_OK;
}

void nccl_links_close(struct nccl *n, bool abort)
{
	struct cuda *c = n->base.c;
	struct nccl_link *l;
	for (int k = 0; (l = link_at(n, k)); k++) {
		if (l->comm && abort)
			c->api->ncclCommAbort(l->comm); /* the job has failed already */
		else if (l->comm && cuda_call_nccl(c, ncclCommFinalize, l->comm))
			cuda_call_nccl(c, ncclCommDestroy, l->comm);
		l->comm = NULL;
	}
	n->aborted = abort;
}
