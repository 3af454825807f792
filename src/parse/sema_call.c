/* sema_call: operations. Operands, attributes, teams, result types; temporaries of nested calls. */
#include "ir/edit.h"
#include "ir/layout.h"
#include "parse/sema_internal.h"
#include <stdio.h>
#include <string.h>

enum { MAX_USES = 256, MAX_ATTRS = 64 };

/* A statement being put together. */
struct call {
	enum op_kind kind;
	ast_id node;
	struct ir_use read[MAX_USES]; /* positional operands and scalars, in order */
	unsigned read_n;
	struct attr attr[MAX_ATTRS];
	unsigned attr_n;
	team_id team;
	ast_id axis, root, send_peer, recv_peer, peer, index, team_list, group; /* keys that are no attributes */
};

static enum op_kind find_op(const struct sema *s, const char *name)
{
	enum op_kind k = op_by_hir(name);
	return k != OP_NONE || s->a->surface != SURFACE_NVFUSER ? k : op_by_nvfuser(name);
}

static void unknown_op(struct sema *s, ast_id node)
{
	const char *name = ast_text(s->a, node);
	struct suggest g = suggest_start(name);
	diag_error_span(s->d, ast_at(s->a, node)->at, (uint32_t)strlen(name), "unknown operation '%s'", name);
	for (unsigned k = 1; k < OP_KIND_COUNT; k++)
		if (op_info[k].form != FORM_CONTROL)
			suggest_try(&g, s->a->surface == SURFACE_NVFUSER ? op_info[k].nvfuser : op_info[k].hir);
	diag_suggest(s->d, &g);
}

static ast_id strip(const struct sema *s, ast_id e)
{
	while (e && ast_at(s->a, e)->kind == AST_PAREN)
		e = ast_at(s->a, e)->first;
	return e;
}

/* A literal with its sign; false when it is none. */
static bool literal(const struct sema *s, ast_id e, double *out)
{
	e = strip(s, e);
	const struct ast_node *n = ast_at(s->a, e);
	if (n->kind == AST_FLOAT) {
		*out = n->value.f;
		return true;
	}
	if (n->kind == AST_UNARY && !strcmp(ast_text(s->a, e), "-") && literal(s, n->first, out)) {
		*out = -*out;
		return true;
	}
	return false;
}

bool sema_operand(struct sema *s, ast_id e, struct ir_use *out)
{
	ast_id inner = strip(s, e);
	const struct ast_node *n = ast_at(s->a, inner);
	double v;
	if (n->kind == AST_NAME || n->kind == AST_TENSOR) {
		name_id name = sema_name(s, inner);
		value_id t = sema_find_tensor(s, name);
		if (t) {
			*out = (struct ir_use){ROLE_READ, t};
			return sema_is_visible(s, t, name, n->at);
		}
		if (n->kind == AST_TENSOR) {
			diag_error(s->d, n->at, "%s is used before it is defined", ast_text(s->a, inner));
			return false;
		}
		if (!sema_find_scalar(s, name) && s->a->surface == SURFACE_HIR && strcmp(ast_text(s->a, inner), "rank") && strcmp(ast_text(s->a, inner), "streams")) {
			sema_unknown_tensor(s, name, n->at);
			return false;
		}
	}
	if (literal(s, inner, &v)) {
		*out = (struct ir_use){ROLE_SCALAR, ir_scalar_literal(s->m, v)};
		return true;
	}
	if (n->kind == AST_CALL && (n->flags & AST_EXTERN || find_op(s, ast_text(s->a, inner)) != OP_NONE) && sema_has_tensor(s, inner)) {
		value_id temporary = 0;
		if (!sema_call(s, inner, &(struct sema_result){.at = n->at}, 1, 0, n->at, &temporary))
			return false;
		*out = (struct ir_use){ROLE_READ, temporary};
		return true;
	}
	if ((n->kind == AST_BINARY || n->kind == AST_UNARY) && sema_has_tensor(s, inner)) {
		value_id temporary = 0;
		if (!sema_call(s, inner, &(struct sema_result){.at = n->at}, 1, 0, n->at, &temporary))
			return false;
		*out = (struct ir_use){ROLE_READ, temporary};
		return true;
	}
	expr_id x = sema_expr(s, inner);
	*out = (struct ir_use){ROLE_SCALAR, x ? ir_scalar_expr(s->m, x) : 0};
	return x != 0;
}

static bool push_read(struct sema *s, struct call *c, struct ir_use use, ast_id at)
{
	if (c->read_n == MAX_USES) {
		diag_error(s->d, ast_at(s->a, at)->at, "an operation has at most %d operands", MAX_USES);
		return false;
	}
	c->read[c->read_n++] = use;
	return true;
}

static bool push_scalar(struct sema *s, struct call *c, ast_id e)
{
	expr_id x = e ? sema_expr(s, e) : 0;
	return x && push_read(s, c, (struct ir_use){ROLE_SCALAR, ir_scalar_expr(s->m, x)}, e);
}

