/* plan_views: see plan_views.h.
 *
 *     0  task A[0; 8:32 4:8 8:1] = copy(X[0; 8:32 4:8 8:1])       the elements lie in the same order
 *     1  task H[0; 4:64 8:8 8:1] = copy(A[0; 4:8 8:32 8:1])       the elements of a row do
 *     2  task O[0; 4:64 8:8 8:1] = attention(H[0; 4:64 8:8 8:1], …)
 *     3  task R[0; 8:32 4:8 8:1] = copy(O[0; 8:8 4:64 8:1])
 *                                                →    0  task R[0; 4:8 8:32 8:1] = attention(X[0; 4:8 8:32 8:1], …)
 *
 * Any task can read the source of a copy in the same order. plan_reads.c knows which tasks read rows and matrices that
 * lie apart as fast; attention also writes them so.
 *
 * Only tasks and scalars may lie between the copy and its readers, of which none writes the source. If nothing writes
 * the source after the copy at all, anything may: loops, Communications and other streams. */
#include "plan/plan_views.h"
#include "plan/plan_fusion.h"
#include "plan/plan_reads.h"
#include "plan/plan_writes.h"
#include <stdlib.h>

enum { MAX_READERS = 64 };

/* The operands that read a copy, with what they read instead. */
struct readers {
	struct plan_view *at[MAX_READERS], instead[MAX_READERS];
	uint32_t n;
	op_id kept_for; /* the statement that needs the copy; 0: none */
};

static bool is_constant(const struct plan *p, const struct plan_view *v)
{
	for (unsigned k = 0; k < v->nd; k++)
		if (p->varies[v->n[k]] || v->stride[k] < 0)
			return false;
	return !v->bytes;
}

/* Returns the elements between the first and the last of a view; *count: number of its elements. */
static int64_t find_span(const struct plan *p, const struct plan_view *v, int64_t *count)
{
	int64_t span = 0;
	*count = 1;
	for (unsigned k = 0; k < v->nd; k++) {
		int64_t n = p->reg.at[v->n[k]];
		*count *= n;
		span += (n - 1) * v->stride[k];
	}
	return span;
}

/* Returns why the copy stays, whoever reads it; PLAN_KEPT_NONE: for no such reason. */
static enum plan_kept find_obstacle(const struct plan_fusion *f, const struct plan_task *t)
{
	const struct plan_buffer *to = &f->p->buffer.at[t->out.buffer],
	                         *from = &f->p->buffer.at[t->in[0].buffer];
	if (to->input >= 0)
		return PLAN_KEPT_INPUT;
	if (to->local || from->local)
		return PLAN_KEPT_UNIT;
	if (!plan_fusion_is_plain(to) || !plan_fusion_is_plain(from))
		return PLAN_KEPT_SHARED;
	if (to->dtype != from->dtype)
		return PLAN_KEPT_CAST;
	return is_constant(f->p, &t->out) && is_constant(f->p, &t->in[0]) ? PLAN_KEPT_NONE : PLAN_KEPT_VARIES;
}

static bool is_copy(const struct plan_task *t)
{
	return t->kernel == RT_TASK_COPY && !t->scalars && t->in_n == 1 && t->out.nd == t->in[0].nd &&
	       t->out.buffer != t->in[0].buffer;
}

/* Returns true if the elements of the copy lie in memory as those of the source, without gaps. */
static bool keeps_order(const struct plan *p, const struct plan_task *copy)
{
	int64_t count, span = find_span(p, &copy->out, &count);
	for (unsigned k = 0; k < copy->out.nd; k++)
		if (!plan_fusion_is_one(p, copy->out.n[k]) && copy->out.stride[k] != copy->in[0].stride[k])
			return false;
	return count > 0 && span + 1 == count;
}

/* Makes of a view on `from` the view on the same elements of `to`. Each axis of more than one element must be an axis of
 * `from`. Returns false if one is not. */
