/* sim_chakra_comm: see sim_chakra_comm.h. */
#include "sim/sim_chakra_comm.h"
#include "cost/block.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include <inttypes.h>
#include <string.h>

static op_id first_op(const struct chakra_comms *k, op_id op)
{
	struct module *m = k->t->m;
	return m->op.at[op].kind == OP_END_COALESCING ? ir_coalesce_first(m, op) : op;
}

/* Returns the name of the collective that stands for a statement: tokens go to experts and back by an all_to_all, and a
 * buffer to the other rank of a team of two by a broadcast. */
static const char *type_of(enum op_kind kind)
{
	bool exchanges = kind == OP_ALL_TO_ALLV || kind == OP_DISPATCH || kind == OP_COMBINE;
	return op_info[exchanges ? OP_ALL_TO_ALL : kind == OP_SEND_RECV ? OP_BROADCASTS : kind].hir;
}

/* Returns the schema's number of a collective; -1: it has none. */
static int number_of(enum op_kind kind)
{
#define ROW(number, name)                                                                                    \
	if (!strcmp(type_of(kind), name))                                                                    \
		return number;
	CHAKRA_COLLECTIVES(ROW)
#undef ROW
	return -1;
}

/* Returns the bytes of the operands of a communication, or of those of a group that start together. */
static int64_t operand_bytes(const struct chakra_comms *k, op_id op)
{
	const struct module *m = k->t->m;
	int64_t bytes = op_attr_int(m, op, "in_bytes", -1);
	if (bytes >= 0)
		return bytes;
	bytes = 0;
	if (m->op.at[op].kind == OP_END_COALESCING) {
		coalesce_each (m, member, op)
			bytes += operand_bytes(k, member);
		return bytes;
	}
	for (unsigned i = 0; i < op_role_count(m, op, ROLE_READ); i++)
		bytes += block_bytes(m, op_read(m, op, i));
	return bytes;
}

/* ---- groups */

/* Makes a name that JSON in a Python string can hold, and that no other group has. */
static const char *name_group(const struct chakra_comms *k, const char *text)
{
	struct buf name = {0};
	buf_puts(&name, *text ? text : "ranks");
	for (size_t i = 0; i < name.n; i++)
		if (strchr("\"'\\{}[],:", name.at[i]) || (unsigned char)name.at[i] <= ' ' ||
		    (unsigned char)name.at[i] >= 0x7f)
			name.at[i] = '_';
	for (uint32_t i = 0; i < k->group.n; i++)
		if (!strcmp(k->group.at[i].name, name.at)) {
			buf_printf(&name, "_%u", k->group.n);
			i = UINT32_MAX; /* begin again */
		}
	const char *made = arena_strndup(k->t->arena, name.at, name.n);
	buf_free(&name);
	return made;
}

/* Finds the group of a communication. Recorded ones state it; others are known by their lane, and messages by their
 * backend. copy: messages that run beside others of the same two ranks are of another group with the same ranks. */
static uint32_t find_group(struct chakra_comms *k, const struct timeline_span *s, op_id op, uint32_t copy)
{
	enum { OF_LANE, OF_RECORDING, OF_MESSAGES };
	struct module *m = k->t->m;
	group_id recorded = op_group(m, op);
	bool message = s->kind == TIMELINE_MESSAGE;
	name_id backend = message ? op_backend(m, op) : 0;
	uint64_t key = recorded  ? (uint64_t)recorded << 2 | OF_RECORDING
	               : message ? (uint64_t)backend << 2 | OF_MESSAGES
	                         : (uint64_t)s->lane << 2 | OF_LANE;
	for (uint32_t i = 0; i < k->group.n; i++)
		if (k->group.at[i].key == key && k->group.at[i].copy == copy)
			return i;
	const char *text = recorded  ? names_text(m->names, m->group.at[recorded].name)
	                   : backend ? arena_printf(k->t->arena, "messages_%s", names_text(m->names, backend))
	                             : k->c->lane.at[s->lane].name;
	const char *name = name_group(k, text);
	vec_push(&k->group, ((struct chakra_group_name){key, copy, name, message && !recorded ? 0 : op}));
	return k->group.n - 1;
}

