/* ipc: the transport "cuda-ipc", for ranks that are processes of one host, on one GPU or several.
 *
 *     ipc.c             the transport: opening, starts, progress, closing
 *     ipc_memory.c      a rank's memory, mapped by the others
 *     ipc_message.c     messages
 *     ipc_team.c        collectives: the turns of a team
 *     ipc_collective.c  a member's GPU work for a collective
 *     ipc_graph.c       graphs
 *
 * Hosts tell each other in shared memory where data are. GPUs tell each other by semaphores when the data are
 * ready:
 *
 *     rank 0, which offers             rank 1, which moves
 *     host: write `ready` of rank 1
 *           post the place             host: take the place, map its memory the first time
 *                                            stream: wait for `ready`, copy, write `over` of rank 0
 *           stream: wait for `over`          say that it is issued
 *
 * A stream waits only for work that has already been issued, on whichever rank. So streams cannot form a
 * cycle, whatever hardware queues they share, and a wait ends as long as the other process runs. A semaphore
 * is a word in the memory of the rank that waits for it. It counts turns, and is compared cyclically. */
#ifndef HIRC_CUDA_IPC_H
#define HIRC_CUDA_IPC_H
#include "cuda/ipc_graph.h"
#include "cuda/peers.h"
#include "rt/rt_region.h"

enum {
	IPC_SLOTS = 256,            /* messages that a rank can offer to another at once */
	IPC_SEMAPHORES = 512 << 10, /* words of a set */
	IPC_TURNS = 16,             /* most collectives of a team that a member is ahead of another */
	IPC_STAGES = 8,             /* most teams with a stage */
	IPC_STAGED_BYTES = 32 << 10 /* most bytes of a collective that a member gives through its stage */
};

/* Memory that all ranks map: sets of semaphores, each followed by its stages. Graphs take the sets in turn; all
 * other work has the first one. */
enum {
	IPC_SETS = 2,
	IPC_WORD_BYTES = IPC_SEMAPHORES * sizeof(uint32_t),
	IPC_SET_BYTES = IPC_WORD_BYTES + IPC_STAGES * IPC_TURNS * IPC_STAGED_BYTES
};

#define IPC_HEAP UINT64_MAX
#define IPC_STAGE (UINT64_MAX - 1)

/* The place of a rank's memory, in the form sent to other processes. */
struct ipc_place {
	uint64_t number; /* number of the allocation in its rank, never used again; 0: no memory; IPC_HEAP:
	                    the heap; IPC_STAGE: semaphores and stages. All ranks have mapped the last two */
	uint64_t at;     /* its address in its rank */
	uint64_t bytes, offset;
	CUipcMemHandle handle;
};

/* Memory that this rank has exported or opened. */
struct ipc_exported {
	uint64_t number;
	CUipcMemHandle handle;
};
struct ipc_opened {
	uint64_t number, there, bytes; /* number, address and size in its rank */
	CUdeviceptr at;                /* its address in this rank */
};
struct ipc_peer {
	VEC(struct ipc_opened) opened;
	CUdeviceptr semaphores; /* the sets of that rank, or this rank's own */
	struct ipc_mail *mail;  /* state of ipc_message.c; NULL: none yet */
};

struct ipc_team {
	struct ipc_turns *turns; /* by member, in shared memory; NULL: one member, or this rank is not one */
	char *posts;             /* in shared memory */
	uint32_t semaphores;     /* first semaphore of the team, the same on all ranks */
	uint64_t stage;          /* offset of the stage in a set, the same on all ranks; 0: none */
	struct rt_collective staged[IPC_TURNS]; /* the last collective that used that part of the stage: its
	                                           kind and root; Barrier: none */
	CUstream offers, moves;
	uint32_t started;                 /* number of collectives started */
	struct rt_request *first, **last; /* requests that have not moved their data, in order */
	struct rt_request *moved, **end;  /* requests whose data others still read, in order */
};

struct ipc {
	struct cuda_transport base;
	struct rt_region region; /* of all ranks: bells, then messages */
	VEC(struct rt_region) more;
	size_t more_used;       /* bytes used in the last one */
	CUdeviceptr semaphores; /* this rank's own sets */
	unsigned wait_flags;    /* of waits for a semaphore's value */
	uint32_t semaphores_used, stages_used;
	struct ipc_peer *peer; /* by rank */
	VEC(struct ipc_exported) exported;
	struct ipc_team *team;              /* by id */
	struct rt_request *messages, **end; /* messages that are not issued, in the order of their start */
	struct cuda_stream_pool offers, moves, ends, itself;
	CUstream rescue; /* idle until the job fails */
	struct ipc_capture capture;
	struct ipc_graph *making; /* the graph that is being made; NULL: none */
	struct cuda_p2p p2p;
};

