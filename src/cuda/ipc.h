/* ipc: the transport "cuda-ipc", of ranks that are processes of one host, on one GPU or several.
 *
 *     ipc.c             the transport: starts, progress, beginning and end
 *     ipc_memory.c      a rank's memory, as others map it
 *     ipc_message.c     messages
 *     ipc_team.c        collectives: the turns of a team's members
 *     ipc_collective.c  a member's GPU work for a collective
 *
 * Hosts tell each other in shared memory where data are, GPUs tell each other by semaphores when:
 *
 *     rank 0, that offers          rank 1, that moves
 *     host: write ready on         ready of rank 1
 *           post the place         host: take the place, map its memory once
 *                                        stream: wait for ready, copy, write over of rank 0
 *           stream: wait for over        say that it is issued
 *
 * No stream waits for work that has not been issued by then, on any rank: so streams cannot end in a circle,
 * whatever hardware queues they share, and a stream that waits comes to its end as long as the other process
 * lives. A semaphore is a word in the memory of the rank that waits for it. It counts turns, and is compared
 * cyclically. */
#ifndef HIRC_CUDA_IPC_H
#define HIRC_CUDA_IPC_H
#include "cuda/peers.h"
#include "rt/rt_region.h"

enum {
	IPC_SLOTS = 256,            /* messages of a rank to another one that are offered at once */
	IPC_SEMAPHORES = 512 << 10, /* words of each rank */
	IPC_TURNS = 16,             /* collectives of a team that a member is ahead of another at most */
	IPC_STAGES = 8,             /* teams that have one; it lies behind the semaphores */
	IPC_STAGED_BYTES = 32 << 10 /* of a collective that a member gives by way of it, at most */
};

#define IPC_HEAP UINT64_MAX
#define IPC_STAGE (UINT64_MAX - 1)

/* The place of a rank's memory, as told to other processes. */
struct ipc_place {
	uint64_t number; /* of the allocation among all of its rank, never used again; 0: no memory;
	                  * IPC_HEAP: the heap, IPC_STAGE: the semaphores and stages: all ranks have mapped
	                  * these */
	uint64_t at;     /* its address there */
	uint64_t bytes, offset;
	CUipcMemHandle handle;
};

/* Memory that this rank has exported, or opened. */
struct ipc_exported {
	uint64_t number;
	CUipcMemHandle handle;
};
struct ipc_opened {
	uint64_t number, there, bytes; /* as in its place */
	CUdeviceptr at;                /* here */
};
struct ipc_peer {
	VEC(struct ipc_opened) opened;
	CUdeviceptr semaphores; /* of that rank, or the own ones */
	struct ipc_mail *mail;  /* ipc_message.c's; NULL: none yet */
};

struct ipc_team {
	struct ipc_turns *turns; /* by member, shared; NULL: alone, or not a member */
	char *posts;             /* shared */
	uint32_t semaphores;     /* where those of the team begin, the same on all ranks */
	uint64_t stage;          /* where it begins, bytes from the semaphores on, as on all ranks; 0: none */
	struct rt_collective
	    staged[IPC_TURNS]; /* the last collective read there; Barrier: nothing. Kind and root */
	CUstream offers, moves;
	uint32_t started;                 /* collectives */
	struct rt_request *first, **last; /* those that have not moved yet, in order */
	struct rt_request *moved, **end;  /* those that others still read, in order */
};

struct ipc {
	struct cuda_transport base;
	struct rt_region region; /* of all ranks: bells, then messages */
	VEC(struct rt_region) more;
	size_t more_used;       /* bytes of the last one */
	CUdeviceptr semaphores; /* own */
	uint32_t semaphores_used, stages_used;
	struct ipc_peer *peer; /* by rank */
	VEC(struct ipc_exported) exported;
	struct ipc_team *team;              /* by id */
	struct rt_request *messages, **end; /* not issued, in the order in which they were started */
	struct cuda_stream_pool offers, moves, ends, itself;
	CUstream rescue; /* has nothing to do until the job fails */
	struct cuda_p2p p2p;
};

