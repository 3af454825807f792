/* sema_scope: the name spaces: tensors; scalars (consts, params, lets, indices, handles) in nested blocks;
 * meshes and groups; statements. */
#include "ir/edit.h"
#include "ir/unit.h"
#include "parse/sema_internal.h"
#include "parse/shape.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define by_name(v, name) ((name) < (v)->n ? (v)->at[name] : 0)

#define set_by_name(v, name, x)                                                                              \
	do {                                                                                                 \
		while ((v)->n <= (name))                                                                     \
			vec_push((v), 0);                                                                    \
		(v)->at[name] = (x);                                                                         \
	} while (0)

void sema_scope_push(struct sema *s)
{
	s->depth++;
}

/* Ends a block. A scalar of a foreign dump is defined for the whole container (depth 0) at its first use, so
 * it may lie above the block's entries. It is kept; the block's entries are marked. */
void sema_scope_pop(struct sema *s)
{
	for (uint32_t i = s->entry.n; i-- > 0 && s->depth;) {
		struct scope_entry *e = &s->entry.at[i];
		if (e->depth == s->depth) {
			s->scalar_of.at[e->name] = e->outer;
			e->depth = UINT32_MAX;
		} else if (e->depth != 0 && e->depth != UINT32_MAX) {
			break;
		}
		if (i + 1 == s->entry.n && e->depth == UINT32_MAX)
			s->entry.n--;
	}
	s->depth--;
}

bool sema_define_scalar(struct sema *s, name_id name, enum scope_kind kind, uint32_t id, uint32_t at)
{
	uint32_t outer = by_name(&s->scalar_of, name);
	if (outer) {
		struct scope_entry *e = &s->entry.at[outer - 1];
		if (e->depth == s->depth && e->at == DIAG_NOWHERE) { /* a file may state a predefined const */
			e->at = at;
			return true;
		}
		if (e->depth == s->depth) {
			const char *text = names_text(s->m->names, name);
			diag_error_span(s->d, E_DEFINED_TWICE, at, (uint32_t)strlen(text),
			                "'%s' is defined twice", text);
			diag_note(s->d, e->at, "the first definition is here");
			return false;
		}
	}
	if (s->depth)
		memset(s->type_cache, 0, sizeof s->type_cache);
	vec_push(
	    &s->entry,
	    (struct scope_entry){
	        .name = name, .kind = (uint8_t)kind, .depth = s->depth, .id = id, .at = at, .outer = outer});
	set_by_name(&s->scalar_of, name, s->entry.n);
	return true;
}

const struct scope_entry *sema_find_scalar(const struct sema *s, name_id name)
{
	uint32_t at = by_name(&s->scalar_of, name);
	return at ? &s->entry.at[at - 1] : NULL;
}

value_id sema_find_tensor(const struct sema *s, name_id name)
{
	return by_name(&s->tensor_of, name);
}

/* Returns true if the block of a tensor, or one inside it, is the current one. */
static bool is_in_scope(const struct sema *s, value_id v)
{
	const struct value *x = &s->m->value.at[v];
	region_id defined = x->def ? s->m->op.at[x->def].parent : 0;
	for (region_id g = s->region; defined && g != defined;) {
		op_id owner = s->m->region.at[g].owner;
		if (!owner)
			return false;
		g = s->m->op.at[owner].parent;
	}
	return true;
}

bool sema_define_tensor(struct sema *s, name_id name, value_id v, uint32_t at)
{
	value_id old = by_name(&s->tensor_of, name);
	if (old) {
		const char *text = names_text(s->m->names, name);
		diag_error_span(s->d, E_DEFINED_TWICE, at, (uint32_t)strlen(text),
		                "tensor '%s' is defined twice", text);
		if (!is_in_scope(s, old)) {
			diag_note(
			    s->d, s->m->value.at[old].at,
			    "the first definition is here: a name stands for one tensor, in all blocks");
			set_by_name(&s->tensor_of, name, v); /* for the statements below */
		} else if (ir_is_bound(s->m, old))
			diag_note(s->d, s->m->value.at[old].at,
			          "the first definition is here; `%s <- …` writes into it", text);
		else
			diag_note(s->d, s->m->value.at[old].at,
			          "the first definition is here: give one of them another name");
		return false;
	}
	set_by_name(&s->tensor_of, name, v);
	return true;
}

op_id sema_find_statement(const struct sema *s, name_id name)
{
	return sema_is_broken_statement(s, name) ? 0 : by_name(&s->statement_of, name);
}

bool sema_define_statement(struct sema *s, name_id name, op_id op, uint32_t at)
{
	op_id old = sema_find_statement(s, name);
	if (old) {
		diag_error(s->d, E_DEFINED_TWICE, at, "statement '%s' is named twice",
		           names_text(s->m->names, name));
		diag_note(s->d, s->m->op.at[old].at, "the first is here");
		return false;
	}
	set_by_name(&s->statement_of, name, op);
	return true;
}

