/* chunk-collectives: cuts exposed collectives and the products beside them into chunks.
 *
 *     G: f32[8192, 4096] = set(X)               G: f32[8192@block(x)@stream(4), 4096] = set(X)
 *     Y: f32[8192, 512@x] = matmul(G, W)   →    Y: f32[8192@block(x)@stream(4), 512@x] = matmul(G, W)
 *
 * stream-loops makes a loop of it, in which one chunk is communicated while another is computed. Trials
 * decide the number of chunks and the axis (chunks.h). They take collective after collective, the most
 * exposed one first, and try 2, 4, 8, … chunks as long as these help; for a collective that gathers or
 * scatters they also try one block a rank. A collective that is exposed for less than exposed= percent
 * of the step is left alone.
 *
 * requires     sharded, decomposed
 * establishes  nothing
 * keeps        layouts over devices, and values */
#include "ir/edit.h"
#include "pass/chunks.h"
#include "pass/moves.h"
#include "pass/trial.h"
#include <stdlib.h>

struct search {
	struct trial t;
	bool *tried; /* by statement, for the first op_n */
	op_id op_n;
	struct chunks best;
	struct prediction after; /* prediction for the best */
	bool any;
};

/* Returns the exposed time of a collective. A collective in a bucket counts as exposed most, so it is
 * tried. */
static int64_t exposed_of(const struct search *s, op_id op)
{
	int64_t e = op < s->t.now.op_n ? s->t.now.exposed[op] : 0;
	return e < 0 ? s->t.now.time : e;
}

/* Returns the most exposed collective that was not tried and is exposed enough; 0: none. */
static op_id find_next(const struct search *s)
{
	op_id found = 0;
	struct module *m = s->t.m;
	int64_t least = s->t.now.time / 100 * s->t.cx->option[PASS_CHUNK_COLLECTIVES_EXPOSED];
	unsigned rank;
	region_each (m, op, m->body)
		if (op < s->op_n && !s->tried[op] && (s->t.always || exposed_of(s, op) > 0) &&
		    exposed_of(s, op) >= least && chunks_possible(m, op, &rank) &&
		    (!found || exposed_of(s, op) > exposed_of(s, found)))
			found = op;
	return found;
}

static bool make_chunks(struct module *m, const void *what)
{
	return chunks_make(m, what);
}

/* Tries one change. *time: the predicted time. Returns false if the change is not possible. */
static bool try_one(struct search *s, struct chunks c, int64_t *time)
{
	struct prediction after;
	if (!trial_try(&s->t, make_chunks, &c, &after))
		return false;
	*time = after.time;
	if (trial_fits(&s->t, &after) && (!s->any || after.time < s->after.time)) {
		prediction_free(&s->after);
		s->after = after;
		s->best = c;
		s->any = true;
	} else {
		prediction_free(&after);
	}
	return true;
}

/* Tries 2, 4, 8, … chunks as long as they help. */
static void try_parts(struct search *s, struct chunks c)
{
	int64_t most = chunks_most(s->t.m, &c), time, before = INT64_MAX;
	most = most < s->t.cx->option[PASS_CHUNK_COLLECTIVES_MOST]
	           ? most
	           : s->t.cx->option[PASS_CHUNK_COLLECTIVES_MOST];
	for (c.n = 2; c.n <= most; c.n *= 2) {
		if (!try_one(s, c, &time) || time >= before)
			return;
		before = time;
	}
}

static void try_axis(struct search *s, op_id op, unsigned axis)
{
	struct chunks c = {.op = op, .axis = axis, .kind = CHUNKS_PARTS};
	int64_t time;
	for (unsigned chain = 0; chain < 2; chain++) {
		c.chain = chain;
		try_parts(s, c);
	}
	for (c.kind = CHUNKS_BLOCKS; c.kind <= CHUNKS_RING; c.kind++)
		for (unsigned chain = 0; chain < 2; chain++) {
			c.chain = chain;
			try_one(s, c, &time);
		}
}

/* Appends `4 chunks along axis 0`. */
static void put_best(struct search *s, struct buf *out)
{
	static const char *const how[] = {[CHUNKS_PARTS] = "chunks",
	                                  [CHUNKS_BLOCKS] = "blocks, one of each rank,",
	                                  [CHUNKS_RING] = "blocks in a ring"};
	const struct chunks *c = &s->best;
	struct reshard r;
	move_kind(s->t.m, c->op, &r);
	int64_t n = c->kind == CHUNKS_PARTS ? c->n : s->t.m->mesh.at[r.mesh].size[r.axis[0]];
	buf_printf(out, "%lld %s along axis %u%s", (long long)n, how[c->kind], c->axis,
	           c->chain ? " with what is beside it" : "");
}

static void remark_decision(struct search *s, op_id op, int64_t before, bool better)
{
	struct module *m = s->t.m;
	struct buf name = {0}, best = {0}, how = {0};
	const char *kind = move_name(move_kind(m, op, NULL));
	if (m->value.at[op_def(m, op, 0)].name)
		buf_printf(&name, "%s of ", kind), pass_put_name(m, op_def(m, op, 0), &name);
	else
		buf_printf(&name, "%s", kind);
	if (s->any)
		put_best(s, &best);
	buf_printf(&how, "in %s", best.at ? best.at : "");
	if (!s->any)
		pass_remark(s->t.cx, m, m->op.at[op].at, "%s not split: %s", name.at,
		            s->t.left > 0 ? "it and its products cannot be computed chunk by chunk"
		                          : "no trials are left");
	else if (better)
		trial_remark(&s->t, op, &s->after, before, "%s split into %s", name.at, best.at);
	else
		trial_remark_kept(&s->t, op, &s->after, how.at, "%s not split", name.at);
	buf_free(&name);
	buf_free(&best);
	buf_free(&how);
}

static void try_collective(struct search *s, op_id op)
{
	unsigned rank = 0;
	int64_t before = s->t.now.time;
	chunks_possible(s->t.m, op, &rank);
	s->tried[op] = true;
	s->any = false;
	for (unsigned axis = 0; axis < rank; axis++)
		try_axis(s, op, axis);
	bool better = s->any && trial_gains(&s->t, &s->after) &&
	              pass_may_change(s->t.cx, s->t.m, s->t.m->op.at[op].at, "%s in %lld chunks",
	                              move_name(move_kind(s->t.m, op, NULL)), (long long)s->best.n);
	remark_decision(s, op, before, better);
	if (better)
		trial_keep(&s->t, make_chunks, &s->best, &s->after);
	prediction_free(&s->after);
}

bool pass_chunk_collectives(struct module *m, struct pass_context *cx)
{
	struct search s = {0};
	bool any = false;
	unsigned rank;
	if (trial_is_recorded(m))
		return true;
	region_each (m, op, m->body)
		any |= chunks_possible(m, op, &rank);
	if (!any || !trial_open(&s.t, m, cx, cx->option[PASS_CHUNK_COLLECTIVES_TRIALS],
	                        cx->option[PASS_CHUNK_COLLECTIVES_ALWAYS]))
		return true;
	s.op_n = m->op.n;
	s.tried = mem_zalloc(sizeof *s.tried * s.op_n);
	for (op_id op; (op = find_next(&s));)
		try_collective(&s, op);
	free(s.tried);
	trial_close(&s.t);
	return true;
}
