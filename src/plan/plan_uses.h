/* plan_uses: the order of the uses of slots on streams; see plan_lifetime.c. */
#ifndef HIRC_PLAN_PLAN_USES_H
#define HIRC_PLAN_PLAN_USES_H
#include "base/hash.h"
#include "base/vec.h"
#include "plan/plan_lifetime.h"

enum {
	USES_MAX_STREAMS = 64,
	USES_MAX_WORK = 1 << 22,
	USES_MAX_PAIRS = 1 << 22,
	USES_NONE = UINT32_MAX,
};

struct slot_uses {
	uint32_t buffer;
	bool used, pinned;
	uint32_t life;         /* number of the iteration in which it is alive */
	uint32_t first, last;  /* events of this life, in the order of issue */
	uint32_t pending;      /* communications that use it and were not waited for */
	uint32_t newer, older; /* slots used right after and before it; USES_NONE: none */
	int64_t written;       /* elements written in this life, at most */
	uint32_t *end;         /* by stream: the last event on it; USES_MAX_STREAMS of them */
};

/* An event t of a stream, with the earliest use that none of the events from t on has ended before. */
struct uses_tail {
	uint32_t t, at;
};

struct uses_pair {     /* of slots that meet */
	uint32_t a, b; /* a < b */
};

struct uses {
	struct lifetimes *out;  /* used, at and late are filled in */
	struct slot_uses *slot; /* out->n of them */
	uint32_t now;           /* number of the event, in the order of issue */
	int64_t work;           /* done so far; from USES_MAX_WORK on nothing is known */
	uint32_t streams;
	int64_t index[USES_MAX_STREAMS];                    /* -1: the one that the program starts on */
	uint32_t clock[USES_MAX_STREAMS][USES_MAX_STREAMS]; /* of stream i: what it has seen of stream j */
	VEC(struct uses_tail)
	tail[USES_MAX_STREAMS]; /* `at` grows, too: the suffix minima of all events' `at` */
	VEC(uint32_t) issued; /* communications: the event that issued it, USES_NONE once it was waited for */
	uint32_t oldest;      /* of these that was not waited for */
	uint32_t newest;      /* slot that was used last */
	uint32_t horizon_now, horizon_stream, horizon; /* what it was for which event, for which stream */
	VEC(struct uses_pair) pair;
	struct hash_table pairs; /* + 1 */
};

/* The stream of an index. */
uint32_t uses_stream(struct uses *u, int64_t index);
void uses_see(struct uses *u, uint32_t current, uint32_t other);
/* An event of a stream, before which nothing ends that was used after `at`. */
void uses_event(struct uses *u, uint32_t stream, uint32_t at);
/* The last event of the stream, or a communication after it, uses a slot; USES_NONE: the end of the program,
 * when all is over. life: an iteration's own number. */
void uses_touch(struct uses *u, uint32_t stream, uint32_t slot, uint32_t life);
/* The last event of the stream is the end of a use. */
void uses_end(struct uses *u, uint32_t stream, uint32_t slot);
/* A communication starts; its number. The slots that it uses are touched, and pending up to the wait. */
uint32_t uses_issue(struct uses *u);
void uses_wait(struct uses *u, uint32_t stream, uint32_t issued);
/* Lists the slots that meet. */
void uses_list(const struct uses *u);
void uses_free(struct uses *u);

#endif
