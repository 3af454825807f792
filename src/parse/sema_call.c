/* sema_call: makes statements from operation, operands, attributes, team and result types. Operands that are
 * nested calls become temporaries. */
#include "parse/sema_call.h"
#include "ir/edit.h"
#include <stdio.h>
#include <string.h>

void call_begin(struct call *c)
{
	memset(c, 0, offsetof(struct call, few));
	c->read = c->few;
}

static bool is_binary_op(const char *text, enum op_kind *kind)
{
	static const struct {
		const char *text;
		enum op_kind kind;
	} table[] = {{"+", OP_ADD},         {"-", OP_SUB},         {"*", OP_MUL},
	             {"/", OP_DIV},         {"%", OP_MOD},         {"==", OP_EQ},
	             {"!=", OP_NE},         {"<", OP_LT},          {"<=", OP_LE},
	             {">", OP_GT},          {">=", OP_GE},         {"and", OP_AND},
	             {"or", OP_OR},         {"&", OP_BITWISE_AND}, {"|", OP_BITWISE_OR},
	             {"^", OP_BITWISE_XOR}, {"<<", OP_SHIFT_LEFT}, {">>", OP_SHIFT_RIGHT}};
	for (unsigned i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(table[i].text, text)) {
			*kind = table[i].kind;
			return true;
		}
	return false;
}

/* Reads the operation of an expression, and its operands. */
static bool read_call(struct sema *s, ast_id expr, struct call *c)
{
	const struct ast_node *n = ast_at(s->a, expr);
	struct ir_use use;
	c->node = expr;
	switch (n->kind) {
	case AST_NAME:
	case AST_TENSOR:
		c->kind = OP_SET;
		if (!sema_operand(s, expr, &use))
			return false;
		if (use.role != ROLE_READ) {
			diag_error_span(s->d, E_NAME_OF_OTHER_KIND, n->at, n->end - n->at,
			                "'%s' is a number; write full(%s)", ast_text(s->a, expr),
			                ast_text(s->a, expr));
			return false;
		}
		return call_push_read(s, c, use, expr);
	case AST_UNARY:
		c->kind = *ast_text(s->a, expr) == '-'   ? OP_NEG
		          : *ast_text(s->a, expr) == '~' ? OP_BITWISE_NOT
		                                         : OP_NOT;
		return sema_operand(s, n->first, &use) && call_push_read(s, c, use, expr);
	case AST_BINARY: {
		ast_id right = ast_at(s->a, n->first)->next;
		if (!is_binary_op(ast_text(s->a, expr), &c->kind))
			return false;
		struct ir_use second;
		/* an error on both sides is reported on both */
		const bool left = sema_operand(s, n->first, &use);
		return sema_operand(s, right, &second) && left && call_push_read(s, c, use, expr) &&
		       call_push_read(s, c, second, expr);
	}
	case AST_CALL:
		break;
	case AST_INT:
	case AST_FLOAT: {
		const char *text = s->a->source->text + n->at;
		int length = (int)(n->end - n->at);
		diag_error_span(s->d, E_NAME_OF_OTHER_KIND, n->at, (uint32_t)length,
		                "'%.*s' is a number; write full(%.*s)", length, text, length, text);
		return false;
	}
	default:
		diag_error_span(s->d, E_OPERATION_EXPECTED, n->at, n->end - n->at,
		                "an operation is expected here");
		return false;
	}
	if (n->flags & AST_EXTERN) {
		c->kind = OP_EXTERN;
		c->attr[c->attr_n++] = (struct attr){.key = names_intern_z(s->m->names, "callee"),
		                                     .kind = ATTR_STRING,
		                                     .u.name = sema_name(s, expr)};
		return call_read_arguments(s, c);
	}
	c->kind = call_find_op(s, sema_name(s, expr));
	if (c->kind == OP_NONE || op_info[c->kind].form == FORM_CONTROL) {
		call_unknown_op(s, expr);
		return false;
	}
	return call_read_arguments(s, c);
}

static bool is_statement_only(enum op_kind kind)
{
	return (call_is_host(kind) || kind == OP_SEND || kind == OP_RECV || kind == OP_START_COALESCING ||
	        kind == OP_END_COALESCING);
}

/* Checks the number of results, and that bound results can be written. */
static bool check_results(struct sema *s, const struct call *c, const struct sema_result *result, unsigned n)
{
	unsigned want = op_info_results(c->kind);
	const char *name = op_info[c->kind].hir;
	uint32_t at = ast_at(s->a, c->node)->at;
	bool bound = false;
	for (unsigned k = 0; k < n; k++)
		bound |= result[k].bound != 0;
	if (is_statement_only(c->kind) || c->kind == OP_EXTERN)
		return true;
	if (c->kind == OP_GET_CURRENT_STREAM)
		diag_error(s->d, E_STREAM_RESULT, at,
		           "get_current_stream gives a stream: `s = get_current_stream()`");
	else if (bound && c->kind == OP_ALLOCATE)
		diag_error(s->d, E_RESULT_FORM, at, "allocate makes a new buffer: `A: f32[8] = allocate()`");
	else if (bound && op_info[c->kind].traits & TRAIT_VIEW)
		diag_error(s->d, E_RESULT_FORM, at,
		           "%s copies nothing, so it cannot be written: `<- set(%s(…))` copies", name, name);
	else if (!n)
		diag_error(s->d, E_RESULT_FORM, at, "the result of %s needs a name: `Y = %s(…)`", name, name);
	else if (!op_info_takes_results(c->kind, n) && want == 1)
		diag_error(s->d, E_RESULT_COUNT, at, "%s has one result, not %u", name, n);
	else if (!op_info_takes_results(c->kind, n))
		diag_error(s->d, E_RESULT_COUNT, at, "%s has %u results, not %u", name, want, n);
	else
		return true;
	return false;
}

