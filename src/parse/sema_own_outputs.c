/* sema_own_outputs: outputs of which each device has its own.
 *
 *     P2PCommunication 5 (type=send, buffer=T0_g_float[ideviceIdx.x0{2}, iS1{4}] (DeviceMesh{0 1}), peer=…)
 *     P2PCommunication 6 (type=recv, buffer=T1_g_float[iS2{4}] (DeviceMesh{0 1}), peer=( ( rank + 1 ) % 2 ))
 *
 * An output without an axis over the devices is one tensor, which all devices have alike. Here each device receives
 * another block of T0, so T1 is f32[2@x, 4], and statements write the device's block of it. So it is for a permute,
 * for the select of a device's block, and for what local operations make of these. Loops and conditions are left
 * alone: an output that they fill step by step may be alike on all devices in the end. */
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

static struct nv_tensor *find_tensor(struct nv_reader *r, ast_id node)
{
	return nv_is(r, node, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, node)->name) : NULL;
}

/* Returns the mesh over which a tensor has an axis; 0: it has none. */
static mesh_id spread_over(struct nv_reader *r, const struct nv_tensor *t)
{
	const struct type *x = ir_type(r->s->m, t->type);
	const struct domain *d = ir_domain(r->s->m, x->domain);
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_MESH && r->s->m->mesh.at[x->mesh].rank == 1)
			return x->mesh;
	return 0;
}

/* Notes that each device of a mesh has its own tensor, if no axis of it says so. Returns true if that is new. */
static bool note(struct nv_reader *r, ast_id node, mesh_id mesh)
{
	struct nv_tensor *t = find_tensor(r, node);
	if (!t || !mesh || t->differs || spread_over(r, t))
		return false;
	t->differs = mesh;
	return true;
}

/* Returns the mesh of whose devices each has its own tensor; 0: the tensor is alike on all devices. */
static mesh_id differs_over(struct nv_reader *r, ast_id node)
{
	struct nv_tensor *t = find_tensor(r, node);
	mesh_id mesh = t ? spread_over(r, t) : 0;
	return t && t->differs ? t->differs : mesh;
}

/* Returns the mesh of the first tensor in an expression that has no axis over the devices and differs by device. */
static mesh_id find_differing(struct nv_reader *r, ast_id node)
{
	struct nv_tensor *t = find_tensor(r, node);
	if (t)
		return t->differs;
	mesh_id found = 0;
	ast_each (r->s->a, child, node)
		found = found ? found : find_differing(r, child);
	return found;
}

static bool uses_rank(const struct ast *a, ast_id e)
{
	if (ast_at(a, e)->kind == AST_NAME &&
	    (!strcmp(ast_text(a, e), "rank") || !strncmp(ast_text(a, e), "deviceIdx", 9)))
		return true;
	bool uses = false;
	ast_each (a, child, e)
		uses = uses || uses_rank(a, child);
	return uses;
}

/* Follows a definition: a select of a device's block, or a local operation. */
static bool follow_definition(struct nv_reader *r, ast_id stmt)
{
	ast_id call = ast_child(r->s->a, stmt, 1);
	mesh_id mesh =
	    nv_is_select(r, call) ? differs_over(r, ast_at(r->s->a, call)->first) : find_differing(r, call);
	bool changed = false;
	ast_each (r->s->a, target, ast_at(r->s->a, stmt)->first)
		changed |= note(r, target, mesh);
	return changed;
}

/* Follows a unit, a permute or a transfer. *sent: the mesh of a tensor that is sent and differs by device. */
static bool follow_action(struct nv_reader *r, ast_id call, mesh_id *sent)
{
	const char *name = ast_text(r->s->a, call);
	ast_id outputs = nv_key(r, call, "outputs"), buffer = nv_key(r, call, "buffer");
	bool changed = false;
	if (outputs) {
		mesh_id mesh = find_differing(r, nv_key(r, call, "inputs"));
		ast_each (r->s->a, target, outputs)
			changed |= note(r, target, mesh);
	} else if (!strcmp(name, "CollectivePermute")) {
		changed = note(r, nv_key(r, call, "output"), differs_over(r, nv_key(r, call, "input")));
	} else if (buffer && nv_is_name(r, nv_key(r, call, "type"), "send")) {
		mesh_id mesh = differs_over(r, buffer);
		*sent = *sent ? *sent : mesh;
	} else if (buffer && uses_rank(r->s->a, nv_key(r, call, "peer"))) {
		changed = note(r, buffer, *sent);
	}
	return changed;
}

static bool follow_statements(struct nv_reader *r, mesh_id *sent)
{
	bool changed = false;
	ast_each (r->s->a, child, r->body) {
		ast_id stmt = shape_expand(r->s->a, child);
		if (nv_is(r, stmt, AST_DEF))
			changed |= follow_definition(r, stmt);
		else if (nv_is(r, stmt, AST_DO))
			changed |= follow_action(r, ast_at(r->s->a, stmt)->first, sent);
	}
	return changed;
}

void nv_own_outputs(struct nv_reader *r)
{
	mesh_id sent = 0;
	if (r->has_facts || r->s->a->source->file_n > 1)
		return;
	while (follow_statements(r, &sent))
		;
	for (uint32_t i = 0; i < r->tensor.n; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		if (!t->output || t->input || !t->differs || r->s->m->mesh.at[t->differs].size[0] == 1)
			continue;
		t->own = t->differs;
		r->has_own_outputs = true;
	}
}

void nv_allocate_own_outputs(struct nv_reader *r, ast_id stmt)
{
	for (uint32_t i = 0; i < r->tensor.n && r->has_own_outputs; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		if (t->own && !t->value && nv_find_definition(r, stmt, t->name, true))
			nv_make_buffer(r, t, ast_at(r->s->a, stmt)->at);
	}
}