static inline enum status ipc_failure(const struct ipc *t)
{
	return rt_job_status(t->base.base.job);
}

/* A stream waits until the own semaphore has come to the value. */
enum status ipc_await(struct ipc *t, CUstream s, uint32_t semaphore, uint32_t value);
/* After all that the stream was given, the semaphore of that rank has the value. */
enum status ipc_signal(struct ipc *t, CUstream s, int rank, uint32_t semaphore, uint32_t value);
void ipc_wake(struct ipc *t, int rank);
/* Shared memory, zeroed: collective, the same bytes on all ranks. It lasts as long as the transport. */
enum status ipc_share(struct ipc *t, size_t bytes, void *out);

/* ---- ipc_memory.c */

/* Finds the place of memory of this rank; bytes 0: nowhere. */
enum status ipc_export(struct ipc *t, const void *at, int64_t bytes, struct ipc_place *out);
/* Copies to the own stage, that many bytes from the semaphores on: that is the place then. */
enum status ipc_stage(struct ipc *t, CUstream s, const void *at, int64_t bytes, uint64_t offset,
                      struct ipc_place *out);
/* Finds the address in this process of another rank's memory, whose place stands in memory that is not
 * changing; NULL for none. It is opened when it is first seen; an older allocation in its place is closed. */
enum status ipc_import(struct ipc *t, int rank, const struct ipc_place *p, void *out);
/* Gets the handle of an allocation, which begins there. */
enum status ipc_handle(struct ipc *t, CUdeviceptr at, CUipcMemHandle *out);
/* Maps memory that another rank has exported. */
enum status ipc_open(struct ipc *t, const CUipcMemHandle *handle, CUdeviceptr *out);
/* Closes all that was opened for reading. */
void ipc_close_memory(struct ipc *t);

/* ---- ipc_message.c */

size_t ipc_boxes_bytes(int ranks); /* of shared memory */
uint32_t ipc_message_semaphores(int ranks);
/* To or from another rank. */
enum status ipc_message_start(struct ipc *t, struct rt_request *r);
/* Issues all work that can be. */
enum status ipc_messages_advance(struct ipc *t, bool *moved);
void ipc_messages_close(struct ipc *t);

/* ---- ipc_team.c */

enum status ipc_team_open(struct ipc *t, int id);
enum status ipc_team_start(struct ipc *t, struct rt_request *r);
/* Returns true if this member gives its data by way of the stage. Of an Allreduce all members do, or none. */
bool ipc_is_staged(const struct ipc *t, const struct rt_collective *c);
/* As ipc_messages_advance. */
enum status ipc_team_advance(struct ipc *t, int id, bool *moved);

/* Semaphores of a team's member, of which `other` is to write it. */
enum ipc_signal {
	IPC_READY, /* other's buffers may be read */
	IPC_HALF,  /* Allreduce: other has reduced its block */
	IPC_OVER,  /* other has read its part of this member's memory, or of its stage */
	IPC_SIGNALS
};
enum status ipc_team_await(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which,
                           uint32_t turn);
enum status ipc_team_signal(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which,
                            uint32_t turn);

/* ---- ipc_collective.c */

/* ipc_reads: returns true if member `to` waits until member `from`, another one, has come. ipc_gives: returns
 * true if it also reads memory of that member, which waits for it then. */
bool ipc_reads(const struct rt_collective *c, int to, int from);
bool ipc_gives(const struct rt_collective *c, int to, int from);
/* Bytes from the beginning of in that others may read. */
int64_t ipc_bytes_given(const struct rt_collective *c, int n, int index);
/* Gives this member's work to the team's stream, after which others may be told: all of it, or the first
 * half of an Allreduce that is not staged; its second half moves the blocks that others have reduced. */
enum status ipc_collective_first(struct ipc *t, int id, const struct peers_part *part, uint32_t turn);
enum status ipc_collective_second(struct ipc *t, int id, const struct peers_part *part, uint32_t turn);

#endif
