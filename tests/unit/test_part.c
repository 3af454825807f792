/* Parts of tensors, compared with a search for every element that a rank has.
 *
 * Types, ranks and bound loops are drawn. `test_part SEED` draws only those of one seed. */
#include "check.h"
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/part.h"
#include "test_program.h"
#include <stdlib.h>

enum { ROUNDS = 6000, MOST_ELEMENTS = 1500, MOST_COORDINATES = 20000, MOST_EXTENT = 60, MOST_DEVICES = 64 };

static uint64_t state;

static unsigned draw(unsigned n)
{
	state = state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

/* ---- a random tensor */

struct drawn {
	struct module *m;
	type_id type;
	mesh_id mesh;
	uint32_t device[MOST_DEVICES], device_n;
	struct bound_at bound;
};

static mesh_id draw_mesh(struct drawn *x)
{
	struct mesh mesh = {.name = names_intern_z(x->m->names, "m"), .rank = (uint8_t)(1 + draw(3))};
	mesh.device_count = 1;
	for (unsigned k = 0; k < mesh.rank; k++)
		mesh.device_count *= mesh.size[k] = 1 + draw(4);
	const unsigned first = draw(3), gap = 1 + draw(2);
	for (uint32_t k = 0; k < mesh.device_count; k++)
		x->device[k] = first + k * gap;
	for (uint32_t k = mesh.device_count; k-- > 1 && first;) { /* devices in random order */
		const uint32_t other = draw(k + 1), d = x->device[k];
		x->device[k] = x->device[other], x->device[other] = d;
	}
	x->device_n = mesh.device_count;
	mesh.device = x->device;
	return ir_mesh_add(x->m, &mesh);
}

/* Draws splits, merges and swizzles that make loop axes from visible ones. Many splits are as large as a mesh
 * axis. */
static void draw_transform(struct drawn *x, struct domain_builder *b, const struct mesh *mesh)
{
	const unsigned pos = draw(b->loop_n), kind = draw(12);
	const uint32_t size = mesh->size[draw(mesh->rank)];
	if (b->axis[b->loop[pos]].kind != AXIS_ITER)
		return;
	if (kind < 8)
		domain_split(x->m, b, pos, expr_const(x->m, kind < 4 ? size : 1 + draw(5)), kind % 4 == 3);
	else if (kind < 11)
		domain_swizzle1d(x->m, b, pos, mesh, draw(mesh->rank));
	else
		domain_merge(x->m, b, pos);
}

static void draw_places(struct drawn *x, struct domain_builder *b, const struct mesh *mesh)
{
	for (unsigned pos = 0; pos < b->loop_n; pos++)
		if (draw(3))
			domain_parallelize(x->m, b, pos, (enum axis_place)(PLACE_SERIAL + draw(3)), mesh,
			                   draw(mesh->rank));
}

static void draw_bound(struct drawn *x, const struct domain *d, const struct layout_env *env)
{
	x->bound.axes = 0;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const unsigned a = d->loop[k];
		if ((d->axis[a].place != PLACE_STREAM && d->axis[a].place != PLACE_SERIAL) || !draw(3) ||
		    !env->extent[a])
			continue;
		x->bound.axes |= (uint64_t)1 << a;
		x->bound.step[a] = draw((unsigned)env->extent[a]);
	}
}

