/* module: makes, copies and frees the tables of a program, and gives access to operands. */
#include "ir/cons.h"
#include "ir/expr.h"
#include "ir/ir.h"
#include <string.h>

#define TABLES(each)                                                                                         \
	each(expr) each(mesh) each(group) each(param) each(index) each(handle) each(domain) each(type)       \
	    each(value) each(operand) each(scalar) each(op) each(region) each(attrs) each(team) each(input)  \
	        each(input_param) each(output) each(assumption) each(axis_ids)
#define CONS_TABLES(each) each(expr) each(domain) each(type) each(scalar) each(attrs) each(team)

struct module *module_new(struct names *names)
{
	struct module *m = mem_zalloc(sizeof *m);
	m->arena = arena_new();
	m->names = names ? names : names_new();
	m->cons = mem_zalloc(sizeof *m->cons);
	/* id 0 of every table means "none" */
	vec_push(&m->expr, (struct expr){0});
	vec_push(&m->mesh, (struct mesh){0});
	vec_push(&m->group, (struct group){0});
	vec_push(&m->param, (struct param){0});
	vec_push(&m->index, (struct index){0});
	vec_push(&m->handle, (struct handle){0});
	vec_push(&m->domain, (struct domain){0});
	vec_push(&m->type, (struct type){0});
	vec_push(&m->value, (struct value){0});
	vec_push(&m->operand, (struct operand){0});
	vec_push(&m->scalar, (struct scalar){0});
	vec_push(&m->op, (struct op){0});
	vec_push(&m->region, (struct region){0});
	vec_push(&m->attrs, (struct attrs){0});
	vec_push(&m->team, (struct team){0});
	vec_push(&m->region, (struct region){0});
	m->body = 1;
	return m;
}

struct module *module_copy(const struct module *m)
{
	struct module *n = mem_alloc(sizeof *n);
	*n = *m;
	n->arena = arena_new();
	n->cons = mem_zalloc(sizeof *n->cons);
	n->copied = true;
#define COPY(table)                                                                                          \
	n->table.at = NULL;                                                                                  \
	n->table.n = n->table.cap = 0;                                                                       \
	vec_reserve(&n->table, m->table.n);                                                                  \
	if (m->table.n)                                                                                      \
		memcpy(n->table.at, m->table.at, sizeof *m->table.at * m->table.n);                          \
	n->table.n = m->table.n;
	TABLES(COPY)
#undef COPY
#define COPY(table) hash_table_copy(&n->cons->table, &m->cons->table);
	CONS_TABLES(COPY)
#undef COPY
	return n;
}

void module_free(struct module *m)
{
	if (!m)
		return;
#define FREE(table) vec_free(&m->table);
	TABLES(FREE)
#undef FREE
#define FREE(table) hash_table_free(&m->cons->table);
	CONS_TABLES(FREE)
#undef FREE
	free(m->cons);
	if (!m->copied)
		names_free(m->names);
	arena_free(m->arena);
	free(m);
}

size_t module_bytes(const struct module *m)
{
	size_t n = arena_bytes(m->arena) + names_bytes(m->names);
#define ADD(table) n += sizeof *m->table.at * m->table.n;
	TABLES(ADD)
#undef ADD
#define ADD(table) n += hash_table_bytes(&m->cons->table);
	CONS_TABLES(ADD)
#undef ADD
	return n;
}

uint32_t op_operand_id(const struct module *m, op_id op, enum role role, unsigned k)
{
	const struct op *o = &m->op.at[op];
	for (unsigned i = 0; i < o->operand_n; i++) {
		const struct operand *p = &m->operand.at[o->operand + i];
		if (p->role == role && k-- == 0)
			return p->id;
	}
	return 0;
}

unsigned op_role_count(const struct module *m, op_id op, enum role role)
{
	const struct op *o = &m->op.at[op];
	unsigned n = 0;
	for (unsigned i = 0; i < o->operand_n; i++)
		n += m->operand.at[o->operand + i].role == role;
	return n;
}

