/* cut: see cut.h. Places where cuts are possible: before the first use of a source. A block is the nodes between two
 * places. */
#include "sched/cut.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_PLACES = 200 };

struct sums { /* by family, over the comms before a place */
	int64_t in, out, time, n;
};

struct cut {
	const struct sched_problem *p;
	const struct sched_cut_options *o;
	uint32_t *place, n;  /* place[0] = 0, place[n]: the end */
	int64_t *work;       /* by place: host time before it */
	int64_t *live;       /* by block: most live bytes, with the operands of its sinks so far */
	int64_t *edge;       /* by place: live bytes before its first node */
	int64_t *kept;       /* by place: bytes of the operands of sinks before it */
	struct sums *gather; /* by place and family: sources first used before it */
	struct sums *scatter;
	uint32_t families; /* and one for comms without */
	int64_t *gathered; /* by place: bytes of sources first used before it */
	int64_t *room;     /* by pair of places: bytes for the next gather beside the segment */
	struct step *step; /* by pair of places */
};

struct step { /* the least time until the segment from place i to j may begin, with its sources gathered */
	int64_t time;
	uint32_t before; /* the place where the segment before it begins; SCHED_NONE: none */
	bool early;
};

static int by_place(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

/* Finds the places; of more than MOST_PLACES it takes some, evenly. */
static void find_places(struct cut *c, struct arena *a)
{
	uint32_t *all = mem_alloc(sizeof *all * ((size_t)c->o->source_n + 1)), n = 0;
	for (uint32_t k = 0; k < c->o->source_n; k++)
		all[k] = c->o->source[k].first;
	if (c->o->source_n)
		qsort(all, c->o->source_n, sizeof *all, by_place);
	for (uint32_t k = 0; k < c->o->source_n; k++)
		if (all[k] && (!n || all[n - 1] != all[k]))
			all[n++] = all[k];
	uint32_t taken = n < MOST_PLACES ? n : MOST_PLACES;
	c->place = arena_new_array(a, uint32_t, taken + 2);
	for (uint32_t k = 0; k < taken; k++)
		c->place[++c->n] = all[(uint64_t)k * n / taken];
	c->place[++c->n] = c->p->n;
	free(all);
}

/* Returns the block of a node. */
static uint32_t block_of(const struct cut *c, uint32_t x)
{
	uint32_t low = 0, high = c->n;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		*(c->place[middle] <= x ? &low : &high) = middle;
	}
	return low;
}

/* Sums the comms before each place. */
static struct sums *sum_comms(const struct cut *c, const struct sched_cut_comm *comm, uint32_t n,
                              int64_t *bytes, struct arena *a)
{
	struct sums *sum = arena_new_array(a, struct sums, (c->n + 1) * c->families);
	for (uint32_t k = 0; k < n; k++) {
		const struct sched_node *x = &c->p->node[comm[k].comm];
		uint32_t f = x->family == SCHED_NONE ? c->families - 1 : x->family,
		         b = block_of(c, comm[k].first) + 1;
		struct sums *here = &sum[b * c->families + f];
		here->in += x->in;
		here->out += x->out;
		here->time += x->time + c->p->launch;
		here->n++;
		bytes[b] += comm[k].bytes;
	}
	for (uint32_t b = 1; b <= c->n; b++) {
		bytes[b] += bytes[b - 1];
		for (uint32_t f = 0; f < c->families; f++) {
			struct sums *here = &sum[b * c->families + f], *before = here - c->families;
			here->in += before->in;
			here->out += before->out;
			here->time += before->time;
			here->n += before->n;
		}
	}
	return sum;
}

/* Returns the time of the lane for the comms between two places in one bucket a family. host: receives the time to
 * pack and unpack. */
static int64_t lane_time(const struct cut *c, const struct sums *sum, uint32_t i, uint32_t j, bool unpack,
                         int64_t *host)
{
	int64_t time = 0;
	for (uint32_t f = 0; f < c->families; f++) {
		const struct sums *from = &sum[i * c->families + f], *to = &sum[j * c->families + f];
		if (to->n - from->n < 2 || f + 1 == c->families) {
			time += to->time - from->time;
			continue;
		}
		time += sched_family_time(&c->p->family[f], to->in - from->in) + c->p->launch;
		*host += sched_copy_time(c->p, to->in - from->in);
		*host += unpack ? sched_copy_time(c->p, to->out - from->out) : 0;
	}
	return time;
}

