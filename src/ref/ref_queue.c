/* ref_queue: runs the stream queues of all ranks.
 *
 * Each rank runs its entries in the order of issue. A computation is always ready. A start notes that the rank has
 * reached an event; the event runs when all members have reached it. A wait is ready when its events are done. If all
 * ranks wait, each runs the first ready entry that another stream has. If there is none, it is a deadlock.
 *
 * So a program that orders its streams has the only contents that it can have. A source in which passes add what orders
 * them has the contents that the passes keep: those of the order of issue. */
#include "ref/ref_host.h"
#include "ref/ref_sample.h"
#include <string.h>

enum { MAX_NOTES = 32 };

struct ref_channel *ref_channel_get(struct ref_host *h, enum ref_channel_kind kind, name_id backend,
                                    const uint32_t *device, unsigned n)
{
	for (uint32_t k = 0; k < h->channel.n; k++) {
		struct ref_channel *ch = h->channel.at[k];
		if (ch->kind == kind && ch->backend == backend && ch->n == n &&
		    !memcmp(ch->device, device, sizeof *device * n))
			return ch;
	}
	struct ref_channel *ch = arena_new_object(h->arena, struct ref_channel);
	uint32_t *copy = arena_new_array(h->arena, uint32_t, n);
	memcpy(copy, device, sizeof *device * n);
	ch->kind = kind, ch->backend = backend, ch->n = n, ch->device = copy;
	ch->issued = arena_new_array(h->arena, uint32_t, n);
	vec_push(&h->channel, ch);
	return ch;
}

struct ref_event *ref_event_next(struct ref_host *h, struct ref_channel *ch, unsigned member)
{
	uint32_t number = ch->issued[member]++;
	if (number == ch->event.n) {
		struct ref_event *e = arena_new_object(h->arena, struct ref_event);
		e->channel = ch;
		e->number = number;
		e->reached = arena_new_array(h->arena, bool, ch->n);
		e->party = arena_new_array(h->arena, struct ref_party, ch->n);
		vec_push(&ch->event, e);
	}
	return ch->event.at[number];
}

/* Returns the number of pending parts of an average. */
static double averaged_parts(const struct module *m, type_id t)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	double n = 1;
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_PARTIAL && d->axis[a].reduce == REDUCE_AVG)
			n *= ir_mesh(m, ir_type(m, t)->mesh)->size[d->axis[a].mesh_axis];
	return n;
}

/* ---- running */

static bool run_compute(struct ref_host *h, const struct ref_rank *r, const struct ref_entry *e)
{
	struct module *m = h->c->m;
	uint32_t at = ir_op(m, e->op)->at;
	struct ref_array *in = mem_zalloc(sizeof *in * (e->use_n + 1)), out = {0}, before = {0};
	struct ref_operand *operand = mem_zalloc(sizeof *operand * (e->use_n + 1));
	struct ref_elements local = {0};
	bool ok = true;
	for (unsigned k = 0; k < e->use_n && ok; k++) {
		operand[k] = e->use[k].scalar;
		if (!e->use[k].view)
			continue;
		ok = ref_view_load(h, e->use[k].view, false, at, &in[k]);
		operand[k].array = &in[k];
	}
	ok =
	    ok && ref_array_of_type(h->c, &out, e->out->type, at) && ref_view_elements(h, e->out, at, &local);
	uint8_t *want = ok ? mem_zalloc((size_t)ref_array_count(&out)) : NULL;
	for (int64_t k = 0; k < local.n; k++)
		want[local.at[k]] = 1;
	if (ok && h->c->o->sample)
		ref_sample_clear(h->c->o->sample, op_result(m, e->op, e->result), out.nd, out.n, want);
	bool partial = ref_partial_axes(ir_domain(m, ir_type(m, e->out->type)->domain), NULL) > 0 ||
	               op_attr(m, e->op, "accumulate");
	struct ref_call call = {
	    .op = e->op, .result = e->result, .n = e->use_n, .in = operand, .want = want, .partial = partial};
	const struct expr_env env = {.rank = r->device, .streams = h->c->o->streams, .index = e->index};
	call.env = &env;
	call.averaged = averaged_parts(m, e->out->type);
	int64_t absent = 0;
	if (ok && op_attr_is_true(m, e->op, "accumulate")) {
		ok = ref_view_load(h, e->out, false, at, &before);
		call.before = &before;
	}
	ok = ok && ref_eval(h->c, &call, &out);
	for (int64_t k = 0; k < local.n && ok; k++)
		if (!want[local.at[k]])
			out.state[local.at[k]] = REF_SKIPPED;
	ok = ok && ref_view_store(h, e->out, false, &out, at, &absent);
	if (ok && absent) {
		diag_error(h->c->d, E_ELEMENTS_ABSENT, at,
		           "rank %lld does not hold all that its part of the result of %s needs",
		           (long long)r->device, op_info[ir_op(m, e->op)->kind].hir);
		ok = false;
	}
	free(want);
	ref_elements_free(&local);
	ref_array_free(&out);
	ref_array_free(&before);
	for (unsigned k = 0; k < e->use_n; k++) {
		ref_array_free(&in[k]);
		if (e->use[k].view)
			ref_buffer_release(e->use[k].view->buffer);
	}
	ref_buffer_release(e->out->buffer);
	free(operand);
	free(in);
	return ok;
}

