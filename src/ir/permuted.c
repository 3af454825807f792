/* permuted: see the header. */
#include "ir/permuted.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <string.h>

enum { MOST_TRIED = 8, BEYOND_ALL = INT32_MAX - IR_MAX_AXES };

struct search {
	const struct module *m;
	const struct domain *from, *to;
	const struct printed_numbers *numbers;
	bool strict; /* an axis also keeps its devices, and its extent if that is a scalar */
	/* by mesh axis: the axis of operand and result that is spread over it, or -1 */
	int8_t device[2][IR_MAX_MESH_AXES];
	uint8_t dims[IR_MAX_AXES];
	unsigned found; /* orders that fit */
};

bool permuted_is_identity(const uint8_t *dims, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (dims[i] != i)
			return false;
	return true;
}

void permuted_rank(const struct permuted *p, const uint8_t *order, uint8_t *dims)
{
	for (unsigned i = 0; i < p->n; i++) {
		dims[i] = 0;
		for (unsigned k = 0; k < p->n; k++)
			dims[i] += p->number[order[k]] < p->number[order[i]];
	}
}

static void find_devices(const struct domain *d, int8_t *axis)
{
	memset(axis, -1, IR_MAX_MESH_AXES);
	for (unsigned l = 0; l < d->loop_n; l++)
		if (d->axis[d->loop[l]].place == PLACE_MESH)
			axis[d->axis[d->loop[l]].mesh_axis] = (int8_t)layout_logical_of(d, d->loop[l]);
}

/* Returns true if axis i of the operand can be axis k of the result. */
static bool can_be(const struct search *s, unsigned i, unsigned k)
{
	expr_id x = s->from->axis[i].extent, y = s->to->axis[k].extent;
	int64_t a, b;
	bool constant = expr_is_const(s->m, x, &a), other = expr_is_const(s->m, y, &b);
	if (constant && other ? a != b : s->strict && !constant && !other && x != y)
		return false;
	for (unsigned d = 0; s->strict && d < IR_MAX_MESH_AXES; d++) {
		int8_t of = s->device[0][d], is = s->device[1][d];
		if (of >= 0 && is >= 0 && (of == (int)i) != (is == (int)k))
			return false;
	}
	return true;
}

/* Tries all orders of the axes from k on. nvFuser numbers the axes in the order of the operand's, in a row that begins
 * with `base`. */
static void try_orders(struct search *s, struct permuted *p, int32_t base, unsigned k, unsigned taken)
{
	if (k == p->n && permuted_is_identity(s->dims, p->n))
		return; /* nvFuser prints no permute that moves nothing */
	if (k == p->n) {
		s->found += !s->found || memcmp(p->fitting, s->dims, p->n) != 0;
		memcpy(p->fitting, s->dims, p->n);
		return;
	}
	for (unsigned i = 0; i < p->n; i++) {
		bool hidden = p->number[k] < 0;
		if (taken >> i & 1 ||
		    (hidden ? printed_numbers_has(s->numbers, base + (int32_t)i)
		            : p->number[k] != base + (int32_t)i) ||
		    !can_be(s, i, k))
			continue;
		s->dims[k] = (uint8_t)i;
		try_orders(s, p, base, k + 1, taken | 1u << i);
	}
}

unsigned permuted_find(const struct module *m, struct permuted *p, const struct domain *from,
                       const struct domain *to, const struct printed_numbers *numbers)
{
	struct search s = {.m = m, .from = from, .to = to, .numbers = numbers};
	int32_t least = INT32_MAX, most = -1;
	bool hidden = false;
	for (unsigned i = 0; i < p->n; i++) {
		s.dims[i] = (uint8_t)i;
		hidden |= p->number[i] < 0;
		least = p->number[i] >= 0 && p->number[i] < least ? p->number[i] : least;
		most = p->number[i] > most ? p->number[i] : most;
	}
	if (!hidden) {
		permuted_rank(p, s.dims, p->fitting);
		return 1;
	}
	if (p->n > MOST_TRIED)
		return 0;
	/* if all numbers are hidden, they can be any that stand nowhere */
	int32_t first = most < 0 ? BEYOND_ALL : most - (int32_t)p->n + 1,
	        last = most < 0 ? BEYOND_ALL : least;
	find_devices(from, s.device[0]);
	find_devices(to, s.device[1]);
	for (unsigned strict = 2; strict-- > 0 && !s.found;) {
		s.strict = strict;
		for (int32_t base = first; base <= last; base++)
			if (base >= 0)
				try_orders(&s, p, base, 0, 0);
	}
	return s.found;
}
