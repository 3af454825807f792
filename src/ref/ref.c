/* ref: the entry, and what both evaluations share: inputs, results, pending values. */
#include "ir/edit.h"
#include "ref/ref_host.h"
#include <stdlib.h>
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

bool ref_afford(struct ref_context *c, op_id op)
{
	if (c->steps++ < REF_MAX_STEPS)
		return true;
	diag_error(
	    c->d, E_REFERENCE_LIMIT, ir_op(c->m, op)->at,
	    "the program is too long for the reference evaluation (limit %d statements, all ranks together)",
	    REF_MAX_STEPS);
	return false;
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
	c.fused = o->fuses_functions ? ref_fused_find(m) : NULL;
	enum status status = ref_is_host_level(m) ? ref_run_host(&c, outputs) : ref_run_logical(&c, outputs);
	free(c.fused);
	return status;
}
