/* access: memory, and whether accesses to it are ordered.
 *
 * A memory keeps the accesses that a later one may still conflict with:
 *
 *     write A            A
 *     read B, read C     A, B, C      B and C are of two streams
 *     write D            D            when D is after A, B and C and covers them
 *
 * A new access is compared with each. One that it covers and that is before it goes, unless it is a write
 * and the new one a read: whatever conflicts with it later conflicts with the new one, too. */
#include "check/checker.h"

static bool is_before(const struct record *r, const struct clock *clock)
{
	return r->step <= clock_get(clock, r->thread);
}

static void compare(struct walk *w, struct storage *x, op_id op, const struct access *a,
                    const struct clock *clock, uint32_t thread)
{
	const struct parts *p = &w->c->parts;
	for (uint32_t k = 0; k < x->record.n; k++) {
		const struct record *r = &x->record.at[k];
		if ((a->kind == ACCESS_READ && r->kind == ACCESS_READ) || is_before(r, clock) ||
		    parts_disjoint(p, r->region, a->view.region))
			continue;
		report_race(w, x, op, a->kind, thread, r);
	}
}

static void remember(struct walk *w, struct storage *x, const struct access *a, const struct clock *clock,
                     struct record r)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->record.n; k++) {
		const struct record *old = &x->record.at[k];
		bool gone = (a->kind != ACCESS_READ || old->kind == ACCESS_READ) && is_before(old, clock) &&
		            parts_cover(&w->c->parts, r.region, old->region);
		if (!gone)
			x->record.at[n++] = *old;
	}
	x->record.n = n;
	vec_push(&x->record, r);
}

void access_all(struct walk *w, op_id op, const struct access *list, unsigned n, const struct clock *clock,
                uint32_t thread, uint32_t step)
{
	for (unsigned k = 0; k < n; k++) {
		if (list[k].view.storage == CHECK_NONE)
			continue;
		struct storage *x = &w->storage.at[list[k].view.storage];
		if (!check_spend(w->c, x->record.n))
			return;
		w->c->result->accesses++;
		if (x->freed)
			report_freed(w, x, op, list[k].kind);
		else
			compare(w, x, op, &list[k], clock, thread);
	}
	for (unsigned k = 0; k < n; k++)
		if (list[k].view.storage != CHECK_NONE)
			remember(w, &w->storage.at[list[k].view.storage], &list[k], clock,
			         (struct record){.thread = thread,
			                         .step = step,
			                         .region = list[k].view.region,
			                         .op = op,
			                         .turn = w->now,
			                         .kind = (uint8_t)list[k].kind});
}

void access_free(struct walk *w, op_id op, value_id v)
{
	const struct access a = {w->view[v], ACCESS_FREE};
	if (a.view.storage == CHECK_NONE)
		return;
	uint32_t step = walk_step(w);
	access_all(w, op, &a, 1, walk_clock(w), w->stream.at[w->current].thread, step);
	w->storage.at[a.view.storage].freed = op;
	w->storage.at[a.view.storage].freed_turn = w->now;
}

void access_end(struct walk *w)
{
	struct checker *c = w->c;
	const struct clock *clock = &w->stream.at[0].clock; /* the initial stream */
	for (uint32_t k = 0; k < w->storage.n; k++) {
		struct storage *x = &w->storage.at[k];
		op_id allocate = w->m->value.at[x->value].def;
		bool out = c->is_returned[x->value], in = !allocate;
		if (out && x->freed)
			report_freed(w, x, 0, ACCESS_TAKE);
		else if ((out || in) && c->o->strict)
			compare(w, x, 0, &(struct access){{0}, ACCESS_TAKE}, clock, CHECK_NONE);
		else if (!out && !in && !x->freed && w->m->op.at[allocate].kind == OP_ALLOCATE)
			report_leak(w, x, allocate);
	}
}
