/* sim_chakra: writes the timeline of a rank as an execution trace of Chakra.
 *
 *     device     mm ────────┊──── add      a node for each statement on the device, in the order of their begins
 *     g0               ├ allgather ┤       and for each communication
 *
 * Importing the trace gives the same times. The import has one lane for all work and issues communication between two
 * statements, so a statement that runs when communication begins becomes two nodes, `mm(0)` and `mm(1)`, as traces of
 * PyTorch have them. Time in which the device is idle without waiting for communication becomes a node `idle`.
 *
 * ctrl_deps: the statement before on the stream. data_deps: the communication that the stream has waited for. */
#include "sim/sim_chakra_comm.h"
#include "sim/sim_chakra_tensors.h"
#include "sim/timeline.h"
#include <stdlib.h>

struct writer {
	struct timeline *t;
	struct timeline_class *c;
	struct diag *d;
	struct chakra_drafts all;
	struct chakra_comms comms;
	int64_t now; /* end of the last work */
	struct nodes {
		uint32_t first, n; /* ids first … first + n - 1; n 0: none yet */
	} * of_span;
	uint32_t *on_lane;    /* by lane: the last node of work; 0: none yet */
	VEC(uint32_t) waited; /* by lane, the spans that its next work waits for: pairs of lane and span */
	VEC(uint32_t) open;   /* communications that no work has waited for */
};

/* ---- nodes */

static void add_wait(struct writer *w, struct chakra_draft *n, uint32_t span, int64_t *ready)
{
	const struct timeline_span *s = &w->c->span.at[span];
	const struct nodes *x = &w->of_span[span];
	for (uint32_t k = 0; k < n->data.n; k++)
		if (n->data.at[k] == x->first)
			return;
	for (uint32_t k = 0; k < x->n; k++)
		vec_push(&n->data, x->first + k);
	*ready = s->end > *ready ? s->end : *ready;
	for (uint32_t k = 0; k < w->open.n; k++)
		if (w->open.at[k] == span) {
			w->open.at[k] = w->open.at[--w->open.n];
			break;
		}
}

/* Adds what the next work on a lane needs. Returns the time when its communications are over. */
static int64_t add_needs(struct writer *w, struct chakra_draft *n, uint32_t lane)
{
	int64_t ready = w->now;
	uint32_t kept = 0;
	if (w->on_lane[lane])
		vec_push(&n->ctrl, w->on_lane[lane]);
	for (uint32_t k = 0; k < w->waited.n; k += 2) {
		if (w->waited.at[k] == lane) {
			add_wait(w, n, w->waited.at[k + 1], &ready);
			continue;
		}
		w->waited.at[kept++] = w->waited.at[k];
		w->waited.at[kept++] = w->waited.at[k + 1];
	}
	w->waited.n = kept;
	return ready;
}

/* Adds a node of work that ends at a moment. */
static uint32_t add_work(struct writer *w, struct chakra_draft n, int64_t until)
{
	n.works = true;
	n.until = until;
	w->now = until;
	return sim_chakra_add(&w->all, n);
}

/* Lets the device be idle until a moment. */
static void put_idle(struct writer *w, int64_t until, uint32_t lane)
{
	struct chakra_draft n = {.name = "idle", .kind = CHAKRA_COMP};
	int64_t ready = add_needs(w, &n, lane);
	for (uint32_t k = 0; k < w->waited.n; k += 2) /* waits of other lanes that are over by then */
		if (w->c->span.at[w->waited.at[k + 1]].end <= until)
			add_wait(w, &n, w->waited.at[k + 1], &ready);
	n.time = until - ready;
	w->on_lane[lane] = add_work(w, n, until);
}

/* Puts the part of a statement's work up to `until`. */
static void put_part(struct writer *w, const struct timeline_span *s, uint32_t part, int64_t until)
{
	bool whole = !part && until == s->end;
	const char *label = timeline_label(w->t, s->op);
	struct chakra_draft n = {.name = whole ? label : arena_printf(w->t->arena, "%s(%u)", label, part),
	                         .kind = CHAKRA_COMP};
	int64_t from = part ? w->now : s->begin, ready = add_needs(w, &n, s->lane);
	if (ready < from) { /* idle; the wait stands before it */
		struct chakra_draft idle = {.name = "idle", .kind = CHAKRA_COMP, .time = from - ready};
		for (uint32_t k = 0; k < n.ctrl.n; k++)
			vec_push(&idle.ctrl, n.ctrl.at[k]);
		for (uint32_t k = 0; k < n.data.n; k++)
			vec_push(&idle.data, n.data.at[k]);
		n.ctrl.n = n.data.n = 0;
		vec_push(&n.ctrl, add_work(w, idle, from));
	}
	n.time = until - from;
	if (whole && sim_chakra_describe_message(&w->comms, s->op, &n))
		n.name = label;
	w->on_lane[s->lane] = add_work(w, n, until);
}

/* Puts the nodes of a communication, whose parts were found. */
static void put_communication(struct writer *w, uint32_t span)
{
	const struct timeline_span *s = &w->c->span.at[span];
	struct nodes *x = &w->of_span[span];
	for (uint32_t k = 0; k < w->comms.part.n; k++) {
		const struct chakra_part *part = &w->comms.part.at[k];
		struct chakra_draft n = {.name = timeline_label(w->t, s->op), .time = s->end - s->begin};
		for (uint32_t l = 0; l < w->c->lane.n; l++)
			if (w->on_lane[l])
				vec_push(&n.ctrl, w->on_lane[l]);
		sim_chakra_describe_part(&w->comms, part, &n);
		uint32_t id = sim_chakra_add(&w->all, n);
		x->first = k ? x->first : id;
		x->n++;
	}
	sim_chakra_take_channels(&w->comms, s->end);
	if (x->n)
		vec_push(&w->open, span);
}

