/* ref_meet: handles the steps where a rank meets others: collectives, messages, waits.
 *
 * Each becomes the next event of a channel: that of the team's slice, or of sender and receiver. The other
 * members find the same event by their own count. */
#include "ref/ref_issue.h"
#include <string.h>

static struct ref_entry *start_entry(struct ref_host *h, op_id op, struct ref_event *event, unsigned member,
                                     const struct ref_party *party)
{
	struct ref_entry *e = ref_issue_entry(h, REF_START, op);
	event->party[member] = *party;
	ref_issue_hold(party->in);
	ref_issue_hold(party->out);
	if (party->out)
		party->out->buffer->written = true;
	for (unsigned k = 0; k < party->more_n; k++) {
		ref_issue_hold(party->more[k]);
		if (k >= op_role_count(h->c->m, op, ROLE_READ))
			party->more[k]->buffer->written = true;
	}
	e->event = arena_new_array(h->arena, struct ref_event *, 1);
	e->event[0] = event;
	e->event_n = 1;
	e->member = member;
	return e;
}

static void push_wait(struct ref_host *h, struct ref_rank *r, op_id op, struct ref_event **event, unsigned n)
{
	struct ref_entry *e = ref_issue_entry(h, REF_WAIT, op);
	e->event = event;
	e->event_n = n;
	ref_issue_push(r, e);
}

static void keep_transfer(struct ref_rank *r, uint32_t number, struct ref_transfer t)
{
	while (r->transfer.n <= number)
		vec_push(&r->transfer, (struct ref_transfer){0});
	r->transfer.at[number] = t;
}

bool ref_meet_collective(struct ref_host *h, struct ref_rank *r, const struct step *s)
{
	struct module *m = h->c->m;
	op_id op = s->op;
	const struct op *o = ir_op(m, op);
	struct ref_party party = {.op = op, .root = -1, .send_peer = -1, .recv_peer = -1};
	struct membership me;
	party.in = ref_bind_find(h, r, op_read(m, op, 0), op);
	if (!party.in || !ref_bind_result(h, r, op, 0, &party.out))
		return false;
	if (!o->team) {
		diag_error(h->c->d, E_PEER, o->at, "the devices of the team are not known");
		return false;
	}
	bool here = walk_membership(&h->walk_program, o->team, r->device, &me);
	struct ref_transfer t = {0};
	if (here) {
		if (op_info[o->kind].traits & TRAIT_ROOTED && !ref_issue_scalar(h, r, op, 0, &party.root))
			return false;
		if (o->kind == OP_COLLECTIVE_PERMUTE && (!ref_issue_scalar(h, r, op, 0, &party.send_peer) ||
		                                         !ref_issue_scalar(h, r, op, 1, &party.recv_peer)))
			return false;
		ref_bind_chunk(h, r, op, 0, party.out, party.in);
		struct ref_channel *ch =
		    ref_channel_get(h, REF_COLLECTIVE, op_backend(m, op), me.device, me.n);
		struct ref_event *event = ref_event_next(h, ch, me.member);
		struct ref_entry *e = start_entry(h, op, event, me.member, &party);
		if (o->flags & OP_GROUPED)
			vec_push(&r->group, e);
		else
			ref_issue_push(r, e);
		t.event_n = 1;
		t.event = e->event;
	}
	if (o->flags & OP_GROUPED)
		return true;
	if (o->flags & OP_ASYNC)
		keep_transfer(r, s->transfer, t);
	else if (here)
		push_wait(h, r, op, t.event, 1);
	return true;
}

