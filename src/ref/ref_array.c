/* ref_array: logical tensors as dense row-major arrays, with a state for each element. */
#include "base/checked.h"
#include "ref/ref_internal.h"
#include <math.h>
#include <string.h>

int64_t ref_array_count(const struct ref_array *a)
{
	int64_t count = 1;
	for (int k = 0; k < a->nd; k++)
		count *= a->n[k];
	return count;
}

bool ref_array_make(struct ref_context *c, struct ref_array *a, enum dtype t, int nd, const int64_t *n,
                    uint32_t at)
{
	int64_t count = 1;
	memset(a, 0, sizeof *a);
	a->nd = nd;
	a->dtype = t;
	for (int k = 0; k < nd; k++) {
		a->n[k] = n[k];
		if (n[k] < 0) {
			diag_error(c->d, E_EXTENT_NEGATIVE, at, "an extent is %lld, below zero",
			           (long long)n[k]);
			return false;
		}
		if (!checked_mul(count, n[k], &count) || count > REF_MAX_ELEMENTS) {
			diag_error(c->d, E_REFERENCE_LIMIT, at,
			           "the tensor is too large for the reference evaluation (limit %d elements)",
			           REF_MAX_ELEMENTS);
			diag_note(c->d, DIAG_NOWHERE, "give smaller parameters with -D");
			return false;
		}
	}
	a->data = mem_zalloc(sizeof *a->data * (size_t)count);
	if (!dtype_is_float(t))
		a->ints = mem_zalloc(sizeof *a->ints * (size_t)count);
	a->state = mem_zalloc((size_t)count);
	a->error = mem_zalloc(sizeof *a->error * (size_t)count);
	return true;
}

void ref_array_free(struct ref_array *a)
{
	free(a->data);
	free(a->ints);
	free(a->state);
	free(a->error);
	free(a->alike);
	free(a->parts);
	memset(a, 0, sizeof *a);
}

bool ref_array_of_type(struct ref_context *c, struct ref_array *a, type_id t, uint32_t at)
{
	const struct type *type = ir_type(c->m, t);
	const struct domain *d = ir_domain(c->m, type->domain);
	int64_t n[IR_MAX_LOGICAL];
	const struct expr_env env = {.rank = -1};
	for (unsigned k = 0; k < d->rank; k++) {
		expr_id offending;
		enum expr_status status = expr_eval(c->m, d->axis[k].extent, &env, &n[k], &offending);
		if (status != EXPR_OK) {
			ref_report_expr(c, status, offending, at);
			return false;
		}
	}
	return ref_array_make(c, a, type->dtype, d->rank, n, at);
}

void ref_array_strides(const struct ref_array *a, int64_t *stride)
{
	int64_t s = 1;
	for (int k = a->nd; k-- > 0;) {
		stride[k] = s;
		s *= a->n[k];
	}
}

void ref_store(struct ref_array *a, int64_t i, double x)
{
	if (a->ints) {
		a->ints[i] = ref_truncate(a->dtype, x);
		a->data[i] = (double)a->ints[i];
		return;
	}
	a->data[i] = ref_round(a->dtype, x);
}

void ref_store_int(struct ref_array *a, int64_t i, int64_t x)
{
	if (!a->ints) {
		a->data[i] = ref_round_int(a->dtype, x);
		return;
	}
	a->ints[i] = ref_wrap(a->dtype, x);
	a->data[i] = (double)a->ints[i];
}

void ref_set_alike(struct ref_array *a, int64_t i, uint32_t number)
{
	if (!a->alike && number)
		a->alike = mem_zalloc(sizeof *a->alike * (size_t)ref_array_count(a));
	if (a->alike)
		a->alike[i] = number;
}

void ref_set_parts(struct ref_array *a, int64_t i, double magnitude)
{
	if (!a->parts)
		a->parts = mem_zalloc(sizeof *a->parts * (size_t)ref_array_count(a));
	a->parts[i] = magnitude;
}

double ref_parts(const struct ref_array *a, int64_t i)
{
	return a->parts ? a->parts[i] : fabs(a->data[i]);
}

void ref_copy(struct ref_array *a, int64_t i, const struct ref_array *b, int64_t k)
{
	double e = b->error[k];
	if (a->dtype == b->dtype) {
		a->data[i] = b->data[k];
		if (a->ints)
			a->ints[i] = b->ints[k];
		if (a->error[i] != e)
			a->error[i] = e;
	} else {
		if (b->ints)
			ref_store_int(a, i, b->ints[k]);
		else
			ref_store(a, i, b->data[k]);
		ref_set_error(a, i, b->data[k], e, 0);
	}
	a->state[i] = b->state[k];
	ref_set_alike(a, i, b->alike ? b->alike[k] : 0);
	if (b->parts)
		ref_set_parts(a, i, b->parts[k]);
}

bool ref_next(int nd, const int64_t *n, int64_t *index)
{
	for (int k = nd; k-- > 0;) {
		if (++index[k] < n[k])
			return true;
		index[k] = 0;
	}
	return false;
}

const char *ref_name(const struct module *m, value_id v, char *text, size_t size)
{
	const struct value *value = &m->value.at[v];
	if (value->name)
		snprintf(text, size, "'%s'", names_text(m->names, value->name));
	else if (value->number >= 0)
		snprintf(text, size, "'T%d'", (int)value->number);
	else
		snprintf(text, size, "a temporary");
	return text;
}

void ref_report_expr(struct ref_context *c, enum expr_status status, expr_id offending, uint32_t at)
{
	const struct expr *e = &c->m->expr.at[offending];
	switch (status) {
	case EXPR_OK:
		break;
	case EXPR_UNDEFINED_PARAM: {
		const struct param *p = &c->m->param.at[e->k];
		char name[REF_NAME_BYTES];
		if (p->name)
			snprintf(name, sizeof name, "%s", names_text(c->m->names, p->name));
		else
			snprintf(name, sizeof name, "i%d", (int)p->number);
		diag_error(c->d, E_PARAM_UNSET, at, "the parameter '%s' has no value", name);
		diag_note(c->d, p->at, "give it one with -D %s=…", name);
		break;
	}
	case EXPR_OVERFLOW:
		diag_error(c->d, E_OVERFLOW, at, "an index expression overflows 64 bits or divides by zero");
		break;
	case EXPR_INDIVISIBLE:
		diag_error(c->d, E_NOT_DIVISIBLE, at, "a division in an index expression leaves a remainder");
		break;
	case EXPR_UNKNOWN:
		diag_error(c->d, E_VALUE_UNDEFINED, at, "an index expression has no value on this rank");
		diag_note(c->d, DIAG_NOWHERE,
		          "it names an axis of a mesh that does not hold the rank, or the rank itself where "
		          "all ranks must agree");
		break;
	}
}
