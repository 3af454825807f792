/* steps: changes the layouts of one kind of pipeline to those of another.
 *
 *     G: f32[t@stream(2), h] = set(X)            G: f32[t@swizzle1d(x), h] = set(X)
 *     Y: f32[t@stream(2), n] = linear(G, W)  →   Y: f32[t@swizzle1d(x), n] = linear(G, W)
 *
 * The change starts at a gather's result (or a reduction's operand) and follows the axis through every
 * operation whose other values are cut in the same way. */
#include "pass/steps.h"
#include "ir/expr.h"
#include "pass/order.h"
#include "pass/place.h"
#include "pass/reshard.h"
#include <string.h>

/* One axis of a value. */
struct item {
	value_id value;
	unsigned axis;
};

/* The placements of an axis that change, and their replacements. */
struct change {
	unsigned level, old_n, new_n; /* old: placements from this level on */
	struct sugar_place before[SUGAR_MAX_PLACES], after[2];
	unsigned before_n; /* all placements of the axis */
};

struct flood {
	struct module *m;
	struct change c;
	VEC(struct item) item;
	uint8_t *seen; /* by value: axis + 1 */
};

static bool read_sugar(struct module *m, value_id v, struct sugar *out)
{
	const struct type *t = value_type(m, v);
	return t->mesh && sugar_from_domain(m, t->domain, t->mesh, out);
}

/* ---- changes at a set */

static expr_id size_of(struct module *m, mesh_id mesh, unsigned axis)
{
	return expr_const(m, m->mesh.at[mesh].size[axis]);
}

/* Finds the level of `a` at which another axis has the mesh axis. All placements above must agree. */
static bool level_of(const struct sugar_axis *with_mesh, const struct sugar_axis *a, unsigned x,
                     unsigned *level)
{
	for (unsigned k = 0; k < with_mesh->place_n && k < a->place_n; k++) {
		if (with_mesh->place[k].kind == SUGAR_MESH && with_mesh->place[k].mesh_axis == x) {
			*level = k;
			return true;
		}
		if (!place_alike(&with_mesh->place[k], &a->place[k]))
			return false;
	}
	return false;
}

/* Finds the kind of a set, and the change to another kind. *at: the axis that changes, of the set's
 * result (of its operand, if it reduces). Returns STEP_AS_LAYOUT if it has no kind. */
static enum step_kind read_set(struct module *m, op_id op, enum step_kind want, struct item *at,
                               struct change *c)
{
	struct reshard r;
	struct sugar o, q;
	value_id from = op_read(m, op, 0), to = op_result(m, op, 0);
	unsigned level;
	if (m->op.at[op].kind != OP_SET || !read_sugar(m, from, &o) || !read_sugar(m, to, &q))
		return STEP_AS_LAYOUT;
	reshard_classify(m, m->value.at[from].type, m->value.at[to].type, &r);
	bool reduces = r.kind == RESHARD_STEP_REDUCE || r.kind == RESHARD_STEP_RING_REDUCE;
	bool gathers = r.kind == RESHARD_STEP_BROADCAST || r.kind == RESHARD_STEP_PERMUTE;
	if (r.mesh != r.to || r.axis_n != 1 || r.dim < 0 ||
	    (!reduces && !gathers && r.kind != RESHARD_ALLGATHER))
		return STEP_AS_LAYOUT;
	const struct sugar_axis *whole = reduces ? &q.axis[r.dim] : &o.axis[r.dim],
	                        *cut = reduces ? &o.axis[r.dim] : &q.axis[r.dim];
	if (!level_of(whole, cut, r.axis[0], &level))
		return STEP_AS_LAYOUT;
	enum step_kind is = cut->place[level].kind == SUGAR_SWIZZLE ? STEP_PERMUTE : STEP_BROADCAST;
	if (r.kind == RESHARD_ALLGATHER) {
		if (level + 1 >= cut->place_n || cut->place[level + 1].kind != SUGAR_STREAM)
			return STEP_AS_LAYOUT;
		is = STEP_COLLECTIVE;
	}
	*at = (struct item){reduces ? from : to, (unsigned)r.dim};
	*c = (struct change){.level = level, .old_n = is == STEP_COLLECTIVE ? 2 : 1, .new_n = 1};
	c->before_n = cut->place_n;
	memcpy(c->before, cut->place, sizeof c->before);
	expr_id size = size_of(m, r.mesh, r.axis[0]);
	struct sugar_place *p = c->after;
	switch (want) {
	case STEP_PERMUTE:
	case STEP_P2P:
		p[0] = (struct sugar_place){.kind = SUGAR_SWIZZLE, .mesh_axis = r.axis[0]};
		break;
	case STEP_COLLECTIVE:
		p[c->new_n++] = (struct sugar_place){.kind = SUGAR_STREAM, .factor = size};
		p[0] = (struct sugar_place){.kind = SUGAR_BLOCK, .factor = size};
		break;
	default:
		p[0] = (struct sugar_place){.kind = SUGAR_STREAM, .factor = size};
	}
	return is;
}