static bool ints_of(struct sema *s, ast_id tuple, struct attr *a)
{
	int64_t list[IR_MAX_AXES];
	a->kind = ATTR_INTS;
	ast_each(s->a, child, tuple) {
		if (a->n == IR_MAX_AXES) {
			diag_error(s->d, ast_at(s->a, child)->at, "a list of numbers has at most %d", IR_MAX_AXES);
			return false;
		}
		if (!sema_const(s, child, &list[a->n]))
			return false;
		a->n++;
	}
	int64_t *copy = arena_new_array(s->m->arena, int64_t, a->n + 1);
	memcpy(copy, list, sizeof *copy * a->n);
	a->u.ints = copy;
	return true;
}

static bool exprs_of(struct sema *s, ast_id list, struct attr *a)
{
	expr_id *copy = arena_new_array(s->m->arena, expr_id, IR_MAX_LOGICAL);
	a->kind = ATTR_EXPRS;
	a->u.exprs = copy;
	ast_each(s->a, child, list) {
		bool is_axis = ast_at(s->a, child)->kind == AST_AXIS;
		ast_id extent = is_axis ? ast_at(s->a, child)->first : child;
		if (is_axis && ast_at(s->a, extent)->next) {
			diag_error(s->d, ast_at(s->a, child)->at, "a placement stands in the type of the result, not here");
			return false;
		}
		if (a->n == IR_MAX_LOGICAL) {
			diag_error(s->d, ast_at(s->a, child)->at, "a tensor has at most %d axes", IR_MAX_LOGICAL);
			return false;
		}
		if (!(copy[a->n] = sema_extent(s, extent)))
			return false;
		a->n++;
	}
	return true;
}

/* An attribute value as written. */
static bool attr_value(struct sema *s, ast_id value, struct attr *a)
{
	const struct ast_node *n = ast_at(s->a, value);
	double v;
	switch (n->kind) {
	case AST_STRING:
		a->kind = ATTR_STRING;
		a->u.name = sema_name(s, value);
		return true;
	case AST_TUPLE: return ints_of(s, value, a);
	case AST_LIST: return exprs_of(s, value, a);
	case AST_NAME:
		if (!sema_find_scalar(s, sema_name(s, value))) {
			a->kind = ATTR_NAME;
			a->u.name = sema_name(s, value);
			return true;
		}
		break;
	default: break;
	}
	if (literal(s, value, &v)) {
		a->kind = ATTR_FLOAT;
		a->u.f = v;
		return true;
	}
	if (n->kind == AST_PAREN) /* (0): a list of one */
		return ints_of(s, value, a);
	expr_id e = sema_expr(s, value);
	if (!e)
		return false;
	a->kind = expr_is_const(s->m, e, &a->u.i) ? ATTR_INT : ATTR_EXPR;
	if (a->kind == ATTR_EXPR)
		a->u.expr = e;
	return true;
}

static bool may_add_attr(struct sema *s, const struct call *c, const struct attr *a, ast_id node)
{
	if (c->attr_n == MAX_ATTRS) {
		diag_error(s->d, ast_at(s->a, node)->at, "an operation has at most %d attributes", MAX_ATTRS);
		return false;
	}
	for (unsigned i = 0; i < c->attr_n; i++)
		if (c->attr[i].key == a->key) {
			diag_error(s->d, ast_at(s->a, node)->at, "%s= is given twice", names_text(s->m->names, a->key));
			return false;
		}
	return true;
}

/* Whether a word stands in a list of words. */
static bool has_word(const char *list, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += n)
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || !at[n]))
			return true;
	return false;
}

/* An operation takes the attributes of its row in ops.def. */
static bool takes_attr(struct sema *s, const struct call *c, ast_id key)
{
	const char *known = op_info[c->kind].attributes, *name = ast_text(s->a, key);
	char word[64];
	if (c->kind == OP_NONE || *known == '*' || has_word(known, name))
		return true;
	struct suggest g = suggest_start(name);
	diag_error_span(s->d, ast_at(s->a, key)->at, (uint32_t)strlen(name), "%s takes no attribute '%s'", op_info[c->kind].hir, name);
	for (const char *at = known; *at;) {
		size_t n = strcspn(at, " ");
		snprintf(word, sizeof word, "%.*s", (int)n, at);
		suggest_try(&g, names_text(s->m->names, names_intern_z(s->m->names, word)));
		at += n + (at[n] == ' ');
	}
	diag_suggest(s->d, &g);
	return false;
}

static bool push_attr(struct sema *s, struct call *c, ast_id key)
{
	struct attr a = {.key = sema_name(s, key)};
	if (!takes_attr(s, c, key) || !may_add_attr(s, c, &a, key))
		return false;
	if (!attr_value(s, ast_at(s->a, key)->first, &a))
		return false;
	if (has_word("zero_init resets_to_zero keepdims causal", ast_text(s->a, key))) {
		const char *value = a.kind == ATTR_NAME ? names_text(s->m->names, a.u.name) : "";
		if (!strcmp(value, "false"))
			return true; /* the default is not stored */
		if (strcmp(value, "true")) {
			diag_error(s->d, ast_at(s->a, ast_at(s->a, key)->first)->at, "%s= is true or false", ast_text(s->a, key));
			return false;
		}
	}
	c->attr[c->attr_n++] = a;
	return true;
}

