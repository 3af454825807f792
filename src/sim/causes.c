/* causes: see causes.h. */
#include "sim/causes.h"

static const struct sim_task *task_of(const struct sim_events *e, struct sim_cause x)
{
	return &e->unit[x.unit].r.task.at[x.task];
}

static const struct sim_cause host = {0, SIM_NONE};

struct sim_cause sim_cause_ready(const struct sim_events *e, struct sim_cause of)
{
	const struct sim_task *t = task_of(e, of);
	const struct sim_moment *m = e->unit[of.unit].moment;
	uint32_t by = t->before;
	if (by == SIM_NONE || (t->also != SIM_NONE && m[t->also].end > m[by].end))
		by = t->also;
	if (by == SIM_NONE || m[by].end < m[of.task].ready)
		return host;
	return (struct sim_cause){of.unit, by};
}

bool sim_cause_is_channel(const struct sim_events *e, struct sim_cause of)
{
	const struct sim_task *t = task_of(e, of);
	return t->kind == SIM_MEETING && t->number &&
	       sim_instance_of(e, of.unit, of.task)->latest < e->unit[of.unit].moment[of.task].begin;
}

static bool is_member_less(const struct sim_events *e, struct sim_member a, struct sim_member b)
{
	if (e->unit[a.unit].class != e->unit[b.unit].class)
		return e->unit[a.unit].class < e->unit[b.unit].class;
	return a.local != b.local ? a.local < b.local : a.unit < b.unit;
}

/* Returns the cause that a meeting waited for: this unit's own if none came later, otherwise that of the
 * member that came last. Of several it takes the member of the least class, so that the answer is the same
 * when ranks are simulated one by one. */
static struct sim_cause last_to_come(const struct sim_events *e, struct sim_cause of)
{
	const struct sim_unit *u = &e->unit[of.unit];
	const struct sim_task *t = task_of(e, of);
	const struct sim_meeting *q = &e->meeting.at[u->meeting[t->channel]];
	int64_t latest = sim_instance_of(e, of.unit, of.task)->latest;
	const struct sim_member *least = NULL;
	if (u->moment[of.task].ready == latest)
		return sim_cause_ready(e, of);
	for (uint32_t k = 0; k < q->member_n; k++) {
		const struct sim_member *m = &e->member.at[q->member + k];
		uint32_t task = e->unit[m->unit].slot[m->local][t->number];
		if (e->unit[m->unit].moment[task].ready == latest &&
		    (!least || is_member_less(e, *m, *least)))
			least = m;
	}
	return (struct sim_cause){least->unit, e->unit[least->unit].slot[least->local][t->number]};
}

struct sim_cause sim_cause_begin(const struct sim_events *e, struct sim_cause of)
{
	const struct sim_unit *u = &e->unit[of.unit];
	const struct sim_task *t = task_of(e, of);
	if (t->kind == SIM_WORK && u->moment[of.task].device != SIM_NONE)
		return (struct sim_cause){of.unit, u->moment[of.task].device};
	if (t->kind < SIM_MEETING)
		return sim_cause_ready(e, of);
	if (sim_cause_is_channel(e, of))
		return (struct sim_cause){of.unit, u->slot[t->channel][t->number - 1]};
	return last_to_come(e, of);
}
