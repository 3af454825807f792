/* tokens: finds the kind of each word, for colours: from the tree, or from the word lists where the tree has
 * nothing. */
#include "base/source.h"
#include "base/word.h"
#include "lsp/request.h"
#include "parse/lex.h"
#include <ctype.h>

enum token_kind {
	TOKEN_NONE,
#define TOKEN_LIST(TOKEN)                                                                                    \
	TOKEN(KEYWORD, "keyword")                                                                            \
	TOKEN(TYPE, "type")                                                                                  \
	TOKEN(FUNCTION, "function")                                                                          \
	TOKEN(MACRO, "macro")                                                                                \
	TOKEN(PROPERTY, "property")                                                                          \
	TOKEN(VARIABLE, "variable")                                                                          \
	TOKEN(PARAMETER, "parameter")                                                                        \
	TOKEN(NAMESPACE, "namespace")                                                                        \
	TOKEN(ENUM_MEMBER, "enumMember")                                                                     \
	TOKEN(EVENT, "event")                                                                                \
	TOKEN(NUMBER, "number")                                                                              \
	TOKEN(STRING, "string")                                                                              \
	TOKEN(COMMENT, "comment")
#define TOKEN_ENUM(id, text) TOKEN_##id,
	TOKEN_LIST(TOKEN_ENUM)
};

static const char *const types[] = {
#define TOKEN_TEXT(id, text) text,
    TOKEN_LIST(TOKEN_TEXT)};
enum { MODIFIER_DECLARATION = 1, MODIFIER_READONLY = 2, MODIFIER_MODIFICATION = 4 };
static const char *const modifiers[] = {"declaration", "readonly", "modification"};

static const uint8_t symbol_token[SYMBOL_KIND_COUNT] = {
    [SYMBOL_NONE] = TOKEN_VARIABLE,   [SYMBOL_PROGRAM] = TOKEN_NAMESPACE, [SYMBOL_PARAM] = TOKEN_PARAMETER,
    [SYMBOL_CONST] = TOKEN_PARAMETER, [SYMBOL_MESH] = TOKEN_NAMESPACE,    [SYMBOL_AXIS] = TOKEN_ENUM_MEMBER,
    [SYMBOL_GROUP] = TOKEN_NAMESPACE, [SYMBOL_CLUSTER] = TOKEN_NAMESPACE, [SYMBOL_TENSOR] = TOKEN_VARIABLE,
    [SYMBOL_LET] = TOKEN_PARAMETER,   [SYMBOL_INDEX] = TOKEN_PARAMETER,   [SYMBOL_STREAM] = TOKEN_PARAMETER,
    [SYMBOL_STATEMENT] = TOKEN_EVENT,
};
static const uint8_t mention_token[] = {
    [MENTION_OP] = TOKEN_FUNCTION,       [MENTION_KEY] = TOKEN_PROPERTY,       [MENTION_TYPE] = TOKEN_TYPE,
    [MENTION_FUNCTION] = TOKEN_FUNCTION, [MENTION_PRIMITIVE] = TOKEN_FUNCTION, [MENTION_WORD] = TOKEN_MACRO,
};

cJSON *feature_tokens_legend(void)
{
	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "tokenTypes",
	                      cJSON_CreateStringArray(types, sizeof types / sizeof *types));
	cJSON_AddItemToObject(json, "tokenModifiers",
	                      cJSON_CreateStringArray(modifiers, sizeof modifiers / sizeof *modifiers));
	return json;
}

struct writer {
	struct request *r;
	struct position last;
	struct buf data; /* a JSON array, as text, since it may have 100,000 numbers */
};

/* Adds a token, which must end on its line. */
static void add_token(struct writer *w, uint32_t at, uint32_t end, enum token_kind kind, unsigned modifier)
{
	struct position p = document_position(w->r->document, w->r->columns, at);
	struct position q = document_position(w->r->document, w->r->columns, end);
	if (p.line != q.line || q.character == p.character)
		return;
	const int values[] = {(int)(p.line - w->last.line),
	                      (int)(p.character - (p.line == w->last.line ? w->last.character : 0)),
	                      (int)(q.character - p.character), (int)kind - 1, (int)modifier};
	for (unsigned i = 0; i < 5; i++) {
		if (w->data.n > 1)
			buf_putc(&w->data, ',');
		buf_puti(&w->data, values[i]);
	}
	w->last = p;
}

