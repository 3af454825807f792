/* plan_lifetime: walks the plan as the executor will, with a clock for each stream instead of work.
 *
 * All that steers the walk is in registers, so it is known here which task touches which slot on which
 * stream, and what is ordered before what:
 *
 *     task         an event of the current stream
 *     sync s       the current stream has seen all that s has
 *     collective   uses its slots from what the current stream has seen …
 *     wait         … to this event of the stream that waits
 *
 *     stream 0    A = exp(X)    B = A + A                     A and C may have the same memory:
 *     stream 1                     sync 0   C = sin(B)        all of A is seen by C's first event
 *
 * A slot is in use from its first event to its last. If it is allocated in a loop, each iteration has a life
 * of its own. Two slots meet when an event of one falls within a life of the other, or is not ordered after
 * all that the other had before. The walk gives up, and nothing is known, when it takes too long or needs
 * more than MAX_STREAMS clocks. */
#include "exec/plan_lifetime.h"
#include "exec/scalar_op.h"
#include <string.h>

enum { MAX_STREAMS = 64, MAX_SLOTS = 1 << 18, MAX_WORK = 1 << 26, MAX_PAIRS = 1 << 22, NONE = UINT32_MAX };

struct slot {
	uint32_t buffer;
	bool used, pinned;
	uint32_t life;         /* number of the iteration in which it is alive */
	uint32_t first, last;  /* events of this life, in the order of issue */
	uint32_t pending;      /* communications that use it and were not waited for */
	uint32_t newer, older; /* slots used right after and before it; NONE: none */
	int64_t written;       /* elements written in this life, at most */
	uint32_t *end;         /* by stream: the last event on it; MAX_STREAMS of them */
};

struct use {
	uint32_t slot;
	int64_t written; /* elements; -1: it is read */
};

struct ticket { /* its uses are in struct walk's list */
	uint32_t first, n;
	uint32_t issued; /* its number in struct walk's list */
};

/* Of a stream: events t, each with the earliest use that none of those from t on has ended before. */
struct tail {
	uint32_t t, at;
};

struct tickets {
	VEC(struct ticket) list;
	uint32_t head;
};

struct walk {
	const struct plan *p;
	struct lifetimes *out;
	int64_t *reg;
	uint32_t *iteration; /* by register of a loop: a number that each has for its own */
	uint32_t iterations;
	struct slot *slot;
	uint32_t streams;
	int64_t index[MAX_STREAMS];               /* -1: of a handle */
	uint32_t clock[MAX_STREAMS][MAX_STREAMS]; /* of stream i: what it has seen of stream j */
	uint32_t *handle;                         /* stream, by handle */
	struct tickets *queue;
	VEC(struct use) uses;
	VEC(uint32_t) issued; /* communications: the event that issued it, NONE once it was waited for */
	uint32_t oldest;      /* of these that was not waited for */
	VEC(struct tail) tail[MAX_STREAMS]; /* `at` grows, too: the suffix minima of all events' `at` */
	uint32_t newest;                    /* slot that was used last */
	uint64_t *pair;                     /* hash set: 1 + (a << 32 | b), a < b, of slots that meet */
	uint32_t pairs, room;
	uint32_t group; /* uses when the group began */
	bool grouping;
	uint32_t now;
	int64_t work;
};

/* ---- streams */

static uint32_t stream_at(struct walk *w, int64_t index)
{
	for (uint32_t s = 0; s < w->streams; s++)
		if (w->index[s] == index)
			return s;
	if (w->streams < MAX_STREAMS)
		w->index[w->streams++] = index;
	else
		w->work = MAX_WORK;
	return w->streams - 1;
}

static void see(struct walk *w, uint32_t current, uint32_t other)
{
	for (uint32_t s = 0; s < w->streams; s++)
		if (w->clock[current][s] < w->clock[other][s])
			w->clock[current][s] = w->clock[other][s];
}

/* ---- uses */

static uint64_t *pair_find(const struct walk *w, uint64_t key)
{
	uint32_t at = (uint32_t)((key * 0x9e3779b97f4a7c15u) >> 32) & (w->room - 1);
	while (w->pair[at] && w->pair[at] != key)
		at = (at + 1) & (w->room - 1);
	return &w->pair[at];
}

static void pairs_grow(struct walk *w)
{
	uint64_t *old = w->pair;
	uint32_t n = w->room;
	w->room = n ? 2 * n : 256;
	w->pair = mem_zalloc(sizeof *w->pair * w->room);
	for (uint32_t k = 0; k < n; k++)
		if (old[k])
			*pair_find(w, old[k]) = old[k];
	free(old);
}

