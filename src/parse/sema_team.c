/* sema_team: finds the team of a collective from axis=, team=, group= or the mesh. */
#include "parse/sema_call.h"
#include <stdio.h>
#include <string.h>

static void note_axes(struct sema *s, mesh_id mesh)
{
	const struct mesh *m = &s->m->mesh.at[mesh];
	struct buf names = {0};
	for (unsigned i = 0; i < m->rank; i++)
		buf_printf(&names, " %s", names_text(s->m->names, m->axis_name[i]));
	diag_note(s->d, m->at, "the axes of mesh '%s' are%s", names_text(s->m->names, m->name), names.at);
	buf_free(&names);
}

bool call_mesh_axes(struct sema *s, const struct call *c, mesh_id mesh, uint8_t *axes, unsigned *count)
{
	unsigned n = 0;
	const struct ast_node *a = ast_at(s->a, c->axis);
	ast_id list = a->kind == AST_TUPLE || a->kind == AST_PAREN ? a->first : c->axis;
	bool single = list == c->axis;
	for (ast_id x = list; x; x = single ? 0 : ast_at(s->a, x)->next) {
		int k = ast_at(s->a, x)->kind == AST_NAME && mesh
		            ? mesh_find_axis(&s->m->mesh.at[mesh], sema_name(s, x))
		            : -1;
		if (k < 0 || n == IR_MAX_MESH_AXES) {
			struct suggest g = suggest_start(ast_text(s->a, x));
			diag_error_span(s->d, E_TEAM_AXIS, ast_at(s->a, x)->at,
			                ast_at(s->a, x)->end - ast_at(s->a, x)->at,
			                "%s: axis= takes axes of the mesh%s", op_info[c->kind].hir,
			                mesh ? "" : ", and the operand has none");
			for (unsigned i = 0; mesh && i < s->m->mesh.at[mesh].rank; i++)
				suggest_try(&g, names_text(s->m->names, s->m->mesh.at[mesh].axis_name[i]));
			diag_suggest(s->d, &g);
			if (!g.best && mesh)
				note_axes(s, mesh);
			return false;
		}
		axes[n++] = (uint8_t)k;
	}
	*count = n;
	return true;
}

static bool team_from_axes(struct sema *s, struct call *c, mesh_id mesh)
{
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n;
	if (!call_mesh_axes(s, c, mesh, axes, &n))
		return false;
	c->team = ir_team_of_mesh(s->m, mesh, axes, n);
	return true;
}

bool call_team_from_list(struct sema *s, struct call *c)
{
	VEC(uint32_t) device = {0};
	VEC(uint32_t) start = {0};
	ast_id list = c->team_list;
	bool single = ast_at(s->a, list)->kind != AST_TEAM, ok = true;
	for (ast_id slice = single ? list : ast_at(s->a, list)->first; slice && ok;
	     slice = single ? 0 : ast_at(s->a, slice)->next) {
		vec_push(&start, device.n);
		ast_each (s->a, member, slice) {
			int64_t k;
			ok = sema_const(s, member, &k);
			if (ok && (k < 0 || k >= IR_MAX_DEVICES)) {
				diag_error(s->d, E_DEVICE_ID, ast_at(s->a, member)->at,
				           "a device id is a number from 0 to %d", IR_MAX_DEVICES - 1);
				ok = false;
			}
			for (uint32_t i = 0; ok && i < device.n; i++)
				if (device.at[i] == (uint32_t)k) {
					diag_error(s->d, E_DEVICE_TWICE, ast_at(s->a, member)->at,
					           "device %lld stands twice in the team", (long long)k);
					ok = false;
				}
			if (!ok)
				break;
			vec_push(&device, (uint32_t)k);
		}
		if (ok && start.at[start.n - 1] == device.n) {
			diag_error(s->d, E_MESH_EMPTY, ast_at(s->a, slice)->at,
			           "a team has at least one device");
			ok = false;
		}
	}
	vec_push(&start, device.n);
	if (ok)
		c->team = ir_team_make(s->m, start.n - 1, start.at, device.at);
	vec_free(&device);
	vec_free(&start);
	return ok;
}

static bool unknown_group(struct sema *s, const struct call *c)
{
	ast_id value = 0;
	ast_each (s->a, child, c->node)
		if (ast_at(s->a, child)->kind == AST_KEY && !strcmp(ast_text(s->a, child), "group"))
			value = ast_at(s->a, child)->first;
	const struct ast_node *n = ast_at(s->a, value ? value : c->node);
	struct suggest g = suggest_start(n->kind == AST_NAME ? ast_text(s->a, value) : "");
	if (n->kind == AST_NAME)
		diag_error_span(s->d, E_GROUP_UNKNOWN, n->at, n->end - n->at, "unknown group '%s'", g.word);
	else
		diag_error(s->d, E_GROUP_UNKNOWN, n->at, "group= takes the name of a group");
	for (group_id i = 1; i < s->m->group.n; i++)
		suggest_try(&g, names_text(s->m->names, s->m->group.at[i].name));
	if (n->kind == AST_NAME && sema_is_mesh_axis(s, sema_name(s, value)))
		diag_note(s->d, DIAG_NOWHERE, "'%s' is a mesh axis: write `axis=%s`", g.word, g.word);
	else
		diag_suggest(s->d, &g);
	return false;
}

bool call_find_team(struct sema *s, struct call *c, const struct sema_result *result)
{
	mesh_id mesh = s->mesh;
	for (unsigned i = c->read_n; i-- > 0;)
		if (c->read[i].role == ROLE_READ)
			mesh = value_type(s->m, c->read[i].id)->mesh;
	if (c->team_list)
		return call_team_from_list(s, c);
	if (c->axis)
		return team_from_axes(s, c, mesh);
	for (unsigned i = 0; i < c->attr_n; i++)
		if (!strcmp(names_text(s->m->names, c->attr[i].key), "group")) {
			group_id g = c->attr[i].kind == ATTR_NAME ? sema_find_group(s, c->attr[i].u.name) : 0;
			if (!g)
				return unknown_group(s, c);
			c->team = s->m->group.at[g].members;
			return true;
		}
	(void)result;
	if (mesh && s->m->mesh.at[mesh].rank == 1) {
		c->team = ir_team_of_mesh(s->m, mesh, (uint8_t[]){0}, 1);
		return true;
	}
	diag_error(s->d, E_TEAM_MISSING, ast_at(s->a, c->node)->at,
	           "%s needs axis=, group= or team=", op_info[c->kind].hir);
	return false;
}

bool sema_team(struct sema *s, ast_id team, team_id *out)
{
	struct call c = {.kind = OP_NONE, .team_list = team};
	if (!call_team_from_list(s, &c))
		return false;
	*out = c.team;
	return true;
}
