/* expr: builds, folds and evaluates expressions. The canonical form is in expr_canon.c. */
#include "ir/expr.h"
#include "base/checked.h"
#include "ir/cons.h"
#include <string.h>

static expr_id intern_expr(struct module *m, struct expr e)
{
	uint64_t hash = hash_block(0, &e, sizeof e);
	struct hash_probe p = {.hash = hash};
	for (expr_id id; (id = hash_next(&m->cons->expr, &p));)
		if (!memcmp(&m->expr.at[id], &e, sizeof e))
			return id;
	expr_id id = m->expr.n;
	vec_push(&m->expr, e);
	hash_insert(&m->cons->expr, hash, id);
	return id;
}

expr_id expr_const(struct module *m, int64_t k)
{
	return intern_expr(m, (struct expr){.kind = EXPR_CONST, .k = k});
}

expr_id expr_param(struct module *m, param_id p)
{
	return intern_expr(m, (struct expr){.kind = EXPR_PARAM, .flags = EXPR_HAS_PARAM, .k = p});
}

expr_id expr_index(struct module *m, index_id i)
{
	return intern_expr(m, (struct expr){.kind = EXPR_INDEX, .flags = EXPR_HAS_INDEX, .k = i});
}

expr_id expr_rank(struct module *m)
{
	return intern_expr(m, (struct expr){.kind = EXPR_RANK, .flags = EXPR_HAS_RANK});
}

expr_id expr_streams(struct module *m)
{
	return intern_expr(m, (struct expr){.kind = EXPR_STREAMS, .flags = EXPR_HAS_RANK});
}

expr_id expr_axis_index(struct module *m, mesh_id mesh, unsigned mesh_axis)
{
	return intern_expr(m, (struct expr){.kind = EXPR_AXIS_INDEX,
	                                    .mesh_axis = (uint8_t)mesh_axis,
	                                    .flags = EXPR_HAS_RANK,
	                                    .k = mesh});
}

static bool counts_all_devices(const struct module *m, const struct mesh *mesh)
{
	for (uint32_t i = 0; i < mesh->device_count; i++)
		if (mesh->device[i] != i)
			return false;
	for (mesh_id other = 1; other < m->mesh.n; other++)
		if (m->mesh.at[other].max_device > mesh->max_device)
			return false;
	return true;
}

bool expr_device_index_is_rank(const struct module *m)
{
	const struct mesh *mesh = &m->mesh.at[m->default_mesh];
	return !m->default_mesh || (mesh->rank == 1 && !counts_all_devices(m, mesh));
}

bool expr_division_rounds(const struct module *m, expr_id a, expr_id b)
{
	return (m->expr.at[a].flags | m->expr.at[b].flags) & (EXPR_HAS_INDEX | EXPR_HAS_RANK);
}

expr_id expr_device(struct module *m, mesh_id mesh, unsigned mesh_axis, expr_id k)
{
	if (!k)
		return 0;
	uint16_t flags = EXPR_HAS_RANK | m->expr.at[k].flags;
	return intern_expr(
	    m, (struct expr){
	           .kind = EXPR_DEVICE, .mesh_axis = (uint8_t)mesh_axis, .flags = flags, .a = k, .k = mesh});
}

/* Computes a binary operator or NOT. Returns false if the result is undefined. */
static bool apply_operator(enum expr_kind kind, int64_t a, int64_t b, int64_t *out)
{
	switch (kind) {
	case EXPR_ADD:
		return checked_add(a, b, out);
	case EXPR_SUB:
		return checked_sub(a, b, out);
	case EXPR_MUL:
		return checked_mul(a, b, out);
	case EXPR_FLOOR_DIV:
		return checked_floor_div(a, b, out);
	case EXPR_CEIL_DIV:
		return checked_ceil_div(a, b, out);
	case EXPR_MOD:
		return checked_mod(a, b, out);
	case EXPR_DIV: {
		int64_t rest;
		return checked_mod(a, b, &rest) && rest == 0 && checked_floor_div(a, b, out);
	}
	case EXPR_MIN:
		*out = a < b ? a : b;
		return true;
	case EXPR_MAX:
		*out = a > b ? a : b;
		return true;
	case EXPR_EQ:
		*out = a == b;
		return true;
	case EXPR_NE:
		*out = a != b;
		return true;
	case EXPR_LT:
		*out = a < b;
		return true;
	case EXPR_LE:
		*out = a <= b;
		return true;
	case EXPR_GT:
		*out = a > b;
		return true;
	case EXPR_GE:
		*out = a >= b;
		return true;
	case EXPR_AND:
		*out = a && b;
		return true;
	case EXPR_OR:
		*out = a || b;
		return true;
	case EXPR_NOT:
		*out = !a;
		return true;
	default:
		return false;
	}
}

