/* symbols: definitions, places, and the walk over declarations. The walk over statements and expressions is
 * in symbols_walk.c. */
#include "lsp/symbols.h"
#include "base/source.h"
#include "base/word.h"
#include "lsp/symbols_walk.h"

const char *const symbol_kind_text[SYMBOL_KIND_COUNT] = {
    [SYMBOL_PROGRAM] = "program",  [SYMBOL_PARAM] = "param",    [SYMBOL_CONST] = "const",
    [SYMBOL_MESH] = "mesh",        [SYMBOL_AXIS] = "mesh axis", [SYMBOL_GROUP] = "group",
    [SYMBOL_CLUSTER] = "cluster",  [SYMBOL_TENSOR] = "tensor",  [SYMBOL_LET] = "let",
    [SYMBOL_INDEX] = "loop index", [SYMBOL_STREAM] = "stream",  [SYMBOL_STATEMENT] = "statement",
};

uint32_t symbols_name_end(const struct source *s, uint32_t at)
{
	uint32_t end = at;
	if (at < s->size && s->text[at] == '`') {
		for (end++; end < s->size && s->text[end] != '`' && s->text[end] != '\n';)
			end++;
		return end < s->size && s->text[end] == '`' ? end + 1 : end;
	}
	while (end < s->size && word_has(s->text[end]))
		end++;
	return end;
}

uint32_t walk_after_word(const struct walk *w, uint32_t at)
{
	const char *text = w->a->source->text;
	while (word_has(text[at]) || text[at] == '@')
		at++;
	while (text[at] == ' ' || text[at] == '\t')
		at++;
	return at;
}

uint32_t walk_after_sign(const struct walk *w, uint32_t at)
{
	const char *text = w->a->source->text;
	for (at++; text[at] == ' ' || text[at] == '\t';)
		at++;
	return at;
}

uint32_t *walk_slot(struct walk *w, struct walk_names *names, uint32_t name)
{
	(void)w;
	while (names->n <= name)
		vec_push(names, 0);
	return &names->at[name];
}

void walk_mention(struct walk *w, enum mention_kind kind, uint32_t at, uint32_t id, unsigned flags)
{
	uint32_t end = symbols_name_end(w->a->source, at);
	if (end > at)
		vec_push(&w->out->mention,
		         (struct mention){
		             .kind = (uint8_t)kind, .flags = (uint8_t)flags, .at = at, .end = end, .id = id});
}

uint32_t walk_define(struct walk *w, enum symbol_kind kind, ast_id node, uint32_t name, uint32_t at)
{
	uint32_t end = symbols_name_end(w->a->source, at);
	if (!name || end == at)
		return 0;
	vec_push(&w->out->symbol, (struct symbol){.kind = (uint8_t)kind,
	                                          .name = name,
	                                          .at = at,
	                                          .end = end,
	                                          .from = ast_at(w->a, node)->end,
	                                          .to = w->block_end,
	                                          .node = node});
	return w->out->symbol.n - 1;
}

static void mesh(struct walk *w, ast_id decl, const struct ast_node *n, uint32_t at)
{
	uint32_t id = walk_define(w, SYMBOL_MESH, decl, n->name, at);
	*walk_slot(w, &w->mesh_of, n->name) = id;
	ast_each (w->a, axis, n->first) {
		const struct ast_node *x = ast_at(w->a, axis);
		if (x->kind != AST_MESH_AXIS)
			continue;
		uint32_t symbol = walk_define(w, SYMBOL_AXIS, axis, x->name, x->at);
		if (symbol) {
			uint32_t *slot = walk_slot(w, &w->axis_of, x->name);
			w->out->symbol.at[symbol].mesh = id;
			w->out->symbol.at[symbol].same = *slot;
			*slot = symbol;
			walk_mention(w, MENTION_SYMBOL, x->at, symbol, MENTION_DEFINES);
		}
		if (x->first)
			walk_index(w, x->first);
	}
	walk_mention(w, MENTION_SYMBOL, at, id, MENTION_DEFINES);
	ast_id devices = ast_at(w->a, n->first)->next;
	if (devices)
		walk_index(w, devices);
}

