/* sema_nvfuser: reads %HostIrContainer as a program.
 *
 * Tensors are identified by their numbers. Their names, and other facts that the container does not show, are
 * in the section `Hirc 1 :` (sema_hirc.c). Types are read before the statements, since they depend on the
 * whole container (sema_collect.c). A statement whose result is already defined writes it. Operations are
 * made as in the concise surface (sema_call.c). */
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/print_order.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <stdio.h>
#include <string.h>
#include <strings.h>

static void translate_block(struct nv_reader *r, ast_id list);

void nv_append(struct nv_reader *r, op_id op)
{
	ir_append(r->s->m, r->s->region, op);
}

bool nv_is(struct nv_reader *r, ast_id id, enum ast_kind kind)
{
	return id && ast_at(r->s->a, id)->kind == kind;
}

bool nv_is_name(struct nv_reader *r, ast_id id, const char *text)
{
	return nv_is(r, id, AST_NAME) && !strcmp(ast_text(r->s->a, id), text);
}

bool nv_refuse(struct nv_reader *r, enum diagnostic code, ast_id node, const char *message)
{
	const struct ast_node *n = ast_at(r->s->a, node);
	diag_error_span(r->s->d, code, n->at, n->end - n->at, "%s", message);
	return false;
}

/* ---- tensors */

/* Returns true if the definitions of a region are visible in the one being filled. */
static bool is_visible(struct nv_reader *r, region_id defined)
{
	for (region_id g = r->s->region;;) {
		if (g == defined)
			return true;
		op_id owner = r->s->m->region.at[g].owner;
		if (!owner)
			return false;
		g = nv_op(r, owner)->parent;
	}
}

/* Sets the name, numbers and flags of a tensor's value. */
static void finish_value(struct nv_reader *r, struct nv_tensor *t, value_id v)
{
	struct sema *s = r->s;
	struct value *x = &s->m->value.at[v];
	int32_t number = sema_numbered(s, t->name, 'T');
	/* a second definition in another block gets its own name and number */
	bool again = t->value != 0 || t->again || t->loop_view;
	x->name = again ? 0 : t->given;
	x->number = again ? -1 : number;
	x->flags |= t->output && !t->loop_view ? VALUE_OUTPUT : 0;
	if (!again && x->type == t->type && t->number_at < r->number.n)
		ir_set_axis_numbers(s->m, v, r->number.at + t->number_at);
	nv_stand_for(r, t, v);
}

bool nv_result(struct nv_reader *r, ast_id node, struct nv_tensor **t, value_id *bound)
{
	*bound = 0;
	if (!nv_is(r, node, AST_TENSOR))
		return nv_refuse(r, E_OPERAND_TENSOR, node, "a result is a tensor");
	*t = nv_find_tensor(r, ast_at(r->s->a, node)->name);
	if (!(*t)->value || !is_visible(r, (*t)->region))
		return true;
	if (!ir_is_bound(r->s->m, (*t)->value)) {
		diag_error(r->s->d, E_DEFINED_TWICE, ast_at(r->s->a, node)->at, "%s is defined twice",
		           ast_text(r->s->a, node));
		diag_note(r->s->d, r->s->m->value.at[(*t)->value].at,
		          "it is no buffer: neither input, ALLOCATE nor view binds it");
		return false;
	}
	*bound = (*t)->value;
	return true;
}

void nv_stand_for(struct nv_reader *r, struct nv_tensor *t, value_id v)
{
	struct sema *s = r->s;
	t->value = v;
	t->region = s->region;
	while (s->tensor_of.n <= t->name)
		vec_push(&s->tensor_of, 0);
	s->tensor_of.at[t->name] = v;
}

