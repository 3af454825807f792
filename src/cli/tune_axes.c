/* tune_axes: finds the axes of the search.
 *
 *     const s = 3                          s is an axis, a number of chunks: a const that occurs only in
 *     input X: f32[t@stream(s), k]         @stream(s), @serial(s) or `for i in 0..s parallel(stream)`
 *
 * The axis of transformations of collectives is added last, once the program is known to be right: its values
 * are the transformations that apply to it. For a recorded graph the order and buckets are varied.
 *
 * A const that is also an extent, the size of a mesh or part of an index is not an axis, since another value
 * would make another program. Neither is `np`. `-D s=2,4` sets the values to try. */
#include "cli/bench.h"
#include "cli/tune.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *const tune_axis_name[TUNE_KINDS] = {"chunks", "pipeline", "offset-streams", "zero-copy",
                                                "fuse",   "overlap",  "streams",        "transform"};

/* ---- --search */

static bool read_search(struct tune *t, bool *wanted)
{
	bool all = !strcmp(t->search, "all");
	for (unsigned k = 0; k < TUNE_KINDS; k++)
		wanted[k] = all;
	for (const char *s = t->search; *s && !all;) {
		size_t n = strcspn(s, ",");
		const char *word = arena_strndup(t->arena, s, n);
		struct suggest near = suggest_start(word);
		bool found = false;
		for (unsigned k = 0; k < TUNE_KINDS; k++) {
			bool is = !strcmp(word, tune_axis_name[k]);
			wanted[k] |= is;
			found |= is;
			suggest_try(&near, tune_axis_name[k]);
		}
		if (!found) {
			diag_error(t->d, E_VARY_NOTHING, DIAG_NOWHERE,
			           "--search: '%s' is nothing that can be varied", word);
			if (near.best)
				diag_suggest(t->d, &near);
			else
				diag_note(t->d, DIAG_NOWHERE,
				          "there are chunks, pipeline, offset-streams, zero-copy, fuse, "
				          "overlap, streams and transform, or all");
			return false;
		}
		s += n;
		s += *s == ',';
		if (!*s)
			return true;
	}
	return true;
}

/* ---- consts */

enum use { USE_NONE, USE_COUNT, USE_OTHER };

/* Returns the number of chunks that a node states: the argument of a placement, or the end of a loop. 0:
 * none. */
static ast_id count_of(const struct ast *a, ast_id id)
{
	const struct ast_node *n = ast_at(a, id);
	if (n->kind == AST_PLACE &&
	    (!strcmp(ast_text(a, id), "stream") || !strcmp(ast_text(a, id), "serial")))
		return n->first;
	if (n->kind == AST_FOR && !(n->flags & AST_FOR_IN) && ast_child(a, id, 3))
		return ast_child(a, id, 1);
	return 0;
}

/* Finds how a const is used. *at: its last use, or the first one that is not a number of chunks. */
static enum use use_of(const struct ast *a, uint32_t name, uint32_t *at)
{
	enum use use = USE_NONE;
	bool *counts = mem_zalloc(a->nodes.n);
	for (ast_id id = 1; id < a->nodes.n; id++)
		counts[count_of(a, id)] = true;
	for (ast_id id = 1; id < a->nodes.n && use != USE_OTHER; id++) {
		const struct ast_node *n = ast_at(a, id);
		if (n->kind != AST_NAME || n->name != name)
			continue;
		use = counts[id] ? USE_COUNT : USE_OTHER;
		*at = n->at;
	}
	free(counts);
	return use;
}

/* Returns true if at least one use of a const is a number of chunks. */
static bool counts_somewhere(const struct ast *a, uint32_t name)
{
	for (ast_id id = 1; id < a->nodes.n; id++) {
		ast_id count = count_of(a, id);
		if (count && ast_at(a, count)->kind == AST_NAME && ast_at(a, count)->name == name)
			return true;
	}
	return false;
}

static void add_value(struct tune_axis *x, const char *value)
{
	for (uint32_t k = 1; k < x->n; k++)
		if (!strcmp(x->value[k], value))
			return;
	if (x->n < TUNE_MAX_VALUES)
		x->value[x->n++] = value;
}

static struct tune_axis *add_axis(struct tune *t, enum tune_axis_kind kind, const char *name)
{
	if (t->axis_n == TUNE_MAX_AXES)
		return NULL;
	struct tune_axis *x = &t->axis[t->axis_n++];
	*x = (struct tune_axis){.kind = (uint8_t)kind, .name = name, .n = 1};
	return x;
}

static struct sema_define *define_of(struct tune *t, const char *name)
{
	for (uint32_t k = 0; k < t->compile.define.n; k++)
		if (!strcmp(t->compile.define.at[k].name, name))
			return &t->compile.define.at[k];
	return NULL;
}

