/* reshard: comparing two layouts, axis by axis. */
#include "pass/reshard.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/print.h"
#include "pass/place.h"
#include "pass/rewrite.h"
#include <string.h>

/* What one axis does. */
struct change {
	unsigned n; /* mesh axes gathered or scattered, outermost first */
	uint8_t axis[IR_MAX_MESH_AXES];
	bool gather, scatter, step, swizzle;
	const char *reason;
};

static bool is_size(const struct module *m, expr_id factor, uint32_t size)
{
	int64_t k;
	return expr_is_const(m, factor, &k) && k == size;
}

static bool mesh_below(const struct sugar_axis *a, unsigned from)
{
	for (unsigned k = from; k < a->place_n; k++)
		if (a->place[k].kind == SUGAR_MESH)
			return true;
	return false;
}

/* Whether placement q of the result stands for mesh axis x being gathered at this level. */
static bool takes_place_of(const struct module *m, mesh_id mesh, unsigned x, const struct sugar_place *q,
                           struct change *c)
{
	uint32_t size = m->mesh.at[mesh].size[x];
	if (q->kind == SUGAR_BLOCK && is_size(m, q->factor, size))
		return c->gather = true;
	if ((q->kind == SUGAR_STREAM || q->kind == SUGAR_SERIAL) && is_size(m, q->factor, size))
		return c->step = true;
	if (q->kind == SUGAR_SWIZZLE && q->mesh_axis == x)
		return c->step = c->swizzle = true;
	return false;
}

static void compare_axis(const struct module *m, mesh_id mesh, const struct sugar_axis *o,
                         const struct sugar_axis *q, struct change *c)
{
	unsigned i = 0, j = 0;
	memset(c, 0, sizeof *c);
	while (i < o->place_n && j < q->place_n) {
		const struct sugar_place *a = &o->place[i], *b = &q->place[j];
		if (place_equal(a, b)) {
			i++, j++;
		} else if (a->kind == SUGAR_MESH && takes_place_of(m, mesh, a->mesh_axis, b, c)) {
			c->axis[c->n++] = a->mesh_axis;
			i++, j++;
		} else {
			break;
		}
	}
	bool o_mesh = mesh_below(o, i), q_mesh = mesh_below(q, j);
	if (o_mesh && q_mesh)
		c->reason = "one axis is spread in two ways";
	for (; o_mesh && i < o->place_n; i++) {
		if (o->place[i].kind == SUGAR_MESH && c->n < IR_MAX_MESH_AXES)
			c->axis[c->n++] = o->place[i].mesh_axis, c->gather = true;
		else if (mesh_below(o, i))
			c->reason = "a stream or block stands above the mesh axis";
	}
	for (unsigned k = j; o_mesh && k < q->place_n; k++)
		if (place_is_loop(&q->place[k]))
			c->reason = "the blocks of the stream are not those of the mesh axis";
	for (; q_mesh && j < q->place_n; j++) {
		if (q->place[j].kind == SUGAR_MESH && c->n < IR_MAX_MESH_AXES)
			c->axis[c->n++] = q->place[j].mesh_axis, c->scatter = true;
		else if (mesh_below(q, j) && q->place[j].kind == SUGAR_BLOCK)
			c->reason = "a block stands above the mesh axis";
	}
	if (!c->reason && c->gather + c->scatter + c->step > 1)
		c->reason = "one axis changes in two ways";
}

static bool none(struct reshard *r, const char *reason)
{
	r->kind = RESHARD_NONE;
	r->reason = reason;
	return false;
}

/* The changes of all axes, put together; *team is the one that communicates. */
static bool collect(struct module *m, const struct sugar *o, const struct sugar *q, struct reshard *r,
                    struct change *team)
{
	unsigned gathers = 0, scatters = 0, steps = 0;
	if (o->rank != q->rank)
		return none(r, "the ranks differ");
	r->dim = r->step = -1;
	memset(team, 0, sizeof *team);
	for (unsigned a = 0; a < o->rank; a++) {
		struct change c;
		compare_axis(m, r->mesh, &o->axis[a], &q->axis[a], &c);
		if (c.reason)
			return none(r, c.reason);
		gathers += c.gather, scatters += c.scatter, steps += c.step;
		if (c.n) {
			*team = c;
			r->dim = (int)a;
		}
	}
	r->gathers = gathers || steps, r->scatters = scatters;
	if (gathers + steps > 1)
		return none(r, "two axes are gathered");
	if ((gathers + steps) && scatters)
		return none(r, "one axis is gathered and another is cut");
	return true;
}

