/* walk: see walk.h. */
#include "walk/walk.h"
#include "ir/edit.h"
#include "ir/unit.h"
#include <string.h>

/* A region that the walk is in. */
struct walk_frame {
	op_id next;      /* the next statement; 0: the region is done */
	op_id owner;     /* the loop or condition that ends with this region; 0: the program's body or a
	                    unit */
	bool is_loop;    /* this is the body of the innermost entry of walker.loop */
	bool is_others;  /* a branch that only other ranks take */
	uint32_t stream; /* if is_others: the stream that was current before the branch */
};

/* ---- beginning and end */

void walk_begin(struct walker *w, struct walk_program *p, int64_t rank, const struct walk_options *o)
{
	const struct module *m = p->m;
	*w = (struct walker){.program = p, .m = p->m, .o = *o, .rank = rank};
	w->index = mem_zalloc(sizeof *w->index * (m->index.n + 1));
	w->handle = mem_zalloc(sizeof *w->handle * (m->handle.n + 1));
	w->oldest = mem_zalloc(sizeof *w->oldest * m->op.n);
	w->latest = mem_zalloc(sizeof *w->latest * m->op.n);
	if (p->is_posted) {
		w->prepared = mem_zalloc(sizeof *w->prepared * m->op.n);
		w->is_prepared = mem_zalloc(m->op.n);
	}
	w->is_in = mem_zalloc(m->mesh.n + 1);
	vec_push(&w->stream, WALK_FIRST_STREAM);
	walk_begin_region(w, m->body);
}

void walk_begin_region(struct walker *w, region_id r)
{
	w->frame.n = w->loop.n = 0;
	w->parts_of = 0;
	vec_push(&w->frame, (struct walk_frame){.next = w->m->region.at[r].first});
}

void walk_end(struct walker *w)
{
	vec_free(&w->frame);
	vec_free(&w->loop);
	vec_free(&w->stream);
	vec_free(&w->next);
	buf_free(&w->failure_text);
	free(w->index);
	free(w->handle);
	free(w->oldest);
	free(w->latest);
	free(w->prepared);
	free(w->is_prepared);
	free(w->is_in);
}

/* ---- failures */

static bool fail_walk(struct walker *w, op_id op, enum diagnostic code)
{
	w->failed = true;
	w->failed_op = op;
	w->failure = code;
	return false;
}

const char *walk_failure(const struct walker *w, enum diagnostic *code, op_id *op)
{
	*code = w->failure;
	*op = w->failed_op;
	return w->failure_text.at;
}

/* ---- scalars */

struct expr_env walk_env(const struct walker *w)
{
	return (struct expr_env){
	    .rank = w->rank, .streams = w->o.streams ? w->o.streams : INT32_MAX, .index = w->index};
}

bool walk_value(struct walker *w, op_id op, expr_id e, int64_t *out)
{
	const struct expr_env env = walk_env(w);
	expr_id offending = 0;
	enum expr_status s = expr_eval(w->m, e, &env, out, &offending);
	if (s == EXPR_OK)
		return true;
	expr_print_failure(w->m, offending ? offending : e, s, &w->failure_text);
	return fail_walk(w, op, E_VALUE_UNDEFINED);
}

bool walk_scalar(struct walker *w, op_id op, unsigned k, enum walk_follow how, int64_t *out)
{
	if (op_role_count(w->m, op, ROLE_SCALAR) <= k) {
		buf_puts(&w->failure_text, "the statement lacks an operand");
		return fail_walk(w, op, E_VALUE_UNDEFINED);
	}
	const struct scalar *s = &w->m->scalar.at[op_operand_id(w->m, op, ROLE_SCALAR, k)];
	*out = (int64_t)s->literal;
	if (s->expr && !walk_value(w, op, s->expr, out))
		return false;
	return how == WALK_ANY || !w->o.follows || w->o.follows(w->o.to, op, s->expr, how, *out) ||
	       fail_walk(w, op, E_VALUE_UNDEFINED);
}

/* ---- streams */

/* Finds the index of a stream by its number; appends a new number. Loops name streams 0, 1, … in this order,
 * so number + 1 is tried first. */
