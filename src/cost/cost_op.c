/* cost_op: finds the time of a statement from its computations and the bytes that it moves. */
#include "cost/model.h"
#include "ir/edit.h"
#include "ir/infer.h"
#include "ir/unit.h"
#include <string.h>

/* ---- statements without a time */

static bool refuse_statement(const struct cost *c, enum diagnostic code, op_id op, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

static bool refuse_statement(const struct cost *c, enum diagnostic code, op_id op, const char *format, ...)
{
	struct buf text = {0};
	va_list args;
	if (!c->d)
		return false;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	diag_error(c->d, code, c->m->op.at[op].at, "%s", text.at);
	buf_free(&text);
	return false;
}

static void refuse_param(const struct cost *c, op_id op, param_id p)
{
	const struct param *x = &c->m->param.at[p];
	char number[24];
	snprintf(number, sizeof number, "i%d", x->number);
	const char *name = x->name ? names_text(c->m->names, x->name) : number;
	if (c->reported[p])
		return;
	c->reported[p] = true;
	refuse_statement(c, E_PARAM_UNSET, op, "the time of this statement is not known: '%s' has no value",
	                 name);
	diag_note(c->d, DIAG_NOWHERE, "-D %s=VALUE gives it one", name);
}

/* Reports each param that a value's shape needs and that has no value, once. */
static bool refuse_params(const struct cost *c, op_id op, value_id v)
{
	const struct domain *d = value_domain(c->m, v);
	for (unsigned a = 0; a < d->axis_n && c->d; a++) {
		expr_id offending = 0;
		int64_t n;
		if (expr_eval(c->m, d->axis[a].extent, &(struct expr_env){.rank = -1}, &n, &offending) ==
		    EXPR_UNDEFINED_PARAM)
			refuse_param(c, op, (param_id)c->m->expr.at[offending].k);
	}
	return false;
}

static bool shape_of(const struct cost *c, op_id op, value_id v, struct local_shape *out)
{
	switch (local_shape(c->m, v, out)) {
	case EXPR_OK:
		return true;
	case EXPR_UNDEFINED_PARAM:
		return refuse_params(c, op, v);
	case EXPR_OVERFLOW:
		return refuse_statement(
		    c, E_TENSOR_TOO_LARGE, op,
		    "the time of this statement is not known: a tensor of more than 2^60 bytes a rank");
	case EXPR_INDIVISIBLE:
		return refuse_statement(c, E_NOT_DIVISIBLE, op,
		                        "the time of this statement is not known: an extent does not divide");
	case EXPR_UNKNOWN:
		break;
	}
	return refuse_statement(
	    c, E_COST_UNKNOWN, op,
	    "the time of this statement is not known: an extent depends on a rank or loop");
}

/* ---- bytes */

/* Returns the number of elements of operand k that the largest part of the result needs. */
static int64_t needed(const struct infer_axes *x, unsigned k, const struct local_shape *in,
                      const struct local_shape *result)
{
	int64_t elements = 1;
	for (unsigned a = 0; a < in->rank; a++) {
		int64_t n = in->n[a];
		for (unsigned r = 0; r < result->rank; r++)
			if (x->result[r] != INFER_NONE && x->operand[k][a] == x->result[r] &&
			    x->kind[x->result[r]] == DIM_PARALLEL && result->n[r] < n)
				n = result->n[r];
		elements *= n;
	}
	return elements;
}

/* Returns true if the operation reads only as many elements of its first operand as it returns. */
static bool takes_part(enum op_kind kind)
{
	return kind == OP_SLICE || kind == OP_SPLIT || kind == OP_TAKE;
}

/* Finds the bytes that a statement reads and writes. */
static bool find_traffic(const struct cost *c, op_id op, struct traffic *out)
{
	const struct module *m = c->m;
	struct infer_axes x;
	struct local_shape s, result = {0};
	cost_amount written = 0;
	bool known = infer_axes(m, op, &x);
	*out = (struct traffic){0};
	for (unsigned k = 0; k < op_result_count(m, op); k++) {
		if (!shape_of(c, op, op_result(m, op, k), &s))
			return false;
		if (!k)
			result = s;
		written += (cost_amount)s.bytes;
		traffic_add(c, op, op_result(m, op, k), (cost_amount)s.bytes, out);
	}
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++) {
		value_id v = op_read(m, op, k);
		if (!shape_of(c, op, v, &s))
			return false;
		cost_amount bytes = (cost_amount)s.bytes;
		if (known && k < x.operand_n && op_result_count(m, op))
			bytes =
			    (cost_amount)needed(&x, k, &s, &result) * dtype_bytes(value_type(m, v)->dtype);
		if (!k && takes_part((enum op_kind)m->op.at[op].kind) && bytes > written)
			bytes = written;
		traffic_add(c, op, v, bytes, out);
	}
	if (op_attr_is_true(m, op, "accumulate"))
		out->bytes += (cost_amount)result.bytes; /* already counted as written */
	return true;
}

