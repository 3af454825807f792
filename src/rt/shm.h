/* shm: the parts of the shared-memory transport; for src/rt only.
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
 * A rank that has written something another rank may sleep for rings its bell (shm_tell). The bells are
 * looked at before the transport returns, behind one fence: then either the sleeper has seen the write, or we
 * see that it sleeps. */
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
	uint8_t op;     /* enum reduce_op where the kind reduces */
	uint8_t how;    /* collectives: bits of enum shm_how; not compared */
	int32_t root;   /* where the kind has one */
	int64_t count;  /* elements of the whole, where all ranks know it; else 0 */
	uint32_t label; /* of the statement; not compared */
	uint32_t given; /* SHM_INLINE, without a table: bytes of a block in the slot; not compared */
};
enum { SHM_P2P = COLLECTIVE_COUNT };

struct shm;

/* Fails the job if the signs differ, or if a block has not as many bytes on both sides. send: this rank gives
 * the block. */
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

/* The message or collective that a part belongs to; equal on both sides. */
struct shm_key {
	uint32_t channel;  /* of messages; SHM_TEAM + id of the team for collectives */
	uint32_t phase;    /* of a collective */
	uint64_t sequence; /* of the message or collective on that channel */
};
#define SHM_TEAM 0x80000000u

enum shm_state {
	SHM_OFFER,   /* send: the offer must go into the ring */
	SHM_OFFERED, /* send: waiting for the accept */
	SHM_SENT,    /* send: all is in the ring */
	SHM_STREAM,  /* send: data must go into the ring */
	SHM_POSTED,  /* receive: waiting for an offer */
	SHM_GET,     /* receive: must copy from the sender's memory */
	SHM_ACCEPT,  /* receive: the accept must go into the ring */
	SHM_FILL,    /* receive: waiting for data */
	SHM_DONE,
};

/* One direction of a message; lives in a request. */
struct shm_transfer {
	enum shm_state state;
	bool send;
	int peer;
	struct shm_key key;
	struct shm_sign sign;
	char *data;
	const char *from;     /* SHM_GET: where the data are in the sender's memory */
	int64_t bytes, moved; /* in the ring, or out of it */
	uint32_t id, peer_id; /* names of this transfer here and there */
	struct shm_transfer *next,
	    *prev;    /* in the list of those with something to put into a ring, or posted */
	int *pending; /* decremented when done */
};

size_t shm_rings_bytes(int ranks);
void shm_rings_open(struct shm *s, char *memory); /* zeroed, that all ranks see */
void shm_rings_close(struct shm *s);
/* Start moving; *pending was incremented by the caller. A receive that does not match is an error. */
void shm_send(struct shm *s, struct shm_transfer *x);
enum status shm_receive(struct shm *s, struct shm_transfer *x);
enum status shm_rings_drain(struct shm *s, bool *moved); /* takes the messages that others have put */
void shm_rings_fill(struct shm *s, bool *moved);         /* puts as many as there is room for */
bool shm_rings_ready(struct shm *s);                     /* either would find something to do */
/* A small message into the ring, if there is room: without a request, *x is not kept. */
bool shm_send_at_once(struct shm *s, struct shm_transfer *x);
/* A small message out of the ring, if it comes soon; the same. */
enum status shm_receive_at_once(struct shm *s, struct shm_transfer *x, bool *done);
/* A rank that has not received all small messages, and how many are left; -1: there is none. */
int shm_unreceived(struct shm *s, uint32_t *messages);

/* ---- teams
 *
 * For each of its next SHM_DEPTH collectives a member has a slot that it alone writes. The slot has the
 * member's sign and the data for the others: small payloads themselves, of larger ones the place in its
 * memory. A slot is used again once every member has finished with the collective before. */

enum {
	SHM_DEPTH = 32,                         /* slots of a member */
	SHM_SLOT_BYTES = 1024,                  /* of a slot, without the table */
	SHM_INLINE_BYTES = SHM_SLOT_BYTES - 32, /* of payload in a slot */
};

enum shm_how {
	SHM_INLINE = 1, /* the payload is in the slot */
	SHM_IN = 2,     /* it is where `in` says */
	SHM_OUT = 4,    /* the reduced data will be where `out` says; a Reduce: shall be */
	SHM_TABLE = 8,  /* where each member's block is says the table */
	                /* neither SHM_INLINE nor SHM_IN: it comes as a message; no SHM_OUT: the same */
};

struct shm_slot {
	alignas(SHM_LINE) _Atomic uint64_t stamp; /* 1 + sequence of the collective that it holds */
	struct shm_sign sign;
	union {
		struct {
			_Atomic uint64_t reduced; /* as stamp, once the own block of an Allreduce or Reduce
			                             is in out */
			int64_t bytes;            /* for each reader, if there is no table */
			int64_t in, out;          /* places */
		};
		/* SHM_INLINE_BYTES. Blocks for each reader stand in team order; there is none for itself. */
		char payload[32];
	};
};
_Static_assert(sizeof(struct shm_slot) == SHM_LINE, "an empty slot is a cache line");

static inline char *shm_slot_payload(struct shm_slot *slot)
{
	return (char *)slot + offsetof(struct shm_slot, payload);
}

/* Returns the index, in a member's slot, of its block for another. */
static inline int shm_slot_index(int member, int reader)
{
	return reader - (reader > member);
}

