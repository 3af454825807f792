/* tune_print: the candidates and their times, as a table, CSV or JSON.
 *
 *     candidate                    predicted_us  measured_us  spread    error
 *     s=6 pipeline=p2p                   71.250       78.102   1.2 %   -8.8 %  chosen
 *     as it stands                       96.412            -       -        -
 *
 * Rows are in the order of predicted times. spread: half of the samples are within so much of each other. */
#include "base/json_put.h"
#include "cli/output.h"
#include "cli/tune.h"
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 60 /* columns of a name */ };

static bool is_measured(const struct tune_candidate *c)
{
	return c->state == TUNE_GOOD && c->measured >= 0;
}

static bool has_error(const struct tune_candidate *c)
{
	return is_measured(c) && c->measured > 0 && c->predicted >= 0;
}

/* Returns the error of the prediction, in percent of the measured time. */
static double error_of(const struct tune_candidate *c)
{
	return 100 * ((double)c->predicted - c->measured) / c->measured;
}

/* In percent of the median. */
static double spread_of(const struct tune_candidate *c)
{
	return c->measured > 0 ? 100 * c->spread / c->measured : 0;
}

/* ---- the table */

static void put_name(const struct tune *t, const struct tune_candidate *c, size_t width, struct buf *out)
{
	struct buf name = {0};
	tune_put_choices(t, c, &name);
	buf_puts(out, name.at);
	buf_pad(out, ' ', name.n < width ? (unsigned)(width - name.n) : 0);
	buf_free(&name);
}

/* The first rows, the candidates that ran, the chosen one and the program as it is. */
static bool is_shown(const struct tune *t, uint32_t k, uint32_t candidate)
{
	return k < t->rows || !candidate || candidate == t->chosen ||
	       is_measured(&t->candidate.at[candidate]);
}

static size_t width_of(const struct tune *t, const tune_order *order)
{
	size_t width = strlen("as it stands");
	for (uint32_t k = 0; k < order->n; k++) {
		struct buf name = {0};
		if (is_shown(t, k, order->at[k]))
			tune_put_choices(t, &t->candidate.at[order->at[k]], &name);
		width = name.n > width ? name.n : width;
		buf_free(&name);
	}
	return width < WIDEST ? width : WIDEST;
}

static void put_row(const struct tune *t, uint32_t candidate, size_t width, struct buf *out)
{
	const struct tune_candidate *c = &t->candidate.at[candidate];
	put_name(t, c, width, out);
	if (c->predicted >= 0)
		buf_printf(out, "  %12.3f", (double)c->predicted / 1e3);
	else
		buf_printf(out, "  %12s", "-");
	if (is_measured(c))
		buf_printf(out, "  %11.3f  %5.1f %%", c->measured / 1e3, spread_of(c));
	else
		buf_printf(out, "  %11s  %7s", "-", "-");
	if (has_error(c))
		buf_printf(out, "  %+7.1f %%", error_of(c));
	else
		buf_printf(out, "  %9s", "-");
	if (candidate == t->chosen)
		buf_puts(out, "  chosen");
	buf_putc(out, '\n');
}