/* Keys that are operands or the team rather than attributes. */
static ast_id *special_key(struct call *c, const char *key)
{
	uint32_t traits = op_info[c->kind].traits;
	bool collective = traits & TRAIT_COLLECTIVE;
	if (collective && !strcmp(key, "axis"))
		return &c->axis;
	if (collective && !strcmp(key, "team"))
		return &c->team_list;
	if (traits & TRAIT_ROOTED && !strcmp(key, "root"))
		return &c->root;
	if (c->kind == OP_COLLECTIVE_PERMUTE && !strcmp(key, "send_peer"))
		return &c->send_peer;
	if (c->kind == OP_COLLECTIVE_PERMUTE && !strcmp(key, "recv_peer"))
		return &c->recv_peer;
	if (traits & TRAIT_P2P && !strcmp(key, "peer"))
		return &c->peer;
	if ((c->kind == OP_SELECT && !strcmp(key, "index")) || (c->kind == OP_SHARD_BY_STREAM && !strcmp(key, "stream_index")))
		return &c->index;
	return NULL;
}

/* permute(X, (1, 0)), reshape(X, [a, b]): a list that stands for an attribute. */
static const char *positional_attr(const struct sema *s, enum op_kind kind, ast_id e)
{
	uint8_t node = ast_at(s->a, e)->kind;
	if (kind == OP_PERMUTE && (node == AST_TUPLE || node == AST_PAREN))
		return "dims";
	if ((kind == OP_RESHAPE || kind == OP_BROADCAST || kind == OP_IOTA) && node == AST_LIST)
		return "shape";
	return NULL;
}

static bool is_host_operand(enum op_kind kind)
{
	return kind == OP_POST || kind == OP_WAIT || kind == OP_SHARE_MEM_HANDLES || kind == OP_SET_CURRENT_STREAM ||
	       kind == OP_SYNCHRONIZE || kind == OP_DEALLOCATE;
}

/* Operands that are statements, streams or buffers. */
static bool host_operand(struct sema *s, struct call *c, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	name_id name = n->kind == AST_NAME ? sema_name(s, e) : 0;
	if (c->kind == OP_SET_CURRENT_STREAM || c->kind == OP_SYNCHRONIZE) {
		const struct scope_entry *x = name ? sema_find_scalar(s, name) : NULL;
		if (x && x->kind == SCOPE_HANDLE)
			return push_read(s, c, (struct ir_use){ROLE_HANDLE, x->id}, e);
		return push_scalar(s, c, e);
	}
	if (c->kind == OP_DEALLOCATE) {
		value_id v = name ? sema_find_tensor(s, name) : 0;
		if (!v && !name)
			diag_error_span(s->d, n->at, n->end - n->at, "deallocate takes the name of a buffer");
		else if (!v)
			sema_unknown_tensor(s, name, n->at);
		return v && sema_is_visible(s, v, name, n->at) && push_read(s, c, (struct ir_use){ROLE_FREE, v}, e);
	}
	op_id op = name ? sema_find_statement(s, name) : 0;
	if (sema_is_broken_statement(s, name))
		return false;
	if (op)
		return push_read(s, c, (struct ir_use){ROLE_STATEMENT, op}, e);
	if (sema_is_later_statement(s, name)) {
		vec_push(&s->forward, (struct sema_forward){.name = name, .at = n->at});
		return push_read(s, c, (struct ir_use){ROLE_STATEMENT, 0}, e); /* known at the end of the program */
	}
	struct suggest g = suggest_start(name ? names_text(s->m->names, name) : "");
	diag_error_span(s->d, n->at, n->end - n->at, "%s names a statement that was given a name with `as`", op_info[c->kind].hir);
	for (name_id i = 0; name && i < s->statement_of.n; i++)
		if (s->statement_of.at[i])
			suggest_try(&g, names_text(s->m->names, i));
	diag_suggest(s->d, &g);
	return false;
}

static bool read_arguments(struct sema *s, struct call *c)
{
	ast_each(s->a, child, c->node) {
		const struct ast_node *n = ast_at(s->a, child);
		if (n->kind == AST_KEY) {
			ast_id *special = special_key(c, ast_text(s->a, child));
			if (special && *special) {
				diag_error(s->d, n->at, "%s= is given twice", ast_text(s->a, child));
				return false;
			}
			if (special)
				*special = n->first;
			else if (!push_attr(s, c, child))
				return false;
			continue;
		}
		if (n->kind == AST_ATTRS) {
			ast_each(s->a, key, child)
				if (!push_attr(s, c, key))
					return false;
			continue;
		}
		const char *attr = positional_attr(s, c->kind, child);
		if (attr) {
			struct attr a = {.key = names_intern_z(s->m->names, attr)};
			if (!may_add_attr(s, c, &a, child) || !attr_value(s, child, &a))
				return false;
			c->attr[c->attr_n++] = a;
			continue;
		}
		struct ir_use use;
		if (is_host_operand(c->kind)) {
			if (!host_operand(s, c, child))
				return false;
		} else if (!sema_operand(s, child, &use) || !push_read(s, c, use, child)) {
			return false;
		}
	}
	return true;
}

