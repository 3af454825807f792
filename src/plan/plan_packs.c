/* plan_packs: see plan_packs.h.
 *
 * The second operand of a product is copied into an order that suits the device. If several products,
 * steps of a loop or runs read the same operand and nothing writes it in between, the copy is kept:
 *
 *     for i in 0..8 { Y[i] = matmul(X[i], W) }         one copy of W, and none in the next run
 *     W <- add(W, D); A = matmul(X, W); B = matmul(Y, W)       one copy each run
 *
 * A product finds out at run time if a copy is out of date: each statement that writes the operand
 * increments a counter, and the product gets the count (see struct rt_pack). The planner decides only if
 * a copy may be used again. */
#include "plan/plan_packs.h"
#include "base/checked.h"

/* Returns true if the registers of a view never change. */
static bool is_fixed(const struct plan *p, const struct plan_view *v)
{
	bool varies = p->varies[v->slot] || p->varies[v->offset];
	for (unsigned k = 0; k < v->nd; k++)
		varies |= p->varies[v->n[k]];
	return !varies;
}

/* Finds extents and strides, without memory. If the number of rows varies, it is the number that memory
 * has room for: only the last block of a loop has fewer. */
static bool shape_of(const struct plan *p, const struct plan_view *v, struct rt_view *out)
{
	const struct plan_buffer *buffer = &p->buffer.at[v->buffer];
	*out = (struct rt_view){.dtype = buffer->dtype, .nd = v->nd};
	for (unsigned k = 0; k < v->nd; k++) {
		bool varies = p->varies[v->n[k]];
		out->stride[k] = v->stride[k];
		out->n[k] = !varies                             ? p->reg.at[v->n[k]]
		            : k + 1 < v->nd && v->stride[k] > 0 ? buffer->elements / v->stride[k]
		                                                : 0;
		if (out->n[k] <= 0)
			return false;
	}
	return true;
}

/* Returns the bytes for the copy of a product's operand; 0: none. */
static size_t bytes_of(const struct plan *p, const struct plan_task *t)
{
	const struct plan_buffer *buffer = &p->buffer.at[t->in[1].buffer];
	struct rt_task shapes = {.kernel = RT_TASK_GEMM};
	if (t->kernel != RT_TASK_GEMM || buffer->symmetric || buffer->view || buffer->local ||
	    !is_fixed(p, &t->in[1]) || !shape_of(p, &t->out, &shapes.out) ||
	    !shape_of(p, &t->in[0], &shapes.in[0]) || !shape_of(p, &t->in[1], &shapes.in[1]))
		return 0;
	return rt_pack_bytes(&shapes);
}

static bool is_same_matrix(const struct plan *p, const struct plan_view *v, const struct plan_view *w)
{
	bool is = v->buffer == w->buffer && v->nd >= 2 && w->nd >= 2 &&
	          p->reg.at[v->slot] == p->reg.at[w->slot] && p->reg.at[v->offset] == p->reg.at[w->offset];
	for (unsigned k = 1; k <= 2 && is; k++)
		is = p->reg.at[v->n[v->nd - k]] == p->reg.at[w->n[w->nd - k]] &&
		     v->stride[v->nd - k] == w->stride[w->nd - k];
	return is;
}

/* Returns true if the instruction may write the buffer. */
static bool is_buffer_written(const struct plan *p, const struct plan_instruction *i, uint32_t buffer)
{
	if (i->code == PLAN_TASK)
		return p->task.at[i->a].kernel != RT_TASK_UNIT && p->task.at[i->a].out.buffer == buffer;
	if (i->code == PLAN_MESSAGE)
		return !p->message.at[i->a].send && p->message.at[i->a].data.buffer == buffer;
	const struct plan_collective *c = i->code == PLAN_COLLECTIVE ? &p->collective.at[i->a] : NULL;
	return c && ((c->has_in && c->in.buffer == buffer) || (c->has_out && c->out.buffer == buffer));
}

/* Returns true if a unit writes the buffer: units increment no counters. */
static bool unit_writes(const struct plan *p, uint32_t buffer)
{
	for (uint32_t k = 0; k < p->step.n; k++)
		if (p->step.at[k].out.buffer == buffer)
			return true;
	return false;
}

static bool written_within(const struct plan *p, uint32_t from, uint32_t to, uint32_t buffer)
{
	for (uint32_t k = from; k < to; k++)
		if (is_buffer_written(p, &p->code.at[k], buffer))
			return true;
	return false;
}

/* Returns true if one of the products with this pack may find an earlier copy that is up to date. */
static bool is_reused(const struct plan *p, uint32_t pack, uint32_t buffer)
{
	bool fresh = false; /* there is a copy, and nothing has written the operand since */
	if (!written_within(p, 0, p->code.n, buffer))
		return p->buffer.at[buffer].input >= 0;
	for (uint32_t k = 0; k < p->code.n; k++) {
		const struct plan_instruction *i = &p->code.at[k];
		if (i->code == PLAN_TASK && p->task.at[i->a].pack == pack) {
			if (fresh)
				return true;
			fresh = true;
			for (uint32_t f = 0; f < k; f++) /* enclosing loops */
				if (p->code.at[f].code == PLAN_FOR && p->code.at[f].to > k &&
				    !written_within(p, f, p->code.at[f].to, buffer))
					return true;
		} else if (is_buffer_written(p, i, buffer)) {
			fresh = false;
		}
	}
	return false;
}

void plan_packs(struct plan *p)
{
	for (uint32_t k = 0; k < p->task.n; k++) {
		const struct plan_view *operand = &p->task.at[k].in[1];
		size_t bytes = bytes_of(p, &p->task.at[k]);
		bool found = !bytes || unit_writes(p, operand->buffer);
		for (uint32_t j = 0; j < k && !found; j++)
			found = p->task.at[j].pack && is_same_matrix(p, operand, &p->task.at[j].in[1]);
		if (found)
			continue;
		uint32_t pack = p->pack.n + 1;
		for (uint32_t j = k; j < p->task.n; j++)
			if (bytes_of(p, &p->task.at[j]) && is_same_matrix(p, operand, &p->task.at[j].in[1]))
				p->task.at[j].pack = pack;
		bool reused = is_reused(p, pack, operand->buffer);
		for (uint32_t j = k; j < p->task.n && !reused; j++)
			if (p->task.at[j].pack == pack)
				p->task.at[j].pack = 0;
		if (!reused)
			continue;
		struct plan_buffer *buffer = &p->buffer.at[operand->buffer];
		buffer->contents = buffer->contents ? buffer->contents : ++p->contents;
		vec_push(&p->pack, (struct plan_pack){.buffer = operand->buffer, .bytes = (int64_t)bytes});
	}
}

void plan_packs_place(struct plan *p)
{
	for (uint32_t k = 0; k < p->pack.n; k++) {
		p->pack.at[k].at = p->bytes;
		if (!checked_add(p->bytes, p->pack.at[k].bytes, &p->bytes))
			p->bytes = INT64_MAX;
	}
}

void plan_packs_drop(struct plan *p)
{
	if (p->pack.n)
		p->bytes = p->pack.at[0].at;
	p->pack.n = 0;
	for (uint32_t k = 0; k < p->task.n; k++)
		p->task.at[k].pack = 0;
	for (uint32_t k = 0; k < p->buffer.n; k++)
		p->buffer.at[k].contents = 0;
	p->contents = 0;
}
