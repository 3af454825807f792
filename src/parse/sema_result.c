/* sema_result: finds the types of results, stated or by the operation's rule. */
#include "ir/layout.h"
#include "ir/pack.h"
#include "ir/print.h"
#include "parse/sema_call.h"
#include <stdio.h>
#include <string.h>

/* Returns the type of a collective's result if it is left out. It follows the operand's type, which may be
 * open. */
static type_id collective_type(struct sema *s, struct call *c, value_id operand, bool *open)
{
	type_id t = infer_collective(s->m, c->kind, c->team, s->m->value.at[operand].type);
	*open = s->m->value.at[operand].flags & VALUE_OPEN;
	if (!t)
		diag_error(s->d, E_RESULT_TYPE_NEEDED, ast_at(s->a, c->node)->at,
		           "%s needs a result type here", op_info[c->kind].hir);
	return t;
}

/* Returns the stated type if it fits the operation's rule; without a stated type, the type by the rule.
 * Returns 0 after reporting. */
static type_id type_by_rule(struct sema *s, const struct infer_draft *f)
{
	struct rule_cache key = {.kind = f->kind,
	                         .operand_n = f->operand_n,
	                         .result_k = f->result,
	                         .result_n = f->result_n,
	                         .attrs = f->attrs,
	                         .stated = f->stated,
	                         .first = f->first,
	                         .mesh = f->mesh,
	                         .team = f->team};
	if (f->operand_n > sizeof key.operand / sizeof *key.operand)
		return !f->stated ? infer_type(s->m, s->d, f) : infer_check(s->m, s->d, f) ? f->stated : 0;
	uint32_t hash = f->kind + f->stated * 31 + f->attrs * 37 + f->result * 41;
	for (unsigned i = 0; i < f->operand_n; i++) {
		key.operand[i] = f->operand[i] ? s->m->value.at[f->operand[i]].type : 0;
		hash = hash * 33 + key.operand[i];
	}
	struct rule_cache *known =
	    &s->rule_cache[(hash ^ hash >> 11) % (sizeof s->rule_cache / sizeof *s->rule_cache)];
	if (!memcmp(known, &key, offsetof(struct rule_cache, result)))
		return known->result;
	key.result = !f->stated ? infer_type(s->m, s->d, f) : infer_check(s->m, s->d, f) ? f->stated : 0;
	if (key.result)
		*known = key;
	return key.result;
}

/* Returns the type of a symmetric view if it is left out: over the axes that axis= names, by default the
 * outermost. Returns 0 after reporting. */
static type_id symmetric_type(struct sema *s, const struct call *c, const struct infer_draft *draft,
                              type_id from)
{
	uint8_t axes[IR_MAX_MESH_AXES], in_memory[IR_MAX_MESH_AXES], order[IR_MAX_AXES];
	bool unstreamed;
	unsigned n = 0;
	type_id t = from;
	if (c->axis && !call_mesh_axes(s, c, s->m->type.at[from].mesh, axes, &n))
		return 0;
	for (unsigned k = 0; k < n && t; k++)
		t = infer_symmetric(s->m, t, axes[k]);
	if (!n)
		t = infer_symmetric(s->m, from, -1);
	if (!t)
		diag_error(s->d, E_SYMMETRIC, draft->at,
		           "symmetric_view: no axis of the operand is spread over a mesh%s",
		           n ? " like that" : "");
	else if (n && (infer_symmetric_axes(s->m, from, t, in_memory) != n || memcmp(axes, in_memory, n)))
		diag_error(s->d, E_SYMMETRIC, draft->at,
		           "symmetric_view: axis= takes mesh axes from the outermost in memory");
	else if (!domain_allocation_order(&s->m->domain.at[s->m->type.at[t].domain], &unstreamed, order)) {
		diag_error(s->d, E_SYMMETRIC, draft->at,
		           "symmetric_view: the operand's order of memory is none that a view can have");
		diag_note(s->d, DIAG_NOWHERE,
		          "that of its loop axes is: `schedule X { allocation (0, 1, …) }`");
	} else {
		return t;
	}
	return 0;
}

