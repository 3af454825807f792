/* plan_experts: lowers dispatch and combine to kernels and exchanges.
 *
 *     dispatch   order = route(E)                        places of the choices, by the rank of their expert
 *                to = count(E); from = AllToAll(to)
 *                rows = AllToAllv(gather(X, order / k))  with `to` and `from` as counts of rows
 *                weights, experts and sources likewise
 *     combine    rows, weights, sources back by AllToAllv; sum = 0; sum[source] += weight * row; Y = sum
 *
 * The numbers of rows are known only at run time: the exchanges read the counts when they start. Rows
 * beyond the counts are 0, with weights 0, and experts and sources -1. */
#include "plan/planner.h"
#include <string.h>

struct experts {
	struct planner *b;
	op_id op;
	value_id value; /* value for scratch memory */
	int64_t ranks;  /* ranks that have experts; 1: nothing is moved */
	bool alone;     /* there is no team */
	uint32_t team;
	int64_t tokens, first; /* tokens of this rank, and the first of them */
	int64_t room;          /* most rows on this rank */
	int64_t choices;       /* choices of a token */
};

/* ---- windows */

static plan_reg constant(struct experts *x, int64_t k)
{
	return sx_reg(x->b, sx_const(x->b, k));
}

/* Makes row-major scratch memory; n: its nd extents. */
static struct plan_view make_experts_scratch(struct experts *x, enum dtype t, unsigned nd, const int64_t *n)
{
	struct plan_view v = {.nd = (uint8_t)nd};
	int64_t size = 1;
	sx_id slot;
	for (unsigned i = nd; i-- > 0;) {
		v.n[i] = constant(x, n[i]);
		v.stride[i] = size;
		size *= n[i];
	}
	v.buffer = storage_temporary(x->b, x->value, t, size, &slot);
	v.slot = sx_reg(x->b, slot);
	v.offset = constant(x, 0);
	return v;
}

static struct plan_view make_list(struct experts *x, enum dtype t, int64_t n)
{
	return make_experts_scratch(x, t, 1, &n);
}

/* Returns a row-major view as one axis of n elements. */
static struct plan_view flat(struct experts *x, struct plan_view v, int64_t n)
{
	v.nd = 1;
	v.n[0] = constant(x, n);
	v.stride[0] = 1;
	return v;
}

/* Returns column k of a list of pairs, as n elements and `axes` axes; the other axes have extent 1. */
static struct plan_view column(struct experts *x, struct plan_view pairs, int64_t k, unsigned axes)
{
	pairs.nd = (uint8_t)axes;
	pairs.stride[0] = 2;
	for (unsigned i = 1; i < axes; i++)
		pairs.n[i] = constant(x, 1), pairs.stride[i] = 0;
	pairs.offset = constant(x, k);
	return pairs;
}

/* Finds the window on the rank's whole part of a value, and its extents. */
static bool whole_window(struct experts *x, const struct view *v, int64_t *n, struct plan_view *out)
{
	sx_id at[IR_MAX_LOGICAL], len[IR_MAX_LOGICAL];
	int map[IR_MAX_LOGICAL];
	for (unsigned i = 0; i < v->rank; i++) {
		at[i] = v->axis[i].off, len[i] = v->axis[i].len;
		map[i] = (int)i;
		if (!sx_is_const(x->b, len[i], &n[i])) {
			planner_error(x->b, E_PLAN_KERNEL, "%s of a part that a loop cuts is not executed",
			              op_info[x->b->m->op.at[x->op].kind].hir);
			return false;
		}
	}
	return plan_window(x->b, v, v->rank, len, map, at, 0, out);
}

static int64_t count_extent_elements(const int64_t *n, unsigned from, unsigned nd)
{
	int64_t size = 1;
	for (unsigned i = from; i < nd; i++)
		size *= n[i];
	return size;
}

/* Returns true if a window is row-major without gaps. */
static bool is_dense(const struct plan_view *v, const int64_t *n)
{
	int64_t size = 1;
	for (unsigned i = v->nd; i-- > 0; size *= n[i])
		if (n[i] != 1 && v->stride[i] != size)
			return false;
	return true;
}