bool expr_is_const(const struct module *m, expr_id e, int64_t *out)
{
	if (m->expr.at[e].kind != EXPR_CONST)
		return false;
	if (out)
		*out = m->expr.at[e].k;
	return true;
}

expr_id expr_op(struct module *m, enum expr_kind kind, expr_id a, expr_id b)
{
	if (!a || (!b && kind != EXPR_NOT))
		return 0;
	int64_t x, y = 0, r;
	bool ca = expr_is_const(m, a, &x), cb = kind == EXPR_NOT || expr_is_const(m, b, &y);
	if (ca && cb)
		return apply_operator(kind, x, y, &r) ? expr_const(m, r) : 0;
	if (cb && y == 0 &&
	    (kind == EXPR_DIV || kind == EXPR_FLOOR_DIV || kind == EXPR_CEIL_DIV || kind == EXPR_MOD))
		return 0;
	if (kind == EXPR_MUL && cb) { /* constants first */
		expr_id t = a;
		a = b, b = t;
		ca = true, cb = false, x = y;
	}
	if ((kind == EXPR_ADD || kind == EXPR_SUB) && cb && y == 0)
		return a;
	if (kind == EXPR_ADD && ca && x == 0)
		return b;
	if (kind == EXPR_MUL && ca && x == 1)
		return b;
	if (kind == EXPR_MUL && ca && x == 0)
		return a;
	if ((kind == EXPR_DIV || kind == EXPR_FLOOR_DIV || kind == EXPR_CEIL_DIV) && cb && y == 1)
		return a;
	uint16_t flags = m->expr.at[a].flags | (b ? m->expr.at[b].flags : 0);
	return intern_expr(m, (struct expr){.kind = (uint8_t)kind, .flags = flags, .a = a, .b = b});
}

static expr_id replace_leaf(struct module *m, expr_id e, enum expr_kind leaf, int64_t k, uint16_t flag,
                            expr_id to)
{
	struct expr x = m->expr.at[e];
	if (!(x.flags & flag))
		return e;
	if (x.kind == leaf && x.k == k)
		return to;
	expr_id a = x.a ? replace_leaf(m, x.a, leaf, k, flag, to) : 0;
	expr_id b = x.b ? replace_leaf(m, x.b, leaf, k, flag, to) : 0;
	if (a == x.a && b == x.b)
		return e;
	if ((x.a && !a) || (x.b && !b))
		return 0;
	if (x.kind == EXPR_DEVICE)
		return expr_device(m, (mesh_id)x.k, x.mesh_axis, a);
	return expr_op(m, (enum expr_kind)x.kind, a, b);
}

expr_id expr_replace_index(struct module *m, expr_id e, index_id from, expr_id to)
{
	return replace_leaf(m, e, EXPR_INDEX, from, EXPR_HAS_INDEX, to);
}

bool expr_uses_index(const struct module *m, expr_id e, index_id i)
{
	const struct expr *x = &m->expr.at[e];
	if (!(x->flags & EXPR_HAS_INDEX))
		return false;
	if (x->kind == EXPR_INDEX)
		return x->k == (int64_t)i;
	return (x->a && expr_uses_index(m, x->a, i)) || (x->b && expr_uses_index(m, x->b, i));
}

