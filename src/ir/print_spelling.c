/* print_spelling: prints operations that nvFuser spells in its own way, if that tells all about them.
 *
 *     Set.Permute( T0…, cache_op=Streaming )      permute(T0…, dims=(1, 0)): the numbers of the axes tell dims
 *     broadcast( T0…, flags = {true, false} )     reshape(T0…) that adds axes of one element
 *     squeeze( T0…, flags = {true, false} )       reshape(T0…) that drops them
 *     view( T0… )                                any other reshape(T0…)
 *     expand( T0… )                               broadcast(T0…) that only widens axes of one element
 *     repeat( T0… )                               the same, where the result prints such an axis with i, not with b
 *     reduction( T0…, op = add, … )               sum(T0…, axis=1): the result prints the axis with r
 *     scan(T0…, dim=1, op_type=add, init=…)       scan(T0…, axis=1), an argument a line
 *     pad( T0…, {0, 0, 1, 2} )                    pad(T0…, axis=1, before=1, after=2)
 *     slice( T0…, { {0, 4, 1} {2, 6, 1} } )       slice(T0…, axis=1, start=2, stop=6)
 *     cat( T0…, T1…, 0 )                          cat(T0…, T1…, axis=0)
 *     indexSelect( T0…, dim = 1, T1… )            gather(T0…, T1…, axis=1) of indices of one axis
 *     scatter(in = T0…, dim = 0, src = T2…, idx = T1… )  scatter(T0…, T1…, T2…, axis=0)
 *     indexPutAccumulate( T0…, T1…, T2… )         scatter(T0…, T1…, T2…, axis=0, op=sum) at indices of one axis
 *     GroupedMmaOp(mat1=T0…, mat2=T1…, offsets=T2…)      grouped_matmul(T0…, T1…, T2…)
 *     ( T1…, T2… ) = topk( T0…, 2, dim = 1, … )   topk(T0…, k=2, axis=1)
 *     full({4, 8}, double(0)); full({}double(0)); full(0)
 *     eye(8, float);                              one_hot(iota())
 *     iota(8, 0, 1, int64_t);                     iota() with one axis
 *     rng_uniform({4, 8}, float, 5);              uniform(seed=5, offset=0)
 *
 * src/parse/sema_spelling.c reads these forms, and more. */
#include "base/dtype.h"
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print_nvfuser.h"
#include "ir/print_terms.h"
#include "ir/printed.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void nvfuser_float(struct nvfuser *p, const char *dtype, double value)
{
	char text[40];
	int digits = 1;
	if (isnan(value)) {
		buf_printf(p->out, "%s(nan)", dtype);
		return;
	}
	do /* the shortest that reads back; 2 and 1e-05, as nvFuser prints them */
		snprintf(text, sizeof text, "%.*g", digits, value);
	while (strtod(text, NULL) != value && digits++ < 17);
	buf_printf(p->out, "%s(%s)", dtype, text);
}

/* Returns true if a reshape only adds or drops axes of one element. *flag: which, if it is not NULL. */
static bool find_flags(const struct module *m, op_id op, bool *flag)
{
	const struct domain *x = value_domain(m, op_read(m, op, 0)),
	                    *y = value_domain(m, op_result(m, op, 0));
	const struct domain *longer = y->rank > x->rank ? y : x, *shorter = y->rank > x->rank ? x : y;
	unsigned k = 0;
	if (x->rank == y->rank)
		return false;
	for (unsigned i = 0; i < longer->rank; i++) {
		bool extra = k == shorter->rank || longer->axis[i].extent != shorter->axis[k].extent;
		if (extra && !expr_is_one(m, longer->axis[i].extent))
			return false;
		k += !extra;
		if (flag)
			flag[i] = extra;
	}
	return k == shorter->rank;
}

bool printed_is_view(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_RESHAPE && !m->op.at[op].attrs && !find_flags(m, op, NULL);
}

static bool put_reshape(struct nvfuser *p, op_id op)
{
	value_id in = op_read(p->m, op, 0);
	unsigned x = value_domain(p->m, in)->rank, y = value_domain(p->m, op_result(p->m, op, 0))->rank;
	bool flag[IR_MAX_LOGICAL];
	if (p->m->op.at[op].attrs)
		return false;
	bool flags = find_flags(p->m, op, flag);
	buf_puts(p->out, !flags ? "view( " : y > x ? "broadcast( " : "squeeze( ");
	nvfuser_tensor(p, in);
	for (unsigned i = 0; flags && i < (y > x ? y : x); i++)
		buf_printf(p->out, "%s%s", i ? ", " : ", flags = {", flag[i] ? "true" : "false");
	buf_puts(p->out, flags ? "} )" : " )");
	return true;
}

