/* transport: moves data between ranks.
 *
 * Everything is started, then tested; nothing blocks. One thread of a rank calls a transport at a
 * time (the communication lane while an engine runs).
 *
 *   shm  ranks on one host; each reads the memory of the others (rt_transport_alloc); data elsewhere goes
 *        through rings in shared memory. Both sides' kind, type, count and root are compared: a mismatch is
 *        an error that names both.
 *   mpi  nonblocking MPI collectives and point-to-point; a mismatch of sizes is an error where MPI sees it.
 *   mixed  shm between ranks of a host, mpi between hosts.
 */
#ifndef HIRC_RT_TRANSPORT_H
#define HIRC_RT_TRANSPORT_H
#include "base/collective.h"
#include "base/transport_kind.h"
#include "rt/job.h"
#include "rt/view.h"

struct rt_memory;
struct rt_device;
struct rt_transport;
struct rt_request;

/* One collective, as seen by a member of its team. Buffers are contiguous and stay untouched by others
 * until it is done. */
struct rt_collective {
	enum collective kind;
	uint8_t counted; /* 1 + the kind that counters show; 0: that above */
	enum dtype dtype;
	enum reduce_op op; /* Allreduce, ReduceScatter, Reduce */
	int team;          /* from rt_transport_team */
	int root;          /* index in the team, of rooted kinds */
	const void *in;    /* may be out (Allreduce, Broadcast) or the own block inside the larger of
	                    * the two (Allgather, ReduceScatter); else no overlap */
	void *out;
	int64_t count; /* elements: kinds without blocks; of each block, if counts is NULL */
	/* Kinds with blocks: elements of each and where it begins in the larger buffer (AllToAll, AllToAllv:
	 * in out), in elements; team size entries. NULL: count for each; one after the other. Read before
	 * rt_submit_collective returns (start: they must live until the request is done). */
	const int64_t *counts, *offsets;
	/* AllToAll, AllToAllv: the same of the blocks in in; never NULL if counts is not. */
	const int64_t *send_counts, *send_offsets;
	/* AllToAllv whose blocks are known only when it starts, in an engine: how many units of late_unit
	 * elements each member gives and gets, one after the other in both buffers; late_room: units that fit
	 * in out and in in. counts and the like are NULL then. The lists are read once the stream has done
	 * its earlier work. */
	const int64_t *late_counts, *late_send_counts; /* NULL: counts are known */
	int64_t late_unit, late_room, late_send_room;
	/* The device's event after which an asynchronous transport starts; the caller's again when start
	 * returns. */
	void *after;
	struct rt_origin at;
};

static inline enum collective rt_collective_counted(const struct rt_collective *c)
{
	return c->counted ? (enum collective)(c->counted - 1) : c->kind;
}

/* One side of a message. Sender and receiver match by (sender, receiver, channel) in the order of their
 * `sequence`, which the engine counts at issue: messages may start in another order. A send is done
 * once the data is out. A large one, and any of mpi, also waits for its receive; rt_drain waits for all. */
struct rt_p2p {
	bool send;
	int peer;          /* rank; may be the own one */
	uint32_t channel;  /* communicator id, < RT_MAX_CHANNELS; any number that both sides use */
	uint64_t sequence; /* set by rt_submit_p2p */
	enum dtype dtype;
	int64_t count; /* elements; must be the same on both sides */
	void *data;    /* contiguous; not written by a send */
	void *after;   /* as in struct rt_collective */
	struct rt_origin at;
};

enum { RT_MAX_CHANNELS = 2048, RT_SHM_MAX_RANKS = 256 };

/* Pieces of a heap have a multiple of so many bytes, in which GPUs map memory. */
enum { RT_HEAP_UNIT = 2 << 20 };

/* Counters of a rank's data: index COLLECTIVE_COUNT is point to point (operations: sends and receives). Bytes
 * are those that cross to or from another rank when each block goes directly to each rank that needs it
 * (Allreduce: a reduce-scatter and an allgather): so shm moves them, and so mpi is counted. */