/* Warns of the first tensor whose dtype neither the listing nor an operation tells. */
static void warn_dtype(struct nv_reader *r, const struct nv_tensor *t)
{
	if (r->told_dtype || !nv_lacks_dtype(r, t))
		return;
	r->told_dtype = true;
	diag_warning(r->s->d, W_PRINTED_DTYPE, ast_at(r->s->a, shape_tensor(r->s->a, t->node))->at,
	             "%s is printed without a dtype; float is assumed", names_text(r->s->m->names, t->name));
}

value_id nv_define(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	warn_dtype(r, t);
	value_id v = ir_value_new(r->s->m, t->type, t->given, at);
	finish_value(r, t, v);
	return v;
}

value_id nv_operand(struct nv_reader *r, ast_id node)
{
	if (!nv_is(r, node, AST_TENSOR)) {
		nv_refuse(r, E_OPERAND_TENSOR, node, "a tensor is expected here");
		return 0;
	}
	const struct nv_tensor *t = nv_find_tensor(r, ast_at(r->s->a, node)->name);
	if (t && t->value && is_visible(r, t->region))
		return t->value;
	diag_error(r->s->d, E_USED_BEFORE, ast_at(r->s->a, node)->at, "%s is used before it is defined",
	           ast_text(r->s->a, node));
	if (t && nv_is_undefined(r, t))
		diag_note(r->s->d, DIAG_NOWHERE,
		          "a line `%s… = ALLOCATE(buffer=%s…)`, with its axes, makes a buffer of it",
		          ast_text(r->s->a, node), ast_text(r->s->a, node));
	return 0;
}

scalar_id nv_scalar(struct nv_reader *r, ast_id e)
{
	expr_id x = sema_expr(r->s, e);
	return x ? ir_scalar_expr(r->s->m, x) : 0;
}

attrs_id nv_with_name(struct nv_reader *r, attrs_id attrs, const char *key, name_id value)
{
	struct attr a = {.key = names_intern_z(r->s->m->names, key), .kind = ATTR_NAME, .u.name = value};
	return ir_attrs_with(r->s->m, attrs, &a);
}

attrs_id nv_attrs(struct nv_reader *r, enum op_kind kind, ast_id call, const char *const *but)
{
	attrs_id all = 0;
	if (!sema_attrs(r->s, kind, call, but, &all))
		return 0;
	return all;
}

/* ---- operations */

/* Settles a type that is open: the operation chooses it. If the dump prints another type, that one is
 * stated, unless it is the chosen one and pending. */
void nv_settle(struct nv_reader *r, struct nv_tensor *t, value_id v)
{
	struct module *m = r->s->m;
	struct value *x = &m->value.at[v];
	if (t->open && x->type != t->type) {
		if (!x->def || infer_pending(m, x->def, x->type, t->type) != t->type)
			x->flags &= ~(uint32_t)VALUE_OPEN;
		x->type = t->type;
	}
	finish_value(r, t, v);
}

static void translate_operation(struct nv_reader *r, ast_id stmt, ast_id targets, ast_id expr)
{
	struct sema *s = r->s;
	struct sema_result result[IR_MAX_RESULTS];
	struct nv_tensor *tensor[IR_MAX_RESULTS];
	value_id value[IR_MAX_RESULTS];
	unsigned n = 0;
	if (nv_attention(r, targets, expr) || nv_welford(r, targets, expr) || nv_argsort(r, targets, expr) ||
	    nv_take(r, targets, expr) || nv_scaled(r, targets, expr))
		return;
	for (ast_id target = targets ? ast_at(s->a, targets)->first : 0; target;
	     target = ast_at(s->a, target)->next) {
		value_id bound;
		if (n == IR_MAX_RESULTS) {
			nv_refuse(r, E_STATEMENT_LIMIT, target, "a statement has at most 256 results");
			return;
		}
		if (!nv_result(r, target, &tensor[n], &bound))
			return;
		bool any_dtype = !bound && nv_lacks_dtype(r, tensor[n]);
		if (any_dtype && expr)
			nv_take_cast(r, expr, tensor[n]);
		result[n] = (struct sema_result){.type = tensor[n]->open ? 0 : tensor[n]->type,
		                                 .any_dtype = any_dtype,
		                                 .bound = bound,
		                                 .at = ast_at(s->a, target)->at};
		if (n && !bound != !result[0].bound) {
			nv_refuse(r, E_RESULT_FORM, target,
			          "a statement writes all its results or defines all of them");
			return;
		}
		n++;
	}
	op_id op = 0;
	nv_round_varying(r, expr);
	if (nv_spelling(r, expr, n == 1 ? tensor[0] : NULL))
		op = sema_call(s, expr, result, n, 0, ast_at(s->a, stmt)->at, value);
	for (unsigned k = 0; k < n; k++) {
		if (!op && !tensor[k]->value)
			nv_define(r, tensor[k], result[k].at); /* so that uses of the result are not
			                                          errors, too */
		else if (op && !result[k].bound) {
			if (result[k].any_dtype)
				tensor[k]->type = s->m->value.at[value[k]].type;
			nv_settle(r, tensor[k], value[k]);
		}
	}
}