static bool moved_bytes(const struct cost *c, op_id op, int64_t *out)
{
	struct traffic t;
	if (!find_traffic(c, op, &t))
		return false;
	*out = local_limit_bytes(t.bytes);
	return true;
}

/* Finds the bytes that a unit reads from outside, and those that it writes. */
static bool find_unit_traffic(const struct cost *c, op_id op, struct traffic *out)
{
	struct ir_unit_operands x = {0};
	struct local_shape s;
	bool ok = true;
	*out = (struct traffic){0};
	ir_unit_operands_find(c->m, op, &x);
	for (uint32_t k = 0; k < x.in.n + x.out.n && ok; k++) {
		value_id v = k < x.in.n ? x.in.at[k] : x.out.at[k - x.in.n];
		ok = shape_of(c, op, v, &s);
		if (ok)
			traffic_add(c, op, v, (cost_amount)s.bytes, out);
	}
	vec_free(&x.in);
	vec_free(&x.out);
	return ok;
}

/* Returns the time of reading and writing. */
static int64_t traffic_time(const struct cost *c, const struct traffic *t)
{
	int64_t bytes = local_limit_bytes(t->bytes);
	return curve_add(cost_touch_time(c, bytes), traffic_excess(c, t, NULL, bytes));
}

/* ---- functions */

/* Returns elements a second; 0 if the cluster states no rate. */
static int64_t function_rate(const struct cost *c, enum op_kind op, enum dtype t)
{
	for (uint32_t k = 0; k < c->cluster->function_n; k++)
		if (c->cluster->function[k].op == op && c->cluster->function[k].dtype == t)
			return c->cluster->function[k].rate;
	return 0;
}

/* Finds the time that an operation takes beyond reading and writing its data. Rates are measured with
 * the data in the caches. */
static bool function_excess(const struct cost *c, op_id op, int64_t *out)
{
	struct local_shape in, result;
	int64_t rate, bytes;
	*out = 0;
	if (!op_role_count(c->m, op, ROLE_READ) || !op_result_count(c->m, op))
		return true;
	value_id v = op_read(c->m, op, 0);
	rate = function_rate(c, (enum op_kind)c->m->op.at[op].kind, value_type(c->m, v)->dtype);
	if (!rate)
		return true;
	if (!shape_of(c, op, v, &in) || !shape_of(c, op, op_result(c->m, op, 0), &result) ||
	    !moved_bytes(c, op, &bytes))
		return false;
	int64_t time = curve_rate_time(
	            (cost_amount)(in.elements > result.elements ? in.elements : result.elements), 1, rate),
	        touch = cost_touch_time(c, bytes);
	*out = time > touch ? time - touch : 0;
	return true;
}

/* Finds the time that all operations of a unit's kernel take beyond reading and writing. */
static bool unit_excess(const struct cost *c, op_id unit, int64_t *out)
{
	int64_t one;
	*out = 0;
	region_each (c->m, op, c->m->op.at[unit].region) {
		if (!function_excess(c, op, &one))
			return false;
		*out += one;
	}
	return true;
}

/* Returns the extra time of adding up in this dtype, beyond that of the same bytes of f32, which the
 * tables contain. Each of n ranks adds up 1 / n of the others' data. */