/* Returns the type of a view that is a block or an element of a value. Returns 0 after reporting. Passes choose a
 * layout that is not stated, so its blocks have no meaning here. */
static type_id view_type(struct sema *s, const struct infer_draft *draft, value_id of)
{
	const struct attr *axis = attrs_find(s->m, draft->attrs, "axis");
	type_id from = s->m->value.at[of].type;
	if (draft->kind == OP_SHARD_BY_STREAM && s->m->value.at[of].flags & VALUE_OPEN) {
		diag_error(
		    s->d, E_RESULT_TYPE_NEEDED, draft->at,
		    "shard_by_stream takes a block of a layout, but the operand's layout is not stated");
		diag_note(s->d, s->m->op.at[s->m->value.at[of].def].at,
		          "state its type, as in `X: f32[8@stream(4), 6] = …`");
		return 0;
	}
	type_id t = draft->kind == OP_SELECT ? infer_select(s->m, from, (unsigned)(axis ? axis->u.i : 0))
	                                     : infer_shard(s->m, from);
	if (!t)
		diag_error(s->d, E_RESULT_TYPE_NEEDED, draft->at,
		           "%s needs a result type: the axis is merged with another",
		           op_info[draft->kind].hir);
	return t;
}

/* Returns the type of result k if it is left out. *open: its layout is still to be chosen. Returns 0 after
 * reporting. */
static type_id default_type(struct sema *s, struct call *c, const struct infer_draft *draft, unsigned k,
                            bool *open)
{
	value_id first = draft->operand_n ? draft->operand[0] : 0;
	*open = false;
	if (c->kind == OP_EXTERN) {
		const struct attr *view = attrs_find(s->m, draft->attrs, "view");
		if (view && view->kind == ATTR_INTS && k < view->n && view->u.ints[k] >= 0 &&
		    view->u.ints[k] < draft->operand_n && draft->operand[view->u.ints[k]])
			return s->m->value.at[draft->operand[view->u.ints[k]]].type;
		diag_error(s->d, E_RESULT_TYPE_NEEDED, draft->at,
		           "result %u of extern needs a type, since it views no operand", k + 1);
		return 0;
	}
	if (op_info[c->kind].traits & TRAIT_OPAQUE) {
		diag_error(s->d, E_RESULT_TYPE_NEEDED, draft->at, "result %u of %s needs a type", k + 1,
		           op_info[c->kind].hir);
		return 0;
	}
	if (c->kind == OP_DISPATCH || c->kind == OP_COMBINE)
		return type_by_rule(s, draft);
	if (c->kind == OP_SHARD_BY_STREAM || c->kind == OP_SELECT)
		return view_type(s, draft, first);
	if (c->kind == OP_SYMMETRIC_VIEW)
		return symmetric_type(s, c, draft, s->m->value.at[first].type);
	if (op_info[c->kind].traits & TRAIT_COLLECTIVE)
		return collective_type(s, c, first, open);
	if (c->kind == OP_ALLOCATE) {
		diag_error(s->d, E_RESULT_TYPE_NEEDED, draft->at,
		           "allocate needs a type: `A: f32[8] = allocate()`");
		return 0;
	}
	*open = true;
	return type_by_rule(s, draft);
}

bool call_check_select(struct sema *s, struct call *c, const struct infer_draft *draft)
{
	const struct attr *a = attrs_find(s->m, draft->attrs, "axis");
	unsigned rank = value_domain(s->m, draft->operand[0])->rank;
	int64_t k = a && a->kind == ATTR_INT ? a->u.i : -1;
	if (k >= 0 && k < rank)
		return true;
	diag_error(s->d, E_AXIS_ATTRIBUTE, ast_at(s->a, c->node)->at,
	           "select: axis= must be a number below %u", rank);
	return false;
}