/* ---- teams */

static bool team_from_axes(struct sema *s, struct call *c, mesh_id mesh)
{
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = 0;
	const struct ast_node *a = ast_at(s->a, c->axis);
	ast_id list = a->kind == AST_TUPLE || a->kind == AST_PAREN ? a->first : c->axis;
	bool single = list == c->axis;
	for (ast_id x = list; x; x = single ? 0 : ast_at(s->a, x)->next) {
		int k = ast_at(s->a, x)->kind == AST_NAME && mesh ? mesh_find_axis(&s->m->mesh.at[mesh], sema_name(s, x)) : -1;
		if (k < 0 || n == IR_MAX_MESH_AXES) {
			struct suggest g = suggest_start(ast_text(s->a, x));
			diag_error_span(s->d, ast_at(s->a, x)->at, ast_at(s->a, x)->end - ast_at(s->a, x)->at, "%s: axis= takes axes of the mesh%s", op_info[c->kind].hir, mesh ? "" : ", and the operand has none");
			for (unsigned i = 0; mesh && i < s->m->mesh.at[mesh].rank; i++)
				suggest_try(&g, names_text(s->m->names, s->m->mesh.at[mesh].axis_name[i]));
			diag_suggest(s->d, &g);
			return false;
		}
		axes[n++] = (uint8_t)k;
	}
	c->team = ir_team_of_mesh(s->m, mesh, axes, n);
	return true;
}

