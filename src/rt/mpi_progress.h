/* mpi_progress: a thread that keeps MPI going while the rank computes.
 *
 * MPI moves data only while it is called; a rank that computes for milliseconds would hold up those that wait
 * for its messages. Between hosts a thread looks after requests in flight: often where nobody else
 * does, rarely while the rank itself tests them, never while there are none. */
#ifndef HIRC_RT_MPI_PROGRESS_H
#define HIRC_RT_MPI_PROGRESS_H
#include "rt/bell.h"
#include "rt/job.h"
#include <pthread.h>

struct mpi_progress {
	struct rt_job *job;
	pthread_t thread;
	bool wanted, started;
	_Atomic int stop;
	_Atomic int under_way;  /* requests; the rank counts */
	_Atomic uint32_t tests; /* made by the rank */
	struct rt_bell bell;    /* of the thread, while nothing is under way */
};

/* wanted: true if there ever is a thread. */
void mpi_progress_open(struct mpi_progress *p, struct rt_job *job, bool wanted);
void mpi_progress_close(struct mpi_progress *p);
/* A request was started. The first starts the thread; where there can be none the rank goes on without. */
void mpi_progress_begin(struct mpi_progress *p);

static inline void mpi_progress_end(struct mpi_progress *p)
{
	atomic_fetch_sub_explicit(&p->under_way, 1, memory_order_relaxed);
}

/* The rank tests a request. No other thread writes the number. */
static inline void mpi_progress_tested(struct mpi_progress *p)
{
	atomic_store_explicit(&p->tests, atomic_load_explicit(&p->tests, memory_order_relaxed) + 1,
	                      memory_order_relaxed);
}

#endif
