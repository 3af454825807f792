/* run_prepare: does the work that is needed once for all ranks. */
#include "base/file.h"
#include "cli/params.h"
#include "cli/run.h"
#include "ir/number.h"
#include "ir/print.h"
#include "rt/environment.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool check_outputs_named(struct run *r, struct diag *d)
{
	bool ok = true;
	for (uint32_t k = 0; k < r->output.n; k++) {
		struct suggest g = suggest_start(r->output.at[k].name);
		bool found = false;
		for (uint32_t i = 0; i < r->m->output.n; i++)
			found |= data_is_named(r->m, r->m->output.at[i], r->output.at[k].name);
		if (found)
			continue;
		diag_error(d, E_FILE_OF_NOTHING, DIAG_NOWHERE, "--output: the program has no output '%s'",
		           r->output.at[k].name);
		for (uint32_t i = 0; i < r->m->output.n; i++)
			if (r->m->value.at[r->m->output.at[i]].name)
				suggest_try(&g,
				            names_text(r->m->names, r->m->value.at[r->m->output.at[i]].name));
		diag_suggest(d, &g);
		data_note_names(r->m, d, true);
		ok = false;
	}
	return ok;
}

static bool check_writable(struct diag *d, const char *option, const char *path)
{
	if (path && !strcmp(path, "-")) {
		diag_error(d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "%s: '-' is not a file", option);
		diag_note(d, DIAG_NOWHERE, "/dev/stdout is standard output, ./- a file of this name");
		return false;
	}
	if (!path || file_try_replace(path))
		return true;
	diag_error(d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "%s: cannot write '%s': %s", option, path,
	           strerror(errno));
	return false;
}

/* Checks before the run that rank 0 can write all files, so that a wrong path does not waste the run. */
static bool check_files(const struct run *r, struct diag *d)
{
	bool ok = true;
	if (rt_env_rank() > 0)
		return true;
	ok = check_writable(d, "--trace", r->trace);
	for (uint32_t k = 0; k < r->output.n; k++)
		if (strcmp(r->output.at[k].path, "-"))
			ok = check_writable(d, "--output", r->output.at[k].path) && ok;
	return ok;
}

enum status run_prepare(struct run *r, struct diag *d, int64_t ranks, bool one_machine)
{
	enum status status;
	uint32_t line, column;
	r->compile.np = ranks;
	r->compile.pipeline.remarks &= rt_env_rank() <= 0;
	r->m = r->text ? compile_source(d, source_from_text(r->path, r->text, (uint32_t)strlen(r->text)),
	                                &r->compile, true, &status)
	               : compile_file(d, r->path, &r->compile, &status);
	if (!r->m)
		return status;
	diag_set_source(d, r->m->source);
	source_position(r->m->source, 0, &line,
	                &column); /* builds the line map now, since ranks that are threads share it */
	r->needed = module_ranks(r->m);
	if (!params_check(r->m, d) || !check_outputs_named(r, d))
		return STATUS_DIAGNOSTICS;
	if (!run_replay_check(r, d))
		return STATUS_USAGE;
	if (!run_check_sizes(r, d, one_machine))
		return STATUS_DIAGNOSTICS;
	const char *dump = getenv("HIRC_DUMP");
	if (dump && !strcmp(dump, "host_ir"))
		ir_print_nvfuser(r->m, &r->host_ir);
	ir_number(r->m); /* gives nameless values names for messages, such as T3 */
	r->labels = plan_labels_new(r->m);
	const struct data_paths paths = {
	    .program = r->path, .allowed = r->ranks.allow_path.at, .allowed_n = r->ranks.allow_path.n};
	r->source = data_sources_open(r->m, d, &paths, r->input.at, r->input.n);
	return r->source && check_files(r, d) ? STATUS_OK : STATUS_DIAGNOSTICS;
}

void run_free(struct run *r)
{
	run_reference_free(r);
	run_replay_free(r);
	plan_labels_free(r->labels);
	data_sources_close(r->source, r->m ? r->m->input.n : 0);
	compile_free(r->m);
	cluster_free(r->compile.cluster_of_first);
	buf_free(&r->host_ir);
	for (uint32_t i = 0; i < r->owned.n; i++)
		free(r->owned.at[i]);
	vec_free(&r->owned);
	vec_free(&r->fault);
	vec_free(&r->input);
	vec_free(&r->output);
}
