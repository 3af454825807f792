/* stream_order: walks statements with the current stream, and finds the streams that have seen the end
 * of a use.
 *
 *     for i in 0..3 parallel(stream) {      current stream
 *       set_stream(i)                       stream i from here on
 *       T <- exp(A)                         A is used on stream i
 *     }
 *     set_stream(main)                      the first stream
 *     for j in 0..3 {
 *       synchronize(j)                      the first stream has seen stream j = i, for each i
 *     }                                     A's uses are over for the first stream
 *
 * A stream is identified by its index expression, or is the one on which the program starts. A handle
 * stands for the stream that was current when it was made. If paths or iterations disagree, the stream
 * is UNKNOWN, and nothing is certain. */
#include "pass/stream_order.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include <stdlib.h>

enum { FIRST = 0, UNKNOWN = UINT32_MAX, MAX_SEEN = 16 };

/* ---- the current stream */

static uint32_t stream_of(const struct stream_order *s, op_id op)
{
	handle_id handle = op_operand_id(s->m, op, ROLE_HANDLE, 0);
	return handle ? s->handle[handle] : op_scalar_expr(s->m, op, 0);
}

static uint32_t assign_region_streams(struct stream_order *s, region_id r, uint32_t current);

/* Returns the stream after the blocks of a condition, or after the body of a loop. */
static uint32_t walk_blocks(struct stream_order *s, op_id op, uint32_t current)
{
	bool loop = s->m->op.at[op].kind == OP_FOR;
	region_id r = s->m->op.at[op].region;
	uint32_t after = assign_region_streams(s, r, current), end = after;
	for (r = s->m->region.at[r].sibling; r; r = s->m->region.at[r].sibling)
		end = assign_region_streams(s, r, current) == after ? end : UNKNOWN;
	if (end == current)
		return end;
	if (loop && current != UNKNOWN) /* the next iteration begins on another stream */
		assign_region_streams(s, s->m->op.at[op].region, UNKNOWN);
	return !loop && s->m->region.at[s->m->op.at[op].region].sibling ? end : UNKNOWN;
}

static uint32_t assign_region_streams(struct stream_order *s, region_id r, uint32_t current)
{
	for (op_id op = s->m->region.at[r].first; op; op = s->m->op.at[op].next) {
		s->stream[op] = current;
		switch ((enum op_kind)s->m->op.at[op].kind) {
		case OP_GET_CURRENT_STREAM:
			s->handle[op_operand_id(s->m, op, ROLE_HANDLE, 0)] = current;
			break;
		case OP_SET_CURRENT_STREAM:
			current = stream_of(s, op);
			s->one = false;
			s->sets[r] = true;
			break;
		default:
			if (!s->m->op.at[op].region)
				break;
			current = walk_blocks(s, op, current);
			for (region_id in = s->m->op.at[op].region; in; in = s->m->region.at[in].sibling)
				s->sets[r] |= s->sets[in];
		}
	}
	return s->end[r] = current;
}

void stream_order_find(struct module *m, struct stream_order *out)
{
	*out = (struct stream_order){.m = m, .n = m->op.n, .one = true};
	out->stream = mem_zalloc(sizeof *out->stream * m->op.n);
	out->end = mem_zalloc(sizeof *out->end * m->region.n);
	out->handle = mem_zalloc(sizeof *out->handle * m->handle.n);
	out->sets = mem_zalloc(m->region.n);
	assign_region_streams(out, m->body, FIRST);
}

void stream_order_free(struct stream_order *s)
{
	free(s->stream);
	free(s->end);
	free(s->handle);
	free(s->sets);
}

/* ---- streams that have seen a use */

struct seen {
	uint32_t stream[MAX_SEEN];
	unsigned n;
	uint32_t each; /* the loop of which each iteration's stream has seen it; 0: none */
	op_id loop;
};

static bool has_stream(const struct seen *x, uint32_t stream)
{
	for (unsigned k = 0; k < x->n; k++)
		if (x->stream[k] == stream)
			return true;
	return false;
}

static void add_stream(struct seen *x, uint32_t stream)
{
	if (stream != UNKNOWN && !has_stream(x, stream) && x->n < MAX_SEEN)
		x->stream[x->n++] = stream;
}

/* Handles a loop that synchronizes with the stream of each iteration of x's loop. */
static void join_loop(struct stream_order *s, struct seen *x, op_id loop)
{
	struct module *m = s->m;
	if (!x->each || op_scalar_expr(m, loop, 0) != op_scalar_expr(m, x->loop, 0) ||
	    op_scalar_expr(m, loop, 1) != op_scalar_expr(m, x->loop, 1))
		return;
	region_id body = m->op.at[loop].region;
	index_id from = m->region.at[m->op.at[x->loop].region].index;
	expr_id each = expr_replace_index(m, x->each, from, expr_index(m, m->region.at[body].index));
	for (op_id op = m->region.at[body].first; op; op = m->op.at[op].next)
		if (m->op.at[op].kind == OP_SYNCHRONIZE && stream_of(s, op) == each &&
		    s->stream[op] == s->stream[loop])
			add_stream(x, s->stream[loop]);
}

static void see(struct stream_order *s, struct seen *x, op_id op)
{
	if (op >= s->n)
		return;
	if (s->m->op.at[op].kind == OP_SYNCHRONIZE && has_stream(x, stream_of(s, op)))
		add_stream(x, s->stream[op]);
	else if (s->m->op.at[op].kind == OP_FOR)
		join_loop(s, x, op);
}

/* Leaves the body of a loop, where its index has no meaning any more. */
static void leave_loop(const struct stream_order *s, struct seen *x, op_id loop)
{
	index_id index = s->m->region.at[s->m->op.at[loop].region].index;
	unsigned n = x->n;
	if (x->each && expr_uses_index(s->m, x->each, index))
		x->each = 0;
	x->n = 0;
	for (unsigned k = 0; k < n; k++) {
		if (x->stream[k] == FIRST || !expr_uses_index(s->m, x->stream[k], index))
			x->stream[x->n++] = x->stream[k];
		else if (!x->each)
			x->each = x->stream[k], x->loop = loop;
	}
}

static uint32_t stream_after(const struct stream_order *s, region_id r, op_id at)
{
	op_id next = s->m->op.at[at].next;
	while (next >= s->n)
		next = s->m->op.at[next].next;
	return next ? s->stream[next] : s->end[r];
}

bool stream_order_follows(struct stream_order *s, region_id r, op_id use, op_id at)
{
	struct seen x = {0};
	uint32_t current = stream_after(s, r, at);
	if (s->one)
		return true;
	if (current == UNKNOWN || s->stream[use] == UNKNOWN)
		return false;
	add_stream(&x, s->stream[use]);
	for (op_id op = use;;) {
		region_id block = s->m->op.at[op].parent;
		while (!(block == r && op == at) && (op = s->m->op.at[op].next))
			see(s, &x, op);
		if (block == r)
			return has_stream(&x, current);
		op = s->m->region.at[block].owner;
		if (s->m->op.at[op].kind == OP_FOR)
			leave_loop(s, &x, op);
		if (op == at && s->m->op.at[op].parent == r)
			return has_stream(&x, current);
	}
}
