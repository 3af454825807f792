/* bench_program_print: prints rows for programs, in the columns of DDLB and a few more.
 *
 * implementation, mean_time (ms), std_time, min_time, max_time, m, n, k, dtype, Throughput (TFLOPS),
 * Throughput std (TFLOPS), world_size, hostname, option, valid; then median_time, samples, and ratio. ratio:
 * the median, over the samples, of the time divided by the first program's time in the same round. m, n and k
 * are the params of these names; option has the other values of -D. */
#include "base/json_put.h"
#include "cli/bench.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct table_column column[] = {
    {.name = "implementation"},
    {.name = "mean_time (ms)"},
    {.name = "std_time"},
    {.name = "min_time"},
    {.name = "max_time"},
    {.name = "m"},
    {.name = "n"},
    {.name = "k"},
    {.name = "dtype"},
    {.name = "Throughput (TFLOPS)"},
    {.name = "Throughput std (TFLOPS)"},
    {.name = "world_size"},
    {.name = "hostname"},
    {.name = "option"},
    {.name = "valid"},
    {.name = "median_time"},
    {.name = "samples"},
    {.name = "ratio"},
};

/* Opens the table. Text is CSV too: other programs read these rows. */
static struct table open_table(const struct bench *b)
{
	return table_open(b->format == TABLE_JSON ? TABLE_JSON : TABLE_CSV, column,
	                  sizeof column / sizeof *column);
}

static void add_buf(struct table *t, struct buf *text)
{
	table_add_text(t, text->n ? text->at : "");
	buf_free(text);
	*text = (struct buf){0};
}

/* Puts a file's name without folder and suffix. */
static void put_stem(struct buf *b, const char *path)
{
	const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path, *dot = strrchr(stem, '.');
	buf_putn(b, stem, dot && dot > stem ? (size_t)(dot - stem) : strlen(stem));
}

static bool is_size_name(const char *name)
{
	return name[0] && !name[1] && strchr("mnk", name[0]);
}

/* Adds the param `name`, or the const that -D sets; an absent cell if the program has neither. */
static void add_size(struct table *t, const struct bench_set *set, const struct module *m, const char *name)
{
	int64_t size;
	for (param_id p = 1; p < m->param.n; p++)
		if (m->param.at[p].has_value && !strcmp(names_text(m->names, m->param.at[p].name), name)) {
			table_add_int(t, m->param.at[p].value);
			return;
		}
	for (uint32_t k = 0; k < set->point->define_n; k++) {
		if (strcmp(set->point->define[k].name, name) != 0)
			continue;
		if (str_parse_size(set->point->define[k].text, &size))
			table_add_int(t, size);
		else /* an expression */
			table_add_text(t, set->point->define[k].text);
		return;
	}
	table_add_none(t);
}

static void put_options(struct buf *b, const struct bench_set *set)
{
	for (uint32_t k = 0; k < set->point->define_n; k++) {
		const struct sema_define *d = &set->point->define[k];
		if (!is_size_name(d->name))
			buf_printf(b, "%s%s=%s", b->n ? ", " : "", d->name, d->text);
	}
	if (rank_options_transport(&set->b->ranks) != TRANSPORT_AUTO)
		buf_printf(b, "%stransport=%s", b->n ? ", " : "", set->b->ranks.transport);
	if (strcmp(set->b->ranks.engine, "auto") != 0)
		buf_printf(b, "%sengine=%s", b->n ? ", " : "", set->b->ranks.engine);
}

static const char *dtype_of(const struct module *m)
{
	if (!m->output.n)
		return "";
	return dtype_name(value_type(m, m->output.at[0])->dtype);
}

static void add_row(struct table *t, const struct bench_row *row)
{
	const struct bench_set *set = row->set;
	const struct module *m = set->run[row->file].m;
	struct bench_statistics s = bench_statistics(row->ms, row->samples), rate;
	double *x = mem_alloc(sizeof *x * (size_t)row->samples);
	char host[64] = {0};
	struct buf text = {0};
	gethostname(host, sizeof host - 1);
	for (int64_t k = 0; k < row->samples; k++)
		x[k] = row->ms[k] > 0 ? row->flops / (row->ms[k] * 1e9) : 0;
	rate = bench_statistics(x, row->samples);
	for (int64_t k = 0; k < row->samples && row->base; k++)
		x[k] = row->base[k] > 0 ? row->ms[k] / row->base[k] : 0;
	put_stem(&text, set->b->file.at[row->file]);
	add_buf(t, &text);
	table_add_number(t, s.mean);
	table_add_number(t, s.deviation);
	table_add_number(t, s.least);
	table_add_number(t, s.most);
	add_size(t, set, m, "m");
	add_size(t, set, m, "n");
	add_size(t, set, m, "k");
	table_add_text(t, dtype_of(m));
	table_add_number(t, rate.mean);
	table_add_number(t, rate.deviation);
	table_add_int(t, row->ranks);
	table_add_text(t, host);
	put_options(&text, set);
	add_buf(t, &text);
	if (row->valid == 1)
		table_add_bool(t, true);
	else
		table_add_none(t);
	table_add_number(t, s.median);
	table_add_int(t, row->samples);
	table_add_number(t, row->base ? bench_statistics(x, row->samples).median : 1);
	free(x);
}

void bench_program_header(const struct bench *b, struct buf *out)
{
	if (b->format == TABLE_JSON) {
		json_put_start(out, BENCH_VERSION, "bench");
		buf_puts(out, ", \"rows\": [");
	}
}

void bench_program_print(const struct bench *b, const struct bench_row *row, struct buf *out)
{
	struct table t = open_table(b);
	t.printed = !row->set->first || row->file > 0;
	if (!t.printed) /* a program that cannot run gets no titles */
		table_put_titles(&t, out);
	add_row(&t, row);
	table_put_rows(&t, out);
	table_close(&t);
}

void bench_program_footer(const struct bench *b, struct buf *out)
{
	if (b->format == TABLE_JSON)
		buf_puts(out, "\n]}\n");
}
