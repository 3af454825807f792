/* shape: see shape.h. */
#include "parse/lex.h"
#include "parse/shape_internal.h"
#include <string.h>

enum { SLOT_TEXT = 256 }; /* bytes that choose the slot, since a long line may have many statements */

struct shapes *shapes_new(void)
{
	struct shapes *s = mem_zalloc(sizeof *s);
	s->arena = arena_new();
	vec_push(&s->shape, (struct shape){0});
	return s;
}

void shapes_free(struct shapes *s)
{
	if (!s)
		return;
	arena_free(s->arena);
	vec_free(&s->shape);
	vec_free(&s->word);
	free(s);
}

uint32_t *shape_slot(struct shapes *s, const unsigned char *c)
{
	uint64_t hash = 0;
	c = lex_skip_word(c);
	for (const unsigned char *limit = c + SLOT_TEXT; c < limit && *c != '=' && *c != '\n' && *c; c++)
		if (!lex_is_digit(*c))
			hash = (hash + *c) * 0x9e3779b97f4a7c15u;
	return &s->slot[(hash >> 32) % SLOTS];
}

/* ---- finding */

struct match {
	const unsigned char *at[MAX_HOLES], *end[MAX_HOLES]; /* the text of each hole */
	uint32_t word[MAX_HOLES]; /* for a HOLE_TENSOR, an index into ast.known; otherwise the name, or the
	                             number */
	bool plain;               /* no number begins with a 0, so the number gives back its text */
};

/* Returns true if the statement ends at c and the next line does not continue it. */
static bool ends_statement(const struct parser *p, const unsigned char *c)
{
	c = lex_skip_blanks(c);
	if (p->mode != MODE_HIR && *c == ';')
		c = lex_skip_blanks(c + 1);
	if (*c != '\n')
		return !*c;
	return p->mode == MODE_HIR || !lines_begin_with_operator(lex_skip_blanks(c + 1));
}

/* Fills a hole with the text at c. Returns the end of that text; NULL: it does not fit. */
static const unsigned char *fill_hole(struct parser *p, const struct shape *x, unsigned k,
                                      const unsigned char *c, struct match *m)
{
	const struct hole *h = &x->hole[k];
	const unsigned char *end = NULL;
	switch ((enum hole_kind)h->kind) {
	case HOLE_WORD:
		end = lex_skip_word(c);
		if (end == c || lex_is_digit(*c))
			return NULL;
		break;
	case HOLE_DIGITS:
		for (end = c; lex_is_digit(*end); end++)
			;
		if (end == c || end - c > MAX_DIGITS)
			return NULL;
		if (x->node[h->node].node.kind == AST_TENSOR && again_find_name(p, c - 1, end))
			return NULL;
		break;
	case HOLE_TENSOR:
		if (!(m->word[k] = again_find_tensor(p, c)))
			return NULL;
		end = c + again_length(p, m->word[k]);
		break;
	}
	m->at[k] = c;
	return m->end[k] = end;
}

/* Fills all holes of a shape with the text at c. Returns the end of the statement; NULL: it does not fit. */
static const unsigned char *match_shape(struct parser *p, const struct shape *x, const unsigned char *c,
                                        struct match *m)
{
	uint32_t at = x->at;
	for (unsigned k = 0; k <= x->holes; k++) {
		uint32_t n = (k < x->holes ? x->hole[k].at : x->end) - at;
		if (n > (size_t)(p->limit - c) || memcmp(c, shape_text(p, at), n))
			return NULL;
		c += n;
		if (k == x->holes)
			break;
		if (!(c = fill_hole(p, x, k, c, m)))
			return NULL;
		at = x->hole[k].end;
	}
	return ends_statement(p, c) ? c : NULL;
}

/* Returns true if the text of a hole is the name of its node, not its number. */
static bool gives_name(const struct shape *x, unsigned k)
{
	return x->hole[k].kind == HOLE_WORD ||
	       (x->hole[k].kind == HOLE_DIGITS && x->node[x->hole[k].node].node.kind == AST_TENSOR);
}

static uint32_t read_digits(const unsigned char *c, const unsigned char *end) /* at most MAX_DIGITS digits */
{
	uint32_t value = 0;
	for (; c < end; c++)
		value = value * 10 + (*c - '0');
	return value;
}

/* Interns names and reads numbers of the holes. Returns false if a word is not an ordinary name. */
static bool find_words(struct parser *p, const struct shape *x, struct match *m)
{
	m->plain = true;
	for (unsigned k = 0; k < x->holes; k++) {
		if (x->hole[k].kind == HOLE_TENSOR)
			continue;
		if (!gives_name(x, k)) {
			m->word[k] = read_digits(m->at[k], m->end[k]);
			m->plain &= *m->at[k] != '0' || m->end[k] - m->at[k] == 1;
			continue;
		}
		const unsigned char *c = m->at[k] - (x->hole[k].kind == HOLE_DIGITS); /* from the T of T7 */
		size_t n = (size_t)(m->end[k] - c);
		if (n > PARSE_MAX_NAME)
			return false;
		m->word[k] = names_intern(p->ast->names, (const char *)c, n);
		if (m->word[k] < WORD_COUNT)
			return false;
	}
	return true;
}

