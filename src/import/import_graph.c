/* import_graph: reads a `.graph` file, see import_graph.h. */
#include "import/import_graph.h"
#include "ir/ir.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const graph_kind_name[GRAPH_KINDS] = {
    [GRAPH_INPUT] = "input", [GRAPH_ATTR] = "attr", [GRAPH_COMPUTE] = "compute", [GRAPH_COMM] = "comm",
    [GRAPH_WAIT] = "wait",   [GRAPH_VIEW] = "view", [GRAPH_HOST] = "host",       [GRAPH_OUTPUT] = "output"};

#define LONGEST_NS 1e15 /* longest time: eleven days */

struct reader {
	struct diag *d;
	struct graph *g;
	const char *text;
	uint32_t at, end; /* offsets in the line: of the next field, and of its end */
	bool ended;       /* the `end` record was read */
};

struct field {
	struct graph_text key, value; /* key.n == 0: a field without `key=` */
};

bool graph_text_is(const char *text, struct graph_text t, const char *word)
{
	return t.n == strlen(word) && !memcmp(text + t.at, word, t.n);
}

static bool same_text(const struct reader *r, struct graph_text a, struct graph_text b)
{
	return a.n == b.n && !memcmp(r->text + a.at, r->text + b.at, a.n);
}

static bool refuse_text(struct reader *r, enum diagnostic code, struct graph_text t, const char *what)
{
	diag_error_span(r->d, code, t.at, t.n, "%s", what);
	return false;
}

/* ---- fields */

static bool next_word(struct reader *r, struct graph_text *out)
{
	if (r->at >= r->end)
		return false;
	const char *from = r->text + r->at, *stop = memchr(from, ' ', r->end - r->at);
	uint32_t n = stop ? (uint32_t)(stop - from) : r->end - r->at;
	*out = (struct graph_text){r->at, n};
	r->at += n + 1;
	return true;
}

static bool next_field(struct reader *r, struct field *out)
{
	struct graph_text t;
	if (!next_word(r, &t))
		return false;
	const char *sign = memchr(r->text + t.at, '=', t.n);
	uint32_t key = sign ? (uint32_t)(sign - (r->text + t.at)) : 0;
	out->key = (struct graph_text){t.at, key};
	out->value = sign ? (struct graph_text){t.at + key + 1, t.n - key - 1} : t;
	return true;
}

static bool read_int(struct reader *r, struct graph_text t, int64_t most, int64_t *out)
{
	char *end;
	errno = 0;
	long long v = strtoll(r->text + t.at, &end, 10);
	if (!t.n || end != r->text + t.at + t.n || errno || v < 0 || v > most)
		return refuse_text(
		    r, E_GRAPH_RECORD, t,
		    "a whole number that is not negative, and not too large, should stand here");
	*out = v;
	return true;
}

static bool read_number(struct reader *r, struct graph_text t, double most, double *out)
{
	char *end;
	double v = strtod(r->text + t.at, &end);
	if (!t.n || end != r->text + t.at + t.n || !isfinite(v) || v < 0 || v > most)
		return refuse_text(r, E_GRAPH_RECORD, t,
		                   "a number that is not negative, and not too large, should stand here");
	*out = v;
	return true;
}

/* Reads a name, which must be allowed between backquotes in a program. */
static bool read_name(struct reader *r, struct graph_text record, const char *missing, struct graph_text *out)
{
	if (!next_word(r, out) || !out->n)
		return refuse_text(r, E_GRAPH_RECORD, record, missing);
	for (uint32_t k = 0; k < out->n; k++) {
		unsigned char c = (unsigned char)r->text[out->at + k];
		if (c == '`' || c < ' ' || c == 0x7f)
			return refuse_text(r, E_GRAPH_RECORD, *out,
			                   "a name has no backquotes and no control characters");
	}
	return true;
}

/* Reads a time; unit: ns of its unit. A time below half a ns is 1 ns, since 0 means that a statement takes no
 * time and ends no step. */
static bool read_exact_time(struct reader *r, struct graph_text t, double unit, double *out)
{
	double v;
	if (!read_number(r, t, LONGEST_NS / unit, &v))
		return false;
	*out = v > 0 && v * unit < 0.5 ? 1 : v * unit;
	return true;
}

static bool read_time(struct reader *r, struct graph_text t, double unit, int64_t *out)
{
	double v;
	if (!read_exact_time(r, t, unit, &v))
		return false;
	*out = llround(v);
	return true;
}