/* Mesh axes of a bit set, in mesh order. */
static void axes_of_set(struct reshard *r, unsigned set)
{
	r->axis_n = 0;
	for (unsigned x = 0; x < IR_MAX_MESH_AXES; x++)
		if (set >> x & 1)
			r->axis[r->axis_n++] = (uint8_t)x;
}

static void same_mesh(struct reshard *r, const struct change *c, const struct domain *to, unsigned ended)
{
	unsigned along = 0;
	for (unsigned k = 0; k < c->n; k++)
		along |= 1u << c->axis[k];
	if (ended && (c->gather || c->step)) {
		none(r, "a sum is pending and an axis is gathered");
	} else if (ended && c->scatter && along != ended) {
		none(r, "the sum is over other mesh axes than the cut");
	} else if (ended) {
		r->kind = c->scatter ? RESHARD_REDUCE_SCATTER : RESHARD_ALLREDUCE;
	} else if (c->step) {
		r->kind = c->swizzle ? RESHARD_STEP_PERMUTE : RESHARD_STEP_BROADCAST;
		if (c->n > 1)
			none(r, "two mesh axes change");
		for (unsigned i = 0; i < to->loop_n && r->step < 0; i++)
			if (to->axis[to->loop[i]].place == PLACE_STREAM ||
			    to->axis[to->loop[i]].place == PLACE_SERIAL)
				r->step = to->loop[i];
	} else if (c->gather) {
		r->kind = RESHARD_ALLGATHER;
	}
	if (c->n && !(r->kind == RESHARD_ALLREDUCE)) {
		r->axis_n = c->n;
		memcpy(r->axis, c->axis, c->n);
	} else {
		axes_of_set(r, ended);
	}
}

static bool same_shape(const struct mesh *a, const struct mesh *b)
{
	return a->rank == b->rank && !memcmp(a->size, b->size, sizeof *a->size * a->rank);
}

/* Whether every device of mesh b is one of mesh a. */
static bool holds_devices(const struct mesh *a, const struct mesh *b)
{
	uint32_t position;
	for (uint32_t i = 0; i < b->device_count; i++)
		if (!mesh_position(a, b->device[i], &position))
			return false;
	return true;
}

static void other_mesh(struct module *m, struct reshard *r, const struct change *c, unsigned used,
                       unsigned ended)
{
	r->reduces = ended;
	if (ended)
		none(r, "a sum is pending and the mesh changes");
	else if (c->n)
		none(r, "the mesh and the layout change");
	else if (!used && holds_devices(&m->mesh.at[r->mesh], &m->mesh.at[r->to]))
		r->kind = RESHARD_LOCAL; /* all have it */
	else if (!used)
		r->kind = RESHARD_BROADCAST;
	else if (same_shape(&m->mesh.at[r->mesh], &m->mesh.at[r->to]))
		r->kind = RESHARD_SEND_RECV;
	else
		none(r, "the meshes have different shapes");
}

/* In a swizzled loop the ranks along its mesh axis are at different blocks: they have nothing to gather
 * or add up together. */
static bool rings_differ(const struct reshard *r, const struct sugar *q)
{
	unsigned rings = 0, team = 0;
	for (unsigned a = 0; a < q->rank; a++)
		for (unsigned k = 0; k < q->axis[a].place_n; k++)
			if (q->axis[a].place[k].kind == SUGAR_SWIZZLE)
				rings |= 1u << q->axis[a].place[k].mesh_axis;
	for (unsigned k = 0; k < r->axis_n; k++)
		team |= 1u << r->axis[k];
	switch (r->kind) {
	case RESHARD_ALLGATHER:
	case RESHARD_ALLREDUCE:
	case RESHARD_REDUCE_SCATTER:
		return rings & team;
	case RESHARD_BROADCAST:
		return rings;
	default:
		return false;
	}
}

