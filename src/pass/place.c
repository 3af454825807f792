/* place: handles lists of placements, and an operation with those of its operands and results. */
#include "pass/place.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

bool place_is_loop(const struct sugar_place *p)
{
	return p->kind == SUGAR_STREAM || p->kind == SUGAR_SERIAL || p->kind == SUGAR_SWIZZLE;
}

unsigned place_footprint(const struct sugar_axis *a)
{
	unsigned n = a->place_n;
	while (n && a->place[n - 1].kind != SUGAR_MESH)
		n--;
	return n;
}

unsigned place_mesh_axes(const struct sugar_axis *a)
{
	unsigned axes = 0;
	for (unsigned k = 0; k < a->place_n; k++)
		if (a->place[k].kind == SUGAR_MESH)
			axes |= 1u << a->place[k].mesh_axis;
	return axes;
}

bool place_has_loop(const struct sugar_axis *a)
{
	for (unsigned k = 0; k < a->place_n; k++)
		if (place_is_loop(&a->place[k]))
			return true;
	return false;
}

bool place_has_block(const struct sugar_axis *a)
{
	for (unsigned k = 0; k < a->place_n; k++)
		if (a->place[k].kind == SUGAR_BLOCK)
			return true;
	return false;
}

bool place_equal(const struct sugar_place *a, const struct sugar_place *b)
{
	if (a->kind != b->kind)
		return false;
	if (a->kind == SUGAR_MESH || a->kind == SUGAR_SWIZZLE)
		return a->mesh_axis == b->mesh_axis;
	return a->factor == b->factor;
}

static bool is_plain_split(const struct sugar_place *p)
{
	return p->kind == SUGAR_BLOCK || p->kind == SUGAR_STREAM || p->kind == SUGAR_SERIAL;
}

bool place_alike(const struct sugar_place *a, const struct sugar_place *b)
{
	return place_equal(a, b) || (is_plain_split(a) && is_plain_split(b) && a->factor == b->factor);
}

unsigned place_pieces(const struct sugar_axis *a)
{
	unsigned n = place_footprint(a);
	bool block = false;
	for (unsigned k = 0; k < a->place_n; k++) {
		block |= a->place[k].kind == SUGAR_BLOCK;
		if (block && place_is_loop(&a->place[k]) && k >= n)
			n = k + 1;
	}
	return n;
}

void place_unloop(struct module *m, mesh_id mesh, struct sugar_axis *a)
{
	a->place_n = (uint8_t)place_pieces(a);
	for (unsigned k = 0; k < a->place_n; k++) {
		struct sugar_place *p = &a->place[k];
		if (!place_is_loop(p))
			continue;
		if (p->kind == SUGAR_SWIZZLE)
			p->factor = expr_const(m, m->mesh.at[mesh].size[p->mesh_axis]);
		*p = (struct sugar_place){.kind = SUGAR_BLOCK, .factor = p->factor};
	}
}

bool place_same_footprint(const struct sugar_axis *a, const struct sugar_axis *b)
{
	unsigned n = place_footprint(a);
	if (n != place_footprint(b))
		return false;
	for (unsigned k = 0; k < n; k++)
		if (!place_alike(&a->place[k], &b->place[k]))
			return false;
	return true;
}

void place_copy(struct sugar_axis *to, const struct sugar_axis *from)
{
	to->place_n = from->place_n;
	memcpy(to->place, from->place, sizeof to->place);
}

unsigned place_partial(const struct sugar *s)
{
	unsigned axes = 0;
	for (unsigned a = s->rank; a < s->axis_n; a++)
		if (s->axis[a].kind == AXIS_PARTIAL)
			axes |= place_mesh_axes(&s->axis[a]);
	return axes;
}

enum reduce_op place_partial_op(const struct sugar *s)
{
	for (unsigned a = s->rank; a < s->axis_n; a++)
		if (s->axis[a].kind == AXIS_PARTIAL)
			return s->axis[a].reduce;
	return REDUCE_SUM;
}

unsigned place_used(const struct sugar *s)
{
	unsigned axes = 0;
	for (unsigned a = 0; a < s->rank; a++)
		axes |= place_mesh_axes(&s->axis[a]);
	return axes;
}

bool place_add_partial(struct module *m, struct sugar *s, mesh_id mesh, unsigned axes, enum reduce_op op)
{
	unsigned at = s->rank;
	while (at < s->axis_n && s->axis[at].kind == AXIS_PARTIAL)
		at++;
	for (unsigned x = 0; x < IR_MAX_MESH_AXES; x++) {
		if (!(axes >> x & 1))
			continue;
		if (s->axis_n == IR_MAX_LOGICAL)
			return false;
		memmove(&s->axis[at + 1], &s->axis[at], sizeof *s->axis * (s->axis_n - at));
		s->axis_n++;
		s->axis[at++] = (struct sugar_axis){.extent = expr_const(m, m->mesh.at[mesh].size[x]),
		                                    .kind = AXIS_PARTIAL,
		                                    .reduce = (uint8_t)op,
		                                    .rf = 1,
		                                    .place_n = 1,
		                                    .place = {{.kind = SUGAR_MESH, .mesh_axis = (uint8_t)x}}};
	}
	return true;
}

