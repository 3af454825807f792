/* number_save: saves numbers while hirc prints something for itself, so that a check between two passes
 * does not change the numbers in the final dump. */
#include "ir/number.h"

struct ir_numbers {
	uint32_t values, params, indices, handles, ops, axis_ids;
	int32_t *number; /* in this order: values (number, axis base), params, indices, handles, ops */
};

struct ir_numbers *ir_numbers_save(const struct module *m)
{
	struct ir_numbers *s = mem_alloc(sizeof *s);
	*s = (struct ir_numbers){m->value.n, m->param.n,    m->index.n, m->handle.n,
	                         m->op.n,    m->axis_ids.n, NULL};
	int32_t *p = s->number =
	    mem_alloc(sizeof *p * ((size_t)2 * s->values + s->params + s->indices + s->handles + s->ops));
	for (uint32_t i = 0; i < s->values; i++) {
		*p++ = m->value.at[i].number;
		*p++ = m->value.at[i].axis_base;
	}
	for (uint32_t i = 0; i < s->params; i++)
		*p++ = m->param.at[i].number;
	for (uint32_t i = 0; i < s->indices; i++)
		*p++ = m->index.at[i].number;
	for (uint32_t i = 0; i < s->handles; i++)
		*p++ = m->handle.at[i].number;
	for (uint32_t i = 0; i < s->ops; i++)
		*p++ = m->op.at[i].number;
	return s;
}

void ir_numbers_restore(struct module *m, struct ir_numbers *s)
{
	const int32_t *p = s->number;
	for (uint32_t i = 0; i < s->values; i++) {
		m->value.at[i].number = *p++;
		m->value.at[i].axis_base = *p++;
	}
	for (uint32_t i = 0; i < s->params; i++)
		m->param.at[i].number = *p++;
	for (uint32_t i = 0; i < s->indices; i++)
		m->index.at[i].number = *p++;
	for (uint32_t i = 0; i < s->handles; i++)
		m->handle.at[i].number = *p++;
	for (uint32_t i = 0; i < s->ops; i++)
		m->op.at[i].number = *p++;
	m->axis_ids.n = s->axis_ids;
	free(s->number);
	free(s);
}
