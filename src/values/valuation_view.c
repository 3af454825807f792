/* valuation_view: names as parts of buffers.
 *
 *     Y: f32[8@stream(4), 4] = allocate()     a buffer; all blocks are here
 *     y = shard_by_stream(Y, i)               the same buffer, [2 i, 2 i + 2) of axis 0
 *     s = select(Y, axis=1, index=3)          the same buffer, without axis 1
 *
 * A box of a buffer is in the logical axes of the buffer's type, which all ranks count alike. A buffer that a
 * loop makes has one block of its stream axes. The first statement that writes it may decide which. */
#include "ir/expr.h"
#include "values/valuation.h"
#include <stddef.h>
#include <string.h>

enum { MAX_LEVELS = 8 };

/* ---- parts */

static bool is_loop_axis(const struct axis *a)
{
	return (a->place == PLACE_STREAM || a->place == PLACE_SERIAL) && a->kind != AXIS_REDUCE;
}

const struct value_bound *value_view_bound(const struct value_view *x, unsigned axis, unsigned level)
{
	for (unsigned k = 0; k < x->bound_n; k++)
		if (x->bound[k].axis == axis && x->bound[k].level == level)
			return &x->bound[k];
	return NULL;
}

static void set_bound(struct value_view *x, unsigned axis, unsigned level, int64_t step)
{
	for (unsigned k = 0; k < x->bound_n; k++)
		if (x->bound[k].axis == axis && x->bound[k].level == level) {
			x->bound[k].step = step;
			return;
		}
	x->unknown |= x->bound_n == VALUE_BOUNDS;
	if (!x->unknown)
		x->bound[x->bound_n++] =
		    (struct value_bound){.axis = (uint8_t)axis, .level = (uint8_t)level, .step = step};
}

static uint64_t hash_part(const struct part *p)
{
	uint64_t h = hash_number(HASH_START, p->n);
	for (unsigned a = 0; a < p->n; a++) {
		const struct part_axis *x = &p->axis[a];
		h = hash_number(hash_number(hash_number(h, (uint64_t)x->extent), (uint64_t)x->from),
		                (uint64_t)x->to);
		for (unsigned k = 0; k < x->levels; k++)
			h = hash_number(h, (uint64_t)x->level[k].run ^ (uint64_t)x->level[k].step << 32);
	}
	return h;
}

static bool same_part(const struct part *a, const struct part *b)
{
	bool same = a->n == b->n && a->absent == b->absent;
	for (unsigned k = 0; k < a->n && same; k++) {
		const struct part_axis *x = &a->axis[k], *y = &b->axis[k];
		same = x->extent == y->extent && x->from == y->from && x->to == y->to &&
		       x->levels == y->levels &&
		       (!x->levels || !memcmp(x->level, y->level, sizeof *x->level * x->levels));
	}
	return same;
}

/* Returns the copy of a part that all views share. */
static const struct part *keep_part(struct valuation *v, const struct part *p)
{
	struct hash_probe probe = {.hash = hash_part(p)};
	for (uint32_t k; (k = hash_next(&v->parts, &probe));)
		if (same_part(v->part.at[k], p))
			return v->part.at[k];
	const size_t size = offsetof(struct part, axis) + sizeof *p->axis * p->n;
	struct part *kept = arena_alloc(v->arena, size);
	memcpy(kept, p, size);
	vec_push(&v->part, kept);
	hash_insert(&v->parts, probe.hash, v->part.n - 1);
	return kept;
}

