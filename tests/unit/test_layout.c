/* Layout arithmetic against brute force.
 *
 * A random series of splits, merges, reorders and swizzles is applied twice: by the domain builder, and to an
 * explicit table of the logical index of every loop coordinate. */
#include "check.h"
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_ELEMENTS = 20000, MAX_AXES = 12, PADDING = -1 };

struct table { /* loop coordinates, row-major → logical index (row-major), or PADDING */
	unsigned n;
	int64_t size[MAX_AXES];
	int64_t *at;
};

static uint64_t state = 12345;

static unsigned random_below(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

static int64_t elements(const struct table *t)
{
	int64_t n = 1;
	for (unsigned i = 0; i < t->n; i++)
		n *= t->size[i];
	return n;
}

static int64_t product(const struct table *t, unsigned from, unsigned to)
{
	int64_t n = 1;
	for (unsigned i = from; i < to; i++)
		n *= t->size[i];
	return n;
}

static void replace(struct table *t, unsigned pos, unsigned remove, const int64_t *with, unsigned n)
{
	memmove(t->size + pos + n, t->size + pos + remove, sizeof *t->size * (t->n - pos - remove));
	memcpy(t->size + pos, with, sizeof *with * n);
	t->n = t->n + n - remove;
}

static void table_split(struct table *t, unsigned pos, int64_t factor, bool inner)
{
	int64_t n = t->size[pos], before = product(t, 0, pos), after = product(t, pos + 1, t->n);
	int64_t rest = (n + factor - 1) / factor, sizes[2] = {inner ? rest : factor, inner ? factor : rest};
	int64_t *at = malloc(sizeof *at * (size_t)(before * sizes[0] * sizes[1] * after + 1));
	for (int64_t b = 0; b < before; b++)
		for (int64_t x = 0; x < sizes[0] * sizes[1]; x++)
			for (int64_t a = 0; a < after; a++)
				at[(b * sizes[0] * sizes[1] + x) * after + a] =
				    x < n ? t->at[(b * n + x) * after + a] : PADDING;
	free(t->at);
	t->at = at;
	replace(t, pos, 1, sizes, 2);
}

static void table_swizzle(struct table *t, unsigned pos, int64_t index)
{
	int64_t n = t->size[pos], before = product(t, 0, pos), after = product(t, pos + 1, t->n);
	int64_t *at = malloc(sizeof *at * (size_t)(before * n * after + 1));
	for (int64_t b = 0; b < before; b++)
		for (int64_t x = 0; x < n; x++)
			for (int64_t a = 0; a < after; a++)
				at[(b * n + x) * after + a] = t->at[(b * n + (x + index) % n) * after + a];
	free(t->at);
	t->at = at;
}

static void table_reorder(struct table *t, const uint8_t *perm)
{
	struct table old = *t;
	int64_t n = elements(t), coordinate[MAX_AXES];
	t->at = malloc(sizeof *t->at * (size_t)(n + 1));
	for (unsigned i = 0; i < t->n; i++)
		t->size[i] = old.size[perm[i]];
	for (int64_t e = 0; e < n; e++) {
		int64_t rest = e, from = 0;
		for (unsigned i = t->n; i-- > 0; rest /= t->size[i])
			coordinate[perm[i]] = rest % t->size[i];
		for (unsigned i = 0; i < t->n; i++)
			from = from * old.size[i] + coordinate[i];
		t->at[e] = old.at[from];
	}
	free(old.at);
}

static void compare(struct module *m, struct domain_builder *b, const struct table *t, mesh_id mesh,
                    int64_t rank, const int64_t *logical_size)
{
	domain_allocate_default(b, false);
	type_id type = type_make(m, DTYPE_F32, MEMORY_GLOBAL, mesh, domain_finish(m, b));
	const struct domain *d = &m->domain.at[m->type.at[type].domain];
	struct layout_env env;
	expr_id offending;
	CHECK(layout_env_init(m, type, rank, &env, &offending));
	CHECK(d->loop_n == t->n);
	int64_t n = elements(t), found = 0, whole = 1;
	for (unsigned i = 0; i < d->logical_n; i++)
		whole *= logical_size[i];
	for (int64_t e = 0; e < n; e++) {
		int64_t loop[MAX_AXES], logical[IR_MAX_LOGICAL], rest = e, index = 0;
		for (unsigned i = t->n; i-- > 0; rest /= t->size[i])
			loop[i] = rest % t->size[i];
		bool inside = layout_logical_index(d, &env, loop, logical);
		for (unsigned i = 0; inside && i < d->logical_n; i++)
			index = index * logical_size[i] + logical[i];
		CHECK(inside == (t->at[e] != PADDING));
		CHECK(!inside || index == t->at[e]);
		found += inside;
	}
	CHECK(found ==
	      whole); /* every element once: the table starts as a permutation and only gains padding */
}

static void random_transforms(void)
{
	struct module *m = module_new(NULL);
	uint32_t device[] = {0, 1, 2};
	struct mesh ring = {.name = names_intern_z(m->names, "ring"),
	                    .rank = 1,
	                    .size = {3},
	                    .device_count = 3,
	                    .device = device};
	mesh_id mesh = ir_mesh_add(m, &ring);
	for (unsigned round = 0; round < 400; round++) {
		struct domain_builder b;
		struct table t = {.n = 1 + random_below(3)};
		int64_t logical[IR_MAX_LOGICAL], rank = random_below(3);
		domain_begin(&b);
		for (unsigned i = 0; i < t.n; i++) {
			logical[i] = t.size[i] = 1 + random_below(9);
			domain_add_axis(&b, AXIS_ITER, expr_const(m, t.size[i]));
		}
		int64_t n = elements(&t);
		t.at = malloc(sizeof *t.at * (size_t)(n + 1));
		for (int64_t e = 0; e < n; e++)
			t.at[e] = e;
		for (unsigned step = random_below(7);
		     step-- > 0 && t.n + 1 < MAX_AXES && elements(&t) < MAX_ELEMENTS / 8;) {
			unsigned pos = random_below(t.n), kind = random_below(4);
			if (kind == 0) {
				int64_t factor = 1 + random_below(5);
				bool inner = random_below(2);
				CHECK(!domain_split(m, &b, pos, expr_const(m, factor), inner));
				table_split(&t, pos, factor, inner);
			} else if (kind == 1 && pos + 1 < t.n) {
				int64_t merged = t.size[pos] * t.size[pos + 1];
				CHECK(!domain_merge(m, &b, pos));
				replace(&t, pos, 2, &merged, 1);
			} else if (kind == 2) {
				uint8_t perm[MAX_AXES];
				for (unsigned i = 0; i < t.n; i++)
					perm[i] = (uint8_t)i;
				for (unsigned i = t.n; i-- > 1;) {
					unsigned j = random_below(i + 1);
					uint8_t x = perm[i];
					perm[i] = perm[j], perm[j] = x;
				}
				CHECK(!domain_reorder(&b, perm, t.n));
				table_reorder(&t, perm);
			} else if (kind == 3 && t.size[pos] == 3) {
				CHECK(!domain_swizzle1d(m, &b, pos, &m->mesh.at[mesh], 0));
				table_swizzle(&t, pos, rank);
			}
		}
		compare(m, &b, &t, mesh, rank, logical);
		free(t.at);
	}
	module_free(m);
}

/* Sugar expands and is read back. */
static void random_sugar(void)
{
	struct module *m = module_new(NULL);
	uint32_t device[] = {0, 1, 2, 3, 4, 5};
	struct mesh pod = {.name = names_intern_z(m->names, "pod"),
	                   .rank = 2,
	                   .size = {2, 3},
	                   .device_count = 6,
	                   .device = device};
	mesh_id mesh = ir_mesh_add(m, &pod);
	for (unsigned round = 0; round < 400; round++) {
		struct sugar s = {.rank = 1 + random_below(2)}, again;
		unsigned used = 0, offending;
		domain_id id;
		s.axis_n = s.rank;
		for (unsigned i = 0; i < s.rank; i++) {
			s.axis[i].extent = expr_const(m, 1 + random_below(14));
			for (unsigned k = random_below(3); k-- > 0;) {
				struct sugar_place *p = &s.axis[i].place[s.axis[i].place_n];
				unsigned kind = random_below(2);
				uint8_t axis = (uint8_t)random_below(2);
				if (kind == SUGAR_MESH && used >> axis & 1)
					continue;
				used |= kind == SUGAR_MESH ? 1u << axis : 0;
				*p = (struct sugar_place){
				    .kind = (uint8_t)kind,
				    .mesh_axis = kind == SUGAR_MESH ? axis : 0,
				    .factor = kind == SUGAR_MESH ? 0 : expr_const(m, 2 + random_below(2))};
				s.axis[i].place_n++;
			}
		}
		if (sugar_expand(m, &s, mesh, random_below(2), &id, &offending))
			continue;
		CHECK(sugar_from_domain(m, id, mesh, &again));
	}
	module_free(m);
}

/* Canonical forms of equal polynomials are equal, and have the value of the original. */
static expr_id random_expr(struct module *m, const param_id *p, unsigned depth)
{
	unsigned kind = depth ? random_below(6) : random_below(2);
	if (kind == 0)
		return expr_const(m, random_below(7));
	if (kind == 1)
		return expr_param(m, p[random_below(3)]);
	expr_id a = random_expr(m, p, depth - 1), b = random_expr(m, p, depth - 1);
	static const enum expr_kind kinds[] = {EXPR_ADD, EXPR_SUB, EXPR_MUL, EXPR_CEIL_DIV};
	expr_id e = expr_op(m, kinds[kind - 2], a, b);
	return e ? e : a;
}

static void canonical_expressions(void)
{
	struct module *m = module_new(NULL);
	param_id p[3];
	for (unsigned i = 0; i < 3; i++)
		p[i] = ir_param_add(m, 0, 0);
	for (unsigned round = 0; round < 2000; round++) {
		expr_id e = random_expr(m, p, 3), c = expr_canon(m, e);
		CHECK(expr_canon(m, c) == c); /* 0 if a divisor cancels to zero */
		for (unsigned i = 0; i < 3; i++) {
			m->param.at[p[i]].has_value = true;
			m->param.at[p[i]].value = 1 + random_below(50);
		}
		const struct expr_env env = {.rank = 0, .streams = 4};
		int64_t x = 0, y = 0;
		enum expr_status sx = expr_eval(m, e, &env, &x, NULL), sy = expr_eval(m, c, &env, &y, NULL);
		CHECK(sx != EXPR_OK || (sy == EXPR_OK && x == y));
	}
	expr_id h = expr_param(m, p[0]), t = expr_param(m, p[1]);
	expr_id left = expr_canon(m, expr_mul(m, expr_add(m, h, t), expr_const(m, 3)));
	expr_id right =
	    expr_canon(m, expr_add(m, expr_mul(m, t, expr_const(m, 3)), expr_mul(m, expr_const(m, 3), h)));
	CHECK(left == right);
	CHECK(expr_canon(m, expr_ceil_div(m, expr_mul(m, h, expr_const(m, 4)), expr_const(m, 2))) ==
	      expr_canon(m, expr_mul(m, expr_const(m, 2), h)));
	CHECK(!expr_mul(m, expr_const(m, INT64_MAX), expr_const(m, 2)));
	CHECK(!expr_canon(
	    m, expr_mul(m, expr_mul(m, h, expr_const(m, INT64_MAX)), expr_add(m, h, expr_const(m, 2)))));
	module_free(m);
}

int main(void)
{
	random_transforms();
	random_sugar();
	canonical_expressions();
	return check_result();
}
