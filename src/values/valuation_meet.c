/* valuation_meet: collectives and messages.
 *
 * The k-th statement of each member of a team is one meeting. It is done when the last member arrives: then the
 * facts of the given elements are written to the receivers. A rank that waits for a meeting stands still until
 * it is done. `check` has proved that nothing else touches these elements between the start and the wait.
 *
 * Between tensors of equal extents an element keeps its index. Otherwise blocks keep their order in memory. */
#include "ir/expr.h"
#include "ir/layout.h"
#include "values/valuation.h"
#include <string.h>

/* ---- meetings */

static struct value_channel *get_channel(struct valuation *v, const struct value_channel *x)
{
	const uint32_t key[] = {x->slice, x->backend, x->ends[0], x->ends[1], x->tag};
	struct hash_probe p = {.hash = hash_block(0, key, sizeof key)};
	for (uint32_t k; (k = hash_next(&v->channels, &p));) {
		struct value_channel *o = &v->channel.at[k];
		if (o->slice == x->slice && o->backend == x->backend && o->ends[0] == x->ends[0] &&
		    o->ends[1] == x->ends[1] && o->tag == x->tag)
			return o;
	}
	struct value_channel new = *x;
	new.count = arena_new_array(v->arena, uint32_t, x->n);
	vec_push(&v->channel, new);
	hash_insert(&v->channels, p.hash, v->channel.n - 1);
	return &v->channel.at[v->channel.n - 1];
}

static void complete(struct valuation *v, struct value_meeting *x);

/* Adds a member to its next meeting on a channel. Returns the meeting. */
static uint32_t arrive(struct valuation *v, const struct value_channel *key, uint32_t member,
                       const struct value_party *party)
{
	struct value_channel *c = get_channel(v, key);
	const uint32_t k = c->count[member]++;
	while (k >= c->entry.n) {
		vec_push(&v->meeting, (struct value_meeting){.n = c->n});
		v->meeting.at[v->meeting.n - 1].party = mem_zalloc(sizeof(struct value_party) * c->n);
		vec_push(&c->entry, v->meeting.n - 1);
	}
	const uint32_t number = c->entry.at[k];
	struct value_meeting *x = &v->meeting.at[number];
	x->party[member] = *party;
	x->party[member].here = true;
	value_view_use(v, &party->in, 1);
	value_view_use(v, &party->out, 1);
	if (++x->arrived < x->n)
		return number;
	complete(v, x);
	for (uint32_t i = 0; i < x->n; i++) {
		value_view_use(v, &x->party[i].in, -1);
		value_view_use(v, &x->party[i].out, -1);
	}
	free(x->party);
	x->party = NULL;
	x->done = true;
	return number;
}

void value_meet_free(struct valuation *v)
{
	for (uint32_t k = 0; k < v->meeting.n; k++)
		free(v->meeting.at[k].party);
	for (uint32_t k = 0; k < v->channel.n; k++)
		vec_free(&v->channel.at[k].entry);
	vec_free(&v->meeting);
	vec_free(&v->channel);
	hash_table_free(&v->channels);
}

/* ---- data that moves */

struct exchange {
	struct valuation *v;
	const struct value_meeting *meeting;
	enum op_kind kind;
	enum reduce_op reduce;
	bool reduces, flat;
	struct contents *got; /* by member: facts for its result */
};

static const struct value_view *view_in(const struct exchange *x, unsigned k)
{
	return &x->meeting->party[k].in;
}
static const struct value_view *view_out(const struct exchange *x, unsigned k)
{
	return &x->meeting->party[k].out;
}
static bool is_there(const struct value_view *x)
{
	return x->storage != VALUE_NONE && !x->absent;
}

static bool gives(const struct exchange *x, unsigned from, unsigned to)
{
	const struct value_party *p = &x->meeting->party[to];
	if (!is_there(view_in(x, from)))
		return false;
	if (op_root_gives(x->kind))
		return p->root == (int64_t)from;
	return x->kind != OP_COLLECTIVE_PERMUTE || p->peer == (int64_t)from;
}

static bool receives(const struct exchange *x, unsigned k)
{
	const struct value_party *p = &x->meeting->party[k];
	if (!is_there(&p->out))
		return false;
	if (op_root_takes(x->kind))
		return p->root == (int64_t)k;
	return x->kind != OP_SEND_RECV || p->root != (int64_t)k || x->meeting->n == 1;
}

