/* match: compares the statements that ranks issue on one communicator.
 *
 * A channel is the slice of a team with a backend, or the sender and the receiver of messages. The k-th
 * statement that a member issues there must be the counterpart of the k-th of every other member. The first
 * member that issues its k-th statement adds an entry; the other members are compared with it. */
#include "check/match.h"
#include "check/blocks.h"
#include "check/check_order.h"
#include "check/check_part.h"
#include "check/check_report.h"
#include "check/check_symmetric.h"
#include "check/checker.h"
#include "check/classes.h"
#include "check/progress.h"
#include "check/words.h"
#include "ir/keeps_index.h"
#include "ir/print.h"
#include <string.h>

static struct channel *channel_get(struct checker *c, const struct channel *x)
{
	uint32_t key[] = {x->slice, x->handles, x->backend, x->team, x->ends[0], x->ends[1]};
	struct hash_probe p = {.hash = hash_block(0, key, sizeof key)};
	for (uint32_t k; (k = hash_next(&c->channels, &p));) {
		struct channel *o = &c->channel.at[k];
		if (o->slice == x->slice && o->handles == x->handles && o->backend == x->backend &&
		    o->team == x->team && o->ends[0] == x->ends[0] && o->ends[1] == x->ends[1])
			return o;
	}
	struct channel new = *x;
	new.count = arena_new_array(c->arena, uint32_t, x->n);
	vec_push(&c->channel, new);
	hash_insert(&c->channels, p.hash, c->channel.n - 1);
	return &c->channel.at[c->channel.n - 1];
}

/* Returns the device of a member. */
static uint32_t device_of(const struct checker *c, const struct channel *ch, uint32_t member)
{
	return ch->message ? ch->ends[member] : c->walk_program.slice.at[ch->slice].device[member];
}

/* Appends `Communication 3 of team (0 1)` or `message 2 from rank 0 to rank 1`. */
static void put_channel(const struct checker *c, const struct channel *ch, uint32_t number, struct buf *out)
{
	if (ch->message) {
		buf_printf(out, "message %u from rank %u to rank %u", number, ch->ends[0], ch->ends[1]);
		return;
	}
	buf_printf(out, "Communication %u of team (", number);
	for (uint32_t k = 0; k < ch->n && k < 8; k++)
		buf_printf(out, "%s%u", k ? " " : "", device_of(c, ch, k));
	buf_puts(out, ch->n > 8 ? " …)" : ")");
}

static const char *name_reduction(const struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "op");
	return a && (a->kind == ATTR_NAME || a->kind == ATTR_STRING) ? names_text(m->names, a->u.name)
	                                                             : "sum";
}

static enum dtype dtype_of(const struct module *m, op_id op)
{
	value_id v = m->op.at[op].kind == OP_SEND ? op_read(m, op, 0) : op_result(m, op, 0);
	return value_type(m, v)->dtype;
}

/* Appends `symmetric_view of 'X'`. */
static void put_fence(const struct checker *c, const struct match_entry *e, struct buf *out)
{
	buf_printf(out, "%s of '", op_info[c->m->op.at[e->op].kind].hir);
	ir_print_value_name(c->m, e->value, out);
	buf_putc(out, '\'');
}

/* Appends `[16, 32) of axis 0`. */
static void put_interval(const struct checker *c, spread_id part, int axis, struct buf *out)
{
	struct span x = spread_span(&c->spreads, part, (uint32_t)axis);
	buf_printf(out, "[%lld, %lld) of axis %d", (long long)x.lo, (long long)x.hi, axis);
}

/* Returns true if loops bind blocks of the value's type. */
static bool has_blocks(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	bool blocks = false;
	for (unsigned k = 0; k < d->loop_n; k++)
		blocks |=
		    d->axis[d->loop[k]].place == PLACE_STREAM || d->axis[d->loop[k]].place == PLACE_SERIAL;
	return blocks;
}

/* Returns true if elements keep their index from one end of a message to the other. */
static bool message_keeps_index(const struct module *m, const struct match_entry *a,
                                const struct match_entry *b)
{
	bool sends = m->op.at[a->op].kind == OP_SEND;
	return ir_keeps_index(m, sends ? a->op : b->op, sends ? b->op : a->op);
}

