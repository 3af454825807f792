/* transport: moves data between ranks.
 *
 * Operations are started, then tested; nothing blocks. Only one thread of a rank at a time calls a
 * transport (the communication lane while an engine runs).
 *
 *   shm  ranks on one host; each reads the memory of the others (rt_transport_alloc); data elsewhere goes
 *        through rings in shared memory. Both sides' kind, type, count and root are compared: a mismatch is
 *        an error that names both.
 *   mpi  nonblocking MPI collectives and point-to-point; a mismatch of sizes is an error where MPI sees it.
 *   mixed  shm between ranks of a host, mpi between hosts. */
#ifndef HIRC_RT_TRANSPORT_H
#define HIRC_RT_TRANSPORT_H
#include "base/collective.h"
#include "base/mover.h"
#include "base/transport_kind.h"
#include "rt/job.h"
#include "rt/view.h"

struct rt_memory;
struct rt_device;
struct rt_transport;
struct rt_request;

/* One collective, as seen by a member of its team. Buffers are contiguous, and nobody else may change
 * them until it is done. */
struct rt_collective {
	enum collective kind;
	uint8_t counted; /* kind that the counters show, + 1; 0: `kind` */
	uint8_t mover;   /* enum mover, the same for all members */
	enum dtype dtype;
	enum reduce_op op; /* for Allreduce, ReduceScatter, Reduce */
	int team;          /* from rt_transport_team */
	int root;          /* index in the team, for rooted kinds */
	const void *in;    /* may be out (Allreduce, Broadcast) or the own block inside the larger of
	                    * the two (Allgather, ReduceScatter); else no overlap */
	void *out;
	int64_t count; /* elements, for kinds without blocks; of each block, if counts is NULL */
	/* Kinds with blocks: elements of each block, and its offset in the larger buffer (AllToAll,
	 * AllToAllv: in out), in elements; one entry a member. NULL: `count` each, one after the other.
	 * They are read before rt_submit_collective returns; for start they must be valid until the
	 * request is done. */
	const int64_t *counts, *offsets;
	/* AllToAll, AllToAllv: the same for the blocks in in; must not be NULL if counts is not. */
	const int64_t *send_counts, *send_offsets;
	/* AllToAllv whose blocks are only known when it starts, in an engine: the number of units of
	 * late_unit elements that each member gives and gets, one block after the other in both buffers.
	 * late_room: units that fit in out and in in. counts and the like are NULL then. The lists are
	 * read once the stream has done its earlier work. */
	const int64_t *late_counts, *late_send_counts; /* NULL: counts are known */
	int64_t late_unit, late_room, late_send_room;
	/* The device's event after which an asynchronous transport starts; given back to the caller when
	 * start returns. */
	void *after;
	struct rt_origin at;
};

static inline enum collective rt_collective_counted(const struct rt_collective *c)
{
	return c->counted ? (enum collective)(c->counted - 1) : c->kind;
}

/* One side of a message. Sender and receiver match by (sender, receiver, channel), in the order of their
 * `sequence`. The engine counts the sequence at issue, since messages may start in another order. A send
 * is done once the data was taken. A large send, and any send of mpi, also waits for its receive;
 * rt_drain waits for all. */
struct rt_p2p {
	bool send;
	int peer;          /* rank; may be this rank */
	uint32_t channel;  /* communicator id, < RT_MAX_CHANNELS; any number that both sides agree on */
	uint64_t sequence; /* set by rt_submit_p2p */
	enum dtype dtype;
	int64_t count; /* elements; must be the same on both sides */
	void *data;    /* contiguous; a send does not write it */
	void *after;   /* see struct rt_collective */
	struct rt_origin at;
};

enum { RT_MAX_CHANNELS = 2048, RT_SHM_MAX_RANKS = 256 };

/* Pieces of a heap are multiples of so many bytes, the unit in which GPUs map memory. */
enum { RT_HEAP_UNIT = 2 << 20 };

/* Counters of a rank's data. Index COLLECTIVE_COUNT is point to point (its operations are sends and
 * receives). Bytes are those that cross to or from another rank if each block goes directly to each rank
 * that needs it (Allreduce: a reduce-scatter and an allgather). shm moves exactly these; mpi is counted
 * in the same way. */
enum { RT_COUNTER_P2P = COLLECTIVE_COUNT, RT_COUNTERS };
struct rt_counter {
	int64_t operations, bytes_sent, bytes_received;
};

