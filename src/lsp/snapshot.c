/* snapshot: runs parser and semantic step on a text that may be half-written.
 *
 * After a syntax error the statements that could be read are still analysed, for hover and other features.
 * Their errors are not reported, since most are due to the missing parts. */
#include "lsp/snapshot.h"
#include "base/source.h"

void snapshot_keep(void *to, const struct diag_message *m)
{
	struct snapshot *x = to;
	bool here = m->source == x->source;
	vec_push(&x->message, (struct snapshot_message){
	                          .severity = (uint8_t)m->severity,
	                          .at = here ? m->at : DIAG_NOWHERE,
	                          .length = m->length,
	                          .text = arena_strndup(x->arena, m->text, strlen(m->text)),
	                          .number = m->number,
	                      });
}

static int by_place(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Finds the values of tensors, by the place of their definition; in the nvFuser surface by number. */
static void find_values(struct snapshot *x)
{
	struct place {
		uint32_t at;
		value_id value;
	};
	VEC(struct place) by_at = {0}, by_number = {0};
	for (value_id v = 1; v < x->module->value.n; v++) {
		const struct value *y = &x->module->value.at[v];
		vec_push(&by_at, (struct place){y->at, v});
		if (y->number >= 0)
			vec_push(&by_number, (struct place){(uint32_t)y->number, v});
	}
	if (by_at.n)
		qsort(by_at.at, by_at.n, sizeof *by_at.at, by_place);
	if (by_number.n)
		qsort(by_number.at, by_number.n, sizeof *by_number.at, by_place);
	for (uint32_t i = 0; i < x->symbols.symbol.n; i++) {
		const struct symbol *s = &x->symbols.symbol.at[i];
		const char *name = names_text(x->ast->names, s->name);
		bool printed = s->kind == SYMBOL_TENSOR && x->ast->surface == SURFACE_NVFUSER;
		struct place key = {printed ? (uint32_t)strtoul(name + (*name == 'T'), NULL, 10) : s->at, 0};
		const struct place *p = NULL;
		if (printed && by_number.n)
			p = bsearch(&key, by_number.at, by_number.n, sizeof key, by_place);
		else if (s->kind == SYMBOL_TENSOR && by_at.n)
			p = bsearch(&key, by_at.at, by_at.n, sizeof key, by_place);
		vec_push(&x->value, p ? p->value : 0);
	}
	vec_free(&by_at);
	vec_free(&by_number);
}

struct snapshot *snapshot_new(const char *name, const char *text, uint32_t size,
                              const struct sema_options *options)
{
	struct snapshot *x = mem_zalloc(sizeof *x);
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	x->arena = arena_new();
	x->source = source_from_text(name, text, size);
	diag_set_sink(d, snapshot_keep, x);
	diag_set_source(d, x->source);
	x->ast = ast_parse(d, x->source);
	diag_set_source(d, x->source);
	x->broken = diag_error_count(d) > 0;
	if (x->broken)
		diag_set_sink(d, NULL, NULL);
	x->module = sema_build_partial(d, x->ast, options);
	x->ast->names = x->module->names;
	x->has_errors = diag_error_count(d) > 0;
	diag_free(d);
	symbols_find(x->ast, &x->symbols);
	find_values(x);
	return x;
}

void snapshot_free(struct snapshot *x)
{
	if (!x)
		return;
	x->ast->names = NULL; /* the module owns them */
	ast_free(x->ast);
	module_free(x->module);
	module_free(x->settled);
	source_free(x->source);
	symbols_free(&x->symbols);
	vec_free(&x->message);
	vec_free(&x->value);
	arena_free(x->arena);
	free(x);
}
