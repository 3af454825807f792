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
	const struct sim_instance *x = sim_instance_of(e, of.unit, of.task);
	const struct sim_meeting *q = &e->meeting.at[u->meeting[t->channel]];
	if (x->who == of.unit && u->moment[of.task].ready == x->latest)
		return sim_cause_ready(e, of);
	for (uint32_t k = 0; k < q->member_n; k++) {
		struct sim_member m = e->member.at[q->member + k];
		uint32_t task = e->unit[m.unit].slot[m.local][t->number];
		if (m.unit == x->who && e->unit[m.unit].moment[task].ready == x->latest)
			return (struct sim_cause){m.unit, task};
	}
	return sim_cause_ready(e, of);
}