static void put_rows(const struct tune *t, struct buf *out)
{
	tune_order order = {0};
	tune_order_make(t, &order);
	size_t width = width_of(t, &order);
	uint32_t left = 0;
	buf_puts(out, "candidate");
	buf_pad(out, ' ', (unsigned)(width - strlen("candidate")));
	buf_printf(out, "  %12s  %11s  %7s  %9s\n", "predicted_us", "measured_us", "spread", "error");
	for (uint32_t k = 0; k < order.n; k++)
		if (is_shown(t, k, order.at[k]))
			put_row(t, order.at[k], width, out);
		else
			left++;
	if (left)
		buf_printf(out, "… and %u more: --rows=N, --csv\n", left);
	vec_free(&order);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The accuracy of the predictions. Places begin with 1, among the measured candidates in the order of their
 * predictions. */
struct verdict {
	double median; /* error, percent */
	uint32_t ran;
	uint32_t fastest;
	uint32_t near; /* the first that is within TUNE_NOISE percent of the fastest */
};

/* False: none was run. */
static bool judge_predictions(const struct tune *t, struct verdict *out)
{
	tune_order order = {0};
	VEC(double) error = {0}, time = {0};
	struct verdict x = {0};
	tune_order_make(t, &order);
	for (uint32_t k = 0; k < order.n; k++) {
		const struct tune_candidate *c = &t->candidate.at[order.at[k]];
		if (!has_error(c))
			continue;
		double e = error_of(c);
		vec_push(&error, e < 0 ? -e : e);
		vec_push(&time, c->measured);
		if (!x.fastest || c->measured < time.at[x.fastest - 1])
			x.fastest = time.n;
	}
	x.ran = error.n;
	if (x.ran) {
		while (time.at[x.near] > time.at[x.fastest - 1] * (1 + TUNE_NOISE / 100.0))
			x.near++;
		x.near++;
		qsort(error.at, error.n, sizeof *error.at, by_size);
		x.median = (error.at[error.n / 2] + error.at[(error.n - 1) / 2]) / 2;
		*out = x;
	}
	vec_free(&error);
	vec_free(&time);
	vec_free(&order);
	return x.ran > 0;
}

static void put_verdict(const struct verdict *x, struct buf *out)
{
	buf_printf(out, "of %u that ran the fastest is number %u as predicted", x->ran, x->fastest);
	if (x->near < x->fastest)
		buf_printf(out, ", number %u is within %d %% of it", x->near, TUNE_NOISE);
	buf_printf(out, "; median error %.1f %%\n", x->median);
}

static void count_states(const struct tune *t, uint32_t *of)
{
	for (uint32_t k = 0; k < t->candidate.n; k++)
		of[t->candidate.at[k].state]++;
}

static void put_summary(const struct tune *t, struct buf *out)
{
	uint32_t of[3] = {0};
	struct verdict x;
	const struct tune_candidate *c = &t->candidate.at[t->chosen], *first = &t->candidate.at[0];
	count_states(t, of);
	buf_printf(out, "%u candidates: %u different, %u the same as another, %u refused%s\n", t->candidate.n,
	           of[TUNE_GOOD], of[TUNE_SAME], of[TUNE_REFUSED],
	           of[TUNE_REFUSED] && !t->compile.pipeline.remarks ? " (--remarks says why)" : "");
	if (judge_predictions(t, &x))
		put_verdict(&x, out);
	double ratio = 0;
	if (is_measured(c) && is_measured(first))
		ratio = c->measured / first->measured;
	else if (!is_measured(c) && c->predicted >= 0 && first->predicted > 0)
		ratio = (double)c->predicted / (double)first->predicted;
	buf_puts(out, "chosen: ");
	tune_put_choices(t, c, out);
	if (t->chosen && ratio > 0)
		buf_printf(out, ", %s %.3f of the time of the program as it stands",
		           is_measured(c) ? "which takes" : "predicted to take", ratio);
	buf_putc(out, '\n');
}

static bool has_reason(const struct tune_candidate *c, const char *reason)
{
	return c->state != TUNE_SAME && c->reason && !strcmp(c->reason, reason);
}

/* A line for each reason, with the first candidate that has it. */
void tune_print_remarks(const struct tune *t, struct buf *out)
{
	for (uint32_t k = 0; k < t->remark.n; k++)
		buf_printf(out, "%s\n", t->remark.at[k]);
	for (uint32_t k = 0; k < t->candidate.n; k++) {
		const struct tune_candidate *c = &t->candidate.at[k];
		uint32_t more = 0, before = 0;
		if (c->state == TUNE_SAME || !c->reason)
			continue;
		for (uint32_t b = 0; b < t->candidate.n; b++)
			*(b < k ? &before : &more) += has_reason(&t->candidate.at[b], c->reason);
		if (before)
			continue;
		tune_put_choices(t, c, out);
		if (more > 1)
			buf_printf(out, " and %u more", more - 1);
		buf_printf(out, ": %s%s\n", c->state == TUNE_GOOD ? "not predicted: " : "", c->reason);
	}
}

void tune_print(struct tune *t, struct buf *out)
{
	put_rows(t, out);
	put_summary(t, out);
}

/* ---- CSV and JSON */

static const char *options_of(const struct buf *b)
{
	return b->n ? b->at + 1 : "";
}

static void put_csv_row(struct tune *t, uint32_t candidate, struct buf *out)
{
	struct tune_candidate *c = &t->candidate.at[candidate];
	struct buf name = {0}, options = {0};
	tune_put_choices(t, c, &name);
	tune_put_options(t, c, true, &options);
	output_put_csv(out, name.at);
	buf_putc(out, ',');
	output_put_csv(out, options_of(&options));
	buf_putc(out, ',');
	if (c->state == TUNE_GOOD && c->predicted >= 0)
		buf_printf(out, "%.3f", (double)c->predicted / 1e3);
	buf_putc(out, ',');
	if (is_measured(c))
		buf_printf(out, "%.3f", c->measured / 1e3);
	buf_putc(out, ',');
	if (has_error(c))
		buf_printf(out, "%.2f", error_of(c));
	buf_putc(out, ',');
	if (is_measured(c))
		buf_printf(out, "%.2f", spread_of(c));
	buf_printf(out, ",%lld,%s,", (long long)c->samples, candidate == t->chosen ? "true" : "");
	output_put_csv(out, c->reason);
	buf_putc(out, '\n');
	buf_free(&name);
	buf_free(&options);
}

/* Good ones by predicted time, then the refused ones. */
static void all_rows(struct tune *t, tune_order *out)
{
	tune_order_make(t, out);
	for (uint32_t k = 0; k < t->candidate.n; k++)
		if (t->candidate.at[k].state == TUNE_REFUSED)
			vec_push(out, k);
}

void tune_print_csv(struct tune *t, struct buf *out)
{
	tune_order order = {0};
	all_rows(t, &order);
	buf_puts(out, "candidate,options,predicted_us,measured_us,error_percent,spread_percent,samples,"
	              "chosen,reason\n");
	for (uint32_t k = 0; k < order.n; k++)
		put_csv_row(t, order.at[k], out);
	vec_free(&order);
}

static void put_json_row(struct tune *t, uint32_t candidate, struct buf *out)
{
	struct tune_candidate *c = &t->candidate.at[candidate];
	struct buf name = {0}, options = {0};
	tune_put_choices(t, c, &name);
	tune_put_options(t, c, true, &options);
	buf_putc(out, '{');
	json_put_text(out, "candidate", name.at ? name.at : "");
	buf_puts(out, ", ");
	json_put_text(out, "options", options_of(&options));
	if (c->state == TUNE_GOOD && c->predicted >= 0)
		buf_printf(out, ", \"predicted_ns\": %lld", (long long)c->predicted);
	if (is_measured(c))
		buf_printf(out, ", \"measured_ns\": %.0f, \"spread_percent\": %.2f, \"samples\": %lld",
		           c->measured, spread_of(c), (long long)c->samples);
	if (has_error(c))
		buf_printf(out, ", \"error_percent\": %.2f", error_of(c));
	if (candidate == t->chosen)
		buf_puts(out, ", \"chosen\": true");
	if (c->reason) {
		buf_puts(out, ", ");
		json_put_text(out, "reason", c->reason);
	}
	buf_putc(out, '}');
	buf_free(&name);
	buf_free(&options);
}

void tune_print_json(struct tune *t, struct buf *out)
{
	tune_order order = {0};
	struct buf program = {0};
	uint32_t of[3] = {0};
	struct verdict x;
	all_rows(t, &order);
	count_states(t, of);
	buf_printf(out, "{\"version\": %d, \"candidates\": %u, \"differ\": %u, \"same\": %u, \"refused\": %u",
	           TUNE_VERSION, t->candidate.n, of[TUNE_GOOD], of[TUNE_SAME], of[TUNE_REFUSED]);
	if (judge_predictions(t, &x))
		buf_printf(out,
		           ", \"ran\": %u, \"fastest_is_predicted\": %u, \"within_%d_percent\": %u, "
		           "\"median_error_percent\": %.2f",
		           x.ran, x.fastest, TUNE_NOISE, x.near, x.median);
	buf_puts(out, ",\n\"rows\": [");
	for (uint32_t k = 0; k < order.n; k++) {
		buf_puts(out, k ? ",\n" : "\n");
		put_json_row(t, order.at[k], out);
	}
	buf_puts(out, "\n],\n");
	tune_put_program(t, &t->candidate.at[t->chosen], t->path, &program);
	json_put_text(out, "program", program.at ? program.at : "");
	buf_puts(out, "}\n");
	buf_free(&program);
	vec_free(&order);
}