static uint32_t find_stream(struct walker *w, int64_t number)
{
	uint32_t k = number >= 0 && number < w->stream.n - 1 ? (uint32_t)number + 1 : 0;
	if (w->stream.at[k] == number)
		return k;
	for (k = 0; k < w->stream.n; k++)
		if (w->stream.at[k] == number)
			return k;
	vec_push(&w->stream, number);
	return k;
}

/* Finds the stream that a set_stream or synchronize names, by a handle or an index. */
static bool find_named_stream(struct walker *w, op_id op, uint32_t *out)
{
	int64_t index;
	if (op_role_count(w->m, op, ROLE_HANDLE)) {
		*out = w->handle[op_operand_id(w->m, op, ROLE_HANDLE, 0)];
		return true;
	}
	if (!walk_scalar(w, op, 0, WALK_SAME, &index))
		return false;
	index = expr_stream(index, w->o.streams);
	if (index < 0) {
		buf_printf(&w->failure_text, "the index of a stream is negative: it is %lld",
		           (long long)index);
		return fail_walk(w, op, E_VALUE_UNDEFINED);
	}
	*out = find_stream(w, index);
	return true;
}

/* ---- transfers */

/* Numbers the transfer that a statement starts. */
static uint32_t start_transfer(struct walker *w, op_id op)
{
	uint32_t t = w->free_transfer;
	if (t) {
		w->free_transfer = w->next.at[t - 1];
	} else {
		vec_push(&w->next, 0);
		t = w->next.n;
	}
	w->next.at[t - 1] = 0;
	if (w->oldest[op])
		w->next.at[w->latest[op] - 1] = t;
	else
		w->oldest[op] = t;
	w->latest[op] = t;
	return t - 1;
}

/* Ends the oldest transfer of a statement. Returns WALK_NONE if there is none. */
static uint32_t end_transfer(struct walker *w, op_id op)
{
	uint32_t t = w->oldest[op];
	if (!t)
		return WALK_NONE;
	w->oldest[op] = w->next.at[t - 1];
	w->next.at[t - 1] = w->free_transfer;
	w->free_transfer = t;
	return t - 1;
}

/* ---- statements */

static void enter_region(struct walker *w, region_id r, op_id owner)
{
	vec_push(&w->frame, (struct walk_frame){.next = r ? w->m->region.at[r].first : 0, .owner = owner});
}

/* Begins an iteration of the innermost loop. Returns false if none is left. */
static bool begin_iteration(struct walker *w, struct step *out)
{
	const struct walk_loop *l = &w->loop.at[w->loop.n - 1];
	region_id body = w->m->op.at[l->op].region;
	if (l->at >= l->stop)
		return false;
	w->walked++;
	w->index[w->m->region.at[body].index] = l->at;
	w->frame.at[w->frame.n - 1].next = w->m->region.at[body].first;
	out->kind = STEP_ITERATION;
	out->op = l->op;
	return true;
}

static bool next_iteration(struct walker *w, struct step *out)
{
	struct walk_loop *l = &w->loop.at[w->loop.n - 1];
	if (l->at < l->stop)
		l->at++;
	return begin_iteration(w, out);
}

static bool enter_loop(struct walker *w, op_id op)
{
	struct walk_loop l = {.op = op};
	if (!walk_scalar(w, op, 0, WALK_SAME, &l.start) || !walk_scalar(w, op, 1, WALK_SAME, &l.stop))
		return false;
	l.at = l.start;
	vec_push(&w->loop, l);
	vec_push(&w->frame, (struct walk_frame){.owner = op, .is_loop = true});
	return true;
}

/* Enters the branch that the rank takes. If only other ranks take the other branch, enters that one first and
 * returns true: *out is a step. */
static bool enter_branch(struct walker *w, op_id op, struct step *out)
{
	int64_t holds;
	region_id branch = w->m->op.at[op].region, other = w->m->region.at[branch].sibling;
	if (!walk_scalar(w, op, 0, WALK_SAME, &holds))
		return false;
	if (!holds) {
		branch = other;
		other = w->m->op.at[op].region;
	}
	enter_region(w, branch, op);
	if (!w->o.divides || !other || !w->o.divides(w->o.to, op, holds != 0))
		return false;
	enter_region(w, other, op);
	w->frame.at[w->frame.n - 1].is_others = true;
	w->frame.at[w->frame.n - 1].stream = w->current;
	w->others++;
	out->kind = STEP_OTHERS;
	return true;
}

