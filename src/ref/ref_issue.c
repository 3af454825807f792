/* ref_issue: one rank's walk over the program.
 *
 * Loops run, conditions and indices are evaluated, views are bound; the rest goes to the stream
 * queues:
 *
 *     set_stream(i)            the stream that the next entries go to
 *     T = select(X, …)         nothing: T is bound to a view
 *     Y <- linear(T, W)        COMPUTE
 *     Z <- allreduce(Y) as c   START of the communicator's next event
 *     wait(c)                  WAIT for it
 *     synchronize(main)        SYNCHRONIZE with the entries of main by now                       */
#include "ref/ref_issue.h"
#include "ir/expr.h"
#include <string.h>

static bool issue_region(struct ref_host *h, struct ref_rank *r, region_id region);

uint32_t ref_issue_at(struct ref_host *h, op_id op)
{
	return ir_op(h->c->m, op)->at;
}

void ref_issue_hold(struct ref_view *v)
{
	if (v)
		v->buffer->pending++;
}

struct ref_entry *ref_issue_entry(struct ref_host *h, enum ref_entry_kind kind, op_id op)
{
	struct ref_entry *e = arena_new_object(h->arena, struct ref_entry);
	e->kind = kind;
	e->op = op;
	return e;
}

void ref_issue_push(struct ref_rank *r, struct ref_entry *e)
{
	vec_push(&r->stream.at[r->current].queue, e);
}

static uint32_t stream_slot(struct ref_rank *r, int64_t number)
{
	for (uint32_t k = 0; k < r->stream.n; k++)
		if (r->stream.at[k].number == number)
			return k;
	vec_push(&r->stream, (struct ref_stream){.number = number});
	return r->stream.n - 1;
}

/* The stream that set_stream or synchronize names: a handle or an index. */
static bool stream_operand(struct ref_host *h, struct ref_rank *r, op_id op, uint32_t *out)
{
	if (op_role_count(h->c->m, op, ROLE_HANDLE)) {
		*out = r->handle[op_operand_id(h->c->m, op, ROLE_HANDLE, 0)];
		return true;
	}
	int64_t index;
	if (!ref_issue_scalar(h, r, op, 0, &index))
		return false;
	index = expr_stream(index, h->c->o->streams);
	*out = stream_slot(r, index < 0 ? -index : index);
	return true;
}

static void issue_synchronize(struct ref_host *h, struct ref_rank *r, op_id op, uint32_t stream)
{
	if (stream == r->current)
		return;
	struct ref_entry *e = ref_issue_entry(h, REF_SYNCHRONIZE, op);
	e->stream = stream;
	e->target = r->stream.at[stream].queue.n;
	ref_issue_push(r, e);
}

/* The entry of result k. */
static bool issue_compute(struct ref_host *h, struct ref_rank *r, op_id op, unsigned result_k)
{
	struct module *m = h->c->m;
	const struct op *o = ir_op(m, op);
	value_id result = op_result(m, op, result_k);
	if (o->kind == OP_EXTERN || !result) {
		ref_report_op(h->c, op);
		return false;
	}
	struct ref_entry *e = ref_issue_entry(h, REF_COMPUTE, op);
	e->result = result_k;
	e->use = arena_new_array(h->arena, struct ref_use, o->operand_n);
	const struct expr_env env = {
	    .rank = r->device, .streams = h->c->o->streams ? h->c->o->streams : INT32_MAX, .index = r->index};
	bool here = ref_mesh_has(m, value_type(m, result)->mesh, r->device);
	if (ref_attrs_flags(m, op) & EXPR_HAS_INDEX) {
		int64_t *now = arena_new_array(h->arena, int64_t, m->index.n);
		memcpy(now, r->index, sizeof *now * m->index.n);
		e->index = now;
	}
	for (unsigned k = 0; k < o->operand_n; k++) {
		const struct operand *p = ir_operand(m, op, k);
		struct ref_use *use = &e->use[e->use_n];
		if (p->role == ROLE_READ) {
			use->view = ref_bind_find(h, r, p->id, op);
			if (!use->view)
				return false;
			e->use_n++;
		} else if (p->role == ROLE_SCALAR && here) {
			if (!ref_scalar(h->c, p->id, &env, o->at, &use->scalar))
				return false;
			e->use_n++;
		}
	}
	if (!ref_bind_result(h, r, op, result_k, &e->out))
		return false;
	for (unsigned k = 0, read = 0; k < e->use_n; k++)
		if (e->use[k].view)
			ref_bind_chunk(h, r, op, read++, e->out, e->use[k].view);
	if (!here)
		return true;
	e->out->buffer->written = true;
	ref_issue_hold(e->out);
	for (unsigned k = 0; k < e->use_n; k++)
		ref_issue_hold(e->use[k].view);
	ref_issue_push(r, e);
	return true;
}

static bool compute_all(struct ref_host *h, struct ref_rank *r, op_id op)
{
	unsigned n = op_result_count(h->c->m, op);
	for (unsigned k = 0; k < n || k == 0; k++)
		if (!issue_compute(h, r, op, k))
			return false;
	return true;
}