/* Finds the elements of all ranks in the bound steps. Returns false if that is not known. */
static bool find_logical_part(const struct module *m, type_id type, const struct bound_at *bound,
                              struct part *out)
{
	for (unsigned a = 0; a < out->n; a++) {
		struct part_cuts cuts;
		expr_id offending;
		if (!part_cuts_read(m, type, a, &cuts, &offending) || cuts.joint & bound->axes)
			return false;
		part_start(&out->axis[a], cuts.extent);
		for (unsigned k = 0; k < cuts.n; k++) {
			const struct part_cut *c = &cuts.at[k];
			const bool here = bound->axes >> c->axis & 1;
			if ((here && c->swizzled) ||
			    !part_narrow(&out->axis[a], c->size, here ? bound->step[c->axis] : PART_ALL))
				return false;
		}
		if (!bound->axes)
			part_start(&out->axis[a], cuts.extent);
	}
	return true;
}

void value_view_place(struct value_rank *r, struct value_view *x)
{
	struct module *m = r->v->m;
	const struct domain *d = ir_domain(m, ir_type(m, x->type)->domain);
	struct bound_at bound = {.axes = 0};
	struct part part = {.n = d->rank, .exact = true};
	unsigned axis, level;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const uint8_t a = d->loop[k];
		const struct value_bound *b;
		if (!is_loop_axis(&d->axis[a]) || !bound_level(d, a, &axis, &level) ||
		    !(b = value_view_bound(x, axis, level)))
			continue;
		bound.axes |= (uint64_t)1 << a;
		bound.step[a] = b->step;
	}
	if (r->v->is_logical)
		x->unknown |= !find_logical_part(m, x->type, &bound, &part);
	if (!r->v->is_logical)
		x->unknown |= !part_of(m, x->type, r->rank, &bound, &part) || !part.exact;
	x->absent |= part.absent;
	x->part = keep_part(r->v, &part);
}

/* Sets the bound steps of a fresh name from the loops around. */
static void bind_by_loops(struct value_rank *r, value_id value, struct value_view *x)
{
	struct valuation *v = r->v;
	const struct domain *d = value_domain(v->m, value);
	struct steps_of *known = &v->steps[value];
	const struct expr_env env = walk_env(&r->walker);
	unsigned axis, level;
	if (!known->known) {
		struct bound_steps steps;
		bound_steps_of(v->m, value, &steps);
		known->of = arena_new_array(v->arena, expr_id, d->axis_n);
		memcpy(known->of, steps.of, sizeof *known->of * d->axis_n);
	}
	known->known = true;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const uint8_t a = d->loop[k];
		int64_t step;
		if (!known->of[a] || !bound_level(d, a, &axis, &level) || axis >= IR_MAX_LOGICAL)
			continue;
		if (expr_eval(v->m, known->of[a], &env, &step, NULL) == EXPR_OK)
			set_bound(x, axis, level, step);
		else
			x->unknown = true;
	}
}

struct value_view *value_view_new(struct value_rank *r, value_id value)
{
	struct value_view **at = &r->view[value];
	if (!*at)
		*at = arena_alloc(r->v->arena, sizeof **at);
	return *at;
}

static void start_view(struct value_rank *r, value_id value, struct value_view *x)
{
	*x = (struct value_view){.storage = VALUE_NONE,
	                         .type = r->v->m->value.at[value].type,
	                         .axis_n = value_domain(r->v->m, value)->rank,
	                         .is_all = true};
	for (unsigned a = 0; a < IR_MAX_LOGICAL; a++) {
		x->axis[a] = (uint8_t)a;
		x->fixed[a] = -1;
	}
}

/* ---- buffers */

static uint32_t get_storage(struct value_rank *r, value_id value)
{
	struct valuation *v = r->v;
	uint32_t *of = &r->storage_of[value], k;
	if (*of != VALUE_NONE && v->storage.at[*of].busy)
		v->storage.at[*of].orphan = true;
	else if (*of != VALUE_NONE)
		vec_push(&v->unused, *of);
	if (v->unused.n) {
		k = v->unused.at[--v->unused.n];
	} else {
		k = v->storage.n;
		vec_push(&v->storage, (struct value_storage){0});
	}
	struct value_storage *s = &v->storage.at[k];
	struct contents contents = s->contents;
	contents_clear(&contents);
	contents.n = value_domain(v->m, value)->rank;
	*s = (struct value_storage){.value = value, .rank = r->rank, .fresh = true, .contents = contents};
	return *of = k;
}