/* Leaves the innermost region. Returns true if *out is a step. */
static bool leave_region(struct walker *w, struct step *out)
{
	struct walk_frame f = w->frame.at[w->frame.n - 1];
	out->op = f.owner;
	w->frame.n--;
	if (f.is_others) {
		w->others--;
		w->current = f.stream;
		out->kind = STEP_END_OTHERS;
		return true;
	}
	if (f.is_loop)
		w->loop.n--;
	out->kind = w->frame.n ? STEP_LEAVE : STEP_END;
	return f.owner || !w->frame.n;
}

enum is_in { IS_IN_UNKNOWN, IS_IN_NO, IS_IN_YES };

/* Returns true if the rank is in the mesh of the tensor that a message moves. */
static bool holds_message(struct walker *w, op_id op)
{
	const struct module *m = w->m;
	value_id v = op_transfer_buffer(m, op);
	mesh_id mesh = value_type(m, v)->mesh;
	uint32_t position;
	if (mesh && w->is_in[mesh] == IS_IN_UNKNOWN)
		w->is_in[mesh] =
		    mesh_position(ir_mesh(m, mesh), (uint32_t)w->rank, &position) ? IS_IN_YES : IS_IN_NO;
	return !mesh || w->is_in[mesh] == IS_IN_YES;
}

/* Issues a message, or prepares it for a post. */
static bool reach_message(struct walker *w, op_id op, struct step *out)
{
	bool posted = w->prepared && w->program->is_posted[op], holds = holds_message(w, op);
	if (holds && !walk_scalar(w, op, 0, WALK_PEER, &out->peer))
		return false;
	out->of = op;
	out->kind = !holds ? STEP_ABSENT : posted ? STEP_PREPARE : STEP_MESSAGE;
	if (posted) {
		w->prepared[op] = out->peer;
		w->is_prepared[op] = true;
	} else if (!w->in_group) {
		out->transfer = start_transfer(w, op);
	}
	return true;
}

/* Issues the next message of a post. */
static void post_message(struct walker *w, op_id message, struct step *out)
{
	out->of = message;
	out->kind = STEP_MISSING;
	if (!w->is_prepared[message])
		return;
	out->kind = holds_message(w, message) ? STEP_MESSAGE : STEP_ABSENT;
	out->peer = w->prepared[message];
	if (!w->in_group)
		out->transfer = start_transfer(w, message);
}

static void end_wait(struct walker *w, op_id started, struct step *out)
{
	out->of = started;
	out->transfer = end_transfer(w, started);
	out->kind = out->transfer == WALK_NONE ? STEP_MISSING : STEP_WAIT;
}

/* Takes the next statement that a wait or post names. */
static bool take_part(struct walker *w, struct step *out)
{
	op_id op = w->parts_of;
	if (w->part == op_role_count(w->m, op, ROLE_STATEMENT)) {
		w->parts_of = 0;
		return false;
	}
	op_id named = op_operand_id(w->m, op, ROLE_STATEMENT, w->part);
	out->op = op;
	out->part = (uint16_t)w->part++;
	out->more = w->part < op_role_count(w->m, op, ROLE_STATEMENT);
	if (w->m->op.at[op].kind == OP_WAIT)
		end_wait(w, named, out);
	else
		post_message(w, named, out);
	return true;
}

static bool begin_parts(struct walker *w, op_id op)
{
	w->parts_of = op;
	w->part = 0;
	return false;
}

static bool reach_meeting(struct walker *w, op_id op, struct step *out)
{
	unsigned flags = w->m->op.at[op].flags;
	out->kind = STEP_MEET;
	if (flags & OP_ASYNC && !(flags & OP_GROUPED))
		out->transfer = start_transfer(w, op);
	return true;
}

/* Returns true if a statement is skipped in a branch that only other ranks take: a meeting, a message, a wait
 * or the end of a buffer. The walks of those ranks have it. */