static enum reduce_op reduction_of(const struct module *m, op_id op)
{
	static const char *const key[] = {"op", "reduce", "red_op"};
	const value_id in = op_read(m, op, 0);
	const struct domain *d = value_domain(m, in);
	enum reduce_op r;
	for (unsigned k = 0; k < sizeof key / sizeof *key; k++) {
		const struct attr *a = op_attr(m, op, key[k]);
		if (a && (a->kind == ATTR_NAME || a->kind == ATTR_STRING) &&
		    reduce_op_parse(names_text(m->names, a->u.name), &r))
			return r;
	}
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL)
			return d->axis[a].reduce;
	return REDUCE_SUM;
}

/* Adds facts to what is there already, by the reduction. */
static void add_contribution(struct exchange *x, unsigned member, struct contents *sum,
                             const struct extent *box, fact_id fact)
{
	struct contents before = {0};
	contents_read(sum, box, &before);
	contents_write(sum, box, fact);
	for (uint32_t k = 0; k < before.cell.n; k++) {
		term_id twice = 0;
		const struct addend both[] = {{1, before.cell.at[k].fact}, {1, fact}};
		const enum reduce_op reduce = x->reduce == REDUCE_AVG ? REDUCE_SUM : x->reduce;
		fact_id joined = facts_join(x->v->facts, reduce, both, 2, &twice);
		if (twice && twice != TERM_ONE && x->reduce != REDUCE_AVG)
			value_report_twice(x->v, x->meeting->party[member].op, x->meeting->party[member].rank,
			                   twice);
		contents_write(sum, before.cell.at[k].axis, joined);
	}
	vec_free(&before.cell);
}

/* Checks and scales what a member gives to a reduction. */
static fact_id prepare(struct exchange *x, unsigned member, fact_id fact)
{
	const struct value_party *p = &x->meeting->party[member];
	if (!facts_is_complete(x->v->facts, fact) && x->v->facts->fact.at[fact].reduce != x->reduce)
		value_report_mixed(x->v, p->op, p->rank, x->reduce);
	if (x->reduce != REDUCE_AVG)
		return fact;
	return facts_join(x->v->facts, REDUCE_SUM, &(struct addend){1.0 / x->meeting->n, fact}, 1, NULL);
}

static void give(struct exchange *x, unsigned member, struct contents *to, const struct cell *c)
{
	if (x->reduces)
		add_contribution(x, member, to, c->axis, prepare(x, member, c->fact));
	else
		contents_write(to, c->axis, c->fact);
}

/* Reduces the elements of all members at once, if each of them has one fact for the same box. */
static bool reduce_at_once(struct exchange *x, struct contents *all, struct contents *cover)
{
	struct addend *list = mem_alloc(sizeof *list * x->meeting->n);
	struct cell first = {0};
	unsigned n = 0;
	bool alike = x->reduces;
	for (unsigned from = 0; from < x->meeting->n && alike; from++) {
		struct contents found = {0};
		if (!is_there(view_in(x, from)))
			continue;
		value_view_read(x->v, view_in(x, from), true, &found);
		alike = found.cell.n == 1 &&
		        (!n || !memcmp(first.axis, found.cell.at[0].axis, sizeof *first.axis * found.n));
		if (alike) {
			first = found.cell.at[0];
			all->n = cover->n = found.n;
			list[n++] = (struct addend){1, prepare(x, from, first.fact)};
		}
		vec_free(&found.cell);
	}
	if (alike && n) {
		term_id twice = 0;
		const enum reduce_op reduce = x->reduce == REDUCE_AVG ? REDUCE_SUM : x->reduce;
		fact_id joined = facts_join(x->v->facts, reduce, list, n, &twice);
		if (twice && twice != TERM_ONE && x->reduce != REDUCE_AVG)
			value_report_twice(x->v, x->meeting->party[0].op, x->meeting->party[0].rank, twice);
		contents_write(all, first.axis, joined);
		contents_write(cover, first.axis, 1);
	}
	free(list);
	return alike && n;
}

