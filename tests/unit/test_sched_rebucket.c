/* Tests of the problem whose buckets change in place: after any change it is the problem that is made anew of the same
 * buckets, apart from numbers. */
#include "check.h"
#include "sched/bucket.h"
#include "sched/rebucket.h"
#include "test_sched.h"

enum { PROBLEMS = 400, NODES = 60, CHANGES = 30 };

/* The two problems, and what is what in them. */
struct pair {
	const struct sched_rebucket *r;
	const struct sched_bucketed *b;
	uint32_t node[NODES * 5];    /* by node of b->p: that of r->p */
	uint32_t storage[NODES * 3]; /* by storage of b->p: that of r->p */
};

static void match(struct pair *m, const struct sched_problem *p, const uint32_t *slot, const uint32_t *bucket)
{
	static const enum sched_part part[] = {[SCHED_STEP_PACK] = SCHED_PACK,
	                                       [SCHED_STEP_COMM] = SCHED_BUCKET_COMM,
	                                       [SCHED_STEP_WAIT] = SCHED_BUCKET_WAIT,
	                                       [SCHED_STEP_UNPACK] = SCHED_UNPACK};
	for (uint32_t k = 0; k < m->b->p.n; k++) {
		const struct sched_origin *o = &m->b->origin[k];
		uint32_t transfer = p->node[o->node].transfer;
		m->node[k] = o->bucket == SCHED_NONE
		                 ? o->node
		                 : sched_part(&m->r->parts, slot[transfer], part[o->step]);
	}
	for (uint32_t s = 0; s < p->storage_n; s++)
		m->storage[s] = s;
	for (uint32_t i = 0; i < p->transfer_n; i++)
		for (uint32_t k = 0; k < 2 && bucket[i] != SCHED_NONE; k++)
			m->storage[p->storage_n + 2 * bucket[i] + k] = p->storage_n + 2 * slot[i] + k;
}

/* Checks that list k of one problem has the same things as list k2 of the other. */
static void is_list(const struct sched_lists *l, uint32_t k, const struct sched_lists *l2, uint32_t k2,
                    const uint32_t *other)
{
	CHECK_EQ(l->end[k] - l->at[k], l2->end[k2] - l2->at[k2]);
	for (uint32_t i = l->at[k]; i < l->end[k]; i++) {
		bool found = false;
		for (uint32_t j = l2->at[k2]; j < l2->end[k2]; j++)
			found |= l2->item[j] == other[l->item[i]];
		CHECK(found);
	}
}

static void is_node(const struct pair *m, uint32_t k)
{
	const struct sched_problem *p = &m->b->p, *q = &m->r->p;
	uint32_t x = m->node[k];
	const struct sched_node *a = &p->node[k], *b = &q->node[x];
	CHECK(a->kind == b->kind && a->time == b->time);
	if (a->kind == SCHED_COMM) {
		const struct sched_transfer *t = sched_transfer(p, k), *u = sched_transfer(q, x);
		CHECK(a->lane == b->lane && t->in == u->in && t->out == u->out && t->family == u->family);
	} else {
		CHECK_EQ(a->comm == SCHED_NONE ? SCHED_NONE : m->node[a->comm], b->comm);
	}
	is_list(&p->pred, k, &q->pred, x, m->node);
	is_list(&p->succ, k, &q->succ, x, m->node);
	is_list(&p->uses, k, &q->uses, x, m->storage);
	is_list(&p->makes, k, &q->makes, x, m->storage);
}

static void is_storage(const struct pair *m, uint32_t s)
{
	const struct sched_storage *a = &m->b->p.storage[s], *b = &m->r->p.storage[m->storage[s]];
	CHECK(a->bytes == b->bytes && a->kept == b->kept);
	if (a->bytes)
		CHECK_EQ(a->def == SCHED_NONE ? SCHED_NONE : m->node[a->def], b->def);
	is_list(&m->b->p.users, s, &m->r->p.users, m->storage[s], m->node);
}

/* Makes a second wait of some nodes that need the first one. */
static void chain_waits(struct sched_problem *p)
{
	for (uint32_t x = 0; x < p->n; x += 1 + x % 3)
		for (uint32_t i = p->pred.at[x]; p->node[x].kind == SCHED_COMPUTE && i < p->pred.end[x];
		     i++) {
			const struct sched_node *before = &p->node[p->pred.item[i]];
			if (before->kind == SCHED_WAIT) {
				p->node[x].kind = SCHED_WAIT;
				p->node[x].comm = before->comm;
			}
		}
}

/* Puts a comm into the bucket of another of its family, or takes it out. */
static void draw_change(const struct sched_problem *p, struct test_random *r, uint32_t *bucket)
{
	uint32_t k = test_draw(r, p->transfer_n), like = test_draw(r, p->transfer_n);
	if (!test_draw(r, 4))
		bucket[k] = SCHED_NONE;
	else if (p->transfer[k].family == p->transfer[like].family)
		bucket[k] = bucket[like] = bucket[like] == SCHED_NONE ? like : bucket[like];
}

/* Returns the number of changes that were compared. */
static unsigned change(uint32_t seed)
{
	struct arena *a = arena_new();
	struct test_random random = {seed};
	struct sched_problem p;
	struct sched_rebucket r;
	uint32_t bucket[NODES], before[NODES], slot[NODES], former[NODES];
	unsigned compared = 0;
	test_problem(a, seed, NODES, &p);
	p.grouped = seed % 4 == 1;
	p.copies = seed % 4 == 2;
	if (seed % 3 == 1)
		chain_waits(&p);
	memset(bucket, 0xff, sizeof bucket);
	sched_rebucket_open(&r, &p);
	for (unsigned k = 0; k < CHANGES && p.transfer_n; k++) {
		struct sched_bucketed b;
		memcpy(before, bucket, sizeof bucket);
		memcpy(former, r.slot, sizeof *former * p.transfer_n);
		for (uint32_t changes = 1 + test_draw(&random, 3); changes; changes--)
			draw_change(&p, &random, bucket);
		sched_rebucket_slots(&r, bucket, p.transfer_n, slot);
		bool ok = sched_rebucket(&r, slot), made = sched_bucket(&p, bucket, p.transfer_n, a, &b);
		CHECK(ok || !made);
		if (!made) {
			memcpy(bucket, before, sizeof bucket);
			sched_rebucket(&r, former);
			continue;
		}
		struct pair m = {.r = &r, .b = &b};
		match(&m, &p, slot, bucket);
		CHECK_EQ(b.p.n, r.p.n);
		for (uint32_t x = 0; x < b.p.n; x++)
			is_node(&m, x);
		for (uint32_t s = 0; s < b.p.storage_n; s++)
			if (s < p.storage_n || b.p.storage[s].bytes)
				is_storage(&m, s);
		compared++;
	}
	sched_rebucket_close(&r);
	arena_free(a);
	return compared;
}

int main(void)
{
	unsigned compared = 0;
	for (uint32_t seed = 0; seed < PROBLEMS; seed++)
		compared += change(seed);
	CHECK(compared > PROBLEMS * CHANGES / 2);
	return check_result();
}
