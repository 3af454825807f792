/* elements: see elements.h. */
#include "events/elements.h"
#include <string.h>

/* Returns the elements that an event moves; NULL: it is not a message or meeting, or data decides the
 * number. */
static const struct plan_moved *moved_by(const struct module *m, const struct plan_counts *moved,
                                         const struct event *e, unsigned part)
{
	enum op_kind kind = (enum op_kind)m->op.at[e->op].kind;
	if (e->kind == EVENT_MESSAGE)
		return plan_counts_get(moved, e->of, e->nth);
	if (e->kind != EVENT_MEET || kind == OP_DISPATCH || kind == OP_COMBINE)
		return NULL;
	if (kind == OP_COLLECTIVE_PERMUTE) /* a send and a receive */
		return plan_counts_get(moved, e->op, 2 * e->nth + part);
	return plan_counts_get(moved, e->op, e->nth);
}

static bool must_be_known(const struct module *m, const struct event *e)
{
	enum op_kind kind = (enum op_kind)m->op.at[e->op].kind;
	return e->kind == EVENT_MESSAGE ||
	       (e->kind == EVENT_MEET && kind != OP_DISPATCH && kind != OP_COMBINE);
}

static bool differs_from_type(const struct module *m, const struct event *e, unsigned part,
                              const struct plan_moved *moved, uint64_t *compared, struct buf *out)
{
	const struct here *x = &e->part[part];
	if (!x->known || x->open)
		return false;
	++*compared;
	if (moved->elements == x->elements || moved->elements == x->padded)
		return false;
	buf_puts(out, "  ");
	event_put(m, e, out);
	buf_printf(out, "\n  moves %lld elements, its type has %lld (%lld in full blocks)\n",
	           (long long)moved->elements, (long long)x->elements, (long long)x->padded);
	return true;
}

bool elements_differ_by_type(const struct module *m, const struct events *plan,
                             const struct plan_counts *moved, uint64_t *compared, struct buf *out)
{
	for (uint32_t k = 0; k < plan->at.n; k++) {
		const struct event *e = &plan->at.at[k];
		unsigned parts = m->op.at[e->op].kind == OP_COLLECTIVE_PERMUTE ? 2 : 1;
		for (unsigned part = 0; part < parts && must_be_known(m, e); part++) {
			const struct plan_moved *x = moved_by(m, moved, e, part);
			if (!x) {
				buf_puts(out, "  plan_accept has no count of ");
				event_put(m, e, out);
				buf_puts(out, "\n");
				return true;
			}
			if (differs_from_type(m, e, part, x, compared, out))
				return true;
		}
	}
	return false;
}

/* ---- from rank to rank */

struct end {               /* an end of a message, or of a meeting */
	uint32_t channel;  /* 1 + the team of a permute or of a meeting; 0: messages */
	uint32_t from, to; /* for meetings: 0, and the number of members */
	uint32_t nth;
	uint32_t rank;
	const struct event *event;
	const struct plan_moved *moved;
	uint32_t member;
};
typedef VEC(struct end) ends;

static int by_channel(const void *a, const void *b)
{
	const struct end *x = a, *y = b;
	const uint32_t p[] = {x->channel, x->from, x->to, x->nth, x->member},
	               q[] = {y->channel, y->from, y->to, y->nth, y->member};
	for (unsigned k = 0; k < 5; k++)
		if (p[k] != q[k])
			return p[k] < q[k] ? -1 : 1;
	return 0;
}

static bool same_channel(const struct end *x, const struct end *y)
{
	return x->channel == y->channel && x->from == y->from && x->to == y->to;
}

static void add_message(ends *out, uint32_t channel, uint32_t rank, bool send, const struct event *e,
                        int64_t peer, const struct plan_moved *moved)
{
	uint32_t other = (uint32_t)peer;
	vec_push(out, (struct end){.channel = channel,
	                           .from = send ? rank : other,
	                           .to = send ? other : rank,
	                           .rank = rank,
	                           .event = e,
	                           .moved = moved,
	                           .member = !send});
}

static void add_event(const struct module *m, uint32_t rank, const struct event *e,
                      const struct plan_counts *moved, ends *messages, ends *meetings)
{
	if (e->kind == EVENT_MESSAGE)
		add_message(messages, 0, rank, m->op.at[e->of].kind == OP_SEND, e, e->peer[0],
		            moved_by(m, moved, e, 0));
	for (unsigned k = 0; e->kind == EVENT_MEET && m->op.at[e->op].kind == OP_COLLECTIVE_PERMUTE && k < 2;
	     k++)
		add_message(messages, 1 + e->team, rank, k == 0, e, e->peer[k], moved_by(m, moved, e, k));
	if (e->kind != EVENT_MEET)
		return;
	struct end x = {.channel = e->team, .to = e->n, .rank = rank, .event = e};
	while (e->device[x.member] != rank)
		x.member++;
	if (m->op.at[e->op].kind != OP_COLLECTIVE_PERMUTE)
		x.moved = moved_by(m, moved, e, 0);
	vec_push(meetings, x);
}

