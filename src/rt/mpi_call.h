/* mpi_call: makes and checks all calls of MPI; private to src/rt.
 *
 * MPI is initialised for serialised calls. The host thread (bootstrap) and the communication lane both
 * call it, under a lock that is held during a non-blocking call. */
#ifndef HIRC_RT_MPI_CALL_H
#define HIRC_RT_MPI_CALL_H
#include "rt/rt_region.h"
#include <mpi.h>
#include <pthread.h>

struct rt_request;

/* The boot_state of the bootstrap mpi. */
struct rt_mpi {
	pthread_mutex_t lock;
	MPI_Comm boot; /* the bootstrap's duplicate of MPI_COMM_WORLD */
	MPI_Comm end;  /* for the last exchange: one that never ends may be in flight on `boot` */
	MPI_Comm host; /* the ranks of this host */
	int *host_of;  /* by rank: number of its host, in the order of the hosts' first ranks; owned */
	bool one_host; /* all ranks are on this machine */
	bool board_shared;
	struct rt_region board;       /* valid if they are */
	struct rt_request *abandoned; /* requests of a failed job that the transport mpi left in flight */
	void *exchanged; /* memory of an exchange that did not end, to which MPI may still write; owned */
};

/* Call it after MPI_Finalize. */
void rt_mpi_free_abandoned(struct rt_mpi *boot);

/* Prints the call that failed. Always returns false. */
bool rt_mpi_failed(struct rt_job *job, int code, const char *call);

/* RT_MPI(job, MPI_Test(&request, &flag, &status)) is true if the call succeeded. Otherwise a message was
 * printed and the job has failed. */
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
