/* lines: makes the grammar's tokens from the lexer's.
 *
 *     for i in 0..8 {        →  for i in 0 .. 8 BLOCK_OPEN
 *       Y <- f(X,            →  Y <- f ( X ,
 *              Z) {a=1}      →  Z ) { a = 1 } NEWLINE
 *     }                      →  BLOCK_CLOSE NEWLINE
 *
 * A line end in brackets is a blank; elsewhere it ends the statement. The first word of a statement tells
 * braces around statements from braces around attributes or devices. In the body of %HostIrContainer
 * indentation makes blocks, and a line that begins with `=` or a binary operator continues the one before it, as does
 * one below a comma behind a result.
 *
 * Where a { is missing, one is put there, and the block ends where its indentation does.
 *
 * After an error the rest of the statement is skipped, with the blocks it opens, so that the grammar
 * continues at the begin of a statement. A bracket that is not closed ends at the first line that begins like
 * a statement. */
#include "hir_parser.h"
#include "parse/ast_build.h"
#include "parse/lex.h"
#include "parse/shape.h"
#include <string.h>

static char get_innermost_bracket(const struct parser *p)
{
	return p->brackets ? p->bracket[p->brackets - 1].kind : 'B';
}

static bool in_bracket(const struct parser *p)
{
	return get_innermost_bracket(p) != 'B';
}

/* Returns the number of brackets that remain open when the innermost pair of a kind closes; -1: this
 * statement has none open. */
static int find_open(const struct parser *p, char kind, char other)
{
	for (int i = (int)p->brackets - 1; i >= 0 && p->bracket[i].kind != 'B'; i--)
		if (p->bracket[i].kind == kind || p->bracket[i].kind == other)
			return i;
	return -1;
}

static void drop_brackets(struct parser *p)
{
	while (p->brackets && in_bracket(p))
		p->brackets--;
}

static void open_bracket(struct parser *p, struct parse_token *t, char kind)
{
	if (p->brackets < PARSE_MAX_NESTING) {
		bool schedule = kind == 'B' && p->lead.token == TOK_SCHEDULE;
		p->bracket[p->brackets++] =
		    (struct parse_bracket){.kind = kind, .schedule = schedule, .at = t->span.at};
		p->blocks += kind == 'B';
		return;
	}
	p->lost++;
	if (!p->panic)
		diag_error(p->diag, E_TEXT_TOO_DEEP, t->span.at, "brackets nest deeper than %d",
		           PARSE_MAX_NESTING);
	t->token = TOK_HIR_error;
}

/* Returns true if the statement begins with a word that a block follows. */
static bool has_block_lead(const struct parser *p)
{
	int lead = p->lead.token;
	return lead == TOK_PROGRAM || lead == TOK_FOR || lead == TOK_IF || lead == TOK_ELSE ||
	       lead == TOK_SCHEDULE;
}

/* Returns true if a brace here opens a block of statements. */
static bool opens_block(const struct parser *p)
{
	if (p->mode == MODE_BODY || in_bracket(p))
		return false;
	if (has_block_lead(p))
		return true;
	switch (p->lead.token) {
	case TOK_NAME: /* may be one of these words, misspelt */
	case TOK_LBRACE:
		return lex_ends_line(p->cursor);
	}
	return false;
}

static void close_brace(struct parser *p, struct parse_token *t, bool first_on_line)
{
	int open = find_open(p, '{', 'I');
	if (p->lost) {
		p->lost--;
	} else if (open >= 0) {
		p->brackets = (unsigned)open;
	} else if (p->blocks) {
		drop_brackets(p);
		p->brackets--;
		p->blocks--;
		t->token = TOK_BLOCK_CLOSE;
	} else if (p->in_kernel && first_on_line) {
		drop_brackets(p);
		p->in_kernel = false;
		t->token = p->is_fusion ? TOK_CONTAINER_CLOSE : TOK_KERNEL_CLOSE;
		/* a TransformPrinter may stand before a fusion */
		p->mode = p->is_fusion ? MODE_SECTIONS : MODE_BODY;
	} else if (p->mode == MODE_BODY && first_on_line) {
		drop_brackets(p);
		p->mode = MODE_SECTIONS;
		t->token = TOK_CONTAINER_CLOSE;
	}
}

