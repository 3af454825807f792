/* crest_path: see crest_path.h. Dynamic programming: a state has numbers of parts that are done, of gathered cells, and of
 * rare buckets. A bucket runs beside as many parts as it can. It is never better to leave one to the next bucket, which
 * fits beside the parts behind it as well without. */
#include "sched/crest_path.h"
#include "base/vec.h"
#include <stdlib.h>

struct search {
	const struct crest_path *path;
	uint32_t cells; /* one more than all results have */
	int64_t *least; /* by rare buckets, parts and cells: ns, or INT64_MAX */
	/* The buckets that begin before the present part: */
	uint32_t
	    *end; /* by kind, and of rare ones: the parts that are done when it is over, if memory had room */
	uint32_t far; /* the most of them */
	int64_t *
	    room; /* by part from the present one on: bytes beside it and those before it, for the present cells */
};

static int64_t *state_of(const struct search *s, uint32_t rare, uint32_t done, uint32_t cells)
{
	return &s->least[((size_t)rare * (s->path->part_n + 1) + done) * s->cells + cells];
}

static void offer(int64_t *state, int64_t time)
{
	*state = time < *state ? time : *state;
}

/* Returns the bytes of results that are gathered ahead when so many bytes of operands are used. */
static int64_t ahead_of(const struct search *s, int64_t used, uint32_t cells)
{
	int64_t bytes = cells * s->path->cell;
	return bytes > used ? (int64_t)(s->path->ratio * (double)(bytes - used)) : 0;
}

static int64_t room_beside(const struct search *s, uint32_t part, uint32_t cells)
{
	return s->path->part[part].room - ahead_of(s, s->path->part[part].used, cells);
}

/* Returns true if so many cells may hold all results that the part needs. */
static bool has_needed(const struct search *s, uint32_t part, uint32_t cells)
{
	return (cells + 1) * s->path->cell > s->path->part[part].needed;
}

/* Returns the parts that are done when a bucket is over that begins before part `done`, if memory has room. */
static uint32_t end_of(const struct crest_path *path, const struct crest_kind *k, uint32_t done)
{
	int64_t between = 0;
	uint32_t end = done;
	for (; end < path->part_n && between <= k->time; end++)
		between += end > done ? path->part[end].time : 0;
	return end;
}

static void find_ends(struct search *s, uint32_t done)
{
	const struct crest_path *path = s->path;
	s->far = done;
	for (uint32_t i = 0; i <= path->kind_n; i++) {
		s->end[i] = end_of(path, i < path->kind_n ? &path->kind[i] : &path->rare, done);
		s->far = s->end[i] > s->far ? s->end[i] : s->far;
	}
}

/* Finds the room beside the parts from `done` on. The first that cannot run has -1, as the one behind the last. */
static void find_rooms(const struct search *s, uint32_t done, uint32_t cells)
{
	int64_t least = INT64_MAX;
	uint32_t k = done;
	for (; k < s->far && least >= 0; k++) {
		int64_t here = has_needed(s, k, cells) ? room_beside(s, k, cells) : -1;
		least = here < least ? here : least;
		s->room[k - done] = least < -1 ? -1 : least;
	}
	s->room[k - done] = -1;
}

/* Offers a bucket to the state after it. fit: the number of parts that a bucket of about its bytes fits beside. */
static void offer_bucket(const struct search *s, const struct crest_kind *k, uint32_t end, uint32_t *fit,
                         int64_t *state, uint32_t done, int64_t time)
{
	while (s->room[*fit] >= k->flight)
		++*fit;
	while (*fit && s->room[*fit - 1] < k->flight)
		--*fit;
	end = end - done < *fit ? end - done : *fit;
	offer(&state[(size_t)end * s->cells + k->cells], time + k->cost);
}

static void extend_state(const struct search *s, uint32_t rare, uint32_t done, uint32_t cells)
{
	const struct crest_path *path = s->path;
	bool last = done == path->part_n;
	int64_t *state = state_of(s, rare, done, cells), here = *state,
	        issue = path->room - ahead_of(s, last ? path->gathered : path->part[done].used, cells);
	uint32_t fit = 0;
	if (!last && room_beside(s, done, cells) < 0)
		return; /* more results would take more room */
	find_rooms(s, done, cells);
	if (!last && s->room[0] >= 0)
		offer(state + s->cells, here + path->part[done].time);
	for (uint32_t i = 0; i < path->kind_n; i++) {
		const struct crest_kind *k = &path->kind[i];
		if (cells + k->cells < s->cells && k->issue <= issue)
			offer_bucket(s, k, s->end[i], &fit, state, done, here);
	}
	if (rare < path->rare_n && done >= path->rare_from)
		offer_bucket(s, &path->rare, s->end[path->kind_n], &fit, state_of(s, rare + 1, done, cells),
		             done, here);
}

int64_t crest_path_least(const struct crest_path *path)
{
	struct search s = {.path = path, .cells = (uint32_t)(path->gathered / path->cell) + 1};
	size_t states = (size_t)(path->rare_n + 1) * (path->part_n + 1) * s.cells;
	int64_t least = INT64_MAX;
	s.room = mem_alloc(sizeof *s.room * ((size_t)path->part_n + 1));
	s.end = mem_alloc(sizeof *s.end * ((size_t)path->kind_n + 1));
	s.least = mem_alloc(sizeof *s.least * states);
	for (size_t k = 0; k < states; k++)
		s.least[k] = INT64_MAX;
	*state_of(&s, 0, 0, 0) = 0;
	for (uint32_t rare = 0; rare <= path->rare_n; rare++)
		for (uint32_t done = 0; done <= path->part_n; done++) {
			find_ends(&s, done);
			for (uint32_t cells = 0; cells < s.cells; cells++)
				if (*state_of(&s, rare, done, cells) < INT64_MAX)
					extend_state(&s, rare, done, cells);
		}
	for (uint32_t rare = 0; rare <= path->rare_n; rare++)
		offer(&least, *state_of(&s, rare, path->part_n, s.cells - 1));
	free(s.room);
	free(s.end);
	free(s.least);
	return least;
}
