/* ref_reshard: a set between layouts. It joins the logical tensor from its parts and splits it again.
 *
 * A tensor with pending reductions is one tensor for each combination of indices along its partial mesh axes;
 * over an axis along which the result is not pending, they are reduced.
 *
 * Not all ranks that may give elements need to come to the set, nor to come to one with the same layouts: those that come
 * must have all elements that they need. */
#include "ref/ref_host.h"
#include <math.h>
#include <string.h>

unsigned ref_partial_mask(const struct module *m, type_id t)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	uint8_t axis[IR_MAX_LOGICAL];
	unsigned n = ref_partial_axes(d, axis), mask = 0;
	for (unsigned k = 0; k < n; k++)
		mask |= 1u << d->axis[axis[k]].mesh_axis;
	return mask;
}

int64_t ref_combination(const struct mesh *mesh, int64_t device, unsigned mask, int64_t *count)
{
	int64_t p = 0;
	*count = 1;
	for (unsigned k = 0; k < mesh->rank; k++) {
		uint32_t i = 0;
		if (!(mask >> k & 1))
			continue;
		mesh_axis_index(mesh, (uint32_t)device, k, &i);
		p = p * mesh->size[k] + i;
		*count *= mesh->size[k];
	}
	return p;
}

void ref_assemble(struct ref_host *h, type_id t, unsigned n, const uint32_t *device,
                  const struct ref_array *in, unsigned keep, int64_t like, struct ref_array *out)
{
	const struct domain *d = ir_domain(h->c->m, ir_type(h->c->m, t)->domain);
	const struct mesh *mesh = ir_mesh(h->c->m, ir_type(h->c->m, t)->mesh);
	unsigned mask = ref_partial_mask(h->c->m, t);
	int64_t count = ref_array_count(out), parts = 1, kept;
	uint8_t axis[IR_MAX_LOGICAL];
	enum reduce_op op = ref_partial_axes(d, axis) ? d->axis[axis[0]].reduce : REDUCE_SUM;
	int64_t *part = mem_zalloc(sizeof *part * n);
	for (unsigned k = 0; k < n; k++) {
		if (!mask)
			continue;
		part[k] = ref_combination(mesh, device[k], mask & ~keep, &parts);
		if (keep & mask && ref_combination(mesh, device[k], keep & mask, &kept) !=
		                       ref_combination(mesh, like, keep & mask, &kept))
			part[k] = -1;
	}
	for (int64_t i = 0; i < count; i++) {
		struct ref_fold s;
		uint8_t state = REF_DEFINED;
		ref_fold_start(&s, op, out->dtype);
		s.steps = ref_steps(h->c, op, out->dtype, parts);
		for (int64_t p = 0; p < parts; p++) {
			unsigned k = 0;
			while (k < n && (part[k] != p || in[k].state[i] == REF_ABSENT))
				k++;
			uint8_t own = k < n ? in[k].state[i] : REF_ABSENT;
			state = own < state ? own : state;
			if (parts == 1 && k < n)
				ref_copy(out, i, &in[k], i);
			else if (state == REF_DEFINED)
				ref_fold_add(&s, &in[k], i, p);
		}
		if (parts > 1 && state == REF_DEFINED)
			ref_fold_end(&s, out, i, out->dtype);
		out->state[i] = state;
	}
	free(part);
}

/* Returns true if the members hold the same elements of tensors of two types. */
static bool are_alike(struct ref_host *h, const struct ref_event *e, type_id a, type_id b)
{
	struct module *m = h->c->m;
	const struct ref_bound all = {0};
	const uint32_t at = ir_op(m, e->party[0].op)->at;
	bool alike = a == b || (ir_type(m, a)->dtype == ir_type(m, b)->dtype &&
	                        ref_partial_mask(m, a) == ref_partial_mask(m, b));
	for (unsigned k = 0; k < e->channel->n && a != b && alike; k++) {
		struct ref_local x, y;
		alike = ref_local_get(h->c, h->locals, a, e->channel->device[k], &all, at, &x) &&
		        ref_local_get(h->c, h->locals, b, e->channel->device[k], &all, at, &y) && x.n == y.n &&
		        (!x.n || !memcmp(x.at, y.at, sizeof *x.at * (size_t)x.n));
	}
	return alike;
}

/* Lists the members in sets between alike tensors as one of them: devices and parties. */
static unsigned list_alike(struct ref_host *h, const struct ref_event *e, unsigned like, bool *listed,
                           uint32_t *device, const struct ref_party **party)
{
	const struct ref_party *p = &e->party[like];
	unsigned n = 0;
	for (unsigned k = like; k < e->channel->n; k++) {
		const struct ref_party *q = &e->party[k];
		if (!q->op || listed[k] || !are_alike(h, e, q->in->type, p->in->type) ||
		    !are_alike(h, e, q->out->type, p->out->type))
			continue;
		listed[k] = true;
		device[n] = e->channel->device[k];
		party[n++] = q;
	}
	return n;
}

/* Exchanges the elements of members in sets between alike tensors. *lacking: a device that needs elements that no member
 * holds, and their number. */
static bool exchange(struct ref_host *h, unsigned n, const uint32_t *device, const struct ref_party **party,
                     struct ref_lacking *lacking)
{
	struct module *m = h->c->m;
	const uint32_t at = ir_op(m, party[0]->op)->at;
	const unsigned keep = ref_partial_mask(m, party[0]->out->type);
	struct ref_array *in = mem_zalloc(sizeof *in * n), *out = mem_zalloc(sizeof *out * n);
	bool ok = true;
	for (unsigned k = 0; k < n && ok; k++)
		ok = ref_view_load(h, party[k]->in, false, at, &in[k]);
	for (unsigned k = 0; k < n && ok; k++) {
		ok = ref_array_of_type(h->c, &out[k], party[k]->out->type, at);
		if (ok)
			ref_assemble(h, party[0]->in->type, n, device, in, keep, device[k], &out[k]);
	}
	for (unsigned k = 0; k < n && ok && !lacking->elements; k++) {
		lacking->at = at;
		lacking->device = device[k];
		ok = ref_view_store(h, party[k]->out, false, &out[k], at, &lacking->elements);
	}
	for (unsigned k = 0; k < n; k++) {
		ref_array_free(&in[k]);
		ref_array_free(&out[k]);
	}
	free(in);
	free(out);
	return ok;
}

bool ref_reshard_run(struct ref_host *h, struct ref_event *e, struct ref_lacking *lacking)
{
	const unsigned n = e->channel->n;
	bool *listed = mem_zalloc(sizeof *listed * n), ok = true;
	uint32_t *device = mem_alloc(sizeof *device * n);
	const struct ref_party **party = mem_alloc(sizeof *party * n);
	*lacking = (struct ref_lacking){0};
	for (unsigned k = 0; k < n && ok && !lacking->elements; k++)
		if (e->party[k].op && !listed[k])
			ok = exchange(h, list_alike(h, e, k, listed, device, party), device, party, lacking);
	free(listed);
	free(device);
	free(party);
	return ok;
}
