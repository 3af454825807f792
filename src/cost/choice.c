/* choice: see choice.h. */
#include "cost/choice.h"
#include "cost/model.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include <stdlib.h>
#include <string.h>

enum { CHUNKS = 4 };

struct choosing {
	const struct cost *c;
	struct arena *arena;
	struct cost_choice *out;
	enum collective kind;
	team_id team; /* 0: it is a message */
	struct links_team t;
	int64_t excess; /* ns of the statement beyond the collective */
};

static int64_t time_of(const struct choosing *k, enum collective kind, int64_t bytes)
{
	return collective_time(k->c, kind, &k->t, bytes);
}

static void add_alternative(struct choosing *k, const char *name, const char *option, int64_t time)
{
	struct cost_choice *o = k->out;
	if (o->n == COST_ALTERNATIVES)
		return;
	o->other[o->n++] = (struct cost_alternative){name, option, curve_add(time, k->excess)};
}

static int64_t repeat_time(int64_t n, int64_t time)
{
	return time && n > CLUSTER_MAX_TIME / time ? CLUSTER_MAX_TIME : n * time;
}

/* ---- other ways to do the same */

static void add_messages(struct choosing *k, int64_t blocks, int64_t bytes)
{
	const char *name = "a message";
	if (blocks > 1)
		name = arena_printf(k->arena, "%lld messages, one by one", (long long)blocks);
	add_alternative(k, name, NULL, repeat_time(blocks, time_of(k, COLLECTIVE_SEND_RECV, bytes)));
}

static void add_pair(struct choosing *k, enum collective first, enum collective then, const char *option)
{
	add_alternative(k, arena_printf(k->arena, "%s + %s", collective_key(first), collective_key(then)),
	                option, curve_add(time_of(k, first, k->out->bytes), time_of(k, then, k->out->bytes)));
}

static void add_forms(struct choosing *k)
{
	int64_t n = k->t.ranks, bytes = k->out->bytes, block = (bytes + n - 1) / n;
	switch (k->kind) {
	case COLLECTIVE_ALLGATHER:
		add_messages(k, n - 1, block);
		add_alternative(k, arena_printf(k->arena, "%lld broadcasts of a block", (long long)n), NULL,
		                repeat_time(n, time_of(k, COLLECTIVE_BROADCAST, block)));
		break;
	case COLLECTIVE_REDUCE_SCATTER:
		add_messages(k, n - 1, block);
		add_alternative(k, "allreduce, each keeps a block", NULL,
		                time_of(k, COLLECTIVE_ALLREDUCE, bytes));
		break;
	case COLLECTIVE_ALLREDUCE:
		add_pair(k, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_ALLGATHER,
		         k->team ? "--transform=split" : NULL);
		add_pair(k, COLLECTIVE_REDUCE, COLLECTIVE_BROADCAST, NULL);
		break;
	case COLLECTIVE_BROADCAST:
		add_pair(k, COLLECTIVE_SCATTER, COLLECTIVE_ALLGATHER, NULL);
		break;
	case COLLECTIVE_REDUCE:
		add_pair(k, COLLECTIVE_REDUCE_SCATTER, COLLECTIVE_GATHER, NULL);
		break;
	case COLLECTIVE_ALL_TO_ALL:
	case COLLECTIVE_ALL_TO_ALLV:
		add_messages(k, n - 1, block);
		break;
	default:
		return;
	}
	if (bytes >= CHUNKS)
		add_alternative(k, arena_printf(k->arena, "in %d chunks, one by one", CHUNKS), NULL,
		                repeat_time(CHUNKS, time_of(k, k->kind, (bytes + CHUNKS - 1) / CHUNKS)));
}

static void add_transports(struct choosing *k)
{
	const struct cluster *x = k->c->cluster;
	int64_t time;
	for (uint32_t i = 0; i < x->other_n; i++)
		if (collective_time_by(k->c, &x->other[i], k->kind, k->team, &k->t, k->out->bytes, &time))
			add_alternative(k, arena_printf(k->arena, "by %s", x->other[i].transport),
			                arena_printf(k->arena, "--transport=%s", x->other[i].transport),
			                time);
}