type_id place_type(struct module *m, type_id base, mesh_id mesh, const struct sugar *s, bool unstreamed,
                   const char **reason)
{
	domain_id d;
	unsigned offending;
	const char *error = sugar_expand(m, s, mesh, unstreamed, &d, &offending);
	if (error) {
		*reason = error;
		return 0;
	}
	return type_make(m, m->type.at[base].dtype, MEMORY_GLOBAL, mesh, d);
}

type_id place_unlooped(struct module *m, type_id type)
{
	struct type t = m->type.at[type];
	struct sugar s;
	const char *reason;
	if (!sugar_from_domain(m, t.domain, t.mesh, &s))
		return 0;
	sugar_drop(&s, AXIS_REDUCE);
	for (unsigned a = 0; a < s.rank; a++)
		place_unloop(m, t.mesh, &s.axis[a]);
	return place_type(m, type, t.mesh, &s, false, &reason);
}

/* Returns true if placement p of an operand corresponds to placement q of a result: they are equal or,
 * for a gather, p is a mesh axis and q has blocks of its size. */
static bool stands_for(const struct module *m, mesh_id mesh, const struct sugar_place *p,
                       const struct sugar_place *q, bool gathers)
{
	int64_t k;
	if (place_alike(p, q))
		return true;
	return gathers && p->kind == SUGAR_MESH && q->kind == SUGAR_BLOCK &&
	       expr_is_const(m, q->factor, &k) && k == m->mesh.at[mesh].size[p->mesh_axis];
}

enum place_slice place_slice(const struct module *m, mesh_id mesh, const struct sugar_axis *operand,
                             const struct sugar_axis *result, unsigned level, bool gathers)
{
	unsigned n = 0;
	while (n < level && n < operand->place_n &&
	       stands_for(m, mesh, &operand->place[n], &result->place[n], gathers))
		n++;
	if (n == level && n < operand->place_n && place_equal(&operand->place[n], &result->place[n]))
		return PLACE_SLICE_HAS;
	if (n == level && n < operand->place_n && place_alike(&operand->place[n], &result->place[n]))
		return PLACE_SLICE_BLOCK;
	if (place_footprint(operand) > n)
		return PLACE_SLICE_NOT;
	while (n < level && result->place[n].kind == SUGAR_BLOCK)
		n++; /* a whole axis can be seen as blocks */
	return n == level ? PLACE_SLICE_CUT : PLACE_SLICE_NOT;
}

static bool is_loop_axis(const struct domain *d, unsigned position)
{
	uint8_t place = position < d->loop_n ? d->axis[d->loop[position]].place : PLACE_NONE;
	return place == PLACE_STREAM || place == PLACE_SERIAL;
}

unsigned place_loop_count(const struct domain *d)
{
	unsigned n = 0;
	while (is_loop_axis(d, n))
		n++;
	return n;
}

bool place_find_loop(const struct domain *d, const struct sugar *s, unsigned n, unsigned *axis,
                     unsigned *level)
{
	if (!is_loop_axis(d, n))
		return false;
	int logical = layout_logical_of(d, d->loop[n]);
	unsigned before = 0, k = 0;
	if (logical < 0 || logical >= (int)s->rank)
		return false;
	for (unsigned i = 0; i < n; i++)
		before += layout_logical_of(d, d->loop[i]) == logical;
	for (const struct sugar_axis *a = &s->axis[logical]; k < a->place_n; k++)
		if (place_is_loop(&a->place[k]) && !before--) {
			*axis = (unsigned)logical;
			*level = k;
			return true;
		}
	return false;
}

/* ---- operations */

/* Returns the number of blocks into which an axis is cut. */
static int64_t block_count(const struct module *m, mesh_id mesh, const struct sugar_axis *a)
{
	int64_t n = 1, k;
	for (unsigned i = 0; i < a->place_n; i++) {
		const struct sugar_place *p = &a->place[i];
		bool by_mesh = p->kind == SUGAR_MESH || p->kind == SUGAR_SWIZZLE;
		k = by_mesh ? m->mesh.at[mesh].size[p->mesh_axis] : 1;
		if (!by_mesh)
			expr_is_const(m, p->factor, &k);
		n *= k;
	}
	return n;
}

/* Returns true if n may divide an extent. An unknown extent is assumed to be divisible, see
 * op_layout_assume. */
static bool may_divide(struct module *m, int64_t n, expr_id extent)
{
	int64_t k;
	return !expr_is_const(m, extent, &k) || k % n == 0;
}

/* Finds outermost axes that a reshape keeps. In infer_axes, axes that are joined or split are whole. But
 * their outermost axes still correspond if both are cut by numbers that divide both extents: [b, s,
 * a*e@tp] → [b, s, a@tp, e]. */
