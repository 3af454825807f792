/* check_recorded: see check_recorded.h. */
#include "check/check_recorded.h"
#include "analysis/recorded_classes.h"
#include "check/check_recorded_progress.h"
#include "ir/print.h"
#include <inttypes.h>
#include <string.h>

struct compare {
	const struct recorded *r;
	struct diag *d;
	bool wrong;
};

void check_recorded_put(const struct recorded *r, uint32_t comm, struct buf *out)
{
	const struct recorded_comm *c = &r->comm.at[comm];
	const struct attr *stated = op_attr(r->m, c->op, "name");
	value_id v = op_result(r->m, c->op, 0);
	name_id name = v                                       ? r->m->value.at[v].name
	               : stated && stated->kind == ATTR_STRING ? stated->u.name
	                                                       : 0;
	buf_printf(out, "%s '", names_text(r->m->names, c->kind));
	if (name)
		buf_puts(out, names_text(r->m->names, name));
	else if (v)
		ir_print_value_name(r->m, v, out);
	buf_putc(out, '\'');
}

static const char *name_reduction(const struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "op");
	return a && a->kind == ATTR_NAME ? names_text(m->names, a->u.name) : "sum";
}

/* ---- collectives */

static void put_difference(const struct compare *c, uint32_t comm, uint32_t other, struct buf *out)
{
	const struct recorded_comm *x = &c->r->comm.at[comm], *y = &c->r->comm.at[other];
	check_recorded_put(c->r, comm, out);
	if (x->kind != y->kind)
		return;
	if (x->bytes != y->bytes)
		buf_printf(out, " of %" PRId64 " bytes", x->bytes);
	else
		buf_printf(out, " with op=%s", name_reduction(c->r->m, x->op));
}

static bool is_alike(const struct compare *c, uint32_t comm, uint32_t other)
{
	const struct recorded_comm *x = &c->r->comm.at[comm], *y = &c->r->comm.at[other];
	return x->kind == y->kind && x->bytes == y->bytes &&
	       !strcmp(name_reduction(c->r->m, x->op), name_reduction(c->r->m, y->op));
}

/* Returns the next collective of a group at or after k; the end of the class: none. */
static uint32_t next_collective(const struct recorded *r, uint32_t class, group_id group, uint32_t k)
{
	const struct recorded_class *x = &r->class.at[class];
	while (k < x->comm + x->comm_n &&
	       !(r->comm.at[k].what == RECORDED_COLLECTIVE && r->comm.at[k].group == group))
		k++;
	return k;
}

/* Reports a collective of a rank that another member does not have. */
static void report_missing(struct compare *c, uint32_t comm, int64_t has, int64_t lacks)
{
	const struct recorded *r = c->r;
	const struct recorded_comm *x = &r->comm.at[comm];
	struct buf text = {0};
	check_recorded_put(r, comm, &text);
	diag_error(c->d, E_MISMATCH, r->m->op.at[x->op].at,
	           "mismatch: rank %" PRId64 " has %s here, rank %" PRId64
	           " has no collective %u of group %s",
	           has, text.at, lacks, x->nth + 1, names_text(r->m->names, r->m->group.at[x->group].name));
	diag_note(c->d, r->m->op.at[r->class.at[r->class_of[lacks]].branch].at,
	          "rank %" PRId64 " runs this program", lacks);
	buf_free(&text);
	c->wrong = true;
}

static void report_difference(struct compare *c, uint32_t comm, int64_t rank, uint32_t other, int64_t first)
{
	const struct recorded *r = c->r;
	const struct recorded_comm *x = &r->comm.at[comm], *y = &r->comm.at[other];
	struct buf here = {0}, there = {0};
	put_difference(c, comm, other, &here);
	put_difference(c, other, comm, &there);
	diag_error(c->d, E_MISMATCH, r->m->op.at[x->op].at,
	           "mismatch: rank %" PRId64 " has %s here, rank %" PRId64
	           " has %s (collective %u of group %s)",
	           rank, here.at, first, there.at, x->nth + 1,
	           names_text(r->m->names, r->m->group.at[x->group].name));
	diag_note(c->d, r->m->op.at[y->op].at, "rank %" PRId64 " has %s", first, there.at);
	buf_free(&here);
	buf_free(&there);
	c->wrong = true;
}

/* Compares the collectives of a group on two ranks. Reports the first difference. */
static void compare_ranks(struct compare *c, group_id group, int64_t first, int64_t rank)
{
	const struct recorded *r = c->r;
	uint32_t a = r->class_of[first], b = r->class_of[rank], x = r->class.at[a].comm,
	         y = r->class.at[b].comm;
	for (;; x++, y++) {
		x = next_collective(r, a, group, x);
		y = next_collective(r, b, group, y);
		bool x_ends = x == r->class.at[a].comm + r->class.at[a].comm_n,
		     y_ends = y == r->class.at[b].comm + r->class.at[b].comm_n;
		if (x_ends && y_ends)
			return;
		if (x_ends)
			report_missing(c, y, rank, first);
		else if (y_ends)
			report_missing(c, x, first, rank);
		else if (!is_alike(c, y, x))
			report_difference(c, y, rank, x, first);
		else
			continue;
		return;
	}
}

