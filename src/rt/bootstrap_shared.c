/* bootstrap_shared: allgather and memory for ranks that share an address range (fork, thread). */
#include "rt/bootstrap_shared.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { LOOK_US = 20000 /* interval at which a waiting rank tests if the job has failed */ };

struct rt_shared *rt_shared_new(struct rt_job *launcher, int size)
{
	size_t meetings =
	    (sizeof(struct rt_shared) + (size_t)size * sizeof(struct rt_meeting) + 63) & ~(size_t)63;
	size_t bytes = meetings + rt_board_bytes(size);
	/* pages are allocated at first use: most of the board's text is never used */
	void *at =
	    mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (at == MAP_FAILED) {
		rt_job_error(launcher, "no shared memory for %d ranks: %s", size, strerror(errno));
		return NULL;
	}
	struct rt_shared *s = at;
	s->size = size;
	s->bytes = bytes;
	s->board = (struct rt_board *)((char *)at + meetings);
	rt_board_start(s->board, size, 0);
	for (int r = 0; r < size; r++)
		rt_board_join(s->board, r, 0);
	return s;
}

void rt_shared_free(struct rt_shared *s)
{
	if (s)
		munmap(s, s->bytes);
}

void rt_job_host(struct rt_job *job, const char *what)
{
	struct rt_board_rank *r = &job->board->rank[job->rank - job->board->first];
	if (what && (r->last_host == 0 || strcmp(r->text + r->last_host, what) != 0))
		r->last_host = rt_label_add(job, what, NULL);
	atomic_store_explicit(&r->host, what ? r->last_host : 0, memory_order_relaxed);
}

/* Writes `rank 1` or `ranks 1 2 5`: the ranks that have not reached the round. */
static void name_missing(const struct rt_shared *s, uint32_t round, char *out, size_t n)
{
	size_t at = 0;
	int missing = 0;
	for (int r = 0; r < s->size; r++)
		missing += atomic_load_explicit(&s->rank[r].arrived, memory_order_relaxed) < round;
	at += (size_t)snprintf(out, n, missing == 1 ? "rank" : "ranks");
	for (int r = 0; r < s->size && at + 16 < n; r++)
		if (atomic_load_explicit(&s->rank[r].arrived, memory_order_relaxed) < round)
			at += (size_t)snprintf(out + at, n - at, " %d", r);
}

/* Enters the next round and waits until all ranks have. */
static enum status await_round(struct rt_job *job, const char *what)
{
	struct rt_member *m = job->boot_state;
	struct rt_shared *s = m->shared;
	uint32_t round = ++m->rounds;
	struct rt_board_rank *board = &job->board->rank[job->rank];
	struct rt_watch watch = {0};
	int next = 0; /* lower ranks have come */
	rt_job_progress(job);
	atomic_store_explicit(&s->rank[job->rank].arrived, round, memory_order_release);
	atomic_store_explicit(&board->met, round, memory_order_relaxed);
	atomic_store_explicit(&board->meets, 1, memory_order_relaxed);
	rt_bell_ring(&s->bell);
	bool noted = false;
	for (;;) {
		uint32_t seen = rt_bell_read(&s->bell);
		while (next < s->size &&
		       atomic_load_explicit(&s->rank[next].arrived, memory_order_acquire) >= round)
			next++;
		if (next == s->size)
			break;
		enum status status = rt_job_status(job);
		if (status != STATUS_OK)
			return status;
		if (rt_watch_expired(&watch, job)) {
			char missing[128], why[256];
			name_missing(s, round, missing, sizeof missing);
			snprintf(why, sizeof why, "waited %.1f s for %s to come to: %s",
			         (double)job->timeout_ms / 1000, missing, what);
			return rt_job_stuck(job, why);
		}
		if (!noted && watch.since_us != 0 && rt_clock_us() - watch.since_us > LOOK_US) {
			rt_job_host(job, what); /* a label is set only for long waits */
			noted = true;
		}
		rt_bell_wait(&s->bell, seen, LOOK_US);
	}
	atomic_store_explicit(&board->meets, 0, memory_order_relaxed);
	if (noted)
		rt_job_host(job, NULL);
	return STATUS_OK;
}

enum status rt_shared_allgather(struct rt_job *job, const char *what, const void *mine, size_t bytes,
                                void *all)
{
	struct rt_member *m = job->boot_state;
	struct rt_shared *s = m->shared;
	size_t done = 0;
	do {
		size_t n = bytes - done < RT_BLOB_BYTES ? bytes - done : RT_BLOB_BYTES;
		unsigned turn = (m->rounds + 1) & 1;
		if (n)
			memcpy(s->rank[job->rank].blob[turn], (const char *)mine + done, n);
		enum status status = await_round(job, what);
		if (status != STATUS_OK)
			return status;
		for (int r = 0; r < s->size && n; r++)
			memcpy((char *)all + (size_t)r * bytes + done, s->rank[r].blob[turn], n);
		done += n;
	} while (done < bytes);
	return STATUS_OK;
}