/* Takes the part of a list before its next comma; the rest remains. */
static bool next_item(const struct reader *r, struct graph_text *list, struct graph_text *out)
{
	if (!list->n)
		return false;
	const char *from = r->text + list->at, *comma = memchr(from, ',', list->n);
	uint32_t n = comma ? (uint32_t)(comma - from) : list->n, step = comma ? n + 1 : n;
	*out = (struct graph_text){list->at, n};
	*list = (struct graph_text){list->at + step, list->n - step};
	return true;
}

/* Reads ids, which must be below `limit`. */
static bool read_ids(struct reader *r, struct graph_text list, uint32_t limit, const char *missing,
                     uint32_t *first, uint32_t *n)
{
	struct graph_text item;
	*first = r->g->id.n;
	while (next_item(r, &list, &item)) {
		int64_t id;
		if (!read_int(r, item, UINT32_MAX - 1, &id))
			return false;
		if (id >= limit)
			return refuse_text(r, E_GRAPH_NODE, item, missing);
		vec_push(&r->g->id, (uint32_t)id);
	}
	*n = r->g->id.n - *first;
	return true;
}

static bool group_is(const struct reader *r, struct graph_text name, uint32_t *out)
{
	for (uint32_t k = 0; k < r->g->group.n; k++) {
		if (same_text(r, r->g->group.at[k].name, name)) {
			*out = k;
			return true;
		}
	}
	return false;
}

static bool find_group(struct reader *r, struct graph_text name, uint32_t *out)
{
	return group_is(r, name, out) || refuse_text(r, E_GROUP_UNKNOWN, name, "no group has this name");
}

/* ---- records */

static bool read_position(struct reader *r, struct graph_text record, uint32_t want)
{
	struct graph_text t = record;
	int64_t id;
	if (!next_word(r, &t) || !read_int(r, t, UINT32_MAX - 1, &id))
		return refuse_text(r, E_GRAPH_RECORD, record, "a record should have a number");
	return id == want || refuse_text(r, E_GRAPH_RECORD, t, "numbers of records are positions, from 0");
}

static bool read_group(struct reader *r, struct graph_text record)
{
	struct graph_group group = {.size = 1};
	struct field f;
	uint32_t other;
	if (!read_name(r, record, "a group should have a name", &group.name))
		return false;
	if (group_is(r, group.name, &other))
		return refuse_text(r, E_DEFINED_TWICE, group.name, "another group has this name");
	while (next_field(r, &f))
		if (graph_text_is(r->text, f.key, "size") && !read_int(r, f.value, UINT32_MAX, &group.size))
			return false;
	vec_push(&r->g->group, group);
	return true;
}

static bool read_points(struct reader *r, struct graph_text list, struct graph_table *t)
{
	struct graph_text item;
	double last = -1;
	t->point = r->g->point.n;
	while (next_item(r, &list, &item)) {
		const char *colon = memchr(r->text + item.at, ':', item.n);
		uint32_t n = colon ? (uint32_t)(colon - (r->text + item.at)) : item.n;
		struct graph_text size = {item.at, n}, time = {item.at + n + 1, item.n - n - 1};
		struct graph_point p;
		double mebi;
		if (!colon)
			return refuse_text(r, E_GRAPH_RECORD, item, "a point of a table is MB:ms");
		if (!read_number(r, size, 1e12, &mebi) || !read_exact_time(r, time, 1e6, &p.time))
			return false;
		p.bytes = llround(mebi * (1 << 20));
		if ((double)p.bytes <= last)
			return refuse_text(r, E_GRAPH_RECORD, item, "the sizes of a table should rise");
		last = (double)p.bytes;
		vec_push(&r->g->point, p);
	}
	t->point_n = r->g->point.n - t->point;
	return true;
}

static bool read_table(struct reader *r, struct graph_text record)
{
	struct graph_table t = {.group = UINT32_MAX};
	struct field f;
	while (next_field(r, &f)) {
		bool ok = true;
		if (graph_text_is(r->text, f.key, "group"))
			ok = find_group(r, f.value, &t.group);
		else if (graph_text_is(r->text, f.key, "coll"))
			t.collective = f.value;
		else if (graph_text_is(r->text, f.key, "src"))
			t.stepped = graph_text_is(r->text, f.value, "table");
		else if (graph_text_is(r->text, f.key, "mb_ms"))
			ok = read_points(r, f.value, &t);
		if (!ok)
			return false;
	}
	if (t.group == UINT32_MAX || !t.collective.n || !t.point_n)
		return refuse_text(r, E_GRAPH_RECORD, record,
		                   "a table should have group=, coll= and at least one point in mb_ms=");
	vec_push(&r->g->table, t);
	return true;
}