/* ---- tasks */

static void emit_fill(struct experts *x, struct plan_view out, double value)
{
	struct plan_task t;
	plan_task_start(&t, RT_TASK_FILL);
	t.in_n = t.scalars = 1;
	t.scalar[0].literal = value;
	t.out = out;
	plan_task_emit(x->b, &t);
}

static void emit_gather(struct experts *x, struct plan_view out, struct plan_view table,
                        struct plan_view index)
{
	struct plan_task t;
	plan_task_start(&t, RT_TASK_GATHER);
	t.in_n = 2;
	t.out = out, t.in[0] = table, t.in[1] = index;
	plan_task_emit(x->b, &t);
}

static void with_number(struct experts *x, enum pointwise op, struct plan_view out, struct plan_view a,
                        int64_t k)
{
	struct plan_task t;
	plan_task_start(&t, RT_TASK_POINTWISE);
	t.op = (uint8_t)op;
	t.in_n = t.scalars = 2;
	t.scalar[1] = (struct plan_operand){.is_reg = true, .reg = constant(x, k)};
	t.out = out, t.in[0] = a;
	plan_task_emit(x->b, &t);
}

/* Emits a kernel, route or count, on the numbers of the experts. */
static void by_rank(struct experts *x, enum rt_kernel kernel, struct plan_view out, struct plan_view experts,
                    int64_t experts_n)
{
	struct plan_task t;
	plan_task_start(&t, kernel);
	t.in_n = 3;
	t.scalars = 6;
	t.scalar[1] = (struct plan_operand){.is_reg = true, .reg = constant(x, experts_n / x->ranks)};
	t.scalar[2] = (struct plan_operand){.is_reg = true, .reg = constant(x, experts_n)};
	t.out = out, t.in[0] = experts;
	plan_task_emit(x->b, &t);
}

/* Makes a row-major copy of the rank's part of an operand, in dtype t. If the operand has this form
 * already, returns the operand itself. */
static bool pack_operand(struct experts *x, const struct view *v, enum dtype t, int64_t *n,
                         struct plan_view *out)
{
	struct plan_view from;
	if (!whole_window(x, v, n, &from))
		return false;
	*out = from;
	if (view_dtype(x->b, v) == t && is_dense(&from, n))
		return true;
	*out = make_experts_scratch(x, t, v->rank, n);
	plan_copy_now(x->b, out, &from);
	return true;
}

/* ---- exchanges */

static void submit_collective(struct experts *x, struct plan_collective *c, enum dtype t)
{
	c->team = x->team;
	c->dtype = (uint8_t)t;
	c->has_in = c->has_out = true;
	c->root = constant(x, 0);
	vec_push(&x->b->p->collective, *c);
	plan_emit_async(x->b, x->op,
	                (struct plan_instruction){.code = PLAN_COLLECTIVE, .a = x->b->p->collective.n - 1});
}

static void exchange_counts(struct experts *x, struct plan_view from, struct plan_view to)
{
	struct plan_collective c = {.kind = COLLECTIVE_ALL_TO_ALL, .in = to, .out = from};
	if (x->alone) {
		plan_copy_now(x->b, &from, &to);
		return;
	}
	c.count = constant(x, 1);
	submit_collective(x, &c, DTYPE_I64);
}

/* Exchanges rows of `unit` elements: sends those of `given` by the counts, and receives the others in
 * `taken`. */
static void exchange_rows(struct experts *x, enum dtype t, int64_t unit, struct plan_view taken, int64_t room,
                          struct plan_view taken_counts, struct plan_view given, int64_t given_room,
                          struct plan_view given_counts)
{
	struct plan_collective c = {.kind = COLLECTIVE_ALL_TO_ALLV, .is_late = true};
	int64_t n = room < given_room ? room : given_room;
	if (x->alone) { /* all rows are on this rank, in both orders */
		taken = flat(x, taken, n * unit), given = flat(x, given, n * unit);
		plan_copy_now(x->b, &taken, &given);
		return;
	}
	c.in = flat(x, given, given_room * unit);
	c.out = flat(x, taken, room * unit);
	c.late[0] = taken_counts, c.late[1] = given_counts;
	c.count = constant(x, 0);
	c.late_unit = constant(x, unit);
	c.late_room = constant(x, room), c.late_send_room = constant(x, given_room);
	submit_collective(x, &c, t);
}