static bool move_axes(const struct plan *p, const struct plan_view *v, const struct plan_view *from,
                      const struct plan_view *to, struct plan_view *out)
{
	unsigned used = 0;
	*out = *v;
	out->buffer = to->buffer, out->slot = to->slot, out->offset = to->offset;
	for (unsigned i = 0; i < v->nd; i++) {
		unsigned j = 0;
		if (plan_fusion_is_one(p, v->n[i]) || v->stride[i] == 0)
			continue;
		while (j < from->nd &&
		       (used >> j & 1 || from->n[j] != v->n[i] || from->stride[j] != v->stride[i]))
			j++;
		if (j == from->nd)
			return false;
		used |= 1u << j;
		out->stride[i] = to->stride[j];
	}
	return true;
}

/* Finds the reader's view of the source. reader: NULL for a Communication, which reads elements in their order. Returns
 * false if the reader needs the copy. */
static bool before_copy(const struct plan_fusion *f, const struct plan_task *copy,
                        const struct plan_task *reader, const struct plan_view *v, struct plan_view *out)
{
	const struct plan *p = f->p;
	int64_t count;
	if (v->slot != copy->out.slot || v->offset != copy->out.offset || !is_constant(p, v))
		return false;
	if (keeps_order(p, copy) && find_span(p, v, &count) <= find_span(p, &copy->out, &count)) {
		*out = *v;
		out->buffer = copy->in[0].buffer, out->slot = copy->in[0].slot,
		out->offset = copy->in[0].offset;
		return true;
	}
	return reader && move_axes(p, v, &copy->out, &copy->in[0], out) &&
	       plan_reads_apart(f, reader, v, out);
}

/* ---- readers */

static bool writes_buffer(const struct plan_task *t, uint32_t buffer)
{
	bool writes = t->out.buffer == buffer;
	for (unsigned k = 0; k < t->in_n; k++)
		writes |= t->writes >> k & 1 && t->in[k].buffer == buffer;
	return writes;
}

static bool is_output(const struct plan *p, uint32_t buffer)
{
	for (uint32_t k = 0; k < p->output.n; k++)
		if (p->output.at[k].buffer == buffer)
			return true;
	return false;
}

/* Adds a reader. reader: NULL for a Communication. Returns why it needs the copy; PLAN_KEPT_NONE: it does not. */
static enum plan_kept add_reader(const struct plan_fusion *f, const struct plan_task *copy,
                                 const struct plan_task *reader, struct plan_view *v, struct readers *r)
{
	if (r->n == MAX_READERS)
		return PLAN_KEPT_MANY;
	if (!before_copy(f, copy, reader, v, &r->instead[r->n]))
		return PLAN_KEPT_ORDER;
	r->at[r->n++] = v;
	return PLAN_KEPT_NONE;
}

static enum plan_kept add_task_readers(const struct plan_fusion *f, const struct plan_task *copy,
                                       struct plan_task *t, struct readers *r)
{
	enum plan_kept kept = writes_buffer(t, copy->out.buffer) ? PLAN_KEPT_WRITTEN : PLAN_KEPT_NONE;
	for (unsigned k = 0; k < t->in_n && !kept; k++)
		if (!(t->scalars >> k & 1) && t->in[k].buffer == copy->out.buffer)
			kept = add_reader(f, copy, t, &t->in[k], r);
	return kept || !writes_buffer(t, copy->in[0].buffer) ? kept : PLAN_KEPT_SOURCE;
}

/* Adds the operands of an instruction that read the copy. Returns why it needs the copy; PLAN_KEPT_NONE: it does not. */
static enum plan_kept add_readers(const struct plan_fusion *f, const struct plan_task *copy,
                                  const struct plan_instruction *i, struct readers *r)
{
	struct plan *p = f->p;
	struct plan_task *t = i->code == PLAN_TASK ? &p->task.at[i->a] : NULL;
	struct plan_view *v = NULL;
	enum plan_kept kept = PLAN_KEPT_NONE;
	if (i->code == PLAN_COLLECTIVE && p->collective.at[i->a].has_in)
		v = &p->collective.at[i->a].in;
	else if (i->code == PLAN_MESSAGE && p->message.at[i->a].send)
		v = &p->message.at[i->a].data;
	if (v && v->buffer == copy->out.buffer)
		return add_reader(f, copy, NULL, v, r);
	if (!t || t->kernel != RT_TASK_UNIT)
		return t ? add_task_readers(f, copy, t, r) : PLAN_KEPT_NONE;
	for (uint32_t s = t->first; s < t->first + t->steps && !kept; s++)
		kept = add_task_readers(f, copy, &p->step.at[s], r);
	return kept;
}

