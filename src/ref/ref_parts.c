/* ref_parts: sums that the run computes in parts, and collectives on logical tensors.
 *
 * On logical tensors nothing is pending. But each rank of the run rounds its part of a sum, so the error of
 * the sum depends on the number and the dtype of the parts. */
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "ref/ref_logical.h"

/* Returns, as a mask, the axes of READ operand k that a contraction or reduction sums over. */
static unsigned summed_axes(const struct module *m, op_id op, unsigned k)
{
	unsigned rank = value_domain(m, op_read(m, op, k))->rank;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_LINEAR:
		return k < 2 && rank ? 1u << (rank - 1) : 0;
	case OP_MATMUL:
		return rank > k ? 1u << (rank - 1 - k) : 0;
	default:
		return op_traits(m, op) & TRAIT_REDUCTION ? infer_reduced_axes(m, m->op.at[op].attrs, rank)
		                                          : 0;
	}
}

static int64_t all_ranks(const struct ref_context *c)
{
	int64_t n = c->o->ranks;
	for (mesh_id k = 1; k < c->m->mesh.n; k++)
		n = ir_mesh(c->m, k)->device_count > n ? ir_mesh(c->m, k)->device_count : n;
	return n;
}

/* Returns the number of ranks that may store rounded parts of a sum before they are added up; 0: none. Ranks
 * have parts if a summed axis is sharded, or may be because its layout is not chosen yet, or if an operand is
 * pending. The part of a single rank is the sum, so its rounding counts only if a bias is added to it. */
int64_t ref_ranks_of_parts(const struct ref_context *c, op_id op)
{
	const struct module *m = c->m;
	const bool bias = m->op.at[op].kind == OP_LINEAR && op_role_count(m, op, ROLE_READ) > 2;
	const int64_t least = bias ? 1 : 2;
	int64_t most = 0;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		unsigned mask = summed_axes(m, op, k), over = 0;
		bool pending = ref_partial_axes(value_domain(m, v), NULL);
		int64_t ranks = pending ? ref_pending_parts(m, v) : 1;
		if (!mask)
			continue;
		if (m->value.at[v].flags & VALUE_OPEN)
			return all_ranks(c) >= least ? all_ranks(c) : 0;
		for (unsigned a = 0; mask >> a; a++)
			over |= mask >> a & 1 ? layout_mesh_axes(m, m->value.at[v].type, a) : 0;
		for (unsigned a = 0; over >> a; a++)
			ranks *= over >> a & 1 ? ir_mesh(m, value_type(m, v)->mesh)->size[a] : 1;
		if ((pending || over) && ranks > most)
			most = ranks;
	}
	return most >= least ? most : 0;
}

int64_t ref_block_of_parts(const struct ref_context *c, op_id op)
{
	struct module *m = c->m;
	int64_t block = 0;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		unsigned mask = summed_axes(m, op, k), axis = mask ? (unsigned)__builtin_ctz(mask) : 0;
		const struct expr_env env = {.rank = -1};
		struct sugar s;
		int64_t n, ranks = 1;
		if (!mask)
			continue;
		if (mask & (mask - 1) || m->value.at[v].flags & VALUE_OPEN ||
		    ref_partial_axes(value_domain(m, v), NULL) ||
		    !sugar_from_domain(m, value_type(m, v)->domain, value_type(m, v)->mesh, &s) ||
		    expr_eval(m, value_domain(m, v)->axis[axis].extent, &env, &n, NULL) != EXPR_OK)
			return 0;
		for (unsigned i = 0; i < s.axis[axis].place_n; i++) {
			if (s.axis[axis].place[i].kind != SUGAR_MESH)
				return 0;
			ranks *= ir_mesh(m, value_type(m, v)->mesh)->size[s.axis[axis].place[i].mesh_axis];
		}
		if (n % ranks || (ranks > 1 && block && block != n / ranks))
			return 0;
		if (ranks > 1)
			block = n / ranks;
	}
	return block;
}

int64_t ref_reduced_copies(struct module *m, op_id op)
{
	value_id v = op_read(m, op, 0);
	mesh_id mesh = value_type(m, v)->mesh;
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n, spread = 0, partial = 0;
	int64_t copies = 1;
	const struct domain *d = value_domain(m, v);
	if (!mesh || !ir_team_axes(m, m->op.at[op].team, mesh, axes, &n))
		return 0;
	for (unsigned a = 0; a < d->logical_n; a++)
		*(d->axis[a].kind == AXIS_PARTIAL ? &partial : &spread) |=
		    layout_mesh_axes(m, m->value.at[v].type, a);
	for (unsigned k = 0; k < n; k++) {
		if (ir_mesh(m, mesh)->size[axes[k]] == 1)
			continue; /* axes of size 1 cannot be told apart */
		if (spread >> axes[k] & 1)
			return 0;
		copies *= partial >> axes[k] & 1 ? 1 : ir_mesh(m, mesh)->size[axes[k]];
	}
	return copies;
}

bool ref_logical_collective(struct ref_context *c, op_id op, const struct ref_array *in,
                            struct ref_array *out)
{
	int64_t copies = 1, count = ref_array_count(out);
	enum reduce_op fold = ref_reduce_op(c->m, op);
	if (in->nd != out->nd || ref_array_count(in) != count) {
		diag_error(c->d, E_REFERENCE_SHAPE, ir_op(c->m, op)->at,
		           "the operand of %s does not fit its result", op_info[ir_op(c->m, op)->kind].hir);
		return false;
	}
	if (op_traits(c->m, op) & TRAIT_REDUCES && (copies = ref_reduced_copies(c->m, op)) == 0) {
		diag_error(
		    c->d, E_REFERENCE_OPERATION, ir_op(c->m, op)->at,
		    "%s of a tensor that is spread over its team cannot be evaluated on logical tensors",
		    op_info[ir_op(c->m, op)->kind].hir);
		return false;
	}
	for (int64_t i = 0; i < count; i++) {
		struct ref_fold s;
		if (copies == 1 || in->state[i] != REF_DEFINED) {
			ref_copy(out, i, in, i);
			continue;
		}
		ref_fold_start(&s, fold, in->dtype);
		s.steps = ref_steps(c, fold, out->dtype, copies);
		for (int64_t k = 0; k < copies; k++)
			ref_fold_add(&s, in, i, k);
		ref_fold_end(&s, out, i, out->dtype);
		out->state[i] = REF_DEFINED;
	}
	return true;
}

void ref_add_parts_error(const struct module *m, value_id result, struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	for (int64_t i = 0; i < count && ref_partial_axes(value_domain(m, result), NULL); i++)
		if (out->error[i] > 0)
			out->error[i] *= 1.5;
}