/* Returns bytes that are at least those live between a node and the one before it. */
static int64_t edge_before(const struct cut *c, uint32_t x)
{
	int64_t before = x ? c->o->live[x - 1] : c->o->live[x];
	return before < c->o->live[x] ? before : c->o->live[x];
}

static void find_blocks(struct cut *c, struct arena *a)
{
	const struct sched_problem *p = c->p;
	uint32_t k = 0;
	c->work = arena_new_array(a, int64_t, c->n + 1);
	c->live = arena_new_array(a, int64_t, c->n + 1);
	c->edge = arena_new_array(a, int64_t, c->n + 1);
	for (uint32_t b = 0; b < c->n; b++) {
		c->work[b + 1] = c->work[b];
		c->edge[b] = edge_before(c, c->place[b]);
		int64_t kept = 0;
		for (uint32_t x = c->place[b]; x < c->place[b + 1]; x++) {
			for (; k < c->o->sink_n && c->o->sink[k].first < x; k++)
				kept += c->o->sink[k].bytes;
			c->work[b + 1] += sched_host_time(p, x);
			c->live[b] = c->o->live[x] + kept > c->live[b] ? c->o->live[x] + kept : c->live[b];
		}
		for (; k < c->o->sink_n && c->o->sink[k].first < c->place[b + 1]; k++)
			;
	}
	c->edge[c->n] = p->n ? c->o->live[p->n - 1] : 0;
}

/* Finds the bytes beside each segment. A source that the segment uses is live until its last use there. */
static void find_room(struct cut *c, struct arena *a)
{
	uint32_t n = c->n, k = c->o->source_n;
	/* by block: bytes of the sources that the segment uses before it, and still there */
	int64_t *held = arena_new_array(a, int64_t, n + 1);
	for (uint32_t i = n; i-- > 0;) {
		for (; k && c->o->source[k - 1].first >= c->place[i]; k--)
			for (uint32_t b = i + 1, to = block_of(c, c->o->source[k - 1].last); b <= to; b++)
				held[b] += c->o->source[k - 1].bytes;
		for (uint32_t j = i + 1; j <= n; j++) {
			int64_t least = INT64_MAX;
			for (uint32_t b = i; b < j; b++) {
				int64_t here = c->o->limit - c->live[b] - (c->kept[b] - c->kept[i]) -
				               (c->gathered[j] - c->gathered[b]) - held[b];
				least = here < least ? here : least;
			}
			c->room[i * (n + 1) + j] = least;
		}
	}
}

/* Returns the bytes of the bucket of a family between two places; 0 if it has fewer than two members. */
static struct sums packed_bytes(const struct cut *c, const struct sums *sum, uint32_t i, uint32_t j,
                                uint32_t f)
{
	const struct sums *from = &sum[i * c->families + f], *to = &sum[j * c->families + f];
	if (to->n - from->n < 2)
		return (struct sums){0};
	return (struct sums){.in = to->in - from->in, .out = to->out - from->out};
}

/* Takes the copies from the room: the operands of sinks are packed at the end, and the results of sources are unpacked
 * at the begin. */
static void take_copies(struct cut *c)
{
	uint32_t n = c->n;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j <= n; j++) {
			int64_t *room = &c->room[i * (n + 1) + j], in = 0, out = 0;
			for (uint32_t f = 0; f + 1 < c->families; f++) {
				in += packed_bytes(c, c->scatter, i, j, f).in;
				out += packed_bytes(c, c->gather, i, j, f).out;
			}
			int64_t end = c->o->limit - c->edge[j] - 2 * in,
			        begin = c->o->limit - c->edge[i] - 2 * out;
			*room = end < *room ? end : *room;
			*room = begin < *room ? begin : *room;
		}
}

