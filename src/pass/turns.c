/* turns: makes the loop in which ranks add their products to each other's blocks. */
#include "pass/turns.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "pass/place.h"
#include "pass/symmetric.h"

/* ---- one turn */

struct turn {
	uint32_t at;
	region_id body;
	expr_id block; /* the block written in a step */
	uint32_t size; /* size of the mesh axis */
};

/* Returns the type of a block of a value's axis, cut by the loop; 0: it is cut already. */
static type_id slice_type(struct module *m, value_id v, unsigned dim, uint32_t size)
{
	const struct type t = *value_type(m, v);
	struct sugar s;
	const char *reason;
	if (!sugar_from_domain(m, t.domain, t.mesh, &s) || s.axis[dim].place_n)
		return 0;
	sugar_drop(&s, AXIS_REDUCE);
	sugar_drop(&s, AXIS_PARTIAL);
	s.axis[dim].place[s.axis[dim].place_n++] =
	    (struct sugar_place){.kind = SUGAR_SERIAL, .factor = expr_const(m, size)};
	type_id type = place_type(m, m->value.at[v].type, t.mesh, &s, false, &reason);
	if (!type)
		return 0;
	const struct type with = m->type.at[type];
	return type_make(m, with.dtype, MEMORY_LOCAL, with.mesh, with.domain);
}

static value_id slice_turn(struct module *m, const struct turn *t, value_id of, type_id type)
{
	value_id v = ir_value_new(m, type, 0, t->at);
	ir_append(m, t->body,
	          ir_op_new(m, OP_SHARD_BY_STREAM, t->at,
	                    (struct ir_use[]){
	                        {ROLE_DEF, v}, {ROLE_READ, of}, {ROLE_SCALAR, ir_scalar_expr(m, t->block)}},
	                    3));
	return v;
}

/* Computes the product into a block: adds it, or overwrites the block. */
static op_id multiply_block(struct module *m, op_id like, value_id left, value_id right, value_id to,
                            bool add)
{
	op_id op = ir_op_new(m, (enum op_kind)m->op.at[like].kind, m->op.at[like].at,
	                     (struct ir_use[]){{ROLE_READ, left}, {ROLE_READ, right}, {ROLE_WRITE, to}}, 3);
	struct attr a = {.key = names_intern_z(m->names, "accumulate"), .kind = ATTR_NAME};
	a.u.name = names_intern_z(m->names, add ? "true" : "false");
	attrs_id attrs = ir_attrs_with(m, m->op.at[like].attrs, &a);
	m->op.at[op].attrs = attrs;
	return op;
}

/* ---- the whole */

/* Returns the rows of the product on a rank; 0: not known. */
static int64_t block_rows(const struct module *m, type_id id)
{
	const struct domain *d = ir_domain(m, ir_type(m, id)->domain);
	const struct expr_env env = {.rank = -1};
	int64_t rows = 1, n;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const struct axis *a = &d->axis[d->loop[k]];
		int of = layout_logical_of(d, d->loop[k]);
		if (a->kind != AXIS_ITER || a->place == PLACE_MESH || of == (int)d->rank - 1)
			continue;
		if (of < 0 || expr_eval(m, a->extent, &env, &n, NULL) != EXPR_OK ||
		    !checked_mul(rows, n, &rows))
			return 0;
	}
	return rows;
}

/* Returns the axis of rows that is divided among ranks: the scattered axis, or the first that can be
 * cut; -1: none. */
static int parts_axis(struct module *m, value_id sum, const struct reshard *r)
{
	const struct domain *d = value_domain(m, sum);
	if (r->kind == RESHARD_REDUCE_SCATTER)
		return r->dim < (int)d->rank - 1 ? r->dim : -1;
	for (unsigned a = 0; a + 1 < d->rank; a++)
		if (!layout_mesh_axes(m, m->value.at[sum].type, a) && !expr_is_one(m, d->axis[a].extent))
			return (int)a;
	return -1;
}

/* Checks a product: each rank has all of its rows, and only this statement reads it. */
static const char *check_product(struct module *m, op_id op, const struct reshard *r, int dim, int64_t rows)
{
	value_id sum = op_read(m, op, 0);
	op_id product = m->value.at[sum].def;
	struct infer_axes x;
	unsigned uses = 0;
	enum op_kind kind = product ? (enum op_kind)m->op.at[product].kind : OP_ALLOCATE;
	if (kind == OP_ALLOCATE)
		return product ? "it is made in a loop" : "no product makes it";
	if (kind != OP_MATMUL && kind != OP_LINEAR)
		return arena_printf(m->arena, "%s makes it, which is no product", op_info[kind].hir);
	if (m->op.at[product].parent != m->body || !m->op.at[product].def_n || !infer_axes(m, product, &x))
		return "it is put into a buffer";
	for (uint32_t u = m->value.at[sum].first_use; u; u = m->operand.at[u].next_use)
		uses += m->operand.at[u].role != ROLE_DEF;
	if (uses > 1 || m->value.at[sum].flags & VALUE_OUTPUT)
		return "another statement reads the product";
	if (op_role_count(m, product, ROLE_READ) > 2)
		return "the product has a bias";
	enum dtype dtype = value_type(m, sum)->dtype;
	if (r->axis_n != 1)
		return "it is a sum along several mesh axes";
	if (r->reduce != REDUCE_SUM || value_type(m, op_result(m, op, 0))->dtype != dtype)
		return "it is no sum of the product";
	if (dtype != DTYPE_F32 && dtype != DTYPE_F64)
		return arena_printf(m->arena, "%s would be rounded in each turn", dtype_name(dtype));
	if (dim < 0 || x.operand[0][dim] != x.result[dim])
		return "the ranks' parts are not rows of the product";
	if (!m->op.at[op].def_n)
		return "it is put into a buffer";
	int64_t has = block_rows(m, m->value.at[sum].type) / m->mesh.at[r->mesh].size[r->axis[0]];
	if (has < rows)
		return arena_printf(m->arena,
		                    "a rank's part has %lld rows; below %lld a collective is faster",
		                    (long long)has, (long long)rows);
	return NULL;
}

