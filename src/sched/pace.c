/* pace: see pace.h. Dynamic programming: a label is a lane that has gathered the sources before one place and scattered
 * the sinks before another. Its numbers are the time when the lane is free, and the place and time of the host. A label
 * that is behind another one of the same two places in both is dropped; of the others, a few are kept. */
#include "sched/pace.h"
#include "base/vec.h"
#include "sched/pace_places.h"
#include <stdlib.h>
#include <string.h>

enum {
	LABELS = 300, /* that are kept for the same places */
	BUCKETS = 8,  /* about as many as a lane has at least, to estimate its time */
};

struct sums { /* by family, over the comms before a place */
	int64_t in, out, copied, time, n;
};

struct label {
	int64_t free, now; /* time when the lane is free; time of the host */
	int64_t flight;    /* bytes of the last bucket while the lane has it */
	int64_t idle;      /* ns for which the host has waited until `now` */
	struct unpack {
		uint32_t at;   /* place where a gather is unpacked, or SCHED_NONE */
		int64_t bytes; /* beside its results */
		int64_t time;
	} unpack[2];                 /* the next two */
	uint32_t gathered, sent, at; /* places */
	uint32_t before;             /* the label before it, or SCHED_NONE */
	uint32_t issue; /* place where its last bucket was issued; SCHED_NONE: the host did a block alone */
};

struct key { /* what labels of the same places are compared by */
	int64_t free, now;
	int64_t rate; /* see rate_label */
	uint32_t at, label;
};

struct cell { /* labels of the same places, that are not behind others */
	struct key *at;
	uint32_t n, cap;
	uint32_t ahead; /* the one that was ahead of a label last */
};

struct bucket;

struct pace {
	const struct sched_problem *p;
	const struct sched_pace_options *o;
	uint32_t *place, n; /* place[0] = 0, place[n]: the end; block b is the nodes from place b on */
	int64_t *work;      /* by block: host time */
	/* by block: most bytes, with sources used before that are still live, and its own sinks */
	int64_t *need;
	int64_t *edge;       /* by place: bytes between two nodes there, likewise */
	int64_t *use;        /* by block: bytes before the first use of a source in it, likewise */
	int64_t *alone;      /* by block: bytes with no bucket beside it; may exceed the limit */
	int64_t *kept;       /* by place: bytes of the operands of sinks before it */
	int64_t *gathered;   /* by place: bytes of sources first used before it */
	struct sums *gather; /* by place and family: sources first used before it */
	struct sums *scatter;
	uint32_t families;                   /* and one for comms without */
	int64_t *left;                       /* by place: host time from it on */
	int64_t *gather_left, *scatter_left; /* by place: about the lane's time from it on */
	struct cell *cell;                   /* by gathered and sent */
	const struct cell *now;              /* its labels are extended */
	int64_t most;                        /* the most bytes that memory had room for */
	struct bucket *next[2];              /* by end: a scatter or gather from the places of that cell on */
	uint32_t next_n[2];                  /* ends that are measured so far */
	VEC(struct label) label;
	VEC(uint32_t) unused; /* labels that no other one follows */
};

/* Returns the block of a node. */
static uint32_t block_of(const struct pace *c, uint32_t x)
{
	uint32_t low = 0, high = c->n;
	while (high - low > 1) {
		uint32_t middle = (low + high) / 2;
		*(c->place[middle] <= x ? &low : &high) = middle;
	}
	return low;
}

/* Sums the comms before each place. */
static struct sums *sum_comms(const struct pace *c, const struct sched_pace_comm *comm, uint32_t n,
                              int64_t *bytes, struct arena *a)
{
	struct sums *sum = arena_new_array(a, struct sums, (c->n + 1) * c->families);
	for (uint32_t k = 0; k < n; k++) {
		const struct sched_transfer *x = sched_transfer(c->p, comm[k].comm);
		uint32_t f = x->family == SCHED_NONE ? c->families - 1 : x->family,
		         b = block_of(c, comm[k].first) + 1;
		struct sums *here = &sum[b * c->families + f];
		here->in += x->in;
		here->out += x->out;
		here->copied += comm[k].copied;
		here->time += c->p->node[comm[k].comm].time + c->p->launch;
		here->n++;
		bytes[b] += comm[k].bytes;
	}
	for (uint32_t b = 1; b <= c->n; b++) {
		bytes[b] += bytes[b - 1];
		for (uint32_t f = 0; f < c->families; f++) {
			struct sums *here = &sum[b * c->families + f], *before = here - c->families;
			here->in += before->in;
			here->out += before->out;
			here->copied += before->copied;
			here->time += before->time;
			here->n += before->n;
		}
	}
	return sum;
}

