/* bench_collective_print: the measured times, as nccl-tests prints them, or as CSV or JSON. For several
 * transports there are a column with their names, and one with the ratio of the first one's time to each.
 *
 *     #       size         count    type   redop    root     time   algbw   busbw  #wrong     time   algbw
 * busbw  #wrong #        (B)    (elements)                             (us)  (GB/s)  (GB/s)             (us)
 * (GB/s)  (GB/s) 1048576        262144     f32     sum      -1    121.3    8.64    8.64       0 118.2    8.87
 * 8.87       0 */
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

void bench_collective_header(const struct bench_collectives *c, int ranks, const char *transport,
                             struct buf *out)
{
	static const char *const columns[] = {"time_us", "algbw", "busbw", "wrong", "ratio"};
	unsigned n = several(c) ? 5 : 4;
	if (c->b->format == BENCH_JSON) {
		buf_printf(out, "{\"version\": %d, \"ranks\": %d, \"rows\": [", BENCH_VERSION, ranks);
		return;
	}
	if (c->b->format == BENCH_CSV) {
		buf_printf(out, "collective,ranks,size,count,type,redop,root%s",
		           several(c) ? ",transport" : "");
		for (unsigned k = 0; k < 2 * n; k++)
			buf_printf(out, ",%s_%s", k < n ? "out_of_place" : "in_place", columns[k % n]);
		buf_putc(out, '\n');
		return;
	}
	buf_printf(out, "# %d ranks, transport%s %s, time of the ranks: %s\n", ranks, several(c) ? "s" : "",
	           transport, c->average);
}

void bench_collective_absent(const struct bench_collectives *c, const struct bench_outcome *o,
                             struct buf *out)
{
	if (!bench_outcome_is_measured(o) && c->b->format == BENCH_TABLE)
		buf_printf(out, "# %s is not measured: %s\n", o->transport, o->why.at);
}

void bench_collective_title(const struct bench_collectives *c, enum collective k, int members,
                            struct buf *out)
{
	struct buf text = {0};
	if (c->b->format != BENCH_TABLE)
		return;
	buf_puts(&text, collective_key(k));
	if (members)
		buf_printf(&text, " of %d ranks", members);
	int name = several(c) ? 10 : 0, ratio = several(c) ? 8 : 0;
	buf_printf(out, "#\n# %-*s %30s %*s\n", 50 + name, text.at, "out-of-place", 33 + ratio, "in-place");
	buf_free(&text);
	buf_printf(out, "#%11s %13s %7s %7s %7s%*s", "size", "count", "type", "redop", "root", name,
	           name ? "transport" : "");
	for (unsigned f = 0; f < 2; f++)
		buf_printf(out, " %9s %7s %7s %7s%*s", "time", "algbw", "busbw", "#wrong", ratio,
		           ratio ? "ratio" : "");
	buf_printf(out, "\n#%11s %13s %7s %7s %7s%*s", "(B)", "(elements)", "", "", "", name, "");
	for (unsigned f = 0; f < 2; f++)
		buf_printf(out, " %9s %7s %7s%*s", "(us)", "(GB/s)", "(GB/s)", f ? 0 : 8 + ratio, "");
	buf_putc(out, '\n');
}

static void put_cells(struct buf *out, const struct bench_line *l, const struct bench_figure *f, bool ratio)
{
	if (!f->there) {
		buf_printf(out, " %9s %7s %7s %7s%*s", "N/A", "N/A", "N/A", "N/A", ratio ? 8 : 0,
		           ratio ? "N/A" : "");
		return;
	}
	buf_printf(out, f->us < 1000 ? " %9.2f" : " %9.0f", f->us);
	buf_printf(out, " %7.2f %7.2f", algorithm(l, f), bench_line_bus(l, f));
	if (f->wrong < 0)
		buf_printf(out, " %7s", "N/A");
	else
		buf_printf(out, " %7lld", (long long)f->wrong);
	if (ratio && f->ratio > 0)
		buf_printf(out, " %7.2f", f->ratio);
	else if (ratio)
		buf_printf(out, " %7s", "N/A");
}

