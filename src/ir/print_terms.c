/* print_terms: see the header. */
#include "ir/print_terms.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include <stdlib.h>
#include <string.h>

/* ---- sums and blocks of Communications */

/* Returns true if a statement has no attribute but axis=, which is this axis. */
static bool is_along(const struct module *m, op_id op, int axis)
{
	return axis >= 0 && op_attr_int(m, op, "axis", -1) == axis && m->attrs.at[m->op.at[op].attrs].n == 1;
}

/* Returns the reduction that a Communication does. */
static enum reduce_op reduction_of(const struct module *m, op_id op)
{
	enum reduce_op reduce = REDUCE_SUM;
	op_attr_reduce(m, op, &reduce);
	return reduce;
}

/* Returns true if a statement is the sum that the reader of the next statement makes. */
static bool is_term(struct module *m, op_id op)
{
	const struct op *o = &m->op.at[op];
	op_id next = o->next;
	if (!(op_traits(m, op) & TRAIT_REDUCTION) || !o->def_n || !next ||
	    !(op_traits(m, next) & TRAIT_REDUCES) || !(m->op.at[next].flags & OP_ASYNC) ||
	    op_read(m, next, 0) != op_result(m, op, 0))
		return false;
	value_id from = op_read(m, op, 0), v = op_result(m, op, 0), to = op_result(m, next, 0);
	type_id operand = m->value.at[from].type;
	enum reduce_op reduce = reduction_of(m, next);
	int axis = infer_reduced_device_axis(m, operand, m->op.at[next].team);
	return is_along(m, op, axis) && (enum op_kind)m->op.at[op].kind == reduce_operation(reduce) &&
	       !m->value.at[v].name && to && value_domain(m, to)->rank == value_domain(m, v)->rank &&
	       m->value.at[v].type == infer_reduce_axes(m, op, infer_device_terms(m, operand, axis, reduce));
}

/* Returns true if a statement is a view of the block that a device has of an axis. */
static bool is_device_block(struct module *m, op_id op)
{
	const struct op *o = &m->op.at[op];
	if (o->kind != OP_SELECT || !o->def_n)
		return false;
	value_id from = op_read(m, op, 0), v = op_result(m, op, 0);
	type_id whole = m->value.at[from].type;
	int axis = infer_device_axis(m, whole, -1);
	int64_t index;
	return is_along(m, op, axis) && !m->value.at[v].name &&
	       expr_is_const(m, op_scalar_expr(m, op, 0), &index) && index == 0 &&
	       m->value.at[v].type == infer_select(m, whole, (unsigned)axis);
}

/* Returns true if a select is the view of the root's block that the reader of the statement after the next makes. */
static bool is_root_block(struct module *m, op_id op)
{
	op_id sum = m->op.at[op].next, reduce = sum ? m->op.at[sum].next : 0;
	return reduce && m->op.at[reduce].kind == OP_REDUCE && is_term(m, sum) && is_device_block(m, op) &&
	       op_write(m, reduce, 0) == op_result(m, op, 0) &&
	       op_attr_int(m, op, "axis", -1) == op_attr_int(m, sum, "axis", -1);
}

/* Returns true if a select is the view of a buffer that the reader of a send or recv makes. */
static bool is_transfer_block(struct module *m, op_id op)
{
	if (!is_device_block(m, op))
		return false;
	op_id next = m->op.at[op].next;
	value_id v = op_result(m, op, 0);
	if (next && m->op.at[next].kind == OP_SELECT)
		return op_read(m, next, 0) == v && is_transfer_block(m, next);
	return next && op_traits(m, next) & TRAIT_P2P && op_transfer_buffer(m, next) == v &&
	       infer_device_axis(m, m->value.at[v].type, -1) < 0;
}

/* Returns true if a device's block is the operand of the Broadcast that follows. */
static bool is_sent_block(struct module *m, op_id op)
{
	op_id next = m->op.at[op].next;
	return next && m->op.at[next].kind == OP_BROADCASTS && m->op.at[next].flags & OP_ASYNC &&
	       is_device_block(m, op) && op_read(m, next, 0) == op_result(m, op, 0);
}

/* ---- operations inside others */

/* Returns true if a statement makes an open, nameless value: one that the reader makes of an operation inside another
 * one. */
