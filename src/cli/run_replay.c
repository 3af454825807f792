/* run_replay: --replay: reproduces a witness of `hirc check`.
 *
 *     race, lifetime       two runs whose outputs differ: the first does the held work before the work for
 * which it is held, the second after it mismatch, deadlock   each host waits for the end of a collective, or
 * a host waits when a stream is full */
#include "cli/run.h"
#include "cli/witness_file.h"
#include <stdlib.h>
#include <string.h>

bool run_replay_finish(struct run *r, struct diag *d, bool timeout_given)
{
	const char *other = r->seed >= 0                           ? "--adversary"
	                    : rank_options_are_cuda(&r->ranks)     ? "--target=cuda"
	                    : strcmp(r->ranks.engine, "auto") != 0 ? "--engine"
	                    : r->repeat > 1                        ? "--repeat"
	                                                           : NULL;
	enum { TIMEOUT = 5 };
	if (!r->replay)
		return true;
	if (other) {
		diag_error(d, E_OPTIONS_CONFLICT, DIAG_NOWHERE,
		           "--replay is one run by an engine of its own: leave %s away", other);
		return false;
	}
	r->witness = mem_zalloc(sizeof *r->witness);
	if (!witness_read(d, r->replay, r->witness))
		return false;
	enum witness_kind kind = r->witness->witness.kind;
	const char *nothing = kind == WITNESS_NONE        ? "check found no error"
	                      : kind == WITNESS_CALLER    ? "it is about who runs the program, and hirc run "
	                                                    "waits for all ranks before it touches their memory"
	                      : kind == WITNESS_UNWRITTEN ? "no order of statements writes the element"
	                                                  : NULL;
	if (nothing) {
		diag_error(d, E_REPLAY_FILE, DIAG_NOWHERE, "--replay: there is nothing to replay in '%s': %s",
		           r->replay, nothing);
		return false;
	}
	if (r->witness->streams != r->ranks.streams) {
		diag_error(d, E_REPLAY_FILE, DIAG_NOWHERE, "--replay: '%s' is of --streams=%lld", r->replay,
		           (long long)r->witness->streams);
		diag_note(d, DIAG_NOWHERE, "give the options that check was given");
		return false;
	}
	if (!timeout_given)
		r->ranks.timeout = TIMEOUT;
	if (run_replays_order(r))
		r->repeat = 2;
	r->adversary = &r->how;
	r->memory_as_checked = true;
	r->how = (struct rt_adversary){.order = RT_OLDEST_FIRST,
	                               .far = run_replays_order(r),
	                               .blocking = !run_replays_order(r) && !r->witness->witness.queue,
	                               .queue = r->witness->witness.queue};
	return true;
}

bool run_replays_order(const struct run *r)
{
	return r->witness &&
	       (r->witness->witness.kind == WITNESS_RACE || r->witness->witness.kind == WITNESS_LIFETIME);
}

bool run_replay_check(struct run *r, struct diag *d)
{
	if (!r->witness)
		return true;
	bool same = r->witness->program == witness_program(r->m) && r->witness->ranks == r->needed;
	for (uint32_t k = 0; same && k < r->witness->witness.event.n; k++)
		same = r->witness->witness.event.at[k].rank < r->needed &&
		       witness_statement(r->m, r->witness->witness.event.at[k].statement);
	if (same && !r->check) { /* same_outputs needs these */
		r->want = mem_zalloc(sizeof *r->want * (r->m->output.n + 1));
		for (uint32_t k = 0; k < r->m->output.n; k++)
			r->want[k].value = r->m->output.at[k];
	}
	if (same)
		return true;
	diag_error(d, E_REPLAY_FILE, DIAG_NOWHERE,
	           "--replay: '%s' was recorded for another program than '%s' as compiled here", r->replay,
	           r->path);
	diag_note(d, DIAG_NOWHERE,
	          "give the file and the options that check was given, or make it again: "
	          "`hirc check FILE --witness=W.json`");
	return false;
}

static enum rt_mark mark_of(enum witness_role role)
{
	return role == WITNESS_ROLE_HOLD          ? RT_MARK_HELD
	       : role == WITNESS_ROLE_HOLD_RESULT ? RT_MARK_RESULT_HELD
	       : role == WITNESS_ROLE_UNTIL       ? RT_MARK_AWAITED
	                                          : RT_MARK_NONE;
}

enum status run_replay_marks(struct rt_job *job, const struct run *r, struct exec_options *o,
                             struct exec_mark *mark)
{
	const struct witness *w = r->witness ? &r->witness->witness : NULL;
	o->marks = mark;
	for (uint32_t k = 0; w && k < w->event.n; k++) {
		const struct witness_event *e = &w->event.at[k];
		if (e->rank != w->event.at[0].rank && !job->boot->shares(job)) {
			rt_job_error(
			    job, "--replay: ranks on several hosts do not see each other; run them on one");
			return rt_job_fail(job, STATUS_USAGE);
		}
		if (e->rank != job->rank || mark_of(e->role) == RT_MARK_NONE || o->mark_n == RUN_MAX_MARKS)
			continue;
		struct exec_mark *m = &mark[o->mark_n++];
		*m = (struct exec_mark){
		    .mark = mark_of(e->role), .op = witness_statement(r->m, e->statement), .n = e->n};
		memcpy(m->index, e->index, sizeof m->index);
	}
	return STATUS_OK;
}

void run_replay_free(struct run *r)
{
	if (r->witness)
		witness_free(&r->witness->witness);
	free(r->witness);
}