static bool same_types(const struct ref_party *p, const struct ref_party *q)
{
	bool same = p->more_n == q->more_n;
	for (unsigned k = 0; k < p->more_n && same; k++)
		same = p->more[k]->type == q->more[k]->type;
	return same && (!p->in || p->in->type == q->in->type) && (!p->out || p->out->type == q->out->type);
}

/* Checks that the members of a reshard, dispatch or combine are in one kind of statement, with the same types.
 * Returns false after reporting. */
static bool check_alike(struct ref_host *h, const struct ref_event *e)
{
	struct module *m = h->c->m;
	const struct ref_party *p = &e->party[0];
	for (unsigned k = 1; k < e->channel->n; k++) {
		const struct ref_party *q = &e->party[k];
		const unsigned kind = ir_op(m, p->op)->kind, other = ir_op(m, q->op)->kind;
		if (p->op == q->op || (kind == other && same_types(p, q)))
			continue;
		diag_error(h->c->d, E_MISMATCH, ir_op(m, p->op)->at,
		           "rank %u is in a %s, rank %u in a %s of other types",
		           (unsigned)e->channel->device[0], op_info[kind].hir,
		           (unsigned)e->channel->device[k], op_info[other].hir);
		diag_note(h->c->d, ir_op(m, q->op)->at, "rank %u is here", (unsigned)e->channel->device[k]);
		return false;
	}
	return true;
}

/* Returns the number of members that come to an event. */
static unsigned coming_members(const struct ref_event *e)
{
	unsigned n = 0;
	for (unsigned k = 0; k < e->channel->n; k++)
		n += e->party[k].op != 0;
	return n;
}

/* Runs a set. *stays: a member lacks elements of ranks that never come. */
static bool run_reshard(struct ref_host *h, struct ref_event *e, bool *stays)
{
	struct ref_lacking lacking;
	if (!ref_reshard_run(h, e, &lacking))
		return false;
	*stays = lacking.elements && coming_members(e) < e->channel->n;
	if (!lacking.elements || *stays)
		return true;
	if (check_alike(h, e))
		diag_error(h->c->d, E_ELEMENTS_ABSENT, lacking.at,
		           "set: %lld elements of rank %u's part are held by no rank",
		           (long long)lacking.elements, (unsigned)lacking.device);
	return false;
}

static bool event_run(struct ref_host *h, struct ref_event *e)
{
	enum ref_channel_kind kind = e->channel->kind;
	bool stays = false;
	if (kind == REF_EXPERTS && !check_alike(h, e))
		return false;
	bool ok = kind == REF_RESHARD            ? run_reshard(h, e, &stays)
	          : kind == REF_EXPERTS          ? ref_experts_run(h, e)
	          : ref_symmetric_is_fence(h, e) ? ref_symmetric_run(h, e)
	                                         : ref_comm_run(h, e);
	if (stays)
		return true;
	e->done = true;
	for (unsigned k = 0; k < e->channel->n; k++) {
		if (e->party[k].in)
			ref_buffer_release(e->party[k].in->buffer);
		if (e->party[k].out)
			ref_buffer_release(e->party[k].out->buffer);
		for (unsigned i = 0; i < e->party[k].more_n; i++)
			ref_buffer_release(e->party[k].more[i]->buffer);
	}
	return ok;
}

