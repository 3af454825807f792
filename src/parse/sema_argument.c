/* sema_argument: sorts the arguments of a call into operands, scalars, teams and attributes. */
#include "ir/edit.h"
#include "parse/other_names.h"
#include "parse/sema_call.h"
#include "parse/vocabulary.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* Keys of teams. These, and the keys of scalar operands (op_info), are not attributes. */
static const struct special {
	const char *key;
	uint32_t traits;   /* traits of the operations that take it, or … */
	enum op_kind only; /* … the one operation that takes it; OP_NONE: none */
	size_t at;         /* offset in struct call */
} specials[] = {
    {"axis", TRAIT_COLLECTIVE, OP_SYMMETRIC_VIEW, offsetof(struct call, axis)},
    {"team", TRAIT_COLLECTIVE, OP_NONE, offsetof(struct call, team_list)},
};
enum { SPECIALS = sizeof specials / sizeof *specials };

static bool takes_special(enum op_kind kind, const struct special *x)
{
	return op_info[kind].traits & x->traits || (kind && kind == x->only);
}

const char *vocabulary_key(enum op_kind kind, unsigned k)
{
	for (unsigned i = 0; i < SPECIALS; i++)
		if (takes_special(kind, &specials[i]) && k-- == 0)
			return specials[i].key;
	return k < OP_MAX_SCALARS ? op_info[kind].scalar[k] : NULL;
}

static ast_id *special_key(struct call *c, const char *key)
{
	for (unsigned i = 0; i < SPECIALS; i++)
		if (!strcmp(specials[i].key, key) && takes_special(c->kind, &specials[i]))
			return (ast_id *)((char *)c + specials[i].at);
	for (unsigned k = 0; k < OP_MAX_SCALARS && op_info[c->kind].scalar[k]; k++)
		if (!strcmp(op_info[c->kind].scalar[k], key))
			return &c->scalar[k];
	return NULL;
}

/* Returns the attribute for which a list may stand: permute(X, (1, 0)), reshape(X, [a, b]). */
static const char *positional_attr(const struct sema *s, enum op_kind kind, ast_id e)
{
	uint8_t node = ast_at(s->a, e)->kind;
	if (kind == OP_PERMUTE && (node == AST_TUPLE || (node == AST_PAREN && !sema_has_tensor(s, e))))
		return "dims";
	if ((kind == OP_RESHAPE || kind == OP_BROADCAST || kind == OP_IOTA || kind == OP_UNIFORM) &&
	    node == AST_LIST)
		return "shape";
	return NULL;
}

bool call_is_host(enum op_kind kind)
{
	return kind == OP_POST || kind == OP_WAIT || kind == OP_SHARE_MEM_HANDLES ||
	       kind == OP_SET_CURRENT_STREAM || kind == OP_SYNCHRONIZE || kind == OP_DEALLOCATE;
}

/* Refuses to deallocate a part of a buffer. */
static bool owns_memory(struct sema *s, value_id v, name_id name, const struct ast_node *n)
{
	if (!ir_is_part(s->m, v))
		return true;
	diag_error_span(s->d, E_OPERAND_NAME, n->at, n->end - n->at,
	                "'%s' is a view and has no memory of its own: deallocate its buffer",
	                names_text(s->m->names, name));
	return false;
}

/* Reports an operand that should be the name of a statement. name: 0 if it is none at all. */
static void unknown_statement(struct sema *s, enum op_kind kind, name_id name, const struct ast_node *n)
{
	const char *text = name ? names_text(s->m->names, name) : "", *op = op_info[kind].hir;
	const struct scope_entry *scalar = name ? sema_find_scalar(s, name) : NULL;
	bool tensor = name && sema_find_tensor(s, name);
	struct suggest g = suggest_start(text);
	struct buf wrong = {0};
	if (tensor || scalar)
		buf_printf(&wrong, "'%s' is a %s: ", text,
		           tensor                         ? "tensor"
		           : scalar->kind == SCOPE_HANDLE ? "stream"
		                                          : "number");
	else if (name)
		buf_printf(&wrong, "no statement is called '%s': ", text);
	diag_error_span(s->d, !name || tensor || scalar ? E_OPERAND_NAME : E_STATEMENT_UNKNOWN, n->at,
	                n->end - n->at, "%s%s takes the name that `as` gave to a statement",
	                wrong.n ? wrong.at : "", op);
	buf_free(&wrong);
	for (name_id i = 0; name && i < s->statement_of.n; i++)
		if (s->statement_of.at[i])
			suggest_try(&g, names_text(s->m->names, i));
	if (tensor && kind == OP_WAIT)
		diag_note(s->d, DIAG_NOWHERE, "`Y <- allgather(X, axis=x) as c` starts it, `wait(c)` waits");
	else
		diag_suggest(s->d, &g);
}

