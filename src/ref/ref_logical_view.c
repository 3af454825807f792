/* ref_logical_view: views of logical tensors.
 *
 *     a = select(X, axis=0, index=i)      row i of X
 *     c = shard_by_stream(X, i)           X; elements outside block i are absent
 *
 * A view names another value. A read goes up to the tensor and drops elements on the way down; a write goes
 * the same way back. */
#include "ir/bound.h"
#include "ref/ref_logical.h"
#include <string.h>

static bool scalar_index(struct ref_logical *l, op_id op, int64_t *out)
{
	struct ref_operand value;
	if (!ref_scalar(l->c, op_operand_id(l->c->m, op, ROLE_SCALAR, 0), &l->env, ir_op(l->c->m, op)->at,
	                &value))
		return false;
	*out = value.i;
	return true;
}

static bool start_view(struct ref_logical *l, op_id op, struct ref_place *p)
{
	*p = (struct ref_place){.made = true, .of = op_read(l->c->m, op, 0)};
	return scalar_index(l, op, &p->index);
}

static void set_view(struct ref_logical *l, op_id op, const struct ref_place *p)
{
	struct ref_place *to = &l->place[op_def(l->c->m, op, 0)];
	ref_array_free(&to->array);
	*to = *p;
}

bool ref_logical_select(struct ref_logical *l, op_id op)
{
	struct module *m = l->c->m;
	const struct expr_env env = {.rank = -1};
	struct ref_place p;
	int64_t n;
	if (!start_view(l, op, &p))
		return false;
	p.selects = true;
	p.axis = (unsigned)op_attr_int(m, op, "axis", 0);
	if (expr_eval(m, value_domain(m, p.of)->axis[p.axis].extent, &env, &n, NULL) == EXPR_OK &&
	    (p.index < 0 || p.index >= n)) {
		diag_error(l->c->d, E_INDEX_OUTSIDE, ir_op(m, op)->at,
		           "index %lld of a select is outside its axis", (long long)p.index);
		return false;
	}
	set_view(l, op, &p);
	return true;
}

bool ref_logical_shard(struct ref_logical *l, op_id op)
{
	struct module *m = l->c->m;
	const struct domain *d = value_domain(m, op_def(m, op, 0));
	const struct expr_env env = {.rank = -1};
	struct bound_levels levels;
	struct ref_place p;
	int64_t n = 0;
	if (!start_view(l, op, &p))
		return false;
	bound_levels_of(m, p.of, &levels);
	int axis = bound_next(d, &levels);
	if (axis < 0) {
		diag_error(l->c->d, E_STREAM_INDEX, ir_op(m, op)->at,
		           "the result of shard_by_stream has no stream axis that is not bound already");
		return false;
	}
	p.axis = (unsigned)axis;
	if (expr_eval(m, d->axis[axis].extent, &env, &n, NULL) == EXPR_OK && (p.index < 0 || p.index >= n)) {
		diag_error(l->c->d, E_STREAM_INDEX, ir_op(m, op)->at,
		           "stream_index is %lld, the axis has extent %lld", (long long)p.index,
		           (long long)n);
		return false;
	}
	set_view(l, op, &p);
	return true;
}

/* Returns the number of elements after the axis of a select. */
static int64_t inner_count(const struct ref_array *whole, unsigned axis)
{
	int64_t inner = 1;
	for (int k = (int)axis + 1; k < whole->nd; k++)
		inner *= whole->n[k];
	return inner;
}

/* Copies row `index` of an axis from `whole` to `row`, or back. */
static void move_row(struct ref_array *whole, unsigned axis, int64_t index, struct ref_array *row, bool back)
{
	int64_t inner = inner_count(whole, axis), count = ref_array_count(row);
	for (int64_t i = 0; i < count; i++) {
		int64_t k = (i / inner * whole->n[axis] + index) * inner + i % inner;
		if (back)
			ref_copy(whole, k, row, i);
		else
			ref_copy(row, i, whole, k);
	}
}

