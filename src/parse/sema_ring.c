/* sema_ring: the peers of a CollectivePermute, which nvFuser prints for the device that prints.
 *
 *     CollectivePermute 12 (team=(0 1 2 3), send_peer=( ( 4 + ( 0 - i5 ) ) % 4 ), recv_peer=( ( i5 + 0 ) % 4 ), …)
 *
 * The device is the number 0 here, and each device has a listing of its own. The peers of all devices have the device's
 * index in its place. A listing of hirc prints that index. */
#include "ir/expr.h"
#include "parse/nvfuser.h"

/* Returns the loop index in an expression, or -1: there is none, or the rank. */
static int64_t index_in(const struct module *m, expr_id e)
{
	uint16_t flags = m->expr.at[e].flags;
	for (uint32_t i = 0; flags & EXPR_HAS_INDEX && !(flags & EXPR_HAS_RANK) && i < m->index.n; i++)
		if (expr_uses_index(m, e, i))
			return i;
	return -1;
}

static bool value_at(struct module *m, expr_id e, index_id i, int64_t step, int64_t *out)
{
	expr_id x = expr_replace_index(m, e, i, expr_const(m, step));
	return x && expr_is_const(m, expr_canon(m, x), out);
}

/* Returns true if step i receives from device i + me and sends to device me - i, of n. */
static bool is_ring(struct module *m, expr_id send, expr_id recv, index_id i, int64_t n)
{
	int64_t me, from, to;
	if (!value_at(m, recv, i, 0, &me))
		return false;
	for (int64_t step = 0; step < n; step++)
		if (!value_at(m, recv, i, step, &from) || !value_at(m, send, i, step, &to) ||
		    from != (me + step) % n || to != (n + me - step) % n)
			return false;
	return true;
}

/* Returns this device's index in a team of a whole mesh of one axis, or 0. */
static expr_id index_in_team(struct module *m, team_id team, mesh_id mesh)
{
	const struct team *t = ir_team(m, team);
	bool in_order = t->slice_n == 1;
	for (uint32_t k = 0; k < t->device_n; k++)
		in_order &= t->device[k] == k;
	if (in_order)
		return expr_rank(m);
	bool whole =
	    mesh && m->mesh.at[mesh].rank == 1 && ir_team_of_mesh(m, mesh, (uint8_t[]){0}, 1) == team;
	return whole ? expr_axis_index(m, mesh, 0) : 0;
}

void nv_ring_peers(struct nv_reader *r, team_id team, mesh_id mesh, expr_id *send, expr_id *recv)
{
	struct module *m = r->s->m;
	int64_t i = index_in(m, *recv), n = team ? ir_team(m, team)->device_n : 0;
	if (r->has_facts || n < 2 || i < 0 || index_in(m, *send) != i ||
	    !is_ring(m, *send, *recv, (index_id)i, n))
		return;
	expr_id me = index_in_team(m, team, mesh), step = expr_index(m, (index_id)i), size = expr_const(m, n);
	if (!me)
		return;
	*recv = expr_op(m, EXPR_MOD, expr_add(m, me, step), size);
	*send = expr_op(m, EXPR_MOD, expr_add(m, size, expr_op(m, EXPR_SUB, me, step)), size);
}
