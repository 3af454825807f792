/* verify: checks the rules of every program, and finds the stages it has reached.
 *
 * An error reported here is a bug of the pass that ran last, or a mistake in a dump edited by hand. The
 * semantic step reports the errors of users in better words. */
#include "ir/verify.h"
#include "ir/coalesce.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "ir/pack.h"
#include "ir/print.h"
#include "ir/unit.h"
#include <string.h>

struct verifier {
	struct module *m;
	struct diag *d;
	unsigned errors;
	uint8_t *defined; /* by value_id: a statement defined it */
};

static void report_violation(struct verifier *v, op_id op, const char *what)
{
	struct buf text = {0};
	if (op)
		ir_print_statement(v->m, op, &text);
	diag_error(v->d, E_VERIFY, op ? v->m->op.at[op].at : DIAG_NOWHERE, "verify: %s%s%s", what,
	           op ? ": " : "", op ? text.at : "");
	buf_free(&text);
	v->errors++;
}

/* Checks that every loop axis derives from logical axes, and that no axis is consumed twice. */
static const char *domain_error(const struct domain *d)
{
	uint8_t uses[IR_MAX_AXES] = {0};
	unsigned made = d->logical_n;
	for (unsigned i = 0; i < d->xform_n; i++) {
		const struct xform *x = &d->xform[i];
		bool split = x->kind == XFORM_SPLIT_OUTER || x->kind == XFORM_SPLIT_INNER;
		if (x->in[0] >= made || (x->kind == XFORM_MERGE && x->in[1] >= made))
			return "a transform uses an axis that is made later";
		uses[x->in[0]]++;
		if (x->kind == XFORM_MERGE)
			uses[x->in[1]]++;
		if (x->out[0] != made || (split && x->out[1] != made + 1))
			return "a transform's axes are out of order";
		made += split ? 2 : 1;
	}
	if (made != d->axis_n)
		return "an axis comes from nowhere";
	for (unsigned i = 0; i < d->loop_n; i++)
		uses[d->loop[i]]++;
	for (unsigned a = 0; a < d->axis_n; a++)
		if (uses[a] != 1)
			return "an axis is used twice or not at all";
	unsigned meshes = 0;
	for (unsigned i = 0; i < d->loop_n; i++) {
		const struct axis *x = &d->axis[d->loop[i]];
		if (x->place == PLACE_MESH && meshes >> x->mesh_axis & 1)
			return "a mesh axis is used twice";
		meshes |= x->place == PLACE_MESH ? 1u << x->mesh_axis : 0;
	}
	return NULL;
}

static void check_value(struct verifier *v, op_id op, value_id id)
{
	const struct type *t = value_type(v->m, id);
	const struct domain *d = value_domain(v->m, id);
	const char *error = domain_error(d);
	if (error)
		report_violation(v, op, error);
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_MESH &&
		    (!t->mesh || d->axis[d->loop[i]].mesh_axis >= v->m->mesh.at[t->mesh].rank))
			report_violation(v, op, "an axis lies on a mesh axis that there is not");
}

static void check_operands(struct verifier *v, op_id op)
{
	struct module *m = v->m;
	const struct op *o = &m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	unsigned reads = 0, writes = 0, stage = 0;
	for (unsigned i = 0; i < o->operand_n; i++) {
		const struct operand *p = &m->operand.at[o->operand + i];
		unsigned order = p->role == ROLE_DEF ? 0 : p->role == ROLE_WRITE ? 2 : 1;
		if (p->op != op)
			report_violation(v, op, "an operand belongs to another statement");
		if (order < stage)
			report_violation(v, op, "operands are out of order");
		stage = order;
		switch ((enum role)p->role) {
		case ROLE_DEF:
			if (m->value.at[p->id].def != op)
				report_violation(v, op, "a result is defined elsewhere");
			else if (v->defined[p->id]++)
				report_violation(v, op, "a result is defined twice");
			check_value(v, op, p->id);
			break;
		case ROLE_READ:
			reads++; /* falls through */
		case ROLE_FREE:
			if (!v->defined[p->id])
				report_violation(v, op, "a value is used before it is defined");
			break;
		case ROLE_WRITE:
			writes++;
			if (!v->defined[p->id])
				report_violation(v, op, "a value is written before it is bound");
			else if (!ir_is_bound(m, p->id))
				report_violation(v, op, "a value that is not bound is written");
			break;
		case ROLE_SCALAR:
			reads += op_info_takes_number((enum op_kind)o->kind, reads);
			if (!p->id)
				report_violation(v, op, "a scalar is missing");
			break;
		case ROLE_STATEMENT:
			if (!(m->op.at[p->id].flags & OP_ASYNC) || m->op.at[p->id].flags & OP_DEAD)
				report_violation(v, op, "the operand of a wait or post is no Communication");
			break;
		case ROLE_HANDLE:
			break;
		}
	}
	if (info->form == FORM_CALL && o->kind != OP_EXTERN &&
	    (reads < info->min_reads || reads > info->max_reads))
		report_violation(v, op, "the number of operands is wrong");
	if (info->traits & TRAIT_P2P && reads + writes != 1)
		report_violation(v, op, "a send or receive has one buffer");
	if (o->flags & OP_ASYNC && !(info->traits & (TRAIT_COLLECTIVE | TRAIT_P2P | TRAIT_ASYNC)))
		report_violation(v, op, "only Communications are asynchronous");
	if (info->form == FORM_VIEW && o->def_n != 1)
		report_violation(v, op, "a view defines one value");
	if (o->kind == OP_SYMMETRIC_VIEW && reads == 1 &&
	    (value_type(m, op_read(m, op, 0))->memory != MEMORY_SYMMETRIC || !o->team ||
	     infer_symmetric_team(m, op) != o->team))
		report_violation(v, op,
		                 "a symmetric view is not its operand with a mesh axis' blocks side by side");
	if (o->kind == OP_ALLOCATE && o->def_n != 1)
		report_violation(v, op, "an allocate defines one buffer");
}