static void mention(struct writer *w, const struct mention *m)
{
	const struct snapshot *x = w->r->snapshot;
	unsigned modifier = (m->flags & MENTION_DEFINES ? MODIFIER_DECLARATION : 0) |
	                    (m->flags & MENTION_WRITES ? MODIFIER_MODIFICATION : 0);
	enum token_kind kind = mention_token[m->kind];
	if (m->kind == MENTION_SYMBOL) {
		kind = symbol_token[x->symbols.symbol.at[m->id].kind];
		modifier |= x->symbols.symbol.at[m->id].kind == SYMBOL_CONST ? MODIFIER_READONLY : 0;
	}
	add_token(w, m->at, m->end, kind, modifier);
}

/* Returns the kind of a word about which the tree says nothing. */
static enum token_kind classify_word(const struct snapshot *x, uint32_t at, uint32_t end)
{
	char text[64];
	enum dtype dtype;
	bool nvfuser = x->ast->surface == SURFACE_NVFUSER;
	snprintf(text, sizeof text, "%.*s", (int)(end - at), x->source->text + at);
	for (uint32_t k = 1; k < (nvfuser ? WORD_LAST_BODY : WORD_FIRST_BODY); k++)
		if (lex_words[k].text && !strcmp(lex_words[k].text, text))
			return TOKEN_KEYWORD;
	for (uint32_t k = WORD_FIRST_CONTEXT; k < WORD_COUNT; k++)
		if (!strcmp(lex_words[k].text, text))
			return TOKEN_KEYWORD;
	if (dtype_parse(text, &dtype))
		return TOKEN_TYPE;
	return op_by_hir(text) ? TOKEN_FUNCTION : TOKEN_NONE;
}

static uint32_t string_end(const struct source *s, uint32_t at)
{
	for (at++; at < s->size && s->text[at] != '"' && s->text[at] != '\n'; at++)
		at += s->text[at] == '\\' && at + 1 < s->size && s->text[at + 1] != '\n';
	return at < s->size && s->text[at] == '"' ? at + 1 : at;
}

cJSON *feature_tokens(struct request *r)
{
	const struct snapshot *x = r->snapshot;
	const struct source *s = x->source;
	struct writer w = {.r = r};
	buf_putc(&w.data, '[');
	uint32_t next = 0, comment = 0;
	for (uint32_t at = 0; at < s->size;) {
		unsigned char c = (unsigned char)s->text[at];
		uint32_t end = at + 1;
		while (next < x->symbols.mention.n && x->symbols.mention.at[next].at < at)
			next++;
		while (comment < x->ast->comments.n && x->ast->comments.at[comment].at < at)
			comment++;
		if (comment < x->ast->comments.n && x->ast->comments.at[comment].at == at) {
			end = x->ast->comments.at[comment].end;
			add_token(&w, at, end, TOKEN_COMMENT, 0);
		} else if (next < x->symbols.mention.n && x->symbols.mention.at[next].at == at) {
			end = x->symbols.mention.at[next].end;
			mention(&w, &x->symbols.mention.at[next]);
		} else if (word_starts_with(c) || c == '`') {
			end = symbols_name_end(s, at);
			enum token_kind kind = classify_word(x, at, end);
			if (kind != TOKEN_NONE)
				add_token(&w, at, end, kind, 0);
		} else if (isdigit(c)) {
			while (end < s->size &&
			       (isalnum((unsigned char)s->text[end]) ||
			        (s->text[end] == '.' && isdigit((unsigned char)s->text[end + 1]))))
				end++;
			add_token(&w, at, end, TOKEN_NUMBER, 0);
		} else if (c == '"') {
			end = string_end(s, at);
			add_token(&w, at, end, TOKEN_STRING, 0);
		}
		at = end > at ? end : at + 1;
	}
	cJSON *json = cJSON_CreateObject();
	buf_putc(&w.data, ']');
	cJSON_AddRawToObject(json, "data", w.data.at);
	buf_free(&w.data);
	return json;
}
