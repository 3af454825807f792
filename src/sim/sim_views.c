/* sim_views: see sim_views.h.
 *
 *     H = reshape(X, [64, 4, 32])      no task of the plan has this statement: its readers read X
 *     A = sdpa(H, …)
 *
 * Such a statement takes no time, and the host does not issue it. The plan of one rank of each mesh is asked; the plans
 * of all ranks, if there are copies in conditions: a plan lacks the branches that its rank does not take. */
#include "sim/sim_views.h"
#include "ir/edit.h"
#include "plan/plan.h"
#include "sim/reserve.h"

static bool is_in_condition(const struct module *m, op_id op)
{
	while ((op = m->region.at[m->op.at[op].parent].owner))
		if (m->op.at[op].kind == OP_IF)
			return true;
	return false;
}

/* Marks the statements that have tasks or communication in the plan of a rank. Returns false if there is no plan. */
static bool mark_tasks(const struct sim_program *p, uint32_t rank, bool *has_task)
{
	struct diag *unheard = diag_new(NULL, DIAG_TEXT, 0);
	struct plan *plan = plan_build(p->m, unheard, rank, p->ranks,
	                               &(struct plan_target){.streams = p->streams, .views = true});
	for (uint32_t k = 0; plan && k < plan->code.n; k++) {
		const struct plan_instruction *i = &plan->code.at[k];
		if (i->code == PLAN_TASK || i->code == PLAN_COLLECTIVE || i->code == PLAN_MESSAGE)
			has_task[i->statement] = true;
	}
	for (uint32_t k = 0; plan && k < plan->step.n; k++)
		has_task[plan->step.at[k].statement] = true;
	bool ok = plan != NULL;
	plan_free(plan);
	diag_free(unheard);
	return ok;
}

/* Returns true if a statement could be left out: it only copies. */
static bool could_leave_out(const struct module *m, op_id op)
{
	bool copies = op_traits(m, op) & TRAIT_VIEWLIKE || m->op.at[op].kind == OP_SET;
	return copies && !(op_traits(m, op) & TRAIT_VIEW) && op_result_count(m, op) == 1;
}

enum { MOST_PLANS = 64 }; /* for more ranks, their plans take longer than the simulation */

/* Marks the statements that have tasks in the plans of all ranks. Returns false if a rank has no plan. */
static bool mark_all(const struct sim_program *p, bool *has_task)
{
	bool ok = p->ranks <= MOST_PLANS;
	for (uint32_t rank = 0; ok && rank < p->ranks; rank++)
		ok = mark_tasks(p, rank, has_task);
	return ok;
}

void sim_views_find(struct sim_program *p)
{
	struct module *m = p->m;
	bool any = false, conditional = false, *has_task = mem_zalloc(m->op.n),
	     *planned = mem_zalloc((size_t)m->mesh.n + 1);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		any |= could_leave_out(m, op);
		conditional |= could_leave_out(m, op) && is_in_condition(m, op);
	}
	if (p->ranks > SIM_RESERVE_RANKS)
		any = false;
	bool all = any && conditional && mark_all(p, has_task);
	for (mesh_id k = 0; any && k < m->mesh.n; k++)
		planned[k] =
		    all || (!conditional && mark_tasks(p, k ? m->mesh.at[k].device[0] : 0, has_task));
	for (op_id op = ir_walk_first(m); any && op; op = ir_walk(m, op))
		p->left_out[op] = could_leave_out(m, op) && !has_task[op] &&
		                  planned[ir_type(m, m->value.at[op_result(m, op, 0)].type)->mesh];
	free(has_task);
	free(planned);
}
