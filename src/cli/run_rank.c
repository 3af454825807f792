/* run_rank: the work of one rank: agrees, plans, runs, checks, writes. */
#include "base/hash.h"
#include "cli/bench.h"
#include "cli/output.h"
#include "cli/run.h"
#include "cli/run_report.h"
#include "cli/run_times.h"
#include "exec/exec.h"
#include "exec/same_outputs.h"
#include "rt/bell.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Held while a plan is made: it interns expressions in the program, which ranks that are threads share. */
static pthread_mutex_t planning = PTHREAD_MUTEX_INITIALIZER;

/* Messages of this rank, kept until they are compared with those of other ranks. */
struct messages {
	struct diag *d;
	FILE *f;
	char *text;
	size_t n;
};

static void messages_open(struct messages *x, const struct run *r)
{
	*x = (struct messages){0};
	x->f = open_memstream(&x->text, &x->n);
	x->d = compile_diag_to(&r->compile, x->f);
	if (r->m)
		diag_set_source(x->d, r->m->source);
}

static void messages_close(struct messages *x)
{
	diag_free(x->d);
	fclose(x->f);
	free(x->text);
}

/* Collective. Returns the worst status of all ranks. The first rank with messages prints them for all; with
 * --all-ranks, the others print theirs if they differ. */
static enum status agree_status(struct rt_job *job, const struct run *r, struct messages *x,
                                enum status status)
{
	struct opinion {
		uint64_t text;
		int32_t status, has;
	} mine, *all = mem_zalloc(sizeof *all * (size_t)job->size);
	diag_finish(x->d);
	fflush(x->f);
	mine = (struct opinion){
	    .text = hash_text(x->text ? x->text : ""), .status = (int32_t)status, .has = x->n > 0};
	enum status job_status =
	    rt_job_allgather(job, "the messages of the compiler", &mine, sizeof mine, all);
	if (job_status == STATUS_OK) {
		bool first = true, news = true;
		for (int k = 0; k < job->size; k++) {
			if (all[k].status > (int32_t)job_status)
				job_status = (enum status)all[k].status;
			if (k < job->rank && all[k].has) {
				first = false;
				news &= all[k].text != mine.text;
			}
		}
		if (mine.has && news && (first || r->all_ranks))
			fwrite(x->text, 1, x->n, stderr);
		/* no rank ends before all have printed their messages */
		enum status all_printed = rt_job_barrier(job, "printing messages");
		job_status = job_status == STATUS_OK ? all_printed : job_status;
	}
	free(all);
	return job_status;
}

/* Compiles on every rank, under mpirun. */
static enum status prepare_here(struct rt_job *job, struct run *r)
{
	struct messages x;
	int64_t asked = r->compile.np;
	enum status status = run_same_options(job, r);
	if (status != STATUS_OK)
		return status;
	messages_open(&x, r);
	status = run_agree_on_cluster(job, r, x.d);
	if (status == STATUS_OK)
		status = run_prepare(r, x.d, job->size, false);
	if (status == STATUS_OK && r->needed > job->size) {
		diag_error(x.d, E_RANKS, DIAG_NOWHERE,
		           "the program needs %lld ranks, the launcher started %d", (long long)r->needed,
		           job->size);
		status = STATUS_USAGE;
	}
	if (status == STATUS_OK && !run_prove(r, x.d))
		status = STATUS_DIAGNOSTICS;
	if (r->check && rank_options_are_cuda(&r->ranks)) {
		status = agree_status(job, r, &x, status);
		messages_close(&x);
		if (status == STATUS_OK)
			status = (enum status)run_trial_rank(job, r);
		if (status != STATUS_OK)
			return status;
		messages_open(&x, r);
	}
	if (status == STATUS_OK && r->check)
		status = run_reference(r, x.d, job->size);
	compile_warn_unused(x.d, &r->compile);
	status = agree_status(job, r, &x, status);
	messages_close(&x);
	if (asked > 0 && asked != job->size && job->rank == 0)
		fprintf(stderr, "note: --np=%lld does not count, the launcher started %d ranks\n",
		        (long long)asked, job->size);
	if (status == STATUS_OK && job->size > r->needed && job->rank == 0)
		fprintf(stderr, "note: %lld of %d ranks idle, the program needs %lld\n",
		        (long long)(job->size - r->needed), job->size, (long long)r->needed);
	return status == STATUS_OK ? run_same_program(job, r) : status;
}