static bool team_from_list(struct sema *s, struct call *c)
{
	VEC(uint32_t) device = {0};
	VEC(uint32_t) start = {0};
	ast_id list = c->team_list;
	bool single = ast_at(s->a, list)->kind != AST_TEAM, ok = true;
	for (ast_id slice = single ? list : ast_at(s->a, list)->first; slice && ok; slice = single ? 0 : ast_at(s->a, slice)->next) {
		vec_push(&start, device.n);
		ast_each(s->a, member, slice) {
			int64_t k;
			ok = sema_const(s, member, &k);
			if (ok && (k < 0 || k >= IR_MAX_DEVICES)) {
				diag_error(s->d, ast_at(s->a, member)->at, "a device id is a number from 0 to %d", IR_MAX_DEVICES - 1);
				ok = false;
			}
			for (uint32_t i = 0; ok && i < device.n; i++)
				if (device.at[i] == (uint32_t)k) {
					diag_error(s->d, ast_at(s->a, member)->at, "device %lld stands twice in the team", (long long)k);
					ok = false;
				}
			if (!ok)
				break;
			vec_push(&device, (uint32_t)k);
		}
		if (ok && start.at[start.n - 1] == device.n) {
			diag_error(s->d, ast_at(s->a, slice)->at, "a team has at least one device");
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
	ast_each(s->a, child, c->node)
		if (ast_at(s->a, child)->kind == AST_KEY && !strcmp(ast_text(s->a, child), "group"))
			value = ast_at(s->a, child)->first;
	const struct ast_node *n = ast_at(s->a, value ? value : c->node);
	struct suggest g = suggest_start(n->kind == AST_NAME ? ast_text(s->a, value) : "");
	if (n->kind == AST_NAME)
		diag_error_span(s->d, n->at, n->end - n->at, "unknown group '%s'", g.word);
	else
		diag_error(s->d, n->at, "group= takes the name of a group");
	for (group_id i = 1; i < s->m->group.n; i++)
		suggest_try(&g, names_text(s->m->names, s->m->group.at[i].name));
	diag_suggest(s->d, &g);
	return false;
}

static bool find_team(struct sema *s, struct call *c, const struct sema_result *result)
{
	mesh_id mesh = s->mesh;
	for (unsigned i = c->read_n; i-- > 0;)
		if (c->read[i].role == ROLE_READ)
			mesh = value_type(s->m, c->read[i].id)->mesh;
	if (c->team_list)
		return team_from_list(s, c);
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
	diag_error(s->d, ast_at(s->a, c->node)->at, "%s needs axis=, group= or team=", op_info[c->kind].hir);
	return false;
}

/* ---- result types */

/* The layout of a collective's result when its type is left out. */
static type_id collective_type(struct sema *s, struct call *c, value_id operand)
{
	struct type t = *value_type(s->m, operand);
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = 0, culprit, kept = 0;
	struct sugar g;
	domain_id d;
	if (c->kind == OP_BROADCASTS || c->kind == OP_SEND_RECV)
		return s->m->value.at[operand].type;
	bool known = (c->kind == OP_ALLGATHER || c->kind == OP_ALLREDUCE) && ir_team_axes(s->m, c->team, t.mesh, axes, &n) &&
		     sugar_from_domain(s->m, t.domain, t.mesh, &g);
	if (!known) {
		diag_error(s->d, ast_at(s->a, c->node)->at, "%s needs a result type here", op_info[c->kind].hir);
		return 0;
	}
	unsigned mask = 0;
	for (unsigned k = 0; k < n; k++)
		mask |= 1u << axes[k];
	for (unsigned i = 0; i < g.axis_n; i++) {
		unsigned places = 0;
		for (unsigned k = 0; k < g.axis[i].place_n; k++)
			if (!(g.axis[i].place[k].kind == SUGAR_MESH && mask >> g.axis[i].place[k].mesh_axis & 1))
				g.axis[i].place[places++] = g.axis[i].place[k];
		bool ended = g.axis[i].kind == AXIS_PARTIAL && !places;
		g.axis[i].place_n = (uint8_t)places;
		if (!ended && g.axis[i].kind != AXIS_REDUCE)
			g.axis[kept++] = g.axis[i];
	}
	g.axis_n = kept;
	if (sugar_expand(s->m, &g, t.mesh, false, &d, &culprit))
		return 0;
	return type_with_domain(s->m, s->m->value.at[operand].type, d);
}

static type_id vector_type(struct sema *s, enum dtype dtype, mesh_id mesh, const struct sugar *like, expr_id extent, unsigned rank)
{
	struct sugar g = {.rank = rank, .axis_n = rank};
	domain_id d;
	unsigned culprit;
	g.axis[0] = like->axis[0];
	g.axis[0].extent = extent;
	if (rank > 1)
		g.axis[1] = (struct sugar_axis){.extent = expr_const(s->m, 1)};
	return sugar_expand(s->m, &g, mesh, false, &d, &culprit) ? 0 : type_make(s->m, dtype, MEMORY_GLOBAL, mesh, d);
}

/* rows, topk_idx, topk_weights, src_idx, n_tokens_to_rank, n_tokens_from_rank */
static type_id dispatch_type(struct sema *s, struct call *c, type_id rows, unsigned k)
{
	struct sugar g;
	if (!rows || !sugar_from_domain(s->m, s->m->type.at[rows].domain, s->m->type.at[rows].mesh, &g) || !g.axis_n) {
		diag_error(s->d, ast_at(s->a, c->node)->at, "dispatch needs the type of its first result");
		return 0;
	}
	mesh_id mesh = s->m->type.at[rows].mesh;
	expr_id n = g.axis[0].extent, devices = expr_const(s->m, mesh ? s->m->mesh.at[mesh].device_count : 1);
	switch (k) {
	case 1: return vector_type(s, DTYPE_I64, mesh, &g, n, 2);
	case 2: return vector_type(s, (enum dtype)value_type(s->m, c->read[2].id)->dtype, mesh, &g, n, 2);
	case 3: return vector_type(s, DTYPE_I64, mesh, &g, n, 1);
	default: return vector_type(s, DTYPE_I64, mesh, &g, expr_canon(s->m, expr_mul(s->m, devices, devices)), 1);
	}
}

/* The type of result k when it was left out; *open: its layout is to be chosen. 0 after reporting. */
static type_id default_type(struct sema *s, struct call *c, const struct infer_draft *draft, const type_id *types, unsigned k, bool *open)
{
	value_id first = draft->operand_n ? draft->operand[0] : 0;
	*open = false;
	if (c->kind == OP_EXTERN) {
		const struct attr *view = attrs_find(s->m, draft->attrs, "view");
		if (view && view->kind == ATTR_INTS && k < view->n && view->u.ints[k] >= 0 && view->u.ints[k] < draft->operand_n && draft->operand[view->u.ints[k]])
			return s->m->value.at[draft->operand[view->u.ints[k]]].type;
		diag_error(s->d, draft->at, "result %u of extern needs a type, since it views no operand", k + 1);
		return 0;
	}
	if (c->kind == OP_DISPATCH)
		return dispatch_type(s, c, types[0], k);
	if (c->kind == OP_SHARD_BY_STREAM || c->kind == OP_SELECT) {
		type_id t = c->kind == OP_SELECT ? infer_select(s->m, s->m->value.at[first].type, (unsigned)(attrs_find(s->m, draft->attrs, "axis") ? attrs_find(s->m, draft->attrs, "axis")->u.i : 0))
						 : infer_shard(s->m, s->m->value.at[first].type);
		if (!t)
			diag_error(s->d, draft->at, "%s needs a result type: the axis is merged with another", op_info[c->kind].hir);
		return t;
	}
	if (op_info[c->kind].traits & TRAIT_COLLECTIVE)
		return collective_type(s, c, first);
	if (c->kind == OP_ALLOCATE) {
		diag_error(s->d, draft->at, "allocate needs a type: `A: f32[8] = allocate()`");
		return 0;
	}
	*open = true;
	return infer_type(s->m, s->d, draft);
}

static bool check_select(struct sema *s, struct call *c, const struct infer_draft *draft)
{
	const struct attr *a = attrs_find(s->m, draft->attrs, "axis");
	unsigned rank = value_domain(s->m, draft->operand[0])->rank;
	int64_t k = a && a->kind == ATTR_INT ? a->u.i : -1;
	if (k >= 0 && k < rank)
		return true;
	diag_error(s->d, ast_at(s->a, c->node)->at, "select: axis= must be a number below %u", rank);
	return false;
}

/* shard_by_stream(X, i) */
static bool has_positional_index(const struct call *c)
{
	return c->kind == OP_SHARD_BY_STREAM && !c->index && c->read_n == 2 && c->read[1].role == ROLE_SCALAR;
}

static bool check_arity(struct sema *s, struct call *c)
{
	const struct op_info *info = &op_info[c->kind];
	unsigned n = c->read_n - has_positional_index(c);
	for (unsigned i = 0; i < n && !is_host_operand(c->kind) && c->kind != OP_EXTERN; i++)
		if (c->read[i].role != ROLE_READ && !(info->traits & TRAIT_POINTWISE)) {
			diag_error(s->d, ast_at(s->a, c->node)->at, "%s: operand %u must be a tensor, not a number", info->hir, i + 1);
			return false;
		}
	if (is_host_operand(c->kind)) {
		unsigned want = c->kind == OP_SHARE_MEM_HANDLES || c->kind == OP_POST ? 0 : 1;
		if (want ? c->read_n == 1 : c->read_n > 0)
			return true;
		diag_error(s->d, ast_at(s->a, c->node)->at, want ? "%s takes one operand" : "%s takes at least one statement", info->hir);
		return false;
	}
	if (n >= info->min_reads && n <= info->max_reads)
		return true;
	if (info->min_reads == info->max_reads)
		diag_error(s->d, ast_at(s->a, c->node)->at, "%s takes %u operand%s, not %u", info->hir, info->min_reads, info->min_reads == 1 ? "" : "s", n);
	else
		diag_error(s->d, ast_at(s->a, c->node)->at, "%s takes %u to %u operands, not %u", info->hir, info->min_reads, info->max_reads, n);
	return false;
}

/* Scalars that follow the operands, in the order of struct op. */
static bool push_special(struct sema *s, struct call *c)
{
	uint32_t traits = op_info[c->kind].traits;
	uint32_t at = ast_at(s->a, c->node)->at;
	const struct {
		bool wanted;
		ast_id e;
		const char *key;
	} specials[] = {
		{traits & TRAIT_ROOTED, c->root, "root"},
		{c->kind == OP_COLLECTIVE_PERMUTE, c->send_peer, "send_peer"},
		{c->kind == OP_COLLECTIVE_PERMUTE, c->recv_peer, "recv_peer"},
		{traits & TRAIT_P2P, c->peer, "peer"},
		{c->kind == OP_SELECT, c->index, "index"},
		{c->kind == OP_SHARD_BY_STREAM && !has_positional_index(c), c->index, "stream_index"},
	};
	for (unsigned i = 0; i < sizeof specials / sizeof *specials; i++) {
		if (!specials[i].wanted)
			continue;
		if (!specials[i].e) {
			diag_error(s->d, at, "%s needs %s=", op_info[c->kind].hir, specials[i].key);
			return false;
		}
		if (!push_scalar(s, c, specials[i].e))
			return false;
	}
	return true;
}

static bool is_binary_op(const char *text, enum op_kind *kind)
{
	static const struct {
		const char *text;
		enum op_kind kind;
	} table[] = {{"+", OP_ADD}, {"-", OP_SUB}, {"*", OP_MUL}, {"/", OP_DIV}, {"%", OP_MOD}, {"==", OP_EQ}, {"!=", OP_NE}, {"<", OP_LT}, {"<=", OP_LE}, {">", OP_GT}, {">=", OP_GE}, {"and", OP_AND}, {"or", OP_OR}};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].text, text)) {
			*kind = table[i].kind;
			return true;
		}
	return false;
}

