/* ir_bucket: see ir_bucket.h. The layout of memory is a list of digits, which are compared one by one:
 *
 *     f32[16@x, 3], x = 2     on a rank, outermost first: 8 of axis 0, 3 of axis 1
 *                             digit of the rank: 2 of axis 0, by 8
 *     f32[16, 3]              16 of axis 0, 3 of axis 1
 *
 * For an allgather, the rank digits go before the operand's digits. Then neighbouring digits of an axis
 * are joined if the second one fills the step of the first: 2 by 8 and 8 by 1 of axis 0 become 16 by 1.
 * The result must have this memory. */
#include "ir/ir_bucket.h"
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/pack.h"
#include <assert.h>

struct digit {
	unsigned logical;
	int64_t n, by; /* n values; `by` elements of the logical axis from one value to the next */
};

struct digits {
	unsigned n;
	struct digit at[IR_MAX_AXES];
};

struct shape {
	struct digits memory;                /* memory on a rank, outermost first */
	struct digit mesh[IR_MAX_MESH_AXES]; /* by mesh axis; n = 1: not spread over it */
	unsigned spread, pending;            /* bit sets of mesh axes */
	enum reduce_op reduce;
};

/* Appends a digit, unless it has a single value. */
static void append_digit(struct digits *d, struct digit x)
{
	struct digit *last = &d->at[d->n];
	if (x.n == 1)
		return;
	if (d->n && last[-1].logical == x.logical && last[-1].by == x.by * x.n) {
		last[-1].n *= x.n;
		last[-1].by = x.by;
		return;
	}
	*last = x;
	d->n++;
}

static bool is_hidden(const struct axis *x)
{
	return x->kind == AXIS_REDUCE || x->kind == AXIS_PARTIAL;
}

/* Finds the digit of every axis. Returns false if an extent is unknown, or if an axis is merged or its
 * order depends on the rank. */
static bool axes_of(const struct module *m, const struct domain *d, struct digit *axis)
{
	const struct expr_env env = {.rank = -1};
	for (unsigned a = 0; a < d->axis_n; a++)
		if (expr_eval(m, d->axis[a].extent, &env, &axis[a].n, NULL) != EXPR_OK)
			return false;
	for (unsigned a = 0; a < d->logical_n; a++)
		axis[a].logical = a, axis[a].by = 1;
	for (unsigned i = 0; i < d->xform_n; i++) {
		const struct xform *x = &d->xform[i];
		if (x->kind != XFORM_SPLIT_OUTER && x->kind != XFORM_SPLIT_INNER)
			return false;
		struct digit of = axis[x->in[0]];
		for (unsigned k = 0; k < 2; k++)
			axis[x->out[k]].logical = of.logical, axis[x->out[k]].by = of.by;
		axis[x->out[0]].by *= axis[x->out[1]].n;
	}
	return true;
}

static bool shape_of(const struct module *m, type_id t, struct shape *s)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	struct digit axis[IR_MAX_AXES];
	*s = (struct shape){0};
	if (!axes_of(m, d, axis))
		return false;
	for (unsigned k = 0; k < IR_MAX_MESH_AXES; k++)
		s->mesh[k].n = 1;
	for (unsigned i = 0; i < d->loop_n; i++) {
		const struct axis *x = &d->axis[d->loop[i]];
		if (x->place != PLACE_MESH || x->kind == AXIS_REDUCE)
			continue;
		if (x->kind == AXIS_PARTIAL) {
			if (s->pending && s->reduce != x->reduce)
				return false;
			s->pending |= 1u << x->mesh_axis;
			s->reduce = x->reduce;
			continue;
		}
		s->mesh[x->mesh_axis] = axis[d->loop[i]];
		s->spread |= 1u << x->mesh_axis;
	}
	for (unsigned i = 0; i < d->alloc_n; i++) {
		const struct axis *x = &d->axis[d->alloc[i]];
		if (is_hidden(x) || x->place == PLACE_MESH)
			continue;
		if (!d->contiguous[i])
			return false;
		append_digit(&s->memory, axis[d->alloc[i]]);
	}
	return true;
}

