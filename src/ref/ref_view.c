/* ref_view: buffers of ranks, and views of them.
 *
 * A buffer stores its rank's part of a type, in memory order. A select has the elements with one index along
 * an axis, a shard by stream those of one chunk, a symmetric view (ref_symmetric.c) those of several ranks. A
 * view moves no element. */
#include "ref/ref_host.h"
#include <string.h>

static struct ref_array shape_only(struct ref_context *c, type_id t, uint32_t at, bool *ok)
{
	/* extents were already evaluated, when the elements were listed */
	struct ref_array a = {.nd = ir_domain(c->m, ir_type(c->m, t)->domain)->rank};
	const struct expr_env env = {.rank = -1};
	expr_id offending;
	*ok = true;
	for (int k = 0; k < a.nd && *ok; k++) {
		enum expr_status s =
		    expr_eval(c->m, ir_domain(c->m, ir_type(c->m, t)->domain)->axis[k].extent, &env, &a.n[k],
		              &offending);
		if (s != EXPR_OK)
			ref_report_expr(c, s, offending, at);
		*ok = s == EXPR_OK;
	}
	return a;
}

void ref_elements_add(struct ref_elements *e, struct ref_buffer *buffer, int64_t offset, int64_t at)
{
	e->buffer[e->n] = buffer;
	e->offset[e->n] = offset;
	e->at[e->n++] = at;
}

void ref_elements_reserve(struct ref_elements *e, int64_t n)
{
	e->n = 0;
	e->buffer = mem_alloc(sizeof *e->buffer * (size_t)n);
	e->offset = mem_alloc(sizeof *e->offset * (size_t)n);
	e->at = mem_alloc(sizeof *e->at * (size_t)n);
}

void ref_elements_free(struct ref_elements *e)
{
	free(e->buffer);
	free(e->offset);
	free(e->at);
	memset(e, 0, sizeof *e);
}

/* Finds the operand's elements with the index, and drops the axis. If a mesh axis is the whole axis, each
 * rank has one index of it, and index 0 means the rank's own. */
static bool select_elements(struct ref_host *h, const struct ref_view *v, const struct ref_elements *from,
                            uint32_t at, struct ref_elements *out)
{
	bool ok;
	const struct ref_array shape = shape_only(h->c, v->of->type, at, &ok);
	const struct axis *axis = &ir_domain(h->c->m, ir_type(h->c->m, v->of->type)->domain)->axis[v->axis];
	int64_t inner = 1, n = shape.n[v->axis];
	if (!ok)
		return false;
	for (int k = (int)v->axis + 1; k < shape.nd; k++)
		inner *= shape.n[k];
	if (from->n && (v->index < 0 || v->index >= (axis->place == PLACE_MESH ? 1 : n))) {
		diag_error(h->c->d, E_INDEX_OUTSIDE, at,
		           "index %lld of a select is outside its axis on rank %lld", (long long)v->index,
		           (long long)v->buffer->rank);
		return false;
	}
	ref_elements_reserve(out, from->n);
	for (int64_t k = 0; k < from->n; k++) {
		int64_t outer = from->at[k] / inner;
		if (axis->place == PLACE_MESH || outer % n == v->index)
			ref_elements_add(out, from->buffer[k], from->offset[k],
			                 outer / n * inner + from->at[k] - outer * inner);
	}
	return true;
}

/* Finds the operand's elements in the chunk. */
static bool shard_elements(struct ref_host *h, const struct ref_view *v, const struct ref_elements *from,
                           uint32_t at, struct ref_elements *out)
{
	bool ok;
	struct ref_local chunk;
	const struct ref_array shape = shape_only(h->c, v->type, at, &ok);
	if (!ok || !ref_local_get(h->c, h->locals, v->type, v->buffer->rank, &v->bound, at, &chunk))
		return false;
	uint8_t *in_chunk = mem_zalloc((size_t)ref_array_count(&shape));
	for (int64_t k = 0; k < chunk.n; k++)
		in_chunk[chunk.at[k]] = 1;
	ref_elements_reserve(out, from->n);
	for (int64_t k = 0; k < from->n; k++)
		if (in_chunk[from->at[k]])
			ref_elements_add(out, from->buffer[k], from->offset[k], from->at[k]);
	free(in_chunk);
	return true;
}

static bool buffer_elements(struct ref_host *h, struct ref_buffer *b, uint32_t at, struct ref_elements *out)
{
	if (!b->local.at && !ref_local_get(h->c, h->locals, b->type, b->rank, &b->bound, at, &b->local))
		return false;
	ref_elements_reserve(out, b->local.n);
	for (int64_t k = 0; k < b->local.n; k++)
		ref_elements_add(out, b, k, b->local.at[k]);
	return true;
}

