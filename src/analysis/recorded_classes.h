/* recorded_classes: communications of a recorded program that differs from rank to rank.
 *
 *     if rank <= 1 { … r: f32[8] = extern "all_reduce"(x) {kind=allreduce, group=dp} … }     class 0: ranks 0, 1
 *     if rank == 2 { … }                                                                    class 1: rank 2
 *
 * Each class has a list of its collectives, messages and barriers, in the order in which it issues them. The k-th
 * collective of a group meets the k-th of each other member; barriers count as collectives. A message meets the
 * message of its peer with the same number between the two ranks. */
#ifndef HIRC_ANALYSIS_RECORDED_CLASSES_H
#define HIRC_ANALYSIS_RECORDED_CLASSES_H
#include "base/arena.h"
#include "base/vec.h"
#include "ir/ir.h"

#define RECORDED_NONE UINT32_MAX

enum recorded_what { RECORDED_COLLECTIVE, RECORDED_SEND, RECORDED_RECV };

struct recorded_comm {
	op_id op;
	enum recorded_what what;
	name_id kind;   /* allreduce, …, barrier */
	group_id group; /* of a collective; 0: it is in no group */
	uint32_t
	    nth; /* place among the class's collectives of the group; messages: among those to, or from, the peer */
	int64_t bytes; /* of the operands on a rank */
	int64_t peer;  /* of a message on the first rank of the class; -1: not stated */
};

struct recorded_class {
	op_id branch; /* the condition that holds its statements */
	region_id body;
	int64_t first;         /* its least rank */
	uint32_t comm, comm_n; /* in `comm` */
};

struct recorded {
	struct module *m;
	int64_t ranks;
	VEC(struct recorded_class) class;
	VEC(struct recorded_comm) comm;
	uint32_t *class_of; /* by rank; RECORDED_NONE: it runs nothing */
	uint32_t *comm_of;  /* by op: index in `comm`; RECORDED_NONE: it does not communicate */
};

/* Returns true if the program is nothing but conditions, in one of them recorded communications. */
bool recorded_has_classes(const struct module *m);
/* Finds classes and communications of ranks 0 to ranks - 1. End it with recorded_free; arena: its memory besides. */
void recorded_find(struct module *m, int64_t ranks, struct arena *arena, struct recorded *out);
void recorded_free(struct recorded *r);

/* Returns the i-th communication of a class. */
static inline const struct recorded_comm *recorded_get(const struct recorded *r, uint32_t class, uint32_t i)
{
	return &r->comm.at[r->class.at[class].comm + i];
}
/* Returns the peer of a message on a rank. Ranks of a class send to ranks at the same distance. */
int64_t recorded_peer(const struct recorded *r, const struct recorded_comm *c, int64_t rank);
/* Returns the number of members of a group, and their ranks in *device; NULL there: they are 0, 1, …. Returns 0 if the
 * members are not known: they are not listed, and the group is smaller than the program. */
uint32_t recorded_members(const struct recorded *r, group_id group, const uint32_t **device);
bool recorded_is_member(const struct recorded *r, group_id group, int64_t rank);
/* Returns the communication that a statement waits for; RECORDED_NONE: none. A receive without a group and
 * a barrier wait for themselves. */
uint32_t recorded_waits_for(const struct recorded *r, op_id op);
/* Returns the n-th collective of a group in a class, or the n-th message of a rank with a peer; RECORDED_NONE: there
 * are not so many. */
uint32_t recorded_collective(const struct recorded *r, uint32_t class, group_id group, uint32_t n);
uint32_t recorded_message(const struct recorded *r, int64_t rank, enum recorded_what what, int64_t peer,
                          uint32_t n);

struct recorded_meeting {
	uint32_t
	    first; /* the collective as the first class that takes part has it; its own number: it is this one */
	uint32_t from; /* receive: the send of another class; RECORDED_NONE: none */
};
/* Finds for each communication the ones that it meets in other classes. The result is of the arena. */
struct recorded_meeting *recorded_meetings(const struct recorded *r, struct arena *arena);

#endif
