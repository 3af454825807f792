/* ref_bind: what a rank's names are bound to while it issues: buffers, chunks of them, views. */
#include "ir/infer.h"
#include "ir/layout.h"
#include "ref/ref_issue.h"

bool ref_issue_scalar(struct ref_host *h, struct ref_rank *r, op_id op, unsigned k, int64_t *out)
{
	const struct expr_env env = {
	    .rank = r->device, .streams = h->c->o->streams ? h->c->o->streams : INT32_MAX, .index = r->index};
	struct ref_operand value;
	if (op_role_count(h->c->m, op, ROLE_SCALAR) <= k) {
		diag_error(h->c->d, E_VALUE_UNDEFINED, ref_issue_at(h, op), "%s lacks an operand",
		           op_info[ir_op(h->c->m, op)->kind].hir);
		return false;
	}
	if (!ref_scalar(h->c, op_operand_id(h->c->m, op, ROLE_SCALAR, k), &env, ref_issue_at(h, op), &value))
		return false;
	*out = value.i;
	return true;
}

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

/* A buffer made inside loops holds the chunk of their iterations: each stream axis belongs to the
 * next stream loop, from the outermost, that counts its chunks; each serial axis to a serial loop. */
static struct ref_bound chunk_of_loops(struct ref_host *h, const struct ref_rank *r, type_id t)
{
	const struct domain *d = ir_domain(h->c->m, ir_type(h->c->m, t)->domain);
	struct ref_bound b = {0};
	unsigned next[2] = {0}; /* of serial and stream loops */
	for (unsigned k = 0; k < d->loop_n && b.n < REF_MAX_BOUND; k++) {
		if (!is_loop_axis(&d->axis[d->loop[k]]))
			continue;
		bool stream = d->axis[d->loop[k]].place == PLACE_STREAM;
		int64_t n = axis_extent(h, d, d->loop[k]);
		unsigned l = next[stream];
		while (l < r->loop_n &&
		       !(r->loop[l].stream == stream && r->loop[l].start == 0 && r->loop[l].stop == n))
			l++;
		if (l == r->loop_n)
			continue;
		b.axis[b.n] = d->loop[k];
		b.at[b.n++] = r->loop[l].now;
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

/* The view below selects, which has a chunk of its own. */
static const struct ref_view *below_selects(const struct ref_view *v)
{
	while (v->kind == REF_VIEW_SELECT)
		v = v->of;
	return v;
}

/* The logical axis of a view that its chunk's k-th axis splits; -1 when a select took it away. */
static int chunk_axis(const struct module *m, const struct ref_view *v, unsigned axis)
{
	if (v->kind != REF_VIEW_SELECT)
		return layout_logical_of(ir_domain(m, ir_type(m, v->type)->domain), axis);
	int a = chunk_axis(m, v->of, axis);
	return a < 0 || a == (int)v->axis ? -1 : a - (a > (int)v->axis);
}

void ref_bind_chunk(struct ref_host *h, op_id op, unsigned operand, struct ref_view *out,
                    const struct ref_view *in)
{
	struct module *m = h->c->m;
	struct infer_axes x;
	if (out->kind != REF_VIEW_BUFFER || out->buffer->written || operand >= INFER_MAX_OPERANDS ||
	    !infer_axes(m, op, &x))
		return;
	const struct ref_view *chunk = below_selects(in);
	const struct ref_bound *from = chunk->kind == REF_VIEW_SHARD ? &chunk->bound : &chunk->buffer->bound;
	const struct domain *a = ir_domain(m, ir_type(m, chunk->type)->domain),
	                    *b = ir_domain(m, ir_type(m, out->type)->domain);
	struct ref_bound *to = &out->buffer->bound;
	for (unsigned k = 0; k < to->n; k++)
		for (unsigned j = 0; j < from->n; j++) {
			int result = layout_logical_of(b, to->axis[k]),
			    source = chunk_axis(m, in, from->axis[j]);
			if (result >= 0 && source >= 0 && x.result[result] != INFER_NONE &&
			    x.operand[operand][source] == x.result[result] &&
			    axis_extent(h, a, from->axis[j]) == axis_extent(h, b, to->axis[k]) &&
			    is_swizzled(a, from->axis[j]) == is_swizzled(b, to->axis[k]))
				to->at[k] = from->at[j];
		}
}

struct ref_view *ref_bind_buffer(struct ref_host *h, struct ref_rank *r, value_id v)
{
	type_id t = h->c->m->value.at[v].type;
	struct ref_bound bound = chunk_of_loops(h, r, t);
	r->view[v] = ref_view_of_buffer(h, t, r->device, &bound);
	r->view[v]->buffer->value = v;
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

/* Whether the rank holds something of a view; indices need have no value where it does not. */
static bool is_here(struct ref_host *h, const struct ref_rank *r, const struct ref_view *v)
{
	return ref_mesh_has(h->c->m, ir_type(h->c->m, v->type)->mesh, r->device);
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

/* How many stream and serial axes of a view's type have one coordinate already. */
static unsigned bound_axes(const struct ref_view *v)
{
	return v->kind == REF_VIEW_BUFFER ? v->buffer->bound.n : v->bound.n + bound_axes(v->of);
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
	unsigned skip = bound_axes(from);
	for (unsigned k = 0; k < d->loop_n && !to->bound.n; k++)
		if (is_loop_axis(&d->axis[d->loop[k]]) && skip-- == 0) {
			to->bound = (struct ref_bound){.n = 1, .axis = {d->loop[k]}, .at = {to->index}};
			if (to->index < 0 || to->index >= axis_extent(h, d, d->loop[k])) {
				diag_error(h->c->d, E_STREAM_INDEX, ref_issue_at(h, op),
				           "stream_index is %lld on rank %lld, the axis has extent %lld",
				           (long long)to->index, (long long)r->device,
				           (long long)axis_extent(h, d, d->loop[k]));
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