/* Returns why the readers of the copy must follow it in a row; PLAN_KEPT_NONE: its source keeps its elements, without
 * more memory than the copy takes. */
static enum plan_kept find_limit(const struct plan_fusion *f, const struct plan_writes *w, uint32_t at,
                                 const struct plan_task *copy)
{
	const struct plan *p = f->p;
	const struct plan_instruction *i = &p->code.at[at];
	const struct plan_buffer *from = &p->buffer.at[copy->in[0].buffer];
	int64_t count;
	find_span(p, &copy->out, &count);
	if (i->loop || i->depth || p->varies[copy->in[0].slot] || p->varies[copy->in[0].offset])
		return PLAN_KEPT_LOOP;
	if (w->last[copy->in[0].buffer] > at)
		return PLAN_KEPT_SOURCE;
	return from->input < 0 && from->elements > count ? PLAN_KEPT_LARGE : PLAN_KEPT_NONE;
}

static bool is_simple(const struct plan_instruction *i)
{
	return i->code == PLAN_LET || i->code == PLAN_CHECK ||
	       (i->code == PLAN_TASK && i->op != PLAN_TASK_PACKS && i->op != PLAN_TASK_UNPACKS);
}

/* Returns the reason, with the statement that it names: the one that writes the source, or the one that was met. */
static enum plan_kept stop_at(const struct plan_fusion *f, const struct plan_writes *w,
                              const struct plan_task *copy, enum plan_kept limit,
                              const struct plan_instruction *met, struct readers *r)
{
	uint32_t last = w->last[copy->in[0].buffer];
	r->kept_for = limit == PLAN_KEPT_SOURCE ? f->p->code.at[last - 1].statement : met->statement;
	return limit;
}

/* Finds the readers of a copy. Returns why one of them needs it; PLAN_KEPT_NONE: none does. */
static enum plan_kept find_readers(const struct plan_fusion *f, const struct plan_writes *w, uint32_t at,
                                   const struct plan_task *copy, struct readers *r)
{
	const struct plan *p = f->p;
	enum plan_kept limit = find_limit(f, w, at, copy);
	for (uint32_t k = at + 1; k < p->code.n && r->n + 1 < f->uses[copy->out.buffer]; k++) {
		const struct plan_instruction *i = &p->code.at[k];
		r->kept_for = i->statement;
		if (limit && (f->target[k] || (!f->gone[k] && !is_simple(i))))
			return stop_at(f, w, copy, limit, i, r);
		enum plan_kept kept =
		    f->gone[k] || plan_fusion_is_poison(i) ? PLAN_KEPT_NONE : add_readers(f, copy, i, r);
		if (kept)
			return kept;
	}
	r->kept_for = 0;
	if (r->n + 1 < f->uses[copy->out.buffer])
		return PLAN_KEPT_USED;
	return r->n ? PLAN_KEPT_NONE : PLAN_KEPT_UNREAD;
}

/* Returns why the copy stays, apart from tasks that read it. */
static enum plan_kept find_use(const struct plan_fusion *f, const struct plan_writes *w, uint32_t at,
                               const struct plan_task *copy, struct readers *r)
{
	const uint32_t to = copy->out.buffer;
	if (is_output(f->p, to))
		return PLAN_KEPT_OUTPUT;
	r->kept_for = w->used[to];
	if (r->kept_for)
		return PLAN_KEPT_USED;
	uint32_t other = w->first[to] != at + 1 ? w->first[to] : w->last[to];
	if (other == at + 1)
		return PLAN_KEPT_NONE;
	r->kept_for = f->p->code.at[other - 1].statement;
	return PLAN_KEPT_WRITTEN;
}

