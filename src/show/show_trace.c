/* show_trace: reads Chrome's trace format as base/chrome.h writes it. Statements are identified by their
 * text. */
#include "show/show_trace.h"
#include "base/hash.h"
#include "base/source.h"
#include "base/source_read.h"
#include "cost/json.h"
#include <math.h>
#include <string.h>

#ifdef HIRC_HAVE_CJSON

enum { MOST_EVENTS = 1 << 22, MOST_IDS = 1 << 24 };

struct track { /* one rank of the trace */
	struct timeline_class c;
	int64_t pid;
	uint64_t hash;    /* of its work, independent of the order */
	bool folded;      /* another rank of its class is drawn */
	VEC(int64_t) tid; /* by lane */
	VEC(struct known_arrow {
		const char *id;
		uint32_t span;
	})
	arrow;
	uint32_t last; /* span; TIMELINE_NONE */
};

struct reading {
	struct json j;
	struct module *m;
	struct timeline *t;
	VEC(struct track) track;
	struct hash_table statements; /* by text */
};

static op_id find_statement(const struct reading *r, const char *text)
{
	struct hash_probe p = {.hash = hash_text(text)};
	op_id op;
	while ((op = hash_next(&r->statements, &p)) && strcmp(timeline_label(r->t, op), text) != 0)
		;
	return op;
}

static void know_statements(struct reading *r)
{
	for (op_id op = 1; op < r->m->op.n; op++) {
		if (!r->m->op.at[op].parent)
			continue;
		const char *text = timeline_label(r->t, op);
		if (!find_statement(r, text))
			hash_insert(&r->statements, hash_text(text), op);
	}
}

static struct track *track_of(struct reading *r, int64_t pid)
{
	for (uint32_t k = r->track.n; k-- > 0;)
		if (r->track.at[k].pid == pid)
			return &r->track.at[k];
	vec_push(&r->track, ((struct track){.pid = pid, .last = TIMELINE_NONE}));
	return &r->track.at[r->track.n - 1];
}

static uint32_t lane_of(struct track *x, int64_t tid)
{
	uint32_t k = 0;
	while (k < x->tid.n && x->tid.at[k] != tid)
		k++;
	if (k == x->tid.n) {
		vec_push(&x->tid, tid);
		vec_push(&x->c.lane, ((struct timeline_lane){.name = "", .kind = LANE_STREAM}));
	}
	return k;
}

static bool read_span(struct reading *r, const struct json_value *e, struct track *x, int64_t tid)
{
	static const char *const category[] = {"task", "collective", "message", "wait"};
	const char *name, *kind;
	double at, length;
	struct json_value args;
	struct timeline_span s = {.comm = TIMELINE_NONE, .task = TIMELINE_NONE, .iteration = -1};
	if (!json_text(&r->j, e, "name", &name) || !json_text(&r->j, e, "cat", &kind) ||
	    !json_decimal(&r->j, e, "ts", &at) || !json_decimal(&r->j, e, "dur", &length))
		return false;
	while (s.kind < 4 && strcmp(category[s.kind], kind) != 0)
		s.kind++;
	if (s.kind == 4) /* other spans, for example of moving data */
		return true;
	if (!(at >= 0 && at < 1e15 && length >= 0 && length < 1e15))
		return json_refuse(&r->j, e, "has times out of range");
	s.op = find_statement(r, name);
	if (!s.op)
		return json_refuse(
		    &r->j, e, "is of '%s', which is no statement of the program: were its options others?",
		    name);
	if (json_has(e, "args") && json_object(&r->j, e, "args", &args) && json_has(&args, "iteration") &&
	    !json_int(&r->j, &args, "iteration", INT32_MIN, INT32_MAX, &s.iteration))
		return false;
	s.begin = llround(at * 1000);
	s.end = s.begin + llround(length * 1000);
	s.lane = lane_of(x, tid);
	x->last = x->c.span.n;
	x->hash += hash_bytes(hash_text(name), kind, strlen(kind)) * (uint64_t)(s.iteration + 3);
	x->c.end = s.end > x->c.end ? s.end : x->c.end;
	vec_push(&x->c.span, s);
	return true;
}

/* Reads an arrow, which follows the span at which it begins or ends. */
static bool read_arrow(struct reading *r, const struct json_value *e, struct track *x, bool ends)
{
	const char *id;
	if (!json_text(&r->j, e, "id", &id))
		return false;
	if (x->last == TIMELINE_NONE)
		return json_refuse(&r->j, e, "is of no span");
	if (!ends) {
		vec_push(&x->arrow, ((struct known_arrow){id, x->last}));
		return true;
	}
	for (uint32_t k = x->arrow.n; k-- > 0;)
		if (!strcmp(x->arrow.at[k].id, id)) {
			x->c.span.at[x->last].comm = x->arrow.at[k].span;
			return true;
		}
	return true;
}

