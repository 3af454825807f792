/* sema_experts: Dispatch and Combine as nvFuser prints them, with some of their tensors.
 *
 *     Dispatch 5 (num_experts=4, backend=NCCL, in=T0…, topk_idx=T1…, topk_weights=T2…, out=T3…)
 *     Combine 6 (backend=NCCL, in=T3…, topk_weights=T4…, src_idx=T5…, out=T6…)
 *
 * Dispatch has five results more. The Combine that undoes it is the next one whose src_idx no other statement defines:
 * it names the sources, and often the weights. The counts are printed nowhere: the reader gives those of the Dispatch
 * to its Combine. If the listing has one Dispatch, an undefined tensor elsewhere is the result of that dtype and rank.
 *
 *     T3…, T7, T4…, T5…, T8, T9 = dispatch(T0…, T1…, T2…, num_experts=4)
 *     T6… = combine(T3…, T4…, T5…, T8, T9) */
#include "ir/edit.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

enum { ROWS, EXPERTS, WEIGHTS, SOURCES, TO, FROM, RESULTS };

static const char way_out[] =
    "write all tensors: `T3…, T4…, T5…, T6…, T7…, T8… = dispatch(T0…, T1…, T2…, num_experts=8)`, `T9… = "
    "combine(T3…, T5…, T6…, T7…, T8…)`";

static const char *const no_keys[] = {NULL};

static bool is_named(const struct nv_reader *r, ast_id comm, const char *name)
{
	return !strcmp(ast_text(r->s->a, comm), name);
}

/* Returns the first Dispatch or Combine behind a place in the text, or 0. */
static ast_id find_next(const struct nv_reader *r, uint32_t at, const char *name)
{
	ast_id next = 0;
	for (uint32_t i = 0; i < r->statement.n; i++) {
		ast_id node = r->statement.at[i].node;
		if (is_named(r, node, name) && ast_at(r->s->a, node)->at > at &&
		    (!next || ast_at(r->s->a, node)->at < ast_at(r->s->a, next)->at))
			next = node;
	}
	return next;
}

/* Returns the tensor of a key that no statement but an ALLOCATE defines, or NULL. */
static struct nv_tensor *find_undefined(struct nv_reader *r, ast_id comm, const char *key)
{
	ast_id node = nv_key(r, comm, key);
	struct nv_tensor *t =
	    nv_is(r, node, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, node)->name) : NULL;
	return t && nv_is_undefined(r, t) ? t : NULL;
}

static bool refuse_ambiguous(struct nv_reader *r, ast_id comm, const char *what, ast_id other)
{
	diag_error(r->s->d, E_EXPERTS, ast_at(r->s->a, comm)->at, "%s", what);
	if (other)
		diag_note(r->s->d, ast_at(r->s->a, other)->at, "the other one is here");
	diag_note(r->s->d, DIAG_NOWHERE, "%s", way_out);
	return false;
}

/* Finds the results that the Combine of a Dispatch names. */
static bool find_of_combine(struct nv_reader *r, ast_id dispatch, struct nv_tensor **result)
{
	uint32_t at = ast_at(r->s->a, dispatch)->at;
	ast_id combine = find_next(r, at, "Combine"), other = find_next(r, at, "Dispatch");
	while (combine && !find_undefined(r, combine, "src_idx"))
		combine = find_next(r, ast_at(r->s->a, combine)->at, "Combine");
	if (!combine)
		return true;
	if (other && ast_at(r->s->a, other)->at < ast_at(r->s->a, combine)->at)
		return refuse_ambiguous(
		    r, combine, "this Combine may belong to either of the two Dispatches before it", other);
	result[SOURCES] = find_undefined(r, combine, "src_idx");
	result[WEIGHTS] = find_undefined(r, combine, "topk_weights");
	return true;
}

