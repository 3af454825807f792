/* format_expr: prints names, expressions and types in canonical spelling.
 *
 *     linear( X,W )+b*- 2    →  linear(X, W) + b * -2
 *     f(x , i = j-1){ a=1 }  →  f(x, i=j - 1) {a=1}
 *     f32[4 * h @ x]         →  f32[4*h@x]
 *
 * As in dumps, `*` has no blanks in extents, ranges and values of keys. Parentheses are nodes, so they are
 * printed as written, and the printer need not know precedence. */
#include "parse/format_expr.h"
#include "ir/spelling.h"
#include "parse/lex.h"

static void put_name(const struct ast *a, uint32_t name, bool quoted, struct buf *out)
{
	const char *text = names_text(a->names, name);
	if (quoted || !lex_is_word(text)) {
		buf_putc(out, '`');
		buf_puts(out, text);
		buf_putc(out, '`');
	} else {
		buf_puts(out, text);
	}
}

void format_name(const struct ast *a, ast_id id, struct buf *out)
{
	const struct ast_node *n = ast_at(a, id);
	/* a word with a meaning only in some places keeps the quotes it has */
	bool is_context_word = n->name >= WORD_FIRST_CONTEXT && n->name < WORD_COUNT;
	put_name(a, n->name,
	         (n->name && n->name < WORD_LAST_KEYWORD) || (is_context_word && n->flags & AST_QUOTED), out);
}

/* tight: inside an extent, a range or the value of a key */
static void put_expr(const struct ast *a, ast_id id, bool tight, struct buf *out);

static void put_list(const struct ast *a, ast_id id, const char *between, bool tight, struct buf *out)
{
	for (; id; id = ast_at(a, id)->next) {
		put_expr(a, id, tight, out);
		if (ast_at(a, id)->next)
			buf_puts(out, between);
	}
}

static void put_between(const struct ast *a, ast_id id, char open, char close, bool tight, struct buf *out)
{
	buf_putc(out, open);
	put_list(a, ast_at(a, id)->first, ", ", tight, out);
	buf_putc(out, close);
}

void format_list(const struct ast *a, ast_id id, const char *between, struct buf *out)
{
	put_list(a, id, between, false, out);
}

void format_attrs(const struct ast *a, ast_id id, struct buf *out)
{
	put_between(a, id, '{', '}', false, out);
}

static void put_call(const struct ast *a, ast_id id, bool tight, struct buf *out)
{
	const struct ast_node *n = ast_at(a, id);
	if (n->flags & AST_EXTERN) {
		buf_puts(out, "extern ");
		spelling_put_string(out, names_text(a->names, n->name));
	} else {
		format_name(a, id, out);
	}
	buf_putc(out, '(');
	ast_id arg = n->first;
	for (; arg && ast_at(a, arg)->kind != AST_ATTRS; arg = ast_at(a, arg)->next) {
		if (arg != n->first)
			buf_puts(out, ", ");
		put_expr(a, arg, tight, out);
	}
	buf_putc(out, ')');
	if (arg) {
		buf_putc(out, ' ');
		format_attrs(a, arg, out);
	}
}

static void put_key(const struct ast *a, ast_id id, struct buf *out)
{
	const struct ast_node *n = ast_at(a, id), *value = ast_at(a, n->first);
	put_name(a, n->name, n->name == WORD_TEAM && n->flags & AST_QUOTED, out);
	buf_putc(out, '=');
	if (value->kind == AST_NAME) /* a keyword needs no quotes here */
		put_name(a, value->name, false, out);
	else
		put_expr(a, n->first, true, out);
}

static void put_axis(const struct ast *a, ast_id id, struct buf *out)
{
	if (ast_at(a, id)->flags & AST_BARE)
		buf_puts(out, "rf ");
	ast_each (a, child, id) {
		const struct ast_node *n = ast_at(a, child);
		if (n->kind != AST_PLACE) {
			put_expr(a, child, true, out);
			continue;
		}
		buf_putc(out, '@');
		format_name(a, child, out);
		if (n->first)
			put_between(a, child, '(', ')', true, out);
	}
}

