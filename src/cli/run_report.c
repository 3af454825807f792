/* run_report: see run_report.h. */
#include "cli/run_report.h"
#include "base/json_put.h"
#include "base/table.h"
#include "cli/output.h"
#include <math.h>
#include <stddef.h>
#include <stdlib.h>

enum { RUN_VERSION = 1 /* of the output of --json */ };

/* ---- statistics */

struct rank_stats {
	struct exec_stats exec;
	int64_t fastest, median, issue; /* us; of the runs of --repeat */
};

struct range {
	int64_t least, most;
};

/* Returns the smallest and largest value of a field, over all ranks. */
static struct range range_of(const struct rank_stats *all, int n, size_t offset)
{
	struct range x = {INT64_MAX, 0};
	for (int k = 0; k < n; k++) {
		int64_t v = *(const int64_t *)((const char *)&all[k] + offset);
		x.least = v < x.least ? v : x.least;
		x.most = v > x.most ? v : x.most;
	}
	return x;
}

/* Adds the cells of a range: in text `7`, or `0-7` if ranks differ. */
static void add_range(struct table *t, struct range x)
{
	if (x.least < x.most)
		table_add_text(t, arena_printf(t->arena, "%lld-%lld", (long long)x.least, (long long)x.most));
	else
		table_add_text(t, arena_printf(t->arena, "%lld", (long long)x.most));
	table_add_int(t, x.least);
	table_add_int(t, x.most);
}

/* Adds the row of an operation. count, bytes: offsets of fields; bytes may be 0. */
static void add_operation(const char *name, const struct rank_stats *all, int n, size_t count, size_t bytes,
                          struct table *t)
{
	struct range x = range_of(all, n, count);
	if (!x.most)
		return;
	table_add_text(t, name);
	add_range(t, x);
	if (bytes) {
		add_range(t, range_of(all, n, bytes));
		return;
	}
	for (unsigned k = 0; k < 3; k++)
		table_add_none(t);
}

static struct table operations_table(const struct rank_stats *all, int n, enum table_format format)
{
	static const struct table_column column[] = {
	    {.name = "operation", .width = 14, .left = true},
	    {.title = "a rank", .in = TABLE_IN_TEXT, .width = 9},
	    {.name = "least", .group = "count", .in = TABLE_IN_JSON},
	    {.name = "most", .group = "count", .in = TABLE_IN_JSON},
	    {.title = "bytes_sent", .in = TABLE_IN_TEXT, .width = 17},
	    {.name = "least", .group = "bytes_sent", .in = TABLE_IN_JSON},
	    {.name = "most", .group = "bytes_sent", .in = TABLE_IN_JSON},
	};
	static const struct {
		const char *name;
		size_t offset;
	} message[] = {{"send", offsetof(struct rank_stats, exec.sends)},
	               {"receive", offsetof(struct rank_stats, exec.receives)},
	               {"copy", offsetof(struct rank_stats, exec.copies)}};
	struct table t = table_open(format, column, sizeof column / sizeof *column);
	for (unsigned k = 0; k < COLLECTIVE_COUNT; k++) {
		size_t at = offsetof(struct rank_stats, exec.kind) + k * sizeof all->exec.kind[0];
		add_operation(collective_name((enum collective)k), all, n, at, at + sizeof(int64_t), &t);
	}
	for (unsigned k = 0; k < 3; k++)
		add_operation(message[k].name, all, n, message[k].offset, 0, &t);
	t.gap = 1;
	t.indent = 2;
	return t;
}