static bool read_event(struct reading *r, const struct json_value *e)
{
	const char *phase, *name;
	int64_t pid, tid;
	struct json_value args;
	if (!json_text(&r->j, e, "ph", &phase) || !json_int(&r->j, e, "pid", 0, MOST_IDS, &pid))
		return false;
	if (!strchr("XsfM", *phase) || !*phase)
		return true;
	if (!json_int(&r->j, e, "tid", 0, MOST_IDS, &tid))
		return false;
	struct track *x = track_of(r, pid);
	if (*phase == 'X')
		return read_span(r, e, x, tid);
	if (*phase != 'M')
		return read_arrow(r, e, x, *phase == 'f');
	if (!json_text(&r->j, e, "name", &name))
		return false;
	if (strcmp(name, "thread_name") != 0)
		return true;
	if (!json_object(&r->j, e, "args", &args) || !json_text(&r->j, &args, "name", &name))
		return false;
	struct timeline_lane *lane = &x->c.lane.at[lane_of(x, tid)]; /* the vector may have moved */
	lane->name = arena_strndup(r->t->arena, name, strlen(name));
	return true;
}

/* ---- classes */

struct ordered {
	int64_t begin;
	uint32_t span;
};

static int by_begin(const void *a, const void *b)
{
	const struct ordered *x = a, *y = b;
	return x->begin < y->begin   ? -1
	       : x->begin > y->begin ? 1
	       : x->span < y->span   ? -1
	                             : x->span > y->span;
}

static void sort_spans(struct timeline_class *c)
{
	uint32_t n = c->span.n, *to = mem_alloc(sizeof *to * ((size_t)n + 1));
	struct ordered *order = mem_alloc(sizeof *order * ((size_t)n + 1));
	struct timeline_span *sorted = mem_alloc(sizeof *sorted * ((size_t)n + 1));
	for (uint32_t k = 0; k < n; k++)
		order[k] = (struct ordered){c->span.at[k].begin, k};
	qsort(order, n, sizeof *order, by_begin);
	for (uint32_t k = 0; k < n; k++) {
		sorted[k] = c->span.at[order[k].span];
		to[order[k].span] = k;
	}
	for (uint32_t k = 0; k < n; k++) {
		c->span.at[k] = sorted[k];
		if (sorted[k].comm != TIMELINE_NONE)
			c->span.at[k].comm = to[sorted[k].comm];
	}
	free(order);
	free(sorted);
	free(to);
}

static void add_class(struct reading *r, uint32_t first)
{
	uint32_t last = first, count = 0;
	struct buf name = {0};
	for (uint32_t k = first; k < r->track.n; k++) {
		struct track *x = &r->track.at[k];
		if (x->folded || x->hash != r->track.at[first].hash ||
		    x->c.span.n != r->track.at[first].c.span.n)
			continue;
		x->folded = true;
		count++;
		if (x->c.end > r->track.at[last].c.end)
			last = k;
		buf_printf(&name, name.n > 40 ? "" : " %lld", (long long)x->pid);
	}
	struct track *x = &r->track.at[last];
	x->c.name = count == 1 ? arena_printf(r->t->arena, "rank%s", name.at)
	                       : arena_printf(r->t->arena, "ranks%s%s, of which %lld is shown", name.at,
	                                      name.n > 40 ? " …" : "", (long long)x->pid);
	buf_free(&name);
	x->c.count = count;
	sort_spans(&x->c);
	r->t->runtime = x->c.end > r->t->runtime ? x->c.end : r->t->runtime;
	vec_push(&r->t->class, x->c);
	x->c = (struct timeline_class){0};
}

static bool read_all(struct reading *r)
{
	struct json_value root, events, e;
	if (!json_root(&r->j, &root) || !json_array(&r->j, &root, "traceEvents", MOST_EVENTS, &events))
		return false;
	for (bool go = json_first(&events, &e); go; go = json_next(&e))
		if (!json_is_object(&r->j, &e) || !read_event(r, &e))
			return false;
	for (uint32_t k = 0; k < r->track.n; k++)
		if (!r->track.at[k].folded)
			add_class(r, k);
	return true;
}

bool trace_timeline(struct module *m, const char *path, struct diag *d, struct timeline *t)
{
	struct source *s;
	struct reading r = {.m = m, .t = t};
	if (source_read(d, path, &s) != STATUS_OK)
		return false;
	struct source *outer = diag_set_source(d, s);
	timeline_open(t, m);
	t->ranks = module_ranks(m);
	bool ok = json_parse(d, s, "the trace", &r.j);
	if (ok) {
		know_statements(&r);
		ok = read_all(&r);
		json_free(&r.j);
	}
	diag_set_source(d, outer);
	source_free(s);
	for (uint32_t k = 0; k < r.track.n; k++) {
		vec_free(&r.track.at[k].tid);
		vec_free(&r.track.at[k].arrow);
		vec_free(&r.track.at[k].c.lane);
		vec_free(&r.track.at[k].c.span);
	}
	vec_free(&r.track);
	hash_table_free(&r.statements);
	if (ok)
		timeline_finish(t);
	else
		timeline_close(t);
	return ok;
}

#else

bool trace_timeline(struct module *m, const char *path, struct diag *d, struct timeline *t)
{
	(void)m;
	(void)t;
	diag_error(d, E_WITHOUT_LIBRARY, DIAG_NOWHERE, "cannot read '%s': this hirc was built without cJSON",
	           path);
	return false;
}

#endif
