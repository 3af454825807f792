/* symbols_walk: walks blocks and statements of both surfaces. */
#include "lsp/symbols_walk.h"

static bool is_handle(const struct walk *w, const struct ast_node *def)
{
	ast_id expr = ast_at(w->a, def->first)->next;
	return expr && ast_at(w->a, expr)->kind == AST_CALL &&
	       !strcmp(ast_text(w->a, expr), op_info[OP_GET_CURRENT_STREAM].hir);
}

static void define_tensor(struct walk *w, ast_id stmt, ast_id result, uint32_t name, uint32_t at)
{
	uint32_t *slot = walk_slot(w, &w->tensor_of, name);
	if (*slot)
		return; /* defined twice: the first definition counts */
	uint32_t id = walk_define(w, SYMBOL_TENSOR, stmt, name, at);
	if (!id)
		return;
	struct symbol *x = &w->out->symbol.at[id];
	ast_id type = ast_at(w->a, result)->first;
	x->result = result;
	x->mesh = type && ast_at(w->a, type)->kind == AST_TYPE ? walk_type_mesh(w, type) : w->mesh;
	*slot = id;
}

static void define_statement(struct walk *w, ast_id stmt)
{
	const struct ast_node *n = ast_at(w->a, stmt);
	ast_id last = n->first;
	while (last && ast_at(w->a, last)->next)
		last = ast_at(w->a, last)->next;
	const struct ast_node *as = last && last != n->first ? ast_at(w->a, last) : NULL;
	bool third = as && (n->kind == AST_DO || ast_at(w->a, ast_at(w->a, n->first)->next)->next);
	if (third && as->kind == AST_NAME && !*walk_slot(w, &w->statement_of, as->name))
		*walk_slot(w, &w->statement_of, as->name) =
		    walk_define(w, SYMBOL_STATEMENT, stmt, as->name, as->at);
}

void walk_find_tensors(struct walk *w, ast_id block)
{
	uint32_t outer = w->block_end;
	w->block_end = ast_at(w->a, block)->end;
	ast_each (w->a, stmt, block) {
		const struct ast_node *n = ast_at(w->a, stmt);
		if (n->kind == AST_INPUT)
			define_tensor(w, stmt, stmt, n->name, walk_after_word(w, n->at));
		if (n->kind == AST_DEF && !is_handle(w, n))
			ast_each (w->a, r, n->first)
				if (ast_at(w->a, r)->kind == AST_RESULT ||
				    ast_at(w->a, r)->kind == AST_TENSOR)
					define_tensor(w, stmt, r, ast_at(w->a, r)->name, ast_at(w->a, r)->at);
		if (n->kind == AST_DEF || n->kind == AST_WRITE || n->kind == AST_DO)
			define_statement(w, stmt);
		if (n->kind == AST_FOR || n->kind == AST_IF || n->kind == AST_UNIT)
			ast_each (w->a, child, stmt)
				if (ast_at(w->a, child)->kind == AST_BLOCK)
					walk_find_tensors(w, child);
	}
	w->block_end = outer;
}

/* Defines a scalar that is visible until the end of the block. */
static void define_scalar(struct walk *w, enum symbol_kind kind, ast_id stmt, uint32_t name, uint32_t at)
{
	uint32_t id = walk_define(w, kind, stmt, name, at), *slot = walk_slot(w, &w->scalar_of, name);
	vec_push(&w->hidden, (struct walk_hidden){name, *slot});
	*slot = id;
	walk_mention(w, MENTION_SYMBOL, at, id, MENTION_DEFINES);
}

static void visit_loop(struct walk *w, ast_id stmt, const struct ast_node *n)
{
	uint32_t mark = w->hidden.n, outer = w->block_end;
	bool defined = false;
	ast_each (w->a, child, stmt) {
		const struct ast_node *x = ast_at(w->a, child);
		if (x->kind == AST_BLOCK && !defined) {
			w->block_end = x->end;
			define_scalar(w, SYMBOL_INDEX, stmt, n->name, walk_after_word(w, n->at));
			uint32_t last = w->out->symbol.n - 1;
			if (w->out->symbol.at[last].node == stmt)
				w->out->symbol.at[last].from = x->at; /* visible in the loop, not before it */
			w->block_end = outer;
			defined = true;
		}
		if (x->kind == AST_BLOCK)
			walk_block(w, child);
		else if (defined && x->kind == AST_NAME)
			walk_mention(w, MENTION_WORD, x->at, 0, 0); /* parallel(stream) */
		else
			walk_index(w, child);
	}
	while (w->hidden.n > mark) {
		w->hidden.n--;
		w->scalar_of.at[w->hidden.at[w->hidden.n].name] = w->hidden.at[w->hidden.n].symbol;
	}
}

static void visit_schedule(struct walk *w, ast_id stmt, const struct ast_node *n)
{
	uint32_t tensor = *walk_slot(w, &w->tensor_of, n->name);
	uint32_t mesh = tensor ? w->out->symbol.at[tensor].mesh : w->mesh;
	walk_mention(w, MENTION_SYMBOL, walk_after_word(w, n->at), tensor, 0);
	ast_each (w->a, primitive, stmt) {
		walk_mention(w, MENTION_PRIMITIVE, ast_at(w->a, primitive)->at, 0, 0);
		ast_each (w->a, child, primitive) {
			const struct ast_node *x = ast_at(w->a, child);
			uint32_t axis = x->kind == AST_NAME ? walk_find_axis(w, x->name, mesh) : 0;
			if (x->kind == AST_NAME)
				walk_mention(w, axis ? MENTION_SYMBOL : MENTION_WORD, x->at, axis, 0);
			else
				walk_index(w, child);
		}
	}
}

