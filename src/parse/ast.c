/* ast: builds and reads the nodes of a source.
 *
 * A list keeps its last child while it grows, so that adding a child takes constant time. A node's height is
 * computed when it is made. A node that would be too high is reported and left out, so code that walks the
 * AST may recurse. */
#include "parse/ast.h"
#include "base/source.h"
#include "hir_parser.h"
#include "parse/ast_build.h"
#include "parse/lex.h"
#include "parse/parse_report.h"
#include "parse/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODE_SPARE = 1,      /* replaces nodes beyond the limit; never a child */
	NODE_PER_BYTES = 12, /* guess: one node for this many bytes of text */
};

static struct ast_node *get_node(struct parser *p, ast_id id)
{
	return &p->ast->nodes.at[id];
}

static ast_id new_node(struct parser *p, enum ast_kind kind, struct parse_span at, uint32_t name)
{
	if (p->ast->nodes.n >= PARSE_MAX_NODES) {
		report_too_large(p, at);
		p->cursor = p->limit;
		return NODE_SPARE;
	}
	vec_push(&p->ast->nodes, (struct ast_node){
	                             .kind = (uint8_t)kind,
	                             .flags = name & PARSE_QUOTED ? AST_QUOTED : 0,
	                             .name = name & ~PARSE_QUOTED,
	                             .at = at.at,
	                             .end = at.end,
	                         });
	return p->ast->nodes.n - 1;
}

/* Returns true if a parent of the child is not too high; otherwise reports it. */
static bool has_height_left(struct parser *p, ast_id child)
{
	if (get_node(p, child)->height < PARSE_MAX_HEIGHT)
		return true;
	report_too_deep(p, (struct parse_span){get_node(p, child)->at, get_node(p, child)->end});
	return false;
}

static void raise_height(struct ast_node *parent, const struct ast_node *child)
{
	if (parent->height <= child->height)
		parent->height = (uint16_t)(child->height + 1);
}

/* Returns the number of children that a kind always has; absent ones are NONE. */
static unsigned required(enum ast_kind kind)
{
	switch (kind) {
	case AST_PARAM:
		return 1;
	case AST_MESH:
	case AST_GROUP:
	case AST_INPUT:
		return 2;
	case AST_TENSOR:
		return 4;
	default:
		return 0;
	}
}

ast_id ast_make_n(struct parser *p, enum ast_kind kind, struct parse_span at, uint32_t name, unsigned n,
                  const ast_id *child)
{
	ast_id id = new_node(p, kind, at, name), last = 0;
	if (id == NODE_SPARE)
		return id;
	while (n > required(kind) && !child[n - 1])
		n--;
	for (unsigned i = 0; i < n; i++) {
		ast_id c = child[i] && has_height_left(p, child[i]) ? child[i] : new_node(p, AST_NONE, at, 0);
		if (c == NODE_SPARE)
			break;
		*(last ? &get_node(p, last)->next : &get_node(p, id)->first) = c;
		raise_height(get_node(p, id), get_node(p, c));
		last = c;
	}
	get_node(p, id)->value.last = last;
	return id;
}

ast_id ast_leaf(struct parser *p, enum ast_kind kind, struct parse_span at, uint32_t name)
{
	return new_node(p, kind, at, name);
}

ast_id ast_int(struct parser *p, enum ast_kind kind, struct parse_span at, int64_t value)
{
	ast_id id = new_node(p, kind, at, 0);
	get_node(p, id)->value.i = value;
	return id;
}

static uint32_t name_of_text(struct parser *p, struct parse_span at)
{
	return names_intern(p->ast->names, (const char *)p->text + at.at, at.end - at.at);
}

ast_id ast_float(struct parser *p, struct parse_span at)
{
	ast_id id = new_node(p, AST_FLOAT, at, name_of_text(p, at));
	double value = strtod((const char *)p->text + at.at, NULL);
	if (isinf(value))
		diag_error_span(p->diag, E_NUMBER_TOO_LARGE, at.at, at.end - at.at,
		                "this number is too large");
	get_node(p, id)->value.f = value;
	return id;
}

ast_id ast_handle(struct parser *p, struct parse_span at)
{
	return new_node(p, AST_HANDLE, at, name_of_text(p, at));
}

ast_id ast_list(struct parser *p, enum ast_kind kind, struct parse_span at, ast_id child)
{
	ast_id id = new_node(p, kind, at, 0);
	return child ? ast_add(p, id, child) : id;
}

ast_id ast_add(struct parser *p, ast_id list, ast_id child)
{
	struct ast_node *parent = get_node(p, list), *c = get_node(p, child);
	if (list == NODE_SPARE || child == NODE_SPARE || !has_height_left(p, child))
		return list;
	if (parent->first)
		get_node(p, parent->value.last)->next = child;
	else
		parent->first = child;
	if (!parent->first || parent->at > c->at || parent->at == parent->end)
		parent->at = c->at;
	parent->end = c->end;
	parent->value.last = child;
	raise_height(parent, c);
	return list;
}

