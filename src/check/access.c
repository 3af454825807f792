/* access: memory, and the order of accesses to it.
 *
 * Each memory keeps the accesses that may conflict with a later one:
 *
 *     write A            A
 *     read B, read C     A, B, C      B and C are of two streams
 *     write D            D            when D is after A, B and C and covers them
 *
 * An access through a symmetric view touches buffers of other ranks, and those ranks touch this rank's
 * buffer. So two accesses, of which one or both use such a view, are also compared as accesses of two
 * different ranks.
 *
 * A new access is compared with each kept one. An old access is dropped if it is before the new one and the
 * new one covers it: any later access that conflicts with the old one conflicts with the new one, too. An old
 * write is kept when the new access is a read. */
#include "check/access.h"
#include "check/check_rank.h"
#include "check/check_report.h"
#include "check/check_symmetric.h"
#include "check/checker.h"
#include "check/written.h"

static bool is_before(const struct record *r, const struct clock *clock)
{
	return r->step <= clock_get(clock, r->thread);
}

static void find_races(struct rank_check *w, struct storage *x, op_id op, const struct access *a,
                       const struct clock *clock, uint32_t thread)
{
	const struct parts *p = &w->c->parts;
	for (uint32_t k = 0; k < x->record.n; k++) {
		const struct record *r = &x->record.at[k];
		if ((a->kind == ACCESS_READ && r->kind == ACCESS_READ) || r->others || is_before(r, clock) ||
		    parts_disjoint(p, r->region, a->view.region) ||
		    (w->c->o->certain && parts_are_unlike(p, r->region, a->view.region)))
			continue;
		report_race(w, x, op, a->kind, thread, r);
	}
}

/* Compares an access with the records as if these were another rank's. */
static void compare_ranks(struct rank_check *w, struct storage *x, op_id op, const struct access *a,
                          const struct clock *clock, uint32_t thread)
{
	for (uint32_t k = 0; k < x->record.n; k++) {
		const struct record *r = &x->record.at[k];
		const struct view view = {.symmetric = r->symmetric, .spread = r->spread};
		uint32_t s = a->view.symmetric, who[2];
		if ((!s && !r->symmetric) || (a->kind == ACCESS_READ && r->kind == ACCESS_READ) ||
		    ((!s || symmetric_is_over(w, s, clock, r->thread, r->step)) &&
		     (!r->symmetric || symmetric_is_over(w, r->symmetric, clock, r->thread, r->step))) ||
		    parts_disjoint(&w->c->parts, r->alike, a->view.alike) ||
		    !symmetric_meets(w, &view, &a->view, who))
			continue;
		report_race_of_ranks(w, x, op, a, thread, r, who);
	}
}

/* Compares two accesses of one statement as accesses of two ranks. */
static void compare_itself(struct rank_check *w, op_id op, const struct access *a, const struct access *b)
{
	uint32_t who[2];
	if (a->view.storage == b->view.storage && (a->view.symmetric || b->view.symmetric) &&
	    (a->kind != ACCESS_READ || b->kind != ACCESS_READ) &&
	    !parts_disjoint(&w->c->parts, a->view.alike, b->view.alike) &&
	    symmetric_meets(w, &a->view, &b->view, who))
		report_race_with_itself(w, &w->storage.at[a->view.storage], op, a, b, who);
}

/* Returns true if each access of another rank that conflicts with the old record also conflicts with the new
 * one. */
static bool covers_ranks(const struct rank_check *w, const struct record *r, const struct record *old)
{
	const struct symmetric *s = &w->symmetric.at[r->symmetric];
	if (!old->symmetric)
		return !r->symmetric || spread_covers(&w->c->spreads, r->spread, s->own);
	return r->symmetric && s->slice == w->symmetric.at[old->symmetric].slice &&
	       spread_covers(&w->c->spreads, r->spread, old->spread);
}

