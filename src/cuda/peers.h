/* peers: the parts of the transport between ranks that are threads of one process and share a GPU.
 *
 *   peers.c             the transport; teams, and the meetings of their members
 *   peers_collective.c  what the last member to come gives to the GPU; what members say, compared
 *
 * The second is for any ranks whose buffers this process can address, also those of the transport cuda-ipc.
 */
#ifndef HIRC_CUDA_PEERS_H
#define HIRC_CUDA_PEERS_H
#include "cuda/cuda_transport.h"

/* What member k of a meeting has. */
struct peers_part {
	int rank;
	struct rt_collective c;
};

/* Whether both have the same collective, as far as all members know it; else fails the job. */
enum status peers_compare(struct rt_job *job, const struct peers_part *own, const struct peers_part *other,
                          int n);
/* What member `from` gives to member `to`: whether there is such a block, and which it is to both. None of a
 * reduction, or where neither of the two is what the kind asks for. */
bool peers_moves(const struct peers_part *part, int from, int to, struct rt_block *given,
                 struct rt_block *taken);
/* Copies it; blocks that differ fail the job. */
enum status peers_move(struct cuda *c, CUstream s, const struct peers_part *part, int n, int from,
                       struct rt_block given, int to, struct rt_block taken);
/* Whether all that member `index` gives or takes is what the other member takes or gives; else fails the job.
 */
enum status peers_same_blocks(struct rt_job *job, const struct peers_part *part, int n, int index);
/* Whether the members' inputs of a ReduceScatter agree about the block of member `to`; else fails the job. */
enum status peers_same_block(struct rt_job *job, const struct peers_part *part, int n, int to);
/* Elements of all members from `offset` on, reduced, in team order. */
enum status peers_reduce(struct cuda *c, CUstream s, const struct peers_part *part, int n, void *out,
                         int64_t offset, int64_t count);
/* Gives a collective of n members, whose data are ready, to a stream. */
enum status peers_issue(struct cuda *c, CUstream s, const struct peers_part *part, int n);

#endif