static int64_t adding_excess(const struct cost *c, op_id op, enum collective kind, int64_t ranks,
                             int64_t bytes)
{
	bool adds = collective_reduces(kind);
	if (!adds || !op_role_count(c->m, op, ROLE_READ))
		return 0;
	enum dtype t = value_type(c->m, op_read(c->m, op, 0))->dtype;
	int64_t rate = function_rate(c, OP_ADD, t), usual = function_rate(c, OP_ADD, DTYPE_F32),
	        added = bytes / ranks * (ranks - 1);
	if (!rate || !usual)
		return 0;
	int64_t time = curve_rate_time((cost_amount)added, dtype_bytes(t), rate),
	        as_f32 = curve_rate_time((cost_amount)added, dtype_bytes(DTYPE_F32), usual);
	return time > as_f32 ? time - as_f32 : 0;
}

/* ---- products */

struct product {
	int64_t batch, m, n, k;
};

static int64_t choose_smaller(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static struct product product_of(enum op_kind kind, const struct local_shape *a, const struct local_shape *b,
                                 const struct local_shape *r)
{
	struct product p = {.batch = 1, .n = r->n[r->rank - 1]};
	if (!r->elements)
		return (struct product){0, 0, 0, 0};
	if (kind == OP_LINEAR) {
		p.m = r->elements / p.n;
		p.k = choose_smaller(a->n[a->rank - 1], b->n[b->rank - 1]);
	} else if (kind == OP_SDPA) { /* q [b, h, s, e], k and v [b, h, t, …]: the scores, then the weighted
		                         sums of v */
		p.m = r->n[r->rank - 2];
		p.batch = r->elements / (p.m * p.n);
		p.k = b->n[b->rank - 2];
		p.n += a->n[a->rank - 1];
	} else {
		p.m = r->n[r->rank - 2];
		p.batch = r->elements / (p.m * p.n);
		p.k = choose_smaller(a->n[a->rank - 1], b->n[b->rank - 2]);
		if (b->rank == 2) { /* all batches share one matrix */
			p.m *= p.batch;
			p.batch = 1;
		}
	}
	return p;
}

/* Finds the products that gradients of attention compute: the scores for each of three results, the slopes of the weights
 * for q and k, and the three sums. */
static bool find_gradient(const struct cost *c, op_id op, struct product *out, struct local_shape *result)
{
	const struct module *m = c->m;
	struct local_shape k, v;
	if (!shape_of(c, op, op_read(m, op, 2), &k) || !shape_of(c, op, op_read(m, op, 3), &v) ||
	    !shape_of(c, op, op_result(m, op, 0), result))
		return false;
	*out = (struct product){0, 0, 0, 0};
	if (!result->elements)
		return true;
	int64_t depth = result->n[result->rank - 1], width = v.n[v.rank - 1];
	out->m = result->n[result->rank - 2];
	out->batch = result->elements / (out->m * depth);
	out->n = 5 * depth + 3 * width;
	out->k = k.n[k.rank - 2];
	return true;
}

/* Finds the product that a contraction computes. A contraction without elements has no operations. */
static bool find_product(const struct cost *c, op_id op, struct product *out, struct local_shape *result)
{
	const struct module *m = c->m;
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	struct local_shape a, b;
	if (kind == OP_SDPA_BACKWARD) {
		if (!find_gradient(c, op, out, result))
			return false;
	} else if (!shape_of(c, op, op_read(m, op, 0), &a) || !shape_of(c, op, op_read(m, op, 1), &b) ||
	           !shape_of(c, op, op_result(m, op, 0), result)) {
		return false;
	} else {
		*out = product_of(kind, &a, &b, result);
	}
	if ((kind == OP_SDPA || kind == OP_SDPA_BACKWARD) && op_attr_is_true(m, op, "causal"))
		out->k = (out->k + 1) / 2;
	return true;
}

static bool contraction_time(const struct cost *c, op_id op, int64_t *out)
{
	const struct module *m = c->m;
	enum dtype t = value_type(m, op_read(m, op, 0))->dtype;
	struct local_shape r;
	struct product p;
	struct traffic traffic;
	if (!find_product(c, op, &p, &r) || !find_traffic(c, op, &traffic))
		return false;
	if (!c->cluster->flops_rate[t])
		return refuse_statement(c, E_CLUSTER_LACKS, op,
		                        "cluster '%s' states no flops_per_s of %s, which this needs",
		                        c->cluster->name, dtype_name(t));
	const struct cluster_grid *grid = product_grid(c, t);
	*out = curve_add(product_time(c, t, p.batch, p.m, p.n, p.k, local_limit_bytes(traffic.bytes)),
	                 traffic_excess(c, &traffic, grid ? &grid->far : NULL,
	                                product_measured_bytes(c, t, p.m, p.n, p.k)));
	if (m->op.at[op].kind == OP_LINEAR &&
	    op_role_count(m, op, ROLE_READ) > 2) /* the addend is read, and the result written once more */
		*out = curve_add(*out, cost_touch_time(c, local_limit_bytes(3 * (cost_amount)r.bytes)));
	return true;
}

/* ---- communication */

static bool refuse_team(const struct cost *c, op_id op)
{
	const struct cluster *x = c->cluster;
	refuse_statement(c, E_CLUSTER_LACKS, op,
	                 "no link of cluster '%s' joins these ranks: its widest spans %lld devices", x->name,
	                 (long long)x->network.link[x->network.link_n - 1].span);
	if (c->d)
		diag_note(c->d, DIAG_NOWHERE,
		          "give its `links` one with a larger span, or measure more ranks");
	return false;
}

/* Returns the extra time of a collective whose buffers are not in the caches. Measurements use the same
 * buffers again and again. */
static int64_t buffers_excess(const struct cost *c, op_id op, int64_t in, int64_t out)
{
	struct traffic t = {0};
	if (op_role_count(c->m, op, ROLE_READ))
		traffic_add(c, op, op_read(c->m, op, 0), (cost_amount)in, &t);
	if (op_result_count(c->m, op))
		traffic_add(c, op, op_result(c->m, op, 0), (cost_amount)out, &t);
	return traffic_excess(c, &t, NULL, local_limit_bytes(t.bytes));
}

bool collective_parts(const struct cost *c, op_id op, enum collective kind, struct links_team *t,
                      int64_t *bytes, int64_t *excess)
{
	struct local_shape in = {0}, out = {0};
	if (op_role_count(c->m, op, ROLE_READ) && !shape_of(c, op, op_read(c->m, op, 0), &in))
		return false;
	if (op_result_count(c->m, op) && !shape_of(c, op, op_result(c->m, op, 0), &out))
		return false;
	if (!c->m->op.at[op].team)
		return refuse_statement(c, E_COST_UNKNOWN, op,
		                        "the time of this statement is not known: it has no team");
	if (!collective_team(c, c->m->op.at[op].team, t))
		return refuse_team(c, op);
	*bytes = collective_bytes(kind, t->ranks, in.bytes, out.bytes);
	*excess = curve_add(adding_excess(c, op, kind, t->ranks, *bytes),
	                    buffers_excess(c, op, in.bytes, out.bytes));
	return true;
}

static bool collective_op_time(const struct cost *c, op_id op, enum collective kind, int64_t *time,
                               int64_t *bytes)
{
	struct links_team t;
	if (!collective_parts(c, op, kind, &t, bytes, time))
		return false;
	if (c->m->op.at[op].flags & OP_GROUPED)
		*time = 0; /* the group has the time of all its members */
	else
		*time += collective_time(c, kind, &t, *bytes);
	return true;
}

/* Finds the team of a message: a mesh axis if the peer is `device(x, …)`, else all ranks. */
bool message_team(const struct cost *c, op_id op, struct links_team *out)
{
	const struct module *m = c->m;
	const struct expr *e = &m->expr.at[op_scalar_expr(m, op, 0)];
	struct links_team x;
	if (e->kind != EXPR_DEVICE) {
		int64_t ranks = module_ranks(m);
		uint32_t last = ranks > 1 ? (uint32_t)(ranks - 1) : 1;
		return links_team(c->cluster, (const uint32_t[]){0, last}, 2, out);
	}
	const struct mesh *mesh = &m->mesh.at[e->k];
	*out = (struct links_team){0};
	for (uint32_t p = 0; p < mesh->device_count; p++) {
		uint32_t pair[2] = {mesh->device[p], mesh_device_along(mesh, p, e->mesh_axis, 0)};
		if (!links_team(c->cluster, pair, pair[0] == pair[1] ? 1 : 2, &x))
			return false;
		if (x.link > out->link || x.ranks > out->ranks)
			*out = x;
	}
	return true;
}

static bool message_op(const struct cost *c, op_id op, int64_t *time, int64_t *bytes)
{
	struct local_shape s = {0};
	struct links_team t;
	bool sends = op_role_count(c->m, op, ROLE_READ);
	if (!shape_of(c, op, sends ? op_read(c->m, op, 0) : op_result(c->m, op, 0), &s))
		return false;
	if (!message_team(c, op, &t))
		return refuse_team(c, op);
	*bytes = s.bytes;
	*time = collective_time(c, COLLECTIVE_SEND_RECV, &t, s.bytes);
	return true;
}

bool experts_parts(const struct cost *c, op_id op, struct links_team *t, team_id *team, int64_t *bytes)
{
	struct module *m = c->m;
	bool out = m->op.at[op].kind == OP_DISPATCH;
	struct local_shape rows;
	*t = (struct links_team){.ranks = 1};
	*team = infer_experts_team(m, op);
	if (!shape_of(c, op, out ? op_result(m, op, 0) : op_read(m, op, 0), &rows))
		return false;
	if (*team && !collective_team(c, *team, t))
		return refuse_team(c, op);
	*bytes = rows.bytes / t->ranks;
	return true;
}

/* Finds the time of moving rows to their experts or back: two local copies and the transfer. */
static bool experts_op(const struct cost *c, op_id op, int64_t *time)
{
	struct links_team t;
	team_id team;
	int64_t bytes;
	if (!experts_parts(c, op, &t, &team, &bytes))
		return false;
	*time = cost_touch_time(c, local_limit_bytes(4 * (cost_amount)bytes));
	if (t.ranks > 1)
		*time = curve_add(*time, collective_time(c, COLLECTIVE_ALL_TO_ALLV, &t, bytes));
	return true;
}

/* ---- statements */

static bool recorded(const struct cost *c, op_id op, const struct attr *a, int64_t *out)
{
	if (a->kind != ATTR_INT || a->u.i < 0 || a->u.i > CLUSTER_MAX_TIME)
		return refuse_statement(c, E_ATTRIBUTE_VALUE, op, "time= takes whole nanoseconds, 0 to %lld",
		                        (long long)CLUSTER_MAX_TIME);
	*out = a->u.i;
	return true;
}

/* Finds the time of a statement that hirc does not know: from kind= and its other attributes, or from
 * the bytes. */
static bool extern_time(const struct cost *c, op_id op, int64_t *out, int64_t *communicated)
{
	static const char *const none[] = {"wait", "view", "input", "output", "attr", "host"};
	const struct attr *kind = op_attr(c->m, op, "kind");
	const char *name = kind && (kind->kind == ATTR_NAME || kind->kind == ATTR_STRING)
	                       ? names_text(c->m->names, kind->u.name)
	                       : "compute";
	int64_t bytes;
	for (unsigned k = 0; k < sizeof none / sizeof *none; k++)
		if (!strcmp(name, none[k]))
			return true;
	switch (extern_stated(c, op, name, out, communicated)) {
	case EXTERN_KNOWN:
		return true;
	case EXTERN_NO_GROUP:
		return refuse_statement(
		    c, E_COST_UNKNOWN, op,
		    "the time of this statement is not known: it has no group, and no time= (ns)");
	case EXTERN_NO_LINK:
		return refuse_team(c, op);
	case EXTERN_NO_RATE:
		return refuse_statement(c, E_CLUSTER_LACKS, op,
		                        "cluster '%s' states no flops_per_s, which this needs",
		                        c->cluster->name);
	case EXTERN_NOT_STATED:
		break;
	}
	if (strcmp(name, "compute"))
		return refuse_statement(c, E_COST_UNKNOWN, op,
		                        "a communication that hirc does not know needs time= (ns)");
	if (!moved_bytes(c, op, &bytes))
		return false;
	*out = cost_touch_time(c, bytes);
	return true;
}

static bool allocate_time(const struct cost *c, op_id op, int64_t *out)
{
	struct local_shape s;
	if (!op_attr_is_true(c->m, op, "zero_init") && !op_attr_is_true(c->m, op, "resets_to_zero"))
		return true;
	if (!shape_of(c, op, op_result(c->m, op, 0), &s))
		return false;
	*out = cost_touch_time(c, s.bytes);
	return true;
}

static bool find_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes)
{
	const struct op *o = &c->m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	const struct attr *a = op_attr(c->m, op, "time");
	enum collective kind;
	struct traffic moved;
	if (collective_kind((enum op_kind)o->kind, &kind))
		return collective_op_time(c, op, kind, time, bytes) && (!a || recorded(c, op, a, time));
	if (info->traits & TRAIT_P2P)
		return message_op(c, op, time, bytes) && (!a || recorded(c, op, a, time));
	if (a)
		return recorded(c, op, a, time);
	if ((info->traits & TRAIT_VIEW) || (!op_is_unit(c->m, op) && ir_unit_of(c->m, op)))
		return true;
	switch ((enum op_kind)o->kind) {
	case OP_EXTERN:
		return extern_time(c, op, time, bytes);
	case OP_ALLOCATE:
		return allocate_time(c, op, time);
	case OP_END_COALESCING:
		return group_time(c, op, time, bytes);
	case OP_MATMUL:
	case OP_GROUPED_MATMUL:
	case OP_LINEAR:
	case OP_SDPA:
	case OP_SDPA_BACKWARD:
		return contraction_time(c, op, time);
	case OP_DISPATCH:
	case OP_COMBINE:
		return experts_op(c, op, time);
	default:
		break;
	}
	if (!op_is_unit(c->m, op) && info->form != FORM_CALL)
		return true;
	bool unit = op_is_unit(c->m, op);
	if (!(unit ? find_unit_traffic(c, op, &moved) : find_traffic(c, op, &moved)) ||
	    !(unit ? unit_excess(c, op, time) : function_excess(c, op, time)))
		return false;
	*time = curve_add(*time, traffic_time(c, &moved));
	return true;
}