/* ---- dispatch */

/* Collects the rows of the tokens in a list. */
static bool pick_rows(struct experts *x, const struct view *v, struct plan_view token, int64_t n,
                      const int64_t *extent, struct plan_view *out)
{
	struct planner *b = x->b;
	sx_id at[IR_MAX_LOGICAL], len[IR_MAX_LOGICAL + 1];
	int map[IR_MAX_LOGICAL + 1];
	int64_t size[IR_MAX_LOGICAL];
	struct plan_view table;
	for (unsigned i = 0; i < v->rank; i++) {
		at[i] = v->axis[i].off, len[i] = v->axis[i].len;
		map[i] = (int)i, size[i] = extent[i];
	}
	len[v->rank] = len[0], map[v->rank] = 0;
	len[0] = sx_const(b, n), map[0] = -1, size[0] = n;
	if (!plan_window(b, v, v->rank + 1, len, map, at, 0, &table))
		return false;
	*out = make_experts_scratch(x, view_dtype(b, v), v->rank, size);
	token.nd = out->nd;
	for (unsigned i = 1; i < out->nd; i++)
		token.n[i] = out->n[i], token.stride[i] = 0;
	emit_gather(x, *out, table, token);
	return true;
}

/* Permutes a list: out[i] = from[order[i]]. */
static void reorder_list(struct experts *x, struct plan_view out, struct plan_view from,
                         struct plan_view order, int64_t n)
{
	struct plan_view table = flat(x, from, n);
	table.nd = 2;
	table.n[1] = table.n[0];
	table.stride[0] = 0, table.stride[1] = 1;
	emit_gather(x, out, table, order);
}

/* The buffer into which an exchange puts the rows of a result, filled before. drain copies them to the
 * result if they are in another buffer. */
struct target {
	struct plan_view at, result;
	int64_t n[IR_MAX_LOGICAL];
	bool direct;
};

static bool target(struct experts *x, unsigned k, double filling, struct target *out)
{
	struct view *v = view_of_result(x->b, x->op, k);
	if (!v || !view_usable(x->b, v) || !whole_window(x, v, out->n, &out->result))
		return false;
	out->direct = is_dense(&out->result, out->n);
	out->at = out->direct ? out->result : make_experts_scratch(x, view_dtype(x->b, v), v->rank, out->n);
	x->b->p->buffer.at[out->result.buffer].written = true;
	emit_fill(x, out->at, filling);
	return true;
}

static void drain(struct experts *x, const struct target *t)
{
	if (!t->direct)
		plan_copy_now(x->b, &t->result, &t->at);
}