/* Returns true if a broadcast only widens axes of one element. */
static bool only_widens(const struct nvfuser *p, op_id op)
{
	const struct domain *x = value_domain(p->m, op_read(p->m, op, 0)),
	                    *y = value_domain(p->m, op_result(p->m, op, 0));
	if (p->m->op.at[op].attrs || x->rank != y->rank)
		return false;
	for (unsigned i = 0; i < x->rank; i++)
		if (x->axis[i].extent != y->axis[i].extent && !expr_is_one(p->m, x->axis[i].extent))
			return false;
	return true;
}

/* Returns true if a broadcast axis of the operand is no broadcast axis of the result: the copies are in memory. */
static bool is_repeat(const struct nvfuser *p, op_id op)
{
	value_id from = op_read(p->m, op, 0), to = op_result(p->m, op, 0);
	const struct domain *x = value_domain(p->m, from), *y = value_domain(p->m, to);
	for (unsigned i = 0; i < x->rank; i++)
		if (x->axis[i].extent != y->axis[i].extent && ir_axis_is_broadcast(p->m, from, i) &&
		    !ir_axis_is_broadcast(p->m, to, i))
			return true;
	return false;
}

/* Returns true if the axes that the result prints with r are those of the reduction. */
static bool result_tells_axes(const struct nvfuser *p, op_id op)
{
	const struct attrs *l = &p->m->attrs.at[p->m->op.at[op].attrs];
	const struct attr *axis = op_attr(p->m, op, "axis");
	uint8_t printed[IR_MAX_AXES];
	unsigned n = printed_reduced_of(p->m, &p->order, op_result(p->m, op, 0), printed);
	if (l->n != 1 || !axis)
		return false;
	if (axis->kind == ATTR_INT)
		return n == 1 && axis->u.i == printed[0];
	if (axis->kind != ATTR_INTS || axis->n != n || n == 1)
		return false;
	for (unsigned i = 0; i < n; i++)
		if (axis->u.ints[i] != printed[i])
			return false;
	return true;
}

static void put_initial_value(struct nvfuser *p, enum reduce_op op, enum dtype t)
{
	if (dtype_is_float(t) && (op == REDUCE_MAX || op == REDUCE_MIN))
		buf_printf(p->out, "%s(%s)", dtype_nvfuser_name(t), op == REDUCE_MAX ? "-inf" : "inf");
	else if (dtype_is_float(t))
		nvfuser_float(p, dtype_nvfuser_name(t), reduce_identity_f64(op, t));
	else if (t == DTYPE_BOOL)
		buf_puts(p->out, reduce_identity_i64(op, t) ? "true" : "false");
	else
		buf_puti(p->out, reduce_identity_i64(op, t));
}

/* Returns the word for a reduction. */
static const char *name_reduction(enum reduce_op reduce, enum dtype t)
{
	return reduce == REDUCE_MAX    ? "fmax"
	       : reduce == REDUCE_MIN  ? "fmin"
	       : t == DTYPE_BOOL       ? (reduce == REDUCE_SUM ? "logical_or" : "logical_and")
	       : reduce == REDUCE_PROD ? "mul"
	                               : "add";
}

/* Prints scan(T0, axis=1, op=max); op= is not there if it is sum. */
static bool put_scan(struct nvfuser *p, op_id op, unsigned level)
{
	const struct attr *axis = op_attr(p->m, op, "axis"), *stated = op_attr(p->m, op, "op");
	enum dtype t = (enum dtype)value_type(p->m, op_result(p->m, op, 0))->dtype;
	enum reduce_op reduce = REDUCE_SUM;
	op_attr_reduce(p->m, op, &reduce);
	if (!axis || axis->kind != ATTR_INT || axis->u.i < 0 ||
	    (stated && (stated < axis || reduce == REDUCE_SUM)))
		return false;
	buf_puts(p->out, "scan(");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_putc(p->out, ',');
	nvfuser_next_line(p, level);
	buf_printf(p->out, "       dim=%d,", (int)axis->u.i);
	nvfuser_next_line(p, level);
	buf_printf(p->out, "       op_type=%s,", name_reduction(reduce, t));
	nvfuser_next_line(p, level);
	buf_puts(p->out, "       init=");
	put_initial_value(p, reduce, t);
	buf_putc(p->out, ')');
	return true;
}

