/* sema_gather: turns the operations of nvFuser that take elements at indices into those of ops.def.
 *
 *     indexSelect( T0…, dim = 1, T1… )                  gather(T0…, T1…, axis=1)
 *     takeAlongAxis( T0…, T1…, dim = 0 )                gather(T0…, T1…, axis=0), of tensors of one axis; of several
 *                                                       axes: sema_along.c
 *     embedding(T0…, T1…, norm_type = …, … )            gather(T1…, T0…, axis=0)
 *     scatter(in = T0…, dim = 0, src = T2…, idx = T1… )  scatter(T0…, T1…, T2…, axis=0); also self = T0…
 *     GroupedMmaOp(mat1=T0…, mat2=T1…, offsets=T2…)      grouped_matmul(T0…, T1…, T2…)
 *     scatter(…, accumulate = add )                     scatter(…, op=sum)
 *     indexPutAccumulate( T0…, T1…, T2… )               scatter(T0…, T1…, T2…, axis=0, op=sum), T1 of one axis
 *     topk( T0…, 2, dim = 1, largest = True, … )        topk(T0…, k=2, axis=1)
 *
 * The tree is changed in place. Forms of hirc's own stay as they are. */
#include "parse/nvfuser.h"
#include <string.h>

/* Returns the rank of an operand, or -1. */
static int rank_of(struct nv_reader *r, ast_id operand)
{
	const struct nv_tensor *t =
	    nv_is(r, operand, AST_TENSOR) ? nv_find_tensor(r, ast_at(r->s->a, operand)->name) : NULL;
	return t ? (int)ir_domain(r->s->m, r->s->m->type.at[t->type].domain)->rank : -1;
}

/* Makes gather(a, b, axis=…) of a call. */
static void make_gather(struct nv_reader *r, ast_id call, ast_id a, ast_id b, ast_id axis)
{
	ast_id first = nv_node_copy(r, a), second = nv_node_copy(r, b), at = nv_node_copy(r, axis);
	r->s->a->nodes.at[call].first = 0;
	r->s->a->nodes.at[call].name = names_intern_z(r->s->m->names, "gather");
	nv_node_append(r, call, first);
	nv_node_append(r, call, second);
	nv_node_key(r, call, "axis", at);
}

static ast_id operand(struct nv_reader *r, ast_id call, unsigned k)
{
	ast_each (r->s->a, child, call)
		if (!nv_is(r, child, AST_KEY) && k-- == 0)
			return child;
	return 0;
}

static bool read_topk(struct nv_reader *r, ast_id call)
{
	ast_id k = operand(r, call, 1), dim = nv_key(r, call, "dim"), largest = nv_key(r, call, "largest");
	if (largest && !nv_is_name(r, largest, "True"))
		return nv_refuse(r, E_ATTRIBUTE_VALUE, largest,
		                 "topk gives the largest elements; negate the operand for the smallest ones");
	ast_id from = nv_node_copy(r, operand(r, call, 0));
	k = nv_node_copy(r, k);
	dim = nv_node_copy(r, dim);
	r->s->a->nodes.at[call].first = 0;
	nv_node_append(r, call, from);
	nv_node_key(r, call, "k", k);
	nv_node_key(r, call, "axis", dim);
	return true;
}

static bool read_embedding(struct nv_reader *r, ast_id call)
{
	ast_id norm = nv_key(r, call, "max_norm"), zero = nv_node(r, AST_INT, call, NULL);
	if (norm)
		return nv_refuse(r, E_ATTRIBUTE_VALUE, norm,
		                 "an embedding changes no weights: max_norm= is not read");
	make_gather(r, call, operand(r, call, 1), operand(r, call, 0), zero);
	return true;
}

