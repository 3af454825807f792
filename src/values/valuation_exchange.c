/* valuation_exchange: the facts that collectives and messages move.
 *
 *     Y <- allgather(X)        X: [2 r, 2 r + 2) on rank r      all: [0, 8) of X; each rank takes what Y names
 *     Y <- allreduce(P)        P: [2 r, 2 r + 2) of a sum       all: the sum of the facts
 *
 * Elements keep their index, or blocks keep their order in memory: ir/keeps_index.h. */
#include "ir/keeps_index.h"
#include "values/valuation_memory.h"
#include <string.h>

struct exchange {
	struct valuation *v;
	const struct value_meeting *meeting;
	enum op_kind kind;
	enum reduce_op reduce;
	bool reduces, flat;
	unsigned givers;      /* number of parts of an average */
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

static bool gives(const struct exchange *x, unsigned from, unsigned to)
{
	const struct value_party *p = &x->meeting->party[to];
	if (!value_view_is_there(view_in(x, from)))
		return false;
	if (op_root_gives(x->kind))
		return p->root == (int64_t)from;
	return x->kind != OP_COLLECTIVE_PERMUTE || p->peer == (int64_t)from;
}

static bool receives(const struct exchange *x, unsigned k)
{
	const struct value_party *p = &x->meeting->party[k];
	if (!value_view_is_there(&p->out))
		return false;
	if (op_root_takes(x->kind))
		return p->root == (int64_t)k;
	return x->kind != OP_SEND_RECV || p->root != (int64_t)k || x->meeting->n == 1;
}

static enum reduce_op reduction_of(const struct module *m, op_id op)
{
	const value_id in = op_read(m, op, 0);
	const struct domain *d = value_domain(m, in);
	enum reduce_op r;
	if (op_attr_reduce(m, op, &r))
		return r;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL)
			return d->axis[a].reduce;
	return REDUCE_SUM;
}

/* Returns true if the same fact from two members is an error. The average of equal tensors is that tensor, but a part
 * of a mean counts once. */
static bool counts_once(const struct exchange *x, unsigned member, const struct extent *box, fact_id fact)
{
	struct contents found = {0};
	if (x->reduce != REDUCE_AVG || !facts_is_complete(x->v->facts, fact))
		return true;
	value_view_read_box(x->v, view_in(x, member), box, &found);
	const op_id by = found.cell.n ? found.cell.at[0].by : 0;
	vec_free(&found.cell);
	return by && x->v->m->op.at[by].kind == OP_MEAN;
}

/* Adds facts to what is there already, by the reduction. */
static void add_contribution(struct exchange *x, unsigned member, struct contents *sum,
                             const struct extent *box, fact_id fact)
{
	struct contents before = {0};
	contents_read(sum, box, &before);
	contents_write_by(sum, box, fact, member + 1);
	for (uint32_t k = 0; k < before.cell.n; k++) {
		term_id twice = 0;
		const struct addend both[] = {{1, before.cell.at[k].fact}, {1, fact}};
		fact_id joined = facts_join(x->v->facts, x->reduce, both, 2, &twice);
		if (twice && twice != TERM_ONE && counts_once(x, member, box, fact))
			value_report_given_twice(x->v, &x->meeting->party[before.cell.at[k].by - 1],
			                         &x->meeting->party[member], before.cell.at[k].axis, twice);
		contents_write_by(sum, before.cell.at[k].axis, joined, member + 1);
	}
	vec_free(&before.cell);
}

/* Checks and scales what a member gives to a reduction. */
static fact_id prepare(struct exchange *x, unsigned member, const struct cell *c)
{
	if (!facts_is_complete(x->v->facts, c->fact) && x->v->facts->fact.at[c->fact].reduce != x->reduce)
		value_report_mixed(x->v, &x->meeting->party[member], c, x->reduce);
	if (x->reduce != REDUCE_AVG)
		return c->fact;
	return facts_join(x->v->facts, REDUCE_SUM, &(struct addend){1.0 / x->givers, c->fact}, 1, NULL);
}

/* Takes the elements of a member beside those of others. Which member gives an element that several have is not
 * known, so their copies have to be equal. */
