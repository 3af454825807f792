/* messages: messages between ranks of one process that share a GPU. The rank that starts its side second
 * issues the copy.
 *
 *     first   posts the place of its data, and an event that they are ready
 *     second  a stream waits for both, copies, and records an event for each side
 *
 * Sides match by sender, receiver, channel and sequence, in any order of arrival. The GPU waits only for work
 * that is already issued, so streams cannot form a cycle. */
#ifndef HIRC_CUDA_MESSAGES_H
#define HIRC_CUDA_MESSAGES_H
#include "cuda/stream_pool.h"

struct cuda_messages; /* of all ranks of the process, or of one */

/* One side of a message; the caller owns its memory. */
struct cuda_message {
	struct rt_p2p p;
	int rank;      /* the rank of this side */
	CUevent ready; /* event of the first side; its rank releases it */
	CUevent done;  /* NULL: not issued; otherwise it belongs to the rank */
	bool posted;   /* it is in the table */
	struct cuda_message *next;
};

struct cuda_messages *cuda_messages_new(void);
void cuda_messages_free(struct cuda_messages *all);
/* Posts rank c's side of a message. *woken: the other rank, if its side was first and now has its event;
 * otherwise -1. Sides that differ in type or count are an error that names both. */
enum status cuda_messages_post(struct cuda_messages *all, struct cuda *c, struct cuda_stream_pool *s,
                               struct cuda_message *m, int *woken);
/* Returns an event that is over when the message is done; the caller owns it. NULL: the other side has not
 * arrived. */
CUevent cuda_messages_issued(struct cuda_messages *all, struct cuda *c, struct cuda_message *m);
/* Withdraws a side, which will not be issued any more. If it has been issued, its event is m->done. */
void cuda_messages_withdraw(struct cuda_messages *all, struct cuda *c, struct cuda_message *m);

#endif
