/* infer_device: axes that are spread over devices without a split, as nvFuser prints them.
 *
 *     T0_g_float[ideviceIdx.x0{2}, iS1{4}] (DeviceMesh{0 1})     f32[2@x, 4]: a device has one index of axis 0
 *
 * A reduction over the devices takes that axis away; the tensor is one term of the sum then. */
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include <string.h>

int infer_device_axis(const struct module *m, type_id operand, int mesh_axis)
{
	const struct domain *d = &m->domain.at[m->type.at[operand].domain];
	for (unsigned i = 0; i < d->loop_n; i++) {
		const struct axis *a = &d->axis[d->loop[i]];
		if (a->place == PLACE_MESH && a->kind == AXIS_ITER && d->loop[i] < d->rank &&
		    (mesh_axis < 0 || a->mesh_axis == mesh_axis))
			return d->loop[i];
	}
	return -1;
}

/* Returns true if a slice of one team is a slice of another one. */
static bool has_slice(const struct team *large, const struct team *small)
{
	uint32_t n = small->start[1] - small->start[0];
	for (unsigned k = 0; k < large->slice_n; k++)
		if (large->start[k + 1] - large->start[k] == n &&
		    !memcmp(large->device + large->start[k], small->device + small->start[0],
		            n * sizeof *small->device))
			return true;
	return false;
}

int infer_team_axis(struct module *m, mesh_id mesh, team_id team)
{
	for (uint8_t k = 0; mesh && team && k < m->mesh.at[mesh].rank; k++) {
		team_id along = ir_team_of_mesh(m, mesh, &k, 1);
		if (has_slice(ir_team(m, along), ir_team(m, team)))
			return k;
	}
	return -1;
}

team_id infer_whole_team(struct module *m, mesh_id mesh, team_id team)
{
	const struct team *t = ir_team(m, team);
	if (t->slice_n != 1 || t->start[1] == m->mesh.at[mesh].device_count)
		return team;
	int axis = infer_team_axis(m, mesh, team);
	uint8_t along = (uint8_t)axis;
	return axis < 0 ? team : ir_team_of_mesh(m, mesh, &along, 1);
}

int infer_reduced_device_axis(struct module *m, type_id operand, team_id team)
{
	int only = infer_device_axis(m, operand, -1);
	mesh_id mesh = m->type.at[operand].mesh;
	if (only < 0 || m->mesh.at[mesh].rank == 1)
		return only;
	int along = infer_team_axis(m, mesh, team);
	return along < 0 ? -1 : infer_device_axis(m, operand, along);
}

/* Returns the number of an axis after one was added behind the visible axes. */
static uint8_t moved(const struct domain *d, uint8_t axis)
{
	return (uint8_t)(axis + (axis >= d->rank));
}

/* Returns a domain with a pending reduction over a mesh axis behind its visible axes; 0: it has too many axes. */
static domain_id with_partial(struct module *m, domain_id id, struct axis partial)
{
	const struct domain d = m->domain.at[id];
	struct domain_builder b;
	if (d.axis_n == IR_MAX_AXES || d.logical_n == IR_MAX_LOGICAL)
		return 0;
	domain_begin(&b);
	for (unsigned a = 0; a <= d.axis_n; a++)
		b.axis[a] = a == d.rank ? partial : d.axis[a - (a > d.rank)];
	b.axis_n = (uint8_t)(d.axis_n + 1), b.logical_n = (uint8_t)(d.logical_n + 1), b.rank = d.rank;
	for (unsigned x = 0; x < d.xform_n; x++) {
		struct xform f = d.xform[x];
		f.in[0] = moved(&d, f.in[0]), f.out[0] = moved(&d, f.out[0]);
		if (f.kind == XFORM_MERGE)
			f.in[1] = moved(&d, f.in[1]);
		if (f.kind == XFORM_SPLIT_OUTER || f.kind == XFORM_SPLIT_INNER)
			f.out[1] = moved(&d, f.out[1]);
		b.xform[b.xform_n++] = f;
	}
	for (unsigned i = 0; i < d.loop_n; i++)
		b.loop[b.loop_n++] = moved(&d, d.loop[i]);
	b.loop[b.loop_n++] = d.rank;
	domain_parallel_to_front(&b);
	domain_allocate_default(&b, false);
	return domain_finish(m, &b);
}

type_id infer_device_terms(struct module *m, type_id operand, int axis, enum reduce_op op)
{
	const struct type t = m->type.at[operand];
	struct axis a = m->domain.at[t.domain].axis[axis];
	type_id rest = infer_select(m, operand, (unsigned)axis);
	if (!rest)
		return 0;
	a.kind = AXIS_PARTIAL;
	a.extent = expr_const(m, m->mesh.at[t.mesh].size[a.mesh_axis]);
	a.rf = 1;
	a.reduce = (uint8_t)op;
	domain_id d = with_partial(m, m->type.at[rest].domain, a);
	return d ? type_make(m, (enum dtype)t.dtype, MEMORY_GLOBAL, t.mesh, d) : 0;
}