/* Finds the results that other statements name, by dtype and rank. */
static bool find_by_type(struct nv_reader *r, ast_id dispatch, struct nv_tensor **result)
{
	struct nv_tensor *known[RESULTS];
	memcpy(known, result, sizeof known);
	for (uint32_t i = 0; i < r->tensor.n; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		if (t->formal || !nv_is_undefined(r, t))
			continue;
		const struct type *type = &r->s->m->type.at[t->type];
		unsigned rank = ir_domain(r->s->m, type->domain)->rank;
		bool is_float = dtype_is_float((enum dtype)type->dtype);
		int k = rank == 2 ? (is_float ? WEIGHTS : EXPERTS) : rank == 1 && !is_float ? SOURCES : -1;
		if (k < 0 || known[k] == t)
			continue;
		if (result[k])
			return refuse_ambiguous(
			    r, dispatch, "two tensors may be the same result of this Dispatch", t->node);
		result[k] = t;
	}
	return true;
}

static value_id add_buffer(struct nv_reader *r, value_id v, uint32_t at)
{
	nv_append(r, ir_op_new(r->s->m, OP_ALLOCATE, at, &(struct ir_use){ROLE_DEF, v}, 1));
	return v;
}

/* Gives all results of a Dispatch a buffer if an ALLOCATE gives one of them a buffer: a statement writes all its
 * results or none. */
static bool bind_all(struct nv_reader *r, ast_id call, struct nv_tensor **result, struct sema_result *x)
{
	uint32_t at = ast_at(r->s->a, call)->at;
	struct ir_use operand;
	value_id of[3];
	bool any = false;
	for (unsigned k = 0; k < RESULTS; k++)
		any |= result[k] && result[k]->value;
	for (unsigned k = 0; k < 3 && any; k++) {
		if (!sema_operand(r->s, ast_child(r->s->a, call, k), &operand))
			return false;
		of[k] = operand.id;
	}
	for (unsigned k = 0; k < RESULTS && any; k++) {
		x[k].bound = result[k] ? result[k]->value : 0;
		if (!x[k].bound && result[k])
			x[k].bound = add_buffer(r, nv_define(r, result[k], at), at);
		if (x[k].bound)
			continue;
		const struct infer_draft draft = {.kind = OP_DISPATCH,
		                                  .operand_n = 3,
		                                  .operand = of,
		                                  .attrs = nv_attrs(r, OP_DISPATCH, call, no_keys),
		                                  .result = k,
		                                  .result_n = RESULTS,
		                                  .first = result[ROWS]->type,
		                                  .at = at};
		type_id type = infer_type(r->s->m, r->s->d, &draft);
		if (!type)
			return false;
		x[k].bound = add_buffer(r, ir_value_new(r->s->m, type, 0, at), at);
	}
	return true;
}

/* Makes dispatch(in, topk_idx, topk_weights, num_experts=…) of a Dispatch. */
static ast_id dispatch_call(struct nv_reader *r, ast_id comm)
{
	static const char *const operand[] = {"in", "topk_idx", "topk_weights"};
	ast_id call = nv_node(r, AST_CALL, comm, "dispatch");
	for (unsigned k = 0; k < 3; k++) {
		ast_id node = nv_need_key(r, comm, operand[k]);
		if (!node)
			return 0;
		nv_node_append(r, call, nv_node_copy(r, node));
	}
	ast_id experts = nv_need_key(r, comm, "num_experts"), backend = nv_key(r, comm, "backend");
	if (!experts)
		return 0;
	nv_node_key(r, call, "num_experts", nv_node_copy(r, experts));
	if (nv_is(r, backend, AST_NAME) && !nv_is_name(r, backend, "NCCL"))
		nv_node_key(r, call, "backend", nv_node_copy(r, backend));
	return call;
}

