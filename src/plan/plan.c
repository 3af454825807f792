/* plan: lowers the statements of a program, in their order, to a rank's instructions.
 *
 * This file lowers control, streams and memory; plan_op.c lowers operations, and plan_comm.c
 * communications. */
#include "base/page.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "plan/plan_boxes.h"
#include "plan/plan_hoist.h"
#include "plan/plan_memory.h"
#include "plan/plan_norms.h"
#include "plan/plan_packs.h"
#include "plan/plan_products.h"
#include "plan/plan_views.h"
#include "plan/planner.h"
#include <stdlib.h>
#include <string.h>

void planner_error(struct planner *b, enum diagnostic code, const char *format, ...)
{
	va_list args;
	char text[1024];
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	diag_error(b->d, code, b->at ? b->m->op.at[b->at].at : DIAG_NOWHERE, "%s", text);
	b->failed = true;
}

uint32_t plan_emit(struct planner *b, struct plan_instruction i)
{
	i.depth = (uint16_t)b->depth;
	i.statement = b->at;
	i.loop = b->loop_n ? (plan_reg)b->sx.at[b->loop[b->loop_n - 1].index].k : 0;
	vec_push(&b->p->code, i);
	return b->p->code.n - 1;
}

static uint32_t add_text(struct planner *b, const struct plan_text *t)
{
	enum { RECENT = 64 }; /* recent texts that are compared with a new one */
	for (uint32_t i = b->p->text.n > RECENT ? b->p->text.n - RECENT : 0; i < b->p->text.n; i++) {
		const struct plan_text *o = &b->p->text.at[i];
		if (o->code == t->code && o->values == t->values && !strcmp(o->text, t->text) &&
		    !memcmp(o->value, t->value, sizeof *t->value * t->values))
			return i;
	}
	vec_push(&b->p->text, *t);
	b->p->text.at[b->p->text.n - 1].text = arena_strndup(b->p->arena, t->text, strlen(t->text));
	return b->p->text.n - 1;
}

/* Reports a check that is known to fail while the plan is made. */
static void report_check(struct planner *b, enum diagnostic code, const char *text, const sx_id *value,
                         unsigned values)
{
	struct buf out = {0};
	unsigned k = 0;
	for (const char *c = text; *c; c++)
		if (*c == PLAN_VALUE[0] && k < values)
			sx_text(b, value[k++], &out);
		else
			buf_putc(&out, *c);
	planner_error(b, code, "%s", out.at);
	buf_free(&out);
}

void plan_emit_check(struct planner *b, sx_id condition, enum diagnostic code, const char *text,
                     const sx_id *value, unsigned values)
{
	int64_t k;
	if (sx_is_const(b, condition, &k)) {
		if (k != 0 && k != PLAN_UNDEFINED)
			return;
		if (b->depth == 0) { /* outside of loops and conditions: it surely runs */
			report_check(b, code, text, value, values);
			return;
		}
	}
	struct plan_text t = {.text = text, .code = code, .values = (uint8_t)values};
	for (unsigned i = 0; i < values; i++)
		t.value[i] = sx_reg(b, value[i]);
	const plan_reg a = sx_reg(b, condition);
	plan_emit(b, (struct plan_instruction){.code = PLAN_CHECK, .a = a, .b = add_text(b, &t)});
}

void scope_leave(struct planner *b, uint32_t computed)
{
	for (uint32_t i = computed; i < b->computed.n; i++)
		b->sx.at[b->computed.at[i]].reg = 0;
	b->computed.n = computed;
}

static uint32_t get_code_position(const struct planner *b)
{
	return b->p->code.n;
}

static void lower_region(struct planner *b, region_id r);

/* ---- control */

static bool sets_stream(const struct module *m, region_id r)
{
	region_each (m, o, r) {
		const struct op *op = &m->op.at[o];
		if (op->kind == OP_SET_CURRENT_STREAM)
			return true;
		for (region_id inner = op->region; inner; inner = m->region.at[inner].sibling)
			if (sets_stream(m, inner))
				return true;
	}
	return false;
}

/* Returns the index of the first set_stream directly in a body. */
static expr_id first_set_stream(const struct module *m, region_id r)
{
	region_each (m, o, r)
		if (m->op.at[o].kind == OP_SET_CURRENT_STREAM && op_scalar_expr(m, o, 0))
			return op_scalar_expr(m, o, 0);
	return 0;
}