/* Leaves the copy out. Returns why it stays, and the statement that needs it. */
static enum plan_kept leave_out_copy(struct plan_fusion *f, const struct plan_writes *w, uint32_t at,
                                     op_id *kept_for)
{
	const struct plan_task *copy = &f->p->task.at[f->p->code.at[at].a];
	struct readers r = {.n = 0};
	enum plan_kept kept = find_obstacle(f, copy);
	if (!kept)
		kept = find_use(f, w, at, copy, &r);
	if (!kept)
		kept = find_readers(f, w, at, copy, &r);
	*kept_for = r.kept_for;
	if (kept)
		return kept;
	for (uint32_t k = 0; k < r.n; k++)
		*r.at[k] = r.instead[k];
	f->uses[copy->in[0].buffer] += r.n - 1;
	plan_fusion_leave_out(f, copy->out.buffer);
	plan_fusion_keep_contents(f, copy->in[0].buffer);
	f->unused[f->p->code.at[at].a] = f->gone[at] = true;
	return PLAN_KEPT_NONE;
}

static void leave_out_copies(struct plan_fusion *f, const struct plan_writes *w, const struct module *m)
{
	const struct plan *p = f->p;
	for (uint32_t k = p->code.n; k-- > 0;) {
		const struct plan_instruction *i = &p->code.at[k];
		op_id kept_for;
		if (i->code != PLAN_TASK || f->gone[k] || !is_copy(&p->task.at[i->a]))
			continue;
		enum plan_kept kept = leave_out_copy(f, w, k, &kept_for);
		struct plan_task *t = &p->task.at[i->a];
		if (i->statement && op_traits(m, i->statement) & TRAIT_VIEWLIKE)
			t->kept = (uint8_t)kept, t->kept_for = kept_for;
	}
}

/* Lets a task write its result where the next one copies it to, if nothing else reads it. */
static void write_as_copied(struct plan_fusion *f, uint32_t at)
{
	struct plan *p = f->p;
	struct plan_task *t = &p->task.at[p->code.at[at].a];
	uint32_t next = plan_fusion_next(f, at);
	struct plan_view out;
	if (!plan_reads_is_attention(t) || !next)
		return;
	const struct plan_task *copy = &p->task.at[p->code.at[next].a];
	const struct plan_buffer *from = &p->buffer.at[t->out.buffer];
	if (!is_copy(copy) || find_obstacle(f, copy) || copy->in[0].buffer != t->out.buffer ||
	    f->uses[t->out.buffer] != 2 || from->input >= 0 || copy->in[0].slot != t->out.slot ||
	    copy->in[0].offset != t->out.offset || !is_constant(p, &t->out) ||
	    !move_axes(p, &t->out, &copy->in[0], &copy->out, &out) ||
	    (plan_reads_has_rows(p, &t->out) && !plan_reads_has_rows(p, &out)))
		return;
	int64_t made, copied;
	find_span(p, &t->out, &made), find_span(p, &copy->in[0], &copied);
	for (unsigned k = 0; k < t->in_n; k++)
		if (!(t->scalars >> k & 1) && t->in[k].buffer == copy->out.buffer)
			return;
	if (made != copied)
		return;
	plan_fusion_leave_out(f, t->out.buffer);
	t->out = out;
	f->unused[p->code.at[next].a] = true;
	p->code.at[next] = p->code.at[at];
	f->gone[at] = true;
}

void plan_views(struct plan *p, const struct module *m, const struct plan_target *target)
{
	struct plan_fusion f;
	struct plan_writes w;
	if (!target->views || !p->task.n)
		return;
	plan_fusion_open(&f, p, target);
	uint8_t *repeats = plan_reads_repeats(p);
	f.repeats = repeats;
	plan_writes_open(&w, p);
	leave_out_copies(&f, &w, m);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			write_as_copied(&f, k);
	plan_writes_close(&w);
	plan_fusion_close(&f);
	free(repeats);
}