static void add_copy(struct exchange *x, unsigned member, struct contents *to, const struct cell *c)
{
	struct contents before = {0};
	contents_read(to, c->axis, &before);
	contents_write_by(to, c->axis, c->fact, member + 1);
	for (uint32_t k = 0; k < before.cell.n; k++) {
		const struct cell *other = &before.cell.at[k];
		if (!valuation_differs_surely(x->v->facts, other, c->fact, to->n))
			continue;
		value_report_givers(x->v, &x->meeting->party[member], &x->meeting->party[other->by - 1],
		                    other->axis, c->fact, other->fact);
		contents_write_by(to, other->axis, FACT_UNKNOWN, member + 1);
	}
	vec_free(&before.cell);
}

static void give(struct exchange *x, unsigned member, struct contents *to, const struct cell *c)
{
	if (x->reduces)
		add_contribution(x, member, to, c->axis, prepare(x, member, c));
	else
		add_copy(x, member, to, c);
}

/* Reports the first two of n members that give the same part of a term to a box. */
static void report_given_twice(const struct exchange *x, const struct addend *list, const uint32_t *giver,
                               unsigned n, const struct extent *box, term_id term)
{
	const struct value_party *p = x->meeting->party;
	for (unsigned k = 1; k < n; k++)
		for (unsigned i = 0; i < k; i++) {
			term_id twice = 0;
			facts_join(x->v->facts, x->reduce, (struct addend[]){list[i], list[k]}, 2, &twice);
			if (twice == term) {
				value_report_given_twice(x->v, &p[giver[i]], &p[giver[k]], box, term);
				return;
			}
		}
	value_report_given_twice(x->v, &p[giver[0]], &p[giver[n - 1]], box, term);
}

/* Reduces the elements of all members at once, if each of them has one fact for the same box. */
static bool reduce_at_once(struct exchange *x, struct contents *all, struct contents *cover)
{
	struct addend *list = mem_alloc(sizeof *list * x->meeting->n);
	uint32_t *giver = mem_alloc(sizeof *giver * x->meeting->n);
	struct cell first = {0};
	unsigned n = 0;
	bool alike = x->reduces;
	for (unsigned from = 0; from < x->meeting->n && alike; from++) {
		struct contents found = {0};
		if (!value_view_is_there(view_in(x, from)))
			continue;
		value_view_read(x->v, view_in(x, from), true, &found);
		alike = found.cell.n == 1 &&
		        (!n || !memcmp(first.axis, found.cell.at[0].axis, sizeof *first.axis * found.n));
		if (alike) {
			first = found.cell.at[0];
			all->n = cover->n = found.n;
			giver[n] = from;
			list[n++] = (struct addend){1, prepare(x, from, &first)};
		}
		vec_free(&found.cell);
	}
	if (alike && n) {
		term_id twice = 0;
		fact_id joined = facts_join(x->v->facts, x->reduce, list, n, &twice);
		if (twice && twice != TERM_ONE && counts_once(x, giver[0], first.axis, list[0].fact))
			report_given_twice(x, list, giver, n, first.axis, twice);
		contents_write(all, first.axis, joined);
		contents_write(cover, first.axis, 1);
	}
	free(giver);
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
	struct value_view here = *view_out(x, to);
	struct contents boxes = {0};
	int64_t index[IR_MAX_LOGICAL];
	here.is_all = false;
	value_view_boxes(&here, &boxes);
	x->got[to].n = here.axis_n;
	for (uint32_t k = 0; k < boxes.cell.n; k++) {
		const struct extent *box = boxes.cell.at[k].axis;
		if (!contents_cover(cover, box, index)) {
			unsigned from = 0;
			while (from + 1 < x->meeting->n && !gives(x, from, to))
				from++;
			value_report_undelivered(x->v, x->meeting, to, from, index);
			break;
		}
		contents_read(all, box, &x->got[to]);
	}
	vec_free(&boxes.cell);
}

/* Returns true if a member cuts what it gives into blocks of the result. */
static bool cuts_blocks(enum op_kind kind)
{
	enum collective c;
	return op_collective(kind, &c) && (c == COLLECTIVE_REDUCE_SCATTER || c == COLLECTIVE_SCATTER ||
	                                   c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_ALL_TO_ALLV);
}

