/* sema_hirc: reads the section `Hirc 1 :`, with the facts that nvFuser's print cannot hold.
 *
 *     attr program {name=col, mesh=ring}
 *     param t = 8192 as i0
 *     mesh ring(x = 2)
 *     name T0 = X                  tensors, loop indices (i3), streams (0x1), Communications
 *     input T0 = random(seed=1)
 *     loop i3 stream               or serial: if it differs from the loop's body
 *     partial T3 max
 *     attr T3 {layout=open, mesh=other, inout=false, partial_x=max}
 *     attr Communication 272 {op=max, issue=post} */
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <stdlib.h>
#include <string.h>

static int compare_facts(const void *a, const void *b)
{
	const struct nv_fact *x = a, *y = b;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->at > y->at) - (x->at < y->at);
}

const struct nv_fact *nv_find_fact(const struct nv_fact *list, uint32_t n, uint64_t number)
{
	uint32_t low = 0, high = n;
	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		if (list[mid].number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low < n && list[low].number == number ? &list[low] : NULL;
}

#define sort_facts(v)                                                                                        \
	do {                                                                                                 \
		if ((v)->n)                                                                                  \
			qsort((v)->at, (v)->n, sizeof *(v)->at, compare_facts);                              \
	} while (0)

void nv_declarations(struct nv_reader *r, ast_id section)
{
	struct sema *s = r->s;
	ast_each (s->a, child, section) {
		ast_id line = shape_expand(s->a, child);
		ast_id first = ast_child(s->a, line, 0), second = ast_child(s->a, line, 1);
		switch (ast_at(s->a, line)->kind) {
		case AST_PARAM:
		case AST_CONST:
		case AST_MESH:
		case AST_GROUP:
		case AST_CLUSTER:
			sema_declaration(s, line);
			break;
		case AST_NAME_DECL: {
			const struct ast_node *n = ast_at(s->a, first);
			struct nv_fact f = {.name = ast_at(s->a, second)->name, .at = n->at};
			int32_t index = n->kind == AST_NAME ? sema_numbered(s, n->name, 'i') : -1;
			if (n->kind == AST_HANDLE) {
				f.number = strtoull(ast_text(s->a, first), NULL, 16);
				vec_push(&r->handle_name, f);
			} else if (index >= 0) {
				f.number = (uint64_t)index;
				vec_push(&r->index_name, f);
			}
			break;
		}
		case AST_LOOP_DECL: {
			int32_t index = sema_numbered(s, ast_at(s->a, first)->name, 'i');
			const char *kind = ast_text(s->a, second);
			if (index < 0)
				diag_error(s->d, E_LOOP_KIND, ast_at(s->a, first)->at,
				           "a loop is named by its index, as in `loop i3 stream`");
			else if (strcmp(kind, "stream") && strcmp(kind, "serial"))
				diag_error(s->d, E_LOOP_KIND, ast_at(s->a, second)->at,
				           "a loop is stream or serial, not '%s'", kind);
			else
				vec_push(&r->index_kind,
				         (struct nv_fact){(uint64_t)index, ast_at(s->a, second)->name,
				                          ast_at(s->a, line)->at});
			break;
		}
		default:
			break;
		}
	}
	sort_facts(&r->index_name);
	sort_facts(&r->index_kind);
	sort_facts(&r->handle_name);
}

/* ---- lines that refer to tensors and statements */

static struct nv_tensor *tensor(struct nv_reader *r, ast_id name)
{
	struct sema *s = r->s;
	struct nv_tensor *t = nv_find_tensor(r, ast_at(s->a, name)->name);
	if (!t)
		diag_error(s->d, E_SECTION_NAME, ast_at(s->a, name)->at,
		           "there is no tensor '%s' in the container", ast_text(s->a, name));
	return t;
}

static struct nv_statement *find_communication(struct nv_reader *r, ast_id ref)
{
	const struct ast_node *n = ast_at(r->s->a, ref);
	struct nv_statement *x = nv_find_statement(r, n->value.i);
	if (!x)
		diag_error(r->s->d, E_SECTION_NAME, n->at, "there is no Communication %lld in the container",
		           (long long)n->value.i);
	return x;
}

enum { GIVEN_TENSOR = 1, GIVEN_STATEMENT = 2 };

/* Returns true if nothing of this kind has the name yet. */
static bool is_free(struct nv_reader *r, name_id name, uint8_t kind, uint32_t at)
{
	while (r->given.n <= name)
		vec_push(&r->given, 0);
	bool number = kind == GIVEN_TENSOR && nv_find_tensor(r, name);
	if (r->given.at[name] & kind || number) {
		diag_error(r->s->d, E_DEFINED_TWICE, at, "another %s is called '%s'",
		           kind == GIVEN_TENSOR ? "tensor" : "statement", names_text(r->s->m->names, name));
		return false;
	}
	r->given.at[name] |= kind;
	return true;
}

static void name_line(struct nv_reader *r, ast_id line)
{
	struct sema *s = r->s;
	ast_id first = ast_child(s->a, line, 0);
	name_id given = ast_at(s->a, ast_child(s->a, line, 1))->name;
	const struct ast_node *n = ast_at(s->a, first);
	if (n->kind == AST_COMM_REF) {
		struct nv_statement *x = find_communication(r, first);
		if (x && is_free(r, given, GIVEN_STATEMENT, n->at))
			x->given = given;
	} else if (n->kind == AST_NAME && sema_numbered(s, n->name, 'i') < 0) {
		struct nv_tensor *t = tensor(r, first);
		if (t && is_free(r, given, GIVEN_TENSOR, n->at))
			t->given = given;
	}
}

static bool is_rule(const char *text)
{
	return !strcmp(text, "numbered") || !strcmp(text, "own") || !strcmp(text, "twice") ||
	       !strcmp(text, "all");
}

/* Reads attr program {name=…, mesh=…, axes=…}. */
static void program_line(struct nv_reader *r, ast_id attrs)
{
	struct sema *s = r->s;
	ast_each (s->a, key, attrs) {
		ast_id value = ast_at(s->a, key)->first;
		const struct ast_node *v = ast_at(s->a, value);
		bool mesh = !strcmp(ast_text(s->a, key), "mesh");
		if (mesh && v->kind == AST_INT && v->value.i == 0)
			r->no_mesh = true;
		else if (mesh && v->kind == AST_NAME)
			r->program_mesh = v->name, r->program_mesh_at = v->at;
		else if (!strcmp(ast_text(s->a, key), "name") && v->kind == AST_NAME)
			r->program_name = v->name;
		else if (!strcmp(ast_text(s->a, key), "axes") && is_rule(ast_text(s->a, value)))
			r->axes = v->name;
		else
			diag_error(s->d, E_ATTRIBUTE_UNKNOWN, ast_at(s->a, key)->at,
			           "a program has a name=, a mesh=, and axes= numbered, own, twice or all");
	}
}

/* Reads issue=post or issue=here, and buffer=whole, of a transfer. */
static void statement_line(struct nv_reader *r, ast_id ref, ast_id attrs)
{
	struct nv_statement *x = find_communication(r, ref);
	ast_id issue = nv_key(r, attrs, "issue");
	const char *text = issue && ast_at(r->s->a, issue)->kind == AST_NAME ? ast_text(r->s->a, issue) : "";
	if (!x)
		return;
	x->attrs = attrs;
	ast_id buffer = nv_key(r, attrs, "buffer");
	x->whole = nv_is_name(r, buffer, "whole");
	if (buffer && !x->whole)
		nv_refuse(r, E_ATTRIBUTE_VALUE, buffer,
		          "a transfer has buffer=whole, or the block of each device");
	ast_id by_place = nv_key(r, attrs, "by_place");
	if (by_place && !nv_is_name(r, by_place, "true") && !nv_is_name(r, by_place, "false"))
		nv_refuse(r, E_ATTRIBUTE_VALUE, by_place, "by_place= is true or false");
	if (!issue)
		return;
	if (strcmp(text, "post") && strcmp(text, "here"))
		diag_error(r->s->d, E_ATTRIBUTE_VALUE, ast_at(r->s->a, issue)->at,
		           "a transfer is issued by post or here");
	x->issue = !strcmp(text, "post") ? ISSUE_POST : ISSUE_HERE;
}

static void tensor_line(struct nv_reader *r, ast_id ref, ast_id attrs)
{
	struct sema *s = r->s;
	struct nv_tensor *t = tensor(r, ref);
	ast_id layout = nv_key(r, attrs, "layout"), mesh = nv_key(r, attrs, "mesh"),
	       inout = nv_key(r, attrs, "inout");
	if (!t)
		return;
	ast_each (s->a, key, attrs) {
		const char *text = ast_text(s->a, key);
		bool known = !strcmp(text, "layout") || !strcmp(text, "mesh") || !strcmp(text, "inout") ||
		             !strncmp(text, "partial_", 8);
		if (!known && !t->input)
			diag_error(s->d, E_ATTRIBUTE_UNKNOWN, ast_at(s->a, key)->at,
			           "a tensor that is no input has no attribute '%s'", text);
	}
	t->attrs = attrs;
	t->open = layout != 0;
	if (layout && strcmp(ast_text(s->a, layout), "open"))
		diag_error(s->d, E_ATTRIBUTE_VALUE, ast_at(s->a, layout)->at, "layout= can only be open");
	if (inout)
		t->inout = !strcmp(ast_text(s->a, inout), "true");
	if (mesh) {
		t->mesh =
		    ast_at(s->a, mesh)->kind == AST_NAME ? sema_find_mesh(s, ast_at(s->a, mesh)->name) : 0;
		if (!t->mesh)
			diag_error(s->d, E_MESH_UNKNOWN, ast_at(s->a, mesh)->at,
			           "mesh= takes the name of a mesh of this section");
	}
}

void nv_facts(struct nv_reader *r, ast_id section)
{
	struct sema *s = r->s;
	ast_each (s->a, child, section) {
		ast_id line = shape_expand(s->a, child);
		ast_id first = ast_child(s->a, line, 0), second = ast_child(s->a, line, 1);
		const struct ast_node *n = ast_at(s->a, line);
		switch (n->kind) {
		case AST_NAME_DECL:
			name_line(r, line);
			break;
		case AST_INPUT_DECL: {
			struct nv_tensor *t = tensor(r, first);
			if (t && !t->input)
				diag_error(s->d, E_SECTION_NAME, n->at, "%s is no input",
				           ast_text(s->a, first));
			else if (t)
				t->init = second;
			break;
		}
		case AST_PARTIAL_DECL: {
			struct nv_tensor *t = tensor(r, first);
			enum reduce_op op;
			if (!reduce_op_parse(ast_text(s->a, second), &op))
				diag_error(s->d, E_REDUCTION_UNKNOWN, ast_at(s->a, second)->at,
				           "a partial is pending with sum, prod, min, max or avg");
			else if (t)
				t->reduce = (uint8_t)op;
			break;
		}
		case AST_ATTR_DECL:
			if (ast_at(s->a, first)->kind == AST_COMM_REF)
				statement_line(r, first, second);
			else if (!strcmp(ast_text(s->a, first), "program"))
				program_line(r, second);
			else
				tensor_line(r, first, second);
			break;
		case AST_SCHEDULE:
			diag_error(s->d, E_SECTION_LINE, n->at,
			           "this line belongs in a program of the concise surface");
			break;
		default:
			break;
		}
	}
}
