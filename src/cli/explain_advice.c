/* explain_advice: finds options that make a program faster, by compiling and simulating it with them.
 *
 * It tries the axes of `hirc tune` one at a time; then the best value together with each other axis. */
#include "cli/explain_program.h"
#include "cli/params.h"
#include "cli/tune.h"
#include "import/import.h"
#include "sim/devices.h"
#include "sim/sim.h"
#include "sim/sim_run.h"
#include <string.h>

enum { MOST = 3, LEAST_PERCENT = 1 };

/* Finds the time of the program with the candidate's options; false: it does not compile. */
static bool find_figures(struct tune *t, const struct tune_candidate *c, struct explain_advice *out)
{
	struct tune_messages x;
	struct compile_options o;
	enum status status;
	int64_t streams;
	struct module *m = NULL;
	struct cost *cost = NULL;
	bool ok = false;
	tune_messages_open(t, &x);
	if (tune_options_make(t, c, x.d, &o, &streams))
		m = compile_source(x.d, source_copy(t->source), &o, true, &status);
	if (m) {
		diag_set_source(x.d, m->source);
		cost = params_check(m, x.d) ? cost_new(m, t->cluster, x.d) : NULL;
	}
	struct arena *a = arena_new();
	struct sim_settings settings = {.streams = streams};
	struct sim_simulation sim;
	struct sim *recorded;
	struct timeline line;
	if (cost)
		cost_set_streams(cost, streams);
	if (cost && sim_is_recorded(m)) {
		ok = sim_recorded_run(m, cost, x.d, a, &line, &recorded);
	} else if (cost && sim_simulation_open(&sim, m, cost, &settings, x.d)) {
		ok = true;
		sim_devices_timeline(&sim.run.events, &sim.run.classes, false, &line);
		sim_simulation_close(&sim);
	}
	if (ok) {
		out->time = line.runtime;
		out->exposed = line.class.at[timeline_last_class(&line)].exposed;
		timeline_close(&line);
	}
	cost_free(cost);
	arena_free(a);
	diag_set_source(x.d, t->source);
	compile_free(m);
	tune_options_free(t, &o);
	tune_messages_close(t, &x);
	return ok;
}

static bool is_new(const struct tune *t, const struct tune_candidate *c)
{
	for (uint32_t k = 0; k < t->candidate.n; k++)
		if (t->candidate.at[k].hash == c->hash)
			return false;
	return true;
}

/* Tries all values of each axis that the choice `beside` leaves open. Returns the fastest candidate so far;
 * -1: none. */
static int64_t try_each(struct tune *t, const uint8_t *beside, int64_t best)
{
	for (uint32_t a = 0; a < t->axis_n; a++)
		for (uint32_t v = 1; v < t->axis[a].n; v++) {
			struct tune_candidate c = {0};
			memcpy(c.choice, beside, sizeof c.choice);
			if (c.choice[a])
				continue;
			c.choice[a] = (uint8_t)v;
			progress_show(&t->progress, (double)a / t->axis_n, "looking for faster options");
			tune_candidate_evaluate(t, &c);
			if (c.state != TUNE_GOOD || c.predicted < 0 || !is_new(t, &c))
				continue;
			vec_push(&t->candidate, c);
			if (best < 0 || c.predicted < t->candidate.at[best].predicted)
				best = t->candidate.n - 1;
		}
	return best;
}

/* Returns true if b varies the same axes as a, or has all choices of a. */
static bool adds_nothing(const struct tune *t, const struct tune_candidate *a, const struct tune_candidate *b)
{
	bool same = true, has = true;
	for (uint32_t k = 0; k < t->axis_n; k++) {
		same = same && !a->choice[k] == !b->choice[k];
		has = has && (!a->choice[k] || a->choice[k] == b->choice[k]);
	}
	return same || has;
}

/* Marks a candidate as taken, and also the slower candidates that only repeat its choices. */
static void mark_taken(const struct tune *t, int64_t by, bool *taken)
{
	for (uint32_t k = 0; k < t->candidate.n; k++)
		taken[k] |= adds_nothing(t, &t->candidate.at[by], &t->candidate.at[k]);
}

static int64_t fastest(const struct tune *t, int64_t limit, const bool *taken)
{
	int64_t best = -1;
	for (uint32_t k = 0; k < t->candidate.n; k++)
		if (!taken[k] && t->candidate.at[k].predicted <= limit &&
		    (best < 0 || t->candidate.at[k].predicted < t->candidate.at[best].predicted))
			best = k;
	return best;
}

static void take_advice(struct tune *t, int64_t time, struct arena *a, explain_advices *out)
{
	bool *taken = mem_zalloc((size_t)t->candidate.n + 1);
	int64_t limit = time - (time * LEAST_PERCENT + 99) / 100, k;
	while (out->n < MOST && (k = fastest(t, limit, taken)) >= 0) {
		struct buf text = {0};
		struct explain_advice x;
		mark_taken(t, k, taken);
		tune_put_changes(t, &t->candidate.at[k], &text);
		x.option = arena_strndup(a, text.at, text.n);
		if (find_figures(t, &t->candidate.at[k], &x))
			vec_push(out, x);
		buf_free(&text);
	}
	free(taken);
}

static void search_advice(struct tune *t, int64_t time, struct arena *a, explain_advices *out)
{
	const uint8_t none[TUNE_MAX_AXES] = {0};
	enum status status;
	t->cluster = compile_cluster(t->d, &t->compile, &status);
	if (!t->cluster || !tune_axes_find(t) || !tune_axes_end(t))
		return;
	int64_t best = try_each(t, none, -1);
	if (best >= 0 && t->candidate.at[best].predicted < time) {
		uint8_t beside[TUNE_MAX_AXES];
		memcpy(beside, t->candidate.at[best].choice, sizeof beside);
		try_each(t, beside, best);
	}
	progress_end(&t->progress);
	take_advice(t, time, a, out);
}

/* Returns the values of each axis as options, a line an axis. */
static const char *list_tried(const struct tune *t, struct arena *a)
{
	struct buf text = {0};
	for (uint32_t k = 0; k < t->axis_n; k++) {
		for (uint32_t v = 1; v < t->axis[k].n; v++) {
			struct tune_candidate c = {0};
			c.choice[k] = (uint8_t)v;
			buf_puts(&text, v > 1 ? ", " : "");
			tune_put_changes(t, &c, &text);
		}
		buf_putc(&text, '\n');
	}
	const char *list = arena_strndup(a, text.n ? text.at : "", text.n);
	buf_free(&text);
	return list;
}

void explain_advise(struct explain_program *p, struct source *s, int64_t time, struct arena *a,
                    explain_advices *out)
{
	struct command_line line = *p->line;
	struct tune t = {.search = "chunks,pipeline,offset-streams,fuse,overlap,streams,transform",
	                 .compile = p->compile,
	                 .line = &line,
	                 .progress = p->progress,
	                 .source = s,
	                 .arena = arena_new(),
	                 .d = diag_new(NULL, DIAG_TEXT, 0)};
	rank_options_init(&t.ranks);
	t.ranks.streams = p->streams;
	t.compile.verify_roundtrip = false;
	t.compile.pipeline = (struct pipeline_options){.concise = p->compile.pipeline.concise};
	diag_set_source(t.d, s);
	t.ast = import_knows(s) ? NULL : ast_parse(t.d, s);
	search_advice(&t, time, a, out);
	p->output.tried = list_tried(&t, a);
	ast_free(t.ast);
	rank_options_free(&t.ranks);
	vec_free(&t.candidate);
	vec_free(&t.remark);
	diag_free(t.d);
	arena_free(t.arena);
}
