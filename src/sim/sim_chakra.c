/* sim_chakra: writes the timeline of a class of ranks as an execution trace of Chakra.
 *
 *     device     mm ────────┊──── add      a node for each statement on the device, in the order of their begins
 *     g0               ├ allgather ┤       and for each collective
 *
 * Importing the trace gives the same times. The import has one lane for all work and issues a collective between two
 * statements, so a statement that runs when a collective begins becomes two nodes, `mm(0)` and `mm(1)`, as traces of
 * PyTorch have them. Time in which the device is idle without waiting for a collective becomes a node `idle`.
 *
 * ctrl_deps: the statement before on the stream. data_deps: the collectives that the stream has waited for. */
#include "base/chakra_types.h"
#include "base/str.h"
#include "cost/block.h"
#include "ir/coalesce.h"
#include "ir/edit.h"
#include "sim/sim_chakra_tensors.h"
#include "sim/timeline.h"
#include <stdlib.h>
#include <string.h>

struct writer {
	struct timeline *t;
	struct timeline_class *c;
	struct diag *d;
	struct chakra_drafts all;
	int64_t now;          /* end of the last work */
	uint32_t *of_span;    /* by span: its node; 0: none yet */
	uint32_t *on_lane;    /* by lane: the last node of work */
	int64_t *lane_end;    /* by lane of a communicator: the end of its last collective */
	VEC(uint32_t) waited; /* by lane, the spans that its next work waits for: pairs of lane and span */
	VEC(uint32_t) open;   /* collectives that no work has waited for */
	const char **group;   /* by lane: the name of its group */
};

/* ---- collectives and their groups */

static op_id first_op(const struct writer *w, op_id op)
{
	struct module *m = w->t->m;
	return m->op.at[op].kind == OP_END_COALESCING ? ir_coalesce_first(m, op) : op;
}

/* Returns the name of the collective that stands for a statement: tokens go to experts and back by an all_to_all. */
static const char *type_of(enum op_kind kind)
{
	bool exchanges = kind == OP_ALL_TO_ALLV || kind == OP_DISPATCH || kind == OP_COMBINE;
	return op_info[exchanges ? OP_ALL_TO_ALL : kind].hir;
}

/* Returns the schema's number of a collective; -1: it has none. */
static int number_of(enum op_kind kind)
{
#define ROW(number, name)                                                                                    \
	if (!strcmp(type_of(kind), name))                                                                    \
		return number;
	CHAKRA_COLLECTIVES(ROW)
#undef ROW
	return -1;
}

/* Returns the bytes of the operands of a collective, or of those of a group that start together. */
static int64_t operand_bytes(const struct writer *w, op_id op)
{
	const struct module *m = w->t->m;
	const struct attr *stated = op_attr(m, op, "in_bytes");
	int64_t bytes = 0;
	if (stated && stated->kind == ATTR_INT)
		return stated->u.i;
	if (m->op.at[op].kind == OP_END_COALESCING) {
		coalesce_each (m, member, op)
			bytes += operand_bytes(w, member);
		return bytes;
	}
	for (unsigned k = 0; k < op_role_count(m, op, ROLE_READ); k++)
		bytes += block_bytes(m, op_read(m, op, k));
	return bytes;
}

/* Puts `{"pg_name": "g0", "ranks": [0, 1], "group_size": 2}`. */
static void put_group(const struct writer *w, const char *name, op_id op, struct buf *out)
{
	const struct module *m = w->t->m;
	group_id group = op_group(m, op);
	team_id team = group ? m->group.at[group].members : m->op.at[op].team;
	const struct team *t = team ? ir_team(m, team) : NULL;
	uint32_t rank = w->c->ranks.n ? w->c->ranks.at[0].first : 0, from = 0, to = t ? t->device_n : 0;
	for (uint32_t s = 0; t && s < t->slice_n; s++)
		for (uint32_t k = t->start[s]; k < t->start[s + 1]; k++)
			if (t->device[k] == rank) {
				from = t->start[s];
				to = t->start[s + 1];
			}
	buf_printf(out, "{\"pg_name\": \"%s\", \"ranks\": [", name);
	for (uint32_t k = from; k < to; k++)
		buf_printf(out, "%s%u", k > from ? ", " : "", t->device[k]);
	buf_printf(out, "], \"group_size\": %u}", t ? to - from : group ? m->group.at[group].size : 1);
}