/* Returns the step of the segment from i to j. */
static struct step *step_of(const struct cut *c, uint32_t i, uint32_t j)
{
	return &c->step[i * (c->n + 1) + j];
}

static void offer_step(struct step *s, int64_t time, uint32_t before, bool early)
{
	if (time < s->time)
		*s = (struct step){time, before, early};
}

/* Continues with all segments that may follow the one from i to j. */
static void extend_step(const struct cut *c, uint32_t i, uint32_t j, const int64_t *gather)
{
	const struct step *now = step_of(c, i, j);
	int64_t room = c->room[i * (c->n + 1) + j], host = 0, work = c->work[j] - c->work[i];
	if (now->time == INT64_MAX || room < 0)
		return;
	int64_t scatter = lane_time(c, c->scatter, i, j, false, &host);
	work += host;
	if (j == c->n) {
		offer_step(step_of(c, c->n, c->n), now->time + work + scatter, i, false);
		return;
	}
	for (uint32_t l = j + 1; l <= c->n; l++) {
		int64_t next = gather[j * (c->n + 1) + l];
		bool early = c->gathered[l] - c->gathered[j] <= room;
		int64_t before = !early ? work + next : next > work ? next : work;
		offer_step(step_of(c, j, l), now->time + before + scatter, i, early);
	}
}

/* Takes the cuts of the shortest way. Returns false if there is none. */
static bool take_cuts(const struct cut *c, struct arena *a, struct sched_cuts *out)
{
	const struct step *s = step_of(c, c->n, c->n);
	uint32_t i = c->n, j = c->n, n = 0;
	if (s->time == INT64_MAX)
		return false;
	out->at = arena_new_array(a, uint32_t, c->n + 1);
	out->early = arena_new_array(a, bool, c->n + 1);
	while (s->before != SCHED_NONE) { /* from the last segment to the first */
		uint32_t before = s->before;
		out->at[n] = c->place[i];
		j = i;
		i = before;
		s = step_of(c, i, j);
		out->early[n++] = s->early;
	}
	out->at[n] = 0;
	out->n = n;
	for (uint32_t k = 0; k < (n + 1) / 2; k++) {
		uint32_t at = out->at[k];
		out->at[k] = out->at[n - k];
		out->at[n - k] = at;
	}
	for (uint32_t k = 0; k < n / 2; k++) {
		bool early = out->early[k];
		out->early[k] = out->early[n - 1 - k];
		out->early[n - 1 - k] = early;
	}
	return true;
}

bool sched_cut(const struct sched_problem *p, const struct sched_cut_options *o, struct arena *a,
               struct sched_cuts *out)
{
	struct arena *scratch = arena_new();
	struct cut c = {.p = p, .o = o, .families = p->family_n + 1};
	find_places(&c, scratch);
	uint32_t n = c.n;
	c.gathered = arena_new_array(scratch, int64_t, n + 1);
	c.kept = arena_new_array(scratch, int64_t, n + 1);
	c.room = arena_new_array(scratch, int64_t, (n + 1) * (n + 1));
	c.step = arena_new_array(scratch, struct step, (n + 1) * (n + 1));
	int64_t *gather = arena_new_array(scratch, int64_t, (n + 1) * (n + 1)), host = 0;
	c.gather = sum_comms(&c, o->source, o->source_n, c.gathered, scratch);
	c.scatter = sum_comms(&c, o->sink, o->sink_n, c.kept, scratch);
	find_blocks(&c, scratch);
	find_room(&c, scratch);
	take_copies(&c);
	for (uint32_t i = 0; i <= n; i++)
		for (uint32_t j = i; j <= n; j++) {
			*step_of(&c, i, j) = (struct step){INT64_MAX, SCHED_NONE, false};
			gather[i * (n + 1) + j] = lane_time(&c, c.gather, i, j, true, &host);
		}
	for (uint32_t j = 1; j <= n; j++)
		offer_step(step_of(&c, 0, j), gather[j], SCHED_NONE, false);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = i + 1; j <= n; j++)
			extend_step(&c, i, j, gather);
	bool found = take_cuts(&c, a, out);
	arena_free(scratch);
	return found;
}
