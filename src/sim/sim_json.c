/* sim_json: writes a simulation as one JSON object. Entries are in the order of the lists, communication by
 * its first begin. */
#include "base/json_put.h"
#include "base/table.h"
#include "sim/timeline.h"

enum { VERSION = 1, INDENT = 6 };

static void add_statement(struct timeline *t, op_id op, struct table *to)
{
	table_add_text(to, timeline_label(t, op));
	table_add_text(to, timeline_where(t, op));
}

/* Appends `, "key": [ … ]`, and frees the table. */
static void put_table(const char *key, struct table *t, struct buf *out)
{
	t->indent = INDENT;
	buf_printf(out, ",\n    \"%s\": ", key);
	table_put(t, out);
	table_close(t);
}

static void put_lanes(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	static const char *const kind[] = {"host", "stream", "communicator", "messages"};
	static const struct table_column column[] = {
	    {.name = "name"}, {.name = "kind"}, {.name = "busy_ns"}, {.name = "busy_per_mille"}};
	struct table lanes = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	for (uint32_t k = 0; k < c->lane.n; k++) {
		table_add_text(&lanes, c->lane.at[k].name);
		table_add_text(&lanes, kind[c->lane.at[k].kind]);
		table_add_int(&lanes, c->lane.at[k].busy);
		table_add_int(&lanes, t->runtime ? c->lane.at[k].busy * 1000 / t->runtime : 0);
	}
	put_table("lanes", &lanes, out);
}

static void put_communication(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "statement"}, {.name = "where"},    {.name = "lane"},    {.name = "count"},
	    {.name = "bytes"},     {.name = "begin_ns"}, {.name = "time_ns"}, {.name = "exposed_ns"}};
	struct table rows = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	timeline_rows r = {0};
	timeline_communication(t, c, &r);
	for (uint32_t k = 0; k < r.n; k++) {
		add_statement(t, r.at[k].op, &rows);
		table_add_text(&rows, c->lane.at[r.at[k].lane].name);
		table_add_int(&rows, r.at[k].count);
		table_add_int(&rows, r.at[k].bytes);
		table_add_int(&rows, r.at[k].first);
		table_add_int(&rows, r.at[k].time);
		table_add_int(&rows, r.at[k].exposed);
	}
	vec_free(&r);
	put_table("communication", &rows, out);
}

static void put_critical(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "statement"}, {.name = "where"}, {.name = "count"}, {.name = "time_ns"}};
	struct table rows = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	for (uint32_t k = 0; k < c->critical.n; k++) {
		add_statement(t, c->critical.at[k].op, &rows);
		table_add_int(&rows, c->critical.at[k].count);
		table_add_int(&rows, c->critical.at[k].time);
	}
	put_table("critical", &rows, out);
}

static void put_peak(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	static const struct table_column column[] = {{.name = "name"}, {.name = "bytes"}, {.name = "count"}};
	struct table rows = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	for (uint32_t k = 0; k < c->held.n; k++) {
		table_add_text(&rows, timeline_held_name(t, &c->held.at[k]));
		table_add_int(&rows, c->held.at[k].bytes);
		table_add_int(&rows, c->held.at[k].count);
	}
	put_table("live_at_peak", &rows, out);
}

static void put_ranks(const struct timeline_class *c, struct buf *out)
{
	buf_puts(out, ",\n    \"ranks\": [");
	for (uint32_t k = 0; k < c->ranks.n; k++)
		buf_printf(out, "%s[%u, %u]", k ? ", " : "", c->ranks.at[k].first, c->ranks.at[k].last);
	buf_putc(out, ']');
}

static void put_remarks(struct timeline *t, struct buf *out)
{
	static const struct table_column column[] = {
	    {.name = "statement"}, {.name = "where"}, {.name = "text"}};
	struct table rows = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	rows.indent = 4;
	for (uint32_t k = 0; k < t->remark.n; k++) {
		add_statement(t, t->remark.at[k].op, &rows);
		table_add_text(&rows, t->remark.at[k].text);
	}
	buf_puts(out, ",\n  \"remarks\": ");
	table_put(&rows, out);
	table_close(&rows);
}

static void put_class(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	buf_puts(out, "\n    {");
	json_put_text(out, "name", c->name);
	json_put_int(out, "count", c->count);
	put_ranks(c, out);
	json_put_int(out, "end_ns", c->end);
	json_put_int(out, "work_ns", c->work);
	json_put_int(out, "exposed_ns", c->exposed);
	if (!t->recorded)
		json_put_int(out, "host_ns", c->host);
	json_put_int(out, "peak_bytes", c->peak);
	json_put_int(out, "live_bytes", c->live);
	if (c->unplanned)
		json_put_more(out, "unplanned", c->unplanned);
	put_lanes(t, c, out);
	put_communication(t, c, out);
	put_critical(t, c, out);
	put_peak(t, c, out);
	buf_putc(out, '}');
}

void timeline_json(struct timeline *t, const char *command, struct buf *out)
{
	json_put_start(out, VERSION, command);
	json_put_more(out, "program", names_text(t->m->names, t->m->name));
	if (t->machine)
		json_put_more(out, "cluster", t->machine);
	if (t->ranks)
		json_put_int(out, "ranks", t->ranks);
	json_put_int(out, "step_ns", t->runtime);
	json_put_int(out, "bound_ns", t->bound.runtime);
	json_put_more(out, "bound_by", t->binding);
	if (t->limit)
		json_put_int(out, "memory_limit_bytes", t->limit);
	buf_puts(out, ",\n  \"classes\": [");
	for (uint32_t k = 0; k < t->class.n; k++) {
		buf_puts(out, k ? "," : "");
		put_class(t, &t->class.at[k], out);
	}
	buf_putc(out, ']');
	put_remarks(t, out);
	buf_puts(out, "\n}\n");
}
