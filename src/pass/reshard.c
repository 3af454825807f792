/* reshard: compares two layouts, axis by axis. */
#include "pass/reshard.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/print.h"
#include "pass/place.h"
#include "pass/reshard_meshes.h"
#include "pass/rewrite.h"
#include <string.h>

/* The change of one axis. */
struct change {
	unsigned n; /* gathered or scattered mesh axes, outermost first */
	uint8_t axis[IR_MAX_MESH_AXES];
	bool gather, scatter, step, swizzle;
	bool reduce_step; /* the operand has a loop where the result has a mesh axis of its size */
	bool below_block; /* ranks have several intervals of the axis */
	bool split;       /* a loop is between the mesh axes */
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

/* Returns true if mesh axis x is gathered at this level and placement q of the result takes its place. */
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
		if (place_alike(a, b)) {
			c->below_block |= b->kind == SUGAR_BLOCK;
			i++, j++;
		} else if (b->kind == SUGAR_MESH && (a->kind == SUGAR_STREAM || a->kind == SUGAR_SERIAL) &&
		           is_size(m, a->factor, m->mesh.at[mesh].size[b->mesh_axis])) {
			c->reduce_step = true;
			c->axis[c->n++] = b->mesh_axis;
			i++, j++;
		} else if (b->kind == SUGAR_MESH && a->kind == SUGAR_SWIZZLE &&
		           a->mesh_axis == b->mesh_axis) {
			c->reduce_step = c->swizzle = true;
			c->axis[c->n++] = b->mesh_axis;
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
		else if (mesh_below(q, j))
			c->split |= c->n > 0;
	}
	if (!c->reason && c->gather + c->scatter + c->step + c->reduce_step > 1)
		c->reason = "one axis changes in two ways";
}

/* Combines the changes of all axes; *team is the change that communicates. Returns NULL, or the reason
 * why no single collective does it. */
static const char *combine_changes(struct module *m, const struct sugar *o, const struct sugar *q,
                                   unsigned ended, struct reshard *r, struct change *team)
{
	unsigned gathers = 0, scatters = 0;
	memset(team, 0, sizeof *team);
	for (unsigned a = 0; a < o->rank; a++) {
		struct change c;
		compare_axis(m, r->mesh, &o->axis[a], &q->axis[a], &c);
		if (c.reason)
			return c.reason;
		gathers += c.gather || c.step, scatters += c.scatter || c.reduce_step;
		if (c.n) {
			*team = c;
			r->dim = (int)a;
		}
	}
	return ended && scatters > 1 ? "a sum is pending and two axes are cut"
	       : gathers > 1         ? "two axes are gathered"
	       : gathers && scatters ? "one axis is gathered and another is cut"
	                             : NULL;
}

/* Sets the team to the mesh axes of a bit set, in mesh order. */
static void axes_of_set(struct reshard *r, unsigned set)
{
	r->axis_n = 0;
	for (unsigned x = 0; x < IR_MAX_MESH_AXES; x++)
		if (set >> x & 1)
			r->axis[r->axis_n++] = (uint8_t)x;
}

/* Returns the outermost loop axis of a domain; -1: none. */
static int loop_of(const struct domain *d)
{
	for (unsigned i = 0; i < d->loop_n; i++)
		if (d->axis[d->loop[i]].place == PLACE_STREAM || d->axis[d->loop[i]].place == PLACE_SERIAL)
			return d->loop[i];
	return -1;
}

/* Returns true if a mesh axis cuts another axis than `dim` into blocks that may not all be full. A
 * reduction whose root is only known in the loop would send their padding, too. */
static bool others_clipped(const struct module *m, const struct domain *d, int dim)
{
	for (unsigned x = 0; x < d->xform_n; x++) {
		const struct xform *f = &d->xform[x];
		int64_t n, k, inner;
		if (f->kind == XFORM_SPLIT_OUTER && d->axis[f->out[0]].place == PLACE_MESH &&
		    layout_logical_of(d, f->in[0]) != dim && expr_is_const(m, d->axis[f->in[0]].extent, &n) &&
		    expr_is_const(m, d->axis[f->out[0]].extent, &k) &&
		    expr_is_const(m, d->axis[f->out[1]].extent, &inner) && n != k * inner)
			return true;
	}
	return false;
}