static void close_other(struct parser *p, char kind, char other)
{
	int open = find_open(p, kind, other);
	if (p->lost)
		p->lost--;
	else if (open >= 0)
		p->brackets = (unsigned)open;
}

static void match_brackets(struct parser *p, struct parse_token *t, bool first_on_line)
{
	switch (t->token) {
	case TOK_LPAREN:
		open_bracket(p, t, p->last->token == TOK_REDUCE ? 'R' : '(');
		break;
	case TOK_MESH_OPEN:
		open_bracket(p, t, '(');
		break;
	case TOK_LBRACKET:
		open_bracket(p, t, '[');
		break;
	case TOK_POST_OUTPUTS:
		close_other(p, '{', 'I');
		open_bracket(p, t, '{');
		break;
	case TOK_POST_INPUTS:
		open_bracket(p, t, '{');
		break;
	case TOK_LBRACE:
		if (opens_block(p)) {
			t->token = TOK_BLOCK_OPEN;
			open_bracket(p, t, 'B');
		} else {
			open_bracket(p, t, p->last->token == TOK_ID ? 'I' : '{');
		}
		break;
	case TOK_RPAREN:
		close_other(p, '(', 'R');
		break;
	case TOK_RBRACKET:
		close_other(p, '[', '[');
		break;
	case TOK_RBRACE:
		close_brace(p, t, first_on_line);
		break;
	case TOK_RBRACE_SUFFIX:
		close_other(p, '{', 'I');
		break;
	}
}

/* Braces that are missing */

/* Returns true if a block begins below this line, for which nothing opened one. Its { may stand there. */
static bool misses_brace(const struct parser *p, bool *on_next_line)
{
	if (p->mode != MODE_HIR || in_bracket(p) || p->last->token == TOK_BLOCK_CLOSE || !has_block_lead(p))
		return false;
	uint32_t column;
	const unsigned char *next = lex_peek_line(p, &column);
	*on_next_line = *next == '{';
	return *on_next_line || column > p->lead.span.at - p->lead.line_start ||
	       (p->lead.token == TOK_PROGRAM && next < p->limit && !p->panic);
}

/* Makes of a token at the end of a line the { that is missing there. */
static void put_brace(struct parser *p, struct parse_token *t)
{
	uint32_t column;
	lex_peek_line(p, &column);
	p->brace_at = t->span.at;
	t->token = TOK_BLOCK_OPEN;
	open_bracket(p, t, 'B');
	if (t->token != TOK_BLOCK_OPEN)
		return;
	struct parse_bracket *b = &p->bracket[p->brackets - 1];
	uint32_t lead_column = p->lead.span.at - p->lead.line_start;
	b->missing = true;
	b->column = column > lead_column ? (int32_t)lead_column : -1;
}

/* Reports that a { is missing. If the grammar asks for the next token and skips nothing, it has accepted the
 * inserted {; otherwise it has reported the statement. */
static void report_brace(struct parser *p)
{
	uint32_t at = p->brace_at;
	p->brace_at = 0;
	if (!at || p->panic)
		return;
	diag_error(p->diag, E_UNEXPECTED, at, "unexpected %s, expected '{'",
	           p->text[at] == ':' ? "':'" : "end of line");
	diag_note(p->diag, DIAG_NOWHERE,
	          "a block begins with a `{` at the end of this line, and ends with a `}`");
}

/* Returns true if the first token of a line, or of the text's end, is behind a block that lacks its {. */
static bool ends_missing(const struct parser *p, const struct parse_token *t)
{
	if (!p->blocks || in_bracket(p) || !p->bracket[p->brackets - 1].missing || p->mode != MODE_HIR)
		return false;
	int32_t column = (int32_t)(t->span.at - t->line_start), block = p->bracket[p->brackets - 1].column;
	return column < block || (column == block && t->token != TOK_RBRACE);
}

