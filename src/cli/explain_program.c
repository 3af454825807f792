/* explain_program: see explain_program.h. */
#include "cli/explain_program.h"
#include "analysis/recorded_classes.h"
#include "base/transport_kind.h"
#include "cli/output.h"
#include "cli/params.h"
#include "cli/rank_files.h"
#include "cli/simulated.h"
#include "import/import.h"
#include "sim/devices.h"
#include "sim/sim.h"
#include "sim/sim_run.h"
#include <string.h>

enum {
	DEFAULT_TOP = 40,
	MOST_TASKS = 20000, /* --advice=auto gives no advice for larger programs, */
	MOST_BYTES = 200000 /* or for larger sources */
};

static const struct option rows[] = {
    {.name = "rank",
     .kind = OPTION_INT,
     .at = offsetof(struct explain_program, output.rank),
     .value = "N",
     .min = -1,
     .max = IR_MAX_DEVICES - 1,
     .init.number = -1,
     .help = "print the class of ranks with this rank; -1: the class that ends last"},
    {.name = "top",
     .kind = OPTION_INT,
     .at = offsetof(struct explain_program, output.top),
     .value = "N",
     .min = 0,
     .max = 1 << 20,
     .init.number = DEFAULT_TOP,
     .help = "print the N statements that take or are waited for longest, and as many collectives; "
             "0: all"},
    {.name = "advice",
     .kind = OPTION_TEXT,
     .at = offsetof(struct explain_program, advice),
     .value = "auto|yes|no",
     .init.text = "auto",
     .help = "compile and simulate with other options, and say which are faster; auto: unless the "
             "program is "
             "large"},
    STREAMS_OPTION(struct explain_program, streams),
    FIGURES_OPTION(struct explain_program, transport),
    REPLAYED_OPTION(struct explain_program, compile.replayed),
    PROGRESS_OPTION(struct explain_program, progress),
    {.name = "csv",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct explain_program, csv),
     .help = "print the statements of a program as CSV"},
};

void explain_program_free(struct explain_program *p)
{
	compile_options_free(&p->compile);
}

struct option_table explain_program_table(struct explain_program *p)
{
	return OPTION_TABLE("Of a program", rows, p);
}

/* ---- output */

/* Checks that the program has the rank of --rank; -1: not given. */
static bool check_rank(struct explain_program *p, struct module *m)
{
	bool recorded = sim_is_recorded(m) && !recorded_has_classes(m);
	if (p->output.rank < 0 || (!recorded && p->output.rank < module_ranks(m)))
		return true;
	if (recorded)
		diag_error(p->d, E_RECORDED_GRAPH, DIAG_NOWHERE,
		           "--rank: in a recorded graph all ranks do the same");
	else
		diag_error(p->d, E_RANK_UNKNOWN, DIAG_NOWHERE,
		           "--rank: rank %lld takes no part, the program has %lld ranks",
		           (long long)p->output.rank, (long long)module_ranks(m));
	return false;
}

static bool is_wanted(struct explain_program *p, const struct source *s, int64_t tasks)
{
	if (!strcmp(p->advice, "no") || p->csv || p->compile.pipeline.stop_after)
		return false;
	if (!strcmp(p->advice, "yes") || (tasks <= MOST_TASKS && s->size <= MOST_BYTES))
		return true;
	p->output.unlooked =
	    "not looked for, as the program is large: --advice=yes compiles and simulates it with "
	    "other options";
	return false;
}

static bool report_explanation(struct explain_program *p, struct explanation *x, struct source *s,
                               int64_t tasks)
{
	struct buf text = {0};
	explain_advices advice = {0};
	if (is_wanted(p, s, tasks)) {
		explain_advise(p, s, x->t->runtime, x->arena, &advice);
		p->output.advice = &advice;
	}
	if (p->json)
		explain_json(x, &p->output, &text);
	else if (p->csv)
		explain_csv(x, &text);
	else
		explain_print(x, &p->output, &text);
	bool ok = output_write_escaped(&text);
	vec_free(&advice);
	buf_free(&text);
	return ok;
}

