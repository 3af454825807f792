/* messages: between ranks of one process, which share a GPU: the rank that comes second issues the copy.
 *
 *     first   posts where its data are, and an event that they are ready
 *     second  a stream waits for both, copies, and records an event for each side
 *
 * Sides match by sender, receiver, channel and sequence, in whatever order they come. No GPU waits for what
 * was not issued, so no order of streams can end in a circle. */
#ifndef HIRC_CUDA_MESSAGES_H
#define HIRC_CUDA_MESSAGES_H
#include "cuda/stream_pool.h"

struct cuda_messages; /* of all ranks of the process, or of one */

/* One side; its memory is the caller's. */
struct cuda_message {
	struct rt_p2p p;
	int rank;      /* whose side this is */
	CUevent ready; /* the first one's, released by its rank */
	CUevent done;  /* NULL: not issued; then its rank's */
	bool posted;   /* it stands in the table */
	struct cuda_message *next;
};

struct cuda_messages *cuda_messages_new(void);
void cuda_messages_free(struct cuda_messages *all);
/* Rank c's side of a message. *woken: the other rank, if that had come first and has its event now, else -1.
 * Sides that differ in type or count are an error that names both. */
enum status cuda_messages_post(struct cuda_messages *all, struct cuda *c, struct cuda_stream_pool *s,
                               struct cuda_message *m, int *woken);
/* The event that is over when the message is done: the caller's. NULL: the other side has not come. */
CUevent cuda_messages_issued(struct cuda_messages *all, struct cuda *c, struct cuda_message *m);
/* It will not be issued any more; if it has been, its event is m->done. */
void cuda_messages_withdraw(struct cuda_messages *all, struct cuda *c, struct cuda_message *m);

#endif