enum expr_status expr_eval(const struct module *m, expr_id e, const struct expr_env *env, int64_t *out,
                           expr_id *offending)
{
	const struct expr *x = &m->expr.at[e];
	expr_id ignored;
	offending = offending ? offending : &ignored;
	*offending = e;
	int64_t a = 0, b = 0;
	enum expr_status status;
	switch ((enum expr_kind)x->kind) {
	case EXPR_NONE:
		return EXPR_UNKNOWN;
	case EXPR_CONST:
		*out = x->k;
		return EXPR_OK;
	case EXPR_PARAM: {
		const struct param *p = &m->param.at[x->k];
		if (p->meaning)
			return expr_eval(m, p->meaning, env, out, offending);
		if (!p->has_value)
			return EXPR_UNDEFINED_PARAM;
		*out = p->value;
		return EXPR_OK;
	}
	case EXPR_INDEX:
		if (!env->index)
			return EXPR_UNKNOWN;
		*out = env->index[x->k];
		return EXPR_OK;
	case EXPR_RANK:
		if (env->rank < 0)
			return EXPR_UNKNOWN;
		*out = env->rank;
		return EXPR_OK;
	case EXPR_STREAMS:
		*out = env->streams;
		return EXPR_OK;
	case EXPR_AXIS_INDEX: {
		uint32_t i;
		if (env->rank < 0 ||
		    !mesh_axis_index(&m->mesh.at[x->k], (uint32_t)env->rank, x->mesh_axis, &i))
			return EXPR_UNKNOWN;
		*out = i;
		return EXPR_OK;
	}
	case EXPR_DEVICE: {
		const struct mesh *mesh = &m->mesh.at[x->k];
		uint32_t position;
		if ((status = expr_eval(m, x->a, env, &a, offending)) != EXPR_OK)
			return status;
		if (env->rank < 0 || !mesh_position(mesh, (uint32_t)env->rank, &position) || a < 0 ||
		    a >= mesh->size[x->mesh_axis]) {
			*offending = e;
			return EXPR_UNKNOWN;
		}
		*out = mesh_device_along(mesh, position, x->mesh_axis, (uint32_t)a);
		return EXPR_OK;
	}
	case EXPR_AND: /* the right side need not be defined if the left side decides */
	case EXPR_OR:
		if ((status = expr_eval(m, x->a, env, &a, offending)) != EXPR_OK)
			return status;
		if ((a != 0) == (x->kind == EXPR_OR)) {
			*out = a != 0;
			return EXPR_OK;
		}
		if ((status = expr_eval(m, x->b, env, &b, offending)) != EXPR_OK)
			return status;
		*out = b != 0;
		return EXPR_OK;
	default:
		if ((status = expr_eval(m, x->a, env, &a, offending)) != EXPR_OK)
			return status;
		if (x->b && (status = expr_eval(m, x->b, env, &b, offending)) != EXPR_OK)
			return status;
		*offending = e;
		if (apply_operator((enum expr_kind)x->kind, a, b, out))
			return EXPR_OK;
		return x->kind == EXPR_DIV && b != 0 ? EXPR_INDIVISIBLE : EXPR_OVERFLOW;
	}
}

bool mesh_position(const struct mesh *mesh, uint32_t device, uint32_t *out)
{
	uint32_t guess =
	    mesh->device_count ? device - mesh->device[0] : 0; /* first guess: device ids without gaps */
	if (guess < mesh->device_count && mesh->device[guess] == device) {
		*out = guess;
		return true;
	}
	for (uint32_t p = 0; p < mesh->device_count; p++)
		if (mesh->device[p] == device) {
			*out = p;
			return true;
		}
	return false;
}

/* Returns the distance in positions between neighbours along an axis. */
static uint32_t axis_stride(const struct mesh *mesh, unsigned axis)
{
	uint32_t stride = 1;
	for (unsigned k = axis + 1; k < mesh->rank; k++)
		stride *= mesh->size[k];
	return stride;
}

bool mesh_axis_index(const struct mesh *mesh, uint32_t device, unsigned axis, uint32_t *out)
{
	uint32_t position;
	if (!mesh_position(mesh, device, &position))
		return false;
	*out = position / axis_stride(mesh, axis) % mesh->size[axis];
	return true;
}

uint32_t mesh_device_along(const struct mesh *mesh, uint32_t position, unsigned axis, uint32_t k)
{
	uint32_t stride = axis_stride(mesh, axis);
	uint32_t here = position / stride % mesh->size[axis];
	return mesh->device[position - here * stride + k * stride];
}

bool mesh_same_shape(const struct mesh *a, const struct mesh *b)
{
	return a->rank == b->rank && !memcmp(a->size, b->size, sizeof *a->size * a->rank);
}

bool mesh_equal(const struct mesh *a, const struct mesh *b)
{
	return mesh_same_shape(a, b) && !memcmp(a->device, b->device, sizeof *a->device * a->device_count);
}

int mesh_find_axis(const struct mesh *mesh, name_id name)
{
	for (unsigned k = 0; k < mesh->rank; k++)
		if (mesh->axis_name[k] == name)
			return (int)k;
	return -1;
}
