/* exec_device: see exec_device.h. */
#include "exec/exec_device.h"
#include "cuda/open.h"
#include "rt/job.h"
#include <string.h>

enum status exec_device_open(struct rt_job *job, const struct exec_options *o, bool symmetric,
                             struct rt_device **device, struct rt_transport **transport)
{
	enum status status;
	if (strcmp(o->device, "cuda") != 0) {
		status = rt_device_open(job, o->device, device);
		return status == STATUS_OK ? rt_transport_open(job, o->transport, transport) : status;
	}
#ifdef HIRC_HAVE_CUDA
	status = o->calls ? cuda_open_recorded(job, o->calls, device) : cuda_open(job, device);
	if (status == STATUS_OK) {
		cuda_allow_tf32(*device, o->tf32);
		cuda_time_products(*device, o->time_products);
	}
	if (status == STATUS_OK)
		status = cuda_transport_open(job, o->transport, o->exact_reductions, symmetric, *device,
		                             transport);
	const struct cuda_p2p p2p = {o->p2p_put, o->p2p_by_kernel, o->p2p_asked};
	return status == STATUS_OK ? cuda_ipc_p2p(*transport, &p2p) : status;
#else
	(void)symmetric;
	rt_job_error(job, "this hirc was built without CUDA's headers: --target=cuda needs one that CMake "
	                  "found them for");
	return rt_job_fail(job, STATUS_ABSENT);
#endif
}

enum status exec_device_try(struct rt_job *job, const struct exec_options *o, bool symmetric, bool *unsure)
{
	*unsure = false;
#ifdef HIRC_HAVE_CUDA
	if (strcmp(o->device, "cuda") == 0)
		return cuda_transport_try(job, o->transport, symmetric, unsure);
#else
	(void)job;
	(void)o;
	(void)symmetric;
#endif
	return STATUS_OK;
}

enum status exec_device_time_calls(struct rt_device *d, struct cuda_call_times *out)
{
#ifdef HIRC_HAVE_CUDA
	return cuda_time_calls(d, out);
#else
	(void)out;
	return rt_job_fail(d->job, STATUS_ABSENT);
#endif
}

/* Opens the connections now, since NCCL sets up its channels before the first message. */
enum status exec_device_pairs(struct rt_transport *t, const plan_pairs *pairs)
{
	enum status status = STATUS_OK;
#ifdef HIRC_HAVE_CUDA
	struct cuda_pair *pair = mem_zalloc(sizeof *pair * (pairs->n + 1));
	for (uint32_t k = 0; k < pairs->n; k++)
		pair[k] =
		    (struct cuda_pair){pairs->at[k].sender, pairs->at[k].receiver, pairs->at[k].channel};
	status = cuda_nccl_pairs(t, pair, (int)pairs->n);
	free(pair);
#else
	(void)t;
	(void)pairs;
#endif
	return status;
}

unsigned exec_device_movers(struct rt_transport *t, const struct exec_options *o)
{
#ifdef HIRC_HAVE_CUDA
	if (strcmp(o->device, "cuda") == 0)
		return cuda_transport_movers(t, o->mover);
#else
	(void)t;
	(void)o;
#endif
	return 1u << MOVER_TRANSPORT;
}

enum status exec_device_windows(struct rt_transport *t, unsigned *set)
{
#ifdef HIRC_HAVE_CUDA
	return cuda_nccl_windows(t, set);
#else
	(void)t;
	(void)set;
	return STATUS_OK;
#endif
}