void value_view_use(struct valuation *v, const struct value_view *x, int by)
{
	if (x->storage == VALUE_NONE || x->absent)
		return;
	struct value_storage *s = value_storage(v, x->storage);
	s->busy += (uint32_t)by;
	if (s->orphan && !s->busy) {
		s->orphan = false;
		vec_push(&v->unused, x->storage);
	}
}

/* Returns true if a rank is in the mesh of a value. */
static bool is_here(const struct value_rank *r, value_id value)
{
	const mesh_id mesh = value_type(r->v->m, value)->mesh;
	uint32_t position;
	return r->v->is_logical || !mesh || mesh_position(ir_mesh(r->v->m, mesh), r->rank, &position);
}

void value_view_make(struct value_rank *r, value_id value)
{
	struct valuation *v = r->v;
	op_id def = v->m->value.at[value].def;
	if (!is_here(r, value))
		return;
	struct value_view *x = value_view_new(r, value);
	start_view(r, value, x);
	bind_by_loops(r, value, x);
	value_view_place(r, x);
	if (x->absent)
		return;
	x->storage = get_storage(r, value);
	struct value_storage *s = value_storage(v, x->storage);
	if (def &&
	    (op_attr_is_true(v->m, def, "zero_init") || op_attr_is_true(v->m, def, "resets_to_zero"))) {
		struct extent all[IR_MAX_LOGICAL];
		for (unsigned a = 0; a < x->part->n; a++)
			all[a] = (struct extent){0, x->part->axis[a].extent};
		contents_write(&s->contents, all, facts_number(v->facts, 0));
	}
}

/* Makes the name of an input. It has its own term, of which a pending reduction is one more, reduced axis. */
void value_view_input(struct value_rank *r, unsigned input)
{
	struct valuation *v = r->v;
	const value_id value = v->m->input.at[input].value;
	const struct domain *d = value_domain(v->m, value);
	const struct type *type = value_type(v->m, value);
	struct extent all[IR_MAX_LOGICAL];
	struct buf name = {0};
	int64_t reduced[IR_MAX_LOGICAL][2];
	struct share_span share[IR_MAX_LOGICAL];
	struct image_axis image[IR_MAX_LOGICAL];
	uint64_t extent[IR_MAX_LOGICAL];
	struct term t = {.kind = TERM_INPUT,
	                 .axis_n = d->rank,
	                 .reduced = (const int64_t(*)[2])reduced,
	                 .key = extent,
	                 .key_n = d->rank};
	struct summand s = {.factor = 1, .image = image, .image_n = d->rank, .share = share};
	enum reduce_op reduce = REDUCE_SUM;
	int64_t parts = 1;
	if (!is_here(r, value) || (!v->is_logical && !module_has_input(v->m, input, r->rank)))
		return;
	struct value_view *x = value_view_new(r, value);
	start_view(r, value, x);
	value_view_place(r, x);
	if (x->absent)
		return;
	x->storage = get_storage(r, value);
	if (x->unknown)
		return;
	value_input_name(v, value, &name);
	for (unsigned a = 0; a < d->rank; a++)
		extent[a] = (uint64_t)x->part->axis[a].extent;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL) {
			uint32_t index = 0;
			const struct mesh *mesh = ir_mesh(v->m, type->mesh);
			int64_t n = mesh->size[d->axis[a].mesh_axis];
			reduced[t.reduced_n][0] = 0;
			reduced[t.reduced_n++][1] = n;
			reduce = d->axis[a].reduce;
			parts *= n;
			if (!v->is_logical && mesh_axis_index(mesh, r->rank, d->axis[a].mesh_axis, &index) &&
			    n > 1)
				share[s.share_n++] = (struct share_span){
				    .axis = t.reduced_n - 1u, .lo = index, .hi = (int64_t)index + 1};
		}
	if (parts > 1 && reduce != REDUCE_SUM &&
	    reduce != REDUCE_AVG) /* its parts give another tensor than their sum */
		buf_printf(&name, " partial %s", reduce_op_name(reduce));
	t.label = facts_label(v->facts, name.at);
	buf_free(&name);
	s.term = facts_intern(v->facts, &t);
	for (unsigned k = 0; k < s.share_n; k++)
		share[k].of = s.term;
	for (unsigned a = 0; a < d->rank; a++) {
		image[a] = (struct image_axis){.axis = a};
		all[a] = (struct extent){0, x->part->axis[a].extent};
	}
	if (reduce == REDUCE_AVG && v->is_logical)
		for (unsigned k = 0; k < t.reduced_n; k++)
			s.factor /= (double)reduced[k][1];
	fact_id fact = facts_summand(v->facts, reduce, s);
	contents_write(&value_storage(v, x->storage)->contents, all, fact);
	value_storage(v, x->storage)->fresh = false;
}

