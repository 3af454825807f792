/* build: interns attributes and teams, and makes values and statements. */
#include "ir/build.h"
#include "ir/cons.h"
#include "ir/expr.h"
#include <assert.h>
#include <string.h>

static const void *copy_bytes(struct module *m, const void *from, size_t n)
{
	void *p = arena_alloc(m->arena, n);
	if (n)
		memcpy(p, from, n);
	return p;
}

mesh_id ir_mesh_add(struct module *m, const struct mesh *mesh)
{
	for (mesh_id i = 1; i < m->mesh.n; i++) {
		const struct mesh *o = &m->mesh.at[i];
		if (o->name == mesh->name && o->rank == mesh->rank && o->device_count == mesh->device_count &&
		    !memcmp(o->size, mesh->size, sizeof *o->size * o->rank) &&
		    !memcmp(o->axis_name, mesh->axis_name, sizeof *o->axis_name * o->rank) &&
		    !memcmp(o->device, mesh->device, sizeof *o->device * o->device_count))
			return i;
	}
	struct mesh n = *mesh;
	n.device = copy_bytes(m, mesh->device, sizeof *mesh->device * mesh->device_count);
	n.max_device = 0;
	for (uint32_t i = 0; i < n.device_count; i++)
		if (n.device[i] > n.max_device)
			n.max_device = n.device[i];
	vec_push(&m->mesh, n);
	return m->mesh.n - 1;
}

group_id ir_group_add(struct module *m, name_id name, uint32_t size, team_id members, uint32_t at)
{
	vec_push(&m->group, (struct group){.name = name, .size = size, .members = members, .at = at});
	return m->group.n - 1;
}

param_id ir_param_add(struct module *m, name_id name, uint32_t at)
{
	vec_push(&m->param, (struct param){.name = name, .number = -1, .at = at});
	return m->param.n - 1;
}

index_id ir_index_add(struct module *m, name_id name)
{
	vec_push(&m->index, (struct index){.name = name, .number = -1});
	return m->index.n - 1;
}

handle_id ir_handle_add(struct module *m, name_id name)
{
	vec_push(&m->handle, (struct handle){.name = name, .number = -1});
	return m->handle.n - 1;
}

static scalar_id intern_scalar(struct module *m, struct scalar s)
{
	uint64_t hash = hash_block(2, &s.expr, sizeof s.expr);
	hash = hash_block(hash, &s.literal, sizeof s.literal);
	struct hash_probe p = {.hash = hash};
	for (scalar_id id; (id = hash_next(&m->cons->scalar, &p));)
		if (m->scalar.at[id].expr == s.expr &&
		    !memcmp(&m->scalar.at[id].literal, &s.literal, sizeof s.literal))
			return id;
	vec_push(&m->scalar, s);
	hash_insert(&m->cons->scalar, hash, m->scalar.n - 1);
	return m->scalar.n - 1;
}

scalar_id ir_scalar_expr(struct module *m, expr_id e)
{
	return intern_scalar(m, (struct scalar){.expr = e});
}

scalar_id ir_scalar_literal(struct module *m, double v)
{
	return intern_scalar(m, (struct scalar){.literal = v});
}

static bool same_attr(const struct attr *a, const struct attr *b)
{
	if (a->key != b->key || a->kind != b->kind || a->n != b->n)
		return false;
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
		return a->u.i == b->u.i;
	case ATTR_FLOAT:
		return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
	case ATTR_NAME:
	case ATTR_STRING:
		return a->u.name == b->u.name;
	case ATTR_EXPR:
		return a->u.expr == b->u.expr;
	case ATTR_INTS:
		return !a->n || !memcmp(a->u.ints, b->u.ints, sizeof *a->u.ints * a->n);
	case ATTR_EXPRS:
		return !a->n || !memcmp(a->u.exprs, b->u.exprs, sizeof *a->u.exprs * a->n);
	}
	return false;
}

static uint64_t hash_attr(uint64_t hash, const struct attr *a)
{
	uint32_t head[3] = {a->key, a->kind, a->n};
	hash = hash_block(hash, head, sizeof head);
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
	case ATTR_FLOAT:
		return hash_block(hash, &a->u.i, sizeof a->u.i);
	case ATTR_NAME:
	case ATTR_STRING:
	case ATTR_EXPR:
		return hash_block(hash, &a->u.name, sizeof a->u.name);
	case ATTR_INTS:
		return hash_block(hash, a->u.ints, sizeof *a->u.ints * a->n);
	case ATTR_EXPRS:
		return hash_block(hash, a->u.exprs, sizeof *a->u.exprs * a->n);
	}
	return hash;
}

