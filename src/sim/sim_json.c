/* sim_json: a simulation as one JSON object. Its order is that of the lists, and of first begins. */
#include "base/json_put.h"
#include "sim/timeline.h"

enum { VERSION = 1 };

static void put_statement(struct timeline *t, op_id op, struct buf *out)
{
	json_put_text(out, "statement", timeline_label(t, op));
	buf_puts(out, ", ");
	json_put_text(out, "where", timeline_where(t, op));
}

/* Before the k-th entry of a list. */
static void put_entry(struct buf *out, uint32_t k)
{
	buf_printf(out, "%s\n      {", k ? "," : "");
}

static void put_lanes(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	static const char *const kind[] = {"host", "stream", "communicator", "messages"};
	buf_puts(out, ",\n    \"lanes\": [");
	for (uint32_t k = 0; k < c->lane.n; k++) {
		put_entry(out, k);
		json_put_text(out, "name", c->lane.at[k].name);
		buf_puts(out, ", ");
		json_put_text(out, "kind", kind[c->lane.at[k].kind]);
		json_put_int(out, "busy_ns", c->lane.at[k].busy);
		json_put_int(out, "busy_per_mille", t->runtime ? c->lane.at[k].busy * 1000 / t->runtime : 0);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

static void put_communication(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	timeline_rows r = {0};
	timeline_communication(t, c, &r);
	buf_puts(out, ",\n    \"communication\": [");
	for (uint32_t k = 0; k < r.n; k++) {
		put_entry(out, k);
		put_statement(t, r.at[k].op, out);
		buf_puts(out, ", ");
		json_put_text(out, "lane", c->lane.at[r.at[k].lane].name);
		json_put_int(out, "count", r.at[k].count);
		json_put_int(out, "bytes", r.at[k].bytes);
		json_put_int(out, "begin_ns", r.at[k].first);
		json_put_int(out, "time_ns", r.at[k].time);
		json_put_int(out, "exposed_ns", r.at[k].exposed);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
	vec_free(&r);
}

static void put_critical(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	buf_puts(out, ",\n    \"critical\": [");
	for (uint32_t k = 0; k < c->critical.n; k++) {
		put_entry(out, k);
		put_statement(t, c->critical.at[k].op, out);
		json_put_int(out, "count", c->critical.at[k].count);
		json_put_int(out, "time_ns", c->critical.at[k].time);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
}

static void put_peak(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	buf_puts(out, ",\n    \"live_at_peak\": [");
	for (uint32_t k = 0; k < c->held.n; k++) {
		put_entry(out, k);
		json_put_text(out, "name", timeline_held_name(t, &c->held.at[k]));
		json_put_int(out, "bytes", c->held.at[k].bytes);
		json_put_int(out, "count", c->held.at[k].count);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
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
	buf_puts(out, ",\n  \"remarks\": [");
	for (uint32_t k = 0; k < t->remark.n; k++) {
		buf_puts(out, k ? ",\n    {" : "\n    {");
		put_statement(t, t->remark.at[k].op, out);
		buf_puts(out, ", ");
		json_put_text(out, "text", t->remark.at[k].text);
		buf_putc(out, '}');
	}
	buf_putc(out, ']');
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
	if (c->unplanned) {
		buf_puts(out, ", ");
		json_put_text(out, "unplanned", c->unplanned);
	}
	put_lanes(t, c, out);
	put_communication(t, c, out);
	put_critical(t, c, out);
	put_peak(t, c, out);
	buf_putc(out, '}');
}

void timeline_json(struct timeline *t, struct buf *out)
{
	buf_printf(out, "{\n  \"version\": %d, ", VERSION);
	json_put_text(out, "program", names_text(t->m->names, t->m->name));
	if (t->machine) {
		buf_puts(out, ", ");
		json_put_text(out, "cluster", t->machine);
	}
	if (t->ranks)
		json_put_int(out, "ranks", t->ranks);
	json_put_int(out, "step_ns", t->runtime);
	json_put_int(out, "bound_ns", t->bound.runtime);
	buf_puts(out, ", ");
	json_put_text(out, "bound_by", t->binding);
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
