/* sema_decl: reads params, consts, meshes and groups. */
#include "parse/sema_internal.h"
#include <string.h>

/* Defines a param by its name, and by its number from `as`. */
static void define_param(struct sema *s, ast_id decl, enum scope_kind kind, uint32_t id)
{
	ast_id as = ast_child(s->a, decl, 1);
	sema_define_scalar(s, ast_at(s->a, decl)->name, kind, id, sema_name_at(s, decl));
	if (as && ast_at(s->a, as)->name != ast_at(s->a, decl)->name)
		sema_define_scalar(s, ast_at(s->a, as)->name, kind, id, ast_at(s->a, as)->at);
}

static void declare_param(struct sema *s, ast_id decl)
{
	const struct ast_node *n = ast_at(s->a, decl);
	name_id name = n->name;
	ast_id value = ast_child(s->a, decl, 0), as = ast_child(s->a, decl, 1);
	struct sema_define *define = sema_find_define(s, names_text(s->m->names, name));
	uint32_t at = sema_name_at(s, decl);
	struct param p = {.number = sema_numbered(s, name, 'i'), .at = at};
	p.name = p.number >= 0 ? 0 : name;
	int64_t k;
	if (value && ast_at(s->a, value)->kind != AST_NONE) {
		if (!sema_const(s, value, &k)) {
			sema_note_float(s, value);
			define_param(s, decl, SCOPE_BROKEN, 0);
			return;
		}
		p.has_value = true;
		p.value = k;
	}
	if (as) {
		int32_t number = sema_numbered(s, ast_at(s->a, as)->name, 'i');
		if (number < 0)
			diag_error(s->d, E_NUMBER_FORM, ast_at(s->a, as)->at,
			           "a param's number is written iN, as in `param t = 8192 as i0`");
		p.number = number;
	}
	double number;
	if (define && sema_define_number(define, &number)) {
		define_param(s, decl, SCOPE_NUMBER, ir_scalar_literal(s->m, number));
		return;
	}
	if (define) {
		bool late = false;
		expr_id e = sema_define_expr(s, define, at, &late);
		if (!e || !expr_is_const(s->m, e, &k)) { /* the name stands for an expression */
			enum scope_kind kind = late ? SCOPE_DEFINE : e ? SCOPE_LET : SCOPE_BROKEN;
			define_param(s, decl, kind, late ? (uint32_t)(define - s->options->define) : e);
			return;
		}
		p.has_value = p.set_by_user = true;
		p.value = k;
	}
	define_param(s, decl, SCOPE_PARAM, sema_add_param(s, &p, name));
}

static void declare_const(struct sema *s, ast_id decl)
{
	const struct ast_node *n = ast_at(s->a, decl);
	uint32_t at = sema_name_at(s, decl);
	struct sema_define *define = sema_find_define(s, ast_text(s->a, decl));
	ast_id value = ast_child(s->a, decl, 0);
	if (!strcmp(ast_text(s->a, decl), "np") && s->options->np > 0 && !define) {
		sema_define_scalar(s, n->name, SCOPE_CONST, expr_const(s->m, s->options->np), at);
		return; /* defined already, by the launcher or --np */
	}
	expr_id e = define ? sema_define_expr(s, define, at, NULL) : sema_expr(s, value);
	if (!e) {
		if (!define)
			sema_note_float(s, value);
		sema_define_scalar(s, n->name, SCOPE_BROKEN, 0, at);
		return;
	}
	if (!expr_is_const(s->m, e, NULL)) {
		sema_define_scalar(s, n->name, SCOPE_BROKEN, 0, at);
		diag_error_span(s->d, E_NOT_CONSTANT, at, (uint32_t)strlen(ast_text(s->a, decl)),
		                "const '%s' is not constant", ast_text(s->a, decl));
		diag_note(s->d, DIAG_NOWHERE,
		          "consts are computed from numbers, other consts and np; a param stays symbolic");
		if (define)
			diag_note(s->d, DIAG_NOWHERE, "the value of '%s' comes from -D",
			          ast_text(s->a, decl));
		return;
	}
	const struct scope_entry *old = sema_find_scalar(s, n->name);
	if (old && old->at == DIAG_NOWHERE) { /* np: use the file's default */
		struct scope_entry *x = &s->entry.at[old - s->entry.at];
		x->id = e;
		x->at = at;
		return;
	}
	sema_define_scalar(s, n->name, SCOPE_CONST, e, at);
}