static void lower_for(struct planner *b, op_id op)
{
	region_id body = b->m->op.at[op].region;
	index_id id = b->m->region.at[body].index;
	sx_id start, stop, outer = b->index[id];
	int64_t first = 0, end = 0;
	if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &start) ||
	    !sx_lower(b, op_scalar_expr(b->m, op, 1), &stop))
		return;
	bool known = sx_is_const(b, start, &first) && sx_is_const(b, stop, &end);
	if (known && (first == PLAN_UNDEFINED || end == PLAN_UNDEFINED)) {
		sx_report_undefined(b, op_scalar_expr(b->m, op, first == PLAN_UNDEFINED ? 0 : 1),
		                    "the bounds of the loop are undefined");
		return;
	}
	if (known && first >= end)
		return;
	if (b->loop_n == IR_MAX_NESTING) {
		planner_error(b, E_PLAN_LIMIT, "loops are nested too deeply (limit %d)", IR_MAX_NESTING);
		return;
	}
	bool sets = sets_stream(b->m, body);
	plan_reg from = sx_reg(b, start), to = sx_reg(b, stop), index = b->p->reg.n;
	vec_push(&b->p->reg, PLAN_UNDEFINED);
	int64_t lo = b->sx.at[start].lo, hi = b->sx.at[stop].hi;
	hi = hi == INT64_MIN ? hi : hi - 1;
	uint32_t at =
	    plan_emit(b, (struct plan_instruction){.code = PLAN_FOR, .a = index, .b = from, .c = to});
	uint32_t computed = b->computed.n;
	b->index[id] = sx_index(b, index, lo, hi < lo ? lo : hi);
	b->loop[b->loop_n++] = (struct plan_loop){
	    .op = op,
	    .index = b->index[id],
	    .start = known ? first : 0,
	    .stop = known ? end : -1,
	    .stream = (b->m->op.at[op].flags & OP_STREAM_LOOP) != 0,
	    .set_stream = first_set_stream(b->m, body),
	};
	b->stream = sets ? 0 : b->stream;
	b->generation++;
	b->depth++;
	uint32_t first_instruction = get_code_position(b);
	lower_region(b, body);
	b->at = op;
	b->depth--;
	scope_leave(b, computed);
	b->loop_n--;
	b->generation++;
	b->index[id] = outer;
	b->stream = sets ? 0 : b->stream;
	plan_emit(b,
	          (struct plan_instruction){.code = PLAN_NEXT, .a = index, .c = to, .to = first_instruction});
	b->p->code.at[at].to = get_code_position(b);
}

static void lower_if(struct planner *b, op_id op)
{
	region_id then = b->m->op.at[op].region, otherwise = b->m->region.at[then].sibling;
	sx_id condition, stream = b->stream;
	int64_t k;
	if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &condition))
		return;
	if (sx_is_const(b, condition, &k)) {
		if (k == PLAN_UNDEFINED)
			sx_report_undefined(b, op_scalar_expr(b->m, op, 0), "the condition is undefined");
		else if (k || otherwise)
			lower_region(b, k ? then : otherwise);
		return;
	}
	uint32_t at = plan_emit(b, (struct plan_instruction){.code = PLAN_IF, .a = sx_reg(b, condition)}),
	         end = 0;
	uint32_t computed = b->computed.n;
	b->depth++;
	lower_region(b, then);
	scope_leave(b, computed);
	sx_id after = b->stream;
	b->stream = stream;
	b->at = op;
	if (otherwise) {
		end = plan_emit(b, (struct plan_instruction){.code = PLAN_GOTO});
		b->p->code.at[at].to = get_code_position(b);
		lower_region(b, otherwise);
		scope_leave(b, computed);
		b->p->code.at[end].to = get_code_position(b);
	} else {
		b->p->code.at[at].to = get_code_position(b);
	}
	b->depth--;
	b->stream = b->stream == after ? after : 0;
	b->at = op;
}

/* ---- streams and memory */

