/* gpu_assignment: see gpu_assignment.h. */
#include "cuda/gpu_assignment.h"
#include "base/str.h"
#include "cuda/cuda_transport.h"
#include <string.h>

/* The GPU of a rank. */
struct rank_gpu {
	int32_t host;    /* number of its host */
	int32_t ordinal; /* on its host */
	CUuuid uuid;
	bool exports; /* other processes can open its memory */
};

/* ---- the GPU of this rank */

/* Counts the ranks before `end` on the host of this rank. */
static int ranks_of_host(const struct rt_job *job, int end)
{
	const int *host = job->boot->hosts ? job->boot->hosts(job) : NULL;
	int n = 0;
	for (int r = 0; r < end; r++)
		n += !host || host[r] == host[job->rank];
	return n;
}

enum status cuda_gpu_take(struct cuda *c)
{
	struct rt_job *job = c->base.job;
	int count = 0;
	CUresult r = c->api->cuInit(0);
	bool none = r == CUDA_ERROR_NO_DEVICE;
	if (!none && (!cuda_check(c, r, "cuInit") || !cuda_call(c, cuDeviceGetCount, &count)))
		return rt_job_status(job);
	if (none || !count) {
		rt_job_error(job, "--target=cuda needs a GPU: the driver shows none");
		return rt_job_fail(job, STATUS_ABSENT);
	}
	c->ordinal = ranks_of_host(job, job->rank) % count;
	c->base.devices = count;
	c->base.sharers = 1 + (ranks_of_host(job, job->size) - 1 - c->ordinal) / count;
	return cuda_call(c, cuDeviceGet, &c->device, c->ordinal) ? STATUS_OK : rt_job_status(job);
}

/* ---- those of all */

/* Returns true if both ranks use one GPU. */
static bool is_same(const struct rank_gpu *a, const struct rank_gpu *b)
{
	return a->host == b->host && memcmp(&a->uuid, &b->uuid, sizeof a->uuid) == 0;
}

static bool some_share(const struct rank_gpu *gpu, int ranks)
{
	for (int r = 0; r < ranks; r++)
		for (int k = 0; k < r; k++)
			if (is_same(&gpu[r], &gpu[k]))
				return true;
	return false;
}

static bool all_share(const struct rank_gpu *gpu, int ranks)
{
	for (int r = 1; r < ranks; r++)
		if (!is_same(&gpu[r], &gpu[0]))
			return false;
	return true;
}

/* Gathers the GPUs of all ranks, by rank; the caller frees them. NULL after a failure. */
static struct rank_gpu *gather_gpus(struct cuda *c)
{
	struct rt_job *job = c->base.job;
	const int *host = job->boot->hosts ? job->boot->hosts(job) : NULL;
	struct rank_gpu own, *gpu;
	int exports = 0;
	memset(&own, 0, sizeof own);
	own.host = host ? host[job->rank] : 0;
	own.ordinal = c->ordinal;
	if (!cuda_call(c, cuDeviceGetUuid, &own.uuid, c->device) ||
	    !cuda_call(c, cuDeviceGetAttribute, &exports, CU_DEVICE_ATTRIBUTE_IPC_EVENT_SUPPORTED, c->device))
		return NULL;
	own.exports = exports;
	gpu = mem_alloc((size_t)job->size * sizeof *gpu);
	if (rt_job_allgather(job, "the GPUs", &own, sizeof own, gpu) == STATUS_OK)
		return gpu;
	free(gpu);
	return NULL;
}