void reshard_classify(struct module *m, type_id from, type_id to, struct reshard *r)
{
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar o, q;
	struct change c;
	memset(r, 0, sizeof *r);
	r->dim = r->step = -1;
	r->mesh = tf.mesh ? tf.mesh : tt.mesh;
	r->to = tt.mesh ? tt.mesh : tf.mesh;
	if (!r->mesh)
		return;
	bool known = sugar_from_domain(m, tf.domain, tf.mesh, &o);
	known = sugar_from_domain(m, tt.domain, tt.mesh, &q) && known;
	if (!known) {
		const struct domain *d = &m->domain.at[tf.domain];
		bool same = d->rank == m->domain.at[tt.domain].rank && r->mesh == r->to;
		for (unsigned a = 0; same && a < d->rank; a++)
			same = layout_same_footprint(m, from, a, to, a);
		if (!same || place_partial(&o) != place_partial(&q))
			none(r, "a layout has transforms that no collective follows");
		return;
	}
	unsigned pending = place_partial(&o), left = place_partial(&q);
	r->reduce = place_partial_op(&o);
	if (left & ~pending) {
		none(r, "the result is a pending reduction and the operand is none");
		return;
	}
	if (left && place_partial_op(&q) != r->reduce) {
		none(r, "the pending reductions are different ones");
		return;
	}
	if (!collect(m, &o, &q, r, &c)) {
		r->reduces = pending & ~left;
		return;
	}
	const struct mesh *x = &m->mesh.at[r->mesh], *y = &m->mesh.at[r->to];
	if (same_shape(x, y) && !memcmp(x->device, y->device, sizeof *x->device * x->device_count))
		r->to = r->mesh; /* two names of one mesh */
	if (r->mesh != r->to)
		other_mesh(m, r, &c, place_used(&o) | place_used(&q) | pending, pending & ~left);
	else
		same_mesh(r, &c, &m->domain.at[tt.domain], pending & ~left);
	if (rings_differ(r, &q))
		none(r, "in a step of the ring the ranks hold different blocks");
}

/* How the operand's axis follows the loop that cuts the result. *cut: a loop does. */
static enum place_slice follow(struct module *m, type_id from, type_id to, bool *cut)
{
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar o, q;
	unsigned axis, level;
	*cut = sugar_from_domain(m, tt.domain, tt.mesh, &q) && place_find_loop(&q, &axis, &level);
	if (!*cut || !sugar_from_domain(m, tf.domain, tf.mesh, &o) || o.rank != q.rank)
		return PLACE_SLICE_NOT;
	return place_slice(m, tf.mesh, &o.axis[axis], &q.axis[axis], level, true);
}

bool reshard_in_slices(struct module *m, type_id from, type_id to)
{
	struct reshard r;
	bool cut;
	if (follow(m, from, to, &cut) != PLACE_SLICE_NOT || !cut)
		return true;
	reshard_classify(m, from, to, &r);
	return r.kind == RESHARD_LOCAL || r.kind == RESHARD_STEP_BROADCAST || r.kind == RESHARD_STEP_PERMUTE;
}

bool reshard_shares_loop(struct module *m, type_id from, type_id to)
{
	bool cut;
	return follow(m, from, to, &cut) == PLACE_SLICE_HAS;
}

void reshard_report(struct module *m, struct diag *d, op_id op, const char *verb, type_id from, type_id to,
                    const char *reason)
{
	struct buf x = {0}, y = {0};
	from = rewrite_without_reduce(m, from); /* what the source shows */
	to = rewrite_without_reduce(m, to);
	ir_print_type(m, from, &x);
	ir_print_type(m, to, &y);
	if (m->type.at[from].mesh != m->type.at[to].mesh) {
		mesh_id meshes[2] = {m->type.at[from].mesh, m->type.at[to].mesh};
		for (unsigned k = 0; k < 2; k++)
			if (meshes[k] && !strstr(k ? y.at : x.at, " on "))
				buf_printf(k ? &y : &x, " on %s",
				           names_text(m->names, m->mesh.at[meshes[k]].name));
	}
	diag_error(d, m->op.at[op].at, "cannot %s %s from '%s' to '%s': %s", verb,
	           op_info[m->op.at[op].kind].hir, x.at, y.at, reason);
	buf_free(&x);
	buf_free(&y);
}