/* What operation an expression is, and its operands. */
static bool read_call(struct sema *s, ast_id expr, struct call *c)
{
	const struct ast_node *n = ast_at(s->a, expr);
	struct ir_use use;
	c->node = expr;
	switch (n->kind) {
	case AST_NAME:
	case AST_TENSOR:
		c->kind = OP_SET;
		if (!sema_operand(s, expr, &use))
			return false;
		if (use.role != ROLE_READ) {
			diag_error_span(s->d, n->at, n->end - n->at, "'%s' is a number; write full(%s)", ast_text(s->a, expr), ast_text(s->a, expr));
			return false;
		}
		return push_read(s, c, use, expr);
	case AST_UNARY:
		c->kind = !strcmp(ast_text(s->a, expr), "-") ? OP_NEG : OP_NOT;
		return sema_operand(s, n->first, &use) && push_read(s, c, use, expr);
	case AST_BINARY: {
		ast_id right = ast_at(s->a, n->first)->next;
		if (!is_binary_op(ast_text(s->a, expr), &c->kind))
			return false;
		return sema_operand(s, n->first, &use) && push_read(s, c, use, expr) && sema_operand(s, right, &use) && push_read(s, c, use, expr);
	}
	case AST_CALL: break;
	case AST_INT:
	case AST_FLOAT: {
		const char *text = s->a->source->text + n->at;
		int length = (int)(n->end - n->at);
		diag_error_span(s->d, n->at, (uint32_t)length, "'%.*s' is a number; write full(%.*s)", length, text, length, text);
		return false;
	}
	default:
		diag_error_span(s->d, n->at, n->end - n->at, "an operation is expected here");
		return false;
	}
	if (n->flags & AST_EXTERN) {
		c->kind = OP_EXTERN;
		c->attr[c->attr_n++] = (struct attr){.key = names_intern_z(s->m->names, "callee"), .kind = ATTR_STRING, .u.name = sema_name(s, expr)};
		return read_arguments(s, c);
	}
	c->kind = find_op(s, ast_text(s->a, expr));
	if (c->kind == OP_NONE || op_info[c->kind].form == FORM_CONTROL) {
		unknown_op(s, expr);
		return false;
	}
	return read_arguments(s, c);
}

