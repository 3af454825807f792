/* shm_team: keeps the slots and counters of a team; see shm.h. */
#include "base/arena.h"
#include "rt/shm.h"
#include <stdlib.h>

enum { CHUNK_BYTES = 16 << 20 /* shared memory allocated at once; its pages are allocated at first use */ };

/* Allocates the same bytes on all ranks. */
static enum status allocate_chunk(struct shm *s, size_t bytes, char **out)
{
	struct rt_job *job = s->base.job;
	if (s->chunks == 0 || s->chunk_used + bytes > s->chunk[s->chunks - 1].bytes) {
		struct rt_region region;
		enum status status = job->boot->share(job, "the transport's teams",
		                                      bytes > CHUNK_BYTES ? bytes : CHUNK_BYTES, &region);
		if (status != STATUS_OK)
			return status;
		s->chunk = mem_realloc(s->chunk, (size_t)(s->chunks + 1) * sizeof *s->chunk);
		s->chunk[s->chunks++] = region;
		s->chunk_used = 0;
	}
	*out = (char *)s->chunk[s->chunks - 1].at + s->chunk_used;
	s->chunk_used += bytes;
	return STATUS_OK;
}

enum status shm_team_open(struct shm *s, int id)
{
	const struct rt_team *team = &s->base.team[id];
	size_t n = (size_t)team->n;
	struct shm_team t = {.n = team->n, .index = team->index, .free = SHM_DEPTH};
	t.slot_bytes = (SHM_SLOT_BYTES + n * sizeof(struct shm_entry) + SHM_LINE - 1) / SHM_LINE * SHM_LINE;
	char *memory = NULL;
	if (n > 1) {
		enum status status = allocate_chunk(
		    s, n * sizeof(struct shm_progress) + n * SHM_DEPTH * t.slot_bytes, &memory);
		if (status != STATUS_OK)
			return status;
	}
	t.memory = team->index < 0 ? NULL : memory;
	s->team = mem_realloc(s->team, (size_t)(id + 1) * sizeof *s->team);
	s->team[id] = t;
	s->teams = id + 1;
	return STATUS_OK;
}

void shm_teams_close(struct shm *s)
{
	for (int i = 0; i < s->teams; i++)
		for (struct rt_request *r = s->team[i].unused, *next; r; r = next) {
			next = r->next;
			free(r);
		}
	for (int i = 0; i < s->chunks; i++)
		s->base.job->boot->unshare(s->base.job, &s->chunk[i]);
	free(s->chunk);
	free(s->team);
}

static struct shm_progress *progress_of(const struct shm_team *t, int member)
{
	return (struct shm_progress *)t->memory + member;
}

struct shm_slot *shm_team_slot(const struct shm_team *t, int member, uint64_t sequence)
{
	size_t i = (size_t)member * SHM_DEPTH + sequence % SHM_DEPTH;
	return (struct shm_slot *)(t->memory + (size_t)t->n * sizeof(struct shm_progress) +
	                           i * t->slot_bytes);
}

struct shm_entry *shm_slot_table(struct shm_slot *slot)
{
	return (struct shm_entry *)((char *)slot + SHM_SLOT_BYTES);
}

bool shm_team_free(struct shm_team *t, uint64_t sequence)
{
	if (sequence < t->free)
		return true;
	uint64_t least = t->done;
	for (int m = 0; m < t->n; m++) {
		uint64_t done = m == t->index ? t->done : atomic_load(&progress_of(t, m)->done);
		least = done < least ? done : least;
	}
	t->free = least + SHM_DEPTH;
	return sequence < t->free;
}

bool shm_team_has_read(const struct shm_team *t, int member, uint64_t sequence)
{
	struct shm_progress *p = progress_of(t, member);
	return atomic_load(&p->read) > sequence || atomic_load(&p->done) > sequence;
}

bool shm_team_finish(struct shm_team *t, uint64_t sequence, enum shm_finished what)
{
	struct shm_progress *p = progress_of(t, t->index);
	uint64_t read = t->read, done = t->done;
	t->finished[sequence % SHM_DEPTH] |= (uint8_t)what;
	while (read < t->published && t->finished[read % SHM_DEPTH] & SHM_HAS_READ)
		read++;
	while (done < read && t->finished[done % SHM_DEPTH] & SHM_HAS_COMPARED)
		t->finished[done++ % SHM_DEPTH] = 0;
	bool news = false;
	if (done > t->done) {
		t->done = done;
		atomic_store_explicit(&p->done, done, memory_order_release);
		news = true;
	}
	if (read > t->read) {
		t->read = read;
		news = true;
		if (read > done)
			atomic_store_explicit(&p->read, read, memory_order_release);
	}
	return news;
}
