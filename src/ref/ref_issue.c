/* ref_issue: adds the entries of one rank's statements to the queues of its streams, in the order of the
 * walk:
 *
 *     T = select(X, …)         nothing: T is bound to a view
 *     Y <- linear(T, W)        COMPUTE
 *     Z <- allreduce(Y) as c   START of the communicator's next event
 *     wait(c)                  WAIT for it
 *     synchronize(main)        SYNCHRONIZE with the entries that main has now */
#include "ref/ref_issue.h"
#include "ir/expr.h"
#include <string.h>

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
	e->number = r->issued.n;
	e->queue = r->current;
	vec_push(&r->issued, e);
	vec_push(&r->stream.at[r->current].queue, e);
}

/* Reports why the walk has failed. Returns false. */
static bool report_failure(struct ref_host *h, const struct ref_rank *r)
{
	enum diagnostic code;
	op_id op;
	const char *text = walk_failure(&r->walker, &code, &op);
	diag_error(h->c->d, code, ref_issue_at(h, op), "%s on rank %lld", text, (long long)r->device);
	return false;
}

bool ref_issue_scalar(struct ref_host *h, struct ref_rank *r, op_id op, unsigned k, int64_t *out)
{
	return walk_scalar(&r->walker, op, k, WALK_ANY, out) || report_failure(h, r);
}

/* Adds the streams that the walk has met since the last call. */
static void add_streams(struct ref_rank *r)
{
	for (uint32_t k = r->stream.n; k < r->walker.stream.n; k++)
		vec_push(&r->stream, (struct ref_stream){.number = r->walker.stream.at[k]});
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

/* Adds the entry of result k. */
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
	const struct expr_env env = walk_env(&r->walker);
	bool here = ref_mesh_has(m, value_type(m, result)->mesh, r->device);
	if (ref_attrs_flags(m, op) & EXPR_HAS_INDEX) {
		int64_t *now = arena_new_array(h->arena, int64_t, m->index.n);
		memcpy(now, r->walker.index, sizeof *now * m->index.n);
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

/* Adds a pack or unpack as one entry, since the place of a result depends on the results before it. */
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

/* Adds a statement of the current stream. */
static bool issue_work(struct ref_host *h, struct ref_rank *r, op_id op)
{
	unsigned axes = 0;
	switch ((enum op_kind)ir_op(h->c->m, op)->kind) {
	case OP_SET:
		if (!ref_meeting_axes(h, op, &axes))
			return false;
		return axes ? ref_meet_reshard(h, r, op, axes) : issue_compute(h, r, op, 0);
	case OP_PACK:
	case OP_UNPACK:
		return issue_pack(h, r, op);
	default:
		return compute_all(h, r, op);
	}
}

static void issue_allocate(struct ref_host *h, struct ref_rank *r, op_id op)
{
	ref_bind_buffer(h, r, op_def(h->c->m, op, 0))->buffer->zero =
	    op_attr_is_true(h->c->m, op, "zero_init") || op_attr_is_true(h->c->m, op, "resets_to_zero");
}

static bool issue_step(struct ref_host *h, struct ref_rank *r, const struct step *s)
{
	struct module *m = h->c->m;
	op_id op = s->op;
	switch ((enum step_kind)s->kind) {
	case STEP_WORK:
		return issue_work(h, r, op);
	case STEP_VIEW:
		return ir_op(m, op)->kind == OP_SELECT ? ref_bind_select(h, r, op) : ref_bind_shard(h, r, op);
	case STEP_ALLOCATE:
		issue_allocate(h, r, op);
		return true;
	case STEP_FREE:
		return issue_deallocate(h, r, op);
	case STEP_FENCE:
		return ref_symmetric_bind(h, r, op);
	case STEP_MEET:
		return op_traits(m, op) & TRAIT_COLLECTIVE ? ref_meet_collective(h, r, s)
		                                           : ref_meet_experts(h, r, op);
	case STEP_ABSENT:
		ref_meet_absent(r, s);
		return true;
	case STEP_PREPARE:
	case STEP_MESSAGE:
		return ref_meet_message(h, r, s);
	case STEP_END_GROUP:
		ref_meet_end_group(h, r, s);
		return true;
	case STEP_WAIT:
		ref_meet_wait(h, r, s);
		return true;
	case STEP_MISSING:
		return ref_meet_missing(h, r, s);
	case STEP_JOIN:
		issue_synchronize(h, r, op, s->joined);
		return true;
	default: /* needs no entry */
		return true;
	}
}

bool ref_issue(struct ref_host *h, struct ref_rank *r)
{
	const struct walk_options options = {.streams = h->c->o->streams};
	struct step s;
	uint64_t walked = 0;
	bool ok = true;
	walk_begin(&r->walker, &h->walk_program, r->device, &options);
	while (ok && walk_next(&r->walker, &s)) {
		for (; ok && walked < r->walker.walked; walked++)
			ok = ref_afford(h->c, s.op);
		add_streams(r);
		r->current = s.stream;
		ok = ok && issue_step(h, r, &s);
	}
	if (ok && r->walker.failed)
		ok = report_failure(h, r);
	walk_end(&r->walker);
	return ok;
}