/* Lines */

bool lines_begin_with_operator(const unsigned char *c)
{
	if (*c == '%')
		return strncmp((const char *)c, "%kernel", 7) != 0;
	return (*c == '=' || *c == '+' || *c == '-' || *c == '*' || *c == '/' || *c == '<' || *c == '>' ||
	        *c == ',' || *c == '&' || *c == '|' || *c == '^' || (*c == '!' && c[1] == '='));
}

/* Returns true if a line ends inside brackets and the next line shows that a bracket was not closed. */
static bool is_unclosed(const struct parser *p)
{
	uint32_t column, word;
	const unsigned char *c = lex_peek_line(p, &column);
	if (p->mode == MODE_SECTIONS || c >= p->limit)
		return true;
	if (*c == '}')
		return find_open(p, '{', 'I') < 0;
	if (p->mode == MODE_BODY)
		return *c != ')' && *c != ']' && !lines_begin_with_operator(c) &&
		       column <= p->column[p->columns - 1];

	const unsigned char *after = lex_peek_word(p, c, &word);
	bool defines =
	    (*after == '=' && after[1] != '=') || *after == ':' || (*after == '<' && after[1] == '-');
	if (word && word < WORD_LAST_KEYWORD)
		return lex_words[word].lead && *after != '=' && *after != ',' && *after != ')' &&
		       *after != '}';
	return p->panic && after > c && defines;
}

static bool ends_statement(struct parser *p)
{
	switch (p->last->token) {
	case 0:
	case TOK_NEWLINE:
	case TOK_BLOCK_OPEN:
	case TOK_POST:
		return false;
	case TOK_SEMICOLON:
		if (!p->panic)
			return false;
	}
	if (in_bracket(p) && is_unclosed(p)) {
		drop_brackets(p);
		p->lost = 0;
	}
	if (in_bracket(p) || p->lost)
		return false;
	uint32_t column;
	bool result = p->lead.token == TOK_TENSOR || p->lead.token == TOK_TENSOR_AGAIN;
	if (p->mode == MODE_BODY && p->last->token == TOK_COMMA && result)
		return false; /* the results of a statement, a line each */
	return p->mode != MODE_BODY || !lines_begin_with_operator(lex_peek_line(p, &column));
}

/* Puts t back and returns a token without text before it. */
static void put_before(struct parser *p, struct parse_token *t, int token)
{
	p->stash = *t;
	p->stashed = true;
	t->token = token;
	t->span.end = t->span.at;
}

/* Handles the first token of a line of the body. Returns INDENT or DEDENT before it if its column differs. */
static void indent(struct parser *p, struct parse_token *t)
{
	uint32_t column = t->span.at - t->line_start, *top = &p->column[p->columns - 1];
	bool closes = (t->token == TOK_RBRACE && !in_bracket(p)) || t->token == TOK_TRANSFORM_HEADER;
	if (p->columns > 1 && (column < *top || closes)) {
		p->columns--;
		if (!closes && column > top[-1]) {
			if (!p->panic)
				diag_error(p->diag, E_INDENTATION, t->span.at,
				           "this line begins in column %u: no open block does", column + 1);
			t->line_start = t->span.at - top[-1];
		}
		put_before(p, t, TOK_DEDENT);
	} else if (column > *top && !closes) {
		if (p->columns < PARSE_MAX_NESTING) {
			top[1] = column;
			p->columns++;
			put_before(p, t, TOK_INDENT);
			return;
		}
		if (!p->panic)
			diag_error(p->diag, E_TEXT_TOO_DEEP, t->span.at, "blocks nest deeper than %d",
			           PARSE_MAX_NESTING);
		t->token = TOK_HIR_error;
	}
}

