/* open: the public part of this folder: the device "cuda" and its transports. No header of NVIDIA's is
 * needed. */
#ifndef HIRC_CUDA_OPEN_H
#define HIRC_CUDA_OPEN_H
#include "base/arena.h"
#include "base/finding.h"
#include "base/str.h"
#include "rt/device.h"
#include "rt/job.h"
#include "rt/transport.h"

/* Collective: all ranks of the job open one. The GPU is the local rank modulo those that are visible.
 * STATUS_ABSENT with a message where there is no driver or GPU. */
enum status cuda_open(struct rt_job *job, struct rt_device **out);

/* The place to which calls are recorded. */
struct cuda_calls {
	struct buf *out; /* as text, see record.h */
	/* Stand-ins for the libraries' objects; of all ranks of the job, until all have ended. */
	struct arena *handles;
};
/* Opens a device without a GPU: the calls of the device and its transports are recorded there. Ranks whose
 * transport is peers or cuda-ipc take turns (rt_launch_turns). */
enum status cuda_open_recorded(struct rt_job *job, const struct cuda_calls *calls, struct rt_device **out);

/* Allows, or not, products of f32 to round their operands to tf32, which has 11 significant bits; at first
 * they may not. */
void cuda_allow_tf32(struct rt_device *d, bool allowed);

/* Transports of ranks with such devices: collective. kind: one of GPUs, or auto: nccl if no two ranks share a
 * GPU, else peers if they are threads that all do, or cuda-ipc if they are processes of one host; symmetric:
 * ranks are to have a heap (rt_transport_heap), which nccl has not, so that processes of one host are with
 * cuda-ipc anyway. exact: floats are reduced in the wide type (f32; f64 of f64), in team order, and rounded
 * once, which peers and cuda-ipc always do; else NCCL reduces those of 16 bits and more itself.
 */
enum status cuda_transport_open(struct rt_job *job, enum transport_kind kind, bool exact, bool symmetric,
                                struct rt_device *d, struct rt_transport **out);

/* Finds out if the ranks of a job could open that transport where they are, as far as that can be told in
 * little time: collective, with the messages and statuses of cuda_open and cuda_transport_open. *unsure, the
 * same on all ranks: NCCL has to be asked, some ranks share a GPU. */
enum status cuda_transport_try(struct rt_job *job, enum transport_kind kind, bool symmetric, bool *unsure);

/* The way in which cuda-ipc moves messages between ranks. */
struct cuda_p2p {
	bool put; /* the sender copies, into the receiver's memory; else the receiver, out of the sender's */
	bool by_kernel; /* kernels copy; else the driver, which takes copy engines where it can */
	bool asked;     /* else nothing is wrong where another transport is in use */
};
/* Before the first message, the same on all ranks. STATUS_USAGE with a message if the transport does not
 * support the request. */
enum status cuda_ipc_p2p(struct rt_transport *t, const struct cuda_p2p *how);

/* Messages that a rank sends or receives. */
struct cuda_pair {
	int sender, receiver; /* ranks */
	uint32_t channel;
};

/* Collective, before the first message: the pairs that this rank takes part in, in any order, also more than
 * once. A pair is there if one side names it. A later call, while nothing is under way, names other pairs.
 * Nothing for other transports. */
enum status cuda_nccl_pairs(struct rt_transport *t, const struct cuda_pair *pairs, int n);

/* Adds this machine's findings about GPUs: driver, GPUs, libraries, the folder of compiled kernels. Nothing
 * is printed, and no context is made. *gpus: those that can be used. */
void cuda_doctor(struct findings *f, int *gpus);

/* Ranges of the host's work, by NVTX, for tools that show them; of one thread, nested. *out is NULL where no
 * tool has started this process and none is `wanted`. STATUS_ABSENT with a message where they are, but this
 * build lacks the header. A name is kept until the process ends. */
struct cuda_ranges;
enum status cuda_ranges_open(struct rt_job *job, bool wanted, struct cuda_ranges **out);
void *cuda_range_name(struct cuda_ranges *r, const char *text);
void cuda_range_begin(struct cuda_ranges *r, void *name);
void cuda_range_end(struct cuda_ranges *r);
void cuda_ranges_close(struct cuda_ranges *r);

#endif
