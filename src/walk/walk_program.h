/* walk_program: data shared by the walks of a program's ranks: the slices of each team, found once, and the
 * messages that posts issue.
 *
 *     team (0 1)(2 3)     rank 3: slice (2 3), member 1     rank 5: none
 *
 * Two teams may have slices with the same devices in the same order. These are one slice here, since they are
 * one communicator. */
#ifndef HIRC_WALK_WALK_PROGRAM_H
#define HIRC_WALK_WALK_PROGRAM_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "ir/ir.h"

struct walk_slice { /* the ranks of a team that meet */
	uint32_t n;
	const uint32_t *device; /* in team order */
};

struct walk_program {
	struct module *m;
	int64_t ranks;
	struct arena *arena;
	bool *is_posted;              /* by op_id: a post issues the message; NULL: the program has no
	                                 posts */
	struct walk_team **team;      /* by team_id; NULL: not needed yet */
	VEC(struct walk_slice) slice; /* slices of the teams that were needed; [0] is unused */
	struct hash_table slices;
};

struct membership {             /* place of a rank in a team */
	uint32_t slice;         /* index into walk_program.slice */
	uint32_t member;        /* index of the rank in its slice */
	uint32_t n;             /* number of members */
	const uint32_t *device; /* n of them */
};

void walk_program_open(struct walk_program *p, struct module *m, int64_t ranks);
void walk_program_close(struct walk_program *p);

/* Finds the slice of a team that holds a rank; if several do, the first. Returns false if none does, or if
 * team is 0. */
bool walk_membership(struct walk_program *p, team_id team, int64_t rank, struct membership *out);

#endif
