/* ast_format: prints programs of the concise surface in canonical spelling.
 *
 *     program p on m{              program p on m {
 *      input  X:f32[8@x]  # in       input X: f32[8@x]  # in
 *                             →
 *                                    output Y: f32[8] = X
 *      output Y:f32[8]=X           }
 *     }
 *
 * A statement takes one line, a level two blanks. Comments are not nodes: a comment before or inside a
 * statement is printed before it, and a comment at the end of its line is printed there. Several blank lines
 * between statements become one; a block neither begins nor ends with one. Formatting the output again
 * changes nothing, and it has the same AST. */
#include "base/source.h"
#include "parse/ast.h"
#include "parse/format_expr.h"
#include "parse/lex.h"
#include <string.h>

enum { LEVEL = 2, BEFORE_COMMENT = 2 /* number of blanks */ };

struct formatter {
	const struct ast *a;
	struct buf *out;
	const char *text;
	unsigned level;
	uint32_t comment; /* the next comment to print */
	uint32_t done;    /* source offset after the text printed last */
	bool at_edge;     /* at the begin or end of a block or of the file: print no blank line */
};

static uint32_t next_comment(const struct formatter *f)
{
	return f->comment < f->a->comments.n ? f->a->comments.at[f->comment].at : UINT32_MAX;
}

static bool same_line(const struct formatter *f, uint32_t from, uint32_t to)
{
	return from <= to && !memchr(f->text + from, '\n', to - from);
}

/* Begins a line for the text at an offset of the source. */
static void begin_line(struct formatter *f, uint32_t at)
{
	const char *line = at > f->done ? memchr(f->text + f->done, '\n', at - f->done) : NULL;
	if (line && !f->at_edge && !same_line(f, (uint32_t)(line + 1 - f->text), at))
		buf_putc(f->out, '\n');
	f->at_edge = false;
	buf_pad(f->out, ' ', f->level * LEVEL);
}

static void put_comment(struct formatter *f)
{
	struct ast_comment c = f->a->comments.at[f->comment++];
	buf_putn(f->out, f->text + c.at, c.end - c.at);
	f->done = c.end;
}

/* Prints the comments that begin before an offset, each on its own line. */
static void comments_before(struct formatter *f, uint32_t at)
{
	while (next_comment(f) < at) {
		begin_line(f, next_comment(f));
		put_comment(f);
		buf_putc(f->out, '\n');
	}
}

/* Ends the line of a text that ends at offset `end`, with the comment after it if that begins before
 * limit. */
static void end_line(struct formatter *f, uint32_t end, uint32_t limit)
{
	f->done = end;
	if (next_comment(f) < limit && same_line(f, end, next_comment(f))) {
		buf_pad(f->out, ' ', BEFORE_COMMENT);
		put_comment(f);
	}
	buf_putc(f->out, '\n');
}

static void emit_text(struct formatter *f, const char *text)
{
	buf_puts(f->out, text);
}

static void put_name(struct formatter *f, ast_id id)
{
	format_name(f->a, id, f->out);
}

static void put_expr(struct formatter *f, const char *before, ast_id id)
{
	emit_text(f, before);
	format_expr(f->a, id, f->out);
}

/* Nodes printed on one line */

static void put_targets(struct formatter *f, ast_id list)
{
	ast_each (f->a, t, list) {
		const struct ast_node *n = ast_at(f->a, t);
		if (t != ast_at(f->a, list)->first)
			emit_text(f, ", ");
		put_expr(f, "", t);
		if (n->kind == AST_RESULT && n->first) {
			emit_text(f, ": ");
			format_type(f->a, n->first, f->out);
		}
	}
}

static void put_input(struct formatter *f, ast_id id)
{
	const struct ast_node *n = ast_at(f->a, id);
	ast_id type = n->first, init = ast_at(f->a, type)->next, attrs = ast_at(f->a, init)->next;
	emit_text(f, n->flags & AST_INOUT ? "inout " : "input ");
	put_name(f, id);
	emit_text(f, ": ");
	format_type(f->a, type, f->out);
	if (attrs) {
		emit_text(f, " ");
		format_attrs(f->a, attrs, f->out);
	}
	if (ast_at(f->a, init)->kind != AST_NONE)
		put_expr(f, " = ", init);
}