static bool is_own(const struct module *m, op_id op)
{
	switch ((enum op_kind)m->op.at[op].kind) {
	case OP_DEALLOCATE:
	case OP_SEND:
	case OP_RECV:
	case OP_POST:
	case OP_SHARE_MEM_HANDLES:
	case OP_START_COALESCING:
	case OP_END_COALESCING:
	case OP_WAIT:
	case OP_DISPATCH:
	case OP_COMBINE:
		return true;
	default:
		return op_traits(m, op) & TRAIT_COLLECTIVE;
	}
}

static bool set_kind(struct step *out, enum step_kind kind)
{
	out->kind = (uint8_t)kind;
	return true;
}

/* Handles a statement that the walk has reached. Returns true if *out is a step. */
static bool reach_statement(struct walker *w, op_id op, struct step *out)
{
	const struct op *o = &w->m->op.at[op];
	out->op = op;
	switch ((enum op_kind)o->kind) {
	case OP_FOR:
		return enter_loop(w, op) && begin_iteration(w, out);
	case OP_IF:
		return enter_branch(w, op, out);
	case OP_UNIT:
	case OP_LAUNCH_KERNEL:
		if (w->o.whole_units)
			return set_kind(out, STEP_WORK);
		enter_region(w, o->region, 0);
		return false;
	case OP_GET_CURRENT_STREAM:
		w->handle[op_operand_id(w->m, op, ROLE_HANDLE, 0)] = w->current;
		return false;
	case OP_SET_CURRENT_STREAM:
		w->named_by = op;
		w->named_at = w->walked;
		find_named_stream(w, op, &w->current);
		return false;
	case OP_SYNCHRONIZE:
		return find_named_stream(w, op, &out->joined) && set_kind(out, STEP_JOIN);
	case OP_ALLOCATE:
		return set_kind(out, STEP_ALLOCATE);
	case OP_DEALLOCATE:
		return set_kind(out, STEP_FREE);
	case OP_SYMMETRIC_VIEW:
		return set_kind(out, STEP_FENCE);
	case OP_SELECT:
	case OP_SHARD_BY_STREAM:
		return set_kind(out, STEP_VIEW);
	case OP_SHARE_MEM_HANDLES:
		return set_kind(out, STEP_SHARE);
	case OP_SEND:
	case OP_RECV:
		return reach_message(w, op, out);
	case OP_START_COALESCING:
		w->in_group = true;
		return set_kind(out, STEP_GROUP);
	case OP_END_COALESCING:
		w->in_group = false;
		out->transfer = start_transfer(w, op);
		return set_kind(out, STEP_END_GROUP);
	case OP_WAIT:
	case OP_POST:
		return begin_parts(w, op);
	case OP_DISPATCH:
	case OP_COMBINE:
		return o->team ? reach_meeting(w, op, out) : set_kind(out, STEP_WORK);
	default:
		return op_traits(w->m, op) & TRAIT_COLLECTIVE ? reach_meeting(w, op, out)
		                                              : set_kind(out, STEP_WORK);
	}
}

static bool find_step(struct walker *w, struct step *out)
{
	while (!w->failed) {
		if (w->parts_of && take_part(w, out))
			return true;
		struct walk_frame *f = &w->frame.at[w->frame.n - 1];
		op_id op = f->next;
		if (!op && f->is_loop && next_iteration(w, out))
			return true;
		if (!op) {
			if (leave_region(w, out))
				return out->kind != STEP_END;
			continue;
		}
		f->next = w->m->op.at[op].next;
		w->walked++;
		if (w->others && is_own(w->m, op))
			continue;
		if (reach_statement(w, op, out))
			return true;
	}
	out->kind = STEP_FAILED;
	out->op = w->failed_op;
	return false;
}

bool walk_next(struct walker *w, struct step *out)
{
	*out = (struct step){.kind = STEP_END, .transfer = WALK_NONE};
	bool goes_on = w->frame.n && find_step(w, out);
	out->stream = w->current;
	out->iteration = w->loop.n ? w->loop.at[w->loop.n - 1].at : -1;
	out->others = w->others > 0;
	return goes_on;
}