static bool put_reduction(struct nvfuser *p, op_id op)
{
	enum reduce_op reduce = reduce_op_of((enum op_kind)p->m->op.at[op].kind);
	enum dtype t = (enum dtype)value_type(p->m, op_result(p->m, op, 0))->dtype;
	if (!result_tells_axes(p, op))
		return false;
	buf_puts(p->out, "reduction( ");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_printf(p->out, ", op = %s, initial value = ", name_reduction(reduce, t));
	put_initial_value(p, reduce, t);
	buf_puts(p->out, ", allreduce = false )");
	return true;
}

/* Returns the pad or slice along an axis: the statement, or one inside it; 0: none. */
static op_id step_of(const struct nvfuser *p, op_id op, int64_t axis)
{
	while (op_attr_int(p->m, op, "axis", -1) != axis) {
		value_id from = op_read(p->m, op, 0);
		if (!p->order.term[from])
			return 0;
		op = p->m->value.at[from].def;
	}
	return op;
}

static bool put_pad(struct nvfuser *p, op_id op)
{
	if (!print_term_is_plain(p->m, op))
		return false;
	value_id from = print_term_operand(p->m, &p->order, op_read(p->m, op, 0));
	buf_puts(p->out, "pad( ");
	nvfuser_tensor(p, from);
	buf_puts(p->out, ", {");
	for (int64_t i = 0; i < value_domain(p->m, from)->rank; i++) {
		op_id step = step_of(p, op, i);
		buf_puts(p->out, i ? ", " : "");
		if (!step) {
			buf_puts(p->out, "0, 0");
			continue;
		}
		nvfuser_attr_value(p, op_attr(p->m, step, "before"));
		buf_puts(p->out, ", ");
		nvfuser_attr_value(p, op_attr(p->m, step, "after"));
	}
	buf_puts(p->out, "} )");
	return true;
}

static bool put_slice(struct nvfuser *p, op_id op)
{
	if (!print_term_is_plain(p->m, op))
		return false;
	value_id from = print_term_operand(p->m, &p->order, op_read(p->m, op, 0));
	const struct domain *d = value_domain(p->m, from);
	buf_puts(p->out, "slice( ");
	nvfuser_tensor(p, from);
	buf_puts(p->out, ", {");
	for (int64_t i = 0; i < d->rank; i++) {
		op_id step = step_of(p, op, i);
		buf_puts(p->out, " {");
		if (step)
			nvfuser_attr_value(p, op_attr(p->m, step, "start"));
		else
			buf_putc(p->out, '0');
		buf_puts(p->out, ", ");
		if (step)
			nvfuser_attr_value(p, op_attr(p->m, step, "stop"));
		else
			expr_print_nvfuser(p->m, d->axis[i].extent, p->out);
		buf_puts(p->out, ", 1}");
	}
	buf_puts(p->out, " } )");
	return true;
}

static bool put_cat(struct nvfuser *p, op_id op)
{
	const struct attr *axis = op_attr(p->m, op, "axis");
	if (p->m->attrs.at[p->m->op.at[op].attrs].n != 1 || axis->kind != ATTR_INT)
		return false;
	buf_puts(p->out, "cat( ");
	for (unsigned i = 0; i < op_role_count(p->m, op, ROLE_READ); i++) {
		nvfuser_tensor(p, op_read(p->m, op, i));
		buf_puts(p->out, ", ");
	}
	nvfuser_attr_value(p, axis);
	buf_puts(p->out, " )");
	return true;
}

static void put_extents(struct nvfuser *p, const struct domain *d)
{
	for (unsigned i = 0; i < d->rank; i++) {
		buf_puts(p->out, i ? ", " : "");
		expr_print_nvfuser(p->m, d->axis[i].extent, p->out);
	}
}

static bool put_full(struct nvfuser *p, op_id op)
{
	const struct domain *d = value_domain(p->m, op_result(p->m, op, 0));
	uint32_t value = op_operand_id(p->m, op, ROLE_SCALAR, 0);
	if (p->m->op.at[op].attrs || !value)
		return false;
	buf_puts(p->out, "full({");
	put_extents(p, d);
	buf_puts(p->out, d->rank ? "}, " : "}"); /* nvFuser prints full({}double(3)); */
	nvfuser_scalar(p, value);
	buf_puts(p->out, ");");
	return true;
}