/* Classifies the change on one mesh. Returns NULL, or the reason why no single collective does it. */
static const char *one_mesh(struct reshard *r, const struct change *c, const struct domain *from,
                            const struct domain *to, unsigned ended)
{
	unsigned along = 0;
	for (unsigned k = 0; k < c->n; k++)
		along |= 1u << c->axis[k];
	if (ended && (c->gather || c->step))
		return "a sum is pending and an axis is gathered";
	if (ended && (c->scatter || c->reduce_step) && along != ended)
		return "the sum is over other mesh axes than the cut";
	if (ended && c->scatter && c->split)
		return "a loop stands between the mesh axes that it is cut by";
	if (ended && (c->scatter || c->reduce_step) && c->below_block)
		return "a block stands above the mesh axis";
	if ((c->step || (ended && c->reduce_step)) && c->n > 1)
		return "two mesh axes change";
	if (ended && c->reduce_step)
		r->kind = c->swizzle ? RESHARD_STEP_RING_REDUCE : RESHARD_STEP_REDUCE;
	else if (ended)
		r->kind = c->scatter ? RESHARD_REDUCE_SCATTER : RESHARD_ALLREDUCE;
	else if (c->step)
		r->kind = c->swizzle ? RESHARD_STEP_PERMUTE : RESHARD_STEP_BROADCAST;
	else if (c->gather)
		r->kind = RESHARD_ALLGATHER;
	if (c->step || (ended && c->reduce_step))
		r->step = loop_of(c->step ? to : from);
	if (r->kind == RESHARD_ALLREDUCE) {
		axes_of_set(r, ended);
	} else {
		r->axis_n = c->n;
		memcpy(r->axis, c->axis, c->n);
	}
	return NULL;
}

/* Returns the number of mesh axes, written to x, that `longer` has after all placements of an axis; 0:
 * the placements differ, or others follow. */
static unsigned longer_by(const struct sugar_axis *a, const struct sugar_axis *longer, uint8_t *x)
{
	if (a->place_n >= longer->place_n)
		return 0;
	for (unsigned k = 0; k < longer->place_n; k++) {
		if (k < a->place_n && !place_equal(&a->place[k], &longer->place[k]))
			return 0;
		if (k >= a->place_n && longer->place[k].kind != SUGAR_MESH)
			return 0;
		if (k >= a->place_n)
			x[k - a->place_n] = longer->place[k].mesh_axis;
	}
	return longer->place_n - a->place_n;
}

static bool same_places(const struct sugar_axis *a, const struct sugar_axis *b)
{
	if (a->place_n != b->place_n)
		return false;
	for (unsigned k = 0; k < a->place_n; k++)
		if (!place_equal(&a->place[k], &b->place[k]))
			return false;
	return true;
}

/* `n@x, m` → `n, m@x`: the innermost mesh axes of one tensor axis move to another. */
static bool is_all_to_all(const struct sugar *o, const struct sugar *q, struct reshard *r)
{
	uint8_t lost[SUGAR_MAX_PLACES], won[SUGAR_MAX_PLACES];
	unsigned lost_n = 0, won_n = 0;
	for (unsigned a = 0; a < o->rank; a++) {
		unsigned n;
		if (same_places(&o->axis[a], &q->axis[a]))
			continue;
		if (!lost_n && (n = longer_by(&q->axis[a], &o->axis[a], lost)))
			lost_n = n, r->dim = (int)a;
		else if (won_n || !(won_n = longer_by(&o->axis[a], &q->axis[a], won)))
			return false;
	}
	if (!lost_n || lost_n != won_n || memcmp(lost, won, lost_n))
		return false;
	r->kind = RESHARD_ALL_TO_ALL;
	r->axis_n = lost_n;
	memcpy(r->axis, lost, lost_n);
	return true;
}

/* Finds the tensor axis and level of a mesh axis in a layout. */
static bool find_mesh_axis(const struct sugar *s, unsigned x, unsigned *axis, unsigned *level)
{
	for (unsigned a = 0; a < s->rank; a++)
		for (unsigned k = 0; k < s->axis[a].place_n; k++)
			if (s->axis[a].place[k].kind == SUGAR_MESH && s->axis[a].place[k].mesh_axis == x) {
				*axis = a, *level = k;
				return true;
			}
	return false;
}

/* Returns true if ranks that differ only along a mesh axis have nothing to send each other: neither
 * layout uses it, or both use it in the same way. */
static bool is_kept_along(const struct sugar *o, const struct sugar *q, unsigned x)
{
	unsigned a, b, i, k;
	bool in = find_mesh_axis(o, x, &a, &i), out = find_mesh_axis(q, x, &b, &k);
	if (!in || !out)
		return !in && !out;
	if (a != b || i != k)
		return false;
	while (i-- > 0)
		if (!place_equal(&o->axis[a].place[i], &q->axis[b].place[i]))
			return false;
	return true;
}

/* Classifies a change that no narrower collective does. o, q: NULL if the layouts are not placements. */
static void general(struct module *m, struct reshard *r, const struct sugar *o, const struct sugar *q,
                    unsigned ended, const char *why)
{
	unsigned moving = 0;
	r->reason = why;
	r->kind = ended ? RESHARD_NONE : RESHARD_ALL_TO_ALLV;
	for (unsigned x = 0; r->mesh == r->to && x < m->mesh.at[r->mesh].rank; x++)
		if (!o || !q || !is_kept_along(o, q, x))
			moving |= 1u << x;
	axes_of_set(r, moving);
}

