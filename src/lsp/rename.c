/* rename: replaces a symbol's name everywhere.
 *
 * It is refused if the new name would change a meaning. To find out, the changed text is read: each name must
 * still mean the same symbol. */
#include "base/source.h"
#include "lsp/request.h"
#include "parse/lex.h"

/* Returns the symbol at the place if it can be renamed; 0 after request_fail. */
static uint32_t find_renamed(struct request *r)
{
	const struct mention *m = symbols_mention_at(&r->snapshot->symbols, r->offset);
	if (!m || m->kind != MENTION_SYMBOL || !m->id) {
		request_fail(r, REQUEST_FAILED, "no name that the file defines stands here");
		return 0;
	}
	if (r->snapshot->ast->surface == SURFACE_NVFUSER) {
		request_fail(r, REQUEST_FAILED,
		             "names of the nvFuser surface are numbers; `name T0 = X` in its "
		             "section `Hirc 1 :` gives another");
		return 0;
	}
	return m->id;
}

/* Removes the backquotes around a name. */
static void unquote(const char *text, uint32_t *at, uint32_t *end)
{
	if (text[*at] == '`') {
		++*at;
		*end -= *end > *at && text[*end - 1] == '`';
	}
}

cJSON *feature_prepare_rename(struct request *r)
{
	if (!find_renamed(r))
		return NULL;
	const struct mention *m = symbols_mention_at(&r->snapshot->symbols, r->offset);
	uint32_t at = m->at, end = m->end;
	char *text = r->snapshot->source->text;
	unquote(text, &at, &end);
	struct buf name = {0};
	buf_putn(&name, text + at, end - at);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddItemToObject(json, "range", request_range(r, m->at, m->end));
	cJSON_AddStringToObject(json, "placeholder", name.at);
	buf_free(&name);
	return json;
}

/* Puts a name as it must be written: in backquotes if it is not a plain word. Returns false after
 * request_fail. */
static bool spell(struct request *r, const char *name, struct buf *out)
{
	bool keyword = false;
	for (uint32_t k = 1; k < WORD_FIRST_BODY; k++)
		keyword |= !strcmp(lex_words[k].text, name);
	if (!*name || strpbrk(name, "`\n\r")) {
		request_fail(r, REQUEST_INVALID_PARAMS,
		             "'%s' is no name: it is empty, or has a backquote or line end", name);
		return false;
	}
	bool plain = lex_is_word(name) && !keyword;
	buf_printf(out, plain ? "%s" : "`%s`", name);
	return true;
}

/* Returns true if two readings agree except for the name of one symbol. */
static bool same_meaning(const struct symbols *a, const struct symbols *b)
{
	if (a->symbol.n != b->symbol.n || a->mention.n != b->mention.n)
		return false;
	for (uint32_t i = 0; i < a->symbol.n; i++)
		if (a->symbol.at[i].kind != b->symbol.at[i].kind)
			return false;
	for (uint32_t i = 0; i < a->mention.n; i++) {
		const struct mention *x = &a->mention.at[i], *y = &b->mention.at[i];
		if (x->kind != y->kind || x->id != y->id || x->flags != y->flags)
			return false;
	}
	return true;
}

static unsigned count_errors(const struct snapshot *x)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < x->message.n; i++)
		n += x->message.at[i].severity == DIAG_ERROR;
	return n;
}

/* Returns true if the text with the new name has the same meaning; false after request_fail. */
static bool is_safe(struct request *r, uint32_t id, const char *name, const char *spelling)
{
	const struct symbols *s = &r->snapshot->symbols;
	const struct source *source = r->snapshot->source;
	struct buf text = {0};
	uint32_t from = 0;
	for (uint32_t i = 0; i < s->mention.n; i++) {
		const struct mention *m = &s->mention.at[i];
		if (m->kind != MENTION_SYMBOL || m->id != id)
			continue;
		buf_putn(&text, source->text + from, m->at - from);
		buf_puts(&text, spelling);
		from = m->end;
	}
	buf_putn(&text, source->text + from, source->size - from);
	struct snapshot *after = snapshot_new(r->document->name, text.at, (uint32_t)text.n, r->options);
	bool ok = same_meaning(s, &after->symbols) && count_errors(after) <= count_errors(r->snapshot);
	if (!ok) {
		uint32_t same = 0;
		for (uint32_t i = 1; i < s->symbol.n && !same; i++)
			if (i != id &&
			    !strcmp(names_text(r->snapshot->ast->names, s->symbol.at[i].name), name))
				same = i;
		if (same)
			request_fail(r, REQUEST_FAILED, "'%s' is the name of a %s, defined in line %u", name,
			             symbol_kind_text[s->symbol.at[same].kind],
			             document_position(r->document, r->columns, s->symbol.at[same].at).line +
			                 1);
		else
			request_fail(r, REQUEST_FAILED,
			             "with the name '%s' the program would mean another one", name);
	}
	snapshot_free(after);
	buf_free(&text);
	return ok;
}

cJSON *feature_rename(struct request *r)
{
	const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(r->params, "newName"));
	uint32_t id = name ? find_renamed(r) : 0;
	struct buf spelling = {0};
	cJSON *json = NULL;
	if (!name)
		request_fail(r, REQUEST_INVALID_PARAMS, "params.newName is missing");
	if (id && spell(r, name, &spelling) && is_safe(r, id, name, spelling.at)) {
		const struct symbols *s = &r->snapshot->symbols;
		json = cJSON_CreateObject();
		cJSON *edits =
		    cJSON_AddArrayToObject(cJSON_AddObjectToObject(json, "changes"), r->document->uri);
		for (uint32_t i = 0; i < s->mention.n; i++) {
			const struct mention *m = &s->mention.at[i];
			if (m->kind != MENTION_SYMBOL || m->id != id)
				continue;
			cJSON *edit = cJSON_CreateObject();
			cJSON_AddItemToObject(edit, "range", request_range(r, m->at, m->end));
			cJSON_AddStringToObject(edit, "newText", spelling.at);
			cJSON_AddItemToArray(edits, edit);
		}
	}
	buf_free(&spelling);
	return json;
}