static void meet(struct walk *w, uint32_t a, uint32_t b)
{
	uint64_t key = 1 + (a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a);
	if (w->pairs >= w->room / 2)
		pairs_grow(w);
	uint64_t *at = pair_find(w, key);
	w->pairs += !*at;
	*at = key;
	if (w->pairs == MAX_PAIRS)
		w->work = MAX_WORK;
}

/* An event of a stream before which nothing ends that was used after `at`. */
static void add_event(struct walk *w, uint32_t stream, uint32_t at)
{
	uint32_t *n = &w->tail[stream].n;
	while (*n && w->tail[stream].at[*n - 1].at >= at)
		--*n;
	vec_push(&w->tail[stream], (struct tail){w->clock[stream][stream], at});
}

/* All uses before this one, in the order of issue, are over for the stream. */
static uint32_t horizon(struct walk *w, uint32_t stream)
{
	uint32_t least = w->now;
	while (w->oldest < w->issued.n && w->issued.at[w->oldest] == NONE)
		w->oldest++;
	if (w->oldest < w->issued.n)
		least = w->issued.at[w->oldest];
	for (uint32_t s = 0; s < w->streams; s++) {
		uint32_t low = 0, high = w->tail[s].n;
		while (low < high) {
			uint32_t middle = (low + high) / 2;
			if (w->tail[s].at[middle].t > w->clock[stream][s])
				high = middle;
			else
				low = middle + 1;
		}
		if (low < w->tail[s].n && w->tail[s].at[low].at < least)
			least = w->tail[s].at[low].at;
	}
	return least;
}

/* Makes the slot the newest one. */
static void list_move(struct walk *w, uint32_t slot)
{
	struct slot *x = &w->slot[slot];
	if (w->newest == slot)
		return;
	if (x->newer != NONE)
		w->slot[x->newer].older = x->older;
	if (x->older != NONE)
		w->slot[x->older].newer = x->newer;
	x->older = w->newest;
	x->newer = NONE;
	if (w->newest != NONE)
		w->slot[w->newest].newer = slot;
	w->newest = slot;
}

/* Whether all that used the slot is seen by the stream; NONE: one that has seen everything. */
static bool is_over(const struct walk *w, const struct slot *x, uint32_t stream)
{
	for (uint32_t s = 0; s < w->streams && stream != NONE; s++)
		if (x->end[s] > w->clock[stream][s])
			return false;
	return !x->pending || stream == NONE;
}

static uint32_t life_of(const struct walk *w, uint32_t slot)
{
	return w->iteration[w->p->buffer.at[w->slot[slot].buffer].loop];
}

/* An event of the stream, or the start of a communication after it, that uses a slot. */
static void touch(struct walk *w, uint32_t stream, uint32_t slot)
{
	struct slot *x = &w->slot[slot];
	if (x->pinned)
		return;
	uint32_t life = life_of(w, slot);
	if (!x->used || x->life != life) {
		w->out->late[x->buffer] |= x->used && !is_over(w, x, stream);
		if (!x->used)
			w->out->at[slot] = w->now;
		x->used = true;
		x->life = life;
		x->first = w->now;
		x->written = 0;
	}
	uint32_t since = x->first == w->now ? w->now : x->last;
	uint32_t sure = stream == NONE ? w->now : horizon(w, stream);
	x->last = w->now;
	list_move(w, slot);
	/* what was used up to `since` was compared with this life then */
	for (uint32_t k = x->older; k != NONE && (w->slot[k].last >= since || w->slot[k].last >= sure);
	     k = w->slot[k].older, w->work++)
		if (w->slot[k].last >= x->first || !is_over(w, &w->slot[k], stream))
			meet(w, slot, k);
}

static void ended(struct walk *w, uint32_t stream, uint32_t slot)
{
	w->slot[slot].end[stream] = w->clock[stream][stream];
}

/* Elements that a view has, at most as many as its slot. */
static int64_t elements(const struct walk *w, const struct plan_view *v)
{
	int64_t n = 1;
	for (unsigned k = 0; k < v->nd; k++)
		if (w->reg[v->n[k]] < 0 || !checked_mul(n, w->reg[v->n[k]], &n))
			return 0;
	return n;
}

/* Adds the use of a view to the list; what was never written must keep its own memory, which shows it. */
static void add_use(struct walk *w, const struct plan_view *v, bool write)
{
	const struct plan_buffer *b = &w->p->buffer.at[v->buffer];
	int64_t slot = w->reg[v->slot], n = elements(w, v);
	if (slot < 0 || slot >= b->slots)
		w->work = MAX_WORK; /* the run will report it */
	else if (n > 0)
		vec_push(&w->uses,
		         (struct use){.slot = b->first_slot + (uint32_t)slot, .written = write ? n : -1});
}

