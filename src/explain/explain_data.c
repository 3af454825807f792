/* explain_data: an explanation for programs, all classes and all rows: statements as CSV, or everything as
 * one JSON object. */
#include "base/json_put.h"
#include "base/table.h"
#include "explain/explain.h"
#include "explain/explain_words.h"

enum { VERSION = 1, INDENT = 6 };

/* ---- statements */

static const struct table_column statement_column[] = {
    {.name = "ranks", .in = TABLE_IN_CSV},
    {.name = "where"},
    {.name = "statement"},
    {.name = "kind"},
    {.name = "on"},
    {.name = "count"},
    {.name = "flops", .exact = TABLE_WHOLE},
    {.name = "bytes"},
    {.name = "time_ns"},
    {.name = "alone_ns"},
    {.name = "begin_ns"},
    {.name = "first_ns"},
    {.name = "bound_by", .in = TABLE_IN_JSON},
    {.name = "idle_ns"},
    {.name = "waits_for", .in = TABLE_IN_CSV},
    {.name = "where", .group = "waits_for", .in = TABLE_IN_JSON},
    {.name = "statement", .group = "waits_for", .in = TABLE_IN_JSON},
    {.name = "on", .group = "waits_for", .in = TABLE_IN_JSON},
    {.name = "idle_ns", .group = "waits_for", .in = TABLE_IN_JSON},
    {.name = "exposed_ns"},
    {.name = "exposed_first_ns", .in = TABLE_IN_JSON},
    {.name = "reason", .in = TABLE_IN_CSV},
    {.name = "why", .in = TABLE_IN_CSV},
    {.name = "why", .in = TABLE_IN_JSON},
};

/* The reasons for the exposed time of a row, an array. */
static void add_whys(struct explanation *x, const struct explain_row *r, struct table *t)
{
	static const struct table_column column[] = {
	    {.name = "reason"}, {.name = "exposed_ns"}, {.name = "text"}};
	struct table whys = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	struct buf text = {0};
	whys.in_line = true;
	for (unsigned k = 0; k < EXPLAIN_WHY_COUNT; k++) {
		if (!r->why[k])
			continue;
		table_add_text(&whys, explain_why_word[k]);
		table_add_int(&whys, r->why[k]);
		table_add_text(&whys, explain_why_text(x->t, (enum explain_why)k, r->other[k], x->arena));
	}
	table_put(&whys, &text);
	table_add_json(t, &text);
	table_close(&whys);
	buf_free(&text);
}

static void add_waits_for(struct explanation *x, const struct explain_row *r, struct table *t)
{
	const char *on = !r->after ? "host" : *r->after_lane ? r->after_lane : "other ranks";
	table_add_text(t, explain_after(x->t, r, x->arena));
	if (!r->after_time) {
		for (unsigned k = 0; k < 4; k++)
			table_add_none(t);
		return;
	}
	table_add_text(t, r->after ? timeline_where(x->t, r->after) : NULL);
	table_add_text(t, r->after ? timeline_label(x->t, r->after) : "");
	table_add_text(t, on);
	table_add_int(t, r->after_time);
}

static void add_statement(struct explanation *x, const struct explain_class *c, const struct explain_row *r,
                          struct table *t)
{
	enum explain_why why = explain_main_why(r);
	bool works = !r->communicates && !r->waits;
	table_add_text(t, c->c->name);
	table_add_text(t, timeline_where(x->t, r->op));
	table_add_text(t, timeline_label(x->t, r->op));
	table_add_text(t, r->communicates ? "communication" : r->waits ? "wait" : "work");
	table_add_text(t, explain_lane(c, r, x->arena));
	table_add_int(t, r->count);
	table_add_number(t, r->flops);
	table_add_int(t, r->bytes);
	table_add_int(t, r->time);
	table_add_int(t, r->alone);
	table_add_int(t, r->begin);
	table_add_int(t, r->first);
	table_add_text(t, works ? explain_part_word[r->memory ? EXPLAIN_MEMORY : EXPLAIN_COMPUTE] : NULL);
	table_add_int(t, r->idle);
	add_waits_for(x, r, t);
	table_add_int(t, r->exposed);
	table_add_int(t, r->exposed_first);
	table_add_text(t, r->exposed ? explain_why_word[why] : NULL);
	table_add_text(t, r->exposed ? explain_why_text(x->t, why, r->other[why], x->arena) : NULL);
	add_whys(x, r, t);
}

