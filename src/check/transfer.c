/* transfer: the start and the wait of a Communication.
 *
 * A Communication is a thread of its own. It follows all steps that its stream knows at the start, and reads
 * and writes its buffers in one step. A stream that waits for it knows that step and the steps before it.
 * Once all later statements know that step, another Communication uses the thread. */
#include "check/transfer.h"
#include "check/access.h"
#include "check/check_handles.h"
#include "check/check_order.h"
#include "check/check_part.h"
#include "check/check_rank.h"
#include "check/check_report.h"
#include "check/check_view.h"
#include "check/checker.h"
#include "check/classes.h"
#include "check/match.h"
#include "check/progress.h"
#include "check/words.h"
#include <string.h>

static uint32_t thread_for(struct rank_check *w, op_id op, const struct clock *clock)
{
	uint32_t t = 0;
	while (t < w->thread.n &&
	       (!w->thread.at[t].op || w->thread.at[t].busy || w->thread.at[t].step > clock_get(clock, t)))
		t++;
	check_spend(w->c, t);
	if (t == w->thread.n)
		vec_push(&w->thread, (struct thread){0});
	w->thread.at[t].op = op;
	w->thread.at[t].busy = true;
	w->thread.at[t].step++;
	return t;
}

/* Starts a Communication as part of a transfer. */
static void start_communication(struct rank_check *w, struct start *s, struct transfer *to)
{
	op_id op = s->op;
	struct clock clock = clock_copy(check_clock(w));
	uint32_t t = thread_for(w, op, &clock);
	access_all(w, op, s->list, s->n, &clock, t, w->thread.at[t].step);
	if (s->meeting)
		progress_start(w, op, s->meeting);
	to->thread[to->n] = t;
	to->meeting[to->n] = s->meeting;
	to->started[to->n++] = clock;
	w->c->result->communications += w->c->weight;
}

static struct transfer transfer_new(struct rank_check *w, op_id op, uint32_t room)
{
	struct transfer t = {.op = op, .iteration = w->now, .nth = w->transfers++};
	t.thread = mem_alloc(sizeof *t.thread * (room + 1));
	t.meeting = mem_alloc(sizeof *t.meeting * (room + 1));
	t.started = mem_alloc(sizeof *t.started * (room + 1));
	return t;
}

static void keep_transfer(struct rank_check *w, uint32_t number, const struct transfer *t)
{
	while (w->transfer.n <= number)
		vec_push(&w->transfer, (struct transfer){0});
	w->transfer.at[number] = *t;
}

static void transfer_free(struct transfer *t)
{
	for (uint32_t k = 0; k < t->n; k++)
		vec_free(&t->started[k]);
	free(t->thread);
	free(t->meeting);
	free(t->started);
	*t = (struct transfer){0};
}

/* Returns the number of elements that a statement moves now: from the plan if it knows, otherwise `typed`,
 * which follows from the types. */
static struct check_moved moved_now(struct rank_check *w, op_id op, int64_t typed)
{
	const struct check_options *o = w->c->o;
	struct check_moved moved;
	uint32_t nth = w->issued[op]++;
	if (o->moved && o->moved(o->plans, w->rank, op, nth, &moved))
		return moved;
	return (struct check_moved){.elements = typed};
}

/* ---- collectives */

struct checked_collective {
	op_id op;
	value_id in, out;
	struct membership me;
	int64_t root; /* -1: none */
};

/* Returns the number of elements on which all members must agree; -1: there is none. */
static int64_t elements_of(struct rank_check *w, const struct checked_collective *x)
{
	bool is_root = x->root == x->me.member;
	switch ((enum op_kind)w->m->op.at[x->op].kind) {
	case OP_ALLREDUCE:
	case OP_REDUCE:
		return check_view_is_here(w, x->in) ? check_part_elements(w, x->in) : -1;
	case OP_BROADCASTS:
		return check_part_elements(w, check_view_is_here(w, x->out) ? x->out : x->in);
	case OP_SEND_RECV:
		return check_part_elements(w, is_root ? x->in : x->out);
	default:
		return -1;
	}
}

