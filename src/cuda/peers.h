/* peers: the parts of the transport between ranks that are threads of one process and share a GPU.
 *
 *   peers.c             the transport; teams, and the meetings of their members
 *   peers_collective.c  what the last member to come gives to the GPU; what members say, compared */
#ifndef HIRC_CUDA_PEERS_H
#define HIRC_CUDA_PEERS_H
#include "cuda/transport.h"

/* What member k of a meeting has. */
struct peers_part {
	int rank;
	struct rt_collective c;
};

/* Whether both have the same collective, as far as all members know it; else fails the job. */
enum status peers_compare(struct rt_job *job, const struct peers_part *own, const struct peers_part *other,
                          int n);
/* Gives a collective of n members, whose data are ready, to a stream. */
enum status peers_issue(struct cuda *c, CUstream s, const struct peers_part *part, int n);

#endif