struct ref_event *ref_meet_fence(struct ref_host *h, struct ref_rank *r, op_id op, team_id team,
                                 struct ref_view *of)
{
	struct ref_party party = {.op = op, .root = -1, .send_peer = -1, .recv_peer = -1, .in = of};
	struct membership me;
	if (!walk_membership(&h->walk_program, team, r->device, &me))
		return NULL;
	struct ref_channel *ch = ref_channel_get(h, REF_COLLECTIVE, 0, me.device, me.n);
	struct ref_entry *e = start_entry(h, op, ref_event_next(h, ch, me.member), me.member, &party);
	ref_issue_push(r, e);
	push_wait(h, r, op, e->event, 1);
	return e->event[0];
}

/* Returns true if two ranks meet at a set that needs elements of ranks along some mesh axes. */
static bool meets_rank(struct ref_host *h, op_id op, unsigned axes, int64_t rank, int64_t other)
{
	struct module *m = h->c->m;
	mesh_id from = value_type(m, op_read(m, op, 0))->mesh, to = value_type(m, op_result(m, op, 0))->mesh;
	int64_t count;
	if (axes == REF_BOTH_MESHES)
		return ref_mesh_has(m, from, other) || ref_mesh_has(m, to, other);
	return ref_mesh_has(m, from, other) && ref_combination(ir_mesh(m, from), rank, ~axes, &count) ==
	                                           ref_combination(ir_mesh(m, from), other, ~axes, &count);
}

/* A set that needs elements of ranks along some mesh axes. Branches of one condition may each have such a set: the
 * next ones of all members are one event. */
bool ref_meet_reshard(struct ref_host *h, struct ref_rank *r, op_id op, unsigned axes)
{
	struct module *m = h->c->m;
	mesh_id from = value_type(m, op_read(m, op, 0))->mesh, to = value_type(m, op_result(m, op, 0))->mesh;
	struct ref_party party = {.op = op, .root = -1, .send_peer = -1, .recv_peer = -1};
	uint32_t *device = arena_new_array(h->arena, uint32_t, h->rank_n);
	unsigned n = 0, member = 0;
	party.in = ref_bind_find(h, r, op_read(m, op, 0), op);
	if (!party.in || !ref_bind_result(h, r, op, 0, &party.out))
		return false;
	if (!ref_mesh_has(m, from, r->device) && !ref_mesh_has(m, to, r->device))
		return true;
	for (int64_t k = 0; k < h->rank_n; k++)
		if (meets_rank(h, op, axes, r->device, k)) {
			member = k == r->device ? n : member;
			device[n++] = (uint32_t)k;
		}
	ref_bind_chunk(h, r, op, 0, party.out, party.in);
	struct ref_event *event = ref_event_next(h, ref_channel_get(h, REF_RESHARD, 0, device, n), member);
	struct ref_entry *e = start_entry(h, op, event, member, &party);
	ref_issue_push(r, e);
	push_wait(h, r, op, e->event, 1);
	return true;
}

/* A dispatch or combine: all ranks of its mesh meet. */
bool ref_meet_experts(struct ref_host *h, struct ref_rank *r, op_id op)
{
	struct module *m = h->c->m;
	mesh_id mesh = value_type(m, op_result(m, op, 0))->mesh;
	struct ref_party party = {.op = op, .root = -1, .send_peer = -1, .recv_peer = -1};
	uint32_t *device = arena_new_array(h->arena, uint32_t, h->rank_n);
	unsigned reads = op_role_count(m, op, ROLE_READ), results = op_result_count(m, op), n = 0, member = 0;
	party.more = arena_new_array(h->arena, struct ref_view *, reads + results);
	for (unsigned k = 0; k < reads; k++)
		if (!(party.more[k] = ref_bind_find(h, r, op_read(m, op, k), op)))
			return false;
	for (unsigned k = 0; k < results; k++)
		if (!ref_bind_result(h, r, op, k, &party.more[reads + k]))
			return false;
	party.more_n = reads + results;
	if (!ref_mesh_has(m, mesh, r->device))
		return true;
	for (int64_t k = 0; k < h->rank_n; k++)
		if (ref_mesh_has(m, mesh, k)) {
			member = k == r->device ? n : member;
			device[n++] = (uint32_t)k;
		}
	struct ref_event *event = ref_event_next(h, ref_channel_get(h, REF_EXPERTS, 0, device, n), member);
	struct ref_entry *e = start_entry(h, op, event, member, &party);
	ref_issue_push(r, e);
	push_wait(h, r, op, e->event, 1);
	return true;
}

