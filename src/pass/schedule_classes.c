/* schedule_classes: see schedule_classes.h. */
#include "pass/schedule_classes.h"
#include "analysis/recorded_classes.h"
#include <string.h>

/* Makes the problem of a class, and finds its present peak. */
static bool open_class(struct module *m, struct pass_context *cx, const struct cost *cost,
                       enum block_buckets buckets, const struct recorded_class *r, struct arena *a,
                       struct schedule_class *out, int64_t *peak)
{
	int64_t *inside = arena_new_array(a, int64_t, m->op.n);
	const struct block_frame frame = {.inside = inside, .buckets = buckets};
	*out = (struct schedule_class){.block = {.region = r->body, .owner = r->branch}, .first = r->first};
	struct block *b = &out->block.b;
	if (!block_find_inside(m, r->body, buckets, cost, cx->d, inside) ||
	    !block_make(m, r->body, &frame, cost, cx->d, a, b))
		return false;
	uint32_t *order = arena_new_array(a, uint32_t, b->p.n);
	for (uint32_t x = 0; x < b->p.n; x++)
		order[x] = x;
	*peak = sched_simulate(&b->p, order, NULL).peak;
	return true;
}

/* Numbers the events of all classes by the communications of their first class. */
static void find_events(const struct recorded *r, const struct recorded_meeting *meeting,
                        struct schedule_classes *s, struct sched_team *t, struct arena *a)
{
	struct sched_pair *message = arena_new_array(a, struct sched_pair, r->comm.n);
	t->event_n = r->comm.n;
	t->message = message;
	for (uint32_t c = 0; c < s->n; c++) {
		const struct block *b = &s->class[c].block.b;
		t->member[c].event = arena_new_array(a, uint32_t, b->p.n);
		for (uint32_t x = 0; x < b->p.n; x++) {
			uint32_t comm = r->comm_of[b->op[x]];
			t->member[c].event[x] = comm == RECORDED_NONE ? SCHED_NONE : meeting[comm].first;
		}
	}
	for (uint32_t k = 0; k < r->comm.n; k++)
		if (meeting[k].from != RECORDED_NONE)
			message[t->message_n++] = (struct sched_pair){meeting[k].from, k};
}

bool schedule_classes(struct module *m, struct pass_context *cx, const struct cost *cost,
                      enum block_buckets buckets, const struct sched_options *o,
                      int64_t (*limit_of)(const struct pass_context *cx, int64_t before), struct arena *a,
                      struct schedule_classes *out, int64_t *least)
{
	struct recorded r;
	bool ok = true;
	recorded_find(m, module_ranks(m), a, &r);
	struct sched_team t = {.effort = o->effort, .bucket = o->bucket, .member_n = r.class.n};
	*out = (struct schedule_classes){.n = r.class.n};
	out->class = arena_new_array(a, struct schedule_class, r.class.n);
	t.member = arena_new_array(a, struct sched_member, r.class.n);
	*least = -1;
	for (uint32_t c = 0; c < r.class.n && ok; c++) {
		int64_t peak = 0;
		ok = open_class(m, cx, cost, buckets, &r.class.at[c], a, &out->class[c], &peak);
		out->class[c].limit = limit_of(cx, peak);
		t.member[c].p = &out->class[c].block.b.p;
		t.member[c].limit = out->class[c].limit;
	}
	if (ok) {
		find_events(&r, recorded_meetings(&r, a), out, &t, a);
		ok = sched_together(&t, a, &out->joint, least);
	}
	for (uint32_t c = 0; c < r.class.n && ok; c++) {
		out->class[c].schedule = out->joint.schedule[c];
		out->class[c].before = out->joint.before[c];
		out->class[c].after = out->joint.after[c];
	}
	recorded_free(&r);
	if (!ok)
		out->n = 0;
	return ok;
}

void schedule_classes_free(struct schedule_classes *s)
{
	for (uint32_t c = 0; c < s->n; c++)
		sched_schedule_free(&s->class[c].schedule);
}