static struct table ranks_table(const struct rank_stats *all, int n, bool repeats, enum table_format format)
{
	enum { TIMED = 8 /* the first column of a repeated run */, COLUMNS = 11 };
	static const struct table_column column[COLUMNS] = {{.name = "rank", .width = 4},
	                                                    {.name = "tasks", .width = 9},
	                                                    {.name = "collectives", .width = 11},
	                                                    {.name = "messages", .width = 8},
	                                                    {.name = "bytes_sent", .width = 13},
	                                                    {.name = "bytes_received", .width = 14},
	                                                    {.name = "planned_memory", .width = 14},
	                                                    {.name = "peak_memory", .width = 12},
	                                                    {.name = "time_us", .width = 12},
	                                                    {.name = "median_us", .width = 12},
	                                                    {.name = "issue_us", .width = 12}};
	struct table t = table_open(format, column, repeats || format == TABLE_JSON ? COLUMNS : TIMED);
	for (int k = 0; k < n; k++) {
		const struct exec_stats *s = &all[k].exec;
		const int64_t cell[COLUMNS] = {k,
		                               s->tasks,
		                               s->collectives,
		                               s->messages,
		                               s->bytes_sent,
		                               s->bytes_received,
		                               s->bytes_planned,
		                               s->bytes_peak,
		                               all[k].fastest,
		                               all[k].median,
		                               all[k].issue};
		for (unsigned i = 0; i < t.n; i++)
			if (i < TIMED || repeats)
				table_add_int(&t, cell[i]);
			else
				table_add_none(&t);
	}
	t.gap = 1;
	t.indent = 2;
	return t;
}

/* Puts the times of steps. One rank's are in its row. */
static void put_step(const struct run_step *step, int n, const struct run *r, struct buf *out)
{
	if (r->json && r->repeat > 1)
		buf_printf(out, "\"step\": {\"time_us\": %lld, \"median_us\": %lld},\n  ",
		           (long long)step->fastest, (long long)step->median);
	else if (r->json)
		buf_puts(out, "\"step\": null,\n  ");
	else if (r->repeat > 1 && n > 1)
		buf_printf(
		    out, "all ranks, from the first start to the last end: fastest %lld us, median %lld us\n",
		    (long long)step->fastest, (long long)step->median);
}

/* Puts a number, or the least and the most of the ranks. */
static void put_range(struct range x, bool json, struct buf *out)
{
	if (json)
		buf_printf(out, "{\"least\": %lld, \"most\": %lld}", (long long)x.least, (long long)x.most);
	else if (x.least < x.most)
		buf_printf(out, "%lld-%lld", (long long)x.least, (long long)x.most);
	else
		buf_printf(out, "%lld", (long long)x.most);
}

/* Puts the copies that reshapes, permutes, slices and splits need; in text only if there are any. */
static void put_view_copies(const struct rank_stats *all, int n, bool json, struct buf *out)
{
	struct range count = range_of(all, n, offsetof(struct rank_stats, exec.view_copies)),
	             bytes = range_of(all, n, offsetof(struct rank_stats, exec.view_bytes));
	if (!json && !count.most)
		return;
	buf_puts(out, json ? ",\n  \"view_copies\": {\"count\": " : "copies of views: ");
	put_range(count, json, out);
	buf_puts(out, json ? ", \"bytes\": " : " a rank, ");
	put_range(bytes, json, out);
	buf_puts(out, json ? "}" : " bytes\n");
}

/* Puts who moves the data of collectives, if the user has asked for it. */
static void put_movers(const struct exec *e, bool json, struct buf *out)
{
	struct buf text = {0};
	if (exec_put_movers(e, json ? TABLE_JSON : TABLE_TEXT, &text))
		buf_printf(out, "%s%s", json ? ",\n  \"movers\": " : "", text.at);
	buf_free(&text);
}

static void put_stats(const struct rank_stats *all, int n, const struct run *r, const struct exec *e,
                      const struct run_step *step, struct buf *out)
{
	enum table_format format = r->json ? TABLE_JSON : TABLE_TEXT;
	struct table ranks = ranks_table(all, n, r->repeat > 1, format);
	struct table operations = operations_table(all, n, format);
	if (r->json)
		buf_puts(out, "{\"ranks\": ");
	table_put(&ranks, out);
	if (r->json)
		buf_puts(out, ",\n  ");
	put_step(step, n, r, out);
	if (r->json)
		buf_puts(out, "\"operations\": ");
	if (r->json || table_rows(&operations))
		table_put(&operations, out);
	put_view_copies(all, n, r->json, out);
	put_movers(e, r->json, out);
	if (r->json)
		buf_putc(out, '}');
	table_close(&ranks);
	table_close(&operations);
}

