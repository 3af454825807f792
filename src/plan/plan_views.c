/* plan_views: see plan_views.h.
 *
 *     0  task A[0; 8:32 4:8 8:1] = copy(X[0; 8:32 4:8 8:1])       the elements lie in the same order
 *     1  task H[0; 4:64 8:8 8:1] = copy(A[0; 4:8 8:32 8:1])       the elements of a row do
 *     2  task O[0; 4:64 8:8 8:1] = attention(H[0; 4:64 8:8 8:1], …)
 *     3  task R[0; 8:32 4:8 8:1] = copy(O[0; 8:8 4:64 8:1])
 *                                                →    0  task R[0; 4:8 8:32 8:1] = attention(X[0; 4:8 8:32 8:1], …)
 *
 * Any task can read the source of a copy in the same order. Attention and its gradients read and write rows that lie
 * apart as fast as dense ones. All readers of a copy must follow it, with only tasks and scalars in between, of which
 * none writes the source. */
#include "plan/plan_views.h"
#include "plan/plan_fusion.h"

enum { MAX_READERS = 64 };

/* The operands that read a copy. */
struct readers {
	struct plan_task *task[MAX_READERS];
	uint8_t operand[MAX_READERS];
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

static bool reads_rows(const struct plan_task *t)
{
	return t->kernel == RT_TASK_ATTENTION || t->kernel == RT_TASK_GRADIENT;
}

/* Returns true if rows are dense and begin at multiples of 16 bytes. Offsets that vary are assumed to be aligned. */
static bool has_rows(const struct plan *p, const struct plan_view *v)
{
	int64_t size = (int64_t)dtype_bytes(p->buffer.at[v->buffer].dtype);
	if (!v->nd || v->stride[v->nd - 1] != 1 ||
	    (!p->varies[v->offset] && p->reg.at[v->offset] * size % 16))
		return false;
	for (unsigned k = 0; k + 1 < v->nd; k++)
		if (!plan_fusion_is_one(p, v->n[k]) && v->stride[k] * size % 16)
			return false;
	return true;
}

/* Makes of a view on `from` the view on the same elements of `to`. Each axis of more than one element must be an axis of
 * `from`. Returns false if one is not, or if rows do not stay dense. */
static bool move_rows(const struct plan *p, const struct plan_view *v, const struct plan_view *from,
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
	return has_rows(p, out) || !has_rows(p, v);
}

/* Finds the reader's view of the source. Returns false if the reader needs the copy. */
static bool before_copy(const struct plan *p, const struct plan_task *copy, const struct plan_task *reader,
                        const struct plan_view *v, struct plan_view *out)
{
	int64_t count;
	if (v->slot != copy->out.slot || v->offset != copy->out.offset || !is_constant(p, v))
		return false;
	if (keeps_order(p, copy) && find_span(p, v, &count) <= find_span(p, &copy->out, &count)) {
		*out = *v;
		out->buffer = copy->in[0].buffer, out->slot = copy->in[0].slot,
		out->offset = copy->in[0].offset;
		return true;
	}
	return reads_rows(reader) && v->stride[v->nd - 1] == 1 &&
	       move_rows(p, v, &copy->out, &copy->in[0], out) && out->stride[out->nd - 1] == 1;
}

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

/* Adds the operands of a task that read the copy. Returns why the task needs the copy; PLAN_KEPT_NONE: it does not. */
static enum plan_kept add_readers(const struct plan_fusion *f, const struct plan_task *copy,
                                  struct plan_task *t, struct readers *r)
{
	struct plan_view view;
	if (writes_buffer(t, copy->out.buffer))
		return PLAN_KEPT_WRITTEN;
	for (unsigned k = 0; k < t->in_n; k++) {
		if (t->scalars >> k & 1 || t->in[k].buffer != copy->out.buffer)
			continue;
		if (r->n == MAX_READERS)
			return PLAN_KEPT_MANY;
		if (!before_copy(f->p, copy, t, &t->in[k], &view))
			return PLAN_KEPT_ORDER;
		r->task[r->n] = t;
		r->operand[r->n++] = (uint8_t)k;
	}
	return writes_buffer(t, copy->in[0].buffer) ? PLAN_KEPT_SOURCE : PLAN_KEPT_NONE;
}

/* Finds the readers of a copy. Returns why one of them needs it; PLAN_KEPT_NONE: none does. */
static enum plan_kept find_readers(const struct plan_fusion *f, uint32_t at, const struct plan_task *copy,
                                   struct readers *r)
{
	struct plan *p = f->p;
	for (uint32_t k = at + 1; r->n + 1 < f->uses[copy->out.buffer]; k++) {
		const struct plan_instruction *i = &p->code.at[k];
		r->kept_for = i->statement;
		if (f->target[k] ||
		    (!f->gone[k] && i->code != PLAN_LET && i->code != PLAN_CHECK && i->code != PLAN_TASK))
			return PLAN_KEPT_APART;
		if (f->gone[k] || i->code != PLAN_TASK)
			continue;
		struct plan_task *t = &p->task.at[i->a];
		bool is_unit = t->kernel == RT_TASK_UNIT;
		for (uint32_t s = 0; s < (is_unit ? t->steps : 1); s++) {
			struct plan_task *one = is_unit ? &p->step.at[t->first + s] : t;
			enum plan_kept kept = add_readers(f, copy, one, r);
			if (kept)
				return kept;
		}
	}
	r->kept_for = 0;
	return r->n ? PLAN_KEPT_NONE : PLAN_KEPT_UNREAD;
}

/* Leaves the copy out. Returns why it stays, and the statement that needs it. */
static enum plan_kept leave_out_copy(struct plan_fusion *f, uint32_t at, op_id *kept_for)
{
	const struct plan_task *copy = &f->p->task.at[f->p->code.at[at].a];
	struct readers r = {.n = 0};
	enum plan_kept kept = find_obstacle(f, copy);
	if (!kept && is_output(f->p, copy->out.buffer))
		kept = PLAN_KEPT_OUTPUT;
	if (!kept)
		kept = find_readers(f, at, copy, &r);
	*kept_for = r.kept_for;
	if (kept)
		return kept;
	for (uint32_t k = 0; k < r.n; k++) {
		struct plan_view *v = &r.task[k]->in[r.operand[k]];
		before_copy(f->p, copy, r.task[k], v, v);
	}
	f->uses[copy->in[0].buffer] += r.n - 1;
	plan_fusion_leave_out(f, copy->out.buffer);
	f->unused[f->p->code.at[at].a] = f->gone[at] = true;
	return PLAN_KEPT_NONE;
}

static void leave_out_copies(struct plan_fusion *f, const struct module *m)
{
	for (uint32_t k = 0; k < f->p->code.n; k++) {
		const struct plan_instruction *i = &f->p->code.at[k];
		op_id kept_for;
		if (i->code != PLAN_TASK || f->gone[k] || !is_copy(&f->p->task.at[i->a]))
			continue;
		enum plan_kept kept = leave_out_copy(f, k, &kept_for);
		struct plan_task *t = &f->p->task.at[i->a];
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
	if (!reads_rows(t) || !next)
		return;
	const struct plan_task *copy = &p->task.at[p->code.at[next].a];
	const struct plan_buffer *from = &p->buffer.at[t->out.buffer];
	if (!is_copy(copy) || find_obstacle(f, copy) || copy->in[0].buffer != t->out.buffer ||
	    f->uses[t->out.buffer] != 2 || from->input >= 0 || copy->in[0].slot != t->out.slot ||
	    copy->in[0].offset != t->out.offset || !is_constant(p, &t->out) ||
	    !move_rows(p, &t->out, &copy->in[0], &copy->out, &out))
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
	if (!target->views || !p->task.n)
		return;
	plan_fusion_open(&f, p, target);
	leave_out_copies(&f, m);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_TASK && !f.gone[k])
			write_as_copied(&f, k);
	plan_fusion_close(&f);
}