/* Returns true if all members of the collective move the same number of elements. */
static bool has_equal_parts(const struct op *o)
{
	return o->kind == OP_ALLREDUCE || o->kind == OP_REDUCE || o->kind == OP_BROADCASTS ||
	       o->kind == OP_SEND_RECV;
}

/* Lists the buffers that this member reads and writes; returns their number. */
static unsigned accesses_of(struct rank_check *w, const struct checked_collective *x, struct access *list)
{
	enum op_kind kind = (enum op_kind)w->m->op.at[x->op].kind;
	uint32_t roots = classes_roots(w, &x->me, x->root);
	bool is_root = roots || x->root == x->me.member || x->me.n == 1;
	bool root_reads = op_root_gives(kind), root_writes = op_root_takes(kind);
	bool others_write = kind == OP_SEND_RECV && x->me.n > 1;
	unsigned n = 0;
	if (is_root || !root_reads)
		list[n++] = (struct access){w->view[x->in], ACCESS_READ, root_reads ? roots : 0};
	if (root_writes ? is_root : others_write ? !is_root || roots : true)
		list[n++] =
		    (struct access){w->view[x->out], ACCESS_WRITE, root_writes || others_write ? roots : 0};
	return n;
}

/* Reports a member that does not hold the buffers it reads or writes. Most collectives need both buffers,
 * those with a root at least one; a member of an exchange may hold none. */
static void check_holds(struct rank_check *w, const struct checked_collective *x)
{
	bool in = check_view_is_here(w, x->in), out = check_view_is_here(w, x->out);
	struct buf text = {0};
	switch ((enum op_kind)w->m->op.at[x->op].kind) {
	case OP_ALLGATHER:
	case OP_ALLREDUCE:
	case OP_REDUCE_SCATTER:
	case OP_COLLECTIVE_PERMUTE:
		if (in && out)
			return;
		break;
	case OP_BROADCASTS:
	case OP_SEND_RECV:
	case OP_REDUCE:
		if (in || out)
			return;
		break;
	default:
		return;
	}
	if (!report_once(w->c, "holds", x->op, 0))
		return;
	buf_printf(&text, "rank %lld is in the team of ", (long long)w->rank);
	words_statement(w->c, x->op, &text);
	buf_puts(&text, ", but not in the mesh of ");
	words_value(w->c, in ? x->out : x->in, &text);
	diag_error(w->c->d, E_PLAN_MESH, w->m->op.at[x->op].at, "mismatch: %s", text.at);
	buf_free(&text);
}

/* Finds the parts of collectives that keep the index of each element, and name one part on all members. */
static struct match_parts find_parts(struct rank_check *w, const struct checked_collective *x)
{
	const enum op_kind kind = (enum op_kind)w->m->op.at[x->op].kind;
	const uint32_t root = x->root >= 0 ? x->me.device[x->root] : 0;
	const bool is_root = x->root >= 0 && (w->c->symmetry ? w->c->symmetry->least[root] : root) == w->rank;
	struct match_parts parts = {.giver = (uint32_t)w->rank};
	switch (kind) {
	case OP_ALLREDUCE:
	case OP_REDUCE:
	case OP_REDUCE_SCATTER:
		parts.given = check_part_on_team(w, x->in, &x->me);
		if (kind == OP_ALLREDUCE)
			parts.taken = check_part_on_team(w, x->out, &x->me);
		else if (kind == OP_REDUCE && is_root)
			parts.taken = check_part_at(w, x->out, root);
		break;
	case OP_BROADCASTS:
	case OP_SEND_RECV:
		parts.giver = root;
		if (is_root)
			parts.given = check_part_at(w, x->in, root);
		if (kind == OP_BROADCASTS || x->root != x->me.member)
			parts.taken = check_part_on_team(w, x->out, &x->me);
		break;
	default:
		break;
	}
	return parts;
}

