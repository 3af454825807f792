/* ref_sample: classes of axes that share their indices, and fewer indices for some of them.
 *
 * Axes to which infer_axes gives one dim in a statement are one class. A class can be sampled if it is
 * parallel in every statement that has it, and if no statement depends on the number of an index, as a
 * causal sdpa does on that of a row. */
#include "ref/ref_sample.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ref/ref_host.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
	MOST_INDICES = 1024, /* of an axis */
	FEWEST_INDICES = 4,
	SHARE = 4,                 /* a sample takes this part of the allowed work, so that a check is
	                              quick */
	SAMPLE_ELEMENTS = 1 << 26, /* elements of all values together */
};

struct class
{
	uint32_t parent; /* the class that it was joined to, or itself */
	bool whole;      /* it cannot be sampled */
	int64_t extent;  /* -1: not known */
	int64_t n;       /* number of indices taken */
	int64_t *at;     /* the indices, in a root; NULL: all */
};

struct ref_sample {
	bool skips;
	uint32_t n;
	struct class *at; /* by value * IR_MAX_LOGICAL + axis */
};

static uint32_t get_axis_node(value_id v, unsigned axis)
{
	return v * IR_MAX_LOGICAL + axis;
}

static uint32_t root(const struct ref_sample *s, uint32_t k)
{
	while (s->at[k].parent != k)
		k = s->at[k].parent = s->at[s->at[k].parent].parent;
	return k;
}

static void join_classes(struct ref_sample *s, uint32_t a, uint32_t b)
{
	a = root(s, a);
	b = root(s, b);
	s->at[a].whole |= s->at[b].whole || s->at[a].extent != s->at[b].extent;
	s->at[b].parent = a;
}

static void keep_whole(struct ref_sample *s, const struct module *m, value_id v)
{
	for (unsigned a = 0; v && a < value_domain(m, v)->rank; a++)
		s->at[root(s, get_axis_node(v, a))].whole = true;
}

/* Returns true if an element's value depends on its index, not only on operands. */
static bool counts_places(enum op_kind kind)
{
	return kind == OP_IOTA || kind == OP_ONE_HOT;
}

static void relate_axes(struct ref_sample *s, const struct infer_axes *x, uint32_t *first, value_id v,
                        const uint8_t *dims, unsigned rank)
{
	for (unsigned a = 0; a < rank; a++) {
		uint32_t k = get_axis_node(v, a);
		if (dims[a] == INFER_NONE || x->kind[dims[a]] != DIM_PARALLEL)
			s->at[root(s, k)].whole = true;
		if (dims[a] == INFER_NONE)
			continue;
		if (first[dims[a]] == UINT32_MAX)
			first[dims[a]] = k;
		else
			join_classes(s, first[dims[a]], k);
	}
}

/* Joins the axes of two values that have one index. Axes of different extents become whole. */
static void join_values(struct ref_sample *s, const struct module *m, value_id a, value_id b)
{
	unsigned rank = value_domain(m, a)->rank;
	bool same = rank == value_domain(m, b)->rank;
	for (unsigned k = 0; k < rank && same; k++)
		same = s->at[get_axis_node(a, k)].extent == s->at[get_axis_node(b, k)].extent;
	for (unsigned k = 0; k < rank && same; k++)
		join_classes(s, get_axis_node(a, k), get_axis_node(b, k));
	if (!same)
		keep_whole(s, m, a), keep_whole(s, m, b);
}

/* Joins axes for host-level statements that move elements without computing. Which messages form a pair is
 * not known here, so all pairs count as one. Returns false for other statements. */
static bool relate_moves(struct ref_sample *s, const struct module *m, op_id op, value_id *message)
{
	const struct op *o = &m->op.at[op];
	uint32_t traits = op_traits(m, op);
	value_id result = op_result(m, op, 0);
	if (o->kind == OP_ALLOCATE || o->kind == OP_DEALLOCATE)
		return true;
	if (o->kind == OP_SHARD_BY_STREAM || o->kind == OP_SYMMETRIC_VIEW) {
		join_values(s, m, op_read(m, op, 0), result);
		return true;
	}
	if (traits & TRAIT_COLLECTIVE && o->flags & OP_ASYNC) {
		join_values(s, m, op_read(m, op, 0), result);
		return true;
	}
	if (traits & TRAIT_P2P) {
		value_id v = o->kind == OP_SEND ? op_read(m, op, 0) : result;
		if (*message)
			join_values(s, m, *message, v);
		*message = v;
		return true;
	}
	return false;
}

