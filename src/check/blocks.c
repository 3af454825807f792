/* blocks: compares the blocks that the members of a collective give each other.
 *
 *     input X: f32[8@x, 10@stream(4)]                  4 ranks with 2 rows; blocks of 3, 3, 3 and 1 columns
 *     T = shard_by_stream(X, axis_index(x))            ranks 0 to 2 have 6 elements, rank 3 has 2
 *     U <- allgather(T, team=(0 1 2 3))                rank 2 gives 6; rank 3, whose own block has 2, takes 2
 *
 * Each member knows from its plan how many elements it gives to each other member, and how many it takes from
 * each. Both ends of a pair must have the same number. Members of a meeting are chained in the order in which
 * they arrive; each is compared with the earlier ones. A member that stands for others (classes.c) is
 * compared once for each of them: their blocks are its own, turned back.
 *
 * Most often there is nothing to compare: all blocks have one size, or all members have one list L.
 *
 *     allgather         member k gives L[k] to each member, and takes L
 *     reduce_scatter    member k gives L, and takes L[k] from each member
 *
 * L follows from types and from slices. Slices have one size on all ranks for which one rank stands; a slice
 * with other sizes breaks the turn (classes_cut). So these ranks have one L, which is not turned. */
#include "check/blocks.h"
#include "check/check_report.h"
#include "check/checker.h"
#include "check/classes.h"

enum { PAIRS = 64 }; /* pairs of members that take as long to compare as one statement */

struct pair {              /* the block that one member gives to another */
	uint32_t from, to; /* ranks */
	op_id given_at, taken_at;
	int64_t given, taken; /* elements */
};

static int64_t given_to(const struct arrival *a, uint32_t member)
{
	return a->moved.given ? a->moved.given[member] : a->moved.elements;
}

static int64_t taken_from(const struct arrival *a, uint32_t member)
{
	return a->moved.taken ? a->moved.taken[member] : a->moved.elements;
}

static bool agrees(struct checker *c, const struct pair *p, const char *where)
{
	if (p->given == p->taken)
		return true;
	if (report_once(c, "block", p->given_at, p->taken_at)) {
		diag_error(
		    c->d, E_MISMATCH, c->m->op.at[p->taken_at].at,
		    "mismatch: rank %u takes a block of %lld elements from rank %u, which gives %lld (%s)",
		    p->to, (long long)p->taken, p->from, (long long)p->given, where);
		diag_note(c->d, c->m->op.at[p->given_at].at, "rank %u gives rank %u %lld elements", p->from,
		          p->to, (long long)p->given);
	}
	return false;
}

/* Compares the two blocks that two members have for each other. `there` stands for there_rank, whose member
 * number is there_member. When there_rank is turned to the rank of `there`, here_rank becomes the member
 * here_member. */
static bool pair_agrees(struct checker *c, const struct arrival *here, const struct arrival *there,
                        uint32_t there_rank, uint32_t there_member, uint32_t here_member, const char *where)
{
	const struct pair in = {.from = there_rank,
	                        .to = here->rank,
	                        .given_at = there->op,
	                        .taken_at = here->op,
	                        .given = given_to(there, here_member),
	                        .taken = taken_from(here, there_member)};
	const struct pair out = {.from = here->rank,
	                         .to = there_rank,
	                         .given_at = here->op,
	                         .taken_at = there->op,
	                         .given = given_to(here, there_member),
	                         .taken = taken_from(there, here_member)};
	return agrees(c, &in, where) && agrees(c, &out, where);
}

/* Compares a member with one that arrived before, and with all ranks for which that one stands. */
static bool member_agrees(struct rank_check *w, team_id team, const struct membership *me,
                          const struct arrival *here, const struct arrival *there, const char *where)
{
	struct checker *c = w->c;
	const struct symmetry *s = c->symmetry;
	if (!s)
		return pair_agrees(c, here, there, there->rank, there->member, here->member, where);
	for (uint32_t k = 0; k < me->n; k++) {
		const uint32_t rank = me->device[k];
		if (rank == here->rank || s->least[rank] != there->rank)
			continue;
		struct membership back;
		walk_membership(&c->walk_program, team, symmetry_back(s, here->rank, rank), &back);
		if (!pair_agrees(c, here, there, rank, k, back.member, where))
			return false;
	}
	return true;
}

/* Returns true if a member and all that arrived before it have one size or one list. */
static bool is_alike(const struct arrival *here, const struct arrival *before)
{
	const struct check_moved *x = &here->moved, *y = before ? &before->moved : x;
	bool list = x->given || x->taken;
	return !(x->given && x->taken) && (!before || before->is_alike) && x->given == y->given &&
	       x->taken == y->taken && (list || x->elements == y->elements);
}

bool blocks_are_alike(struct rank_check *w, op_id op, const struct membership *me,
                      const struct check_moved *moved, uint32_t *arrived)
{
	struct checker *c = w->c;
	struct arrival here = {
	    .rank = (uint32_t)w->rank, .member = me->member, .op = op, .moved = *moved, .next = *arrived};
	here.is_alike = is_alike(&here, *arrived ? &c->arrival.at[*arrived] : NULL);
	*arrived = c->arrival.n;
	vec_push(&c->arrival, here);
	return here.is_alike;
}

bool blocks_agree(struct rank_check *w, const struct membership *me, uint32_t arrived, const char *where)
{
	struct checker *c = w->c;
	const struct arrival *here = &c->arrival.at[arrived];
	uint64_t pairs = 0;
	bool agree = true;
	for (uint32_t k = arrived; k && agree; k = c->arrival.at[k].next)
		if (c->symmetry || k != arrived) {
			agree =
			    member_agrees(w, w->m->op.at[here->op].team, me, here, &c->arrival.at[k], where);
			pairs += c->symmetry ? me->n : 1;
		}
	check_spend(c, pairs / PAIRS);
	return agree;
}
