/* shm: the structures and functions of the shared-memory transport; private to src/rt.
 *
 *   transport_shm.c   the transport, requests, waiting
 *   shm_team.c        the slots and counters that the members of a team share
 *   shm_collective.c  collectives: each member reads the others' memory, or their slots
 *   shm_parts.c       which elements a member gives to which
 *   shm_publish.c     a member's slot
 *   shm_small.c       those that are done at once
 *   shm_ring.c        messages, and data in memory that peers do not see
 *   shm_sign.c        the signs of all members, compared
 *
 * A rank that writes something for which another rank may sleep marks that rank (shm_tell). Before the
 * transport returns, it rings the bells of the marked ranks after one fence. Then either the sleeper has
 * seen the write, or this rank sees that it sleeps. */
#ifndef HIRC_RT_SHM_H
#define HIRC_RT_SHM_H
#include "rt/bell.h"
#include "rt/rt_region.h"
#include "rt/transport.h"
#include <stdalign.h>

enum { SHM_LINE = 64 /* bytes of a cache line */ };

/* ---- signs: a rank's view of the collective that it takes part in; compared with those of the others */

struct shm_sign {
	uint8_t kind; /* enum collective; SHM_P2P */
	uint8_t dtype;
	uint8_t op;     /* enum reduce_op, if the kind reduces */
	uint8_t how;    /* collectives: bits of enum shm_how; not compared */
	int32_t root;   /* if the kind has a root */
	int64_t count;  /* elements of the whole, if all ranks know it; otherwise 0 */
	uint32_t label; /* label of the statement; not compared */
	uint32_t given; /* SHM_INLINE without a table: bytes of a block in the slot; not compared */
};
enum { SHM_P2P = COLLECTIVE_COUNT };

struct shm;

/* Fails the job if the signs differ, or if the two sides give a block different sizes. send: this rank
 * gives the block. */
enum status shm_compare(struct shm *s, const struct shm_sign *own, int64_t own_bytes, bool send, int peer,
                        const struct shm_sign *other, int64_t other_bytes);

/* ---- messages through rings
 *
 * Each ordered pair of ranks has a ring of slots in shared memory, written by one, read by the other. A small
 * message is one slot, with its signature and its data; then the send is done. If its receive is not there
 * yet the receiver keeps it, so that no slot ever waits for a receive. A large one is three steps:
 *
 *     sender                          receiver
 *     offer (key, size, first bytes) ──>  kept until a receive with that key is posted
 *                                    <──  accept
 *     data, data, …                  ──>  copied to where it belongs
 *
 * Of data in memory that peers see the offer holds the place: the receiver copies them, then accepts. Each
 * slot has a stamp, written last: the receiver looks at the line that it needs, and at no other. It counts
 * the small messages that have met their receive; who ends a program waits for that (shm_unreceived). */

/* The message or collective to which a part belongs; equal on both sides. */
struct shm_key {
	uint32_t channel;  /* channel of a message; SHM_TEAM + id of the team for collectives */
	uint32_t phase;    /* for a collective */
	uint64_t sequence; /* number of the message or collective on that channel */
};
#define SHM_TEAM 0x80000000u

enum shm_state {
	SHM_OFFER,   /* send: the offer must go into the ring */
	SHM_OFFERED, /* send: waits for the accept */
	SHM_SENT,    /* send: everything is in the ring */
	SHM_STREAM,  /* send: data must go into the ring */
	SHM_POSTED,  /* receive: waits for an offer */
	SHM_GET,     /* receive: must copy from the sender's memory */
	SHM_ACCEPT,  /* receive: the accept must go into the ring */
	SHM_FILL,    /* receive: waits for data */
	SHM_DONE,
};

/* One direction of a message; part of a request. */
struct shm_transfer {
	enum shm_state state;
	bool send;
	int peer;
	struct shm_key key;
	struct shm_sign sign;
	char *data;
	const char *from;     /* SHM_GET: address of the data in the sender's memory */
	int64_t bytes, moved; /* moved: put into the ring, or taken out of it */
	uint32_t id, peer_id; /* names of this transfer on this side and on the other */
	struct shm_transfer *next,
	    *prev;    /* in the list of those with something to put into a ring, or of those posted */
	int *pending; /* decremented when the transfer is done */
};