/* Sends or receives, as a transfer or as a part of the open group. party->root: the other device. */
static bool start_transfer(struct ref_host *h, struct ref_rank *r, const struct step *s,
                           const struct ref_party *party)
{
	op_id op = s->of;
	bool send = ir_op(h->c->m, op)->kind == OP_SEND;
	if (party->root < 0 || party->root >= h->rank_n) {
		diag_error(h->c->d, E_PEER, ref_issue_at(h, op),
		           "the peer of rank %lld is %lld, there are %lld ranks", (long long)r->device,
		           (long long)party->root, (long long)h->rank_n);
		return false;
	}
	uint32_t peer = (uint32_t)party->root, self = (uint32_t)r->device;
	uint32_t device[2] = {send ? self : peer, send ? peer : self};
	struct ref_channel *ch = ref_channel_get(h, REF_P2P, op_backend(h->c->m, op), device, 2);
	struct ref_entry *e = start_entry(h, op, ref_event_next(h, ch, !send), !send, party);
	if (s->transfer == WALK_NONE) {
		vec_push(&r->group, e);
		return true;
	}
	ref_issue_push(r, e);
	keep_transfer(r, s->transfer, (struct ref_transfer){.event_n = 1, .event = e->event});
	return true;
}

bool ref_meet_message(struct ref_host *h, struct ref_rank *r, const struct step *s)
{
	struct module *m = h->c->m;
	bool send = ir_op(m, s->of)->kind == OP_SEND;
	if (s->op != s->of)
		return start_transfer(h, r, s, &r->posted[s->of]);
	struct ref_party party = {.op = s->of, .root = s->peer};
	struct ref_view *v = ref_bind_find(h, r, send ? op_read(m, s->of, 0) : op_write(m, s->of, 0), s->of);
	if (!v)
		return false;
	*(send ? &party.in : &party.out) = v;
	if (s->kind == STEP_MESSAGE)
		return start_transfer(h, r, s, &party);
	r->posted[s->of] = party;
	return true;
}

void ref_meet_absent(struct ref_rank *r, const struct step *s)
{
	if (s->transfer != WALK_NONE)
		keep_transfer(r, s->transfer, (struct ref_transfer){0});
}

void ref_meet_end_group(struct ref_host *h, struct ref_rank *r, const struct step *s)
{
	struct ref_transfer t = {.event_n = r->group.n,
	                         .event = arena_new_array(h->arena, struct ref_event *, r->group.n)};
	for (uint32_t k = 0; k < r->group.n; k++) {
		ref_issue_push(r, r->group.at[k]);
		t.event[k] = r->group.at[k]->event[0];
	}
	r->group.n = 0;
	keep_transfer(r, s->transfer, t);
}

void ref_meet_wait(struct ref_host *h, struct ref_rank *r, const struct step *s)
{
	const struct ref_transfer t = r->transfer.at[s->transfer];
	if (t.event_n)
		push_wait(h, r, s->op, t.event, t.event_n);
}

bool ref_meet_missing(struct ref_host *h, const struct ref_rank *r, const struct step *s)
{
	bool posts = ir_op(h->c->m, s->op)->kind == OP_POST;
	diag_error(h->c->d, E_WAIT_NOTHING, ref_issue_at(h, s->op),
	           posts ? "rank %lld has not come to the statement that is posted"
	                 : "rank %lld has nothing to wait for here",
	           (long long)r->device);
	diag_note(h->c->d, ref_issue_at(h, s->of),
	          posts ? "it stands here" : "every start of this statement was waited for");
	return false;
}
