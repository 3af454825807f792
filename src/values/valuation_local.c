/* valuation_local: operations on one rank.
 *
 *     Y <- matmul(A, B)     dims m, n, k
 *
 *     1. parts: along each dim, A and B must have the elements that Y's part needs
 *     2. the dims are cut where the facts of A or B change
 *     3. in each box of cuts, the facts of A and B give one fact (evaluate.h); boxes that differ only in reduced
 *        dims are joined
 *     4. the facts are written to Y */
#include "values/valuation_local.h"
#include <string.h>

enum { MAX_BOXES = 1 << 16 }; /* of one statement; with more, its result is not known */

/* ---- dims */

/* Lists operands in their order. Returns false if there are too many. */
static bool list_operands(struct local_op *x)
{
	struct module *m = x->r->v->m;
	const struct op *o = &m->op.at[x->op];
	unsigned reads = 0;
	for (uint32_t k = 0; k < o->operand_n; k++) {
		const struct operand *a = &m->operand.at[o->operand + k];
		if (a->role != ROLE_READ && a->role != ROLE_SCALAR)
			continue;
		if (x->operand_n == TERM_MAX_OPERANDS)
			return false;
		if (a->role == ROLE_READ) {
			x->read[x->operand_n] = (uint8_t)reads++;
			x->value[x->operand_n] = a->id;
		} else {
			const struct scalar *s = &m->scalar.at[a->id];
			double number = s->literal;
			int64_t value;
			if (s->expr && walk_value(&x->r->walker, x->op, s->expr, &value))
				number = (double)value;
			x->scalar[x->operand_n] = facts_number(x->r->v->facts, number);
		}
		x->operand_n++;
	}
	return true;
}

static void add_cut(struct local_op *x, unsigned dim, int64_t at)
{
	uint32_t k = x->cut[dim].n;
	while (k && x->cut[dim].at[k - 1] > at)
		k--;
	if (k && x->cut[dim].at[k - 1] == at)
		return;
	vec_push(&x->cut[dim], at);
	memmove(&x->cut[dim].at[k + 1], &x->cut[dim].at[k], sizeof at * (x->cut[dim].n - 1 - k));
	x->cut[dim].at[k] = at;
}

/* Checks that an operand has the elements that the result's part needs. */
static bool check_parallel(struct local_op *x, unsigned k)
{
	const struct value_view *v = value_view_get(x->r, x->value[k]);
	for (unsigned a = 0; a < v->axis_n; a++) {
		const uint8_t dim = local_dim(x, k, a);
		if (dim == INFER_NONE || x->axes.kind[dim] != DIM_PARALLEL)
			continue;
		for (unsigned c = 0; c < x->out->axis_n; c++) {
			if (x->axes.result[c] != dim)
				continue;
			if (part_axis_same(&x->out->part->axis[c], &v->part->axis[a]))
				continue;
			for (struct part_span s = {0}; part_next(&x->out->part->axis[c], &s);)
				if (!part_has(&v->part->axis[a], s)) {
					value_report_part(x->r, x->op, x->value[k], a, s, &v->part->axis[a]);
					return false;
				}
		}
	}
	return true;
}

/* Finds, for each reduced dim, the elements that are added up here: those of the operand that has the fewest. The
 * other operands must have them, too. */
static bool find_reduced(struct local_op *x)
{
	for (unsigned k = 0; k < x->operand_n; k++) {
		if (!x->value[k])
			continue;
		const struct value_view *v = value_view_get(x->r, x->value[k]);
		for (unsigned a = 0; a < v->axis_n; a++) {
			const uint8_t dim = local_dim(x, k, a);
			if (dim == INFER_NONE || x->axes.kind[dim] != DIM_REDUCED)
				continue;
			if (!x->here[dim]) {
				x->here[dim] = &v->part->axis[a];
				continue;
			}
			const struct part_axis *p = x->here[dim], *q = &v->part->axis[a];
			if (p->extent != q->extent || part_contains(q, p))
				continue;
			if (!part_contains(p, q)) {
				struct part_span s = {0};
				part_next(p, &s);
				value_report_part(x->r, x->op, x->value[k], a, s, q);
				return false;
			}
			x->here[dim] = q;
		}
	}
	return true;
}

