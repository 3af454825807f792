/* bench_collective_rank: the work of a rank: it times each kind and size, then checks one collective. */
#include "cli/bench_member.h"
#include "cli/output.h"
#include <stdlib.h>
#include <string.h>

struct sums {
	struct bench_member *x;
	double bus; /* sum over figures */
	int64_t figures, wrong;
};

static enum status measure_figure(struct sums *sums, struct bench_shape *s, bool in_place,
                                  struct bench_line *line, struct bench_figure *out)
{
	struct bench_member *x = sums->x;
	*out = (struct bench_figure){.wrong = -1};
	s->in_place = in_place;
	if (in_place && !bench_collective_in_place(s->kind))
		return STATUS_OK;
	enum status status = bench_member_time(x, s, &out->us);
	if (status == STATUS_OK && x->c->b->check)
		status = bench_member_check(x, s, &out->wrong);
	out->there = true;
	sums->bus += bench_line_bus(line, out);
	sums->figures++;
	sums->wrong += out->wrong > 0 ? out->wrong : 0;
	return status;
}

static void show_sweep_progress(const struct sums *sums, enum collective kind, int64_t bytes)
{
	const struct bench_collectives *c = sums->x->c;
	double sizes = 1, done = 0;
	unsigned before = 0;
	if (sums->x->job->rank != 0)
		return;
	for (int64_t b = c->least; b < c->most; b = c->step ? b + c->step : b * c->factor) {
		sizes++;
		done += b < bytes;
	}
	while (before < c->kinds && c->kind[before] != kind)
		before++;
	progress_show(c->b->progress, (before + done / sizes) / c->kinds, "%s, %lld bytes",
	              collective_key(kind), (long long)bytes);
}

static enum status print_figures(const struct bench_member *x, struct buf *text)
{
	if (x->c->b->transport.n > 1)
		text->n = 0; /* printed once all are measured */
	if (x->job->rank == 0)
		progress_end(x->c->b->progress);
	bool ok = x->job->rank != 0 || output_write(text);
	text->n = 0;
	return ok ? STATUS_OK : rt_job_fail(x->job, output_status(false));
}

/* Puts a comment if another mover than before moves the data. */
static void put_mover(const struct bench_member *x, const struct bench_shape *s, enum mover *last,
                      struct buf *text)
{
	struct buf why = {0};
	enum mover m = bench_member_mover(x, s, &why);
	if (m != *last && x->c->b->format == TABLE_TEXT)
		buf_printf(text, "# mover %s: %s\n", mover_name(m), why.at);
	*last = m;
	buf_free(&why);
}

static enum status sweep_sizes(struct sums *sums, enum collective kind, struct buf *text)
{
	struct bench_member *x = sums->x;
	const struct bench_collectives *c = x->c;
	enum status status = STATUS_OK;
	int64_t before = -1;
	enum mover asked = mover_find(c->b->ranks.mover), last = MOVER_COUNT;
	bench_collective_title(c, kind, 0, text);
	for (int64_t bytes = c->least; bytes <= c->most && status == STATUS_OK;
	     bytes = c->step ? bytes + c->step : bytes * c->factor) {
		struct bench_shape s = bench_member_shape(x, kind, bytes);
		struct bench_line line = {.kind = kind,
		                          .members = x->members,
		                          .size = s.count * (int64_t)x->data.size,
		                          .count = s.count,
		                          .first = sums->figures == 0};
		snprintf(line.transport, sizeof line.transport, "%s", transport_kind_name(x->t->ops->kind));
		if (s.count == before) /* less than one element for each rank */
			continue;
		before = s.count;
		show_sweep_progress(sums, kind, bytes);
		if (asked != MOVER_TRANSPORT)
			put_mover(x, &s, &last, text);
		status = measure_figure(sums, &s, false, &line, &line.out_of_place);
		if (status == STATUS_OK)
			status = measure_figure(sums, &s, true, &line, &line.in_place);
		bench_collective_line(c, &line, text);
		if (status == STATUS_OK && x->job->rank == 0 && c->b->transport.n > 1)
			status = bench_results_write(x->job, c->b, &line, sizeof line);
		if (status == STATUS_OK)
			status = print_figures(x, text);
	}
	return status;
}

static enum status sweep_all(struct bench_member *x)
{
	struct sums sums = {.x = x};
	struct buf text = {0};
	enum status status = STATUS_OK;
	bench_collective_header(x->c, x->job->size, transport_kind_name(x->t->ops->kind), &text);
	for (unsigned k = 0; k < x->c->kinds && status == STATUS_OK; k++)
		status = sweep_sizes(&sums, x->c->kind[k], &text);
	bench_collective_footer(x->c, NULL, 0, sums.wrong, sums.figures ? sums.bus / (double)sums.figures : 0,
	                        &text);
	if (status == STATUS_OK)
		status = print_figures(x, &text);
	buf_free(&text);
	return status == STATUS_OK && sums.wrong ? STATUS_WRONG : status;
}

/* ---- opening */

static enum status open_teams(struct bench_member *x)
{
	const struct bench_collectives *c = x->c;
	enum status status = STATUS_OK;
	int *everyone = mem_zalloc(sizeof *everyone * (size_t)x->job->size);
	for (int k = 0; k < x->job->size; k++)
		everyone[k] = k;
	for (uint32_t i = 0; i < (c->team.n ? c->team.n : 1) && status == STATUS_OK; i++)
		status = c->team.n ? bench_member_team(x, c->team.at[i].rank.at, (int)c->team.at[i].rank.n)
		                   : bench_member_team(x, everyone, x->job->size);
	free(everyone);
	return status;
}

static enum status open_member(struct bench_member *x)
{
	const struct bench_collectives *c = x->c;
	enum status status = bench_member_open(x);
	if (status == STATUS_OK)
		status = open_teams(x);
	if (status == STATUS_OK)
		status = bench_member_ready(x);
	if (status != STATUS_OK || c->root < x->members)
		return status;
	if (x->job->rank != 0)
		return rt_job_barrier(x->job, "the check of options");
	rt_job_error(x->job, "--root=%lld is not an index in a team of %d", (long long)c->root, x->members);
	return rt_job_fail(x->job, STATUS_USAGE);
}

int bench_collective_rank(struct rt_job *job, void *collectives)
{
	struct bench_member x = {.job = job, .c = collectives};
	enum status status = bench_agree(job, x.c->b);
	if (status != STATUS_OK)
		return status;
	status = open_member(&x);
	if (status == STATUS_OK)
		status = sweep_all(&x);
	else
		rt_job_fail(job, status);
	if (status == STATUS_OK || status == STATUS_WRONG) {
		enum status last = rt_job_barrier(job, "the end");
		status = last == STATUS_OK ? status : last;
	}
	bench_member_close(&x);
	return status;
}