size_t shm_rings_bytes(int ranks);
void shm_rings_open(struct shm *s, char *memory); /* memory: zeroed, seen by all ranks */
void shm_rings_close(struct shm *s);
/* Start a transfer; the caller has incremented *pending. A receive that does not match is an error. */
void shm_send(struct shm *s, struct shm_transfer *x);
enum status shm_receive(struct shm *s, struct shm_transfer *x);
enum status shm_rings_drain(struct shm *s, bool *moved); /* takes the messages that others have put there */
void shm_rings_fill(struct shm *s, bool *moved);         /* puts as many as fit */
bool shm_rings_ready(struct shm *s);                     /* one of the two would find something to do */
/* Puts a small message into the ring if there is room. It needs no request, and *x is not kept. */
bool shm_send_at_once(struct shm *s, struct shm_transfer *x);
/* Takes a small message out of the ring if it comes soon; likewise without a request. */
enum status shm_receive_at_once(struct shm *s, struct shm_transfer *x, bool *done);
/* Returns a rank that has not received all small messages, and the number that is left; -1: there is
 * none. */
int shm_unreceived(struct shm *s, uint32_t *messages);

/* ---- teams
 *
 * For each of its next SHM_DEPTH collectives a member has a slot that it alone writes. The slot has the
 * member's sign and the data for the others: small payloads themselves, of larger ones the place in its
 * memory. A slot is used again once every member has finished with the collective before. */

enum {
	SHM_DEPTH = 32,                         /* slots of a member */
	SHM_SLOT_BYTES = 1024,                  /* bytes of a slot, without the table */
	SHM_INLINE_BYTES = SHM_SLOT_BYTES - 32, /* bytes of payload in a slot */
};

enum shm_how {
	SHM_INLINE = 1, /* the payload is in the slot */
	SHM_IN = 2,     /* the payload is at place `in` */
	SHM_OUT = 4,    /* the reduced data will be at place `out`; Reduce: must be put there */
	SHM_TABLE = 8,  /* a table has the place of each member's block */
	                /* neither SHM_INLINE nor SHM_IN: the data comes as a message; likewise without
	                 * SHM_OUT */
};

struct shm_slot {
	alignas(SHM_LINE) _Atomic uint64_t stamp; /* sequence of its collective + 1 */
	struct shm_sign sign;
	union {
		struct {
			_Atomic uint64_t
			    reduced; /* like stamp, once the own block of an Allreduce or Reduce is in out */
			int64_t bytes;   /* for each reader, without a table */
			int64_t in, out; /* places */
		};
		/* SHM_INLINE_BYTES. Blocks for each reader are in team order, without one for the member
		 * itself. */
		char payload[32];
	};
};
_Static_assert(sizeof(struct shm_slot) == SHM_LINE, "an empty slot is a cache line");

static inline char *shm_slot_payload(struct shm_slot *slot)
{
	return (char *)slot + offsetof(struct shm_slot, payload);
}

/* Returns the index, in a member's slot, of its block for another member. */
static inline int shm_slot_index(int member, int reader)
{
	return reader - (reader > member);
}

/* Table after SHM_SLOT_BYTES, one entry for each member. */
struct shm_entry {
	int64_t offset, bytes; /* offset from the payload or from place `in` */
};

/* Counters of a member's progress; only the member writes them. `read` may lag behind `done`. */
struct shm_progress {
	alignas(SHM_LINE) _Atomic uint64_t read; /* number of collectives of which it reads nothing more */
	_Atomic uint64_t done;                   /* likewise, and it has compared all slots */
};

struct shm_team {
	int n, index;
	char *memory; /* progress of all members, then their slots; NULL: not a member, or the only one */
	size_t slot_bytes;
	uint64_t next;      /* number of the next collective to start */
	uint64_t published; /* number of collectives whose slot is written */
	uint64_t free;      /* collectives with lower numbers have a free slot */
	uint64_t read, done;
	uint8_t finished[SHM_DEPTH]; /* of those from `done` on: bits of enum shm_finished */
	int owed;                    /* number of those with SHM_OWES */
	struct rt_request *unused;   /* requests to use again */
};
enum shm_finished {
	SHM_HAS_READ = 1,
	SHM_HAS_COMPARED = 2,
	SHM_OWES = 4, /* a small one that is done, but its signs are not compared yet */
};

