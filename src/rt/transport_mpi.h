/* transport_mpi: the shared parts of the files of the transport `mpi`. */
#ifndef HIRC_RT_TRANSPORT_MPI_H
#define HIRC_RT_TRANSPORT_MPI_H
#include "rt/bell.h"
#include "rt/mpi_call.h"
#include "rt/mpi_progress.h"
#include "rt/transport.h"

struct mpi {
	struct rt_transport base;
	MPI_Comm messages;
	MPI_Comm *team;          /* by id; MPI_COMM_NULL where this rank is no member */
	MPI_Op minimum, maximum; /* MPI's own leave the result for NaN open */
	struct rt_bell bell;     /* rung by wake */
	struct mpi_progress progress;
	struct rt_request *first; /* of them, by next */
	int64_t sleep_us;         /* of the next wait */
};

struct rt_request {
	struct rt_request *next, **link; /* link: where the pointer to this request stands */
	struct rt_collective c;          /* kind COLLECTIVE_COUNT: a message */
	bool send;                       /* message */
	int peer;
	int64_t bytes; /* message */
	struct rt_origin at;
	void *wide_in, *wide_out; /* reductions in another type than the buffers'; else NULL */
	int64_t out_count;        /* elements of out (reductions) */
	int members;
	int *counts, *offsets; /* as MPI takes them */
	int *send_counts, *send_offsets;
	int pieces;
	MPI_Request *piece;
};

bool mpi_collective_make_ops(struct mpi *m);
void mpi_collective_free_ops(struct mpi *m);
/* Starts r->c on a team's communicator, where this rank has an index. False: reported. */
bool mpi_collective_start(struct mpi *m, struct rt_request *r, MPI_Comm comm, int index);
/* Ends a reduction after MPI: the mean, and the rounding. */
void mpi_collective_finish(struct rt_request *r);

#endif