static void put_csv(struct buf *out, const struct bench_line *l, const struct bench_figure *f, bool ratio)
{
	if (!f->there) {
		buf_puts(out, ratio ? ",,,,," : ",,,,");
		return;
	}
	buf_printf(out, ",%.6g,%.6g,%.6g,", f->us, algorithm(l, f), bench_line_bus(l, f));
	if (f->wrong >= 0)
		buf_printf(out, "%lld", (long long)f->wrong);
	if (ratio && f->ratio > 0)
		buf_printf(out, ",%.6g", f->ratio);
	else if (ratio)
		buf_putc(out, ',');
}

static void put_json(struct buf *out, const char *name, const struct bench_line *l,
                     const struct bench_figure *f, bool ratio)
{
	buf_printf(out, ", \"%s\": ", name);
	if (!f->there) {
		buf_puts(out, "null");
		return;
	}
	buf_printf(out, "{\"time_us\": %.6g, \"algbw\": %.6g, \"busbw\": %.6g, \"wrong\": ", f->us,
	           algorithm(l, f), bench_line_bus(l, f));
	if (f->wrong >= 0)
		buf_printf(out, "%lld", (long long)f->wrong);
	else
		buf_puts(out, "null");
	if (ratio && f->ratio > 0)
		buf_printf(out, ", \"ratio\": %.6g", f->ratio);
	buf_putc(out, '}');
}

void bench_collective_line(const struct bench_collectives *c, const struct bench_line *l, struct buf *out)
{
	const char *name = collective_key(l->kind), *type = dtype_name(c->dtype), *op = op_name(c, l->kind);
	switch (c->b->format) {
	case BENCH_TABLE:
		buf_printf(out, "%12lld %13lld %7s %7s %7lld", (long long)l->size, (long long)l->count, type,
		           op, root(c, l->kind));
		if (several(c))
			buf_printf(out, " %9s", l->transport);
		put_cells(out, l, &l->out_of_place, several(c));
		put_cells(out, l, &l->in_place, several(c));
		buf_putc(out, '\n');
		break;
	case BENCH_CSV:
		buf_printf(out, "%s,%d,%lld,%lld,%s,%s,%lld", name, l->members, (long long)l->size,
		           (long long)l->count, type, op, root(c, l->kind));
		if (several(c))
			buf_printf(out, ",%s", l->transport);
		put_csv(out, l, &l->out_of_place, several(c));
		put_csv(out, l, &l->in_place, several(c));
		buf_putc(out, '\n');
		break;
	case BENCH_JSON:
		buf_printf(out,
		           "%s{\"collective\": \"%s\", \"ranks\": %d, \"size\": %lld, \"count\": %lld, "
		           "\"type\": \"%s\", \"redop\": \"%s\", \"root\": %lld",
		           l->first ? "\n" : ",\n", name, l->members, (long long)l->size, (long long)l->count,
		           type, op, root(c, l->kind));
		if (several(c))
			buf_printf(out, ", \"transport\": \"%s\"", l->transport);
		put_json(out, "out_of_place", l, &l->out_of_place, several(c));
		put_json(out, "in_place", l, &l->in_place, several(c));
		buf_putc(out, '}');
		break;
	}
}

/* `, "absent": [{"transport": "nccl", "why": "…"}]` */
static void put_json_absent(const struct bench_outcome *of, uint32_t n, struct buf *out)
{
	const char *between = ", \"absent\": [";
	bool any = false;
	for (uint32_t k = 0; k < n; k++) {
		if (bench_outcome_is_measured(&of[k]))
			continue;
		buf_printf(out, "%s{\"transport\": \"%s\", \"why\": ", between, of[k].transport);
		json_put_string(out, of[k].why.at);
		buf_putc(out, '}');
		between = ", ";
		any = true;
	}
	if (any)
		buf_putc(out, ']');
}

void bench_collective_footer(const struct bench_collectives *c, const struct bench_outcome *of, uint32_t n,
                             int64_t wrong, double bus, struct buf *out)
{
	if (c->b->format == BENCH_JSON) {
		buf_puts(out, "\n]");
		put_json_absent(of, n, out);
		buf_puts(out, "}\n");
	} else if (c->b->format == BENCH_TABLE)
		buf_printf(out, "#\n# Wrong elements    : %lld%s\n# Avg bus bandwidth : %.4g\n",
		           (long long)wrong,
		           !c->b->check ? " (not checked)"
		           : wrong      ? ""
		                        : " OK",
		           bus);
}