void nv_dispatch(struct nv_reader *r, ast_id comm)
{
	static const char *const known[] = {"num_experts",  "backend", "in", "topk_idx",
	                                    "topk_weights", "out",     NULL};
	struct sema *s = r->s;
	struct nv_tensor *result[RESULTS] = {0};
	struct sema_result x[RESULTS];
	value_id value[RESULTS];
	uint32_t at = ast_at(s->a, comm)->at;
	bool ok = nv_check_keys(r, comm, known);
	ast_id out = ok ? nv_need_key(r, comm, "out") : nv_key(r, comm, "out");
	if (!out || !nv_result(r, out, &result[ROWS], &value[ROWS]))
		return;
	ast_id call = ok ? dispatch_call(r, comm) : 0;
	bool one = !find_next(r, at, "Dispatch") && find_next(r, 0, "Dispatch") == comm;
	bool found = call && find_of_combine(r, comm, result) && (!one || find_by_type(r, comm, result));
	for (unsigned k = 0; k < RESULTS; k++)
		x[k] = (struct sema_result){.type = result[k] && !result[k]->open ? result[k]->type : 0,
		                            .at = at};
	if (!s->m->type.at[result[ROWS]->type].mesh)
		diag_warning(s->d, W_PRINTED_EXPERTS, at,
		             "the tensors of Dispatch print no DeviceMesh: one device has all experts");
	op_id op =
	    found && call && bind_all(r, call, result, x) ? sema_call(s, call, x, RESULTS, 0, at, value) : 0;
	for (unsigned k = 0; k < RESULTS; k++) {
		if (result[k] && !op && !result[k]->value)
			nv_define(r, result[k], at); /* so that uses of the result are not errors, too */
		else if (result[k] && op && !x[k].bound)
			nv_settle(r, result[k], value[k]);
	}
	if (op && result[SOURCES])
		vec_push(&r->experts, (struct nv_experts){result[SOURCES]->name, value[TO], value[FROM]});
}

void nv_combine(struct nv_reader *r, ast_id comm)
{
	static const char *const known[] = {"backend", "in", "topk_weights", "src_idx", "out", NULL};
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound, operand[5];
	uint32_t at = ast_at(s->a, comm)->at;
	const struct nv_experts *counts = NULL;
	bool fits = nv_check_keys(r, comm, known);
	ast_id out = fits ? nv_need_key(r, comm, "out") : nv_key(r, comm, "out");
	if (!out || !nv_result(r, out, &t, &bound))
		return;
	for (unsigned k = 0; k < 3 && fits; k++) {
		ast_id node = nv_need_key(r, comm, known[k + 1]);
		operand[k] = node ? nv_operand(r, node) : 0;
		fits &= operand[k] != 0;
		for (uint32_t i = 0; k == 2 && node && i < r->experts.n; i++)
			if (r->experts.at[i].sources == ast_at(s->a, node)->name)
				counts = &r->experts.at[i];
	}
	if (fits && !counts)
		fits = refuse_ambiguous(
		    r, comm, "the sources of this Combine come from no Dispatch as nvFuser prints it", 0);
	operand[3] = counts ? counts->to : 0;
	operand[4] = counts ? counts->from : 0;
	ast_id backend = nv_key(r, comm, "backend");
	attrs_id attrs = nv_is(r, backend, AST_NAME) && !nv_is_name(r, backend, "NCCL")
	                     ? nv_with_name(r, 0, "backend", ast_at(s->a, backend)->name)
	                     : 0;
	const struct infer_draft draft = {.kind = OP_COMBINE,
	                                  .operand_n = 5,
	                                  .operand = operand,
	                                  .attrs = attrs,
	                                  .result_n = 1,
	                                  .stated = bound ? s->m->value.at[bound].type : t->type,
	                                  .at = at};
	fits = fits && infer_check(s->m, s->d, &draft);
	value_id v = bound ? bound : nv_define(r, t, ast_at(s->a, out)->at);
	if (!fits)
		return;
	struct ir_use use[7] = {{ROLE_DEF, v}};
	for (unsigned k = 0; k < 5; k++)
		use[k + 1] = (struct ir_use){ROLE_READ, operand[k]};
	use[6] = (struct ir_use){ROLE_WRITE, v};
	op_id op = ir_op_new(s->m, OP_COMBINE, at, bound ? use + 1 : use, 6);
	nv_append(r, op);
	nv_op(r, op)->attrs = attrs;
	team_id team = infer_experts_team(s->m, op);
	nv_op(r, op)->team = team;
}