static void lower_stream(struct planner *b, op_id op, enum plan_code code)
{
	handle_id handle = op_operand_id(b->m, op, ROLE_HANDLE, 0);
	sx_id index = 0;
	if (!handle) {
		if (!sx_lower(b, op_scalar_expr(b->m, op, 0), &index))
			return;
		if (b->p->streams == 0)
			plan_emit_check(b, sx_op(b, EXPR_GE, index, sx_const(b, 0)), E_VALUE_UNDEFINED,
			                "the index of a stream is negative: it is " PLAN_VALUE, &index, 1);
		else
			index = sx_op(b, EXPR_MOD, index, sx_const(b, b->p->streams));
	}
	uint32_t a = handle ? handle : sx_reg(b, index);
	plan_emit(b, (struct plan_instruction){.code = (uint8_t)code, .op = !handle, .a = a});
	if (code == PLAN_STREAM)
		b->stream = index;
}

static void lower_allocate(struct planner *b, op_id op)
{
	value_id v = op_def(b->m, op, 0);
	view_allocate(b, v);
	if (!op_attr_is_true(b->m, op, "zero_init") && !op_attr_is_true(b->m, op, "resets_to_zero"))
		return;
	struct view *x = view_of(b, v);
	if (!x || x->absent)
		return;
	struct plan_task t;
	plan_task_start(&t, RT_TASK_FILL);
	t.out = (struct plan_view){.buffer = x->buffer, .slot = sx_reg(b, x->slot), .nd = 1, .stride = {1}};
	t.out.n[0] = sx_reg(b, sx_const(b, b->p->buffer.at[x->buffer].elements));
	t.scalars = t.in_n = 1;
	plan_task_emit(b, &t);
}

static void lower_op(struct planner *b, op_id op)
{
	enum op_kind kind = (enum op_kind)b->m->op.at[op].kind;
	switch (kind) {
	case OP_ALLOCATE:
		lower_allocate(b, op);
		return;
	case OP_DEALLOCATE:
		plan_deallocate(b, op);
		return;
	case OP_SYMMETRIC_VIEW:
		plan_symmetric_view(b, op);
		return;
	case OP_SHARE_MEM_HANDLES:
		return;
	case OP_SHARD_BY_STREAM:
		view_shard(b, op);
		return;
	case OP_SELECT:
		view_select(b, op);
		return;
	case OP_GET_CURRENT_STREAM:
		plan_emit(b, (struct plan_instruction){.code = PLAN_HANDLE,
		                                       .a = op_operand_id(b->m, op, ROLE_HANDLE, 0)});
		return;
	case OP_SET_CURRENT_STREAM:
		lower_stream(b, op, PLAN_STREAM);
		return;
	case OP_SYNCHRONIZE:
		lower_stream(b, op, PLAN_SYNC);
		return;
	case OP_FOR:
		lower_for(b, op);
		return;
	case OP_IF:
		lower_if(b, op);
		return;
	case OP_UNIT:
	case OP_LAUNCH_KERNEL:
		plan_unit(b, op);
		return;
	case OP_SEND:
	case OP_RECV:
		plan_p2p(b, op);
		return;
	case OP_POST:
		plan_post(b, op);
		return;
	case OP_START_COALESCING:
	case OP_END_COALESCING:
		plan_coalescing(b, op);
		return;
	case OP_WAIT:
		plan_wait(b, op);
		return;
	case OP_DISPATCH:
	case OP_COMBINE:
		plan_experts(b, op);
		return;
	case OP_PACK:
	case OP_UNPACK:
		plan_bucket(b, op);
		return;
	default:
		if (op_traits(b->m, op) & TRAIT_COLLECTIVE)
			plan_collective(b, op);
		else
			plan_local(b, op);
	}
}

static void lower_region(struct planner *b, region_id r)
{
	region_each (b->m, o, r) {
		b->at = o;
		lower_op(b, o);
	}
}

/* ---- the whole */

/* Returns true if a symmetric view has gaps between its blocks. */
static bool has_gaps(struct planner *b, const struct view *x)
{
	const struct plan_buffer of = b->p->buffer.at[x->buffer];
	return of.view && storage_bytes(b, x->value) != of.elements * (int64_t)dtype_bytes(of.dtype);
}

/* Makes a copy of a symmetric view's contents without the gaps. */
static struct view *lower_shown(struct planner *b, struct view *x)
{
	struct view *copy = storage_make(b, x->value, NULL, NULL);
	if (copy && !boxes_copy(b, copy, x)) {
		planner_error(b, E_PLAN_LAYOUT,
		              "'%s' is returned, but its blocks have gaps between them that cannot be closed",
		              value_text(b, x->value));
		diag_note(b->d, DIAG_NOWHERE, "write it to a buffer and return that");
	}
	return copy;
}

