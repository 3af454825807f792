/* reduce_view: see reduce_view.h. */
#include "reduce/reduce_view.h"
#include "base/source.h"
#include "parse/sema.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SECONDS = 10 }; /* for the parser in the child */

/* ---- tokens */

static bool is_word_start(char c)
{
	return isalpha((unsigned char)c) || c == '_';
}

static bool is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns the end of a number. In `0..8` the number ends before the dots. */
static uint32_t skip_number(const char *text, uint32_t at, uint32_t n)
{
	while (at < n && is_word(text[at]))
		at++;
	if (at + 1 < n && text[at] == '.' && isdigit((unsigned char)text[at + 1]))
		for (at++; at < n && is_word(text[at]);)
			at++;
	return at;
}

static struct reduce_token scan_token(const char *text, uint32_t at, uint32_t n)
{
	char c = text[at];
	struct reduce_token t = {.kind = TOKEN_SIGN,
	                         .at = at,
	                         .end = at + 1,
	                         .next = REDUCE_NO_TOKEN,
	                         .statement = REDUCE_NO_TOKEN};
	if (c == '#' || (c == '/' && at + 1 < n && text[at + 1] == '/')) {
		t.kind = TOKEN_COMMENT;
		while (t.end < n && text[t.end] != '\n')
			t.end++;
	} else if (c == '"' || c == '`') {
		t.kind = TOKEN_QUOTED;
		while (t.end < n && text[t.end] != c && text[t.end] != '\n')
			t.end += text[t.end] == '\\' && t.end + 1 < n ? 2 : 1;
		t.end += t.end < n && text[t.end] == c;
	} else if (is_word_start(c)) {
		t.kind = TOKEN_WORD;
		while (t.end < n && is_word(text[t.end]))
			t.end++;
	} else if (isdigit((unsigned char)c)) {
		t.kind = TOKEN_NUMBER;
		t.end = skip_number(text, at, n);
	} else {
		while (t.end < n && (text[t.end] & 0xc0) == 0x80)
			t.end++; /* all bytes of a UTF-8 character are one token */
	}
	return t;
}

static void scan_tokens(struct reduce_view *v)
{
	uint32_t n = (uint32_t)v->text->n;
	for (uint32_t at = 0; at < n;) {
		if (isspace((unsigned char)v->text->at[at])) {
			at++;
			continue;
		}
		struct reduce_token t = scan_token(v->text->at, at, n);
		vec_push(&v->token, t);
		at = t.end;
	}
}

/* Chains the tokens of each word. */
static void link_words(struct reduce_view *v)
{
	v->word = names_new();
	for (uint32_t i = 0; i < v->token.n; i++) {
		struct reduce_token *t = &v->token.at[i];
		if (t->kind == TOKEN_WORD)
			t->word = names_intern(v->word, v->text->at + t->at, t->end - t->at);
	}
	for (uint32_t w = 0; w <= names_count(v->word); w++)
		vec_push(&v->first, REDUCE_NO_TOKEN);
	for (uint32_t i = v->token.n; i-- > 0;) {
		struct reduce_token *t = &v->token.at[i];
		if (t->kind != TOKEN_WORD)
			continue;
		t->next = v->first.at[t->word];
		v->first.at[t->word] = i;
	}
}

uint32_t reduce_word_first(const struct reduce_view *v, const char *word)
{
	uint32_t id = names_find(v->word, word, strlen(word));
	return id ? v->first.at[id] : REDUCE_NO_TOKEN;
}

