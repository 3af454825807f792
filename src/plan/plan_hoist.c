/* plan_hoist: moves loop-invariant scalars out of loops.
 *
 *     0  for r2 = 0 .. 2, else 5                 0  for r2 = 0 .. 2, else 5
 *     1    for r4 = 0 .. 3, else 4               1    let r5 = r2 * r2
 *     2      let r5 = r2 * r2              →     2    for r4 = 0 .. 3, else 4
 *     3      let r6 = r5 + r4                    3      let r6 = r5 + r4 */
#include "plan/plan_hoist.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

struct hoist {
	struct plan *p;
	uint32_t *home;  /* by instruction: the loop before which it goes, or itself */
	uint32_t *depth; /* by register: number of loops around the instruction that writes it */
	uint32_t loop[IR_MAX_NESTING]; /* open loops */
	unsigned loops;
};

static uint32_t choose_larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static void find_homes(struct hoist *h)
{
	for (uint32_t i = 0; i < h->p->code.n; i++) {
		const struct plan_instruction *x = &h->p->code.at[i];
		h->home[i] = i;
		if (x->code == PLAN_FOR) {
			h->loop[h->loops++] = i;
			h->depth[x->a] = h->loops;
		} else if (x->code == PLAN_NEXT) {
			h->loops--;
		} else if (x->code == PLAN_LET) {
			uint32_t depth = h->depth[x->b];
			if (x->op != PLAN_LOOKUP)
				depth = choose_larger(depth, h->depth[x->c]);
			h->depth[x->a] = depth;
			if (depth < h->loops)
				h->home[i] = h->loop[depth];
		}
	}
}

/* Writes the instructions in their new order. start, by old instruction: the first of the instructions
 * moved before it, the target of jumps to it. */
static void reorder_code(struct hoist *h, struct plan_instruction *out, uint32_t *start)
{
	const struct plan_instruction *code = h->p->code.at;
	uint32_t n = h->p->code.n, at = 0;
	for (uint32_t i = 0; i < n; i++) {
		start[i] = at;
		if (h->home[i] != i)
			continue;
		for (uint32_t k = i + 1; code[i].code == PLAN_FOR && k < code[i].to; k++) {
			if (h->home[k] != i)
				continue;
			out[at] = code[k];
			out[at].depth = code[i].depth;
			out[at++].loop = code[i].loop;
		}
		out[at++] = code[i];
	}
	for (uint32_t i = 0; i < n; i++)
		if (out[i].code == PLAN_FOR || out[i].code == PLAN_NEXT || out[i].code == PLAN_IF ||
		    out[i].code == PLAN_GOTO)
			out[i].to = start[out[i].to];
}

void plan_hoist(struct plan *p)
{
	uint32_t n = p->code.n;
	struct hoist h = {
	    .p = p, .home = mem_alloc(sizeof *h.home * n), .depth = mem_zalloc(sizeof *h.depth * p->reg.n)};
	struct plan_instruction *out = mem_alloc(sizeof *out * n);
	uint32_t *start = mem_alloc(sizeof *start * n);
	find_homes(&h);
	reorder_code(&h, out, start);
	memcpy(p->code.at, out, sizeof *out * n);
	free(h.home);
	free(h.depth);
	free(out);
	free(start);
}