/* Gives all elements of a member to `all`, in which elements have their index. */
static void give_by_index(struct exchange *x, unsigned from, struct contents *all, struct contents *cover)
{
	struct contents found = {0}, boxes = {0};
	struct value_view here = *view_in(x, from);
	here.is_all = false;
	value_view_read(x->v, &here, true, &found);
	value_view_boxes(&here, &boxes);
	all->n = cover->n = here.axis_n;
	for (uint32_t k = 0; k < found.cell.n; k++)
		give(x, from, all, &found.cell.at[k]);
	for (uint32_t k = 0; k < boxes.cell.n; k++)
		contents_write(cover, boxes.cell.at[k].axis, 1);
	vec_free(&found.cell);
	vec_free(&boxes.cell);
}

/* Takes the elements of a member's result from `all`. */
static void take_by_index(struct exchange *x, unsigned to, const struct contents *all,
                          const struct contents *cover)
{
	const struct value_party *p = &x->meeting->party[to];
	struct value_view here = p->out;
	struct contents boxes = {0};
	int64_t index[IR_MAX_LOGICAL];
	here.is_all = false;
	value_view_boxes(&here, &boxes);
	x->got[to].n = here.axis_n;
	for (uint32_t k = 0; k < boxes.cell.n; k++) {
		const struct extent *box = boxes.cell.at[k].axis;
		if (!contents_cover(cover, box, index)) {
			value_report_undelivered(x->v, p->op, p->rank, op_result(x->v->m, p->op, 0), index);
			break;
		}
		contents_read(all, box, &x->got[to]);
	}
	vec_free(&boxes.cell);
}

/* All members give to all receivers, or each receiver has one giver. */
static void exchange_by_index(struct exchange *x)
{
	const bool one = op_root_gives(x->kind) || x->kind == OP_COLLECTIVE_PERMUTE;
	struct contents all = {0}, cover = {0};
	const bool done = reduce_at_once(x, &all, &cover);
	for (unsigned from = x->meeting->n; from-- > 0 && !one && !done;)
		if (is_there(view_in(x, from)))
			give_by_index(x, from, &all, &cover);
	for (unsigned to = 0; to < x->meeting->n; to++) {
		if (!receives(x, to))
			continue;
		if (one && (!to || x->kind == OP_COLLECTIVE_PERMUTE)) {
			contents_clear(&all);
			contents_clear(&cover);
			for (unsigned from = 0; from < x->meeting->n; from++)
				if (gives(x, from, to))
					give_by_index(x, from, &all, &cover);
		}
		if (one && !all.n)
			for (unsigned from = 0; from < x->meeting->n; from++)
				if (gives(x, from, to))
					give_by_index(x, from, &all, &cover);
		all.n = cover.n = view_out(x, to)->axis_n;
		take_by_index(x, to, &all, &cover);
	}
	vec_free(&all.cell);
	vec_free(&cover.cell);
}

/* ---- blocks in the order of memory */

struct block {
	unsigned n;
	struct extent axis[IR_MAX_LOGICAL];
	unsigned long_n;
	uint8_t of[IR_MAX_LOGICAL]; /* axes with more than one element */
};

/* Finds block k of n of a view. Returns false if the view is no box in order. */
static bool find_block(const struct valuation *v, const struct value_view *x, unsigned k, unsigned n,
                       struct block *out)
{
	const struct domain *d = ir_domain(v->m, ir_type(v->m, x->type)->domain);
	unsigned last = 0;
	*out = (struct block){.n = x->axis_n};
	if (x->unknown || x->symmetric)
		return false;
	for (unsigned a = 0; a < d->alloc_n; a++) { /* memory is in the order of the axes */
		int logical = layout_logical_of(d, d->alloc[a]);
		if (logical < 0 || (unsigned)logical < last)
			return false;
		last = (unsigned)logical;
	}
	for (unsigned a = 0; a < x->axis_n; a++) {
		if (x->part->axis[a].levels)
			return false;
		out->axis[a] = (struct extent){x->part->axis[a].from, x->part->axis[a].to};
	}
	for (unsigned a = 0; a < x->axis_n && n > 1; a++) {
		const int64_t size = out->axis[a].hi - out->axis[a].lo;
		if (size == 1)
			continue;
		if (size % n)
			return false;
		out->axis[a].lo += size / n * k;
		out->axis[a].hi = out->axis[a].lo + size / n;
		n = 1;
	}
	for (unsigned a = 0; a < x->axis_n; a++)
		if (out->axis[a].hi - out->axis[a].lo != 1)
			out->of[out->long_n++] = (uint8_t)a;
	return n == 1;
}