/* Closes blocks and brackets that are open at the end of the text. */
static void close_all(struct parser *p, struct parse_token *t)
{
	static const char unclosed[] = "this '{' is never closed";
	switch (p->last->token) {
	case 0:
	case TOK_NEWLINE:
	case TOK_BLOCK_OPEN:
	case TOK_SEMICOLON:
	case TOK_INDENT:
	case TOK_DEDENT:
		break;
	default:
		drop_brackets(p);
		p->lost = 0;
		t->token = TOK_NEWLINE;
		return;
	}
	if (p->mode == MODE_BODY && p->columns > 1) {
		p->columns--;
		t->token = TOK_DEDENT;
	} else if (p->mode == MODE_BODY || (p->in_kernel && p->is_fusion)) {
		diag_error(p->diag, E_UNCLOSED, p->container_at, unclosed);
		p->mode = MODE_SECTIONS;
		p->in_kernel = false;
		t->token = TOK_CONTAINER_CLOSE;
	} else if (p->blocks) {
		drop_brackets(p);
		if (!p->bracket[p->brackets - 1].missing)
			diag_error(p->diag, E_UNCLOSED, p->bracket[p->brackets - 1].at, unclosed);
		p->brackets--;
		p->blocks--;
		t->token = TOK_BLOCK_CLOSE;
	}
}

/* Tokens for the grammar */

/* Returns true if a statement, or a line of a section, can begin with the next token. */
static bool at_statement(const struct parser *p)
{
	return p->at_lead && !p->panic && !in_bracket(p) && (p->mode != MODE_HIR || p->blocks);
}

static int scan_token(struct parser *p, struct parse_token *t)
{
	const unsigned char *start = lex_skip_blanks(p->cursor), *end;
	if (!p->ast->shapes || !at_statement(p) || !(t->value = shape_find(p, start, &end)))
		return lex_scan(p, t);
	t->span = (struct parse_span){(uint32_t)(start - p->text), (uint32_t)(end - p->text)};
	t->line_start = p->line_start;
	p->cursor = end;
	if (p->mode != MODE_HIR) {
		const unsigned char *line = memrchr(start, '\n', (size_t)(end - start));
		p->line_start = line ? (uint32_t)(line + 1 - p->text) : p->line_start;
	}
	return TOK_STATEMENT_AGAIN;
}

/* Returns true if a `;` here does not part the primitives of a schedule. */
static bool is_end_of_other_systems(const struct parser *p)
{
	return p->mode == MODE_HIR && !in_bracket(p) && !(p->blocks && p->bracket[p->brackets - 1].schedule);
}

/* Reports a `;` between statements, once a file, and makes the end of a line of it. */
static void refuse_semicolon(struct parser *p, struct parse_token *t)
{
	t->token = TOK_NEWLINE;
	if (p->told_semicolon || p->panic)
		return;
	p->told_semicolon = true;
	diag_error(p->diag, E_UNEXPECTED, t->span.at, "unexpected ';', expected end of line");
	diag_note(p->diag, DIAG_NOWHERE, "a statement ends with its line, and each has a line of its own");
}

/* Returns true if the { of a block begins the next line: it is taken there, and reported. */
static bool goes_on_below(struct parser *p, const struct parse_token *t)
{
	bool below = false;
	if (!misses_brace(p, &below) || !below)
		return false;
	p->brace_at = t->span.at;
	return true;
}

/* Puts the end of a block that lacks its { before the line behind it, and the end of the statement. */
static void end_missing(struct parser *p, struct parse_token *t)
{
	p->brackets--;
	p->blocks--;
	p->ended = t->token != TOK_ELSE;
	put_before(p, t, TOK_BLOCK_CLOSE);
}

static struct parse_token *read_token(struct parser *p)
{
	struct parse_token *t = p->last == &p->token[0] ? &p->token[1] : &p->token[0];
	bool first_on_line = p->at_lead, brace_below = false;
	report_brace(p);
	if (p->ended) {
		p->ended = false;
		*t = p->stash;
		t->token = TOK_NEWLINE;
		t->span.end = t->span.at;
		return p->last = t;
	}
	do {
		if (p->stashed) {
			*t = p->stash;
			p->stashed = false;
		} else {
			t->value = 0;
			t->token = scan_token(p, t);
		}
		if (t->token == TOK_SEMICOLON && is_end_of_other_systems(p))
			refuse_semicolon(p, t);
	} while (t->token == TOK_NEWLINE && (!ends_statement(p) || goes_on_below(p, t)));