bool nv_prints_tensor(struct nv_reader *r, ast_id e)
{
	if (nv_is(r, e, AST_TENSOR))
		return true;
	ast_each (r->s->a, child, e)
		if (nv_prints_tensor(r, child))
			return true;
	return false;
}

/* Reads `i6 = i5 * 2;`. A -D of the name comes first, as for a line of `Index definitions:`. */
static void translate_scalar(struct nv_reader *r, ast_id target, ast_id expr)
{
	struct sema *s = r->s;
	const struct ast_node n = *ast_at(s->a, target);
	const char *name = ast_text(s->a, target);
	const struct scope_entry *used = sema_find_scalar(s, n.name);
	if (!r->in_unit && sema_find_define(s, name)) /* a unit has names of its own */
		return;
	if (used && used->kind == SCOPE_PARAM) {
		diag_error_span(s->d, E_USED_BEFORE, n.at, n.end - n.at, "%s is used before it is defined",
		                name);
		diag_note(s->d, DIAG_NOWHERE, "put the line under `Index definitions:`");
		return;
	}
	if (nv_varying(r, target, expr))
		return;
	enum scope_kind kind = SCOPE_LET;
	uint32_t id = 0;
	bool good = sema_is_real(s, expr) ? sema_real(s, expr, &kind, &id) : (id = sema_expr(s, expr)) != 0;
	if (!good)
		diag_note(s->d, DIAG_NOWHERE, "-D %s=VALUE gives the scalar a value", name);
	sema_define_scalar(s, n.name, good ? kind : SCOPE_BROKEN, id, n.at);
}

static void translate_definition(struct nv_reader *r, ast_id stmt)
{
	struct ast *a = r->s->a;
	ast_id targets = ast_child(a, stmt, 0), expr = ast_child(a, stmt, 1),
	       target = ast_at(a, targets)->first;
	bool single = !ast_at(a, target)->next;
	const char *name =
	    nv_is(r, expr, AST_CALL) && !(ast_at(a, expr)->flags & AST_EXTERN) ? ast_text(a, expr) : "";
	if (single && nv_is(r, target, AST_RESULT) && !ast_at(a, target)->first &&
	    !nv_prints_tensor(r, expr)) {
		translate_scalar(r, target, expr);
	} else if (nv_is(r, target, AST_HANDLE)) {
		if (!single || strcmp(name, "GetCurrentStream"))
			nv_refuse(r, E_STREAM_RESULT, stmt,
			          "a stream is defined by `Stream 0x1 = GetCurrentStream()`");
		else
			nv_get_current_stream(r, stmt, target);
	} else if (single && !strcmp(name, "ALLOCATE")) {
		nv_allocate(r, stmt, target, expr);
	} else if (single && (nv_is_select(r, expr) || !strcmp(name, "ShardByStream"))) {
		nv_view(r, stmt, target, expr, *name != 'S');
	} else if (single && !strcmp(name, "SymmetricContiguousView")) {
		nv_symmetric_view(r, stmt, target, expr);
	} else {
		translate_operation(r, stmt, targets, expr);
	}
}