/* Finds root and peers, and their numbers in the team. Returns 0 if one is not a member. */
static uint32_t match_members(struct rank_check *w, struct checked_collective *x)
{
	const struct op *o = &w->m->op.at[x->op];
	bool permutes = o->kind == OP_COLLECTIVE_PERMUTE;
	int64_t peer[2] = {0, 0};
	if (!classes_meet(w, o->team, &x->me))
		return 0;
	check_holds(w, x);
	if (op_info[o->kind].traits & TRAIT_ROOTED && !check_scalar(w, x->op, 0, WALK_SAME, &x->root))
		return 0;
	for (unsigned k = 0; k < 2 && permutes; k++)
		if (!check_scalar(w, x->op, k, WALK_ANY, &peer[k]) ||
		    !classes_member(w, &x->me, op_scalar_expr(w->m, x->op, k)))
			return 0;
	for (unsigned k = 0; k < 2; k++)
		if (peer[k] < 0 || peer[k] >= x->me.n || x->root >= x->me.n || x->root < -1) {
			if (report_once(w->c, "member", x->op, 0))
				diag_error(
				    w->c->d, E_PEER, o->at,
				    "mismatch: the %s of %s is %lld on rank %lld, its team has %u devices",
				    permutes ? k ? "recv_peer" : "send_peer" : "root", op_info[o->kind].hir,
				    (long long)(permutes ? peer[k] : x->root), (long long)w->rank, x->me.n);
			return 0;
		}
	int64_t typed = elements_of(w, x);
	struct check_moved moved =
	    permutes ? (struct check_moved){.elements = -1} : moved_now(w, x->op, typed);
	if (!has_equal_parts(o) && !moved.has_blocks)
		moved.elements = typed;
	if (moved.has_blocks && x->root >= 0 && !classes_alone(w))
		return 0;
	struct match_parts parts = find_parts(w, x);
	uint32_t meeting = match_collective(w, x->op, &x->me, x->root, &moved, &parts);
	for (unsigned k = 0; k < 2 && permutes; k++) { /* the plan has a send, then a receive */
		int64_t part = check_part_elements(w, k ? x->out : x->in);
		match_message(w, o->team, k == 0,
		              &(struct message){.op = x->op,
		                                .peer = x->me.device[peer[k]],
		                                .elements = moved_now(w, x->op, part).elements,
		                                .permute = match_issued(w, x->op, &x->me)});
	}
	return meeting;
}

void transfer_collective(struct rank_check *w, const struct step *step)
{
	op_id op = step->op;
	const struct op *o = &w->m->op.at[op];
	struct checked_collective x = {
	    .op = op, .in = op_read(w->m, op, 0), .out = op_result(w->m, op, 0), .root = -1};
	struct start s = {.op = op};
	if (o->def_n)
		check_view_buffer(w, x.out);
	bool here = check_membership(w, o->team, &x.me);
	if (here && (s.meeting = match_members(w, &x)))
		s.n = accesses_of(w, &x, s.list);
	if (o->flags & OP_GROUPED) {
		if (here)
			vec_push(&w->group, s);
		return;
	}
	if (!(o->flags & OP_ASYNC)) {
		uint32_t now = check_step(w);
		access_all(w, op, s.list, s.n, check_clock(w), w->stream.at[w->current].thread, now);
		if (s.meeting) {
			progress_start(w, op, s.meeting);
			progress_stand(w, s.meeting);
		}
		return;
	}
	struct transfer t = transfer_new(w, op, 1);
	if (here)
		start_communication(w, &s, &t);
	keep_transfer(w, step->transfer, &t);
}

/* ---- messages */

static struct start start_of(const struct rank_check *w, const struct message *x)
{
	bool send = w->m->op.at[x->op].kind == OP_SEND;
	return (struct start){
	    .op = x->op, .n = 1, .list = {{.view = x->view, .kind = send ? ACCESS_READ : ACCESS_WRITE}}};
}

