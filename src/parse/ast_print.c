/* ast_print: prints the AST, for --dump=ast.
 *
 *     def output @9:3
 *       list @9:10
 *         result Y @9:10
 *
 * One node a line, two blanks a level. Names that are not words are in backquotes, strings in quotes. */
#include "base/source.h"
#include "ir/spelling.h"
#include "parse/ast.h"
#include "parse/lex.h"
#include <inttypes.h>

static const char *const spelling[AST_KIND_COUNT] = {
#define AST(kind, text, children) [AST_##kind] = text,
#include "parse/ast_kinds.def"
#undef AST
};

static void put_name(const struct ast *a, const struct ast_node *n, struct buf *out)
{
	const char *text = names_text(a->names, n->name);
	bool any_text = n->kind == AST_BINARY || n->kind == AST_UNARY || n->kind == AST_ID ||
	                n->kind == AST_HANDLE || n->kind == AST_FLOAT || n->kind == AST_SECTION ||
	                n->kind == AST_XF_LINE;
	if (n->kind == AST_STRING || n->flags & AST_EXTERN) {
		buf_putc(out, ' ');
		spelling_put_string(out, text);
	} else if (n->name && (any_text || lex_is_word(text))) {
		buf_printf(out, " %s", text);
	} else if (n->name) {
		buf_printf(out, " `%s`", text);
	}
}

static void print_node(const struct ast *a, ast_id id, unsigned level, struct buf *out)
{
	static const struct {
		unsigned flag;
		const char *text;
	} flags[] = {
	    {AST_OUTPUT, " output"}, {AST_INOUT, " inout"}, {AST_FOR_IN, " in"},
	    {AST_EXTERN, " extern"}, {AST_BARE, " bare"},
	};
	const struct ast_node *n = ast_at(a, id);
	uint32_t line, column;
	source_position(a->source, n->at, &line, &column);
	buf_pad(out, ' ', level * 2);
	buf_puts(out, spelling[n->kind]);
	put_name(a, n, out);
	if (n->kind == AST_INT || n->kind == AST_ID || n->kind == AST_COMM || n->kind == AST_COMM_REF)
		buf_printf(out, " %" PRId64, n->value.i);
	for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++)
		if (n->flags & flags[i].flag)
			buf_puts(out, flags[i].text);
	buf_printf(out, " @%u:%u\n", line, column);
	ast_each (a, child, id)
		print_node(a, child, level + 1, out);
}

void ast_print(const struct ast *a, struct buf *out)
{
	print_node(a, a->root, 0, out);
}