static bool is_list(const char *text)
{
	return bench_list_next(text) != NULL;
}

static bool is_count(const char *text)
{
	char *end;
	errno = 0;
	long long n = strtoll(text, &end, 10);
	return n >= 1 && !*end && !errno;
}

/* Reads the values of `-D s=2,4`, and removes this -D from the program's. */
static bool take_list(struct tune *t, struct tune_axis *x, struct sema_define *d)
{
	for (const char *s = d->text; s; s = bench_list_next(s)) {
		struct buf value = {0};
		bench_list_value(s, &value);
		if (!value.n || x->n == TUNE_MAX_VALUES) {
			diag_error(t->d, E_DEFINE_VALUES, DIAG_NOWHERE,
			           value.n ? "-D %s: more than %d values" : "-D %s: a value is empty",
			           d->name, TUNE_MAX_VALUES - 1);
			buf_free(&value);
			return false;
		}
		if (!is_count(value.at)) {
			diag_error(t->d, E_DEFINE_VALUES, DIAG_NOWHERE,
			           "-D %s: '%s' is not a number of chunks: give whole numbers from 1 on",
			           d->name, value.at);
			buf_free(&value);
			return false;
		}
		add_value(x, arena_strndup(t->arena, value.at, value.n));
		buf_free(&value);
	}
	*d = t->compile.define.at[--t->compile.define.n];
	return true;
}

/* Adds a remark about a const that is not an axis, although it counts chunks or the user wants to vary it. */
static void remark_other(struct tune *t, ast_id decl, uint32_t at)
{
	uint32_t line, column;
	source_position(t->source, at, &line, &column);
	vec_push(&t->remark,
	         arena_printf(t->arena, "const '%s' is not varied: it has another meaning in line %u",
	                      ast_text(t->ast, decl), line));
}

static void remark_zero_copy(struct tune *t)
{
	struct buf names = {0};
	transport_kind_put(&names, TRANSPORT_ON_GPU | TRANSPORT_HAS_VIEWS, "and");
	vec_push(&t->remark,
	         arena_printf(t->arena, "zero-copy with --target=cuda is of --transport=%s", names.at));
	buf_free(&names);
}

static bool find_const(struct tune *t, ast_id decl, bool wanted)
{
	static const char *const counts[] = {"1", "2", "3", "4", "6", "8", "12", "16"};
	const struct ast *a = t->ast;
	const char *name = ast_text(a, decl);
	struct sema_define *given = define_of(t, name);
	uint32_t at = 0;
	if (!strcmp(name, "np") || !counts_somewhere(a, ast_at(a, decl)->name))
		return true;
	if (use_of(a, ast_at(a, decl)->name, &at) == USE_OTHER) {
		remark_other(t, decl, at);
		return true;
	}
	if (given ? !is_list(given->text) : !wanted)
		return true;
	struct tune_axis *x = add_axis(t, TUNE_CHUNKS, name);
	if (!x) {
		diag_error(t->d, E_VARY_NOTHING, ast_at(a, decl)->at,
		           "more than %d things that can be varied", TUNE_MAX_AXES);
		diag_note(t->d, DIAG_NOWHERE, "-D %s=N keeps one of them as it is", name);
		return false;
	}
	if (given)
		return take_list(t, x, given);
	const struct ast_node *now = ast_at(a, ast_child(a, decl, 0));
	for (unsigned k = 0; k < sizeof counts / sizeof *counts; k++)
		if (now->kind != AST_INT || now->value.i != strtoll(counts[k], NULL, 10))
			add_value(x, counts[k]);
	return true;
}

static bool check_twice(struct tune *t)
{
	const struct sema_define *d = t->compile.define.at;
	for (uint32_t k = 0; k < t->compile.define.n; k++)
		for (uint32_t before = 0; before < k; before++) {
			if (strcmp(d[before].name, d[k].name) != 0)
				continue;
			diag_error(t->d, E_DEFINE_VALUES, DIAG_NOWHERE, "-D gives '%s' values twice",
			           d[k].name);
			diag_note(t->d, DIAG_NOWHERE, "a list has all of them: -D %s=%s,%s", d[k].name,
			          d[before].text, d[k].text);
			return false;
		}
	return true;
}

/* Refuses -D lists for names that are not axes. */
static bool check_lists(struct tune *t)
{
	for (uint32_t k = 0; k < t->compile.define.n; k++) {
		const struct sema_define *d = &t->compile.define.at[k];
		if (!is_list(d->text))
			continue;
		diag_error(t->d, E_DEFINE_VALUES, DIAG_NOWHERE,
		           "-D %s: only a number of chunks takes several values, and '%s' is not one",
		           d->name, d->name);
		diag_note(t->d, DIAG_NOWHERE,
		          "a number of chunks is a const that occurs only in @stream(…), @serial(…) or as "
		          "the end of "
		          "a stream-parallel loop");
		return false;
	}
	return true;
}

