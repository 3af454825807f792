/* shape_keep: makes shapes of parsed statements. */
#include "parse/lex.h"
#include "parse/shape_internal.h"
#include <string.h>

enum {
	CHAIN = 8,       /* most shapes of one slot */
	MAX_TEXT = 2048, /* bytes */
};

struct draft {
	struct parser *p;
	struct shape_node node[MAX_NODES];
	struct hole hole[MAX_HOLES];
	unsigned nodes, holes;
	bool fits;
};

static void add_hole(struct draft *d, unsigned node, enum hole_kind kind, uint32_t at, uint32_t end)
{
	if (d->holes == MAX_HOLES) {
		d->fits = false;
		return;
	}
	unsigned k = d->holes++;
	for (; k && d->hole[k - 1].at > at; k--)
		d->hole[k] = d->hole[k - 1];
	d->hole[k] = (struct hole){at, end, (uint8_t)kind, (uint8_t)node};
}

/* Returns true if a node's name stands at the begin of its text and any other name could. In the nvFuser
 * surface some words are one token with the `(` after them. */
static bool is_plain_word(const struct draft *d, const struct ast_node *n)
{
	const struct parser *p = d->p;
	const char *name = names_text(p->ast->names, n->name);
	size_t length = strlen(name);
	const unsigned char *c = shape_text(p, n->at);
	return n->name >= WORD_COUNT && length <= n->end - n->at && !memcmp(c, name, length) &&
	       lex_skip_word(c) == c + length && (p->mode == MODE_HIR || n->kind == AST_NAME);
}

/* Adds the digits at c as a hole: the number of a node, or the number in a name T7. */
static void add_digits(struct draft *d, unsigned node, const unsigned char *c)
{
	const unsigned char *end = c;
	while (lex_is_digit(*end))
		end++;
	if (end == c || end - c > MAX_DIGITS)
		d->fits = false;
	else
		add_hole(d, node, HOLE_DIGITS, (uint32_t)(c - d->p->text), (uint32_t)(end - d->p->text));
}

static unsigned add_node(struct draft *d, ast_id id);

static void add_children(struct draft *d, unsigned node, ast_id id)
{
	unsigned before = 0;
	ast_each (d->p->ast, child, id) {
		unsigned k = add_node(d, child);
		if (!d->fits)
			return;
		*(before ? &d->node[before].next : &d->node[node].first) = (uint8_t)k;
		before = k;
	}
}

/* Adds a node and all nodes below it. Types, devices and axes of tensors share their children. */
static unsigned add_node(struct draft *d, ast_id id)
{
	const struct ast_node *n = ast_at(d->p->ast, id);
	unsigned k = d->nodes;
	if (k == MAX_NODES) {
		d->fits = false;
		return 0;
	}
	d->nodes++;
	struct ast_node *copy = &d->node[k].node;
	d->node[k] = (struct shape_node){.node = *n};
	copy->next = 0;
	switch (n->kind) {
	case AST_TYPE:
	case AST_DEVICES:
		if (!(n->flags & AST_AGAIN))
			copy->value.i = id;
		copy->flags |= AST_AGAIN;
		return k;
	case AST_ID:
		copy->flags |= AST_AGAIN;
		add_digits(d, k, ast_axis_number(shape_text(d->p, n->at)));
		return k;
	case AST_TENSOR:
		if (n->flags & AST_AGAIN) {
			add_hole(d, k, HOLE_TENSOR, n->at, n->end);
			return k;
		}
		add_digits(d, k, shape_text(d->p, n->at + 1));
		break;
	case AST_COMM:
	case AST_COMM_REF:
		add_digits(d, k, lex_skip_blanks(lex_skip_word(shape_text(d->p, n->at))));
		break;
	case AST_NAME:
	case AST_RESULT:
	case AST_CALL:
		if (is_plain_word(d, n))
			add_hole(d, k, HOLE_WORD, n->at, n->at + (uint32_t)strlen(ast_text(d->p->ast, id)));
		break;
	default:
		break;
	}
	if (n->first)
		copy->first = 0;
	add_children(d, k, id);
	return k;
}

/* Counts the holes that end at or before a place. A node that begins or ends inside a hole makes the shape
 * unusable. */
static uint8_t count_holes(struct draft *d, uint32_t at)
{
	unsigned k = 0;
	while (k < d->holes && d->hole[k].end <= at)
		k++;
	if (k < d->holes && d->hole[k].at < at)
		d->fits = false;
	return (uint8_t)k;
}