/* ---- axes that are cut alike */

static void add_flood_item(struct flood *f, value_id v, int axis)
{
	struct sugar s;
	if (axis < 0 || f->seen[v] || !read_sugar(f->m, v, &s) || (unsigned)axis >= s.rank)
		return;
	const struct sugar_axis *a = &s.axis[axis];
	if (a->place_n != f->c.before_n)
		return;
	for (unsigned k = 0; k < a->place_n; k++)
		if (!place_equal(&a->place[k], &f->c.before[k]))
			return;
	f->seen[v] = (uint8_t)(axis + 1);
	vec_push(&f->item, (struct item){v, (unsigned)axis});
}

/* Follows the axis to the other values of a statement that have the same dim of its iteration space. */
static void follow_statement(struct flood *f, op_id op, struct item at)
{
	struct op_layout l;
	if (!op_layout_read(f->m, op, &l))
		return;
	uint8_t dim = INFER_NONE;
	if (l.result == at.value)
		dim = l.x.result[at.axis];
	for (unsigned k = 0; k < l.x.operand_n && dim == INFER_NONE; k++)
		if (l.operand[k] == at.value)
			dim = l.x.operand[k][at.axis];
	if (dim == INFER_NONE)
		return;
	add_flood_item(f, l.result, op_layout_result_axis(&l, dim));
	for (unsigned k = 0; k < l.x.operand_n; k++)
		add_flood_item(f, l.operand[k], op_layout_axis(&l, k, dim));
}

static void flood_values(struct flood *f)
{
	struct module *m = f->m;
	for (uint32_t i = 0; i < f->item.n; i++) {
		struct item at = f->item.at[i];
		if (m->value.at[at.value].def)
			follow_statement(f, m->value.at[at.value].def, at);
		for (uint32_t u = m->value.at[at.value].first_use; u; u = m->operand.at[u].next_use)
			follow_statement(f, m->operand.at[u].op, at);
	}
}

/* Returns true if the program itself takes slices of a value: its indices count the blocks of the layout. */
static bool is_sliced_by_hand(const struct module *m, value_id v)
{
	op_id def = m->value.at[v].def;
	if (def && op_traits(m, def) & TRAIT_VIEW)
		return true;
	for (uint32_t u = m->value.at[v].first_use; u; u = m->operand.at[u].next_use)
		if (op_traits(m, m->operand.at[u].op) & TRAIT_VIEW)
			return true;
	return false;
}

static bool has_slices_by_hand(const struct flood *f)
{
	for (uint32_t i = 0; i < f->item.n; i++)
		if (is_sliced_by_hand(f->m, f->item.at[i].value))
			return true;
	return false;
}

/* ---- the change */

