/* explain_json: an explanation as one JSON object: all classes, all rows, all collectives. */
#include "base/json_put.h"
#include "explain/explain.h"
#include "explain/explain_words.h"

enum { VERSION = 1 };

static void put_more(struct buf *out, const char *key, const char *text)
{
	buf_puts(out, ", ");
	json_put_text(out, key, text);
}

static void put_statement(struct timeline *t, op_id op, struct buf *out)
{
	json_put_text(out, "statement", timeline_label(t, op));
	put_more(out, "where", timeline_where(t, op));
}

static void put_whys(struct explanation *x, const struct explain_row *r, struct buf *out)
{
	const char *between = "";
	buf_puts(out, ", \"why\": [");
	for (unsigned k = 0; k < EXPLAIN_WHY_COUNT; k++) {
		if (!r->why[k])
			continue;
		buf_printf(out, "%s{", between);
		json_put_text(out, "reason", explain_why_word[k]);
		json_put_int(out, "exposed_ns", r->why[k]);
		put_more(out, "text", explain_why_text(x->t, (enum explain_why)k, r->other[k], x->arena));
		buf_putc(out, '}');
		between = ", ";
	}
	buf_putc(out, ']');
}

static void put_row(struct explanation *x, const struct explain_class *c, const struct explain_row *r,
                    struct buf *out)
{
	put_statement(x->t, r->op, out);
	put_more(out, "kind", r->communicates ? "communication" : r->waits ? "wait" : "work");
	put_more(out, "on", explain_lane(c, r, x->arena));
	json_put_int(out, "count", r->count);
	buf_printf(out, ", \"flops\": %.0f", r->flops);
	json_put_int(out, "bytes", r->bytes);
	json_put_int(out, "time_ns", r->time);
	json_put_int(out, "alone_ns", r->alone);
	json_put_int(out, "begin_ns", r->begin);
	json_put_int(out, "first_ns", r->first);
	if (!r->communicates && !r->waits)
		put_more(out, "bound_by", explain_part_word[r->memory ? EXPLAIN_MEMORY : EXPLAIN_COMPUTE]);
	json_put_int(out, "idle_ns", r->idle);
	if (r->after_time) {
		buf_puts(out, ", \"waits_for\": {");
		if (r->after)
			put_statement(x->t, r->after, out);
		else
			json_put_text(out, "statement", "");
		put_more(out, "on", !r->after ? "host" : *r->after_lane ? r->after_lane : "other ranks");
		json_put_int(out, "idle_ns", r->after_time);
		buf_putc(out, '}');
	}
	json_put_int(out, "exposed_ns", r->exposed);
	json_put_int(out, "exposed_first_ns", r->exposed_first);
	put_whys(x, r, out);
}

static void put_class(struct explanation *x, const struct explain_class *c, struct buf *out)
{
	const struct timeline_class *t = c->c;
	buf_puts(out, "\n    {");
	json_put_text(out, "name", t->name);
	json_put_int(out, "count", t->count);
	buf_puts(out, ", \"ranks\": [");
	for (uint32_t k = 0; k < t->ranks.n; k++)
		buf_printf(out, "%s[%u, %u]", k ? ", " : "", t->ranks.at[k].first, t->ranks.at[k].last);
	buf_putc(out, ']');
	json_put_int(out, "end_ns", t->end);
	json_put_int(out, "work_ns", t->work);
	json_put_int(out, "communication_ns", c->communication);
	json_put_int(out, "exposed_ns", t->exposed);
	json_put_int(out, "contention_ns", c->contention);
	json_put_int(out, "host_ns", t->host);
	put_more(out, "bound_by", explain_part_word[explain_bound(c)]);
	buf_puts(out, ",\n    \"chain_ns\": {");
	for (unsigned k = 0; k < EXPLAIN_PARTS; k++)
		buf_printf(out, "%s\"%s\": %lld", k ? ", " : "", explain_part_word[k],
		           (long long)c->chain[k]);
	buf_puts(out, "},\n    \"rows\": [");
	for (uint32_t k = 0; k < c->row.n; k++) {
		buf_printf(out, "%s\n      {", k ? "," : "");
		put_row(x, c, &c->row.at[k], out);
		buf_putc(out, '}');
	}
	buf_puts(out, "]}");
}

static void put_collective(struct explanation *x, const struct explain_collective *c, struct buf *out)
{
	const struct cost_choice *o = &c->choice;
	put_statement(x->t, c->op, out);
	put_more(out, "collective", o->collective);
	json_put_int(out, "ranks", o->ranks);
	put_more(out, "links", o->links);
	json_put_int(out, "bytes", o->bytes);
	put_more(out, "algorithm", o->algorithm);
	json_put_int(out, "time_ns", o->time);
	if (o->latency >= 0)
		json_put_int(out, "latency_ns", o->latency);
	buf_puts(out, ",\n      \"alternatives\": [");
	for (unsigned k = 0; k < o->n; k++) {
		buf_printf(out, "%s\n        {", k ? "," : "");
		json_put_text(out, "name", o->other[k].name);
		json_put_int(out, "time_ns", o->other[k].time);
		if (o->other[k].option)
			put_more(out, "option", o->other[k].option);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

static void put_advice(const struct explain_output *o, struct buf *out)
{
	buf_printf(out, "],\n  \"advised\": %s,\n  \"advice\": [", o->advice ? "true" : "false");
	for (uint32_t k = 0; o->advice && k < o->advice->n; k++) {
		buf_printf(out, "%s\n    {", k ? "," : "");
		json_put_text(out, "option", o->advice->at[k].option);
		json_put_int(out, "step_ns", o->advice->at[k].time);
		json_put_int(out, "exposed_ns", o->advice->at[k].exposed);
		buf_putc(out, '}');
	}
	buf_puts(out, "]\n}\n");
}

void explain_json(struct explanation *x, const struct explain_output *o, struct buf *out)
{
	struct timeline *t = x->t;
	buf_printf(out, "{\n  \"version\": %d, ", VERSION);
	json_put_text(out, "program", names_text(t->m->names, t->m->name));
	if (t->machine)
		put_more(out, "cluster", t->machine);
	if (t->ranks)
		json_put_int(out, "ranks", t->ranks);
	json_put_int(out, "step_ns", t->runtime);
	buf_puts(out, ",\n  \"classes\": [");
	for (uint32_t k = 0; k < x->class.n; k++) {
		buf_puts(out, k ? "," : "");
		put_class(x, &x->class.at[k], out);
	}
	buf_puts(out, "],\n  \"collectives\": [");
	for (uint32_t k = 0; k < x->collective.n; k++) {
		buf_printf(out, "%s\n    {", k ? "," : "");
		put_collective(x, &x->collective.at[k], out);
		buf_putc(out, '}');
	}
	put_advice(o, out);
}
