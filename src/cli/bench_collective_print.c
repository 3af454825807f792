/* bench_collective_print: prints the measured times as nccl-tests does, or as CSV or JSON. For several
 * transports, one more column has their names, and one the first transport's time divided by this one's.
 *
 *     #       size         count    type   redop    root      time   algbw   busbw  #wrong      time …
 *     #        (B)    (elements)                              (us)  (GB/s)  (GB/s)              (us) …
 *          1048576        262144     f32     sum      -1    121.30    8.64    8.64       0    118.20 …  */
#include "base/json_put.h"
#include "cli/bench_collective.h"

static double algorithm(const struct bench_line *l, const struct bench_figure *f)
{
	return f->us > 0 ? (double)l->size / f->us / 1e3 : 0;
}

double bench_line_bus(const struct bench_line *l, const struct bench_figure *f)
{
	return algorithm(l, f) * collective_bus(l->kind, l->members);
}

static bool several(const struct bench_collectives *c)
{
	return c->b->transport.n > 1;
}

static const char *op_name(const struct bench_collectives *c, enum collective k)
{
	return collective_reduces(k) ? reduce_op_name(c->op) : "none";
}

static long long root(const struct bench_collectives *c, enum collective k)
{
	return collective_is_rooted(k) && k != COLLECTIVE_SEND_RECV ? (long long)c->root : -1;
}

/* ---- columns */

enum { TRANSPORT_COLUMN = 7, FIRST_RATIO = 12, SECOND_RATIO = 17 };

#define FIGURES(g)                                                                                           \
	{.name = "time_us", .title = "time\n(us)", .group = g, .width = 9, .none = "N/A"},                   \
	    {.name = "algbw",                                                                                \
	     .title = "algbw\n(GB/s)",                                                                       \
	     .group = g,                                                                                     \
	     .width = 7,                                                                                     \
	     .decimals = 2,                                                                                  \
	     .none = "N/A"},                                                                                 \
	    {.name = "busbw",                                                                                \
	     .title = "busbw\n(GB/s)",                                                                       \
	     .group = g,                                                                                     \
	     .width = 7,                                                                                     \
	     .decimals = 2,                                                                                  \
	     .none = "N/A"},                                                                                 \
	    {.name = "wrong", .title = "#wrong", .group = g, .width = 7, .none = "N/A"},                     \
	{                                                                                                    \
		.name = "ratio", .group = g, .width = 7, .decimals = 2, .none = "N/A"                        \
	}

static const struct table_column columns[] = {
    {.name = "collective", .in = TABLE_IN_DATA},
    {.name = "ranks", .in = TABLE_IN_DATA},
    {.name = "size", .title = "size\n(B)", .width = 12},
    {.name = "count", .title = "count\n(elements)", .width = 13},
    {.name = "type", .width = 7},
    {.name = "redop", .width = 7},
    {.name = "root", .width = 7},
    {.name = "transport", .width = 9},
    FIGURES("out_of_place"),
    FIGURES("in_place"),
};
enum { COLUMNS = sizeof columns / sizeof *columns };

/* Columns for name and ratio are there only for several transports. own: the table's COLUMNS columns. */
static struct table open_table(const struct bench_collectives *c, struct table_column *own)
{
	memcpy(own, columns, sizeof columns);
	if (!several(c))
		own[TRANSPORT_COLUMN].in = own[FIRST_RATIO].in = own[SECOND_RATIO].in = TABLE_IN_NONE;
	struct table t = table_open(c->b->format, own, COLUMNS);
	t.gap = 1;
	t.comment = "#";
	return t;
}

static void put_titles(const struct bench_collectives *c, struct buf *out)
{
	struct table_column own[COLUMNS];
	struct table t = open_table(c, own);
	table_put_titles(&t, out);
	table_close(&t);
}