/* Issues a message as a transfer. WALK_NONE: as a part of the open group. */
static void issue_transfer(struct rank_check *w, const struct message *x, uint32_t transfer)
{
	bool send = w->m->op.at[x->op].kind == OP_SEND, known = x->peer >= 0 && x->peer < w->c->o->ranks;
	struct start s = start_of(w, x);
	handles_use(w, x->op);
	if (!known) {
		if (report_once(w->c, "peer", x->op, 0))
			diag_error(w->c->d, E_PEER, w->m->op.at[x->op].at,
			           "mismatch: the peer of rank %lld is %lld, there are %lld ranks",
			           (long long)w->rank, (long long)x->peer, (long long)w->c->o->ranks);
	} else {
		s.meeting = match_message(w, 0, send, x);
	}
	if (transfer == WALK_NONE) {
		vec_push(&w->group, s);
		return;
	}
	struct transfer t = transfer_new(w, x->op, 1);
	start_communication(w, &s, &t);
	keep_transfer(w, transfer, &t);
}

static struct message message_of(struct rank_check *w, const struct step *s)
{
	bool send = w->m->op.at[s->of].kind == OP_SEND;
	value_id v = send ? op_read(w->m, s->of, 0) : op_write(w->m, s->of, 0);
	struct message x = {.op = s->of, .view = w->view[v], .peer = s->peer};
	x.part = check_part_find(w, v, send ? w->rank : x.peer, &x.elements);
	if (send && check_view_may_follow(w, v))
		x.part = 0;
	x.order = check_order_find(w, v);
	return x;
}

void transfer_prepare(struct rank_check *w, const struct step *s)
{
	w->posted[s->of] = message_of(w, s);
}

void transfer_absent(struct rank_check *w, const struct step *s)
{
	if (s->transfer == WALK_NONE)
		return;
	struct transfer t = transfer_new(w, s->op, 0);
	keep_transfer(w, s->transfer, &t);
}

void transfer_message(struct rank_check *w, const struct step *s)
{
	bool posted = s->op != s->of;
	struct message x = posted ? w->posted[s->of] : message_of(w, s);
	x.elements = moved_now(w, x.op, x.elements).elements;
	issue_transfer(w, &x, s->transfer);
}

void transfer_end_group(struct rank_check *w, const struct step *s)
{
	struct transfer t = transfer_new(w, s->op, w->group.n);
	for (uint32_t k = 0; k < w->group.n; k++)
		start_communication(w, &w->group.at[k], &t);
	keep_transfer(w, s->transfer, &t);
	w->group.n = 0;
}

/* ---- waits */

static void wait_for(struct rank_check *w, struct transfer *t)
{
	for (uint32_t k = 0; k < t->n; k++) {
		struct thread *x = &w->thread.at[t->thread[k]];
		clock_join(check_clock(w), &t->started[k]);
		clock_set(check_clock(w), t->thread[k], x->step);
		x->busy = false;
		x->stream = w->stream.at[w->current].number;
	}
}

void transfer_wait(struct rank_check *w, const struct step *s)
{
	struct transfer *t = &w->transfer.at[s->transfer];
	wait_for(w, t);
	progress_wait(w, s->op, t);
	transfer_free(t);
}

static int by_number(const void *a, const void *b)
{
	const struct transfer *x = a, *y = b;
	return (x->nth > y->nth) - (x->nth < y->nth);
}

void transfer_end(struct rank_check *w)
{
	if (w->transfer.n)
		qsort(w->transfer.at, w->transfer.n, sizeof *w->transfer.at, by_number);
	for (uint32_t k = 0; k < w->transfer.n; k++)
		if (w->transfer.at[k].n)
			report_not_waited(w, &w->transfer.at[k]);
}

void transfer_free_all(struct rank_check *w)
{
	for (uint32_t k = 0; k < w->transfer.n; k++)
		transfer_free(&w->transfer.at[k]);
	vec_free(&w->transfer);
	vec_free(&w->group);
}