/* Makes the slots of team id; collective. */
enum status shm_team_open(struct shm *s, int id);
void shm_teams_close(struct shm *s);
struct shm_slot *shm_team_slot(const struct shm_team *t, int member, uint64_t sequence);
struct shm_entry *shm_slot_table(struct shm_slot *slot);
/* Returns true if the slot for this sequence may be written. */
bool shm_team_free(struct shm_team *t, uint64_t sequence);
/* Returns true if the member reads nothing more of this collective. */
bool shm_team_has_read(const struct shm_team *t, int member, uint64_t sequence);
/* Publishes that this member has finished. Returns true if others may wait for it. */
bool shm_team_finish(struct shm_team *t, uint64_t sequence, enum shm_finished what);

/* ---- requests: collectives and messages under way */

enum shm_phase {
	SHM_UNPUBLISHED, /* waits for a free slot */
	SHM_READING,     /* waits for the others' slots, and reads their data */
	SHM_REDUCING,    /* has all operands */
	SHM_GATHERING,   /* Allreduce: reads the blocks that the others have reduced */
	SHM_READ,        /* reads nothing more */
};

/* The data that another member gives. */
struct shm_source {
	const char *at; /* NULL: nothing to copy, or not known yet */
	int64_t bytes;  /* bytes to copy */
	char *to;
	char *put;     /* pushed Allreduce: place of this member's block in that member's memory */
	bool compared; /* its slot was compared */
	bool reduced;  /* Allreduce: its reduced block was found */
};

struct rt_request {
	struct rt_request *next,
	    *prev; /* neighbours among the transport's requests; next: also among a team's unused ones */
	struct rt_collective c; /* kind COLLECTIVE_COUNT: a message */
	const struct rt_team *team;
	struct shm_team *slots;
	uint64_t sequence;
	struct shm_sign sign;
	enum shm_phase phase;
	bool ended;             /* its owner knows that it is done; some slots are not compared yet */
	int sending, receiving; /* numbers of transfers that are not done */
	int uncompared;         /* number of members whose slot was not compared */
	int unread;             /* number of sources that are not found or not copied */
	int64_t reduced;        /* elements of the own block */
	bool push;              /* Allreduce in which each member puts its block into all members' memory */
	bool split;             /* Reduce in which each member reduces a block, to: */
	char *result;           /* its block in the root's memory */
	char *staged;           /* reductions: operands that came as messages */
	struct shm_transfer *transfer;
	int transfers;
	struct shm_source source[]; /* by member */
};

/* Starts a collective. Its request is NULL if it is done already. */
enum status shm_collective_start(struct shm *s, const struct rt_collective *c, struct rt_request **out);
/* Advances a request as far as possible. */
enum status shm_collective_advance(struct shm *s, struct rt_request *r, bool *moved);
/* Returns true if shm_collective_advance would find something to do. */
bool shm_collective_ready(struct rt_request *r);
/* Returns true if the owner may use its buffers again. */
bool shm_collective_done(const struct rt_request *r);
void shm_request_free(struct rt_request *r); /* for collectives */

/* Publishes the own slot of the team's next collective. Returns false if the collective is not small, or
 * if it cannot be published now. sign: of this member; receives its `how`. */
bool shm_small_publish(struct shm *s, const struct rt_collective *c, struct shm_sign *sign);
/* Ends it or, if the data of other members does not come soon, leaves the rest to a request. */
enum status shm_small_end(struct shm *s, const struct rt_collective *c, const struct shm_sign *sign,
                          bool *done);
/* Compares the signs of finished small collectives. shm_small_ready: all members have published some. */
enum status shm_small_settle(struct shm *s);
bool shm_small_ready(const struct shm *s);

struct shm_bell {
	alignas(SHM_LINE) struct rt_bell bell;
};

struct shm {
	struct rt_transport base;
	struct rt_region region; /* bells of all ranks, rings [from][to], processors of all ranks */
	struct shm_rings *rings;
	struct shm_team *team; /* by id */
	int teams;
	struct rt_region *chunk; /* memory for the slots of teams */
	int chunks;
	size_t chunk_used;          /* bytes used of the last one */
	struct rt_request requests; /* head of a circular list */
	struct rt_request *unused;  /* requests of messages, to use again */
	int owed;                   /* sum over all teams */
	int looks;                  /* looks at data that may come soon, before a request is made */
	int spins;                  /* looks before the processor is given away */
	bool *news;                 /* by rank: must be woken */
	bool any_news;
};

/* Wakes the marked ranks. */
void shm_ring_bells(struct shm *s);
static inline void shm_tell(struct shm *s, int rank)
{
	s->news[rank] = s->any_news = true;
}

#endif