void value_view_end(struct value_rank *r, value_id value)
{
	struct value_view *x = value_view_get(r, value);
	if (x->storage == VALUE_NONE || x->symmetric || r->storage_of[value] != x->storage ||
	    value_storage(r->v, x->storage)->busy)
		return;
	contents_clear(&value_storage(r->v, x->storage)->contents);
	vec_push(&r->v->unused, x->storage);
	r->storage_of[value] = VALUE_NONE;
}

/* ---- which block a new buffer holds */

/* Returns the cut of a tensor axis by a level; NULL if there is none. */
static const struct part_cut *find_cut(const struct module *m, type_id type, unsigned axis, unsigned level,
                                       struct part_cuts *cuts)
{
	expr_id offending;
	unsigned seen = 0;
	if (!part_cuts_read(m, type, axis, cuts, &offending))
		return NULL;
	for (unsigned k = 0; k < cuts->n; k++)
		if (cuts->at[k].place == PLACE_STREAM || cuts->at[k].place == PLACE_SERIAL)
			if (seen++ == level)
				return &cuts->at[k];
	return NULL;
}

/* Returns how far a rank's steps of a cut are from its blocks. */
static int64_t swizzle_of(const struct value_rank *r, type_id type, const struct part_cut *c)
{
	uint32_t index[IR_MAX_MESH_AXES] = {0};
	if (!c->swizzled || r->v->is_logical || !part_indices(r->v->m, type, r->rank, index))
		return 0;
	return index[c->swizzle_axis];
}

void value_view_bind_by_operands(struct value_rank *r, op_id op, value_id result)
{
	struct module *m = r->v->m;
	struct value_view *x = value_view_get(r, result);
	struct infer_axes axes;
	bool changed = false;
	if (x->storage == VALUE_NONE || x->absent || !value_storage(r->v, x->storage)->fresh || !x->is_all ||
	    !r->walker.loop.n || !infer_axes(m, op, &axes))
		return;
	const struct domain *d = value_domain(m, result);
	for (unsigned a = 0; a < d->rank; a++)
		for (unsigned level = 0; level < MAX_LEVELS && axes.result[a] != INFER_NONE; level++) {
			struct part_cuts to_cuts, from_cuts;
			const struct part_cut *to = find_cut(m, x->type, a, level, &to_cuts), *from;
			for (unsigned o = axes.operand_n; to && o-- > 0;) {
				const value_id operand = op_read(m, op, o);
				const struct value_view *y = operand ? value_view_get(r, operand) : NULL;
				for (unsigned c = 0; y && y->storage != VALUE_NONE && c < y->axis_n; c++) {
					const struct value_bound *of = value_view_bound(y, c, level), *own;
					if (axes.operand[o][c] != axes.result[a] || !of)
						continue;
					from = find_cut(m, y->type, c, level, &from_cuts);
					if (!from || from->size != to->size || from->place != to->place ||
					    from->count != to->count)
						continue;
					int64_t block = of->step + swizzle_of(r, y->type, from);
					int64_t step = (block - swizzle_of(r, x->type, to)) % to->count;
					step += step < 0 ? to->count : 0;
					own = value_view_bound(x, a, level);
					changed |= !own || own->step != step;
					set_bound(x, a, level, step);
				}
			}
		}
	if (!changed)
		return;
	value_view_place(r, x);
}