/* Returns the TENSOR that a statement defines. */
static ast_id defined_tensor(const struct ast *a, ast_id statement)
{
	return ast_at(a, ast_at(a, statement)->first)->first;
}

/* Sets a node to a printed tensor that is repeated. It gets no children if they are those of an
 * AST_REPEAT. */
static void fill_tensor(struct ast *a, struct ast_node *n, uint32_t known)
{
	ast_id of = a->known.at[known].of;
	const struct ast_node *x = ast_at(a, of);
	n->name = a->known.at[known].name;
	n->value.i = of;
	n->first = 0;
	if (x->kind == AST_REPEAT) {
		n->height = a->shapes->shape.at[x->value.i >> 32].node[DEFINED_NODE].node.height;
		return;
	}
	if (x->kind == AST_DEF)
		x = ast_at(a, defined_tensor(a, of));
	n->first = x->first;
	n->height = x->height;
}

/* Sets the node of a hole from the hole's word. */
static void fill_node(struct ast *a, const struct shape *x, unsigned k, uint32_t word, ast_id id)
{
	struct ast_node *n = &a->nodes.at[id];
	if (x->hole[k].kind == HOLE_TENSOR)
		fill_tensor(a, n, word);
	else if (gives_name(x, k))
		n->name = word;
	else
		n->value.i = word;
}

/* Copies the nodes of a shape to base and after. shift: by k, how far text after k holes moves. */
static void copy_nodes(struct ast *a, const struct shape *x, ast_id base, const uint32_t *shift)
{
	for (unsigned k = 0; k < x->nodes; k++) {
		const struct shape_node *from = &x->node[k];
		struct ast_node *to = &a->nodes.at[base + k];
		*to = from->node;
		to->at += shift[from->at_holes];
		to->end += shift[from->end_holes];
		if (from->first)
			to->first = base + from->first;
		if (from->next)
			to->next = base + from->next;
	}
}

static ast_id add_copy(struct parser *p, const struct shape *x, const unsigned char *start,
                       const struct match *m)
{
	struct ast *a = p->ast;
	uint32_t shift[MAX_HOLES + 1];
	shift[0] = (uint32_t)(start - p->text) - x->at;
	for (unsigned k = 0; k < x->holes; k++)
		shift[k + 1] = (uint32_t)(m->end[k] - p->text) - x->hole[k].end;
	ast_id base = a->nodes.n;
	vec_reserve(&a->nodes, base + x->nodes);
	a->nodes.n += x->nodes;
	copy_nodes(a, x, base, shift);
	for (unsigned k = 0; k < x->holes; k++) {
		fill_node(a, x, k, m->word[k], base + x->hole[k].node);
		if (x->hole[k].kind == HOLE_DIGITS && gives_name(x, k))
			again_keep_tensor(p, base + x->hole[k].node);
	}
	return base;
}

/* ---- expanding */

/* Returns value.i of an AST_REPEAT: the shape, and the place of its words. */
static ast_id add_repeat(struct parser *p, uint32_t shape, uint32_t at, uint32_t end, const struct match *m)
{
	struct ast *a = p->ast;
	struct shapes *s = a->shapes;
	const struct shape *x = &s->shape.at[shape];
	vec_push(&a->nodes, (struct ast_node){.kind = AST_REPEAT,
	                                      .height = x->node[0].node.height,
	                                      .at = at,
	                                      .end = end,
	                                      .value.i = (int64_t)((uint64_t)shape << 32 | s->word.n)});
	for (unsigned k = 0; k < x->holes; k++)
		vec_push(&s->word, m->word[k]);
	if (x->defined) {
		uint32_t rest = x->node[DEFINED_NODE].node.end - x->hole[x->defined - 1].end;
		again_keep_repeat(p, a->nodes.n - 1, m->word[0],
		                  (uint32_t)(m->end[x->defined - 1] - p->text) + rest - at);
	}
	return a->nodes.n - 1;
}

static const struct shape *shape_of(const struct ast *a, ast_id repeat)
{
	return &a->shapes->shape.at[ast_at(a, repeat)->value.i >> 32];
}

static const uint32_t *words_of(const struct ast *a, ast_id repeat)
{
	return &a->shapes->word.at[(uint32_t)ast_at(a, repeat)->value.i];
}

