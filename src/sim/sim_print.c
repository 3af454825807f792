/* sim_print: prints the results of a simulation as text. */
#include "base/table.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "sim/timeline.h"
#include <string.h>

struct unit { /* a unit of time */
	const char *name;
	double ns;
};

static struct unit unit_of(const struct timeline *t)
{
	return t->runtime < 10000000 ? (struct unit){"us", 1e3} : (struct unit){"ms", 1e6};
}

static double convert_time(struct unit u, int64_t ns)
{
	return (double)ns / u.ns;
}

static double mib(int64_t bytes)
{
	return (double)bytes / (1 << 20);
}

struct row { /* the communication of one kind on one lane */
	const char *kind, *lane;
	uint32_t count;
	int64_t bytes, time, exposed;
};
typedef VEC(struct row) rows;

static const char *kind_name(const struct timeline *t, op_id op)
{
	op_id first = t->m->op.at[op].kind == OP_END_COALESCING ? ir_coalesce_first(t->m, op) : 0;
	if (first) {
		coalesce_each (t->m, member, op)
			if (t->m->op.at[member].kind != t->m->op.at[first].kind)
				return "group";
		op = first;
	}
	const struct attr *a = op_attr(t->m, op, "kind");
	return t->m->op.at[op].kind == OP_EXTERN && a && a->kind == ATTR_NAME
	           ? names_text(t->m->names, a->u.name)
	           : op_info[t->m->op.at[op].kind].hir;
}

static struct row *row_of(rows *r, const char *kind, const char *lane)
{
	for (uint32_t i = 0; i < r->n; i++)
		if (!strcmp(r->at[i].kind, kind) && !strcmp(r->at[i].lane, lane))
			return &r->at[i];
	vec_push(r, ((struct row){.kind = kind, .lane = lane}));
	return &r->at[r->n - 1];
}

/* Adds how busy streams, or the host, are. */
static void add_work(struct timeline *t, const struct timeline_class *c, struct table *to)
{
	uint32_t *count = mem_zalloc(sizeof *count * ((size_t)c->lane.n + 1));
	for (uint32_t k = 0; k < c->span.n; k++)
		count[c->span.at[k].lane] += c->span.at[k].kind == TIMELINE_WORK;
	for (uint32_t i = 0; i < c->lane.n; i++) {
		if (c->lane.at[i].kind > LANE_STREAM || !count[i])
			continue;
		table_add_text(to, "work");
		table_add_text(to, c->lane.at[i].name);
		table_add_int(to, count[i]);
		table_add_none(to);
		table_add_number(to, convert_time(unit_of(t), c->lane.at[i].busy));
		table_add_none(to);
		table_add_number(to, timeline_percent(c->lane.at[i].busy, t->runtime));
	}
	free(count);
}

static void add_communication(struct timeline *t, const struct timeline_class *c, struct table *to)
{
	timeline_rows all = {0};
	rows r = {0};
	struct unit u = unit_of(t);
	timeline_communication(t, c, &all);
	for (uint32_t k = 0; k < all.n; k++) {
		const struct timeline_row *x = &all.at[k];
		struct row *sum = row_of(&r, kind_name(t, x->op), c->lane.at[x->lane].name);
		sum->count += x->count;
		sum->bytes += x->bytes;
		sum->time += x->time;
		sum->exposed += x->exposed;
	}
	for (uint32_t i = 0; i < r.n; i++) {
		table_add_text(to, r.at[i].kind);
		table_add_text(to, r.at[i].lane);
		table_add_int(to, r.at[i].count);
		table_add_number(to, mib(r.at[i].bytes));
		table_add_number(to, convert_time(u, r.at[i].time));
		table_add_number(to, convert_time(u, r.at[i].exposed));
		table_add_number(to, timeline_percent(r.at[i].time, t->runtime));
	}
	vec_free(&all);
	vec_free(&r);
}

static void print_lanes(struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	const struct table_column column[] = {
	    {.title = "what", .width = 18, .left = true},
	    {.title = "on", .width = 12, .left = true},
	    {.title = "count", .width = 7},
	    {.title = "MiB", .width = 12, .decimals = 3},
	    {.title = unit_of(t).name, .width = 12, .decimals = 3},
	    {.title = "exposed", .width = 12, .decimals = 3},
	    {.title = "busy", .width = 7, .decimals = 1, .suffix = "%"},
	};
	struct table rows = table_open(TABLE_TEXT, column, sizeof column / sizeof *column);
	rows.gap = 1;
	add_work(t, c, &rows);
	add_communication(t, c, &rows);
	if (c->lane.n) {
		buf_putc(out, '\n');
		table_put(&rows, out);
	}
	table_close(&rows);
}