static bool is_open_reshape(const struct module *m, value_id v)
{
	const struct value *x = &m->value.at[v];
	return x->flags & VALUE_OPEN && x->def && m->op.at[x->def].kind == OP_RESHAPE;
}

/* If a reshape is stated to be pending, makes the product or reduction that it is of pending, too, and the reshapes
 * between them, if these are without a layout of their own. */
static void take_pending(struct module *m, value_id operand, type_id result)
{
	const struct domain *d = ir_domain(m, m->type.at[result].domain);
	value_id root = operand;
	if (d->logical_n == d->rank || d->axis[d->rank].kind != AXIS_PARTIAL)
		return;
	while (is_open_reshape(m, root))
		root = op_read(m, m->value.at[root].def, 0);
	if (!m->value.at[root].def || !(m->value.at[root].flags & VALUE_OPEN) ||
	    !(op_traits(m, m->value.at[root].def) & (TRAIT_CONTRACTION | TRAIT_REDUCTION)))
		return;
	for (value_id v = operand;; v = op_read(m, m->value.at[v].def, 0)) {
		struct value *x = &m->value.at[v];
		x->type = infer_pending(m, x->def, x->type, result);
		if (v == root)
			return;
	}
}

static op_id add_call_statement(struct sema *s, ast_id expr, const struct sema_result *result,
                                unsigned result_n, name_id as, uint32_t at, value_id *out)
{
	struct call c;
	value_id few_operands[FEW_USES], *operand = few_operands;
	struct ir_use few_uses[FEW_USES + IR_MAX_RESULTS + 1], *use = few_uses;
	type_id types[IR_MAX_RESULTS];
	value_id values[IR_MAX_RESULTS];
	bool open[IR_MAX_RESULTS];
	unsigned n = 0, operand_n = 0;
	call_begin(&c);
	if (!read_call(s, call_strip(s, expr), &c))
		return 0;
	if (c.read_n > FEW_USES) {
		operand = arena_new_array(s->m->arena, value_id, c.read_n);
		use = arena_new_array(s->m->arena, struct ir_use, c.read_n + IR_MAX_RESULTS + 1);
	}
	uint32_t traits = op_info[c.kind].traits;
	/* a receive writes its operand */
	value_id received = 0;
	if (c.kind == OP_RECV) {
		if (c.read_n != 1 || c.read[0].role != ROLE_READ || !ir_is_bound(s->m, c.read[0].id)) {
			diag_error(s->d, E_RESULT_FORM, at,
			           "recv takes the buffer it writes: `recv(b, peer=1)`");
			return 0;
		}
		received = c.read[0].id;
		c.read_n = 0;
	}
	if (is_statement_only(c.kind)) {
		if (result_n > 1 ||
		    (result_n == 1 && (result[0].name || result[0].bound || result[0].type))) {
			diag_error(s->d, E_RESULT_COUNT, at, "%s has no result", op_info[c.kind].hir);
			return 0;
		}
		result_n = 0;
	}
	if (!call_check_arity(s, &c) || !check_results(s, &c, result, result_n))
		return 0;
	for (unsigned i = 0; i < c.read_n; i++)
		if (c.read[i].role == ROLE_READ ||
		    (c.read[i].role == ROLE_SCALAR && (traits & TRAIT_POINTWISE || c.kind == OP_EXTERN)))
			operand[operand_n++] = c.read[i].role == ROLE_READ ? c.read[i].id : 0;
	if (traits & TRAIT_COLLECTIVE && !call_find_team(s, &c, result))
		return 0;
	if (!call_push_special(s, &c))
		return 0;
	struct infer_draft draft = {.kind = c.kind,
	                            .operand = operand,
	                            .operand_n = operand_n,
	                            .at = ast_at(s->a, c.node)->at,
	                            .mesh = s->mesh,
	                            .team = c.team};
	draft.attrs = ir_attrs(s->m, c.attr, c.attr_n);
	if (c.kind == OP_SELECT && !call_check_select(s, &c, &draft))
		return 0;
	if (!call_check_accumulate(s, &c, &draft, result, result_n))
		return 0;
	if (c.kind == OP_SYMMETRIC_VIEW && !call_check_symmetric(s, &c, &draft))
		return 0;
	if (result_n > IR_MAX_RESULTS) {
		diag_error(s->d, E_STATEMENT_LIMIT, at, "a statement has at most %d results", IR_MAX_RESULTS);
		return 0;
	}
	draft.result_n = result_n;
	for (unsigned k = 0; k < result_n; k++)
		if (!call_result_type(s, &c, &draft, &result[k], types, k, &open[k]))
			return 0;
	for (unsigned k = 0; k < result_n; k++)
		if (!result[k].bound) {
			if (traits & TRAIT_VIEW && !result[k].in_global &&
			    s->m->type.at[types[k]].memory == MEMORY_GLOBAL)
				types[k] =
				    type_make(s->m, s->m->type.at[types[k]].dtype, MEMORY_LOCAL,
				              s->m->type.at[types[k]].mesh, s->m->type.at[types[k]].domain);
			int32_t number = result[k].name ? sema_numbered(s, result[k].name, 'T') : -1;
			values[k] =
			    ir_value_new(s->m, types[k], number >= 0 ? 0 : result[k].name, result[k].at);
			s->m->value.at[values[k]].number = number;
			s->m->value.at[values[k]].flags =
			    (open[k] ? VALUE_OPEN : 0) | (result[k].output ? VALUE_OUTPUT : 0);
			use[n++] = (struct ir_use){ROLE_DEF, values[k]};
		}
	for (unsigned i = 0; i < c.read_n; i++)
		use[n++] = c.read[i];
	for (unsigned k = 0; k < result_n; k++)
		if (result[k].bound)
			use[n++] = (struct ir_use){ROLE_WRITE, values[k] = result[k].bound};
	if (received)
		use[n++] = (struct ir_use){ROLE_WRITE, received};
	op_id op = ir_op_new(s->m, c.kind, at, use, n);
	if (c.kind == OP_UNIFORM) /* its type says it */
		draft.attrs = ir_attrs_without(s->m, draft.attrs, names_intern_z(s->m->names, "shape"));
	s->m->op.at[op].attrs = draft.attrs;
	s->m->op.at[op].team = c.kind == OP_DISPATCH || c.kind == OP_COMBINE ? infer_experts_team(s->m, op)
	                       : c.kind == OP_SYMMETRIC_VIEW                 ? infer_symmetric_team(s->m, op)
	                                                                     : c.team;
	ir_append(s->m, s->region, op);
	for (unsigned i = 0; i < n; i++)
		if (use[i].role == ROLE_STATEMENT && !use[i].id)
			sema_place_forward(s, s->m->op.at[op].operand + i);
	if (as || traits & (TRAIT_P2P | TRAIT_ASYNC)) {
		s->m->op.at[op].flags |= OP_ASYNC;
		int32_t number = as ? sema_numbered(s, as, 'c') : -1;
		s->m->op.at[op].number = number;
		s->m->op.at[op].name = number >= 0 ? 0 : as;
		if (as)
			sema_define_statement(s, as, op, at);
	}
	if (as && !(traits & (TRAIT_COLLECTIVE | TRAIT_P2P | TRAIT_ASYNC))) {
		diag_error(s->d, E_AS_NAME, at, "`as` names a Communication; %s is none",
		           op_info[c.kind].hir);
		return 0;
	}
	if (c.kind == OP_PACK || c.kind == OP_UNPACK)
		call_check_pack(s, op, draft.at); /* the types of its results are right, but the whole may
		                                     be wrong */
	sema_warn_unfit(s, op, draft.at);
	if (c.kind == OP_RESHAPE)
		take_pending(s->m, operand[0], s->m->value.at[values[0]].type);
	for (unsigned k = 0; k < result_n; k++) {
		struct value *v = &s->m->value.at[values[k]];
		if (!result[k].bound) {
			s->last_value = values[k];
			s->last_stated = v->type;
			type_id with = infer_reduce_axes(s->m, op, v->type);
			s->m->value.at[values[k]].type = with;
			if (result[k].name && !sema_define_tensor(s, result[k].name, values[k], result[k].at))
				return 0;
			if (result[k].output)
				vec_push(&s->m->output, values[k]);
		}
		if (out)
			out[k] = values[k];
	}
	return op;
}

op_id sema_call(struct sema *s, ast_id expr, const struct sema_result *result, unsigned result_n, name_id as,
                uint32_t at, value_id *out)
{
	if (s->calls == SEMA_MAX_CALLS) {
		diag_error(s->d, E_TEXT_TOO_DEEP, ast_at(s->a, expr)->at,
		           "operations are nested deeper than %d", SEMA_MAX_CALLS);
		diag_note(s->d, DIAG_NOWHERE, "give a part of them a name: `A = …`");
		return 0;
	}
	s->calls++;
	op_id op = add_call_statement(s, expr, result, result_n, as, at, out);
	s->calls--;
	if (!op && diag_error_count(s->d) == s->errors) /* never drop a statement without a message */
		diag_error(s->d, E_RESULT_TYPE_NEEDED, ast_at(s->a, expr)->at,
		           "no type can be found for the results of this: state them");
	return op;
}
