/* run: the shared parts of the files of `hirc run`.
 *
 *     cmd_run.c       the command line, starting the ranks
 *     run_prepare.c   compiling, input files: once, before the ranks start (under mpirun: on each)
 *     run_same.c      a check that all ranks run the same program, under mpirun
 *     run_cluster.c   one cluster file for all ranks, under mpirun
 *     run_adversary.c --adversary
 *     run_replay.c    --replay
 *     run_size.c      refuses sizes beyond the machine
 *     run_prove.c     the proof of `hirc check`, before the ranks start
 *     run_check.c     the reference evaluation, and the comparison of outputs with it
 *     run_trial.c     a check that ranks have their devices, before the reference is evaluated
 *     run_rank.c      the work of a rank
 *     run_outputs.c   outputs as files and as text
 *     run_report.c    the results: the verdict, --stats and --profile, as text or JSON
 *     run_trace.c     --trace and --profile */
#ifndef HIRC_CLI_RUN_H
#define HIRC_CLI_RUN_H
#include "cli/compile.h"
#include "cli/ranks.h"
#include "exec/check_outputs.h"
#include "exec/data.h"
#include "exec/exec.h"
#include "exec/exec_faults.h"
#include "exec/exec_marks.h"
#include "exec/trace.h"
#include "plan/plan.h"
#include "ref/ref.h"
#include "rt/bootstrap.h"
#include "rt/queue.h"

struct progress;
struct witness_file;

enum { RUN_TRACE_EVENTS = 1 << 18 }; /* events that a rank keeps by default */

struct run {
	/* the command line */
	struct compile_options compile;
	const char *path;
	const char *text;  /* the program's text, named `path` in messages; NULL: read the file */
	const char *check; /* NULL: no check; "": compare with the program itself; else with this file */
	struct rank_options ranks;
	int64_t repeat;
	int64_t check_limit;       /* multiplications; above this, a sample is checked. 0: no limit */
	const char *limit_way_out; /* see struct ref_options */
	struct progress *progress; /* of the reference evaluation; NULL: not shown */
	const char *trace;         /* file; NULL: none */
	int64_t trace_events;      /* events that a rank keeps */
	bool stats, dump_plan, all_ranks, profile, json;
	bool proves;  /* proves as `hirc check` does before the run */
	bool sync;    /* waits for each task of a GPU, so that an error names its statement */
	bool nvtx;    /* emits ranges for tools, also if no tool has started this process */
	int64_t seed; /* of --adversary; -1: none */
	struct rt_adversary how;
	const struct rt_adversary *adversary; /* NULL: ranks run as fast as they can */
	bool timeout_given;                   /* on the command line */
	const char *replay;                   /* a witness file; NULL: none */
	struct witness_file *witness;         /* its contents; owned */
	bool memory_as_checked;               /* with replay: see struct plan_target */
	VEC(struct exec_fault) fault;
	VEC(struct data_file) input, output;
	VEC(char *) owned; /* names in --input and --output */

	/* prepared; the ranks only read it */
	struct module *m;
	struct plan_labels *labels;
	struct data_source *source;  /* by input */
	struct buf host_ir;          /* HIRC_DUMP=host_ir: the final program */
	int64_t needed;              /* number of ranks */
	struct ref_array *reference; /* results of the reference; NULL: none */
	unsigned reference_n;
	struct check_want *want;     /* by output */
	struct check_sample *sample; /* by output; NULL: all elements are compared */
};

/* Compiles for `ranks` ranks (0: as many as the file says), and prepares the run. one_machine: all ranks are
 * on this machine. Reports to d, whose source is then the module's. */
enum status run_prepare(struct run *r, struct diag *d, int64_t ranks, bool one_machine);
/* Collective. Gives all ranks rank 0's figures of the machine, before they compile. Warns on rank 0 if
 * another rank's figures differ. */
