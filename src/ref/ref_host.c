/* ref_host: evaluates host-level programs, from the logical inputs to the logical outputs.
 *
 * It shards the inputs by their types, lets the ranks issue, runs the queues, and joins the outputs from the
 * ranks' parts. Ranks that hold the same element must agree. */
#include "ref/ref_host.h"
#include <math.h>
#include <string.h>

/* Returns 1 + the largest device of any mesh or team. */
static int64_t ranks_needed(const struct module *m)
{
	int64_t n = 1;
	for (mesh_id k = 1; k < m->mesh.n; k++)
		n = m->mesh.at[k].max_device >= n ? (int64_t)m->mesh.at[k].max_device + 1 : n;
	for (team_id k = 1; k < m->team.n; k++)
		for (uint32_t i = 0; i < m->team.at[k].device_n; i++)
			n = m->team.at[k].device[i] >= n ? (int64_t)m->team.at[k].device[i] + 1 : n;
	return n;
}

/* Returns the number of a rank's part of a pending input. */
static int64_t own_part(const struct module *m, value_id v, int64_t rank)
{
	unsigned mask = ref_partial_mask(m, m->value.at[v].type);
	int64_t parts;
	return mask ? ref_combination(ir_mesh(m, value_type(m, v)->mesh), rank, mask, &parts) : 0;
}

static bool load_input(struct ref_host *h, unsigned k)
{
	struct ref_context *c = h->c;
	value_id v = c->m->input.at[k].value;
	const struct ref_array *given = &c->o->inputs[k];
	uint32_t at = c->m->value.at[v].at;
	const struct ref_bound all = {0};
	int64_t parts = ref_pending_parts(c->m, v), absent;
	if (!ref_check_input(c, k, parts))
		return false;
	for (int64_t r = 0; r < h->rank_n; r++) {
		if (h->rank[r].idle)
			continue;
		struct ref_view *view = h->rank[r].view[v] =
		    ref_view_of_buffer(h, c->m->value.at[v].type, r, &all);
		view->buffer->value = v;
		view->buffer->keep = view->buffer->written = true;
		if (!ref_mesh_has(c->m, value_type(c->m, v)->mesh, r))
			continue;
		struct ref_array local;
		if (!ref_array_of_type(c, &local, view->type, at))
			return false;
		int64_t count = ref_array_count(&local), part = own_part(c->m, v, r);
		for (int64_t i = 0; i < count; i++)
			ref_take_input(&local, i, given, i * parts + part);
		bool ok = ref_view_store(h, view, false, &local, at, &absent);
		ref_array_free(&local);
		if (!ok)
			return false;
	}
	return true;
}

/* Checks that ranks with the same element of a tensor hold the same value, unless the tensor is pending. */
static bool check_agreement(struct ref_host *h, value_id v, unsigned n, const uint32_t *device,
                            const struct ref_array *in)
{
	int64_t count = n ? ref_array_count(&in[0]) : 0;
	char name[REF_NAME_BYTES];
	if (ref_partial_axes(value_domain(h->c->m, v), NULL))
		return true;
	for (int64_t i = 0; i < count; i++) {
		unsigned first = n;
		for (unsigned k = 0; k < n; k++) {
			if (in[k].state[i] != REF_DEFINED)
				continue;
			if (first == n)
				first = k;
			double a = in[first].data[i], b = in[k].data[i];
			if (in[k].ints ? in[first].ints[i] == in[k].ints[i]
			               : a == b || (isnan(a) && isnan(b)))
				continue;
			diag_error(
			    h->c->d, E_RANKS_DISAGREE, h->c->m->value.at[v].at,
			    "ranks %u and %u disagree about element %lld of the output %s: %.9g and %.9g",
			    (unsigned)device[first], (unsigned)device[k], (long long)i,
			    ref_name(h->c->m, v, name, sizeof name), a, b);
			return false;
		}
	}
	return true;
}

/* Makes an element poison on all ranks if one rank that should hold it has not written it. */
static void spread_poison(unsigned n, const struct ref_array *in, struct ref_array *out)
{
	int64_t count = ref_array_count(out);
	for (unsigned k = 0; k < n; k++)
		for (int64_t i = 0; i < count; i++)
			if (in[k].state[i] == REF_POISON)
				out->state[i] = REF_POISON;
}

