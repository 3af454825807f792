/* schedule_overlap: orders statements so that communication runs beside work, and puts collectives into
 * buckets.
 *
 *     A = allgather(X) as a        B = allgather(Y) as b
 *     wait(a)                      A = allgather(X) as a
 *     Z = relu(A)             →    wait(b)
 *     B = allgather(Y) as b        W = tanh(B)
 *     wait(b)                      wait(a)
 *     W = tanh(B)                  Z = relu(A)
 *
 * One search finds the order and the buckets of a block (sched/schedule.h), from the times of statements
 * (cost/block.h). The peak of live bytes is at most memory=. Without this option, it grows by at most
 * memory_increase= bytes, or memory_percent= of the former peak if that is more. Blocks of loops and
 * conditions follow, each by itself (schedule_blocks.h). Recorded graphs that differ from rank to rank
 * are scheduled together (schedule_classes.h), each with a limit of its own.
 *
 * Requires: nothing. Establishes: nothing. Keeps: sharded, lowered and looped. Run it before allocate
 * and assign-streams. */
#include "analysis/recorded_classes.h"
#include "base/arena.h"
#include "cost/block.h"
#include "ir/ir_bucket.h"
#include "pass/buckets.h"
#include "pass/pass.h"
#include "pass/schedule_blocks.h"
#include "pass/schedule_classes.h"
#include "sched/exposure.h"
#include "sched/sched_bound.h"
#include "sched/schedule.h"
#include <stdlib.h>

enum { /* the option `buckets` */
       BUCKETS_PACK,
       BUCKETS_COALESCED,
       BUCKETS_NONE
};

struct overlap {
	struct module *m;
	struct pass_context *cx;
	int64_t limit; /* bytes; set from the program's block, which comes first */
};

static int64_t limit_of(const struct pass_context *cx, int64_t before)
{
	int64_t more = before / 100 * cx->option[PASS_SCHEDULE_OVERLAP_MEMORY_PERCENT];
	if (cx->option[PASS_SCHEDULE_OVERLAP_MEMORY])
		return cx->option[PASS_SCHEDULE_OVERLAP_MEMORY];
	int64_t increase = cx->option[PASS_SCHEDULE_OVERLAP_MEMORY_INCREASE];
	return before + (more > increase ? more : increase);
}

static struct sched_result as_it_is(const struct sched_problem *p)
{
	uint32_t *order = mem_alloc(sizeof *order * ((size_t)p->n + 1));
	for (uint32_t x = 0; x < p->n; x++)
		order[x] = x;
	struct sched_result result = sched_simulate(p, order, NULL);
	free(order);
	return result;
}

/* Returns the reason why a collective is exposed, in words. */
static const char *reason_of(enum sched_reason reason)
{
	switch (reason) {
	case SCHED_LANE:
		return "collectives before it keep its communicator";
	case SCHED_CHAIN:
		return "it takes longer than all work that is independent of it";
	case SCHED_MEMORY:
		return "work that could hide it does not fit into memory";
	case SCHED_WORK:
		return "work that could hide it hides others";
	case SCHED_SLOWED:
		return "it and work beside it would slow each other, and take longer than one after the "
		       "other";
	default:
		return "nothing waits for it";
	}
}

/* Returns the statement of a comm; for a bucket, the statement of its first member. */
static op_id op_of(const struct block *b, const struct sched_schedule *s, uint32_t node)
{
	return b->op[s->b.origin[node].node];
}

/* Appends the name of a comm for remarks. */
static void put_collective(struct module *m, const struct block *b, const struct sched_schedule *s,
                           uint32_t node, struct buf *out)
{
	const char *name = block_name(m, op_of(b, s, node));
	bool bucket = s->b.origin[node].bucket != SCHED_NONE;
	buf_printf(out, "%s%s", name ? name : "a collective", bucket ? " and others" : "");
}

struct unit { /* unit of printed times */
	const char *name;
	double ns;
};

