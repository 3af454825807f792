/* report_run: --run: runs the program once, so that the page has measured times. */
#include "cli/report_command.h"
#include "cli/run.h"
#include "import/import.h"
#include "rt/environment.h"
#include "rt/transport.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Makes an empty file in $TMPDIR or /tmp. */
static char *make_file(struct diag *d)
{
	static const char name[] = "hirc-report-XXXXXX.json";
	const char *folder = getenv("TMPDIR");
	struct buf path = {0};
	buf_printf(&path, "%s/%s", folder && *folder ? folder : "/tmp", name);
	int f = mkstemps(path.at, (int)strlen(".json"));
	if (f >= 0) {
		close(f);
		return path.at;
	}
	diag_error(d, E_FILE_UNWRITABLE, DIAG_NOWHERE, "cannot write '%s': %s", path.at, strerror(errno));
	buf_free(&path);
	return NULL;
}

static enum status launch_ranks(struct run *r, struct diag *d)
{
	struct rt_launch_options o = rank_options_launch(&r->ranks);
	enum status status = run_prepare(r, d, r->compile.np, true);
	int64_t ranks = r->compile.np > r->needed ? r->compile.np : r->needed;
	if (status == STATUS_OK && ranks > RT_SHM_MAX_RANKS) {
		diag_error(d, E_RANKS, DIAG_NOWHERE,
		           "--run: %lld ranks are more than can be started here (limit %d)", (long long)ranks,
		           RT_SHM_MAX_RANKS);
		diag_note(d, DIAG_NOWHERE,
		          "a launcher can start more: `mpirun -np %lld hirc run --trace=FILE.json`, then "
		          "--trace=FILE.json here",
		          (long long)ranks);
		status = STATUS_USAGE;
	}
	if (status != STATUS_OK)
		return status;
	fflush(NULL);
	o.np = (int)ranks;
	o.timeout_ms = r->ranks.timeout * 1000;
	return rt_launch(&o, run_rank, r);
}

enum status report_run(struct report_command *c, char **path)
{
	struct run r = {.compile = c->compile,
	                .path = c->source->name,
	                .text = c->source->text,
	                .repeat = 1,
	                .seed = -1,
	                .check_limit = REF_DEFAULT_LIMIT,
	                .trace_events = RUN_TRACE_EVENTS};
	*path = NULL;
	if (import_knows(c->source)) {
		diag_error(c->d, E_RECORDED_GRAPH, DIAG_NOWHERE, "--run: a recorded graph cannot be run");
		return STATUS_USAGE;
	}
	if (rt_env_launched()) {
		diag_error(c->d, E_LAUNCHER, DIAG_NOWHERE,
		           "--run starts its ranks itself: leave the launcher away, or give it `hirc run "
		           "--trace=FILE.json` and --trace=FILE.json here");
		return STATUS_USAGE;
	}
	rank_options_init(&r.ranks);
	r.ranks.streams = c->streams;
	r.compile.pipeline.after = NULL; /* only the page's program uses them */
	r.compile.pipeline.remark = NULL;
	r.compile.pipeline.remarks = false;
	r.compile.pipeline.print_before = r.compile.pipeline.print_after = NULL;
	r.compile.pipeline.dump_dir = r.compile.pipeline.timing = NULL;
	*path = make_file(c->d);
	r.trace = *path;
	enum status status = *path ? launch_ranks(&r, c->d) : STATUS_DIAGNOSTICS;
	c->compile.cluster = r.compile.cluster; /* read once, for both */
	run_free(&r);
	rank_options_free(&r.ranks);
	return status;
}
