/* plan_symmetric: places buffers that peers see, and makes views of them side by side.
 *
 * Buffers in symmetric memory are first in the memory of every rank, at the same places, each in pages
 * of its own (the symmetric heap). A view shows the blocks of the ranks of a slice one after the other:
 *
 *     X: f32[8@x, 512] symmetric      rank 0   rows 0 1 2 3      rank 1   rows 4 5 6 7
 *     G = symmetric_view(X)           both     rows 0 1 2 3 | 4 5 6 7
 *
 * If a block does not fill its pages, there are gaps between the blocks. The fence is a barrier of the
 * slice. Only after it may a rank read a view, or write elements that another rank has read through a
 * view. */
#include "ir/edit.h"
#include "ir/infer.h"
#include "plan/planner.h"
#include "rt/convert.h"
#include <math.h>

#define POISON ((int64_t)0xA5A5A5A5A5A5A5A5u)

int64_t symmetric_bytes(const struct planner *b, int64_t bytes)
{
	return (bytes + b->page - 1) / b->page * b->page;
}

/* Places a buffer on the heap with the size that ranks of its mesh need, even if this rank is not in the
 * mesh. */
static void place_on_heap(struct planner *b, value_id v)
{
	int64_t rank = b->p->rank, bytes;
	mesh_id mesh = value_type(b->m, v)->mesh;
	b->p->rank = mesh ? ir_mesh(b->m, mesh)->device[0] : rank;
	bytes = storage_bytes(b, v);
	b->p->rank = rank;
	if (bytes < 0)
		return;
	b->heap[v] = b->p->heap;
	bytes = symmetric_bytes(b, bytes);
	if (bytes)
		vec_push(&b->p->heap_piece, (size_t)bytes);
	b->p->heap += bytes;
}

void symmetric_heap(struct planner *b)
{
	const struct module *m = b->m;
	for (uint32_t k = 0; k < m->input.n; k++)
		if (value_type(m, m->input.at[k].value)->memory == MEMORY_SYMMETRIC)
			place_on_heap(b, m->input.at[k].value);
	for (op_id op = ir_walk_first(m); op && !b->failed; op = ir_walk(m, op)) {
		b->at = op;
		if (m->op.at[op].kind == OP_ALLOCATE &&
		    value_type(m, op_def(m, op, 0))->memory == MEMORY_SYMMETRIC)
			place_on_heap(b, op_def(m, op, 0));
	}
}

/* Emits a barrier of the view's slice. */
static void emit_fence(struct planner *b, op_id op, op_id view)
{
	uint32_t team, own;
	if (!plan_own_slice(b, view, &team, &own) || b->p->team.at[team].n == 1)
		return;
	struct plan_collective c = {.kind = COLLECTIVE_BARRIER, .dtype = DTYPE_U8, .team = team};
	c.root = c.count = sx_reg(b, sx_const(b, 0));
	vec_push(&b->p->collective, c);
	plan_emit_async(b, op,
	                (struct plan_instruction){.code = PLAN_COLLECTIVE, .a = b->p->collective.n - 1});
}

void plan_symmetric_view(struct planner *b, op_id op)
{
	struct module *m = (struct module *)b->m; /* interning types changes nothing that callers see */
	value_id of = op_read(b->m, op, 0);
	struct view *x = view_of(b, of);
	uint32_t team, own;
	if (!x)
		return;
	if (x->absent || !plan_own_slice(b, op, &team, &own)) {
		struct view *v = view_new(b, op_def(b->m, op, 0));
		v->absent = true;
		b->view[v->value] = v;
		return;
	}
	const struct plan_buffer *buffer = &b->p->buffer.at[x->buffer];
	if (!buffer->symmetric || buffer->value != of) {
		planner_error(b, E_SYMMETRIC, "symmetric_view: '%s' is a part of a buffer, not a buffer",
		              value_text(b, of));
		return;
	}
	value_id v = op_def(b->m, op, 0);
	uint8_t axes[IR_MAX_MESH_AXES];
	unsigned n = infer_symmetric_axes(m, x->type, b->m->value.at[v].type, axes);
	b->view[v] = storage_view(b, v, x, axes, n, team);
	emit_fence(b, op, op);
}

/* Fills a buffer with NaN, or with bytes 0xA5. A statement that still reads it computes wrong numbers. */
static void poison(struct planner *b, value_id v)
{
	struct view *x = view_of(b, v);
	struct plan_task t;
	if (!x || x->absent || b->p->buffer.at[x->buffer].value != v)
		return;
	plan_task_start(&t, RT_TASK_FILL);
	t.out = (struct plan_view){.buffer = x->buffer, .slot = sx_reg(b, x->slot), .nd = 1, .stride = {1}};
	t.out.n[0] = sx_reg(b, sx_const(b, b->p->buffer.at[x->buffer].elements));
	t.scalars = t.in_n = 1;
	if (dtype_is_float(b->p->buffer.at[x->buffer].dtype))
		t.scalar[0].literal = NAN;
	else
		t.scalar[0] = (struct plan_operand){.is_reg = true, .reg = sx_reg(b, sx_const(b, POISON))};
	plan_task_emit(b, &t);
	b->p->code.at[b->p->code.n - 1].op = PLAN_TASK_POISONS;
}

/* Plans a deallocation. Memory is kept for the whole run, so only a barrier is needed, and poison that
 * reveals later uses. */
void plan_deallocate(struct planner *b, op_id op)
{
	for (unsigned k = 0; k < op_role_count(b->m, op, ROLE_FREE); k++) {
		value_id v = op_operand_id(b->m, op, ROLE_FREE, k);
		op_id def = b->m->value.at[v].def;
		if (def && b->m->op.at[def].kind == OP_SYMMETRIC_VIEW)
			emit_fence(b, op, def);
		else if (b->target->poisons)
			poison(b, v);
	}
}
