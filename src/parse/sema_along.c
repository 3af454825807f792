/* sema_along: reads takeAlongAxis of tensors of several axes: elements at flat indices.
 *
 *     T2… = takeAlongAxis( T0…, T1…, dim = 1 )         T0 [4, 6], T1 [4, 2]
 *
 *     I = where(T1 >= 0 and T1 < 6, T1, -24)            out of its axis: negative, so that gather reports it
 *     T2 = gather(reshape(T0, [24]), I + reshape(iota() * 6, [4, 1]), axis=0)
 *
 * torchGather is the same; its indices may have smaller extents than T0. Tensors with an axis over the devices are made
 * whole before, and the result is cut. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"

struct along {
	struct nv_reader *r;
	uint32_t at;
	bool fails; /* it is reported */
};

static struct ir_use read_of(value_id v)
{
	return (struct ir_use){ROLE_READ, v};
}

static struct ir_use number_of(struct along *x, expr_id e)
{
	x->fails |= !e;
	return (struct ir_use){ROLE_SCALAR, e ? ir_scalar_expr(x->r->s->m, e) : 0};
}

/* Appends an operation of one result. stated: its type; 0: by the operation's rule. Returns the result, or 0 after
 * reporting. */
static value_id append(struct along *x, enum op_kind kind, const struct ir_use *in, unsigned n,
                       attrs_id attrs, type_id stated)
{
	struct module *m = x->r->s->m;
	struct ir_use use[4];
	value_id operand[3] = {0};
	for (unsigned i = 0; i < n && !x->fails; i++) {
		use[i + 1] = in[i];
		operand[i] = in[i].role == ROLE_READ ? in[i].id : 0;
		x->fails |= !in[i].id;
	}
	if (x->fails)
		return 0;
	const struct infer_draft draft = {.kind = kind,
	                                  .operand_n = n,
	                                  .operand = operand,
	                                  .attrs = attrs,
	                                  .result_n = 1,
	                                  .stated = stated,
	                                  .at = x->at};
	type_id type = stated ? stated : infer_type(m, x->r->s->d, &draft);
	x->fails |= !type || (stated && !infer_check(m, x->r->s->d, &draft));
	if (x->fails)
		return 0;
	value_id v = ir_value_new(m, type, 0, x->at);
	m->value.at[v].flags |= stated ? 0 : VALUE_OPEN;
	use[0] = (struct ir_use){ROLE_DEF, v};
	op_id op = ir_op_new(m, kind, x->at, use, n + 1);
	nv_append(x->r, op);
	nv_op(x->r, op)->attrs = attrs;
	return v;
}

static value_id append_pair(struct along *x, enum op_kind kind, struct ir_use a, struct ir_use b)
{
	return append(x, kind, (const struct ir_use[]){a, b}, 2, 0, 0);
}

static value_id append_reshape(struct along *x, value_id from, const expr_id *shape, unsigned n)
{
	struct module *m = x->r->s->m;
	expr_id *kept = arena_new_array(m->arena, expr_id, n);
	for (unsigned i = 0; i < n; i++)
		kept[i] = shape[i];
	struct attr a = {
	    .key = names_intern_z(m->names, "shape"), .kind = ATTR_EXPRS, .n = n, .u.exprs = kept};
	return append(x, OP_RESHAPE, (const struct ir_use[]){read_of(from)}, 1, ir_attrs(m, &a, 1), 0);
}

/* Returns a type with the extents that all devices of the mesh have whole. */
static type_id whole_type(struct along *x, enum dtype dtype, const expr_id *extent, unsigned n, mesh_id mesh)
{
	struct module *m = x->r->s->m;
	struct domain_builder b;
	domain_begin(&b);
	for (unsigned i = 0; i < n; i++)
		domain_add_axis(&b, AXIS_ITER, extent[i]);
	domain_allocate_default(&b, false);
	return type_make(m, dtype, MEMORY_GLOBAL, mesh, domain_finish(m, &b));
}

static type_id index_type(struct along *x, const expr_id *extent, unsigned n, mesh_id mesh)
{
	return whole_type(x, DTYPE_I64, extent, n, mesh);
}

