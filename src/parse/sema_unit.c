/* sema_unit: reads HostUnits, whose text follows the container's body.
 *
 *     PostOnStream (HostUnit0, Inputs:{T7…, }, Outputs:{T8…, })
 *     …
 *     HostUnit0: Inputs={T0…, } -> Outputs={T1…, }      →    unit {
 *     %kernel {                                                T8 <- relu(T7)
 *     T1… = relu(T0…)                                        }
 *     } // %kernel
 *
 * A unit's tensors are visible only in it; the container may have another T1. Its inputs and outputs stand
 * for the tensors that it is posted with, and its scalars for the scalars. A unit that is posted twice becomes two units.
 *
 * nvFuser does not print the text of a kernel: `LaunchKernel( Group ID: 0, … )` without it holds an extern. So does a
 * PostOnStream if the listing shows no text of a HostUnit. */
#include "ir/edit.h"
#include "ir/unit.h"
#include "parse/nvfuser.h"
#include <stdio.h>
#include <string.h>

static void mark_formal(struct nv_reader *r, ast_id list, bool inputs)
{
	ast_each (r->s->a, tensor, list) {
		struct nv_tensor *t =
		    nv_is(r, tensor, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, tensor)->name) : NULL;
		if (t)
			t->formal = true;
		else if (!inputs || !nv_is(r, tensor, AST_NAME)) /* a scalar */
			nv_refuse(r, E_OPERAND_TENSOR, tensor, "a tensor is expected here");
	}
}

void nv_collect_unit(struct nv_reader *r, ast_id node)
{
	struct ast *a = r->s->a;
	name_id name = ast_at(a, node)->name;
	for (uint32_t i = 0; i < r->unit.n; i++)
		if (r->unit.at[i].name == name) {
			nv_refuse(r, E_DEFINED_TWICE, node, "there are two units of this name");
			return;
		}
	vec_push(&r->unit, (struct nv_unit){.name = name, .node = node, .first = r->tensor.n});
	r->in_unit = r->unit.n;
	for (unsigned list = 1; list < 3; list++) {
		nv_collect_node(r, ast_child(a, node, list));
		mark_formal(r, ast_child(a, node, list), list == 1);
	}
	nv_collect_node(r, ast_child(a, node, 0));
	if (nv_is(r, ast_child(a, node, 3), AST_SECTION))
		nv_collect_blocks(r, ast_child(a, node, 3));
	r->in_unit = 0;
	for (uint32_t i = r->unit.at[r->unit.n - 1].first; i < r->tensor.n; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		while (r->local_of.n <= t->name)
			vec_push(&r->local_of, 0);
		bool known = t->name < r->tensor_of.n && r->tensor_of.at[t->name];
		t->again = known || r->local_of.at[t->name];
		if (!r->local_of.at[t->name] && !t->formal)
			r->local_of.at[t->name] = i + 1;
	}
}

/* Appends the name of the unit that a call names: HostUnit0 by its first operand, or Group0 by `Group ID: 0`. */
static void put_unit_name(struct nv_reader *r, ast_id call, enum op_kind kind, struct buf *out)
{
	struct ast *a = r->s->a;
	ast_id first = ast_at(a, call)->first, group = nv_key(r, call, "group_id");
	if (kind == OP_UNIT && nv_is(r, first, AST_NAME))
		buf_puts(out, ast_text(a, first));
	else if (kind == OP_LAUNCH_KERNEL && nv_is(r, group, AST_INT))
		buf_printf(out, "Group%lld", (long long)ast_at(a, group)->value.i);
	else
		buf_puts(out, "");
}

enum op_kind nv_post_kind(struct nv_reader *r, ast_id call)
{
	const char *name = ast_text(r->s->a, call);
	return !strcmp(name, "PostOnStream")   ? OP_UNIT
	       : !strcmp(name, "LaunchKernel") ? OP_LAUNCH_KERNEL
	                                       : OP_NONE;
}

static struct nv_unit *find_unit(struct nv_reader *r, const char *name)
{
	struct ast *a = r->s->a;
	for (uint32_t i = 0; i < r->unit.n; i++)
		if (!strcmp(ast_text(a, r->unit.at[i].node), name))
			return &r->unit.at[i];
	return NULL;
}

struct nv_unit *nv_posted_unit(struct nv_reader *r, ast_id call)
{
	struct buf name = {0};
	put_unit_name(r, call, nv_post_kind(r, call), &name);
	struct nv_unit *u = find_unit(r, name.at);
	buf_free(&name);
	return u;
}

