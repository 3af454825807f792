/* valuation_meet: collectives and messages.
 *
 * The k-th statement of each member of a team is one meeting. It is done when the last member arrives: then the
 * facts of the given elements are written to the receivers. A rank that waits for a meeting stands still until
 * it is done. `check` has proved that nothing else touches these elements between the start and the wait.
 */
#include "ir/expr.h"
#include "ir/keeps_index.h"
#include "values/valuation.h"
#include <string.h>

/* ---- meetings */

static struct value_channel *get_channel(struct valuation *v, const struct value_channel *x)
{
	const uint32_t key[] = {x->slice, x->backend, x->ends[0], x->ends[1], x->tag};
	struct hash_probe p = {.hash = hash_block(0, key, sizeof key)};
	for (uint32_t k; (k = hash_next(&v->channels, &p));) {
		struct value_channel *o = &v->channel.at[k];
		if (o->slice == x->slice && o->backend == x->backend && o->ends[0] == x->ends[0] &&
		    o->ends[1] == x->ends[1] && o->tag == x->tag)
			return o;
	}
	struct value_channel new = *x;
	new.count = arena_new_array(v->arena, uint32_t, x->n);
	vec_push(&v->channel, new);
	hash_insert(&v->channels, p.hash, v->channel.n - 1);
	return &v->channel.at[v->channel.n - 1];
}

static void complete(struct valuation *v, struct value_meeting *x);

/* Adds a member to its next meeting on a channel. Returns the meeting. */
static uint32_t arrive(struct valuation *v, const struct value_channel *key, uint32_t member,
                       const struct value_party *party)
{
	struct value_channel *c = get_channel(v, key);
	const uint32_t k = c->count[member]++;
	while (k >= c->entry.n) {
		vec_push(&v->meeting, (struct value_meeting){.n = c->n});
		v->meeting.at[v->meeting.n - 1].party = mem_zalloc(sizeof(struct value_party) * c->n);
		vec_push(&c->entry, v->meeting.n - 1);
	}
	const uint32_t number = c->entry.at[k];
	struct value_meeting *x = &v->meeting.at[number];
	x->party[member] = *party;
	x->party[member].here = true;
	value_view_use(v, &party->in, 1);
	value_view_use(v, &party->out, 1);
	if (++x->arrived < x->n)
		return number;
	complete(v, x);
	for (uint32_t i = 0; i < x->n; i++) {
		value_view_use(v, &x->party[i].in, -1);
		value_view_use(v, &x->party[i].out, -1);
	}
	free(x->party);
	x->party = NULL;
	x->done = true;
	return number;
}

void value_meet_free(struct valuation *v)
{
	for (uint32_t k = 0; k < v->meeting.n; k++)
		free(v->meeting.at[k].party);
	for (uint32_t k = 0; k < v->channel.n; k++)
		vec_free(&v->channel.at[k].entry);
	vec_free(&v->meeting);
	vec_free(&v->channel);
	hash_table_free(&v->channels);
}

/* ---- the end of a meeting */

/* Members of a symmetric view see each other's buffers from here on. */
static void complete_fence(struct valuation *v, struct value_meeting *m)
{
	struct value_symmetric s = {.n = m->n};
	s.storage = arena_new_array(v->arena, uint32_t, m->n);
	s.part = arena_new_array(v->arena, const struct part *, m->n);
	for (unsigned k = 0; k < m->n; k++) {
		if (v->m->op.at[m->party[k].op].kind != OP_SYMMETRIC_VIEW)
			return;
		s.storage[k] = m->party[k].in.storage;
		s.part[k] = m->party[k].in.part;
	}
	vec_push(&v->symmetric, s);
	for (unsigned k = 0; k < m->n; k++) {
		struct value_rank *r = &v->rank[m->party[k].rank];
		struct value_view *x = value_view_new(r, op_def(v->m, m->party[k].op, 0));
		*x = m->party[k].in;
		x->type = v->m->value.at[op_def(v->m, m->party[k].op, 0)].type;
		x->symmetric = v->symmetric.n - 1;
		x->is_all = false;
		value_view_place(r, x);
		const struct domain *d = ir_domain(v->m, ir_type(v->m, x->type)->domain);
		x->unknown |= d->logical_n > d->rank && d->axis[d->rank].kind == AXIS_PARTIAL;
	}
}

