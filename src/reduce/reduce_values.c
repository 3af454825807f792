/* reduce_values: chunks that compute a value in fewer steps.
 *
 *     G = relu(X + Z)       →  G = relu(X)            an expression becomes one of its operands
 *     G = relu(X); Y = G + W →  Y = X + W             a definition becomes its operand, where it is read
 *     G = relu(X); Y = G + W →  Y = relu(X) + W       or its expression, if one statement reads it
 *     G = relu(X)           →  input G: f32[8@x]      a result becomes an input                         */
#include "ir/print.h"
#include "reduce/reduce_parts.h"
#include <string.h>

static bool is_expression(enum ast_kind kind)
{
	return kind == AST_NAME || kind == AST_INT || kind == AST_FLOAT || kind == AST_BINARY ||
	       kind == AST_UNARY || kind == AST_PAREN || kind == AST_CALL || kind == AST_TENSOR;
}

static bool has_operands(enum ast_kind kind)
{
	return kind == AST_BINARY || kind == AST_UNARY || kind == AST_PAREN || kind == AST_CALL;
}

static void add_operands(const struct reduce_view *v, struct reduce_chunks *c, ast_id id)
{
	const struct ast_node *n = ast_at(v->ast, id);
	ast_each (v->ast, child, id) {
		if (has_operands(n->kind) && is_expression(ast_at(v->ast, child)->kind)) {
			reduce_chunk_begin(c);
			reduce_edit_add(c, n->at, n->end, reduce_node_text(v, c, child));
		}
		add_operands(v, c, child);
	}
}

void reduce_operands(const struct reduce_view *v, struct reduce_chunks *c)
{
	add_operands(v, c, v->ast->root);
}

/* Returns the name of a definition's only result; NULL: it has several results, or is an output. */
static const char *single_result(const struct ast *a, ast_id id)
{
	const struct ast_node *n = ast_at(a, id);
	if (n->kind != AST_DEF || n->flags & AST_OUTPUT)
		return NULL;
	ast_id target = ast_at(a, n->first)->first;
	bool single = target && !ast_at(a, target)->next && ast_at(a, target)->kind == AST_RESULT;
	return single ? ast_text(a, target) : NULL;
}

static void add_definition(const struct reduce_view *v, struct reduce_chunks *c,
                           const struct reduce_statement *s, const char *name, const char *text)
{
	reduce_chunk_begin(c);
	reduce_edit_add(c, s->cut_at, s->cut_end, "");
	reduce_replace_word(v, c, name, text, s->cut_at, s->cut_end);
}

/* Returns true if a word occurs exactly twice in the text: where it is defined, and where it is read. */
static bool is_read_once(const struct reduce_view *v, const char *name)
{
	uint32_t t = reduce_word_first(v, name);
	t = t == REDUCE_NO_TOKEN ? t : v->token.at[t].next;
	return t != REDUCE_NO_TOKEN && v->token.at[t].next == REDUCE_NO_TOKEN;
}

void reduce_definitions(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->statement.n; i++) {
		const struct reduce_statement *s = &v->statement.at[i];
		const char *name = single_result(v->ast, s->id);
		if (!name)
			continue;
		ast_id value = ast_child(v->ast, s->id, 1);
		ast_each (v->ast, operand, value)
			if (ast_at(v->ast, operand)->kind == AST_NAME)
				add_definition(v, c, s, name, reduce_node_text(v, c, operand));
		if (ast_at(v->ast, value)->kind == AST_NAME ||
		    (is_expression(ast_at(v->ast, value)->kind) && is_read_once(v, name)))
			add_definition(v, c, s, name, reduce_node_text(v, c, value));
	}
}

/* Appends the type of a result: as written, or else as inferred. False: the type is not known. */
static bool put_type(const struct reduce_view *v, ast_id result, struct buf *out)
{
	ast_id type = ast_at(v->ast, result)->first;
	if (type) {
		reduce_put_node(v, type, out);
		return true;
	}
	struct module *m = v->module;
	for (value_id k = 1; m && k < m->value.n; k++)
		if (m->value.at[k].name &&
		    !strcmp(names_text(m->names, m->value.at[k].name), ast_text(v->ast, result))) {
			ir_print_type(m, m->value.at[k].type, out);
			return true;
		}
	return false;
}

void reduce_inputs(const struct reduce_view *v, struct reduce_chunks *c)
{
	for (uint32_t i = 0; i < v->statement.n; i++) {
		ast_id id = v->statement.at[i].id;
		const struct ast_node *n = ast_at(v->ast, id);
		if (n->kind != AST_DEF || n->flags & AST_OUTPUT)
			continue;
		struct buf text = {0};
		bool known = true;
		ast_each (v->ast, result, n->first) {
			buf_printf(&text, "%sinput %s: ", text.n ? "\n  " : "", ast_text(v->ast, result));
			known =
			    known && ast_at(v->ast, result)->kind == AST_RESULT && put_type(v, result, &text);
		}
		if (known && text.n) {
			reduce_chunk_begin(c);
			reduce_edit_add(c, n->at, n->end, arena_strndup(c->arena, text.at, text.n));
		}
		buf_free(&text);
	}
}