static bool read_storage(struct reader *r, struct graph_text record)
{
	struct graph_storage s = {.bytes = -1, .def = UINT32_MAX};
	struct field f;
	if (!read_position(r, record, r->g->storage.n))
		return false;
	while (next_field(r, &f)) {
		int64_t def;
		if (graph_text_is(r->text, f.key, "bytes") &&
		    !read_int(r, f.value, INT64_MAX / 4096, &s.bytes))
			return false;
		if (graph_text_is(r->text, f.key, "def")) {
			if (!read_int(r, f.value, UINT32_MAX - 1, &def))
				return false;
			s.def = (uint32_t)def;
			s.made_by = f.value;
		}
		s.cpu |= graph_text_is(r->text, f.key, "dev") && graph_text_is(r->text, f.value, "cpu");
		s.input |= graph_text_is(r->text, f.key, "kind") && graph_text_is(r->text, f.value, "input");
	}
	if (s.bytes < 0 || s.def == UINT32_MAX)
		return refuse_text(r, E_GRAPH_RECORD, record, "a storage should have bytes= and def=");
	vec_push(&r->g->storage, s);
	return true;
}

static bool read_kind(struct reader *r, struct graph_text t, enum graph_kind *out)
{
	for (unsigned k = 0; k < GRAPH_KINDS; k++)
		if (graph_text_is(r->text, t, graph_kind_name[k])) {
			*out = (enum graph_kind)k;
			return true;
		}
	return refuse_text(r, E_GRAPH_RECORD, t,
	                   "a node is of kind input, attr, compute, comm, wait, view, host or output");
}

/* Reads args=%4,avg,8,0: for a collective that reduces, the second item is the reduction. */
static bool read_reduction(const struct reader *r, struct graph_text args, struct graph_text *out)
{
	struct graph_text item;
	enum reduce_op op;
	for (unsigned k = 0; k < 2; k++)
		if (!next_item(r, &args, &item))
			return true;
	if (item.n < 8) {
		char name[8] = {0};
		memcpy(name, r->text + item.at, item.n);
		if (reduce_op_parse(name, &op))
			*out = item;
	}
	return true;
}

/* Reads one field of a node; skips unknown ones. */
static bool read_node_field(struct reader *r, const struct field *f, struct graph_node *n,
                            struct graph_comm *c, int64_t *time, int64_t *real_time)
{
	const struct graph *g = r->g;
	if (graph_text_is(r->text, f->key, "in"))
		return read_ids(r, f->value, g->node.n,
		                "a node needs only nodes before it: a graph has no cycle", &n->in, &n->in_n);
	if (graph_text_is(r->text, f->key, "st"))
		return read_ids(r, f->value, g->storage.n, "a storage of this number is not declared",
		                &n->storage, &n->storage_n);
	if (graph_text_is(r->text, f->key, "mut"))
		return read_ids(r, f->value, g->node.n, "a node writes only to nodes before it", &n->mutated,
		                &n->mutated_n);
	if (graph_text_is(r->text, f->key, "time_us"))
		return read_time(r, f->value, 1e3, time);
	if (graph_text_is(r->text, f->key, "ftime_us"))
		return read_time(r, f->value, 1e3, real_time);
	if (graph_text_is(r->text, f->key, "kind"))
		return read_kind(r, f->value, &n->kind);
	if (graph_text_is(r->text, f->key, "group"))
		return find_group(r, f->value, &c->group);
	if (graph_text_is(r->text, f->key, "inbytes"))
		return read_int(r, f->value, INT64_MAX / 4096, &c->in_bytes);
	if (graph_text_is(r->text, f->key, "out"))
		n->out = f->value;
	else if (graph_text_is(r->text, f->key, "coll"))
		c->collective = f->value;
	else if (graph_text_is(r->text, f->key, "args"))
		return read_reduction(r, f->value, &c->reduce);
	return true;
}

static bool read_node(struct reader *r, struct graph_text record)
{
	struct graph_node n = {.at = record.at, .kind = GRAPH_COMPUTE};
	struct graph_comm c = {.group = UINT32_MAX};
	struct field f;
	int64_t time = -1, real_time = -1;
	if (!read_position(r, record, r->g->node.n))
		return false;
	if (!read_name(r, record, "a node should have a name and a target", &n.name))
		return false;
	if (!next_word(r, &n.target))
		return refuse_text(r, E_GRAPH_RECORD, record, "a node should have a name and a target");
	while (next_field(r, &f))
		if (!read_node_field(r, &f, &n, &c, &time, &real_time))
			return false;
	n.time = real_time >= 0 ? real_time : time;
	if (n.time < 0)
		return refuse_text(r, E_GRAPH_RECORD, record, "a node should have time_us=");
	if (n.kind == GRAPH_COMM && (c.group == UINT32_MAX || !c.collective.n))
		return refuse_text(r, E_GRAPH_RECORD, record, "a comm should have group= and coll=");
	if (n.kind == GRAPH_WAIT && !n.in_n)
		return refuse_text(r, E_GRAPH_RECORD, record,
		                   "a wait should need the node that it waits for");
	n.comm = r->g->comm.n;
	if (n.kind == GRAPH_COMM)
		vec_push(&r->g->comm, c);
	vec_push(&r->g->node, n);
	return true;
}