static void put_param(struct formatter *f, ast_id id)
{
	ast_id value = ast_at(f->a, id)->first, index = ast_at(f->a, value)->next;
	emit_text(f, "param ");
	put_name(f, id);
	if (ast_at(f->a, value)->kind != AST_NONE)
		put_expr(f, " = ", value);
	if (index)
		put_expr(f, " as ", index);
}

static void put_mesh(struct formatter *f, ast_id id)
{
	ast_id axes = ast_at(f->a, id)->first, devices = ast_at(f->a, axes)->next;
	emit_text(f, "mesh ");
	put_name(f, id);
	ast_each (f->a, axis, axes) {
		emit_text(f, axis == ast_at(f->a, axes)->first ? "(" : ", ");
		put_name(f, axis);
		if (ast_at(f->a, axis)->first)
			put_expr(f, " = ", ast_at(f->a, axis)->first);
	}
	emit_text(f, ")");
	if (ast_at(f->a, devices)->kind != AST_NONE)
		put_expr(f, " = ", devices);
}

/* Prints a schedule primitive: `split 0 inner 2`. */
static void put_primitive(struct formatter *f, ast_id id)
{
	put_name(f, id);
	emit_text(f, " ");
	format_list(f->a, ast_at(f->a, id)->first, " ", f->out);
}

/* Prints a statement or declaration that has no block. */
static void put_line(struct formatter *f, ast_id id)
{
	const struct ast_node *n = ast_at(f->a, id);
	ast_id first = n->first, second = first ? ast_at(f->a, first)->next : 0;
	ast_id third = second ? ast_at(f->a, second)->next : 0;
	switch (n->kind) {
	case AST_PARAM:
		put_param(f, id);
		break;
	case AST_CONST:
	case AST_LET:
		emit_text(f, n->kind == AST_LET ? "let " : "const ");
		put_name(f, id);
		put_expr(f, " = ", first);
		break;
	case AST_MESH:
		put_mesh(f, id);
		break;
	case AST_GROUP:
		emit_text(f, "group ");
		put_name(f, id);
		put_expr(f, "(", first);
		emit_text(f, ")");
		if (ast_at(f->a, second)->kind != AST_NONE)
			put_expr(f, " = ", second);
		if (third) {
			emit_text(f, " ");
			format_attrs(f->a, third, f->out);
		}
		break;
	case AST_CLUSTER:
		emit_text(f, "cluster ");
		put_name(f, id);
		emit_text(f, " ");
		format_attrs(f->a, first, f->out);
		break;
	case AST_NAME_DECL:
		put_expr(f, "name ", first);
		put_expr(f, " = ", second);
		break;
	case AST_IDS_DECL:
		put_expr(f, "ids ", first);
		put_expr(f, " = ", second);
		emit_text(f, " [");
		format_list(f->a, third, " ", f->out);
		emit_text(f, "]");
		break;
	case AST_LOOP_DECL:
		put_expr(f, "loop ", first);
		put_expr(f, " ", second);
		break;
	case AST_PARTIAL_DECL:
		put_expr(f, "partial ", first);
		put_expr(f, " ", second);
		break;
	case AST_ATTR_DECL:
		emit_text(f, "attr ");
		if (ast_at(f->a, first)->name == WORD_PROGRAM) /* the keyword is a name here */
			emit_text(f, "program");
		else
			put_name(f, first);
		emit_text(f, " ");
		format_attrs(f->a, second, f->out);
		break;
	case AST_INPUT_DECL:
		put_expr(f, "input ", first);
		put_expr(f, " = ", second);
		break;
	case AST_INPUT:
		put_input(f, id);
		break;
	case AST_INPUT_PARAM:
		put_expr(f, "input param ", first);
		break;
	case AST_DEF:
	case AST_WRITE:
		emit_text(f, n->flags & AST_OUTPUT ? "output " : "");
		put_targets(f, first);
		put_expr(f, n->kind == AST_DEF ? " = " : " <- ", second);
		if (third)
			put_expr(f, " as ", third);
		break;
	case AST_EXPORT:
		emit_text(f, "output ");
		put_name(f, id);
		break;
	case AST_DO:
		put_expr(f, "", first);
		if (second)
			put_expr(f, " as ", second);
		break;
	case AST_CALL:
		put_primitive(f, id);
		break;
	}
}

/* Nodes with blocks */

static void put_statement(struct formatter *f, ast_id id, uint32_t limit);

/* Returns where the text after a statement begins; end: the end of its block. */
static uint32_t limit_of(const struct formatter *f, ast_id id, uint32_t end)
{
	ast_id next = ast_at(f->a, id)->next;
	return next ? ast_at(f->a, next)->at : end;
}