/* Finds the first rank whose GPU this one cannot reach; -1: none, among the GPUs that its process sees. */
static enum status find_far(struct cuda *c, const struct rank_gpu *gpu, int32_t *out)
{
	struct rt_job *job = c->base.job;
	int count = 0;
	*out = -1;
	if (!cuda_call(c, cuDeviceGetCount, &count))
		return rt_job_status(job);
	for (int k = 0; k < count; k++) {
		struct rank_gpu there = {.host = gpu[job->rank].host};
		CUdevice device;
		int can = 1;
		if (!cuda_call(c, cuDeviceGet, &device, k) ||
		    !cuda_call(c, cuDeviceGetUuid, &there.uuid, device))
			return rt_job_status(job);
		if (device != c->device && !cuda_call(c, cuDeviceCanAccessPeer, &can, c->device, device))
			return rt_job_status(job);
		for (int r = 0; r < job->size && !can; r++)
			if (is_same(&gpu[r], &there) && (*out < 0 || r < *out))
				*out = r;
	}
	return STATUS_OK;
}

/* ---- refusals: STATUS_OK where there is nothing to refuse */

static enum status check_reach(struct cuda *c, const struct rank_gpu *gpu)
{
	struct rt_job *job = c->base.job;
	int32_t far = -1, *all = mem_alloc((size_t)job->size * sizeof *all);
	enum status status = find_far(c, gpu, &far);
	if (status == STATUS_OK)
		status = rt_job_allgather(job, "which GPUs are far", &far, sizeof far, all);
	int r = 0;
	while (r < job->size && status == STATUS_OK && all[r] < 0)
		r++;
	if (status == STATUS_OK && r < job->size)
		status = cuda_refuse(job, STATUS_ABSENT,
		                     "transport %s: the GPUs %d and %d, of ranks %d and %d, cannot reach "
		                     "each other's memory (cuDeviceCanAccessPeer); --transport=%s goes "
		                     "another way, with a GPU for each rank, and CUDA_VISIBLE_DEVICES can "
		                     "leave one GPU to all ranks",
		                     transport_kind_name(TRANSPORT_CUDA_IPC), gpu[r].ordinal,
		                     gpu[all[r]].ordinal, r, all[r], transport_kind_name(TRANSPORT_NCCL));
	free(all);
	return status;
}

static enum status refuse_hosts(struct rt_job *job, enum transport_kind kind)
{
	struct buf others = {0};
	transport_kind_put(&others, TRANSPORT_ON_GPU | TRANSPORT_CROSSES_HOSTS, "or");
	enum status status =
	    cuda_refuse(job, STATUS_ABSENT,
	                "transport %s needs all ranks on one host; for several use --transport=%s, with a "
	                "GPU for each rank",
	                transport_kind_name(kind), others.at);
	buf_free(&others);
	return status;
}

static enum status check_ipc(struct cuda *c, const struct rank_gpu *gpu)
{
	struct rt_job *job = c->base.job;
	const char *why = NULL;
	if (strcmp(job->boot->name, "thread") == 0)
		why = "needs ranks that are processes; those that are threads of one process have "
		      "--transport=peers";
	else if (job->size > RT_SHM_MAX_RANKS)
		why = "takes up to 256 ranks";
	if (why)
		return cuda_refuse(job, STATUS_ABSENT, "transport %s %s",
		                   transport_kind_name(TRANSPORT_CUDA_IPC), why);
	for (int r = 0; r < job->size; r++)
		if (!gpu[r].exports)
			return cuda_refuse(
			    job, STATUS_ABSENT,
			    "transport %s needs GPUs whose memory other processes can open, which GPU "
			    "%d of rank %d has not; --bootstrap=thread with --transport=%s needs none, "
			    "nor does --transport=%s, with a GPU for each rank",
			    transport_kind_name(TRANSPORT_CUDA_IPC), gpu[r].ordinal, r,
			    transport_kind_name(TRANSPORT_PEERS), transport_kind_name(TRANSPORT_NCCL));
	return check_reach(c, gpu);
}