bool ir_verify_types(struct module *m, struct diag *d, op_id op)
{
	value_id operand[INFER_MAX_OPERANDS];
	const struct op o = m->op.at[op];
	unsigned n = 0;
	bool ok = true;
	uint32_t traits = op_info[o.kind].traits;
	bool has_rule = op_info[o.kind].form == FORM_CALL || op_info[o.kind].form == FORM_VIEW ||
	                traits & TRAIT_COLLECTIVE;
	if (!has_rule || traits & TRAIT_OPAQUE || !op_result(m, op, 0))
		return true;
	for (unsigned i = 0; i < o.operand_n && n < INFER_MAX_OPERANDS; i++) {
		const struct operand *p = &m->operand.at[o.operand + i];
		if (p->role == ROLE_READ)
			operand[n++] = p->id;
		else if (p->role == ROLE_SCALAR && traits & TRAIT_POINTWISE)
			operand[n++] = 0;
	}
	struct infer_draft draft = {.kind = (enum op_kind)o.kind,
	                            .operand = operand,
	                            .operand_n = n,
	                            .attrs = o.attrs,
	                            .team = o.team,
	                            .at = o.at};
	draft.result_n = op_result_count(m, op);
	for (; ok && draft.result < draft.result_n; draft.result++) {
		draft.stated = m->value.at[op_result(m, op, draft.result)].type;
		draft.first = draft.result ? m->value.at[op_result(m, op, 0)].type : 0;
		ok = infer_check(m, d, &draft);
	}
	return ok;
}

static void check_type(struct verifier *v, op_id op)
{
	enum op_kind kind = (enum op_kind)v->m->op.at[op].kind;
	unsigned n = op_result_count(v->m, op);
	if (op_info[kind].form == FORM_CALL && n && !op_info_takes_results(kind, n))
		report_violation(v, op, "the number of results is wrong");
	v->errors += !ir_verify_types(v->m, v->d, op);
}

static void check_pack(struct verifier *v, op_id op)
{
	struct buf text = {0};
	if (ir_pack_fault(v->m, op, &text))
		report_violation(v, op, text.at);
	buf_free(&text);
}

static void check_region(struct verifier *v, region_id r, unsigned depth)
{
	struct module *m = v->m;
	op_id prev = 0;
	if (depth > IR_MAX_NESTING) {
		report_violation(v, m->region.at[r].owner, "blocks are nested too deeply");
		return;
	}
	for (op_id op = m->region.at[r].first; op; op = m->op.at[op].next) {
		const struct op *o = &m->op.at[op];
		if (o->parent != r || o->prev != prev || o->flags & OP_DEAD)
			report_violation(v, op, "the list of statements is broken");
		check_operands(v, op);
		check_type(v, op);
		if (o->kind == OP_PACK || o->kind == OP_UNPACK)
			check_pack(v, op);
		const char *rule;
		op_id fault = op_is_unit(m, op) ? ir_unit_fault(m, op, &rule) : 0;
		if (fault)
			report_violation(v, fault, rule);
		for (region_id g = m->op.at[op].region; g; g = m->region.at[g].sibling) {
			if (m->region.at[g].owner != op)
				report_violation(v, op, "a block belongs to another statement");
			check_region(v, g, depth + 1);
		}
		prev = op;
	}
	if (m->region.at[r].last != prev)
		report_violation(v, m->region.at[r].owner, "the list of statements is broken at its end");
	/* a value defined in a block is not visible outside */
	bool is_block = depth && !(m->op.at[m->region.at[r].owner].flags & OP_FILE);
	for (op_id op = m->region.at[r].first; op && is_block; op = m->op.at[op].next)
		for (unsigned k = 0; k < m->op.at[op].def_n; k++)
			v->defined[op_def(m, op, k)] = 0;
}

