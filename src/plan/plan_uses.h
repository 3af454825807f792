/* plan_uses: the order in which streams use slots; see plan_lifetime.c. */
#ifndef HIRC_PLAN_PLAN_USES_H
#define HIRC_PLAN_PLAN_USES_H
#include "base/hash.h"
#include "base/vec.h"
#include "plan/plan_lifetime.h"

enum {
	USES_MAX_STREAMS = 64,
	USES_MAX_WORK = 1 << 22,
	USES_MAX_COMPARED = 1 << 22,
	USES_MAX_PAIRS = 1 << 22,
	USES_NONE = UINT32_MAX,
};

struct slot_uses {
	uint32_t buffer;
	bool used, pinned;
	uint32_t life;         /* number of the iteration in which it is in use */
	uint32_t first, last;  /* first and last event of this lifetime, in the order of issue */
	uint32_t pending;      /* communications that use it and that nothing has waited for */
	uint32_t newer, older; /* the slots used directly after and before it; USES_NONE: none */
	int64_t written;       /* most elements written in this lifetime */
	uint32_t *end;         /* by stream: its last event there; USES_MAX_STREAMS entries */
};

/* An event t of a stream, and the earliest use that no event from t on has seen ended. */
struct uses_tail {
	uint32_t t, at;
};

struct uses_pair {     /* two slots that meet */
	uint32_t a, b; /* a < b */
};

struct uses {
	struct lifetimes *out;  /* receives used, at and late */
	struct slot_uses *slot; /* out->n slots */
	uint32_t now;           /* number of the current event, in the order of issue */
	int64_t work;           /* instructions followed; from USES_MAX_WORK on nothing is known */
	bool unpaired;          /* pairs are not wanted, or too many */
	int64_t compared;       /* comparisons of two slots; at most USES_MAX_COMPARED */
	uint32_t streams;
	int64_t
	    index[USES_MAX_STREAMS]; /* by stream: its index; -1: the stream on which the program starts */
	uint32_t clock[USES_MAX_STREAMS]
	              [USES_MAX_STREAMS]; /* [i][j]: number of events of stream j that stream i has seen */
	VEC(struct uses_tail)
	tail[USES_MAX_STREAMS]; /* suffix minima of `at` over all events; `at` grows */
	VEC(uint32_t) issued;   /* by communication: the event that issued it; USES_NONE: it was waited for */
	uint32_t oldest;        /* the oldest one that was not waited for */
	uint32_t newest;        /* most recently used slot */
	uint32_t horizon_now, horizon_stream,
	    horizon; /* cached result of horizon: for event, for stream, result */
	VEC(struct uses_pair) pair;
	struct hash_table pairs; /* pair, + 1 */
};

/* Returns the stream of an index. */
uint32_t uses_stream(struct uses *u, int64_t index);
void uses_see(struct uses *u, uint32_t current, uint32_t other);
/* Adds an event to a stream. The event ends no use after `at`. */
void uses_event(struct uses *u, uint32_t stream, uint32_t at);
/* Adds a use of a slot by the last event of the stream, or by a communication after it. stream
 * USES_NONE: the end of the program, when all uses are over. life: number unique to the iteration. */
void uses_touch(struct uses *u, uint32_t stream, uint32_t slot, uint32_t life);
/* Ends the use of a slot with the last event of the stream. */
void uses_end(struct uses *u, uint32_t stream, uint32_t slot);
/* Starts a communication and returns its number. The slots that it uses are touched, and pending up to
 * the wait. */
uint32_t uses_issue(struct uses *u);
void uses_wait(struct uses *u, uint32_t stream, uint32_t issued);
/* Makes the lists of slots that meet. */
void uses_list(const struct uses *u);
void uses_free(struct uses *u);

#endif