uint32_t reduce_token_from(const struct reduce_view *v, uint32_t at)
{
	uint32_t low = 0, high = v->token.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (v->token.at[middle].at < at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

void reduce_put_node(const struct reduce_view *v, ast_id id, struct buf *out)
{
	buf_putn(out, v->text->at + ast_at(v->ast, id)->at, ast_length(v->ast, id));
}

/* ---- statements */

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

/* Widens the bytes of a statement to whole lines, if nothing else is on these lines. */
static void widen_to_lines(const struct buf *text, uint32_t *at, uint32_t *end)
{
	uint32_t start = *at, stop = *end;
	while (start && is_blank(text->at[start - 1]))
		start--;
	while (stop < text->n && is_blank(text->at[stop]))
		stop++;
	if ((start && text->at[start - 1] != '\n') || (stop < text->n && text->at[stop] != '\n'))
		return;
	*at = start;
	*end = stop < text->n ? stop + 1 : stop;
}

static bool holds_statements(enum ast_kind kind)
{
	return kind == AST_FILE || kind == AST_BLOCK || kind == AST_SECTION;
}

static uint32_t find_own_end(const struct ast *a, ast_id id)
{
	ast_each (a, child, id)
		if (ast_at(a, child)->kind == AST_BLOCK)
			return ast_at(a, child)->at;
	return ast_at(a, id)->end;
}

static void collect_statements(struct reduce_view *v, ast_id parent)
{
	const struct ast *a = v->ast;
	bool statements = holds_statements(ast_at(a, parent)->kind);
	ast_each (a, child, parent) {
		const struct ast_node *n = ast_at(a, child);
		if (statements && n->end > n->at) {
			struct reduce_statement s = {.id = child, .cut_at = n->at, .cut_end = n->end};
			s.own_end = find_own_end(a, child);
			s.frame = n->kind == AST_PROGRAM || n->kind == AST_CONTAINER;
			widen_to_lines(v->text, &s.cut_at, &s.cut_end);
			vec_push(&v->statement, s);
		}
		if (n->first)
			collect_statements(v, child);
	}
}

/* Sets, for each token, the statement whose own text (without blocks) contains it. */
static void assign_tokens(struct reduce_view *v)
{
	for (uint32_t i = 0; i < v->statement.n; i++) {
		const struct reduce_statement *s = &v->statement.at[i];
		uint32_t t = reduce_token_from(v, ast_at(v->ast, s->id)->at);
		for (; t < v->token.n && v->token.at[t].at < s->own_end; t++)
			v->token.at[t].statement = i;
	}
}

/* ---- parsing, first in a child */

static struct module *build_module(struct reduce_view *v)
{
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	v->module_source = source_from_text("candidate", v->text->at, (uint32_t)v->text->n);
	diag_set_source(nowhere, v->module_source);
	struct ast *a = ast_parse(nowhere, v->module_source);
	struct sema_options options = {0};
	struct module *m = diag_error_count(nowhere) ? NULL : sema_build(nowhere, a, &options);
	ast_free(a);
	diag_free(nowhere);
	return m;
}

static void parse_text(struct reduce_view *v)
{
	struct diag *nowhere = diag_new(NULL, DIAG_TEXT, COLOR_NEVER);
	v->source = source_from_text("candidate", v->text->at, (uint32_t)v->text->n);
	diag_set_source(nowhere, v->source);
	v->ast = ast_parse(nowhere, v->source);
	v->broken = diag_error_count(nowhere) > 0;
	diag_free(nowhere);
}

/* Returns true if a child process can parse the text and, with `module`, also build its module. */
static bool child_survives(const struct buf *text, bool module)
{
	static const struct rlimit no_core = {0};
	int status = 0;
	fflush(NULL);
	pid_t pid = fork();
	if (pid == 0) {
		struct reduce_view v = {.text = text};
		setrlimit(RLIMIT_CORE, &no_core);
		alarm(MOST_SECONDS);
		close(STDERR_FILENO); /* the command does not print failed assertions of the child */
		if (module)
			build_module(&v);
		else
			parse_text(&v);
		_exit(0);
	}
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && status == 0;
}

void reduce_view_make(struct reduce_view *v, const struct buf *text)
{
	*v = (struct reduce_view){.text = text, .broken = true};
	scan_tokens(v);
	link_words(v);
	if (!child_survives(text, false))
		return;
	parse_text(v);
	collect_statements(v, v->ast->root);
	assign_tokens(v);
	if (!v->broken && child_survives(text, true))
		v->module = build_module(v);
}

void reduce_view_free(struct reduce_view *v)
{
	if (v->ast)
		ast_free(v->ast);
	module_free(v->module);
	source_free(v->source);
	source_free(v->module_source);
	names_free(v->word);
	vec_free(&v->token);
	vec_free(&v->first);
	vec_free(&v->statement);
}
