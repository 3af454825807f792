/* shm: the parts of the shared-memory transport; for src/rt only.
 *
 * transport_shm.c moves messages between two ranks, shm_collective.c makes collectives of them.
 *
 * Each ordered pair of ranks has a ring of slots in shared memory, written by one, read by the
 * other. A message is three steps, so that no slot ever waits for a receive that is not there:
 *
 *     sender                          receiver
 *     offer (key, size, first bytes) ──>  kept until a receive with that key is posted
 *                                    <──  accept
 *     data, data, …                  ──>  copied to where it belongs
 *
 * The sender is done when it was accepted and all is in the ring. Receivers always empty their rings. */
#ifndef HIRC_RT_SHM_H
#define HIRC_RT_SHM_H
#include "rt/bell.h"
#include "rt/transport.h"

/* What a message belongs to; equal on both sides. */
struct shm_key {
	uint32_t channel;  /* of messages; SHM_TEAM + id of the team for collectives */
	uint32_t phase;    /* of a collective */
	uint64_t sequence; /* of the message or collective on that channel */
};
#define SHM_TEAM 0x80000000u

/* What a rank believes it takes part in; compared when a message meets its receive. */
struct shm_sign {
	uint8_t kind; /* enum rt_collective_kind; SHM_P2P */
	uint8_t dtype;
	uint8_t op;      /* enum rt_reduce_op where the kind reduces */
	uint8_t counted; /* the kind that counters show */
	int32_t root;    /* where the kind has one */
	int64_t count;   /* elements of the whole */
	uint32_t label;  /* of the statement; not compared */
};
enum { SHM_P2P = RT_COLLECTIVE_COUNT };

enum shm_state {
	SHM_NEW,     /* not started */
	SHM_OFFER,   /* send: the offer must go into the ring */
	SHM_OFFERED, /* send: waiting for the accept */
	SHM_STREAM,  /* send: data must go into the ring */
	SHM_POSTED,  /* receive: waiting for an offer */
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
	int64_t bytes, moved; /* in the ring, or out of it */
	uint32_t id, peer_id; /* names of this transfer here and there */
	struct shm_transfer *next,
	    *prev;    /* in the list of those with something to put into a ring, or posted */
	int *pending; /* decremented when done */
};

struct shm;

/* Start moving; *pending was incremented by the caller. A receive that does not match is an error. */
enum status shm_send(struct shm *s, struct shm_transfer *x);
enum status shm_receive(struct shm *s, struct shm_transfer *x);

/* Collectives and messages under way. */
struct rt_request {
	struct rt_request *next, *prev; /* among those of the transport */
	struct rt_collective c;         /* kind RT_COLLECTIVE_COUNT: a message */
	const struct rt_team *team;
	struct rt_block *block; /* of each member, in the larger buffer */
	char *staged;           /* reductions: what each other member sent, own block size each */
	int64_t reduced;        /* elements of the own block */
	bool gathering;         /* Allreduce: the second half has begun */
	int pending;            /* transfers that are not done */
	int transfers;
	struct shm_transfer transfer[];
};

/* Makes the request of a collective and starts it. sequence: of the team. */
enum status shm_collective_start(struct shm *s, const struct rt_team *team, const struct rt_collective *c,
                                 uint64_t sequence, struct rt_request **out);
/* Reduces what has come, starts what follows. */
enum status shm_collective_advance(struct shm *s, struct rt_request *r, bool *moved);
bool shm_collective_done(const struct rt_request *r);
void shm_request_free(struct rt_request *r);

#endif