/* Returns the type of the result in a member's statement. The member need not have a part of it. */
static type_id type_of_result(const struct exchange *x, unsigned k)
{
	return x->v->m->value.at[op_result(x->v->m, x->meeting->party[k].op, 0)].type;
}

static bool have_equal_parts(const struct module *m, type_id a, type_id b, uint32_t rank)
{
	struct part x, y;
	bool equal = a == b;
	if (equal || !part_of(m, a, rank, NULL, &x) || !part_of(m, b, rank, NULL, &y) || !x.exact || !y.exact)
		return true;
	equal = x.n == y.n && x.absent == y.absent;
	for (unsigned k = 0; k < x.n && equal; k++)
		equal = part_axis_same(&x.axis[k], &y.axis[k]);
	return equal;
}

/* Members that meet in several statements, as in the branches of a condition, have to cut equal blocks. */
static void check_cuts(struct exchange *x)
{
	const struct value_party *p = x->meeting->party;
	for (unsigned to = 0; to < x->meeting->n && cuts_blocks(x->kind); to++)
		for (unsigned from = 0; from < x->meeting->n && receives(x, to); from++)
			if (p[from].op != p[to].op && gives(x, from, to) &&
			    !have_equal_parts(x->v->m, type_of_result(x, from), type_of_result(x, to),
			                      p[to].rank)) {
				value_report_cut(x->v, &p[from], &p[to]);
				return;
			}
}

/* All members give to all receivers, or each receiver has one giver. */
static void exchange_by_index(struct exchange *x)
{
	const bool one = op_root_gives(x->kind) || x->kind == OP_COLLECTIVE_PERMUTE;
	struct contents all = {0}, cover = {0};
	const bool done = reduce_at_once(x, &all, &cover);
	for (unsigned from = x->meeting->n; from-- > 0 && !one && !done;)
		if (value_view_is_there(view_in(x, from)))
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
	uint8_t of[IR_MAX_LOGICAL]; /* axes with more than one element, in the order of memory */
};

/* Finds block k of n of a view, which are cut along the outermost axis. Returns false if they are none. */
static bool find_block(const struct valuation *v, const struct value_view *x, unsigned k, unsigned n,
                       struct block *out)
{
	struct value_memory memory;
	*out = (struct block){.n = x->axis_n};
	if (!value_memory_find(v, x, &memory) || (memory.long_n && memory.extent[0] % n) ||
	    (!memory.long_n && n > 1))
		return false;
	const int64_t size = memory.count / n;
	if (!value_memory_box(&memory, (struct extent){size * k, size * (k + 1)}, out->axis))
		return false;
	for (unsigned a = 0; a < memory.long_n; a++)
		if (out->axis[memory.axis[a]].hi - out->axis[memory.axis[a]].lo != 1)
			out->of[out->long_n++] = memory.axis[a];
	return true;
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
	bool known = true, out_each = false;
	const bool in_each = cuts_blocks(x->kind);
	if (op_collective(x->kind, &c))
		out_each = c == COLLECTIVE_ALLGATHER || c == COLLECTIVE_GATHER ||
		           c == COLLECTIVE_ALL_TO_ALL || c == COLLECTIVE_ALL_TO_ALLV;
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

/* ---- one exchange */

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
	op_id from = 0, to = 0;
	for (unsigned k = 0; k < x->meeting->n; k++) {
		if (value_view_is_there(view_in(x, k)))
			in = view_in(x, k), from = x->meeting->party[k].op;
		if (value_view_is_there(view_out(x, k)))
			out = view_out(x, k), to = x->meeting->party[k].op;
		if ((value_view_is_there(view_in(x, k)) && view_in(x, k)->unknown) ||
		    (value_view_is_there(view_out(x, k)) && view_out(x, k)->unknown))
			return false;
	}
	if (!in || !out)
		return true;
	x->flat = !ir_keeps_index(x->v->m, from, to) ||
	          (x->kind == OP_ALL_TO_ALL && x->meeting->n > 1 && holds_all(in) && holds_all(out));
	return true;
}