static enum status check_peers(const struct cuda *c, const struct rank_gpu *gpu)
{
	struct rt_job *job = c->base.job;
	if (strcmp(job->boot->name, "thread") == 0 && all_share(gpu, job->size))
		return STATUS_OK;
	return cuda_refuse(job, STATUS_ABSENT,
	                   "transport %s needs ranks that are threads of one process and share a GPU; "
	                   "transport %s takes ranks that are processes, %s those that have a "
	                   "GPU each",
	                   transport_kind_name(TRANSPORT_PEERS), transport_kind_name(TRANSPORT_CUDA_IPC),
	                   transport_kind_name(TRANSPORT_NCCL));
}

/* Chooses the transport for `auto`: peers, cuda-ipc or nccl; TRANSPORT_COUNT after a refusal. */
static enum transport_kind resolve_transport(const struct cuda *c, const struct rank_gpu *gpu, bool symmetric,
                                             enum status *status)
{
	struct rt_job *job = c->base.job;
	bool threads = strcmp(job->boot->name, "thread") == 0;
	if (threads && all_share(gpu, job->size))
		return TRANSPORT_PEERS;
	if (symmetric && job->size > 1 && !threads && job->boot->shares(job))
		return TRANSPORT_CUDA_IPC;
	if (!some_share(gpu, job->size))
		return TRANSPORT_NCCL;
	if (!threads && job->boot->shares(job))
		return TRANSPORT_CUDA_IPC;
	*status = cuda_refuse(
	    job, STATUS_ABSENT, "%s",
	    threads ? "some ranks share a GPU, not all: ranks that are processes can, with --bootstrap=fork"
	            : "ranks on several hosts share a GPU: start as many on each host as it has GPUs");
	return TRANSPORT_COUNT;
}

static enum status refuse_other(struct rt_job *job, enum transport_kind kind)
{
	struct buf names = {0};
	transport_kind_put(&names, TRANSPORT_ON_GPU, "and");
	enum status status =
	    cuda_refuse(job, STATUS_ABSENT, "the device cuda has no transport '%s': it has %s",
	                transport_kind_name(kind), names.at);
	buf_free(&names);
	return status;
}

enum status cuda_transport_choose(struct cuda *c, enum transport_kind *kind, bool symmetric)
{
	struct rt_job *job = c->base.job;
	enum status status = STATUS_OK;
	if (*kind == TRANSPORT_NCCL) /* NCCL reports itself what it does not support */
		return STATUS_OK;
	struct rank_gpu *gpu = gather_gpus(c);
	if (!gpu)
		return rt_job_status(job);
	enum transport_kind chosen =
	    *kind == TRANSPORT_AUTO ? resolve_transport(c, gpu, symmetric, &status) : *kind;
	if (transport_kind_has(chosen, TRANSPORT_ON_GPU) &&
	    !transport_kind_has(chosen, TRANSPORT_CROSSES_HOSTS) && !job->boot->shares(job))
		status = refuse_hosts(job, chosen);
	else if (chosen == TRANSPORT_PEERS)
		status = check_peers(c, gpu);
	else if (chosen == TRANSPORT_CUDA_IPC)
		status = check_ipc(c, gpu);
	else if (chosen != TRANSPORT_NCCL && chosen != TRANSPORT_COUNT)
		status = refuse_other(job, chosen);
	free(gpu);
	*kind = chosen;
	return status;
}

enum status cuda_transport_try(struct rt_job *job, enum transport_kind kind, bool symmetric, bool *unsure)
{
	struct cuda c = {.base.job = job, .api = cuda_api(), .at.iteration = -1};
	*unsure = false;
	enum status status = cuda_api_open(job, CUDA_DRIVER);
	if (status == STATUS_OK)
		status = cuda_gpu_take(&c);
	if (status != STATUS_OK)
		return status;
	status = cuda_transport_choose(&c, &kind, symmetric);
	if (status != STATUS_OK || kind != TRANSPORT_NCCL)
		return status;
	status = cuda_api_open(job, CUDA_NCCL);
	if (status != STATUS_OK)
		return status;
	struct rank_gpu *gpu = gather_gpus(&c);
	*unsure = gpu && some_share(gpu, job->size);
	free(gpu);
	return rt_job_status(job);
}