ast_id ast_become(struct parser *p, ast_id list, enum ast_kind kind, struct parse_span at, uint32_t name,
                  ast_id extra)
{
	if (list == NODE_SPARE)
		return list;
	if (extra)
		ast_add(p, list, extra);
	struct ast_node *n = get_node(p, list);
	n->kind = (uint8_t)kind;
	n->flags = name & PARSE_QUOTED ? AST_QUOTED : 0;
	n->name = name & ~PARSE_QUOTED;
	n->at = at.at;
	n->end = at.end;
	return list;
}

ast_id ast_become_after(struct parser *p, ast_id first, ast_id list, enum ast_kind kind, struct parse_span at,
                        uint32_t name)
{
	struct ast_node *n = get_node(p, list);
	if (list != NODE_SPARE && first != NODE_SPARE && has_height_left(p, first)) {
		if (!n->first)
			n->value.last = first;
		get_node(p, first)->next = n->first;
		n->first = first;
		raise_height(n, get_node(p, first));
	}
	return ast_become(p, list, kind, at, name, 0);
}

ast_id ast_flag(struct parser *p, ast_id id, unsigned flags)
{
	get_node(p, id)->flags |= (uint8_t)flags;
	return id;
}

ast_id ast_binary(struct parser *p, const char *operation, ast_id left, ast_id right)
{
	struct parse_span at = {get_node(p, left)->at, get_node(p, right)->end};
	return ast_make(p, AST_BINARY, at, names_intern_z(p->ast->names, operation), left, right);
}

ast_id ast_unary(struct parser *p, const char *operation, struct parse_span at, ast_id operand)
{
	return ast_make(p, AST_UNARY, at, names_intern_z(p->ast->names, operation), operand);
}

ast_id ast_parens(struct parser *p, struct parse_span at, ast_id list)
{
	bool one = get_node(p, list)->first == get_node(p, list)->value.last;
	return ast_become(p, list, one ? AST_PAREN : AST_TUPLE, at, 0, 0);
}

ast_id ast_ids(struct parser *p, struct parse_span at, ast_id name, ast_id tensor, ast_id integers)
{
	ast_become_after(p, tensor, integers, AST_IDS_DECL, at, 0);
	return ast_become_after(p, name, integers, AST_IDS_DECL, at, 0);
}

/* Reading */

ast_id ast_child(const struct ast *a, ast_id id, unsigned index)
{
	ast_id child = ast_at(a, id)->first;
	while (child && index--)
		child = ast_at(a, child)->next;
	return child;
}

/* text: the part of the source to parse. names: NULL: new ones. */
static struct ast *parse(struct diag *d, struct source *s, struct parse_span text, struct names *names,
                         bool shared)
{
	struct ast *a = mem_zalloc(sizeof *a);
	a->source = s;
	a->names = names ? names : names_new();
	a->names_are_lent = names != NULL;
	if (!names)
		lex_words_intern(a->names);
	vec_reserve(&a->nodes, (text.end - text.at) / NODE_PER_BYTES + 16);
	vec_push(&a->nodes, (struct ast_node){.kind = AST_NONE});
	vec_push(&a->nodes, (struct ast_node){.kind = AST_NONE}); /* NODE_SPARE */

	if (shared)
		a->shapes = shapes_new();
	struct source *former = diag_set_source(d, s);
	struct parser p = {.ast = a, .diag = d, .at_lead = true, .line_start = text.at};
	p.last = &p.token[0];
	p.text = (const unsigned char *)s->text;
	p.cursor = p.text + text.at;
	p.limit = p.text + text.end;
	if (text.end - text.at >= 3 && memcmp(p.cursor, "\xef\xbb\xbf", 3) == 0)
		p.cursor += 3; /* a byte order mark */
	if (hir_parse(&p) != 0 && diag_error_count(d) == 0)
		diag_error(d, E_UNEXPECTED, DIAG_NOWHERE, "the source could not be read");
	if (!a->root)
		ast_finish(&p, ast_list(&p, AST_FILE, (struct parse_span){text.at, text.at}, 0));
	diag_set_source(d, former);
	vec_free(&p.again.tensor);
	return a;
}

struct ast *ast_parse(struct diag *d, struct source *s)
{
	return parse(d, s, (struct parse_span){0, s->size}, NULL, false);
}

/* Errors are reported by a second parse, which reads every token without reuse. */
static struct ast *parse_shared(struct diag *d, struct source *s, struct parse_span text, struct names *names)
{
	struct diag *silent = diag_new(NULL, DIAG_TEXT, 0);
	struct ast *a = parse(silent, s, text, names, true);
	bool reported = diag_error_count(silent) + diag_warning_count(silent) > 0;
	diag_free(silent);
	if (!reported)
		return a;
	ast_free(a);
	return parse(d, s, text, names, false);
}

struct ast *ast_parse_shared(struct diag *d, struct source *s)
{
	return parse_shared(d, s, (struct parse_span){0, s->size}, NULL);
}

struct ast *ast_parse_file(struct diag *d, struct source *s, uint32_t file, struct names *names)
{
	return parse_shared(d, s, (struct parse_span){s->file[file].at, s->file[file].end}, names);
}

void ast_free(struct ast *a)
{
	if (!a)
		return;
	vec_free(&a->nodes);
	vec_free(&a->comments);
	vec_free(&a->exports);
	vec_free(&a->named);
	vec_free(&a->known);
	shapes_free(a->shapes);
	if (!a->names_are_lent)
		names_free(a->names);
	free(a);
}
