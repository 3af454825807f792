/* sema_ranks: the mesh of a listing that prints no devices.
 *
 *     P2PCommunication 5 (type=send, buffer=T0_g_float[iS0{8}], peer=1, backend=CUDA)
 *
 * A transfer's buffer needs no DeviceMesh in nvFuser: each device has one. So all tensors of such a listing are on all
 * ranks, of which --np states the number. */
#include "base/arena.h"
#include "ir/expr.h"
#include "ir/print_nvfuser.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

static bool prints_devices(struct nv_reader *r)
{
	for (uint32_t i = 0; i < r->tensor.n; i++)
		if (r->tensor.at[i].devices ||
		    nv_is(r, ast_child(r->s->a, shape_tensor(r->s->a, r->tensor.at[i].node), 1), AST_DEVICES))
			return true;
	return false;
}

/* Returns the first transfer of a listing; 0: none. */
static ast_id find_transfer(const struct nv_reader *r)
{
	for (uint32_t i = 0; i < r->statement.n; i++)
		if (!strcmp(ast_text(r->s->a, r->statement.at[i].node), "P2PCommunication"))
			return r->statement.at[i].node;
	return 0;
}

static int64_t count_ranks(struct sema *s)
{
	const struct scope_entry *np = sema_find_scalar(s, names_intern_z(s->m->names, "np"));
	int64_t n = 1;
	if (np && np->kind == SCOPE_CONST)
		expr_is_const(s->m, np->id, &n);
	return n;
}

static mesh_id make_mesh(struct sema *s, uint32_t ranks, uint32_t at)
{
	struct buf name = {0}, axis = {0};
	nvfuser_default_mesh_name(0, &name);
	nvfuser_default_axis_name(1, 0, &axis);
	uint32_t *device = mem_alloc(sizeof *device * ranks);
	for (uint32_t i = 0; i < ranks; i++)
		device[i] = i;
	struct mesh x = {.name = names_intern_z(s->m->names, name.at),
	                 .axis_name = {names_intern_z(s->m->names, axis.at)},
	                 .rank = 1,
	                 .size = {ranks},
	                 .device_count = ranks,
	                 .device = device,
	                 .at = at};
	mesh_id id = ir_mesh_add(s->m, &x);
	free(device);
	buf_free(&name);
	buf_free(&axis);
	return id;
}

void nv_ranks(struct nv_reader *r)
{
	struct sema *s = r->s;
	ast_id transfer = r->has_facts || prints_devices(r) ? 0 : find_transfer(r);
	int64_t ranks = transfer ? count_ranks(s) : 1;
	if (ranks > 1 && ranks <= IR_MAX_DEVICES)
		r->all_ranks = make_mesh(s, (uint32_t)ranks, ast_at(s->a, transfer)->at);
	if (!transfer || s->options->np > 0 || sema_find_define(s, "np"))
		return;
	diag_warning(s->d, W_PRINTED_RANKS, ast_at(s->a, transfer)->at,
	             "this listing has a transfer, but no DeviceMesh; it is read for one rank");
	diag_note(s->d, DIAG_NOWHERE, "--np=N reads it for N ranks");
}