/* Returns true if the listing has the text of a HostUnit. */
static bool shows_units(struct nv_reader *r)
{
	for (uint32_t i = 0; i < r->unit.n; i++)
		if (strncmp(ast_text(r->s->a, r->unit.at[i].node), "Group", 5) != 0)
			return true;
	return false;
}

static unsigned count_children(struct nv_reader *r, ast_id list)
{
	unsigned n = 0;
	ast_each (r->s->a, child, list)
		n++;
	return n;
}

static bool same_length(struct nv_reader *r, ast_id call, const struct nv_unit *u, const char *what,
                        unsigned n, unsigned wanted)
{
	if (n == wanted)
		return true;
	diag_error(r->s->d, E_UNIT_RULE, ast_at(r->s->a, call)->at, "%s has %u %s, this has %u",
	           ast_text(r->s->a, u->node), wanted, what, n);
	return false;
}

/* Makes buffers for outputs that have none. Either all outputs are buffers, or none is. */
static bool bind_outputs(struct nv_reader *r, ast_id call, ast_id list, enum op_kind kind)
{
	unsigned bound = 0, n = 0;
	ast_each (r->s->a, node, list) {
		struct nv_tensor *t;
		value_id v;
		if (!nv_result(r, node, &t, &v))
			return false;
		bound += v != 0;
		n++;
	}
	if (kind == OP_LAUNCH_KERNEL && bound < n)
		return nv_refuse(r, E_UNIT_OUTPUTS, call, "not all outputs to the kernel were preallocated");
	if (bound && bound < n)
		return nv_refuse(r, E_UNIT_OUTPUTS, call, "outputs must be all or none preallocated");
	for (ast_id node = bound ? 0 : ast_at(r->s->a, list)->first; node;
	     node = ast_at(r->s->a, node)->next) {
		value_id v =
		    nv_define(r, nv_find_tensor(r, ast_at(r->s->a, node)->name), ast_at(r->s->a, node)->at);
		nv_append(r, ir_op_new(r->s->m, OP_ALLOCATE, ast_at(r->s->a, call)->at,
		                       &(struct ir_use){ROLE_DEF, v}, 1));
	}
	return true;
}

/* Reads the operands of a call, in order; formal is the unit's list, or 0. Returns false after reporting. */
static bool read_operands(struct nv_reader *r, ast_id list, ast_id formal, enum role role, struct ir_use *out)
{
	struct ast *a = r->s->a;
	ast_id as = formal ? ast_at(a, formal)->first : 0;
	ast_each (a, node, list) {
		bool scalar = as ? nv_is(r, as, AST_NAME) : role == ROLE_READ && !nv_is(r, node, AST_TENSOR);
		if (!scalar)
			*out = (struct ir_use){role, nv_operand(r, node)};
		else if (!sema_operand(r->s, node, out))
			return false;
		if (!out++->id)
			return false;
		as = as ? ast_at(a, as)->next : 0;
	}
	return true;
}

static void stand_for(struct nv_reader *r, ast_id list, const struct ir_use *use)
{
	struct sema *s = r->s;
	ast_each (s->a, node, list) {
		const struct ast_node n = *ast_at(s->a, node);
		uint32_t id = use++->id;
		if (n.kind == AST_NAME) {
			expr_id e = s->m->scalar.at[id].expr;
			sema_define_scalar(s, n.name, e ? SCOPE_LET : SCOPE_NUMBER, e ? e : id, n.at);
			continue;
		}
		struct nv_tensor *t = nv_find_tensor(r, n.name);
		t->type = s->m->value.at[id].type;
		nv_stand_for(r, t, id);
	}
}

/* Puts the statements of a unit in its place: nvFuser makes several kernels of it. */
static void dissolve_unit(struct module *m, op_id unit)
{
	region_each (m, op, m->op.at[unit].region)
		ir_move_before(m, unit, op);
	ir_remove(m, unit);
}

