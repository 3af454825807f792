/* ref_experts_host: a dispatch or combine in a program that is stepped on all ranks.
 *
 * The ranks' parts of each operand are joined, each result is computed as a logical tensor, and every rank
 * takes its part. */
#include "ref/ref_host.h"
#include <string.h>

/* Returns operand k as a logical tensor. */
static bool load_operand(struct ref_host *h, struct ref_event *e, unsigned k, struct ref_array *out)
{
	uint32_t at = ir_op(h->c->m, e->party[0].op)->at;
	unsigned n = e->channel->n;
	type_id type = e->party[0].more[k]->type;
	struct ref_array *in = mem_zalloc(sizeof *in * n);
	bool ok = ref_array_of_type(h->c, out, type, at);
	for (unsigned i = 0; i < n && ok; i++)
		ok = ref_view_load(h, e->party[i].more[k], false, at, &in[i]);
	if (ok)
		ref_assemble(h, type, n, e->channel->device, in, 0, e->channel->device[0], out);
	for (unsigned i = 0; i < n; i++)
		ref_array_free(&in[i]);
	free(in);
	return ok;
}

static bool store_result(struct ref_host *h, struct ref_event *e, unsigned k, const struct ref_array *from)
{
	op_id op = e->party[0].op;
	uint32_t at = ir_op(h->c->m, op)->at;
	for (unsigned i = 0; i < e->channel->n; i++) {
		int64_t absent;
		if (!ref_view_store(h, e->party[i].more[k], false, from, at, &absent))
			return false;
		if (!absent)
			continue;
		diag_error(h->c->d, E_ELEMENTS_ABSENT, at,
		           "rank %u does not hold all that its part of the result of %s needs",
		           (unsigned)e->channel->device[i], op_info[ir_op(h->c->m, op)->kind].hir);
		return false;
	}
	return true;
}

bool ref_experts_run(struct ref_host *h, struct ref_event *e)
{
	op_id op = e->party[0].op;
	unsigned reads = op_role_count(h->c->m, op, ROLE_READ), results = op_result_count(h->c->m, op);
	struct ref_array *in = mem_zalloc(sizeof *in * reads);
	struct ref_operand *operand = mem_zalloc(sizeof *operand * reads);
	struct ref_call call = {.op = op, .n = reads, .in = operand, .averaged = 1};
	bool ok = true;
	for (unsigned k = 0; k < reads && ok; k++) {
		ok = load_operand(h, e, k, &in[k]);
		operand[k].array = &in[k];
	}
	for (; call.result < results && ok; call.result++) {
		struct ref_array out = {0};
		unsigned k = reads + call.result;
		ok = ref_array_of_type(h->c, &out, e->party[0].more[k]->type, ir_op(h->c->m, op)->at) &&
		     ref_eval(h->c, &call, &out) && store_result(h, e, k, &out);
		ref_array_free(&out);
	}
	for (unsigned k = 0; k < reads; k++)
		ref_array_free(&in[k]);
	free(operand);
	free(in);
	return ok;
}