/* ---- the two kinds of programs */

static bool of_recorded(struct explain_program *p, struct module *m, const struct cost *cost,
                        struct source *s)
{
	struct arena *a = arena_new();
	struct sim *sim;
	struct timeline t;
	struct explanation x;
	bool ok = simulated_recorded(m, cost, p->d, a, &t, &sim);
	if (ok) {
		int64_t nodes = 0;
		for (uint32_t k = 0; k < t.class.n; k++)
			nodes += sim[k].block.p.n;
		explain_recorded(&x, &t, sim, cost);
		ok = report_explanation(p, &x, s, nodes);
		explain_close(&x);
		timeline_close(&t);
	}
	arena_free(a);
	return ok;
}

static bool of_devices(struct explain_program *p, struct module *m, const struct cost *cost, struct source *s)
{
	struct sim_settings o = {.streams = p->streams};
	struct sim_simulation sim;
	struct timeline t;
	struct explanation x;
	int64_t tasks = 0;
	if (!simulated_devices(m, cost, &o, p->d, &sim))
		return false;
	const struct sim_events *e = &sim.run.events;
	for (uint32_t u = 0; u < e->n; u++)
		tasks += e->unit[u].r.task.n;
	sim_devices_timeline(&sim.run.events, &sim.run.classes, false, &t);
	explain_devices(&x, &t, e, cost);
	bool ok = report_explanation(p, &x, s, tasks);
	explain_close(&x);
	timeline_close(&t);
	sim_simulation_close(&sim);
	return ok;
}

static enum status of_source(struct explain_program *p, struct source *s)
{
	enum status status;
	struct source *own = source_copy(s);
	struct module *m = compile_source(p->d, own, &p->compile, true, &status);
	if (!m)
		return status;
	struct source *outer = diag_set_source(p->d, m->source);
	const struct cluster *cluster = compile_cluster(p->d, &p->compile, &status);
	struct cost *cost = NULL;
	if (cluster && params_check(m, p->d)) {
		status = check_rank(p, m) ? STATUS_OK : STATUS_USAGE;
		cost = status == STATUS_OK ? cost_new(m, cluster, p->d) : NULL;
	}
	if (cost)
		cost_set_streams(cost, p->streams);
	bool ok = cost && (sim_is_recorded(m) ? of_recorded(p, m, cost, s) : of_devices(p, m, cost, s));
	cost_free(cost);
	diag_set_source(p->d, outer);
	compile_note_ranks(&p->compile, m);
	compile_free(m);
	compile_warn_unused(p->d, &p->compile);
	return ok ? STATUS_OK : status == STATUS_OK ? STATUS_DIAGNOSTICS : status;
}

/* Returns an error about two options that exclude each other; NULL: there are none. */
static const char *conflict(const struct explain_program *p)
{
	bool asked = !strcmp(p->advice, "yes");
	return p->csv && p->json ? "--csv and --json: one of them"
	       : (p->csv || p->json) && (p->output.rank >= 0 || p->output.top != DEFAULT_TOP)
	           ? "--csv and --json have all ranks and rows: leave --rank and --top away"
	       : asked && p->csv ? "--csv has statements alone: --advice=yes is of text and --json"
	       : asked && p->compile.pipeline.stop_after
	           ? "--advice=yes compiles with other options, all passes: leave --stop-after away"
	           : NULL;
}

enum status explain_program(struct explain_program *p)
{
	struct source *s;
	enum status status = STATUS_USAGE;
	if (transport_kind_find(p->transport) != TRANSPORT_AUTO)
		compile_options_transport(&p->compile, p->transport, false);
	p->d = compile_diag(&p->compile);
	if (conflict(p)) {
		diag_error(p->d, E_OPTIONS_CONFLICT, DIAG_NOWHERE, "%s", conflict(p));
	} else if (compile_options_finish(&p->compile, p->d)) {
		status = rank_files_read(p->d, &p->compile, p->line, &s);
		if (status == STATUS_OK) {
			status = of_source(p, s);
			source_free(s);
		}
	}
	diag_finish(p->d);
	diag_free(p->d);
	return status;
}