/* Gives one block of a member's operand to one block of another's result. Returns false if they are unlike. */
static bool give_block(struct exchange *x, unsigned from, unsigned to, const struct block *in,
                       const struct block *out)
{
	struct contents found = {0};
	struct image_axis map[IR_MAX_LOGICAL];
	bool alike = in->long_n == out->long_n;
	for (unsigned k = 0; k < in->long_n && alike; k++)
		alike = in->axis[in->of[k]].hi - in->axis[in->of[k]].lo ==
		        out->axis[out->of[k]].hi - out->axis[out->of[k]].lo;
	if (!alike)
		return false;
	for (unsigned a = 0; a < in->n; a++)
		map[a] = (struct image_axis){.axis = AXIS_FIXED, .offset = in->axis[a].lo};
	for (unsigned k = 0; k < in->long_n; k++)
		map[in->of[k]] = (struct image_axis){
		    .axis = out->of[k], .offset = in->axis[in->of[k]].lo - out->axis[out->of[k]].lo};
	value_view_read_box(x->v, view_in(x, from), in->axis, &found);
	x->got[to].n = out->n;
	for (uint32_t i = 0; i < found.cell.n; i++) {
		struct cell c = {.fact = facts_move(x->v->facts, found.cell.at[i].fact, map)};
		memcpy(c.axis, out->axis, sizeof *c.axis * out->n);
		for (unsigned k = 0; k < in->long_n; k++) {
			const struct extent *e = &found.cell.at[i].axis[in->of[k]];
			c.axis[out->of[k]].lo = e->lo - map[in->of[k]].offset;
			c.axis[out->of[k]].hi = e->hi - map[in->of[k]].offset;
		}
		give(x, from, &x->got[to], &c);
	}
	vec_free(&found.cell);
	return true;
}

static bool exchange_by_place(struct exchange *x)
{
	const unsigned n = x->meeting->n;
	enum collective c;
	bool known = true, in_each = false, out_each = false;
	if (op_collective(x->kind, &c)) {
		in_each = c == COLLECTIVE_REDUCE_SCATTER || c == COLLECTIVE_SCATTER ||
		          c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_ALL_TO_ALLV;
		out_each = c == COLLECTIVE_ALLGATHER || c == COLLECTIVE_GATHER ||
		           c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_ALL_TO_ALLV;
	}
	for (unsigned to = 0; to < n && known; to++)
		for (unsigned from = 0; from < n && known && receives(x, to); from++) {
			struct block in, out;
			if (!gives(x, from, to))
				continue;
			known =
			    find_block(x->v, view_in(x, from), in_each ? to : 0, in_each ? n : 1, &in) &&
			    find_block(x->v, view_out(x, to), out_each ? from : 0, out_each ? n : 1, &out) &&
			    give_block(x, from, to, &in, &out);
		}
	return known;
}

/* ---- the end of a meeting */

static bool same_shape(const struct value_view *a, const struct value_view *b)
{
	bool same = a->axis_n == b->axis_n;
	for (unsigned k = 0; k < a->axis_n && same; k++)
		same = a->part->axis[k].extent == b->part->axis[k].extent;
	return same;
}

static bool holds_all(const struct value_view *x)
{
	for (unsigned a = 0; a < x->axis_n; a++)
		if (!part_is_whole(&x->part->axis[a]))
			return false;
	return true;
}

/* Finds out if elements are matched by place. Returns false if some view is not known. */
static bool find_order(struct exchange *x)
{
	const struct value_view *in = NULL, *out = NULL;
	for (unsigned k = 0; k < x->meeting->n; k++) {
		if (is_there(view_in(x, k)))
			in = view_in(x, k);
		if (is_there(view_out(x, k)))
			out = view_out(x, k);
		if ((is_there(view_in(x, k)) && view_in(x, k)->unknown) ||
		    (is_there(view_out(x, k)) && view_out(x, k)->unknown))
			return false;
	}
	if (!in || !out)
		return true;
	x->flat = !same_shape(in, out) || (x->kind == OP_ALL_TO_ALL && x->meeting->n > 1 && holds_all(in));
	return true;
}

