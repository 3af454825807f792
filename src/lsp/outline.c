/* outline: lists declarations, and the program with its tensors, loops and named statements. */
#include "lsp/request.h"

enum { /* SymbolKind of the protocol */
       KIND_MODULE = 2,
       KIND_NAMESPACE = 3,
       KIND_PROPERTY = 7,
       KIND_VARIABLE = 13,
       KIND_CONSTANT = 14,
       KIND_ARRAY = 18,
       KIND_OBJECT = 19,
       KIND_KEY = 20,
       KIND_EVENT = 24,
};

static const uint8_t kinds[SYMBOL_KIND_COUNT] = {
    [SYMBOL_PROGRAM] = KIND_MODULE,  [SYMBOL_PARAM] = KIND_VARIABLE, [SYMBOL_CONST] = KIND_CONSTANT,
    [SYMBOL_MESH] = KIND_OBJECT,     [SYMBOL_AXIS] = KIND_PROPERTY,  [SYMBOL_GROUP] = KIND_OBJECT,
    [SYMBOL_CLUSTER] = KIND_OBJECT,  [SYMBOL_TENSOR] = KIND_ARRAY,   [SYMBOL_LET] = KIND_CONSTANT,
    [SYMBOL_INDEX] = KIND_NAMESPACE, [SYMBOL_STREAM] = KIND_KEY,     [SYMBOL_STATEMENT] = KIND_EVENT,
};

struct level {
	uint32_t end;    /* of the node: a node that begins before it is below */
	cJSON *children; /* the list for its children */
};

static int by_place(const void *a, const void *b)
{
	const struct symbol *const *x = a, *const *y = b;
	return ((*x)->at > (*y)->at) - ((*x)->at < (*y)->at);
}

/* Puts `f32[t@x, 8]` as written, or the kind of the symbol. */
static void detail(struct request *r, const struct symbol *s, struct buf *b)
{
	const struct ast *a = r->snapshot->ast;
	ast_id type = s->result ? ast_at(a, s->result)->first : 0;
	b->n = 0;
	if (type && ast_at(a, type)->kind == AST_TYPE)
		buf_putn(b, a->source->text + ast_at(a, type)->at, ast_length(a, type));
	else
		buf_puts(b, symbol_kind_text[s->kind]);
}

cJSON *feature_outline(struct request *r)
{
	const struct symbols *all = &r->snapshot->symbols;
	const struct ast *a = r->snapshot->ast;
	VEC(const struct symbol *) order = {0};
	VEC(struct level) stack = {0};
	struct buf text = {0};
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 1; i < all->symbol.n; i++)
		vec_push(&order, &all->symbol.at[i]);
	if (order.n)
		qsort(order.at, order.n, sizeof *order.at, by_place);
	for (uint32_t i = 0; i < order.n; i++) {
		const struct symbol *s = order.at[i];
		const struct ast_node *n = ast_at(a, s->node);
		bool printed = n->at > s->at; /* a tensor of a container */
		uint32_t from = printed ? s->at : n->at, to = n->end > s->end ? n->end : s->end;
		while (stack.n && stack.at[stack.n - 1].end <= s->at)
			stack.n--;
		cJSON *json = cJSON_CreateObject();
		cJSON_AddStringToObject(json, "name", names_text(a->names, s->name));
		detail(r, s, &text);
		cJSON_AddStringToObject(json, "detail", text.at);
		cJSON_AddNumberToObject(json, "kind", kinds[s->kind]);
		cJSON_AddItemToObject(json, "range", request_range(r, from, to));
		cJSON_AddItemToObject(json, "selectionRange", request_range(r, s->at, s->end));
		cJSON_AddItemToArray(stack.n ? stack.at[stack.n - 1].children : list, json);
		if (s->kind == SYMBOL_PROGRAM || s->kind == SYMBOL_INDEX || s->kind == SYMBOL_MESH)
			vec_push(&stack, (struct level){n->end, cJSON_AddArrayToObject(json, "children")});
	}
	vec_free(&order);
	vec_free(&stack);
	buf_free(&text);
	return list;
}