unsigned op_result_count(const struct module *m, op_id op)
{
	return m->op.at[op].def_n ? m->op.at[op].def_n : op_role_count(m, op, ROLE_WRITE);
}

value_id op_result(const struct module *m, op_id op, unsigned k)
{
	return m->op.at[op].def_n ? op_def(m, op, k) : op_write(m, op, k);
}

expr_id op_scalar_expr(const struct module *m, op_id op, unsigned k)
{
	uint32_t s = op_operand_id(m, op, ROLE_SCALAR, k);
	return s ? m->scalar.at[s].expr : 0;
}

int64_t module_ranks(const struct module *m)
{
	int64_t n = m->file_ranks > 1 ? m->file_ranks : 1;
	for (mesh_id i = 1; i < m->mesh.n; i++)
		if ((int64_t)m->mesh.at[i].max_device + 1 > n)
			n = (int64_t)m->mesh.at[i].max_device + 1;
	for (team_id i = 1; i < m->team.n; i++)
		for (uint32_t k = 0; k < m->team.at[i].device_n; k++)
			if ((int64_t)m->team.at[i].device[k] + 1 > n)
				n = (int64_t)m->team.at[i].device[k] + 1;
	return n;
}

bool module_rank_is_idle(const struct module *m, int64_t rank)
{
	uint32_t position;
	for (mesh_id i = 1; i < m->mesh.n; i++)
		if (mesh_position(&m->mesh.at[i], (uint32_t)rank, &position))
			return false;
	for (team_id i = 1; i < m->team.n; i++)
		for (uint32_t k = 0; k < m->team.at[i].device_n; k++)
			if (m->team.at[i].device[k] == rank)
				return false;
	return m->mesh.n > 1 || rank > 0;
}

bool module_has_input(const struct module *m, uint32_t input, int64_t rank)
{
	int64_t has = 1;
	expr_id ranks = m->input.at[input].ranks;
	return !ranks ||
	       (expr_eval(m, ranks, &(struct expr_env){.rank = rank}, &has, NULL) == EXPR_OK && has);
}

const struct attr *attrs_find(const struct module *m, attrs_id attrs, const char *key)
{
	const struct attrs *l = &m->attrs.at[attrs];
	for (uint32_t i = 0; i < l->n; i++) {
		const char *name = names_text(m->names, l->at[i].key);
		if (name[0] == key[0] && !strcmp(name, key)) /* most differ in the first letter */
			return &l->at[i];
	}
	return NULL;
}

const struct attr *op_attr(const struct module *m, op_id op, const char *key)
{
	return attrs_find(m, m->op.at[op].attrs, key);
}

group_id op_group(const struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "group");
	for (group_id g = 1; a && a->kind == ATTR_NAME && g < m->group.n; g++)
		if (m->group.at[g].name == a->u.name)
			return g;
	return 0;
}

int64_t op_attr_int(const struct module *m, op_id op, const char *key, int64_t otherwise)
{
	const struct attr *a = op_attr(m, op, key);
	return a && a->kind == ATTR_INT ? a->u.i : otherwise;
}

bool op_attr_is_true(const struct module *m, op_id op, const char *key)
{
	const struct attr *a = op_attr(m, op, key);
	return a && ((a->kind == ATTR_NAME && !strcmp(names_text(m->names, a->u.name), "true")) ||
	             (a->kind == ATTR_INT && a->u.i));
}

bool op_attr_reduce(const struct module *m, op_id op, enum reduce_op *out)
{
	static const char *const key[] = {"op", "reduce", "red_op"};
	for (unsigned k = 0; k < sizeof key / sizeof *key; k++) {
		const struct attr *a = op_attr(m, op, key[k]);
		if (a && (a->kind == ATTR_NAME || a->kind == ATTR_STRING) &&
		    reduce_op_parse(names_text(m->names, a->u.name), out))
			return true;
	}
	return false;
}

name_id op_backend(const struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "backend");
	return a && (a->kind == ATTR_NAME || a->kind == ATTR_STRING) ? a->u.name : 0;
}