/* Sets the dims of the application, and their cuts at the ends of the parts. Returns false if the result is
 * empty. */
static void set_dims(struct local_op *x)
{
	x->apply.dim_n = x->axes.dim_n;
	for (unsigned d = 0; d < x->axes.dim_n; d++)
		x->apply.dim[d] =
		    (struct evaluate_axis){.kind = x->axes.kind[d] == DIM_PARALLEL  ? EVALUATE_PARALLEL
		                                   : x->axes.kind[d] == DIM_REDUCED ? EVALUATE_REDUCED
		                                                                    : EVALUATE_INSIDE};
	for (unsigned k = 0; k < x->operand_n; k++) {
		const struct value_view *v = x->value[k] ? value_view_get(x->r, x->value[k]) : NULL;
		for (unsigned a = 0; v && a < v->axis_n; a++) {
			const uint8_t dim = local_dim(x, k, a);
			if (dim == INFER_NONE || x->axes.kind[dim] == DIM_PARALLEL)
				continue;
			x->apply.dim[dim].lo = 0;
			x->apply.dim[dim].hi = v->part->axis[a].extent;
			if (x->axes.kind[dim] != DIM_REDUCED)
				x->here[dim] = &v->part->axis[a];
			for (struct part_span s = {0}; part_next(&v->part->axis[a], &s);) {
				add_cut(x, dim, s.from);
				add_cut(x, dim, s.to);
			}
		}
	}
	for (unsigned c = 0; c < x->out->axis_n; c++) {
		const uint8_t dim = x->axes.result[c];
		if (x->axes.kind[dim] == DIM_WHOLE) {
			x->apply.dim[dim].kind = EVALUATE_WHOLE;
			x->cut[dim].n = 0;
			add_cut(x, dim, 0);
			add_cut(x, dim, x->out->part->axis[c].extent);
			if (!x->apply.dim[dim].hi)
				x->apply.dim[dim].hi = x->out->part->axis[c].extent;
		}
	}
}

/* Cuts the dims where the facts of operands change. */
static void cut_dims(struct local_op *x)
{
	for (unsigned k = 0; k < x->operand_n; k++)
		for (uint32_t i = 0; x->value[k] && i < x->in[k].cell.n; i++)
			for (unsigned a = 0; a < x->in[k].n; a++) {
				const uint8_t dim = local_dim(x, k, a);
				const struct extent *e = &x->in[k].cell.at[i].axis[a];
				if (dim == INFER_NONE || x->axes.kind[dim] == DIM_WHOLE)
					continue;
				add_cut(x, dim, e->lo);
				add_cut(x, dim, e->hi);
			}
}

/* ---- all boxes */

static enum reduce_op reduction_of(enum op_kind kind)
{
	return kind == OP_MAX    ? REDUCE_MAX
	       : kind == OP_MIN  ? REDUCE_MIN
	       : kind == OP_PROD ? REDUCE_PROD
	                         : REDUCE_SUM;
}

static bool accumulates(const struct local_op *x)
{
	return op_attr_is_true(x->r->v->m, x->op, "accumulate");
}

/* Writes a fact to a box of the result, or adds it. */
static void write_result(struct local_op *x, const struct extent *box, fact_id fact)
{
	struct valuation *v = x->r->v;
	if (!accumulates(x)) {
		value_view_write(v, x->out, box, fact);
		return;
	}
	struct contents before = {0};
	value_view_read_box(v, x->out, box, &before);
	for (uint32_t k = 0; k < before.cell.n; k++) {
		term_id twice = 0;
		fact_id sum =
		    facts_join(v->facts, REDUCE_SUM,
		               (struct addend[]){{1, before.cell.at[k].fact}, {1, fact}}, 2, &twice);
		if (twice && !facts_is_complete(v->facts, fact)) /* all of a product again is its multiple */
			value_report_added_again(x->r, x->op, &before.cell.at[k], twice);
		value_view_write(v, x->out, before.cell.at[k].axis, sum);
	}
	vec_free(&before.cell);
}