static bool result_type(struct sema *s, struct call *c, const struct infer_draft *given, const struct sema_result *r, type_id *types, unsigned k, bool *open)
{
	struct infer_draft draft = *given;
	uint32_t traits = op_info[c->kind].traits;
	draft.result = k;
	draft.stated = types[k] = r->bound ? s->m->value.at[r->bound].type : r->type;
	*open = false;
	if (!draft.stated) {
		types[k] = default_type(s, c, &draft, types, k, open);
		return types[k] != 0;
	}
	if (traits & (TRAIT_VIEW | TRAIT_COLLECTIVE | TRAIT_MEMORY) || c->kind == OP_EXTERN || c->kind == OP_DISPATCH || c->kind == OP_COMBINE)
		return true;
	return infer_check(s->m, s->d, &draft);
}

static bool is_statement_only(enum op_kind kind)
{
	return (is_host_operand(kind) || kind == OP_SEND || kind == OP_RECV || kind == OP_START_COALESCING || kind == OP_END_COALESCING);
}

/* How many results there are, and whether bound ones can be written. */
static bool check_results(struct sema *s, const struct call *c, const struct sema_result *result, unsigned n)
{
	enum { DISPATCH_RESULTS = 6 };
	const char *name = op_info[c->kind].hir;
	uint32_t at = ast_at(s->a, c->node)->at;
	bool bound = false;
	for (unsigned k = 0; k < n; k++)
		bound |= result[k].bound != 0;
	if (is_statement_only(c->kind) || c->kind == OP_EXTERN)
		return true;
	if (c->kind == OP_GET_CURRENT_STREAM)
		diag_error(s->d, at, "get_current_stream gives a stream: `s = get_current_stream()`");
	else if (bound && c->kind == OP_ALLOCATE)
		diag_error(s->d, at, "allocate makes a new buffer: `A: f32[8] = allocate()`");
	else if (bound && op_info[c->kind].traits & TRAIT_VIEW)
		diag_error(s->d, at, "%s copies nothing, so it cannot be written: `<- set(%s(…))` copies", name, name);
	else if (!n)
		diag_error(s->d, at, "the result of %s needs a name: `Y = %s(…)`", name, name);
	else if (n != (c->kind == OP_DISPATCH ? DISPATCH_RESULTS : 1))
		diag_error(s->d, at, "%s has %s, not %u", name, c->kind == OP_DISPATCH ? "6 results" : "one result", n);
	else
		return true;
	return false;
}

