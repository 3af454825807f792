/* bootstrap_shared: the state and functions that the bootstraps share; private to src/rt.
 *
 * Under fork and thread all ranks see one rt_shared, which contains the memory of the allgather and the
 * board. */
#ifndef HIRC_RT_BOOTSTRAP_SHARED_H
#define HIRC_RT_BOOTSTRAP_SHARED_H
#include "rt/bell.h"
#include "rt/bootstrap.h"

enum { RT_BLOB_BYTES = 1024 }; /* most bytes of an allgather in one piece */

struct rt_meeting {
	_Atomic uint32_t arrived;    /* number of rounds that the rank has entered */
	_Atomic int returned;        /* value returned by rank_main + 1; 0: not yet */
	char blob[2][RT_BLOB_BYTES]; /* for even and for odd rounds, so that one barrier a round is enough */
};

struct rt_shared {
	struct rt_bell bell; /* rung when a rank enters a round */
	int size;
	size_t bytes; /* of this mapping */
	struct rt_board *board;
	struct rt_meeting rank[];
};

/* The private state of a rank; job->boot_state. */
struct rt_member {
	struct rt_shared *shared;
	uint32_t rounds; /* number of allgathers that this rank has begun */
	int memory;      /* fork: the memfd, which rt_bootstrap.share enlarges */
	size_t mapped;   /* fork: bytes of it in use; the same on all ranks */
};

/* Makes memory that children will share. Returns NULL after a message (job->rank is -1). */
struct rt_shared *rt_shared_new(struct rt_job *launcher, int size);
void rt_shared_free(struct rt_shared *s);

enum status rt_shared_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes,
                                void *all);

/* Shows a wait of the host thread on the board; NULL: no wait. */
void rt_job_host(struct rt_job *job, const char *what);
/* Returns the worse of two statuses of finished ranks. */
enum status rt_status_worse(enum status a, enum status b);

typedef int rt_rank_main(struct rt_job *, void *);
enum status rt_launch_fork(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg);
enum status rt_launch_thread(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg);
enum status rt_launch_mpi(const struct rt_launch_options *options, rt_rank_main *rank_main, void *arg);

#endif