static void result(struct walk *w, ast_id r, bool handle, ast_id stmt)
{
	const struct ast_node *n = ast_at(w->a, r);
	if (handle && n->kind == AST_RESULT) {
		define_scalar(w, SYMBOL_STREAM, stmt, n->name, n->at);
		return;
	}
	if (n->kind != AST_RESULT && n->kind != AST_TENSOR) {
		walk_operand(w, r, MENTION_WRITES);
		return;
	}
	walk_mention(w, MENTION_SYMBOL, n->at, *walk_slot(w, &w->tensor_of, n->name), MENTION_DEFINES);
	ast_each (w->a, child, r)
		if (ast_at(w->a, child)->kind == AST_TYPE)
			walk_type(w, child);
}

static void visit_statement(struct walk *w, ast_id stmt)
{
	const struct ast_node *n = ast_at(w->a, stmt);
	bool handle = false;
	unsigned k = 0;
	switch (n->kind) {
	case AST_INPUT:
		walk_mention(w, MENTION_SYMBOL, walk_after_word(w, n->at),
		             *walk_slot(w, &w->tensor_of, n->name), MENTION_DEFINES);
		ast_each (w->a, child, stmt) {
			const struct ast_node *x = ast_at(w->a, child);
			if (x->kind == AST_TYPE)
				walk_type(w, child);
			else if (x->kind == AST_CALL)
				walk_mention(w, MENTION_WORD, x->at, 0, 0);
			if (x->kind != AST_TYPE)
				ast_each (w->a, argument, child)
					walk_index(w, argument);
		}
		return;
	case AST_INPUT_PARAM:
		walk_index(w, n->first);
		return;
	case AST_DEF:
	case AST_WRITE:
		handle = n->kind == AST_DEF && is_handle(w, n);
		ast_each (w->a, child, stmt) {
			if (k == 1)
				walk_operand(w, child, 0);
			else if (k == 2)
				walk_mention(w, MENTION_SYMBOL, ast_at(w->a, child)->at,
				             *walk_slot(w, &w->statement_of, ast_at(w->a, child)->name),
				             MENTION_DEFINES);
			k++;
		}
		ast_each (w->a, r, n->first) {
			if (n->kind == AST_DEF)
				result(w, r, handle, stmt);
			else
				walk_operand(w, r, MENTION_WRITES);
		}
		return;
	case AST_DO:
		ast_each (w->a, child, stmt) {
			if (k++ == 0)
				walk_operand(w, child, 0);
			else
				walk_mention(w, MENTION_SYMBOL, ast_at(w->a, child)->at,
				             *walk_slot(w, &w->statement_of, ast_at(w->a, child)->name),
				             MENTION_DEFINES);
		}
		return;
	case AST_EXPORT:
		walk_mention(w, MENTION_SYMBOL, walk_after_word(w, n->at),
		             *walk_slot(w, &w->tensor_of, n->name), 0);
		return;
	case AST_LET:
		walk_index(w, n->first);
		define_scalar(w, SYMBOL_LET, stmt, n->name, walk_after_word(w, n->at));
		return;
	case AST_FOR:
		visit_loop(w, stmt, n);
		return;
	case AST_SCHEDULE:
		visit_schedule(w, stmt, n);
		return;
	case AST_UNIT:
		if (w->a->surface == SURFACE_HIR)
			walk_mention(w, MENTION_OP, n->at, op_by_hir(ast_text(w->a, stmt)), 0);
		break;
	default:
		break;
	}
	ast_each (w->a, child, stmt) {
		if (ast_at(w->a, child)->kind == AST_BLOCK)
			walk_block(w, child);
		else
			walk_operand(w, child, 0);
	}
}

void walk_block(struct walk *w, ast_id block)
{
	uint32_t mark = w->hidden.n, outer = w->block_end;
	w->block_end = ast_at(w->a, block)->end;
	ast_each (w->a, stmt, block)
		visit_statement(w, stmt);
	while (w->hidden.n > mark) {
		w->hidden.n--;
		w->scalar_of.at[w->hidden.at[w->hidden.n].name] = w->hidden.at[w->hidden.n].symbol;
	}
	w->block_end = outer;
}

/* Walks a container. A tensor is defined by its first use as an input or a result. */
void walk_container(struct walk *w, ast_id container)
{
	ast_id inputs = ast_at(w->a, container)->first;
	ast_each (w->a, tensor, inputs) {
		const struct ast_node *n = ast_at(w->a, tensor);
		define_tensor(w, tensor, tensor, n->name, n->at);
		walk_mention(w, MENTION_SYMBOL, n->at, *walk_slot(w, &w->tensor_of, n->name),
		             MENTION_DEFINES);
	}
	for (ast_id child = ast_at(w->a, inputs)->next; child; child = ast_at(w->a, child)->next)
		if (ast_at(w->a, child)->kind == AST_BLOCK)
			walk_find_tensors(w, child);
	for (ast_id child = ast_at(w->a, inputs)->next; child; child = ast_at(w->a, child)->next) {
		if (ast_at(w->a, child)->kind == AST_BLOCK)
			walk_block(w, child);
		else
			walk_operand(w, child, 0);
	}
}