static void translate_action(struct nv_reader *r, ast_id stmt)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} naming[] = {{"Wait", OP_WAIT}, {"post", OP_POST}, {"ShareMemHandles", OP_SHARE_MEM_HANDLES}},
	  streams[] = {{"SetCurrentStream", OP_SET_CURRENT_STREAM}, {"Synchronize", OP_SYNCHRONIZE}};
	struct sema *s = r->s;
	ast_id call = ast_at(s->a, stmt)->first;
	const char *name = ast_text(s->a, call);
	if (nv_is(r, call, AST_COMM)) {
		nv_communication(r, call);
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(naming[i].name, name)) {
			nv_naming_call(r, call, naming[i].kind);
			return;
		}
	for (unsigned i = 0; i < 2; i++)
		if (!strcmp(streams[i].name, name)) {
			nv_stream_call(r, call, streams[i].kind);
			return;
		}
	enum op_kind unit = nv_post_kind(r, call);
	if (unit != OP_NONE)
		nv_post_unit(r, call, unit);
	else if (!strcmp(name, "StartCoalescing"))
		nv_append(r, ir_op_new(s->m, OP_START_COALESCING, ast_at(s->a, stmt)->at, NULL, 0));
	else
		translate_operation(r, stmt, 0, call);
}

/* ---- loops and conditions */

void nv_region(struct nv_reader *r, region_id g, ast_id body)
{
	region_id outer = r->s->region;
	r->s->region = g;
	translate_block(r, body);
	r->s->region = outer;
}

/* Returns true for istreamIdx7{3} and iStream7{3}. A loop over iS0{3} runs in order, unless it sets streams. */
static bool is_stream_id(const struct sema *s, ast_id id)
{
	const char *head = ast_text(s->a, id);
	return *head && !strncasecmp(head + 1, "stream", 6);
}

static void translate_loop(struct nv_reader *r, ast_id stmt)
{
	struct sema *s = r->s;
	const struct ast_node n = *ast_at(s->a, stmt);
	bool over_id = n.flags & AST_FOR_IN;
	ast_id first = ast_child(s->a, stmt, 0), body = ast_child(s->a, stmt, over_id ? 1 : 2);
	expr_id from = over_id ? expr_const(s->m, 0) : sema_expr(s, first);
	expr_id to = over_id ? nv_extent(r, first, ast_at(s->a, first)->first)
	                     : sema_expr(s, ast_child(s->a, stmt, 1));
	if (!from || !to || sema_too_deep(s, stmt))
		return;
	struct ir_use use[] = {{ROLE_SCALAR, ir_scalar_expr(s->m, from)},
	                       {ROLE_SCALAR, ir_scalar_expr(s->m, to)}};
	op_id op = ir_op_new(s->m, OP_FOR, n.at, use, 2);
	nv_append(r, op);
	int32_t number = sema_numbered(s, n.name, 'i');
	const struct nv_fact *given =
	    number < 0 ? NULL : nv_find_fact(r->index_name.at, r->index_name.n, (uint64_t)number);
	index_id index = ir_index_add(s->m, number < 0 ? n.name : given ? given->name : 0);
	s->m->index.at[index].number = number;
	region_id g = ir_region_new(s->m, op);
	s->m->region.at[g].index = index;
	sema_scope_push(s);
	sema_define_scalar(s, n.name, SCOPE_INDEX, index, n.at);
	if (given) /* so that -D finds it */
		sema_define_scalar(s, given->name, SCOPE_INDEX, index, n.at);
	nv_region(r, g, body);
	sema_scope_pop(s);
	const struct nv_fact *kind =
	    number < 0 ? NULL : nv_find_fact(r->index_kind.at, r->index_kind.n, (uint64_t)number);
	bool stream = (over_id && is_stream_id(s, first)) || print_order_loop_is_stream(s->m, op);
	if (kind)
		stream = !strcmp(names_text(s->m->names, kind->name), "stream");
	nv_op(r, op)->flags |= stream ? OP_STREAM_LOOP : 0;
}