/* Notes that a member has reached an event. Runs the event, and on a communicator the ones after it, if all
 * members have reached them. A set waits for those alone that come to it. */
static bool event_reach(struct ref_host *h, struct ref_event *e, unsigned member)
{
	struct ref_channel *ch = e->channel;
	e->reached[member] = true;
	e->here++;
	if (ch->kind != REF_COLLECTIVE)
		return e->here < (ch->kind == REF_RESHARD ? coming_members(e) : ch->n) || event_run(h, e);
	while (ch->next < ch->event.n && ch->event.at[ch->next]->here == ch->n)
		if (!event_run(h, ch->event.at[ch->next++]))
			return false;
	return true;
}

static bool is_ready(const struct ref_rank *r, const struct ref_entry *e)
{
	if (e->kind == REF_SYNCHRONIZE)
		return r->stream.at[e->stream].head >= e->target;
	for (unsigned k = 0; e->kind == REF_WAIT && k < e->event_n; k++)
		if (!e->event[k]->done)
			return false;
	return true;
}

static bool run_entry(struct ref_host *h, const struct ref_rank *r, struct ref_entry *e)
{
	switch (e->kind) {
	case REF_COMPUTE:
		return run_compute(h, r, e);
	case REF_PACK:
		return ref_pack_run(h, r, e);
	case REF_START:
		return event_reach(h, e->event[0], e->member);
	case REF_DEALLOCATE:
		ref_buffer_release(e->out->buffer);
		if (e->out->kind == REF_VIEW_SYMMETRIC) {
			e->out->dead = true;
			return true;
		}
		e->out->buffer->dead = true;
		ref_array_free(&e->out->buffer->store);
		return true;
	default:
		return true;
	}
}

/* ---- deadlock */

enum { MOST_NAMED = 8 }; /* ranks that a message names */

/* Appends what is missing at an event, as the statement of one member: `allgather 'c', which rank 3 does not
 * reach`. */
static void describe_event(struct ref_host *h, const struct ref_event *e, unsigned member, struct buf *out)
{
	const struct ref_channel *ch = e->channel;
	const struct op *op = ir_op(h->c->m, e->party[member].op);
	buf_puts(out, op_info[op->kind].hir);
	if (op->name)
		buf_printf(out, " '%s'", names_text(h->c->m->names, op->name));
	if (e->here == ch->n)
		return;
	if (ch->kind == REF_P2P)
		buf_printf(out, ", whose %s rank ", member ? "send" : "recv");
	else
		buf_puts(out, ", which rank ");
	unsigned named = 0;
	for (unsigned k = 0; k < ch->n; k++)
		if (!e->reached[k] && named++ < MOST_NAMED)
			buf_printf(out, "%s%u", named > 1 ? ", " : "", (unsigned)ch->device[k]);
	buf_puts(out, named > MOST_NAMED ? " …" : "");
	buf_puts(out, e->here + 1 == ch->n ? " does not reach" : " do not reach");
}

/* Returns a member that has issued its part; prefers this device. */
static unsigned issued_member(const struct ref_event *e, int64_t device)
{
	unsigned found = 0;
	for (unsigned k = e->channel->n; k-- > 0;)
		if (e->party[k].op && (e->channel->device[k] == device || !e->party[found].op ||
		                       e->channel->device[found] != device))
			found = k;
	return found;
}

static void describe_entry(struct ref_host *h, const struct ref_rank *r, const struct ref_entry *e,
                           struct buf *out)
{
	if (e->kind == REF_SYNCHRONIZE) {
		const struct ref_stream *s = &r->stream.at[e->stream];
		if (s->number < 0)
			buf_puts(out, "waits for the initial stream");
		else
			buf_printf(out, "waits for stream %lld", (long long)s->number);
		return;
	}
	buf_puts(out, "waits for ");
	for (unsigned k = 0; k < e->event_n; k++)
		if (!e->event[k]->done) {
			describe_event(h, e->event[k], issued_member(e->event[k], r->device), out);
			return;
		}
}