/* Returns true if the file of other ranks defines the value. */
static bool is_of_other_file(const struct planner *b, value_id v)
{
	op_id op = b->view[v] ? 0 : b->m->value.at[v].def;
	while (op && !(b->m->op.at[op].flags & OP_FILE))
		op = b->m->region.at[b->m->op.at[op].parent].owner;
	return op != 0;
}

/* Finds the buffer of an output. For a view, copies it to a buffer of its own at the end. */
static void lower_output(struct planner *b, value_id v)
{
	struct plan_output out = {.value = v, .type = b->m->value.at[v].type, .buffer = UINT32_MAX};
	b->at = 0;
	struct view *x = is_of_other_file(b, v) ? NULL : view_of(b, v);
	if (x && !x->absent && b->p->buffer.at[x->buffer].value != v && view_usable(b, x)) {
		struct view *copy = storage_make(b, v, NULL, NULL);
		sx_id at[IR_MAX_LOGICAL], n[IR_MAX_LOGICAL];
		int map[IR_MAX_LOGICAL];
		for (unsigned i = 0; copy && i < x->rank; i++)
			at[i] = copy->axis[i].off, n[i] = copy->axis[i].len, map[i] = (int)i;
		if (copy && view_usable(b, copy))
			plan_copy_box(b, copy, x, map, at, at, n);
		x = copy;
	} else if (x && !x->absent && has_gaps(b, x)) {
		x = lower_shown(b, x);
	}
	if (x && !x->absent)
		out.buffer = x->buffer;
	vec_push(&b->p->output, out);
}

static void start_planner(struct planner *b, const struct module *m, struct diag *d)
{
	b->m = m;
	b->d = d;
	b->scratch = arena_new();
	b->lowered = arena_alloc(b->scratch, sizeof *b->lowered * m->expr.n);
	b->lowered_n = m->expr.n;
	b->index = arena_new_array(b->scratch, sx_id, m->index.n);
	b->view = arena_new_array(b->scratch, struct view *, m->value.n);
	b->place = arena_new_array(b->scratch, struct place *, m->value.n);
	b->queue = arena_new_array(b->scratch, uint32_t, m->op.n);
	b->posted = arena_new_array(b->scratch, bool, m->op.n);
	b->waited = arena_new_array(b->scratch, bool, m->op.n);
	b->settled = arena_new_array(b->scratch, bool, m->op.n);
	b->message = arena_new_array(b->scratch, uint32_t, m->op.n);
	b->heap = arena_new_array(b->scratch, int64_t, m->value.n);
	sx_const(b, 0);
	vec_push(&b->p->reg, 0);
	for (op_id o = 1; o < m->op.n; o++)
		if ((m->op.at[o].kind == OP_POST || m->op.at[o].kind == OP_WAIT) &&
		    !(m->op.at[o].flags & OP_DEAD))
			for (unsigned k = 0; k < op_role_count(m, o, ROLE_STATEMENT); k++)
				(m->op.at[o].kind == OP_POST
				     ? b->posted
				     : b->waited)[op_operand_id(m, o, ROLE_STATEMENT, k)] = true;
}

static bool view_varies(const bool *changes, const struct plan_view *v)
{
	bool varies = changes[v->slot] || changes[v->offset];
	for (unsigned k = 0; k < v->nd; k++)
		varies |= changes[v->n[k]];
	return varies;
}

static bool task_varies(const bool *changes, const struct plan_task *t)
{
	bool varies = view_varies(changes, &t->out);
	for (unsigned i = 0; i < RT_OPERANDS; i++) {
		bool scalar = t->scalars >> i & 1;
		varies |= scalar ? t->scalar[i].is_reg && changes[t->scalar[i].reg]
		                 : i < t->in_n && view_varies(changes, &t->in[i]);
	}
	return varies;
}

static void mark_varying(struct plan *p)
{
	p->varies = arena_new_array(p->arena, bool, p->reg.n);
	for (uint32_t k = 0; k < p->code.n; k++)
		if (p->code.at[k].code == PLAN_LET || p->code.at[k].code == PLAN_FOR)
			p->varies[p->code.at[k].a] = true;
}