/* Gives facts to one box of the result, which is cut where the operands' facts change. */
static void write_boxes(struct local_op *x, const struct extent *out)
{
	struct extent box[INFER_MAX_DIMS] = {{0}}, at[IR_MAX_LOGICAL];
	uint32_t pick[IR_MAX_LOGICAL] = {0};
	const unsigned n = x->out->axis_n;
	for (unsigned a = 0; a < n; a++)
		if (x->axes.kind[x->axes.result[a]] != DIM_WHOLE) {
			x->cut[x->axes.result[a]].n = 0;
			add_cut(x, x->axes.result[a], out[a].lo);
			add_cut(x, x->axes.result[a], out[a].hi);
		}
	cut_dims(x);
	for (;;) {
		bool inside = true;
		for (unsigned a = 0; a < n; a++) {
			const unsigned dim = x->axes.result[a];
			box[dim] = (struct extent){x->cut[dim].at[pick[a]], x->cut[dim].at[pick[a] + 1]};
			inside &= x->axes.kind[dim] == DIM_WHOLE ||
			          (box[dim].lo >= out[a].lo && box[dim].hi <= out[a].hi);
			at[a] = x->axes.kind[dim] == DIM_WHOLE ? out[a] : box[dim];
		}
		if (inside) {
			fact_id fact = local_join_reduced(x, box);
			if (!x->is_empty) {
				struct image_axis to[INFER_MAX_DIMS];
				memset(to, 0, sizeof to);
				for (unsigned a = 0; a < n; a++)
					to[x->axes.result[a]] = (struct image_axis){.axis = a};
				write_result(x, at, facts_move(x->r->v->facts, fact, to));
			}
		}
		unsigned a = 0;
		while (a < n && ++pick[a] + 1 >= x->cut[x->axes.result[a]].n)
			pick[a++] = 0;
		if (a == n)
			break;
	}
}

/* Gives facts to one result of a statement with an iteration space. */
static void write_one(struct value_rank *r, op_id op, unsigned result)
{
	struct local_op x = {.r = r, .op = op, .kind = (enum op_kind)r->v->m->op.at[op].kind};
	struct contents boxes = {0};
	enum reduce_op pending;
	x.out = value_view_get(r, op_result(r->v->m, op, result));
	bool known = infer_axes(r->v->m, op, &x.axes) && list_operands(&x) && !x.out->unknown;
	for (unsigned k = 0; k < x.operand_n && known; k++)
		if (x.value[k])
			known = !value_view_get(r, x.value[k])->unknown &&
			        value_view_get(r, x.value[k])->storage != VALUE_NONE;
	for (unsigned a = 0; a < x.out->axis_n && known; a++)
		known = x.axes.result[a] != INFER_NONE;
	if (x.out->storage == VALUE_NONE || x.out->absent)
		return;
	if (x.kind == OP_SET && known && r->v->half_lowered &&
	    !r->v->is_logical) /* it ends a reduction: it stands for a Communication */
		known = value_find_pending(r->v->m, x.value[0], &pending) ==
		        value_find_pending(r->v->m, op_result(r->v->m, op, result), &pending);
	if (!known) {
		value_trust(r->v, op);
		value_view_write_unknown(r->v, x.out);
		return;
	}
	for (unsigned k = 0; k < x.operand_n && known; k++)
		known = !x.value[k] || check_parallel(&x, k);
	if (!known || !find_reduced(&x)) {
		value_view_write_unknown(r->v, x.out);
		return;
	}
	x.apply.label = value_label(r, op, result);
	x.apply.reduce = reduction_of(x.kind);
	if (x.kind == OP_MEAN && !r->v->is_logical &&
	    value_find_pending(r->v->m, op_result(r->v->m, op, result), &pending) && pending == REDUCE_AVG)
		x.apply.reduce = REDUCE_AVG;
	for (unsigned k = 0; k < x.operand_n; k++)
		if (x.value[k])
			value_view_read(r->v, value_view_get(r, x.value[k]), false, &x.in[k]);
	set_dims(&x);
	value_view_boxes(x.out, &boxes);
	for (uint32_t k = 0; k < boxes.cell.n; k++)
		write_boxes(&x, boxes.cell.at[k].axis);
	vec_free(&boxes.cell);
	for (unsigned k = 0; k < x.operand_n; k++)
		vec_free(&x.in[k].cell);
	for (unsigned d = 0; d < x.axes.dim_n; d++)
		vec_free(&x.cut[d]);
}

