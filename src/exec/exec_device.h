/* exec_device: opens the device of a rank, and the transport between the devices of all ranks. */
#ifndef HIRC_EXEC_EXEC_DEVICE_H
#define HIRC_EXEC_EXEC_DEVICE_H
#include "cuda/open.h"
#include "exec/exec.h"
#include "plan/plan_pairs.h"
#include "rt/device.h"
#include "rt/transport.h"

/* Collective. symmetric: ranks read each other's memory; the same on all ranks. On failure it has
 * printed a message; the caller closes the parts that are open. */
enum status exec_device_open(struct rt_job *job, const struct exec_options *o, bool symmetric,
                             struct rt_device **device, struct rt_transport **transport);
/* Tests quickly, and so not completely, if exec_device_open would succeed: see cuda_transport_try. */
enum status exec_device_try(struct rt_job *job, const struct exec_options *o, bool symmetric, bool *unsure);
/* Returns the movers that the transport has: see cuda_transport_movers. Collective, before rt_transport_alloc. */
unsigned exec_device_movers(struct rt_transport *t, const struct exec_options *o);
/* Makes windows: see cuda_nccl_windows. Collective. */
enum status exec_device_windows(struct rt_transport *t, unsigned *set);
/* Measures calls to the driver of a GPU: see cuda_time_calls. */
enum status exec_device_time_calls(struct rt_device *d, struct cuda_call_times *out);
/* Collective: names the messages of this rank before the first of them. A later call names other
 * messages; nothing may be in flight then. */
enum status exec_device_pairs(struct rt_transport *t, const plan_pairs *pairs);

#endif
