/* bucket_parts: see bucket_parts.h. */
#include "sched/bucket_parts.h"

/* Returns true if a wait waits for the result of another wait of the same comm. The wait is then left
 * alone. */
static bool is_chained(const struct sched_problem *p, uint32_t wait)
{
	for (uint32_t i = p->pred.at[wait]; i < p->pred.end[wait]; i++) {
		const struct sched_node *before = &p->node[p->pred.item[i]];
		if (before->kind == SCHED_WAIT && before->comm == p->node[wait].comm)
			return true;
	}
	return false;
}

/* Returns the time of one wait in place of two: it is issued once, and does the work of both. */
static int64_t merge_waits(int64_t a, int64_t b)
{
	return a > 0 && b > 0 ? a + b : a > b ? a : b;
}

void sched_parts_clear(struct sched_group *g)
{
	*g = (struct sched_group){.first = SCHED_NONE};
}

static void join_comm(const struct sched_problem *p, struct sched_group *g, uint32_t x)
{
	const struct sched_transfer *moved = sched_transfer(p, x);
	if (g->first == SCHED_NONE) {
		g->first = x;
		g->packs = !p->grouped;
		g->unpacks =
		    g->packs && (p->copies || p->family[moved->family].collective == SCHED_ALLGATHER);
	}
	g->comms++;
	g->in += moved->in;
	g->out += moved->out;
}

void sched_parts_join(struct sched_parts *t, uint32_t x)
{
	uint32_t k = sched_parts_bucket(t, x);
	const struct sched_node *n = &t->p->node[x];
	t->number[x] = t->result[x] = x;
	if (k == SCHED_NONE || (n->kind == SCHED_WAIT && is_chained(t->p, x)))
		return;
	struct sched_group *g = &t->group[k];
	if (n->kind == SCHED_COMM) {
		t->number[x] = t->result[x] = sched_part(t, k, SCHED_BUCKET_COMM);
		join_comm(t->p, g, x);
		return;
	}
	t->number[x] = sched_part(t, k, SCHED_BUCKET_WAIT);
	t->result[x] = sched_part(t, k, sched_parts_last(g));
	g->wait_time = g->waits++ ? merge_waits(g->wait_time, n->time) : n->time;
}

/* Returns true if x is a member of a bucket. A chained wait is not. */
static bool is_member(const struct sched_parts *t, uint32_t x)
{
	return t->number[x] >= t->p->n;
}

/* Returns true if x is in a bucket whose unpack makes its result. */
static bool is_unpacked(const struct sched_parts *t, uint32_t x)
{
	return is_member(t, x) && t->group[sched_parts_bucket(t, x)].unpacks;
}

uint32_t sched_parts_needing(const struct sched_parts *t, uint32_t x)
{
	if (!is_member(t, x) || t->p->node[x].kind != SCHED_COMM)
		return t->number[x];
	uint32_t k = sched_parts_bucket(t, x);
	return sched_part(t, k, sched_parts_first(&t->group[k]));
}

struct sched_node sched_parts_node(const struct sched_parts *t, uint32_t bucket, enum sched_part which,
                                   struct sched_transfer *moved)
{
	const struct sched_problem *p = t->p;
	const struct sched_group *g = &t->group[bucket];
	struct sched_node n = p->node[g->first];
	if (which == SCHED_BUCKET_COMM) {
		uint32_t family = sched_transfer(p, g->first)->family;
		*moved = (struct sched_transfer){g->in, g->out, family};
		n.time = sched_family_time(&p->family[family], g->in);
		return n;
	}
	bool wait = which == SCHED_BUCKET_WAIT;
	n.kind = wait ? SCHED_WAIT : SCHED_COMPUTE;
	n.comm = wait ? sched_part(t, bucket, SCHED_BUCKET_COMM) : SCHED_NONE;
	n.time = wait ? g->wait_time : sched_copy_time(p, which == SCHED_PACK ? g->in : g->out);
	return n;
}

uint32_t sched_parts_maker(const struct sched_parts *t, uint32_t storage)
{
	uint32_t def = t->p->storage[storage].def;
	if (def == SCHED_NONE)
		return def;
	return is_unpacked(t, def) ? sched_part(t, sched_parts_bucket(t, def), SCHED_UNPACK) : t->number[def];
}

uint32_t sched_parts_user(const struct sched_parts *t, uint32_t x, uint32_t storage)
{
	uint32_t def = is_unpacked(t, x) ? t->p->storage[storage].def : SCHED_NONE;
	bool early = def != SCHED_NONE && is_unpacked(t, def) &&
	             sched_parts_bucket(t, def) == sched_parts_bucket(t, x);
	return early ? sched_parts_maker(t, storage) : t->number[x];
}

struct sched_storage sched_parts_packed(const struct sched_parts *t, uint32_t bucket)
{
	const struct sched_group *g = &t->group[bucket];
	return g->packs ? (struct sched_storage){g->in, sched_part(t, bucket, SCHED_PACK), false}
	                : (struct sched_storage){.def = SCHED_NONE};
}

struct sched_storage sched_parts_gathered(const struct sched_parts *t, uint32_t bucket)
{
	const struct sched_group *g = &t->group[bucket];
	return g->unpacks ? (struct sched_storage){g->out, sched_part(t, bucket, SCHED_BUCKET_COMM), false}
	                  : (struct sched_storage){.def = SCHED_NONE};
}