static void count_written(struct walk *w, const struct use *u)
{
	struct slot *x = &w->slot[u->slot];
	if (u->written < 0 && !x->written)
		w->out->alone[u->slot] = true;
	else if (u->written > 0 && !checked_add(x->written, u->written, &x->written))
		x->written = INT64_MAX;
}

static void run_task(struct walk *w, uint32_t stream, const struct plan_task *t)
{
	uint32_t first = w->uses.n;
	w->clock[stream][stream]++;
	add_event(w, stream, w->now);
	for (unsigned k = 0; k < t->in_n; k++)
		if (!(t->scalars >> k & 1))
			add_use(w, &t->in[k], false);
	add_use(w, &t->out, true);
	for (uint32_t k = first; k < w->uses.n; k++) {
		touch(w, stream, w->uses.at[k].slot);
		count_written(w, &w->uses.at[k]);
		ended(w, stream, w->uses.at[k].slot);
	}
	w->uses.n = first;
}

/* A communication starts, with the uses from `first` on. */
static void issue(struct walk *w, uint32_t stream, uint32_t first, uint32_t queue)
{
	struct ticket t = {.first = first, .n = w->uses.n - first, .issued = w->issued.n};
	vec_push(&w->issued, w->now);
	for (uint32_t k = first; k < w->uses.n; k++) {
		const struct use *u = &w->uses.at[k];
		touch(w, stream, u->slot);
		count_written(w, u);
		w->slot[u->slot].pending++;
	}
	if (queue != PLAN_NO_QUEUE)
		vec_push(&w->queue[queue].list, t);
}

static bool run_wait(struct walk *w, uint32_t stream, struct tickets *q)
{
	if (q->head == q->list.n)
		return false; /* the run will report it */
	struct ticket t = q->list.at[q->head++];
	w->clock[stream][stream]++;
	add_event(w, stream, w->issued.at[t.issued]);
	w->issued.at[t.issued] = NONE;
	for (uint32_t k = t.first; k < t.first + t.n; k++) {
		w->slot[w->uses.at[k].slot].pending--;
		ended(w, stream, w->uses.at[k].slot);
	}
	return true;
}

static void run_communication(struct walk *w, uint32_t stream, const struct plan_instruction *i)
{
	uint32_t first = w->uses.n;
	if (i->code == PLAN_MESSAGE) {
		const struct plan_message *m = &w->p->message.at[i->a];
		add_use(w, &m->data, !m->send);
	} else {
		const struct plan_collective *c = &w->p->collective.at[i->a];
		if (c->has_in)
			add_use(w, &c->in, false);
		if (c->has_out)
			add_use(w, &c->out, true);
		for (unsigned k = 0; k < 2 && c->is_late; k++)
			add_use(w, &c->late[k], false);
	}
	if (!w->grouping)
		issue(w, stream, first, i->b);
}

/* ---- the walk */

/* What the program returns is in use to the end; where elements of it have no value, they must show. */
static void end_outputs(struct walk *w)
{
	w->now++;
	for (uint32_t k = 0; k < w->p->output.n; k++) {
		uint32_t buffer = w->p->output.at[k].buffer;
		if (buffer == UINT32_MAX || w->p->buffer.at[buffer].input >= 0)
			continue;
		const struct plan_buffer *b = &w->p->buffer.at[buffer];
		for (uint32_t s = b->first_slot; s < b->first_slot + (uint32_t)b->slots; s++) {
			struct slot *x = &w->slot[s];
			w->out->alone[s] |= !x->used || x->written < b->held;
			if (x->used)
				touch(w, NONE, s);
			x->used = true;
		}
	}
}

static bool walk(struct walk *w)
{
	const struct plan *p = w->p;
	int64_t *r = w->reg;
	uint32_t current = stream_at(w, -1);
	for (uint32_t at = 0; w->work < MAX_WORK;) {
		const struct plan_instruction *i = &p->code.at[at++];
		w->now++;
		w->work++;
		switch ((enum plan_code)i->code) {
		case PLAN_LET:
			if (i->op == PLAN_LOOKUP) {
				const struct plan_table *t = &p->table.at[i->c];
				r[i->a] =
				    r[i->b] >= 0 && r[i->b] < t->n ? (int64_t)t->at[r[i->b]] : PLAN_UNDEFINED;
			} else {
				r[i->a] = plan_apply(i->op, r[i->b], r[i->c]);
			}
			break;
		case PLAN_FOR:
			r[i->a] = r[i->b];
			if (r[i->b] >= r[i->c])
				at = i->to;
			w->iteration[i->a] = ++w->iterations;
			break;
		case PLAN_NEXT:
			w->iteration[i->a] = ++w->iterations;
			if (++r[i->a] < r[i->c])
				at = i->to;
			break;
		case PLAN_IF:
			if (!r[i->a])
				at = i->to;
			break;
		case PLAN_GOTO:
			at = i->to;
			break;
		case PLAN_HANDLE:
			w->handle[i->a] = current;
			break;
		case PLAN_STREAM:
			current = i->op ? stream_at(w, r[i->a]) : w->handle[i->a];
			break;
		case PLAN_SYNC:
			see(w, current, i->op ? stream_at(w, r[i->a]) : w->handle[i->a]);
			break;
		case PLAN_TASK:
			run_task(w, current, &p->task.at[i->a]);
			break;
		case PLAN_COLLECTIVE:
		case PLAN_MESSAGE:
			run_communication(w, current, i);
			break;
		case PLAN_GROUP:
			w->grouping = true;
			w->group = w->uses.n;
			break;
		case PLAN_END_GROUP:
			w->grouping = false;
			issue(w, current, w->group, i->b);
			break;
		case PLAN_WAIT:
			if (!run_wait(w, current, &w->queue[i->a]))
				return false;
			break;
		case PLAN_END:
			end_outputs(w);
			return true;
		default: /* check: the run will report it */
			break;
		}
	}
	return false;
}

