/* pack: see pack.h. */
#include "ir/pack.h"
#include "base/checked.h"
#include "ir/expr.h"
#include "ir/layout.h"

int64_t ir_pack_blocks(const struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "blocks");
	if (!a)
		return 1;
	return a->kind == ATTR_INT && a->u.i > 0 ? a->u.i : 0;
}

value_id ir_pack_packed(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_PACK ? op_result(m, op, 0) : op_read(m, op, 0);
}

const struct operand *ir_pack_parts(const struct module *m, op_id op, unsigned *n)
{
	const struct op *o = &m->op.at[op];
	bool after = o->kind == OP_PACK ? o->def_n != 0 : o->def_n == 0; /* it belongs to the packed value */
	*n = o->operand_n ? o->operand_n - 1u : 0;
	return &m->operand.at[o->operand + after];
}

static bool known(const struct module *m, expr_id e, int64_t *out)
{
	const struct expr_env env = {.rank = -1};
	return expr_eval(m, e, &env, out, NULL) == EXPR_OK;
}

bool ir_pack_is_even(const struct module *m, type_id t, int64_t *extent, int64_t *parts)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	for (unsigned i = 0; i < d->xform_n; i++) {
		const struct xform *x = &d->xform[i];
		const struct axis *of = &d->axis[x->in[0]];
		bool splits = x->kind == XFORM_SPLIT_OUTER || x->kind == XFORM_SPLIT_INNER;
		int64_t n, k;
		if (!splits || of->kind == AXIS_REDUCE || !known(m, of->extent, &n) ||
		    !known(m, x->factor, &k) || k <= 0 || n % k == 0)
			continue;
		*extent = n;
		*parts = x->kind == XFORM_SPLIT_OUTER ? k : (n + k - 1) / k;
		return false;
	}
	return true;
}

bool ir_pack_count(const struct module *m, type_id t, int64_t *out)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	int64_t count = 1, n;
	for (unsigned i = 0; i < d->loop_n; i++) {
		const struct axis *x = &d->axis[d->loop[i]];
		if (x->place == PLACE_STREAM || x->place == PLACE_SERIAL)
			return false;
		if (x->place == PLACE_MESH || x->kind == AXIS_REDUCE || x->kind == AXIS_PARTIAL)
			continue;
		if (!known(m, x->extent, &n) || n < 0 || !checked_mul(count, n, &count))
			return false;
	}
	*out = count;
	return true;
}

/* Returns the mesh axes of more than one rank over which a type is spread. */
static unsigned collect_spread_axes(const struct module *m, type_id t)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	mesh_id mesh = ir_type(m, t)->mesh;
	unsigned axes = 0;
	for (unsigned a = 0; a < d->rank && mesh; a++)
		axes |= layout_mesh_axes(m, t, a);
	for (unsigned k = 0; mesh && k < ir_mesh(m, mesh)->rank; k++)
		if (ir_mesh(m, mesh)->size[k] == 1)
			axes &= ~(1u << k);
	return axes;
}

/* Returns true if the same reductions are pending on both values. */
static bool same_pending(const struct module *m, value_id v, value_id w)
{
	const struct domain *a = value_domain(m, v), *b = value_domain(m, w);
	for (unsigned k = 0; k < IR_MAX_MESH_AXES; k++) {
		int x = layout_partial(a, k), y = layout_partial(b, k);
		if ((x < 0) != (y < 0) || (x >= 0 && a->axis[x].reduce != b->axis[y].reduce))
			return false;
	}
	return true;
}

/* Appends `operand 2` or `result 1`; the packed value has no number. */
static void put_role(const struct module *m, op_id op, int part, struct buf *out)
{
	bool reads = (m->op.at[op].kind == OP_PACK) == (part >= 0);
	buf_puts(out, reads ? "operand" : "result");
	if (part >= 0)
		buf_printf(out, " %d", part + 1);
}

static bool value_fault(const struct module *m, op_id op, int part, value_id v, struct buf *out)
{
	int64_t extent, parts;
	if (m->value.at[v].flags & VALUE_OPEN || ir_pack_is_even(m, m->value.at[v].type, &extent, &parts))
		return false;
	put_role(m, op, part, out);
	buf_printf(out, " is not as large on all ranks: %lld elements are cut in %lld", (long long)extent,
	           (long long)parts);
	return true;
}