/* Prints from an opening brace to the closing one; the caller ends that line. */
static void put_block(struct formatter *f, ast_id first, uint32_t open, uint32_t end)
{
	emit_text(f, "{");
	end_line(f, open + 1, first ? ast_at(f->a, first)->at : end);
	f->level++;
	f->at_edge = true;
	for (ast_id s = first; s; s = ast_at(f->a, s)->next)
		put_statement(f, s, limit_of(f, s, end));
	comments_before(f, end);
	f->level--;
	buf_pad(f->out, ' ', f->level * LEVEL);
	emit_text(f, "}");
	f->at_edge = false;
}

static void put_block_node(struct formatter *f, ast_id block)
{
	const struct ast_node *n = ast_at(f->a, block);
	emit_text(f, " ");
	put_block(f, n->first, n->at, n->end - 1);
}

static uint32_t find_brace(const struct formatter *f, uint32_t at)
{
	bool quoted = false;
	for (; f->text[at] != '{' || quoted; at++)
		quoted ^= f->text[at] == '`';
	return at;
}

static void put_schedule(struct formatter *f, ast_id id)
{
	const struct ast_node *n = ast_at(f->a, id);
	uint32_t open = find_brace(f, n->at);
	emit_text(f, "schedule ");
	put_name(f, id);
	emit_text(f, " ");
	if (!same_line(f, open, n->end)) {
		put_block(f, n->first, open, n->end - 1);
		return;
	}
	emit_text(f, n->first ? "{ " : "{");
	ast_each (f->a, primitive, id) {
		put_primitive(f, primitive);
		emit_text(f, ast_at(f->a, primitive)->next ? "; " : " ");
	}
	emit_text(f, "}");
}

/* Returns the block of a statement that is printed first; 0: it has none. */
static ast_id block_of(const struct formatter *f, ast_id id)
{
	switch (ast_at(f->a, id)->kind) {
	case AST_PROGRAM:
	case AST_UNIT:
		return ast_child(f->a, id, 0);
	case AST_IF:
		return ast_child(f->a, id, 1);
	case AST_FOR:
		return ast_child(f->a, id, 2);
	}
	return 0;
}

static void put_header(struct formatter *f, ast_id id)
{
	const struct ast_node *n = ast_at(f->a, id);
	ast_id first = n->first, second = ast_at(f->a, first)->next,
	       third = second ? ast_at(f->a, second)->next : 0;
	switch (n->kind) {
	case AST_PROGRAM:
		emit_text(f, "program ");
		put_name(f, id);
		if (second)
			put_expr(f, " on ", second);
		break;
	case AST_FOR:
		emit_text(f, "for ");
		put_name(f, id);
		emit_text(f, " in ");
		format_range(f->a, first, second, f->out);
		if (ast_at(f->a, third)->next) {
			put_expr(f, " parallel(", ast_at(f->a, third)->next);
			emit_text(f, ")");
		}
		break;
	case AST_IF:
		put_expr(f, "if ", first);
		break;
	case AST_UNIT:
		put_name(f, id);
		break;
	}
}

/* Prints a statement, with the comment at its end if that begins before limit. */
static void put_statement(struct formatter *f, ast_id id, uint32_t limit)
{
	const struct ast_node *n = ast_at(f->a, id);
	ast_id block = block_of(f, id);
	bool multiline_schedule = n->kind == AST_SCHEDULE && !same_line(f, n->at, n->end);
	comments_before(f, block ? ast_at(f->a, block)->at : multiline_schedule ? n->at : n->end);
	begin_line(f, n->at);
	if (block) {
		put_header(f, id);
		put_block_node(f, block);
		if (n->kind == AST_IF && ast_at(f->a, block)->next) {
			emit_text(f, " else");
			put_block_node(f, ast_at(f->a, block)->next);
		}
	} else if (n->kind == AST_SCHEDULE) {
		put_schedule(f, id);
	} else {
		put_line(f, id);
	}
	end_line(f, n->end, limit);
}

void ast_format(const struct ast *a, struct buf *out)
{
	if (a->surface != SURFACE_HIR)
		return;
	struct formatter f = {.a = a, .out = out, .text = a->source->text, .at_edge = true};
	ast_each (a, id, a->root)
		put_statement(&f, id, limit_of(&f, id, UINT32_MAX));
	comments_before(&f, UINT32_MAX);
}