/* Reads an operand that is a statement, stream or buffer. */
static bool host_operand(struct sema *s, struct call *c, ast_id e)
{
	const struct ast_node *n = ast_at(s->a, e);
	name_id name = n->kind == AST_NAME ? sema_name(s, e) : 0;
	if (c->kind == OP_SET_CURRENT_STREAM || c->kind == OP_SYNCHRONIZE) {
		const struct scope_entry *x = name ? sema_find_scalar(s, name) : NULL;
		if (x && x->kind == SCOPE_HANDLE)
			return call_push_read(s, c, (struct ir_use){ROLE_HANDLE, x->id}, e);
		return call_push_scalar(s, c, e);
	}
	if (c->kind == OP_DEALLOCATE) {
		value_id v = name ? sema_find_tensor(s, name) : 0;
		if (!v && !name)
			diag_error_span(s->d, E_OPERAND_NAME, n->at, n->end - n->at,
			                "deallocate takes the name of a buffer");
		else if (!v)
			sema_unknown_tensor(s, name, n->at);
		return v && sema_is_visible(s, v, name, n->at) && owns_memory(s, v, name, n) &&
		       call_push_read(s, c, (struct ir_use){ROLE_FREE, v}, e);
	}
	op_id op = name ? sema_find_statement(s, name) : 0;
	if (sema_is_broken_statement(s, name))
		return false;
	if (op)
		return call_push_read(s, c, (struct ir_use){ROLE_STATEMENT, op}, e);
	if (sema_is_later_statement(s, name)) {
		vec_push(&s->forward, (struct sema_forward){.name = name, .at = n->at});
		return call_push_read(s, c, (struct ir_use){ROLE_STATEMENT, 0},
		                      e); /* filled in at the end of the program */
	}
	unknown_statement(s, c->kind, name, n);
	return false;
}

/* Reports the unknown names among the operands after one with an error. */
static void report_later_names(struct sema *s, const struct call *c, ast_id after)
{
	struct ir_use use;
	for (ast_id child = ast_at(s->a, after)->next; child; child = ast_at(s->a, child)->next) {
		const unsigned kind = ast_at(s->a, child)->kind;
		if ((kind == AST_NAME || kind == AST_TENSOR) && !positional_attr(s, c->kind, child))
			sema_operand(s, child, &use);
	}
}

bool call_read_arguments(struct sema *s, struct call *c)
{
	ast_each (s->a, child, c->node) {
		const struct ast_node *n = ast_at(s->a, child);
		if (n->kind == AST_KEY) {
			ast_id *special = special_key(c, ast_text(s->a, child));
			if (special && *special) {
				diag_error(s->d, E_ATTRIBUTE_TWICE, n->at, "%s= is given twice",
				           ast_text(s->a, child));
				return false;
			}
			if (special)
				*special = n->first;
			else if (!call_push_attr(s, c, child))
				return false;
			continue;
		}
		if (n->kind == AST_ATTRS) {
			ast_each (s->a, key, child)
				if (!call_push_attr(s, c, key))
					return false;
			continue;
		}
		const char *attr = positional_attr(s, c->kind, child);
		if (attr) {
			struct attr a = {.key = names_intern_z(s->m->names, attr)};
			if (!call_may_add_attr(s, c, &a, child) || !call_attr_value(s, child, &a))
				return false;
			c->attr[c->attr_n++] = a;
			continue;
		}
		struct ir_use use;
		if ((n->kind == AST_TUPLE || n->kind == AST_LIST) && !call_is_host(c->kind)) {
			diag_error_span(s->d, E_OPERAND_TENSOR, n->at, n->end - n->at,
			                "%s: operand %u must be a tensor, not a list", op_info[c->kind].hir,
			                c->read_n + 1);
			other_name_show_form(s->d, c->kind);
			return false;
		}
		if (call_is_host(c->kind)) {
			if (!host_operand(s, c, child))
				return false;
		} else if (!sema_operand(s, child, &use)) {
			report_later_names(s, c, child);
			return false;
		} else if (!call_push_read(s, c, use, child)) {
			return false;
		}
	}
	return true;
}

