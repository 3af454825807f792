/* check_symmetric: views of other ranks' memory, and fences.
 *
 *     S <- relu(X)              every rank writes its own block
 *     G = symmetric_view(S)     a fence: a step that a rank's stream knows here is over on all ranks
 *     Y <- neg(G)               reads the blocks of all
 *     deallocate(G)             a fence
 *     S <- abs(X)               after the reads of the others
 *
 * All ranks issue the same statements. So the rank's own clock at the last fence also says which steps are
 * over on the other ranks. A fence copies its stream's clock to extra threads, which stand for the other
 * ranks; clocks pass these on as they pass on all threads.
 *
 * A rank touches nothing by the statements of a branch that it does not take. It still walks a branch that
 * only others take, to find their accesses to its memory. */
#include "check/check_symmetric.h"
#include "check/check_rank.h"
#include "check/check_report.h"
#include "check/check_view.h"
#include "check/checker.h"
#include "check/classes.h"
#include "check/match.h"
#include "check/progress.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/layout.h"
#include <string.h>

/* ---- fences */

static struct fenced *fenced_get(struct rank_check *w, uint32_t slice)
{
	uint32_t k = 0;
	while (k < w->fenced.n && w->fenced.at[k].slice != slice)
		k++;
	if (k == w->fenced.n)
		vec_push(&w->fenced, (struct fenced){.slice = slice});
	return &w->fenced.at[k];
}

/* Returns true if a thread is a copy that a fence made. A fence does not copy it again, since it says nothing
 * about other slices. */
static bool stands_for_others(const struct rank_check *w, uint32_t thread)
{
	return w->thread.at[thread].copy;
}

static void fence_slice(struct rank_check *w, uint32_t slice)
{
	struct fenced *f = fenced_get(w, slice);
	struct clock *clock = check_clock(w);
	uint32_t n = clock->n;
	check_spend(w->c, n);
	for (uint32_t t = 0; t < n; t++) {
		if (stands_for_others(w, t) || !clock_get(clock, t))
			continue;
		while (f->as.n <= t)
			vec_push(&f->as, 0);
		if (!f->as.at[t]) {
			f->as.at[t] = w->thread.n;
			vec_push(&w->thread, (struct thread){.copy = true});
		}
		clock_set(clock, f->as.at[t], clock_get(clock, t));
	}
}

bool symmetric_is_over(const struct rank_check *w, uint32_t symmetric, const struct clock *clock,
                       uint32_t thread, uint32_t step)
{
	for (uint32_t k = 0; k < w->fenced.n; k++) {
		const struct fenced *f = &w->fenced.at[k];
		if (f->slice == w->symmetric.at[symmetric].slice)
			return thread < f->as.n && f->as.at[thread] &&
			       step <= clock_get(clock, f->as.at[thread]);
	}
	return false;
}

/* ---- parts that ranks touch */

static spread_id spread_all(struct rank_check *w, uint32_t n)
{
	struct span *span = mem_alloc(sizeof *span * (n + 1u));
	for (uint32_t k = 0; k < n; k++)
		span[k] = SPAN_ALL;
	spread_id all = spread_get(&w->c->spreads, span, n);
	free(span);
	return all;
}

/* Evaluates a statement's scalar operand on the walk's rank. Returns false if it has no value. */
static bool scalar_of(const struct rank_check *w, op_id op, int64_t *out)
{
	const struct expr_env env = {.rank = w->rank,
	                             .streams = w->walker.o.streams ? w->walker.o.streams : INT32_MAX,
	                             .index = w->walker.index};
	const struct scalar *s = &w->m->scalar.at[op_operand_id(w->m, op, ROLE_SCALAR, 0)];
	*out = (int64_t)s->literal;
	return !s->expr || expr_eval(w->m, s->expr, &env, out, NULL) == EXPR_OK;
}

/* Returns true if the walk's rank takes the branches around a statement, or if that is not known. */
static bool reaches(const struct rank_check *w, op_id op)
{
	for (region_id r = w->m->op.at[op].parent; w->m->region.at[r].owner;) {
		op_id owner = w->m->region.at[r].owner;
		int64_t holds;
		if (w->m->op.at[owner].kind == OP_IF && scalar_of(w, owner, &holds) &&
		    (holds != 0) != (w->m->op.at[owner].region == r))
			return false;
		r = w->m->op.at[owner].parent;
	}
	return true;
}

bool symmetric_divides(struct rank_check *w, op_id op, bool holds)
{
	const int64_t rank = w->rank;
	bool divided = false;
	int64_t other;
	for (w->rank = 0; w->rank < w->c->o->ranks && !divided && check_spend(w->c, 1); w->rank++)
		divided = classes_stands(w->c, (uint32_t)w->rank) && scalar_of(w, op, &other) &&
		          (other != 0) != holds;
	w->rank = rank;
	return divided;
}

