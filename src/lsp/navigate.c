/* navigate: finds the definition and the uses of a name. */
#include "lsp/request.h"

enum { HIGHLIGHT_READ = 2, HIGHLIGHT_WRITE = 3 };

cJSON *feature_definition(struct request *r)
{
	uint32_t id = symbols_symbol_at(&r->snapshot->symbols, r->offset);
	if (!id)
		return NULL;
	const struct symbol *s = &r->snapshot->symbols.symbol.at[id];
	return request_location(r, s->at, s->end);
}

cJSON *feature_references(struct request *r)
{
	const struct symbols *s = &r->snapshot->symbols;
	const cJSON *context = cJSON_GetObjectItemCaseSensitive(r->params, "context");
	bool all = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(context, "includeDeclaration"));
	uint32_t id = symbols_symbol_at(s, r->offset);
	if (!id)
		return NULL;
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->mention.n; i++) {
		const struct mention *x = &s->mention.at[i];
		if (x->kind == MENTION_SYMBOL && x->id == id && (all || !(x->flags & MENTION_DEFINES)))
			cJSON_AddItemToArray(list, request_location(r, x->at, x->end));
	}
	return list;
}

cJSON *feature_highlight(struct request *r)
{
	const struct symbols *s = &r->snapshot->symbols;
	uint32_t id = symbols_symbol_at(s, r->offset);
	if (!id)
		return NULL;
	cJSON *list = cJSON_CreateArray();
	for (uint32_t i = 0; i < s->mention.n; i++) {
		const struct mention *x = &s->mention.at[i];
		if (x->kind != MENTION_SYMBOL || x->id != id)
			continue;
		cJSON *json = cJSON_CreateObject();
		cJSON_AddItemToObject(json, "range", request_range(r, x->at, x->end));
		cJSON_AddNumberToObject(json, "kind", x->flags ? HIGHLIGHT_WRITE : HIGHLIGHT_READ);
		cJSON_AddItemToArray(list, json);
	}
	return list;
}