bool op_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes)
{
	*time = *bytes = 0;
	if (!find_time(c, op, time, bytes))
		return false;
	return *time < CLUSTER_MAX_TIME ||
	       refuse_statement(c, E_SIM_LIMIT, op, "this takes longer than %lld ns",
	                        (long long)CLUSTER_MAX_TIME);
}

/* ---- statements that compute */

static bool is_contraction(enum op_kind kind)
{
	return kind == OP_MATMUL || kind == OP_LINEAR || kind == OP_GROUPED_MATMUL || kind == OP_SDPA ||
	       kind == OP_SDPA_BACKWARD;
}

/* Returns the work that a statement states which hirc does not know. */
static struct cost_work stated_work(const struct cost *c, op_id op)
{
	const struct attr *flops = op_attr(c->m, op, "flops"), *touches = op_attr(c->m, op, "touches");
	struct cost_work w = {0};
	w.flops = flops && flops->kind == ATTR_INT && flops->u.i > 0 ? (double)flops->u.i : 0;
	w.bytes = touches && touches->kind == ATTR_INT && touches->u.i > 0 ? touches->u.i : 0;
	return w;
}

struct cost_work cost_op_work(const struct cost *c, op_id op)
{
	const struct module *m = c->m;
	const struct op *o = &m->op.at[op];
	bool unit = op_is_unit(m, op);
	struct cost_work w = {0};
	enum collective kind;
	struct traffic moved = {0};
	struct product p;
	struct local_shape r;
	if (o->kind == OP_EXTERN) {
		w = stated_work(c, op);
	} else if (o->kind == OP_ALLOCATE) {
		bool zeros = op_attr_is_true(m, op, "zero_init") || op_attr_is_true(m, op, "resets_to_zero");
		if (zeros && shape_of(c, op, op_result(m, op, 0), &r))
			w.bytes = r.bytes;
	} else if (!collective_kind((enum op_kind)o->kind, &kind) &&
	           !(op_traits(m, op) & (TRAIT_P2P | TRAIT_VIEW)) &&
	           (unit || (op_info[o->kind].form == FORM_CALL && !ir_unit_of(m, op)))) {
		if (unit ? find_unit_traffic(c, op, &moved) : find_traffic(c, op, &moved))
			w.bytes = local_limit_bytes(moved.bytes);
		if (is_contraction((enum op_kind)o->kind) && find_product(c, op, &p, &r))
			w.flops = 2 * (double)p.batch * (double)p.m * (double)p.n * (double)p.k;
	}
	w.memory = cost_touch_time(c, w.bytes);
	return w;
}
