/* queue_issue_trace: reports events with their times to a tracer, from the engine of a device that works
 * on its own.
 *
 *     stream    ··event·task·event····event: the stream reaches allreduce c····event: it reaches wait c··
 *     device                                 ·····························c··event: c is done
 *
 * All events are kept until rt_drain, when the device has nothing to do. Then they are converted to
 * times, relative to an event before the first of them, whose time is known by both clocks. */
#include "rt/queue_issue.h"

bool issue_trace_clock(struct issue_engine *e)
{
	int64_t error = 0;
	if (!e->base.trace || rt_engine_failed(&e->base))
		return false;
	if (e->clock) /* made when the device had nothing to do */
		return true;
	if (issue_failed(e, e->device->clock(e->base.device, &e->clock, &e->clock_ns, &error)))
		return false;
	if (e->base.trace->error_ns < error)
		e->base.trace->error_ns = error;
	if (e->clock_ns < e->told_ns) /* whatever the error is, reported items are over */
		e->clock_ns = e->told_ns;
	return true;
}

void *issue_trace_begin(struct issue_engine *e, struct stream *s, struct rt_origin at)
{
	return issue_trace_clock(e) ? issue_record(e, s, at) : NULL;
}

void issue_trace_task(struct issue_engine *e, struct stream *s, void *begin, struct rt_origin at)
{
	void *end = begin && !rt_engine_failed(&e->base) ? issue_record(e, s, at) : NULL;
	struct issue_timed t = {
	    .mark = {.kind = RT_TRACE_TASK, .id = ++e->base.traced, .lane = s->base.name, .at = at},
	    .begin = begin,
	    .end = end};
	if (begin)
		vec_push(&e->kept, begin);
	if (end)
		vec_push(&e->kept, end);
	if (begin && end)
		vec_push(&e->timed, t);
}

void issue_trace_wait(struct issue_engine *e, struct stream *s, struct rt_ticket ticket, struct rt_origin at)
{
	void *begin = ticket.id ? issue_trace_begin(e, s, at) : NULL;
	struct issue_timed t = {
	    .mark = {.kind = RT_TRACE_WAIT, .id = ticket.id, .lane = s->base.name, .at = at}, .begin = begin};
	if (!begin)
		return;
	vec_push(&e->kept, begin);
	vec_push(&e->timed, t);
}

void issue_trace_comm(struct issue_engine *e, const struct comm *c, void *end)
{
	struct team *team = c->item.message ? NULL : issue_team(e, c->item.c.team);
	struct issue_timed t = {.mark = {.kind = team ? RT_TRACE_COLLECTIVE : RT_TRACE_MESSAGE,
	                                 .id = c->item.id,
	                                 .at = rt_comm_at(&c->item),
	                                 .bytes = rt_engine_bytes(&e->base, &c->item)},
	                        .team = team ? 1 + c->item.c.team : 0,
	                        .follows = c->item.follows,
	                        .begin = c->after,
	                        .end = end};
	if (!e->base.trace)
		return;
	if (team && !team->has_line) {
		team->has_line = true;
		team->line = rt_engine_team_line(&e->base, c->item.c.team);
	}
	const struct rt_board_line *line = team ? rt_board_line_at(e->base.job, team->line) : NULL;
	t.mark.lane = line ? atomic_load_explicit(&line->name, memory_order_relaxed) : 0;
	vec_push(&e->timed, t);
}

void issue_release(struct issue_engine *e, void *event)
{
	if (e->base.trace)
		vec_push(&e->kept, event);
	else
		e->device->release(e->base.device, event);
}

static int64_t time_of(struct issue_engine *e, void *event)
{
	int64_t ns = 0;
	issue_failed(e, e->device->elapsed(e->base.device, e->clock, event, &ns));
	ns += e->clock_ns;
	e->told_ns = ns > e->told_ns ? ns : e->told_ns;
	return ns;
}

static void tell(struct issue_engine *e, const struct issue_timed *t)
{
	struct rt_tracer *to = e->base.trace;
	struct rt_trace_mark m = t->mark;
	struct team *team = t->team ? issue_team(e, t->team - 1) : NULL;
	m.bytes = 0;
	m.ns = time_of(e, t->begin);
	int64_t end = t->end ? time_of(e, t->end) : m.ns;
	/* Streams may execute several collectives of a communicator at once. One is shown from the time
	 * when it is the only one. */
	if (team && m.ns < team->busy_until)
		m.ns = end < team->busy_until ? end : team->busy_until;
	if (rt_engine_failed(&e->base))
		return;
	if (!t->follows)
		to->event(to, &m);
	if (m.kind == RT_TRACE_WAIT)
		return;
	m.ns = end > m.ns ? end : m.ns;
	if (team && team->busy_until < m.ns)
		team->busy_until = m.ns;
	m.ends = true;
	m.bytes = t->mark.bytes;
	to->event(to, &m);
}

void issue_trace_end(struct issue_engine *e)
{
	for (uint32_t k = 0; k < e->timed.n && !rt_engine_failed(&e->base); k++)
		tell(e, &e->timed.at[k]);
	e->timed.n = 0;
	while (e->kept.n)
		e->device->release(e->base.device, e->kept.at[--e->kept.n]);
	if (e->clock)
		e->device->release(e->base.device, e->clock);
	e->clock = NULL;
}

void issue_trace_free(struct issue_engine *e)
{
	issue_trace_end(e);
	for (uint32_t k = 0; k < e->team.n; k++)
		if (e->team.at[k].has_line)
			rt_board_line_free(e->base.job, e->team.at[k].line);
	vec_free(&e->timed);
	vec_free(&e->kept);
}