static bool can_repeat(const struct parser *p, ast_id id)
{
	const struct ast *a = p->ast;
	const struct ast_node *n = ast_at(a, id);
	if (n->kind != AST_DEF && n->kind != AST_WRITE && n->kind != AST_DO && n->kind != AST_NAME_DECL)
		return false;
	if (n->end - n->at > MAX_TEXT ||
	    (p->mode == MODE_HIR && memchr(shape_text(p, n->at), '\n', n->end - n->at)))
		return false;
	bool named = a->named.n && ast_at(a, a->named.at[a->named.n - 1])->at > n->at;
	return !named;
}

static bool make_draft(struct draft *d, ast_id id)
{
	d->fits = true;
	add_node(d, id);
	for (unsigned k = 1; k < d->holes && d->fits; k++)
		d->fits = d->hole[k - 1].end <= d->hole[k].at;
	for (unsigned k = 0; k < d->nodes && d->fits; k++) {
		d->node[k].at_holes = count_holes(d, d->node[k].node.at);
		d->node[k].end_holes = count_holes(d, d->node[k].node.end);
	}
	return d->fits && d->holes;
}

static bool has_words_only(const struct draft *d)
{
	for (unsigned k = 0; k < d->holes; k++)
		if (d->hole[k].kind != HOLE_WORD)
			return false;
	return true;
}

/* Returns true if a statement of the nvFuser surface defines one tensor, prints no other tensor for the first
 * time, and has no node that sema keeps: no number of a Communication, and no key such as the size= of an
 * ALLOCATE. */
static bool defines_a_tensor(const struct draft *d)
{
	const struct shape_node *n = d->node;
	if (n[0].node.kind != AST_DEF || n[1].node.kind != AST_LIST ||
	    n[DEFINED_NODE].node.kind != AST_TENSOR || n[DEFINED_NODE].next ||
	    d->hole[0].node != DEFINED_NODE || d->hole[0].kind != HOLE_DIGITS ||
	    memchr(shape_text(d->p, n[DEFINED_NODE].node.at), '\n',
	           n[DEFINED_NODE].node.end - n[DEFINED_NODE].node.at))
		return false;
	for (unsigned k = 0; k < d->nodes; k++)
		if (n[k].node.kind == AST_KEY || n[k].node.kind == AST_COMM || n[k].node.kind == AST_COMM_REF)
			return false;
	for (unsigned k = 1; k < d->holes; k++)
		if (d->hole[k].kind == HOLE_DIGITS && n[d->hole[k].node].node.kind == AST_TENSOR)
			return false;
	return true;
}

/* Returns true if sema reads the statement by itself, and its words tell all differences. Not in units: a
 * unit has its own tensors, but their text is looked up among those of the container. */
static bool can_be_late(const struct draft *d)
{
	switch (d->p->mode) {
	case MODE_HIR:
		return d->node[0].node.kind != AST_NAME_DECL && has_words_only(d);
	case MODE_BODY:
		return !d->p->in_kernel && defines_a_tensor(d);
	case MODE_SECTIONS:
		return d->node[0].node.kind == AST_NAME_DECL && has_words_only(d);
	}
	return false;
}

static void reserve_nodes(struct ast *a)
{
	struct shapes *s = a->shapes;
	if (s->expanded)
		return;
	s->expanded = a->nodes.n;
	s->peeked = s->expanded + MAX_NODES;
	for (unsigned k = 0; k < 2 * MAX_NODES; k++)
		vec_push(&a->nodes, (struct ast_node){.kind = AST_NONE});
}

ast_id shape_keep(struct parser *p, ast_id id)
{
	struct shapes *s = p->ast->shapes;
	if (!s || id == s->found || !can_repeat(p, id))
		return id;
	uint32_t *slot = shape_slot(s, shape_text(p, ast_at(p->ast, id)->at)), *link = slot;
	unsigned length = 0;
	for (; *link; link = &s->shape.at[*link].same_slot)
		length++;
	struct draft d = {.p = p};
	if (length == CHAIN || !make_draft(&d, id))
		return id;
	struct shape x = {.at = ast_at(p->ast, id)->at,
	                  .end = ast_at(p->ast, id)->end,
	                  .nodes = (uint8_t)d.nodes,
	                  .holes = (uint8_t)d.holes,
	                  .late = can_be_late(&d),
	                  .node = arena_new_array(s->arena, struct shape_node, d.nodes),
	                  .hole = arena_new_array(s->arena, struct hole, d.holes)};
	memcpy(x.node, d.node, sizeof *x.node * d.nodes);
	memcpy(x.hole, d.hole, sizeof *x.hole * d.holes);
	if (x.late)
		reserve_nodes(p->ast);
	if (x.late && p->mode == MODE_BODY)
		x.defined = d.node[DEFINED_NODE].end_holes;
	x.same_slot = *slot;
	*slot = s->shape.n;
	vec_push(&s->shape, x);
	return id;
}