static bool plan_dispatch(struct experts *x, struct view *const *in, int64_t experts_n)
{
	struct planner *b = x->b;
	struct plan_view e, p, rows, window_of;
	struct target row, weight;
	int64_t extent[IR_MAX_LOGICAL], shape[IR_MAX_LOGICAL], n = x->tokens * x->choices;
	enum dtype weights = view_dtype(b, in[2]), dtype = view_dtype(b, in[0]);
	if (!whole_window(x, in[0], extent, &window_of) || !pack_operand(x, in[1], DTYPE_I64, shape, &e) ||
	    !pack_operand(x, in[2], weights, shape, &p) || !target(x, 0, 0, &row) ||
	    !target(x, 2, 0, &weight))
		return false;
	if (shape[0] != x->tokens || (shape[1] != x->choices && x->room) || extent[0] != x->tokens) {
		planner_error(b, E_SHAPES_DIFFER, "dispatch: experts and weights must be [tokens, choices]");
		return false;
	}
	struct plan_view order = make_list(x, DTYPE_I64, n), token = make_list(x, DTYPE_I64, n),
	                 to = make_list(x, DTYPE_I64, x->ranks), from = make_list(x, DTYPE_I64, x->ranks),
	                 given_weights = make_list(x, weights, n),
	                 given = make_experts_scratch(x, DTYPE_I64, 2, (int64_t[]){n, 2}),
	                 taken = make_experts_scratch(x, DTYPE_I64, 2, (int64_t[]){x->room, 2});
	by_rank(x, RT_TASK_ROUTE, order, flat(x, e, n), experts_n);
	by_rank(x, RT_TASK_COUNT, to, flat(x, e, n), experts_n);
	exchange_counts(x, from, to);
	with_number(x, POINTWISE_DIV, token, order, x->choices);
	if (!pick_rows(x, in[0], token, n, extent, &rows))
		return false;
	exchange_rows(x, dtype, count_extent_elements(extent, 1, in[0]->rank), row.at, x->room, from, rows, n,
	              to);
	drain(x, &row);
	reorder_list(x, given_weights, p, order, n);
	exchange_rows(x, weights, 1, weight.at, x->room, from, given_weights, n, to);
	drain(x, &weight);
	reorder_list(x, column(x, given, 0, 1), e, order, n);
	with_number(x, POINTWISE_ADD, column(x, given, 1, 1), token, x->first);
	emit_fill(x, taken, -1);
	exchange_rows(x, DTYPE_I64, 2, taken, x->room, from, given, n, to);
	for (unsigned k = 1; k < 6; k++) {
		struct view *v = view_of_result(b, x->op, k);
		struct plan_view source = k == 1   ? column(x, taken, 0, 2)
		                          : k == 3 ? column(x, taken, 1, 1)
		                          : k == 4 ? to
		                                   : from;
		if (k == 2)
			continue;
		if (!v || !view_usable(b, v) || !whole_window(x, v, shape, &window_of))
			return false;
		b->p->buffer.at[window_of.buffer].written = true;
		plan_copy_now(b, &window_of, &source);
	}
	return true;
}

/* ---- combine */

static bool plan_combine(struct experts *x, struct view *const *in, struct view *y)
{
	struct planner *b = x->b;
	struct plan_view rows, weight, source, to, from, out;
	int64_t extent[IR_MAX_LOGICAL], shape[IR_MAX_LOGICAL], n = x->tokens * x->choices;
	enum dtype dtype = view_dtype(b, in[0]), weights = view_dtype(b, in[1]), wide = dtype_wide(dtype);
	if (dtype_wide(weights) == DTYPE_F64)
		wide = DTYPE_F64;
	if (!pack_operand(x, in[0], dtype, extent, &rows) ||
	    !pack_operand(x, in[1], weights, shape, &weight) ||
	    !pack_operand(x, in[2], DTYPE_I64, shape, &source) ||
	    !pack_operand(x, in[3], DTYPE_I64, shape, &to) ||
	    !pack_operand(x, in[4], DTYPE_I64, shape, &from) || !whole_window(x, y, shape, &out))
		return false;
	to = flat(x, to, x->ranks), from = flat(x, from, x->ranks);
	struct plan_view sum = make_experts_scratch(x, wide, y->rank, shape);
	extent[0] = n;
	struct plan_view taken = make_experts_scratch(x, dtype, y->rank, extent),
	                 taken_weight = make_list(x, weights, n), token = make_list(x, DTYPE_I64, n);
	emit_fill(x, token, -1);
	exchange_rows(x, DTYPE_I64, 1, token, n, to, source, x->room, from);
	with_number(x, POINTWISE_SUB, token, token, x->first);
	exchange_rows(x, weights, 1, taken_weight, n, to, weight, x->room, from);
	exchange_rows(x, dtype, count_extent_elements(extent, 1, y->rank), taken, n, to, rows, x->room, from);
	emit_fill(x, sum, 0);
	struct plan_task t;
	plan_task_start(&t, RT_TASK_SCATTER);
	t.in_n = 3;
	t.out = sum, t.in[0] = taken, t.in[1] = taken_weight, t.in[2] = token;
	plan_task_emit(b, &t);
	plan_copy_now(b, &out, &sum);
	return true;
}

