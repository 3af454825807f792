/* ref: the entry, and fusion-level programs.
 *
 * At fusion level a value is its logical tensor and every statement is evaluated once:
 *
 *     C: f32[64, 32@x] partial(y) = matmul(A, B)     the whole product: nothing is pending
 *     D: f32[64@y, 32@x] = C                         a copy
 *     G = allreduce(C, axis=y)                       a copy: the reduction that C waited for */
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "ref/ref_host.h"
#include <math.h>
#include <string.h>

static bool is_output(const struct module *m, value_id v)
{
	for (uint32_t k = 0; k < m->output.n; k++)
		if (m->output.at[k] == v)
			return true;
	return false;
}

value_id ref_result_value(const struct module *m, unsigned k)
{
	if (k < m->output.n)
		return m->output.at[k];
	k -= m->output.n;
	for (uint32_t i = 0; i < m->input.n; i++) {
		value_id v = m->input.at[i].value;
		if (m->value.at[v].flags & VALUE_INOUT && !is_output(m, v) && k-- == 0)
			return v;
	}
	return 0;
}

unsigned ref_result_count(const struct module *m)
{
	unsigned n = 0;
	while (ref_result_value(m, n))
		n++;
	return n;
}

/* Returns true if a view is a select of the logical tensor: by a number, along an axis that is no axis of
 * devices. An axis that ranks share is gathered before. */
static bool is_plain_select(const struct module *m, op_id op)
{
	unsigned axis = (unsigned)op_attr_int(m, op, "axis", 0);
	type_id t = m->value.at[op_read(m, op, 0)].type;
	int64_t index;
	return m->op.at[op].kind == OP_SELECT && axis < ir_domain(m, ir_type(m, t)->domain)->rank &&
	       ir_domain(m, ir_type(m, t)->domain)->axis[axis].place != PLACE_MESH &&
	       expr_is_const(m, op_scalar_expr(m, op, 0), &index) && index >= 0;
}

bool ref_is_host_level(const struct module *m)
{
	bool selects = false, writes = false;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		uint8_t form = op_info[m->op.at[op].kind].form;
		writes |= op_role_count(m, op, ROLE_WRITE) != 0;
		if (form == FORM_VIEW && is_plain_select(m, op)) {
			selects = true;
			continue;
		}
		enum op_kind kind = (enum op_kind)m->op.at[op].kind;
		if (kind == OP_PACK || kind == OP_UNPACK || form == FORM_HOST || form == FORM_ALLOC ||
		    form == FORM_VIEW || form == FORM_CONTROL || form == FORM_P2P ||
		    form == FORM_PERMUTE_COMM || m->op.at[op].flags & OP_ASYNC)
			return true;
	}
	return selects && writes; /* what was selected may change */
}

unsigned ref_partial_axes(const struct domain *d, uint8_t *axis)
{
	unsigned n = 0;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL) {
			if (axis)
				axis[n] = (uint8_t)a;
			n++;
		}
	return n;
}

int64_t ref_pending_parts(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	uint8_t axis[IR_MAX_LOGICAL];
	unsigned n = ref_partial_axes(d, axis);
	int64_t parts = 1;
	for (unsigned k = 0; k < n; k++)
		parts *= ir_mesh(m, value_type(m, v)->mesh)->size[d->axis[axis[k]].mesh_axis];
	return parts;
}

bool ref_check_input(struct ref_context *c, unsigned k, int64_t parts)
{
	value_id v = c->m->input.at[k].value;
	const struct value *value = &c->m->value.at[v];
	const struct ref_array *given = &c->o->inputs[k];
	struct ref_array shape;
	char name[REF_NAME_BYTES];
	if (!ref_array_of_type(c, &shape, value->type, value->at))
		return false;
	if (parts > 1)
		shape.n[shape.nd++] = parts;
	bool ok = given->nd == shape.nd && !memcmp(given->n, shape.n, sizeof *shape.n * (size_t)shape.nd);
	if (!ok)
		diag_error(c->d, E_INPUT_DATA, value->at, "the data given for input %s has another shape",
		           ref_name(c->m, v, name, sizeof name));
	ref_array_free(&shape);
	return ok;
}

