/* shape: see shape.h.
 *
 *     text    v7: f32[t@x, 16] = add(v5, v6)
 *     holes   --                 --- --  --
 *
 * A hole accepts any ordinary name, the digits of a printed number (T7, iS28, Communication 3), or a printed
 * tensor that was read before. All other text must be equal. Then the tokens have the same kinds, and the
 * grammar would build the same nodes. */
#include "parse/shape.h"
#include "parse/ast_build.h"
#include "parse/lex.h"
#include <string.h>

enum {
	SLOTS = 512,     /* a power of two */
	CHAIN = 8,       /* most shapes of one slot */
	SLOT_TEXT = 256, /* bytes that choose the slot, since a long line may have many statements */
	MAX_NODES = 48,
	MAX_HOLES = SHAPE_MAX_HOLES,
	MAX_TEXT = 2048, /* bytes */
	MAX_DIGITS = 9,
};

enum hole_kind { HOLE_WORD, HOLE_DIGITS, HOLE_TENSOR };

struct hole {
	uint32_t at, end; /* in the source, in the statement that the shape was made from */
	uint8_t kind;     /* enum hole_kind */
	uint8_t node;
};

/* A node as it was parsed. */
struct shape_node {
	struct ast_node node;
	uint8_t at_holes, end_holes; /* number of holes before its first character, and before its end: in
	                                a copy these offsets move by the difference in length of those
	                                holes */
	uint8_t first, next;         /* index in the shape; 0: first is node.first (shared), next is none */
};

struct shape {
	uint32_t at, end;   /* its text in the source */
	uint32_t same_slot; /* another shape of the same slot; 0: none */
	uint32_t follower;  /* the shape of the statement that last followed one of this shape; 0: none */
	uint8_t nodes, holes;
	uint8_t defined; /* holes with the number of the tensor that the statement defines and the numbers
	                    of its axes; 0 unless the shape is late and of the nvFuser surface */
	bool late;       /* the statement is one AST_REPEAT until shape_expand */
	struct shape_node *node; /* node[0] is the statement */
	struct hole *hole;       /* in order of place */
};

struct shapes {
	struct arena *arena;
	VEC(struct shape) shape; /* [0] is unused */
	uint32_t slot[SLOTS];
	uint32_t last; /* the shape found last; 0: none */
	ast_id found;  /* the statement found last, which need not be kept */

	VEC(uint32_t) word; /* words of the holes of all AST_REPEATs, as in struct match */
	ast_id expanded;    /* first of MAX_NODES nodes for shape_expand; 0: not needed so far */
	ast_id peeked;      /* the same for shape_peek */
};

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

/* Returns the slot of a statement, by its text up to the `=` without the first word and all digits. */
static uint32_t *find_slot(struct shapes *s, const unsigned char *c)
{
	uint64_t hash = 0;
	c = lex_skip_word(c);
	for (const unsigned char *limit = c + SLOT_TEXT; c < limit && *c != '=' && *c != '\n' && *c; c++)
		if (!lex_is_digit(*c))
			hash = (hash + *c) * 0x9e3779b97f4a7c15u;
	return &s->slot[(hash >> 32) % SLOTS];
}

/* ---- keeping */

struct draft {
	struct parser *p;
	struct shape_node node[MAX_NODES];
	struct hole hole[MAX_HOLES];
	unsigned nodes, holes;
	bool fits;
};

static const unsigned char *text_at(const struct parser *p, uint32_t at)
{
	return p->text + at;
}

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
	const unsigned char *c = text_at(p, n->at);
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
		add_digits(d, k, ast_axis_number(text_at(d->p, n->at)));
		return k;
	case AST_TENSOR:
		if (n->flags & AST_AGAIN) {
			add_hole(d, k, HOLE_TENSOR, n->at, n->end);
			return k;
		}
		add_digits(d, k, text_at(d->p, n->at + 1));
		break;
	case AST_COMM:
	case AST_COMM_REF:
		add_digits(d, k, lex_skip_blanks(lex_skip_word(text_at(d->p, n->at))));
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
	    (p->mode == MODE_HIR && memchr(text_at(p, n->at), '\n', n->end - n->at)))
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

enum { DEFINED_NODE = 2 }; /* index of the tensor that a statement defines: DEF, LIST, TENSOR */

/* Returns true if a statement of the nvFuser surface defines one tensor, prints no other tensor for the first
 * time, and has no node that sema keeps: no number of a Communication, and no key such as the size= of an
 * ALLOCATE. */
static bool defines_a_tensor(const struct draft *d)
{
	const struct shape_node *n = d->node;
	if (n[0].node.kind != AST_DEF || n[1].node.kind != AST_LIST ||
	    n[DEFINED_NODE].node.kind != AST_TENSOR || n[DEFINED_NODE].next ||
	    d->hole[0].node != DEFINED_NODE || d->hole[0].kind != HOLE_DIGITS ||
	    memchr(text_at(d->p, n[DEFINED_NODE].node.at), '\n',
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
	uint32_t *slot = find_slot(s, text_at(p, ast_at(p->ast, id)->at)), *link = slot;
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
		if (n > (size_t)(p->limit - c) || memcmp(c, text_at(p, at), n))
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
	for (uint32_t k = *find_slot(s, start); k && !found; k = s->shape.at[k].same_slot)
		found = k == guess ? 0 : try_shape(p, k, start, end);
	return found;
}