/* Numbers the ends of a rank added since `first`, in the order in which it issues them. */
static void number_ends(ends *x, uint32_t first)
{
	for (uint32_t k = first; k < x->n; k++)
		for (uint32_t j = k; j-- > first;)
			if (same_channel(&x->at[j], &x->at[k]) && x->at[j].member == x->at[k].member) {
				x->at[k].nth = x->at[j].nth + 1;
				break;
			}
}

static void put_ends(const struct module *m, const struct end *x, const struct end *y, int64_t p, int64_t q,
                     struct buf *out)
{
	buf_printf(out, "  rank %u  ", x->rank);
	event_put(m, x->event, out);
	buf_printf(out, ": %lld elements\n  rank %u  ", (long long)p, y->rank);
	event_put(m, y->event, out);
	buf_printf(out, ": %lld elements\n", (long long)q);
}

static bool messages_differ(const struct module *m, ends *x, uint64_t *compared, struct buf *out)
{
	if (x->n)
		qsort(x->at, x->n, sizeof *x->at, by_channel);
	for (uint32_t k = 0; k < x->n; k += 2) {
		const struct end *send = &x->at[k], *recv = send + 1;
		bool pair = k + 1 < x->n && same_channel(send, recv) && send->nth == recv->nth &&
		            !send->member && recv->member;
		if (!pair) {
			buf_printf(out, "  message %u from rank %u to rank %u has one end alone\n", send->nth,
			           send->from, send->to);
			return true;
		}
		++*compared;
		if (send->moved->elements != recv->moved->elements) {
			put_ends(m, send, recv, send->moved->elements, recv->moved->elements, out);
			return true;
		}
	}
	return false;
}

static int64_t given(const struct plan_moved *x, uint32_t member)
{
	return x->given ? x->given[member] : x->elements;
}

static int64_t taken(const struct plan_moved *x, uint32_t member)
{
	return x->taken ? x->taken[member] : x->elements;
}

/* Compares the numbers of two members of a meeting. */
static bool members_differ(const struct module *m, const struct end *x, const struct end *y,
                           uint64_t *compared, struct buf *out)
{
	int64_t p = 0, q = 0;
	if (x->event->op != y->event->op && m->op.at[x->event->op].kind != m->op.at[y->event->op].kind)
		p = 1;
	else if (x->event->peer[0] != y->event->peer[0] &&
	         m->op.at[x->event->op].kind != OP_COLLECTIVE_PERMUTE)
		p = x->event->peer[0], q = y->event->peer[0];
	else if (!x->moved || !y->moved)
		return false;
	else if (!x->moved->has_blocks)
		p = x->moved->elements, q = y->moved->elements;
	else
		p = given(x->moved, y->member), q = taken(y->moved, x->member);
	++*compared;
	if (p == q)
		return false;
	put_ends(m, x, y, p, q, out);
	return true;
}

static bool meetings_differ(const struct module *m, ends *x, uint64_t *compared, struct buf *out)
{
	if (x->n)
		qsort(x->at, x->n, sizeof *x->at, by_channel);
	for (uint32_t k = 0; k < x->n; k += x->at[k].to) {
		const uint32_t n = x->at[k].to;
		for (uint32_t i = 0; i < n; i++) {
			const struct end *a = &x->at[k + i];
			if (k + i >= x->n || !same_channel(&x->at[k], a) || a->nth != x->at[k].nth ||
			    a->member != i) {
				buf_printf(out, "  not all members come to a meeting:  ");
				event_put(m, x->at[k].event, out);
				buf_puts(out, "\n");
				return true;
			}
			for (uint32_t j = 0; j < n && k + j < x->n; j++)
				if (i != j && members_differ(m, a, &x->at[k + j], compared, out))
					return true;
		}
	}
	return false;
}

bool elements_differ_by_rank(const struct module *m, int64_t n, const struct events *plan,
                             const struct plan_counts *moved, uint64_t *compared, struct buf *out)
{
	ends messages = {0}, meetings = {0};
	for (int64_t rank = 0; rank < n; rank++) {
		uint32_t first = messages.n, meeting = meetings.n;
		for (uint32_t k = 0; k < plan[rank].at.n; k++)
			add_event(m, (uint32_t)rank, &plan[rank].at.at[k], &moved[rank], &messages,
			          &meetings);
		number_ends(&messages, first);
		number_ends(&meetings, meeting);
	}
	bool differ =
	    messages_differ(m, &messages, compared, out) || meetings_differ(m, &meetings, compared, out);
	vec_free(&messages);
	vec_free(&meetings);
	return differ;
}