static void relate(struct ref_sample *s, const struct module *m, op_id op, value_id *message)
{
	if (relate_moves(s, m, op, message))
		return;
	struct infer_axes x;
	uint32_t first[INFER_MAX_DIMS];
	unsigned reads = op_role_count(m, op, ROLE_READ), results = op_result_count(m, op);
	bool known = results == 1 && !counts_places(m->op.at[op].kind) && infer_axes(m, op, &x);
	memset(first, 0xff, sizeof first);
	for (unsigned k = 0; k < reads; k++) {
		value_id v = op_read(m, op, k);
		if (known)
			relate_axes(s, &x, first, v, x.operand[k], value_domain(m, v)->rank);
		else
			keep_whole(s, m, v);
	}
	if (m->op.at[op].kind == OP_GROUPED_MATMUL) /* the number of a row tells its group */
		s->at[root(s, get_axis_node(op_read(m, op, 0), 0))].whole = true;
	for (unsigned k = 0; k < results; k++) {
		value_id v = op_result(m, op, k);
		if (known)
			relate_axes(s, &x, first, v, x.result, value_domain(m, v)->rank);
		else
			keep_whole(s, m, v);
	}
	value_id result = op_result(m, op, 0);
	if (m->op.at[op].kind == OP_SDPA && op_attr_is_true(m, op, "causal"))
		s->at[root(s, get_axis_node(result, value_domain(m, result)->rank - 2))].whole = true;
}

static struct ref_sample *make_classes(const struct module *m)
{
	const struct expr_env env = {.rank = -1};
	struct ref_sample *s = mem_zalloc(sizeof *s);
	s->n = m->value.n * IR_MAX_LOGICAL;
	s->at = mem_zalloc(sizeof *s->at * (s->n + 1));
	for (uint32_t k = 0; k < s->n; k++)
		s->at[k] = (struct class){.parent = k, .extent = -1};
	for (value_id v = 1; v < m->value.n; v++) {
		if (!m->value.at[v].type)
			continue;
		const struct domain *d = value_domain(m, v);
		for (unsigned a = 0; a < d->rank; a++) {
			struct class *c = &s->at[get_axis_node(v, a)];
			c->whole = expr_eval(m, d->axis[a].extent, &env, &c->extent, NULL) != EXPR_OK;
			c->n = c->extent;
		}
		if (m->value.at[v].flags & VALUE_INPUT && ref_pending_parts(m, v) > 1)
			keep_whole(s, m, v);
	}
	value_id message = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		relate(s, m, op, &message);
	return s;
}

static int64_t indices(const struct ref_sample *s, value_id v, unsigned axis)
{
	return s->at[root(s, get_axis_node(v, axis))].n;
}

static double count_sampled_elements(const struct ref_sample *s, const struct module *m, value_id v)
{
	double n = 1;
	for (unsigned a = 0; a < value_domain(m, v)->rank; a++)
		n *= (double)indices(s, v, a);
	return n;
}

/* Counts the multiplications of a contraction (result elements times the summed extent) or of attention. */
static double products(const struct ref_sample *s, const struct module *m, op_id op)
{
	enum op_kind kind = (enum op_kind)m->op.at[op].kind;
	if (kind == OP_SDPA_BACKWARD) /* the scores and the slopes of their weights, for each result */
		return (count_sampled_elements(s, m, op_read(m, op, 0)) +
		        count_sampled_elements(s, m, op_read(m, op, 1))) *
		       (double)indices(s, op_read(m, op, 2), value_domain(m, op_read(m, op, 2))->rank - 2) *
		       4;
	if (kind != OP_LINEAR && kind != OP_MATMUL && kind != OP_GROUPED_MATMUL && kind != OP_SDPA)
		return 0;
	value_id a = op_read(m, op, 0), b = op_read(m, op, 1);
	unsigned rank = value_domain(m, a)->rank;
	if (!rank)
		return 0;
	double summed = (double)indices(s, a, rank - 1),
	       result = count_sampled_elements(s, m, op_result(m, op, 0));
	if (kind != OP_SDPA)
		return result * summed;
	return count_sampled_elements(s, m, a) * (double)indices(s, b, rank - 2) *
	       2; /* scores, and their products with v */
}

static double work_of(const struct ref_sample *s, const struct module *m, op_id op)
{
	double work = products(s, m, op);
	for (unsigned k = 0; k < op_result_count(m, op); k++)
		work += REF_ELEMENT_WORK * count_sampled_elements(s, m, op_result(m, op, k));
	return work;
}

static double work_of_all(const struct ref_sample *s, const struct module *m)
{
	double work = 0;
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		work += work_of(s, m, op);
	return work;
}

double ref_work(const struct module *m)
{
	struct ref_sample *s = make_classes(m);
	double work = work_of_all(s, m);
	ref_sample_free(s);
	return work > 1 ? work : 1;
}

