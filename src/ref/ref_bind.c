/* ref_bind: the values of a rank's names while it issues: buffers, their chunks, views. */
#include "ir/bound.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include "ref/ref_issue.h"

struct ref_view *ref_bind_find(struct ref_host *h, struct ref_rank *r, value_id v, op_id op)
{
	char name[REF_NAME_BYTES];
	if (!r->view[v])
		diag_error(h->c->d, E_VALUE_UNDEFINED, ref_issue_at(h, op),
		           "%s has no value on rank %lld here", ref_name(h->c->m, v, name, sizeof name),
		           (long long)r->device);
	return r->view[v];
}

static int64_t axis_extent(struct ref_host *h, const struct domain *d, unsigned axis)
{
	const struct expr_env env = {.rank = -1};
	int64_t n = -1;
	return expr_eval(h->c->m, d->axis[axis].extent, &env, &n, NULL) == EXPR_OK ? n : -1;
}

static bool is_loop_axis(const struct axis *a)
{
	return a->place == PLACE_STREAM || a->place == PLACE_SERIAL;
}

/* A buffer made inside loops holds the chunk of the current iterations. Each stream axis, from the outermost,
 * belongs to the next stream loop with the same count; each serial axis to a serial loop. */
/* Returns true if a loop has the kind and the count of an axis. */
static bool is_loop_of(const struct module *m, const struct walk_loop *l, bool stream, int64_t count)
{
	return !(m->op.at[l->op].flags & OP_STREAM_LOOP) == !stream && l->start == 0 && l->stop == count;
}

static struct ref_bound chunk_of_loops(struct ref_host *h, const struct ref_rank *r, type_id t)
{
	const struct domain *d = ir_domain(h->c->m, ir_type(h->c->m, t)->domain);
	struct ref_bound b = {0};
	unsigned next[2] = {0}; /* of serial and of stream loops */
	for (unsigned k = 0; k < d->loop_n && b.n < REF_MAX_BOUND; k++) {
		if (!is_loop_axis(&d->axis[d->loop[k]]))
			continue;
		bool stream = d->axis[d->loop[k]].place == PLACE_STREAM;
		int64_t n = axis_extent(h, d, d->loop[k]);
		unsigned l = next[stream];
		while (l < r->walker.loop.n && !is_loop_of(h->c->m, &r->walker.loop.at[l], stream, n))
			l++;
		if (l == r->walker.loop.n)
			continue;
		b.axis[b.n] = d->loop[k];
		b.at[b.n++] = r->walker.loop.at[l].at;
		next[stream] = l + 1;
	}
	return b;
}

static bool is_swizzled(const struct domain *d, unsigned axis)
{
	for (unsigned x = 0; x < d->xform_n; x++)
		if (d->xform[x].kind == XFORM_SWIZZLE1D && d->xform[x].out[0] == axis)
			return true;
	return false;
}

/* Returns true if the rank holds a part of the view. If it does not, indices need not have values. */
static bool is_here(struct ref_host *h, const struct ref_rank *r, const struct ref_view *v)
{
	return ref_mesh_has(h->c->m, ir_type(h->c->m, v->type)->mesh, r->device);
}

/* Returns the logical axis of a view for an axis of a view below it; -1 if a select has removed it. */
static int axis_above(const struct ref_view *v, const struct ref_view *below, int axis)
{
	if (v == below)
		return axis;
	int a = axis_above(v->of, below, axis);
	if (v->kind != REF_VIEW_SELECT)
		return a;
	return a < 0 || a == (int)v->axis ? -1 : a - (a > (int)v->axis);
}

/* Returns the place of an axis among the bound ones; b->n: it is not bound. */
static unsigned bound_place(const struct ref_bound *b, unsigned axis)
{
	unsigned k = 0;
	while (k < b->n && b->axis[k] != axis)
		k++;
	return k;
}

/* Returns the index of an axis among the loops of its tensor axis, from the outermost. */
static unsigned level_of(const struct domain *d, unsigned axis)
{
	unsigned tensor_axis, level;
	return bound_level(d, axis, &tensor_axis, &level) ? level : 0;
}

/* Binds the axes of a buffer that correspond to the bound axes of `chunk`. `chunk` is `in` or a view below
 * it. */
