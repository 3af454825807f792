/* complete_place: finds the kind of word that fits at a place, from the text before it. */
#include "base/source.h"
#include "base/word.h"
#include "lsp/complete.h"

enum { LOOK_BACK = 64 << 10 }; /* bytes before the place that are read */

static uint32_t skip_back(const char *text, uint32_t from, uint32_t at)
{
	while (at > from && strchr(" \t", text[at - 1]))
		at--;
	return at;
}

static uint32_t word_begin(const char *text, uint32_t from, uint32_t at)
{
	while (at > from && word_has(text[at - 1]))
		at--;
	return at;
}

/* Copies the word that ends at a place, or before the blanks there. */
static void word_before(const char *text, uint32_t from, uint32_t at, char out[64])
{
	uint32_t end = skip_back(text, from, at), begin = word_begin(text, from, end);
	snprintf(out, 64, "%.*s", (int)(end - begin), text + begin);
}

static uint32_t line_begin(const char *text, uint32_t at)
{
	while (at && text[at - 1] != '\n')
		at--;
	return at;
}

/* Handles a comment: after `--passes=a,b` a pass fits, after its { an option. */
static void in_comment(const char *text, uint32_t from, struct complete_context *c)
{
	static const char *const options[] = {"--passes=", "--stop-after=", "--print-after="};
	uint32_t at = c->from, brace = 0;
	while (at > from && (word_has(text[at - 1]) || strchr("-,{};=", text[at - 1]))) {
		at--;
		if (text[at] == '}' && !brace)
			brace = UINT32_MAX; /* its options are closed */
		if (text[at] == '{' && !brace)
			brace = at;
	}
	for (unsigned k = 0; k < 3; k++)
		if (!strncmp(text + at, options[k], strlen(options[k])))
			c->place = COMPLETE_PASS;
	if (c->place != COMPLETE_PASS)
		return;
	if (brace && brace != UINT32_MAX) {
		uint32_t name = brace;
		while (name > at && (word_has(text[name - 1]) || text[name - 1] == '-'))
			name--;
		snprintf(c->call, sizeof c->call, "%.*s", (int)(brace - name), text + name);
		c->place = text[c->from - 1] == '=' ? COMPLETE_NOTHING : COMPLETE_OPTION;
	}
	while (c->place == COMPLETE_PASS && c->from > at &&
	       (word_has(text[c->from - 1]) || text[c->from - 1] == '-'))
		c->from--;
}

/* Returns true if the place is in a comment or string, where brackets do not count. */
static bool in_text(const char *text, uint32_t line, uint32_t at, bool *comment)
{
	bool string = false;
	*comment = false;
	for (uint32_t i = line; i < at; i++) {
		if (string && text[i] == '\\')
			i++;
		else if (text[i] == '"')
			string = !string;
		else if (text[i] == '#' && !string)
			return *comment = true;
	}
	return string;
}

/* Returns the innermost open bracket at a place, in its statement; UINT32_MAX: none. */
static uint32_t open_bracket(const char *text, uint32_t from, uint32_t at)
{
	unsigned closed = 0;
	while (at-- > from) {
		if (strchr(")]}", text[at]) && text[at])
			closed++;
		else if (strchr("([{", text[at]) && closed-- == 0)
			return at;
	}
	return UINT32_MAX;
}

/* Returns true if a line begins with a word, after blanks. */
static bool has_first_word(const char *line, const char *word)
{
	size_t n = strlen(word);
	line += strspn(line, " \t");
	return !strncmp(line, word, n) && !word_has(line[n]);
}