/* Appends the difference of two members' statements: `root 0`, `16 elements`. Returns false if there is
 * none. */
static bool differs(const struct checker *c, const struct match_entry *a, const struct match_entry *b,
                    struct buf *x, struct buf *y)
{
	const struct module *m = c->m;
	const struct op *o = &m->op.at[a->op], *p = &m->op.at[b->op];
	const char *r = name_reduction(m, a->op), *s = name_reduction(m, b->op);
	bool message = op_info[o->kind].traits & TRAIT_P2P,
	     by_index = !message || message_keeps_index(m, a, b);
	int axis;
	if (o->kind == OP_SHARE_MEM_HANDLES)
		return false;
	if (a->permute && b->permute && a->permute != b->permute) {
		buf_printf(x, "in Communication %u of the team", a->permute);
		buf_printf(y, "in Communication %u of the team", b->permute);
		return true;
	}
	if (a->value && b->value && (o->kind != p->kind || a->value != b->value)) {
		put_fence(c, a, x);
		put_fence(c, b, y);
		return true;
	}
	if (!message && o->kind != p->kind) {
		buf_puts(x, op_info[o->kind].hir);
		buf_puts(y, op_info[p->kind].hir);
	} else if (!message && o->team != p->team) {
		buf_printf(x, "a team of %u devices", ir_team(m, o->team)->device_n);
		buf_printf(y, "another one of %u devices", ir_team(m, p->team)->device_n);
	} else if (a->root != b->root) {
		buf_printf(x, "root %lld", (long long)a->root);
		buf_printf(y, "root %lld", (long long)b->root);
	} else if (a->elements >= 0 && b->elements >= 0 && a->elements != b->elements) {
		buf_printf(x, "%lld elements", (long long)a->elements);
		buf_printf(y, "%lld elements", (long long)b->elements);
	} else if (by_index && (axis = check_part_differs(&c->spreads, a->part, b->part)) >= 0) {
		put_interval(c, a->part, axis, x);
		put_interval(c, b->part, axis, y);
	} else if (by_index && check_order_differs(&c->spreads, a->order, b->order)) {
		check_order_put(&c->spreads, a->order, x);
		check_order_put(&c->spreads, b->order, y);
	} else if (!a->value && dtype_of(m, a->op) != dtype_of(m, b->op)) {
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

static const char *name_direction(const struct channel *ch, const struct match_entry *e)
{
	return !ch->message ? "has" : e->member == 0 ? "sends" : "receives";
}

/* Adds a note with the way out when the two ends of a message name different elements. */
static void note_part(const struct checker *c, const struct channel *ch, const struct match_entry *first,
                      const struct match_entry *e)
{
	if (!ch->message || first->elements < 0 || e->elements < 0)
		return;
	const bool by_index = message_keeps_index(c->m, first, e);
	if (by_index && check_order_differs(&c->spreads, first->order, e->order)) {
		diag_note(c->d, DIAG_NOWHERE,
		          "a message keeps places in memory, so elements would change their index: give both "
		          "buffers one `schedule` of `allocation`");
		return;
	}
	const struct match_entry *recv = first->member ? first : e;
	const value_id buffer = op_result(c->m, recv->op, 0);
	struct buf text = {0};
	words_value(c, buffer, &text);
	if (by_index && first->elements == e->elements &&
	    check_part_differs(&c->spreads, first->part, e->part) >= 0)
		diag_note(c->d, DIAG_NOWHERE,
		          "between tensors of equal extents an element keeps its index; for blocks of other "
		          "ranks, type %s @swizzle1d and receive into shard_by_stream(…, INDEX), make it a "
		          "buffer of one block, or receive by_place=true",
		          text.at);
	else if (first->elements != e->elements && has_blocks(c->m, buffer))
		diag_note(c->d, DIAG_NOWHERE,
		          "%s is received with all its blocks: shard_by_stream(…, INDEX) names one of them",
		          text.at);
	buf_free(&text);
}

static void compare_entries(struct checker *c, struct channel *ch, const struct match_entry *first,
                            const struct match_entry *e)
{
	struct buf x = {0}, y = {0}, where = {0};
	uint32_t here = device_of(c, ch, e->member), there = device_of(c, ch, first->member);
	ch->broken = differs(c, e, first, &x, &y);
	if (ch->broken && report_once(c, "differ", e->op, first->op)) {
		put_channel(c, ch, ch->count[e->member], &where);
		const char *does = name_direction(ch, e), *did = name_direction(ch, first);
		diag_error(c->d, E_MISMATCH, c->m->op.at[e->op].at,
		           "mismatch: rank %u %s %s here, rank %u %s %s (%s)", here, does, x.at, there, did,
		           y.at, where.at);
		diag_note(c->d, c->m->op.at[first->op].at, "rank %u %s %s", there, did, y.at);
		note_part(c, ch, first, e);
		if (!ch->message && first->elements == e->elements &&
		    check_part_differs(&c->spreads, first->part, e->part) >= 0)
			diag_note(
			    c->d, DIAG_NOWHERE,
			    "a reduction adds up elements of one index: name the same block on each member");
	}
	buf_free(&x);
	buf_free(&y);
	buf_free(&where);
}

/* Compares the blocks that members give each other, in each channel's last meeting that has blocks. */
static void compare_blocks(struct rank_check *w, struct channel *ch, op_id op, const struct membership *me,
                           const struct check_moved *moved)
{
	const uint32_t number = ch->count[me->member];
	struct buf where = {0};
	if (ch->broken || !moved->has_blocks)
		return;
	uint32_t *arrived = &ch->entry.at[number - 1].arrived;
	if (blocks_are_alike(w, op, me, moved, arrived))
		return;
	put_channel(w->c, ch, number, &where);
	ch->broken = !blocks_agree(w, me, *arrived, where.at);
	buf_free(&where);
}

/* Compares the part that this member takes with the part that it, or the root, gives. */
static void compare_parts(struct rank_check *w, struct channel *ch, op_id op, const struct membership *me,
                          const struct match_parts *parts)
{
	struct checker *c = w->c;
	const int axis = check_part_differs(&c->spreads, parts->given, parts->taken);
	if (ch->broken || axis < 0)
		return;
	struct buf given = {0}, taken = {0}, where = {0};
	ch->broken = true;
	if (report_once(c, "part", op, 0)) {
		put_channel(c, ch, ch->count[me->member], &where);
		put_interval(c, parts->given, axis, &given);
		put_interval(c, parts->taken, axis, &taken);
		diag_error(c->d, E_MISMATCH, c->m->op.at[op].at,
		           "mismatch: rank %lld takes %s here, rank %u gives %s (%s)", (long long)w->rank,
		           taken.at, parts->giver, given.at, where.at);
		diag_note(
		    c->d, DIAG_NOWHERE,
		    "between tensors of equal extents an element keeps its index: give and take the same "
		    "block");
	}
	buf_free(&given);
	buf_free(&taken);
	buf_free(&where);
}

static uint32_t add_entry(struct rank_check *w, const struct channel *key, const struct match_entry *e)
{
	struct channel *ch = channel_get(w->c, key);
	uint32_t k = ch->count[e->member]++;
	if (k >= ch->entry.n) {
		vec_push(&ch->entry, *e);
		ch->entry.at[k].meeting =
		    progress_meeting(w->c, e->op, k && !ch->message ? ch->entry.at[k - 1].meeting : 0);
	} else if (!ch->broken) {
		compare_entries(w->c, ch, &ch->entry.at[k], e);
	}
	return ch->entry.at[k].meeting;
}

uint32_t match_collective(struct rank_check *w, op_id op, const struct membership *me, int64_t root,
                          const struct check_moved *moved, const struct match_parts *parts)
{
	const struct channel key = {.backend = op_backend(w->m, op), .slice = me->slice, .n = me->n};
	const struct match_entry e = {.op = op,
	                              .member = me->member,
	                              .root = root,
	                              .elements = moved->has_blocks ? -1 : moved->elements,
	                              .part = parts->given ? parts->given : parts->taken};
	uint32_t meeting = add_entry(w, &key, &e);
	compare_parts(w, channel_get(w->c, &key), op, me, parts);
	compare_blocks(w, channel_get(w->c, &key), op, me, moved);
	return meeting;
}

uint32_t match_issued(struct rank_check *w, op_id op, const struct membership *me)
{
	const struct channel key = {.backend = op_backend(w->m, op), .slice = me->slice, .n = me->n};
	return channel_get(w->c, &key)->count[me->member];
}

uint32_t match_fence(struct rank_check *w, op_id op, const struct membership *me, value_id value)
{
	const struct channel key = {.slice = me->slice, .n = me->n};
	return add_entry(w, &key,
	                 &(struct match_entry){
	                     .op = op, .member = me->member, .root = -1, .value = value, .elements = -1});
}

/* Sets the sender and receiver of messages with a peer. They are turned until the sender is the least rank of
 * its orbit. */
static void set_ends(const struct rank_check *w, struct channel *key, bool send, int64_t peer)
{
	const struct symmetry *s = w->c->symmetry;
	key->ends[send ? 0 : 1] = (uint32_t)w->rank;
	key->ends[send ? 1 : 0] = (uint32_t)peer;
	if (s) {
		key->ends[1] = symmetry_back(s, key->ends[1], key->ends[0]);
		key->ends[0] = s->least[key->ends[0]];
	}
}

uint32_t match_message(struct rank_check *w, team_id team, bool send, const struct message *x)
{
	struct channel key = {.message = true, .backend = op_backend(w->m, x->op), .team = team, .n = 2};
	set_ends(w, &key, send, x->peer);
	return add_entry(w, &key,
	                 &(struct match_entry){.op = x->op,
	                                       .member = !send,
	                                       .root = -1,
	                                       .elements = x->elements,
	                                       .part = x->part,
	                                       .order = x->order,
	                                       .permute = x->permute});
}

void match_handles(struct rank_check *w, op_id op, bool send, int64_t peer)
{
	struct channel key = {.message = true, .handles = true, .n = 2};
	set_ends(w, &key, send, peer);
	add_entry(w, &key, &(struct match_entry){.op = op, .member = !send, .root = -1, .elements = -1});
}

/* Reports a member that issued fewer statements than another. */
static void report_missing(struct checker *c, const struct channel *ch, uint32_t member)
{
	uint32_t k = ch->count[member];
	const struct match_entry *e = &ch->entry.at[k];
	uint32_t at = c->m->op.at[e->op].at;
	struct buf where = {0};
	if (!report_once(c, "missing", e->op, 0))
		return;
	bool send = member == 1; /* the receive is missing */
	if (ch->handles) {
		diag_error(c->d, E_MESSAGE_ALONE, at,
		           send ? "mismatch: rank %u announces its send to rank %u here, which announces no "
		                  "receive for it"
		                : "mismatch: rank %2$u announces its receive from rank %1$u here, which "
		                  "announces no send for it",
		           ch->ends[0], ch->ends[1]);
	} else if (ch->message) {
		diag_error(
		    c->d, E_MESSAGE_ALONE, at,
		    send ? "mismatch: rank %u sends to rank %u here, which issues no receive for it"
		         : "mismatch: rank %2$u receives from rank %1$u here, which issues no send for it",
		    ch->ends[0], ch->ends[1]);
	} else {
		put_channel(c, ch, k + 1, &where);
		diag_error(c->d, E_MISMATCH, at,
		           k ? "mismatch: rank %u issues %s here, but rank %u issues only %u"
		             : "mismatch: rank %u issues %s here, but rank %u issues none",
		           device_of(c, ch, e->member), where.at, device_of(c, ch, member), k);
	}
	buf_free(&where);
}

bool match_end(struct checker *c)
{
	bool all = true;
	for (uint32_t i = 1; i < c->channel.n; i++) {
		const struct channel *ch = &c->channel.at[i];
		all &= !ch->broken;
		for (uint32_t k = 0; k < ch->n && !ch->broken; k++)
			if (ch->count[k] < ch->entry.n &&
			    (ch->message || classes_stands(c, device_of(c, ch, k)))) {
				report_missing(c, ch, k);
				all = false;
				break;
			}
	}
	return all;
}