/* Returns true for shard_by_stream(X, i). */
static bool has_positional_index(const struct call *c)
{
	return c->kind == OP_SHARD_BY_STREAM && !c->scalar[0] && c->read_n == 2 &&
	       c->read[1].role == ROLE_SCALAR;
}

/* Adds a note after an error in the operands: the form of the call, or the operation that was meant. */
static void note_form(struct sema *s, const struct call *c)
{
	if ((c->kind == OP_MAX || c->kind == OP_MIN) && c->read_n > 1)
		diag_note(s->d, DIAG_NOWHERE,
		          "the %s of two elements is `%s(A, B)`; `%s(X, axis=0)` reduces an axis",
		          c->kind == OP_MAX ? "larger" : "smaller", c->kind == OP_MAX ? "maximum" : "minimum",
		          op_info[c->kind].hir);
	else
		other_name_show_form(s->d, c->kind);
}

bool call_check_arity(struct sema *s, struct call *c)
{
	const struct op_info *info = &op_info[c->kind];
	unsigned n = c->read_n - has_positional_index(c);
	for (unsigned i = 0; i < n && info->max_reads && !call_is_host(c->kind) && c->kind != OP_EXTERN; i++)
		if (c->read[i].role != ROLE_READ && !op_info_takes_number(c->kind, i)) {
			diag_error(s->d, E_OPERAND_TENSOR, ast_at(s->a, c->node)->at,
			           "%s: operand %u must be a tensor, not a number", info->hir, i + 1);
			note_form(s, c);
			return false;
		}
	if (c->kind == OP_FULL && n == 1 && c->read[0].role == ROLE_READ) {
		diag_error(s->d, E_OPERAND_NUMBER, ast_at(s->a, c->node)->at,
		           "full: operand 1 must be a number, not a tensor");
		diag_note(s->d, DIAG_NOWHERE,
		          "`broadcast(X)` repeats the elements of a tensor, `set(X)` copies it");
		return false;
	}
	if (call_is_host(c->kind)) {
		unsigned want = c->kind == OP_SHARE_MEM_HANDLES || c->kind == OP_POST ? 0 : 1;
		if (want ? c->read_n == 1 : c->read_n > 0)
			return true;
		diag_error(s->d, E_OPERAND_COUNT, ast_at(s->a, c->node)->at,
		           want ? "%s takes one operand" : "%s takes at least one statement", info->hir);
		return false;
	}
	if (n >= info->min_reads && n <= info->max_reads)
		return true;
	if (info->min_reads == info->max_reads)
		diag_error(s->d, E_OPERAND_COUNT, ast_at(s->a, c->node)->at, "%s takes %u operand%s, not %u",
		           info->hir, info->min_reads, info->min_reads == 1 ? "" : "s", n);
	else
		diag_error(s->d, E_OPERAND_COUNT, ast_at(s->a, c->node)->at,
		           "%s takes %u to %u operands, not %u", info->hir, info->min_reads, info->max_reads,
		           n);
	note_form(s, c);
	return false;
}

/* Appends the scalars that follow the operands, in the order of struct op. */
bool call_push_special(struct sema *s, struct call *c)
{
	const struct op_info *info = &op_info[c->kind];
	for (unsigned k = 0; k < OP_MAX_SCALARS && info->scalar[k] && !has_positional_index(c); k++) {
		if (!c->scalar[k]) {
			diag_error(s->d, E_ATTRIBUTE_MISSING, ast_at(s->a, c->node)->at,
			           "%s needs %s=", info->hir, info->scalar[k]);
			return false;
		}
		if (!call_push_scalar(s, c, c->scalar[k]))
			return false;
	}
	return true;
}
