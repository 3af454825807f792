/* host_work: see host_work.h. */
#include "sched/host_work.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

struct span { /* the host is busy */
	int64_t from, to;
};

struct busy { /* spans, ascending; they do not touch */
	struct span *at;
	uint32_t n, cap;
};

struct nodes {
	uint32_t *at;
	uint32_t n, cap;
};

struct host_work {
	struct host_side side;
	uint32_t from, to; /* the nodes near the comm: from … to - 1 */
	uint32_t round;    /* of the present comm */
	uint32_t *met;     /* by node: the last round that met it */
	/* The base: */
	bool *based;       /* by node: it is in the base */
	uint32_t *leads;   /* by node: number of nodes of the base whose lists lead to it; a top has none */
	struct nodes base; /* its nodes */
	struct nodes top;  /* its tops, and nodes that were tops before */
	struct busy spans; /* the host's work on the base */
	int64_t sum;       /* its time */
	bool ignored;      /* its nodes are treated as others */
	/* The comm: */
	struct nodes now;     /* its nodes that are not in the base */
	struct nodes entry;   /* nodes of the base that lists of these lead to */
	struct nodes removed; /* from the base */
	struct nodes common;  /* those that go from `now` to the base */
	struct busy scratch;  /* the host's work */
	struct nodes former;  /* as `now`, of the last comm that changed the base */
	uint32_t *recent;     /* by node: recent_round, if it is in `former` */
	uint32_t recent_round;
};

struct host_work *host_work_new(const struct host_side *side)
{
	struct host_work *w = mem_zalloc(sizeof *w);
	size_t room = (size_t)side->n + 1;
	w->side = *side;
	w->met = mem_zalloc(sizeof *w->met * room);
	w->based = mem_zalloc(sizeof *w->based * room);
	w->leads = mem_zalloc(sizeof *w->leads * room);
	w->recent = mem_zalloc(sizeof *w->recent * room);
	return w;
}

void host_work_free(struct host_work *w)
{
	free(w->met);
	free(w->based);
	free(w->leads);
	free(w->recent);
	vec_free(&w->base);
	vec_free(&w->top);
	vec_free(&w->spans);
	vec_free(&w->now);
	vec_free(&w->entry);
	vec_free(&w->removed);
	vec_free(&w->common);
	vec_free(&w->scratch);
	vec_free(&w->former);
	free(w);
}

/* ---- busy spans */

/* Returns the first span that ends at this time or later. */
static uint32_t find_span(const struct busy *b, int64_t time)
{
	uint32_t low = 0, high = b->n;
	while (low < high) {
		uint32_t mid = (low + high) / 2;
		if (b->at[mid].to < time)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Adds work that takes the first free time from `key` on. */
static void add_work(struct busy *b, int64_t key, int64_t time)
{
	if (b->n && b->at[b->n - 1].from <= key && key <= b->at[b->n - 1].to) {
		b->at[b->n - 1].to += time;
		return;
	}
	uint32_t i = find_span(b, key), end = i;
	struct span s = {key, key + time};
	if (i < b->n && b->at[i].from <= key) {
		s = (struct span){b->at[i].from, b->at[i].to + time};
		end++;
	}
	for (; end < b->n && b->at[end].from <= s.to; end++)
		s.to += b->at[end].to - b->at[end].from;
	if (end == i)
		vec_push(b, s); /* makes room; the spans behind it move up */
	else
		b->n -= end - i - 1;
	if (end != i + 1)
		memmove(b->at + i + 1, b->at + end, sizeof s * (b->n - i - 1));
	b->at[i] = s;
}

/* Nodes were met from the comm on, so their keys mostly fall. Work is added quickly with keys that grow. */
static void reverse_nodes(struct nodes *l)
{
	for (uint32_t i = 0, k = l->n; i + 1 < k; i++) {
		uint32_t x = l->at[--k];
		l->at[k] = l->at[i];
		l->at[i] = x;
	}
}

static void add_nodes(const struct host_work *w, const struct nodes *l, struct busy *b, int64_t *sum)
{
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t x = l->at[i];
		if (!w->side.time[x] || w->side.key[x] < 0)
			continue;
		add_work(b, w->side.key[x], w->side.time[x]);
		*sum += w->side.apart[x] ? 0 : w->side.time[x];
	}
}

/* ---- the base */

static bool is_top(const struct host_work *w, uint32_t x)
{
	return w->based[x] && !w->leads[x];
}

static void put_in_base(struct host_work *w, uint32_t x)
{
	const struct sched_lists *next = w->side.next;
	w->based[x] = true;
	if (is_top(w, x))
		vec_push(&w->top, x);
	for (uint32_t i = next->at[x]; i < next->end[x]; i++)
		w->leads[next->item[i]]++;
}

/* Takes a top out of the base. */
static void take_out(struct host_work *w, uint32_t x)
{
	const struct sched_lists *next = w->side.next;
	w->based[x] = false;
	for (uint32_t i = next->at[x]; i < next->end[x]; i++) {
		w->leads[next->item[i]]--;
		if (is_top(w, next->item[i]))
			vec_push(&w->top, next->item[i]);
	}
}

/* Finds the work of the base again, without the nodes that were taken out. */
static void sum_base(struct host_work *w)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < w->base.n; i++)
		if (w->based[w->base.at[i]])
			w->base.at[n++] = w->base.at[i];
	w->base.n = n;
	w->spans.n = 0;
	w->sum = 0;
	add_nodes(w, &w->base, &w->spans, &w->sum);
}

