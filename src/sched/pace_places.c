/* pace_places: see pace_places.h. */
#include "sched/pace_places.h"
#include <string.h>

enum {
	MOST_USES = 160,    /* places before uses of sources */
	MOST_VALLEYS = 256, /* and more of them */
	MOST_CUTS = 256,    /* places inside blocks that memory does not admit */
	DEPTH = 12,         /* a valley is at least this part of the room lower than the nodes around it */
};

struct places {
	const struct sched_problem *p;
	const struct sched_pace_options *o;
	uint32_t *at, n; /* n blocks; at[n]: the end */
};

/* Marks the nodes at which few bytes are live, between two nodes at which at least `depth` more are. Returns their
 * number. */
static uint32_t mark_valleys(const struct places *c, int64_t depth, bool *valley)
{
	int64_t high = 0, low = 0;
	uint32_t where = 0, n = 0;
	memset(valley, 0, c->p->n);
	for (uint32_t x = 0; x < c->p->n; x++) {
		int64_t live = c->o->live[x];
		if (high > low + depth && live > low + depth) {
			valley[where] = true;
			n++;
			high = low = live;
		} else if (live > high) {
			high = low = live;
		} else if (live <= low) {
			low = live;
			where = x + 1;
		}
	}
	return n;
}

/* Finds the valleys. If there are too many, the shallow ones are left out. */
static bool *find_valleys(const struct places *c, struct arena *a)
{
	bool *valley = arena_new_array(a, bool, c->p->n + 1);
	int64_t depth = (c->o->limit - c->p->fixed) / DEPTH;
	while (mark_valleys(c, depth, valley) > MOST_VALLEYS)
		depth += depth / 4 + 1;
	return valley;
}

/* Finds the places in valleys and before first uses of sources, with at least a part of all gathered bytes between the
 * latter. */
static void find_places(struct places *c, struct arena *a)
{
	const bool *valley = find_valleys(c, a);
	int64_t all = 0, since = 0;
	uint32_t k = 0;
	for (uint32_t i = 0; i < c->o->source_n; i++)
		all += c->o->source[i].bytes;
	c->at = arena_new_array(a, uint32_t, MOST_USES + MOST_VALLEYS + 2);
	for (uint32_t x = 1; x < c->p->n; x++) {
		for (; k < c->o->source_n && c->o->source[k].first < x; k++)
			since += c->o->source[k].bytes;
		bool used = k < c->o->source_n && c->o->source[k].first == x;
		if (valley[x] || (used && since && since >= all / MOST_USES)) {
			c->at[++c->n] = x;
			since = 0;
		}
	}
	c->at[++c->n] = c->p->n;
}

/* Returns, by node, the bytes of sources that are used before it, and by it or later. */
static int64_t *sum_crossing(const struct places *c, struct arena *a)
{
	int64_t *sum = arena_new_array(a, int64_t, c->p->n + 1);
	for (uint32_t i = 0; i < c->o->source_n; i++) {
		const struct sched_pace_comm *s = &c->o->source[i];
		sum[s->first + 1] += s->bytes;
		sum[s->last + 1] -= s->bytes;
	}
	for (uint32_t x = 1; x < c->p->n; x++)
		sum[x] += sum[x - 1];
	return sum;
}

/* The bytes that a block needs, from its begin to a node. */
struct block {
	int64_t crossing; /* sources that were used before */
	int64_t sources;  /* used for the first time; they are there from the begin on */
	int64_t kept;     /* operands of sinks so far */
	int64_t most;     /* of each node and the operands that are kept then */
};

static int64_t block_bytes(const struct block *b)
{
	return b->crossing + b->sources + b->most;
}

/* Adds a node with so many live bytes, which is the first to use sources of so many bytes. */
static struct block block_with(struct block b, int64_t live, int64_t sources)
{
	b.sources += sources;
	b.most = live + b.kept > b.most ? live + b.kept : b.most;
	return b;
}

/* Cuts blocks that memory does not admit before the node with which they do not fit: sinks made before can be sent
 * there, and sources used behind need not be there yet. */
static void cut_blocks(struct places *c, struct arena *a)
{
	const struct sched_pace_options *o = c->o;
	const int64_t *crossing = sum_crossing(c, a);
	uint32_t *at = arena_new_array(a, uint32_t, c->n + MOST_CUTS + 1), n = 0, cuts = 0, source = 0,
	         sink = 0;
	for (uint32_t k = 0; k < c->n; k++) {
		struct block b = {.crossing = crossing[c->at[k]]};
		at[n++] = c->at[k];
		for (uint32_t x = c->at[k]; x < c->at[k + 1]; x++) {
			int64_t sources = 0;
			for (; sink < o->sink_n && o->sink[sink].first < x; sink++)
				b.kept += o->sink[sink].bytes;
			for (; source < o->source_n && o->source[source].first <= x; source++)
				sources += o->source[source].bytes;
			bool holds = b.kept || b.sources || sources;
			struct block with = block_with(b, o->live[x], sources);
			if (block_bytes(&with) > o->limit && holds && x > at[n - 1] && cuts < MOST_CUTS) {
				cuts++;
				at[n++] = x;
				with =
				    block_with((struct block){.crossing = crossing[x]}, o->live[x], sources);
			}
			b = with;
		}
	}
	at[n] = c->p->n;
	c->at = at;
	c->n = n;
}

uint32_t sched_pace_places(const struct sched_problem *p, const struct sched_pace_options *o, struct arena *a,
                           uint32_t **place)
{
	struct places c = {.p = p, .o = o};
	find_places(&c, a);
	cut_blocks(&c, a);
	*place = c.at;
	return c.n;
}
