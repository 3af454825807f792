/* plan_unit: lowers the operations of a unit to one task.
 *
 *     unit {                          task unit {
 *       A = X + B                       A = add(X[0; 8:1], B[0; 8:1])
 *       Y <- gelu(A)           →        Y[0; 8:1] = gelu(A)
 *     }                               }                       A: no buffer, but a block of the lane
 *
 * Each operation is planned as outside of a unit, but its task becomes a step. If the unit is not one
 * walk over its elements, the steps become separate tasks: an operand may have another order, a layout
 * may be no box, or an operand may overlap a result. */
#include "ir/unit.h"
#include "plan/planner.h"
#include <string.h>

enum { MAX_STEPS = 255 };

static bool same_window(const struct plan_view *a, const struct plan_view *b)
{
	size_t n = a->nd;
	return a->buffer == b->buffer && a->slot == b->slot && a->offset == b->offset && a->nd == b->nd &&
	       !memcmp(a->n, b->n, sizeof *a->n * n) && !memcmp(a->stride, b->stride, sizeof *a->stride * n);
}

static bool same_elements(const struct plan_view *a, const struct plan_view *b)
{
	return a->nd == b->nd && !memcmp(a->n, b->n, sizeof *a->n * a->nd);
}

/* Returns the view that contains all elements over which a step iterates. */
static const struct plan_view *get_iteration_view(const struct plan_task *t)
{
	return t->kernel == RT_TASK_REDUCE ? &t->in[0] : &t->out;
}

static bool is_view(const struct plan_task *t, unsigned k)
{
	return k < t->in_n && !(t->scalars >> k & 1);
}

static bool can_be_step(const struct plan_task *t)
{
	return t->kernel == RT_TASK_COPY || t->kernel == RT_TASK_FILL || t->kernel == RT_TASK_POINTWISE ||
	       t->kernel == RT_TASK_BITCAST || t->kernel == RT_TASK_UNIFORM || t->kernel == RT_TASK_REDUCE;
}

/* Returns true if the other steps see the elements that a step writes as they would without blocks: each
 * of them uses the same window or does not use them. */
static bool is_ordered(const struct plan *p, uint32_t first, const struct plan_task *writer)
{
	for (uint32_t i = first; i < p->step.n; i++) {
		const struct plan_task *t = &p->step.at[i];
		bool other = t != writer && t->out.buffer == writer->out.buffer;
		if (other && (writer->kernel == RT_TASK_REDUCE || !same_window(&t->out, &writer->out)))
			return false;
		for (unsigned k = 0; k < t->in_n; k++)
			if (is_view(t, k) && t->in[k].buffer == writer->out.buffer &&
			    (writer->kernel == RT_TASK_REDUCE || !same_window(&t->in[k], &writer->out)))
				return false;
	}
	return true;
}

/* Returns true if the steps from `first` on are one walk over the same elements, with one step a
 * statement. */
static bool is_one_walk(const struct plan *p, uint32_t first)
{
	const struct plan_task *reduce = NULL;
	if (p->step.n - first > MAX_STEPS)
		return false;
	for (uint32_t i = first; i < p->step.n; i++) {
		const struct plan_task *t = &p->step.at[i];
		if (!can_be_step(t) ||
		    !same_elements(get_iteration_view(&p->step.at[first]), get_iteration_view(t)) ||
		    (i > first && t->statement == p->step.at[i - 1].statement) || !is_ordered(p, first, t))
			return false;
		if (t->kernel != RT_TASK_REDUCE)
			continue;
		if (reduce && reduce->axes != t->axes)
			return false;
		reduce = t;
	}
	return true;
}

/* Returns the last step that uses a buffer. */
static uint32_t last_use(const struct plan *p, uint32_t first, uint32_t buffer)
{
	uint32_t last = first;
	for (uint32_t i = first; i < p->step.n; i++) {
		const struct plan_task *t = &p->step.at[i];
		bool uses = t->out.buffer == buffer;
		for (unsigned k = 0; k < t->in_n; k++)
			uses |= is_view(t, k) && t->in[k].buffer == buffer;
		last = uses ? i : last;
	}
	return last;
}

/* Gives a block to each value that is used only between steps. Values that are never used at once share
 * one. */
static uint32_t number_locals(struct planner *b, uint32_t first)
{
	struct plan *p = b->p;
	uint32_t block_of[MAX_STEPS] = {0}, holder[MAX_STEPS + 1] = {0},
	         n = 0; /* by block: the last step of its value, + 1 */
	for (uint32_t i = first; i < p->step.n; i++) {
		struct plan_task *t = &p->step.at[i];
		struct plan_buffer *out = &p->buffer.at[t->out.buffer];
		for (unsigned k = 0; k < t->in_n; k++)
			for (uint32_t w = first; is_view(t, k) && w < i; w++)
				if (block_of[w - first] && p->step.at[w].out.buffer == t->in[k].buffer)
					t->local[k + 1] = (uint8_t)block_of[w - first];
		if (t->kernel == RT_TASK_REDUCE || !ir_is_unit_local(b->m, out->value))
			continue; /* the kernel writes a sum even if nothing uses it, so it needs memory */
		uint32_t block = 1;
		while (holder[block] > i)
			block++;
		n = block > n ? block : n;
		holder[block] = last_use(p, first, t->out.buffer) + 1;
		t->local[0] = (uint8_t)(block_of[i - first] = block);
		out->local = true;
		out->slots = out->slot_bytes = 0;
	}
	return n;
}

static void emit_unit(struct planner *b, uint32_t first)
{
	struct plan *p = b->p;
	struct plan_task t;
	plan_task_start(&t, RT_TASK_UNIT);
	t.first = first;
	t.steps = p->step.n - first;
	t.locals = number_locals(b, first);
	t.out = *get_iteration_view(&p->step.at[first]);
	vec_push(&p->task, t);
	plan_emit(b, (struct plan_instruction){.code = PLAN_TASK, .a = p->task.n - 1});
}

void plan_unit(struct planner *b, op_id op)
{
	struct plan *p = b->p;
	uint32_t first = p->step.n;
	b->in_unit = true;
	region_each (b->m, o, b->m->op.at[op].region) {
		b->at = o;
		plan_local(b, o);
	}
	b->in_unit = false;
	b->at = op;
	if (b->failed || p->step.n == first)
		return;
	if (is_one_walk(p, first)) {
		emit_unit(b, first);
		return;
	}
	for (uint32_t i = first; i < p->step.n; i++) {
		struct plan_task t = p->step.at[i];
		b->at = t.statement;
		plan_task_emit(b, &t);
	}
	p->step.n = first;
	b->at = op;
}