static void check_uses(struct verifier *v)
{
	struct module *m = v->m;
	for (value_id i = 1; i < m->value.n; i++)
		for (uint32_t u = m->value.at[i].first_use; u; u = m->operand.at[u].next_use) {
			const struct operand *p = &m->operand.at[u];
			if (p->id != i || p->role > ROLE_FREE) {
				report_violation(v, p->op, "the chain of uses is broken");
				break;
			}
		}
}

bool ir_verify(struct module *m, struct diag *d)
{
	struct verifier v = {.m = m, .d = d, .defined = mem_zalloc(m->value.n)};
	for (uint32_t i = 0; i < m->input.n; i++) {
		v.defined[m->input.at[i].value] = 1;
		check_value(&v, 0, m->input.at[i].value);
	}
	check_region(&v, m->body, 0);
	check_uses(&v);
	struct ir_coalesce_fault f;
	if (!v.errors && !ir_coalesce_check(m, &f))
		report_violation(&v, f.op, f.rule);
	for (uint32_t i = 0; i < m->output.n; i++)
		if (!v.defined[m->output.at[i]])
			report_violation(&v, m->value.at[m->output.at[i]].def,
			                 "an output is defined nowhere");
	free(v.defined);
	return v.errors == 0;
}

/* Returns true if a set only copies: each rank's part of the result is its part of the operand. */
static bool is_local_set(const struct module *m, op_id op)
{
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	const struct domain *a = value_domain(m, from), *b = value_domain(m, to);
	if (value_type(m, from)->mesh != value_type(m, to)->mesh || a->rank != b->rank)
		return false;
	for (unsigned i = a->rank; i < a->logical_n; i++)
		if (a->axis[i].kind == AXIS_PARTIAL && layout_partial(b, a->axis[i].mesh_axis) < 0)
			return false;
	for (unsigned i = 0; i < a->rank; i++)
		if (layout_mesh_axes(m, m->value.at[from].type, i) &&
		    !layout_same_footprint(m, m->value.at[from].type, i, m->value.at[to].type, i))
			return false;
	return true;
}

unsigned ir_properties(struct module *m)
{
	unsigned p =
	    IR_SHARDED | IR_DECOMPOSED | IR_LOOPED | IR_LOWERED | IR_SCHEDULED | IR_STREAMED | IR_BOUND;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		const struct op *o = &m->op.at[op];
		bool top = o->parent == m->body;
		struct infer_axes x;
		for (unsigned k = 0; k < o->def_n; k++) {
			value_id v = op_def(m, op, k);
			if (m->value.at[v].flags & VALUE_OPEN)
				p &= ~(unsigned)IR_SHARDED;
			if (!ir_is_bound(m, v) && !ir_is_opaque(m, op) && !ir_is_unit_local(m, v))
				p &= ~(unsigned)IR_BOUND;
			if (top && !ir_is_bound(m, v) && layout_loop_axis(value_domain(m, v), 0) >= 0)
				p &= ~(unsigned)IR_LOOPED;
		}
		if (o->kind == OP_SET && !is_local_set(m, op))
			p &= ~(unsigned)IR_LOWERED;
		if (op_info[o->kind].traits & TRAIT_COLLECTIVE && !(o->flags & OP_ASYNC))
			p &= ~(unsigned)IR_LOWERED;
		if (o->kind == OP_FOR && o->flags & OP_STREAM_LOOP && top && !ir_sets_streams(m, o->region))
			p &= ~(unsigned)IR_STREAMED;
		if (o->kind == OP_SET || op_info[o->kind].traits & TRAIT_COLLECTIVE || !infer_axes(m, op, &x))
			continue;
		type_id result = m->value.at[op_result(m, op, 0)].type;
		for (unsigned k = 0; k < x.operand_n; k++) {
			type_id t = m->value.at[op_read(m, op, k)].type;
			const struct domain *d = value_domain(m, op_read(m, op, k));
			for (unsigned a = 0; a < d->rank; a++) {
				if (x.operand[k][a] == INFER_NONE)
					continue;
				for (unsigned b = 0; b < value_domain(m, op_result(m, op, 0))->rank; b++)
					if (x.result[b] == x.operand[k][a] &&
					    x.kind[x.result[b]] == DIM_PARALLEL &&
					    !layout_same_footprint(m, t, a, result, b))
						p &= ~(unsigned)IR_DECOMPOSED;
			}
		}
	}
	return p;
}