/* Marks the tasks whose registers never change. They are built once. */
static void mark_fixed(struct plan *p)
{
	const bool *changes = p->varies;
	for (uint32_t k = 0; k < p->task.n; k++) {
		struct plan_task *t = &p->task.at[k];
		bool varies = t->kernel != RT_TASK_UNIT && task_varies(changes, t);
		for (uint32_t i = t->first; i < t->first + t->steps; i++)
			varies |= task_varies(changes, &p->step.at[i]);
		t->fixed = !varies;
	}
}

/* Builds the plan, without the places of buffers. copies, by value: copies of its buffers for each
 * stream. */
static struct plan *build(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                          const struct plan_target *target, const uint8_t *copies)
{
	struct plan *p = mem_zalloc(sizeof *p);
	struct planner b = {.p = p, .target = target, .copies = copies};
	b.page = target->page ? target->page : page_bytes();
	p->arena = arena_new();
	p->rank = rank, p->ranks = ranks, p->streams = target->streams;
	p->handles = m->handle.n;
	p->idle = module_rank_is_idle(m, rank);
	p->input_buffer = arena_new_array(p->arena, uint32_t, m->input.n);
	memset(p->input_buffer, 0xff, sizeof *p->input_buffer * m->input.n);
	start_planner(&b, m, d);
	plan_teams(&b);
	symmetric_heap(&b);
	if (p->idle) {
		for (uint32_t i = 0; i < m->output.n; i++)
			vec_push(&p->output, (struct plan_output){.value = m->output.at[i],
			                                          .type = m->value.at[m->output.at[i]].type,
			                                          .buffer = UINT32_MAX});
	} else {
		for (unsigned i = 0; i < m->input.n; i++)
			if (!view_input(&b, i))
				b.failed = true;
		if (!b.failed)
			lower_region(&b, m->body);
		for (uint32_t i = 0; i < m->output.n && !b.failed; i++)
			lower_output(&b, m->output.at[i]);
	}
	b.at = 0;
	plan_emit(&b, (struct plan_instruction){.code = PLAN_END});
	if (!b.failed)
		plan_hoist(p);
	mark_varying(p);
	if (!b.failed)
		plan_views(p, m, target), plan_products(p, target), plan_norms(p, target);
	mark_fixed(p);
	if (!b.failed && !target->unplaced)
		plan_packs(p);
	vec_free(&b.unpack);
	sx_free(&b);
	arena_free(b.scratch);
	if (b.failed) {
		plan_free(p);
		return NULL;
	}
	return p;
}

static void report_late(const struct module *m, struct diag *d, const struct plan_buffer *buffer)
{
	diag_error(d, E_BUFFER_LATE, m->value.at[buffer->value].at,
	           "a buffer made here is in use when %d later iterations have begun (the limit)",
	           PLAN_MAX_COPIES);
	diag_note(d, DIAG_NOWHERE, "wait for its Communication in the loop, or allocate it before the loop");
}

struct plan *plan_build(const struct module *m, struct diag *d, int64_t rank, int64_t ranks,
                        const struct plan_target *target)
{
	uint8_t *copies = mem_zalloc(m->value.n);
	uint32_t late = UINT32_MAX;
	struct plan *p = build(m, d, rank, ranks, target, copies);
	while (p && !plan_memory(p, target, copies, &late)) {
		if (late != UINT32_MAX)
			report_late(m, d, &p->buffer.at[late]);
		plan_free(p);
		p = late == UINT32_MAX ? build(m, d, rank, ranks, target, copies) : NULL;
	}
	free(copies);
	if (p)
		plan_packs_place(p);
	return p;
}

void plan_free(struct plan *p)
{
	if (!p)
		return;
	vec_free(&p->code);
	vec_free(&p->reg);
	vec_free(&p->buffer);
	vec_free(&p->slot);
	vec_free(&p->heap_piece);
	vec_free(&p->pack);
	vec_free(&p->task);
	vec_free(&p->step);
	vec_free(&p->collective);
	vec_free(&p->message);
	vec_free(&p->team);
	vec_free(&p->table);
	vec_free(&p->text);
	vec_free(&p->output);
	arena_free(p->arena);
	free(p);
}
