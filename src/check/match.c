/* match: what ranks issue on one communicator, side by side.
 *
 * A channel is the slice of a team with a backend, or the sender and the receiver of messages. The
 * k-th statement that a member issues there must be the counterpart of the k-th of every other member.
 * The first member to come to k leaves an entry; the others are compared with it. */
#include "check/checker.h"
#include <string.h>

static uint32_t hash(const struct channel *x)
{
	uint64_t h = x->backend + 31u * x->team + x->message;
	for (uint32_t k = 0; k < x->n; k++)
		h = (h ^ x->device[k]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
	return (uint32_t)h % CHANNEL_BUCKETS;
}

static struct channel *channel_get(struct checker *c, const struct channel *x)
{
	uint32_t *bucket = &c->channel_bucket[hash(x)];
	for (uint32_t k = *bucket; k; k = c->channel.at[k].next) {
		struct channel *o = &c->channel.at[k];
		if (o->message == x->message && o->backend == x->backend && o->team == x->team &&
		    o->n == x->n && !memcmp(o->device, x->device, sizeof *x->device * x->n))
			return o;
	}
	struct channel new = *x;
	uint32_t *device = arena_new_array(c->arena, uint32_t, x->n);
	memcpy(device, x->device, sizeof *device * x->n);
	new.device = device;
	new.count = arena_new_array(c->arena, uint32_t, x->n);
	new.next = *bucket;
	*bucket = c->channel.n;
	vec_push(&c->channel, new);
	return &c->channel.at[*bucket];
}

/* Communication 3 of team (0 1) */
static void put_team(const struct channel *ch, uint32_t number, struct buf *out)
{
	buf_printf(out, "Communication %u of team (", number);
	for (uint32_t k = 0; k < ch->n && k < 8; k++)
		buf_printf(out, "%s%u", k ? " " : "", ch->device[k]);
	buf_puts(out, ch->n > 8 ? " …)" : ")");
}

static const char *reduction(const struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "op");
	return a && (a->kind == ATTR_NAME || a->kind == ATTR_STRING) ? names_text(m->names, a->u.name)
	                                                             : "sum";
}

static enum dtype dtype_of(const struct module *m, op_id op)
{
	value_id v = m->op.at[op].kind == OP_SEND ? op_read(m, op, 0) : op_result(m, op, 0);
	return (enum dtype)value_type(m, v)->dtype;
}

/* What differs between two members' statements: `root 0`, `16 elements`; false: nothing. */
static bool differs(const struct checker *c, const struct match_entry *a, const struct match_entry *b,
                    struct buf *x, struct buf *y)
{
	const struct module *m = c->m;
	const struct op *o = &m->op.at[a->op], *p = &m->op.at[b->op];
	const char *r = reduction(m, a->op), *s = reduction(m, b->op);
	bool message = op_info[o->kind].traits & TRAIT_P2P;
	if (!message && o->kind != p->kind) {
		buf_puts(x, op_info[o->kind].hir);
		buf_puts(y, op_info[p->kind].hir);
	} else if (a->root != b->root) {
		buf_printf(x, "root %lld", (long long)a->root);
		buf_printf(y, "root %lld", (long long)b->root);
	} else if (a->elements >= 0 && b->elements >= 0 && a->elements != b->elements) {
		buf_printf(x, "%lld elements", (long long)a->elements);
		buf_printf(y, "%lld elements", (long long)b->elements);
	} else if (dtype_of(m, a->op) != dtype_of(m, b->op)) {
		buf_puts(x, dtype_name(dtype_of(m, a->op)));
		buf_puts(y, dtype_name(dtype_of(m, b->op)));
	} else if (op_info[o->kind].traits & TRAIT_REDUCES && strcmp(r, s)) {
		buf_printf(x, "op=%s", r);
		buf_printf(y, "op=%s", s);
	} else {
		return false;
	}
	return true;
}

static void report_difference(struct checker *c, struct channel *ch, const struct match_entry *first,
                              const struct match_entry *e)
{
	struct buf x = {0}, y = {0}, where = {0};
	ch->broken = true;
	if (differs(c, e, first, &x, &y) && report_once(c, "differ", e->op, first->op)) {
		if (ch->message)
			buf_printf(&where, "message %u from rank %u to rank %u", ch->count[e->member],
			           ch->device[0], ch->device[1]);
		else
			put_team(ch, ch->count[e->member], &where);
		diag_error(c->d, c->m->op.at[e->op].at, "mismatch: rank %u has %s here, rank %u has %s (%s)",
		           ch->device[e->member], x.at, ch->device[first->member], y.at, where.at);
		diag_note(c->d, c->m->op.at[first->op].at, "rank %u: %s", ch->device[first->member], y.at);
	}
	buf_free(&x);
	buf_free(&y);
	buf_free(&where);
}

static void add(struct walk *w, const struct channel *key, const struct match_entry *e)
{
	struct channel *ch = channel_get(w->c, key);
	struct buf x = {0}, y = {0};
	uint32_t k = ch->count[e->member]++;
	if (k >= ch->entry.n)
		vec_push(&ch->entry, *e);
	else if (!ch->broken && ch->entry.at[k].member != e->member &&
	         differs(w->c, e, &ch->entry.at[k], &x, &y))
		report_difference(w->c, ch, &ch->entry.at[k], e);
	buf_free(&x);
	buf_free(&y);
}

void match_collective(struct walk *w, op_id op, const uint32_t *device, uint32_t n, uint32_t member,
                      int64_t root, int64_t elements)
{
	const struct channel key = {.backend = transfer_backend(w->m, op), .n = n, .device = device};
	add(w, &key, &(struct match_entry){op, member, root, elements});
}

void match_message(struct walk *w, op_id op, team_id team, bool send, int64_t peer, int64_t elements)
{
	uint32_t self = (uint32_t)w->rank,
	         device[2] = {send ? self : (uint32_t)peer, send ? (uint32_t)peer : self};
	const struct channel key = {
	    .message = true, .backend = transfer_backend(w->m, op), .team = team, .n = 2, .device = device};
	add(w, &key, &(struct match_entry){op, !send, -1, elements});
}

/* A member that issued fewer than another. */
static void report_missing(struct checker *c, const struct channel *ch, uint32_t member)
{
	uint32_t k = ch->count[member];
	const struct match_entry *e = &ch->entry.at[k];
	uint32_t at = c->m->op.at[e->op].at;
	struct buf team = {0};
	if (!report_once(c, "missing", e->op, 0))
		return;
	if (ch->message) {
		bool send = member == 1; /* the receive is missing */
		diag_error(c->d, at,
		           send ? "mismatch: nothing receives what rank %u sends to rank %u here"
		                : "mismatch: nothing sends what rank %2$u receives from rank %1$u here",
		           ch->device[0], ch->device[1]);
	} else {
		put_team(ch, k + 1, &team);
		diag_error(c->d, at, "mismatch: rank %u issues this as %s, rank %u issues %u",
		           ch->device[e->member], team.at, ch->device[member], k);
	}
	buf_free(&team);
}

void match_end(struct checker *c)
{
	for (uint32_t i = 1; i < c->channel.n; i++) {
		const struct channel *ch = &c->channel.at[i];
		for (uint32_t k = 0; k < ch->n && !ch->broken; k++)
			if (ch->count[k] < ch->entry.n) {
				report_missing(c, ch, k);
				break;
			}
	}
}
