/* walk_program: what walks of a program's ranks share: the slice of a team that a rank is in, looked up once
 * a team, and the messages that posts issue.
 *
 *     team (0 1)(2 3)     rank 3: slice (2 3), member 1     rank 5: none
 *
 * Slices of different teams with the same devices in the same order are one: they are one communicator. */
#ifndef HIRC_WALK_WALK_PROGRAM_H
#define HIRC_WALK_WALK_PROGRAM_H
#include "base/arena.h"
#include "base/hash.h"
#include "base/vec.h"
#include "ir/ir.h"

struct walk_slice { /* of a team */
	uint32_t n;
	const uint32_t *device; /* in team order */
};

struct walk_program {
	struct module *m;
	int64_t ranks;
	struct arena *arena;
	bool *is_posted;              /* by op_id: a post issues the message; NULL: there are no posts */
	struct walk_team **team;      /* by team_id; NULL: not asked for yet */
	VEC(struct walk_slice) slice; /* of the teams that were asked for; [0] is none */
	struct hash_table slices;
};

struct membership {             /* of a rank in a team */
	uint32_t slice;         /* in walk_program.slice */
	uint32_t member;        /* index of the rank in the slice */
	uint32_t n;             /* members */
	const uint32_t *device; /* n of them */
};

void walk_program_open(struct walk_program *p, struct module *m, int64_t ranks);
void walk_program_close(struct walk_program *p);

/* Finds the slice of a team that holds a rank, of several the first. False: none does, or team is 0. */
bool walk_membership(struct walk_program *p, team_id team, int64_t rank, struct membership *out);

#endif
