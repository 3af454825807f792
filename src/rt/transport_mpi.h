/* transport_mpi: the structures that the files of the transport `mpi` share. */
#ifndef HIRC_RT_TRANSPORT_MPI_H
#define HIRC_RT_TRANSPORT_MPI_H
#include "rt/bell.h"
#include "rt/mpi_call.h"
#include "rt/mpi_progress.h"
#include "rt/transport.h"

struct mpi {
	struct rt_transport base;
	MPI_Comm messages;
	MPI_Comm *team;          /* by id; MPI_COMM_NULL if this rank is not a member */
	MPI_Op minimum, maximum; /* MPI's own operators do not define the result for NaN */
	struct rt_bell bell;     /* rung by wake */
	struct mpi_progress progress;
	struct rt_request *first; /* list of the requests, by next */
	int64_t sleep_us;         /* length of the next wait */
};

struct rt_request {
	struct rt_request *next, **link; /* link: address of the pointer to this request */
	struct rt_collective c;          /* kind COLLECTIVE_COUNT: a message */
	bool send;                       /* for a message */
	int peer;
	int64_t bytes; /* for a message */
	struct rt_origin at;
	void *wide_in, *wide_out; /* reductions in another type than the buffers'; otherwise NULL */
	int64_t out_count;        /* elements of out (reductions) */
	int members;
	int *counts, *offsets; /* as MPI needs them */
	int *send_counts, *send_offsets;
	int pieces;
	MPI_Request *piece;
};

bool mpi_collective_make_ops(struct mpi *m);
void mpi_collective_free_ops(struct mpi *m);
/* Starts r->c on a team's communicator, in which this rank has an index. Returns false after reporting. */
bool mpi_collective_start(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index);
/* Ends a reduction after MPI: divides a mean, and rounds. */
void mpi_collective_finish(struct rt_request *r);

#endif