/* A pack or unpack is one entry: where a result begins depends on those before it. */
static bool issue_pack(struct ref_host *h, struct ref_rank *r, op_id op)
{
	struct module *m = h->c->m;
	struct ref_entry *e = ref_issue_entry(h, REF_PACK, op);
	unsigned reads = op_role_count(m, op, ROLE_READ), results = op_result_count(m, op);
	e->use = arena_new_array(h->arena, struct ref_use, reads + results);
	for (unsigned k = 0; k < reads; k++)
		if (!(e->use[e->use_n++].view = ref_bind_find(h, r, op_read(m, op, k), op)))
			return false;
	for (unsigned k = 0; k < results; k++) {
		if (!ref_bind_result(h, r, op, k, &e->use[e->use_n].view))
			return false;
		e->use[e->use_n++].view->buffer->written = true;
	}
	if (!ref_mesh_has(m, value_type(m, op_result(m, op, 0))->mesh, r->device))
		return true;
	for (unsigned k = 0; k < e->use_n; k++)
		ref_issue_hold(e->use[k].view);
	ref_issue_push(r, e);
	return true;
}

static bool for_loop(struct ref_host *h, struct ref_rank *r, op_id op)
{
	int64_t start, stop;
	region_id body = ir_op(h->c->m, op)->region;
	index_id index = h->c->m->region.at[body].index;
	if (!ref_issue_scalar(h, r, op, 0, &start) || !ref_issue_scalar(h, r, op, 1, &stop))
		return false;
	struct ref_loop *loop = &r->loop[r->loop_n++];
	*loop = (struct ref_loop){
	    .start = start, .stop = stop, .stream = ir_op(h->c->m, op)->flags & OP_STREAM_LOOP};
	for (int64_t i = start; i < stop; i++) {
		r->index[index] = loop->now = i;
		if (!ref_afford(h->c, op) || !issue_region(h, r, body))
			return false;
	}
	r->loop_n--;
	return true;
}

static bool issue_condition(struct ref_host *h, struct ref_rank *r, op_id op)
{
	int64_t holds;
	region_id branch = ir_op(h->c->m, op)->region;
	if (!ref_issue_scalar(h, r, op, 0, &holds))
		return false;
	if (!holds)
		branch = h->c->m->region.at[branch].sibling;
	return !branch || issue_region(h, r, branch);
}

static bool issue_deallocate(struct ref_host *h, struct ref_rank *r, op_id op)
{
	for (unsigned k = 0; k < op_role_count(h->c->m, op, ROLE_FREE); k++) {
		value_id v = op_operand_id(h->c->m, op, ROLE_FREE, k);
		struct ref_entry *e = ref_issue_entry(h, REF_DEALLOCATE, op);
		if (!(e->out = ref_bind_find(h, r, v, op)))
			return false;
		if (e->out->kind == REF_VIEW_SYMMETRIC)
			ref_symmetric_end(h, r, op, v);
		else
			ref_issue_hold(e->out);
		ref_issue_push(r, e);
		r->view[v] = NULL;
	}
	return true;
}

static bool issue_op(struct ref_host *h, struct ref_rank *r, op_id op)
{
	struct module *m = h->c->m;
	uint32_t stream;
	bool reshards = false;
	switch ((enum op_kind)ir_op(m, op)->kind) {
	case OP_FOR:
		return for_loop(h, r, op);
	case OP_IF:
		return issue_condition(h, r, op);
	case OP_UNIT:
	case OP_LAUNCH_KERNEL:
		return issue_region(h, r, ir_op(m, op)->region);
	case OP_GET_CURRENT_STREAM:
		r->handle[op_operand_id(m, op, ROLE_HANDLE, 0)] = r->current;
		return true;
	case OP_SET_CURRENT_STREAM:
		if (!stream_operand(h, r, op, &stream))
			return false;
		r->current = stream;
		return true;
	case OP_SYNCHRONIZE:
		if (!stream_operand(h, r, op, &stream))
			return false;
		issue_synchronize(h, r, op, stream);
		return true;
	case OP_ALLOCATE:
		ref_bind_buffer(h, r, op_def(m, op, 0))->buffer->zero =
		    op_attr_is_true(m, op, "zero_init") || op_attr_is_true(m, op, "resets_to_zero");
		return true;
	case OP_DEALLOCATE:
		return issue_deallocate(h, r, op);
	case OP_SELECT:
		return ref_bind_select(h, r, op);
	case OP_SHARD_BY_STREAM:
		return ref_bind_shard(h, r, op);
	case OP_SYMMETRIC_VIEW:
		return ref_symmetric_bind(h, r, op);
	case OP_SEND:
	case OP_RECV:
		return ref_meet_p2p(h, r, op);
	case OP_POST:
		return ref_meet_post(h, r, op);
	case OP_SHARE_MEM_HANDLES:
		return true;
	case OP_START_COALESCING:
		r->coalescing = true;
		return true;
	case OP_END_COALESCING:
		ref_meet_end_coalescing(h, r, op);
		return true;
	case OP_WAIT:
		return ref_meet_wait(h, r, op);
	case OP_SET:
		if (!ref_set_reshards(h, op, &reshards))
			return false;
		return reshards ? ref_meet_reshard(h, r, op) : issue_compute(h, r, op, 0);
	case OP_PACK:
	case OP_UNPACK:
		return issue_pack(h, r, op);
	case OP_DISPATCH:
	case OP_COMBINE:
		return ir_op(m, op)->team ? ref_meet_experts(h, r, op) : compute_all(h, r, op);
	default:
		return op_traits(m, op) & TRAIT_COLLECTIVE ? ref_meet_collective(h, r, op)
		                                           : compute_all(h, r, op);
	}
}

static bool issue_region(struct ref_host *h, struct ref_rank *r, region_id region)
{
	for (op_id op = h->c->m->region.at[region].first; op; op = h->c->m->op.at[op].next)
		if (!ref_afford(h->c, op) || !issue_op(h, r, op))
			return false;
	return true;
}

bool ref_issue(struct ref_host *h, struct ref_rank *r)
{
	r->current = stream_slot(r, -1);
	return issue_region(h, r, h->c->m->body);
}