static void complete_data(struct valuation *v, struct value_meeting *m, enum op_kind kind)
{
	struct exchange x = {.v = v, .meeting = m, .kind = kind};
	const op_id op = m->party[0].op;
	x.got = mem_zalloc(sizeof *x.got * m->n);
	x.reduces = op_info[kind].traits & TRAIT_REDUCES;
	if (x.reduces)
		x.reduce = reduction_of(v->m, op);
	bool known = find_order(&x);
	if (known && x.flat)
		known = exchange_by_place(&x);
	else if (known)
		exchange_by_index(&x);
	for (unsigned k = 0; k < m->n; k++) {
		if (!known && receives(&x, k)) {
			value_trust(v, m->party[k].op);
			value_view_write_unknown(v, view_out(&x, k));
		}
		for (uint32_t i = 0; i < x.got[k].cell.n && known; i++)
			value_view_write(v, view_out(&x, k), x.got[k].cell.at[i].axis,
			                 x.got[k].cell.at[i].fact);
		vec_free(&x.got[k].cell);
	}
	free(x.got);
}

/* Members of a symmetric view see each other's buffers from here on. */
static void complete_fence(struct valuation *v, struct value_meeting *m)
{
	struct value_symmetric s = {.n = m->n};
	s.storage = arena_new_array(v->arena, uint32_t, m->n);
	s.part = arena_new_array(v->arena, const struct part *, m->n);
	for (unsigned k = 0; k < m->n; k++) {
		if (v->m->op.at[m->party[k].op].kind != OP_SYMMETRIC_VIEW)
			return;
		s.storage[k] = m->party[k].in.storage;
		s.part[k] = m->party[k].in.part;
	}
	vec_push(&v->symmetric, s);
	for (unsigned k = 0; k < m->n; k++) {
		struct value_rank *r = &v->rank[m->party[k].rank];
		struct value_view *x = value_view_new(r, op_def(v->m, m->party[k].op, 0));
		*x = m->party[k].in;
		x->type = v->m->value.at[op_def(v->m, m->party[k].op, 0)].type;
		x->symmetric = v->symmetric.n - 1;
		x->is_all = false;
		value_view_place(r, x);
		const struct domain *d = ir_domain(v->m, ir_type(v->m, x->type)->domain);
		x->unknown |= d->logical_n > d->rank && d->axis[d->rank].kind == AXIS_PARTIAL;
	}
}

/* ---- experts */

/* Joins an operand of all members. Returns its fact, if that is one for all elements. */
static fact_id join_operand(struct valuation *v, const struct value_meeting *m, unsigned operand)
{
	struct contents all = {0};
	fact_id fact = FACT_UNKNOWN;
	struct extent box[IR_MAX_LOGICAL];
	bool known = true;
	for (unsigned k = 0; k < m->n && known; k++) {
		const struct value_view *x = &m->party[k].more[operand];
		struct contents found = {0};
		if (!is_there(x))
			continue;
		known = !x->unknown;
		all.n = x->axis_n;
		for (unsigned a = 0; a < x->axis_n; a++)
			box[a] = (struct extent){0, x->part->axis[a].extent};
		if (known)
			value_view_read(v, x, true, &found);
		for (uint32_t i = 0; i < found.cell.n; i++)
			contents_write(&all, found.cell.at[i].axis, found.cell.at[i].fact);
		vec_free(&found.cell);
	}
	int64_t index[IR_MAX_LOGICAL];
	if (known && all.cell.n == 1 && contents_cover(&all, box, index))
		fact = all.cell.at[0].fact;
	vec_free(&all.cell);
	return fact;
}

static void complete_experts(struct valuation *v, struct value_meeting *m)
{
	const op_id op = m->party[0].op;
	const unsigned reads = op_role_count(v->m, op, ROLE_READ), results = op_result_count(v->m, op);
	struct application a = {.kind = v->m->op.at[op].kind, .operand_n = reads};
	bool known = true;
	value_trust(v, op);
	for (unsigned k = 0; k < reads; k++) {
		a.operand[k] = join_operand(v, m, k);
		known &= a.operand[k] && facts_is_complete(v->facts, a.operand[k]);
	}
	for (unsigned i = 0; i < results; i++) {
		uint64_t key[TERM_MAX_OPERANDS];
		struct term t = {.kind = a.kind,
		                 .label = value_label(&v->rank[m->party[0].rank], op, i),
		                 .key = key,
		                 .key_n = reads,
		                 .operand_n = (uint8_t)reads};
		for (unsigned k = 0; k < reads; k++)
			key[k] = a.operand[k];
		for (unsigned k = 0; k < m->n; k++) {
			const struct value_view *out = &m->party[k].more[reads + i];
			struct contents boxes = {0};
			if (!is_there(out))
				continue;
			if (!known || out->unknown) {
				value_view_write_unknown(v, out);
				continue;
			}
			t.axis_n = out->axis_n;
			fact_id fact = facts_term(v->facts, facts_intern(v->facts, &t), out->axis_n);
			value_view_boxes(out, &boxes);
			for (uint32_t b = 0; b < boxes.cell.n; b++)
				value_view_write(v, out, boxes.cell.at[b].axis, fact);
			vec_free(&boxes.cell);
		}
	}
}

