/* ref_logical: evaluates programs on logical tensors.
 *
 * Each value is one logical tensor, no matter which rank holds which part. Statements are evaluated one after
 * the other:
 *
 *     C: f32[64, 32@x] partial(y) = matmul(A, B)     the whole product: nothing is pending
 *     D: f32[64@y, 32@x] = C                         a copy
 *     G = allreduce(C, axis=y)                       a copy: this reduces C's parts
 *     for i in 0..4
 *       d = shard_by_stream(D, i)                    the elements of block i, on whichever rank they are
 *       Y_i <- relu(d)                               absent elements stay as they are */
#include "ref/ref_logical.h"
#include "ref/ref_sample.h"
#include <math.h>
#include <string.h>

/* Loads the logical tensor of an input; reduces the parts of a pending one. */
static bool load_input(struct ref_context *c, unsigned k, struct ref_array *out)
{
	value_id v = c->m->input.at[k].value;
	const struct ref_array *given = &c->o->inputs[k];
	const struct domain *d = value_domain(c->m, v);
	uint32_t at = c->m->value.at[v].at;
	uint8_t axis[IR_MAX_LOGICAL];
	struct ref_array parts;
	int64_t n = ref_pending_parts(c->m, v);
	enum reduce_op fold = ref_partial_axes(d, axis) ? d->axis[axis[0]].reduce : REDUCE_SUM;
	if (!ref_check_input(c, k, n) || !ref_array_of_type(c, out, c->m->value.at[v].type, at) ||
	    !ref_array_make(c, &parts, out->dtype, 1, &n, at))
		return false;
	int64_t count = ref_array_count(out);
	for (int64_t i = 0; i < count; i++) {
		struct ref_fold s;
		ref_fold_start(&s, fold, out->dtype);
		s.steps = ref_steps(c, fold, out->dtype, n);
		for (int64_t p = 0; p < n; p++)
			ref_take_input(&parts, p, given, i * n + p);
		for (int64_t p = 0; p < n; p++)
			ref_fold_add(&s, &parts, p, p);
		if (n > 1)
			ref_fold_end(&s, out, i, out->dtype), ref_set_parts(out, i, s.parts + fabs(s.part));
		else
			ref_copy(out, i, &parts, 0);
		out->state[i] = REF_DEFINED;
	}
	ref_array_free(&parts);
	return true;
}

static bool load_inputs(struct ref_logical *l)
{
	for (unsigned k = 0; k < l->c->m->input.n; k++) {
		struct ref_place *p = &l->place[l->c->m->input.at[k].value];
		p->made = true;
		if (!load_input(l->c, k, &p->array))
			return false;
	}
	return true;
}

/* ---- operations */

/* Flags the result elements that are needed. NULL: all are. */
static bool flag_wanted(struct ref_logical *l, const struct ref_call *call, const struct ref_array *out,
                        uint8_t **flag)
{
	const struct ref_sample *sample = l->c->o->sample;
	value_id v = op_result(l->c->m, call->op, call->result);
	bool view = l->place[v].of && op_role_count(l->c->m, call->op, ROLE_WRITE);
	int64_t count = ref_array_count(out);
	*flag = NULL;
	if (!sample && !view)
		return true;
	*flag = mem_alloc((size_t)count + 1);
	memset(*flag, 1, (size_t)count + 1);
	if (sample)
		ref_sample_clear(sample, v, out->nd, out->n, *flag);
	return !view || ref_logical_clear(l, v, ir_op(l->c->m, call->op)->at, *flag);
}

/* Evaluates result number call->result into *out. */
static bool evaluate_result(struct ref_logical *l, struct ref_call *call, struct ref_array *out)
{
	struct ref_context *c = l->c;
	const struct op *o = ir_op(c->m, call->op);
	value_id result = op_result(c->m, call->op, call->result);
	uint8_t *flag;
	if (o->kind == OP_EXTERN || !result)
		return ref_eval(c, call, out); /* reports the error */
	if (!ref_array_of_type(c, out, c->m->value.at[result].type, o->at))
		return false;
	bool ok = flag_wanted(l, call, out, &flag);
	call->want = flag;
	if (ok && op_traits(c->m, call->op) & TRAIT_COLLECTIVE)
		ok = ref_logical_collective(c, call->op, call->in[0].array, out);
	else
		ok = ok && ref_eval(c, call, out);
	for (int64_t i = 0; c->o->sample && flag && i < ref_array_count(out); i++)
		if (!flag[i])
			out->state[i] = REF_SKIPPED;
	ref_add_parts_error(c->m, result, out);
	call->want = NULL;
	free(flag);
	return ok;
}

