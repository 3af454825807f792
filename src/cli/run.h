/* run: the shared parts of the files of `hirc run`.
 *
 *     cmd_run.c       the command line, starting the ranks
 *     run_prepare.c   compiling, input files: once, before the ranks start (under mpirun: on each)
 *     run_same.c      a test that all ranks run the same, under mpirun
 *     run_cluster.c   one cluster file for all ranks, under mpirun
 *     run_adversary.c --adversary
 *     run_replay.c    --replay
 *     run_size.c      sizes beyond the machine
 *     run_prove.c     the proof of `hirc check`, before the ranks begin
 *     run_check.c     the reference evaluation, and the comparison of outputs with it
 *     run_trial.c     a test that ranks can be placed as asked, before the reference is evaluated
 *     run_rank.c      the work of a rank
 *     run_outputs.c   outputs as files and as text
 *     run_report.c    its results: the verdict, --stats and --profile, as text or JSON
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

enum { RUN_TRACE_EVENTS = 1 << 18 }; /* that a rank keeps where nothing else is asked for */

struct run {
	/* the command line */
	struct compile_options compile;
	const char *path;
	const char *text;  /* the program itself, which messages call by path; NULL: that of the file */
	const char *check; /* NULL: no check; "": against the program itself; else another program's file */
	struct rank_options ranks;
	int64_t repeat;
	int64_t check_limit; /* multiplications of the reference; above it checks a sample. 0: any number */
	const char *limit_way_out; /* see struct ref_options */
	struct progress *progress; /* of the reference evaluation; NULL: nobody sees any */
	const char *trace;         /* file; NULL: none */
	int64_t trace_events;      /* that a rank keeps */
	bool stats, dump_plan, all_ranks, profile, json;
	bool proves;  /* the proof of `hirc check` comes first */
	bool nvtx;    /* ranges for tools, also where none has started this process */
	int64_t seed; /* of --adversary; -1: none */
	struct rt_adversary how;
	const struct rt_adversary *adversary; /* NULL: ranks run as fast as they can */
	bool timeout_given;                   /* on the command line */
	const char *replay;                   /* file of a witness; NULL: none */
	struct witness_file *witness;         /* that file; owned */
	bool memory_as_checked;               /* with it: see struct plan_target */
	VEC(struct exec_fault) fault;
	VEC(struct data_file) input, output;
	VEC(char *) owned; /* names of --input and --output */

	/* prepared; the ranks only read it */
	struct module *m;
	struct plan_labels *labels;
	struct data_source *source;  /* by input */
	struct buf host_ir;          /* HIRC_DUMP=host_ir: the final program */
	int64_t needed;              /* ranks */
	struct ref_array *reference; /* results of the reference; NULL: none */
	unsigned reference_n;
	struct check_want *want;     /* by output */
	struct check_sample *sample; /* by output; NULL: everything is compared */
};

/* Compiles for `ranks` ranks (0: as the file says), all on this machine or not, and makes everything ready.
 * Messages go to d; the source of later messages about the program is the module's. */
enum status run_prepare(struct run *r, struct diag *d, int64_t ranks, bool one_machine);
/* Collective: all ranks take rank 0's figures of the machine, before they compile. Warns on rank 0 where
 * those of another differ. */
enum status run_agree_on_cluster(struct rt_job *job, struct run *r, struct diag *d);
/* Collective, under a launcher, where every rank has a command line and a program of its own: STATUS_USAGE
 * after rank 0 has named a rank that differs from it, and where. The options before anything else, the
 * program with its parameters as it runs. */
enum status run_same_options(struct rt_job *job, const struct run *r);
enum status run_same_program(struct rt_job *job, const struct run *r);
/* run_check_sizes: checks that inputs and outputs can be held at all, or, whole, by this machine.
 * run_check_plan: that it can hold a rank's buffers, with packed operands or, if that is too much, without.
 * Both report the parts that do not fit. */
bool run_check_sizes(const struct run *r, struct diag *d, bool one_machine);
bool run_check_plan(const struct run *r, struct diag *d, int ranks, struct plan *p);
/* The proof of `hirc check`, unless it was switched off or an error is replayed. False after reporting
 * errors; a note says why a program runs without a proof. */
enum { RUN_PROOF_WORK = 1 << 18 };
bool run_prove(const struct run *r, struct diag *d);
/* The reference evaluation; r->m and r->source are there. */
enum status run_reference(struct run *r, struct diag *d, int64_t ranks);
/* The results of another run's reference are right for this one's outputs, too, which are in the same order;
 * that run outlives this one. False after reporting that their types differ. */
bool run_reference_share(struct run *r, struct diag *d, const struct run *of);
void run_reference_free(struct run *r);
void run_free(struct run *r);

/* --adversary: the command line's request, in the form for the ranks; its changes of plans and execution. */
bool run_adversary_finish(struct run *r, struct diag *d);
void run_adversary_plan(const struct run *r, struct plan_target *target);
void run_adversary_exec(const struct run *r, struct exec_options *o);

/* Starts the ranks of a prepared program to test if they have the parts that --target and --transport ask
 * for; reports as the program's own ranks would. Does nothing for a cpu. */
enum status run_trial(struct run *r, const struct rt_launch_options *launch, int64_t ranks);
/* Runs the trial on a rank. Collective; no other work of the job is under way. */
int run_trial_rank(struct rt_job *job, void *run);
/* --replay: reads the file; tests if it belongs to the prepared program; the marks of a rank,
 * RUN_MAX_MARKS at most. */
enum { RUN_MAX_MARKS = 64 };
bool run_replay_finish(struct run *r, struct diag *d, bool timeout_given);
/* Returns true if there are two runs, the first of which has the accesses in the other order. */
bool run_replays_order(const struct run *r);
bool run_replay_check(struct run *r, struct diag *d);
enum status run_replay_marks(struct rt_job *job, const struct run *r, struct exec_options *o,
                             struct exec_mark *mark);
void run_replay_free(struct run *r);

/* Runs the prepared program; under mpirun prepares first (r->m is NULL). */
int run_rank(struct rt_job *job, void *run);
/* After the runs, collective: writes and prints the outputs as the command line asks. */
enum status run_write_outputs(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e);
/* Brings the outputs to where run_output_memory shows them. */
enum status run_download_outputs(struct exec *e, const struct plan *p);
const void *run_output_memory(struct exec *e, const struct plan *p, uint32_t k);
/* Ends the job if output_write or output_flush failed. */
enum status run_printed(struct rt_job *job, bool ok);
/* After the runs, collective: writes --trace, puts --profile on rank 0. */
enum status run_trace(struct rt_job *job, const struct run *r, const struct trace *t, struct buf *profile);
/* Parts of a run, each collective. The plan of this rank; under mpirun, run_plan also prepares, and compares
 * the programs that the ranks have compiled. */
enum status run_make_plan(struct rt_job *job, const struct run *r, struct plan **out);
enum status run_plan(struct rt_job *job, struct run *r, struct plan **out);
/* Fills the inputs; when again, only those that the program may have written. */
enum status run_fill(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                     bool again);
/* Compares the outputs with the reference, see check_outputs. */
enum status run_check(struct rt_job *job, const struct run *r, const struct plan *p, struct exec *e,
                      struct check_verdict *verdict);

#endif