/* Returns false if the tensor is too large to search. */
static bool draw_tensor(struct drawn *x, struct layout_env *env)
{
	static const enum axis_kind hidden[] = {AXIS_PARTIAL, AXIS_REDUCE};
	struct domain_builder b;
	int64_t elements = 1, coordinates = 1;
	x->m = module_new(NULL);
	x->mesh = draw_mesh(x);
	const struct mesh mesh = x->m->mesh.at[x->mesh];
	const unsigned rank = 1 + draw(3);
	domain_begin(&b);
	for (unsigned a = 0; a < rank; a++) {
		const unsigned extent = draw(20) ? 1 + draw(rank == 1 ? MOST_EXTENT : 14) : 0;
		elements *= extent;
		domain_add_axis(&b, AXIS_ITER, expr_const(x->m, extent));
	}
	for (unsigned k = 0; k < 2; k++)
		if (!draw(4))
			domain_add_axis(&b, hidden[k], expr_const(x->m, mesh.size[0]));
	for (unsigned k = draw(7); k-- > 0 && b.axis_n + 2 < IR_MAX_AXES;)
		draw_transform(x, &b, &mesh);
	draw_places(x, &b, &mesh);
	if (draw(2))
		domain_parallel_to_front(&b);
	domain_allocate_default(&b, false);
	x->type = type_make(x->m, DTYPE_F32, MEMORY_GLOBAL, x->mesh, domain_finish(x->m, &b));
	const struct domain *d = &x->m->domain.at[x->m->type.at[x->type].domain];
	CHECK(layout_env_init(x->m, x->type, x->device[0], env, NULL));
	draw_bound(x, d, env);
	for (unsigned k = 0; k < d->loop_n; k++)
		coordinates *= env->extent[d->loop[k]];
	return elements <= MOST_ELEMENTS && coordinates <= MOST_COORDINATES;
}

/* ---- elements, one by one */

struct seen { /* row-major over the visible axes */
	int64_t n, extent[IR_MAX_LOGICAL];
	bool at[MOST_ELEMENTS];
};

/* Visits all coordinates of the loop domain that the rank has, with all coordinates of axes without a
 * place. */
static void look(const struct drawn *x, int64_t rank, struct seen *out)
{
	const struct domain *d = &x->m->domain.at[x->m->type.at[x->type].domain];
	struct layout_env env;
	int64_t at[IR_MAX_AXES] = {0}, n[IR_MAX_AXES], logical[IR_MAX_LOGICAL], total = 1;
	uint32_t position;
	CHECK(layout_env_init(x->m, x->type, rank, &env, NULL));
	memset(out, 0, sizeof *out);
	out->n = 1;
	for (unsigned a = 0; a < d->rank; a++)
		out->n *= out->extent[a] = env.extent[a];
	if (!mesh_position(&x->m->mesh.at[x->mesh], (uint32_t)rank, &position))
		return;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const struct axis *a = &d->axis[d->loop[k]];
		const bool bound = x->bound.axes >> d->loop[k] & 1;
		n[k] = a->place == PLACE_MESH || bound ? 1 : env.extent[d->loop[k]];
		total *= n[k];
	}
	for (int64_t e = 0; e < total; e++) {
		int64_t rest = e, linear = 0;
		for (unsigned k = d->loop_n; k-- > 0; rest /= n[k]) {
			const unsigned a = d->loop[k];
			at[k] = x->bound.axes >> a & 1           ? x->bound.step[a]
			        : d->axis[a].place == PLACE_MESH ? env.mesh_index[d->axis[a].mesh_axis]
			                                         : rest % n[k];
		}
		if (!layout_logical_index(d, &env, at, logical))
			continue;
		for (unsigned a = 0; a < d->rank; a++)
			linear = linear * env.extent[a] + logical[a];
		out->at[linear] = true;
	}
}

/* Lists the elements of an axis from its intervals. */
static int64_t list_axis(const struct part_axis *x, bool *in)
{
	int64_t n = 0, end = -1;
	memset(in, 0, sizeof *in * MOST_EXTENT);
	for (struct part_span s = {0}; part_next(x, &s);) {
		CHECK(s.from < s.to && s.from > end && s.to <= x->extent); /* no two intervals touch */
		CHECK(end >= 0 || s.from == x->from);
		for (int64_t k = s.from; k < s.to; k++)
			in[k] = true;
		n += s.to - s.from;
		end = s.to;
	}
	CHECK_EQ(end < 0 ? 0 : end, x->to);
	CHECK_EQ(part_count(x), n);
	CHECK_EQ(part_is_whole(x), n == x->extent);
	return n;
}

