/* sema_own_inputs: inputs of which each device has its own.
 *
 *     T2_l_float[iS4{16}, iS5{3}, rS6{4}] (DeviceMesh{0 1}) = matmul(T0_g_float[iS0{16}, iS1{4}], T1_g_float[iS2{4}, iS3{3}])
 *     Communication 1 (type=Allreduce, team=(0 1), input=T2_l_float…, output=T3_g_float…)
 *
 * A reduction of a tensor that all devices have alike adds the same term for each device. If the tensor is made of inputs
 * without a DeviceMesh, each device has its own: T0 is f32[2@x, 16, 4], and statements read the device's block of it. */
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/number.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

/* Returns the mesh of the operand of a reduction that is alike on all devices; 0: the statement is another one. */
static mesh_id find_alike(struct nv_reader *r, ast_id comm, struct nv_tensor **t)
{
	struct module *m = r->s->m;
	ast_id type = nv_key(r, comm, "type"), input = nv_key(r, comm, "input");
	if (strcmp(ast_text(r->s->a, comm), "Communication") || !nv_is(r, type, AST_NAME) ||
	    !(op_info[op_by_nvfuser(ast_text(r->s->a, type))].traits & TRAIT_REDUCES) ||
	    !nv_is(r, input, AST_TENSOR))
		return 0;
	*t = nv_find_tensor(r, ast_at(r->s->a, input)->name);
	mesh_id mesh = *t ? m->type.at[(*t)->type].mesh : 0;
	if (!mesh || m->mesh.at[mesh].rank != 1 || m->mesh.at[mesh].size[0] == 1)
		return 0;
	const struct domain *d = ir_domain(m, m->type.at[(*t)->type].domain);
	for (unsigned a = 0; a < d->axis_n; a++)
		if (d->axis[a].place == PLACE_MESH)
			return 0;
	return mesh;
}

/* The statements of a program in their order, as names of tensors. */
struct step {
	uint32_t result,
	    operand; /* its results begin here in steps.name, then its operands, up to the next step */
};
struct steps {
	VEC(name_id) name;
	VEC(struct step) step;
};

static void list_tensors(const struct ast *a, ast_id node, struct steps *out)
{
	if (ast_at(a, node)->kind == AST_TENSOR)
		vec_push(&out->name, ast_at(a, node)->name);
	ast_each (a, child, node)
		list_tensors(a, child, out);
}

static void list_steps(struct nv_reader *r, ast_id tree, struct steps *out)
{
	static const char *const result[] = {"output", "out", "outputs"};
	struct ast *a = r->s->a;
	ast_id stmt = shape_expand(a, tree);
	uint8_t kind = ast_at(a, stmt)->kind;
	if (kind == AST_FOR || kind == AST_IF || kind == AST_BLOCK)
		ast_each (a, child, stmt)
			list_steps(r, child, out);
	if (kind != AST_DEF && kind != AST_DO)
		return;
	struct step x = {.result = out->name.n};
	if (kind == AST_DEF)
		list_tensors(a, ast_at(a, stmt)->first, out);
	for (unsigned i = 0; i < 3 && kind == AST_DO; i++) {
		ast_id node = nv_key(r, ast_at(a, stmt)->first, result[i]);
		if (node)
			list_tensors(a, node, out);
	}
	x.operand = out->name.n;
	list_tensors(a, kind == AST_DEF ? ast_child(a, stmt, 1) : stmt, out);
	vec_push(&out->step, x);
}

/* Marks a tensor that enters a reduction on a mesh. Returns true if it was not marked before. */
static bool mark(struct nv_reader *r, name_id name, mesh_id mesh)
{
	struct nv_tensor *t = nv_find_tensor(r, name);
	if (!t || t->followed)
		return false;
	t->followed = true;
	if (t->input && !r->s->m->type.at[t->type].mesh)
		t->own = mesh;
	return true;
}

/* Marks the operands of a step if one of its results is marked. */
static bool mark_operands(struct nv_reader *r, const struct steps *l, uint32_t k, mesh_id mesh)
{
	uint32_t end = k + 1 < l->step.n ? l->step.at[k + 1].result : l->name.n;
	bool needed = false, changed = false;
	for (uint32_t i = l->step.at[k].result; i < l->step.at[k].operand; i++) {
		const struct nv_tensor *t = nv_find_tensor(r, l->name.at[i]);
		needed |= t && t->followed && !t->input;
	}
	for (uint32_t i = l->step.at[k].operand; i < end && needed; i++)
		changed |= mark(r, l->name.at[i], mesh);
	return changed;
}

void nv_own_inputs(struct nv_reader *r)
{
	mesh_id mesh = 0;
	if (r->has_facts || r->s->a->source->file_n > 1)
		return;
	for (uint32_t i = 0; i < r->statement.n; i++) {
		struct nv_tensor *t;
		mesh_id alike = find_alike(r, r->statement.at[i].node, &t);
		if (alike && (!mesh || mesh == alike))
			mark(r, t->name, mesh = alike);
	}
	struct steps l = {0};
	if (mesh)
		list_steps(r, r->body, &l);
	/* a loop's statements may read what later ones of the iteration before have written */
	for (bool changed = mesh; changed;) {
		changed = false;
		for (uint32_t k = l.step.n; k-- > 0;)
			changed |= mark_operands(r, &l, k, mesh);
	}
	vec_free(&l.name);
	vec_free(&l.step);
}

/* Returns the type of all devices' tensors. */
static type_id own_type(struct nv_reader *r, const struct nv_tensor *t)
{
	struct module *m = r->s->m;
	const struct mesh *mesh = &m->mesh.at[t->own];
	struct type x = m->type.at[t->type];
	type_id all = infer_stack(m, t->type, expr_const(m, mesh->size[0]));
	if (!all)
		return t->type;
	struct domain_builder b;
	domain_edit(&b, ir_domain(m, m->type.at[all].domain));
	unsigned at = 0;
	while (b.loop[at])
		at++;
	if (domain_parallelize(m, &b, at, PLACE_MESH, mesh, 0))
		return t->type;
	domain_parallel_to_front(&b);
	domain_allocate_default(&b, false);
	return type_make(m, (enum dtype)x.dtype, (enum memory)x.memory, t->own, domain_finish(m, &b));
}

value_id nv_define_whole(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	uint32_t number_at = t->number_at;
	t->type = own_type(r, t);
	t->number_at = r->number.n; /* the printed numbers are those of the block */
	t->whole = nv_define(r, t, at);
	t->number_at = number_at;
	return t->whole;
}

void nv_take_block(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	struct module *m = r->s->m;
	value_id block = nv_device_block(r, at, t->whole);
	t->type = m->value.at[block].type;
	ir_set_axis_numbers(m, block, r->number.at + t->number_at);
	nv_stand_for(r, t, block);
}