/* Names the groups of the lanes, each once, in letters that a name in JSON in a Python string can have. */
static void name_groups(struct writer *w)
{
	for (uint32_t l = 0; l < w->c->lane.n; l++) {
		struct buf name = {0};
		buf_puts(&name,
		         w->c->lane.at[l].name && *w->c->lane.at[l].name ? w->c->lane.at[l].name : "ranks");
		for (size_t k = 0; k < name.n; k++)
			if (strchr("\"'\\{}[],:", name.at[k]) || (unsigned char)name.at[k] <= ' ' ||
			    (unsigned char)name.at[k] >= 0x7f)
				name.at[k] = '_';
		for (uint32_t k = 0; k < l; k++)
			if (!strcmp(w->group[k], name.at)) {
				buf_printf(&name, "_%u", l);
				k = UINT32_MAX; /* begin again */
			}
		w->group[l] = arena_strndup(w->t->arena, name.at, name.n);
		buf_free(&name);
	}
}

static void put_groups(struct writer *w)
{
	bool *done = mem_zalloc((size_t)w->c->lane.n + 1);
	struct buf list = {0};
	for (uint32_t k = 0; k < w->c->span.n; k++) {
		const struct timeline_span *s = &w->c->span.at[k];
		if (s->kind != TIMELINE_COLLECTIVE || done[s->lane])
			continue;
		done[s->lane] = true;
		buf_puts(&list, list.n ? ", " : "");
		put_group(w, w->group[s->lane], first_op(w, s->op), &list);
	}
	if (list.n) {
		struct chakra_draft n = {.name = "## process_group:init ##", .kind = CHAKRA_METADATA};
		n.values = arena_printf(w->t->arena, "['[%s]']", list.at);
		sim_chakra_add(&w->all, n);
	}
	buf_free(&list);
	free(done);
}

/* ---- nodes */

static void add_wait(struct writer *w, struct chakra_draft *n, uint32_t span, int64_t *ready)
{
	const struct timeline_span *s = &w->c->span.at[span];
	for (uint32_t k = 0; k < n->data.n; k++)
		if (n->data.at[k] == w->of_span[span])
			return;
	vec_push(&n->data, w->of_span[span]);
	*ready = s->end > *ready ? s->end : *ready;
	for (uint32_t k = 0; k < w->open.n; k++)
		if (w->open.at[k] == span) {
			w->open.at[k] = w->open.at[--w->open.n];
			break;
		}
}

/* Adds what the next work on a lane needs. Returns the time when its collectives are over. */
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
	w->on_lane[s->lane] = add_work(w, n, until);
}

static bool put_collective(struct writer *w, uint32_t span)
{
	const struct timeline_span *s = &w->c->span.at[span];
	op_id op = first_op(w, s->op);
	enum op_kind kind = block_collective(w->t->m, op);
	kind = kind == OP_NONE ? (enum op_kind)w->t->m->op.at[op].kind : kind;
	struct chakra_draft n = {
	    .name = timeline_label(w->t, s->op), .kind = CHAKRA_COMM_COLL, .time = s->end - s->begin};
	if (number_of(kind) < 0) {
		diag_error(w->d, E_SIM_LIMIT, w->t->m->op.at[s->op].at,
		           "execution traces have no '%s': export a program without it", op_info[kind].hir);
		return false;
	}
	if (s->begin > w->lane_end[s->lane] && s->begin > w->now)
		put_idle(w, s->begin, 0);
	for (uint32_t l = 0; l < w->c->lane.n; l++)
		if (w->on_lane[l] && w->c->lane.at[l].kind != LANE_COMMUNICATOR)
			vec_push(&n.ctrl, w->on_lane[l]);
	sim_chakra_add_int(&n, "comm_type", number_of(kind));
	sim_chakra_add_int(&n, "comm_size", operand_bytes(w, s->op));
	sim_chakra_add_text(&n, "pg_name", w->group[s->lane]);
	w->of_span[span] = sim_chakra_add(&w->all, n);
	w->lane_end[s->lane] = s->end;
	vec_push(&w->open, span);
	return true;
}