/* Puts `{"pg_name": "g0", "ranks": [0, 1], "group_size": 2}`. */
static void put_group(const struct chakra_comms *k, const struct chakra_group_name *g, struct buf *out)
{
	const struct module *m = k->t->m;
	group_id group = g->op ? op_group(m, g->op) : 0;
	team_id team = group ? m->group.at[group].members : g->op ? m->op.at[g->op].team : 0;
	const struct team *t = team ? ir_team(m, team) : NULL;
	uint32_t from = 0, to = t ? t->device_n : 0;
	for (uint32_t s = 0; t && s < t->slice_n; s++)
		for (uint32_t i = t->start[s]; i < t->start[s + 1]; i++)
			if (t->device[i] == k->rank) {
				from = t->start[s];
				to = t->start[s + 1];
			}
	buf_printf(out, "{\"pg_name\": \"%s\", \"ranks\": [", g->name);
	for (uint32_t i = from; i < to; i++)
		buf_printf(out, "%s%u", i > from ? ", " : "", t->device[i]);
	int64_t size = t ? to - from : group ? m->group.at[group].size : g->op ? 1 : k->t->ranks;
	buf_printf(out, "], \"group_size\": %" PRId64 "}", size);
}

const char *sim_chakra_groups(struct chakra_comms *k)
{
	struct buf list = {0};
	for (uint32_t i = 0; i < k->group.n; i++) {
		buf_puts(&list, i ? ", " : "");
		put_group(k, &k->group.at[i], &list);
	}
	for (uint32_t i = 0; i < k->channel.n; i++)
		k->channel.at[i].end = 0;
	const char *values = list.n ? arena_printf(k->t->arena, "['[%s]']", list.at) : NULL;
	buf_free(&list);
	return values;
}

/* ---- channels and parts */

static uint32_t find_channel(struct chakra_comms *k, uint32_t group, enum chakra_kind kind, int64_t peer)
{
	for (uint32_t i = 0; i < k->channel.n; i++)
		if (k->channel.at[i].group == group && k->channel.at[i].kind == kind &&
		    k->channel.at[i].peer == peer)
			return i;
	vec_push(&k->channel, ((struct chakra_channel){group, kind, peer, 0}));
	return k->channel.n - 1;
}

/* Returns true if the communication has a part on a channel, and adds the bytes to it. */
static bool add_bytes(struct chakra_comms *k, uint32_t channel, int64_t bytes)
{
	for (uint32_t i = 0; i < k->part.n; i++)
		if (k->part.at[i].channel == channel) {
			k->part.at[i].bytes += bytes;
			return true;
		}
	return false;
}

/* Adds a message on the first channel that is free. Permutes to one peer that start together are one message. */
static void add_message(struct chakra_comms *k, const struct timeline_span *s, enum chakra_kind kind,
                        int64_t peer, struct chakra_part part)
{
	for (uint32_t copy = 0;; copy++) {
		part.channel = find_channel(k, find_group(k, s, part.op, copy), kind, peer);
		if (add_bytes(k, part.channel, part.bytes))
			return;
		if (k->channel.at[part.channel].end <= s->begin)
			break;
	}
	vec_push(&k->part, part);
}

static void add_peers(struct chakra_comms *k, const struct timeline_span *s)
{
	const struct timeline_class *c = k->c;
	uint32_t low = 0, high = c->peer.n;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (c->peer.at[middle].task < s->task)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < c->peer.n && c->peer.at[low].task == s->task; low++) {
		const struct timeline_peer *x = &c->peer.at[low];
		int64_t bytes = operand_bytes(k, x->op);
		struct chakra_part part = {
		    .op = x->op, .bytes = bytes ? bytes : s->bytes, .tag = x->tag, .collective = -1};
		if (x->to >= 0)
			add_message(k, s, CHAKRA_COMM_SEND, x->to, part);
		if (x->from >= 0)
			add_message(k, s, CHAKRA_COMM_RECV, x->from, part);
	}
}

static bool is_send(const struct chakra_comms *k, op_id op)
{
	const struct attr *kind = op_attr(k->t->m, op, "kind");
	return kind && kind->kind == ATTR_NAME &&
	       op_by_hir(names_text(k->t->m->names, kind->u.name)) == OP_SEND;
}

/* Returns the peer of a recorded message; -1: it is not stated. Ranks of a class send to ranks at the same distance. */
static int64_t recorded_peer(const struct chakra_comms *k, op_id op)
{
	int64_t peer = op_attr_int(k->t->m, op, "peer", -1);
	return peer >= 0 && k->c->ranks.n ? peer + k->rank - k->c->ranks.at[0].first : peer;
}

static void add_recorded(struct chakra_comms *k, const struct timeline_span *s)
{
	const struct chakra_part part = {.op = s->op,
	                                 .bytes = operand_bytes(k, s->op),
	                                 .tag = op_attr_int(k->t->m, s->op, "tag", -1),
	                                 .collective = -1};
	add_message(k, s, is_send(k, s->op) ? CHAKRA_COMM_SEND : CHAKRA_COMM_RECV, recorded_peer(k, s->op),
	            part);
}