struct device_list {
	VEC(uint32_t) id;
	uint32_t size[IR_MAX_MESH_AXES];
	unsigned rank;
	uint8_t seen[IR_MAX_DEVICES / 8]; /* a bit for each device listed */
};

static bool push_device(struct sema *s, struct device_list *l, int64_t device, uint32_t at)
{
	if (device < 0 || device >= IR_MAX_DEVICES) {
		diag_error(s->d, E_DEVICE_ID, at, "a device id is a number from 0 to %d", IR_MAX_DEVICES - 1);
		return false;
	}
	if (l->seen[device / 8] >> device % 8 & 1) {
		diag_error(s->d, E_DEVICE_TWICE, at, "device %lld stands twice in the list",
		           (long long)device);
		return false;
	}
	l->seen[device / 8] |= (uint8_t)(1 << device % 8);
	vec_push(&l->id, (uint32_t)device);
	return true;
}

/* Reads nested braces. All lists at one depth must have the same length. */
static bool read_devices(struct sema *s, ast_id devices, unsigned depth, struct device_list *l)
{
	uint32_t count = 0;
	uint32_t at = ast_at(s->a, devices)->at;
	if (depth >= IR_MAX_MESH_AXES) {
		diag_error(s->d, E_MESH_LIMIT, at, "a mesh has at most %d axes", IR_MAX_MESH_AXES);
		return false;
	}
	ast_each (s->a, child, devices) {
		const struct ast_node *n = ast_at(s->a, child);
		int64_t from, to;
		if (n->kind == AST_DEVICES) {
			if (!read_devices(s, child, depth + 1, l))
				return false;
			count++;
		} else if (n->kind == AST_RANGE) {
			if (!sema_const(s, ast_child(s->a, child, 0), &from) ||
			    !sema_const(s, ast_child(s->a, child, 1), &to))
				return false;
			if (from < 0 || to < from || to > IR_MAX_DEVICES) {
				diag_error(s->d, E_DEVICE_ID, n->at,
				           "a device range goes from a smaller to a larger id below %d",
				           IR_MAX_DEVICES);
				return false;
			}
			/* {0..7} is a list with 0 and 7, unlike the range of a loop */
			for (int64_t k = from; k <= to; k++, count++)
				if (!push_device(s, l, k, n->at))
					return false;
		} else {
			if (!sema_const(s, child, &from) || !push_device(s, l, from, n->at))
				return false;
			count++;
		}
	}
	if (!count) {
		diag_error(s->d, E_MESH_EMPTY, at, "a mesh has at least one device");
		return false;
	}
	if (depth >= l->rank)
		l->rank = depth + 1;
	if (!l->size[depth]) {
		l->size[depth] = count;
	} else if (l->size[depth] != count) {
		diag_error(s->d, E_MESH_SHAPE, at, "rows of a mesh are equally long: %u here, %u before",
		           count, l->size[depth]);
		return false;
	}
	return true;
}

/* Returns the default names of the axes of a mesh that a dump shows without names: x; y, x; z, y, x; … */
static name_id default_axis_name(struct sema *s, unsigned axis, unsigned rank)
{
	static const char *const names[] = {"x", "y", "z", "a3", "a4", "a5", "a6", "a7"};
	return names_intern_z(s->m->names, names[rank - 1 - axis]);
}

mesh_id sema_mesh_from_devices(struct sema *s, ast_id devices, name_id name, const name_id *axis_names,
                               unsigned axis_n)
{
	struct device_list l = {0};
	mesh_id id = 0;
	uint32_t at = ast_at(s->a, devices)->at;
	if (read_devices(s, devices, 0, &l)) {
		if (axis_names && axis_n != l.rank) {
			diag_error(s->d, E_MESH_SHAPE, at,
			           "the mesh has %u ax%ss but the braces around its devices are %u deep",
			           axis_n, axis_n == 1 ? "i" : "e", l.rank);
			diag_note(
			    s->d, DIAG_NOWHERE,
			    "write one pair of braces for each axis, as in `mesh m(y, x) = {{0 1} {2 3}}`");
		} else {
			struct mesh x = {.name = name,
			                 .rank = (uint8_t)l.rank,
			                 .device_count = l.id.n,
			                 .device = l.id.at,
			                 .at = at};
			for (unsigned k = 0; k < l.rank; k++) {
				x.size[k] = l.size[k];
				x.axis_name[k] = axis_names ? axis_names[k] : default_axis_name(s, k, l.rank);
			}
			id = ir_mesh_add(s->m, &x);
		}
	}
	vec_free(&l.id);
	return id;
}