/* Reads the unit's statements, with the call's operands in place of its inputs and outputs. */
static void read_unit(struct nv_reader *r, ast_id call, struct nv_unit *u, const struct ir_use *in,
                      const struct ir_use *out, enum op_kind kind)
{
	struct sema *s = r->s;
	unsigned before = diag_error_count(s->d);
	value_id *outer = mem_zalloc(sizeof *outer * (u->n + 1));
	for (uint32_t k = 0; k < u->n; k++) {
		struct nv_tensor *t = &r->tensor.at[u->first + k];
		outer[k] = t->name < s->tensor_of.n ? s->tensor_of.at[t->name] : 0;
		t->value = 0;
		t->again |= u->posted;
	}
	u->posted = true;
	struct nv_extents extents;
	nv_list_extents(r, call, u, &extents);
	r->in_unit = (uint32_t)(u - r->unit.at) + 1;
	sema_scope_push(s);
	stand_for(r, ast_child(s->a, u->node, 1), in);
	stand_for(r, ast_child(s->a, u->node, 2), out);
	nv_define_extents(r, u, &extents);
	op_id op = ir_op_new(s->m, kind, ast_at(s->a, call)->at, NULL, 0);
	nv_append(r, op);
	nv_region(r, ir_region_new(s->m, op), ast_child(s->a, u->node, 0));
	sema_scope_pop(s);
	r->in_unit = 0;
	for (uint32_t k = 0; k < u->n; k++)
		if (r->tensor.at[u->first + k].name < s->tensor_of.n)
			s->tensor_of.at[r->tensor.at[u->first + k].name] = outer[k];
	free(outer);
	if (diag_error_count(s->d) > before)
		return;
	const char *rule;
	if (!r->has_facts && ir_unit_fault(s->m, op, &rule))
		dissolve_unit(s->m, op);
	else
		sema_check_unit(s, op);
}

static void refuse_unit(struct nv_reader *r, ast_id call, const char *name)
{
	nv_refuse(r, E_UNIT_UNKNOWN, call, "the text of this unit is missing");
	diag_note(r->s->d, DIAG_NOWHERE,
	          "it follows the container's body: `%s: Inputs={…} -> Outputs={…}`, `%%kernel {`, …",
	          *name ? name : "HostUnit0");
}

/* Makes launch_kernel { out <- extern "Group0"(in) } of a kernel whose text is not printed, or a unit likewise. Its
 * scalars stand behind its tensors. */
static void post_unknown(struct nv_reader *r, ast_id call, enum op_kind kind, const char *name,
                         const struct ir_use *x, unsigned n)
{
	static const enum role order[] = {ROLE_READ, ROLE_SCALAR, ROLE_WRITE};
	struct sema *s = r->s;
	uint32_t at = ast_at(s->a, call)->at;
	struct ir_use *use = mem_zalloc(sizeof *use * (n + 1));
	unsigned m = 0;
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < n; k++)
			if (x[k].role == order[i])
				use[m++] = x[k];
	op_id unit = ir_op_new(s->m, kind, at, NULL, 0);
	nv_append(r, unit);
	region_id g = ir_region_new(s->m, unit);
	op_id kernel = ir_op_new(s->m, OP_EXTERN, at, use, m);
	struct attr callee = {.key = names_intern_z(s->m->names, "callee"),
	                      .kind = ATTR_STRING,
	                      .u.name = names_intern_z(s->m->names, name)};
	nv_op(r, kernel)->attrs = ir_attrs_with(s->m, 0, &callee);
	ir_append(s->m, g, kernel);
	free(use);
}

static void post_named_unit(struct nv_reader *r, ast_id call, enum op_kind kind, const char *name)
{
	ast_id in = nv_key(r, call, "inputs"), out = nv_key(r, call, "outputs");
	struct nv_unit *u = find_unit(r, name);
	bool unknown = !u && *name && (kind == OP_LAUNCH_KERNEL || !shows_units(r));
	if (!u && !unknown)
		refuse_unit(r, call, name);
	if ((!u && !unknown) || sema_too_deep(r->s, call))
		return;
	unsigned n = in ? count_children(r, in) : 0, m = out ? count_children(r, out) : 0;
	if (r->in_unit) {
		nv_refuse(r, E_UNIT_RULE, call, "a unit holds no other");
		return;
	}
	ast_id formal_in = u ? ast_child(r->s->a, u->node, 1) : 0,
	       formal_out = u ? ast_child(r->s->a, u->node, 2) : 0;
	if (u && (!same_length(r, call, u, "inputs", n, count_children(r, formal_in)) ||
	          !same_length(r, call, u, "outputs", m, count_children(r, formal_out))))
		return;
	if (m && !bind_outputs(r, call, out, kind))
		return;
	struct ir_use *use = mem_zalloc(sizeof *use * (n + m + 1));
	bool read = (!n || read_operands(r, in, formal_in, ROLE_READ, use)) &&
	            (!m || read_operands(r, out, formal_out, ROLE_WRITE, use + n));
	if (read && u)
		read_unit(r, call, u, use, use + n, kind);
	else if (read)
		post_unknown(r, call, kind, name, use, n + m);
	free(use);
}

void nv_post_unit(struct nv_reader *r, ast_id call, enum op_kind kind)
{
	struct buf name = {0};
	put_unit_name(r, call, kind, &name);
	post_named_unit(r, call, kind, name.at);
	buf_free(&name);
}
