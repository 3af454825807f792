/* complete: finds the words that fit at a place, in the tables that parser and passes use. */
#include "lsp/complete.h"
#include "parse/lex.h"
#include "parse/vocabulary.h"
#include "pass/pass_option.h"
#include <strings.h>

enum { MOST_ITEMS = 2000 }; /* a longer list is sent as incomplete */

enum { /* CompletionItemKind of the protocol */
       ITEM_FUNCTION = 3,
       ITEM_FIELD = 5,
       ITEM_VARIABLE = 6,
       ITEM_MODULE = 9,
       ITEM_PROPERTY = 10,
       ITEM_VALUE = 12,
       ITEM_KEYWORD = 14,
       ITEM_ENUM_MEMBER = 20,
       ITEM_CONSTANT = 21,
       ITEM_STRUCT = 22,
       ITEM_EVENT = 23,
       ITEM_TYPE = 25,
};

struct list {
	struct request *r;
	struct complete_context c;
	cJSON *items;
	unsigned n;
	bool cut;
	const char *typed; /* the word typed so far, and its length */
	size_t typed_n;
};

static void add_item(struct list *l, const char *label, const char *suffix, unsigned kind, const char *detail)
{
	if (strncasecmp(label, l->typed, l->typed_n) != 0)
		return;
	if (l->n == MOST_ITEMS) {
		l->cut = true;
		return;
	}
	cJSON *item = cJSON_CreateObject(), *edit = cJSON_CreateObject();
	struct buf text = {0};
	buf_printf(&text, "%s%s", label, suffix);
	cJSON_AddStringToObject(item, "label", label);
	cJSON_AddNumberToObject(item, "kind", kind);
	if (detail)
		cJSON_AddStringToObject(item, "detail", detail);
	cJSON_AddItemToObject(edit, "range", request_range(l->r, l->c.from, l->r->offset));
	cJSON_AddStringToObject(edit, "newText", text.at);
	cJSON_AddItemToObject(item, "textEdit", edit);
	cJSON_AddItemToArray(l->items, item);
	buf_free(&text);
	l->n++;
}

static void add_words(struct list *l, const char *(*word)(unsigned k), unsigned kind, const char *detail)
{
	for (unsigned k = 0; word(k); k++)
		add_item(l, word(k), "", kind, detail);
}

/* Adds the symbols of some kinds that can be used here. */
static void add_symbols(struct list *l, uint32_t kinds)
{
	const struct snapshot *x = l->r->snapshot;
	for (uint32_t i = x->symbols.symbol.n; i-- > 1;) { /* the nearest first */
		const struct symbol *s = &x->symbols.symbol.at[i];
		unsigned kind = s->kind == SYMBOL_TENSOR      ? ITEM_VARIABLE
		                : s->kind == SYMBOL_AXIS      ? ITEM_ENUM_MEMBER
		                : s->kind == SYMBOL_MESH      ? ITEM_STRUCT
		                : s->kind == SYMBOL_STATEMENT ? ITEM_EVENT
		                                              : ITEM_CONSTANT;
		bool anywhere = s->kind == SYMBOL_STATEMENT; /* a wait in a loop may name a later statement */
		if ((kinds >> s->kind & 1) && (anywhere || (s->from <= l->c.from && l->c.from <= s->to))) {
			struct buf name = {0};
			buf_putn(&name, x->source->text + s->at, s->end - s->at);
			add_item(l, name.at, "", kind, symbol_kind_text[s->kind]);
			buf_free(&name);
		}
	}
}

#define KIND(kind) (1u << SYMBOL_##kind)

static void add_scalars(struct list *l)
{
	add_symbols(l, KIND(PARAM) | KIND(CONST) | KIND(LET) | KIND(INDEX));
	add_words(l, vocabulary_function, ITEM_FUNCTION, "function of index expressions");
	add_words(l, vocabulary_value, ITEM_VALUE, NULL);
}

static void add_operations(struct list *l)
{
	for (unsigned k = 1; k < OP_KIND_COUNT; k++)
		if (op_info[k].form != FORM_CONTROL && k != OP_EXTERN)
			add_item(l, op_info[k].hir, "", ITEM_FUNCTION, op_info[k].meaning);
	add_item(l, "extern", "", ITEM_KEYWORD, op_info[OP_EXTERN].meaning);
}

static void add_operands(struct list *l)
{
	add_symbols(l, KIND(TENSOR));
	add_scalars(l);
	add_operations(l);
}

/* Adds words separated by blanks, as keys. */
static void add_keys(struct list *l, const char *words, const char *detail)
{
	char word[64];
	for (const char *at = words; *at && *at != '*';) {
		size_t n = strcspn(at, " ");
		snprintf(word, sizeof word, "%.*s", (int)n, at);
		add_item(l, word, "=", ITEM_PROPERTY, detail);
		at += n + strspn(at + n, " ");
	}
}

static void add_arguments(struct list *l)
{
	enum op_kind kind = op_by_hir(l->c.call);
	if (kind == OP_NONE) {
		for (unsigned k = 0; vocabulary_argument(l->c.call, k); k++)
			add_item(l, vocabulary_argument(l->c.call, k), "=", ITEM_PROPERTY, l->c.call);
		add_symbols(l, KIND(AXIS));
		add_scalars(l);
		return;
	}
	add_keys(l, op_info[kind].attributes, op_info[kind].hir);
	for (unsigned k = 0; vocabulary_key(kind, k); k++)
		add_item(l, vocabulary_key(kind, k), "=", ITEM_PROPERTY, op_info[kind].hir);
	if (kind == OP_WAIT || kind == OP_POST || kind == OP_SHARE_MEM_HANDLES)
		add_symbols(l, KIND(STATEMENT));
	else if (kind == OP_SET_CURRENT_STREAM || kind == OP_SYNCHRONIZE)
		add_symbols(l, KIND(STREAM));
	else
		add_operands(l);
}