	if ((t->token == TOK_NEWLINE || (t->token == TOK_COLON && lex_ends_line(p->cursor))) &&
	    misses_brace(p, &brace_below))
		put_brace(p, t);
	else if (t->token == 0)
		close_all(p, t);
	else if (first_on_line && ends_missing(p, t))
		end_missing(p, t);
	else if (p->mode == MODE_BODY && p->at_lead && !p->in_post)
		indent(p, t);
	match_brackets(p, t, first_on_line);

	switch (t->token) {
	case TOK_CONTAINER:
	case TOK_FUSION:
		p->is_fusion = t->token == TOK_FUSION;
		p->mode = MODE_BODY;
		p->container_at = t->span.end - 1;
		p->column[0] = t->span.at - t->line_start;
		p->columns = 1;
		break;
	case TOK_KERNEL:
		if (p->mode == MODE_HIR) { /* a fusion without lists */
			p->is_fusion = true;
			p->mode = MODE_BODY;
			p->column[0] = t->span.at - t->line_start;
			p->columns = 1;
		}
		p->in_kernel = true;
		if (p->is_fusion)
			p->container_at = t->span.end - 1;
		break;
	case TOK_POST:
	case TOK_POST_OUTPUTS:
		p->in_post = t->token == TOK_POST;
		break;
	case TOK_TRANSFORM_HEADER: /* it may stand inside a kernel */
		p->mode = MODE_SECTIONS;
		break;
	case TOK_NEWLINE:
	case TOK_INDENT:
	case TOK_DEDENT:
	case TOK_BLOCK_CLOSE:
	case TOK_CONTAINER_CLOSE:
	case 0:
		p->at_lead = true;
		return p->last = t;
	}
	if (p->at_lead) {
		p->lead = *t;
		p->lead_blocks = p->blocks;
		p->lead_columns = p->columns;
	}
	p->at_lead = t->token == TOK_BLOCK_OPEN || (t->token == TOK_SEMICOLON && !in_bracket(p));
	return p->last = t;
}

/* Returns true if a line of the body ends and a block begins below it. */
static bool deeper_follows(const struct parser *p)
{
	uint32_t column;
	lex_peek_line(p, &column);
	return p->mode == MODE_BODY && column > p->column[p->columns - 1];
}

/* Skips the rest of the statement that lead begins, with its blocks. */
static struct parse_token *skip_statement(struct parser *p)
{
	unsigned blocks = p->lead_blocks, columns = p->lead_columns;
	struct parse_token *t;
	for (;;) {
		t = read_token(p);
		if (t->token == 0 || t->token == TOK_CONTAINER_CLOSE || p->blocks < blocks)
			break;
		if (p->blocks > blocks || p->columns > columns || p->lost)
			continue;
		if (t->token == TOK_NEWLINE) {
			if (!deeper_follows(p))
				break;
		} else if (t->token == TOK_DEDENT && !(p->stashed && p->stash.token == TOK_BODY_ELSE)) {
			t->token = TOK_NEWLINE;
			break;
		}
	}
	p->panic = false;
	return t;
}

void lines_panic(struct parser *p)
{
	switch (p->last->token) {
	case TOK_NEWLINE: /* the statement ends here, unless a block follows */
		if (deeper_follows(p)) {
			p->panic = true;
			skip_statement(p);
		}
		break;
	case TOK_DEDENT:
	case TOK_BLOCK_CLOSE:
	case TOK_CONTAINER_CLOSE:
	case 0:
		break;
	default:
		p->panic = true;
	}
}

int hir_lex(HIR_STYPE *value, struct parse_span *at, struct parser *p)
{
	const struct parse_token *t = p->panic ? skip_statement(p) : read_token(p);
	*at = t->span;
	value->TOK_INT = t->value;
	if (t->token == TOK_HIR_error)
		lines_panic(p);
	return t->token;
}
