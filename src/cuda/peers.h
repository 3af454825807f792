/* peers: the parts of the transport between ranks that are threads of one process and share a GPU.
 *
 *   peers.c             the transport; teams, and the meetings of their members
 *   peers_collective.c  the GPU work of the last member to come; the members' signs, compared
 *
 * The second is for any ranks whose buffers this process can address, also those of the transport cuda-ipc.
 */
#ifndef HIRC_CUDA_PEERS_H
#define HIRC_CUDA_PEERS_H
#include "cuda/cuda_transport.h"

/* The collective of member k of a meeting. */
struct peers_part {
	int rank;
	struct rt_collective c;
};

/* Checks that both have the same collective, as far as all members know it; else fails the job. */
enum status peers_compare(struct rt_job *job, const struct peers_part *own, const struct peers_part *other,
                          int n);
/* Returns true if member `from` gives a block to member `to`. *given, *taken: the block as each of the two
 * knows it. False for a reduction, or where neither of the two is the one that the kind asks for. */
bool peers_moves(const struct peers_part *part, int from, int to, struct rt_block *given,
                 struct rt_block *taken);
/* Copies it; blocks that differ fail the job. */
enum status peers_move(struct cuda *c, CUstream s, const struct peers_part *part, int n, int from,
                       struct rt_block given, int to, struct rt_block taken);
/* Checks that all that member `index` gives or takes is as the other member takes or gives it; else fails the
 * job. */
enum status peers_same_blocks(struct rt_job *job, const struct peers_part *part, int n, int index);
/* Checks that the members' inputs of a ReduceScatter agree about the block of member `to`; else fails the
 * job. */
enum status peers_same_block(struct rt_job *job, const struct peers_part *part, int n, int to);
/* Elements of all members from `offset` on, reduced, in team order. */
enum status peers_reduce(struct cuda *c, CUstream s, const struct peers_part *part, int n, void *out,
                         int64_t offset, int64_t count);
/* Gives a collective of n members, whose data are ready, to a stream. */
enum status peers_issue(struct cuda *c, CUstream s, const struct peers_part *part, int n);

#endif