/* Returns true if the ranks' parts of a tensor, in team order, form the memory of another, whole tensor. */
static bool is_whole(const struct shape *part, const struct shape *whole, const uint8_t *axes, unsigned n)
{
	struct digits d = {0};
	for (unsigned k = 0; k < n; k++)
		append_digit(&d, part->mesh[axes[k]]);
	for (unsigned k = 0; k < part->memory.n; k++)
		append_digit(&d, part->memory.at[k]);
	if (d.n != whole->memory.n)
		return false;
	for (unsigned k = 0; k < d.n; k++)
		if (d.at[k].logical != whole->memory.at[k].logical || d.at[k].n != whole->memory.at[k].n ||
		    d.at[k].by != whole->memory.at[k].by)
			return false;
	return true;
}

/* Returns true if both tensors have the same layout over the mesh axes of a bit set. */
static bool same_spread(const struct shape *a, const struct shape *b, unsigned mask)
{
	for (unsigned k = 0; k < IR_MAX_MESH_AXES; k++) {
		const struct digit *x = &a->mesh[k], *y = &b->mesh[k];
		if (mask >> k & 1 &&
		    (x->n != y->n || (x->n > 1 && (x->logical != y->logical || x->by != y->by))))
			return false;
	}
	return true;
}

/* Finds the mesh axes of a collective's team, in its order. Returns false if the team does not run along
 * mesh axes. */
static bool team_axes(struct module *m, op_id comm, uint8_t *axes, unsigned *n)
{
	mesh_id mesh = value_type(m, op_read(m, comm, 0))->mesh;
	return mesh && ir_team_axes(m, m->op.at[comm].team, mesh, axes, n);
}

static const char *types_refusal(struct module *m, op_id comm)
{
	type_id from = m->value.at[op_read(m, comm, 0)].type, to = m->value.at[op_result(m, comm, 0)].type;
	enum op_kind kind = (enum op_kind)m->op.at[comm].kind;
	struct shape in, out;
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = 0, team = 0;
	int64_t extent, parts;
	if (ir_type(m, from)->mesh != ir_type(m, to)->mesh || !team_axes(m, comm, axes, &n))
		return "its team is not that of axes of the mesh";
	for (unsigned k = 0; k < n; k++)
		team |= 1u << axes[k];
	if (!ir_pack_is_even(m, from, &extent, &parts) || !ir_pack_is_even(m, to, &extent, &parts))
		return "its tensors are not as large on all ranks";
	if (!shape_of(m, from, &in) || !shape_of(m, to, &out))
		return "its tensors are not made of blocks";
	if (out.pending != (in.pending & ~team) || (kind == OP_ALLGATHER && in.pending & team))
		return "its result has other reductions pending";
	const struct shape *part = kind == OP_REDUCE_SCATTER ? &out : &in,
	                   *whole = kind == OP_REDUCE_SCATTER ? &in : &out;
	bool spreads = kind != OP_ALLREDUCE;
	if (whole->spread & team || (spreads ? part->spread & team : 0) != (spreads ? team : 0) ||
	    !same_spread(&in, &out, ~team))
		return "its tensors lie on other ranks than its team's parts";
	if (!is_whole(part, whole, axes, spreads ? n : 0))
		return "the ranks' parts do not stand one after the other in memory";
	return NULL;
}

/* Returns true if other ranks may see the value's memory. */
static bool is_symmetric(const struct module *m, value_id v)
{
	return value_type(m, v)->memory == MEMORY_SYMMETRIC ||
	       value_type(m, ir_root(m, v))->memory == MEMORY_SYMMETRIC;
}

const char *ir_bucket_refusal(struct module *m, op_id comm)
{
	const struct op *o = &m->op.at[comm];
	if (o->kind != OP_ALLGATHER && o->kind != OP_REDUCE_SCATTER && o->kind != OP_ALLREDUCE)
		return "its kind is another";
	if (is_symmetric(m, op_read(m, comm, 0)) || is_symmetric(m, op_result(m, comm, 0)))
		return "other ranks see its memory";
	return types_refusal(m, comm);
}

uint64_t ir_bucket_key(const struct module *m, op_id comm)
{
	struct shape in;
	value_id v = op_read(m, comm, 0);
	if (!shape_of(m, m->value.at[v].type, &in))
		return 0;
	uint64_t key =
	    ((uint64_t)value_type(m, v)->mesh << IR_MAX_MESH_AXES | in.pending) * REDUCE_COUNT + in.reduce;
	return 2 * key + (m->op.at[comm].def_n == 0);
}

int64_t ir_bucket_blocks(const struct module *m, op_id comm)
{
	return (int64_t)ir_team(m, m->op.at[comm].team)->start[1];
}