/* After SHM_SLOT_BYTES, for each member. */
struct shm_entry {
	int64_t offset, bytes; /* from payload or from place `in` */
};

/* Counters of a member's progress; its own to write. `read` may lag behind `done`. */
struct shm_progress {
	alignas(SHM_LINE) _Atomic uint64_t read; /* collectives of which it reads nothing more */
	_Atomic uint64_t done;                   /* and has compared all slots */
};

struct shm_team {
	int n, index;
	char *memory; /* progress of all members, then their slots; NULL: no member, or the only one */
	size_t slot_bytes;
	uint64_t next;      /* number of the next collective that starts */
	uint64_t published; /* collectives whose slot is written */
	uint64_t free;      /* numbers below have a free slot */
	uint64_t read, done;
	uint8_t finished[SHM_DEPTH]; /* of those from `done` on: bits of enum shm_finished */
	int owed;                    /* of those: SHM_OWES */
	struct rt_request *unused;   /* requests to use again */
};
enum shm_finished {
	SHM_HAS_READ = 1,
	SHM_HAS_COMPARED = 2,
	SHM_OWES = 4, /* a small one, done, whose signs are still to be compared */
};

/* The slots of team id; collective. */
enum status shm_team_open(struct shm *s, int id);
void shm_teams_close(struct shm *s);
struct shm_slot *shm_team_slot(const struct shm_team *t, int member, uint64_t sequence);
struct shm_entry *shm_slot_table(struct shm_slot *slot);
/* Returns true if the slot of this sequence may be written. */
bool shm_team_free(struct shm_team *t, uint64_t sequence);
/* Returns true if the member reads nothing more of this collective. */
bool shm_team_has_read(const struct shm_team *t, int member, uint64_t sequence);
/* Tells the others; true if they may wait for it. */
bool shm_team_finish(struct shm_team *t, uint64_t sequence, enum shm_finished what);

/* ---- requests: collectives and messages under way */

enum shm_phase {
	SHM_UNPUBLISHED, /* waits for a free slot */
	SHM_READING,     /* waits for the others' slots; reads their data */
	SHM_REDUCING,    /* has all operands */
	SHM_GATHERING,   /* Allreduce: reads the blocks that the others have reduced */
	SHM_READ,        /* reads nothing more */
};

/* The data that another member gives. */
struct shm_source {
	const char *at; /* NULL: nothing to copy, or not known yet */
	int64_t bytes;  /* to copy */
	char *to;
	char *put;     /* an Allreduce that is pushed: where this member's block belongs in its memory */
	bool compared; /* its slot was */
	bool reduced;  /* Allreduce: its block was found */
};

struct rt_request {
	struct rt_request *next, *prev; /* among those of the transport; next: unused ones of a team */
	struct rt_collective c;         /* kind COLLECTIVE_COUNT: a message */
	const struct rt_team *team;
	struct shm_team *slots;
	uint64_t sequence;
	struct shm_sign sign;
	enum shm_phase phase;
	bool ended;             /* the owner was told that it is done; slots remain to be compared */
	int sending, receiving; /* transfers that are not done */
	int uncompared;         /* members whose slot was not compared */
	int unread;             /* sources that are not found or not copied */
	int64_t reduced;        /* elements of the own block */
	bool push;              /* an Allreduce of which each member puts its block where all want it */
	bool split;             /* a Reduce of which each member reduces a block, to: */
	char *result;           /* its block, in the root's memory */
	char *staged;           /* reductions: operands that came as messages */
	struct shm_transfer *transfer;
	int transfers;
	struct shm_source source[]; /* of each member */
};

/* Starts a collective; its request, NULL if it is done already. */
enum status shm_collective_start(struct shm *s, const struct rt_collective *c, struct rt_request **out);
/* Advances every request as far as possible. */
enum status shm_collective_advance(struct shm *s, struct rt_request *r, bool *moved);
/* Returns true if shm_collective_advance would find something to do. */
bool shm_collective_ready(struct rt_request *r);
/* Returns true if the owner may use its buffers again. */
bool shm_collective_done(const struct rt_request *r);
void shm_request_free(struct rt_request *r); /* of a collective */

/* Publishes the own slot of the team's next collective; false: it has no small one, or cannot now. sign: of
 * this member; gets its `how`. */
bool shm_small_publish(struct shm *s, const struct rt_collective *c, struct shm_sign *sign);
/* Ends it, unless the data of other members does not come soon: then a request goes on with it. */
enum status shm_small_end(struct shm *s, const struct rt_collective *c, const struct shm_sign *sign,
                          bool *done);
/* Compares the signs of finished small collectives; shm_small_ready: all members have published some. */
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
	struct rt_region *chunk; /* for the slots of teams */
	int chunks;
	size_t chunk_used;          /* bytes of the last one */
	struct rt_request requests; /* list head; circular */
	struct rt_request *unused;  /* messages' requests, to use again */
	int owed;                   /* of all teams */
	int looks;                  /* at data that may come soon, before a request is made */
	int spins;                  /* looks before the processor is given away */
	bool *news;                 /* by rank: must be woken */
	bool any_news;
};

/* Wakes whom it concerns. */
void shm_ring_bells(struct shm *s);
static inline void shm_tell(struct shm *s, int rank)
{
	s->news[rank] = s->any_news = true;
}

#endif