void ref_take_input(struct ref_array *to, int64_t i, const struct ref_array *given, int64_t k)
{
	if (to->ints && given->ints)
		ref_store_int(to, i, given->ints[k]);
	else
		ref_store(to, i, given->data[k]);
	to->state[i] = REF_DEFINED;
}

/* An input's logical tensor; the parts of a pending one are reduced. */
static bool load_input(struct ref_context *c, unsigned k, struct ref_array *out)
{
	value_id v = c->m->input.at[k].value;
	const struct ref_array *given = &c->o->inputs[k];
	const struct domain *d = value_domain(c->m, v);
	uint32_t at = c->m->value.at[v].at;
	uint8_t axis[IR_MAX_LOGICAL];
	struct ref_array parts;
	int64_t n = ref_pending_parts(c->m, v);
	enum reduce_op fold =
	    ref_partial_axes(d, axis) ? (enum reduce_op)d->axis[axis[0]].reduce : REDUCE_SUM;
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

static bool load_inputs(struct ref_context *c, struct ref_array *of)
{
	for (unsigned k = 0; k < c->m->input.n; k++)
		if (!load_input(c, k, &of[c->m->input.at[k].value]))
			return false;
	return true;
}

/* The axes of READ operand k over which a contraction or reduction sums, as a mask. */
static unsigned summed_axes(const struct module *m, op_id op, unsigned k)
{
	unsigned rank = value_domain(m, op_read(m, op, k))->rank;
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_LINEAR:
		return k < 2 && rank ? 1u << (rank - 1) : 0;
	case OP_MATMUL:
		return rank > k ? 1u << (rank - 1 - k) : 0;
	default:
		return op_traits(m, op) & TRAIT_REDUCTION ? infer_reduced_axes(m, m->op.at[op].attrs, rank)
		                                          : 0;
	}
}

static int64_t all_ranks(const struct ref_context *c)
{
	int64_t n = c->o->ranks;
	for (mesh_id k = 1; k < c->m->mesh.n; k++)
		n = ir_mesh(c->m, k)->device_count > n ? ir_mesh(c->m, k)->device_count : n;
	return n;
}

/* How many ranks may store parts of a sum, rounded, before these are added up; 0: none does. They do where an
 * axis that is summed is spread over a mesh, or may be, for its layout is still to be chosen, or where an
 * operand is pending. */
static int64_t ranks_of_parts(const struct ref_context *c, op_id op)
{
	const struct module *m = c->m;
	int64_t most = 0;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		unsigned mask = summed_axes(m, op, k), over = 0;
		bool pending = ref_partial_axes(value_domain(m, v), NULL);
		int64_t ranks = pending ? ref_pending_parts(m, v) : 1;
		if (!mask)
			continue;
		if (m->value.at[v].flags & VALUE_OPEN)
			return all_ranks(c) > 1 ? all_ranks(c) : 0;
		for (unsigned a = 0; mask >> a; a++)
			over |= mask >> a & 1 ? layout_mesh_axes(m, m->value.at[v].type, a) : 0;
		for (unsigned a = 0; over >> a; a++)
			ranks *= over >> a & 1 ? ir_mesh(m, value_type(m, v)->mesh)->size[a] : 1;
		if ((pending || over) && ranks > most)
			most = ranks;
	}
	return most > 1 ? most : 0;
}

/* Returns how many elements of a summed axis a rank holds, if all ranks hold intervals of one length; else 0.
 */