static bool is_inner(const struct module *m, op_id op, enum op_kind kind)
{
	value_id v = op && m->op.at[op].kind == kind && m->op.at[op].def_n ? op_result(m, op, 0) : 0;
	return v && !m->value.at[v].name && m->value.at[v].flags & VALUE_OPEN;
}

static bool has_attrs(const struct module *m, op_id op, unsigned n)
{
	return m->attrs.at[m->op.at[op].attrs].n == n;
}

static bool is_number(const struct attr *a)
{
	return a && (a->kind == ATTR_EXPR || (a->kind == ATTR_INT && a->u.i >= 0));
}

static bool is_int(const struct attr *a, int64_t value)
{
	return a->kind == ATTR_INT && a->u.i == value;
}

bool print_term_is_plain(struct module *m, op_id op)
{
	bool pad = m->op.at[op].kind == OP_PAD;
	const struct attr *axis = op_attr(m, op, "axis"), *a = op_attr(m, op, pad ? "before" : "start"),
	                  *b = op_attr(m, op, pad ? "after" : "stop");
	int64_t end;
	if (!has_attrs(m, op, 3) || !axis || axis->kind != ATTR_INT || axis->u.i < 0 || !is_number(a) ||
	    !is_number(b))
		return false;
	if (pad)
		return !is_int(a, 0) || !is_int(b, 0);
	expr_id extent = value_domain(m, op_read(m, op, 0))->axis[axis->u.i].extent;
	bool to_end = b->kind == ATTR_EXPR ? expr_canon(m, b->u.expr) == extent
	                                   : expr_is_const(m, extent, &end) && b->u.i == end;
	return !is_int(a, 0) || !to_end;
}

/* Returns true if a pad or slice is inside the next one, which is along a later axis. */
static bool is_step(struct module *m, op_id op)
{
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	op_id next = m->op.at[op].next;
	return (kind == OP_PAD || kind == OP_SLICE) && is_inner(m, op, kind) && next &&
	       m->op.at[next].kind == kind && op_read(m, next, 0) == op_result(m, op, 0) &&
	       print_term_is_plain(m, op) && print_term_is_plain(m, next) &&
	       op_attr_int(m, op, "axis", -1) < op_attr_int(m, next, "axis", -1);
}

/* Returns true if a value is a vector that a reshape makes a row or a column. */
static bool is_vector(struct module *m, op_id op, bool column)
{
	if (!is_inner(m, op, OP_RESHAPE) || !has_attrs(m, op, 1) || !op_attr(m, op, "shape") ||
	    value_domain(m, op_read(m, op, 0))->rank != 1)
		return false;
	const struct domain *d = value_domain(m, op_result(m, op, 0));
	return d->rank == 2 &&
	       d->axis[!column].extent == value_domain(m, op_read(m, op, 0))->axis[0].extent &&
	       expr_is_one(m, d->axis[column].extent);
}

/* Returns the reshapes before a product that make its operands matrices of vectors. */
static void find_vectors(struct module *m, op_id product, op_id vector[2])
{
	op_id before = m->op.at[product].prev;
	vector[0] = vector[1] = 0;
	for (unsigned k = 2; k-- > 0;)
		if (before && is_vector(m, before, k == 1) &&
		    op_read(m, product, k) == op_result(m, before, 0)) {
			vector[k] = before;
			before = m->op.at[before].prev;
		}
}

/* Returns true if a reshape drops the axes that the vectors gave a product. */
static bool drops_vectors(struct module *m, op_id op, bool row, bool column)
{
	const struct domain *from = value_domain(m, op_read(m, op, 0)),
	                    *to = value_domain(m, op_result(m, op, 0));
	unsigned n = 0;
	if (to->rank + row + column != from->rank)
		return false;
	for (unsigned i = 0; i < from->rank; i++) {
		bool dropped = (row && i + 2 == from->rank) || (column && i + 1 == from->rank);
		if (!dropped && from->axis[i].extent != to->axis[n++].extent)
			return false;
	}
	return true;
}