/* Clears the flags of the elements outside a block. */
static bool clear_block(struct ref_logical *l, value_id v, uint32_t at, int64_t count, uint8_t *flag)
{
	const struct ref_place *p = &l->place[v];
	struct ref_bound bound = {.n = 1, .axis = {(uint8_t)p->axis}, .at = {p->index}};
	struct ref_local block;
	if (!ref_local_get(l->c, l->locals, l->c->m->value.at[v].type, REF_ALL_RANKS, &bound, at, &block))
		return false;
	uint8_t *in_block = mem_zalloc((size_t)count + 1);
	for (int64_t k = 0; k < block.n; k++)
		in_block[block.at[k]] = 1;
	for (int64_t i = 0; i < count; i++)
		flag[i] &= in_block[i];
	free(in_block);
	return true;
}

static bool make_absent(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *a)
{
	int64_t count = ref_array_count(a);
	uint8_t *held = mem_alloc((size_t)count + 1);
	memset(held, 1, (size_t)count + 1);
	bool ok = clear_block(l, v, at, count, held);
	for (int64_t i = 0; i < count && ok; i++)
		if (!held[i])
			a->state[i] = REF_ABSENT;
	free(held);
	return ok;
}

static bool is_made(struct ref_logical *l, value_id v, uint32_t at)
{
	char name[REF_NAME_BYTES];
	if (l->place[v].dead)
		diag_error(l->c->d, E_LIFETIME, at, "a statement uses a buffer after its deallocate");
	else if (!l->place[v].made)
		diag_error(l->c->d, E_VALUE_UNDEFINED, at, "%s has no value here",
		           ref_name(l->c->m, v, name, sizeof name));
	return l->place[v].made;
}

bool ref_logical_load(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *out, bool *owned)
{
	const struct ref_place *p = &l->place[v];
	struct ref_array whole;
	bool whole_owned, ok;
	*owned = false;
	if (!is_made(l, v, at))
		return false;
	if (!p->of) {
		*out = p->array;
		return true;
	}
	if (!ref_logical_load(l, p->of, at, &whole, &whole_owned))
		return false;
	if (!p->selects && whole_owned) {
		*out = whole, ok = true, whole_owned = false;
	} else {
		ok = ref_array_of_type(l->c, out, l->c->m->value.at[v].type, at);
		if (ok && p->selects)
			move_row(&whole, p->axis, p->index, out, false);
		for (int64_t i = 0; ok && !p->selects && i < ref_array_count(out); i++)
			ref_copy(out, i, &whole, i);
	}
	ok = ok && (p->selects || make_absent(l, v, at, out));
	if (whole_owned)
		ref_array_free(&whole);
	if (!ok)
		ref_array_free(out);
	*owned = ok;
	return ok;
}

/* Replaces the elements of a select by those of its operand; elements outside the select are absent. */
static bool widen_row(struct ref_logical *l, const struct ref_place *p, uint32_t at, struct ref_array *a)
{
	struct ref_array whole;
	if (!ref_array_of_type(l->c, &whole, l->c->m->value.at[p->of].type, at))
		return false;
	move_row(&whole, p->axis, p->index, a, true);
	ref_array_free(a);
	*a = whole;
	return true;
}

bool ref_logical_store(struct ref_logical *l, value_id v, uint32_t at, struct ref_array *from)
{
	bool ok = is_made(l, v, at);
	for (; ok && l->place[v].of; v = l->place[v].of) {
		const struct ref_place *p = &l->place[v];
		ok = (p->selects ? widen_row(l, p, at, from) : make_absent(l, v, at, from)) &&
		     is_made(l, p->of, at);
	}
	for (int64_t i = 0; ok && i < ref_array_count(from); i++)
		if (from->state[i] != REF_ABSENT)
			ref_copy(&l->place[v].array, i, from, i);
	ref_array_free(from);
	return ok;
}

bool ref_logical_clear(struct ref_logical *l, value_id v, uint32_t at, uint8_t *flag)
{
	const struct ref_place *p = &l->place[v];
	struct ref_array shape;
	if (!is_made(l, v, at) || !p->of)
		return p->made;
	/* a select of a block also has elements of other blocks; they are computed but not stored */
	if (p->selects)
		return true;
	if (!ref_array_of_type(l->c, &shape, l->c->m->value.at[v].type, at))
		return false;
	int64_t count = ref_array_count(&shape);
	ref_array_free(&shape);
	return clear_block(l, v, at, count, flag) && ref_logical_clear(l, p->of, at, flag);
}