/* ---- statements */

static bool is_box(const struct value_view *x)
{
	for (unsigned a = 0; a < x->axis_n; a++)
		if (x->part->axis[a].levels)
			return false;
	return true;
}

/* Finds an operand of which a statement overwrites elements that it may still read. A pointwise operation reads an
 * element before it writes it, and needs it no more. */
static bool find_overwritten(struct value_rank *r, op_id op, value_id *from, value_id *to)
{
	struct module *m = r->v->m;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_WRITE) && !r->v->is_logical; k++)
		for (unsigned i = 0; i < op_role_count(m, op, ROLE_READ); i++) {
			*to = op_write(m, op, k);
			*from = op_read(m, op, i);
			const struct value_view *x = value_view_get(r, *to), *y = value_view_get(r, *from);
			const bool same = x->axis_n == y->axis_n && x->part == y->part &&
			                  !memcmp(x->axis, y->axis, x->axis_n) &&
			                  !memcmp(x->fixed, y->fixed, sizeof x->fixed);
			if (same && op_traits(m, op) & (TRAIT_POINTWISE | TRAIT_RESHARD))
				continue;
			if (value_view_overlaps(r->v, x, y))
				return true;
		}
	return false;
}

/* Leaves open what a statement gives that overwrites its operand. Reports it, if the operand's and the result's
 * elements are known exactly. */
static void overwrite(struct value_rank *r, op_id op, value_id from, value_id to)
{
	struct module *m = r->v->m;
	if (m->op.at[op].kind == OP_SLICE)
		value_move(r, op); /* reports the elements that nothing has written */
	if (is_box(value_view_get(r, from)) && is_box(value_view_get(r, to)))
		value_report_overwritten(r, op, from, to);
	for (unsigned k = 0; k < op_result_count(m, op); k++)
		value_view_write_unknown(r->v, value_view_get(r, op_result(m, op, k)));
	value_trust(r->v, op);
}

void value_local(struct value_rank *r, op_id op)
{
	struct module *m = r->v->m;
	const unsigned results = op_result_count(m, op);
	value_id from, to;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ) && m->op.at[op].kind != OP_SLICE; k++)
		value_view_check_written(r, op, op_read(m, op, k));
	if (op_attr_is_true(m, op, "accumulate"))
		value_view_check_written(r, op, op_result(m, op, 0));
	for (unsigned k = 0; k < results; k++) {
		if (m->op.at[op].def_n)
			value_view_make(r, op_result(m, op, k));
		value_view_bind_by_operands(r, op, op_result(m, op, k));
		if (m->op.at[op].def_n)
			value_view_follow_operands(r, op, op_result(m, op, k));
	}
	if (find_overwritten(r, op, &from, &to)) {
		overwrite(r, op, from, to);
		return;
	}
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_SLICE:
	case OP_PAD:
	case OP_CAT:
	case OP_SPLIT:
		value_move(r, op);
		return;
	case OP_RESHAPE:
		value_reshape(r, op, value_view_get(r, op_read(m, op, 0)),
		              value_view_get(r, op_result(m, op, 0)));
		return;
	case OP_PACK:
	case OP_UNPACK:
		value_pack(r, op);
		return;
	case OP_EXTERN:
	case OP_DISPATCH:
	case OP_COMBINE:
	case OP_BITCAST:
		for (unsigned k = 0; k < results; k++) {
			value_trust(r->v, op);
			value_view_write_unknown(r->v, value_view_get(r, op_result(m, op, k)));
		}
		return;
	default:
		for (unsigned k = 0; k < results; k++)
			write_one(r, op, k);
	}
}
