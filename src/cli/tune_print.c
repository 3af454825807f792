/* tune_print: prints the candidates and their times, as a table, CSV or JSON.
 *
 *     candidate                    predicted_us  measured_us  spread    error
 *     s=6 pipeline=p2p                   71.250       78.102   1.2 %   -8.8 %  chosen
 *     as it stands                       96.412            -       -        -
 *
 * Rows are in the order of predicted times. spread: the range of the middle half of the samples. */
#include "base/json_put.h"
#include "base/table.h"
#include "cli/tune.h"
#include <stdlib.h>
#include <string.h>

enum { WIDEST = 60 /* characters of a name */ };

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

/* Returns the spread, in percent of the median. */
static double spread_of(const struct tune_candidate *c)
{
	return c->measured > 0 ? 100 * c->spread / c->measured : 0;
}

/* ---- the table */

/* Returns true for the first rows, the candidates that ran, the chosen one and the unchanged program. */
static bool is_shown(const struct tune *t, uint32_t k, uint32_t candidate)
{
	return k < t->rows || !candidate || candidate == t->chosen ||
	       is_measured(&t->candidate.at[candidate]);
}

static const struct table_column column[] = {
    {.name = "candidate", .left = true, .width = sizeof "as it stands" - 1, .most = WIDEST},
    {.name = "options", .in = TABLE_IN_DATA},
    {.name = "predicted_us", .in = TABLE_IN_TEXT | TABLE_IN_CSV, .decimals = 3, .exact = 3, .none = "-"},
    {.name = "predicted_ns", .in = TABLE_IN_JSON},
    {.name = "measured_us", .in = TABLE_IN_TEXT | TABLE_IN_CSV, .decimals = 3, .exact = 3, .none = "-"},
    {.name = "measured_ns", .in = TABLE_IN_JSON, .exact = TABLE_WHOLE},
    {.name = "error_percent", .in = TABLE_IN_DATA, .exact = 2},
    {.name = "spread_percent",
     .title = "spread",
     .width = 7,
     .decimals = 1,
     .exact = 2,
     .suffix = " %",
     .none = "-"},
    {.title = "error",
     .in = TABLE_IN_TEXT,
     .width = 9,
     .decimals = 1,
     .suffix = " %",
     .none = "-",
     .sign = true},
    {.name = "samples", .in = TABLE_IN_DATA},
    {.title = "", .in = TABLE_IN_TEXT, .left = true},
    {.name = "chosen", .in = TABLE_IN_DATA},
    {.name = "reason", .in = TABLE_IN_DATA},
};

static struct table open_table(enum table_format format)
{
	return table_open(format, column, sizeof column / sizeof *column);
}

static void add_known(struct table *table, bool known, double x)
{
	if (known)
		table_add_number(table, x);
	else
		table_add_none(table);
}

static const char *options_of(const struct buf *b)
{
	return b->n ? b->at + 1 : "";
}

static void add_row(struct tune *t, uint32_t candidate, struct table *table)
{
	struct tune_candidate *c = &t->candidate.at[candidate];
	bool predicted = c->state == TUNE_GOOD && c->predicted >= 0, chosen = candidate == t->chosen;
	struct buf name = {0}, options = {0};
	tune_put_choices(t, c, &name);
	tune_put_options(t, c, true, &options);
	table_add_text(table, name.at);
	table_add_text(table, options_of(&options));
	add_known(table, predicted, (double)c->predicted / 1e3);
	if (predicted)
		table_add_int(table, c->predicted);
	else
		table_add_none(table);
	add_known(table, is_measured(c), c->measured / 1e3);
	add_known(table, is_measured(c), c->measured);
	add_known(table, has_error(c), error_of(c));
	add_known(table, is_measured(c), spread_of(c));
	add_known(table, has_error(c), error_of(c));
	table_add_int(table, c->samples);
	table_add_text(table, chosen ? "chosen" : NULL);
	table_add_bool(table, chosen);
	table_add_text(table, c->reason);
	buf_free(&name);
	buf_free(&options);
}

static void put_rows(struct tune *t, struct buf *out)
{
	tune_order order = {0};
	struct table table = open_table(TABLE_TEXT);
	uint32_t left = 0;
	tune_order_make(t, &order);
	for (uint32_t k = 0; k < order.n; k++)
		if (is_shown(t, k, order.at[k]))
			add_row(t, order.at[k], &table);
		else
			left++;
	table_put(&table, out);
	if (left)
		buf_printf(out, "… and %u more: --rows=N, --csv\n", left);
	table_close(&table);
	vec_free(&order);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The accuracy of the predictions. Places count from 1, among the measured candidates in the order of their
 * predicted times. */
struct verdict {
	double median; /* the median error, percent */
	uint32_t ran;
	uint32_t fastest;
	uint32_t near; /* the first place within TUNE_NOISE percent of the fastest */
};

/* Returns false if no candidate with a predicted time ran. */
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
	buf_printf(out, "the fastest of %u that ran is number %u by prediction", x->ran, x->fastest);
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

/* prints a line for each reason, with its first candidate */
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

/* Puts all rows: good candidates by predicted time, then refused ones. */
static void put_all_rows(struct tune *t, enum table_format format, struct buf *out)
{
	tune_order order = {0};
	struct table table = open_table(format);
	tune_order_make(t, &order);
	for (uint32_t k = 0; k < order.n; k++)
		add_row(t, order.at[k], &table);
	for (uint32_t k = 0; k < t->candidate.n; k++)
		if (t->candidate.at[k].state == TUNE_REFUSED)
			add_row(t, k, &table);
	table_put(&table, out);
	table_close(&table);
	vec_free(&order);
}

void tune_print_csv(struct tune *t, struct buf *out)
{
	put_all_rows(t, TABLE_CSV, out);
}

void tune_print_json(struct tune *t, struct buf *out)
{
	struct buf program = {0};
	uint32_t of[3] = {0};
	struct verdict x;
	count_states(t, of);
	json_put_start(out, TUNE_VERSION, "tune");
	buf_printf(out, ", \"candidates\": %u, \"differ\": %u, \"same\": %u, \"refused\": %u", t->candidate.n,
	           of[TUNE_GOOD], of[TUNE_SAME], of[TUNE_REFUSED]);
	if (judge_predictions(t, &x))
		buf_printf(out,
		           ", \"ran\": %u, \"fastest_is_predicted\": %u, \"within_%d_percent\": %u, "
		           "\"median_error_percent\": %.2f",
		           x.ran, x.fastest, TUNE_NOISE, x.near, x.median);
	buf_puts(out, ",\n\"rows\": ");
	put_all_rows(t, TABLE_JSON, out);
	buf_puts(out, ",\n");
	tune_put_program(t, &t->candidate.at[t->chosen], t->path, &program);
	json_put_text(out, "program", program.at ? program.at : "");
	buf_puts(out, "}\n");
	buf_free(&program);
}