/* Returns the type of the sum in parts: on each rank its block of rows. */
static type_id parts_type(struct module *m, value_id whole, unsigned dim, const struct reshard *r)
{
	const struct type t = *value_type(m, whole);
	struct sugar s;
	const char *reason;
	if (!sugar_from_domain(m, t.domain, t.mesh, &s) || s.axis[dim].place_n)
		return 0;
	sugar_drop(&s, AXIS_REDUCE);
	s.axis[dim].place[s.axis[dim].place_n++] =
	    (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = r->axis[0]};
	return place_type(m, m->value.at[whole].type, t.mesh, &s, false, &reason);
}

/* Makes the loop in which all ranks add up the product in the blocks of `parts`. Returns false if the
 * product cannot be cut. */
static bool add_up(struct module *m, value_id sum, value_id parts, unsigned dim, const struct reshard *r)
{
	op_id like = m->value.at[sum].def;
	uint8_t axis = r->axis[0];
	struct turn t = {.at = m->op.at[like].at, .size = m->mesh.at[r->mesh].size[axis]};
	value_id left = op_read(m, like, 0), right = op_read(m, like, 1);
	type_id rows = slice_type(m, left, dim, t.size),
	        symmetric = symmetric_type(m, m->value.at[parts].type),
	        whole = infer_symmetric(m, symmetric, axis);
	if (!rows || !whole)
		return false;
	value_id view = ir_value_new(m, whole, 0, t.at);
	type_id part = slice_type(m, sum, dim, t.size);
	if (!part)
		return false;
	m->value.at[parts].type = symmetric;

	expr_id zero = expr_const(m, 0), size = expr_const(m, t.size);
	op_id loop = ir_op_new(
	    m, OP_FOR, t.at,
	    (struct ir_use[]){{ROLE_SCALAR, ir_scalar_expr(m, zero)}, {ROLE_SCALAR, ir_scalar_expr(m, size)}},
	    2);
	ir_insert_before(m, like, loop);
	t.body = ir_region_new(m, loop);
	index_id index = ir_index_add(m, 0);
	m->region.at[t.body].index = index;
	expr_id i = expr_index(m, index);
	t.block = expr_op(m, EXPR_MOD, expr_add(m, expr_axis_index(m, r->mesh, axis), i), size);

	op_id open =
	    ir_op_new(m, OP_SYMMETRIC_VIEW, t.at, (struct ir_use[]){{ROLE_DEF, view}, {ROLE_READ, parts}}, 2);
	ir_append(m, t.body, open);
	symmetric_view_make(m, open, parts, view, whole);
	value_id from = slice_turn(m, &t, left, rows), to = slice_turn(m, &t, view, part);
	expr_id first = expr_op(m, EXPR_EQ, i, zero);
	op_id condition =
	    ir_op_new(m, OP_IF, t.at, (struct ir_use[]){{ROLE_SCALAR, ir_scalar_expr(m, first)}}, 1);
	ir_append(m, t.body, condition);
	region_id put = ir_region_new(m, condition), add = ir_region_new(m, condition);
	ir_append(m, put, multiply_block(m, like, from, right, to, false));
	ir_append(m, add, multiply_block(m, like, from, right, to, true));
	ir_append(m, t.body, symmetric_view_end(m, t.at, view));
	return true;
}

const char *turns(struct module *m, struct pass_context *cx, op_id op, const struct reshard *r)
{
	value_id sum = op_read(m, op, 0), result = op_result(m, op, 0), parts = result;
	op_id made = m->value.at[sum].def, last = 0;
	uint32_t at = m->op.at[op].at;
	bool scatters = r->kind == RESHARD_REDUCE_SCATTER;
	int dim = parts_axis(m, sum, r);
	const char *why = check_product(m, op, r, dim, cx->option[PASS_ZERO_COPY_ROWS]);
	if (why)
		return why;
	if (!scatters) {
		type_id type = parts_type(m, result, (unsigned)dim, r);
		if (!type)
			return "its rows are cut already";
		bool one = symmetric_is_one(m, type, (unsigned)dim, cx->option[PASS_ZERO_COPY_PAGE]);
		if (m->value.at[result].flags & VALUE_OUTPUT && !one)
			return "the program returns it, and the ranks' blocks are not one";
		why = symmetric_unreadable(m, result, (unsigned)dim, one, m->body, &last);
		if (why)
			return why;
		parts = ir_value_new(m, type, 0, at);
	}
	if (!add_up(m, sum, parts, (unsigned)dim, r))
		return "its rows are cut already";
	op_id loop = m->op.at[made].prev;
	if (scatters) {
		ir_remove(m, op);
	} else {
		type_id view = infer_symmetric(m, m->value.at[parts].type, r->axis[0]);
		symmetric_view_make(m, op, parts, result, view);
		if (!(m->value.at[result].flags & VALUE_OUTPUT))
			ir_insert_after(m, last ? last : op, symmetric_view_end(m, at, result));
	}
	op_id allocate = ir_op_new(m, OP_ALLOCATE, at, (struct ir_use[]){{ROLE_DEF, parts}}, 1);
	ir_insert_before(m, loop, allocate);
	if (!(m->value.at[result].flags & VALUE_OUTPUT))
		vec_push(&cx->allocated, parts);
	ir_remove(m, made);
	return NULL;
}
