/* mpi_call: the one way in which hirc calls MPI; for src/rt only.
 *
 * MPI is initialised for serialised calls: the host thread (bootstrap) and the communication lane
 * both call it, under one lock that is held for the length of a non-blocking call. */
#ifndef HIRC_RT_MPI_CALL_H
#define HIRC_RT_MPI_CALL_H
#include "rt/rt_region.h"
#include <mpi.h>
#include <pthread.h>

struct rt_request;

/* boot_state under the mpi bootstrap. */
struct rt_mpi {
	pthread_mutex_t lock;
	MPI_Comm boot; /* the bootstrap's own duplicate of MPI_COMM_WORLD */
	MPI_Comm end;  /* another, for the last exchange: one that never ends may be under way on boot */
	MPI_Comm host; /* the ranks of this host */
	int *host_of;  /* number of each rank's host, in the order of their first ranks; owned */
	bool one_host; /* all ranks are on this machine */
	bool board_shared;
	struct rt_region board;       /* if it is */
	struct rt_request *abandoned; /* requests of a failed job that the mpi transport left in flight */
	void *exchanged;              /* memory of an exchange that did not end: MPI may write there; owned */
};

/* After MPI_Finalize. */
void rt_mpi_free_abandoned(struct rt_mpi *boot);

/* Prints the call that failed; always false. */
bool rt_mpi_failed(struct rt_job *job, int code, const char *call);

/* RT_MPI(job, MPI_Test(&request, &flag, &status)): true if it succeeded, else a message was printed and
 * the job has failed. */
#define RT_MPI(job, call) (rt_mpi_enter(job), rt_mpi_leave((job), (call), #call))

static inline void rt_mpi_enter(struct rt_job *job)
{
	pthread_mutex_lock(&((struct rt_mpi *)job->boot_state)->lock);
}

static inline bool rt_mpi_leave(struct rt_job *job, int code, const char *call)
{
	pthread_mutex_unlock(&((struct rt_mpi *)job->boot_state)->lock);
	return code == MPI_SUCCESS || rt_mpi_failed(job, code, call);
}

#endif