static void put_binary(const struct ast *a, ast_id id, bool tight, struct buf *out)
{
	const struct ast_node *n = ast_at(a, id);
	const char *operation = names_text(a->names, n->name);
	const char *blank = tight && *operation == '*' ? "" : " ";
	put_expr(a, n->first, tight, out);
	buf_puts(out, blank);
	buf_puts(out, operation);
	buf_puts(out, blank);
	put_expr(a, ast_at(a, n->first)->next, tight, out);
}

static void put_expr(const struct ast *a, ast_id id, bool tight, struct buf *out)
{
	const struct ast_node *n = ast_at(a, id);
	switch (n->kind) {
	case AST_INT:
		buf_puti(out, n->value.i);
		break;
	case AST_FLOAT:
		buf_puts(out, names_text(a->names, n->name));
		break;
	case AST_STRING:
		spelling_put_string(out, names_text(a->names, n->name));
		break;
	case AST_BINARY:
		put_binary(a, id, tight, out);
		break;
	case AST_UNARY:
		buf_puts(out, names_text(a->names, n->name));
		if (n->name == WORD_NOT)
			buf_putc(out, ' ');
		put_expr(a, n->first, tight, out);
		break;
	case AST_PAREN:
		put_between(a, id, '(', ')', tight, out);
		break;
	case AST_TUPLE: { /* (a) would not be a tuple */
		bool one = n->first && !ast_at(a, n->first)->next;
		put_between(a, id, one ? '{' : '(', one ? '}' : ')', tight, out);
		break;
	}
	case AST_TEAM:
		ast_each (a, slice, id) {
			buf_putc(out, '(');
			format_list(a, ast_at(a, slice)->first, " ", out);
			buf_putc(out, ')');
		}
		break;
	case AST_LIST:
		put_between(a, id, '[', ']', tight, out);
		break;
	case AST_AXIS:
		put_axis(a, id, out);
		break;
	case AST_CALL:
		put_call(a, id, tight, out);
		break;
	case AST_KEY:
		put_key(a, id, out);
		break;
	case AST_RANGE:
		format_range(a, n->first, ast_at(a, n->first)->next, out);
		break;
	case AST_DEVICES:
		format_devices(a, id, out);
		break;
	default:
		format_name(a, id, out);
	}
}

void format_expr(const struct ast *a, ast_id id, struct buf *out)
{
	put_expr(a, id, false, out);
}

void format_range(const struct ast *a, ast_id start, ast_id stop, struct buf *out)
{
	put_expr(a, start, true, out);
	buf_puts(out, "..");
	put_expr(a, stop, true, out);
}

void format_devices(const struct ast *a, ast_id id, struct buf *out)
{
	buf_putc(out, '{');
	format_list(a, ast_at(a, id)->first, " ", out);
	buf_putc(out, '}');
}

void format_type(const struct ast *a, ast_id id, struct buf *out)
{
	const struct ast_node *n = ast_at(a, id);
	format_name(a, id, out);
	put_between(a, n->first, '[', ']', false, out);
	for (ast_id suffix = ast_at(a, n->first)->next; suffix; suffix = ast_at(a, suffix)->next) {
		buf_putc(out, ' ');
		switch (ast_at(a, suffix)->kind) {
		case AST_ON:
			buf_puts(out, "on ");
			format_name(a, suffix, out);
			break;
		case AST_PARTIAL:
			buf_puts(out, "partial");
			if (ast_at(a, suffix)->name) {
				buf_putc(out, ' ');
				put_name(a, ast_at(a, suffix)->name, false, out);
			}
			put_between(a, suffix, '(', ')', false, out);
			break;
		case AST_REDUCE:
			buf_puts(out, "reduce");
			put_between(a, suffix, '(', ')', false, out);
			break;
		default:
			format_name(a, suffix, out);
		}
	}
}