static void remember(struct rank_check *w, struct storage *x, const struct access *a,
                     const struct clock *clock, struct record r)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->record.n; k++) {
		const struct record *old = &x->record.at[k];
		bool gone = (a->kind != ACCESS_READ || old->kind == ACCESS_READ) && is_before(old, clock) &&
		            r.others <= old->others && parts_cover(&w->c->parts, r.region, old->region) &&
		            parts_cover(&w->c->parts, r.alike, old->alike) && covers_ranks(w, &r, old);
		if (!gone)
			x->record.at[n++] = *old;
	}
	x->record.n = n;
	vec_push(&x->record, r);
}

/* Returns true if an access counts. In a branch that only other ranks take, only accesses to memory that this
 * rank may use, too, count. */
static bool is_counted_access(const struct rank_check *w, const struct access *a)
{
	if (a->view.storage == CHECK_NONE)
		return false;
	return !w->others ||
	       value_type(w->m, w->storage.at[a->view.storage].value)->memory == MEMORY_SYMMETRIC;
}

/* Returns true if an access needs what its memory holds: a read, or a sum that is added to it. */
static bool needs_contents(const struct rank_check *w, op_id op, const struct access *a)
{
	return a->kind == ACCESS_READ ||
	       (a->kind == ACCESS_WRITE && op && op_attr_is_true(w->m, op, "accumulate"));
}

/* Handles the k-th access of a list. others: how many accesses of the list, from the first, may touch the
 * same memory on another rank. */
static void access_one(struct rank_check *w, op_id op, const struct access *list, unsigned k, unsigned others,
                       const struct clock *clock, uint32_t thread)
{
	struct storage *x = &w->storage.at[list[k].view.storage];
	const struct symmetric *s = &w->symmetric.at[list[k].view.symmetric];
	if (w->others) {
		compare_ranks(w, x, op, &list[k], clock, thread);
		return;
	}
	w->c->unlike |= list[k].one_of != 0;
	w->c->result->accesses += list[k].one_of ? w->c->weight / list[k].one_of : w->c->weight;
	if (x->freed) {
		report_freed(w, x->value, x->freed, x->freed_iteration, op, list[k].kind);
	} else if (s->freed) {
		report_freed(w, s->value, s->freed, s->freed_iteration, op, list[k].kind);
	} else {
		find_races(w, x, op, &list[k], clock, thread);
		compare_ranks(w, x, op, &list[k], clock, thread);
		for (unsigned i = 0; i < others; i++)
			compare_itself(w, op, &list[i], &list[k]);
	}
}

void access_all(struct rank_check *w, op_id op, struct access *list, unsigned n, const struct clock *clock,
                uint32_t thread, uint32_t step)
{
	bool symmetric = false;
	for (unsigned k = 0; k < n; k++)
		if (list[k].view.symmetric) {
			symmetric_leave_out(w, op, &list[k].view);
			symmetric = true;
		}
	for (unsigned k = 0; k < n; k++) {
		if (!is_counted_access(w, &list[k]))
			continue;
		if (!check_spend(w->c, w->storage.at[list[k].view.storage].record.n / CHECK_COMPARISONS))
			return;
		access_one(w, op, list, k, symmetric ? k + 1 : 0, clock, thread);
		if (needs_contents(w, op, &list[k]) && !w->others)
			written_check(w, op, &list[k]);
	}
	for (unsigned k = 0; k < n; k++) {
		if (!is_counted_access(w, &list[k]))
			continue;
		if (list[k].kind == ACCESS_WRITE)
			written_add(w, &list[k]);
		remember(w, &w->storage.at[list[k].view.storage], &list[k], clock,
		         (struct record){.thread = thread,
		                         .step = step,
		                         .region = list[k].view.region,
		                         .alike = list[k].view.alike,
		                         .op = op,
		                         .symmetric = list[k].view.symmetric,
		                         .spread = list[k].view.spread,
		                         .iteration = w->now,
		                         .kind = (uint8_t)list[k].kind,
		                         .others = w->others != 0});
	}
}