static enum status report_deadlock(struct ref_host *h)
{
	unsigned notes = 0;
	diag_error(h->c->d, E_DEADLOCK, DIAG_NOWHERE, "deadlock: no rank can go on");
	for (int64_t k = 0; k < h->rank_n; k++)
		for (uint32_t s = 0; s < h->rank[k].stream.n; s++) {
			const struct ref_rank *r = &h->rank[k];
			const struct ref_stream *stream = &r->stream.at[s];
			struct buf text = {0};
			if (stream->head == stream->queue.n || notes++ >= MAX_NOTES)
				continue;
			const struct ref_entry *e = stream->queue.at[stream->head];
			buf_printf(&text, "rank %lld, ", (long long)r->device);
			if (stream->number < 0)
				buf_puts(&text, "initial stream: ");
			else
				buf_printf(&text, "stream %lld: ", (long long)stream->number);
			describe_entry(h, r, e, &text);
			diag_note(h->c->d, ir_op(h->c->m, e->op)->at, "%s", text.at);
			buf_free(&text);
		}
	if (notes > MAX_NOTES)
		diag_note(h->c->d, DIAG_NOWHERE, "%u more streams wait", notes - MAX_NOTES);
	return STATUS_STUCK;
}

/* Checks that events that nothing waits for are complete at the end, too. */
static enum status check_complete(struct ref_host *h)
{
	for (uint32_t k = 0; k < h->channel.n; k++)
		for (uint32_t i = 0; i < h->channel.at[k]->event.n; i++) {
			const struct ref_event *e = h->channel.at[k]->event.at[i];
			struct buf text = {0};
			if (e->done)
				continue;
			unsigned member = issued_member(e, -1);
			describe_event(h, e, member, &text);
			diag_error(h->c->d, E_DEADLOCK, ir_op(h->c->m, e->party[member].op)->at,
			           "the program ends before %s", text.at);
			buf_free(&text);
			return STATUS_STUCK;
		}
	return STATUS_OK;
}

static bool run_head(struct ref_host *h, const struct ref_rank *r, struct ref_stream *stream)
{
	struct ref_entry *e = stream->queue.at[stream->head];
	if (!run_entry(h, r, e))
		return false;
	e->done = true;
	stream->head++;
	return true;
}

/* Runs the entries of a rank in the order of issue, up to one that is not ready. */
static bool run_in_order(struct ref_host *h, struct ref_rank *r, bool *moved)
{
	for (; r->next < r->issued.n; r->next++) {
		struct ref_entry *e = r->issued.at[r->next];
		if (e->done)
			continue;
		if (!is_ready(r, e))
			return true;
		if (!run_head(h, r, &r->stream.at[e->queue]))
			return false;
		*moved = true;
	}
	return true;
}

/* Runs the first ready entry of a rank beside the one that is not ready. */
static bool run_beside(struct ref_host *h, struct ref_rank *r, bool *moved)
{
	struct ref_stream *first = NULL;
	for (uint32_t s = 0; s < r->stream.n; s++) {
		struct ref_stream *x = &r->stream.at[s];
		if (x->head < x->queue.n && is_ready(r, x->queue.at[x->head]) &&
		    (!first || x->queue.at[x->head]->number < first->queue.at[first->head]->number))
			first = x;
	}
	*moved = *moved || first;
	return !first || run_head(h, r, first);
}

enum status ref_queues_run(struct ref_host *h)
{
	for (bool left = true; left;) {
		bool moved = false;
		left = false;
		for (int64_t k = 0; k < h->rank_n; k++) {
			if (!run_in_order(h, &h->rank[k], &moved))
				return STATUS_DIAGNOSTICS;
			left = left || h->rank[k].next < h->rank[k].issued.n;
		}
		const bool all_wait = !moved;
		for (int64_t k = 0; k < h->rank_n && all_wait; k++)
			if (!run_beside(h, &h->rank[k], &moved))
				return STATUS_DIAGNOSTICS;
		if (left && !moved)
			return report_deadlock(h);
	}
	return check_complete(h);
}
