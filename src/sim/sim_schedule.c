/* sim_schedule: writes the order of a program in the format of the graphs' referee. */
#include "sim/sim.h"
#include <string.h>

/* Returns the names of the recorded statements that were merged into this one. */
static const char *members_of(struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "members");
	return a && a->kind == ATTR_STRING ? names_text(m->names, a->u.name) : block_name(m, op);
}

/* Returns the collective of a pack or unpack. */
static op_id collective_of(struct module *m, op_id op)
{
	if (m->op.at[op].kind == OP_UNPACK)
		return block_waits_for(m, m->value.at[op_read(m, op, 0)].def);
	value_id v = op_result(m, op, 0);
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (block_is_communication(m, m->operand.at[u].op))
			return m->operand.at[u].op;
	return op;
}

/* Returns true if a collective was merged from several that start together, each with its own operand. */
static bool is_grouped(struct module *m, op_id op)
{
	return block_is_communication(m, op) && op_attr(m, op, "members") &&
	       op_role_count(m, op, ROLE_READ) > 1;
}

static bool refuse_group(struct module *m, struct diag *d, op_id op)
{
	diag_error(d, E_SCHEDULE_FILE, m->op.at[op].at,
	           "a schedule file has no collectives that start together");
	diag_note(d, DIAG_NOWHERE, "--schedule is for programs of --bucket-mode=pack or none");
	return false;
}

bool sim_write_schedule(const struct sim *s, struct diag *d, struct buf *out)
{
	struct module *m = s->m;
	for (uint32_t k = 0; k < s->block.p.n; k++) {
		op_id op = s->block.op[s->order[k]];
		if (m->op.at[op].kind == OP_ALLOCATE || m->op.at[op].kind == OP_DEALLOCATE)
			continue;
		if (is_grouped(m, op))
			return refuse_group(m, d, op);
		enum sched_kind kind = (enum sched_kind)s->block.p.node[s->order[k]].kind;
		const char *step = kind == SCHED_COMM ? "comm" : kind == SCHED_WAIT ? "wait" : "node";
		if (m->op.at[op].kind == OP_PACK || m->op.at[op].kind == OP_UNPACK) {
			step = m->op.at[op].kind == OP_PACK ? "pack" : "unpack";
			op = collective_of(m, op);
		}
		const char *names = members_of(m, op);
		buf_printf(out, "%s %s\n", step, names ? names : "?");
	}
	return true;
}