/* Stores the elements that a statement has given a value. */
static bool take_result(struct ref_logical *l, op_id op, unsigned k, struct ref_array *out)
{
	value_id v = op_result(l->c->m, op, k);
	if (!op_def(l->c->m, op, k))
		return ref_logical_store(l, v, ir_op(l->c->m, op)->at, out);
	ref_array_free(&l->place[v].array);
	l->place[v] = (struct ref_place){.made = true, .array = *out};
	return true;
}

/* Sets how the run splits the sum of a statement into parts. */
static void set_parts(const struct ref_context *c, struct ref_call *call)
{
	value_id result = op_result(c->m, call->op, 0);
	bool mean = ir_op(c->m, call->op)->kind == OP_MEAN;
	call->ranks = ref_ranks_of_parts(c, call->op);
	call->pending = result && ref_partial_axes(value_domain(c->m, result), NULL);
	if (!call->ranks || !result)
		return;
	enum dtype t = value_type(c->m, result)->dtype;
	call->parts_dtype = call->pending ? t : dtype_of_parts(t, mean);
	call->block = ref_block_of_parts(c, call->op);
	call->means = call->pending && mean;
}

struct loaded {
	unsigned n;
	struct loaded_array {
		struct ref_array array;
		bool owned;
	} * at;
};

static const struct ref_array *load_value(struct ref_logical *l, struct loaded *all, value_id v, uint32_t at)
{
	struct loaded_array *a = &all->at[all->n];
	if (!ref_logical_load(l, v, at, &a->array, &a->owned))
		return NULL;
	all->n++;
	return &a->array;
}

static bool load_operands(struct ref_logical *l, op_id op, struct loaded *all, struct ref_operand *in,
                          struct ref_call *call)
{
	struct ref_context *c = l->c;
	const struct op *o = ir_op(c->m, op);
	for (unsigned k = 0; k < o->operand_n; k++) {
		const struct operand *p = ir_operand(c->m, op, k);
		if (p->role == ROLE_READ && !(in[call->n++].array = load_value(l, all, p->id, o->at)))
			return false;
		if (p->role == ROLE_SCALAR && !(op_traits(c->m, op) & TRAIT_COLLECTIVE) &&
		    !ref_scalar(c, p->id, &l->env, o->at, &in[call->n++]))
			return false;
	}
	if (!op_attr_is_true(c->m, op, "accumulate"))
		return true;
	call->partial = true; /* terms outside the block belong to other iterations */
	return (call->before = load_value(l, all, op_result(c->m, op, 0), o->at)) != NULL;
}

static bool evaluate_operation(struct ref_logical *l, op_id op)
{
	struct ref_context *c = l->c;
	const struct op *o = ir_op(c->m, op);
	unsigned results = op_result_count(c->m, op);
	struct ref_operand *in = mem_zalloc(sizeof *in * (o->operand_n + 1u));
	struct ref_array *out = mem_zalloc(sizeof *out * (results + 1));
	struct loaded all = {.at = mem_zalloc(sizeof *all.at * (o->operand_n + 2u))};
	struct ref_call call = {.op = op, .in = in, .env = &l->env, .averaged = 1};
	set_parts(c, &call);
	bool ok = load_operands(l, op, &all, in, &call);
	for (; ok && (call.result < results || call.result == 0); call.result++)
		ok = evaluate_result(l, &call, &out[call.result]);
	for (unsigned k = 0; k < all.n; k++)
		if (all.at[k].owned)
			ref_array_free(&all.at[k].array);
	for (unsigned k = 0; k < results; k++)
		if (ok)
			ok = take_result(l, op, k, &out[k]);
		else
			ref_array_free(&out[k]);
	free(all.at);
	free(out);
	free(in);
	return ok;
}

/* ---- statements */

static bool run_region(struct ref_logical *l, region_id region);

static bool allocate_place(struct ref_logical *l, op_id op)
{
	struct module *m = l->c->m;
	value_id v = op_def(m, op, 0);
	bool zero = op_attr_is_true(m, op, "zero_init") || op_attr_is_true(m, op, "resets_to_zero");
	struct ref_array *a = &l->place[v].array;
	ref_array_free(a);
	l->place[v] = (struct ref_place){.made = true};
	if (!ref_array_of_type(l->c, a, m->value.at[v].type, ir_op(m, op)->at))
		return false;
	memset(a->state, zero ? REF_DEFINED : REF_POISON, (size_t)ref_array_count(a));
	return true;
}