static int by_time(const void *a, const void *b)
{
	const struct cost_alternative *x = a, *y = b;
	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* ---- the assumed way */

static const char *links_text(const struct choosing *k)
{
	struct buf text = {0};
	for (unsigned l = 0; l < k->t.levels; l++)
		buf_printf(&text, "%s%lld at %.4g", l ? ", " : "", (long long)k->t.level[l].members,
		           (double)k->c->cluster->network.link[k->t.level[l].link].rate / 1e9);
	if (text.n)
		buf_puts(&text, " GB/s");
	const char *made = text.n ? arena_strndup(k->arena, text.at, text.n) : "";
	buf_free(&text);
	return made;
}

/* Returns the latency: the time of a transfer of no bytes by the chosen algorithm, even if another one
 * is faster at that size. */
static int64_t latency_of(const struct choosing *k, bool table, const struct links_algorithm *taken)
{
	struct links_algorithm a[LINKS_ALGORITHMS];
	unsigned n = table || !taken ? 0 : links_algorithms(k->c->cluster, &k->t, k->kind, 0, a);
	for (unsigned i = 0; i < n; i++)
		if (strcmp(a[i].name, taken->name) == 0)
			return a[i].time;
	return time_of(k, k->kind, 0);
}

static void describe_choice(struct choosing *k)
{
	struct links_algorithm a[LINKS_ALGORITHMS];
	const struct cluster *x = k->c->cluster;
	struct cost_choice *o = k->out;
	bool table = collective_measured(k->c, k->kind, &k->t);
	unsigned n = k->t.ranks > 1 ? links_algorithms(x, &k->t, k->kind, o->bytes, a) : 0;
	o->collective = collective_key(k->kind);
	o->links = links_text(k);
	o->ranks = k->t.ranks;
	o->latency = k->t.ranks > 1 ? latency_of(k, table, n ? &a[0] : NULL) : 0;
	if (o->latency > o->time)
		o->latency = o->time;
	o->algorithm = k->t.ranks < 2 ? "a copy"
	               : table && x->network.transport
	                   ? arena_printf(k->arena, "as measured by %s", x->network.transport)
	               : table ? "as measured"
	                       : a[0].name;
	for (unsigned i = table ? 0 : 1; i < n; i++)
		add_alternative(
		    k, table ? arena_printf(k->arena, "%s, by the links' figures", a[i].name) : a[i].name,
		    NULL, a[i].time);
	if (k->t.ranks < 2)
		return;
	add_forms(k);
	if (k->team || k->kind == COLLECTIVE_SEND_RECV) /* groups have no team */
		add_transports(k);
	qsort(o->other, o->n, sizeof *o->other, by_time);
}

/* Describes a group by the times of its members, one after the other. */
static void describe_group(struct choosing *k, op_id end)
{
	struct cost_choice *o = k->out;
	int64_t one_by_one = 0, bytes, excess, least = CLUSTER_MAX_TIME;
	unsigned n = 0;
	struct choosing x = *k;
	coalesce_each (k->c->m, op, end) {
		if (!collective_kind((enum op_kind)k->c->m->op.at[op].kind, &x.kind) ||
		    !collective_parts(k->c, op, x.kind, &x.t, &bytes, &excess))
			continue;
		struct links_algorithm a[LINKS_ALGORITHMS];
		bool table = collective_measured(k->c, x.kind, &x.t);
		unsigned algorithms =
		    table || x.t.ranks < 2 ? 0 : links_algorithms(k->c->cluster, &x.t, x.kind, bytes, a);
		int64_t time = curve_add(time_of(&x, x.kind, bytes), excess);
		int64_t empty = latency_of(&x, table, algorithms ? &a[0] : NULL);
		one_by_one = curve_add(one_by_one, time);
		least = empty < least ? empty : least;
		if (!n++ || x.t.ranks > k->t.ranks)
			k->t = x.t;
	}
	o->collective = arena_printf(k->arena, "group of %u", n);
	o->algorithm = "together";
	o->links = links_text(k);
	o->ranks = k->t.ranks;
	o->latency = least < o->time ? least : o->time;
	add_alternative(k, "one by one", NULL, one_by_one);
}

/* Describes a collective of an imported graph. Alternatives are listed only if its times come from the
 * cluster. */
static bool describe_extern(struct choosing *k, op_id op)
{
	struct cost_choice *o = k->out;
	struct extern_parts x;
	if (!extern_parts(k->c, op, &x))
		return false;
	k->kind = x.kind;
	k->t = x.team;
	o->bytes = x.bytes;
	bool recorded = cost_op_is_recorded(k->c, op);
	if (!recorded && !x.table && x.joined) {
		describe_choice(k);
		return true;
	}
	o->collective = collective_key(x.kind);
	o->algorithm = recorded ? "as recorded" : "as its group's table says";
	o->links = arena_printf(k->arena, "%lld", (long long)x.ranks);
	o->latency = -1;
	o->ranks = x.ranks;
	return true;
}

bool cost_choice_find(const struct cost *c, op_id op, struct arena *a, struct cost_choice *out)
{
	const struct op *o = &c->m->op.at[op];
	struct choosing k = {.c = c, .arena = a, .out = out};
	int64_t bytes;
	*out = (struct cost_choice){.links = ""};
	if (o->flags & OP_GROUPED)
		return false;
	out->time = cost_op_time(c, op);
	out->bytes = cost_op_bytes(c, op);
	if (o->kind == OP_END_COALESCING) {
		if (!ir_coalesce_first(c->m, op))
			return false;
		describe_group(&k, op);
		return true;
	}
	if (o->kind == OP_EXTERN)
		return describe_extern(&k, op);
	if (op_traits(c->m, op) & TRAIT_P2P) {
		k.kind = COLLECTIVE_SEND_RECV;
		if (!message_team(c, op, &k.t))
			return false;
	} else if (o->kind == OP_DISPATCH || o->kind == OP_COMBINE) {
		k.kind = COLLECTIVE_ALL_TO_ALLV;
		if (!experts_parts(c, op, &k.t, &k.team, &out->bytes) || k.t.ranks < 2)
			return false;
		k.excess = out->time - time_of(&k, k.kind, out->bytes);
	} else if (!collective_kind((enum op_kind)o->kind, &k.kind) || !o->team ||
	           !collective_parts(c, op, k.kind, &k.t, &bytes, &k.excess)) {
		return false;
	} else {
		k.team = o->team;
	}
	describe_choice(&k);
	return true;
}
