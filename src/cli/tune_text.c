/* tune_text: choices as words, as a command line and in the source. */
#include "cli/tune.h"
#include "import/import.h"
#include "ir/print.h"
#include <stdlib.h>
#include <string.h>

/* ---- words */

const char *tune_bucket_mode(const char *overlap)
{
	return !strcmp(overlap, "order") ? "none" : !strcmp(overlap, "coalesced") ? overlap : "pack";
}

const char *tune_effort(const char *overlap)
{
	return !strcmp(overlap, "search") ? "2" : "1";
}

void tune_put_choices(const struct tune *t, const struct tune_candidate *c, struct buf *out)
{
	size_t before = out->n;
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (c->choice[k])
			buf_printf(out, "%s%s=%s", out->n > before ? " " : "", t->axis[k].name,
			           t->axis[k].value[c->choice[k]]);
	if (out->n == before)
		buf_puts(out, "as it stands");
}

/* ---- command lines */

/* Puts a word as a shell reads it. */
static void put_word(struct buf *out, const char *word)
{
	static const char plain[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-=+,./:@%";
	if (*word && word[strspn(word, plain)] == '\0') {
		buf_printf(out, " %s", word);
		return;
	}
	buf_puts(out, " '");
	for (; *word; word++)
		buf_printf(out, *word == '\'' ? "'\\''" : "%c", *word);
	buf_putc(out, '\'');
}

static void put_define(struct buf *out, const char *name, const char *text)
{
	struct buf word = {0};
	buf_printf(&word, "%s=%s", name, text);
	buf_puts(out, " -D");
	put_word(out, word.at);
	buf_free(&word);
}

/* Puts an option as on the command line, from the field that it has set. */
static void put_given(struct tune *t, const struct option *o, struct buf *out)
{
	const void *field = options_field(t->line, o);
	struct buf word = {0};
	switch (o->kind) {
	case OPTION_SWITCH:
		buf_printf(&word, "--%s%s", *(const bool *)field ? "" : "no-", o->name);
		break;
	case OPTION_TEXT:
	case OPTION_MAYBE:
		buf_printf(&word, "--%s=%s", o->name, *(const char *const *)field);
		break;
	case OPTION_INT:
	case OPTION_SIZE:
		buf_printf(&word, "--%s=%lld", o->name, (long long)*(const int64_t *)field);
		break;
	case OPTION_CALL: /* -D */
		for (uint32_t k = 0; k < t->compile.define.n; k++)
			put_define(out, t->compile.define.at[k].name, t->compile.define.at[k].text);
		return;
	}
	put_word(out, word.at);
	buf_free(&word);
}

/* Returns true if passes run that use the cluster's times. */
static bool needs_cluster(const struct tune *t, const struct tune_candidate *c)
{
	const struct compile_options *o = &t->compile;
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (c->choice[k] &&
		    (t->axis[k].kind == TUNE_OVERLAP ||
		     (t->axis[k].kind == TUNE_TRANSFORM && strcmp(t->axis[k].value[c->choice[k]], "no"))))
			return true;
	return strcmp(compile_transform_list(o), "no") || o->effort || o->bucket_mode || o->memory_limit ||
	       o->passes;
}

/* Puts options of the compiler and the ranks, once each, except --remarks, which belongs to the search. */
static void put_all_given(struct tune *t, const struct tune_candidate *c, struct buf *out)
{
	for (uint32_t k = 0; k < t->line->given.n; k++) {
		const struct option *o = t->line->given.at[k];
		bool left_out = false, known = false;
		if (o->name)
			left_out = !strcmp(o->name, "remarks") ||
			           (!strcmp(o->name, "cluster") && !needs_cluster(t, c));
		for (uint32_t i = 0; i < k; i++)
			left_out |= t->line->given.at[i] == o;
		for (unsigned i = 1; i < t->line->table_n; i++)
			known |= option_table_has(&t->line->table[i], o);
		if (known && !left_out)
			put_given(t, o, out);
	}
}

static void put_choice(const struct tune *t, const struct tune_candidate *c, uint32_t k, bool consts,
                       struct buf *out)
{
	const struct tune_axis *x = &t->axis[k];
	const char *value = x->value[c->choice[k]];
	switch ((enum tune_axis_kind)x->kind) {
	case TUNE_CHUNKS:
		if (consts)
			put_define(out, x->name, value);
		break;
	case TUNE_PIPELINE:
		buf_printf(out, " --pipeline=%s", value);
		break;
	case TUNE_OFFSET_STREAMS:
		buf_puts(out, " --offset-streams");
		break;
	case TUNE_ZERO_COPY:
		buf_puts(out, " --zero-copy");
		break;
	case TUNE_FUSE:
		buf_printf(out, " --fuse-pointwise%s", strcmp(value, "no") ? "" : "=no");
		break;
	case TUNE_OVERLAP:
		buf_printf(out, " --effort=%s --bucket-mode=%s", tune_effort(value), tune_bucket_mode(value));
		break;
	case TUNE_STREAMS:
		buf_printf(out, " --streams=%s", value);
		break;
	case TUNE_TRANSFORM:
		buf_printf(out, " --transform=%s", value);
		break;
	case TUNE_KINDS:
		break;
	}
}

void tune_put_options(struct tune *t, const struct tune_candidate *c, bool consts, struct buf *out)
{
	put_all_given(t, c, out);
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (c->choice[k])
			put_choice(t, c, k, consts, out);
}

void tune_put_changes(const struct tune *t, const struct tune_candidate *c, struct buf *out)
{
	size_t from = out->n;
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (c->choice[k])
			put_choice(t, c, k, true, out);
	if (out->n > from) { /* removes the blank before the first option */
		memmove(out->at + from, out->at + from + 1, out->n - from - 1);
		out->n--;
	}
}

/* ---- programs */

/* Returns the value that a candidate gives to a const; NULL: the present value. */
static const char *value_of(const struct tune *t, const struct tune_candidate *c, const char *name)
{
	for (uint32_t k = 0; k < t->axis_n; k++)
		if (t->axis[k].kind == TUNE_CHUNKS && c->choice[k] && !strcmp(t->axis[k].name, name))
			return t->axis[k].value[c->choice[k]];
	return NULL;
}

struct replacement {
	uint32_t from, to;
	const char *text;
};

static int by_place(const void *a, const void *b)
{
	const struct replacement *x = a, *y = b;
	return x->from < y->from ? -1 : x->from > y->from;
}

static void put_source(const struct tune *t, const struct tune_candidate *c, struct buf *out)
{
	VEC(struct replacement) change = {0};
	uint32_t at = 0;
	for (ast_id id = 1; id < t->ast->nodes.n; id++) {
		const char *text =
		    ast_at(t->ast, id)->kind == AST_CONST ? value_of(t, c, ast_text(t->ast, id)) : NULL;
		const struct ast_node *now = text ? ast_at(t->ast, ast_child(t->ast, id, 0)) : NULL;
		if (now)
			vec_push(&change, ((struct replacement){now->at, now->end, text}));
	}
	if (change.n)
		qsort(change.at, change.n, sizeof *change.at, by_place);
	for (uint32_t k = 0; k < change.n; k++) {
		buf_putn(out, t->source->text + at, change.at[k].from - at);
		buf_puts(out, change.at[k].text);
		at = change.at[k].to;
	}
	buf_putn(out, t->source->text + at, t->source->size - at);
	vec_free(&change);
}

static void put_recorded(struct tune *t, struct buf *out)
{
	struct source *s = source_copy(t->source);
	struct source *outer = diag_set_source(t->d, s);
	struct module *m = import_read(t->d, s);
	if (m)
		ir_print_hir(m, out);
	diag_set_source(t->d, outer);
	module_free(m);
	source_free(s);
}

void tune_put_program(struct tune *t, const struct tune_candidate *c, const char *path, struct buf *out)
{
	buf_puts(out, t->recorded ? "# hirc sim" : "# hirc run");
	put_word(out, path);
	tune_put_options(t, c, false, out);
	buf_putc(out, '\n');
	if (t->ast)
		put_source(t, c, out);
	else
		put_recorded(t, out);
}
