/* cost_refuse: reports statements whose time is not known. */
#include "cost/model.h"

bool cost_refuse(const struct cost *c, enum diagnostic code, op_id op, const char *format, ...)
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
	cost_refuse(c, E_PARAM_UNSET, op, "the time of this statement is not known: '%s' has no value", name);
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

bool cost_shape(const struct cost *c, op_id op, value_id v, struct local_shape *out)
{
	switch (local_shape(c->m, v, out)) {
	case EXPR_OK:
		return true;
	case EXPR_UNDEFINED_PARAM:
		return refuse_params(c, op, v);
	case EXPR_OVERFLOW:
		return cost_refuse(
		    c, E_TENSOR_TOO_LARGE, op,
		    "the time of this statement is not known: a tensor of more than 2^60 bytes a rank");
	case EXPR_INDIVISIBLE:
		return cost_refuse(c, E_NOT_DIVISIBLE, op,
		                   "the time of this statement is not known: an extent does not divide");
	case EXPR_UNKNOWN:
		break;
	}
	return cost_refuse(c, E_COST_UNKNOWN, op,
	                   "the time of this statement is not known: an extent depends on a rank or loop");
}

bool cost_refuse_team(const struct cost *c, op_id op)
{
	const struct cluster *x = c->cluster;
	cost_refuse(c, E_CLUSTER_LACKS, op,
	            "no link of cluster '%s' joins these ranks: its widest spans %lld devices", x->name,
	            (long long)x->network.link[x->network.link_n - 1].span);
	if (c->d)
		diag_note(c->d, DIAG_NOWHERE,
		          "give its `links` one with a larger span, or measure more ranks");
	return false;
}