/* ---- the order of the nodes */

struct event {
	const struct timeline_span *span;
	uint32_t index;
};

static bool communicates(const struct timeline_span *s)
{
	return s->kind == TIMELINE_COLLECTIVE || s->kind == TIMELINE_MESSAGE;
}

static int by_begin(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->span->begin != y->span->begin)
		return x->span->begin < y->span->begin ? -1 : 1;
	bool p = communicates(x->span), q = communicates(y->span);
	if (p != q)
		return p ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Notes the waits of lanes that are over when a work begins. */
static void take_waits(struct writer *w, const struct timeline_span *work, uint32_t *done)
{
	for (; *done < w->c->span.n && w->c->span.at[*done].begin <= work->begin; ++*done) {
		const struct timeline_span *s = &w->c->span.at[*done];
		if (s->kind != TIMELINE_WAIT || s->comm == TIMELINE_NONE || !w->of_span[s->comm].n)
			continue;
		vec_push(&w->waited, s->lane);
		vec_push(&w->waited, s->comm);
	}
}

static bool put_events(struct writer *w, const struct event *e, uint32_t n)
{
	uint32_t waits = 0;
	for (uint32_t k = 0; k < n; k++) {
		const struct timeline_span *s = e[k].span;
		uint32_t part = 0;
		take_waits(w, s, &waits);
		if (communicates(s)) {
			if (!sim_chakra_find_parts(&w->comms, s))
				return false;
			if (s->begin > w->now && sim_chakra_begins_at_issue(&w->comms, s->begin))
				put_idle(w, s->begin, 0);
			put_communication(w, e[k].index);
			continue;
		}
		for (; k + 1 < n && e[k + 1].span->begin < s->end;
		     k++) { /* communication that begins within it */
			const struct timeline_span *c = e[k + 1].span;
			if (!communicates(c)) {
				diag_error(
				    w->d, E_SIM_LIMIT, w->t->m->op.at[c->op].at,
				    "this runs beside other work of the device, which an execution trace of "
				    "hirc cannot hold");
				return false;
			}
			if (!sim_chakra_find_parts(&w->comms, c))
				return false;
			if (c->begin > w->now && c->begin > s->begin &&
			    sim_chakra_begins_at_issue(&w->comms, c->begin))
				put_part(w, s, part++, c->begin);
			put_communication(w, e[k + 1].index);
		}
		put_part(w, s, part, s->end);
	}
	return true;
}

/* Waits for all communication, and is idle to the end of the class. */
static void put_end(struct writer *w)
{
	struct chakra_draft n = {.name = "end"};
	int64_t ready = w->now;
	while (w->open.n)
		add_wait(w, &n, w->open.at[0], &ready);
	n.time = w->c->end - ready;
	n.kind = n.time > 0 ? CHAKRA_COMP : CHAKRA_METADATA;
	add_work(w, n, INT64_MAX);
}

static uint32_t find_events(const struct writer *w, struct event *e)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < w->c->span.n; k++) {
		const struct timeline_span *s = &w->c->span.at[k];
		if (s->kind != TIMELINE_WAIT && s->end > s->begin)
			e[n++] = (struct event){s, k};
	}
	if (n)
		qsort(e, n, sizeof *e, by_begin);
	return n;
}

/* Finds the groups of all communications and declares them. */
static bool put_groups(struct writer *w, const struct event *e, uint32_t n)
{
	struct chakra_draft node = {.name = "## process_group:init ##", .kind = CHAKRA_METADATA};
	for (uint32_t k = 0; k < n; k++) {
		if (!communicates(e[k].span))
			continue;
		if (!sim_chakra_find_parts(&w->comms, e[k].span))
			return false;
		sim_chakra_take_channels(&w->comms, e[k].span->end);
	}
	node.values = sim_chakra_groups(&w->comms);
	if (node.values)
		sim_chakra_add(&w->all, node);
	return true;
}

bool timeline_chakra(struct timeline *t, uint32_t class, int64_t rank, struct diag *d, struct buf *out)
{
	struct timeline_class *c = &t->class.at[class];
	struct writer w = {.t = t, .c = c, .d = d, .comms = {.t = t, .c = c, .d = d, .rank = rank}};
	struct event *e = mem_alloc(sizeof *e * ((size_t)c->span.n + 1));
	w.of_span = mem_zalloc(sizeof *w.of_span * ((size_t)c->span.n + 1));
	w.on_lane = mem_zalloc(sizeof *w.on_lane * ((size_t)c->lane.n + 1));
	uint32_t n = find_events(&w, e);
	bool ok = put_groups(&w, e, n) && put_events(&w, e, n);
	if (ok) {
		put_end(&w);
		sim_chakra_give_tensors(c, &w.all);
		sim_chakra_put(&w.all, &(struct chakra_tensor_text){t->m, c->tensor.at}, out);
	}
	sim_chakra_free_drafts(&w.all);
	sim_chakra_free_comms(&w.comms);
	vec_free(&w.waited);
	vec_free(&w.open);
	free(w.of_span);
	free(w.on_lane);
	free(e);
	return ok;
}
