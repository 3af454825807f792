/* report_make: compiles the program, fully and up to its layouts, simulates and checks it, and makes the
 * page. */
#include "analysis/recorded_classes.h"
#include "cli/gate.h"
#include "cli/params.h"
#include "cli/report_command.h"
#include "cli/simulated.h"
#include "cli/version.h"
#include "cost/cost.h"
#include "import/import.h"
#include "report/report.h"
#include "show/show_trace.h"
#include "sim/devices.h"
#include "sim/remark.h"
#include "sim/sim_run.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Compiles the program up to its layouts, with a statement for each change of layout. NULL: the page's
 * program shows the layouts. */
static struct module *lay_out(const struct report_command *c)
{
	struct compile_options o = c->compile;
	struct diag *silent = diag_new(NULL, DIAG_TEXT, 0);
	struct module *m = NULL;
	enum status status;
	if (!o.passes && !o.pipeline.stop_after && !import_knows(c->source)) {
		o.pipeline = (struct pipeline_options){.stop_after = "decompose-reshardings"};
		o.verify_roundtrip = false;
		m = compile_source(silent, source_copy(c->source), &o, true, &status);
	}
	diag_free(silent);
	return m;
}

/* ---- times */

/* Keeps the first error of a failed simulation. */
static void keep_error(void *report, const struct diag_message *message)
{
	struct report *r = report;
	if (message->severity == DIAG_ERROR && !r->unpredicted)
		r->unpredicted = arena_strndup(r->arena, message->text, strlen(message->text));
}

static bool predict_devices(const struct report_command *c, struct report *r, const struct cost *cost,
                            struct diag *d, struct timeline *t)
{
	struct sim_simulation s;
	if (!simulated_devices(r->m, cost, &(struct sim_settings){.streams = c->streams}, d, &s))
		return false;
	sim_devices_timeline(&s.run.events, &s.run.classes, false, t);
	if (c->compile.pipeline.remarks)
		sim_remarks(&s.program, &s.run.events, false, t);
	for (uint32_t k = 0; k < t->remark.n; k++)
		report_remark(r, "sim", r->m->op.at[t->remark.at[k].op].at, t->remark.at[k].text);
	sim_simulation_close(&s);
	return true;
}

/* Simulates the program. False: r->unpredicted says why. */
static bool simulate(struct report_command *c, struct report *r, struct timeline *t)
{
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	int64_t limit;
	const struct cluster *cluster =
	    c->compile.cluster; /* set by compile_source, which fails without a cluster */
	diag_set_sink(d, keep_error, r);
	diag_set_source(d, r->m->source);
	struct cost *cost = cost_new(r->m, cluster, d);
	if (cost)
		cost_set_streams(cost, c->streams);
	struct sim *of;
	bool ok = cost && (sim_is_recorded(r->m) ? simulated_recorded(r->m, cost, d, r->arena, t, &of)
	                                         : predict_devices(c, r, cost, d, t));
	if (ok && c->compile.memory_limit && str_parse_size(c->compile.memory_limit, &limit))
		t->limit = limit;
	if (!ok && !r->unpredicted)
		r->unpredicted = "there are no figures for it";
	cost_free(cost);
	diag_free(d);
	return ok;
}

/* ---- the check */

static void check_reported(const struct report_command *c, struct report *r)
{
	if (sim_is_recorded(r->m) && !recorded_has_classes(r->m))
		return;
	const struct check_options o = {
	    .ranks = module_ranks(r->m), .streams = c->streams, .queue = CHECK_QUEUE, .work = CHECK_MAX_WORK};
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	diag_set_sink(d, report_message, r);
	diag_set_source(d, r->m->source);
	r->check_status = gate_check(r->m, d, &o, &r->check_result);
	r->checked = true;
	diag_free(d);
}

/* ---- the page */

static enum status put_report(struct report_command *c, struct report *r, const char *trace, struct buf *out)
{
	struct timeline predicted, measured;
	bool has_trace = false, ok = params_check(r->m, c->d);
	if (ok && trace)
		ok = has_trace = trace_timeline(r->m, trace, c->d, &measured);
	if (ok) {
		check_reported(c, r);
		r->laid_out = lay_out(c);
		if (simulate(c, r, &predicted))
			r->predicted = &predicted;
		r->measured = has_trace ? &measured : NULL;
		report_put(r, out);
	}
	if (r->predicted)
		timeline_close(&predicted);
	if (has_trace)
		timeline_close(&measured);
	compile_free(r->laid_out);
	return ok ? STATUS_OK : STATUS_DIAGNOSTICS;
}

enum status report_make(struct report_command *c, struct buf *out)
{
	struct report r;
	struct pipeline_options *p = &c->compile.pipeline;
	char *measured = NULL;
	enum status status = c->run ? report_run(c, &measured) : STATUS_OK;
	report_open(&r);
	r.title = c->title;
	r.command = c->command.at;
	r.program_words = c->program.at;
	r.times_words = c->times.n ? c->times.at : "";
	r.version = version_text();
	r.measured_by = c->run ? "by a run on this machine"
	                       : arena_printf(r.arena, "as %s says it", c->trace ? c->trace : "");
	p->after = report_after;
	p->remark = report_remark;
	p->after_to = p->remark_to = &r;
	r.m = status == STATUS_OK ? compile_source(c->d, source_copy(c->source), &c->compile, true, &status)
	                          : NULL;
	if (r.m && r.m->source->file_n > 1)
		report_after(&r, r.m, NULL); /* the files as one program */
	if (r.m) {
		struct source *outer = diag_set_source(c->d, r.m->source);
		status = put_report(c, &r, measured ? measured : c->trace, out);
		diag_set_source(c->d, outer);
		compile_note_ranks(&c->compile, r.m);
		compile_free(r.m);
		compile_warn_unused(c->d, &c->compile);
	}
	report_close(&r);
	if (measured)
		unlink(measured);
	free(measured);
	return status;
}