enum status run_make_plan(struct rt_job *job, const struct run *r, struct plan **out)
{
	struct messages x;
	messages_open(&x, r);
	struct plan_target target = gpu_options_plan(&r->ranks.gpu, r->ranks.target, r->ranks.streams);
	run_adversary_plan(r, &target);
	pthread_mutex_lock(&planning);
	*out = plan_build(r->m, x.d, job->rank, job->size, &target);
	pthread_mutex_unlock(&planning);
	if (*out && !run_check_plan(r, x.d, job->size, *out)) {
		plan_free(*out);
		*out = NULL;
	}
	enum status status = agree_status(job, r, &x, *out ? STATUS_OK : STATUS_DIAGNOSTICS);
	messages_close(&x);
	return status;
}

/* Prints rank after rank, so that lines do not mix. */
static enum status print_in_turn(struct rt_job *job, const struct run *r, const struct buf *text)
{
	enum status wrote = STATUS_OK;
	for (int k = 0; k < (r->all_ranks ? job->size : 1); k++) {
		if (k == job->rank && text->n)
			wrote = run_printed(job, output_write(text));
		enum status status = r->all_ranks ? rt_job_barrier(job, "printing") : STATUS_OK;
		status = wrote != STATUS_OK ? wrote : status;
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static enum status dump_plan(struct rt_job *job, const struct run *r, const struct plan *p)
{
	struct buf text = {0};
	plan_print(p, r->m, &text);
	enum status status = print_in_turn(job, r, &text);
	buf_free(&text);
	return status;
}

enum status run_fill(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                     bool again)
{
	struct buf why = {0};
	for (uint32_t k = 0; k < r->m->input.n; k++) {
		value_id v = r->m->input.at[k].value;
		struct data_map map;
		enum status status = STATUS_OK;
		if (p->input_buffer[k] == UINT32_MAX || (again && !p->buffer.at[p->input_buffer[k]].written))
			continue;
		if (again && exec_upload_again(e, p->input_buffer[k], &status)) {
			if (status != STATUS_OK)
				return status;
			continue;
		}
		void *memory = exec_memory(e, p->input_buffer[k]);
		if (!memory)
			return rt_job_status(job);
		bool ok = data_map_make(r->m, r->m->value.at[v].type, job->rank, &map) &&
		          data_fill(&r->source[k], value_type(r->m, v)->dtype, &map, memory, &why);
		data_map_free(&map);
		rt_job_progress(job);
		if (!ok) {
			rt_job_error(job, "%s", why.at ? why.at : "an input is too large for its layout");
			buf_free(&why);
			return rt_job_fail(job, STATUS_DIAGNOSTICS);
		}
		status = exec_upload(e, p->input_buffer[k]);
		if (status != STATUS_OK)
			return status;
	}
	return STATUS_OK;
}

static struct check_output *outputs_to_check(const struct run *r, const struct plan *p, struct exec *e)
{
	struct check_output *out = mem_zalloc(sizeof *out * (p->output.n + 1));
	for (uint32_t k = 0; k < p->output.n; k++)
		out[k] = (struct check_output){.want = &r->want[k],
		                               .type = p->output.at[k].type,
		                               .memory = run_output_memory(e, p, k),
		                               .written = exec_written(e, p->output.at[k].buffer)};
	return out;
}

enum status run_check(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                      struct check_verdict *verdict)
{
	enum status status = run_download_outputs(e, p);
	if (status != STATUS_OK)
		return rt_job_fail(job, status);
	status = exec_exchange_written(e);
	if (status != STATUS_OK)
		return status;
	struct check_output *out = outputs_to_check(r, p, e);
	status = check_outputs(job, r->m, out, p->output.n, verdict);
	free(out);
	return status;
}

/* Prepares the memory for run k. If all runs are compared, or disturbed, each starts from memory without
 * values, like the first one: otherwise a value read too early would be the previous run's, and correct. */
static enum status start_run(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                             int64_t k)
{
	enum status status = STATUS_OK;
	bool anew = r->check || r->adversary;
	if (k > 0 && anew) {
		status = rt_job_barrier(job, "the end of a run");
		if (status == STATUS_OK)
			status = exec_poison(e);
	}
	if (status == STATUS_OK)
		status = run_fill(job, r, p, e, k > 0 && !anew);
	return status == STATUS_OK ? rt_job_barrier(job, "the start of a run") : status;
}

/* Opens the trace; *out stays NULL if nothing is traced. */
static enum status open_trace(struct rt_job *job, const struct run *r, struct trace **out)
{
	if (!r->trace && !r->profile)
		return STATUS_OK;
	*out = trace_new((uint64_t)r->trace_events);
	if (*out)
		return STATUS_OK;
	rt_job_error(job, "--trace-events: no memory for %lld events; give a smaller number",
	             (long long)r->trace_events);
	return rt_job_fail(job, STATUS_DIAGNOSTICS);
}

/* Makes a graph of the run if possible; otherwise rank 0 prints the reason with --remarks. */
static enum status make_graph(struct rt_job *job, const struct run *r, struct exec *e)
{
	op_id statement;
	if (!r->sync && exec_can_replay(e, &statement))
		return exec_capture(e);
	if (!r->compile.pipeline.remarks || job->rank != 0 || !rank_options_are_cuda(&r->ranks))
		return STATUS_OK;
	if (r->sync) {
		fprintf(stderr, "run: no graph: --sync waits for each kernel\n");
		return STATUS_OK;
	}
	if (!statement) {
		if (r->trace || r->profile)
			fprintf(stderr, "run: no graph: --trace and --profile take the time of each call\n");
		return STATUS_OK;
	}
	const struct plan_label *l = &r->labels->at[statement];
	fprintf(stderr, "run: no graph: the host needs counts that the GPU computes: %s%s%s%s\n",
	        l->statement, *l->where ? "  (" : "", l->where, *l->where ? ")" : "");
	return STATUS_OK;
}

/* Collective. *out becomes true if runs may give different bits on any rank: other ranks get results that
 * this rank reduced. */
static enum status any_reorders(struct rt_job *job, const struct exec *e, bool *out)
{
	bool mine = exec_reorders(e), *all = mem_zalloc((size_t)job->size * sizeof *all);
	enum status status = rt_job_allgather(job, "the order of reductions", &mine, sizeof mine, all);
	for (int k = 0; k < job->size && status == STATUS_OK; k++)
		*out = *out || all[k];
	free(all);
	return status;
}

static enum status execute_plan(struct rt_job *job, const struct run *r, const struct plan *p)
{
	struct exec *e;
	struct run_report report = {0};
	struct check_verdict verdict;
	struct same_outputs *same = NULL;
	struct exec_options o = rank_options_exec(&r->ranks, r->compile.steps);
	o.ranges = r->nvtx;
	o.sync = r->sync;
	o.follow_writes = r->check;
	run_adversary_exec(r, &o);
	o.fault = r->fault.at;
	o.faults = r->fault.n;
	struct exec_mark mark[RUN_MAX_MARKS];
	struct run_times *times = mem_zalloc(sizeof *times);
	enum status status = run_replay_marks(job, r, &o, mark);
	if (status == STATUS_OK)
		status = exec_open(job, p, r->labels, &o, &e);
	if (status != STATUS_OK) {
		free(times);
		return status;
	}
	struct trace *t = NULL;
	status = open_trace(job, r, &t);
	if (t)
		status = exec_trace(e, &t->tracer);
	bool reorders = false, times_steps = r->stats && r->repeat > 1, one_clock = false;
	if (status == STATUS_OK && times_steps)
		status = bench_same_host(job, &one_clock);
	if (status == STATUS_OK && r->check && r->repeat > 1)
		status = any_reorders(job, e, &reorders);
	bool replays = run_replays_order(r);
	if (status == STATUS_OK && (replays || (r->check && r->repeat > 1 && !reorders))) {
		struct check_output *out = outputs_to_check(r, p, e);
		same = same_outputs_new(job, r->m, out, p->output.n, replays);
		status = rt_job_status(job);
		free(out);
	}
	for (int64_t k = 0; k < r->repeat && status == STATUS_OK; k++) {
		if (k == 1 && r->ranks.replay && !r->fault.n)
			status = make_graph(job, r, e);
		if (status == STATUS_OK)
			status = start_run(job, r, p, e, k);
		if (t)
			trace_run(t);
		exec_set_reversed(e, replays && k == 0);
		if (status == STATUS_OK && times_steps)
			status = bench_start(job, one_clock);
		int64_t start_us = rt_clock_us();
		struct run_moment moment = {.start = bench_now_ns()};
		if (status == STATUS_OK)
			status = exec_run(e);
		moment.finish = bench_now_ns();
		if (status == STATUS_OK)
			run_times_add(times, moment, exec_issued_us(e) - start_us);
		if (status == STATUS_OK && same)
			status = run_download_outputs(e, p);
		if (status == STATUS_OK)
			status = same_outputs_compare(same, k);
		if (status == STATUS_OK && r->check && reorders && k + 1 < r->repeat)
			status = run_check(job, r, p, e, &verdict);
	}
	if (status == STATUS_OK)
		status = rt_job_barrier(job, "the end of the run");
	if (status == STATUS_OK)
		status = run_write_outputs(job, r, p, e);
	if (status == STATUS_OK && r->stats)
		status = run_stats(job, r, e, times, one_clock, &report.stats);
	if (status == STATUS_OK && !r->json)
		status = run_printed(job, output_write(&report.stats));
	if (status == STATUS_OK && r->check) {
		status = run_check(job, r, p, e, &verdict);
		report.checked = status == STATUS_OK || status == STATUS_WRONG;
		report.verdict = status == STATUS_OK ? &verdict : NULL;
	}
	if (status == STATUS_OK && r->check && !r->json && job->rank == 0)
		status = run_printed(job, run_report_verdict(&verdict, job->size));
	if (status == STATUS_OK && t)
		status = run_trace(job, r, t, &report.profile);
	if (status == STATUS_OK && !r->json)
		status = run_printed(job, output_write(&report.profile));
	if (r->json && job->rank == 0 && (status == STATUS_OK || status == STATUS_WRONG) &&
	    !run_report_json(r, job->size, &report))
		status = run_printed(job, false);
	buf_free(&report.stats);
	buf_free(&report.profile);
	same_outputs_free(same);
	exec_close(e);
	trace_free(t);
	free(times);
	return status;
}

enum status run_plan(struct rt_job *job, struct run *r, struct plan **out)
{
	enum status status = r->m ? STATUS_OK : prepare_here(job, r);
	return status == STATUS_OK ? run_make_plan(job, r, out) : status;
}

int run_rank(struct rt_job *job, void *run)
{
	struct run *r = run;
	struct plan *p = NULL;
	enum status status = run_plan(job, r, &p);
	if (status == STATUS_OK && job->rank == 0 && r->host_ir.n && !r->json)
		status = run_printed(job, output_write(&r->host_ir));
	if (status == STATUS_OK && job->rank == 0)
		compile_remark_copies(&r->compile, r->m, p);
	if (status == STATUS_OK && r->dump_plan)
		status = dump_plan(job, r, p);
	if (status == STATUS_OK)
		status = execute_plan(job, r, p);
	if (status == STATUS_OK)
		status = run_printed(job, output_flush());
	plan_free(p);
	return status;
}
