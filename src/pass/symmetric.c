/* symmetric: makes views of blocks side by side, and checks who can read them. */
#include "pass/symmetric.h"
#include "base/checked.h"
#include "base/dtype.h"
#include "base/page.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "pass/reshard.h"

type_id symmetric_type(struct module *m, type_id id)
{
	const struct type t = m->type.at[id];
	return type_make(m, t.dtype, MEMORY_SYMMETRIC, t.mesh, t.domain);
}

/* Returns true if a rank's block fills whole pages, so that there are no gaps. Unknown extents are
 * assumed to. */
static bool fills_pages(const struct module *m, type_id id, int64_t page)
{
	const struct type *t = &m->type.at[id];
	const struct domain *d = &m->domain.at[t->domain];
	const struct expr_env env = {.rank = -1};
	int64_t bytes = dtype_bytes(t->dtype), n;
	for (unsigned k = 0; k < d->alloc_n; k++) {
		const struct axis *a = &d->axis[d->alloc[k]];
		if (a->place == PLACE_MESH || a->kind != AXIS_ITER)
			continue;
		if (expr_eval(m, a->extent, &env, &n, NULL) != EXPR_OK || !checked_mul(bytes, n, &bytes))
			return false;
	}
	return bytes % (page ? page : page_bytes()) == 0;
}

bool symmetric_is_one(const struct module *m, type_id t, unsigned dim, int64_t page)
{
	const struct domain *d = ir_domain(m, m->type.at[t].domain);
	for (unsigned a = 0; a < dim; a++)
		if (!expr_is_one(m, d->axis[a].extent))
			return false;
	return fills_pages(m, t, page);
}

static bool can_read(struct module *m, op_id op, value_id v, unsigned dim, bool one)
{
	struct infer_axes x;
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	if (kind == OP_SET) { /* a set that only cuts or copies */
		struct reshard r;
		reshard_classify(m, m->value.at[v].type, m->value.at[op_result(m, op, 0)].type, &r);
		return r.kind == RESHARD_LOCAL;
	}
	if (kind == OP_RESHAPE || op_info[kind].form != FORM_CALL ||
	    op_traits(m, op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE) || op_result_count(m, op) != 1 ||
	    !infer_axes(m, op, &x))
		return false;
	for (unsigned k = 0; k < x.operand_n && !one; k++)
		if (op_read(m, op, k) == v &&
		    (x.operand[k][dim] == INFER_NONE || x.kind[x.operand[k][dim]] != DIM_PARALLEL))
			return false;
	return true;
}

op_id symmetric_in(const struct module *m, region_id region, op_id op)
{
	while (op && m->op.at[op].parent != region)
		op = m->region.at[m->op.at[op].parent].owner;
	return op;
}

/* Returns a statement that cannot read a view, or a slice of one that is one block; 0: all can. */
static op_id find_unfit(struct module *m, value_id v, unsigned dim, bool one, region_id region, op_id *last)
{
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use) {
		const struct operand o = m->operand.at[u];
		if (o.role == ROLE_DEF)
			continue;
		bool cuts = one && o.role == ROLE_READ && m->op.at[o.op].kind == OP_SHARD_BY_STREAM;
		if (!cuts && (o.role != ROLE_READ || !can_read(m, o.op, v, dim, one)))
			return o.op;
		op_id by = symmetric_in(m, region, o.op),
		      unfit = cuts ? find_unfit(m, op_def(m, o.op, 0), dim, one, region, last) : 0;
		if (!by || unfit)
			return unfit ? unfit : o.op;
		*last = !*last || ir_before(m, *last, by) ? by : *last;
	}
	return 0;
}

const char *symmetric_unreadable(struct module *m, value_id v, unsigned dim, bool one, region_id region,
                                 op_id *last)
{
	op_id latest = 0, unfit = find_unfit(m, v, dim, one, region, &latest);
	if (!unfit) {
		*last = latest;
		return NULL;
	}
	return arena_printf(m->arena,
	                    one ? "%s reads it, which needs it in memory of a rank"
	                        : "%s reads it, which needs it as one, and the ranks' blocks are none",
	                    op_info[m->op.at[unfit].kind].hir);
}

void symmetric_view_make(struct module *m, op_id op, value_id buffer, value_id view, type_id type)
{
	ir_op_set_operands(m, op, (struct ir_use[]){{ROLE_DEF, view}, {ROLE_READ, buffer}}, 2);
	m->op.at[op].kind = OP_SYMMETRIC_VIEW;
	m->op.at[op].attrs = 0;
	m->value.at[view].type = type;
	team_id team = infer_symmetric_team(m, op);
	m->op.at[op].team = team;
}

op_id symmetric_view_end(struct module *m, uint32_t at, value_id view)
{
	return ir_op_new(m, OP_DEALLOCATE, at, (struct ir_use[]){{ROLE_FREE, view}}, 1);
}
