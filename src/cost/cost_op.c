/* cost_op: finds the time of a statement from its computations and the bytes that it moves. */
#include "cost/model.h"
#include "ir/edit.h"
#include "ir/unit.h"
#include <string.h>

/* ---- functions */

/* Returns elements a second; 0 if the cluster states no rate. */
int64_t function_rate(const struct cost *c, enum op_kind op, enum dtype t)
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
	if (!cost_shape(c, op, v, &in) || !cost_shape(c, op, op_result(c->m, op, 0), &result) ||
	    !traffic_bytes(c, op, &bytes))
		return false;
	int64_t time = curve_rate_time(
	            (cost_amount)(in.elements > result.elements ? in.elements : result.elements), 1, rate),
	        touch = touch_time(c, bytes);
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

/* ---- statements */

static bool recorded(const struct cost *c, op_id op, const struct attr *a, int64_t *out)
{
	if (a->kind != ATTR_INT || a->u.i < 0 || a->u.i > CLUSTER_MAX_TIME)
		return cost_refuse(c, E_ATTRIBUTE_VALUE, op, "time= takes whole nanoseconds, 0 to %lld",
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
		return cost_refuse(
		    c, E_COST_UNKNOWN, op,
		    "the time of this statement is not known: it has no group, and no time= (ns)");
	case EXTERN_NO_LINK:
		return cost_refuse_team(c, op);
	case EXTERN_NO_RATE:
		return cost_refuse(c, E_CLUSTER_LACKS, op,
		                   "cluster '%s' states no flops_per_s, which this needs", c->cluster->name);
	case EXTERN_NOT_STATED:
		break;
	}
	if (strcmp(name, "compute"))
		return cost_refuse(c, E_COST_UNKNOWN, op,
		                   "a communication that hirc does not know needs time= (ns)");
	if (!traffic_bytes(c, op, &bytes))
		return false;
	*out = cost_touch_time(c, bytes);
	return true;
}

static bool allocate_time(const struct cost *c, op_id op, int64_t *out)
{
	struct local_shape s;
	if (!op_attr_is_true(c->m, op, "zero_init") && !op_attr_is_true(c->m, op, "resets_to_zero"))
		return true;
	if (!cost_shape(c, op, op_result(c->m, op, 0), &s))
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
		return message_op_time(c, op, time, bytes) && (!a || recorded(c, op, a, time));
	if (a)
		return recorded(c, op, a, time);
	if ((info->traits & TRAIT_VIEW) || (!op_is_unit(c->m, op) && ir_unit_of(c->m, op)))
		return true;
	if (contraction_is((enum op_kind)o->kind)) {
		if (!contraction_time(c, op, time))
			return false;
		*time = share_work(c, *time);
		return true;
	}
	switch ((enum op_kind)o->kind) {
	case OP_EXTERN:
		return extern_time(c, op, time, bytes);
	case OP_ALLOCATE:
		return allocate_time(c, op, time);
	case OP_END_COALESCING:
		return group_time(c, op, time, bytes);
	case OP_DISPATCH:
	case OP_COMBINE:
		return experts_op_time(c, op, time);
	default:
		break;
	}
	if (!op_is_unit(c->m, op) && info->form != FORM_CALL)
		return true;
	bool unit = op_is_unit(c->m, op);
	if (!(unit ? traffic_find_unit(c, op, &moved) : traffic_find(c, op, &moved)) ||
	    !(unit ? unit_excess(c, op, time) : function_excess(c, op, time)))
		return false;
	*time = share_work(c, curve_add(*time, traffic_time(c, &moved)));
	return true;
}

bool op_time(const struct cost *c, op_id op, int64_t *time, int64_t *bytes)
{
	*time = *bytes = 0;
	if (!find_time(c, op, time, bytes))
		return false;
	return *time < CLUSTER_MAX_TIME ||
	       cost_refuse(c, E_SIM_LIMIT, op, "this takes longer than %lld ns", (long long)CLUSTER_MAX_TIME);
}

/* ---- statements that compute */

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
		if (zeros && cost_shape(c, op, op_result(m, op, 0), &r))
			w.bytes = r.bytes;
	} else if (!collective_kind((enum op_kind)o->kind, &kind) &&
	           !(op_traits(m, op) & (TRAIT_P2P | TRAIT_VIEW)) &&
	           (unit || (op_info[o->kind].form == FORM_CALL && !ir_unit_of(m, op)))) {
		if (unit ? traffic_find_unit(c, op, &moved) : traffic_find(c, op, &moved))
			w.bytes = local_limit_bytes(moved.bytes);
		if (contraction_is((enum op_kind)o->kind) && contraction_product(c, op, &p, &r))
			w.flops = 2 * (double)p.batch * (double)p.m * (double)p.n * (double)p.k;
	}
	w.memory = cost_touch_time(c, w.bytes);
	return w;
}