static bool has_joint(const struct domain *d)
{
	for (unsigned k = 0; k < d->xform_n; k++)
		if (d->xform[k].kind == XFORM_MERGE ||
		    (d->xform[k].kind == XFORM_SWIZZLE1D && domain_consumer(d, d->xform[k].out[0])))
			return true;
	return false;
}

static void compare(const struct drawn *x, int64_t rank, const struct seen *want, struct part *p)
{
	const struct domain *d = &x->m->domain.at[x->m->type.at[x->type].domain];
	bool in[IR_MAX_LOGICAL][MOST_EXTENT];
	int64_t count = 0;
	uint32_t position;
	CHECK(part_of(x->m, x->type, rank, &x->bound, p));
	CHECK_EQ(p->absent, !mesh_position(&x->m->mesh.at[x->mesh], (uint32_t)rank, &position));
	CHECK_EQ(p->n, d->rank);
	CHECK(p->exact || has_joint(d));
	for (unsigned a = 0; a < p->n; a++) {
		CHECK_EQ(p->axis[a].extent, want->extent[a]);
		list_axis(&p->axis[a], in[a]);
	}
	int64_t wrong = 0;
	for (int64_t e = 0; e < want->n; e++) {
		int64_t rest = e;
		bool here = true;
		for (unsigned a = p->n; a-- > 0; rest /= want->extent[a])
			here = here && in[a][rest % want->extent[a]];
		count += here;
		wrong += here != want->at[e] && (!here || p->exact);
	}
	CHECK_EQ(wrong, 0);
	CHECK_EQ(part_elements(p), count);
}

static int64_t count_both(const struct seen *a, const struct seen *b)
{
	int64_t n = 0;
	for (int64_t e = 0; e < a->n; e++)
		n += a->at[e] && b->at[e];
	return n;
}

static void compare_ranks(const struct seen *a, const struct seen *b, const struct part *p,
                          const struct part *q)
{
	if (!p->exact || !q->exact)
		return;
	CHECK_EQ(part_common(p, q), count_both(a, b));
	CHECK_EQ(part_delivered(COLLECTIVE_BROADCAST, 1, 1, 0, p, q), count_both(a, b));
	if (count_both(a, a) && count_both(b, b)) /* empty parts may differ along an axis */
		CHECK_EQ(part_same(p, q), !memcmp(a->at, b->at, sizeof a->at));
}

static struct {
	unsigned tensors, levels, joint, absent, empty;
} met;

static void run_round(uint64_t seed)
{
	static struct seen seen[2];
	struct drawn x;
	struct layout_env env;
	struct part p[2];
	const unsigned before = check_failures;
	state = seed * 0x9e3779b97f4a7c15u;
	draw(2);
	if (draw_tensor(&x, &env)) {
		for (unsigned k = 0; k < 2; k++) {
			const int64_t rank = draw(8) ? x.device[draw(x.device_n)] : 99;
			look(&x, rank, &seen[k]);
			compare(&x, rank, &seen[k], &p[k]);
			met.absent += p[k].absent;
			met.empty += !p[k].absent && !part_elements(&p[k]);
			met.joint += !p[k].exact;
			for (unsigned a = 0; a < p[k].n; a++)
				met.levels += p[k].axis[a].levels;
		}
		compare_ranks(&seen[0], &seen[1], &p[0], &p[1]);
		met.tensors++;
	}
	module_free(x.m);
	if (check_failures != before)
		printf("    seed %llu\n", (unsigned long long)seed);
}

/* ---- pages of part.h, and views */

static value_id value_named(const struct module *m, const char *name)
{
	for (value_id v = 1; v < m->value.n; v++)
		if (m->value.at[v].name && !strcmp(names_text(m->names, m->value.at[v].name), name))
			return v;
	return 0;
}