static void deallocate_places(struct ref_logical *l, op_id op)
{
	for (unsigned k = 0; k < op_role_count(l->c->m, op, ROLE_FREE); k++) {
		struct ref_place *p = &l->place[op_operand_id(l->c->m, op, ROLE_FREE, k)];
		ref_array_free(&p->array);
		*p = (struct ref_place){.dead = true};
	}
}

static bool resolve_scalar(struct ref_logical *l, op_id op, unsigned k, int64_t *out)
{
	struct ref_operand value;
	if (!ref_scalar(l->c, op_operand_id(l->c->m, op, ROLE_SCALAR, k), &l->env, ir_op(l->c->m, op)->at,
	                &value))
		return false;
	*out = value.i;
	return true;
}

static bool for_loop(struct ref_logical *l, op_id op)
{
	int64_t start, stop;
	region_id body = ir_op(l->c->m, op)->region;
	if (!resolve_scalar(l, op, 0, &start) || !resolve_scalar(l, op, 1, &stop))
		return false;
	for (int64_t i = start; i < stop; i++) {
		l->index[l->c->m->region.at[body].index] = i;
		if (!ref_afford(l->c, op) || !run_region(l, body))
			return false;
	}
	return true;
}

static bool evaluate_condition(struct ref_logical *l, op_id op)
{
	int64_t holds;
	region_id branch = ir_op(l->c->m, op)->region;
	if (!resolve_scalar(l, op, 0, &holds))
		return false;
	if (!holds)
		branch = l->c->m->region.at[branch].sibling;
	return !branch || run_region(l, branch);
}

static bool run_op(struct ref_logical *l, op_id op)
{
	switch ((enum op_kind)ir_op(l->c->m, op)->kind) {
	case OP_FOR:
		return for_loop(l, op);
	case OP_IF:
		return evaluate_condition(l, op);
	case OP_ALLOCATE:
		return allocate_place(l, op);
	case OP_DEALLOCATE:
		deallocate_places(l, op);
		return true;
	case OP_SELECT:
		return ref_logical_select(l, op);
	case OP_SHARD_BY_STREAM:
		return ref_logical_shard(l, op);
	default:
		return evaluate_operation(l, op);
	}
}

static bool run_region(struct ref_logical *l, region_id region)
{
	for (op_id op = l->c->m->region.at[region].first; op; op = l->c->m->op.at[op].next)
		if (!ref_afford(l->c, op) || !run_op(l, op))
			return false;
	return true;
}

static bool take_output(struct ref_logical *l, value_id v, struct ref_array *out)
{
	struct ref_array a;
	char name[REF_NAME_BYTES];
	bool owned;
	if (!l->place[v].made) {
		diag_error(l->c->d, E_OUTPUT_UNSET, l->c->m->value.at[v].at,
		           "the output %s has no value at the end", ref_name(l->c->m, v, name, sizeof name));
		return false;
	}
	if (!ref_logical_load(l, v, l->c->m->value.at[v].at, &a, &owned))
		return false;
	if (owned) {
		*out = a;
		return true;
	}
	if (!ref_array_make(l->c, out, a.dtype, a.nd, a.n, DIAG_NOWHERE))
		return false;
	for (int64_t i = 0; i < ref_array_count(out); i++)
		ref_copy(out, i, &a, i);
	return true;
}

enum status ref_run_logical(struct ref_context *c, struct ref_array *outputs)
{
	struct module *m = c->m;
	struct ref_logical l = {.c = c, .locals = ref_locals_new()};
	unsigned done = 0;
	l.place = mem_zalloc(sizeof *l.place * m->value.n);
	l.index = mem_zalloc(sizeof *l.index * (m->index.n + 1));
	l.env = (struct expr_env){
	    .rank = -1, .streams = c->o->streams ? c->o->streams : INT32_MAX, .index = l.index};
	bool ok = load_inputs(&l) && run_region(&l, m->body);
	while (ok && ref_result_value(m, done)) {
		ok = take_output(&l, ref_result_value(m, done), &outputs[done]);
		done += ok;
	}
	for (unsigned k = 0; !ok && k < done; k++)
		ref_array_free(&outputs[k]);
	for (uint32_t v = 0; v < m->value.n; v++)
		ref_array_free(&l.place[v].array);
	ref_locals_free(l.locals);
	free(l.place);
	free(l.index);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}