static void start(struct walk *w)
{
	const struct plan *p = w->p;
	struct lifetimes *l = w->out;
	uint32_t *end = mem_zalloc(sizeof *end * ((size_t)l->n + 1) * MAX_STREAMS);
	w->reg = mem_alloc(sizeof *w->reg * p->reg.n);
	memcpy(w->reg, p->reg.at, sizeof *w->reg * p->reg.n);
	w->iteration = mem_zalloc(sizeof *w->iteration * p->reg.n);
	w->slot = mem_zalloc(sizeof *w->slot * (l->n + 1));
	w->handle = mem_zalloc(sizeof *w->handle * (p->handles + 1));
	w->queue = mem_zalloc(sizeof *w->queue * (p->queues + 1));
	w->newest = NONE;
	for (uint32_t b = 0; b < p->buffer.n; b++)
		for (uint32_t s = 0; s < (uint32_t)p->buffer.at[b].slots; s++) {
			uint32_t k = p->buffer.at[b].first_slot + s;
			w->slot[k] = (struct slot){
			    .buffer = b, .pinned = p->buffer.at[b].input >= 0, .newer = NONE, .older = NONE};
			l->alone[k] = w->slot[k].pinned;
		}
	for (uint32_t k = 0; k <= l->n; k++)
		w->slot[k].end = end + (size_t)k * MAX_STREAMS;
}

/* The pairs as a list for each slot. */
static void list_pairs(const struct walk *w)
{
	struct lifetimes *l = w->out;
	l->first = mem_zalloc(sizeof *l->first * ((size_t)l->n + 2));
	l->with = mem_zalloc(sizeof *l->with * ((size_t)w->pairs * 2 + 1));
	for (unsigned pass = 0; pass < 2; pass++) { /* counts, then fills from the end of each list */
		for (uint32_t k = 0; k < w->room; k++) {
			uint32_t a = (uint32_t)((w->pair[k] - 1) >> 32), b = (uint32_t)(w->pair[k] - 1);
			if (!w->pair[k])
				continue;
			if (pass)
				l->with[--l->first[a]] = b, l->with[--l->first[b]] = a;
			else
				l->first[a]++, l->first[b]++;
		}
		for (uint32_t k = 1; !pass && k <= l->n; k++)
			l->first[k] += l->first[k - 1];
	}
}

void lifetimes_find(const struct plan *p, struct lifetimes *out)
{
	struct walk w = {.p = p, .out = out};
	*out = (struct lifetimes){.n = p->slot.n};
	out->used = mem_zalloc(out->n + 1);
	out->alone = mem_zalloc(out->n + 1);
	out->late = mem_zalloc(p->buffer.n + 1);
	out->at = mem_zalloc(sizeof *out->at * (out->n + 1));
	if (out->n > MAX_SLOTS)
		return;
	start(&w);
	out->known = walk(&w);
	list_pairs(&w);
	for (uint32_t k = 0; k < out->n; k++)
		out->used[k] = w.slot[k].used || w.slot[k].pinned;
	for (uint32_t k = 0; k < p->queues; k++)
		vec_free(&w.queue[k].list);
	for (uint32_t s = 0; s < MAX_STREAMS; s++)
		vec_free(&w.tail[s]);
	vec_free(&w.uses);
	vec_free(&w.issued);
	free(w.pair);
	free(w.slot[0].end);
	free(w.slot);
	free(w.reg);
	free(w.iteration);
	free(w.handle);
	free(w.queue);
}

void lifetimes_free(struct lifetimes *l)
{
	free(l->used);
	free(l->alone);
	free(l->late);
	free(l->at);
	free(l->first);
	free(l->with);
}