static void translate_condition(struct nv_reader *r, ast_id stmt)
{
	struct sema *s = r->s;
	ast_id then = ast_child(s->a, stmt, 1), otherwise = ast_child(s->a, stmt, 2);
	scalar_id c = nv_scalar(r, ast_child(s->a, stmt, 0));
	if (!c || sema_too_deep(s, stmt))
		return;
	op_id op = ir_op_new(s->m, OP_IF, ast_at(s->a, stmt)->at, &(struct ir_use){ROLE_SCALAR, c}, 1);
	nv_append(r, op);
	nv_region(r, ir_region_new(s->m, op), then);
	if (nv_is(r, otherwise, AST_BLOCK))
		nv_region(r, ir_region_new(s->m, op), otherwise);
}

static void translate_block(struct nv_reader *r, ast_id list)
{
	struct sema *s = r->s;
	if (!list)
		return;
	sema_scope_push(s);
	ast_each (s->a, child, list) {
		ast_id stmt = shape_expand(s->a, child);
		switch (ast_at(s->a, stmt)->kind) {
		case AST_DEF:
			nv_allocate_own_outputs(r, stmt);
			translate_definition(r, stmt);
			break;
		case AST_DO:
			nv_allocate_own_outputs(r, stmt);
			translate_action(r, stmt);
			break;
		case AST_FOR:
			nv_loop_views_begin(r, stmt);
			nv_allocate_outputs(r, stmt);
			translate_loop(r, stmt);
			nv_loop_views_end(r, stmt);
			break;
		case AST_IF:
			nv_allocate_outputs(r, stmt);
			translate_condition(r, stmt);
			break;
		case AST_DEALLOCATE:
			nv_deallocate(r, stmt);
			break;
		default:
			break;
		}
	}
	sema_scope_pop(s);
}

/* ---- the container */

/* Returns the attributes of an input: those of `attr T0 {…}`, without those about its layout. */
static attrs_id input_attrs(struct nv_reader *r, const struct nv_tensor *t)
{
	static const char *const but[] = {"layout", "mesh", "inout", NULL};
	struct module *m = r->s->m;
	attrs_id all = nv_attrs(r, OP_NONE, t->attrs, but), left = all;
	for (uint32_t i = 0; i < m->attrs.at[all].n; i++) {
		name_id key = m->attrs.at[all].at[i].key;
		if (!strncmp(names_text(m->names, key), "partial_", 8))
			left = ir_attrs_without(m, left, key);
	}
	return left;
}

static void inputs(struct nv_reader *r, ast_id list, ast_id outputs)
{
	struct sema *s = r->s;
	ast_id next = ast_at(s->a, outputs)->first; /* next output that is also an input */
	ast_each (s->a, node, list) {
		struct nv_tensor *t = nv_find_tensor(r, ast_at(s->a, node)->name);
		if (nv_is(r, node, AST_NAME)) {
			sema_input_param(s, node);
			continue;
		}
		if (!t || t->value)
			continue;
		const uint32_t at = ast_at(s->a, node)->at;
		value_id v = t->own ? nv_define_whole(r, t, at) : nv_define(r, t, at);
		if (t->own)
			nv_take_block(r, t, at);
		bool inout = next && ast_at(s->a, next)->name == t->name;
		if (inout)
			next = ast_at(s->a, next)->next;
		inout = t->inout < 0 ? inout : t->inout;
		s->m->value.at[v].flags |= VALUE_INPUT | (inout ? VALUE_INOUT | VALUE_OUTPUT : 0);
		struct input x = {.value = v};
		if (t->init)
			sema_initialiser(s, t->init, &x);
		if (t->attrs)
			x.attrs = input_attrs(r, t);
		vec_push(&s->m->input, x);
	}
}

