/* hover: describes the symbol at a place, as Markdown. */
#include "lsp/hover.h"
#include "ir/expr.h"
#include "lsp/request.h"

static void put_code(struct buf *b, const char *text, size_t n)
{
	buf_puts(b, "```hir\n");
	buf_putn(b, text, n);
	buf_puts(b, "\n```\n");
}

/* Puts the text of a node, without the blocks at its end. */
static void put_node(struct request *r, struct buf *b, ast_id id)
{
	const struct ast *a = r->snapshot->ast;
	const struct ast_node *n = ast_at(a, id);
	uint32_t end = n->end;
	ast_each (a, child, id)
		if (ast_at(a, child)->kind == AST_BLOCK && ast_at(a, child)->at < end)
			end = ast_at(a, child)->at;
	while (end > n->at && strchr(" \t\r\n", r->snapshot->source->text[end - 1]))
		end--;
	put_code(b, r->snapshot->source->text + n->at, end - n->at);
}

static unsigned count_uses(const struct snapshot *x, uint32_t id)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < x->symbols.mention.n; i++) {
		const struct mention *m = &x->symbols.mention.at[i];
		n += m->kind == MENTION_SYMBOL && m->id == id && !(m->flags & MENTION_DEFINES);
	}
	return n;
}

static const struct mesh *find_mesh(const struct snapshot *x, const struct symbol *s)
{
	for (mesh_id i = 1; i < x->module->mesh.n; i++)
		if (x->module->mesh.at[i].name == s->name)
			return &x->module->mesh.at[i];
	return NULL;
}

static void put_axis_ranks(const struct snapshot *x, const struct symbol *s, struct buf *b)
{
	const struct mesh *mesh = s->mesh ? find_mesh(x, &x->symbols.symbol.at[s->mesh]) : NULL;
	int k = mesh ? mesh_find_axis(mesh, s->name) : -1;
	if (k >= 0)
		buf_printf(b, "axis of mesh `%s`, %u ranks\n", names_text(x->ast->names, mesh->name),
		           mesh->size[k]);
}

static void param(const struct snapshot *x, const struct symbol *s, struct buf *b)
{
	for (param_id p = 1; p < x->module->param.n; p++) {
		const struct param *y = &x->module->param.at[p];
		if (y->name == s->name && y->has_value)
			buf_printf(b, "value %lld%s\n", (long long)y->value, y->set_by_user ? ", by -D" : "");
		else if (y->name == s->name)
			buf_puts(b, "no value: `-D` gives it one\n");
	}
}

static void symbol(struct request *r, uint32_t id, struct buf *b)
{
	const struct snapshot *x = r->snapshot;
	const struct symbol *s = &x->symbols.symbol.at[id];
	unsigned uses = count_uses(x, id);
	const struct mesh *mesh;
	if (s->kind == SYMBOL_TENSOR && x->value.at[id])
		hover_tensor(r, id, b);
	else
		put_node(r, b, s->node);
	buf_putc(b, '\n');
	switch (s->kind) {
	case SYMBOL_AXIS:
		put_axis_ranks(x, s, b);
		break;
	case SYMBOL_PARAM:
		param(x, s, b);
		break;
	case SYMBOL_MESH:
		if ((mesh = find_mesh(x, s)))
			buf_printf(b, "%u devices\n", mesh->device_count);
		break;
	default:
		break;
	}
	struct position p = document_position(r->document, r->columns, s->at);
	buf_printf(b, "\n%s, defined in line %u, used %u time%s\n", symbol_kind_text[s->kind], p.line + 1,
	           uses, uses == 1 ? "" : "s");
}

static void put_operation(enum op_kind kind, struct buf *b)
{
	const struct op_info *x = &op_info[kind];
	buf_printf(b, "**%s**: %s\n", x->hir, x->meaning);
	if (x->form != FORM_CONTROL && x->min_reads == x->max_reads)
		buf_printf(b, "\n%u operand%s\n", x->min_reads, x->min_reads == 1 ? "" : "s");
	else if (x->form != FORM_CONTROL && kind != OP_EXTERN)
		buf_printf(b, "\n%u to %u operands\n", x->min_reads, x->max_reads);
	if (*x->attributes && *x->attributes != '*')
		buf_printf(b, "\nattributes: `%s`\n", x->attributes);
	if (strcmp(x->nvfuser, x->hir) != 0)
		buf_printf(b, "\nnvFuser: `%s`\n", x->nvfuser);
}

cJSON *feature_hover(struct request *r)
{
	const struct mention *m = symbols_mention_at(&r->snapshot->symbols, r->offset);
	const char *text = r->snapshot->source->text;
	struct buf b = {0};
	enum dtype dtype;
	char word[32];
	if (!m)
		return NULL;
	snprintf(word, sizeof word, "%.*s", (int)(m->end - m->at), text + m->at);
	switch ((enum mention_kind)m->kind) {
	case MENTION_SYMBOL:
		if (m->id)
			symbol(r, m->id, &b);
		break;
	case MENTION_OP:
		if (m->id)
			put_operation((enum op_kind)m->id, &b);
		break;
	case MENTION_KEY:
		if (m->id)
			buf_printf(&b, "`%s=` of **%s**: %s\n", word, op_info[m->id].hir,
			           op_info[m->id].meaning);
		break;
	case MENTION_TYPE:
		if (dtype_parse(word, &dtype))
			buf_printf(&b, "**%s**: %u byte%s, %s of nvFuser\n", word, dtype_bytes(dtype),
			           dtype_bytes(dtype) == 1 ? "" : "s", dtype_nvfuser_name(dtype));
		break;
	case MENTION_FUNCTION:
	case MENTION_PRIMITIVE:
	case MENTION_WORD:
		break;
	}
	if (!b.n)
		return NULL;
	cJSON *json = cJSON_CreateObject(), *contents = cJSON_AddObjectToObject(json, "contents");
	cJSON_AddStringToObject(contents, "kind", "markdown");
	cJSON_AddStringToObject(contents, "value", b.at);
	cJSON_AddItemToObject(json, "range", request_range(r, m->at, m->end));
	buf_free(&b);
	return json;
}