enum { RT_COUNTER_P2P = COLLECTIVE_COUNT, RT_COUNTERS };
struct rt_counter {
	int64_t operations, bytes_sent, bytes_received;
};

struct rt_transport_ops {
	enum transport_kind kind;
	enum status (*team)(struct rt_transport *t, int id, const int *ranks, int n);
	/* On failure the message was printed, no request is made. */
	enum status (*start)(struct rt_transport *t, const struct rt_collective *c, struct rt_request **out);
	enum status (*start_p2p)(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out);
	/* Moves whatever can move. *moved is set to true if something did, else left. */
	enum status (*progress)(struct rt_transport *t, bool *moved);
	/* Tests if the request is done; then it is gone. Also gone on failure. */
	enum status (*test)(struct rt_transport *t, struct rt_request *r, bool *done);
	/* Tests, for asynchronous transports, in place of test, if the device has been given the
	 * request. Then the request is gone, and *event, which is the caller's, is over when it is done;
	 * before that *event is NULL. start always gives a request. NULL: the host moves the data. */
	enum status (*issued)(struct rt_transport *t, struct rt_request *r, void **event);
	/* Between these starts belong together: those of a group. NULL: nothing is done for groups. */
	enum status (*group_begin)(struct rt_transport *t);
	enum status (*group_end)(struct rt_transport *t, struct rt_origin at);
	/* A rank that has not received all that sends are done of, and how many messages that is; -1: there
	 * is none. Any thread may ask while nothing is under way. NULL: sends wait for their receives. */
	int (*unreceived)(struct rt_transport *t, uint32_t *messages);
	/* Sleeping: read() before looking for work, then wait(seen, …) as for a bell; wake() from any thread
	 * of the rank. wait returns early when data may have come. */
	uint32_t (*read)(struct rt_transport *t);
	void (*wait)(struct rt_transport *t, uint32_t seen, int64_t microseconds);
	void (*wake)(struct rt_transport *t);
	/* Make the memory of rt_transport_heap, and of rt_transport_side_by_side, for devices with memory of
	 * their own. NULL: ranks do not see each other's. It lasts as long as the transport. */
	enum status (*heap)(struct rt_transport *t, const size_t *piece, uint32_t n, const char *what,
	                    void **out);
	enum status (*side_by_side)(struct rt_transport *t, const int *ranks, int n, size_t offset,
	                            size_t bytes, void **out);
	/* Before a rank frees its memory: others give up their maps of it, which is collective while the job
	 * runs; after a failure the device ends the work that it would wait for. NULL: neither is needed. */
	void (*before_free)(struct rt_transport *t);
	/* Requests that are not done are dropped. */
	void (*close)(struct rt_transport *t);
};

struct rt_team {
	int n;     /* members */
	int index; /* of this rank, -1: not a member */
	int *rank; /* of each member, in team order; owned */
};

struct rt_transport {
	const struct rt_transport_ops *ops;
	struct rt_job *job;
	bool captures;        /* work that it gives to the device may be part of a graph */
	bool reorders;        /* sums of floats may be rounded in another way in each run */
	struct rt_team *team; /* by id; owned */
	int teams;
	struct rt_counter counter[RT_COUNTERS];
	int64_t sends, receives, copies; /* messages; copies: those to the own rank, and collectives of one */
	struct rt_memory *memory;        /* NULL: none */
	bool has_heap;                   /* of its own: see rt_transport_heap */
};

/* Opens a transport on all ranks: collective. auto: shm; if MPI started the ranks mpi, or mixed where they
 * are on several hosts, with several on one. STATUS_ABSENT with a message for a transport that is of GPUs, or
 * that this build or job lacks. */
enum status rt_transport_open(struct rt_job *job, enum transport_kind kind, struct rt_transport **out);
void rt_transport_close(struct rt_transport *t); /* all ranks; no barrier; NULL is allowed */

/* Declares the team `ranks` (in team order, no rank twice): every rank of the job calls this for every
 * team, in one order, members or not, before the first start. *id counts from 0: the same on all ranks.
 * Each call makes a communicator of its own, even if the ranks are the same. */