bool ref_view_elements(struct ref_host *h, const struct ref_view *v, uint32_t at, struct ref_elements *out)
{
	struct ref_elements from = {0};
	memset(out, 0, sizeof *out);
	if (v->kind == REF_VIEW_BUFFER)
		return buffer_elements(h, v->buffer, at, out);
	if (v->kind == REF_VIEW_SYMMETRIC)
		return ref_symmetric_elements(h, v, at, out);
	bool ok = ref_view_elements(h, v->of, at, &from) &&
	          (v->kind == REF_VIEW_SELECT ? select_elements(h, v, &from, at, out)
	                                      : shard_elements(h, v, &from, at, out));
	ref_elements_free(&from);
	return ok;
}

struct ref_view *ref_view_of_buffer(struct ref_host *h, type_id t, int64_t rank,
                                    const struct ref_bound *bound)
{
	struct ref_buffer *b = arena_new_object(h->arena, struct ref_buffer);
	struct ref_view *v = arena_new_object(h->arena, struct ref_view);
	*b = (struct ref_buffer){.type = t, .rank = rank, .bound = *bound};
	*v = (struct ref_view){.kind = REF_VIEW_BUFFER, .type = t, .buffer = b};
	vec_push(&h->buffer, b);
	return v;
}

/* Makes the storage when this rank first uses it. */
static bool open_buffer(struct ref_host *h, struct ref_buffer *b, int64_t rank, uint32_t at)
{
	if (b->dead && b->rank != rank) {
		diag_error(h->c->d, E_LIFETIME, at,
		           "rank %lld uses a buffer of rank %lld after its deallocate", (long long)rank,
		           (long long)b->rank);
		return false;
	}
	if (b->dead) {
		diag_error(h->c->d, E_LIFETIME, at, "rank %lld uses a buffer after its deallocate",
		           (long long)rank);
		return false;
	}
	if (b->store.data)
		return true;
	if (!b->local.at && !ref_local_get(h->c, h->locals, b->type, b->rank, &b->bound, at, &b->local))
		return false;
	if (!ref_array_make(h->c, &b->store, ir_type(h->c->m, b->type)->dtype, 1, &b->local.n, at))
		return false;
	memset(b->store.state, b->zero ? REF_DEFINED : REF_POISON, (size_t)b->local.n);
	return true;
}

/* Finds the elements of a view, and makes their storage. */
static bool open_elements(struct ref_host *h, const struct ref_view *v, uint32_t at, struct ref_elements *out)
{
	if (!open_buffer(h, v->buffer, v->buffer->rank, at) || !ref_view_elements(h, v, at, out))
		return false;
	for (int64_t k = 0; k < out->n; k++)
		if (!open_buffer(h, out->buffer[k], v->buffer->rank, at)) {
			ref_elements_free(out);
			return false;
		}
	return true;
}

void ref_buffer_release(struct ref_buffer *b)
{
	if (b->pending && --b->pending == 0 && !b->keep)
		ref_array_free(&b->store);
}

bool ref_view_load(struct ref_host *h, const struct ref_view *v, bool flat, uint32_t at,
                   struct ref_array *out)
{
	struct ref_elements e;
	memset(out, 0, sizeof *out);
	if (!open_elements(h, v, at, &e))
		return false;
	enum dtype dtype = ir_type(h->c->m, v->type)->dtype;
	bool ok =
	    flat ? ref_array_make(h->c, out, dtype, 1, &e.n, at) : ref_array_of_type(h->c, out, v->type, at);
	for (int64_t k = 0; k < e.n && ok; k++)
		ref_copy(out, flat ? k : e.at[k], &e.buffer[k]->store, e.offset[k]);
	ref_elements_free(&e);
	return ok;
}

bool ref_view_store(struct ref_host *h, const struct ref_view *v, bool flat, const struct ref_array *from,
                    uint32_t at, int64_t *absent)
{
	struct ref_elements e;
	*absent = 0;
	if (!open_elements(h, v, at, &e))
		return false;
	for (int64_t k = 0; k < e.n; k++) {
		int64_t i = flat ? k : e.at[k];
		if (from->state[i] == REF_ABSENT)
			++*absent;
		else
			ref_copy(&e.buffer[k]->store, e.offset[k], from, i);
	}
	ref_elements_free(&e);
	return true;
}