void access_free(struct rank_check *w, op_id op, value_id v)
{
	struct access a = {.view = w->view[v], .kind = ACCESS_FREE};
	if (w->m->value.at[v].def && w->m->op.at[w->m->value.at[v].def].kind == OP_SYMMETRIC_VIEW) {
		symmetric_free(w, op, v);
		return;
	}
	if (a.view.storage == CHECK_NONE)
		return;
	uint32_t shown = symmetric_of(w, a.view.storage);
	if (shown)
		report_shown(w, &w->symmetric.at[shown], op);
	uint32_t step = check_step(w);
	access_all(w, op, &a, 1, check_clock(w), w->stream.at[w->current].thread, step);
	w->storage.at[a.view.storage].freed = op;
	w->storage.at[a.view.storage].freed_iteration = w->now;
}

/* Checks the accesses of the program's caller to a buffer after the program. With --strict the caller's
 * accesses are ordered only after the initial stream; without it, all streams are done by then. Communications
 * that nothing waits for are not: the caller may not read a result of one. */
static void check_caller(struct rank_check *w, struct storage *x, struct clock *all)
{
	struct checker *c = w->c;
	const struct clock *clock = &w->stream.at[0].clock; /* the initial stream */
	const struct access take = {.kind = ACCESS_TAKE};
	uint32_t shown = symmetric_of(w, (uint32_t)(x - w->storage.at));
	if (c->is_returned[x->value] || !w->m->value.at[x->value].def) {
		if (c->o->strict)
			find_races(w, x, 0, &take, clock, CHECK_NONE);
		else if (c->is_returned[x->value])
			find_races(w, x, 0, &(struct access){.kind = ACCESS_READ}, all, CHECK_NONE);
		compare_ranks(w, x, 0, &take, c->o->strict ? clock : all, CHECK_NONE);
	} else if (shown && c->is_shown[w->symmetric.at[shown].value]) {
		const struct access read = {.view = w->view[w->symmetric.at[shown].value],
		                            .kind = ACCESS_READ};
		if (c->o->strict)
			find_races(w, x, 0, &read, clock, CHECK_NONE);
		compare_ranks(w, x, 0, &read, c->o->strict ? clock : all, CHECK_NONE);
	}
}

/* Reports symmetric views that the caller takes although the program has deallocated them. */
static void check_shown(struct rank_check *w)
{
	for (uint32_t k = 1; k < w->symmetric.n; k++) {
		const struct symmetric *s = &w->symmetric.at[k];
		if (s->freed && w->c->is_shown[s->value])
			report_freed(w, s->value, s->freed, s->freed_iteration, 0, ACCESS_TAKE);
	}
}

void access_end(struct rank_check *w)
{
	struct checker *c = w->c;
	struct clock all = {0};
	check_shown(w);
	for (uint32_t k = 0; k < w->stream.n; k++)
		clock_join(&all, &w->stream.at[k].clock);
	for (uint32_t k = 0; k < w->storage.n; k++) {
		struct storage *x = &w->storage.at[k];
		op_id allocate = w->m->value.at[x->value].def;
		uint32_t s = symmetric_of(w, k);
		bool out = c->is_returned[x->value], shown = s && c->is_shown[w->symmetric.at[s].value];
		if (out && x->freed)
			report_freed(w, x->value, x->freed, x->freed_iteration, 0, ACCESS_TAKE);
		else
			check_caller(w, x, &all);
		if (out)
			written_end(w, k);
		if (out || shown || !allocate || x->freed || !w->m->deallocates)
			continue;
		if (w->m->op.at[allocate].kind == OP_ALLOCATE)
			report_leak(w, x->value, allocate);
		if (s)
			report_leak(w, w->symmetric.at[s].value,
			            w->m->value.at[w->symmetric.at[s].value].def);
	}
	vec_free(&all);
}
