/* symbols_expr: finds names in expressions and types. */
#include "lsp/symbols_walk.h"
#include "parse/vocabulary.h"

static bool is_function(const char *name)
{
	for (unsigned k = 0; vocabulary_function(k); k++)
		if (!strcmp(vocabulary_function(k), name))
			return true;
	return false;
}

static enum op_kind find_op(struct walk *w, uint32_t name)
{
	uint32_t *slot = walk_slot(w, &w->op_of, name);
	if (!*slot) {
		const char *text = names_text(w->a->names, name);
		enum op_kind k = op_by_hir(text);
		if (k == OP_NONE && w->a->surface == SURFACE_NVFUSER)
			k = op_by_nvfuser(text);
		*slot = (uint32_t)k + 1;
	}
	return (enum op_kind)(*slot - 1);
}

uint32_t walk_find_axis(struct walk *w, uint32_t name, uint32_t mesh)
{
	uint32_t any = 0;
	for (uint32_t x = *walk_slot(w, &w->axis_of, name); x; x = w->out->symbol.at[x].same) {
		if (w->out->symbol.at[x].mesh == (mesh ? mesh : w->mesh))
			return x;
		any = x;
	}
	return mesh ? 0 : any;
}

static void axis_name(struct walk *w, ast_id e, uint32_t mesh)
{
	const struct ast_node *n = ast_at(w->a, e);
	if (n->kind == AST_TUPLE || n->kind == AST_PAREN) {
		ast_each (w->a, child, e)
			axis_name(w, child, mesh);
	} else if (n->kind == AST_NAME) {
		walk_mention(w, MENTION_SYMBOL, n->at, walk_find_axis(w, n->name, mesh), 0);
	} else {
		walk_index(w, e);
	}
}

/* Handles axis_index(x), size(x, mesh), device(x, 1): an axis, and the mesh after it. */
static void function(struct walk *w, ast_id e)
{
	const struct ast_node *n = ast_at(w->a, e);
	const char *name = ast_text(w->a, e);
	bool device = !strcmp(name, "device"),
	     axis = device || !strcmp(name, "axis_index") || !strcmp(name, "size");
	walk_mention(w, MENTION_FUNCTION, n->at, 0, 0);
	if (!axis) {
		ast_each (w->a, child, e)
			walk_index(w, child);
		return;
	}
	ast_id first = n->first, last = first && device ? ast_at(w->a, first)->next : first;
	ast_id mesh = last ? ast_at(w->a, last)->next : 0;
	uint32_t id = mesh ? *walk_slot(w, &w->mesh_of, ast_at(w->a, mesh)->name) : 0;
	if (first)
		axis_name(w, first, id);
	if (device && last)
		walk_index(w, last);
	if (mesh && ast_at(w->a, mesh)->kind == AST_NAME)
		walk_mention(w, MENTION_SYMBOL, ast_at(w->a, mesh)->at, id, 0);
}

/* Returns the mesh of the tensor that is an operation's first operand; 0: not known. */
static uint32_t operand_mesh(struct walk *w, ast_id call)
{
	const struct ast_node *n = ast_at(w->a, ast_at(w->a, call)->first);
	uint32_t tensor = n->kind == AST_NAME ? *walk_slot(w, &w->tensor_of, n->name) : 0;
	return tensor ? w->out->symbol.at[tensor].mesh : 0;
}

static void visit_key(struct walk *w, ast_id node, ast_id call, enum op_kind kind)
{
	const struct ast_node *n = ast_at(w->a, node);
	const char *name = ast_text(w->a, node);
	bool collective = op_info[kind].traits & TRAIT_COLLECTIVE;
	walk_mention(w, MENTION_KEY, n->at, kind, 0);
	if (!n->first)
		return;
	const struct ast_node *value = ast_at(w->a, n->first);
	if ((collective || kind == OP_SYMMETRIC_VIEW) && !strcmp(name, "axis")) {
		uint32_t mesh = operand_mesh(w, call);
		axis_name(w, n->first, mesh);
	} else if (collective && !strcmp(name, "group") && value->kind == AST_NAME) {
		walk_mention(w, MENTION_SYMBOL, value->at, *walk_slot(w, &w->group_of, value->name), 0);
	} else if (value->kind == AST_NAME && !*walk_slot(w, &w->scalar_of, value->name)) {
		walk_mention(w, MENTION_WORD, value->at, 0, 0);
	} else {
		walk_index(w, n->first);
	}
}

static void keys(struct walk *w, ast_id child, ast_id call, enum op_kind kind)
{
	if (ast_at(w->a, child)->kind == AST_KEY)
		visit_key(w, child, call, kind);
	else
		ast_each (w->a, k, child)
			if (ast_at(w->a, k)->kind == AST_KEY)
				visit_key(w, k, call, kind);
}