/* Appends `512 B` or `12.500 MiB`. */
static void put_bytes(struct buf *out, int64_t bytes)
{
	static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes / 1024;
	unsigned k = 0;
	if (bytes < 1024) {
		buf_printf(out, "%12lld   B", (long long)bytes);
		return;
	}
	for (; k < 3 && n >= 1024; k++)
		n /= 1024;
	buf_printf(out, "%12.3f %s", n, unit[k]);
}

static void print_held(struct timeline *t, const struct timeline_class *c, int64_t most, struct buf *out)
{
	int64_t rest = 0;
	if (!c->held.n || !most)
		return;
	buf_puts(out, "\nlive at the peak\n");
	for (uint32_t k = 0; k < c->held.n; k++) {
		if (k >= most) {
			rest += c->held.at[k].bytes * c->held.at[k].count;
			continue;
		}
		const struct timeline_held *h = &c->held.at[k];
		put_bytes(out, h->bytes * h->count);
		buf_printf(out, "  %s", timeline_held_name(t, h));
		if (h->count > 1)
			buf_printf(out, ", %u times", h->count);
		buf_putc(out, '\n');
	}
	if (rest) {
		put_bytes(out, rest);
		buf_printf(out, "  %lld more\n", (long long)c->held.n - (long long)most);
	}
}

static void print_memory(const struct timeline *t, const struct timeline_class *c, struct buf *out)
{
	buf_puts(out, c->unplanned ? "live memory " : "peak memory ");
	put_bytes(out, c->peak);
	if (c->live != c->peak) {
		buf_puts(out, ", live ");
		put_bytes(out, c->live);
	}
	if (t->limit)
		buf_printf(out, "  %.1f %% of the limit", timeline_percent(c->peak, t->limit));
	if (c->unplanned)
		buf_printf(out, "   at most; no plan: %s", c->unplanned);
	buf_putc(out, '\n');
}

static void print_class(struct timeline *t, const struct timeline_class *c, int64_t held, struct buf *out)
{
	struct unit u = unit_of(t);
	buf_printf(out, "exposed      %12.3f %s   %.1f %% of the step\n", convert_time(u, c->exposed), u.name,
	           timeline_percent(c->exposed, t->runtime));
	buf_printf(out, "work         %12.3f %s   %.1f %%\n", convert_time(u, c->work), u.name,
	           timeline_percent(c->work, t->runtime));
	if (!t->recorded && t->binding)
		buf_printf(out, "host         %12.3f %s   %.1f %%\n", convert_time(u, c->host), u.name,
		           timeline_percent(c->host, t->runtime));
	if (t->binding) /* a measured timeline has no memory */
		print_memory(t, c, out);
	print_lanes(t, c, out);
	print_held(t, c, held, out);
}

static void print_bound(const struct timeline *t, struct buf *out)
{
	struct unit u = unit_of(t);
	buf_printf(out, "lower bound  %12.3f %s   ", convert_time(u, t->bound.runtime), u.name);
	if (t->bound.runtime <= t->runtime)
		buf_printf(out, "%.2f %% below, by %s\n",
		           timeline_percent(t->runtime - t->bound.runtime, t->runtime), t->binding);
	else /* a statement began before its operands were ready */
		buf_puts(out, "if nothing is used before it is made: `hirc check` says where\n");
}

void timeline_print(struct timeline *t, const struct timeline_print *o, struct buf *out)
{
	struct unit u = unit_of(t);
	buf_printf(out, "step time    %12.3f %s\n", convert_time(u, t->runtime), u.name);
	if (t->binding)
		print_bound(t, out);
	for (uint32_t k = 0; k < t->class.n; k++) {
		const struct timeline_class *c = &t->class.at[k];
		if (k >= o->classes) {
			buf_printf(out, "\n%u more classes of ranks: --ranks=%u prints them\n",
			           t->class.n - k, t->class.n);
			return;
		}
		if (!t->recorded || t->class.n > 1)
			buf_printf(out, "\n%s%s, done at %.3f %s\n", c->name,
			           c->count > 1 ? arena_printf(t->arena, " (%u)", c->count) : "",
			           convert_time(u, c->end), u.name);
		print_class(t, c, o->held, out);
	}
}