void sema_break_statement(struct sema *s, name_id name)
{
	if (name && !sema_find_statement(s, name))
		set_by_name(&s->statement_of, name, SEMA_BROKEN);
}

bool sema_is_broken_statement(const struct sema *s, name_id name)
{
	return by_name(&s->statement_of, name) == SEMA_BROKEN;
}

void sema_mark_later_statement(struct sema *s, name_id name)
{
	set_by_name(&s->later_statement, name, 1);
}

bool sema_is_later_statement(const struct sema *s, name_id name)
{
	return name && by_name(&s->later_statement, name);
}

void sema_place_forward(struct sema *s, uint32_t operand)
{
	for (uint32_t i = 0; i < s->forward.n; i++)
		if (!s->forward.at[i].operand) {
			s->forward.at[i].operand = operand;
			return;
		}
}

void sema_resolve_forward(struct sema *s)
{
	for (uint32_t i = 0; i < s->forward.n; i++) {
		const struct sema_forward *f = &s->forward.at[i];
		op_id op = sema_find_statement(s, f->name);
		if (op && f->operand)
			s->m->operand.at[f->operand].id = op;
		else if (!sema_is_broken_statement(s, f->name) && diag_error_count(s->d) == s->errors)
			diag_error(s->d, E_STATEMENT_UNKNOWN, f->at, "statement '%s' is defined nowhere",
			           names_text(s->m->names, f->name));
	}
}

mesh_id sema_find_mesh(const struct sema *s, name_id name)
{
	for (mesh_id i = 1; i < s->m->mesh.n; i++)
		if (s->m->mesh.at[i].name == name)
			return i;
	return 0;
}

bool sema_is_mesh_axis(const struct sema *s, name_id name)
{
	for (mesh_id i = 1; i < s->m->mesh.n; i++)
		if (mesh_find_axis(&s->m->mesh.at[i], name) >= 0)
			return true;
	return false;
}

group_id sema_find_group(const struct sema *s, name_id name)
{
	for (group_id i = 1; i < s->m->group.n; i++)
		if (s->m->group.at[i].name == name)
			return i;
	return 0;
}

void sema_break_tensor(struct sema *s, name_id name)
{
	set_by_name(&s->later_at, name, SEMA_BROKEN);
}

static void find_definition(struct sema *s, const struct ast_node *n)
{
	if (by_name(&s->later_at, n->name) != SEMA_BROKEN)
		set_by_name(&s->later_at, n->name, n->at + 1);
}

/* Finds the places where tensors are defined; only messages need them. */
static void find_definitions(struct sema *s, ast_id block)
{
	ast_each (s->a, child, block) {
		ast_id stmt = shape_peek(s->a, child);
		const struct ast_node *n = ast_at(s->a, stmt);
		if (n->kind == AST_INPUT)
			find_definition(s, n);
		if (n->kind == AST_DEF)
			ast_each (s->a, r, n->first)
				find_definition(s, ast_at(s->a, r));
		if (n->kind == AST_FOR || n->kind == AST_IF || n->kind == AST_UNIT)
			ast_each (s->a, part, stmt)
				if (ast_at(s->a, part)->kind == AST_BLOCK)
					find_definitions(s, part);
	}
}

void sema_unknown_tensor(struct sema *s, name_id name, uint32_t at)
{
	const char *text = names_text(s->m->names, name);
	struct suggest g = suggest_start(text);
	if (s->program)
		find_definitions(s, s->program);
	s->program = 0; /* search only once */
	uint32_t later = by_name(&s->later_at, name);
	if (later == SEMA_BROKEN)
		return; /* its definition had an error, which was reported */
	diag_error_span(s->d, E_TENSOR_UNKNOWN, at, (uint32_t)strlen(text), "unknown tensor '%s'", text);
	if (later) {
		diag_note(s->d, later - 1,
		          "it is defined here, after its use: move the definition before it");
		return;
	}
	enum dtype dtype;
	enum reduce_op op;
	if (sema_is_mesh_axis(s, name)) {
		diag_note(s->d, DIAG_NOWHERE, "it is a mesh axis: write `axis=%s`", text);
		return;
	}
	if (reduce_op_parse(text, &op)) {
		diag_note(s->d, DIAG_NOWHERE, "it is a reduction: write `op=%s`", text);
		return;
	}
	if (dtype_parse(text, &dtype)) {
		diag_note(s->d, DIAG_NOWHERE,
		          "it is a dtype: a type is stated before the `=`, as in `Y: %s[8] = cast(X)`", text);
		return;
	}
	for (name_id n = 0; n < s->tensor_of.n; n++)
		if (s->tensor_of.at[n])
			suggest_try(&g, names_text(s->m->names, n));
	diag_suggest(s->d, &g);
}