/* Returns the expression for the elements of a rank, each counted `each` times. */
static expr_id count_of(struct module *m, type_id t, int64_t each)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	expr_id n = expr_const(m, each);
	for (unsigned i = 0; i < d->loop_n && n; i++) {
		const struct axis x = d->axis[d->loop[i]];
		if (x.place != PLACE_MESH && !is_hidden(&x))
			n = expr_mul(m, n, x.extent);
	}
	return n;
}

/* Adds an axis that is spread over mesh axes, or whole but of the same extent. */
static void add_axis(struct module *m, struct sugar *s, const struct mesh *mesh, const uint8_t *axes,
                     unsigned n, bool spread)
{
	struct sugar_axis *x = &s->axis[s->axis_n++];
	int64_t extent = 1;
	*x = (struct sugar_axis){.kind = AXIS_ITER, .place_n = (uint8_t)(spread ? n : 0)};
	for (unsigned k = 0; k < n; k++) {
		extent *= mesh->size[axes[k]];
		x->place[k] = (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = axes[k]};
	}
	x->extent = expr_const(m, extent);
}

/* The properties that the tensors of a bucket share. */
struct bucket {
	mesh_id mesh;
	enum dtype dtype;
	struct shape all; /* placements and pending sums over axes outside the team */
	uint8_t team[IR_MAX_MESH_AXES];
	unsigned team_n;
	bool blocks; /* the packed tensor has a block for each rank of the team */
	expr_id count;
};

static type_id type_of(struct module *m, const struct bucket *b, bool spread, unsigned pending)
{
	const struct mesh *mesh = ir_mesh(m, b->mesh);
	struct sugar s = {0};
	unsigned offending;
	domain_id d = 0;
	if (b->blocks)
		add_axis(m, &s, mesh, b->team, b->team_n, spread);
	for (uint8_t k = 0; k < mesh->rank; k++)
		if (b->all.spread >> k & 1)
			add_axis(m, &s, mesh, &k, 1, true);
	s.axis[s.axis_n++] = (struct sugar_axis){.extent = b->count, .kind = AXIS_ITER};
	s.rank = s.axis_n;
	for (uint8_t k = 0; k < mesh->rank; k++)
		if (pending >> k & 1) {
			add_axis(m, &s, mesh, &k, 1, true);
			s.axis[s.axis_n - 1].kind = AXIS_PARTIAL;
			s.axis[s.axis_n - 1].reduce = (uint8_t)b->all.reduce;
			s.axis[s.axis_n - 1].rf = 1;
		}
	const char *why = sugar_expand(m, &s, b->mesh, false, &d, &offending);
	assert(!why);
	(void)why;
	return type_make(m, b->dtype, MEMORY_GLOBAL, b->mesh, d);
}

void ir_bucket_types(struct module *m, const op_id *comm, unsigned n, type_id *packed, type_id *result)
{
	enum op_kind kind = (enum op_kind)m->op.at[comm[0]].kind;
	bool gathers = kind == OP_ALLGATHER;
	const struct type first = *value_type(m, op_read(m, comm[0], 0));
	struct bucket b = {.mesh = first.mesh,
	                   .dtype = first.dtype,
	                   .blocks = kind != OP_ALLREDUCE,
	                   .count = expr_const(m, 0)};
	struct shape one;
	unsigned team = 0;
	for (unsigned i = 1; i < n; i++)
		if (value_type(m, op_read(m, comm[i], 0))->dtype != first.dtype)
			b.dtype = DTYPE_U8;
	team_axes(m, comm[0], b.team, &b.team_n);
	for (unsigned k = 0; k < b.team_n; k++)
		team |= 1u << b.team[k];
	for (unsigned i = 0; i < n; i++) {
		value_id part = gathers ? op_read(m, comm[i], 0) : op_result(m, comm[i], 0);
		shape_of(m, m->value.at[op_read(m, comm[i], 0)].type, &one);
		b.all.spread |= one.spread & ~team;
		b.all.pending = one.pending;
		b.all.reduce = one.reduce;
		enum dtype dtype = value_type(m, part)->dtype;
		int64_t each = b.dtype == DTYPE_U8 ? dtype_bytes(dtype) : 1;
		b.count = expr_add(m, b.count, count_of(m, m->value.at[part].type, each));
	}
	b.count = expr_canon(m, b.count);
	*packed = type_of(m, &b, gathers, b.all.pending);
	*result = type_of(m, &b, !gathers, b.all.pending & ~team);
}