/* ---- the order of the nodes */

struct event {
	const struct timeline_span *span;
	uint32_t index;
};

static int by_begin(const void *a, const void *b)
{
	const struct event *x = a, *y = b;
	if (x->span->begin != y->span->begin)
		return x->span->begin < y->span->begin ? -1 : 1;
	bool p = x->span->kind == TIMELINE_COLLECTIVE, q = y->span->kind == TIMELINE_COLLECTIVE;
	if (p != q)
		return p ? -1 : 1;
	return (x->index > y->index) - (x->index < y->index);
}

/* Notes the waits of lanes that are over when a work begins. */
static void take_waits(struct writer *w, const struct timeline_span *work, uint32_t *done)
{
	for (; *done < w->c->span.n && w->c->span.at[*done].begin <= work->begin; ++*done) {
		const struct timeline_span *s = &w->c->span.at[*done];
		if (s->kind != TIMELINE_WAIT || s->comm == TIMELINE_NONE || !w->of_span[s->comm])
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
		if (s->kind == TIMELINE_COLLECTIVE) {
			if (!put_collective(w, e[k].index))
				return false;
			continue;
		}
		take_waits(w, s, &waits);
		for (; k + 1 < n && e[k + 1].span->begin < s->end;
		     k++) { /* collectives that begin within it */
			const struct timeline_span *c = e[k + 1].span;
			if (c->kind != TIMELINE_COLLECTIVE) {
				diag_error(
				    w->d, E_SIM_LIMIT, w->t->m->op.at[c->op].at,
				    "this runs beside other work of the device, which an execution trace of "
				    "hirc cannot hold");
				return false;
			}
			if (c->begin > w->lane_end[c->lane] && c->begin > w->now && c->begin > s->begin)
				put_part(w, s, part++, c->begin);
			if (!put_collective(w, e[k + 1].index))
				return false;
		}
		put_part(w, s, part, s->end);
	}
	return true;
}

/* Waits for all collectives, and is idle to the end of the class. */
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

static bool find_events(struct writer *w, struct event *e, uint32_t *n)
{
	*n = 0;
	for (uint32_t k = 0; k < w->c->span.n; k++) {
		const struct timeline_span *s = &w->c->span.at[k];
		if (s->kind == TIMELINE_MESSAGE) {
			diag_error(
			    w->d, E_SIM_LIMIT, w->t->m->op.at[s->op].at,
			    "a message runs beside the work of its rank, which an execution trace of hirc "
			    "cannot hold: export a program with collectives alone");
			return false;
		}
		if (s->kind != TIMELINE_WAIT && s->end > s->begin)
			e[(*n)++] = (struct event){s, k};
	}
	if (*n)
		qsort(e, *n, sizeof *e, by_begin);
	return true;
}

bool timeline_chakra(struct timeline *t, uint32_t class, struct diag *d, struct buf *out)
{
	struct timeline_class *c = &t->class.at[class];
	struct writer w = {.t = t, .c = c, .d = d};
	struct event *e = mem_alloc(sizeof *e * ((size_t)c->span.n + 1));
	uint32_t n;
	w.of_span = mem_zalloc(sizeof *w.of_span * ((size_t)c->span.n + 1));
	w.on_lane = mem_zalloc(sizeof *w.on_lane * ((size_t)c->lane.n + 1));
	w.lane_end = mem_zalloc(sizeof *w.lane_end * ((size_t)c->lane.n + 1));
	w.group = mem_zalloc(sizeof *w.group * ((size_t)c->lane.n + 1));
	name_groups(&w);
	put_groups(&w);
	bool ok = find_events(&w, e, &n) && put_events(&w, e, n);
	if (ok) {
		put_end(&w);
		sim_chakra_give_tensors(c, &w.all);
		sim_chakra_put(&w.all, &(struct chakra_tensor_text){t->m, c->tensor.at}, out);
	}
	sim_chakra_free_drafts(&w.all);
	vec_free(&w.waited);
	vec_free(&w.open);
	free(w.of_span);
	free(w.on_lane);
	free(w.lane_end);
	free(w.group);
	free(e);
	return ok;
}
