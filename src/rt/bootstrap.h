/* bootstrap: starts the ranks of a job, or joins a job that a launcher has started.
 *
 *   fork    one process a rank, started here; never touches MPI. The caller must not have started
 *           threads or called BLAS. The parent only waits: a rank that dies by a signal, or ends
 *           otherwise than by returning from rank_main, ends the job at once (exit 70), with its rank
 *           and the statements it stood in. Ranks die with the parent. Nothing is left in /dev/shm.
 *   thread  one thread a rank, in this process, the same transport code.
 *   mpi     this process is a rank already; MPI_Init_thread, size and rank from MPI.
 *   turns   one thread a rank, which take turns: for calls that are only recorded (rt_launch_turns). */
#ifndef HIRC_RT_BOOTSTRAP_H
#define HIRC_RT_BOOTSTRAP_H
#include "rt/job.h"

enum rt_boot_kind { RT_BOOT_AUTO, RT_BOOT_FORK, RT_BOOT_THREAD, RT_BOOT_MPI };

enum { RT_MAX_RANKS = 4096 }; /* most ranks of a job */

struct rt_launch_options {
	enum rt_boot_kind kind; /* AUTO: mpi under a launcher (rt_env_launched()), otherwise fork */
	int np;                 /* ranks to start; <= 0: 1. mpi: the launcher's size, or <= 0 */
	int64_t timeout_ms;     /* see struct rt_job */
};

/* Runs rank_main(job, arg) on every rank and returns the status of the job: that of the first failure,
 * or the worst that a rank_main returned (70, 4, 3, 5, 2, 1 in this order), or 0. fork: returns in the
 * parent only; ranks exit with their standard output flushed. mpi: returns on every rank, after
 * MPI_Finalize; if another rank has failed, the process ends here (MPI_Abort). A rank that returns
 * non-zero ends the job. If all ranks should finish, each printing its errors, they must first agree on
 * a status with rt_job_allgather. */
enum status rt_launch(const struct rt_launch_options *options, int (*rank_main)(struct rt_job *, void *),
                      void *arg);

/* Runs ranks as threads, one at a time, so that each run is the same: see `rest` in struct rt_bootstrap.
 * The ranks can be told that they are threads or processes. Memory that they share has the same address
 * in all of them. */
struct rt_turns_options {
	int ranks;
	int last; /* the rank that runs when the others can do no more */
	bool processes;
};
enum status rt_launch_turns(const struct rt_turns_options *options, int (*rank_main)(struct rt_job *, void *),
                            void *arg);

/* Returns the bootstrap that AUTO means here; returns other kinds unchanged. */
enum rt_boot_kind rt_boot_choose(enum rt_boot_kind kind);
/* Reads "auto", "fork", "thread" or "mpi". Returns false for other names. */
bool rt_boot_parse(const char *name, enum rt_boot_kind *out);

#endif