static void complete(struct valuation *v, struct value_meeting *x)
{
	const enum op_kind kind = (enum op_kind)v->m->op.at[x->party[0].op].kind;
	switch (kind) {
	case OP_SYMMETRIC_VIEW:
	case OP_DEALLOCATE:
		complete_fence(v, x);
		return;
	case OP_DISPATCH:
	case OP_COMBINE:
		value_experts(v, x);
		return;
	case OP_SET:
		value_exchange_reshard(v, x);
		return;
	default:
		value_exchange(v, x, kind);
	}
}

/* ---- statements */

static void keep_transfer(struct value_rank *r, uint32_t number, uint32_t meeting)
{
	if (number == WALK_NONE)
		return;
	while (r->transfer.n <= number)
		vec_push(&r->transfer, (struct value_transfer){0});
	r->transfer.at[number].meeting.n = 0;
	if (meeting)
		vec_push(&r->transfer.at[number].meeting, meeting);
}

static void wait_here(struct value_rank *r, uint32_t meeting)
{
	if (meeting && !r->v->meeting.at[meeting].done)
		vec_push(&r->waits, meeting);
}

void value_meet_and_wait(struct value_rank *r, const struct value_channel *key, uint32_t member,
                         const struct value_party *party)
{
	wait_here(r, arrive(r->v, key, member, party));
}

/* A collective on one logical rank: the result is the operand. */
static void copy_logically(struct value_rank *r, op_id op)
{
	const struct value_view *in = value_view_get(r, op_read(r->v->m, op, 0)),
	                        *out = value_view_get(r, op_result(r->v->m, op, 0));
	struct contents found = {0};
	if (in->unknown || out->unknown || !ir_keeps_index(r->v->m, op, op) ||
	    r->v->m->op.at[op].kind == OP_COLLECTIVE_PERMUTE) {
		value_trust(r->v, op);
		value_view_write_unknown(r->v, out);
		return;
	}
	value_view_read(r->v, in, false, &found);
	for (uint32_t k = 0; k < found.cell.n; k++)
		value_view_write(r->v, out, found.cell.at[k].axis, found.cell.at[k].fact);
	vec_free(&found.cell);
}

void value_meet_collective(struct value_rank *r, const struct step *s)
{
	struct valuation *v = r->v;
	const op_id op = s->op;
	const struct op *o = &v->m->op.at[op];
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1};
	struct membership me;
	uint32_t meeting = 0;
	if (o->def_n)
		value_view_make(r, op_result(v->m, op, 0));
	if (v->is_logical) {
		copy_logically(r, op);
		return;
	}
	if (walk_membership(&v->program, o->team, r->rank, &me)) {
		if (op_info[o->kind].traits & TRAIT_ROOTED &&
		    !walk_scalar(&r->walker, op, 0, WALK_ANY, &p.root))
			r->failed = true;
		if (o->kind == OP_COLLECTIVE_PERMUTE && !walk_scalar(&r->walker, op, 1, WALK_ANY, &p.peer))
			r->failed = true;
		value_view_bind_by_operands(r, op, op_result(v->m, op, 0));
		if (!op_root_gives((enum op_kind)o->kind) || p.root == me.member)
			value_view_check_written(r, op, op_read(v->m, op, 0));
		p.in = *value_view_get(r, op_read(v->m, op, 0));
		p.out = *value_view_get(r, op_result(v->m, op, 0));
		const struct value_channel key = {
		    .slice = me.slice, .backend = op_backend(v->m, op), .n = me.n};
		if (!r->failed)
			meeting = arrive(v, &key, me.member, &p);
	}
	if (o->flags & OP_GROUPED) {
		if (meeting)
			vec_push(&r->group, meeting);
	} else if (o->flags & OP_ASYNC) {
		keep_transfer(r, s->transfer, meeting);
	} else {
		wait_here(r, meeting);
	}
}