static op_id statement(struct sema *s, ast_id expr, const struct sema_result *result, unsigned result_n, name_id as, uint32_t at, value_id *out)
{
	struct call c = {.kind = OP_NONE};
	value_id operand[MAX_USES];
	struct ir_use use[MAX_USES * 2];
	type_id types[64];
	value_id values[64];
	bool open[64];
	unsigned n = 0, operand_n = 0;
	if (!read_call(s, strip(s, expr), &c))
		return 0;
	uint32_t traits = op_info[c.kind].traits;
	/* a receive writes its operand */
	value_id received = 0;
	if (c.kind == OP_RECV) {
		if (c.read_n != 1 || c.read[0].role != ROLE_READ || !ir_is_bound(s->m, c.read[0].id)) {
			diag_error(s->d, at, "recv takes the buffer it writes: `recv(b, peer=1)`");
			return 0;
		}
		received = c.read[0].id;
		c.read_n = 0;
	}
	if (is_statement_only(c.kind)) {
		if (result_n > 1 || (result_n == 1 && (result[0].name || result[0].bound || result[0].type))) {
			diag_error(s->d, at, "%s has no result", op_info[c.kind].hir);
			return 0;
		}
		result_n = 0;
	}
	if (!check_arity(s, &c) || !check_results(s, &c, result, result_n))
		return 0;
	for (unsigned i = 0; i < c.read_n; i++)
		if (c.read[i].role == ROLE_READ || (c.read[i].role == ROLE_SCALAR && (traits & TRAIT_POINTWISE || c.kind == OP_EXTERN)))
			operand[operand_n++] = c.read[i].role == ROLE_READ ? c.read[i].id : 0;
	if (traits & TRAIT_COLLECTIVE && !find_team(s, &c, result))
		return 0;
	if (!push_special(s, &c))
		return 0;
	struct infer_draft draft = {.kind = c.kind, .operand = operand, .operand_n = operand_n, .at = ast_at(s->a, c.node)->at, .mesh = s->mesh};
	draft.attrs = ir_attrs(s->m, c.attr, c.attr_n);
	if (c.kind == OP_SELECT && !check_select(s, &c, &draft))
		return 0;
	if (result_n > 64) {
		diag_error(s->d, at, "a statement has at most 64 results");
		return 0;
	}
	for (unsigned k = 0; k < result_n; k++)
		if (!result_type(s, &c, &draft, &result[k], types, k, &open[k]))
			return 0;
	for (unsigned k = 0; k < result_n; k++)
		if (!result[k].bound) {
			if (traits & TRAIT_VIEW && s->m->type.at[types[k]].memory == MEMORY_GLOBAL)
				types[k] = type_make(s->m, (enum dtype)s->m->type.at[types[k]].dtype, MEMORY_LOCAL, s->m->type.at[types[k]].mesh, s->m->type.at[types[k]].domain);
			int32_t number = result[k].name ? sema_numbered(s, result[k].name, 'T') : -1;
			values[k] = ir_value_new(s->m, types[k], number >= 0 ? 0 : result[k].name, result[k].at);
			s->m->value.at[values[k]].number = number;
			s->m->value.at[values[k]].flags = (open[k] ? VALUE_OPEN : 0) | (result[k].output ? VALUE_OUTPUT : 0);
			use[n++] = (struct ir_use){ROLE_DEF, values[k]};
		}
	for (unsigned i = 0; i < c.read_n; i++)
		use[n++] = c.read[i];
	for (unsigned k = 0; k < result_n; k++)
		if (result[k].bound)
			use[n++] = (struct ir_use){ROLE_WRITE, values[k] = result[k].bound};
	if (received)
		use[n++] = (struct ir_use){ROLE_WRITE, received};
	op_id op = ir_op_new(s->m, c.kind, at, use, n);
	s->m->op.at[op].attrs = draft.attrs;
	s->m->op.at[op].team = c.team;
	ir_append(s->m, s->region, op);
	for (unsigned i = 0; i < n; i++)
		if (use[i].role == ROLE_STATEMENT && !use[i].id)
			sema_place_forward(s, s->m->op.at[op].operand + i);
	if (as || traits & (TRAIT_P2P | TRAIT_ASYNC)) {
		s->m->op.at[op].flags |= OP_ASYNC;
		int32_t number = as ? sema_numbered(s, as, 'c') : -1;
		s->m->op.at[op].number = number;
		s->m->op.at[op].name = number >= 0 ? 0 : as;
		if (as)
			sema_define_statement(s, as, op, at);
	}
	if (as && !(traits & (TRAIT_COLLECTIVE | TRAIT_P2P | TRAIT_ASYNC))) {
		diag_error(s->d, at, "`as` names a Communication; %s is none", op_info[c.kind].hir);
		return 0;
	}
	for (unsigned k = 0; k < result_n; k++) {
		struct value *v = &s->m->value.at[values[k]];
		if (!result[k].bound) {
			s->last_value = values[k];
			s->last_stated = v->type;
			type_id with = infer_reduce_axes(s->m, op, v->type);
			s->m->value.at[values[k]].type = with;
			if (result[k].name && !sema_define_tensor(s, result[k].name, values[k], result[k].at))
				return 0;
			if (result[k].output)
				vec_push(&s->m->output, values[k]);
		}
		if (out)
			out[k] = values[k];
	}
	return op;
}

op_id sema_call(struct sema *s, ast_id expr, const struct sema_result *result, unsigned result_n, name_id as, uint32_t at, value_id *out)
{
	if (s->calls == SEMA_MAX_CALLS) {
		diag_error(s->d, ast_at(s->a, expr)->at, "operations are nested deeper than %d", SEMA_MAX_CALLS);
		diag_note(s->d, DIAG_NOWHERE, "give a part of them a name: `A = …`");
		return 0;
	}
	s->calls++;
	op_id op = statement(s, expr, result, result_n, as, at, out);
	s->calls--;
	if (!op && diag_error_count(s->d) == s->errors) /* never drop a statement without a word */
		diag_error(s->d, ast_at(s->a, expr)->at, "no type can be found for the results of this: state them");
	return op;
}

bool sema_attrs(struct sema *s, ast_id keys, const char *const *but, attrs_id *out)
{
	struct call c = {.kind = OP_NONE};
	ast_each(s->a, key, keys) {
		const char *const *b = but;
		while (*b && strcmp(*b, ast_text(s->a, key)))
			b++;
		if (ast_at(s->a, key)->kind == AST_KEY && !*b && !push_attr(s, &c, key))
			return false;
	}
	*out = ir_attrs(s->m, c.attr, c.attr_n);
	return true;
}

bool sema_team(struct sema *s, ast_id team, team_id *out)
{
	struct call c = {.kind = OP_NONE, .team_list = team};
	if (!team_from_list(s, &c))
		return false;
	*out = c.team;
	return true;
}
