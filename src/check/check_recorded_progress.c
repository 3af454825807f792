/* check_recorded_progress: see check_recorded_progress.h.
 *
 * A rank issues its statements in order. It stops at a wait, a receive or a barrier until all ranks that take part
 * have issued their statement. If no rank can go on, some of them wait in a circle:
 *
 *     rank 0: collective A of group x, its wait, collective B of group y
 *     rank 1: collective B of group y, its wait, collective A of group x */
#include "check/check_recorded_progress.h"
#include "ir/edit.h"
#include <inttypes.h>

struct follower {
	const struct recorded *r;
	op_id *at;     /* by rank: its next statement; 0: it is at its end */
	bool **issued; /* by rank, by place in its class's list: the statement was issued */
	struct arena *arena;
};

/* Returns a rank that a communication of another rank still lacks; -1: none. */
static int64_t find_missing(const struct follower *f, int64_t rank, uint32_t comm)
{
	const struct recorded *r = f->r;
	const struct recorded_comm *c = &r->comm.at[comm];
	const uint32_t *device;
	if (c->what == RECORDED_SEND)
		return -1;
	if (c->what == RECORDED_RECV) {
		int64_t peer = recorded_peer(r, c, rank);
		uint32_t other = peer < 0 || r->class_of[peer] == RECORDED_NONE
		                     ? RECORDED_NONE
		                     : recorded_message(r, peer, RECORDED_SEND, rank, c->nth);
		return other != RECORDED_NONE && !f->issued[peer][other - r->class.at[r->class_of[peer]].comm]
		           ? peer
		           : -1;
	}
	if (!recorded_is_member(r, c->group, rank))
		return -1;
	uint32_t n = recorded_members(r, c->group, &device);
	for (uint32_t k = 0; k < n; k++) {
		int64_t member = device ? device[k] : k;
		uint32_t class = member < r->ranks ? r->class_of[member] : RECORDED_NONE;
		if (class == RECORDED_NONE || member == rank)
			continue;
		uint32_t other = recorded_collective(r, class, c->group, c->nth);
		if (other != RECORDED_NONE && !f->issued[member][other - r->class.at[class].comm])
			return member;
	}
	return -1;
}

/* Returns the communication that the next statement of a rank waits for, and the rank that it lacks; -1: it lacks
 * none. */
static int64_t find_lacking(const struct follower *f, int64_t rank, uint32_t *comm)
{
	*comm = recorded_waits_for(f->r, f->at[rank]);
	return *comm == RECORDED_NONE ? -1 : find_missing(f, rank, *comm);
}

/* Goes on to the next statement that has to wait. Returns true if the rank has moved. */
static bool follow(struct follower *f, int64_t rank)
{
	const struct recorded *r = f->r;
	bool moved = false;
	while (f->at[rank]) {
		uint32_t comm = r->comm_of[f->at[rank]], waits;
		if (comm != RECORDED_NONE && !f->issued[rank][comm - r->class.at[r->class_of[rank]].comm]) {
			f->issued[rank][comm - r->class.at[r->class_of[rank]].comm] = true;
			moved = true;
		}
		if (find_lacking(f, rank, &waits) >= 0)
			return moved;
		f->at[rank] = r->m->op.at[f->at[rank]].next;
		moved = true;
	}
	return moved;
}

/* Reports the circle that a rank that cannot go on leads to. */
static void report_circle(const struct follower *f, int64_t rank, struct diag *d)
{
	const struct recorded *r = f->r;
	bool *seen = arena_new_array(f->arena, bool, r->ranks);
	uint32_t comm;
	int64_t lacks;
	for (; !seen[rank]; rank = lacks) {
		seen[rank] = true;
		lacks = find_lacking(f, rank, &comm);
	}
	const int64_t first = rank;
	do {
		struct buf waits = {0}, behind = {0};
		uint32_t next;
		lacks = find_lacking(f, rank, &comm);
		find_lacking(f, lacks, &next);
		check_recorded_put(r, comm, &waits);
		check_recorded_put(r, next, &behind);
		uint32_t at = r->m->op.at[f->at[rank]].at;
		if (rank == first)
			diag_error(d, E_DEADLOCK, at,
			           "deadlock: rank %" PRId64 " waits here for %s, which rank %" PRId64
			           " starts only after its wait for %s",
			           rank, waits.at, lacks, behind.at);
		else
			diag_note(d, at,
			          "rank %" PRId64 " waits here for %s, which rank %" PRId64
			          " starts only after its wait for %s",
			          rank, waits.at, lacks, behind.at);
		buf_free(&waits);
		buf_free(&behind);
		rank = lacks;
	} while (rank != first);
}

bool check_recorded_progress(const struct recorded *r, struct diag *d, struct arena *arena)
{
	struct follower f = {.r = r, .arena = arena};
	bool moved = true;
	f.at = arena_new_array(arena, op_id, r->ranks);
	f.issued = arena_new_array(arena, bool *, r->ranks);
	for (int64_t rank = 0; rank < r->ranks; rank++) {
		uint32_t class = r->class_of[rank];
		if (class == RECORDED_NONE)
			continue;
		f.at[rank] = r->m->region.at[r->class.at[class].body].first;
		f.issued[rank] = arena_new_array(arena, bool, r->class.at[class].comm_n);
	}
	while (moved) {
		moved = false;
		for (int64_t rank = 0; rank < r->ranks; rank++)
			moved |= follow(&f, rank);
	}
	for (int64_t rank = 0; rank < r->ranks; rank++)
		if (f.at[rank]) {
			report_circle(&f, rank, d);
			return false;
		}
	return true;
}