/* Finds the part of a value if all loops around are in step `at`. */
static void part_of_value(struct module *m, const char *name, int64_t rank, int64_t at, struct part *out)
{
	const value_id v = value_named(m, name);
	int64_t *index = malloc(sizeof *index * (m->index.n + 1u));
	const struct expr_env env = {.rank = rank, .index = index};
	struct bound_steps steps;
	struct bound_at bound = {0};
	CHECK(v != 0);
	for (index_id i = 0; i < m->index.n; i++)
		index[i] = at;
	bound_steps_of(m, v, &steps);
	for (unsigned a = 0; a < IR_MAX_AXES; a++)
		if (steps.of[a] && expr_eval(m, steps.of[a], &env, &bound.step[a], NULL) == EXPR_OK)
			bound.axes |= (uint64_t)1 << a;
	CHECK(part_of(m, m->value.at[v].type, rank, &bound, out));
	free(index);
}

/* "4:8 12:16, 0:4" */
static const char *text_of(const struct part *p)
{
	static char text[256];
	unsigned n = 0;
	text[0] = 0;
	for (unsigned a = 0; a < p->n; a++) {
		bool first = true;
		n += (unsigned)snprintf(text + n, sizeof text - n, a ? ", " : "");
		for (struct part_span s = {0}; part_next(&p->axis[a], &s); first = false)
			n += (unsigned)snprintf(text + n, sizeof text - n, "%s%lld:%lld", first ? "" : " ",
			                        (long long)s.from, (long long)s.to);
	}
	return text;
}

static void test_views(void)
{
	struct program t = program_of("mesh ring(x = 2)\n"
	                              "program p on ring {\n"
	                              "  input X: f32[10@block(3)@x, 4]\n"
	                              "  input Y: f32[16@stream(2)@x]\n"
	                              "  input S: f32[6, 8@swizzle1d(x), 5]\n"
	                              "  output Z: f32[16@stream(2)@x] = allocate()\n"
	                              "  for i in 0..2 parallel(stream) {\n"
	                              "    set_stream(i)\n"
	                              "    y: f32[16@stream(2)@x] = shard_by_stream(Y, i)\n"
	                              "    z: f32[16@stream(2)@x] = shard_by_stream(Z, 1 - i)\n"
	                              "    s = shard_by_stream(S, i)\n"
	                              "    c = select(s, axis=0, index=3)\n"
	                              "    w: f32[16@stream(2)@x] = relu(y)\n"
	                              "    z <- abs(w)\n"
	                              "  }\n"
	                              "}\n");
	static const struct {
		const char *name;
		int64_t rank, at;
		const char *part;
	} cases[] = {
	    {"X", 0, 0, "0:2 4:6 8:10, 0:4"},
	    {"X", 1, 0, "2:4 6:8, 0:4"},
	    {"Y", 1, 0, "4:8 12:16"},
	    {"y", 1, 1, "12:16"},
	    {"z", 0, 1, "0:4"},
	    {"w", 0, 1, "8:12"}, /* a new value is that of the loops around */
	    {"S", 0, 0, "0:6, 0:8, 0:5"},
	    {"s", 0, 0, "0:6, 0:4, 0:5"},
	    {"s", 1, 0, "0:6, 4:8, 0:5"},
	    {"s", 1, 1, "0:6, 0:4, 0:5"},
	    {"c", 1, 1, "0:4, 0:5"},
	    {"y", 2, 0, ""},
	};
	for (unsigned k = 0; t.m && k < sizeof cases / sizeof *cases; k++) {
		struct part p;
		part_of_value(t.m, cases[k].name, cases[k].rank, cases[k].at, &p);
		CHECK_STR(text_of(&p), cases[k].part);
		CHECK_EQ(p.absent, cases[k].rank == 2);
	}
	program_free(&t);
}

/* Tests intervals inside intervals, and 64-bit bounds. */
static void test_levels(void)
{
	static const int64_t size[PART_LEVELS] = {499, 200, 97, 41,
	                                          17,  7,   3}; /* none divides the one before it */
	struct part_axis x;
	part_start(&x, 1000);
	for (unsigned k = 0; k < PART_LEVELS; k++)
		CHECK(part_narrow(&x, size[k], PART_ALL));
	CHECK(!part_narrow(&x, 2, PART_ALL));
	CHECK_EQ(part_count(&x), 1000);
	part_start(&x, INT64_MAX);
	CHECK(part_narrow(&x, INT64_MAX / 2, 1) && part_narrow(&x, 1, 7));
	CHECK(x.from == INT64_MAX / 2 + 7 && x.to == x.from + 1 && part_count(&x) == 1);
	CHECK(part_narrow(&x, 1, INT64_MAX) && !x.to && !part_count(&x));
}

