/* cost_reach: finds the bytes touched between two uses of an operand or result. They tell if the caches
 * still hold it.
 *
 *     input X: f32[t@stream(4), k]
 *     for i in 0..4 parallel(stream)
 *       x = shard_by_stream(X, i)       another part each time: all bytes of the program lie between
 *       T: f32[…] = allocate()          its own memory on each stream: the bytes of as many iterations
 *       T <- matmul(x, W)               W: the bytes of one iteration
 *
 * A program is assumed to run again and again, so its inputs may still be in the caches from the run
 * before. The bytes of a region are counted once, in any order. A value is counted whole if nested loops
 * take parts of it. */
#include "cost/model.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/unit.h"

/* Returns the region in which a value is made. */
static region_id region_of(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	return def ? m->op.at[def].parent : m->body;
}

/* Returns the value that a view shows; 0 if v is not a view. */
static value_id viewed(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	bool view = def && (op_traits(m, def) & TRAIT_VIEW) && op_role_count(m, def, ROLE_READ);
	return view ? op_read(m, def, 0) : 0;
}

/* ---- bytes that a region touches */

struct adding {
	struct cost *c;
	const uint32_t *depth; /* by region: its nesting depth */
	uint32_t *mark;        /* by value: the last region that counted it */
	region_id region;
	cost_amount near, own; /* bytes of values from outside; of values that an iteration makes or slices */
};

/* Counts a value in a region. A view that a nested region makes counts as the value that it shows. */
static void add_value(struct adding *a, value_id v)
{
	const struct module *m = a->c->m;
	struct local_shape s;
	for (value_id u = viewed(m, v); u && a->depth[region_of(m, v)] > a->depth[a->region];
	     u = viewed(m, v))
		v = u;
	if (a->mark[v] == a->region)
		return;
	a->mark[v] = a->region;
	if (local_shape(m, v, &s) == EXPR_OK)
		*(region_of(m, v) == a->region ? &a->own : &a->near) += (cost_amount)s.bytes;
}

static void add_region(struct adding *a, region_id r)
{
	const struct module *m = a->c->m;
	region_each (m, op, r) {
		if (op_traits(m, op) & TRAIT_VIEW)
			continue;
		if (op_is_unit(m, op)) {
			struct ir_unit_operands x = {0};
			ir_unit_operands_find(m, op, &x);
			for (uint32_t k = 0; k < x.in.n; k++)
				add_value(a, x.in.at[k]);
			for (uint32_t k = 0; k < x.out.n; k++)
				add_value(a, x.out.at[k]);
			vec_free(&x.in);
			vec_free(&x.out);
			continue;
		}
		for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
			add_value(a, op_read(m, op, k));
		for (unsigned k = 0; k < op_result_count(m, op); k++)
			add_value(a, op_result(m, op, k));
		for (region_id x = m->op.at[op].region; x; x = m->region.at[x].sibling)
			add_region(a, x);
	}
}

static uint32_t depth_of(const struct module *m, region_id r)
{
	uint32_t n = 0;
	for (; m->region.at[r].owner; r = m->op.at[m->region.at[r].owner].parent)
		n++;
	return n;
}

/* Returns the number of iterations of a loop that have memory of their own. */
static int64_t slots_of(const struct cost *c, region_id r)
{
	const struct module *m = c->m;
	const struct expr_env env = {.rank = -1};
	op_id loop = m->region.at[r].owner;
	int64_t n;
	if (!loop || m->op.at[loop].kind != OP_FOR || !(m->op.at[loop].flags & OP_STREAM_LOOP))
		return 1;
	if (expr_eval(m, op_scalar_expr(m, loop, 1), &env, &n, NULL) != EXPR_OK || n < 1)
		n = INT32_MAX;
	return c->streams && c->streams < n ? c->streams : n;
}

void reach_prepare(struct cost *c)
{
	const struct module *m = c->m;
	if (!c->cluster->touch.n)
		return;
	struct arena *scratch = arena_new();
	uint32_t *depth = arena_new_array(scratch, uint32_t, m->region.n);
	struct adding a = {.c = c, .depth = depth, .mark = arena_new_array(scratch, uint32_t, m->value.n)};
	c->touched = arena_new_array(c->arena, struct touched, m->region.n);
	c->touched_n = m->region.n;
	for (region_id r = 1; r < m->region.n; r++)
		depth[r] = depth_of(m, r);
	for (region_id r = 1; r < m->region.n; r++) {
		a.region = r;
		a.near = a.own = 0;
		add_region(&a, r);
		c->touched[r] = (struct touched){local_limit_bytes(a.near), local_limit_bytes(a.own)};
	}
	arena_free(scratch);
}

/* ---- statements */

static int64_t find_reach(const struct cost *c, op_id op, value_id v)
{
	const struct module *m = c->m;
	region_id r = m->op.at[op].parent;
	for (value_id u; region_of(m, v) == r && (u = viewed(m, v)); v = u)
		if (region_of(m, u) != r && m->region.at[r].owner)
			r = m->op.at[m->region.at[r].owner].parent;
	if (r >= c->touched_n)
		return 0;
	const struct touched *t = &c->touched[r];
	int64_t slots = region_of(m, v) == r ? slots_of(c, r) : 1;
	return local_limit_bytes((cost_amount)t->near + (cost_amount)t->own * (cost_amount)slots);
}

void traffic_add(const struct cost *c, op_id op, value_id v, cost_amount bytes, struct traffic *t)
{
	int64_t far = c->touched_n ? find_reach(c, op, v) : 0;
	unsigned k = 0;
	t->bytes += bytes;
	while (k < t->n && t->part[k].reach != far)
		k++;
	if (k == TRAFFIC_PARTS)
		k--;
	else if (k == t->n)
		t->part[t->n++].reach = far;
	t->part[k].bytes += bytes;
}

/* Returns the time of `bytes`, a part of `of` bytes that are touched again and again. */
static cost_amount share_time(const struct cluster_points *p, cost_amount bytes, int64_t of)
{
	return of < p->at[0].size ? 0 : bytes * (cost_amount)curve_time(p, of) / (cost_amount)of;
}

int64_t traffic_excess(const struct cost *c, const struct traffic *t, const struct cluster_points *far,
                       int64_t measured)
{
	const struct cluster_points *p = far && far->n ? far : &c->cluster->touch;
	cost_amount excess = 0, most = LOCAL_MAX_BYTES;
	int64_t bytes = t->bytes < (cost_amount)measured ? (int64_t)t->bytes : measured;
	for (unsigned k = 0; k < t->n && bytes; k++) {
		cost_amount part = t->part[k].bytes < most ? t->part[k].bytes : most;
		if (t->part[k].reach <= bytes)
			continue;
		cost_amount near = share_time(p, part, bytes), all = share_time(p, part, t->part[k].reach);
		excess += all > near ? all - near : 0;
	}
	return excess < CLUSTER_MAX_TIME ? (int64_t)excess : CLUSTER_MAX_TIME;
}
