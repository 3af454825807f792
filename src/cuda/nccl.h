/* nccl: the parts of the transport of ranks that have a GPU each.
 *
 *   nccl.c             the transport: starts, groups, failures
 *   nccl_link.c        communicators, of teams and of pairs of ranks that exchange messages
 *   nccl_collective.c  a collective as steps of NCCL and of this GPU
 *
 * Communicators are made before anything runs, in one order on all ranks: those of teams by
 * rt_transport_team, those of messages by cuda_nccl_pairs. */
#ifndef HIRC_CUDA_NCCL_H
#define HIRC_CUDA_NCCL_H
#include "cuda/cuda_transport.h"

/* A communicator with its stream: all that it does is done in the order in which it was started. */
struct nccl_link {
	ncclComm_t comm; /* NULL: of a team of one, or that this rank is no member of */
	CUstream stream;
	void *scratch; /* device memory that nothing later on the stream needs */
	size_t scratch_bytes;
	size_t scratch_used;     /* of the collective being issued */
	struct cuda_pair pair;   /* of messages */
	uint64_t next;           /* of messages: sequence of the one to be issued */
	struct rt_request *held; /* of messages: those that came before their turn */
};

struct nccl {
	struct cuda_transport base;
	struct rt_bell bell;
	struct nccl_link *team; /* by id */
	struct nccl_link *pair; /* sorted */
	int pairs;
	struct cuda_stream_pool itself; /* the stream of messages of a rank to itself */
	VEC(void *) outgrown;           /* scratch memory that streams may still use */
	bool grouping;                  /* starts are kept until the group ends */
	bool step_grouped;              /* NCCL's group of the step that is being issued is open */
	struct rt_request *group;       /* those, in order */
	struct rt_request **group_end;
	bool exact; /* floats are reduced in the wide type, in team order, and rounded once */
	bool aborted;
};

/* The communicator of a team, and its stream; members alone have them. */
enum status nccl_team_open(struct nccl *n, int id);
/* Finds the communicator of messages between two ranks; NULL: none was made. */
struct nccl_link *nccl_pair_find(const struct nccl *n, struct cuda_pair pair);
/* At least so many bytes of scratch memory. */
enum status nccl_scratch(struct nccl *n, struct nccl_link *l, size_t bytes, const char *what);
/* Ends all communicators; abort: at once, with their running work. */
void nccl_links_close(struct nccl *n, bool abort);
/* Fails the job if NCCL has found something wrong since the last look. */
enum status nccl_links_look(struct nccl *n);

/* A collective is a few steps. Those with odd numbers are calls of NCCL alone, and stand in a group of
 * NCCL's, with the same step of others; in those with even ones this GPU works by itself. */
enum { NCCL_STEPS = 4 };
/* A call in such a step, of which the first opens the group. As cuda_call_nccl. */
#define nccl_call(n, name, ...) (nccl_group_opened(n) && cuda_call_nccl((n)->base.c, name, __VA_ARGS__))
bool nccl_group_opened(struct nccl *n);
/* Bytes of scratch memory, of which r->scratch says where they begin. */
enum status nccl_collective_scratch(struct nccl *n, const struct rt_request *r, size_t *out);
enum status nccl_collective_step(struct nccl *n, const struct rt_request *r, int step);

#endif