attrs_id ir_attrs(struct module *m, const struct attr *at, unsigned n)
{
	if (!n)
		return 0;
	uint64_t hash = n;
	for (unsigned i = 0; i < n; i++)
		hash = hash_attr(hash, &at[i]);
	struct hash_probe p = {.hash = hash};
	for (attrs_id id; (id = hash_next(&m->cons->attrs, &p));) {
		const struct attrs *l = &m->attrs.at[id];
		unsigned i = 0;
		while (l->n == n && i < n && same_attr(&l->at[i], &at[i]))
			i++;
		if (l->n == n && i == n)
			return id;
	}
	struct attr *list = arena_alloc(m->arena, sizeof *list * n);
	memcpy(list, at, sizeof *list * n);
	for (unsigned i = 0; i < n; i++) {
		if (list[i].kind == ATTR_INTS)
			list[i].u.ints = copy_bytes(m, at[i].u.ints, sizeof *at[i].u.ints * at[i].n);
		if (list[i].kind == ATTR_EXPRS)
			list[i].u.exprs = copy_bytes(m, at[i].u.exprs, sizeof *at[i].u.exprs * at[i].n);
	}
	vec_push(&m->attrs, (struct attrs){.n = n, .at = list});
	hash_insert(&m->cons->attrs, hash, m->attrs.n - 1);
	return m->attrs.n - 1;
}

attrs_id ir_attrs_with(struct module *m, attrs_id attrs, const struct attr *a)
{
	const struct attrs l = m->attrs.at[attrs];
	struct attr *list = arena_alloc(m->arena, sizeof *list * (l.n + 1));
	unsigned n = 0;
	bool replaced = false;
	for (unsigned i = 0; i < l.n; i++) {
		bool here = l.at[i].key == a->key;
		list[n++] = here ? *a : l.at[i];
		replaced |= here;
	}
	if (!replaced)
		list[n++] = *a;
	return ir_attrs(m, list, n);
}

attrs_id ir_attrs_without(struct module *m, attrs_id attrs, name_id key)
{
	const struct attrs l = m->attrs.at[attrs];
	struct attr *list = arena_alloc(m->arena, sizeof *list * (l.n + 1));
	unsigned n = 0;
	for (unsigned i = 0; i < l.n; i++)
		if (l.at[i].key != key)
			list[n++] = l.at[i];
	return ir_attrs(m, list, n);
}

team_id ir_team_make(struct module *m, uint32_t slices, const uint32_t *start, const uint32_t *device)
{
	uint64_t hash = hash_block(slices, start, sizeof *start * (slices + 1));
	hash = hash_block(hash, device, sizeof *device * start[slices]);
	struct hash_probe p = {.hash = hash};
	for (team_id id; (id = hash_next(&m->cons->team, &p));) {
		const struct team *t = &m->team.at[id];
		if (t->slice_n == slices && !memcmp(t->start, start, sizeof *start * (slices + 1)) &&
		    !memcmp(t->device, device, sizeof *device * start[slices]))
			return id;
	}
	struct team t = {
	    .slice_n = slices,
	    .device_n = start[slices],
	    .start = copy_bytes(m, start, sizeof *start * (slices + 1)),
	    .device = copy_bytes(m, device, sizeof *device * start[slices]),
	};
	vec_push(&m->team, t);
	hash_insert(&m->cons->team, hash, m->team.n - 1);
	return m->team.n - 1;
}

team_id ir_team_of_mesh(struct module *m, mesh_id mesh, const uint8_t *axes, unsigned n)
{
	const struct mesh *x = &m->mesh.at[mesh];
	uint32_t stride[IR_MAX_MESH_AXES], length = 1, along = 0;
	for (unsigned k = x->rank, s = 1; k-- > 0; s *= x->size[k])
		stride[k] = s;
	for (unsigned k = 0; k < n; k++) {
		length *= x->size[axes[k]];
		along |= 1u << axes[k];
	}
	uint32_t slices = x->device_count / length;
	uint32_t *start = mem_alloc(sizeof *start * (slices + 1)),
	         *device = mem_alloc(sizeof *device * x->device_count);
	uint32_t slice = 0;
	for (uint32_t p = 0; p < x->device_count; p++) {
		bool first = true; /* the device is the first of its slice: index 0 along all the axes */
		for (unsigned k = 0; k < x->rank; k++)
			if (along >> k & 1 && p / stride[k] % x->size[k])
				first = false;
		if (!first)
			continue;
		start[slice] = slice * length;
		for (uint32_t i = 0; i < length; i++) {
			uint32_t q = p, rest = i;
			for (unsigned k = n; k-- > 0;) {
				q += rest % x->size[axes[k]] * stride[axes[k]];
				rest /= x->size[axes[k]];
			}
			device[slice * length + i] = x->device[q];
		}
		slice++;
	}
	start[slices] = slices * length;
	team_id t = ir_team_make(m, slices, start, device);
	free(start);
	free(device);
	return t;
}

