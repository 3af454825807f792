/* report_deadlock: reports a circle of starts, meetings and waits.
 *
 *     f.hir:9:5: error: deadlock: allgather a starts after the end of allreduce e (rank 0)
 *     f.hir:13:5: note: allreduce e ends when all have started it (rank 1)
 *     f.hir:13:5: note: allreduce e starts after the end of allgather a (rank 1)
 *     f.hir:9:5: note: allgather a ends when all have started it (rank 0) */
#include "check/report_deadlock.h"
#include "check/check_report.h"
#include "check/checker.h"
#include "check/words.h"

static const struct progress_node *node_at(const struct checker *c, const struct circle *circle, uint32_t k)
{
	return &c->progress.node.at[circle->node.at[k % circle->node.n]];
}

/* Returns the node whose place, rank and iteration a sentence names. For a meeting it is the start that is
 * missing, or the communication before. */
static const struct progress_node *find_described_node(const struct checker *c, const struct circle *circle,
                                                       uint32_t k)
{
	const struct progress_node *n = node_at(c, circle, k), *keeper = node_at(c, circle, k + 1);
	return n->kind == PROGRESS_MEET && keeper->kind == PROGRESS_START ? keeper : n;
}

/* Returns the statement by which a rank takes part in a meeting: of a message its own end, not the peer's. */
static op_id own_op(const struct checker *c, const struct circle *circle, uint32_t k, uint32_t rank)
{
	const struct progress *p = &c->progress;
	uint32_t meeting = circle->node.at[k % circle->node.n];
	for (uint32_t i = 0; i < p->edge.n; i++) {
		const struct progress_node *from = &p->node.at[p->edge.at[i].from];
		if (p->edge.at[i].to == meeting && from->kind == PROGRESS_START && from->rank == rank)
			return from->op;
	}
	return p->node.at[meeting].op;
}

/* Puts the reason why a node of that rank cannot be reached. */
static void put_keeper(const struct checker *c, const struct circle *circle, uint32_t k, uint32_t rank,
                       struct buf *out)
{
	const struct progress_node *n = node_at(c, circle, k);
	op_id op = n->kind == PROGRESS_MEET ? own_op(c, circle, k, rank) : n->op;
	if (n->kind == PROGRESS_ROOM) {
		buf_puts(out, "its host waited for room");
		return;
	}
	if (n->kind == PROGRESS_MEET)
		buf_puts(out, "the end of ");
	else if (n->kind == PROGRESS_WAIT)
		buf_puts(out, "the ");
	words_statement(c, op, out);
}

static void put_sentence(const struct checker *c, const struct circle *circle, uint32_t k, struct buf *out)
{
	const struct progress_node *n = node_at(c, circle, k), *keeper = node_at(c, circle, k + 1);
	const struct progress_node *told = find_described_node(c, circle, k);
	bool lacks_start = n->kind == PROGRESS_MEET && keeper->kind == PROGRESS_START;
	if (n->kind == PROGRESS_ROOM) {
		op_id op = keeper->kind == PROGRESS_MEET ? own_op(c, circle, k + 1, n->rank) : n->op;
		buf_printf(out, "a stream holds %lld statements behind the ", (long long)c->o->queue);
		words_statement(c, op, out);
	} else if (lacks_start && op_traits(c->m, told->op) & TRAIT_P2P) {
		buf_puts(out, "that message ends when ");
		words_statement(c, told->op, out);
		buf_puts(out, " has started");
	} else {
		words_statement(c, told->op, out);
		buf_puts(out, lacks_start                ? " ends when all have started it"
		              : n->kind == PROGRESS_MEET ? " ends after "
		              : n->kind == PROGRESS_WAIT ? " comes after "
		                                         : " starts after ");
		if (!lacks_start)
			put_keeper(c, circle, k + 1, n->rank, out);
	}
	if (told->kind != PROGRESS_MEET) {
		buf_putc(out, ' ');
		words_place(c, told->rank, told->iteration, out);
	}
}

/* Returns the start on the lowest rank. */
static uint32_t first_of(const struct checker *c, const struct circle *circle)
{
	uint32_t first = 0;
	bool found = false;
	for (uint32_t k = 0; k < circle->node.n; k++) {
		const struct progress_node *n = node_at(c, circle, k);
		if (n->kind == PROGRESS_START && (!found || n->rank < node_at(c, circle, first)->rank)) {
			first = k;
			found = true;
		}
	}
	return first;
}

static bool has_room(const struct checker *c, const struct circle *circle)
{
	for (uint32_t k = 0; k < circle->node.n; k++)
		if (node_at(c, circle, k)->kind == PROGRESS_ROOM)
			return true;
	return false;
}

static const char *way_out(const struct checker *c, const struct circle *circle, enum progress_level level)
{
	if (level == PROGRESS_ALWAYS)
		return "no rank can continue: first start the Communications that other ranks wait for";
	if (level == PROGRESS_HOST)
		return "no rank can continue if the host blocks at each wait: start the Communications "
		       "that other ranks need before the wait";
	if (has_room(c, circle))
		return "no rank can continue: start the Communications that other ranks wait for before the "
		       "stream is full (--queue)";
	return "no rank can continue if a device runs one collective at a time: "
	       "start them in one order on all ranks";
}

void report_deadlock(struct checker *c, const struct circle *circle, enum progress_level level)
{
	uint32_t first = first_of(c, circle);
	const bool warns = level == PROGRESS_HOST && c->o->queue;
	struct buf text = {0};
	if (!(warns ? report_warns : report_once)(c, "deadlock", node_at(c, circle, first)->op, 0))
		return;
	if (!warns && witness_is_wanted(c, WITNESS_DEADLOCK)) {
		c->o->witness->queue = has_room(c, circle) ? c->o->queue : 0;
		for (uint32_t k = first; k < first + circle->node.n; k++) {
			const struct progress_node *n = node_at(c, circle, k);
			if (n->kind != PROGRESS_MEET)
				witness_add(c, WITNESS_ROLE_STANDS, n->op, n->rank, n->iteration);
		}
	}
	for (uint32_t k = first; k < first + circle->node.n; k++) {
		uint32_t at = c->m->op.at[find_described_node(c, circle, k)->op].at;
		text.n = 0;
		put_sentence(c, circle, k, &text);
		if (k > first)
			diag_note(c->d, at, "%s", text.at);
		else if (warns)
			diag_warning(c->d, W_DEADLOCK_POSSIBLE, at, "deadlock: %s", text.at);
		else
			diag_error(c->d, E_DEADLOCK, at, "deadlock: %s", text.at);
	}
	buf_free(&text);
	diag_note(c->d, DIAG_NOWHERE, "%s", way_out(c, circle, level));
}