static struct unit unit_of(int64_t step)
{
	return step < 1000000 ? (struct unit){"us", 1e3} : (struct unit){"ms", 1e6};
}

static void say_exposed(struct pass_context *cx, struct module *m, const struct block *b,
                        const struct sched_schedule *s, uint32_t at, int64_t limit, struct unit unit,
                        struct arena *a)
{
	struct sched_exposures e;
	sched_exposures(&s->b.p, s->order, limit, a, &e);
	pass_remark(
	    cx, m, at,
	    "%u of %u collectives are hidden; %u could be if each was alone, %u by twice as much work",
	    e.hidden, e.n, sched_hideable(&s->b.p, &e, 100), sched_hideable(&s->b.p, NULL, 50));
	for (uint32_t i = 0; i < e.n; i++) {
		const struct sched_exposure *x = &e.at[i];
		struct buf text = {0};
		if (x->reason == SCHED_HIDDEN)
			continue;
		put_collective(m, b, s, x->comm, &text);
		buf_printf(&text, ": %.3f of %.3f %s exposed", (double)x->exposed / unit.ns,
		           (double)(x->end - x->begin) / unit.ns, unit.name);
		if (x->behind) {
			buf_printf(&text, ", and %.3f behind ", (double)x->behind / unit.ns);
			put_collective(m, b, s, x->front, &text);
			buf_puts(&text, x->behind_others ? " and other collectives" : "");
		}
		pass_remark(cx, m, m->op.at[op_of(b, s, x->comm)].at, "%s: %s", text.at,
		            reason_of(x->reason));
		buf_free(&text);
	}
}

static const char *kind_of(const struct module *m, const struct schedule_block *block)
{
	return !block->owner                           ? ""
	       : m->op.at[block->owner].kind == OP_FOR ? "an iteration of this loop: "
	                                               : "a block of this condition: ";
}

/* Returns true if the block contains loops whose iterations run on several streams. */
static bool has_stream_loops(const struct module *m, const struct block *b)
{
	for (uint32_t k = 0; k < b->p.n; k++)
		if (m->op.at[b->op[k]].kind == OP_FOR && m->op.at[b->op[k]].flags & OP_STREAM_LOOP)
			return true;
	return false;
}

static void remark_schedule(struct pass_context *cx, struct module *m, const struct schedule_block *block,
                            struct sched_result before, const struct sched_schedule *s, int64_t limit,
                            struct arena *a)
{
	const struct block *b = &block->b;
	uint32_t at = block->owner ? m->op.at[block->owner].at : DIAG_NOWHERE;
	struct sched_bound bound =
	    sched_bound_within(&b->p, cx->option[PASS_SCHEDULE_OVERLAP_BUCKETS] != BUCKETS_NONE, limit);
	struct unit unit = unit_of(before.runtime);
	uint32_t buckets = 0;
	for (uint32_t k = 0; k < s->b.p.n; k++)
		buckets += s->b.origin[k].step == SCHED_STEP_COMM && s->b.origin[k].bucket != SCHED_NONE;
	pass_remark(cx, m, at,
	            "%s%.3f %s instead of %.3f, %.3f of it exposed instead of %.3f; at most %lld bytes live "
	            "instead of %lld; %u bucket%s; no schedule takes less than %.3f %s%s",
	            kind_of(m, block), (double)s->result.runtime / unit.ns, unit.name,
	            (double)before.runtime / unit.ns, (double)s->result.exposed / unit.ns,
	            (double)before.exposed / unit.ns, (long long)s->result.peak, (long long)before.peak,
	            buckets, buckets == 1 ? "" : "s", (double)bound.runtime / unit.ns, unit.name,
	            has_stream_loops(m, b)
	                ? ", all with the steps of stream-parallel loops one after the other: `hirc sim` "
	                  "has them side by side"
	                : "");
	say_exposed(cx, m, b, s, at, limit, unit, a);
}