/* Returns true if a swizzled loop prevents a gather or sum: along its mesh axis, the ranks of a step
 * have different blocks. */
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
	case RESHARD_ALL_TO_ALL:
	case RESHARD_ALL_TO_ALLV:
		return rings & team;
	default:
		return false;
	}
}

bool reshard_is_stated_by_types(enum op_kind kind)
{
	return kind == OP_ALLGATHER || kind == OP_ALLREDUCE || kind == OP_REDUCE_SCATTER ||
	       kind == OP_ALL_TO_ALL;
}

bool reshard_is_by_place(const struct module *m, op_id op)
{
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	return op_traits(m, op) & TRAIT_P2P || (op_traits(m, op) & TRAIT_COLLECTIVE &&
	                                        !reshard_is_stated_by_types(kind) && kind != OP_ALL_TO_ALLV);
}

/* Classifies layouts that are not placements: they are the same, or need a general exchange. */
static void classify_unknown(struct module *m, type_id from, type_id to, struct reshard *r, bool pending)
{
	const struct domain *d = &m->domain.at[m->type.at[from].domain];
	bool same = d->rank == m->domain.at[m->type.at[to].domain].rank && r->mesh == r->to;
	for (unsigned a = 0; same && a < d->rank; a++)
		same = layout_same_footprint(m, from, a, to, a);
	if (!same || pending)
		general(m, r, NULL, NULL, pending,
		        "a layout has transforms that no narrower collective follows");
}

void reshard_classify(struct module *m, type_id from, type_id to, struct reshard *r)
{
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar o, q;
	struct change c;
	*r = (struct reshard){.kind = RESHARD_LOCAL,
	                      .dim = -1,
	                      .step = -1,
	                      .mesh = tf.mesh ? tf.mesh : tt.mesh,
	                      .to = tt.mesh ? tt.mesh : tf.mesh,
	                      .reduce = REDUCE_SUM};
	if (!r->mesh)
		return;
	if (mesh_equal(&m->mesh.at[r->mesh], &m->mesh.at[r->to]))
		r->to = r->mesh; /* two names of the same mesh */
	bool known = sugar_from_domain(m, tf.domain, r->mesh, &o);
	known = sugar_from_domain(m, tt.domain, r->to, &q) && known;
	unsigned pending = place_partial(&o), left = place_partial(&q), ended = pending & ~left;
	r->reduce = place_partial_op(&o);
	if (left & ~pending)
		general(m, r, NULL, NULL, 1, "the result has a pending reduction, but the operand has none");
	else if (left && place_partial_op(&q) != r->reduce)
		general(m, r, NULL, NULL, 1, "the pending reductions are different ones");
	else if (left && r->mesh != r->to)
		general(m, r, NULL, NULL, 1, "a pending reduction is moved to another mesh");
	else if (!known)
		classify_unknown(m, from, to, r, ended);
	if (r->reason || !known)
		return;
	if (r->mesh != r->to) {
		reshard_meshes(m, &o, &q, r);
		return;
	}
	const char *why = combine_changes(m, &o, &q, ended, r, &c);
	if (c.reduce_step && !c.swizzle && others_clipped(m, &m->domain.at[tf.domain], r->dim))
		c.reduce_step = false, c.scatter = true;
	if (!why)
		why = one_mesh(r, &c, &m->domain.at[tf.domain], &m->domain.at[tt.domain], ended);
	if (why && (ended || !is_all_to_all(&o, &q, r)))
		general(m, r, &o, &q, ended, why);
	if (rings_differ(r, &q)) {
		r->kind = RESHARD_NONE;
		r->ring = true;
		r->reason = "in a step of the ring the ranks hold different blocks";
	}
}

/* Finds how the operand's axis follows loop n among those that cut the result. gathers: see place_slice. */
static enum place_slice follow_loop(struct module *m, type_id from, type_id to, unsigned n, bool gathers)
{
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar o, q;
	unsigned axis, level;
	if (!sugar_from_domain(m, tt.domain, tt.mesh, &q) || !sugar_from_domain(m, tf.domain, tf.mesh, &o) ||
	    o.rank != q.rank || !place_find_loop(&m->domain.at[tt.domain], &q, n, &axis, &level))
		return PLACE_SLICE_NOT;
	bool moves = tf.mesh && tf.mesh != tt.mesh;
	if (moves && q.axis[axis].place[level].kind == SUGAR_SWIZZLE)
		return PLACE_SLICE_NOT; /* ranks of the other mesh have no step of the ring */
	if (moves && place_footprint(&q.axis[axis]) &&
	    !mesh_same_shape(&m->mesh.at[tf.mesh], &m->mesh.at[tt.mesh]))
		return PLACE_SLICE_NOT; /* their slices differ */
	return place_slice(m, tf.mesh, &o.axis[axis], &q.axis[axis], level, gathers);
}