static void declare_mesh(struct sema *s, ast_id decl)
{
	const struct ast_node *n = ast_at(s->a, decl);
	ast_id list = ast_child(s->a, decl, 0), devices = ast_child(s->a, decl, 1);
	name_id axis[IR_MAX_MESH_AXES] = {0};
	uint32_t axis_at[IR_MAX_MESH_AXES] = {0}, at = sema_name_at(s, decl);
	int64_t size[IR_MAX_MESH_AXES] = {0}, count = 1;
	unsigned rank = 0;
	bool listed = devices && ast_at(s->a, devices)->kind == AST_DEVICES;
	mesh_id old = sema_find_mesh(s, n->name), id;
	if (old && sema_is_own(s, s->m->mesh.at[old].at)) {
		diag_error_span(s->d, E_DEFINED_TWICE, at, (uint32_t)strlen(ast_text(s->a, decl)),
		                "mesh '%s' is defined twice", ast_text(s->a, decl));
		diag_note(s->d, s->m->mesh.at[old].at, "the first definition is here");
		return;
	}
	ast_each (s->a, child, list) {
		const struct ast_node *x = ast_at(s->a, child);
		if (rank == IR_MAX_MESH_AXES) {
			diag_error(s->d, E_MESH_LIMIT, x->at, "a mesh has at most %d axes", IR_MAX_MESH_AXES);
			return;
		}
		for (unsigned k = 0; k < rank; k++)
			if (axis[k] == x->name) {
				diag_error(s->d, E_DEFINED_TWICE, x->at, "mesh axis '%s' stands twice",
				           ast_text(s->a, child));
				return;
			}
		axis[rank] = x->name;
		axis_at[rank] = x->at;
		if (x->first) {
			if (!sema_const(s, x->first, &size[rank]))
				return;
			if (size[rank] < 1) {
				diag_error(s->d, E_MESH_EMPTY, ast_at(s->a, x->first)->at,
				           "a mesh axis has at least one device");
				return;
			}
		} else if (!listed) {
			diag_error(s->d, E_MESH_EMPTY, x->at, "mesh axis '%s' has no size",
			           ast_text(s->a, child));
			diag_note(s->d, DIAG_NOWHERE,
			          "write `mesh %s(%s = 2)` or list the devices: `= {0 1}`",
			          ast_text(s->a, decl), ast_text(s->a, child));
			return;
		}
		rank++;
	}
	if (listed) {
		id = sema_mesh_from_devices(s, devices, n->name, axis, rank);
		for (unsigned k = 0; id && k < rank; k++)
			if (size[k] && size[k] != s->m->mesh.at[id].size[k])
				diag_error(s->d, E_MESH_SHAPE, axis_at[k],
				           "mesh axis '%s' is %lld long but %u devices are listed along it",
				           names_text(s->m->names, axis[k]), (long long)size[k],
				           s->m->mesh.at[id].size[k]);
		if (id && old && id != old)
			sema_report_unlike(s, "mesh", n->name, at, s->m->mesh.at[old].at);
		if (id)
			s->m->mesh.at[id].at = at;
		return;
	}
	struct mesh x = {.name = n->name, .rank = (uint8_t)rank, .at = at};
	for (unsigned k = 0; k < rank; k++) {
		if (size[k] > IR_MAX_DEVICES || (count *= size[k]) > IR_MAX_DEVICES) {
			diag_error(s->d, E_MESH_LIMIT, at, "a mesh has at most %d devices", IR_MAX_DEVICES);
			return;
		}
		x.axis_name[k] = axis[k];
		x.size[k] = (uint32_t)size[k];
	}
	uint32_t *device = mem_alloc(sizeof *device * (size_t)count);
	for (uint32_t i = 0; i < (uint32_t)count; i++)
		device[i] = i;
	x.device = device;
	x.device_count = (uint32_t)count;
	id = ir_mesh_add(s->m, &x);
	if (old && id != old)
		sema_report_unlike(s, "mesh", n->name, at, s->m->mesh.at[old].at);
	s->m->mesh.at[id].at = at;
	free(device);
}