static bool read_head(struct reader *r, struct graph_text record)
{
	struct graph_text t;
	struct field f;
	if (graph_text_is(r->text, record, "graph"))
		return read_name(r, record, "a graph should have a name", &r->g->name);
	if (graph_text_is(r->text, record, "launch_us"))
		return next_word(r, &t)
		           ? read_time(r, t, 1e3, &r->g->launch)
		           : refuse_text(r, E_GRAPH_RECORD, record, "a time in microseconds should follow");
	while (graph_text_is(r->text, record, "hw") && next_field(r, &f))
		if (graph_text_is(r->text, f.key, "dram_Bps") &&
		    !read_number(r, f.value, 1e18, &r->g->memory_rate))
			return false;
	return true;
}

static bool read_end(struct reader *r, struct graph_text record)
{
	struct field f;
	r->ended = true;
	while (next_field(r, &f)) {
		int64_t n;
		bool nodes = graph_text_is(r->text, f.key, "nodes"),
		     storages = graph_text_is(r->text, f.key, "storages");
		if ((nodes || storages) && !read_int(r, f.value, INT64_MAX, &n))
			return false;
		if ((nodes && n != r->g->node.n) || (storages && n != r->g->storage.n))
			return refuse_text(r, E_GRAPH_TRUNCATED, record,
			                   "the file has another number of records");
	}
	return true;
}

static bool read_record(struct reader *r)
{
	struct graph_text record;
	if (!next_word(r, &record))
		return true;
	if (graph_text_is(r->text, record, "node"))
		return read_node(r, record);
	if (graph_text_is(r->text, record, "storage"))
		return read_storage(r, record);
	if (graph_text_is(r->text, record, "group"))
		return read_group(r, record);
	if (graph_text_is(r->text, record, "coll"))
		return read_table(r, record);
	if (graph_text_is(r->text, record, "end"))
		return read_end(r, record);
	return read_head(r, record);
}

bool graph_is(const struct source *s)
{
	static const char head[] = "hircgraph ";
	return s->size >= sizeof head && !memcmp(s->text, head, sizeof head - 1);
}

/* Reads the first line; graph_is has tested its first word. */
static bool read_version(struct reader *r)
{
	struct graph_text word = {0}, version, more;
	next_word(r, &word);
	version = word;
	if (!next_word(r, &version) || !graph_text_is(r->text, version, "1"))
		return refuse_text(r, E_GRAPH_VERSION, version,
		                   "this version of the format is not known; this hirc reads version 1");
	return !next_word(r, &more) ||
	       refuse_text(r, E_GRAPH_VERSION, more, "nothing should follow the version");
}

/* Checks the nodes that storages name, which come later in the file. */
static bool check_definitions(struct reader *r)
{
	for (uint32_t k = 0; k < r->g->storage.n; k++)
		if (r->g->storage.at[k].def >= r->g->node.n)
			return refuse_text(r, E_GRAPH_NODE, r->g->storage.at[k].made_by,
			                   "no node has this number");
	return true;
}

bool graph_read(struct diag *d, struct source *s, struct graph *out)
{
	struct reader r = {.d = d, .g = out, .text = s->text};
	*out = (struct graph){.source = s};
	struct source *before = diag_set_source(d, s);
	bool ok = true;
	for (uint32_t at = 0; at < s->size && ok && !r.ended; at = r.end + 1) {
		const char *stop = memchr(s->text + at, '\n', s->size - at);
		r.at = at;
		r.end = stop ? (uint32_t)(stop - s->text) : s->size;
		ok = at ? read_record(&r) : read_version(&r);
	}
	if (ok && !r.ended) {
		diag_error(d, E_GRAPH_TRUNCATED, s->size, "the file is not complete: it ends without `end`");
		ok = false;
	}
	ok = ok && check_definitions(&r);
	diag_set_source(d, before);
	if (!ok)
		graph_free(out);
	return ok;
}

void graph_free(struct graph *g)
{
	vec_free(&g->group);
	vec_free(&g->table);
	vec_free(&g->point);
	vec_free(&g->storage);
	vec_free(&g->node);
	vec_free(&g->comm);
	vec_free(&g->id);
}