static bool put_iota(struct nvfuser *p, op_id op)
{
	const struct type *t = value_type(p->m, op_result(p->m, op, 0));
	const struct domain *d = ir_domain(p->m, t->domain);
	if (p->m->op.at[op].attrs || d->rank != 1)
		return false;
	buf_puts(p->out, "iota(");
	expr_print_nvfuser(p->m, d->axis[0].extent, p->out);
	buf_printf(p->out, ", 0, 1, %s);", dtype_nvfuser_name((enum dtype)t->dtype));
	return true;
}

/* Prints random numbers. Without a seed it is 0, and the offset is the number of the tensor. */
static void put_uniform(struct nvfuser *p, op_id op)
{
	const value_id v = op_result(p->m, op, 0);
	const struct type *t = value_type(p->m, v);
	int64_t seed, offset;
	bool is_zero = expr_is_const(p->m, op_scalar_expr(p->m, op, 0), &seed) && !seed,
	     known = expr_is_const(p->m, op_scalar_expr(p->m, op, 1), &offset);
	buf_puts(p->out, "rng_uniform({");
	put_extents(p, ir_domain(p->m, t->domain));
	buf_printf(p->out, "}, %s", dtype_nvfuser_name((enum dtype)t->dtype));
	if (!is_zero || !known || offset != p->m->value.at[v].number) {
		buf_puts(p->out, ", ");
		nvfuser_scalar(p, op_operand_id(p->m, op, ROLE_SCALAR, 0));
		if (!known || offset) {
			buf_puts(p->out, ", ");
			nvfuser_scalar(p, op_operand_id(p->m, op, ROLE_SCALAR, 1));
		}
	}
	buf_puts(p->out, ");");
}

/* Prints the one_hot of an iota. */
static bool put_eye(struct nvfuser *p, op_id op)
{
	const struct type *t = value_type(p->m, op_result(p->m, op, 0));
	if (!p->order.term[op_read(p->m, op, 0)])
		return false;
	buf_puts(p->out, "eye(");
	expr_print_nvfuser(p->m, ir_domain(p->m, t->domain)->axis[0].extent, p->out);
	buf_printf(p->out, ", %s);", dtype_nvfuser_name((enum dtype)t->dtype));
	return true;
}

/* Prints gather(T0, T1, axis=k) of indices of one axis. */
static bool put_gather(struct nvfuser *p, op_id op)
{
	const struct attr *axis = op_attr(p->m, op, "axis");
	if (p->m->attrs.at[p->m->op.at[op].attrs].n != 1 || !axis || axis->kind != ATTR_INT ||
	    axis->u.i < 0 || value_domain(p->m, op_read(p->m, op, 1))->rank != 1)
		return false;
	buf_puts(p->out, "indexSelect( ");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_printf(p->out, ", dim = %d, ", (int)axis->u.i);
	nvfuser_tensor(p, op_read(p->m, op, 1));
	buf_puts(p->out, " )");
	return true;
}

/* Prints a sum at indices of one axis. Such a sum of numbers has no form in nvFuser. */
static bool put_index_put(struct nvfuser *p, op_id op, uint32_t number)
{
	if (number)
		return false;
	buf_puts(p->out, "indexPutAccumulate( ");
	for (unsigned k = 0; k < 3; k++) {
		buf_puts(p->out, k ? ", " : "");
		nvfuser_tensor(p, op_read(p->m, op, k));
	}
	buf_puts(p->out, " )");
	return true;
}

static bool put_scatter(struct nvfuser *p, op_id op)
{
	enum dtype t = (enum dtype)value_type(p->m, op_result(p->m, op, 0))->dtype;
	const struct attr *axis = op_attr(p->m, op, "axis");
	const struct attr *stated = op_attr(p->m, op, "op");
	uint32_t number = op_operand_id(p->m, op, ROLE_SCALAR, 0);
	enum reduce_op reduce = REDUCE_SUM;
	op_attr_reduce(p->m, op, &reduce);
	if (!axis || axis->kind != ATTR_INT || axis->u.i < 0 || (stated && stated < axis))
		return false;
	if (value_domain(p->m, op_read(p->m, op, 1))->rank < value_domain(p->m, op_read(p->m, op, 0))->rank)
		return stated && reduce == REDUCE_SUM && !axis->u.i && put_index_put(p, op, number);
	buf_puts(p->out, "scatter(in = ");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_printf(p->out, ", dim = %d, src = ", (int)axis->u.i);
	if (number)
		nvfuser_scalar(p, number);
	else
		nvfuser_tensor(p, op_read(p->m, op, 2));
	buf_puts(p->out, ", idx = ");
	nvfuser_tensor(p, op_read(p->m, op, 1));
	if (stated)
		buf_printf(p->out, ", accumulate = %s", name_reduction(reduce, t));
	buf_puts(p->out, " )");
	return true;
}

