/* cost_extern: the times of statements of imported graphs that have no recorded time.
 *
 *     {kind=allgather, group=g0, in_bytes=64}   the group's own table, or as a Communication of its ranks
 *     {kind=barrier, group=g0}                  likewise
 *     {kind=send, in_bytes=64}                  a message over the cluster's widest link; recv likewise
 *     {flops=4096, touches=64}                  the longer of the two (roofline)
 *
 * Operations run at the rate of the first operand or result whose dtype the cluster knows, or at its
 * largest rate.
 *
 * A group that lists no members has the devices 0, 1, …. */
#include "cost/model.h"
#include "ir/edit.h"
#include <stdlib.h>
#include <string.h>

static bool find_team(const struct cost *c, group_id group, struct links_team *out)
{
	const struct group *g = &c->m->group.at[group];
	if (g->members)
		return collective_team(c, g->members, out);
	uint32_t *device = mem_alloc(sizeof *device * g->size);
	for (uint32_t i = 0; i < g->size; i++)
		device[i] = i;
	bool ok = links_team(c->cluster, device, g->size, out);
	free(device);
	return ok;
}

void extern_prepare(struct cost *c)
{
	c->group_n = c->m->group.n;
	c->group = arena_new_array(c->arena, struct links_team, c->group_n);
	for (group_id g = 1; g < c->group_n; g++)
		if (!find_team(c, g, &c->group[g]))
			c->group[g].ranks = 0;
}

static bool group_team(const struct cost *c, group_id group, struct links_team *out)
{
	if (group >= c->group_n)
		return find_team(c, group, out);
	*out = c->group[group];
	return out->ranks != 0;
}

static int64_t larger_buffer(enum collective kind, int64_t ranks, int64_t bytes)
{
	bool grows = collective_in(kind) == PART_OWN;
	return grows ? collective_bytes(kind, ranks, bytes, bytes) : bytes;
}

int64_t cost_group_operand_time(const struct cost *c, enum op_kind collective, group_id group, int64_t bytes)
{
	enum collective kind;
	struct links_team t;
	if (!collective_kind(collective, &kind) || !group_team(c, group, &t))
		return 0;
	return collective_time(c, kind, &t, larger_buffer(kind, t.ranks, bytes));
}

/* Finds the time by the points of the group, which are by bytes of the operand. Returns false if the
 * group has none. */
static bool table_time(const struct cost *c, group_id group, enum op_kind collective, int64_t bytes,
                       int64_t *out)
{
	const struct attr *a = attrs_find(c->m, c->m->group.at[group].attrs, op_info[collective].hir);
	if (!a || a->kind != ATTR_INTS || a->n < 2)
		return false;
	struct cluster_point *at = mem_alloc(sizeof *at * (a->n / 2));
	for (uint32_t i = 0; i < a->n / 2; i++)
		at[i] = (struct cluster_point){a->u.ints[2 * i], a->u.ints[2 * i + 1]};
	*out = curve_time(&(struct cluster_points){at, a->n / 2}, bytes);
	free(at);
	return true;
}

static int64_t int_of(const struct cost *c, op_id op, const char *key, int64_t otherwise)
{
	const struct attr *a = op_attr(c->m, op, key);
	return a && a->kind == ATTR_INT && a->u.i >= 0 ? a->u.i : otherwise;
}

static int64_t operand_bytes(const struct cost *c, op_id op)
{
	struct local_shape s;
	int64_t bytes = 0;
	for (unsigned k = 0; k < op_role_count(c->m, op, ROLE_READ); k++)
		if (local_shape(c->m, op_read(c->m, op, k), &s) == EXPR_OK &&
		    s.bytes < LOCAL_MAX_BYTES - bytes)
			bytes += s.bytes;
	return int_of(c, op, "in_bytes", bytes);
}