void bench_collective_header(const struct bench_collectives *c, int ranks, const char *transport,
                             struct buf *out)
{
	switch (c->b->format) {
	case TABLE_JSON:
		json_put_start(out, BENCH_VERSION, "bench");
		buf_printf(out, ", \"ranks\": %d, \"rows\": [", ranks);
		break;
	case TABLE_CSV:
		put_titles(c, out);
		break;
	case TABLE_TEXT:
		buf_printf(out, "# %d rank%s, transport%s %s, time of the ranks: %s\n", ranks,
		           ranks == 1 ? "" : "s", several(c) ? "s" : "", transport, c->average);
		break;
	}
}

void bench_collective_absent(const struct bench_collectives *c, const struct bench_outcome *o,
                             struct buf *out)
{
	if (!bench_outcome_is_measured(o) && c->b->format == TABLE_TEXT)
		buf_printf(out, "# %s is not measured: %s\n", o->transport, o->why.at);
}

void bench_collective_title(const struct bench_collectives *c, enum collective k, int members,
                            struct buf *out)
{
	struct buf text = {0};
	if (c->b->format != TABLE_TEXT)
		return;
	buf_puts(&text, collective_key(k));
	if (members)
		buf_printf(&text, " of %d ranks", members);
	int name = several(c) ? 10 : 0, ratio = several(c) ? 8 : 0;
	buf_printf(out, "#\n# %-*s %30s %*s\n", 50 + name, text.at, "out-of-place", 33 + ratio, "in-place");
	buf_free(&text);
	put_titles(c, out);
}

static void add_none(struct table *t, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		table_add_none(t);
}

static void add_figures(struct table *t, const struct bench_line *l, const struct bench_figure *f)
{
	if (!f->there) {
		add_none(t, 5);
		return;
	}
	if (t->format == TABLE_TEXT)
		table_add_text(t, arena_printf(t->arena, f->us < 1000 ? "%.2f" : "%.0f", f->us));
	else
		table_add_number(t, f->us);
	table_add_number(t, algorithm(l, f));
	table_add_number(t, bench_line_bus(l, f));
	if (f->wrong >= 0)
		table_add_int(t, f->wrong);
	else
		table_add_none(t);
	if (f->ratio > 0)
		table_add_number(t, f->ratio);
	else
		table_add_none(t);
}

void bench_collective_line(const struct bench_collectives *c, const struct bench_line *l, struct buf *out)
{
	struct table_column own[COLUMNS];
	struct table t = open_table(c, own);
	t.printed = !l->first;
	table_add_text(&t, collective_key(l->kind));
	table_add_int(&t, l->members);
	table_add_int(&t, l->size);
	table_add_int(&t, l->count);
	table_add_text(&t, dtype_name(c->dtype));
	table_add_text(&t, op_name(c, l->kind));
	table_add_int(&t, root(c, l->kind));
	table_add_text(&t, l->transport);
	add_figures(&t, l, &l->out_of_place);
	add_figures(&t, l, &l->in_place);
	table_put_rows(&t, out);
	table_close(&t);
}

/* Puts `, "absent": [{"transport": "nccl", "why": "…"}]`: the transports that were not measured. */
static void put_json_absent(const struct bench_outcome *of, uint32_t n, struct buf *out)
{
	static const struct table_column column[] = {{.name = "transport"}, {.name = "why"}};
	struct table t = table_open(TABLE_JSON, column, sizeof column / sizeof *column);
	t.in_line = true;
	for (uint32_t k = 0; k < n; k++)
		if (!bench_outcome_is_measured(&of[k])) {
			table_add_text(&t, of[k].transport);
			table_add_text(&t, of[k].why.at);
		}
	buf_puts(out, ", \"absent\": ");
	table_put(&t, out);
	table_close(&t);
}

void bench_collective_footer(const struct bench_collectives *c, const struct bench_outcome *of, uint32_t n,
                             int64_t wrong, double bus, struct buf *out)
{
	if (c->b->format == TABLE_JSON) {
		buf_puts(out, "\n]");
		put_json_absent(of, n, out);
		buf_puts(out, "}\n");
	} else if (c->b->format == TABLE_TEXT)
		buf_printf(out, "#\n# Wrong elements    : %lld%s\n# Avg bus bandwidth : %.4g\n",
		           (long long)wrong,
		           !c->b->check ? " (not checked)"
		           : wrong      ? ""
		                        : " OK",
		           bus);
}