static enum status take_output(struct ref_host *h, value_id v, struct ref_array *out)
{
	struct ref_context *c = h->c;
	uint32_t at = c->m->value.at[v].at, *device = mem_alloc(sizeof *device * (size_t)h->rank_n);
	struct ref_array *in = mem_zalloc(sizeof *in * (size_t)h->rank_n);
	unsigned n = 0;
	char name[REF_NAME_BYTES];
	bool ok = ref_array_of_type(c, out, c->m->value.at[v].type, at);
	for (int64_t r = 0; r < h->rank_n && ok; r++) {
		const struct ref_view *view = h->rank[r].idle ? NULL : h->rank[r].view[v];
		if (h->rank[r].idle || !ref_mesh_has(c->m, value_type(c->m, v)->mesh, r))
			continue;
		if (!view) {
			diag_error(c->d, E_OUTPUT_UNSET, at,
			           "the output %s has no value at the end on rank %lld",
			           ref_name(c->m, v, name, sizeof name), (long long)r);
			ok = false;
			break;
		}
		device[n] = (uint32_t)r;
		ok = ref_view_load(h, view, false, at, &in[n]);
		n += ok;
	}
	enum status status = ok ? STATUS_OK : STATUS_DIAGNOSTICS;
	if (ok && !check_agreement(h, v, n, device, in))
		status = STATUS_WRONG;
	if (ok) {
		ref_assemble(h, c->m->value.at[v].type, n, device, in, 0, 0, out);
		spread_poison(n, in, out);
	}
	for (unsigned k = 0; k < n; k++)
		ref_array_free(&in[k]);
	free(in);
	free(device);
	return status;
}

static void open_host(struct ref_host *h, struct ref_context *c)
{
	struct module *m = c->m;
	int64_t needed = ranks_needed(m);
	*h = (struct ref_host){.c = c, .arena = arena_new(), .locals = ref_locals_new()};
	h->rank_n = c->o->ranks > needed ? c->o->ranks : needed;
	h->rank = arena_new_array(h->arena, struct ref_rank, h->rank_n);
	walk_program_open(&h->walk_program, m, h->rank_n);
	h->meets = arena_new_array(h->arena, uint16_t, m->op.n);
	for (int64_t k = 0; k < h->rank_n; k++) {
		struct ref_rank *r = &h->rank[k];
		r->device = k;
		r->idle = module_rank_is_idle(m, k);
		if (r->idle)
			continue;
		r->view = arena_new_array(h->arena, struct ref_view *, m->value.n);
		r->posted = arena_new_array(h->arena, struct ref_party, m->op.n);
	}
}

static void close_host(struct ref_host *h)
{
	for (int64_t k = 0; k < h->rank_n; k++) {
		struct ref_rank *r = &h->rank[k];
		for (uint32_t s = 0; s < r->stream.n; s++)
			vec_free(&r->stream.at[s].queue);
		vec_free(&r->stream);
		vec_free(&r->issued);
		vec_free(&r->transfer);
		vec_free(&r->group);
	}
	for (uint32_t k = 0; k < h->channel.n; k++)
		vec_free(&h->channel.at[k]->event);
	for (uint32_t k = 0; k < h->buffer.n; k++)
		ref_array_free(&h->buffer.at[k]->store);
	vec_free(&h->channel);
	vec_free(&h->buffer);
	walk_program_close(&h->walk_program);
	ref_locals_free(h->locals);
	arena_free(h->arena);
}

enum status ref_run_host(struct ref_context *c, struct ref_array *outputs)
{
	struct ref_host h;
	enum status status = STATUS_OK;
	unsigned done = 0;
	open_host(&h, c);
	for (unsigned k = 0; k < c->m->input.n && !status; k++)
		status = load_input(&h, k) ? STATUS_OK : STATUS_DIAGNOSTICS;
	for (int64_t k = 0; k < h.rank_n && !status; k++)
		if (!h.rank[k].idle && !ref_issue(&h, &h.rank[k]))
			status = STATUS_DIAGNOSTICS;
	for (unsigned k = 0; !status && ref_result_value(c->m, k); k++)
		for (int64_t r = 0; r < h.rank_n; r++)
			if (!h.rank[r].idle && h.rank[r].view[ref_result_value(c->m, k)])
				h.rank[r].view[ref_result_value(c->m, k)]->buffer->keep = true;
	status = status ? status : ref_queues_run(&h);
	for (; !status && ref_result_value(c->m, done); done++)
		status = take_output(&h, ref_result_value(c->m, done), &outputs[done]);
	for (unsigned k = 0; status && k < done; k++)
		ref_array_free(&outputs[k]);
	close_host(&h);
	return status;
}
