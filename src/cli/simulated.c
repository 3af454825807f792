/* simulated: see simulated.h. */
#include "cli/simulated.h"
#include "analysis/recorded_classes.h"
#include "base/source.h"
#include "check/check_recorded.h"
#include "cli/gate.h"
#include "cli/params.h"
#include "cli/rank_files.h"

bool simulated_recorded(struct module *m, const struct cost *cost, struct diag *d, struct arena *a,
                        struct timeline *t, struct sim **of)
{
	return (!recorded_has_classes(m) ||
	        check_recorded(m, d, module_ranks(m), &(struct check_result){0}) == CHECK_CLEAN) &&
	       sim_recorded_run(m, cost, d, a, t, of);
}

bool simulated_devices(struct module *m, const struct cost *cost, const struct sim_settings *o,
                       struct diag *d, struct sim_simulation *s)
{
	return gate_accepts(m, d, module_ranks(m), o->streams) && sim_simulation_open(s, m, cost, o, d);
}

/* Returns STATUS_OK if the program can be simulated with these options. */
static enum status accept_program(const struct simulated *s, struct module *m)
{
	if (!params_check(m, s->d))
		return STATUS_DIAGNOSTICS;
	return sim_is_recorded(m) || !s->check || s->check(s->command, m) ? STATUS_OK : STATUS_USAGE;
}

static enum status run_program(const struct simulated *s, struct module *m)
{
	enum status status = STATUS_OK;
	const struct cluster *cluster = compile_cluster(s->d, s->compile, &status);
	if (!cluster)
		return status == STATUS_OK ? STATUS_DIAGNOSTICS : status;
	status = accept_program(s, m);
	struct cost *cost = status == STATUS_OK ? cost_new(m, cluster, s->d) : NULL;
	if (cost)
		cost_set_streams(cost, s->streams);
	if (status == STATUS_OK && !(cost && s->run(s->command, m, cost)))
		status = STATUS_DIAGNOSTICS;
	cost_free(cost);
	return status;
}

enum status simulated_run(const struct simulated *s, const struct command_line *line)
{
	struct source *source;
	enum status status = rank_files_read(s->d, s->compile, line, &source);
	if (status == STATUS_OK)
		source_allow_release(source);
	struct module *m =
	    status == STATUS_OK ? compile_source(s->d, source, s->compile, true, &status) : NULL;
	if (!m)
		return status;
	struct source *outer = diag_set_source(s->d, m->source);
	status = run_program(s, m);
	diag_set_source(s->d, outer);
	compile_note_ranks(s->compile, m);
	compile_free(m);
	compile_warn_unused(s->d, s->compile);
	return status;
}