static inline enum status ipc_failure(const struct ipc *t)
{
	return rt_job_status(t->base.base.job);
}

/* Returns the offset of a semaphore of a set. */
static inline size_t ipc_word(unsigned set, uint32_t semaphore)
{
	return set * (size_t)IPC_SET_BYTES + semaphore * sizeof(uint32_t);
}

/* Makes a stream wait until a semaphore of this rank has reached a value. */
enum status ipc_await(struct ipc *t, CUstream s, uint32_t semaphore, uint32_t value);
/* Makes a stream write a value to a semaphore of another rank, after all its earlier work. */
enum status ipc_signal(struct ipc *t, CUstream s, int rank, uint32_t semaphore, uint32_t value);
void ipc_wake(struct ipc *t, int rank);
/* Allocates shared memory, zeroed. Collective, with the same bytes on all ranks. Valid as long as the
 * transport. */
enum status ipc_share(struct ipc *t, size_t bytes, void *out);

/* ---- ipc_memory.c */

/* Finds the place of memory of this rank. With bytes 0 there is none. */
enum status ipc_export(struct ipc *t, const void *at, int64_t bytes, struct ipc_place *out);
/* Copies data to this rank's stage, `offset` bytes from the first set, and sets the place to it. */
enum status ipc_stage(struct ipc *t, CUstream s, const void *at, int64_t bytes, uint64_t offset,
                      struct ipc_place *out);
/* Finds the address in this process of another rank's memory; NULL: there is none. The place must be in
 * memory that does not change. Memory is opened at its first use; an older allocation at the same addresses
 * is closed. */
enum status ipc_import(struct ipc *t, int rank, const struct ipc_place *p, void *out);
/* Gets the handle of the allocation that begins at `at`. */
enum status ipc_handle(struct ipc *t, CUdeviceptr at, CUipcMemHandle *out);
/* Maps memory that another rank has exported. */
enum status ipc_open(struct ipc *t, const CUipcMemHandle *handle, CUdeviceptr *out);
/* Closes all memory that was opened for reading. */
void ipc_close_memory(struct ipc *t);

/* ---- ipc_message.c */

size_t ipc_boxes_bytes(int ranks); /* of shared memory */
uint32_t ipc_message_semaphores(int ranks);
/* Makes later messages not wait for earlier ones. Call it when no rank has work in flight. */
void ipc_messages_settle(struct ipc *t);
/* Starts a message to or from another rank. */
enum status ipc_message_start(struct ipc *t, struct rt_request *r);
/* Issues all work that can be issued. */
enum status ipc_messages_advance(struct ipc *t, bool *moved);
void ipc_messages_close(struct ipc *t);

/* ---- ipc_team.c */

enum status ipc_team_open(struct ipc *t, int id);
/* As ipc_messages_settle, of a team. */
void ipc_team_settle(struct ipc *t, int id);
enum status ipc_team_start(struct ipc *t, struct rt_request *r);
/* Returns true if this member gives its data through the stage. In an Allreduce either all members do, or
 * none. */
bool ipc_is_staged(const struct ipc *t, const struct rt_collective *c);
/* As ipc_messages_advance. */
enum status ipc_team_advance(struct ipc *t, int id, bool *moved);

/* Semaphores of a team's member. The rank `other` writes them. */
enum ipc_signal {
	IPC_READY, /* the buffers of `other` may be read */
	IPC_HALF,  /* Allreduce: `other` has reduced its block */
	IPC_OVER,  /* `other` has read its part of this member's memory or stage */
	IPC_SIGNALS
};
enum status ipc_team_await(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which,
                           uint32_t turn);
enum status ipc_team_signal(struct ipc *t, int id, CUstream s, int other, enum ipc_signal which,
                            uint32_t turn);

/* ---- ipc_collective.c */

/* ipc_reads: returns true if member `to` waits for another member, `from`. ipc_gives: returns true if `to`
 * also reads memory of `from`, which then waits for that. */
bool ipc_reads(const struct rt_collective *c, int to, int from);
bool ipc_gives(const struct rt_collective *c, int to, int from);
/* Returns how many bytes of `in`, from its beginning, others may read. */
int64_t ipc_bytes_given(const struct rt_collective *c, int n, int index);
/* Gives this member's work to the team's stream; then others may be told. It gives all of it, or the first
 * half of an Allreduce that is not staged. The second half moves the blocks that others have reduced. */
enum status ipc_collective_first(struct ipc *t, int id, const struct peers_part *part, uint32_t turn);
enum status ipc_collective_second(struct ipc *t, int id, const struct peers_part *part, uint32_t turn);

#endif
