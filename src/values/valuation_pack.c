/* valuation_pack: pack and unpack.
 *
 *     P = pack(A, B)     elements [0, a) of P hold flat(A), elements [a, a + b) hold flat(B)
 *
 * flat(A) is a term with one axis: the elements of a box of A in the order of memory. Collectives move and add
 * flat terms as they are. unpack takes the box out of the term again. */
#include "ir/pack.h"
#include "values/valuation_memory.h"
#include <string.h>

/* Returns the fact of a box of packed memory that begins with element 0 of the flattened box of a part. `along`:
 * the axis of the packed value along which elements follow each other, `first` the index there. */
static fact_id flatten_fact(struct facts *f, fact_id fact, const struct value_memory *part,
                            const struct extent *box, unsigned along, int64_t first)
{
	const uint32_t n = f->fact.at[fact].n;
	uint64_t key[2 + 3 * IR_MAX_LOGICAL];
	const struct image_axis image = {.axis = along, .offset = -first};
	struct term t = {.kind = TERM_FLAT, .key = key, .operand_n = 1, .axis_n = 1};
	double number;
	if (!fact || facts_is_number(f, fact, &number))
		return fact;
	struct addend *list = mem_alloc(sizeof *list * n);
	for (uint32_t k = 0; k < n; k++) {
		struct summand s = f->fact.at[fact].at[k], inner = s;
		inner.factor = 1;
		inner.share_n = 0;
		t.key_n = 0;
		key[t.key_n++] = facts_summand(f, REDUCE_SUM, inner);
		key[t.key_n++] = part->n;
		for (unsigned a = 0; a < part->n; a++) {
			key[t.key_n++] = part->axis[a];
			key[t.key_n++] = (uint64_t)box[part->axis[a]].lo;
			key[t.key_n++] = (uint64_t)box[part->axis[a]].hi;
		}
		s.term = facts_intern(f, &t);
		s.image = &image;
		s.image_n = 1;
		list[k] = (struct addend){1, facts_summand(f, f->fact.at[fact].reduce, s)};
	}
	fact_id made = facts_join(f, f->fact.at[fact].reduce, list, n, NULL);
	free(list);
	return made;
}

/* Takes the box out of a flat term: the fact over the axes of a part whose box has the same elements in the same
 * order. Returns FACT_UNKNOWN if it has not. */
static fact_id unflatten_fact(struct facts *f, enum reduce_op reduce, const struct summand *of,
                              const struct value_memory *part, const struct extent *box, int64_t first)
{
	const struct term *t = &f->term.at[of->term];
	struct image_axis to[IR_MAX_LOGICAL];
	unsigned k = 0;
	if (t->kind != TERM_FLAT || of->image[0].axis == AXIS_FIXED || of->image[0].offset != -first)
		return FACT_UNKNOWN;
	for (unsigned a = 0; a < t->key[1]; a++) { /* axes with more than one element correspond in order */
		const uint64_t *axis = &t->key[2 + 3 * a];
		const int64_t lo = (int64_t)axis[1], size = (int64_t)axis[2] - lo;
		to[axis[0]] = (struct image_axis){.axis = AXIS_FIXED, .offset = lo};
		if (size == 1)
			continue;
		while (k < part->n && box[part->axis[k]].hi - box[part->axis[k]].lo == 1)
			k++;
		if (k == part->n || box[part->axis[k]].hi - box[part->axis[k]].lo != size)
			return FACT_UNKNOWN;
		to[axis[0]] =
		    (struct image_axis){.axis = part->axis[k], .offset = lo - box[part->axis[k]].lo};
		k++;
	}
	for (; k < part->n; k++)
		if (box[part->axis[k]].hi - box[part->axis[k]].lo != 1)
			return FACT_UNKNOWN;
	/* an axis of one element is this rank's block of the same axis, if its index is the same */
	for (unsigned a = 0; a < t->key[1]; a++) {
		const uint64_t *axis = &t->key[2 + 3 * a];
		if (to[axis[0]].axis == AXIS_FIXED && axis[0] < part->n && t->key[1] == part->n &&
		    box[axis[0]].lo == (int64_t)axis[1] && box[axis[0]].hi == (int64_t)axis[2])
			to[axis[0]] = (struct image_axis){.axis = (uint32_t)axis[0]};
	}
	const fact_id moved = facts_move(f, (fact_id)t->key[0], to); /* makes a fact, so the list may move */
	struct summand s = f->fact.at[moved].at[0];
	s.factor *= of->factor;
	s.share = of->share;
	s.share_n = of->share_n;
	return facts_summand(f, reduce, s);
}

/* One block of a part, and the interval of the packed memory that holds it. */
struct packed_block {
	struct extent box[IR_MAX_LOGICAL]; /* of the part */
	struct extent at[IR_MAX_LOGICAL];  /* of the packed value */
	unsigned along;
	int64_t first;
};

/* Packs a cell of a block, whose elements follow each other in memory. Returns false if they do not. */
static bool pack_cell(struct valuation *v, const struct value_memory *part, const struct value_memory *packed,
                      const struct packed_block *b, const struct cell *cell, int64_t size)
{
	struct extent block, own, at[IR_MAX_LOGICAL];
	if (!value_memory_interval(part, b->box, &block) || !value_memory_interval(part, cell->axis, &own))
		return false;
	const int64_t first = b->first + (own.lo - block.lo) * size;
	memcpy(at, b->at, sizeof *at * packed->n);
	at[b->along] = (struct extent){first, first + (own.hi - own.lo) * size};
	value_view_write(v, packed->view, at,
	                 flatten_fact(v->facts, cell->fact, part, cell->axis, b->along, first));
	return true;
}