static void reshape_outer(struct module *m, struct op_layout *l)
{
	struct infer_axes *x = &l->x;
	unsigned dims = x->dim_n;
	for (unsigned d = 0; d + 1 < dims && x->dim_n < INFER_MAX_DIMS; d++) {
		int a = op_layout_axis(l, 0, d), b = op_layout_result_axis(l, d + 1);
		if (x->kind[d] != DIM_WHOLE || x->kind[d + 1] != DIM_WHOLE || a < 0 || b < 0)
			continue;
		struct sugar_axis *from = &l->o[0].axis[a], *to = &l->r.axis[b];
		int64_t n = block_count(m, value_type(m, l->operand[0])->mesh, from);
		int64_t k = block_count(m, value_type(m, l->result)->mesh, to);
		if (!l->o_known[0] || !l->r_known || !may_divide(m, n, from->extent) ||
		    !may_divide(m, n, to->extent) || !may_divide(m, k, from->extent) ||
		    !may_divide(m, k, to->extent))
			continue;
		x->kind[x->dim_n] = DIM_PARALLEL;
		x->operand[0][a] = x->result[b] = (uint8_t)x->dim_n++;
		d++;
	}
}

static void assume_divides(struct module *m, int64_t n, expr_id extent, uint32_t at)
{
	expr_id divisor = expr_const(m, n);
	int64_t k;
	if (n < 2 || expr_is_const(m, extent, &k))
		return;
	for (uint32_t i = 0; i < m->assumption.n; i++)
		if (m->assumption.at[i].divisor == divisor && m->assumption.at[i].dividend == extent)
			return;
	vec_push(&m->assumption, (struct assumption){.divisor = divisor, .dividend = extent, .at = at});
}

void op_layout_assume(struct module *m, op_id op)
{
	struct op_layout l;
	if (m->op.at[op].kind != OP_RESHAPE || !op_layout_read(m, op, &l))
		return;
	for (unsigned a = 0; a < l.o[0].rank; a++) {
		int b = l.x.operand[0][a] == INFER_NONE ? -1 : op_layout_result_axis(&l, l.x.operand[0][a]);
		if (b < 0 || l.o[0].axis[a].extent == l.r.axis[b].extent)
			continue;
		int64_t n = block_count(m, value_type(m, l.operand[0])->mesh, &l.o[0].axis[a]);
		assume_divides(m, n, l.o[0].axis[a].extent, m->op.at[op].at);
		assume_divides(m, n, l.r.axis[b].extent, m->op.at[op].at);
	}
}

bool op_layout_read(struct module *m, op_id op, struct op_layout *l)
{
	return op_layout_read_result(m, op, 0, l);
}

bool op_layout_read_result(struct module *m, op_id op, unsigned k, struct op_layout *l)
{
	const struct op_info *info = &op_info[m->op.at[op].kind];
	if ((info->form != FORM_CALL && !(info->traits & TRAIT_COLLECTIVE)) || info->traits & TRAIT_OPAQUE)
		return false;
	l->op = op;
	if (!infer_axes(m, op, &l->x))
		return false;
	l->result = op_result(m, op, k);
	struct type t = *value_type(m, l->result);
	l->r_known = sugar_from_domain(m, t.domain, t.mesh, &l->r);
	for (unsigned i = 0; i < l->x.operand_n; i++) {
		l->operand[i] = op_read(m, op, i);
		t = *value_type(m, l->operand[i]);
		l->o_known[i] = sugar_from_domain(m, t.domain, t.mesh, &l->o[i]);
	}
	if (m->op.at[op].kind == OP_RESHAPE)
		reshape_outer(m, l);
	return true;
}

int op_layout_axis(const struct op_layout *l, unsigned k, unsigned dim)
{
	for (unsigned a = 0; a < l->o[k].rank; a++)
		if (l->x.operand[k][a] == dim)
			return (int)a;
	return -1;
}

int op_layout_result_axis(const struct op_layout *l, unsigned dim)
{
	for (unsigned a = 0; a < l->r.rank; a++)
		if (l->x.result[a] == dim)
			return (int)a;
	return -1;
}

bool op_layout_same(struct module *m, const struct op_layout *l, int k, unsigned a, int q, unsigned b)
{
	bool known_k = k < 0 ? l->r_known : l->o_known[k], known_q = q < 0 ? l->r_known : l->o_known[q];
	type_id tk = m->value.at[k < 0 ? l->result : l->operand[k]].type;
	type_id tq = m->value.at[q < 0 ? l->result : l->operand[q]].type;
	const struct sugar_axis *x = k < 0 ? &l->r.axis[a] : &l->o[k].axis[a];
	const struct sugar_axis *y = q < 0 ? &l->r.axis[b] : &l->o[q].axis[b];
	if (!known_k || !known_q)
		return layout_same_footprint(m, tk, a, tq, b);
	if (!place_same_footprint(x, y))
		return false;
	return m->type.at[tk].mesh == m->type.at[tq].mesh || !place_footprint(x);
}