struct rt_transport_ops {
	enum transport_kind kind;
	enum status (*team)(struct rt_transport *t, int id, const int *ranks, int n);
	/* Starts a collective. On failure a message was printed, and there is no request. */
	enum status (*start)(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out);
	enum status (*start_p2p)(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out);
	/* Moves everything that can move. Sets *moved to true if something did, and does not change it
	 * otherwise. */
	enum status (*progress)(struct rt_transport *t, bool *moved);
	/* Tests if the request is done. If so, or on failure, the request is freed. */
	enum status (*test)(struct rt_transport *t, struct rt_request *r, bool *done);
	/* For asynchronous transports, in place of test: tests if the device has been given the request.
	 * Then the request is freed, and *event, which the caller owns, is over when it is done; until
	 * then *event is NULL. start always makes a request. NULL: the host moves the data. */
	enum status (*issued)(struct rt_transport *t, struct rt_request *r, void **event);
	/* Starts between these belong together: they are a group. NULL: groups need nothing. */
	enum status (*group_begin)(struct rt_transport *t);
	enum status (*group_end)(struct rt_transport *t, struct rt_origin at);
	/* Returns a rank that has not received all messages whose sends are done, and their number; -1:
	 * none. Any thread may call it while nothing is in flight. NULL: sends wait for their receives. */
	int (*unreceived)(struct rt_transport *t, uint32_t *messages);
	/* For sleeping: call read() before looking for work, then wait(seen, …) as for a bell. wake()
	 * may be called from any thread of the rank. wait returns early if data may have come. */
	uint32_t (*read)(struct rt_transport *t);
	void (*wait)(struct rt_transport *t, uint32_t seen, int64_t microseconds);
	void (*wake)(struct rt_transport *t);
	/* Make the memory of rt_transport_heap and rt_transport_side_by_side, for devices with memory of
	 * their own. NULL: ranks do not see each other's memory. The memory is valid as long as the
	 * transport. */
	enum status (*heap)(struct rt_transport *t, const size_t *piece, uint32_t n, const char *what,
	                    void **out);
	enum status (*side_by_side)(struct rt_transport *t, const int *ranks, int n, size_t offset,
	                            size_t bytes, void **out);
	/* Allocates and frees the memory of rt_transport_alloc, in place of the device. Collective. NULL: the device
	 * does. */
	enum status (*alloc)(struct rt_transport *t, struct rt_device *d, size_t bytes, const char *what,
	                     void **out);
	void (*free)(struct rt_transport *t, struct rt_device *d, void *at);
	/* Call it before a rank frees its memory. Others unmap it, which is collective while the job
	 * runs; after a failure the device ends work for which freeing would wait. NULL: neither is
	 * needed. */
	void (*before_free)(struct rt_transport *t);
	/* One graph for the work of all ranks, in place of the functions of struct rt_async_ops, which make one
	 * for each rank. Collective, except graph_drop. NULL: ranks have their own graphs. graph_begin makes the
	 * device's stream a part of the graph; before graph_end, it waits for everything that is captured.
	 * Replays take `graphs` graphs of the same work in turn, in the order in which they were made; 0: one. */
	unsigned graphs;
	enum status (*graph_begin)(struct rt_transport *t, void *stream);
	enum status (*graph_end)(struct rt_transport *t, void *stream, void **graph);
	enum status (*replay)(struct rt_transport *t, void *stream, void *graph);
	void (*graph_drop)(struct rt_transport *t, void *stream);
	void (*graph_free)(struct rt_transport *t, void *graph);
	/* Drops requests that are not done, before what they name is freed. NULL: no other rank reads that. */
	void (*drop)(struct rt_transport *t);
	/* Drops requests that are not done, and closes the transport. */
	void (*close)(struct rt_transport *t);
};

struct rt_team {
	int n;     /* number of members */
	int index; /* index of this rank; -1: not a member */
	int *rank; /* by index in the team; owned */
};

struct rt_transport {
	const struct rt_transport_ops *ops;
	struct rt_job *job;
	bool reorders;        /* sums of floats may be rounded differently in each run */
	struct rt_team *team; /* by id; owned */
	int teams;
	struct rt_counter counter[RT_COUNTERS];
	int64_t sends, receives,
	    copies; /* numbers of messages; copies: messages to itself, and collectives of one rank */
	struct rt_memory *memory; /* NULL: none */
	bool has_heap;            /* it has a heap: see rt_transport_heap */
};

/* Opens a transport on all ranks: collective. auto: shm; if MPI started the ranks, mpi, or mixed if they
 * are on several hosts and some share a host. Returns STATUS_ABSENT after a message for transports of
 * GPUs, and for those that this build or job lacks. */