/* Returns the tensor axes that loops cut (bit set). */
static unsigned cut_axes(const struct domain *d)
{
	unsigned axes = 0;
	for (unsigned n = place_loop_count(d); n-- > 0;) {
		int a = layout_logical_of(d, d->loop[n]);
		axes |= a >= 0 ? 1u << a : 0;
	}
	return axes;
}

/* Returns true if a rank's block in a step of a loop is one interval of each axis, in one place. cut:
 * the axes that loops cut; loops of other axes count as blocks. */
static bool in_intervals(struct module *m, type_id t, unsigned cut)
{
	struct sugar s;
	if (!sugar_from_domain(m, m->type.at[t].domain, m->type.at[t].mesh, &s))
		return false;
	for (unsigned a = 0; a < s.rank; a++)
		if (place_has_block(&s.axis[a]) || (!(cut >> a & 1) && place_has_loop(&s.axis[a])))
			return false;
	return true;
}

/* Returns true if a step of the loop copies blocks of the operand to blocks of the same size. */
static bool same_blocks(struct module *m, type_id from, type_id to)
{
	struct type tf = m->type.at[from], tt = m->type.at[to];
	struct sugar o, q;
	if (!sugar_from_domain(m, tf.domain, tf.mesh, &o) || !sugar_from_domain(m, tt.domain, tt.mesh, &q))
		return false;
	for (unsigned a = 0; a < q.rank; a++) {
		const struct sugar_axis *x = &o.axis[a], *y = &q.axis[a];
		unsigned n = place_has_block(x) || place_has_block(y) ? y->place_n : place_pieces(y);
		if (place_has_block(x) && x->place_n != n)
			return false;
		for (unsigned k = 0; k < n; k++)
			if (k >= x->place_n || !place_alike(&x->place[k], &y->place[k]))
				return false;
	}
	return true;
}

bool reshard_in_slices(struct module *m, type_id from, type_id to)
{
	struct reshard r;
	unsigned loops = place_loop_count(&m->domain.at[m->type.at[to].domain]);
	bool follows = true;
	if (!loops)
		return true;
	reshard_classify(m, from, to, &r);
	for (unsigned n = 0; n < loops; n++) {
		const struct domain *d = &m->domain.at[m->type.at[to].domain];
		bool is_step = (r.kind == RESHARD_STEP_BROADCAST || r.kind == RESHARD_STEP_PERMUTE) &&
		               r.step == d->loop[n];
		if (!is_step && follow_loop(m, from, to, n, r.kind != RESHARD_ALL_TO_ALLV) == PLACE_SLICE_NOT)
			follows = false;
	}
	unsigned cut = cut_axes(&m->domain.at[m->type.at[to].domain]);
	bool boxes = r.kind != RESHARD_REDUCE_SCATTER;
	if (r.kind == RESHARD_LOCAL)
		return !same_blocks(m, from, to) || r.mesh == r.to || follows;
	return follows && !r.ring && (boxes || (in_intervals(m, from, cut) && in_intervals(m, to, cut)));
}

void reshard_report(struct module *m, struct diag *d, op_id op, const char *verb, type_id from, type_id to,
                    const char *reason)
{
	struct buf x = {0}, y = {0};
	from = infer_without_reduce(m, from); /* the type stated in the source */
	to = infer_without_reduce(m, to);
	ir_print_type(m, from, &x);
	ir_print_type(m, to, &y);
	if (m->type.at[from].mesh != m->type.at[to].mesh) {
		mesh_id meshes[2] = {m->type.at[from].mesh, m->type.at[to].mesh};
		for (unsigned k = 0; k < 2; k++)
			if (meshes[k] && !strstr(k ? y.at : x.at, " on "))
				buf_printf(k ? &y : &x, " on %s",
				           names_text(m->names, m->mesh.at[meshes[k]].name));
	}
	diag_error(d, E_RESHARD, m->op.at[op].at, "cannot %s %s from '%s' to '%s': %s", verb,
	           op_info[m->op.at[op].kind].hir, x.at, y.at, reason);
	buf_free(&x);
	buf_free(&y);
}

/* ---- the table */

static const struct {
	const char *note, *why;
	uint16_t operation;
} kinds[] = {
#define RESHARD(id, operation, note, why) [RESHARD_##id] = {note, why, OP_##operation},
#include "pass/reshards.def"
#undef RESHARD
};

enum op_kind reshard_operation(enum reshard_kind kind)
{
	return kinds[kind].operation;
}

const char *reshard_note(enum reshard_kind kind)
{
	return kinds[kind].note;
}

const char *reshard_why(enum reshard_kind kind)
{
	return kinds[kind].why;
}