bool ir_team_axes(struct module *m, team_id team, mesh_id mesh, uint8_t *axes, unsigned *n)
{
	const struct mesh *x = &m->mesh.at[mesh];
	if (!mesh || x->rank > 4)
		return false;
	/* tries every ordered choice of axes, shorter ones first, each length in mesh order */
	for (unsigned count = 1; count <= x->rank; count++) {
		unsigned tries = 1;
		for (unsigned i = 0; i < count; i++)
			tries *= x->rank;
		for (unsigned t = 0; t < tries; t++) {
			unsigned seen = 0, rest = t, i;
			for (i = count; i-- > 0; rest /= x->rank) {
				axes[i] = (uint8_t)(rest % x->rank);
				seen |= 1u << axes[i];
			}
			if ((unsigned)__builtin_popcount(seen) != count)
				continue;
			if (ir_team_of_mesh(m, mesh, axes, count) == team) {
				*n = count;
				return true;
			}
		}
	}
	return false;
}

value_id ir_value_new(struct module *m, type_id type, name_id name, uint32_t at)
{
	vec_push(&m->value,
	         (struct value){.type = type, .name = name, .number = -1, .axis_base = -1, .at = at});
	return m->value.n - 1;
}

/* Returns true if an operand of this role is in the chain of uses of its value. */
static bool is_value_role(unsigned role)
{
	return role <= ROLE_FREE;
}

static void link_operand(struct module *m, uint32_t index)
{
	struct operand *o = &m->operand.at[index];
	if (!is_value_role(o->role))
		return;
	struct value *v = &m->value.at[o->id];
	o->next_use = v->first_use;
	v->first_use = index;
	if (o->role == ROLE_DEF)
		v->def = o->op;
}

op_id ir_op_new(struct module *m, enum op_kind kind, uint32_t at, const struct ir_use *use, unsigned n)
{
	op_id id = m->op.n;
	assert(id < 1u << IR_OP_BITS);
	vec_push(
	    &m->op,
	    (struct op){
	        .kind = (uint16_t)kind, .number = -1, .at = at, .operand = m->operand.n, .operand_n = n});
	for (unsigned i = 0; i < n; i++) {
		vec_push(&m->operand, (struct operand){.id = use[i].id, .op = id, .role = use[i].role});
		m->op.at[id].def_n += use[i].role == ROLE_DEF;
		link_operand(m, m->operand.n - 1);
	}
	return id;
}

void ir_append(struct module *m, region_id r, op_id op)
{
	struct region *g = &m->region.at[r];
	struct op *o = &m->op.at[op];
	o->parent = r;
	o->prev = g->last;
	o->next = 0;
	if (g->last)
		m->op.at[g->last].next = op;
	else
		g->first = op;
	g->last = op;
}

void ir_insert_before(struct module *m, op_id where, op_id op)
{
	struct op *w = &m->op.at[where], *o = &m->op.at[op];
	o->parent = w->parent;
	o->prev = w->prev;
	o->next = where;
	if (w->prev)
		m->op.at[w->prev].next = op;
	else
		m->region.at[w->parent].first = op;
	w->prev = op;
}

void ir_insert_after(struct module *m, op_id where, op_id op)
{
	op_id next = m->op.at[where].next;
	if (next)
		ir_insert_before(m, next, op);
	else
		ir_append(m, m->op.at[where].parent, op);
}

region_id ir_region_new(struct module *m, op_id owner)
{
	region_id id = m->region.n;
	vec_push(&m->region, (struct region){.owner = owner});
	region_id first = m->op.at[owner].region;
	if (first)
		m->region.at[first].sibling = id;
	else
		m->op.at[owner].region = id;
	return id;
}