/* Returns the product of vectors that a reshape drops the axes of, or 0. */
static op_id product_of(struct module *m, op_id op)
{
	op_id product = m->op.at[op].kind == OP_RESHAPE && !m->op.at[op].attrs ? m->op.at[op].prev : 0,
	      vector[2];
	if (!is_inner(m, product, OP_MATMUL) || m->op.at[product].attrs ||
	    op_read(m, op, 0) != op_result(m, product, 0))
		return 0;
	find_vectors(m, product, vector);
	return (vector[0] || vector[1]) && drops_vectors(m, op, vector[0], vector[1]) ? product : 0;
}

/* Returns true if the next statement makes a nameless iota a matrix with ones on its diagonal. */
static bool is_diagonal(const struct module *m, op_id op)
{
	op_id next = m->op.at[op].next;
	value_id v = m->op.at[op].kind == OP_IOTA && !m->op.at[op].attrs ? op_result(m, op, 0) : 0;
	if (!v || !m->op.at[op].def_n || m->value.at[v].name || !next || m->op.at[next].kind != OP_ONE_HOT ||
	    m->op.at[next].attrs || op_read(m, next, 0) != v)
		return false;
	const struct domain *d = value_domain(m, v);
	return value_type(m, v)->dtype == DTYPE_I64 && d->rank == 1 && d->logical_n == 1 && !d->xform_n &&
	       d->axis[0].place == PLACE_NONE;
}

/* ---- finding them */

static void note_term(struct module *m, struct print_order *o, op_id op)
{
	if (op)
		o->term[op_result(m, op, 0)] = 1;
}

static bool note_terms(struct module *m, struct print_order *o, op_id op)
{
	op_id product = product_of(m, op), vector[2];
	if (is_term(m, op) || is_root_block(m, op) || is_sent_block(m, op) || is_transfer_block(m, op) ||
	    is_step(m, op) || is_diagonal(m, op)) {
		note_term(m, o, op);
		return true;
	}
	if (!product)
		return false;
	find_vectors(m, product, vector);
	note_term(m, o, product);
	note_term(m, o, vector[0]);
	note_term(m, o, vector[1]);
	return true;
}

/* Unmarks the values of a product of vectors if one of them is used twice. */
static void drop_product(struct module *m, struct print_order *o, op_id op)
{
	op_id product = product_of(m, op), vector[2];
	if (!product)
		return;
	find_vectors(m, product, vector);
	op_id part[] = {product, vector[0], vector[1]};
	bool all = true;
	for (unsigned i = 0; i < 3; i++)
		all &= !part[i] || o->term[op_result(m, part[i], 0)];
	for (unsigned i = 0; i < 3 && !all; i++)
		if (part[i])
			o->term[op_result(m, part[i], 0)] = 0;
}

bool print_term_is_made(const struct module *m, const struct print_order *o, op_id op)
{
	return m->op.at[op].def_n && o->term[op_result(m, op, 0)];
}

void print_terms_find(struct module *m, struct print_order *o)
{
	uint32_t *uses = NULL;
	for (op_id op = 1; op < m->op.n; op++)
		if (m->op.at[op].parent && !(m->op.at[op].flags & OP_DEAD) && note_terms(m, o, op))
			uses = uses ? uses : mem_zalloc(sizeof *uses * m->value.n);
	for (op_id op = 1; op < m->op.n && uses; op++) {
		if (!m->op.at[op].parent || m->op.at[op].flags & OP_DEAD)
			continue;
		for (unsigned i = 0; i < m->op.at[op].operand_n; i++) {
			const struct operand *p = ir_operand(m, op, i);
			if ((p->role == ROLE_READ || p->role == ROLE_WRITE) && ++uses[p->id] > 1)
				o->term[p->id] = 0;
		}
	}
	for (op_id op = 1; op < m->op.n && uses; op++)
		if (m->op.at[op].parent && !(m->op.at[op].flags & OP_DEAD))
			drop_product(m, o, op);
	free(uses);
}

value_id print_term_operand(const struct module *m, const struct print_order *o, value_id v)
{
	while (o->term[v])
		v = op_read(m, m->value.at[v].def, 0);
	return v;
}

op_id print_term_product(const struct module *m, const struct print_order *o, op_id op)
{
	value_id v = op && m->op.at[op].kind == OP_RESHAPE ? op_read(m, op, 0) : 0;
	op_id def = v && o->term[v] ? m->value.at[v].def : 0;
	return def && m->op.at[def].kind == OP_MATMUL ? def : 0;
}