static void complete(struct valuation *v, struct value_meeting *x)
{
	const enum op_kind kind = (enum op_kind)v->m->op.at[x->party[0].op].kind;
	switch (kind) {
	case OP_SYMMETRIC_VIEW:
	case OP_DEALLOCATE:
		complete_fence(v, x);
		return;
	case OP_DISPATCH:
	case OP_COMBINE:
		complete_experts(v, x);
		return;
	default:
		complete_data(v, x, kind);
	}
}

/* ---- statements */

static void keep_transfer(struct value_rank *r, uint32_t number, uint32_t meeting)
{
	if (number == WALK_NONE)
		return;
	while (r->transfer.n <= number)
		vec_push(&r->transfer, (struct value_transfer){0});
	r->transfer.at[number].meeting.n = 0;
	if (meeting)
		vec_push(&r->transfer.at[number].meeting, meeting);
}

static void wait_here(struct value_rank *r, uint32_t meeting)
{
	if (meeting && !r->v->meeting.at[meeting].done)
		vec_push(&r->waits, meeting);
}

/* A collective on one logical rank: the result is the operand. */
static void copy_logically(struct value_rank *r, op_id op)
{
	const struct value_view *in = value_view_get(r, op_read(r->v->m, op, 0)),
	                        *out = value_view_get(r, op_result(r->v->m, op, 0));
	struct contents found = {0};
	if (in->unknown || out->unknown || !same_shape(in, out) ||
	    r->v->m->op.at[op].kind == OP_COLLECTIVE_PERMUTE) {
		value_trust(r->v, op);
		value_view_write_unknown(r->v, out);
		return;
	}
	value_view_read(r->v, in, false, &found);
	for (uint32_t k = 0; k < found.cell.n; k++)
		value_view_write(r->v, out, found.cell.at[k].axis, found.cell.at[k].fact);
	vec_free(&found.cell);
}

void value_meet_collective(struct value_rank *r, const struct step *s)
{
	struct valuation *v = r->v;
	const op_id op = s->op;
	const struct op *o = &v->m->op.at[op];
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1};
	struct membership me;
	uint32_t meeting = 0;
	if (o->def_n)
		value_view_make(r, op_result(v->m, op, 0));
	if (v->is_logical) {
		copy_logically(r, op);
		return;
	}
	if (walk_membership(&v->program, o->team, r->rank, &me)) {
		if (op_info[o->kind].traits & TRAIT_ROOTED &&
		    !walk_scalar(&r->walker, op, 0, WALK_ANY, &p.root))
			r->failed = true;
		if (o->kind == OP_COLLECTIVE_PERMUTE && !walk_scalar(&r->walker, op, 1, WALK_ANY, &p.peer))
			r->failed = true;
		value_view_bind_by_operands(r, op, op_result(v->m, op, 0));
		if (!op_root_gives((enum op_kind)o->kind) || p.root == me.member)
			value_view_check_written(r, op, op_read(v->m, op, 0));
		p.in = *value_view_get(r, op_read(v->m, op, 0));
		p.out = *value_view_get(r, op_result(v->m, op, 0));
		const struct value_channel key = {
		    .slice = me.slice, .backend = op_backend(v->m, op), .n = me.n};
		if (!r->failed)
			meeting = arrive(v, &key, me.member, &p);
	}
	if (o->flags & OP_GROUPED) {
		if (meeting)
			vec_push(&r->group, meeting);
	} else if (o->flags & OP_ASYNC) {
		keep_transfer(r, s->transfer, meeting);
	} else {
		wait_here(r, meeting);
	}
}