bool symmetric_is_alike(const struct rank_check *w, op_id op)
{
	const struct expr_env env = {.rank = -1,
	                             .streams = w->walker.o.streams ? w->walker.o.streams : INT32_MAX,
	                             .index = w->walker.index};
	expr_id e = op_scalar_expr(w->m, op, 0);
	int64_t at;
	bool alike = !e || expr_eval(w->m, e, &env, &at, NULL) == EXPR_OK;
	for (unsigned k = 0; k < w->walker.loop.n && alike; k++)
		for (unsigned i = 0; i < 2 && alike; i++) {
			e = op_scalar_expr(w->m, w->walker.loop.at[k].op, i);
			alike = !e || expr_eval(w->m, e, &env, &at, NULL) == EXPR_OK;
		}
	return alike;
}

/* The part that each rank of a slice touches by a statement. */
struct touch {
	op_id op;
	uint32_t slice;
	spread_id from;       /* at most this part is touched */
	const struct view *x; /* cut; NULL: all of `from`, on the ranks that reach the statement */
	type_id type; /* cut as a slice of this type, 0: by a select; logical, leaf: as for symmetric_cut */
	int logical, leaf;
};

/* Returns the part that the walk's rank touches. */
static struct span span_of(struct rank_check *w, const struct touch *t, uint32_t member)
{
	const struct span all = spread_span(&w->c->spreads, t->from, member);
	struct part_axis part;
	struct cut cut = {.axis = t->leaf};
	if (!t->x)
		return reaches(w, t->op) ? all : (struct span){0, 0};
	if (w->m->op.at[t->op].kind != OP_SYMMETRIC_VIEW && !scalar_of(w, t->op, &cut.at))
		return all;
	if (!t->type)
		return (struct span){cut.at, cut.at + 1};
	return check_view_axis(w, t->x, t->type, (unsigned)t->logical, cut, &part, NULL)
	           ? (struct span){part.from, part.to}
	           : all;
}

static spread_id spread_find(struct rank_check *w, const struct touch *t)
{
	const struct walk_slice *s = &w->c->walk_program.slice.at[t->slice];
	const int64_t rank = w->rank;
	struct span *span = mem_alloc(sizeof *span * (s->n + 1u));
	for (uint32_t k = 0; k < s->n && check_spend(w->c, 1); k++) {
		w->rank = s->device[k];
		span[k] = span_of(w, t, k);
	}
	w->rank = rank;
	spread_id spread = check_goes_on(w->c) ? spread_get(&w->c->spreads, span, s->n) : t->from;
	free(span);
	return spread;
}

static bool is_same(const struct rank_check *w, const struct known_spread *k, const struct touch *t)
{
	bool same = k->op == t->op && k->slice == t->slice && k->from == t->from;
	for (unsigned i = 0; i < w->walker.loop.n && same; i++)
		same = k->at[i] == w->walker.loop.at[i].at;
	return same;
}

static spread_id spread_of(struct rank_check *w, const struct touch *t)
{
	struct checker *c = w->c;
	uint64_t h = hash_number(hash_number(t->op, t->slice), t->from);
	for (unsigned i = 0; i < w->walker.loop.n; i++)
		h = hash_number(h, (uint64_t)w->walker.loop.at[i].at);
	struct hash_probe p = {.hash = h};
	for (uint32_t k; (k = hash_next(&c->knowns, &p));)
		if (check_spend(c, 1) && is_same(w, &c->known.at[k], t))
			return c->known.at[k].is;
	int64_t *at = arena_new_array(c->arena, int64_t, w->walker.loop.n);
	for (unsigned i = 0; i < w->walker.loop.n; i++)
		at[i] = w->walker.loop.at[i].at;
	struct known_spread new = {.op = t->op, .slice = t->slice, .from = t->from, .at = at};
	new.is = spread_find(w, t);
	vec_push(&c->known, new);
	hash_insert(&c->knowns, h, c->known.n - 1);
	return new.is;
}

void symmetric_cut(struct rank_check *w, op_id op, struct view *x, int axis, type_id type, int logical,
                   int leaf)
{
	const struct symmetric *s = &w->symmetric.at[x->symmetric];
	/* a part that was cut before is not narrowed again */
	if (axis >= 0 && axis == s->axis && (!type || leaf >= 0) && x->spread == s->all)
		x->spread = spread_of(w, &(struct touch){op, s->slice, x->spread, x, type, logical, leaf});
}

void symmetric_leave_out(struct rank_check *w, op_id op, struct view *x)
{
	if (op && w->m->region.at[w->m->op.at[op].parent].owner)
		x->spread = spread_of(w, &(struct touch){.op = op,
		                                         .slice = w->symmetric.at[x->symmetric].slice,
		                                         .from = x->spread});
}

