/* compare: compares two lists, event by event; see events.h. */
#include "events/events.h"
#include "ir/edit.h"
#include <string.h>

const char *const event_name[EVENT_KINDS] = {"iteration", "work", "meeting", "fence",   "message",
                                             "group",     "end",  "wait",    "missing", "join"};

struct event event_new(enum event_kind kind, op_id op)
{
	return (struct event){.kind = (uint8_t)kind, .op = op, .peer = {-1, -1}};
}

void events_free(struct events *e)
{
	vec_free(&e->at);
	vec_free(&e->settled);
	buf_free(&e->why);
	*e = (struct events){0};
}

/* ---- text */

static void put_op(const struct module *m, op_id op, struct buf *out)
{
	const struct op *o = &m->op.at[op];
	unsigned line = 1;
	if (!op) {
		buf_puts(out, "no statement");
		return;
	}
	for (uint32_t k = 0; m->source && k < o->at && m->source->text[k]; k++)
		line += m->source->text[k] == '\n';
	buf_printf(out, "%s (line %u)", op_info[o->kind].hir, line);
}

void event_put(const struct module *m, const struct event *e, struct buf *out)
{
	buf_printf(out, "%s: ", event_name[e->kind]);
	put_op(m, e->op, out);
	buf_printf(out, ", iteration %lld, stream %lld", (long long)e->iteration, (long long)e->stream);
	if (e->of) {
		buf_puts(out, ", of ");
		put_op(m, e->of, out);
	}
	buf_printf(out, ", number %u, peer %lld %lld", e->nth, (long long)e->peer[0], (long long)e->peer[1]);
	for (uint32_t k = 0; k < e->n; k++)
		buf_printf(out, "%s%u", k ? " " : ", team (", e->device[k]);
	buf_puts(out, e->n ? ")" : "");
}

/* ---- lists */

/* The plan's MISSING has no `of`: its queue is empty. */
static bool is_same(const struct event *a, const struct event *b)
{
	return a->kind == b->kind && a->op == b->op && (a->of == b->of || a->kind == EVENT_MISSING) &&
	       a->nth == b->nth && a->stream == b->stream && a->iteration == b->iteration &&
	       a->peer[0] == b->peer[0] && a->peer[1] == b->peer[1] && a->n == b->n &&
	       (!a->n || !memcmp(a->device, b->device, sizeof *a->device * a->n));
}

/* Returns true if the plan waits where it issues the Communication. */
static bool is_settled(const struct events *plan, const struct event *wait)
{
	for (uint32_t k = plan->settled.n; k-- > 0 && wait->kind == EVENT_WAIT;)
		if (plan->settled.at[k].of == wait->of && plan->settled.at[k].nth == wait->nth)
			return true;
	return false;
}

/* Returns true if no other rank takes part in the event. */
static bool is_own(const struct event *e)
{
	return e->kind != EVENT_MEET && e->kind != EVENT_FENCE && e->kind != EVENT_MESSAGE;
}

static void put_pair(const struct module *m, const struct event *walk, const struct event *plan,
                     struct buf *out)
{
	buf_puts(out, "  walk  ");
	if (walk)
		event_put(m, walk, out);
	else
		buf_puts(out, "has ended");
	buf_puts(out, "\n  plan  ");
	if (plan)
		event_put(m, plan, out);
	else
		buf_puts(out, "has ended");
	buf_puts(out, "\n");
}

static bool differ_lists(const struct module *m, struct events *walk, struct events *plan, struct buf *out)
{
	uint32_t i = 0, j = 0;
	for (; i < walk->at.n && j < plan->at.n; i++) {
		const struct event *a = &walk->at.at[i];
		struct event *b = &plan->at.at[j];
		if (is_same(a, b)) {
			memcpy(b->part, a->part, sizeof b->part);
			j++;
			continue;
		}
		if (is_settled(plan, a))
			continue;
		if (a->optional) {
			walk->skipped++;
			continue;
		}
		put_pair(m, a, b, out);
		return true;
	}
	while (i < walk->at.n && (is_settled(plan, &walk->at.at[i]) || walk->at.at[i].optional))
		walk->skipped += walk->at.at[i++].optional;
	const struct event *more = i < walk->at.n ? &walk->at.at[i] : NULL,
	                   *rest = j < plan->at.n ? &plan->at.at[j] : NULL;
	bool cut = walk->at.n == EVENTS_MOST || plan->at.n == EVENTS_MOST;
	if (cut || (more && !plan->complete) || (rest && !walk->complete && !plan->complete) ||
	    (!more && !rest))
		return false;
	put_pair(m, more, rest, out);
	return true;
}

bool events_differ(const struct module *m, struct events *walk, struct events *plan, struct buf *out)
{
	for (uint32_t k = 0; k < walk->at.n && plan->idle; k++) {
		if (is_own(&walk->at.at[k]))
			continue;
		put_pair(m, &walk->at.at[k], NULL, out);
		return true;
	}
	if (plan->idle)
		return false;
	if (differ_lists(m, walk, plan, out))
		return true;
	if (plan->complete && !walk->complete && walk->at.n < EVENTS_MOST) {
		buf_printf(out, "  the walk fails (%s), the plan does not\n",
		           walk->why.at ? walk->why.at : "");
		return true;
	}
	return false;
}