static bool change_type(struct flood *f, struct pass_context *cx, struct item at)
{
	struct module *m = f->m;
	const struct change *c = &f->c;
	type_id t = m->value.at[at.value].type;
	const struct type old = m->type.at[t];
	const struct domain d = m->domain.at[old.domain];
	struct sugar s;
	bool unstreamed = false;
	uint8_t perm[IR_MAX_AXES];
	const char *reason = "it has too many placements";
	domain_allocation_order(&d, &unstreamed, perm);
	sugar_from_domain(m, old.domain, old.mesh, &s);
	struct sugar_axis *a = &s.axis[at.axis];
	unsigned rest = a->place_n - c->level - c->old_n;
	type_id n = 0;
	if (c->level + c->new_n + rest <= SUGAR_MAX_PLACES) {
		memmove(&a->place[c->level + c->new_n], &a->place[c->level + c->old_n],
		        sizeof *a->place * rest);
		memcpy(&a->place[c->level], c->after, sizeof *a->place * c->new_n);
		a->place_n = (uint8_t)(c->level + c->new_n + rest);
		n = place_type(m, t, old.mesh, &s, unstreamed, &reason);
	}
	if (!n) {
		struct buf name = {0};
		pass_put_name(m, at.value, &name);
		diag_error(cx->d, E_STEPS_LAYOUT, m->value.at[at.value].at,
		           "%s cannot have the layout of this pipeline: %s", name.at, reason);
		diag_note(cx->d, DIAG_NOWHERE, "leave --pipeline= away, or choose another");
		buf_free(&name);
		return false;
	}
	m->value.at[at.value].type = unstreamed ? order_streamed(m, order_like(m, n, t), false) : n;
	return true;
}

static const char *const kind_name[] = {[STEP_BROADCAST] = "broadcast",
                                        [STEP_PERMUTE] = "permute",
                                        [STEP_COLLECTIVE] = "collective",
                                        [STEP_P2P] = "p2p"};

static bool retarget(struct flood *f, struct pass_context *cx, op_id op, enum step_kind is,
                     enum step_kind want, struct item at)
{
	struct module *m = f->m;
	struct buf name = {0};
	f->item.n = 0;
	add_flood_item(f, at.value, (int)at.axis);
	flood_values(f);
	bool ok = true, by_hand = has_slices_by_hand(f);
	for (uint32_t i = 0; i < f->item.n; i++) {
		ok = ok && (by_hand || change_type(f, cx, f->item.at[i]));
		f->seen[f->item.at[i].value] = 0;
	}
	pass_put_name(m, at.value, &name);
	if (by_hand)
		pass_remark(cx, m, m->op.at[op].at,
		            "%s: a pipeline of %s steps is kept: the program takes the slices itself",
		            name.at, kind_name[is]);
	else if (ok)
		pass_remark(cx, m, m->op.at[op].at, "%s: a pipeline of %s steps was one of %s", name.at,
		            kind_name[want], kind_name[is]);
	buf_free(&name);
	return ok;
}

/* Remarks why a statement keeps its kind of pipeline; without a statement, why --pipeline= does nothing. */
static void remark_kept(struct module *m, struct pass_context *cx, op_id op, enum step_kind want)
{
	struct buf name = {0};
	if (op)
		pass_put_name(m, op_result(m, op, 0), &name);
	if (op)
		pass_remark(cx, m, m->op.at[op].at, "%s: a reduction has no pipeline of %s steps", name.at,
		            kind_name[want]);
	else
		pass_remark(cx, m, DIAG_NOWHERE,
		            "no pipeline of %s steps: nothing is gathered or reduced in the steps of a loop",
		            kind_name[want]);
	buf_free(&name);
}

bool steps_retarget(struct module *m, struct pass_context *cx, enum step_kind kind, bool offset)
{
	struct flood f = {.m = m, .seen = mem_zalloc(m->value.n)};
	if (offset && kind == STEP_AS_LAYOUT)
		kind = STEP_PERMUTE;
	bool ok = true, found = kind == STEP_AS_LAYOUT;
	for (op_id op = m->region.at[m->body].first; op && ok && kind != STEP_AS_LAYOUT;
	     op = m->op.at[op].next) {
		struct item at;
		enum step_kind is = read_set(m, op, kind, &at, &f.c);
		found |= is != STEP_AS_LAYOUT;
		if (is == STEP_AS_LAYOUT || is == kind || (is == STEP_PERMUTE && kind == STEP_P2P))
			continue;
		if (kind == STEP_COLLECTIVE && at.value == op_read(m, op, 0))
			remark_kept(m, cx, op, kind);
		else
			ok = retarget(&f, cx, op, is, kind, at);
	}
	if (!found)
		remark_kept(m, cx, 0, kind);
	vec_free(&f.item);
	free(f.seen);
	return ok;
}