struct bucket {           /* the comms between two places: a bucket for each family */
	int64_t time;     /* ns of the lane */
	int64_t pack;     /* ns of the host before it is issued */
	int64_t unpack;   /* ns of the host when it is used */
	int64_t issued;   /* bytes that are made when it is issued */
	int64_t flight;   /* bytes until it is over */
	int64_t unpacked; /* bytes beside the gathered tensors when it is unpacked */
};

/* gather: else it is a scatter. */
static struct bucket measure_bucket(const struct pace *c, bool gather, uint32_t i, uint32_t j)
{
	const struct sums *sum = gather ? c->gather : c->scatter;
	struct bucket b = {0};
	for (uint32_t f = 0; f < c->families; f++) {
		const struct sums *from = &sum[i * c->families + f], *to = &sum[j * c->families + f];
		int64_t in = to->in - from->in, out = to->out - from->out;
		if (to->n == from->n)
			continue;
		b.unpacked += to->copied - from->copied;
		if (to->n - from->n < 2 ||
		    f + 1 == c->families) { /* the operand of a scatter is freed at once */
			b.flight += gather ? out : 0;
			b.time += to->time - from->time;
			b.issued += gather ? out : in + (f + 1 < c->families ? c->kept[j] - c->kept[i] : 0);
			continue;
		}
		b.flight += gather ? out : in;
		b.time += sched_family_time(&c->p->family[f], in) + c->p->launch;
		b.pack += sched_copy_time(c->p, in) + c->p->launch;
		b.unpack += gather ? sched_copy_time(c->p, out) + c->p->launch : 0;
		b.issued += gather ? out : 2 * in;
		b.unpacked += gather ? out : 0; /* the gathered buffer */
	}
	return b;
}

/* Finds the host time and the bytes of each block. */
static void find_blocks(struct pace *c, struct arena *a)
{
	uint32_t k = 0;
	c->work = arena_new_array(a, int64_t, c->n + 1);
	c->need = arena_new_array(a, int64_t, c->n + 1);
	c->alone = arena_new_array(a, int64_t, c->n + 1);
	c->edge = arena_new_array(a, int64_t, c->n + 1);
	c->use = arena_new_array(a, int64_t, c->n + 1);
	for (uint32_t b = 0; b < c->n; b++) {
		const int64_t *live = c->o->live;
		uint32_t x = c->place[b];
		int64_t kept = 0;
		c->edge[b] = x && live[x - 1] < live[x] ? live[x - 1] : live[x];
		for (; x < c->place[b + 1]; x++) {
			for (; k < c->o->sink_n && c->o->sink[k].first < x; k++)
				kept += c->o->sink[k].bytes;
			c->work[b] += sched_host_time(c->p, x);
			c->need[b] = live[x] + kept > c->need[b] ? live[x] + kept : c->need[b];
		}
		for (; k < c->o->sink_n && c->o->sink[k].first < c->place[b + 1]; k++)
			;
	}
	c->edge[c->n] = c->o->live[c->p->n - 1];
	for (uint32_t i = c->o->source_n; i-- > 0;) {
		uint32_t x = c->o->source[i].first, from = block_of(c, x),
		         to = block_of(c, c->o->source[i].last);
		c->use[from] = x && c->o->live[x - 1] < c->o->live[x] ? c->o->live[x - 1] : c->o->live[x];
		for (uint32_t b = from + 1; b <= to; b++) {
			c->need[b] += c->o->source[i].bytes;
			c->edge[b] += c->o->source[i].bytes;
		}
	}
	for (uint32_t b = 0; b < c->n; b++) {
		c->alone[b] = c->need[b] + c->gathered[b + 1] - c->gathered[b];
		c->use[b] = c->use[b] > c->edge[b] ? c->use[b] : c->edge[b];
	}
}

