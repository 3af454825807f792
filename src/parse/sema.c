/* sema: entry of the semantic step, and -D.
 *
 * First the declarations of the file are read, with -D in place of defaults; then the program or the
 * container. `np` is predefined. */
#include "parse/sema.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "parse/log_lines.h"
#include "parse/sema_internal.h"
#include <stdio.h>
#include <string.h>

name_id sema_name(const struct sema *s, ast_id id)
{
	if (s->a->names == s->m->names)
		return ast_at(s->a, id)->name;
	return names_intern_z(s->m->names, ast_text(s->a, id));
}

struct sema_define *sema_find_define(const struct sema *s, const char *name)
{
	struct sema_define *found = NULL;
	for (unsigned i = 0; i < s->options->define_n; i++)
		if (!strcmp(s->options->define[i].name, name)) {
			s->options->define[i].used = true;
			found = &s->options->define[i]; /* the last one wins */
		}
	return found;
}

static bool is_being_read(struct sema *s, const struct sema_define *define, uint32_t at)
{
	bool again = false;
	for (unsigned i = 0; i < s->reading_n; i++)
		again |= s->reading[i] == define;
	if (again)
		diag_error(s->d, E_DEFINITION_CIRCLE, at, "the definition of '%s' by -D uses itself",
		           define->name);
	else if (s->reading_n == SEMA_MAX_DEFINES)
		diag_error(s->d, E_DEFINITIONS_TOO_DEEP, at, "more than %d -D use each other",
		           SEMA_MAX_DEFINES);
	return again || s->reading_n == SEMA_MAX_DEFINES;
}

expr_id sema_define_expr(struct sema *s, const struct sema_define *define, uint32_t at, bool *late)
{
	if (s->is_listing && (!strcmp(define->text, "true") || !strcmp(define->text, "false"))) {
		if (late)
			*late = false;
		return expr_const(s->m, *define->text == 't');
	}
	if (is_being_read(s, define, at))
		return 0;
	s->reading[s->reading_n++] = define;
	struct buf text = {0};
	buf_printf(&text, "const value = %s\n", define->text);
	char name[64];
	snprintf(name, sizeof name, "-D %.50s", define->name);
	struct source *source = source_from_text(name, text.at, (uint32_t)text.n);
	struct source *outer_source = diag_set_source(s->d, source);
	unsigned before = diag_error_count(s->d);
	struct ast *a = ast_parse(s->d, source), *outer = s->a;
	expr_id e = 0;
	if (diag_error_count(s->d) == before) {
		ast_id decl = ast_child(a, a->root, 0);
		s->a = a;
		if (decl && ast_at(a, decl)->kind == AST_CONST) {
			ast_id value = ast_child(a, decl, 0);
			bool is_late = late && sema_is_late(s, value);
			if (late)
				*late = is_late;
			e = is_late ? 0 : sema_expr(s, value);
		}
		s->a = outer;
	}
	s->reading_n--;
	diag_set_source(s->d, outer_source);
	if (diag_error_count(s->d) > before)
		diag_note(s->d, at, "the value of '%s' comes from -D", define->name);
	ast_free(a);
	source_free(source);
	buf_free(&text);
	return e;
}

static void predefine_np(struct sema *s)
{
	struct sema_define *define = sema_find_define(s, "np");
	expr_id np = expr_const(s->m, s->options->np > 0 ? s->options->np : 1);
	sema_define_scalar(s, names_intern_z(s->m->names, "np"), SCOPE_CONST, np, DIAG_NOWHERE);
	expr_id given = define ? sema_define_expr(s, define, DIAG_NOWHERE, NULL) : 0;
	if (given && expr_is_const(s->m, given, NULL))
		s->entry.at[s->entry.n - 1].id = given;
	else if (given)
		diag_error(s->d, E_OPTION_VALUE, DIAG_NOWHERE, "-D np: np is a number");
}

/* Collects the lines of `Index definitions:`, after the container and in its body. */
static void collect_index_definitions(struct sema *s, ast_id list)
{
	ast_each (s->a, section, list) {
		uint8_t kind = ast_at(s->a, section)->kind;
		if (kind == AST_BLOCK)
			collect_index_definitions(s, section);
		else if (kind == AST_SECTION)
			ast_each (s->a, line, section)
				if (ast_at(s->a, line)->kind == AST_INDEX_DEF)
					vec_push(&s->index_def, line);
	}
}