static bool part_fault(const struct module *m, op_id op, int k, value_id v, struct buf *out)
{
	value_id packed = ir_pack_packed(m, op);
	const struct type *a = value_type(m, v), *b = value_type(m, packed);
	bool open = (m->value.at[v].flags | m->value.at[packed].flags) & VALUE_OPEN;
	int64_t count, blocks = ir_pack_blocks(m, op);
	if (a->dtype != b->dtype && b->dtype != DTYPE_U8) {
		put_role(m, op, k, out);
		buf_printf(out, " is %s, the ", dtype_name(a->dtype));
		put_role(m, op, -1, out);
		buf_printf(out, " %s: it has their dtype, or is u8", dtype_name(b->dtype));
		return true;
	}
	if (a->mesh != b->mesh && !open) {
		put_role(m, op, k, out);
		buf_puts(out, " and the ");
		put_role(m, op, -1, out);
		buf_puts(out, " are on different meshes");
		return true;
	}
	if (!open && !same_pending(m, v, packed)) {
		put_role(m, op, k, out);
		buf_puts(out, " and the ");
		put_role(m, op, -1, out);
		buf_puts(out, " do not have the same sums pending");
		return true;
	}
	if (value_fault(m, op, k, v, out))
		return true;
	if (!open && ir_pack_count(m, m->value.at[v].type, &count) && count % blocks) {
		buf_printf(out, "the %lld elements that a rank has of ", (long long)count);
		put_role(m, op, k, out);
		buf_printf(out, " are not %lld equal blocks", (long long)blocks);
		return true;
	}
	return false;
}

/* Writes a fault if the packed value is not spread over ranks as its parts are. */
static bool spread_fault(const struct module *m, op_id op, struct buf *out)
{
	value_id packed = ir_pack_packed(m, op);
	const struct mesh *mesh = ir_mesh(m, value_type(m, packed)->mesh);
	unsigned have = collect_spread_axes(m, m->value.at[packed].type), want = 0,
	         open = m->value.at[packed].flags;
	unsigned n;
	const struct operand *part = ir_pack_parts(m, op, &n);
	for (unsigned k = 0; k < n; k++) {
		value_id v = part[k].id;
		want |= collect_spread_axes(m, m->value.at[v].type);
		open |= m->value.at[v].flags;
	}
	if (have == want || open & VALUE_OPEN)
		return false;
	unsigned axis = (unsigned)__builtin_ctz(have ^ want);
	const char *name = names_text(m->names, mesh->axis_name[axis]);
	const char *parts = m->op.at[op].kind == OP_PACK ? "operand" : "result";
	buf_puts(out, "the ");
	put_role(m, op, -1, out);
	if (want >> axis & 1)
		buf_printf(out, " is not spread over '%s', as a%s %s is", name, *parts == 'o' ? "n" : "",
		           parts);
	else
		buf_printf(out, " is spread over '%s', and no %s is", name, parts);
	return true;
}

/* Returns the number of elements or bytes of the parts; -1: unknown. */
static int64_t sum_of_parts(const struct module *m, op_id op, bool bytes)
{
	int64_t sum = 0, n;
	unsigned parts;
	const struct operand *part = ir_pack_parts(m, op, &parts);
	for (unsigned k = 0; k < parts; k++) {
		value_id v = part[k].id;
		if (m->value.at[v].flags & VALUE_OPEN || !ir_pack_count(m, m->value.at[v].type, &n) ||
		    (bytes && !checked_mul(n, dtype_bytes(value_type(m, v)->dtype), &n)) ||
		    !checked_add(sum, n, &sum))
			return -1;
	}
	return sum;
}

bool ir_pack_fault(const struct module *m, op_id op, struct buf *out)
{
	value_id packed = ir_pack_packed(m, op);
	bool bytes = value_type(m, packed)->dtype == DTYPE_U8;
	int64_t have;
	unsigned n;
	buf_printf(out, "%s: ", op_info[m->op.at[op].kind].hir);
	if (!ir_pack_blocks(m, op)) {
		buf_puts(out, "blocks= is a number from 1 on");
		return true;
	}
	const struct operand *part = ir_pack_parts(m, op, &n);
	for (unsigned k = 0; k < n; k++)
		if (part_fault(m, op, (int)k, part[k].id, out))
			return true;
	if (value_fault(m, op, -1, packed, out) || spread_fault(m, op, out))
		return true;
	int64_t want = sum_of_parts(m, op, bytes);
	if (want < 0 || !ir_pack_count(m, m->value.at[packed].type, &have) || have == want)
		return false;
	buf_printf(out, "a rank has %lld %s of the %ss and %lld of the ", (long long)want,
	           bytes ? "bytes" : "elements", m->op.at[op].kind == OP_PACK ? "operand" : "result",
	           (long long)have);
	put_role(m, op, -1, out);
	return true;
}