/* Finds about the time that host and lane take from each place on. */
static void find_left(struct pace *c, struct arena *a)
{
	c->left = arena_new_array(a, int64_t, c->n + 1);
	c->gather_left = arena_new_array(a, int64_t, c->n + 1);
	c->scatter_left = arena_new_array(a, int64_t, c->n + 1);
	for (uint32_t b = c->n; b-- > 0;) {
		c->left[b] = c->left[b + 1] + c->work[b];
		for (uint32_t f = 0; f < c->families; f++)
			for (unsigned gather = 0; gather < 2; gather++) {
				const struct sums *all = gather ? c->gather : c->scatter;
				const struct sums *i = &all[b * c->families + f], *j = i + c->families,
				                  *end = &all[c->n * c->families + f];
				int64_t *left = gather ? c->gather_left : c->scatter_left;
				double rate =
				    f + 1 < c->families && end->in
				        ? sched_family_least(&c->p->family[f], end->in / BUCKETS + 1)
				        : 0;
				left[b] += (f ? 0 : left[b + 1]) +
				           (f + 1 < c->families ? (int64_t)(rate * (double)(j->in - i->in))
				                                : j->time - i->time);
			}
	}
}

/* Returns the bytes of a label's gathered tensors and operands at a place. */
static int64_t held_at(const struct pace *c, uint32_t gathered, uint32_t sent, uint32_t at)
{
	int64_t later = gathered > at ? c->gathered[gathered] - c->gathered[at] : 0;
	return later + c->kept[at] - c->kept[sent];
}

/* Returns a time to compare labels by: the lower, the better. */
static int64_t rate_label(const struct pace *c, const struct label *l)
{
	int64_t lane = l->free + c->gather_left[l->gathered] + c->scatter_left[l->sent],
	        host = l->now + c->left[l->at];
	return lane > host ? lane + (host - lane) / 64 : host;
}

/* Returns true if label l is not behind m. */
static bool is_ahead(const struct key *l, const struct key *m)
{
	return l->free <= m->free && l->at >= m->at &&
	       l->now <= (l->at > m->at && m->free > m->now ? m->free : m->now);
}

/* Returns true if a label of the cell is ahead of this one. */
static bool is_behind(struct cell *cell, const struct key *l)
{
	if (cell->ahead < cell->n && is_ahead(&cell->at[cell->ahead], l))
		return true;
	for (uint32_t k = 0; k < cell->n; k++)
		if (is_ahead(&cell->at[k], l)) {
			cell->ahead = k;
			return true;
		}
	return false;
}

/* Notes that a label has left its cell. Others may follow it if the cell is being extended. */
static void drop_label(struct pace *c, const struct cell *cell, uint32_t label)
{
	if (cell != c->now)
		vec_push(&c->unused, label);
}

/* Returns the place of a new label of the cell. Those of a cell that is being extended are in order. */
static uint32_t place_label(struct pace *c, const struct cell *cell, const struct label *l)
{
	if (cell == c->now || !c->unused.n) {
		vec_push(&c->label, *l);
		return c->label.n - 1;
	}
	uint32_t k = c->unused.at[--c->unused.n];
	c->label.at[k] = *l;
	return k;
}

/* Keeps a label, unless another one of its cell is ahead. */
static void offer_label(struct pace *c, const struct label *l)
{
	struct cell *cell = &c->cell[l->gathered * (c->n + 1) + l->sent];
	struct key new = {.free = l->free, .now = l->now, .at = l->at};
	uint32_t n = 0, worst = 0;
	if (is_behind(cell, &new))
		return;
	new.rate = rate_label(c, l);
	for (uint32_t k = 0; k < cell->n; k++) {
		if (is_ahead(&new, &cell->at[k]))
			drop_label(c, cell, cell->at[k].label);
		else
			cell->at[n++] = cell->at[k];
	}
	cell->n = n;
	if (n == LABELS) {
		for (uint32_t k = 1; k < n; k++)
			if (cell->at[k].rate > cell->at[worst].rate)
				worst = k;
		if (new.rate >= cell->at[worst].rate)
			return;
		drop_label(c, cell, cell->at[worst].label);
		cell->at[worst] = cell->at[--cell->n];
	}
	new.label = place_label(c, cell, l);
	vec_push(cell, new);
}