enum status rt_transport_team(struct rt_transport *t, const int *ranks, int n, int *id);

/* The rank's memory, as from rt_device_alloc but aligned to pages, which peers can read and write if the
 * ranks are on one host. Collective; one at a time. */
enum status rt_transport_alloc(struct rt_transport *t, struct rt_device *d, size_t bytes, const char *what,
                               void **out);
/* Peers on one host may go on reading it, unless it is the device's and mapped (cuda-ipc): then this is
 * collective. NULL is allowed. */
void rt_transport_free(struct rt_transport *t, struct rt_device *d, void *at);
/* Returns the begin of a rank's memory in this process; NULL where it cannot be seen. */
void *rt_transport_peer(const struct rt_transport *t, int rank);
/* Memory of n pieces, one after the other, of a device with memory of its own, in place of the first bytes of
 * rt_transport_alloc: rt_transport_side_by_side is of it then, one piece at a time. Once, before that;
 * collective, the same pieces on all ranks, multiples of RT_HEAP_UNIT. All of it is NaN, and it lasts as long
 * as the transport. *out is NULL where the transport has none, or ranks see each other's memory anyway. */
enum status rt_transport_heap(struct rt_transport *t, struct rt_device *d, const size_t *piece, uint32_t n,
                              const char *what, void **out);
/* The bytes [offset, offset + block_bytes) of the memory of each of the n ranks, at consecutive addresses
 * (once more than at those of rt_transport_peer). Both are multiples of the page size. The same request
 * gives the same address; valid until rt_transport_free. Not collective. STATUS_ABSENT with a message where
 * ranks do not see each other's memory. */
enum status rt_transport_side_by_side(struct rt_transport *t, const int *ranks, int n, size_t offset,
                                      size_t block_bytes, void **out);

/* Start, with checks; *out is NULL if it is done already (a team of one: a copy). The rank is a member. */
enum status rt_transport_start(struct rt_transport *t, const struct rt_collective *c,
                               struct rt_request **out);
enum status rt_transport_start_p2p(struct rt_transport *t, const struct rt_p2p *p, struct rt_request **out);

/* Runs one collective to its end: for tests and start-up; not while an engine uses the transport. */
enum status rt_transport_run(struct rt_transport *t, const struct rt_collective *c);

/* For implementations: block `index` of the larger buffer (out of those that exchange). */
struct rt_block {
	int64_t offset, count; /* elements */
};
struct rt_block rt_collective_block(const struct rt_collective *c, int index);
struct rt_block rt_collective_send_block(const struct rt_collective *c, int index); /* of in */
/* Returns true if a collective moves a block of member `from` to member `to`. */
bool rt_collective_gives(const struct rt_collective *c, int from, int to);
/* The block of `in` that member `own` gives to member `to`, and that of `out` which it takes from member
 * `from`; of kinds without blocks all `count` elements. */
struct rt_block rt_collective_given(const struct rt_collective *c, int own, int to);
struct rt_block rt_collective_taken(const struct rt_collective *c, int own, int from);
/* Allreduce as a reduce-scatter and an allgather: block `index` of n even ones. */
struct rt_block rt_even_block(int64_t count, int n, int index);
/* Elements of all blocks, or count. */
int64_t rt_collective_total(const struct rt_collective *c, int members);
/* The same where every member knows it, for a comparison of members; else 0. */
int64_t rt_collective_common_total(const struct rt_collective *c, int members);

/* Counts the bytes of a collective as struct rt_counter says, wherever they really go. */
void rt_transport_count(struct rt_transport *t, const struct rt_collective *c);
/* Rounds n elements that were summed in the wide type, after the division of a mean of that many members; out
 * is wide itself where that is the type. */
void rt_collective_round(const struct rt_collective *c, int members, void *wide, void *out, int64_t n);

enum status rt_shm_open(struct rt_job *job, struct rt_transport **out);
enum status rt_mpi_open(struct rt_job *job, struct rt_transport **out);

#endif
