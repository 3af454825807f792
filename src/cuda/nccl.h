/* nccl: the transport for ranks with a GPU each.
 *
 *   nccl.c             the transport: starts, groups, failures
 *   nccl_link.c        communicators, of teams and of pairs of ranks that exchange messages
 *   nccl_window.c      the ranks' memory as windows, and the communicators of movers that need them
 *   nccl_collective.c  a collective as steps of NCCL and steps of this GPU
 *
 * Communicators are made before the program runs, in the same order on all ranks: those of teams by
 * rt_transport_team, those of messages by cuda_nccl_pairs. */
#ifndef HIRC_CUDA_NCCL_H
#define HIRC_CUDA_NCCL_H
#include "cuda/cuda_transport.h"

/* A communicator with its stream, on which its work runs in the order of the starts. */
struct nccl_link {
	ncclComm_t comm; /* NULL: the team has one member, or this rank is not a member */
	CUstream stream;
	void *scratch; /* device memory; later work on the stream does not need its contents */
	size_t scratch_bytes;
	size_t scratch_used;     /* bytes used by the collective that is being issued */
	struct cuda_pair pair;   /* for messages */
	uint64_t next;           /* for messages: sequence of the next one to issue */
	struct rt_request *held; /* for messages: those that started too early */
};

/* A communicator for one mover of a team. Its calls have their data at the same place of the window on all members, which
 * NCCL takes for granted; calls of other movers need not, so they have the team's own communicator. */
struct nccl_window {
	int team;
	enum mover mover;
	struct nccl_link link; /* with the team's stream */
	ncclWindow_t window;   /* of all memory of the rank */
};

struct nccl {
	struct cuda_transport base;
	struct rt_bell bell;
	struct nccl_link *team; /* by id */
	struct nccl_link *pair; /* sorted */
	int pairs;
	VEC(struct nccl_window) window;
	bool has_windows;               /* the ranks' memory is for windows */
	void *memory;                   /* that memory; NULL: none yet */
	size_t memory_bytes;            /* the same on all ranks */
	struct cuda_stream_pool itself; /* stream for messages of a rank to itself */
	VEC(void *) outgrown;           /* former scratch memory that streams may still use */
	bool grouping;                  /* starts are kept until the group ends */
	bool step_grouped;              /* NCCL's group of the current step is open */
	struct rt_request *group;       /* the kept starts, in order */
	struct rt_request **group_end;
	bool exact; /* floats are reduced in the wide type, in team order, and rounded once */
	bool aborted;
};

/* Makes the communicator of a team, and its stream, on its members. */
enum status nccl_team_open(struct nccl *n, int id);
/* Makes one more communicator of a team, without a stream. Collective of the whole job. policy: of NCCL, for the
 * processors that its kernels use. */
enum status nccl_team_more(struct nccl *n, int id, int policy, ncclComm_t *out);
/* Finds the communicator for messages between two ranks. NULL: none was made. */
struct nccl_link *nccl_pair_find(const struct nccl *n, struct cuda_pair pair);
/* Makes scratch memory of at least this many bytes. */
enum status nccl_scratch(struct nccl *n, struct nccl_link *l, size_t bytes, const char *what);
/* ---- nccl_window.c */

/* Functions of struct rt_transport_ops. */
enum status nccl_alloc(struct rt_transport *t, struct rt_device *d, size_t bytes, const char *what,
                       void **out);
void nccl_free(struct rt_transport *t, struct rt_device *d, void *at);
/* Returns the communicator for a collective: that of its mover, or the team's own. */
ncclComm_t nccl_window_comm(const struct nccl *n, const struct rt_collective *c);

/* Closes all communicators. abort: at once, with their running work. */
void nccl_links_close(struct nccl *n, bool abort);
/* Fails the job if NCCL has found an error since the last call. */
enum status nccl_links_look(struct nccl *n);

/* A collective has at most four steps. Steps 1 and 3 are calls of NCCL, in one NCCL group with the same step
 * of other collectives. In steps 0 and 2 this GPU works by itself. */
enum { NCCL_STEPS = 4 };
/* A call in step 1 or 3; the first one opens the group. As cuda_call_nccl. */
#define nccl_call(n, name, ...) (nccl_group_opened(n) && cuda_call_nccl((n)->base.c, name, __VA_ARGS__))
bool nccl_group_opened(struct nccl *n);
/* Returns the bytes of scratch memory that a collective needs. r->scratch is the offset of that memory. */
enum status nccl_collective_scratch(struct nccl *n, const struct rt_request *r, size_t *out);
enum status nccl_collective_step(struct nccl *n, const struct rt_request *r, int step);

#endif
