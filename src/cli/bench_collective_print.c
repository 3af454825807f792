/* bench_collective_print: what was measured, as nccl-tests prints it, or as CSV or JSON.
 *
 *     #       size         count    type   redop    root     time   algbw   busbw  #wrong     time   algbw
 * busbw  #wrong #        (B)    (elements)                             (us)  (GB/s)  (GB/s)             (us)
 * (GB/s)  (GB/s) 1048576        262144     f32     sum      -1    121.3    8.64    8.64       0 118.2    8.87
 * 8.87       0 */
#include "cli/bench_collective.h"

static double algorithm(const struct bench_line *l, const struct bench_figure *f)
{
	return f->us > 0 ? (double)l->size / f->us / 1e3 : 0;
}

double bench_line_bus(const struct bench_line *l, const struct bench_figure *f)
{
	return algorithm(l, f) * bench_collective_bus(l->kind, l->members);
}

static const char *op_name(const struct bench_collectives *c, enum rt_collective_kind k)
{
	return rt_collective_reduces(k) ? rt_reduce_op_name(c->op) : "none";
}

static long long root(const struct bench_collectives *c, enum rt_collective_kind k)
{
	return rt_collective_is_rooted(k) && k != RT_SEND_RECV ? (long long)c->root : -1;
}

void bench_collective_header(const struct bench_collectives *c, int ranks, const char *transport,
                             struct buf *out)
{
	static const char *const columns[] = {"time_us", "algbw", "busbw", "wrong"};
	if (c->b->format == BENCH_JSON) {
		buf_printf(out, "{\"version\": %d, \"ranks\": %d, \"rows\": [", BENCH_VERSION, ranks);
		return;
	}
	if (c->b->format == BENCH_CSV) {
		buf_puts(out, "collective,ranks,size,count,type,redop,root");
		for (unsigned k = 0; k < 8; k++)
			buf_printf(out, ",%s_%s", k < 4 ? "out_of_place" : "in_place", columns[k % 4]);
		buf_putc(out, '\n');
		return;
	}
	buf_printf(out, "# %d ranks, transport %s, time of the ranks: %s\n", ranks, transport, c->average);
}

void bench_collective_title(const struct bench_collectives *c, enum rt_collective_kind k, struct buf *out)
{
	if (c->b->format != BENCH_TABLE)
		return;
	buf_printf(out, "#\n# %-50s %30s %33s\n", bench_collective_name(k), "out-of-place", "in-place");
	buf_printf(out, "#%11s %13s %7s %7s %7s", "size", "count", "type", "redop", "root");
	for (unsigned f = 0; f < 2; f++)
		buf_printf(out, " %9s %7s %7s %7s", "time", "algbw", "busbw", "#wrong");
	buf_printf(out, "\n#%11s %13s %7s %7s %7s", "(B)", "(elements)", "", "", "");
	for (unsigned f = 0; f < 2; f++)
		buf_printf(out, " %9s %7s %7s%*s", "(us)", "(GB/s)", "(GB/s)", f ? 0 : 8, "");
	buf_putc(out, '\n');
}

static void put_cells(struct buf *out, const struct bench_line *l, const struct bench_figure *f)
{
	if (!f->there) {
		buf_printf(out, " %9s %7s %7s %7s", "N/A", "N/A", "N/A", "N/A");
		return;
	}
	buf_printf(out, f->us < 1000 ? " %9.2f" : " %9.0f", f->us);
	buf_printf(out, " %7.2f %7.2f", algorithm(l, f), bench_line_bus(l, f));
	if (f->wrong < 0)
		buf_printf(out, " %7s", "N/A");
	else
		buf_printf(out, " %7lld", (long long)f->wrong);
}

static void put_csv(struct buf *out, const struct bench_line *l, const struct bench_figure *f)
{
	if (!f->there) {
		buf_puts(out, ",,,,");
		return;
	}
	buf_printf(out, ",%.6g,%.6g,%.6g,", f->us, algorithm(l, f), bench_line_bus(l, f));
	if (f->wrong >= 0)
		buf_printf(out, "%lld", (long long)f->wrong);
}

static void put_json(struct buf *out, const char *name, const struct bench_line *l,
                     const struct bench_figure *f)
{
	buf_printf(out, ", \"%s\": ", name);
	if (!f->there) {
		buf_puts(out, "null");
		return;
	}
	buf_printf(out, "{\"time_us\": %.6g, \"algbw\": %.6g, \"busbw\": %.6g, \"wrong\": ", f->us,
	           algorithm(l, f), bench_line_bus(l, f));
	if (f->wrong >= 0)
		buf_printf(out, "%lld}", (long long)f->wrong);
	else
		buf_puts(out, "null}");
}

void bench_collective_line(const struct bench_collectives *c, const struct bench_line *l, struct buf *out)
{
	const char *name = bench_collective_name(l->kind), *type = rt_dtype_name(c->dtype),
	           *op = op_name(c, l->kind);
	switch (c->b->format) {
	case BENCH_TABLE:
		buf_printf(out, "%12lld %13lld %7s %7s %7lld", (long long)l->size, (long long)l->count, type,
		           op, root(c, l->kind));
		put_cells(out, l, &l->out_of_place);
		put_cells(out, l, &l->in_place);
		buf_putc(out, '\n');
		break;
	case BENCH_CSV:
		buf_printf(out, "%s,%d,%lld,%lld,%s,%s,%lld", name, l->members, (long long)l->size,
		           (long long)l->count, type, op, root(c, l->kind));
		put_csv(out, l, &l->out_of_place);
		put_csv(out, l, &l->in_place);
		buf_putc(out, '\n');
		break;
	case BENCH_JSON:
		buf_printf(out,
		           "%s{\"collective\": \"%s\", \"ranks\": %d, \"size\": %lld, \"count\": %lld, "
		           "\"type\": \"%s\", \"redop\": \"%s\", \"root\": %lld",
		           l->first ? "\n" : ",\n", name, l->members, (long long)l->size, (long long)l->count,
		           type, op, root(c, l->kind));
		put_json(out, "out_of_place", l, &l->out_of_place);
		put_json(out, "in_place", l, &l->in_place);
		buf_putc(out, '}');
		break;
	}
}

void bench_collective_footer(const struct bench_collectives *c, int64_t wrong, double bus, struct buf *out)
{
	if (c->b->format == BENCH_JSON)
		buf_puts(out, "\n]}\n");
	else if (c->b->format == BENCH_TABLE)
		buf_printf(out, "#\n# Wrong elements    : %lld%s\n# Avg bus bandwidth : %.4g\n",
		           (long long)wrong,
		           !c->b->check ? " (not checked)"
		           : wrong      ? ""
		                        : " OK",
		           bus);
}
