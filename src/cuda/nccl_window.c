/* nccl_window: the ranks' memory as NCCL's windows.
 *
 *     every rank            ncclMemAlloc        as many bytes as the rank that needs the most
 *     team 0, symmetric     one more communicator, and a window on all of the memory
 *     team 0, zero-cta      the same, by the policy that uses no processors
 *
 * NCCL uses a window for data that have the same place in it on all members; the caller has compared them. Where NCCL has
 * no window, because GPUs cannot reach each other's memory, it succeeds without one. */
#include "cuda/cuda_device.h"
#include "cuda/nccl.h"
#include "cuda/open.h"

/* The first versions of NCCL with windows, and with copy engines behind its policy. */
enum { WINDOWS_SINCE = NCCL_VERSION(2, 27, 0), ZERO_CTA_SINCE = NCCL_VERSION(2, 28, 0) };

static enum status get_window_status(const struct nccl *n)
{
	return rt_job_status(n->base.base.job);
}

/* ---- memory */

static size_t round_up(size_t bytes)
{
	return (bytes + NCCL_WIN_REQUIRED_ALIGNMENT - 1) / NCCL_WIN_REQUIRED_ALIGNMENT *
	       NCCL_WIN_REQUIRED_ALIGNMENT;
}

/* Finds the bytes of the rank that needs the most. */
static enum status find_most(struct rt_job *job, size_t bytes, size_t *out)
{
	size_t *all = mem_alloc((size_t)job->size * sizeof *all), most = 1;
	enum status status = rt_job_allgather(job, "the sizes of all memory", &bytes, sizeof bytes, all);
	for (int r = 0; r < job->size && status == STATUS_OK; r++)
		most = all[r] > most ? all[r] : most;
	free(all);
	*out = round_up(most);
	return status;
}

enum status nccl_alloc(struct rt_transport *t, struct rt_device *d, size_t bytes, const char *what,
                       void **out)
{
	struct nccl *n = (struct nccl *)t;
	if (!n->has_windows)
		return rt_device_alloc(d, bytes, what, out);
	enum status status = find_most(t->job, bytes, &n->memory_bytes);
	if (status != STATUS_OK)
		return status;
	if (!cuda_call_nccl(n->base.c, ncclMemAlloc, &n->memory, n->memory_bytes))
		return get_window_status(n);
	rt_device_count(d, (int64_t)n->memory_bytes);
	*out = n->memory;
	return cuda_device_poison(d, *out, bytes);
}

void nccl_free(struct rt_transport *t, struct rt_device *d, void *at)
{
	struct nccl *n = (struct nccl *)t;
	if (!n->memory) {
		rt_device_free(d, at);
		return;
	}
	for (uint32_t k = 0; k < n->window.n; k++)
		if (n->window.at[k].link.comm && n->window.at[k].window)
			cuda_call_nccl(n->base.c, ncclCommWindowDeregister, n->window.at[k].link.comm,
			               n->window.at[k].window);
	rt_device_count(d, -(int64_t)n->memory_bytes);
	cuda_call_nccl(n->base.c, ncclMemFree, n->memory);
	n->memory = NULL;
}

/* ---- windows */

unsigned cuda_transport_movers(struct rt_transport *t, enum mover asked)
{
	struct nccl *n = (struct nccl *)t;
	unsigned able = 1u << MOVER_TRANSPORT;
	int version = 0;
	if (t->ops->kind != TRANSPORT_NCCL)
		return able | 1u << MOVER_KERNEL;
	if (asked == MOVER_TRANSPORT || !n->base.c->api->ncclCommWindowRegister ||
	    !cuda_call_nccl(n->base.c, ncclGetVersion, &version))
		return able;
	if (version >= WINDOWS_SINCE)
		able |= 1u << MOVER_SYMMETRIC;
	if (version >= ZERO_CTA_SINCE)
		able |= 1u << MOVER_ZERO_CTA;
	n->has_windows = version >= WINDOWS_SINCE;
	return able;
}

/* Makes the communicator of a mover, and its window. *made: there is a window, or this rank is no member. Collective of
 * the whole job. */
static enum status open_window(struct nccl *n, int team, enum mover mover, bool *made)
{
	int policy = mover == MOVER_ZERO_CTA ? NCCL_CTA_POLICY_ZERO : NCCL_CTA_POLICY_DEFAULT;
	struct nccl_window w = {.team = team, .mover = mover};
	enum status status = nccl_team_more(n, team, policy, &w.link.comm);
	*made = true;
	if (!w.link.comm)
		return status;
	if (status == STATUS_OK && !cuda_call_nccl(n->base.c, ncclCommWindowRegister, w.link.comm, n->memory,
	                                           n->memory_bytes, &w.window, NCCL_WIN_COLL_SYMMETRIC))
		status = get_window_status(n);
	*made = w.window != NULL;
	vec_push(&n->window, w);
	return status;
}

/* Replaces each set by the union of all ranks' sets. */
static enum status unite_sets(struct rt_job *job, unsigned *set, int n)
{
	unsigned *all = mem_alloc((size_t)job->size * (size_t)n * sizeof *all);
	enum status status = rt_job_allgather(job, "the movers", set, (size_t)n * sizeof *set, all);
	for (int k = 0; k < job->size * n && status == STATUS_OK; k++)
		set[k % n] |= all[k];
	free(all);
	return status;
}

enum status cuda_nccl_windows(struct rt_transport *t, unsigned *set)
{
	struct nccl *n = (struct nccl *)t;
	if (t->ops->kind != TRANSPORT_NCCL || !n->has_windows || !t->teams)
		return STATUS_OK;
	unsigned *missing = mem_zalloc((size_t)t->teams * sizeof *missing);
	enum status status = unite_sets(t->job, set, t->teams);
	for (int team = 0; team < t->teams; team++)
		for (enum mover m = 0; m < MOVER_COUNT && status == STATUS_OK; m++) {
			bool made = true;
			if (mover_needs_window(m) && set[team] & 1u << m)
				status = open_window(n, team, m, &made);
			missing[team] |= (unsigned)!made << m;
		}
	if (status == STATUS_OK)
		status = unite_sets(t->job, missing, t->teams);
	for (int team = 0; team < t->teams; team++)
		set[team] &= ~missing[team];
	free(missing);
	return status;
}

ncclComm_t nccl_window_comm(const struct nccl *n, const struct rt_collective *c)
{
	for (uint32_t k = 0; k < n->window.n && mover_needs_window(c->mover); k++)
		if (n->window.at[k].team == c->team && n->window.at[k].mover == c->mover)
			return n->window.at[k].link.comm;
	return n->team[c->team].comm;
}