enum status rt_transport_open(struct rt_job *job, enum transport_kind kind, struct rt_transport **out);
void rt_transport_close(struct rt_transport *t); /* called by all ranks; no barrier; NULL is allowed */

/* Declares the team `ranks`, in team order, without duplicates. Every rank of the job calls this for
 * every team in the same order, even if it is not a member, before the first start. *id counts from 0
 * and is the same on all ranks. Each call makes a new communicator, even for the same ranks. */
enum status rt_transport_team(struct rt_transport *t, const int *ranks, int n, int *id);

/* Allocates the rank's memory like rt_device_alloc, but aligned to pages. Peers can read and write it if
 * the ranks are on one host. Collective; only one at a time. */
enum status rt_transport_alloc(struct rt_transport *t, struct rt_device *d, size_t bytes, const char *what,
                               void **out);
/* Peers on one host may go on reading the memory. If it is the device's and mapped (cuda-ipc), they may
 * not, and this is collective. NULL is allowed. */
void rt_transport_free(struct rt_transport *t, struct rt_device *d, void *at);
/* Returns the begin of a rank's memory in this process; NULL if this rank cannot see it. */
void *rt_transport_peer(const struct rt_transport *t, int rank);
/* Allocates n pieces one after the other, for a device with memory of its own. They replace the first
 * bytes of rt_transport_alloc, and rt_transport_side_by_side then shows them, one piece at a time. Call
 * it once, before rt_transport_alloc. Collective, with the same pieces on all ranks, multiples of
 * RT_HEAP_UNIT. The memory is all NaN at first, and valid as long as the transport. *out is NULL if the
 * transport has no heap, or if ranks see each other's memory anyway. */
enum status rt_transport_heap(struct rt_transport *t, struct rt_device *d, const size_t *piece, uint32_t n,
                              const char *what, void **out);
/* Maps the bytes [offset, offset + block_bytes) of the memory of each of the n ranks at consecutive
 * addresses, in addition to those of rt_transport_peer. Both numbers are multiples of the page size. The
 * same request gives the same address, which is valid until rt_transport_free. Not collective. Returns
 * STATUS_ABSENT after a message if ranks do not see each other's memory. */
enum status rt_transport_side_by_side(struct rt_transport *t, const int *ranks, int n, size_t offset,
                                      size_t block_bytes, void **out);

/* Start with checks; *out is NULL if it is done already (a team of one: a copy). This rank must be a
 * member. */
enum status rt_transport_start(struct rt_transport *t, const struct rt_collective *c,
                               struct rt_request **out);
enum status rt_transport_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out);

/* Runs one collective to its end, for tests and at start-up; not while an engine uses the transport. */
enum status rt_transport_run(struct rt_transport *t, const struct rt_collective *c);

/* For implementations: block `index` of the larger buffer (of out, for exchanges). */
struct rt_block {
	int64_t offset, count; /* in elements */
};
struct rt_block rt_collective_block(const struct rt_collective *c, int index);
struct rt_block rt_collective_send_block(const struct rt_collective *c, int index); /* of in */
/* Returns true if a collective moves a block of member `from` to member `to`. */
bool rt_collective_gives(const struct rt_collective *c, int from, int to);
/* Return the block of `in` that member `own` gives to member `to`, and the block of `out` that it takes
 * from member `from`; for kinds without blocks all `count` elements. */
struct rt_block rt_collective_given(const struct rt_collective *c, int own, int to);
struct rt_block rt_collective_taken(const struct rt_collective *c, int own, int from);
/* Returns block `index` of n even blocks, for an Allreduce as a reduce-scatter and an allgather. */
struct rt_block rt_even_block(int64_t count, int n, int index);
/* Returns the elements of all blocks, or count. */
int64_t rt_collective_total(const struct rt_collective *c, int members);
/* Likewise, if every member knows it, so that members can compare it; otherwise 0. */
int64_t rt_collective_common_total(const struct rt_collective *c, int members);

/* Counts the bytes of a collective as struct rt_counter defines, whatever way they really go. */
void rt_transport_count(struct rt_transport *t, const struct rt_collective *c);
/* Rounds n elements that were summed in the wide type, after dividing a mean by the number of members.
 * If the wide type is the type of out, out is wide itself. */
void rt_collective_round(const struct rt_collective *c, int members, void *wide, void *out, int64_t n);

enum status rt_shm_open(struct rt_job *job, struct rt_transport **out);
enum status rt_mpi_open(struct rt_job *job, struct rt_transport **out);

#endif