/* Writes the facts that a member got to its result. */
static void take(struct exchange *x, unsigned member, bool known, bool receives_some)
{
	struct contents *got = &x->got[member];
	if (!known && receives_some) {
		value_trust(x->v, x->meeting->party[member].op);
		value_view_write_unknown(x->v, view_out(x, member));
	}
	x->v->writer = x->meeting->party[member].op;
	for (uint32_t i = 0; i < got->cell.n && known; i++)
		value_view_write(x->v, view_out(x, member), got->cell.at[i].axis, got->cell.at[i].fact);
	vec_free(&got->cell);
}

void value_exchange(struct valuation *v, struct value_meeting *m, enum op_kind kind)
{
	struct exchange x = {.v = v, .meeting = m, .kind = kind};
	const op_id op = m->party[0].op;
	x.got = mem_zalloc(sizeof *x.got * m->n);
	x.reduces = op_info[kind].traits & TRAIT_REDUCES;
	if (x.reduces)
		x.reduce = reduction_of(v->m, op);
	for (unsigned k = 0; k < m->n; k++) /* the root of a reduce may only take */
		x.givers += value_view_is_there(view_in(&x, k));
	bool known = find_order(&x);
	if (known && x.flat)
		known = exchange_by_place(&x);
	else if (known) {
		check_cuts(&x);
		exchange_by_index(&x);
	}
	for (unsigned k = 0; k < m->n; k++)
		take(&x, k, known, receives(&x, k));
	free(x.got);
}

/* ---- a set that stands for Communications */

/* Joins the members' parts of one kept position: those of one part of the sum by index, the parts by the reduction. */
static void join_parts(struct exchange *x, const struct reshard_sides *side, int32_t position,
                       struct contents *all, struct contents *cover)
{
	for (uint32_t part = 0; part < side->parts; part++) {
		struct contents one = {0};
		unsigned giver = 0;
		x->reduces = false;
		for (unsigned k = x->meeting->n; k-- > 0;)
			if (side[k].gives == (int32_t)part && side[k].gives_to == position) {
				give_by_index(x, k, &one, cover);
				giver = k;
			}
		all->n = one.n ? one.n : all->n;
		x->reduces = side->parts > 1;
		for (uint32_t i = 0; i < one.cell.n; i++)
			give(x, giver, all, &one.cell.at[i]);
		vec_free(&one.cell);
	}
}

static bool between_same_types(const struct module *m, op_id a, op_id b)
{
	return m->value.at[op_read(m, a, 0)].type == m->value.at[op_read(m, b, 0)].type &&
	       m->value.at[op_result(m, a, 0)].type == m->value.at[op_result(m, b, 0)].type;
}

void value_exchange_reshard(struct valuation *v, struct value_meeting *m)
{
	struct exchange x = {.v = v, .meeting = m, .kind = OP_SET};
	struct reshard_sides *side = mem_alloc(sizeof *side * m->n);
	bool alike = true;
	x.got = mem_zalloc(sizeof *x.got * m->n);
	x.reduce = reduction_of(v->m, m->party[0].op);
	for (unsigned k = 0; k < m->n; k++) {
		const op_id op = m->party[k].op;
		value_reshard_sides(v->m, op, m->party[k].rank, &side[k]);
		alike = alike && between_same_types(v->m, op, m->party[0].op);
	}
	x.givers = side->parts;
	const bool known = alike && find_order(&x) && !x.flat && !side[0].begins;
	for (unsigned to = 0; to < m->n && known; to++) {
		struct contents all = {0}, cover = {0};
		bool first = side[to].takes_from >= 0;
		for (unsigned k = 0; k < to && first; k++)
			first = side[k].takes_from != side[to].takes_from;
		if (!first)
			continue; /* taken with an earlier member */
		join_parts(&x, side, side[to].takes_from, &all, &cover);
		for (unsigned k = to; k < m->n; k++)
			if (side[k].takes_from == side[to].takes_from && value_view_is_there(view_out(&x, k)))
				take_by_index(&x, k, &all, &cover);
		vec_free(&all.cell);
		vec_free(&cover.cell);
	}
	for (unsigned k = 0; k < m->n; k++)
		take(&x, k, known, side[k].takes_from >= 0);
	free(x.got);
	free(side);
}
