/* sema_reduction: reads the reductions of a listing.
 *
 *     reduction( T0…, op = add, initial value = double(0), allreduce = false )     sum(T0…, axis=1)
 *     the same of [iS0{4}, ideviceIdx.x1{2}rf, rS2{8}rf] to [iS3{4}, rdeviceIdx.x4{2}]   set(T0…), which ends the sum
 *     scan(T0…, dim=1, op_type=add, init=double(0))                                scan(T0…, axis=1)
 *
 * The axes of a reduction are those that the result prints with r. On bool, sum is or, and prod is and. nvFuser's fmax gives NaN if a
 * term is NaN; since 2025 that one prints as max, and fmax stands only where another operation brings the NaN back. */
#include "parse/nvfuser.h"
#include <math.h>
#include <string.h>

/* Returns the number that a node is, also with a sign before it; NAN: it is none. */
static double number_of(struct nv_reader *r, ast_id id)
{
	const struct ast_node *n = ast_at(r->s->a, id);
	if (nv_is_name(r, id, "true") || nv_is_name(r, id, "false"))
		return nv_is_name(r, id, "true");
	if (nv_is(r, id, AST_UNARY) && !strcmp(ast_text(r->s->a, id), "-"))
		return -number_of(r, n->first);
	return n->kind == AST_INT ? (double)n->value.i : n->kind == AST_FLOAT ? n->value.f : NAN;
}

/* Checks that a reduction begins with a value that changes nothing. */
static bool check_initial_value(struct nv_reader *r, ast_id value, enum reduce_op op, enum dtype t)
{
	double number = value ? number_of(r, value) : 0,
	       identity = dtype_is_float(t) ? reduce_identity_f64(op, t) : (double)reduce_identity_i64(op, t);
	if (!value || number == identity || (op == REDUCE_MAX && number < identity) ||
	    (op == REDUCE_MIN && number > identity))
		return true;
	return nv_refuse(
	    r, E_ATTRIBUTE_VALUE, value,
	    "a reduction begins with the value that changes nothing: 0 for add, 1 for mul, -inf for "
	    "fmax, inf for fmin");
}

bool nv_reduce_op(const char *word, enum reduce_op *op)
{
	static const struct {
		const char *word;
		enum reduce_op op;
	} words[] = {{"add", REDUCE_SUM},        {"mul", REDUCE_PROD},        {"*", REDUCE_PROD},
	             {"fmax", REDUCE_MAX},       {"max", REDUCE_MAX},         {"fmin", REDUCE_MIN},
	             {"min", REDUCE_MIN},        {"logical_or", REDUCE_SUM},  {"logical_and", REDUCE_PROD},
	             {"bitwise_or", REDUCE_SUM}, {"bitwise_and", REDUCE_PROD}};
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i].word, word)) {
			*op = words[i].op;
			return true;
		}
	return false;
}

/* Reads the word of a reduction of dtype t. Returns false after reporting. */
static bool read_word(struct nv_reader *r, ast_id call, ast_id op, enum dtype t, enum reduce_op *out)
{
	const char *word = op ? ast_text(r->s->a, op) : "";
	if (!nv_reduce_op(word, out))
		return nv_refuse(
		    r, E_REDUCTION_UNKNOWN, op ? op : call,
		    "the op= of a reduction is add, mul, fmax or fmin, or of bools logical_or or "
		    "logical_and");
	if (strchr(word, '_') && t != DTYPE_BOOL)
		return nv_refuse(r, E_OPERAND_DTYPE, op, "only bools are reduced by and and or");
	return true;
}

bool nv_scan(struct nv_reader *r, ast_id call, const struct nv_tensor *result)
{
	ast_id op = nv_key(r, call, "op_type"), dim = nv_key(r, call, "dim"), init = nv_key(r, call, "init");
	enum reduce_op reduce;
	enum dtype t = (enum dtype)r->s->m->type.at[result->type].dtype;
	if (!read_word(r, call, op, t, &reduce) || !check_initial_value(r, init, reduce, t))
		return false;
	dim = nv_node_copy(r, dim);
	nv_keep_first(r, call);
	nv_node_key(r, call, "axis", dim);
	if (reduce != REDUCE_SUM)
		nv_node_key(r, call, "op", nv_node(r, AST_NAME, call, reduce_op_name(reduce)));
	return true;
}

/* Returns true if the operand has a pending reduction by op, and the result as many visible axes. Only the terms of the
 * devices are left to reduce. */
static bool ends_pending(struct nv_reader *r, ast_id call, const struct nv_tensor *result, enum reduce_op op)
{
	const struct module *m = r->s->m;
	const struct domain *d = nv_find_domain(r, ast_at(r->s->a, call)->first);
	bool pending = false;
	if (!d || d->rank != ir_domain(m, m->type.at[result->type].domain)->rank)
		return false;
	for (unsigned i = 0; i < d->logical_n; i++) {
		const struct axis *a = &d->axis[i];
		if (a->kind == AXIS_PARTIAL && a->reduce != op)
			return false;
		pending |= a->kind == AXIS_PARTIAL;
	}
	return pending;
}

bool nv_reduction(struct nv_reader *r, ast_id call, struct nv_tensor *result)
{
	uint8_t axis[IR_MAX_AXES];
	struct printed_tensor p;
	ast_id op = nv_key(r, call, "op"), all = nv_key(r, call, "allreduce");
	enum reduce_op reduce;
	enum dtype t = (enum dtype)r->s->m->type.at[result->type].dtype;
	if (!read_word(r, call, op, t, &reduce))
		return false;
	if (all && !nv_is_name(r, all, "false") && !nv_is_int(r, all, 0))
		return nv_refuse(r, E_ATTRIBUTE_VALUE, all,
		                 "allreduce= is a choice inside a kernel; host IR knows false");
	const struct nv_tensor *shown = nv_printed_reductions(r, result);
	if (!check_initial_value(r, nv_key(r, call, "initial_value"), reduce, t) ||
	    !nv_ids(r, shown, r->s->m->type.at[shown->type].mesh, &p) ||
	    !nv_part_operand(r, call, result, reduce))
		return false;
	nv_keep_first(r, call);
	if (ends_pending(r, call, result, reduce)) {
		nv_rename_call(r, call, "set");
		return true;
	}
	nv_rename_call(r, call, reduce_op_name(reduce));
	unsigned n = printed_reduced(r->s->m, &p, axis);
	ast_id list = n == 1 ? nv_node_int(r, call, axis[0]) : nv_node(r, AST_TUPLE, call, NULL);
	for (unsigned i = 0; i < n && n > 1; i++)
		nv_node_append(r, list, nv_node_int(r, call, axis[i]));
	nv_node_key(r, call, "axis", list);
	return true;
}