/* Returns true if memory has so many bytes. */
static bool has_room(struct pace *c, int64_t bytes)
{
	if (bytes > c->o->limit)
		return false;
	c->most = bytes > c->most ? bytes : c->most;
	return true;
}

/* Returns true if memory has room for the next block of a label, and for the copies before it. */
static bool fits(struct pace *c, const struct label *l)
{
	int64_t held = held_at(c, l->gathered, l->sent, l->at) + l->flight, block = c->need[l->at] + held;
	return (has_room(c, block) || block <= c->alone[l->at]) &&
	       (l->at != l->unpack[0].at || has_room(c, c->use[l->at] + held + l->unpack[0].bytes));
}

/* Lets the host do the next block. */
static void run_block(const struct pace *c, struct label *l)
{
	l->now += c->work[l->at];
	l->idle = 0;
	if (l->at++ != l->unpack[0].at)
		return;
	l->now += l->unpack[0].time;
	l->unpack[0] = l->unpack[1];
	l->unpack[1].at = SCHED_NONE;
}

/* Lets the host go on until a time. */
static void run_blocks(struct pace *c, struct label *l, int64_t until)
{
	while (l->at < l->gathered && l->now < until && fits(c, l))
		run_block(c, l);
}

/* Returns the bucket from the present place of the cell that is being extended to another one. */
static const struct bucket *measure_next(struct pace *c, bool gather, uint32_t i, uint32_t end)
{
	for (; c->next_n[gather] <= end; c->next_n[gather]++)
		c->next[gather][c->next_n[gather]] = measure_bucket(c, gather, i, c->next_n[gather]);
	return &c->next[gather][end];
}

/* Offers the label after one more bucket, issued at the present place or, if the host is behind the lane, at the place
 * before it. Returns false if memory has no room. */
static bool extend_label(struct pace *c, uint32_t from, bool gather, uint32_t end)
{
	struct label l = c->label.at[from];
	uint32_t i = gather ? l.gathered : l.sent;
	const struct bucket b = *measure_next(c, gather, i, end);
	uint32_t sent = gather ? l.sent : end;
	l.issue = l.at;
	if (l.now > l.free && l.at && (gather || end < l.at)) {
		uint32_t y = l.at - 1;
		int64_t held = held_at(c, l.gathered, sent, y) + l.flight;
		if (l.now - c->work[y] <= l.free && has_room(c, c->need[y] + held + b.flight) &&
		    has_room(c, c->edge[y] + held + b.issued))
			l.issue = y;
	}
	int64_t held = c->edge[l.issue] + held_at(c, l.gathered, sent, l.issue) + b.issued;
	if (!has_room(c, held) || (gather && !has_room(c, c->use[i] + b.flight + b.unpacked)))
		return false;
	/* the host packs while it would wait, if memory has room for that beside the bucket before */
	int64_t early = l.issue == l.at && has_room(c, held + l.flight) ? l.idle : 0;
	int64_t ready = l.now - (l.issue == l.at ? early : c->work[l.issue]) + b.pack;
	l.before = from;
	l.now += b.pack > early ? b.pack - early : 0;
	l.free = (ready > l.free ? ready : l.free) + b.time;
	l.flight = b.flight;
	l.sent = sent;
	run_blocks(c, &l, l.free);
	if (gather) {
		l.gathered = end;
		struct unpack *u = &l.unpack[l.unpack[0].at != SCHED_NONE];
		if (u->at == SCHED_NONE)
			*u = (struct unpack){i, b.unpacked, b.unpack};
	}
	l.idle = l.now < l.free ? l.free - l.now : 0;
	l.now += l.idle;
	offer_label(c, &l);
	return true;
}

/* Offers the label after one more block with an idle lane. */
static void run_alone(struct pace *c, uint32_t from)
{
	struct label l = c->label.at[from];
	l.flight = 0;
	if (l.at == l.gathered || !fits(c, &l))
		return;
	l.now = l.now > l.free ? l.now : l.free;
	run_block(c, &l);
	l.before = from;
	l.issue = SCHED_NONE;
	offer_label(c, &l);
}