enum status run_stats(struct rt_job *job, const struct run *r, struct exec *e, const struct run_times *times,
                      bool one_clock, struct buf *out)
{
	struct run_step step = {0};
	struct rank_stats mine = {.fastest = times->fastest,
	                          .median = run_times_median(times),
	                          .issue = run_times_median_issue(times)},
	                  *all = mem_zalloc(sizeof *all * (size_t)job->size);
	exec_stats(e, &mine.exec);
	enum status status = rt_job_allgather(job, "statistics", &mine, sizeof mine, all);
	if (status == STATUS_OK && r->repeat > 1)
		status = run_times_step(job, times, one_clock, &step);
	if (status == STATUS_OK && job->rank == 0)
		put_stats(all, job->size, r, e, &step, out);
	free(all);
	return status;
}

/* ---- the verdict */

/* Puts `ok: 4 ranks, largest error 0 at Y[0, 0] (tolerance 0.0078); 64 of 64 elements compared, …`. */
static void put_verdict(const struct check_verdict *v, int ranks, struct buf *out)
{
	buf_printf(out, "ok: %d rank%s, largest error %.3g", ranks, ranks == 1 ? "" : "s", v->error);
	if (!v->outputs) {
		buf_puts(out, " (no outputs)\n");
		return;
	}
	if (*v->at)
		buf_printf(out, " at %s", v->at);
	if (v->rank >= 0)
		buf_printf(out, " on rank %d", v->rank);
	if (v->exact)
		buf_puts(out, " (exact)");
	else
		buf_printf(out, " (tolerance %.2g)", v->tolerance);
	buf_printf(out, "; %lld of %lld element%s compared%s, %lld undecided\n", (long long)v->compared,
	           (long long)v->elements, v->elements == 1 ? "" : "s", v->sampled ? " (a sample)" : "",
	           (long long)v->undecided);
}

/* Puts a number; null for infinity and NaN, which JSON does not have. */
static void put_number(struct buf *out, const char *key, double x)
{
	if (isfinite(x))
		buf_printf(out, ", \"%s\": %.6g", key, x);
	else
		buf_printf(out, ", \"%s\": null", key);
}

static void put_json_verdict(const struct check_verdict *v, struct buf *out)
{
	if (!v) {
		buf_puts(out, "{\"ok\": false}");
		return;
	}
	buf_puts(out, "{\"ok\": true");
	put_number(out, "error", v->error);
	put_number(out, "tolerance", v->exact ? 0 : v->tolerance);
	json_put_more(out, "at", *v->at ? v->at : NULL);
	if (v->rank >= 0)
		json_put_int(out, "rank", v->rank);
	else
		buf_puts(out, ", \"rank\": null");
	json_put_int(out, "compared", v->compared);
	json_put_int(out, "elements", v->elements);
	json_put_int(out, "undecided", v->undecided);
	buf_printf(out, ", \"sampled\": %s}", v->sampled ? "true" : "false");
}

static bool print_text(struct buf *text)
{
	bool ok = output_write_escaped(text);
	buf_free(text);
	return ok;
}

bool run_report_verdict(const struct check_verdict *v, int ranks)
{
	struct buf out = {0};
	put_verdict(v, ranks, &out);
	return print_text(&out);
}

bool run_report_json(const struct run *r, int ranks, const struct run_report *x)
{
	struct buf text = {0}, *out = &text;
	json_put_start(out, RUN_VERSION, "run");
	json_put_int(out, "ranks", ranks);
	if (r->host_ir.n)
		json_put_more(out, "program", r->host_ir.at);
	buf_puts(out, ",\n\"check\": ");
	if (x->checked)
		put_json_verdict(x->verdict, out);
	else
		buf_puts(out, "null");
	buf_printf(out, ",\n\"stats\": %s", x->stats.n ? x->stats.at : "null");
	buf_printf(out, ",\n\"profile\": %s}\n", x->profile.n ? x->profile.at : "null");
	return print_text(out);
}
