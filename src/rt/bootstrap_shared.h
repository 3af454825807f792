/* bootstrap_shared: the shared parts of the bootstraps; for src/rt only.
 *
 * Under fork and thread all ranks see one rt_shared: the place of the allgather, and the board. */
#ifndef HIRC_RT_BOOTSTRAP_SHARED_H
#define HIRC_RT_BOOTSTRAP_SHARED_H
#include "rt/bell.h"
#include "rt/bootstrap.h"

enum { RT_BLOB_BYTES = 1024 }; /* of an allgather that goes through at once */

struct rt_meeting {
	_Atomic uint32_t arrived;    /* rounds that the rank has come to */
	_Atomic int returned;        /* 1 + the value of rank_main; 0: not yet */
	char blob[2][RT_BLOB_BYTES]; /* of even and odd rounds: one barrier a round is enough */
};

struct rt_shared {
	struct rt_bell bell; /* rung at each arrival */
	int size;
	size_t bytes; /* of this mapping */
	struct rt_board *board;
	struct rt_meeting rank[];
};

/* A rank's own side; job->boot_state. */
struct rt_member {
	struct rt_shared *shared;
	uint32_t rounds; /* of allgathers that this rank has begun */
	int memory;      /* fork: the memfd that rt_bootstrap.share grows */
	size_t mapped;   /* fork: bytes of it in use; the same on all ranks */
};

/* Memory that children will share; NULL with a message (job->rank is -1) when there is none. */
struct rt_shared *rt_shared_new(struct rt_job *launcher, int size);
void rt_shared_free(struct rt_shared *s);

enum status rt_shared_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes,
                                void *all);

/* Puts the host thread's wait on the board; NULL: none. */
void rt_job_host(struct rt_job *job, const char *what);
/* The worse of two statuses of finished ranks. */
enum status rt_status_worse(enum status a, enum status b);

typedef int rt_rank_main(struct rt_job *, void *);
enum status rt_launch_fork(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg);
enum status rt_launch_thread(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg);
enum status rt_launch_mpi(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg);

#endif