static void extend_cell(struct pace *c, uint32_t gathered, uint32_t sent)
{
	struct cell *cell = &c->cell[gathered * (c->n + 1) + sent];
	uint32_t first = c->label.n;
	c->now = cell;
	c->next_n[true] = gathered + 1;
	c->next_n[false] = sent + 1;
	for (uint32_t k = 0; k < cell->n; k++)
		run_alone(c, cell->at[k].label);
	for (uint32_t k = first; k < c->label.n; k++)
		run_alone(c, k);
	for (uint32_t k = 0; k < cell->n; k++) {
		uint32_t l = cell->at[k].label;
		for (uint32_t end = gathered + 1; end <= c->n;
		     end++) /* the last place with the same sources */
			if (end == c->n || c->gathered[end] != c->gathered[end + 1])
				if (!extend_label(c, l, true, end))
					break;
		for (uint32_t end = sent + 1; end <= c->label.at[l].at; end++) /* the first, of sinks */
			if (end == c->n || c->kept[end] != c->kept[end - 1])
				if (!extend_label(c, l, false, end))
					break;
	}
	if (gathered < c->n || sent < c->n) /* the last labels are still asked for */
		vec_free(cell);
}

static uint32_t take_buckets(const struct pace *c, uint32_t last, struct arena *a,
                             struct sched_paced **bucket)
{
	uint32_t n = 0;
	for (uint32_t k = last; c->label.at[k].before != SCHED_NONE; k = c->label.at[k].before)
		n += c->label.at[k].issue != SCHED_NONE;
	*bucket = arena_new_array(a, struct sched_paced, n);
	for (uint32_t k = last, i = n; i; k = c->label.at[k].before) {
		const struct label *l = &c->label.at[k];
		if (l->issue == SCHED_NONE)
			continue;
		const struct label *m = &c->label.at[l->before];
		bool gather = l->gathered != m->gathered;
		(*bucket)[--i] =
		    (struct sched_paced){gather, c->place[gather ? m->gathered : m->sent],
		                         c->place[gather ? l->gathered : l->sent], c->place[l->issue]};
	}
	return n;
}

uint32_t sched_pace(const struct sched_problem *p, const struct sched_pace_options *o, struct arena *a,
                    struct sched_paced **bucket, int64_t *most)
{
	struct arena *scratch = arena_new();
	struct pace c = {.p = p, .o = o, .families = p->family_n + 1};
	c.n = sched_pace_places(p, o, scratch, &c.place);
	c.gathered = arena_new_array(scratch, int64_t, c.n + 1);
	c.kept = arena_new_array(scratch, int64_t, c.n + 1);
	c.cell = arena_new_array(scratch, struct cell, (c.n + 1) * (c.n + 1));
	for (unsigned k = 0; k < 2; k++)
		c.next[k] = arena_new_array(scratch, struct bucket, c.n + 1);
	c.gather = sum_comms(&c, o->source, o->source_n, c.gathered, scratch);
	c.scatter = sum_comms(&c, o->sink, o->sink_n, c.kept, scratch);
	find_blocks(&c, scratch);
	find_left(&c, scratch);
	offer_label(&c, &(struct label){.before = SCHED_NONE,
	                                .issue = SCHED_NONE,
	                                .unpack = {{.at = SCHED_NONE}, {.at = SCHED_NONE}}});
	for (uint32_t i = 0; i <= c.n; i++)
		for (uint32_t j = 0; j <= i; j++)
			extend_cell(&c, i, j);
	struct cell *end = &c.cell[c.n * (c.n + 1) + c.n];
	uint32_t best = SCHED_NONE, n = 0;
	for (uint32_t k = 0; k < end->n; k++)
		if (best == SCHED_NONE || end->at[k].free < c.label.at[best].free)
			best = end->at[k].label;
	if (best != SCHED_NONE)
		n = take_buckets(&c, best, a, bucket);
	vec_free(end);
	vec_free(&c.unused);
	vec_free(&c.label);
	*most = c.most;
	arena_free(scratch);
	return n;
}