static enum extern_cost find_collective_cost(const struct cost *c, op_id op, enum op_kind which,
                                             enum collective kind, int64_t *time, int64_t *bytes)
{
	group_id group = op_group(c->m, op);
	struct links_team t;
	int64_t in = operand_bytes(c, op);
	if (!group)
		return EXTERN_NO_GROUP;
	if (kind != COLLECTIVE_BARRIER && table_time(c, group, which, in, time)) {
		*bytes = larger_buffer(kind, c->m->group.at[group].size, in);
		return EXTERN_KNOWN;
	}
	if (!group_team(c, group, &t))
		return EXTERN_NO_LINK;
	*bytes = kind == COLLECTIVE_BARRIER ? 0 : larger_buffer(kind, t.ranks, in);
	*time = collective_time(c, kind, &t, *bytes);
	return EXTERN_KNOWN;
}

static int64_t flops_rate(const struct cost *c, op_id op)
{
	int64_t most = 0;
	for (unsigned k = 0; k < c->m->op.at[op].operand_n; k++) {
		const struct operand *x = ir_operand(c->m, op, k);
		if (x->role != ROLE_READ && x->role != ROLE_DEF)
			continue;
		enum dtype t = value_type(c->m, x->id)->dtype;
		if (dtype_is_float(t) && c->cluster->flops_rate[t])
			return c->cluster->flops_rate[t];
	}
	for (unsigned t = 0; t < DTYPE_COUNT; t++)
		if (c->cluster->flops_rate[t] > most)
			most = c->cluster->flops_rate[t];
	return most;
}

enum extern_cost extern_stated(const struct cost *c, op_id op, const char *kind, int64_t *time,
                               int64_t *bytes)
{
	enum op_kind which = op_by_hir(kind);
	enum collective what;
	int64_t flops = int_of(c, op, "flops", -1), touched = int_of(c, op, "touches", -1);
	if (collective_kind(which, &what))
		return find_collective_cost(c, op, which, what, time, bytes);
	if (!strcmp(kind, "barrier"))
		return find_collective_cost(c, op, which, COLLECTIVE_BARRIER, time, bytes);
	if (!strcmp(kind, "send") || !strcmp(kind, "recv")) {
		const struct cluster *x = c->cluster;
		struct links_team t = {
		    .ranks = 2, .sharing = x->sharers, .link = x->network.link_n - 1, .levels = 1};
		t.level[0].link = t.link;
		t.level[0].members = 2;
		*bytes = operand_bytes(c, op);
		*time = collective_time(c, COLLECTIVE_SEND_RECV, &t, *bytes);
		return EXTERN_KNOWN;
	}
	if (flops < 0 && touched < 0)
		return EXTERN_NOT_STATED;
	int64_t rate = flops_rate(c, op), by_flops = 0, by_bytes = touched > 0 ? touch_time(c, touched) : 0;
	if (flops > 0 && !rate)
		return EXTERN_NO_RATE;
	if (flops > 0)
		by_flops = curve_rate_time((cost_amount)flops, 1, rate);
	*time = share_work(c, by_flops > by_bytes ? by_flops : by_bytes);
	return EXTERN_KNOWN;
}

bool extern_parts(const struct cost *c, op_id op, struct extern_parts *out)
{
	const struct attr *kind = op_attr(c->m, op, "kind");
	struct extern_parts x = {.group = op_group(c->m, op)};
	if (!kind || kind->kind != ATTR_NAME || !x.group)
		return false;
	enum op_kind which = op_by_hir(names_text(c->m->names, kind->u.name));
	if (!collective_kind(which, &x.kind))
		return false;
	const struct attr *table = attrs_find(c->m, c->m->group.at[x.group].attrs, op_info[which].hir);
	x.table = table && table->kind == ATTR_INTS && table->n >= 2;
	x.joined = group_team(c, x.group, &x.team);
	x.ranks = c->m->group.at[x.group].size;
	x.bytes = larger_buffer(x.kind, x.ranks, operand_bytes(c, op));
	*out = x;
	return true;
}