void value_view_follow_operands(struct value_rank *r, op_id op, value_id result)
{
	struct module *m = r->v->m;
	struct value_view *x = r->view[result];
	struct infer_axes axes;
	if (!r->v->is_logical || !(m->value.at[result].flags & VALUE_OPEN) || !x || x->unknown ||
	    !infer_axes(m, op, &axes))
		return;
	struct part part = {.n = x->part->n, .exact = true};
	for (unsigned a = 0; a < part.n; a++) {
		part.axis[a] = x->part->axis[a];
		for (unsigned k = 0; k < axes.operand_n; k++) {
			const struct value_view *y = value_view_get(r, op_read(m, op, k));
			for (unsigned c = 0; c < y->axis_n && !y->absent && !y->unknown; c++)
				if (axes.operand[k][c] == axes.result[a] && axes.result[a] != INFER_NONE &&
				    axes.kind[axes.result[a]] == DIM_PARALLEL &&
				    !part_is_whole(&y->part->axis[c]))
					part.axis[a] = y->part->axis[c];
		}
	}
	x->part = keep_part(r->v, &part);
}

/* ---- views */

static void shard(struct value_rank *r, op_id op, struct value_view *x)
{
	struct module *m = r->v->m;
	const struct domain *d = ir_domain(m, ir_type(m, x->type)->domain);
	struct bound_levels levels;
	unsigned axis, level;
	int64_t step;
	bound_levels_of(m, op_read(m, op, 0), &levels);
	int leaf = bound_next(d, &levels);
	if (leaf < 0 || !bound_level(d, (unsigned)leaf, &axis, &level) || axis >= IR_MAX_LOGICAL ||
	    !walk_scalar(&r->walker, op, 0, WALK_ANY, &step)) {
		x->unknown = true;
		return;
	}
	const struct part *whole = x->part;
	set_bound(x, axis, level, step);
	x->is_all = false;
	value_view_place(r, x);
	/* a type that cuts the axis otherwise may name elements that are not in this buffer */
	for (unsigned a = 0; a < x->axis_n && !x->unknown; a++)
		for (struct part_span s = {0}; part_next(&x->part->axis[a], &s) && !x->unknown;)
			if (!part_has(&whole->axis[a], s)) {
				value_report_part(r, op, op_read(m, op, 0), a, s, &whole->axis[a]);
				x->unknown = true;
			}
}

static void drop_axis(struct value_view *x, unsigned axis)
{
	unsigned kept = 0;
	memmove(x->axis + axis, x->axis + axis + 1, IR_MAX_LOGICAL - 1 - axis);
	for (unsigned k = 0; k < x->bound_n; k++) {
		struct value_bound b = x->bound[k];
		if (b.axis == axis)
			continue;
		b.axis = (uint8_t)(b.axis - (b.axis > axis));
		x->bound[kept++] = b;
	}
	x->bound_n = (uint8_t)kept;
	x->axis_n--;
}

bool value_find_pending(const struct module *m, value_id value, enum reduce_op *out)
{
	const struct domain *d = value_domain(m, value);
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL) {
			*out = d->axis[a].reduce;
			return true;
		}
	return false;
}

/* A select of an axis that is spread over the ranks, whose result is pending: it is a reduction along that axis,
 * of which each rank has one element. */
