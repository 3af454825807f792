/* pipe: what the members of a communicator of the mock NCCL share, whether they are threads or processes: a
 * file in memory that each of them maps, with two one-way pipes a pair of members.
 *
 *     header │ member[n] │ pipe of collectives 0→0, 0→1, … │ pipe of messages 0→0, 0→1, …
 *
 * A pipe has one writer and one reader. Who waits does so on its bell, which the other side rings. */
#ifndef HIRC_MOCK_PIPE_H
#define HIRC_MOCK_PIPE_H
#include <nccl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIPE_BYTES = 1 << 14 };

struct pipe {
	_Atomic uint64_t written, taken; /* bytes since the beginning */
	char data[PIPE_BYTES];
};

struct segment_member {
	atomic_int is_here;
	int device;
	_Atomic uint32_t bell;
};

struct segment {
	atomic_int joined, finished; /* members that came, that are through with it */
	atomic_int n;
	struct segment_member member[];
};

enum pipe_use { PIPE_COLLECTIVES, PIPE_MESSAGES };

/* A new id: of a file that this process holds open until segment_join has seen all members. */
bool segment_id(ncclUniqueId *out);
/* Maps it and waits for all n members. NULL: why. */
struct segment *segment_join(const ncclUniqueId *id, int n, int rank, int device, const char **why);
/* One member more is through with it; the bells ring. */
void segment_finish(struct segment *s);
void segment_leave(struct segment *s);

struct pipe *segment_pipe(struct segment *s, enum pipe_use use, int from, int to);
void segment_ring(struct segment *s, int member);
void segment_ring_all(struct segment *s);
/* Sleeps unless the bell has rung since it was `seen`, for 50 ms at most. */
void segment_sleep(struct segment *s, int member, uint32_t seen);

/* Bytes that went in or out now, at most n. */
size_t pipe_write(struct pipe *p, const char *from, size_t n);
size_t pipe_read(struct pipe *p, char *to, size_t n);
bool pipe_is_empty(const struct pipe *p);

#endif