static int64_t block_of_parts(const struct ref_context *c, op_id op)
{
	struct module *m = c->m;
	int64_t block = 0;
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		unsigned mask = summed_axes(m, op, k), axis = mask ? (unsigned)__builtin_ctz(mask) : 0;
		const struct expr_env env = {.rank = -1};
		struct sugar s;
		int64_t n, ranks = 1;
		if (!mask)
			continue;
		if (mask & (mask - 1) || m->value.at[v].flags & VALUE_OPEN ||
		    ref_partial_axes(value_domain(m, v), NULL) ||
		    !sugar_from_domain(m, value_type(m, v)->domain, value_type(m, v)->mesh, &s) ||
		    expr_eval(m, value_domain(m, v)->axis[axis].extent, &env, &n, NULL) != EXPR_OK)
			return 0;
		for (unsigned i = 0; i < s.axis[axis].place_n; i++) {
			if (s.axis[axis].place[i].kind != SUGAR_MESH)
				return 0;
			ranks *= ir_mesh(m, value_type(m, v)->mesh)->size[s.axis[axis].place[i].mesh_axis];
		}
		if (n % ranks || (ranks > 1 && block && block != n / ranks))
			return 0;
		if (ranks > 1)
			block = n / ranks;
	}
	return block;
}

/* How many equal tensors a functional collective reduces: a partial operand's value is its reduction
 * over the partial mesh axes already, over the other axes of the team all ranks hold the same. 0
 * when the team spans axes over which the operand is spread: that has no meaning on logical tensors. */
static int64_t reduced_copies(struct module *m, op_id op)
{
	value_id v = op_read(m, op, 0);
	mesh_id mesh = value_type(m, v)->mesh;
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n, spread = 0, partial = 0;
	int64_t copies = 1;
	const struct domain *d = value_domain(m, v);
	if (!mesh || !ir_team_axes(m, m->op.at[op].team, mesh, axes, &n))
		return 0;
	for (unsigned a = 0; a < d->logical_n; a++)
		*(d->axis[a].kind == AXIS_PARTIAL ? &partial : &spread) |=
		    layout_mesh_axes(m, m->value.at[v].type, a);
	for (unsigned k = 0; k < n; k++) {
		if (ir_mesh(m, mesh)->size[axes[k]] == 1)
			continue; /* axes of one rank cannot be told apart */
		if (spread >> axes[k] & 1)
			return 0;
		copies *= partial >> axes[k] & 1 ? 1 : ir_mesh(m, mesh)->size[axes[k]];
	}
	return copies;
}

static bool collective(struct ref_context *c, op_id op, const struct ref_array *in, struct ref_array *out)
{
	int64_t copies = 1, count = ref_array_count(out);
	enum reduce_op fold = ref_reduce_op(c->m, op);
	if (in->nd != out->nd || ref_array_count(in) != count) {
		diag_error(c->d, E_REFERENCE_SHAPE, ir_op(c->m, op)->at,
		           "the operand of %s does not fit its result", op_info[ir_op(c->m, op)->kind].hir);
		return false;
	}
	if (op_traits(c->m, op) & TRAIT_REDUCES && (copies = reduced_copies(c->m, op)) == 0) {
		diag_error(
		    c->d, E_REFERENCE_OPERATION, ir_op(c->m, op)->at,
		    "%s of a tensor that is spread over its team cannot be evaluated on logical tensors",
		    op_info[ir_op(c->m, op)->kind].hir);
		return false;
	}
	for (int64_t i = 0; i < count; i++) {
		struct ref_fold s;
		if (copies == 1 || in->state[i] != REF_DEFINED) {
			ref_copy(out, i, in, i);
			continue;
		}
		ref_fold_start(&s, fold, in->dtype);
		s.steps = ref_steps(c, fold, out->dtype, copies);
		for (int64_t k = 0; k < copies; k++)
			ref_fold_add(&s, in, i, k);
		ref_fold_end(&s, out, i, out->dtype);
		out->state[i] = REF_DEFINED;
	}
	return true;
}

/* The run computes a pending result on each rank's part, whose rounding is that of the parts. Their error,
 * which a pending value has from where it began, is at least twice that. */
static void add_parts_error(const struct module *m, value_id result, struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	for (int64_t i = 0; i < count && ref_partial_axes(value_domain(m, result), NULL); i++)
		if (out->error[i] > 0)
			out->error[i] *= 1.5;
}

