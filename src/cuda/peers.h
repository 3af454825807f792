/* peers: the transport for ranks that are threads of one process and share a GPU.
 *
 *   peers.c             the transport; teams, and the meetings of their members
 *   peers_collective.c  the GPU work of the member that arrives last; compares the members' collectives
 *
 * peers_collective.c works for all ranks whose buffers this process can address. So the transport cuda-ipc
 * uses it, too. */
#ifndef HIRC_CUDA_PEERS_H
#define HIRC_CUDA_PEERS_H
#include "cuda/cuda_transport.h"

/* The collective of member k of a meeting. */
struct peers_part {
	int rank;
	struct rt_collective c;
};

/* Checks that two members have the same collective, in the properties that all members know; otherwise fails
 * the job. */
enum status peers_compare(struct rt_job *job, const struct peers_part *own, const struct peers_part *other,
                          int n);
/* Returns true if member `from` gives a block to member `to`. *given, *taken: the block as each of the two
 * knows it. Returns false for a reduction, and for a member that has no part in this kind of collective. */
bool peers_moves(const struct peers_part *part, int from, int to, struct rt_block *given,
                 struct rt_block *taken);
/* Copies that block. If the two disagree about it, fails the job. */
enum status peers_move(struct cuda *c, CUstream s, const struct peers_part *part, int n, int from,
                       struct rt_block given, int to, struct rt_block taken);
/* Checks that each block that member `index` gives or takes is the same for the other member; otherwise fails
 * the job. */
enum status peers_same_blocks(struct rt_job *job, const struct peers_part *part, int n, int index);
/* Checks that the members' inputs of a ReduceScatter agree about the block of member `to`; otherwise fails
 * the job. */
enum status peers_same_block(struct rt_job *job, const struct peers_part *part, int n, int to);
/* Reduces elements of all members, from `offset` on, in team order. */
enum status peers_reduce(struct cuda *c, CUstream s, const struct peers_part *part, int n, void *out,
                         int64_t offset, int64_t count);
/* Gives a collective of n members, whose data are ready, to a stream. */
enum status peers_issue(struct cuda *c, CUstream s, const struct peers_part *part, int n);

#endif
