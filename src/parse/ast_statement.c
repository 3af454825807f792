/* ast_statement: builders that choose the kind of statement from their arguments.
 *
 * Only the sign after the targets tells if a statement defines them (`a: T, b = f(x)`), writes them (`a <-
 * f(x)`) or exports them (`output a`). So the grammar reads targets as results, and the kind of statement is
 * set here. */
#include "parse/ast_build.h"
#include "parse/log_lines.h"
#include "parse/parse_report.h"

static struct ast_node *get_statement_node(struct parser *p, ast_id id)
{
	return &p->ast->nodes.at[id];
}

static void refuse_node(struct parser *p, enum diagnostic code, ast_id at, const char *message)
{
	const struct ast_node *n = get_statement_node(p, at);
	diag_error_span(p->diag, code, n->at, n->end - n->at, "%s", message);
}

ast_id ast_define(struct parser *p, struct parse_span at, ast_id targets, ast_id expr, ast_id as,
                  unsigned flags)
{
	ast_each (p->ast, t, targets)
		if (get_statement_node(p, t)->kind == AST_CALL)
			refuse_node(p, E_DEFINE_OR_WRITE, t,
			            "a call cannot be defined; '<-' writes to its result");
	return ast_flag(p, ast_make(p, AST_DEF, at, 0, targets, expr, as), flags);
}

ast_id ast_write(struct parser *p, struct parse_span at, ast_id targets, ast_id expr, ast_id as)
{
	ast_each (p->ast, t, targets) {
		struct ast_node *n = get_statement_node(p, t);
		if (n->kind == AST_RESULT && n->first)
			refuse_node(p, E_DEFINE_OR_WRITE, t,
			            "'<-' writes to a buffer that has its type already; '=' defines a tensor "
			            "with a type");
		if (n->kind == AST_RESULT) {
			n->kind = AST_NAME;
			n->first = 0;
			n->height = 0;
		}
	}
	return ast_make(p, AST_WRITE, at, 0, targets, expr, as);
}

ast_id ast_export(struct parser *p, struct parse_span at, ast_id targets)
{
	const struct ast_node *list = get_statement_node(p, targets),
	                      *only = get_statement_node(p, list->first);
	if (list->first != list->value.last)
		refuse_node(p, E_OUTPUT_FORM, targets, "several outputs in one statement need '= …'");
	else if (only->kind != AST_RESULT)
		refuse_node(p, E_OUTPUT_FORM, list->first, "an output is a name");
	else if (only->first)
		refuse_node(p, E_OUTPUT_FORM, list->first,
		            "an output with a type needs '= …'; an output without a type names a tensor "
		            "defined before");
	ast_id id = ast_leaf(p, AST_EXPORT, at, only->kind == AST_RESULT ? only->name : 0);
	vec_push(&p->ast->exports, id);
	return ast_flag(p, id,
	                get_statement_node(p, get_statement_node(p, targets)->first)->flags & AST_QUOTED);
}

ast_id ast_as(struct parser *p, struct parse_span at, uint32_t name)
{
	ast_id id = ast_leaf(p, AST_NAME, at, name);
	vec_push(&p->ast->named, id);
	return id;
}

/* In `= random(seed=1) {storage=3}` the attributes belong to the input, not to the call. */
static ast_id take_attrs(struct parser *p, ast_id call)
{
	ast_id before = 0, last = get_statement_node(p, call)->first;
	if (get_statement_node(p, call)->kind != AST_CALL || !last)
		return 0;
	for (; get_statement_node(p, last)->next; last = get_statement_node(p, last)->next)
		before = last;
	if (get_statement_node(p, last)->kind != AST_ATTRS)
		return 0;
	*(before ? &get_statement_node(p, before)->next : &get_statement_node(p, call)->first) = 0;
	get_statement_node(p, call)->value.last = before;
	return last;
}

ast_id ast_input(struct parser *p, struct parse_span at, uint32_t name, ast_id type, ast_id attrs,
                 ast_id init, unsigned flags)
{
	if (init && !attrs)
		attrs = take_attrs(p, init);
	return ast_flag(p, ast_make(p, AST_INPUT, at, name, type, init, attrs), flags);
}

ast_id ast_hold(struct parser *p, ast_id file, ast_id program)
{
	if (p->held) {
		diag_error(p->diag, E_PROGRAMS_SEVERAL, get_statement_node(p, program)->at,
		           "a file holds one program");
		diag_note(p->diag, get_statement_node(p, p->held)->at, "the first one is here");
		if (get_statement_node(p, program)->kind == AST_CONTAINER)
			log_lines_note_second(p, get_statement_node(p, program)->at);
		return file;
	}
	p->held = program;
	p->ast->surface =
	    get_statement_node(p, program)->kind == AST_CONTAINER ? SURFACE_NVFUSER : SURFACE_HIR;
	return ast_add(p, file, program);
}

void ast_finish(struct parser *p, ast_id file)
{
	get_statement_node(p, file)->at = 0;
	get_statement_node(p, file)->end = (uint32_t)(p->limit - p->text);
	p->ast->root = file;
}
