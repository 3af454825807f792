/* block_program: finds the memory of the blocks inside a block. A loop or condition is one node of the
 * block around it. Its memory is the peak of its own block in the order of the statements. */
#include "cost/block.h"
#include "sched/simulate.h"
#include <stdlib.h>

bool block_has_blocks(const struct module *m, op_id op)
{
	return m->op.at[op].kind == OP_FOR || m->op.at[op].kind == OP_IF;
}

/* Returns the peak of a problem in the order of the program. */
static int64_t find_peak(const struct sched_problem *p)
{
	uint32_t *order = mem_alloc(sizeof *order * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	int64_t peak = sched_simulate(p, order, NULL).peak;
	free(order);
	return peak;
}

static bool find_within(struct module *m, op_id op, const struct block_frame *frame, const struct cost *cost,
                        struct diag *d, int64_t *inside)
{
	int64_t most = 0;
	bool ok = true;
	for (region_id r = m->op.at[op].region; r && ok; r = m->region.at[r].sibling) {
		struct arena *a = arena_new();
		struct block b;
		ok = block_find_inside(m, r, frame->buckets, cost, d, inside) &&
		     block_make(m, r, frame, cost, d, a, &b);
		int64_t peak = ok ? find_peak(&b.p) : 0;
		most = peak > most ? peak : most;
		arena_free(a);
	}
	inside[op] = most;
	return ok;
}

bool block_find_inside(struct module *m, region_id region, enum block_buckets buckets,
                       const struct cost *cost, struct diag *d, int64_t *inside)
{
	const struct block_frame frame = {.inside = inside, .buckets = buckets};
	bool ok = true;
	region_each (m, op, region)
		ok = ok && (!block_has_blocks(m, op) || find_within(m, op, &frame, cost, d, inside));
	return ok;
}

bool block_make_program(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                        struct block *out)
{
	int64_t *inside = mem_zalloc(sizeof *inside * m->op.n);
	const struct block_frame frame = {.inside = inside, .buckets = BLOCK_PACKED};
	bool ok = block_find_inside(m, m->body, frame.buckets, cost, d, inside) &&
	          block_make(m, m->body, &frame, cost, d, a, out);
	free(inside);
	return ok;
}
