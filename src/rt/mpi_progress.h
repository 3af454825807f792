/* mpi_progress: runs a thread that makes MPI move data while the rank computes.
 *
 * MPI moves data only while it is called. A rank that computes for milliseconds would delay the ranks
 * that wait for its messages. So between hosts, a thread calls MPI while requests are in flight: often
 * if nobody else does, rarely while the rank itself tests them, and never without requests. */
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
	_Atomic int under_way;  /* number of requests in flight; the rank counts */
	_Atomic uint32_t tests; /* number of tests made by the rank */
	struct rt_bell bell;    /* wakes the thread when something is in flight */
};

/* wanted: a thread may be started. */
void mpi_progress_open(struct mpi_progress *p, struct rt_job *job, bool wanted);
void mpi_progress_close(struct mpi_progress *p);
/* Tells that a request was started. The first one starts the thread; if that fails, the rank goes on
 * without it. */
void mpi_progress_begin(struct mpi_progress *p);

static inline void mpi_progress_end(struct mpi_progress *p)
{
	atomic_fetch_sub_explicit(&p->under_way, 1, memory_order_relaxed);
}

/* Tells that the rank tests a request. No other thread writes the number. */
static inline void mpi_progress_tested(struct mpi_progress *p)
{
	atomic_store_explicit(&p->tests, atomic_load_explicit(&p->tests, memory_order_relaxed) + 1,
	                      memory_order_relaxed);
}

#endif