/* Takes nodes out of the base that are not among those of the comm. Returns false if they are many, or the base is too
 * large to be summed again; it is then as before. */
static bool shrink_base(struct host_work *w)
{
	uint32_t most = w->base.n > w->side.looks ? 0 : w->base.n / 16, n = 0;
	w->removed.n = 0;
	for (uint32_t i = 0; i < w->top.n; i++) {
		uint32_t x = w->top.at[i];
		bool met = w->met[x] == w->round;
		if (is_top(w, x) && !met && w->removed.n <= most) {
			vec_push(&w->removed, x);
			take_out(w, x);
		} else if (is_top(w, x)) {
			w->top.at[n++] = x;
		}
	}
	w->top.n = n;
	bool few = w->removed.n <= most;
	for (uint32_t i = w->removed.n; i-- > 0 && !few;)
		put_in_base(w, w->removed.at[i]);
	if (few && w->removed.n)
		sum_base(w);
	return few;
}

/* Moves nodes that the last two comms have in common to the base. */
static void grow_base(struct host_work *w)
{
	uint32_t n = 0;
	w->common.n = 0;
	for (uint32_t i = 0; i < w->now.n; i++) {
		uint32_t x = w->now.at[i];
		if (w->recent[x] == w->recent_round)
			vec_push(&w->common, x);
		else
			w->now.at[n++] = x;
	}
	w->now.n = n;
	for (uint32_t i = 0; i < w->common.n; i++) {
		vec_push(&w->base, w->common.at[i]);
		put_in_base(w, w->common.at[i]);
	}
	add_nodes(w, &w->common, &w->spans, &w->sum);
}

static void clear_base(struct host_work *w)
{
	const struct sched_lists *next = w->side.next;
	for (uint32_t k = 0; k < w->base.n; k++) {
		uint32_t x = w->base.at[k];
		w->based[x] = false;
		for (uint32_t i = next->at[x]; i < next->end[x]; i++)
			w->leads[next->item[i]] = 0;
	}
	w->base.n = w->top.n = w->spans.n = 0;
	w->sum = 0;
}

/* Keeps the nodes of this comm, to compare them with those of the next one. */
static void keep_nodes(struct host_work *w)
{
	struct nodes free = w->former;
	w->former = w->now;
	w->now = free;
	w->recent_round++;
	for (uint32_t i = 0; i < w->former.n; i++)
		w->recent[w->former.at[i]] = w->recent_round;
}

/* ---- the work of a comm */

void host_work_begin(struct host_work *w, uint32_t comm)
{
	w->from = comm > w->side.looks ? comm - w->side.looks : 0;
	w->to = w->side.n - comm > w->side.looks ? comm + w->side.looks : w->side.n;
	w->round++;
	w->now.n = w->entry.n = 0;
}

void host_work_add(struct host_work *w, uint32_t x)
{
	if (w->met[x] == w->round || x < w->from || x >= w->to)
		return;
	w->met[x] = w->round;
	if (w->based[x] && !w->ignored)
		vec_push(&w->entry, x);
	else
		vec_push(&w->now, x);
}

/* Adds the nodes that lists lead to, from the k-th node on. */
static void follow_lists(struct host_work *w, uint32_t k)
{
	const struct sched_lists *next = w->side.next;
	for (; k < w->now.n; k++)
		for (uint32_t x = w->now.at[k], i = next->at[x]; i < next->end[x]; i++)
			host_work_add(w, next->item[i]);
}

/* Goes on in the base as if there was none. */
static void search_base(struct host_work *w)
{
	uint32_t k = w->now.n;
	w->ignored = true;
	for (uint32_t i = 0; i < w->entry.n; i++)
		vec_push(&w->now, w->entry.at[i]);
	follow_lists(w, k);
	w->ignored = false;
}

int64_t host_work_end(struct host_work *w, int64_t *sum)
{
	follow_lists(w, 0);
	bool whole = !w->base.n || (w->entry.n && shrink_base(w)); /* the comm has all nodes of the base */
	if (!whole)
		search_base(w);
	w->scratch.n = 0;
	*sum = 0;
	if (whole && w->spans.n) {
		vec_reserve(&w->scratch, w->spans.n);
		memcpy(w->scratch.at, w->spans.at, sizeof *w->spans.at * w->spans.n);
		w->scratch.n = w->spans.n;
		*sum = w->sum;
	}
	reverse_nodes(&w->now);
	add_nodes(w, &w->now, &w->scratch, sum);
	int64_t done = w->scratch.n ? w->scratch.at[w->scratch.n - 1].to : 0;
	uint32_t size = w->now.n + (whole ? w->base.n : 0);
	if (2 * size >= w->base.n + w->former.n) { /* else the next comm is like a former one */
		if (!whole || w->spans.n > w->side.looks)
			clear_base(w);
		else
			grow_base(w);
		keep_nodes(w);
	}
	return done;
}