static void add_values(struct list *l)
{
	enum op_kind kind = op_by_hir(l->c.call);
	bool collective = op_info[kind].traits & TRAIT_COLLECTIVE;
	if ((collective || kind == OP_SYMMETRIC_VIEW) && !strcmp(l->c.key, "axis")) {
		add_symbols(l, KIND(AXIS));
	} else if (collective && !strcmp(l->c.key, "group")) {
		add_symbols(l, KIND(GROUP));
	} else if (collective && !strcmp(l->c.key, "op")) {
		for (unsigned k = 0; k < REDUCE_COUNT; k++)
			add_item(l, reduce_op_name(k), "", ITEM_ENUM_MEMBER, "reduction");
	} else if (vocabulary_is_switch(l->c.key)) {
		add_item(l, "true", "", ITEM_VALUE, NULL);
		add_item(l, "false", "", ITEM_VALUE, NULL);
	} else {
		add_scalars(l);
	}
}

/* Adds the keywords that begin a statement of a program, or a declaration outside programs. */
static void add_keywords(struct list *l, bool program)
{
	for (uint32_t k = 1; k < WORD_FIRST_BODY; k++) {
		bool declares = k == WORD_PARAM || k == WORD_CONST || k == WORD_MESH || k == WORD_GROUP ||
		                k == WORD_PROGRAM;
		if (lex_words[k].lead && declares != program)
			add_item(l, lex_words[k].text, " ", ITEM_KEYWORD, NULL);
	}
	if (!program)
		add_item(l, lex_words[WORD_CLUSTER].text, " ", ITEM_KEYWORD, NULL);
}

static void add_passes(struct list *l)
{
	for (unsigned k = 0; k < PASS_COUNT; k++)
		add_item(l, pass_info[k].name, "", ITEM_MODULE, pass_info[k].help);
}

/* Adds the options of a pass, each with its values and meaning. */
static void add_options(struct list *l)
{
	enum pass_id pass = pass_find(l->c.call, strlen(l->c.call));
	for (unsigned k = 0; k < PASS_OPTION_COUNT; k++) {
		const struct pass_option_info *p = &pass_option_info[k];
		struct buf detail = {0};
		if (p->pass != pass)
			continue;
		pass_option_put_values(k, &detail);
		buf_putc(&detail, ' ');
		pass_option_put_help(k, &detail);
		add_item(l, p->name, "=", ITEM_PROPERTY, detail.at);
		buf_free(&detail);
	}
}

static void fill_items(struct list *l)
{
	switch (l->c.place) {
	case COMPLETE_NOTHING:
		break;
	case COMPLETE_FILE:
		add_keywords(l, false);
		break;
	case COMPLETE_STATEMENT:
		add_keywords(l, true);
		add_symbols(l, KIND(TENSOR));
		add_operations(l);
		break;
	case COMPLETE_OPERAND:
		add_operands(l);
		break;
	case COMPLETE_ARGUMENT:
		add_arguments(l);
		break;
	case COMPLETE_VALUE:
		add_values(l);
		break;
	case COMPLETE_DATA:
		add_words(l, vocabulary_initialiser, ITEM_FUNCTION, "data of an input");
		break;
	case COMPLETE_TYPE:
		for (unsigned k = 0; k < DTYPE_COUNT; k++)
			add_item(l, dtype_name(k), "[", ITEM_TYPE, dtype_nvfuser_name(k));
		break;
	case COMPLETE_SUFFIX:
		add_item(l, lex_words[WORD_ON].text, " ", ITEM_KEYWORD, NULL);
		add_item(l, lex_words[WORD_PARTIAL].text, "(", ITEM_KEYWORD, NULL);
		add_item(l, lex_words[WORD_REDUCE].text, "(", ITEM_KEYWORD, NULL);
		add_words(l, vocabulary_memory, ITEM_KEYWORD, "memory");
		break;
	case COMPLETE_EXTENT:
		add_scalars(l);
		break;
	case COMPLETE_PLACE:
		add_symbols(l, KIND(AXIS));
		add_words(l, vocabulary_placement, ITEM_FUNCTION, "placement");
		break;
	case COMPLETE_MESH:
		add_symbols(l, KIND(MESH));
		break;
	case COMPLETE_TENSOR:
		add_symbols(l, KIND(TENSOR));
		break;
	case COMPLETE_PRIMITIVE:
		add_words(l, vocabulary_primitive, ITEM_FUNCTION, "scheduling primitive");
		break;
	case COMPLETE_PASS:
		add_passes(l);
		break;
	case COMPLETE_OPTION:
		add_options(l);
		break;
	}
}

cJSON *feature_complete(struct request *r)
{
	struct list l = {.r = r, .c = complete_find(r->snapshot, r->offset), .items = cJSON_CreateArray()};
	l.typed = r->document->text.at + l.c.from;
	l.typed_n = r->offset - l.c.from;
	fill_items(&l);
	cJSON *json = cJSON_CreateObject();
	cJSON_AddBoolToObject(json, "isIncomplete", l.cut);
	cJSON_AddItemToObject(json, "items", l.items);
	return json;
}