static void visit_call(struct walk *w, ast_id e)
{
	const struct ast_node *n = ast_at(w->a, e);
	bool is_extern = n->flags & AST_EXTERN;
	enum op_kind kind = is_extern ? OP_EXTERN : find_op(w, n->name);
	bool statement = kind == OP_WAIT || kind == OP_POST || kind == OP_SHARE_MEM_HANDLES;
	if (kind == OP_NONE && is_function(ast_text(w->a, e))) {
		function(w, e);
		return;
	}
	if (!is_extern)
		walk_mention(w, MENTION_OP, n->at, kind, 0);
	ast_each (w->a, child, e) {
		const struct ast_node *x = ast_at(w->a, child);
		if (x->kind == AST_KEY || x->kind == AST_ATTRS)
			keys(w, child, e, kind);
		else if (statement && x->kind == AST_NAME)
			walk_mention(w, MENTION_SYMBOL, x->at, *walk_slot(w, &w->statement_of, x->name), 0);
		else
			walk_operand(w, child, 0);
	}
}

static void visit_name(struct walk *w, const struct ast_node *n, bool index, unsigned flags)
{
	uint32_t scalar = *walk_slot(w, &w->scalar_of, n->name),
	         tensor = *walk_slot(w, &w->tensor_of, n->name);
	uint32_t id = index ? (scalar ? scalar : tensor) : (tensor ? tensor : scalar);
	const char *text = names_text(w->a->names, n->name);
	bool value = !strcmp(text, "np");
	for (unsigned k = 0; vocabulary_value(k); k++)
		value |= !strcmp(text, vocabulary_value(k));
	walk_mention(w, !id && value ? MENTION_WORD : MENTION_SYMBOL, n->at, id, flags);
}

void walk_index(struct walk *w, ast_id e)
{
	const struct ast_node *n = ast_at(w->a, e);
	switch (n->kind) {
	case AST_NAME:
		visit_name(w, n, true, 0);
		return;
	case AST_CALL:
		if (is_function(ast_text(w->a, e)))
			function(w, e);
		else
			visit_call(w, e);
		return;
	case AST_TENSOR:
		visit_name(w, n, false, 0);
		return;
	case AST_ID: /* the other children are not names of the program */
		if (n->first)
			walk_index(w, n->first);
		return;
	case AST_XF_LINE:
		return;
	case AST_KEY:
		visit_key(w, e, 0, OP_NONE);
		return;
	default:
		ast_each (w->a, child, e)
			walk_index(w, child);
	}
}

void walk_operand(struct walk *w, ast_id e, unsigned flags)
{
	const struct ast_node *n = ast_at(w->a, e);
	switch (n->kind) {
	case AST_NAME:
	case AST_TENSOR:
		visit_name(w, n, false, flags);
		return;
	case AST_CALL:
		visit_call(w, e);
		return;
	case AST_ID:
	case AST_XF_LINE:
	case AST_LIST: /* a list such as [b, s, a] */
		walk_index(w, e);
		return;
	case AST_KEY:
		visit_key(w, e, 0, OP_NONE);
		return;
	default:
		ast_each (w->a, child, e)
			walk_operand(w, child, flags);
	}
}

/* ---- types */

uint32_t walk_type_mesh(struct walk *w, ast_id type)
{
	uint32_t mesh = w->mesh;
	ast_each (w->a, child, type)
		if (ast_at(w->a, child)->kind == AST_ON)
			mesh = *walk_slot(w, &w->mesh_of, ast_at(w->a, child)->name);
	return mesh;
}

static void visit_place(struct walk *w, ast_id e, uint32_t mesh)
{
	const struct ast_node *n = ast_at(w->a, e);
	uint32_t at = walk_after_sign(w, n->at);
	if (n->flags & AST_BARE) {
		walk_mention(w, MENTION_SYMBOL, at, walk_find_axis(w, n->name, mesh), 0);
		return;
	}
	walk_mention(w, MENTION_WORD, at, 0, 0);
	const struct ast_node *argument = n->first ? ast_at(w->a, n->first) : NULL;
	uint32_t axis = argument && argument->kind == AST_NAME ? walk_find_axis(w, argument->name, mesh) : 0;
	if (axis)
		walk_mention(w, MENTION_SYMBOL, argument->at, axis, 0);
	else if (argument)
		walk_index(w, n->first);
}

static void visit_axis(struct walk *w, ast_id e, uint32_t mesh)
{
	ast_each (w->a, child, e) {
		if (ast_at(w->a, child)->kind == AST_PLACE)
			visit_place(w, child, mesh);
		else
			walk_index(w, child);
	}
}

void walk_type(struct walk *w, ast_id type)
{
	uint32_t mesh = walk_type_mesh(w, type);
	walk_mention(w, MENTION_TYPE, ast_at(w->a, type)->at, 0, 0);
	ast_each (w->a, child, type) {
		const struct ast_node *n = ast_at(w->a, child);
		if (n->kind == AST_ON && strcmp(ast_text(w->a, child), "none") != 0)
			walk_mention(w, MENTION_SYMBOL, walk_after_word(w, n->at),
			             *walk_slot(w, &w->mesh_of, n->name), 0);
		else if (n->kind == AST_MEMORY)
			walk_mention(w, MENTION_WORD, n->at, 0, 0);
		else if (n->kind == AST_PARTIAL)
			ast_each (w->a, x, child)
				axis_name(w, x, mesh);
		else if (n->kind == AST_LIST || n->kind == AST_REDUCE)
			ast_each (w->a, x, child)
				visit_axis(w, x, mesh);
	}
}