/* Returns true if the program can be evaluated with this many indices for each sampled axis. */
static bool affordable(const struct ref_sample *s, const struct module *m, double limit, double each,
                       double together)
{
	double count = 0;
	for (value_id v = 1; v < m->value.n; v++) {
		if (!m->value.at[v].type)
			continue;
		double n = count_sampled_elements(s, m, v);
		if (n > each)
			return false;
		count += n;
	}
	return work_of_all(s, m) <= limit && count <= together;
}

/* Draws one index from each of n equal parts of the axis, so that every block is sampled. */
static void draw_indices(struct class *c, uint64_t seed)
{
	c->at = mem_alloc(sizeof *c->at * (size_t)c->n);
	for (int64_t j = 0; j < c->n; j++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX generator */
		int64_t from = (int64_t)((__int128)j * c->extent / c->n),
		        to = (int64_t)((__int128)(j + 1) * c->extent / c->n);
		c->at[j] = from + (int64_t)((seed >> 33) % (uint64_t)(to - from));
	}
}

static void limit_indices(struct ref_sample *s, int64_t most)
{
	for (uint32_t k = 0; k < s->n; k++) {
		struct class *c = &s->at[k];
		if (c->parent == k)
			c->n = c->whole || c->extent < most ? c->extent : most;
	}
}

/* Reduces the extents of logical axes. The sizes of blocks keep the old extents: the evaluation looks only at
 * logical axes and their placements. */
static void shrink(struct ref_sample *s, struct module *m)
{
	for (value_id v = 1; v < m->value.n; v++) {
		if (!m->value.at[v].type)
			continue;
		struct domain_builder b;
		const struct domain *d = value_domain(m, v);
		unsigned rank = d->rank;
		domain_edit(&b, d);
		for (unsigned a = 0; a < rank; a++)
			if (s->at[root(s, get_axis_node(v, a))].at)
				b.axis[a].extent = expr_const(m, indices(s, v, a));
		m->value.at[v].type = type_with_domain(m, m->value.at[v].type, domain_finish(m, &b));
	}
}

struct ref_sample *ref_sample_take(struct module *m, const struct ref_options *o)
{
	double limit = o->limit ? (double)o->limit : INFINITY;
	struct ref_sample *s = make_classes(m);
	s->skips = !ref_is_straight(m) || ref_is_host_level(m);
	double ranks =
	    ref_is_host_level(m) && o->ranks > 0 ? (double)o->ranks : 1; /* each rank may compute all of it */
	bool whole = affordable(s, m, limit / ranks, REF_MAX_ELEMENTS, 1e18), sampled = false;
	for (int64_t most = MOST_INDICES; !whole && !sampled && most >= FEWEST_INDICES; most /= 2) {
		limit_indices(s, most);
		sampled = affordable(s, m, limit / SHARE / ranks, REF_MAX_ELEMENTS, SAMPLE_ELEMENTS);
	}
	if (!sampled) {
		ref_sample_free(s);
		return NULL;
	}
	for (uint32_t k = 0; k < s->n; k++)
		if (s->at[k].parent == k && s->at[k].n < s->at[k].extent)
			draw_indices(&s->at[k], k);
	if (!s->skips)
		shrink(s, m);
	return s;
}

bool ref_sample_skips(const struct ref_sample *s)
{
	return s->skips;
}

/* Flags the sampled indices of an axis. NULL: all. */
static uint8_t *flag_taken(const struct ref_indices *x)
{
	uint8_t *is = x->at ? mem_zalloc((size_t)x->extent + 1) : NULL;
	for (int64_t k = 0; x->at && k < x->n; k++)
		is[x->at[k]] = 1;
	return is;
}

void ref_sample_clear(const struct ref_sample *s, value_id v, int nd, const int64_t *n, uint8_t *flag)
{
	int64_t inner = 1, count = 1;
	for (int a = 0; a < nd; a++)
		count *= n[a];
	for (int a = nd; a-- > 0; inner *= n[a]) {
		struct ref_indices x = ref_sample_axis(s, v, (unsigned)a);
		uint8_t *is = flag_taken(&x);
		for (int64_t i = 0; is && i < count; i++)
			flag[i] &= is[i / inner % n[a]];
		free(is);
	}
}

struct ref_indices ref_sample_axis(const struct ref_sample *s, value_id v, unsigned axis)
{
	const struct class *c = &s->at[root(s, get_axis_node(v, axis))];
	return (struct ref_indices){.extent = c->extent, .n = c->n, .at = c->at};
}

void ref_sample_free(struct ref_sample *s)
{
	for (uint32_t k = 0; s && k < s->n; k++)
		free(s->at[k].at);
	if (s)
		free(s->at);
	free(s);
}
