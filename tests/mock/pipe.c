/* pipe: see pipe.h. */
#include "pipe.h"
#include "mock.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- ids */

struct id {
	char magic[8];
	int32_t process, file; /* /proc/<process>/fd/<file> */
};
static const char magic[8] = "hircmock";
_Static_assert(sizeof(struct id) <= sizeof(ncclUniqueId), "an id fits");

bool segment_id(ncclUniqueId *out)
{
	int file = memfd_create("hirc-mock-nccl", MFD_CLOEXEC);
	if (file < 0)
		return false;
	struct id id = {.process = getpid(), .file = file};
	memcpy(id.magic, magic, sizeof magic);
	memset(out, 0, sizeof *out);
	memcpy(out, &id, sizeof id);
	return true;
}

/* ---- the file */

static size_t head_bytes(int n)
{
	size_t bytes = sizeof(struct segment) + (size_t)n * sizeof(struct segment_member);
	return (bytes + 63) / 64 * 64;
}

static size_t all_bytes(int n)
{
	return head_bytes(n) + 2 * (size_t)n * (size_t)n * sizeof(struct pipe);
}

struct pipe *segment_pipe(struct segment *s, enum pipe_use use, int from, int to)
{
	struct pipe *first = (struct pipe *)((char *)s + head_bytes(s->n));
	return first + (((int)use * s->n + from) * s->n + to);
}

static struct segment *map(const ncclUniqueId *unique, int n, const char **why)
{
	struct id id;
	char path[64];
	memcpy(&id, unique, sizeof id);
	*why = "the id is of no communicator that waits for members";
	if (memcmp(id.magic, magic, sizeof magic) != 0)
		return NULL;
	snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)id.process, (int)id.file);
	int file = open(path, O_RDWR | O_CLOEXEC);
	if (file < 0)
		return NULL;
	void *at = MAP_FAILED;
	if (ftruncate(file, (off_t)all_bytes(n)) == 0)
		at = mmap(NULL, all_bytes(n), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	close(file);
	if (at == MAP_FAILED)
		*why = strerror(errno);
	return at == MAP_FAILED ? NULL : at;
}

void segment_leave(struct segment *s)
{
	munmap(s, all_bytes(s->n));
}

/* The id is no longer needed once all have joined: its file is freed with the last mapping. */
static void close_id(const ncclUniqueId *unique)
{
	struct id id;
	memcpy(&id, unique, sizeof id);
	if (id.process == getpid())
		close(id.file);
}

struct segment *segment_join(const ncclUniqueId *id, int n, int rank, int device, const char **why)
{
	struct segment *s = map(id, n, why);
	if (!s)
		return NULL;
	if (atomic_exchange(&s->member[rank].is_here, 1)) {
		*why = "this rank is there already";
		munmap(s, all_bytes(n));
		return NULL;
	}
	atomic_store(&s->n, n);
	s->member[rank].device = device;
	atomic_fetch_add(&s->joined, 1);
	segment_ring_all(s);
	while (atomic_load(&s->joined) < n) {
		uint32_t seen = atomic_load(&s->member[rank].bell);
		if (atomic_load(&s->joined) < n)
			segment_sleep(s, rank, seen);
	}
	if (rank == 0)
		close_id(id);
	return s;
}

void segment_finish(struct segment *s)
{
	atomic_fetch_add(&s->finished, 1);
	segment_ring_all(s);
}

/* ---- bells */

void segment_ring(struct segment *s, int member)
{
	_Atomic uint32_t *bell = &s->member[member].bell;
	atomic_fetch_add(bell, 1);
	syscall(SYS_futex, bell, FUTEX_WAKE, 0x7fffffff, NULL, NULL, 0);
}

void segment_ring_all(struct segment *s)
{
	for (int k = 0; k < s->n; k++)
		segment_ring(s, k);
}

void segment_sleep(struct segment *s, int member, uint32_t seen)
{
	struct timespec most = {0, 50 * 1000 * 1000};
	syscall(SYS_futex, &s->member[member].bell, FUTEX_WAIT, seen, &most, NULL, 0);
}

/* ---- pipes */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

size_t pipe_write(struct pipe *p, const char *from, size_t n)
{
	uint64_t at = atomic_load_explicit(&p->written, memory_order_relaxed);
	n = least(n, PIPE_BYTES - (size_t)(at - atomic_load_explicit(&p->taken, memory_order_acquire)));
	size_t begin = at % PIPE_BYTES, first = least(n, PIPE_BYTES - begin);
	memcpy(p->data + begin, from, first);
	memcpy(p->data, from + first, n - first);
	atomic_store_explicit(&p->written, at + n, memory_order_release);
	return n;
}

size_t pipe_read(struct pipe *p, char *to, size_t n)
{
	uint64_t at = atomic_load_explicit(&p->taken, memory_order_relaxed);
	n = least(n, (size_t)(atomic_load_explicit(&p->written, memory_order_acquire) - at));
	size_t begin = at % PIPE_BYTES, first = least(n, PIPE_BYTES - begin);
	memcpy(to, p->data + begin, first);
	memcpy(to + first, p->data, n - first);
	atomic_store_explicit(&p->taken, at + n, memory_order_release);
	return n;
}

bool pipe_is_empty(const struct pipe *p)
{
	return atomic_load(&p->taken) == atomic_load(&p->written);
}