static struct table open_statements(enum table_format format)
{
	struct table t =
	    table_open(format, statement_column, sizeof statement_column / sizeof *statement_column);
	t.indent = INDENT;
	return t;
}

void explain_csv(struct explanation *x, struct buf *out)
{
	struct table t = open_statements(TABLE_CSV);
	for (uint32_t k = 0; k < x->class.n; k++)
		for (uint32_t i = 0; i < x->class.at[k].row.n; i++)
			add_statement(x, &x->class.at[k], &x->class.at[k].row.at[i], &t);
	table_put(&t, out);
	table_close(&t);
}

/* ---- JSON */

static void put_class(struct explanation *x, const struct explain_class *c, struct buf *out)
{
	const struct timeline_class *t = c->c;
	struct table rows = open_statements(TABLE_JSON);
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
	json_put_more(out, "bound_by", explain_part_word[explain_bound(c)]);
	buf_puts(out, ",\n    \"chain_ns\": {");
	for (unsigned k = 0; k < EXPLAIN_PARTS; k++)
		buf_printf(out, "%s\"%s\": %lld", k ? ", " : "", explain_part_word[k],
		           (long long)c->chain[k]);
	buf_puts(out, "},\n    \"rows\": ");
	for (uint32_t k = 0; k < c->row.n; k++)
		add_statement(x, c, &c->row.at[k], &rows);
	table_put(&rows, out);
	table_close(&rows);
	buf_putc(out, '}');
}

static void add_alternatives(const struct cost_choice *o, struct table *t)
{
	static const struct table_column column[] = {
	    {.name = "name"}, {.name = "time_ns"}, {.name = "option"}};
	struct table other = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	struct buf text = {0};
	other.indent = INDENT + 2;
	for (unsigned k = 0; k < o->n; k++) {
		table_add_text(&other, o->other[k].name);
		table_add_int(&other, o->other[k].time);
		table_add_text(&other, o->other[k].option);
	}
	table_put(&other, &text);
	table_add_json(t, &text);
	table_close(&other);
	buf_free(&text);
}

static void put_collectives(struct explanation *x, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "statement"},  {.name = "where"},       {.name = "collective"}, {.name = "ranks"},
	    {.name = "links"},      {.name = "bytes"},       {.name = "algorithm"},  {.name = "time_ns"},
	    {.name = "latency_ns"}, {.name = "alternatives"}};
	struct table t = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	t.indent = 4;
	for (uint32_t k = 0; k < x->collective.n; k++) {
		const struct cost_choice *o = &x->collective.at[k].choice;
		table_add_text(&t, timeline_label(x->t, x->collective.at[k].op));
		table_add_text(&t, timeline_where(x->t, x->collective.at[k].op));
		table_add_text(&t, o->collective);
		table_add_int(&t, o->ranks);
		table_add_text(&t, o->links);
		table_add_int(&t, o->bytes);
		table_add_text(&t, o->algorithm);
		table_add_int(&t, o->time);
		if (o->latency >= 0)
			table_add_int(&t, o->latency);
		else
			table_add_none(&t);
		add_alternatives(o, &t);
	}
	table_put(&t, out);
	table_close(&t);
}

static void put_advice(const explain_advices *a, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "option"}, {.name = "step_ns"}, {.name = "exposed_ns"}};
	struct table t = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	t.indent = 4;
	for (uint32_t k = 0; a && k < a->n; k++) {
		table_add_text(&t, a->at[k].option);
		table_add_int(&t, a->at[k].time);
		table_add_int(&t, a->at[k].exposed);
	}
	table_put(&t, out);
	table_close(&t);
}

void explain_json(struct explanation *x, const struct explain_output *o, struct buf *out)
{
	struct timeline *t = x->t;
	json_put_start(out, VERSION, "explain");
	json_put_more(out, "program", names_text(t->m->names, t->m->name));
	if (t->machine)
		json_put_more(out, "cluster", t->machine);
	if (t->ranks)
		json_put_int(out, "ranks", t->ranks);
	json_put_int(out, "step_ns", t->runtime);
	buf_puts(out, ",\n  \"classes\": [");
	for (uint32_t k = 0; k < x->class.n; k++) {
		buf_puts(out, k ? "," : "");
		put_class(x, &x->class.at[k], out);
	}
	buf_puts(out, "],\n  \"collectives\": ");
	put_collectives(x, out);
	buf_printf(out, ",\n  \"advised\": %s,\n  \"advice\": ", o->advice ? "true" : "false");
	put_advice(o->advice, out);
	buf_puts(out, "\n}\n");
}