/* Returns the type of a tensor that all devices have whole, with the extents of another type. */
static type_id whole_type_of(struct along *x, type_id type)
{
	const struct type t = x->r->s->m->type.at[type];
	const struct domain *d = ir_domain(x->r->s->m, t.domain);
	expr_id extent[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < d->rank; i++)
		extent[i] = d->axis[i].extent;
	return whole_type(x, (enum dtype)t.dtype, extent, d->rank, t.mesh);
}

/* Gives all devices the whole of a tensor that is spread over them: any element may be taken. */
static value_id make_whole(struct along *x, value_id v)
{
	type_id type = x->r->s->m->value.at[v].type;
	if (!domain_is_spread(ir_domain(x->r->s->m, ir_type(x->r->s->m, type)->domain)))
		return v;
	return append(x, OP_SET, (const struct ir_use[]){read_of(v)}, 1, 0, whole_type_of(x, type));
}

/* Adds stride * (the index along an axis of the result) to indices. */
static value_id add_position(struct along *x, value_id indices, const struct domain *result, unsigned axis,
                             expr_id stride)
{
	struct module *m = x->r->s->m;
	expr_id shape[IR_MAX_LOGICAL] = {result->axis[axis].extent};
	unsigned n = result->rank - axis;
	for (unsigned i = 1; i < n; i++)
		shape[i] = expr_const(m, 1);
	value_id rows = append(x, OP_IOTA, NULL, 0, 0, index_type(x, shape, 1, value_type(m, indices)->mesh));
	if (n > 1)
		rows =
		    append_reshape(x, append_pair(x, OP_MUL, read_of(rows), number_of(x, stride)), shape, n);
	return append_pair(x, OP_ADD, read_of(indices), read_of(rows));
}

/* Makes indices that are not in [0, extent) so small that they stay negative. */
static value_id check_indices(struct along *x, value_id indices, expr_id extent, expr_id all)
{
	struct module *m = x->r->s->m;
	value_id above = append_pair(x, OP_GE, read_of(indices), number_of(x, expr_const(m, 0))),
	         below = append_pair(x, OP_LT, read_of(indices), number_of(x, extent)),
	         both = append_pair(x, OP_AND, read_of(above), read_of(below));
	expr_id least = all ? expr_op(m, EXPR_SUB, expr_const(m, 0), all) : 0;
	const struct ir_use choice[] = {read_of(both), read_of(indices), number_of(x, least)};
	return append(x, OP_WHERE, choice, 3, 0, 0);
}

/* Returns true if a tensor has axes over streams, or terms of a sum that are not added yet. */
static bool is_unfit(const struct module *m, type_id type)
{
	const struct domain *d = ir_domain(m, m->type.at[type].domain);
	bool unfit = false;
	for (unsigned i = 0; i < d->axis_n; i++)
		unfit |= d->axis[i].kind == AXIS_PARTIAL || d->axis[i].place == PLACE_STREAM ||
		         d->axis[i].place == PLACE_SERIAL;
	return unfit;
}

/* Makes i64 of indices. */
static value_id widen(struct along *x, value_id indices)
{
	struct module *m = x->r->s->m;
	const struct domain *d = value_domain(m, indices);
	expr_id shape[IR_MAX_LOGICAL];
	if (value_type(m, indices)->dtype == DTYPE_I64)
		return indices;
	for (unsigned i = 0; i < d->rank; i++)
		shape[i] = d->axis[i].extent;
	type_id type = index_type(x, shape, d->rank, value_type(m, indices)->mesh);
	return append(x, OP_CAST, (const struct ir_use[]){read_of(indices)}, 1, 0, type);
}

/* Appends the operation that makes the tensor, or writes its buffer. Returns false after reporting. */
static bool append_last(struct along *x, enum op_kind kind, const value_id *operand, unsigned n,
                        attrs_id attrs, struct nv_tensor *t, value_id bound)
{
	struct module *m = x->r->s->m;
	const struct infer_draft draft = {.kind = kind,
	                                  .operand_n = n,
	                                  .operand = operand,
	                                  .attrs = attrs,
	                                  .result_n = 1,
	                                  .stated = t->type,
	                                  .at = x->at};
	struct ir_use use[4];
	unsigned used = 0;
	if (x->fails || !infer_check(m, x->r->s->d, &draft))
		return false;
	if (!bound)
		use[used++] = (struct ir_use){ROLE_DEF, nv_define(x->r, t, x->at)};
	for (unsigned i = 0; i < n; i++)
		use[used++] = read_of(operand[i]);
	if (bound)
		use[used++] = (struct ir_use){ROLE_WRITE, bound};
	op_id op = ir_op_new(m, kind, x->at, use, used);
	nv_append(x->r, op);
	nv_op(x->r, op)->attrs = attrs;
	return true;
}