/* ---- options */

static void add_option(struct tune *t, enum tune_axis_kind kind, const char *const *value)
{
	struct tune_axis *x = add_axis(t, kind, tune_axis_name[kind]);
	for (; x && *value; value++)
		add_value(x, *value);
}

static void find_options(struct tune *t, const bool *wanted)
{
	static const char *const pipeline[] = {"broadcast", "permute", "collective", "p2p", "p2p-put", NULL},
	                         *const yes[] = {"yes", NULL}, *const fuse[] = {"no", "all", NULL},
	                         *const overlap[] = {"order", "buckets", "search", "coalesced", NULL},
	                         *const streams[] = {"1", "2", "8", NULL};
	static const struct {
		const char *option; /* if given, the axis is not varied */
		const char *const *value;
	} of[TUNE_KINDS] = {
	    [TUNE_PIPELINE] = {"pipeline", pipeline}, [TUNE_OFFSET_STREAMS] = {"offset-streams", yes},
	    [TUNE_ZERO_COPY] = {"zero-copy", yes},    [TUNE_FUSE] = {"fuse-pointwise", fuse},
	    [TUNE_OVERLAP] = {"effort", overlap},     [TUNE_STREAMS] = {"streams", streams}};
	bool fixed = options_given(t->line, "bucket-mode") || options_given(t->line, "memory-limit") ||
	             options_given(t->line, "passes");
	bool reads_peers = rank_options_see_memory(&t->ranks);
	if (wanted[TUNE_ZERO_COPY] && t->ast && !reads_peers)
		remark_zero_copy(t);
	for (unsigned k = TUNE_CHUNKS + 1; k < TUNE_TRANSFORM; k++)
		if (wanted[k] && (k != TUNE_ZERO_COPY || reads_peers) && (t->ast || k == TUNE_OVERLAP) &&
		    !options_given(t->line, of[k].option) && !(k == TUNE_OVERLAP && fixed))
			add_option(t, (enum tune_axis_kind)k, of[k].value);
}

/* Returns false after reporting that there is no axis. */
static bool check_any(struct tune *t)
{
	if (t->axis_n)
		return true;
	diag_error(t->d, E_VARY_NOTHING, DIAG_NOWHERE, "there is nothing to vary");
	for (uint32_t k = 0; k < t->remark.n; k++)
		diag_note(t->d, DIAG_NOWHERE, "%s", t->remark.at[k]);
	if (t->transforms)
		diag_note(t->d, DIAG_NOWHERE, "no collective can be merged, split or cut in chunks");
	diag_note(t->d, DIAG_NOWHERE,
	          t->ast
	              ? "chunks are `const s = 4` and `@stream(s)` in the source; options that are given "
	                "stay as they are"
	              : "of a recorded graph only `overlap` is varied; options that are given stay as they "
	                "are");
	return false;
}

bool tune_axes_find(struct tune *t)
{
	bool wanted[TUNE_KINDS] = {0}, ok = read_search(t, wanted) && check_twice(t);
	for (ast_id id = 1; t->ast && id < t->ast->nodes.n && ok; id++)
		if (ast_at(t->ast, id)->kind == AST_CONST)
			ok = find_const(t, id, wanted[TUNE_CHUNKS]);
	ok = ok && check_lists(t);
	if (!ok)
		return false;
	find_options(t, wanted);
	t->transforms = t->ast && wanted[TUNE_TRANSFORM] && !options_given(t->line, "transform") &&
	                !options_given(t->line, "passes");
	return (t->transforms && !strcmp(t->search, tune_axis_name[TUNE_TRANSFORM])) || check_any(t);
}

bool tune_axes_end(struct tune *t)
{
	bool possible[COMPILE_TRANSFORMS],
	    by_default = strcmp(compile_transform_list(&t->compile), "no") != 0;
	const char *value[COMPILE_TRANSFORMS + 2] = {NULL};
	unsigned n = 0, found = 0;
	if (t->transforms) {
		tune_transforms_find(t, possible);
		for (unsigned k = 0; k < COMPILE_TRANSFORMS; k++)
			found += possible[k];
	}
	if (found && by_default)
		value[n++] = "no";
	else if (found > 1)
		value[n++] = "all";
	for (unsigned k = 0; found && k < COMPILE_TRANSFORMS; k++)
		if (possible[k] && (found > 1 || !by_default))
			value[n++] = compile_transform[k].word;
	if (n)
		add_option(t, TUNE_TRANSFORM, value);
	return check_any(t);
}