static void declare_group(struct sema *s, ast_id decl)
{
	const struct ast_node *n = ast_at(s->a, decl);
	ast_id devices = ast_child(s->a, decl, 1);
	uint32_t at = sema_name_at(s, decl);
	int64_t size;
	team_id members = 0;
	group_id old = sema_find_group(s, n->name);
	if (old && sema_is_own(s, s->m->group.at[old].at)) {
		diag_error_span(s->d, E_DEFINED_TWICE, at, (uint32_t)strlen(ast_text(s->a, decl)),
		                "group '%s' is defined twice", ast_text(s->a, decl));
		diag_note(s->d, s->m->group.at[old].at, "the first definition is here");
		return;
	}
	if (!sema_const(s, ast_child(s->a, decl, 0), &size)) {
		ir_group_add(s->m, n->name, 1, 0, at); /* so that uses of the group are not errors, too */
		return;
	}
	if (size < 1 || size > IR_MAX_DEVICES) {
		diag_error(s->d, E_GROUP_MEMBERS, ast_at(s->a, ast_child(s->a, decl, 0))->at,
		           "a group has 1 to %d members", IR_MAX_DEVICES);
		size = 1;
	}
	if (ast_at(s->a, devices)->kind != AST_NONE) {
		struct device_list l = {0};
		if (read_devices(s, devices, 0, &l)) {
			if (l.id.n != size)
				diag_error(s->d, E_GROUP_MEMBERS, ast_at(s->a, devices)->at,
				           "group '%s' has %lld members but lists %u", ast_text(s->a, decl),
				           (long long)size, l.id.n);
			members = ir_team_make(s->m, 1, (uint32_t[]){0, l.id.n}, l.id.at);
		}
		vec_free(&l.id);
	}
	struct group *g = &s->m->group.at[old], x = {.size = (uint32_t)size, .members = members};
	sema_cost_tables(s, ast_child(s->a, decl, 2), &x.attrs);
	if (old && (g->size != x.size || g->members != x.members || g->attrs != x.attrs))
		sema_report_unlike(s, "group", n->name, at, g->at);
	if (old)
		g->at = at;
	else
		s->m->group.at[ir_group_add(s->m, n->name, x.size, x.members, at)].attrs = x.attrs;
}

static bool is_listed(const struct module *m, param_id param)
{
	for (uint32_t k = 0; k < m->input_param.n; k++)
		if (m->input_param.at[k].param == param)
			return true;
	return false;
}

void sema_input_param(struct sema *s, ast_id name)
{
	const struct ast_node *n = ast_at(s->a, name);
	double number;
	if (s->depth > 1) {
		diag_error(s->d, E_TOP_ONLY, n->at, "inputs stand at the top of the program, not in a block");
		return;
	}
	const struct scope_entry *x = sema_find_scalar(s, sema_name(s, name));
	param_id param = x && x->kind == SCOPE_PARAM ? x->id : 0;
	expr_id e;
	if (sema_find_number(s, name, &number))
		return;
	if (!x && s->is_listing)
		param = sema_foreign_param(s, sema_name(s, name), n->at, &e);
	else if (!param && sema_expr(s, name) && !sema_find_define(s, ast_text(s->a, name)))
		diag_error_span(s->d, E_NAME_OF_OTHER_KIND, n->at, n->end - n->at,
		                "'%s' is no param: an input is a tensor or a param", ast_text(s->a, name));
	if (param && !is_listed(s->m, param))
		vec_push(&s->m->input_param, (struct input_param){param, s->m->input.n});
}

void sema_declaration(struct sema *s, ast_id decl)
{
	switch (ast_at(s->a, decl)->kind) {
	case AST_PARAM:
		declare_param(s, decl);
		break;
	case AST_CONST:
		declare_const(s, decl);
		break;
	case AST_MESH:
		declare_mesh(s, decl);
		if (!sema_find_mesh(s, ast_at(s->a, decl)->name))
			vec_push(&s->broken_mesh, ast_at(s->a, decl)->name);
		break;
	case AST_GROUP:
		declare_group(s, decl);
		break;
	case AST_CLUSTER:
		sema_cluster(s, decl);
		break;
	default:
		break;
	}
}