/* Appends the gather. Returns false after reporting. */
static bool append_along(struct nv_reader *r, value_id from, value_id indices, unsigned axis,
                         struct nv_tensor *t, value_id bound, uint32_t at)
{
	struct module *m = r->s->m;
	struct along x = {.r = r, .at = at};
	from = make_whole(&x, from);
	indices = x.fails ? 0 : make_whole(&x, indices);
	if (x.fails)
		return false;
	const struct domain *result = ir_domain(m, m->type.at[t->type].domain);
	const unsigned rank = value_domain(m, from)->rank;
	expr_id stride[IR_MAX_LOGICAL], extent[IR_MAX_LOGICAL], all = expr_const(m, 1);
	for (unsigned i = rank; i-- > 0; all = all ? expr_mul(m, all, extent[i]) : 0) {
		stride[i] = all;
		extent[i] = value_domain(m, from)->axis[i].extent;
	}
	all = all ? expr_canon(m, all) : 0;
	value_id flat = all ? append_reshape(&x, from, &all, 1) : 0,
	         place = check_indices(&x, widen(&x, indices), extent[axis], all);
	if (axis + 1 < rank)
		place = append_pair(&x, OP_MUL, read_of(place), number_of(&x, stride[axis]));
	for (unsigned i = 0; i < rank && !x.fails; i++)
		if (i != axis && !expr_is_one(m, extent[i]))
			place = add_position(&x, place, result, i, stride[i]);
	struct attr first = {.key = names_intern_z(m->names, "axis"), .kind = ATTR_INT};
	attrs_id attrs = ir_attrs(m, &first, 1);
	if (x.fails || !domain_is_spread(ir_domain(m, ir_type(m, t->type)->domain)))
		return append_last(&x, OP_TAKE, (const value_id[]){flat, place}, 2, attrs, t, bound);
	const struct ir_use reads[] = {read_of(flat), read_of(place)};
	value_id whole = append(&x, OP_TAKE, reads, 2, attrs, whole_type_of(&x, t->type));
	return append_last(&x, OP_SET, &whole, 1, 0, t, bound);
}

bool nv_along(struct nv_reader *r, ast_id targets, ast_id call, ast_id a, ast_id b, ast_id dim)
{
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound, from, indices;
	int64_t axis;
	uint32_t at = ast_at(s->a, call)->at;
	if (!nv_result(r, ast_at(s->a, targets)->first, &t, &bound))
		return true;
	bool reads = (from = nv_operand(r, a)) && (indices = nv_operand(r, b)) && sema_const(s, dim, &axis);
	unsigned rank = reads ? value_domain(s->m, from)->rank : 0;
	if (reads && (axis < 0 || axis >= rank || value_domain(s->m, indices)->rank != rank))
		reads = nv_refuse(r, E_AXIS_ATTRIBUTE, dim, "dim= is an axis of both operands");
	if (reads && (is_unfit(s->m, s->m->value.at[from].type) ||
	              is_unfit(s->m, s->m->value.at[indices].type) || is_unfit(s->m, t->type))) {
		diag_error(s->d, E_OPERATION_UNKNOWN, at,
		           "%s of several axes is only read of tensors without stream axes and pending sums",
		           ast_text(s->a, call));
		diag_note(s->d, DIAG_NOWHERE, "`extern \"%s\"(T0…, T1…)` can be scheduled, but not run",
		          ast_text(s->a, call));
		reads = false;
	}
	if ((!reads || !append_along(r, from, indices, (unsigned)axis, t, bound, at)) && !t->value)
		nv_define(r, t, at); /* so that uses of it are not errors, too */
	return true;
}