bool symmetric_meets(struct rank_check *w, const struct view *a, const struct view *b, uint32_t *who)
{
	const struct symmetric *s = &w->symmetric.at[a->symmetric ? a->symmetric : b->symmetric];
	const struct walk_slice *slice = &w->c->walk_program.slice.at[s->slice];
	spread_id x = a->symmetric ? a->spread : s->own, y = b->symmetric ? b->spread : s->own;
	if (a->symmetric && b->symmetric && s->slice != w->symmetric.at[b->symmetric].slice) {
		/* the two views go along different mesh axes */
		who[0] = slice->device[0];
		who[1] = slice->device[slice->n - 1];
		return slice->n > 1;
	}
	if (!check_spend(w->c, 1) || !spread_meets(&w->c->spreads, x, y, s->member, who))
		return false;
	who[0] = slice->device[who[0]];
	who[1] = slice->device[who[1]];
	return true;
}

/* ---- statements */

/* Returns the logical axis along which the blocks of a view's operand lie; -1: none, or several. */
static int axis_of(struct rank_check *w, op_id op)
{
	const struct type *from = value_type(w->m, op_read(w->m, op, 0));
	const struct domain *d = ir_domain(w->m, from->domain), *e = value_domain(w->m, op_def(w->m, op, 0));
	int found = -1;
	for (unsigned k = 0; k < d->loop_n; k++) {
		const struct axis *a = &d->axis[d->loop[k]];
		if (a->place != PLACE_MESH || a->kind != AXIS_ITER || e->axis[d->loop[k]].place == PLACE_MESH)
			continue;
		int logical = layout_logical_of(d, d->loop[k]);
		if (found >= 0 && found != logical)
			return -1;
		found = logical;
	}
	return found;
}

static void meet_at_fence(struct rank_check *w, op_id op, const struct membership *me, value_id v)
{
	uint32_t meeting = match_fence(w, op, me, ir_root(w->m, v));
	progress_start(w, op, meeting);
	progress_stand(w, meeting);
}

/* Notes how the walk's rank's part along an axis moves on each turn. Returns false if that breaks a turn. */
static bool own_parts(struct rank_check *w, const struct view *x, type_id type, unsigned axis)
{
	int64_t by[SYMMETRY_MOST] = {0};
	struct part_axis part;
	return !check_view_axis(w, x, type, axis, (struct cut){.axis = -1}, &part, by) ||
	       classes_parts(w, w->storage.at[x->storage].value, 0, axis, by);
}

void symmetric_view(struct rank_check *w, op_id op)
{
	value_id v = op_def(w->m, op, 0), from = op_read(w->m, op, 0);
	struct view x = w->view[from];
	struct membership me;
	if (x.storage != CHECK_NONE && check_membership(w, w->m->op.at[op].team, &me) &&
	    classes_meet(w, w->m->op.at[op].team, &me)) {
		const struct storage *of = &w->storage.at[x.storage];
		if (of->freed)
			report_freed(w, of->value, of->freed, of->freed_iteration, op, ACCESS_VIEW);
		struct symmetric s = {
		    .value = v, .storage = x.storage, .slice = me.slice, .iteration = w->now};
		s.member = me.member;
		s.axis = axis_of(w, op);
		s.own = s.all = x.spread = spread_all(w, me.n);
		if (s.axis >= 0 && own_parts(w, &x, w->m->value.at[from].type, (unsigned)s.axis))
			s.own = spread_of(w, &(struct touch){op, me.slice, s.all, &x,
			                                     w->m->value.at[from].type, s.axis, -1});
		x.symmetric = w->symmetric.n;
		vec_push(&w->symmetric, s);
		meet_at_fence(w, op, &me, v);
		fence_slice(w, me.slice);
	}
	w->view[v] = x;
}

void symmetric_free(struct rank_check *w, op_id op, value_id v)
{
	struct symmetric *s = &w->symmetric.at[w->view[v].symmetric];
	struct membership me;
	if (!w->view[v].symmetric)
		return;
	if (s->freed)
		report_freed(w, v, s->freed, s->freed_iteration, op, ACCESS_FREE);
	s->freed = op;
	s->freed_iteration = w->now;
	if (check_membership(w, w->m->op.at[w->m->value.at[v].def].team, &me))
		meet_at_fence(w, op, &me, v);
	fence_slice(w, s->slice);
}

uint32_t symmetric_of(const struct rank_check *w, uint32_t storage)
{
	for (uint32_t k = w->symmetric.n; k-- > 1;)
		if (w->symmetric.at[k].storage == storage && !w->symmetric.at[k].freed)
			return k;
	return 0;
}

void symmetric_free_all(struct rank_check *w)
{
	for (uint32_t k = 0; k < w->fenced.n; k++)
		vec_free(&w->fenced.at[k].as);
	vec_free(&w->fenced);
	vec_free(&w->symmetric);
}