static void build_file(struct sema *s)
{
	ast_id program = 0;
	unsigned before = diag_error_count(s->d);
	ast_each (s->a, child, s->a->root) {
		uint8_t kind = ast_at(s->a, child)->kind;
		if (kind == AST_PROGRAM || kind == AST_CONTAINER)
			program = child; /* the parser lets only one through */
	}
	ast_each (s->a, child, s->a->root) {
		const struct ast_node *n = ast_at(s->a, child);
		if (n->kind == AST_PARAM || n->kind == AST_CONST || n->kind == AST_MESH ||
		    n->kind == AST_GROUP || n->kind == AST_CLUSTER)
			sema_declaration(s, child);
	}
	if (!program) {
		if (diag_error_count(s->d) == before) {
			diag_error(s->d, E_PROGRAM_NONE, DIAG_NOWHERE, "'%s' holds no program",
			           source_name(s->a->source, s->begin));
			if (s->a->source->file_n > 1 ||
			    !log_lines_note_file(s->d, s->a->source, s->begin, s->a->source->size))
				diag_note(s->d, DIAG_NOWHERE, "write `program NAME on MESH { … }`");
		}
		return;
	}
	if (ast_at(s->a, program)->kind == AST_PROGRAM) {
		sema_program(s, program);
	} else {
		collect_index_definitions(s, program);
		sema_container(s, s->a->root, program);
	}
}

static void mark_groups(struct sema *s)
{
	struct ir_coalesce_fault f;
	if (ir_coalesce_mark(s->m, &f))
		return;
	diag_error(s->d, E_GROUP_RULE, s->m->op.at[f.op].at, "%s", f.rule);
	if (f.other)
		diag_note(s->d, s->m->op.at[f.other].at, "%s", f.other_is);
}

/* Notes, of each -D whose name the program does not have, the param or const that it may mean. */
static void find_meant(const struct sema *s)
{
	for (unsigned i = 0; i < s->options->define_n; i++) {
		struct sema_define *define = &s->options->define[i];
		struct suggest g = suggest_start(define->name);
		for (uint32_t k = 0; k < s->entry.n && !define->used; k++)
			if (s->entry.at[k].depth == 0)
				suggest_try(&g, names_text(s->m->names, s->entry.at[k].name));
		if (g.best && strlen(g.best) < sizeof define->meant)
			strcpy(define->meant, g.best);
	}
}

/* Reads the file of an AST into a module. Statements before it are of other files. */
static void read_file(struct diag *d, struct ast *a, uint32_t begin, struct module *m,
                      const struct sema_options *options)
{
	struct sema s = {.d = d, .a = a, .options = options, .m = m, .begin = begin};
	s.errors = diag_error_count(d);
	s.region = m->body;
	m->source = a->source;
	predefine_np(&s);
	build_file(&s);
	find_meant(&s);
	vec_free(&s.entry);
	vec_free(&s.scalar_of);
	vec_free(&s.tensor_of);
	vec_free(&s.statement_of);
	vec_free(&s.op_of);
	vec_free(&s.output_at);
	vec_free(&s.later_at);
	vec_free(&s.broken_mesh);
	vec_free(&s.later_statement);
	vec_free(&s.forward);
	vec_free(&s.index_def);
	vec_free(&s.defining);
	vec_free(&s.measure);
	if (diag_error_count(d) == s.errors)
		mark_groups(&s);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		m->deallocates |= m->op.at[op].kind == OP_DEALLOCATE;
}

struct module *sema_build_partial(struct diag *d, struct ast *a, const struct sema_options *options)
{
	struct module *m = module_new(a->names);
	read_file(d, a, 0, m, options);
	a->names = NULL;
	return m;
}

struct module *sema_build_file(struct diag *d, struct source *source, uint32_t file, struct module *m,
                               const struct sema_options *options)
{
	unsigned before = diag_error_count(d);
	struct ast *a = ast_parse_file(d, source, file, m ? m->names : NULL);
	m = m ? m : module_new(a->names);
	a->names_are_lent = true;
	if (diag_error_count(d) == before)
		read_file(d, a, source->file[file].at, m, options);
	ast_free(a);
	return m;
}

struct module *sema_build(struct diag *d, struct ast *a, const struct sema_options *options)
{
	unsigned before = diag_error_count(d);
	struct module *m = sema_build_partial(d, a, options);
	if (diag_error_count(d) == before)
		return m;
	module_free(m);
	return NULL;
}