static void select_pending(struct value_rank *r, op_id op, struct value_view *x, unsigned axis,
                           enum reduce_op reduce)
{
	struct valuation *v = r->v;
	const struct value_view from = *x;
	struct contents in = {0};
	const bool sums = reduce == REDUCE_SUM || reduce == REDUCE_AVG;
	struct application a = {.kind = sums ? OP_SUM : reduce_operation(reduce),
	                        .dim_n = from.axis_n,
	                        .operand_n = 1,
	                        .linear = sums,
	                        .reduce = reduce};
	const struct part_axis *here = &from.part->axis[axis];
	struct image_axis to[IR_MAX_LOGICAL];
	for (unsigned k = 0; k < from.axis_n; k++)
		to[k] = (struct image_axis){.axis = k - (k > axis)};
	a.dim[axis] = (struct evaluate_axis){
	    .kind = EVALUATE_REDUCED, .hi = here->extent, .share_lo = here->from, .share_hi = here->to};
	value_view_read(v, &from, false, &in);
	value_view_make(r, op_def(v->m, op, 0));
	*x = *value_view_get(r, op_def(v->m, op, 0));
	for (uint32_t k = 0; k < in.cell.n; k++) {
		struct extent *box = in.cell.at[k].axis;
		a.operand[0] = in.cell.at[k].fact;
		if (box[axis].lo > here->from || box[axis].hi < here->to)
			continue; /* on one rank only a part of the axis has this fact: not known */
		fact_id fact = facts_move(v->facts, evaluate(v->facts, &a), to);
		if (reduce == REDUCE_AVG && v->is_logical)
			fact = facts_join(v->facts, REDUCE_SUM,
			                  &(struct addend){1.0 / (double)here->extent, fact}, 1, NULL);
		memmove(box + axis, box + axis + 1, sizeof *box * (IR_MAX_LOGICAL - 1 - axis));
		value_view_write(v, x, box, fact);
	}
	vec_free(&in.cell);
}

static void select_element(struct value_rank *r, op_id op, struct value_view *x)
{
	struct module *m = r->v->m;
	const value_id from = op_read(m, op, 0);
	const struct domain *d = value_domain(m, from);
	int64_t axis = op_attr_int(m, op, "axis", 0), at;
	axis += axis < 0 ? d->rank : 0;
	const struct part_axis part = value_view_get(r, from)->part->axis[axis];
	const bool spread = d->axis[axis].place == PLACE_MESH;
	enum reduce_op reduce;
	if (spread && !value_find_pending(m, from, &reduce) &&
	    value_find_pending(m, op_def(m, op, 0), &reduce)) {
		*x = *value_view_get(r, from);
		select_pending(r, op, x, (unsigned)axis, reduce);
		return;
	}
	if (!walk_scalar(&r->walker, op, 0, WALK_ANY, &at) || (spread && part.to != part.from + 1))
		x->unknown = true;
	if (spread && !r->v->is_logical)
		at = part.from;
	x->unknown = x->unknown || !part_has(&part, (struct part_span){at, at + 1}); /* another rank has it */
	x->fixed[x->axis[axis]] = at;
	x->is_all = false;
	drop_axis(x, (unsigned)axis);
	value_view_place(r, x);
}

void value_view_step(struct value_rank *r, const struct step *s)
{
	struct module *m = r->v->m;
	const value_id value = op_def(m, s->op, 0), from = op_read(m, s->op, 0);
	struct value_view x = *value_view_get(r, from);
	x.type = m->value.at[value].type;
	if (x.storage == VALUE_NONE || x.absent)
		return;
	if (m->op.at[s->op].kind == OP_SHARD_BY_STREAM)
		shard(r, s->op, &x);
	else
		select_element(r, s->op, &x);
	*value_view_new(r, value) = x;
}

struct value_view *value_view_get(struct value_rank *r, value_id value)
{
	static struct value_view none = {.storage = VALUE_NONE, .absent = true};
	return r->view[value] ? r->view[value] : &none;
}
