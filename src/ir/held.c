/* held: see held.h. Placements cut an axis from the outermost to the innermost; each keeps a block of every
 * interval that was there. */
#include "ir/held.h"
#include "ir/expr.h"
#include <string.h>

static bool evaluate_constant(const struct module *m, expr_id e, int64_t *out)
{
	return expr_eval(m, e, &(struct expr_env){.rank = -1}, out, NULL) == EXPR_OK;
}

static bool count_of(const struct module *m, const struct held_layout *l, const struct sugar_place *p,
                     int64_t *n)
{
	if (p->kind != SUGAR_MESH && p->kind != SUGAR_SWIZZLE)
		return evaluate_constant(m, p->factor, n) && *n > 0;
	*n = l->mesh ? l->mesh->size[p->mesh_axis] : 1;
	return true;
}

static bool is_loop(const struct sugar_place *p)
{
	return p->kind == SUGAR_STREAM || p->kind == SUGAR_SERIAL || p->kind == SUGAR_SWIZZLE;
}

/* Cuts each interval into n blocks of a size, and keeps block k (all: k < 0). */
static void cut_intervals(held_intervals *x, int64_t size, int64_t n, int64_t k)
{
	held_intervals out = {0};
	for (uint32_t i = 0; i < x->n; i++)
		for (int64_t b = k < 0 ? 0 : k; b < (k < 0 ? n : k + 1); b++) {
			struct held_interval part = {x->at[i].from + b * size,
			                             x->at[i].from + (b + 1) * size};
			part.to = part.to < x->at[i].to ? part.to : x->at[i].to;
			if (part.from < part.to)
				vec_push(&out, part);
		}
	vec_free(x);
	*x = out;
}

/* Intervals that touch are one. */
static void unite(held_intervals *x)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < x->n; i++)
		if (n && x->at[n - 1].to == x->at[i].from)
			x->at[n - 1].to = x->at[i].to;
		else
			x->at[n++] = x->at[i];
	x->n = n;
}

bool held_layout_read(struct module *m, type_id t, struct held_layout *out)
{
	const struct type *type = ir_type(m, t);
	out->mesh = type->mesh ? ir_mesh(m, type->mesh) : NULL;
	return sugar_from_domain(m, type->domain, type->mesh, &out->s);
}

bool held_axis(const struct module *m, const struct held_layout *l, unsigned axis, uint32_t device,
               const int64_t *step, held_intervals *out)
{
	const struct sugar_axis *a = &l->s.axis[axis];
	int64_t size, n;
	unsigned loop = 0;
	*out = (held_intervals){0};
	if (!evaluate_constant(m, a->extent, &size) || size < 0)
		return false;
	vec_push(out, (struct held_interval){0, size});
	for (unsigned i = 0; i < a->place_n; i++) {
		const struct sugar_place *p = &a->place[i];
		uint32_t own = 0;
		int64_t k = -1;
		if (!count_of(m, l, p, &n)) {
			vec_free(out);
			return false;
		}
		if (l->mesh && (p->kind == SUGAR_MESH || p->kind == SUGAR_SWIZZLE))
			mesh_axis_index(l->mesh, device, p->mesh_axis, &own);
		if (p->kind == SUGAR_MESH)
			k = own;
		else if (is_loop(p) && step && step[loop] >= 0)
			k = p->kind == SUGAR_SWIZZLE ? (step[loop] + own) % n : step[loop];
		loop += is_loop(p);
		size = (size + n - 1) / n;
		cut_intervals(out, size, n, k);
	}
	unite(out);
	return true;
}

bool held_block(const struct module *m, const struct held_layout *l, unsigned axis, const int64_t *step,
                int64_t *out)
{
	const struct sugar_axis *a = &l->s.axis[axis];
	int64_t size, whole, n;
	unsigned loop = 0;
	if (!evaluate_constant(m, a->extent, &size))
		return false;
	whole = size;
	for (unsigned i = 0; i < a->place_n; i++) {
		const struct sugar_place *p = &a->place[i];
		if (!count_of(m, l, p, &n))
			return false;
		size = (size + n - 1) / n;
		if (p->kind == SUGAR_MESH || (is_loop(p) && step && step[loop] >= 0))
			whole = size;
		loop += is_loop(p);
	}
	*out = whole;
	return true;
}

int64_t held_common(const held_intervals *a, const held_intervals *b)
{
	int64_t n = 0;
	for (uint32_t u = 0; u < a->n; u++)
		for (uint32_t v = 0; v < b->n; v++) {
			int64_t from = a->at[u].from > b->at[v].from ? a->at[u].from : b->at[v].from;
			int64_t to = a->at[u].to < b->at[v].to ? a->at[u].to : b->at[v].to;
			n += to > from ? to - from : 0;
		}
	return n;
}

bool held_alike(const held_intervals *a, const held_intervals *b)
{
	return a->n == b->n && (!a->n || !memcmp(a->at, b->at, sizeof *a->at * a->n));
}
