/* job: one rank's view of the running job.
 *
 * A job ends as a whole. The first rank that fails prints why (rt_job_error), records its status
 * (rt_job_fail) and returns it from rank_main; every wait on the other ranks then returns that
 * status, silently, so that they return too. */
#ifndef HIRC_RT_JOB_H
#define HIRC_RT_JOB_H
#include "base/status.h"
#include "rt/board.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_bootstrap;
struct rt_region;

struct rt_job {
	int rank, size;                  /* this rank, ranks of the job */
	const struct rt_bootstrap *boot; /* how the ranks were started */
	void *boot_state;                /* the bootstrap's own */
	struct rt_board *board;          /* see board.h */
	int64_t timeout_ms;              /* without progress, before a wait gives up; 0: never */
	const char *host;                /* name of the machine, for messages */
};

/* Functions of a bootstrap, all collective: every rank calls them, in one order, from its host thread. They
 * return the job's status when it failed, STATUS_STUCK after the timeout. */
struct rt_bootstrap {
	const char *name; /* "fork", "thread", "mpi" */
	/* all[r*bytes …] = rank r's mine. what: for messages, "the plan's hash". */
	enum status (*allgather)(struct rt_job *job, const char *what, const void *mine, size_t bytes,
	                         void *all);
	/* Returns true if there is memory that all ranks see: not if they are on several hosts. */
	bool (*shares)(const struct rt_job *job);
	/* Zeroed memory that all ranks see, of which the pages come with their first use; at any address,
	 * aligned as rt_region_unit says. what: for messages. STATUS_ABSENT with a message where there is
	 * none. */
	enum status (*share)(struct rt_job *job, const char *what, size_t bytes, struct rt_region *out);
	/* Gives it back; not collective. */
	void (*unshare)(struct rt_job *job, struct rt_region *region);
	/* By rank, the number of the host that it is on, from 0. NULL: all are on one. */
	const int *(*hosts)(const struct rt_job *job);
	/* share among the ranks of this host, who alone call it. NULL: that is share. */
	enum status (*share_on_host)(struct rt_job *job, const char *what, size_t bytes,
	                             struct rt_region *out);
	/* Lets other ranks run, where ranks take turns, until they can do no more, or for some turns. moved:
	 * since it last rested this rank has done something that others may wait for; a job in which nobody
	 * has is stuck. Not collective. NULL: all run at the same time. */
	void (*rest)(struct rt_job *job, bool moved);
};

enum status rt_job_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes, void *all);
enum status rt_job_barrier(struct rt_job *job, const char *what);

/* `hirc: rank 2: error: …` on standard error, in one write. Once the job has failed, nothing is printed:
 * errors after the first failure are not news. */
void rt_job_error(struct rt_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports an error with the statement: `… (in Y = add(a, b) (f.hir:7) iteration 2)`. */
void rt_job_error_at(struct rt_job *job, struct rt_origin at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records the status that ends the job, if it is the first. Returns the job's status. */
enum status rt_job_fail(struct rt_job *job, enum status status);
/* Status that ends the job, STATUS_OK while it runs. Cheap. */
enum status rt_job_status(const struct rt_job *job);
/* Tells the watchdog that the host thread is alive (long work outside the engine). */
void rt_job_progress(struct rt_job *job);

/* The watchdog of a wait: call it while waiting; true once nothing in the job has made progress for the
 * timeout (ten times that while some rank computes, whose process is not stopped). Zero-initialise. */
struct rt_watch {
	int64_t since_us;   /* when progress was last seen; 0: not started */
	int64_t progress;   /* last value seen */
	int64_t stopped_us; /* when the processes were last looked at for being stopped */
};
bool rt_watch_expired(struct rt_watch *w, struct rt_job *job);
/* For how long nothing in the job has moved or computed, as far as the board shows. */
int64_t rt_watch_idle_us(struct rt_watch *w, struct rt_job *job);
/* Returns true if the process of a rank has died; the job then has failed, with the line that each rank stood
 * in. Every look of a watch does this. */
bool rt_job_lost(struct rt_job *job);
/* Prints where every rank stands and fails the job with STATUS_STUCK, unless it has failed already.
 * why: first line, `nothing has moved for 2.0 s`. Returns the job's status. */
enum status rt_job_stuck(struct rt_job *job, const char *why);

#endif
