/* job: one rank's view of the running job.
 *
 * A job ends as a whole. The first rank that fails prints the reason (rt_job_error), records its status
 * (rt_job_fail) and returns it from rank_main. Every wait on the other ranks then returns that status
 * without a message, so that they return, too. */
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
	const struct rt_bootstrap *boot; /* the bootstrap that started the ranks */
	void *boot_state;                /* state of the bootstrap */
	struct rt_board *board;          /* see board.h */
	int64_t timeout_ms;              /* time without progress after which a wait gives up; 0: never */
	const char *host;                /* name of the machine, for messages */
};

/* Functions of a bootstrap. They are collective: every rank calls them in the same order from its host
 * thread. They return the job's status if it failed, and STATUS_STUCK after the timeout. */
struct rt_bootstrap {
	const char *name; /* "fork", "thread", "mpi" */
	/* Copies `mine` of rank r to all[r * bytes …]. what: for messages, "the plan's hash". */
	enum status (*allgather)(struct rt_job *job, const char *what, const void *mine, size_t bytes,
	                         void *all);
	/* Returns true if all ranks can share memory; they cannot if they are on several hosts. */
	bool (*shares)(const struct rt_job *job);
	/* Makes zeroed memory that all ranks see. Its pages are allocated at first use. It is at any
	 * address, aligned as rt_region_unit says. what: for messages. Returns STATUS_ABSENT after a
	 * message if there is none. */
	enum status (*share)(struct rt_job *job, const char *what, size_t bytes, struct rt_region *out);
	/* Frees the memory; not collective. */
	void (*unshare)(struct rt_job *job, struct rt_region *region);
	/* Returns, by rank, the number of its host, from 0. NULL: all ranks are on one host. */
	const int *(*hosts)(const struct rt_job *job);
	/* Like share among the ranks of this host; only they call it. NULL: use share. */
	enum status (*share_on_host)(struct rt_job *job, const char *what, size_t bytes,
	                             struct rt_region *out);
	/* Where ranks run one at a time: lets other ranks run until they can do no more, or for some
	 * turns. moved: since its last rest this rank has done something that others may wait for. A job
	 * is stuck if no rank has. Not collective. NULL: all ranks run at the same time. */
	void (*rest)(struct rt_job *job, bool moved);
};

enum status rt_job_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes, void *all);
enum status rt_job_barrier(struct rt_job *job, const char *what);

/* Prints `hirc: rank 2: error: …` on standard error with one write. Prints nothing once the job has
 * failed, since later errors follow from the first failure. */
void rt_job_error(struct rt_job *job, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports an error with its statement: `… (in Y = add(a, b) (f.hir:7) iteration 2)`. */
void rt_job_error_at(struct rt_job *job, struct rt_origin at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Records the status that ends the job, unless it has one. Returns the job's status. */
enum status rt_job_fail(struct rt_job *job, enum status status);
/* Returns the status that ends the job; STATUS_OK while it runs. It is cheap. */
enum status rt_job_status(const struct rt_job *job);
/* Tells the watchdog that the host thread is alive, during long work outside of the engine. */
void rt_job_progress(struct rt_job *job);

/* The watchdog of a wait. Call rt_watch_expired while waiting: it returns true once nothing in the job
 * has made progress for the timeout, or for ten times that while some rank computes whose process is not
 * stopped. Initialise with zeros. */
struct rt_watch {
	int64_t since_us;   /* time of the last progress; 0: not started */
	int64_t progress;   /* last value seen */
	int64_t stopped_us; /* time when the processes were last tested for being stopped */
};
bool rt_watch_expired(struct rt_watch *w, struct rt_job *job);
/* Returns the time for which nothing in the job has moved or computed, as far as the board shows. */
int64_t rt_watch_idle_us(struct rt_watch *w, struct rt_job *job);
/* Returns true if the process of a rank has died. The job has then failed, with a report of where each
 * rank was. Every call of the watchdog does this. */
bool rt_job_lost(struct rt_job *job);
/* Prints where every rank is and fails the job with STATUS_STUCK, unless it has failed already. why:
 * first line, `nothing has moved for 2.0 s`. Returns the job's status. */
enum status rt_job_stuck(struct rt_job *job, const char *why);

#endif