/* Returns true if a statement, or a group that starts together, is nothing but permutes. *some: it has one. */
static bool permutes(const struct chakra_comms *k, op_id op, bool *some)
{
	const struct module *m = k->t->m;
	bool all = true;
	*some = false;
	if (m->op.at[op].kind != OP_END_COALESCING) {
		all = *some = m->op.at[op].kind == OP_COLLECTIVE_PERMUTE;
		return all;
	}
	coalesce_each (m, member, op) {
		bool one = m->op.at[member].kind == OP_COLLECTIVE_PERMUTE;
		*some |= one;
		all &= one || op_traits(m, member) & TRAIT_P2P;
	}
	return all && *some;
}

static bool add_collective(struct chakra_comms *k, const struct timeline_span *s, bool mixed)
{
	struct module *m = k->t->m;
	op_id op = first_op(k, s->op);
	enum op_kind kind = block_collective(m, op);
	kind = kind == OP_NONE ? (enum op_kind)m->op.at[op].kind : kind;
	struct chakra_part part = {
	    .op = op, .bytes = operand_bytes(k, s->op), .tag = -1, .collective = number_of(kind)};
	if (mixed) {
		diag_error(
		    k->d, E_SIM_LIMIT, m->op.at[s->op].at,
		    "execution traces have no collectives and permutes that start together: export a program "
		    "that starts them one by one");
		return false;
	}
	if (part.collective < 0) {
		diag_error(k->d, E_SIM_LIMIT, m->op.at[s->op].at,
		           "execution traces have no '%s': export a program without it", op_info[kind].hir);
		return false;
	}
	part.channel = find_channel(k, find_group(k, s, op, 0), CHAKRA_COMM_COLL, -1);
	vec_push(&k->part, part);
	return true;
}

bool sim_chakra_find_parts(struct chakra_comms *k, const struct timeline_span *s)
{
	bool some;
	k->part.n = 0;
	if (s->kind == TIMELINE_MESSAGE && k->t->recorded)
		add_recorded(k, s);
	else if (s->kind == TIMELINE_MESSAGE || permutes(k, s->op, &some))
		add_peers(k, s);
	else
		return add_collective(k, s, some);
	return true;
}

bool sim_chakra_begins_at_issue(const struct chakra_comms *k, int64_t begin)
{
	for (uint32_t i = 0; i < k->part.n; i++)
		if (begin > k->channel.at[k->part.at[i].channel].end)
			return true;
	return false;
}

void sim_chakra_take_channels(struct chakra_comms *k, int64_t end)
{
	for (uint32_t i = 0; i < k->part.n; i++)
		k->channel.at[k->part.at[i].channel].end = end;
}

static void describe_message(const struct chakra_comms *k, enum chakra_kind kind, int64_t peer, int64_t tag,
                             int64_t bytes, struct chakra_draft *n)
{
	bool sends = kind == CHAKRA_COMM_SEND;
	n->kind = kind;
	sim_chakra_add_int(n, "comm_size", bytes);
	sim_chakra_add_int(n, sends ? "comm_src" : "comm_dst", k->rank);
	if (peer >= 0)
		sim_chakra_add_int(n, sends ? "comm_dst" : "comm_src", peer);
	if (tag >= 0)
		sim_chakra_add_int(n, "comm_tag", tag);
}

void sim_chakra_describe_part(const struct chakra_comms *k, const struct chakra_part *part,
                              struct chakra_draft *n)
{
	const struct chakra_channel *ch = &k->channel.at[part->channel];
	if (ch->kind == CHAKRA_COMM_COLL) {
		n->kind = CHAKRA_COMM_COLL;
		sim_chakra_add_int(n, "comm_type", part->collective);
		sim_chakra_add_int(n, "comm_size", part->bytes);
	} else {
		describe_message(k, ch->kind, ch->peer, part->tag, part->bytes, n);
	}
	sim_chakra_add_text(n, "pg_name", k->group.at[ch->group].name);
}

bool sim_chakra_describe_message(const struct chakra_comms *k, op_id op, struct chakra_draft *n)
{
	const struct attr *kind = k->t->m->op.at[op].kind == OP_EXTERN ? op_attr(k->t->m, op, "kind") : NULL;
	enum op_kind is =
	    kind && kind->kind == ATTR_NAME ? op_by_hir(names_text(k->t->m->names, kind->u.name)) : OP_NONE;
	if (is != OP_SEND && is != OP_RECV)
		return false;
	describe_message(k, is == OP_SEND ? CHAKRA_COMM_SEND : CHAKRA_COMM_RECV, recorded_peer(k, op),
	                 op_attr_int(k->t->m, op, "tag", -1), operand_bytes(k, op), n);
	return true;
}

void sim_chakra_free_comms(struct chakra_comms *k)
{
	vec_free(&k->group);
	vec_free(&k->channel);
	vec_free(&k->part);
}