/* ---- both */

/* Finds extents and this rank's parts. tokens: the tensor with the tokens on axis 0. */
static bool measure_experts(struct experts *x, const struct view *tokens, const struct view *rows,
                            const struct view *to)
{
	struct planner *b = x->b;
	uint32_t own;
	x->alone = !b->m->op.at[x->op].team;
	x->ranks = x->alone ? 1 : 0;
	if (!x->alone && !plan_own_slice(b, x->op, &x->team, &own))
		return false;
	if (!x->alone)
		x->ranks = b->p->team.at[x->team].n;
	if (!sx_is_const(b, tokens->axis[0].off, &x->first) ||
	    !sx_is_const(b, tokens->axis[0].len, &x->tokens) ||
	    !sx_is_const(b, rows->axis[0].len, &x->room)) {
		planner_error(b, E_PLAN_KERNEL, "%s of a part that a loop cuts is not executed",
		              op_info[b->m->op.at[x->op].kind].hir);
		return false;
	}
	int64_t each = x->ranks * tokens->axis[0].extent, all = rows->axis[0].extent;
	x->choices = each ? all / each : 1; /* without tokens any number will do */
	if (to->axis[0].extent != x->ranks * x->ranks || x->choices * each != all) {
		planner_error(
		    b, E_EXPERTS,
		    "%s: %lld rows and %lld counts do not fit %lld ranks with %lld tokens: rows are ranks x "
		    "tokens x choices, counts ranks x ranks",
		    op_info[b->m->op.at[x->op].kind].hir, (long long)all, (long long)to->axis[0].extent,
		    (long long)x->ranks, (long long)tokens->axis[0].extent);
		return false;
	}
	return true;
}

static bool experts_number(struct experts *x, int64_t *out)
{
	const struct attr *a = op_attr(x->b->m, x->op, "num_experts");
	*out = a && a->kind == ATTR_INT ? a->u.i : 0;
	if (a && a->kind == ATTR_EXPR && !planner_value(x->b, a->u.expr, out))
		return false;
	if (*out > 0 && *out % x->ranks == 0)
		return true;
	if (*out <= 0)
		planner_error(x->b, E_ATTRIBUTE_VALUE, "dispatch: num_experts= must be positive");
	else
		planner_error(x->b, E_EXPERTS,
		              "dispatch: %lld experts cannot be spread evenly over %lld ranks",
		              (long long)*out, (long long)x->ranks);
	return false;
}

void plan_experts(struct planner *b, op_id op)
{
	struct experts x = {.b = b, .op = op, .value = op_result(b->m, op, 0)};
	struct view *in[5] = {NULL}, *first = view_of_result(b, op, 0);
	unsigned n = op_role_count(b->m, op, ROLE_READ);
	bool dispatch = b->m->op.at[op].kind == OP_DISPATCH;
	int64_t experts_n = 0;
	if (!first || first->absent || !view_usable(b, first))
		return;
	for (unsigned k = 0; k < n && k < 5; k++) {
		in[k] = view_of(b, op_read(b->m, op, k));
		if (!in[k] || !view_usable(b, in[k]))
			return;
		if (in[k]->absent) {
			planner_error(
			    b, E_PLAN_MESH, "rank %lld computes '%s' but is not in the mesh of '%s'",
			    (long long)b->p->rank, value_text(b, first->value), value_text(b, in[k]->value));
			return;
		}
	}
	struct view *to = dispatch ? view_of_result(b, op, 4) : in[3];
	if (!to || !measure_experts(&x, dispatch ? in[0] : first, dispatch ? first : in[0], to) ||
	    (dispatch && !experts_number(&x, &experts_n)))
		return;
	if (dispatch)
		plan_dispatch(&x, in, experts_n);
	else
		plan_combine(&x, in, first);
}