/* An axis that is cut more often than there are levels: the part is larger. Twelve halves, none of which
 * divides the one before it. */
static void test_many_levels(void)
{
	struct program t = program_of("mesh ring(x = 2)\nprogram p on ring {\n  input A: f32[4097]\n}\n");
	struct domain_builder b;
	struct part p;
	int64_t halves = 0;
	domain_begin(&b);
	domain_add_axis(&b, AXIS_ITER, expr_const(t.m, 4097));
	for (unsigned k = 0; k < 11; k++)
		CHECK(!domain_split(t.m, &b, k, expr_const(t.m, 2), false));
	CHECK(!domain_parallelize(t.m, &b, 10, PLACE_MESH, &t.m->mesh.at[1], 0));
	domain_allocate_default(&b, false);
	const type_id type = type_make(t.m, DTYPE_F32, MEMORY_GLOBAL, 1, domain_finish(t.m, &b));
	for (int64_t rank = 0; rank < 2; rank++) {
		const struct domain *d = &t.m->domain.at[t.m->type.at[type].domain];
		struct layout_env env;
		int64_t at[IR_MAX_AXES], logical;
		bool *in = mem_zalloc(4097);
		CHECK(part_of(t.m, type, rank, NULL, &p) && !p.exact &&
		      layout_env_init(t.m, type, rank, &env, NULL));
		for (struct part_span s = {0}; part_next(&p.axis[0], &s);)
			memset(in + s.from, 1, (size_t)(s.to - s.from));
		for (unsigned e = 0; e < 1u << 12; e++) {
			for (unsigned k = 0; k < d->loop_n; k++)
				at[k] = k == 10 ? rank : e >> k & 1;
			if (!layout_logical_index(d, &env, at, &logical))
				continue;
			CHECK(in[logical]);
			halves++;
		}
		free(in);
	}
	CHECK(halves > 2048);
	program_free(&t);
}

/* Each member of a team gets its whole part of the result, from the members that give. */
static void test_delivered(void)
{
	struct program t = program_of("mesh ring(x = 4)\n"
	                              "program p on ring {\n"
	                              "  input A: f32[10]\n"
	                              "  input B: f32[10@x]\n"
	                              "}\n");
	static const struct {
		enum collective kind;
		const char *in, *out;
		unsigned givers; /* number for each element */
	} cases[] = {
	    {COLLECTIVE_ALLGATHER, "B", "A", 1},      {COLLECTIVE_ALLREDUCE, "A", "A", 4},
	    {COLLECTIVE_REDUCE_SCATTER, "A", "B", 4}, {COLLECTIVE_BROADCAST, "A", "A", 1},
	    {COLLECTIVE_ALL_TO_ALL, "B", "B", 1},
	};
	for (unsigned k = 0; t.m && k < sizeof cases / sizeof *cases; k++)
		for (unsigned to = 0; to < 4; to++) {
			struct part in, out;
			int64_t got = 0;
			part_of_value(t.m, cases[k].out, to, 0, &out);
			for (unsigned from = 0; from < 4; from++) {
				part_of_value(t.m, cases[k].in, from, 0, &in);
				got += part_delivered(cases[k].kind, 2, from, to, &in, &out);
			}
			CHECK_EQ(got, cases[k].givers * part_elements(&out));
		}
	program_free(&t);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		run_round(strtoull(argv[1], NULL, 10));
		return check_result();
	}
	for (uint64_t seed = 1; seed <= ROUNDS; seed++)
		run_round(seed);
	CHECK(met.tensors > ROUNDS / 2 && met.levels > 500 && met.joint > 100 && met.absent > 500 &&
	      met.empty > 100);
	test_views();
	test_levels();
	test_many_levels();
	test_delivered();
	return check_result();
}