/* Returns true if the place is in the braces of a program. *schedule: in the braces of a schedule. */
static bool in_program(const struct snapshot *x, uint32_t at, bool *schedule)
{
	const struct ast *a = x->ast;
	const char *text = x->source->text;
	uint32_t from = at > LOOK_BACK ? at - LOOK_BACK : 0, brace = open_bracket(text, from, at);
	char word[64];
	*schedule = false;
	if (brace != UINT32_MAX && text[brace] == '{') {
		uint32_t end = skip_back(text, from, brace), name = word_begin(text, from, end);
		word_before(text, from, name, word);
		*schedule = !strcmp(word, "schedule");
	}
	ast_each (a, child, a->root) {
		const struct ast_node *n = ast_at(a, child);
		ast_id block = n->kind == AST_PROGRAM ? n->first : 0;
		if (block && at > ast_at(a, block)->at && (at < n->end || brace != UINT32_MAX))
			return true;
	}
	return brace != UINT32_MAX;
}

static void in_call(const char *text, uint32_t from, uint32_t open, struct complete_context *c)
{
	uint32_t before = skip_back(text, open, c->from);
	word_before(text, from, open, c->call);
	c->place = c->call[0] ? COMPLETE_ARGUMENT : COMPLETE_OPERAND;
	if (text[before - 1] == '=' && text[before - 2] != '=') {
		word_before(text, open, before - 1, c->key);
		c->place = c->key[0] ? COMPLETE_VALUE : COMPLETE_OPERAND;
	}
}

static bool is_extent_call(const char *call)
{
	return !strcmp(call, "stream") || !strcmp(call, "serial") || !strcmp(call, "block");
}

static void in_line(const struct snapshot *x, uint32_t line, struct complete_context *c)
{
	const char *text = x->source->text, *start = text + line;
	uint32_t before = skip_back(text, line, c->from);
	char word[64], last = before > line ? text[before - 1] : '\n';
	bool schedule, program = in_program(x, c->from, &schedule);
	word_before(text, line, c->from, word);
	if (schedule)
		c->place = last == '\n' || last == '{' || last == ';' ? COMPLETE_PRIMITIVE : COMPLETE_PLACE;
	else if (last == '@')
		c->place = COMPLETE_PLACE;
	else if (!strcmp(word, "on"))
		c->place = COMPLETE_MESH;
	else if (!strcmp(word, "schedule"))
		c->place = COMPLETE_TENSOR;
	else if (last == '\n' || last == '{' || last == '}')
		c->place = program ? COMPLETE_STATEMENT : COMPLETE_FILE;
	else if (last == ':')
		c->place = COMPLETE_TYPE;
	else if (last == ']')
		c->place = COMPLETE_SUFFIX;
	else if (last == '=' && (has_first_word(start, "input") || has_first_word(start, "inout")))
		c->place = COMPLETE_DATA;
	else if (has_first_word(start, "param") || has_first_word(start, "const") ||
	         has_first_word(start, "let") || has_first_word(start, "for") ||
	         has_first_word(start, "if") || has_first_word(start, "mesh"))
		c->place = COMPLETE_EXTENT;
	else if (!strcmp(word, "output"))
		c->place = COMPLETE_TENSOR;
	else
		c->place = strchr("=-+*/%<>,(", last) ? COMPLETE_OPERAND : COMPLETE_NOTHING;
}

struct complete_context complete_find(const struct snapshot *x, uint32_t offset)
{
	const char *text = x->source->text;
	uint32_t line = line_begin(text, offset), from = line > LOOK_BACK ? line - LOOK_BACK : 0;
	struct complete_context c = {.from = word_begin(text, line, offset)};
	bool comment;
	if (in_text(text, line, offset, &comment)) {
		if (comment)
			in_comment(text, line, &c);
		return c;
	}
	uint32_t open = open_bracket(text, from, c.from);
	char bracket = open == UINT32_MAX ? '\0' : text[open];
	if (bracket == '(') {
		in_call(text, from, open, &c);
		if (!strcmp(c.call, "swizzle1d"))
			c.place = COMPLETE_PLACE;
		else if (is_extent_call(c.call))
			c.place = COMPLETE_EXTENT;
	} else if (bracket == '[') {
		c.place = text[skip_back(text, open, c.from) - 1] == '@' ? COMPLETE_PLACE : COMPLETE_EXTENT;
	} else {
		in_line(x, line, &c);
	}
	return c;
}