static void refuse_limit(struct pass_context *cx, int64_t limit, int64_t least)
{
	diag_error(cx->d, E_SCHEDULE_MEMORY, DIAG_NOWHERE, "no order was found that needs at most %lld bytes",
	           (long long)limit);
	diag_note(cx->d, DIAG_NOWHERE,
	          "the least that was found is %lld: --memory-limit=%lld, or {memory=%lld}", (long long)least,
	          (long long)least, (long long)least);
}

/* Returns true if a remark may explain why the collective is in no bucket. Recorded graphs have too
 * many. */
static bool could_be_bucketed(struct module *m, op_id op)
{
	enum op_kind kind = block_collective(m, op);
	return m->op.at[op].kind != OP_EXTERN && m->op.at[op].kind != OP_END_COALESCING &&
	       (kind == OP_ALLGATHER || kind == OP_REDUCE_SCATTER || kind == OP_ALLREDUCE);
}

/* Remarks the collectives that could not be put into buckets, with the reason. */
static void say_refused(struct pass_context *cx, struct module *m, const struct block *b)
{
	for (uint32_t x = 0; x < b->p.n; x++) {
		op_id op = b->op[x];
		if (b->p.node[x].kind != SCHED_COMM || sched_transfer(&b->p, x)->family != SCHED_NONE ||
		    !could_be_bucketed(m, op))
			continue;
		const char *name = block_name(m, op);
		const char *why = cx->option[PASS_SCHEDULE_OVERLAP_BUCKETS] == BUCKETS_PACK
		                      ? ir_bucket_refusal(m, op)
		                      : NULL;
		pass_remark(cx, m, m->op.at[op].at, "%s%s%s in no bucket: %s",
		            op_info[block_collective(m, op)].hir, name ? " of " : "", name ? name : "",
		            why ? why : "it is not waited for once, in its block");
	}
}

static void find_live(const struct sched_schedule *s, struct arena *a, int64_t *live)
{
	struct sched_moment *moment = arena_new_array(a, struct sched_moment, s->b.p.n);
	sched_simulate(&s->b.p, s->order, moment);
	for (uint32_t k = 0; k < s->b.p.n; k++)
		if (s->b.origin[s->order[k]].step == SCHED_STEP_NODE)
			live[s->b.origin[s->order[k]].node] = moment[k].live;
}

static bool schedule_with_overlap(void *overlap, struct schedule_block *block, struct arena *a)
{
	struct overlap *k = overlap;
	struct pass_context *cx = k->cx;
	const struct block *b = &block->b;
	struct sched_result before = as_it_is(&b->p);
	if (!block->owner)
		k->limit = limit_of(cx, before.peak);
	struct sched_options o = {.limit = k->limit,
	                          .effort = (int)cx->option[PASS_SCHEDULE_OVERLAP_EFFORT],
	                          .bucket = cx->option[PASS_SCHEDULE_OVERLAP_BUCKETS] != BUCKETS_NONE};
	struct sched_schedule s;
	if (!block->owner)
		names_drop_index(k->m->names); /* nothing is named in a search, which needs the memory */
	bool ok = sched_schedule(&b->p, &o, &s);
	if (ok) {
		if (cx->remarks && o.bucket)
			say_refused(cx, k->m, b);
		if (cx->remarks)
			remark_schedule(cx, k->m, block, before, &s, o.limit, a);
		if (block->live)
			find_live(&s, a, block->live);
		buckets_apply(k->m, block->region, b, &s);
	} else {
		refuse_limit(cx, o.limit, s.result.peak);
	}
	sched_schedule_free(&s);
	return ok;
}

/* ---- recorded graphs that differ from rank to rank */

/* Returns the end of the last class. */
static int64_t end_of(const struct schedule_classes *s, bool after)
{
	int64_t end = 0;
	for (uint32_t c = 0; c < s->n; c++) {
		const struct sched_part *x = after ? &s->class[c].after : &s->class[c].before;
		end = x->result.runtime > end ? x->result.runtime : end;
	}
	return end;
}