/* Returns the length of the text in a hole. */
static uint32_t hole_length(const struct ast *a, const struct shape *x, unsigned k, uint32_t word)
{
	switch ((enum hole_kind)x->hole[k].kind) {
	case HOLE_WORD:
		return (uint32_t)strlen(names_text(a->names, word));
	case HOLE_DIGITS:
		return gives_name(x, k) ? (uint32_t)strlen(names_text(a->names, word)) - 1 /* without the T */
		                        : str_count_digits(word);
	case HOLE_TENSOR:
		break;
	}
	return a->known.at[word].length;
}

/* Copies the shape of an AST_REPEAT to base and after. */
static ast_id expand_to(struct ast *a, ast_id base, ast_id statement)
{
	const struct ast_node *n = ast_at(a, statement);
	if (n->kind != AST_REPEAT)
		return statement;
	const struct shape *x = shape_of(a, statement);
	const uint32_t *word = words_of(a, statement);
	uint32_t shift[MAX_HOLES + 1];
	shift[0] = n->at - x->at;
	for (unsigned k = 0; k < x->holes; k++)
		shift[k + 1] = shift[k] + hole_length(a, x, k, word[k]) - (x->hole[k].end - x->hole[k].at);
	copy_nodes(a, x, base, shift);
	for (unsigned k = 0; k < x->holes; k++)
		fill_node(a, x, k, word[k], base + x->hole[k].node);
	return base;
}

ast_id shape_expand(struct ast *a, ast_id statement)
{
	return a->shapes ? expand_to(a, a->shapes->expanded, statement) : statement;
}

ast_id shape_peek(struct ast *a, ast_id statement)
{
	return a->shapes ? expand_to(a, a->shapes->peeked, statement) : statement;
}

ast_id shape_tensor(struct ast *a, ast_id of)
{
	if (ast_at(a, of)->kind == AST_REPEAT) {
		ast_id base = a->nodes.n, next = ast_at(a, of)->next;
		uint32_t n = shape_of(a, of)->nodes;
		vec_reserve(&a->nodes, base + n);
		a->nodes.n += n;
		expand_to(a, base, of);
		a->nodes.at[of] = *ast_at(a, base);
		a->nodes.at[of].next = next;
	}
	return ast_at(a, of)->kind == AST_DEF ? defined_tensor(a, of) : of;
}

/* ---- tensors that a statement of the nvFuser surface prints */

unsigned shape_tensors(const struct ast *a, ast_id repeat, struct shape_tensor *out)
{
	const struct shape *x = shape_of(a, repeat);
	const uint32_t *word = words_of(a, repeat);
	unsigned n = 0;
	for (unsigned k = 0; k < x->holes; k++)
		if (x->hole[k].kind == HOLE_TENSOR)
			out[n++] = (struct shape_tensor){a->known.at[word[k]].name, a->known.at[word[k]].of};
		else if (x->hole[k].kind == HOLE_DIGITS && gives_name(x, k))
			out[n++] = (struct shape_tensor){word[k], repeat};
	return n;
}

bool shape_same_axes(const struct ast *a, int64_t x, int64_t y, int64_t *distance)
{
	const uint32_t *m = &a->shapes->word.at[(uint32_t)x], *n = &a->shapes->word.at[(uint32_t)y];
	if (x >> 32 != y >> 32)
		return false;
	const struct shape *shape = &a->shapes->shape.at[x >> 32];
	*distance = shape->defined > 1 ? (int64_t)n[1] - m[1] : 0;
	for (unsigned k = 2; k < shape->defined; k++)
		if ((int64_t)n[k] - m[k] != *distance)
			return false;
	return shape->defined > 0;
}

/* ---- statements */

/* Adds the statement at `start` if it fits shape k. Returns 0 if it does not. */
static ast_id try_shape(struct parser *p, uint32_t k, const unsigned char *start, const unsigned char **end)
{
	struct shapes *s = p->ast->shapes;
	const struct shape *x = &s->shape.at[k];
	struct match m;
	const unsigned char *c = match_shape(p, x, start, &m);
	if (!c || !find_words(p, x, &m))
		return 0;
	*end = c;
	s->shape.at[s->last].follower = k;
	s->last = k;
	s->found = x->late && m.plain && !p->in_kernel
	               ? add_repeat(p, k, (uint32_t)(start - p->text), (uint32_t)(c - p->text), &m)
	               : add_copy(p, x, start, &m);
	return s->found;
}

ast_id shape_find(struct parser *p, const unsigned char *start, const unsigned char **end)
{
	struct shapes *s = p->ast->shapes;
	uint32_t guess = s->shape.at[s->last].follower;
	ast_id found = 0;
	if (p->ast->nodes.n >= PARSE_MAX_NODES - MAX_NODES)
		return 0;
	if (guess)
		found = try_shape(p, guess, start, end);
	if (found)
		return found;
	for (uint32_t k = *shape_slot(s, start); k && !found; k = s->shape.at[k].same_slot)
		found = k == guess ? 0 : try_shape(p, k, start, end);
	return found;
}
