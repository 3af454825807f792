/* bench_program_print: rows about programs, in the columns of DDLB, and some more.
 *
 * implementation, mean_time (ms), std_time, min_time, max_time, m, n, k, dtype, Throughput (TFLOPS),
 * Throughput std (TFLOPS), world_size, hostname, option, valid; then median_time, samples, and ratio: the
 * median over the samples of the time by that of the first program in the same turn. m, n and k are the
 * params of these names; option has the other values that -D gave. */
#include "base/json_put.h"
#include "cli/bench.h"
#include "cli/output.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A column, of a CSV cell or a JSON member. */
struct cell {
	const char *name;
	struct buf text;
	bool is_text; /* else a number, or nothing */
};

enum { MAX_CELLS = 20 };

struct cells {
	struct cell at[MAX_CELLS];
	unsigned n;
};

static struct buf *add_cell(struct cells *c, const char *name, bool is_text)
{
	c->at[c->n] = (struct cell){.name = name, .is_text = is_text};
	return &c->at[c->n++].text;
}

static void add_number(struct cells *c, const char *name, double x)
{
	buf_printf(add_cell(c, name, false), "%.6g", x);
}

/* File name without folder and suffix. */
static void put_stem(struct buf *b, const char *path)
{
	const char *slash = strrchr(path, '/'), *stem = slash ? slash + 1 : path, *dot = strrchr(stem, '.');
	buf_putn(b, stem, dot && dot > stem ? (size_t)(dot - stem) : strlen(stem));
}

static bool is_size_name(const char *name)
{
	return name[0] && !name[1] && strchr("mnk", name[0]);
}

/* The param m, or the const that -D gave. */
static void put_size(struct buf *b, const struct bench_set *set, const struct module *m, const char *name)
{
	for (param_id p = 1; p < m->param.n; p++)
		if (m->param.at[p].has_value && !strcmp(names_text(m->names, m->param.at[p].name), name)) {
			buf_printf(b, "%lld", (long long)m->param.at[p].value);
			return;
		}
	for (uint32_t k = 0; k < set->point->define_n; k++)
		if (!strcmp(set->point->define[k].name, name))
			buf_puts(b, set->point->define[k].text);
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

static void fill_cells(const struct bench_row *row, struct cells *c)
{
	const struct bench_set *set = row->set;
	const struct module *m = set->run[row->file].m;
	struct bench_statistics s = bench_statistics(row->ms, row->samples), rate;
	double *x = mem_alloc(sizeof *x * (size_t)row->samples);
	char host[64] = {0};
	gethostname(host, sizeof host - 1);
	for (int64_t k = 0; k < row->samples; k++)
		x[k] = row->ms[k] > 0 ? row->flops / (row->ms[k] * 1e9) : 0;
	rate = bench_statistics(x, row->samples);
	for (int64_t k = 0; k < row->samples && row->base; k++)
		x[k] = row->base[k] > 0 ? row->ms[k] / row->base[k] : 0;
	put_stem(add_cell(c, "implementation", true), set->b->file.at[row->file]);
	add_number(c, "mean_time (ms)", s.mean);
	add_number(c, "std_time", s.deviation);
	add_number(c, "min_time", s.least);
	add_number(c, "max_time", s.most);
	put_size(add_cell(c, "m", false), set, m, "m");
	put_size(add_cell(c, "n", false), set, m, "n");
	put_size(add_cell(c, "k", false), set, m, "k");
	buf_puts(add_cell(c, "dtype", true), dtype_of(m));
	add_number(c, "Throughput (TFLOPS)", rate.mean);
	add_number(c, "Throughput std (TFLOPS)", rate.deviation);
	add_number(c, "world_size", row->ranks);
	buf_puts(add_cell(c, "hostname", true), host);
	put_options(add_cell(c, "option", true), set);
	buf_puts(add_cell(c, "valid", false), row->valid == 1 ? "true" : "");
	add_number(c, "median_time", s.median);
	add_number(c, "samples", (double)row->samples);
	add_number(c, "ratio", row->base ? bench_statistics(x, row->samples).median : 1);
	free(x);
}

void bench_program_header(const struct bench *b, struct buf *out)
{
	if (b->format == BENCH_JSON)
		buf_printf(out, "{\"version\": %d, \"rows\": [", BENCH_VERSION);
	else
		buf_puts(out,
		         "implementation,mean_time (ms),std_time,min_time,max_time,m,n,k,dtype,Throughput "
		         "(TFLOPS),Throughput std "
		         "(TFLOPS),world_size,hostname,option,valid,median_time,samples,ratio\n");
}

void bench_program_print(const struct bench *b, const struct bench_row *row, struct buf *out)
{
	struct cells c = {0};
	bool json = b->format == BENCH_JSON;
	fill_cells(row, &c);
	if (json)
		buf_puts(out, row->set->first && row->file == 0 ? "\n{" : ",\n{");
	for (unsigned k = 0; k < c.n; k++) {
		struct cell *cell = &c.at[k];
		buf_puts(out, !k ? "" : json ? ", " : ",");
		if (json) {
			json_put_string(out, cell->name);
			buf_puts(out, ": ");
		}
		if (json && cell->is_text)
			json_put_string(out, cell->text.at ? cell->text.at : "");
		else if (json)
			buf_puts(out, cell->text.n ? cell->text.at : "null");
		else
			output_put_csv(out, cell->text.at);
		buf_free(&cell->text);
	}
	buf_puts(out, json ? "}" : "\n");
}

void bench_program_footer(const struct bench *b, struct buf *out)
{
	if (b->format == BENCH_JSON)
		buf_puts(out, "\n]}\n");
}