/* Checks the stated type of a symmetric view's result. */
static bool check_symmetric(struct sema *s, const struct infer_draft *draft, type_id stated)
{
	type_id from = s->m->value.at[draft->operand[0]].type, usual;
	struct buf a = {0}, b = {0};
	uint8_t axes[IR_MAX_MESH_AXES];
	if (infer_symmetric_axes(s->m, from, stated, axes))
		return true;
	usual = infer_symmetric(s->m, from, -1);
	ir_print_type(s->m, stated, &b);
	if (usual)
		ir_print_type(s->m, usual, &a);
	diag_error(s->d, E_SYMMETRIC, draft->at, "symmetric_view gives %s, not %s", usual ? a.at : "nothing",
	           b.at);
	diag_note(s->d, DIAG_NOWHERE, "the blocks of a mesh axis stand side by side: n@x becomes n@block(x)");
	buf_free(&a);
	buf_free(&b);
	return false;
}

bool call_check_accumulate(struct sema *s, struct call *c, const struct infer_draft *draft,
                           const struct sema_result *result, unsigned n)
{
	const struct attr *a = attrs_find(s->m, draft->attrs, "accumulate");
	const char *value = a && a->kind == ATTR_NAME ? names_text(s->m->names, a->u.name) : "";
	const char *name = op_info[c->kind].hir;
	uint32_t at = ast_at(s->a, c->node)->at;
	if (c->kind == OP_EXTERN || !a)
		return true;
	if (strcmp(value, "true") && strcmp(value, "false")) {
		diag_error(s->d, E_ATTRIBUTE_VALUE, at, "%s: accumulate= is true or false", name);
		return false;
	}
	if (*value == 't' && draft->operand_n > 2) {
		diag_error(s->d, E_ACCUMULATE, at, "%s: accumulate=true takes no bias", name);
		return false;
	}
	if (*value == 'f' || (n == 1 && result[0].bound))
		return true;
	diag_error(s->d, E_ACCUMULATE, at,
	           "%s: accumulate=true adds to a buffer: `Y <- %s(…, accumulate=true)`", name, name);
	return false;
}

bool call_check_symmetric(struct sema *s, struct call *c, const struct infer_draft *draft)
{
	if (value_type(s->m, draft->operand[0])->memory == MEMORY_SYMMETRIC)
		return true;
	diag_error(s->d, E_SYMMETRIC, ast_at(s->a, c->node)->at,
	           "symmetric_view: the operand is not in symmetric memory");
	diag_note(s->d, s->m->value.at[draft->operand[0]].at,
	          "its type says where it is: `f32[8@x] symmetric`");
	return false;
}

void call_check_pack(struct sema *s, op_id op, uint32_t at)
{
	struct buf text = {0};
	if (ir_pack_fault(s->m, op, &text))
		diag_error(s->d, E_PACK, at, "%s", text.at);
	buf_free(&text);
}

bool call_result_type(struct sema *s, struct call *c, const struct infer_draft *given,
                      const struct sema_result *r, type_id *types, unsigned k, bool *open)
{
	struct infer_draft draft = *given;
	uint32_t traits = op_info[c->kind].traits;
	draft.result = k;
	draft.first = k ? types[0] : 0;
	draft.stated = types[k] = r->bound ? s->m->value.at[r->bound].type : r->type;
	if (r->any_dtype && draft.stated && !r->bound && !(traits & TRAIT_OPAQUE))
		draft.stated = types[k] = type_with_dtype(s->m, draft.stated, infer_dtype(s->m, &draft));
	*open = false;
	if (!draft.stated) {
		types[k] = default_type(s, c, &draft, k, open);
		return types[k] != 0;
	}
	if (traits & (TRAIT_MEMORY | TRAIT_OPAQUE))
		return true;
	return type_by_rule(s, &draft) != 0 &&
	       (c->kind != OP_SYMMETRIC_VIEW || check_symmetric(s, &draft, types[k]));
}