/* Makes one cell of those of a block, in which the elements of each have no order of their own. */
static void join_cells(struct valuation *v, const struct packed_block *b, struct contents *found)
{
	struct cell one = {0};
	bool complete = true;
	for (uint32_t k = 0; k < found->cell.n; k++)
		complete =
		    complete && found->cell.at[k].fact && facts_is_complete(v->facts, found->cell.at[k].fact);
	if (complete)
		one.fact = value_join_pieces(v->facts, found, b->box, UINT32_MAX);
	memcpy(one.axis, b->box, sizeof *b->box * found->n);
	found->cell.n = 0;
	vec_push(&found->cell, one);
}

/* Packs one block. Returns false if not all of the packed memory is known then. */
static bool pack_block(struct valuation *v, const struct value_memory *part,
                       const struct value_memory *packed, const struct packed_block *b, int64_t size)
{
	struct contents found = {0};
	struct extent interval;
	bool in_order = true;
	value_view_read_box(v, part->view, b->box, &found);
	for (uint32_t k = 0; k < found.cell.n; k++)
		in_order = in_order && value_memory_interval(part, found.cell.at[k].axis, &interval);
	bool known = found.cell.n != 0;
	if (!in_order)
		join_cells(v, b, &found);
	for (uint32_t k = 0; k < found.cell.n && known; k++)
		known = pack_cell(v, part, packed, b, &found.cell.at[k], size) && found.cell.at[k].fact;
	vec_free(&found.cell);
	return known;
}

/* Unpacks one block, which may be several flat terms. */
static bool unpack_block(struct valuation *v, const struct value_memory *part,
                         const struct value_memory *packed, const struct packed_block *b, int64_t size)
{
	struct contents found = {0};
	struct extent start, inside;
	bool known = value_memory_interval(part, b->box, &start);
	value_view_read_box(v, packed->view, b->at, &found);
	for (uint32_t k = 0; k < found.cell.n && known; k++) {
		const struct extent *cell = found.cell.at[k].axis;
		const fact_id fact = found.cell.at[k].fact;
		const int64_t from = cell[b->along].lo - b->first, to = cell[b->along].hi - b->first;
		struct extent box[IR_MAX_LOGICAL];
		double number;
		inside = (struct extent){start.lo + from / size, start.lo + to / size};
		known = fact && !(from % size) && !(to % size) && value_memory_box(part, inside, box);
		if (!known)
			break;
		if (facts_is_number(v->facts, fact, &number)) {
			value_view_write(v, part->view, box, fact);
			continue;
		}
		const uint32_t n = v->facts->fact.at[fact].n;
		struct addend *list = mem_alloc(sizeof *list * n);
		for (uint32_t i = 0; i < n; i++) {
			const struct summand s = v->facts->fact.at[fact].at[i];
			list[i] = (struct addend){1, unflatten_fact(v->facts, v->facts->fact.at[fact].reduce,
			                                            &s, part, box, cell[b->along].lo)};
		}
		fact_id made = facts_join(v->facts, v->facts->fact.at[fact].reduce, list, n, NULL);
		free(list);
		known = made != FACT_UNKNOWN;
		if (known)
			value_view_write(v, part->view, box, made);
	}
	vec_free(&found.cell);
	return known;
}

/* Moves all blocks of a part. before: elements of a packed block before those of the part. */
static bool move_part(struct valuation *v, bool packs, const struct value_memory *part,
                      const struct value_memory *packed, int64_t blocks, int64_t before, int64_t size)
{
	const int64_t each = part->count / blocks, block = packed->count / blocks;
	for (int64_t k = 0; k < blocks; k++) {
		struct packed_block b = {.along = packed->axis[packed->long_n ? packed->long_n - 1 : 0]};
		const int64_t at = k * block + before;
		if (!value_memory_box(part, (struct extent){k * each, (k + 1) * each}, b.box) ||
		    !value_memory_box(packed, (struct extent){at, at + each * size}, b.at))
			return false;
		for (unsigned a = 0; a < packed->n; a++) /* the axis along which the elements lie */
			if (b.at[packed->axis[a]].hi - b.at[packed->axis[a]].lo != 1)
				b.along = packed->axis[a];
		b.first = b.at[b.along].lo;
		for (unsigned a = 0; a < packed->n; a++)
			if (packed->axis[a] != b.along &&
			    b.at[packed->axis[a]].hi - b.at[packed->axis[a]].lo != 1)
				return false;
		if (packs ? !pack_block(v, part, packed, &b, size) : !unpack_block(v, part, packed, &b, size))
			return false;
	}
	return true;
}

void value_pack(struct value_rank *r, op_id op)
{
	struct valuation *v = r->v;
	const bool packs = v->m->op.at[op].kind == OP_PACK;
	const int64_t blocks = ir_pack_blocks(v->m, op);
	const value_id whole = ir_pack_packed(v->m, op);
	unsigned n;
	const struct operand *part = ir_pack_parts(v->m, op, &n);
	struct value_memory packed, own;
	int64_t before = 0;
	bool known = blocks > 0 && value_memory_find(v, value_view_get(r, whole), &packed);
	for (unsigned k = 0; k < n && known; k++) {
		const int64_t size = value_type(v->m, part[k].id)->dtype == value_type(v->m, whole)->dtype
		                         ? 1
		                         : (int64_t)dtype_bytes(value_type(v->m, part[k].id)->dtype);
		known = value_memory_find(v, value_view_get(r, part[k].id), &own) && !(own.count % blocks) &&
		        move_part(v, packs, &own, &packed, blocks, before, size);
		before += own.count / blocks * size;
	}
	if (known)
		return;
	value_trust(v, op);
	for (unsigned k = 0; k < op_result_count(v->m, op); k++)
		value_view_write_unknown(v, value_view_get(r, op_result(v->m, op, k)));
}