static bool read_scatter(struct nv_reader *r, ast_id call, ast_id dim)
{
	ast_id in = nv_key(r, call, "in"), src = nv_key(r, call, "src"), idx = nv_key(r, call, "idx"),
	       accumulate = nv_key(r, call, "accumulate");
	enum reduce_op reduce;
	in = in ? in : nv_key(r, call, "self");
	if (!in || !src || !idx)
		return nv_refuse(r, E_OPERAND_COUNT, call, "scatter takes in=, dim=, src= and idx=");
	if (accumulate && !nv_reduce_op(ast_text(r->s->a, accumulate), &reduce))
		return nv_refuse(r, E_REDUCTION_UNKNOWN, accumulate,
		                 "the accumulate= of a scatter is add, mul, fmax or fmin, or of bools "
		                 "logical_or or logical_and");
	ast_id operand[] = {nv_node_copy(r, in), nv_node_copy(r, idx), nv_node_copy(r, src)};
	dim = nv_node_copy(r, dim);
	r->s->a->nodes.at[call].first = 0;
	for (unsigned k = 0; k < 3; k++)
		nv_node_append(r, call, operand[k]);
	nv_node_key(r, call, "axis", dim);
	if (accumulate)
		nv_node_key(r, call, "op", nv_node(r, AST_NAME, call, reduce_op_name(reduce)));
	return true;
}

static bool read_index_put(struct nv_reader *r, ast_id call)
{
	r->s->a->nodes.at[call].name = names_intern_z(r->s->m->names, "scatter");
	nv_node_key(r, call, "axis", nv_node_int(r, call, 0));
	nv_node_key(r, call, "op", nv_node(r, AST_NAME, call, reduce_op_name(REDUCE_SUM)));
	return true;
}

static bool read_grouped(struct nv_reader *r, ast_id call)
{
	static const char *const keys[] = {"mat1", "mat2", "offsets"};
	ast_id operand[3];
	unsigned n = 0;
	ast_each (r->s->a, x, call)
		n++;
	for (unsigned k = 0; k < 3; k++) {
		ast_id value = nv_key(r, call, keys[k]);
		if (!value || n > 3)
			return nv_refuse(
			    r, E_OPERAND_COUNT, call,
			    "GroupedMmaOp takes mat1=, mat2= and offsets=, and scale1= and scale2=; alpha "
			    "and a bias are not read");
		operand[k] = nv_node_copy(r, value);
	}
	r->s->a->nodes.at[call].first = 0;
	for (unsigned k = 0; k < 3; k++)
		nv_node_append(r, call, operand[k]);
	r->s->a->nodes.at[call].name = names_intern_z(r->s->m->names, "grouped_matmul");
	return true;
}

static bool is_along(const char *name)
{
	return !strcmp(name, "takeAlongAxis") || !strcmp(name, "torchGather") ||
	       !strcmp(name, "torch_gather") || !strcmp(name, "take_along_axis");
}

bool nv_take(struct nv_reader *r, ast_id targets, ast_id call)
{
	if (!targets || !nv_is(r, call, AST_CALL) || !is_along(ast_text(r->s->a, call)))
		return false;
	ast_id a = operand(r, call, 0), b = operand(r, call, 1), dim = nv_key(r, call, "dim");
	return a && b && dim && (rank_of(r, a) != 1 || rank_of(r, b) != 1) &&
	       nv_along(r, targets, call, a, b, dim);
}

bool nv_gather(struct nv_reader *r, ast_id call, bool *read)
{
	const char *name = ast_text(r->s->a, call);
	ast_id a = operand(r, call, 0), b = operand(r, call, 1), dim = nv_key(r, call, "dim");
	*read = true;
	if (a && b && !strcmp(name, "embedding"))
		return read_embedding(r, call);
	if (!strcmp(name, "GroupedMmaOp") && nv_key(r, call, "mat1"))
		return read_grouped(r, call);
	if (dim && !strcmp(name, "scatter"))
		return read_scatter(r, call, dim);
	if (a && b && !strcmp(name, "indexPutAccumulate"))
		return read_index_put(r, call);
	if (a && b && dim && !strcmp(name, "topk"))
		return read_topk(r, call);
	if (a && b && dim && (!strcmp(name, "indexSelect") || !strcmp(name, "index_select"))) {
		if (rank_of(r, b) != 1)
			return nv_refuse(r, E_OPERAND_RANK, b, "the indices of an indexSelect have one axis");
		make_gather(r, call, a, b, dim);
		return true;
	}
	if (a && b && dim && is_along(name)) {
		make_gather(r, call, a, b, dim);
		return true;
	}
	*read = false;
	return true;
}