static void remark_classes(struct pass_context *cx, struct module *m, const struct schedule_classes *s)
{
	struct unit unit = unit_of(end_of(s, false));
	struct buf text = {0};
	if (s->joint.choice == SCHED_LED) {
		for (uint32_t c = 0; c < s->n; c++)
			if (c == s->joint.leader)
				buf_printf(
				    &text,
				    "shared collectives have the order and the buckets that are best for "
				    "rank %lld",
				    (long long)s->class[c].first);
	} else {
		buf_puts(&text, s->joint.choice == SCHED_IN_STEP
		                    ? "all collectives keep their order and are in no buckets, since "
		                    : "all statements keep their order, since ");
		buf_puts(&text, s->joint.crossed
		                    ? "ranks have shared collectives and messages in orders that contradict "
		                      "each other"
		                    : "no other order that was tried is faster without making a rank slower");
	}
	pass_remark(cx, m, DIAG_NOWHERE, "the graphs of %u classes of ranks: %.3f %s instead of %.3f; %s",
	            s->n, (double)end_of(s, true) / unit.ns, unit.name, (double)end_of(s, false) / unit.ns,
	            text.at);
	buf_free(&text);
}

static bool schedule_all_classes(struct overlap *k, const struct cost *cost, enum block_buckets buckets)
{
	struct pass_context *cx = k->cx;
	struct arena *a = arena_new();
	struct schedule_classes s;
	int64_t least;
	const struct sched_options o = {.effort = (int)cx->option[PASS_SCHEDULE_OVERLAP_EFFORT],
	                                .bucket = cx->option[PASS_SCHEDULE_OVERLAP_BUCKETS] != BUCKETS_NONE};
	bool ok = schedule_classes(k->m, cx, cost, buckets, &o, limit_of, a, &s, &least);
	if (!ok && least >= 0) /* without memory=, each class fits as it is */
		refuse_limit(cx, cx->option[PASS_SCHEDULE_OVERLAP_MEMORY], least);
	if (ok && cx->remarks)
		remark_classes(cx, k->m, &s);
	for (uint32_t c = 0; c < s.n; c++) {
		struct schedule_class *x = &s.class[c];
		struct sched_schedule shown = x->schedule; /* with the waits for other ranks */
		shown.b.p = x->after.p;
		shown.result = x->after.result;
		if (cx->remarks)
			remark_schedule(cx, k->m, &x->block, x->before.result, &shown, x->limit, a);
		buckets_apply(k->m, x->block.region, &x->block.b, &x->schedule);
	}
	schedule_classes_free(&s);
	arena_free(a);
	return ok;
}

static void unbind(struct module *m, const struct pass_context *cx, region_id region)
{
	buckets_unbind(m, region, cx->allocated.at, cx->allocated.n);
	region_each (m, op, region)
		for (region_id r = schedule_blocks_of(m, op); r; r = m->region.at[r].sibling)
			unbind(m, cx, r);
}

bool pass_schedule_overlap(struct module *m, struct pass_context *cx)
{
	if (!pass_may_change(cx, m, DIAG_NOWHERE, "another order of statements, and buckets"))
		return true;
	struct cost *cost = cost_new(m, cx->cluster, cx->d);
	if (!cost)
		return false;
	struct overlap k = {.m = m, .cx = cx};
	bool groups = cx->option[PASS_SCHEDULE_OVERLAP_BUCKETS] == BUCKETS_COALESCED;
	if (cx->option[PASS_SCHEDULE_OVERLAP_BUCKETS] != BUCKETS_NONE)
		unbind(m, cx, m->body);
	enum block_buckets buckets = groups ? BLOCK_GROUPED : BLOCK_PACKED;
	bool ok = recorded_has_classes(m) ? schedule_all_classes(&k, cost, buckets)
	                                  : schedule_blocks(m, cx, cost, buckets, schedule_with_overlap, &k);
	cost_free(cost);
	return ok;
}
