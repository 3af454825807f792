/* trial: see trial.h. */
#include "pass/trial.h"
#include "cost/block.h"
#include "ir/edit.h"
#include "pass/pass_option.h"
#include <stdlib.h>
#include <string.h>

enum { MANY = 1000 }; /* larger programs are scheduled with effort 1 in trials */

/* Returns true for passes that try changes. Trials do not run them. */
static bool tries(enum pass_id pass)
{
	return pass == PASS_MERGE_COLLECTIVES || pass == PASS_SPLIT_ALLREDUCES ||
	       pass == PASS_CHUNK_COLLECTIVES;
}

static bool has_pass(const struct pipeline *p, enum pass_id pass)
{
	for (unsigned i = 0; i < p->n; i++)
		if (p->at[i].pass == pass)
			return true;
	return false;
}

/* Sets the default pipeline from the passes that try changes on. */
static void rest_by_default(struct diag *d, struct pipeline *out)
{
	pipeline_parse(d, NULL, out);
	unsigned from = 0;
	while (out->at[from].pass != PASS_STREAM_LOOPS)
		from++;
	out->n -= from;
	memmove(out->at, out->at + from, sizeof *out->at * out->n);
	pipeline_add_before(d, out, PASS_SCHEDULE_OVERLAP, PASS_ALLOCATE);
}

static void make_rest(struct trial *t)
{
	const struct pipeline *p = t->cx->pipeline;
	t->rest.n = 0;
	for (unsigned i = t->cx->at + 1; i < p->n; i++)
		if (!tries(p->at[i].pass))
			t->rest.at[t->rest.n++] = p->at[i];
	if (!has_pass(&t->rest, PASS_ASSIGN_STREAMS))
		rest_by_default(t->cx->d, &t->rest);
	unsigned n = 0;
	for (op_id op = ir_walk_first(t->m); op; op = ir_walk(t->m, op))
		n++;
	for (unsigned i = 0; i < t->rest.n; i++) {
		struct pipeline_pass *x = &t->rest.at[i];
		if (x->pass == PASS_SCHEDULE_OVERLAP && x->option[PASS_SCHEDULE_OVERLAP_EFFORT] > 1 &&
		    n > MANY)
			x->option[PASS_SCHEDULE_OVERLAP_EFFORT] = 1;
	}
}

/* to: receives the text, which is allocated; NULL: it is dropped. */
static void keep_first_error(void *to, const struct diag_message *x)
{
	char **reason = to;
	if (reason && !*reason && x->severity == DIAG_ERROR)
		*reason = mem_strdup(x->text);
}

/* Compiles and predicts a copy. *reason: the text of the first error, allocated. */
static bool predict_copy(struct trial *t, struct module *copy, struct prediction *out, char **reason)
{
	const struct pipeline_options *o = t->cx->options;
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	struct pipeline_options quiet = {.cluster = o->cluster};
	diag_set_source(d, copy->source);
	diag_set_sink(d, keep_first_error, reason);
	*out = (struct prediction){0};
	bool ok =
	    pipeline_run(copy, d, &t->rest, &quiet) == STATUS_OK && o->predict(copy, o->cluster, d, out);
	diag_free(d);
	return ok;
}

bool trial_is_recorded(struct module *m)
{
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		if (m->op.at[op].kind == OP_EXTERN && block_is_communication(m, op))
			return true;
	return false;
}

bool trial_open(struct trial *t, struct module *m, struct pass_context *cx, int64_t trials, bool always)
{
	*t = (struct trial){.m = m, .cx = cx, .all = trials, .left = trials, .always = always};
	if (!cx->options || !cx->options->predict)
		return false;
	make_rest(t);
	struct module *copy = module_copy(m);
	char *reason = NULL;
	bool ok = predict_copy(t, copy, &t->now, &reason);
	if (!ok)
		pass_remark(cx, m, DIAG_NOWHERE, "nothing is tried, as nothing can be predicted: %s",
		            reason ? reason : "the program does not compile");
	t->first_peak = t->now.peak;
	module_free(copy);
	free(reason);
	return ok;
}

static void show_progress(const struct trial *t, double done)
{
	const struct pipeline_options *o = t->cx->options;
	if (o->progress)
		o->progress(o->progress_to, t->cx->pass->name, done);
}

void trial_close(struct trial *t)
{
	show_progress(t, 1);
	prediction_free(&t->now);
}

void prediction_free(struct prediction *p)
{
	free(p->exposed);
	*p = (struct prediction){0};
}

bool trial_try(struct trial *t, trial_change *change, const void *what, struct prediction *out)
{
	*out = (struct prediction){0};
	if (t->left <= 0)
		return false;
	struct module *copy = module_copy(t->m);
	bool ok = change(copy, what);
	show_progress(t, (double)(t->all - t->left) / (double)t->all);
	t->left -= ok;
	ok = ok && predict_copy(t, copy, out, NULL) && (out->runs || !t->now.runs);
	if (!ok)
		prediction_free(out);
	module_free(copy);
	return ok;
}

void trial_keep(struct trial *t, trial_change *change, const void *what, struct prediction *after)
{
	change(t->m, what);
	prediction_free(&t->now);
	t->now = *after;
	*after = (struct prediction){0};
}

bool trial_gains(const struct trial *t, const struct prediction *after)
{
	return t->always || after->time < t->now.time;
}

bool trial_fits(const struct trial *t, const struct prediction *after)
{
	int64_t more = t->first_peak / 100 * pass_option_info[PASS_SCHEDULE_OVERLAP_MEMORY_PERCENT].first;
	int64_t increase = pass_option_info[PASS_SCHEDULE_OVERLAP_MEMORY_INCREASE].first;
	more = more > increase ? more : increase;
	return after->peak <= t->now.peak || after->peak - t->first_peak <= more;
}

struct unit { /* unit of printed times */
	const char *name;
	double ns;
};

static struct unit unit_of(int64_t time)
{
	return time < 1000000 ? (struct unit){"us", 1e3} : (struct unit){"ms", 1e6};
}

void trial_remark(struct trial *t, op_id op, const struct prediction *after, int64_t before,
                  const char *format, ...)
{
	struct buf text = {0};
	struct unit u = unit_of(before);
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	pass_remark(t->cx, t->m, t->m->op.at[op].at, "%s: predicted %.3f %s instead of %.3f", text.at,
	            (double)after->time / u.ns, u.name, (double)before / u.ns);
	buf_free(&text);
}

void trial_remark_kept(struct trial *t, op_id op, const struct prediction *after, const char *how,
                       const char *format, ...)
{
	struct buf text = {0};
	struct unit u = unit_of(t->now.time);
	va_list args;
	va_start(args, format);
	buf_vprintf(&text, format, args);
	va_end(args);
	pass_remark(t->cx, t->m, t->m->op.at[op].at, "%s: predicted %.3f %s %s, %.3f as it is", text.at,
	            (double)after->time / u.ns, u.name, how, (double)t->now.time / u.ns);
	buf_free(&text);
}
