/* open: the public header of this folder: the device "cuda" and its transports. It needs no header of
 * NVIDIA's. */
#ifndef HIRC_CUDA_OPEN_H
#define HIRC_CUDA_OPEN_H
#include "base/arena.h"
#include "base/driver_call.h"
#include "base/finding.h"
#include "base/str.h"
#include "rt/device.h"
#include "rt/job.h"
#include "rt/transport.h"

/* Opens the device. Collective: all ranks of the job open one. The GPU is the local rank modulo the number of
 * visible ones. STATUS_ABSENT with a message if there is no driver or GPU. */
enum status cuda_open(struct rt_job *job, struct rt_device **out);

/* The place where calls are recorded. */
struct cuda_calls {
	struct buf *out; /* text, see record.h */
	/* Stand-ins for the libraries' objects, shared by all ranks of the job. Must exist until all ranks
	 * have ended. */
	struct arena *handles;
};
/* Opens a device without a GPU, which records the calls of device and transports. Ranks with the transport
 * peers or cuda-ipc take turns (rt_launch_turns). */
enum status cuda_open_recorded(struct rt_job *job, const struct cuda_calls *calls, struct rt_device **out);

/* Allows products of f32 to round their operands to tf32, which has 11 significant bits, or forbids it, which
 * is the default. */
void cuda_allow_tf32(struct rt_device *d, bool allowed);
/* Times the algorithms that cuBLASLt proposes for each shape, and uses the fastest; otherwise the first one. */
void cuda_time_products(struct rt_device *d, bool timed);

/* Measures calls to the driver, one kind after the other: the time that the host takes for one, and the time of one as
 * a node of a graph, in ns; 0 for a kernel's issue, and for nodes that graphs do not have. Nothing else may run on the
 * GPU. STATUS_DIAGNOSTICS with a message if a call fails, or if a time cannot be measured. */
struct cuda_call_times {
	double issue[CALL_COUNT], node[CALL_COUNT];
};
enum status cuda_time_calls(struct rt_device *d, struct cuda_call_times *out);

/* Opens a transport for ranks with these devices. Collective. kind: a transport between GPUs, or auto: nccl
 * if no two ranks share a GPU; otherwise peers if the ranks are threads that all share one, or cuda-ipc if
 * they are processes of one host. symmetric: the ranks need a heap (rt_transport_heap), which nccl does not
 * have; then auto chooses cuda-ipc for processes of one host in any case. exact: floats are reduced in the
 * wide type (f32; f64 for f64), in team order, and rounded once, as peers and cuda-ipc always do. Otherwise
 * NCCL itself reduces floats of 16 bits and more. */
enum status cuda_transport_open(struct rt_job *job, enum transport_kind kind, bool exact, bool symmetric,
                                struct rt_device *d, struct rt_transport **out);

/* Finds out if the ranks of a job could open a transport, as far as this can be told in little time.
 * Collective, with the messages and statuses of cuda_open and cuda_transport_open. *unsure: only NCCL can
 * tell, since some ranks share a GPU; the same on all ranks. */
enum status cuda_transport_try(struct rt_job *job, enum transport_kind kind, bool symmetric, bool *unsure);

/* How cuda-ipc moves messages between ranks. */
struct cuda_p2p {
	bool put; /* the sender copies into the receiver's memory; otherwise the receiver copies out of the
	             sender's */
	bool by_kernel; /* kernels copy; otherwise the driver, which uses copy engines where it can */
	bool asked;     /* the user has asked for it; otherwise another transport is not an error */
};
/* Call before the first message, with the same values on all ranks. STATUS_USAGE with a message if the
 * transport does not support the request. */
enum status cuda_ipc_p2p(struct rt_transport *t, const struct cuda_p2p *how);

/* A pair of ranks with messages from one to the other. */
struct cuda_pair {
	int sender, receiver; /* ranks */
	uint32_t channel;
};

/* Declares the pairs of which this rank is a part, in any order; duplicates are allowed. Collective, before
 * the first message. One side is enough to declare a pair. A later call, while no message is in flight,
 * declares other pairs. Other transports do nothing. */
enum status cuda_nccl_pairs(struct rt_transport *t, const struct cuda_pair *pairs, int n);

/* Returns the bit set of movers that the transport's library has. Collective, before rt_transport_alloc: the memory is
 * then fit for the movers asked for. */
unsigned cuda_transport_movers(struct rt_transport *t, enum mover asked);
/* Makes windows on the memory of rt_transport_alloc. set: by team, the movers for which this rank needs one; a mover for
 * which its team can have none is taken out. Collective, before the first collective. */
enum status cuda_nccl_windows(struct rt_transport *t, unsigned *set);

/* Adds findings about this machine's GPUs: driver, GPUs, libraries, folder of compiled kernels. Prints
 * nothing and makes no context. *gpus: number of usable ones. */
void cuda_doctor(struct findings *f, int *gpus);

/* Ranges of the host's work for profiling tools, by NVTX; of one thread, nested. *out is NULL if no tool has
 * started this process and none is `wanted`. STATUS_ABSENT with a message if ranges are needed but this build
 * lacks the header. A name is kept until the process ends. */
struct cuda_ranges;
enum status cuda_ranges_open(struct rt_job *job, bool wanted, struct cuda_ranges **out);
void *cuda_range_name(struct cuda_ranges *r, const char *text);
void cuda_range_begin(struct cuda_ranges *r, void *name);
void cuda_range_end(struct cuda_ranges *r);
void cuda_ranges_close(struct cuda_ranges *r);

#endif
