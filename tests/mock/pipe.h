/* pipe: the memory that members of a communicator of the mock NCCL share. Members are threads or processes.
 * The memory is a file that each member maps, with two one-way pipes for each pair of members.
 *
 *     header │ member[n] │ pipe of collectives 0→0, 0→1, … │ pipe of messages 0→0, 0→1, …
 *
 * A pipe has one writer and one reader. A member waits on its bell, which the other side rings. */
#ifndef HIRC_MOCK_PIPE_H
#define HIRC_MOCK_PIPE_H
#include <nccl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PIPE_BYTES = 1 << 14 };

struct pipe {
	_Atomic uint64_t written, taken; /* numbers of bytes since the beginning */
	char data[PIPE_BYTES];
};

struct segment_member {
	atomic_int is_here;
	int device;
	_Atomic uint32_t bell;
};

struct segment {
	atomic_int joined, finished; /* number of members that have joined, and that have finished */
	atomic_int n;
	_Atomic size_t window_bytes; /* bytes of all members' windows; 0: none yet */
	struct segment_member member[];
};

enum pipe_use { PIPE_COLLECTIVES, PIPE_MESSAGES };

/* Makes an id, of a file that this process holds open until segment_join has seen all members. */
bool segment_id(ncclUniqueId *out);
/* Maps the segment and waits for all n members. Returns NULL with the reason in *why. */
struct segment *segment_join(const ncclUniqueId *id, int n, int rank, int device, const char **why);
/* Notes that one more member has finished, and rings the bells. */
void segment_finish(struct segment *s);
void segment_leave(struct segment *s);

struct pipe *segment_pipe(struct segment *s, enum pipe_use use, int from, int to);
void segment_ring(struct segment *s, int member);
void segment_ring_all(struct segment *s);
/* Sleeps for at most 50 ms, but not if the bell has rung since it was `seen`. */
void segment_sleep(struct segment *s, int member, uint32_t seen);

/* Return the number of bytes moved now, at most n. */
size_t pipe_write(struct pipe *p, const char *from, size_t n);
size_t pipe_read(struct pipe *p, char *to, size_t n);
bool pipe_is_empty(const struct pipe *p);

#endif
