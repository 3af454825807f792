/* valuation_label: the text that tells apart operations of one kind, and statements that are taken on trust. */
#include "values/valuation.h"
#include <string.h>

void value_trust(struct valuation *v, op_id op)
{
	if (v->trusted[op])
		return;
	v->trusted[op] = true;
	v->result->trusted = v->result->trusted ? v->result->trusted : op;
	v->result->trusted_n++;
}

/* Attributes that do not change the result. */
static bool is_attribute_of_how(const char *key)
{
	static const char *const how[] = {"backend", "accumulate", "cache_op", "axis",    "keepdims",
	                                  "shape",   "dims",       "group",    "storage", "start",
	                                  "stop",    "sizes",      "before",   "after"};
	for (unsigned k = 0; k < sizeof how / sizeof *how; k++)
		if (!strcmp(key, how[k]))
			return true;
	return false;
}

/* Adds the dtype and the extents of a result. Random numbers depend on them. */
static void put_type(struct value_rank *r, op_id op, struct buf *text)
{
	const value_id result = op_result(r->v->m, op, 0);
	const struct domain *d = value_domain(r->v->m, result);
	int64_t extent;
	buf_puts(text, dtype_name((enum dtype)value_type(r->v->m, result)->dtype));
	for (unsigned a = 0; a < d->rank; a++)
		if (walk_value(&r->walker, op, d->axis[a].extent, &extent))
			buf_printf(text, " %lld", (long long)extent);
	buf_putc(text, ' ');
}

uint32_t value_label(struct value_rank *r, op_id op, unsigned result)
{
	struct module *m = r->v->m;
	struct buf text = {0};
	const struct attrs *list = &m->attrs.at[m->op.at[op].attrs];
	for (uint32_t k = 0; k < list->n; k++) {
		const struct attr *a = &list->at[k];
		const char *key = names_text(m->names, a->key);
		int64_t value;
		if (is_attribute_of_how(key))
			continue;
		buf_printf(&text, "%s=", key);
		if (a->kind == ATTR_INT)
			buf_printf(&text, "%lld", (long long)a->u.i);
		else if (a->kind == ATTR_FLOAT)
			buf_printf(&text, "%.17g", a->u.f);
		else if (a->kind == ATTR_NAME || a->kind == ATTR_STRING)
			buf_puts(&text, names_text(m->names, a->u.name));
		else if (a->kind == ATTR_EXPR && walk_value(&r->walker, op, a->u.expr, &value))
			buf_printf(&text, "%lld", (long long)value);
		for (uint32_t i = 0; a->kind == ATTR_INTS && i < a->n; i++)
			buf_printf(&text, "%lld,", (long long)a->u.ints[i]);
		buf_putc(&text, ' ');
	}
	if (m->op.at[op].kind == OP_UNIFORM)
		put_type(r, op, &text);
	if (result)
		buf_printf(&text, "result %u ", result);
	uint32_t label = text.n ? facts_label(r->v->facts, text.at) : 0;
	buf_free(&text);
	return label;
}
