/* ref_symmetric: views that join the buffers of several ranks.
 *
 *     G = symmetric_view(X)     X: f32[8@x], x = 2     rank 0 holds elements 0 to 3, rank 1 holds 4 to 7
 *                               G: f32[8@block(x)]     all of them on both ranks
 *
 * An element is read and written in the buffer of the rank that holds it. The statement and the deallocate of
 * its result are fences: events of the slice's communicator that move nothing. Peers may use a rank's buffer
 * until the deallocate. */
#include "ref/ref_issue.h"
#include <string.h>

bool ref_symmetric_bind(struct ref_host *h, struct ref_rank *r, op_id op)
{
	struct module *m = h->c->m;
	value_id v = op_def(m, op, 0);
	struct ref_view *from = ref_bind_find(h, r, op_read(m, op, 0), op),
	                *to = arena_new_object(h->arena, struct ref_view);
	if (!from)
		return false;
	to->kind = REF_VIEW_SYMMETRIC;
	to->type = m->value.at[v].type;
	to->buffer = from->buffer;
	to->of = from;
	to->event = ref_meet_fence(h, r, op, ir_op(m, op)->team, from);
	ref_issue_hold(from);
	r->view[v] = to;
	return true;
}

void ref_symmetric_end(struct ref_host *h, struct ref_rank *r, op_id op, value_id v)
{
	struct module *m = h->c->m;
	struct ref_view *x = r->view[v];
	unsigned member = 0;
	if (!x->event)
		return;
	while (x->event->channel->device[member] != r->device)
		member++;
	ref_meet_fence(h, r, op, ir_op(m, m->value.at[v].def)->team, x->event->party[member].in);
}

/* ---- running */

static bool is_fence(const struct ref_host *h, const struct ref_party *p)
{
	uint8_t kind = ir_op(h->c->m, p->op)->kind;
	return kind == OP_SYMMETRIC_VIEW || kind == OP_DEALLOCATE;
}

bool ref_symmetric_is_fence(const struct ref_host *h, const struct ref_event *e)
{
	for (unsigned k = 0; k < e->channel->n; k++)
		if (e->party[k].op && is_fence(h, &e->party[k]))
			return true;
	return false;
}

/* Appends `symmetric_view of X`. */
static void put_party(const struct ref_host *h, const struct ref_party *p, struct buf *out)
{
	char name[REF_NAME_BYTES];
	buf_puts(out, op_info[ir_op(h->c->m, p->op)->kind].hir);
	if (is_fence(h, p))
		buf_printf(out, " of %s", ref_name(h->c->m, p->in->buffer->value, name, sizeof name));
}

bool ref_symmetric_run(struct ref_host *h, struct ref_event *e)
{
	const struct ref_party *p = e->party;
	struct module *m = h->c->m;
	for (unsigned k = 1; k < e->channel->n; k++) {
		struct buf here = {0}, there = {0};
		if (ir_op(m, p[k].op)->kind == ir_op(m, p[0].op)->kind &&
		    p[k].in->buffer->value == p[0].in->buffer->value)
			continue;
		put_party(h, &p[0], &here);
		put_party(h, &p[k], &there);
		diag_error(h->c->d, E_MISMATCH, ir_op(m, p[0].op)->at,
		           "rank %u is in %s while rank %u is in %s", (unsigned)e->channel->device[0],
		           here.at, (unsigned)e->channel->device[k], there.at);
		diag_note(h->c->d, ir_op(m, p[k].op)->at, "rank %u is here", (unsigned)e->channel->device[k]);
		buf_free(&here);
		buf_free(&there);
		return false;
	}
	return true;
}

bool ref_symmetric_elements(struct ref_host *h, const struct ref_view *v, uint32_t at,
                            struct ref_elements *out)
{
	const struct ref_bound all = {0};
	struct ref_local whole;
	struct ref_array shape;
	char name[REF_NAME_BYTES];
	if (v->dead) {
		diag_error(
		    h->c->d, E_LIFETIME, at, "rank %lld uses a symmetric view of %s after its deallocate",
		    (long long)v->buffer->rank, ref_name(h->c->m, v->buffer->value, name, sizeof name));
		return false;
	}
	if (!ref_local_get(h->c, h->locals, v->type, v->buffer->rank, &all, at, &whole) ||
	    !ref_array_of_type(h->c, &shape, v->type, at))
		return false;
	int64_t count = ref_array_count(&shape);
	ref_array_free(&shape);
	struct ref_buffer **buffer = mem_zalloc(sizeof(struct ref_buffer *) * (size_t)count);
	int64_t *offset = mem_zalloc(sizeof *offset * (size_t)count);
	bool ok = true;
	for (unsigned k = 0; v->event && k < v->event->channel->n && ok; k++) {
		struct ref_elements e = {0};
		ok = ref_view_elements(h, v->event->party[k].in, at, &e);
		for (int64_t i = 0; i < e.n && ok; i++) {
			buffer[e.at[i]] = e.buffer[i];
			offset[e.at[i]] = e.offset[i];
		}
		ref_elements_free(&e);
	}
	ref_elements_reserve(out, ok ? whole.n : 0);
	for (int64_t i = 0; i < whole.n && ok; i++)
		if (buffer[whole.at[i]])
			ref_elements_add(out, buffer[whole.at[i]], offset[whole.at[i]], whole.at[i]);
	free(buffer);
	free(offset);
	if (!ok)
		ref_elements_free(out);
	return ok;
}
