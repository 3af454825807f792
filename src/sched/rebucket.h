/* rebucket: the problem with buckets, changed in place when some of its buckets change.
 *
 * A node in no bucket keeps its number. Each bucket has a slot, whose parts have the numbers of bucket_parts.h. Members
 * of buckets and the parts of free slots are in no schedule, and no node in a schedule needs them. A change makes the
 * lists of the nodes again whose buckets change, and of the nodes that need them or that they need. All others stay. */
#ifndef HIRC_SCHED_REBUCKET_H
#define HIRC_SCHED_REBUCKET_H
#include "base/vec.h"
#include "sched/bucket_parts.h"

typedef VEC(uint32_t) sched_numbers;

struct sched_rebucket_lists { /* lists of the problem, with their room */
	struct sched_lists *l;
	uint32_t *room; /* by list: most items at its place */
	uint32_t used, size;
};

struct sched_rebucket {
	struct sched_problem p;
	struct sched_parts parts; /* their buckets are the slots */
	uint32_t slot_n;
	/* The last change: */
	sched_numbers slots;        /* those that gained or lost members */
	sched_numbers nodes;        /* the comms that are or were in one of these, with their waits */
	struct sched_group *former; /* by slot that changed: its group before */
	uint32_t *former_number;    /* by node without buckets: its number before */
	/* Internal state: */
	struct arena *arena;
	uint32_t *slot;            /* by transfer, as in parts */
	struct sched_lists moves;  /* by transfer: its comm, and the waits for it */
	struct sched_lists member; /* by slot: its transfers */
	struct sched_rebucket_lists pred, succ, uses, makes, users;
	sched_numbers item, joined;                   /* a list that is being made; members of a part */
	sched_numbers need, needing, storage, beside; /* lists to make again: nodes, storages, slots */
	uint32_t *marked_need, *marked_needing, *marked_storage, *marked_slot, marking; /* who is in these */
};

/* Opens a problem without buckets. p must live as long as r. */
void sched_rebucket_open(struct sched_rebucket *r, const struct sched_problem *p);
void sched_rebucket_close(struct sched_rebucket *r);
/* Finds slots for buckets: a bucket that stays as it is keeps its slot. bucket: by transfer, numbers below bucket_n or
 * SCHED_NONE; slot: likewise. */
void sched_rebucket_slots(const struct sched_rebucket *r, const uint32_t *bucket, uint32_t bucket_n,
                          uint32_t *slot);
/* Changes the buckets. slot: by transfer. Returns false if a member needs another member of its bucket; the next
 * change must then undo this one. Buckets that wait for each other are not noticed: the problem then has no schedule. */
bool sched_rebucket(struct sched_rebucket *r, const uint32_t *slot);

#endif