/* Result number call->result into *out. */
static bool evaluate_result(struct ref_context *c, const struct ref_call *call, struct ref_array *out)
{
	const struct op *o = ir_op(c->m, call->op);
	value_id result = op_result(c->m, call->op, call->result);
	if (o->kind == OP_EXTERN || !result)
		return ref_eval(c, call, out); /* which reports it */
	if (!ref_array_of_type(c, out, c->m->value.at[result].type, o->at))
		return false;
	if (op_traits(c->m, call->op) & TRAIT_COLLECTIVE ? !collective(c, call->op, call->in[0].array, out)
	                                                 : !ref_eval(c, call, out))
		return false;
	add_parts_error(c->m, result, out);
	return true;
}

static bool evaluate(struct ref_context *c, op_id op, struct ref_array *of)
{
	const struct op *o = ir_op(c->m, op);
	struct ref_operand *in = mem_zalloc(sizeof *in * (o->operand_n + 1u));
	struct ref_call call = {.op = op, .in = in, .ranks = ranks_of_parts(c, op)};
	value_id result = op_result(c->m, op, 0);
	bool pending = result && ref_partial_axes(value_domain(c->m, result), NULL);
	call.pending = pending;
	if (call.ranks && result) {
		enum dtype t = (enum dtype)value_type(c->m, result)->dtype;
		call.parts_dtype = pending ? t : dtype_of_parts(t, o->kind == OP_MEAN);
		call.block = block_of_parts(c, op);
		call.means = pending && o->kind == OP_MEAN;
	}
	const struct expr_env env = {.rank = -1, .streams = c->o->streams};
	unsigned results = op_result_count(c->m, op);
	struct ref_array *out = mem_zalloc(sizeof *out * (results + 1));
	bool ok = true;
	for (unsigned k = 0; k < o->operand_n && ok; k++) {
		const struct operand *p = ir_operand(c->m, op, k);
		if (p->role == ROLE_READ)
			in[call.n++].array = &of[p->id];
		else if (p->role == ROLE_SCALAR && !(op_traits(c->m, op) & TRAIT_COLLECTIVE))
			ok = ref_scalar(c, p->id, &env, o->at, &in[call.n++]);
	}
	if (op_attr_is_true(c->m, op, "accumulate"))
		call.before = &of[op_result(c->m, op, 0)];
	for (; ok && (call.result < results || call.result == 0); call.result++)
		ok = evaluate_result(c, &call, &out[call.result]);
	for (unsigned k = 0; k < results; k++) {
		value_id v = op_result(c->m, op, k);
		ref_array_free(ok ? &of[v] : &out[k]); /* of a buffer that is written */
		if (ok)
			of[v] = out[k];
	}
	free(out);
	free(in);
	return ok;
}

static enum status run_fusion(struct ref_context *c, struct ref_array *outputs)
{
	struct module *m = c->m;
	struct ref_array *of = mem_zalloc(sizeof *of * m->value.n); /* by value */
	bool ok = load_inputs(c, of);
	for (op_id op = m->region.at[m->body].first; op && ok; op = m->op.at[op].next)
		ok = evaluate(c, op, of);
	for (unsigned k = 0; ok && ref_result_value(m, k); k++) {
		value_id v = ref_result_value(m, k);
		struct ref_array *out = &outputs[k];
		ref_array_make(c, out, of[v].dtype, of[v].nd, of[v].n, DIAG_NOWHERE);
		int64_t count = ref_array_count(out);
		for (int64_t i = 0; i < count; i++)
			ref_copy(out, i, &of[v], i);
	}
	for (uint32_t v = 0; v < m->value.n; v++)
		ref_array_free(&of[v]);
	free(of);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

enum status ref_run(struct module *m, struct diag *d, const struct ref_options *o, struct ref_array *outputs)
{
	struct ref_context c = {.m = m, .d = d, .o = o, .expected = ref_work(m)};
	if (o->input_n != m->input.n) {
		diag_error(d, E_INPUT_DATA, DIAG_NOWHERE, "the program has %u inputs, data was given for %u",
		           m->input.n, o->input_n);
		return STATUS_DIAGNOSTICS;
	}
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		c.has_topk |= m->op.at[op].kind == OP_TOPK;
	return ref_is_host_level(m) ? ref_run_host(&c, outputs) : run_fusion(&c, outputs);
}
