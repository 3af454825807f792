/* decompose_write: decomposes statements that write buffers.
 *
 *     A <- relu(T)                          A: f32[4@x, 4], T: f32[4, 4@x]
 *  →
 *     T2: f32[4, 4@x] = relu(T)
 *     A <- set(T2)
 *
 *     Y <- matmul(A, B, accumulate=true)    Y: f32[8, 8], A: f32[8, 4@x], B: f32[4@x, 8]
 *  →
 *     T4: f32[8, 8] = matmul(A, B)          decomposed as any definition is
 *     Y <- add(Y, T4)
 *
 * A buffer may be a part of another one, and ranks may hold more of an operand than they need. So the
 * parts that ranks hold are compared with those that they need. A statement that lacks nothing is not
 * changed, unless a loop cuts its result and cannot cut an operand. */
#include "ir/build.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "pass/decompose.h"
#include "pass/rewrite.h"

bool decompose_has_transfers(struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		if (m->op.at[op].flags & OP_ASYNC || op_info[m->op.at[op].kind].form == FORM_HOST ||
		    op_traits(m, op) & TRAIT_P2P)
			return true;
	return false;
}

static bool lacks(struct module *m, op_id op, bool sums_end)
{
	struct op_layout l;
	for (unsigned k = 0; k < op_result_count(m, op); k++)
		if (op_layout_read_result(m, op, k, &l) && op_layout_lacks(m, &l, sums_end))
			return true;
	return false;
}

/* Returns true if a loop cuts the result below mesh axes that cut no such axis of an operand: a step needs a part of
 * the rank's part, which is no slice of the operand. */
static bool lacks_slices(struct module *m, op_id op)
{
	struct op_layout l;
	unsigned axis, level;
	if (!op_layout_read(m, op, &l) || !l.r_known)
		return false;
	const op_id def = m->value.at[l.result].def;
	if (def && op_traits(m, def) & TRAIT_VIEW)
		return false; /* a loop around binds its step */
	const struct domain *d = value_domain(m, l.result);
	for (unsigned n = place_loop_count(d); n-- > 0;) {
		if (!place_find_loop(d, &l.r, n, &axis, &level))
			continue;
		for (unsigned k = 0; k < l.x.operand_n; k++) {
			const int a = op_layout_axis(&l, k, l.x.result[axis]);
			if (a >= 0 && l.o_known[k] && value_type(m, l.operand[k])->mesh &&
			    place_slice(m, value_type(m, l.result)->mesh, &l.o[k].axis[a], &l.r.axis[axis],
			                level, false) == PLACE_SLICE_NOT)
				return true;
		}
	}
	return false;
}

bool decompose_write_lacks(struct module *m, op_id op, bool sums_end)
{
	return !m->op.at[op].def_n && (lacks(m, op, sums_end) || lacks_slices(m, op));
}

void decompose_write_value(struct module *m, op_id op)
{
	const struct op old = m->op.at[op];
	unsigned results = op_role_count(m, op, ROLE_WRITE), n = 0;
	bool adds = op_attr_is_true(m, op, "accumulate");
	struct ir_use *use = mem_alloc(sizeof *use * old.operand_n);
	value_id *written = mem_alloc(sizeof *written * results);
	for (unsigned k = 0; k < results; k++) {
		written[k] = op_write(m, op, k);
		type_id t = decompose_type_beside(m, op, written[k]);
		use[n++] = (struct ir_use){ROLE_DEF, ir_value_new(m, t, 0, old.at)};
	}
	for (unsigned i = 0; i < old.operand_n; i++) {
		const struct operand *o = ir_operand(m, op, i);
		if (o->role != ROLE_WRITE)
			use[n++] = (struct ir_use){(enum role)o->role, o->id};
	}
	ir_op_set_operands(m, op, use, n);
	if (adds)
		m->op.at[op].attrs = ir_attrs_without(m, old.attrs, names_intern_z(m->names, "accumulate"));
	op_id last = op;
	for (unsigned k = 0; k < results; k++) {
		value_id v = use[k].id;
		type_id t = infer_reduce_axes(m, op, m->value.at[v].type);
		m->value.at[v].type = t;
		struct ir_use set[] = {{ROLE_READ, v}, {ROLE_WRITE, written[k]}},
		              add[] = {{ROLE_READ, written[k]}, {ROLE_READ, v}, {ROLE_WRITE, written[k]}};
		op_id next =
		    adds ? ir_op_new(m, OP_ADD, old.at, add, 3) : ir_op_new(m, OP_SET, old.at, set, 2);
		ir_insert_after(m, last, next);
		last = next;
	}
	free(use);
	free(written);
}