void sema_unknown_mesh(struct sema *s, name_id name, uint32_t at, uint32_t length)
{
	struct suggest g = suggest_start(names_text(s->m->names, name));
	for (uint32_t i = 0; i < s->broken_mesh.n; i++)
		if (s->broken_mesh.at[i] == name)
			return; /* its declaration had an error, which was reported */
	diag_error_span(s->d, E_MESH_UNKNOWN, at, length, "unknown mesh '%s'", g.word);
	for (mesh_id i = 1; i < s->m->mesh.n; i++)
		suggest_try(&g, names_text(s->m->names, s->m->mesh.at[i].name));
	if (g.best)
		diag_suggest(s->d, &g);
	else if (s->m->mesh.n < 2)
		diag_note(s->d, DIAG_NOWHERE, "declare it before the program: `mesh %s(x = 2)`", g.word);
}

/* Returns the const or param of the file with a name; 0: none, or a -D is being read. */
static ast_id find_declaration(const struct sema *s, name_id name)
{
	if (s->a->names != s->m->names)
		return 0;
	ast_each (s->a, child, s->a->root) {
		uint8_t kind = ast_at(s->a, child)->kind;
		if ((kind == AST_CONST || kind == AST_PARAM) && ast_at(s->a, child)->name == name)
			return child;
	}
	return 0;
}

void sema_unknown_scalar(struct sema *s, name_id name, uint32_t at)
{
	const char *text = names_text(s->m->names, name);
	struct suggest g = suggest_start(text);
	ast_id decl = find_declaration(s, name);
	bool itself = decl && at >= ast_at(s->a, decl)->at && at < ast_at(s->a, decl)->end;
	if (itself) {
		diag_error_span(s->d, E_DEFINITION_CIRCLE, at, (uint32_t)strlen(text),
		                "the definition of '%s' uses itself", text);
		return;
	}
	diag_error_span(s->d, E_NAME_UNKNOWN, at, (uint32_t)strlen(text), "unknown name '%s'", text);
	if (decl) {
		diag_note(s->d, sema_name_at(s, decl),
		          "it is declared here, after its use: move the declaration before it");
		return;
	}
	for (uint32_t i = 0; i < s->entry.n; i++)
		suggest_try(&g, names_text(s->m->names, s->entry.at[i].name));
	if (sema_is_mesh_axis(s, name))
		diag_note(s->d, DIAG_NOWHERE,
		          "'%s' is a mesh axis; its size is size(%s), the index along it axis_index(%s)",
		          text, text, text);
	else if (g.best)
		diag_suggest(s->d, &g);
	else if (s->wants_const)
		diag_note(s->d, DIAG_NOWHERE, "declare it with `const %s = …`", text);
	else
		diag_note(s->d, DIAG_NOWHERE, "declare it with `param %s = …` or `const %s = …`", text, text);
}

bool sema_is_visible(struct sema *s, value_id v, name_id name, uint32_t at)
{
	if (is_in_scope(s, v))
		return true;
	const char *text = names_text(s->m->names, name);
	diag_error_span(s->d, E_NAME_HIDDEN, at, (uint32_t)strlen(text),
	                "'%s' does not leave the block it is defined in", text);
	diag_note(s->d, s->m->value.at[v].at,
	          "it is defined here; to use it after the block, write it into a buffer allocated before "
	          "the block");
	return false;
}

bool sema_too_deep(struct sema *s, ast_id stmt)
{
	unsigned depth = 0;
	for (region_id g = s->region; s->m->region.at[g].owner;
	     g = s->m->op.at[s->m->region.at[g].owner].parent)
		depth++;
	if (depth < IR_MAX_NESTING)
		return false;
	diag_error(s->d, E_TEXT_TOO_DEEP, ast_at(s->a, stmt)->at, "blocks are nested deeper than %d",
	           IR_MAX_NESTING);
	return true;
}

void sema_check_unit(struct sema *s, op_id unit)
{
	const char *rule;
	op_id at = ir_unit_fault(s->m, unit, &rule);
	if (!at) {
		ir_unit_settle(s->m, unit);
		return;
	}
	diag_error(s->d, E_UNIT_RULE, s->m->op.at[at].at, "%s", rule);
	if (at != unit)
		diag_note(s->d, s->m->op.at[unit].at, "the unit begins here");
}

uint32_t sema_name_at(const struct sema *s, ast_id id)
{
	const char *text = s->a->source->text;
	uint32_t at = ast_at(s->a, id)->at;
	while (isalpha((unsigned char)text[at]))
		at++;
	while (text[at] == ' ' || text[at] == '\t')
		at++;
	return at;
}

int32_t sema_numbered(const struct sema *s, name_id name, char prefix)
{
	const char *t = names_text(s->m->names, name);
	if (*t != prefix || !isdigit((unsigned char)t[1]) || strlen(t) > 10 || (t[1] == '0' && t[2]))
		return -1;
	char *end;
	long n = strtol(t + 1, &end, 10);
	return *end || n > INT32_MAX / 2 ? -1 : (int32_t)n;
}
