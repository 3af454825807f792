/* bench_beside: measures collectives with several transports, one after the other, and prints their lines
 * side by side. */
#include "cli/bench_collective.h"
#include "cli/output.h"
#include <stdlib.h>
#include <string.h>

static void read_lines(struct bench_outcome *o, bench_lines *out)
{
	struct bench_line line;
	while (o->results && fread(&line, sizeof line, 1, o->results) == 1)
		vec_push(out, line);
}

static double ratio(const struct bench_figure *first, const struct bench_figure *f)
{
	return f->there && first->there && f->us > 0 ? first->us / f->us : 0;
}

/* Puts the lines of one size and kind: one for each transport that reached it. */
static void put_lines(const struct bench_collectives *c, bench_lines *line, uint32_t n, uint32_t at,
                      bool *first, struct buf *out)
{
	const struct bench_line *base = NULL;
	for (uint32_t t = 0; t < n; t++) {
		if (at >= line[t].n)
			continue;
		struct bench_line *l = &line[t].at[at];
		base = base ? base : l;
		l->out_of_place.ratio = ratio(&base->out_of_place, &l->out_of_place);
		l->in_place.ratio = ratio(&base->in_place, &l->in_place);
		l->first = *first;
		*first = false;
		bench_collective_line(c, l, out);
	}
}

void bench_collective_beside(const struct bench_collectives *c, bench_lines *line, uint32_t n,
                             struct buf *out)
{
	uint32_t most = 0, longest = 0;
	bool first = true, differ = false;
	for (uint32_t t = 0; t < n; t++)
		if (line[t].n > most) {
			most = line[t].n;
			longest = t;
		}
	for (uint32_t k = 1; k < most; k++)
		differ |= line[longest].at[k].members != line[longest].at[0].members;
	for (uint32_t k = 0; k < most; k++) {
		const struct bench_line *l = &line[longest].at[k];
		if (!k || l->kind != l[-1].kind || l->members != l[-1].members)
			bench_collective_title(c, l->kind, differ ? l->members : 0, out);
		put_lines(c, line, n, k, &first, out);
	}
}

/* Prints the whole table; the footer summarizes all lines. */
static enum status report_transports(const struct bench_collectives *c, const struct bench_outcome *o,
                                     bench_lines *line)
{
	uint32_t n = c->b->transport.n;
	struct buf text = {0}, names = {0};
	double bus = 0;
	int64_t figures = 0, wrong = 0;
	for (uint32_t t = 0; t < n; t++) {
		if (line[t].n)
			buf_printf(&names, "%s%s", names.n ? ", " : "", line[t].at[0].transport);
		for (uint32_t k = 0; k < line[t].n; k++)
			for (unsigned f = 0; f < 2; f++) {
				const struct bench_line *l = &line[t].at[k];
				const struct bench_figure *figure = f ? &l->in_place : &l->out_of_place;
				figures += figure->there;
				bus += figure->there ? bench_line_bus(l, figure) : 0;
				wrong += figure->wrong > 0 ? figure->wrong : 0;
			}
	}
	bench_collective_header(c, c->b->launch.np, names.n ? names.at : "none", &text);
	for (uint32_t t = 0; t < n; t++)
		bench_collective_absent(c, &o[t], &text);
	bench_collective_beside(c, line, n, &text);
	bench_collective_footer(c, o, n, wrong, figures ? bus / (double)figures : 0, &text);
	bool ok = output_write(&text);
	buf_free(&text);
	buf_free(&names);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

enum status bench_transports_beside(struct bench_collectives *c)
{
	struct bench *b = c->b;
	uint32_t n = b->transport.n;
	struct bench_outcome *o = mem_zalloc(sizeof *o * n);
	bench_lines *line = mem_zalloc(sizeof *line * n);
	for (uint32_t t = 0; t < n; t++) {
		bench_launch(b, t, bench_collective_rank, c, &o[t]);
		if (bench_outcome_is_measured(&o[t]))
			read_lines(&o[t], &line[t]);
		else if (n > 1 && b->format == TABLE_CSV)
			fprintf(stderr, "hirc bench: note: %s is not measured: %s\n", o[t].transport,
			        o[t].why.at);
	}
	enum status status = bench_outcomes_status(o, n),
	            printed = n > 1 ? report_transports(c, o, line) : STATUS_OK;
	for (uint32_t t = 0; t < n; t++) {
		bench_outcome_free(&o[t]);
		vec_free(&line[t]);
	}
	free(o);
	free(line);
	return status == STATUS_OK ? printed : status;
}
