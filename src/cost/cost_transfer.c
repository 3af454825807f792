/* cost_transfer: finds the time of collectives, messages, and rows that move to experts. */
#include "cost/model.h"
#include "ir/infer.h"

/* Returns the extra time of adding up in this dtype, beyond that of the same bytes of f32, which the
 * tables contain. Each of n ranks adds up 1 / n of the others' data. */
static int64_t adding_excess(const struct cost *c, op_id op, enum collective kind, int64_t ranks,
                             int64_t bytes)
{
	bool adds = collective_reduces(kind);
	if (!adds || !op_role_count(c->m, op, ROLE_READ))
		return 0;
	enum dtype t = value_type(c->m, op_read(c->m, op, 0))->dtype;
	int64_t rate = function_rate(c, OP_ADD, t), usual = function_rate(c, OP_ADD, DTYPE_F32),
	        added = bytes / ranks * (ranks - 1);
	if (!rate || !usual)
		return 0;
	int64_t time = curve_rate_time((cost_amount)added, dtype_bytes(t), rate),
	        as_f32 = curve_rate_time((cost_amount)added, dtype_bytes(DTYPE_F32), usual);
	return time > as_f32 ? time - as_f32 : 0;
}

/* Returns the extra time of a collective whose buffers are not in the caches. Measurements use the same
 * buffers again and again. */
static int64_t buffers_excess(const struct cost *c, op_id op, int64_t in, int64_t out)
{
	struct traffic t = {0};
	if (op_role_count(c->m, op, ROLE_READ))
		traffic_add(c, op, op_read(c->m, op, 0), (cost_amount)in, &t);
	if (op_result_count(c->m, op))
		traffic_add(c, op, op_result(c->m, op, 0), (cost_amount)out, &t);
	return traffic_excess(c, &t, NULL, local_limit_bytes(t.bytes));
}

bool collective_parts(const struct cost *c, op_id op, enum collective kind, struct links_team *t,
                      int64_t *bytes, int64_t *excess)
{
	struct local_shape in = {0}, out = {0};
	if (op_role_count(c->m, op, ROLE_READ) && !cost_shape(c, op, op_read(c->m, op, 0), &in))
		return false;
	if (op_result_count(c->m, op) && !cost_shape(c, op, op_result(c->m, op, 0), &out))
		return false;
	if (!c->m->op.at[op].team)
		return cost_refuse(c, E_COST_UNKNOWN, op,
		                   "the time of this statement is not known: it has no team");
	if (!collective_team(c, c->m->op.at[op].team, t))
		return cost_refuse_team(c, op);
	*bytes = collective_bytes(kind, t->ranks, in.bytes, out.bytes);
	*excess = share_work(c, curve_add(adding_excess(c, op, kind, t->ranks, *bytes),
	                                  buffers_excess(c, op, in.bytes, out.bytes)));
	return true;
}

bool collective_op_time(const struct cost *c, op_id op, enum collective kind, int64_t *time, int64_t *bytes)
{
	struct links_team t;
	if (!collective_parts(c, op, kind, &t, bytes, time))
		return false;
	if (c->m->op.at[op].flags & OP_GROUPED)
		*time = 0; /* the group has the time of all its members */
	else
		*time += collective_time(c, kind, &t, *bytes);
	return true;
}

/* A mesh axis if the peer is `device(x, …)`, else all ranks. */
bool message_team(const struct cost *c, op_id op, struct links_team *out)
{
	const struct module *m = c->m;
	const struct expr *e = &m->expr.at[op_scalar_expr(m, op, 0)];
	struct links_team x;
	if (e->kind != EXPR_DEVICE) {
		int64_t ranks = module_ranks(m);
		uint32_t last = ranks > 1 ? (uint32_t)(ranks - 1) : 1;
		return links_team(c->cluster, (const uint32_t[]){0, last}, 2, out);
	}
	const struct mesh *mesh = &m->mesh.at[e->k];
	*out = (struct links_team){0};
	for (uint32_t p = 0; p < mesh->device_count; p++) {
		uint32_t pair[2] = {mesh->device[p], mesh_device_along(mesh, p, e->mesh_axis, 0)};
		if (!links_team(c->cluster, pair, pair[0] == pair[1] ? 1 : 2, &x))
			return false;
		if (x.link > out->link || x.ranks > out->ranks)
			*out = x;
	}
	return true;
}

bool message_op_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes)
{
	struct local_shape s = {0};
	struct links_team t;
	bool sends = op_role_count(c->m, op, ROLE_READ);
	if (!cost_shape(c, op, sends ? op_read(c->m, op, 0) : op_result(c->m, op, 0), &s))
		return false;
	if (!message_team(c, op, &t))
		return cost_refuse_team(c, op);
	*bytes = s.bytes;
	*time = collective_time(c, COLLECTIVE_SEND_RECV, &t, s.bytes);
	return true;
}

bool experts_parts(const struct cost *c, op_id op, struct links_team *t, team_id *team, int64_t *bytes)
{
	struct module *m = c->m;
	bool out = m->op.at[op].kind == OP_DISPATCH;
	struct local_shape rows;
	*t = (struct links_team){.ranks = 1};
	*team = infer_experts_team(m, op);
	if (!cost_shape(c, op, out ? op_result(m, op, 0) : op_read(m, op, 0), &rows))
		return false;
	if (*team && !collective_team(c, *team, t))
		return cost_refuse_team(c, op);
	*bytes = rows.bytes / t->ranks;
	return true;
}

bool experts_op_time(const struct cost *c, op_id op, int64_t *time)
{
	struct links_team t;
	team_id team;
	int64_t bytes = 0;
	if (!experts_parts(c, op, &t, &team, &bytes))
		return false;
	*time = cost_touch_time(c, local_limit_bytes(4 * (cost_amount)bytes));
	if (t.ranks > 1)
		*time = curve_add(*time, collective_time(c, COLLECTIVE_ALL_TO_ALLV, &t, bytes));
	return true;
}