enum status run_agree_on_cluster(struct rt_job *job, struct run *r, struct diag *d);
/* Collective; under a launcher every rank has its own command line and program. Return STATUS_USAGE after
 * rank 0 has named a rank that differs from it, and the difference. Compare the options before anything else,
 * and the program with its parameters once it is compiled. */
enum status run_same_options(struct rt_job *job, const struct run *r);
enum status run_same_program(struct rt_job *job, const struct run *r);
/* run_check_sizes checks that inputs and outputs are not too large for any machine or, with one_machine, for
 * this one. run_check_plan checks that this machine can hold a rank's buffers; if needed, it drops the packed
 * operands. Both report the parts that do not fit. */
bool run_check_sizes(const struct run *r, struct diag *d, bool one_machine);
bool run_check_plan(const struct run *r, struct diag *d, int ranks, struct plan *p);
/* Proves as `hirc check` does, unless the proof is turned off or an error is replayed. False after reporting
 * errors; a note says why a program runs without a proof. */
enum { RUN_PROOF_WORK = 1 << 18 };
bool run_prove(const struct run *r, struct diag *d);
/* Evaluates the reference; r->m and r->source must be set. */
enum status run_reference(struct run *r, struct diag *d, int64_t ranks);
/* Uses the results of another run's reference for this run. Outputs must be in the same order, and `of` must
 * outlive r. False after reporting that their types differ. */
bool run_reference_share(struct run *r, struct diag *d, const struct run *of);
void run_reference_free(struct run *r);
void run_free(struct run *r);

/* --adversary: run_adversary_finish reads the option; the others change plans and execution. */
bool run_adversary_finish(struct run *r, struct diag *d);
void run_adversary_plan(const struct run *r, struct plan_target *target);
void run_adversary_exec(const struct run *r, struct exec_options *o);

/* Starts the ranks of a prepared program, to check that they have the devices and libraries that --target and
 * --transport need; reports as the run itself would. Does nothing for a CPU. */
enum status run_trial(struct run *r, const struct rt_launch_options *launch, int64_t ranks);
/* Runs the trial on a rank. Collective; the job must do no other work at the same time. */
int run_trial_rank(struct rt_job *job, void *run);
/* --replay: run_replay_finish reads the file; run_replay_check checks that it belongs to the prepared
 * program; run_replay_marks sets the marks of a rank, at most RUN_MAX_MARKS. */
enum { RUN_MAX_MARKS = 64 };
bool run_replay_finish(struct run *r, struct diag *d, bool timeout_given);
/* Returns true if the program runs twice, with the accesses in the other order first. */
bool run_replays_order(const struct run *r);
bool run_replay_check(struct run *r, struct diag *d);
enum status run_replay_marks(struct rt_job *job, const struct run *r, struct exec_options *o,
                             struct exec_mark *mark);
void run_replay_free(struct run *r);

/* Runs the prepared program; under mpirun prepares it first (r->m is NULL). */
int run_rank(struct rt_job *job, void *run);
/* Collective, after the runs. Writes and prints the outputs that the command line asks for. */
enum status run_write_outputs(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e);
/* Copies the outputs to host memory, for run_output_memory. */
enum status run_download_outputs(struct exec *e, const struct plan *p);
const void *run_output_memory(struct exec *e, const struct plan *p, uint32_t k);
/* Ends the job if output_write or output_flush failed. */
enum status run_printed(struct rt_job *job, bool ok);
/* Collective, after the runs. Writes --trace, and puts --profile on rank 0. */
enum status run_trace(struct rt_job *job, const struct run *r, const struct trace *t, struct buf *profile);
/* Parts of a run, each collective. Both make the plan of this rank; under mpirun, run_plan also prepares the
 * program, and compares the programs that the ranks have compiled. */
enum status run_make_plan(struct rt_job *job, const struct run *r, struct plan **out);
enum status run_plan(struct rt_job *job, struct run *r, struct plan **out);
/* Fills the inputs. again: only inputs that the program may have written. */
enum status run_fill(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                     bool again);
/* Compares the outputs with the reference, see check_outputs. */
enum status run_check(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                      struct check_verdict *verdict);

#endif