static void bind_from(struct ref_host *h, const struct infer_axes *x, unsigned operand, struct ref_view *out,
                      const struct ref_view *in, const struct ref_view *chunk)
{
	struct module *m = h->c->m;
	const struct ref_bound *from = chunk->kind == REF_VIEW_SHARD ? &chunk->bound : &chunk->buffer->bound;
	const struct domain *a = ir_domain(m, ir_type(m, chunk->type)->domain),
	                    *b = ir_domain(m, ir_type(m, out->type)->domain);
	struct ref_bound *to = &out->buffer->bound;
	for (unsigned k = 0; k < b->loop_n; k++)
		for (unsigned j = 0; j < from->n && is_loop_axis(&b->axis[b->loop[k]]); j++) {
			unsigned axis = b->loop[k], place = bound_place(to, axis);
			int result = layout_logical_of(b, axis), split = layout_logical_of(a, from->axis[j]),
			    source = split < 0 ? -1 : axis_above(in, chunk, split);
			if (place == REF_MAX_BOUND || result < 0 || source < 0 ||
			    x->result[result] == INFER_NONE ||
			    x->operand[operand][source] != x->result[result] ||
			    a->axis[from->axis[j]].place != b->axis[axis].place ||
			    axis_extent(h, a, from->axis[j]) != axis_extent(h, b, axis) ||
			    level_of(a, from->axis[j]) != level_of(b, axis) ||
			    is_swizzled(a, from->axis[j]) != is_swizzled(b, axis))
				continue;
			to->axis[place] = (uint8_t)axis;
			to->at[place] = from->at[j];
			to->n += place == to->n;
		}
}

void ref_bind_chunk(struct ref_host *h, const struct ref_rank *r, op_id op, unsigned operand,
                    struct ref_view *out, const struct ref_view *in)
{
	struct infer_axes x;
	if (out->kind != REF_VIEW_BUFFER || out->buffer->written || out->buffer->loop_n != r->walker.loop.n ||
	    !is_here(h, r, in) || operand >= INFER_MAX_OPERANDS || !infer_axes(h->c->m, op, &x))
		return;
	for (const struct ref_view *chunk = in; chunk; chunk = chunk->of)
		if (chunk->kind == REF_VIEW_SHARD || chunk->kind == REF_VIEW_BUFFER)
			bind_from(h, &x, operand, out, in, chunk);
}

struct ref_view *ref_bind_buffer(struct ref_host *h, struct ref_rank *r, value_id v)
{
	type_id t = h->c->m->value.at[v].type;
	struct ref_bound bound = chunk_of_loops(h, r, t);
	r->view[v] = ref_view_of_buffer(h, t, r->device, &bound);
	r->view[v]->buffer->value = v;
	r->view[v]->buffer->loop_n = r->walker.loop.n;
	return r->view[v];
}

bool ref_bind_result(struct ref_host *h, struct ref_rank *r, op_id op, unsigned k, struct ref_view **out)
{
	value_id v = op_def(h->c->m, op, k);
	*out = NULL;
	if (v) {
		*out = ref_bind_buffer(h, r, v);
		return true;
	}
	v = op_write(h->c->m, op, k);
	return !v || (*out = ref_bind_find(h, r, v, op));
}

bool ref_bind_select(struct ref_host *h, struct ref_rank *r, op_id op)
{
	value_id v = op_def(h->c->m, op, 0);
	struct ref_view *from = ref_bind_find(h, r, op_read(h->c->m, op, 0), op),
	                *to = arena_new_object(h->arena, struct ref_view);
	if (!from || (is_here(h, r, from) && !ref_issue_scalar(h, r, op, 0, &to->index)))
		return false;
	to->kind = REF_VIEW_SELECT;
	to->type = h->c->m->value.at[v].type;
	to->buffer = from->buffer;
	to->of = from;
	to->axis = (unsigned)op_attr_int(h->c->m, op, "axis", 0);
	r->view[v] = to;
	return true;
}

bool ref_bind_shard(struct ref_host *h, struct ref_rank *r, op_id op)
{
	value_id v = op_def(h->c->m, op, 0);
	struct ref_view *from = ref_bind_find(h, r, op_read(h->c->m, op, 0), op),
	                *to = arena_new_object(h->arena, struct ref_view);
	if (!from || (is_here(h, r, from) && !ref_issue_scalar(h, r, op, 0, &to->index)))
		return false;
	to->kind = REF_VIEW_SHARD;
	to->type = h->c->m->value.at[v].type;
	to->buffer = from->buffer;
	to->of = from;
	const struct domain *d = ir_domain(h->c->m, ir_type(h->c->m, to->type)->domain);
	struct bound_levels bound;
	bound_levels_of(h->c->m, op_read(h->c->m, op, 0), &bound);
	const int leaf = bound_next(d, &bound);
	if (leaf >= 0) {
		const int64_t extent = axis_extent(h, d, (unsigned)leaf);
		to->bound = (struct ref_bound){.n = 1, .axis = {(uint8_t)leaf}, .at = {to->index}};
		if (to->index < 0 || to->index >= extent) {
			diag_error(h->c->d, E_STREAM_INDEX, ref_issue_at(h, op),
			           "stream_index is %lld on rank %lld, the axis has extent %lld",
			           (long long)to->index, (long long)r->device, (long long)extent);
			return false;
		}
	}
	if (!to->bound.n) {
		diag_error(h->c->d, E_STREAM_INDEX, ref_issue_at(h, op),
		           "the result of shard_by_stream has no stream axis that is not bound already");
		return false;
	}
	r->view[v] = to;
	return true;
}