static void put_grouped(struct nvfuser *p, op_id op)
{
	static const char *const keys[] = {"GroupedMmaOp(mat1=", ", mat2=", ", offsets="};
	for (unsigned k = 0; k < 3; k++) {
		buf_puts(p->out, keys[k]);
		nvfuser_tensor(p, op_read(p->m, op, k));
	}
	buf_putc(p->out, ')');
}

/* Prints the results of a topk, too: nvFuser puts them in parentheses. */
bool nvfuser_topk(struct nvfuser *p, op_id op)
{
	const struct attr *axis = op_attr(p->m, op, "axis"), *k = op_attr(p->m, op, "k");
	if (p->m->op.at[op].kind != OP_TOPK || p->m->attrs.at[p->m->op.at[op].attrs].n != 2 || !axis || !k ||
	    k > axis || axis->kind != ATTR_INT || axis->u.i < 0)
		return false;
	buf_puts(p->out, "( ");
	nvfuser_results(p, op);
	buf_puts(p->out, " ) = topk( ");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_puts(p->out, ", ");
	nvfuser_attr_value(p, k);
	buf_printf(p->out, ", dim = %d, largest = True, sorted = True )", (int)axis->u.i);
	return true;
}

bool nvfuser_is_on_one_line(const struct nvfuser *p, op_id op)
{
	enum op_kind kind = (enum op_kind)p->m->op.at[op].kind;
	return kind == OP_BROADCAST ? only_widens(p, op)
	                            : kind == OP_GROUPED_MATMUL || printed_is_view(p->m, op);
}

/* Returns true if only a block of the tensor prints some of its axes. Their numbers there are in the order of the axes,
 * and tell no permutation. */
static bool is_shown_by_block(struct nvfuser *p, value_id v)
{
	const struct domain *d = value_domain(p->m, v);
	uint64_t hidden = ((uint64_t)1 << d->rank) - 1;
	for (unsigned l = 0; l < d->loop_n; l++)
		hidden &= ~((uint64_t)1 << d->loop[l]);
	return hidden && printed_needs_block(p->m, &p->order, v);
}

bool nvfuser_spelling(struct nvfuser *p, op_id op, unsigned level)
{
	switch (p->m->op.at[op].kind) {
	case OP_RESHAPE:
		return put_reshape(p, op);
	case OP_PERMUTE:
		if (is_shown_by_block(p, op_result(p->m, op, 0)) ||
		    !printed_permutation(p->m, p->order.rule == PRINTED_BY_HIRC ? NULL : &p->order.numbers,
		                         op))
			return false;
		buf_puts(p->out, "Set.Permute( ");
		nvfuser_tensor(p, op_read(p->m, op, 0));
		buf_puts(p->out, ", cache_op=Streaming )");
		return true;
	case OP_BROADCAST:
		if (!only_widens(p, op))
			return false;
		buf_puts(p->out, is_repeat(p, op) ? "repeat( " : "expand( ");
		nvfuser_tensor(p, op_read(p->m, op, 0));
		buf_puts(p->out, " )");
		return true;
	case OP_SUM:
	case OP_PROD:
	case OP_MAX:
	case OP_MIN:
		return put_reduction(p, op);
	case OP_SCAN:
		return put_scan(p, op, level);
	case OP_PAD:
		return put_pad(p, op);
	case OP_SLICE:
		return put_slice(p, op);
	case OP_TAKE:
		return put_gather(p, op);
	case OP_PUT:
		return put_scatter(p, op);
	case OP_GROUPED_MATMUL:
		put_grouped(p, op);
		return true;
	case OP_CAT:
		return put_cat(p, op);
	case OP_FULL:
		return put_full(p, op);
	case OP_IOTA:
		return put_iota(p, op);
	case OP_UNIFORM:
		put_uniform(p, op);
		return true;
	case OP_ONE_HOT:
		return put_eye(p, op);
	default:
		return false;
	}
}