void walk_declaration(struct walk *w, ast_id decl)
{
	const struct ast_node *n = ast_at(w->a, decl);
	uint32_t at = walk_after_word(w, n->at), id = 0;
	switch (n->kind) {
	case AST_PARAM:
	case AST_CONST:
		ast_each (w->a, child, decl)
			walk_index(w, child);
		id = walk_define(w, n->kind == AST_PARAM ? SYMBOL_PARAM : SYMBOL_CONST, decl, n->name, at);
		if (id)
			*walk_slot(w, &w->scalar_of, n->name) = id;
		break;
	case AST_MESH:
		mesh(w, decl, n, at);
		return;
	case AST_GROUP:
		id = walk_define(w, SYMBOL_GROUP, decl, n->name, at);
		*walk_slot(w, &w->group_of, n->name) = id;
		ast_each (w->a, child, decl)
			walk_index(w, child);
		break;
	case AST_CLUSTER:
		id = walk_define(w, SYMBOL_CLUSTER, decl, n->name, at);
		ast_each (w->a, child, decl)
			walk_index(w, child);
		break;
	default:
		return;
	}
	walk_mention(w, MENTION_SYMBOL, at, id, MENTION_DEFINES);
}

static void program(struct walk *w, ast_id node)
{
	const struct ast_node *n = ast_at(w->a, node);
	ast_id block = n->first, on = block ? ast_at(w->a, block)->next : 0;
	uint32_t at = walk_after_word(w, n->at);
	walk_mention(w, MENTION_SYMBOL, at, walk_define(w, SYMBOL_PROGRAM, node, n->name, at),
	             MENTION_DEFINES);
	if (on && ast_at(w->a, on)->kind == AST_NAME) {
		w->mesh = *walk_slot(w, &w->mesh_of, ast_at(w->a, on)->name);
		walk_mention(w, MENTION_SYMBOL, ast_at(w->a, on)->at, w->mesh, 0);
	}
	if (!block)
		return;
	walk_find_tensors(w, block);
	walk_block(w, block);
}

static int by_place(const void *a, const void *b)
{
	const struct mention *x = a, *y = b;
	return x->at != y->at ? (x->at > y->at) - (x->at < y->at) : (x->end > y->end) - (x->end < y->end);
}

void symbols_find(const struct ast *a, struct symbols *out)
{
	struct walk w = {.a = a, .out = out, .block_end = a->source->size};
	*out = (struct symbols){0};
	vec_push(&out->symbol, (struct symbol){0});
	ast_each (a, child, a->root)
		walk_declaration(&w, child);
	ast_each (a, child, a->root) {
		if (ast_at(a, child)->kind == AST_PROGRAM)
			program(&w, child);
		else if (ast_at(a, child)->kind == AST_CONTAINER)
			walk_container(&w, child);
	}
	if (out->mention.n)
		qsort(out->mention.at, out->mention.n, sizeof *out->mention.at, by_place);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < out->mention.n; i++)
		if (!kept || out->mention.at[i].at >= out->mention.at[kept - 1].end)
			out->mention.at[kept++] = out->mention.at[i];
	out->mention.n = kept;
	vec_free(&w.scalar_of);
	vec_free(&w.tensor_of);
	vec_free(&w.statement_of);
	vec_free(&w.mesh_of);
	vec_free(&w.axis_of);
	vec_free(&w.group_of);
	vec_free(&w.op_of);
	vec_free(&w.hidden);
}

void symbols_free(struct symbols *s)
{
	vec_free(&s->symbol);
	vec_free(&s->mention);
}

const struct mention *symbols_mention_at(const struct symbols *s, uint32_t offset)
{
	uint32_t low = 0, high = s->mention.n;
	while (low < high) { /* find the first one that ends at or after the offset */
		uint32_t mid = low + (high - low) / 2;
		if (s->mention.at[mid].end < offset)
			low = mid + 1;
		else
			high = mid;
	}
	if (low + 1 < s->mention.n && s->mention.at[low].end == offset && s->mention.at[low + 1].at == offset)
		low++;
	return low < s->mention.n && s->mention.at[low].at <= offset ? &s->mention.at[low] : NULL;
}

uint32_t symbols_symbol_at(const struct symbols *s, uint32_t offset)
{
	const struct mention *x = symbols_mention_at(s, offset);
	return x && x->kind == MENTION_SYMBOL ? x->id : 0;
}