void value_meet_experts(struct value_rank *r, const struct step *s)
{
	struct valuation *v = r->v;
	const op_id op = s->op;
	const unsigned reads = op_role_count(v->m, op, ROLE_READ), results = op_result_count(v->m, op);
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1};
	struct membership me = {.n = 1};
	struct value_view *more = arena_new_array(v->arena, struct value_view, reads + results);
	p.in.storage = p.out.storage = VALUE_NONE;
	for (unsigned k = 0; k < results && v->m->op.at[op].def_n; k++)
		value_view_make(r, op_result(v->m, op, k));
	for (unsigned k = 0; k < reads; k++)
		more[k] = *value_view_get(r, op_read(v->m, op, k));
	for (unsigned k = 0; k < results; k++)
		more[reads + k] = *value_view_get(r, op_result(v->m, op, k));
	p.more = more;
	const team_id team = v->is_logical ? 0 : infer_experts_team(v->m, op);
	if (team && !walk_membership(&v->program, team, r->rank, &me))
		return;
	if (!team) {
		struct value_meeting alone = {.n = 1, .party = &p};
		complete_experts(v, &alone);
		return;
	}
	const struct value_channel key = {.slice = me.slice, .tag = UINT32_MAX, .n = me.n};
	uint32_t meeting = arrive(v, &key, me.member, &p);
	if (v->m->op.at[op].flags & OP_ASYNC)
		keep_transfer(r, s->transfer, meeting);
	else
		wait_here(r, meeting);
}

static void issue_message(struct value_rank *r, const struct value_party *p, uint32_t transfer)
{
	struct valuation *v = r->v;
	const bool send = v->m->op.at[p->op].kind == OP_SEND;
	const uint32_t peer = (uint32_t)p->peer;
	if (p->peer < 0 || p->peer >= v->rank_n) {
		r->failed = true;
		return;
	}
	struct value_channel key = {.backend = op_backend(v->m, p->op), .n = 2};
	struct value_party party = *p;
	key.ends[send ? 0 : 1] = r->rank;
	key.ends[send ? 1 : 0] = peer;
	party.peer = 0; /* the sender */
	uint32_t meeting = arrive(v, &key, !send, &party);
	if (transfer == WALK_NONE)
		vec_push(&r->group, meeting);
	else
		keep_transfer(r, transfer, meeting);
}

static struct value_party read_message(struct value_rank *r, const struct step *s)
{
	struct module *m = r->v->m;
	const bool send = m->op.at[s->of].kind == OP_SEND;
	struct value_party p = {.op = s->of, .rank = r->rank, .root = -1, .peer = s->peer};
	p.in.storage = p.out.storage = VALUE_NONE;
	if (send)
		value_view_check_written(r, s->of, op_read(m, s->of, 0));
	if (send)
		p.in = *value_view_get(r, op_read(m, s->of, 0));
	else
		p.out = *value_view_get(r, op_write(m, s->of, 0));
	return p;
}

void value_meet_prepare(struct value_rank *r, const struct step *s)
{
	r->posted[s->of] = read_message(r, s);
}

void value_meet_message(struct value_rank *r, const struct step *s)
{
	struct value_party p = s->op != s->of ? r->posted[s->of] : read_message(r, s);
	issue_message(r, &p, s->transfer);
}

void value_meet_absent(struct value_rank *r, const struct step *s)
{
	keep_transfer(r, s->transfer, 0);
}

void value_meet_end_group(struct value_rank *r, const struct step *s)
{
	keep_transfer(r, s->transfer, 0);
	for (uint32_t k = 0; k < r->group.n; k++)
		vec_push(&r->transfer.at[s->transfer].meeting, r->group.at[k]);
	r->group.n = 0;
}

void value_meet_wait(struct value_rank *r, const struct step *s)
{
	struct value_transfer *t = &r->transfer.at[s->transfer];
	for (uint32_t k = 0; k < t->meeting.n; k++)
		wait_here(r, t->meeting.at[k]);
}

void value_meet_fence(struct value_rank *r, op_id op, team_id team, const struct value_view *of,
                      uint32_t *meeting)
{
	struct membership me;
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1, .in = *of};
	p.out.storage = VALUE_NONE;
	*meeting = 0;
	if (!walk_membership(&r->v->program, team, r->rank, &me))
		return;
	const struct value_channel key = {.slice = me.slice, .n = me.n};
	*meeting = arrive(r->v, &key, me.member, &p);
	wait_here(r, *meeting);
}