void value_meet_experts(struct value_rank *r, const struct step *s)
{
	struct valuation *v = r->v;
	const op_id op = s->op;
	const unsigned reads = op_role_count(v->m, op, ROLE_READ), results = op_result_count(v->m, op);
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1};
	struct membership me = {.n = 1};
	struct value_view *more = arena_new_array(v->arena, struct value_view, reads + results);
	p.in.storage = p.out.storage = VALUE_NONE;
	for (unsigned k = 0; k < results && v->m->op.at[op].def_n; k++)
		value_view_make(r, op_result(v->m, op, k));
	for (unsigned k = 0; k < reads; k++)
		more[k] = *value_view_get(r, op_read(v->m, op, k));
	for (unsigned k = 0; k < results; k++)
		more[reads + k] = *value_view_get(r, op_result(v->m, op, k));
	p.more = more;
	const team_id team = v->is_logical ? 0 : infer_experts_team(v->m, op);
	if (team && !walk_membership(&v->program, team, r->rank, &me))
		return;
	if (!team) {
		struct value_meeting alone = {.n = 1, .party = &p};
		value_experts(v, &alone);
		return;
	}
	const struct value_channel key = {.slice = me.slice, .tag = VALUE_EXPERTS, .n = me.n};
	uint32_t meeting = arrive(v, &key, me.member, &p);
	if (v->m->op.at[op].flags & OP_ASYNC)
		keep_transfer(r, s->transfer, meeting);
	else
		wait_here(r, meeting);
}

static void issue_message(struct value_rank *r, const struct value_party *p, uint32_t transfer)
{
	struct valuation *v = r->v;
	const bool send = v->m->op.at[p->op].kind == OP_SEND;
	const uint32_t peer = (uint32_t)p->peer;
	if (p->peer < 0 || p->peer >= v->rank_n) {
		r->failed = true;
		return;
	}
	struct value_channel key = {.backend = op_backend(v->m, p->op), .n = 2};
	struct value_party party = *p;
	key.ends[send ? 0 : 1] = r->rank;
	key.ends[send ? 1 : 0] = peer;
	party.peer = 0; /* the sender */
	uint32_t meeting = arrive(v, &key, !send, &party);
	if (transfer == WALK_NONE)
		vec_push(&r->group, meeting);
	else
		keep_transfer(r, transfer, meeting);
}

static struct value_party read_message(struct value_rank *r, const struct step *s)
{
	struct module *m = r->v->m;
	const bool send = m->op.at[s->of].kind == OP_SEND;
	struct value_party p = {.op = s->of, .rank = r->rank, .root = -1, .peer = s->peer};
	p.in.storage = p.out.storage = VALUE_NONE;
	if (send)
		value_view_check_written(r, s->of, op_read(m, s->of, 0));
	if (send)
		p.in = *value_view_get(r, op_read(m, s->of, 0));
	else
		p.out = *value_view_get(r, op_write(m, s->of, 0));
	return p;
}

void value_meet_prepare(struct value_rank *r, const struct step *s)
{
	r->posted[s->of] = read_message(r, s);
}

void value_meet_message(struct value_rank *r, const struct step *s)
{
	struct value_party p = s->op != s->of ? r->posted[s->of] : read_message(r, s);
	issue_message(r, &p, s->transfer);
}

void value_meet_absent(struct value_rank *r, const struct step *s)
{
	keep_transfer(r, s->transfer, 0);
}

void value_meet_end_group(struct value_rank *r, const struct step *s)
{
	keep_transfer(r, s->transfer, 0);
	for (uint32_t k = 0; k < r->group.n; k++)
		vec_push(&r->transfer.at[s->transfer].meeting, r->group.at[k]);
	r->group.n = 0;
}

void value_meet_wait(struct value_rank *r, const struct step *s)
{
	struct value_transfer *t = &r->transfer.at[s->transfer];
	for (uint32_t k = 0; k < t->meeting.n; k++)
		wait_here(r, t->meeting.at[k]);
}

void value_meet_fence(struct value_rank *r, op_id op, team_id team, const struct value_view *of,
                      uint32_t *meeting)
{
	struct membership me;
	struct value_party p = {.op = op, .rank = r->rank, .root = -1, .peer = -1, .in = *of};
	p.out.storage = VALUE_NONE;
	*meeting = 0;
	if (!walk_membership(&r->v->program, team, r->rank, &me))
		return;
	const struct value_channel key = {.slice = me.slice, .n = me.n};
	*meeting = arrive(r->v, &key, me.member, &p);
	wait_here(r, *meeting);
}