static bool is_used(const struct recorded *r, group_id group)
{
	for (uint32_t k = 0; k < r->comm.n; k++)
		if (r->comm.at[k].what == RECORDED_COLLECTIVE && r->comm.at[k].group == group)
			return true;
	return false;
}

static void compare_group(struct compare *c, group_id group, bool *seen)
{
	const struct recorded *r = c->r;
	const uint32_t *device;
	uint32_t n = recorded_members(r, group, &device);
	int64_t first = -1;
	if (!n && is_used(r, group)) {
		diag_note(c->d, r->m->group.at[group].at,
		          "the members of group '%s' are not listed, so its collectives are not compared",
		          names_text(r->m->names, r->m->group.at[group].name));
		return;
	}
	memset(seen, 0, sizeof *seen * r->class.n);
	for (uint32_t k = 0; k < n; k++) {
		int64_t rank = device ? device[k] : k;
		if (rank >= r->ranks || r->class_of[rank] == RECORDED_NONE || seen[r->class_of[rank]])
			continue;
		seen[r->class_of[rank]] = true;
		if (first < 0)
			first = rank;
		else
			compare_ranks(c, group, first, rank);
	}
}

/* ---- messages */

static void compare_message(struct compare *c, int64_t rank, uint32_t comm)
{
	const struct recorded *r = c->r;
	const struct recorded_comm *x = &r->comm.at[comm];
	int64_t peer = recorded_peer(r, x, rank);
	bool sends = x->what == RECORDED_SEND;
	if (x->peer < 0)
		return;
	uint32_t other = peer < 0 || r->class_of[peer] == RECORDED_NONE
	                     ? RECORDED_NONE
	                     : recorded_message(r, peer, sends ? RECORDED_RECV : RECORDED_SEND, rank, x->nth);
	struct buf text = {0}, there = {0};
	check_recorded_put(r, comm, &text);
	if (other == RECORDED_NONE) {
		diag_error(c->d, E_MESSAGE_ALONE, r->m->op.at[x->op].at,
		           "rank %" PRId64 " has %s here, message %u %s rank %" PRId64
		           ", which has no %s for it",
		           rank, text.at, x->nth + 1, sends ? "to" : "from",
		           peer < 0 ? x->peer + rank - r->class.at[r->class_of[rank]].first : peer,
		           sends ? "receive" : "send");
		if (peer >= 0 && r->class_of[peer] != RECORDED_NONE)
			diag_note(c->d, r->m->op.at[r->class.at[r->class_of[peer]].branch].at,
			          "rank %" PRId64 " runs this program", peer);
		c->wrong = true;
	} else if (sends && x->bytes != r->comm.at[other].bytes) {
		check_recorded_put(r, other, &there);
		diag_error(c->d, E_MISMATCH, r->m->op.at[x->op].at,
		           "mismatch: rank %" PRId64 " sends %" PRId64 " bytes by %s, rank %" PRId64
		           " receives %" PRId64 " by %s (message %u)",
		           rank, x->bytes, text.at, peer, r->comm.at[other].bytes, there.at, x->nth + 1);
		diag_note(c->d, r->m->op.at[r->comm.at[other].op].at, "rank %" PRId64 " receives here", peer);
		c->wrong = true;
	}
	buf_free(&text);
	buf_free(&there);
}

/* Compares the messages of all ranks; stops at the first rank with a difference. */
static void compare_messages(struct compare *c)
{
	const struct recorded *r = c->r;
	for (int64_t rank = 0; rank < r->ranks && !c->wrong; rank++) {
		uint32_t class = r->class_of[rank];
		for (uint32_t k = 0; class != RECORDED_NONE && k < r->class.at[class].comm_n && !c->wrong;
		     k++) {
			uint32_t comm = r->class.at[class].comm + k;
			if (r->comm.at[comm].what != RECORDED_COLLECTIVE)
				compare_message(c, rank, comm);
		}
	}
}

enum check_status check_recorded(struct module *m, struct diag *d, int64_t ranks, struct check_result *out)
{
	struct arena *arena = arena_new();
	struct recorded r;
	recorded_find(m, ranks, arena, &r);
	struct compare c = {.r = &r, .d = d};
	bool *seen = arena_new_array(arena, bool, r.class.n);
	for (group_id g = 1; g < m->group.n; g++)
		compare_group(&c, g, seen);
	compare_messages(&c);
	if (!c.wrong)
		c.wrong = !check_recorded_progress(&r, d, arena);
	for (int64_t rank = 0; rank < ranks; rank++)
		if (r.class_of[rank] != RECORDED_NONE)
			out->communications += r.class.at[r.class_of[rank]].comm_n;
	recorded_free(&r);
	arena_free(arena);
	return c.wrong ? CHECK_WRONG : CHECK_CLEAN;
}