static void outputs(struct nv_reader *r, ast_id list)
{
	struct sema *s = r->s;
	ast_each (s->a, node, list) {
		struct nv_tensor *t = nv_find_tensor(r, ast_at(s->a, node)->name);
		if (t && t->is_listed)
			continue;
		if (t)
			t->is_listed = true;
		bool elsewhere = t && !t->value && nv_allocate_elsewhere(r, t, ast_at(s->a, node)->at);
		if (elsewhere || (t && t->value && is_visible(r, t->region)))
			vec_push(&s->m->output, t->whole ? t->whole : t->value);
		else if (t)
			diag_error(s->d, E_OUTPUT_UNDEFINED, ast_at(s->a, node)->at,
			           "output %s is never defined", ast_text(s->a, node));
	}
}

static void program_facts(struct nv_reader *r)
{
	struct sema *s = r->s;
	if (!s->m->name)
		s->m->name = r->program_name ? r->program_name : names_intern_z(s->m->names, "main");
	for (uint32_t i = 0; i < r->tensor.n && !s->m->default_mesh; i++)
		s->m->default_mesh = s->m->type.at[r->tensor.at[i].type].mesh;
	if (r->no_mesh)
		s->m->default_mesh = 0;
	if (r->program_mesh) {
		s->m->default_mesh = sema_find_mesh(s, r->program_mesh);
		if (!s->m->default_mesh)
			diag_error(s->d, E_MESH_UNKNOWN, r->program_mesh_at,
			           "the section Hirc names an unknown mesh '%s'",
			           names_text(s->m->names, r->program_mesh));
	}
	s->mesh = s->m->default_mesh;
}

void sema_container(struct sema *s, ast_id file, ast_id container)
{
	struct nv_reader r = {.s = s, .body = ast_child(s->a, container, 2)};
	unsigned before = diag_error_count(s->d);
	s->is_listing = true;
	(void)file;
	ast_each (s->a, section, container)
		if (nv_is(&r, section, AST_SECTION) && !strcmp(ast_text(s->a, section), "Hirc"))
			nv_declarations(&r, section), r.has_facts = true;
	s->is_foreign = !r.has_facts;
	nv_collect(&r, container);
	ast_each (s->a, section, container)
		if (nv_is(&r, section, AST_SECTION) && !strcmp(ast_text(s->a, section), "Hirc"))
			nv_facts(&r, section);
	nv_ranks(&r);
	nv_find_other_extents(&r);
	nv_types(&r);
	if (diag_error_count(s->d) == before) {
		program_facts(&r);
		nv_own_inputs(&r);
		nv_own_outputs(&r);
		inputs(&r, ast_child(s->a, container, 0), ast_child(s->a, container, 1));
		translate_block(&r, ast_child(s->a, container, 2));
		outputs(&r, ast_child(s->a, container, 1));
		nv_resolve_pending(&r);
		if (!r.has_facts) {
			nv_orders(&r);
			nv_close_layouts(&r);
		}
	}
	vec_free(&r.tensor);
	vec_free(&r.tensor_of);
	vec_free(&r.local_of);
	for (uint32_t u = 0; u < r.unit.n; u++)
		printed_numbers_free(&r.unit.at[u].numbers);
	vec_free(&r.unit);
	vec_free(&r.post);
	vec_free(&r.statement);
	vec_free(&r.index_name);
	vec_free(&r.index_kind);
	vec_free(&r.handle_name);
	vec_free(&r.named);
	vec_free(&r.number);
	vec_free(&r.pending);
	vec_free(&r.experts);
	vec_free(&r.mesh);
	vec_free(&r.varying);
	vec_free(&r.given);
	vec_free(&r.refused_dtype);
	printed_numbers_free(&r.numbers);
	free(r.choice);
}
