/* profile: see profile.h. Each rank sums up its own spans. Rank 0 receives all sums, and the executions
 * of communications. */
#include "exec/profile.h"
#include "base/vec.h"
#include "exec/balance.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 80, TEXT_BYTES = 44, WHERE_BYTES = 28 };

/* A statement or lane, on one rank or on all ranks. */
struct entry {
	uint64_t key;
	char name[NAME_BYTES];
	int64_t first;              /* begin of its first span */
	int64_t count;              /* number of ranks that have it */
	int64_t executions;         /* communications; tasks: on the rank with the most */
	int64_t time, hidden, late; /* of communications */
	int64_t bytes;              /* of communications, over all executions */
	int64_t ranks;              /* communications: most ranks of an execution */
	int64_t worst;              /* communications: longest exposed time of a rank */
	int64_t worst_rank;
	double busy, least,
	    most; /* over the ranks that have it: sum and extremes. Lanes: part of the run; tasks: ns */
};

typedef VEC(struct entry) entries;

static struct entry *entry_of(entries *all, uint64_t key, const char *name)
{
	for (uint32_t k = 0; k < all->n; k++)
		if (all->at[k].key == key)
			return &all->at[k];
	struct entry e = {.key = key, .first = INT64_MAX, .least = 1};
	snprintf(e.name, sizeof e.name, "%s", name);
	vec_push(all, e);
	return &all->at[all->n - 1];
}

/* ---- own spans */

/* Prints the statement and its place without the folder, each cut to its width. */
static void put_name(struct buf *out, const char *text, const char *where)
{
	const char *slash = strrchr(where, '/');
	where = slash ? slash + 1 : where;
	size_t n = strlen(text), w = strlen(where), from = w > WHERE_BYTES ? w - WHERE_BYTES : 0;
	size_t cut = n > TEXT_BYTES ? TEXT_BYTES : n;
	while (cut < n && cut && ((unsigned char)text[cut] & 0xc0) == 0x80)
		cut--;
	while (from < w && ((unsigned char)where[from] & 0xc0) == 0x80)
		from++;
	buf_putn(out, text, cut);
	buf_puts(out, cut < n ? "…" : "");
	if (w)
		buf_printf(out, "  (%s%s)", from ? "…" : "", where + from);
}

static struct entry *entry_of_statement(const struct rt_job *job, const struct trace_span *x, entries *out)
{
	const char *text = trace_text(job, x->label), *where = trace_where(job, x->label);
	uint64_t key = execution_hash(execution_hash(HASH_START, text), where);
	struct buf name = {0};
	put_name(&name, text, where);
	struct entry *e = entry_of(out, key, name.at);
	buf_free(&name);
	return e;
}

/* Sums up the times of this rank's tasks by statement. */
static void sum_tasks(const struct rt_job *job, const struct trace_spans *s, entries *out)
{
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind != RT_TRACE_TASK)
			continue;
		struct entry *e = entry_of_statement(job, x, out);
		e->first = x->begin < e->first ? x->begin : e->first;
		e->executions++;
		e->busy += (double)(x->end - x->begin);
		e->least = e->most = e->busy;
	}
}

/* Lists the names of this rank's communications. */
static void name_communications(const struct rt_job *job, const struct trace_spans *s, entries *out)
{
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind != RT_TRACE_COLLECTIVE && x->kind != RT_TRACE_MESSAGE)
			continue;
		struct entry *e = entry_of_statement(job, x, out);
		e->first = x->begin < e->first ? x->begin : e->first;
	}
}

/* Sums up the busy times of this rank's lanes. wall: duration of all runs. */
static void sum_lanes(const struct rt_job *job, const struct trace_spans *s, int64_t wall, entries *out)
{
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind == RT_TRACE_WAIT)
			continue;
		const char *name = x->lane ? trace_text(job, x->lane) : "messages";
		struct entry *e = entry_of(out, execution_hash(HASH_START, name), name);
		/* late: end of the union of the spans so far */
		int64_t begin = e->count && e->late > x->begin ? e->late : x->begin;
		e->first = x->begin < e->first ? x->begin : e->first;
		e->time += x->end > begin ? x->end - begin : 0;
		e->late = !e->count || x->end > e->late ? x->end : e->late;
		e->count = 1;
	}
	for (uint32_t k = 0; k < out->n; k++) {
		struct entry *e = &out->at[k];
		e->busy = e->least = e->most = wall ? (double)e->time / (double)wall : 0;
	}
}

/* ---- all ranks */

static int by_first(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return strcmp(x->name, y->name);
}

static void sort_entries(entries *all)
{
	if (all->n)
		qsort(all->at, all->n, sizeof *all->at, by_first);
}

static unsigned widest(const entries *all, unsigned width)
{
	for (uint32_t k = 0; k < all->n; k++)
		width = strlen(all->at[k].name) > width ? (unsigned)strlen(all->at[k].name) : width;
	return width;
}

/* Sums up executions; the first one is that of the fastest rank. */
static void add_executions(const struct executions *all, entries *out)
{
	for (uint64_t k = 0, end; k < all->n; k = end) {
		int64_t sum = 0, bytes = 0;
		end = executions_end(all, k);
		for (uint64_t i = k; i < end; i++) {
			sum += all->at[i].time;
			bytes = all->at[i].bytes > bytes ? all->at[i].bytes : bytes;
		}
		int64_t ranks = (int64_t)(end - k);
		struct entry *e = entry_of(out, all->at[k].statement, "");
		e->executions++;
		e->time += all->at[k].time;
		e->hidden += all->at[k].hidden;
		e->late += sum / ranks - all->at[k].time;
		e->bytes += bytes;
		e->ranks = ranks > e->ranks ? ranks : e->ranks;
	}
}

/* Finds the rank with the most exposed communication. */
static void find_worst(const struct executions *all, int ranks, struct entry *e)
{
	int64_t *exposed = mem_zalloc(sizeof *exposed * (size_t)ranks);
	for (uint64_t k = 0; k < all->n; k++)
		if (all->at[k].statement == e->key)
			exposed[all->at[k].rank] += all->at[k].time - all->at[k].hidden;
	for (int k = 0; k < ranks; k++)
		if (exposed[k] > e->worst) {
			e->worst = exposed[k];
			e->worst_rank = k;
		}
	free(exposed);
}

/* Prints a table, in JSON as the member `key`, and frees it. */
static void put_table(const char *key, struct table *t, struct buf *to)
{
	t->gap = 1;
	t->indent = 2;
	if (t->format == TABLE_JSON)
		buf_printf(to, "%s\"%s\": ", to->n ? ",\n  " : "{", key);
	table_put(t, to);
	table_close(t);
}

static void print_communications(const entries *all, unsigned width, enum table_format format, struct buf *to)
{
	const struct table_column column[] = {
	    {.name = "statement", .title = "communication", .width = width, .left = true},
	    {.name = "count", .width = 7},
	    {.name = "ranks", .width = 6},
	    {.title = "MiB", .in = TABLE_IN_TEXT, .width = 12, .decimals = 3},
	    {.name = "bytes", .in = TABLE_IN_JSON},
	    {.name = "time_us", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "exposed_us", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "hidden_us", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "late_us", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "worst_us", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "of_rank", .width = 7},
	};
	struct table t = table_open(format, column, sizeof column / sizeof *column);
	for (uint32_t k = 0; k < all->n; k++) {
		const struct entry *e = &all->at[k];
		table_add_text(&t, e->name);
		table_add_int(&t, e->executions);
		table_add_int(&t, e->ranks);
		table_add_number(&t, (double)e->bytes / (1 << 20));
		table_add_int(&t, e->bytes);
		table_add_number(&t, (double)e->time / 1e3);
		table_add_number(&t, (double)(e->time - e->hidden) / 1e3);
		table_add_number(&t, (double)e->hidden / 1e3);
		table_add_number(&t, (double)e->late / 1e3);
		table_add_number(&t, (double)e->worst / 1e3);
		table_add_int(&t, e->worst_rank);
	}
	put_table("communication", &t, to);
}

/* Adds the entries of one rank to those of all ranks. */
static void add_entries(const struct entry *from, uint64_t n, entries *out)
{
	for (uint64_t k = 0; k < n; k++) {
		uint32_t before = out->n;
		struct entry *e = entry_of(out, from[k].key, from[k].name);
		bool fresh = out->n > before;
		e->first = from[k].first < e->first ? from[k].first : e->first;
		e->executions = from[k].executions > e->executions ? from[k].executions : e->executions;
		e->count++;
		e->busy += from[k].busy;
		e->least = fresh || from[k].least < e->least ? from[k].least : e->least;
		e->most = fresh || from[k].most > e->most ? from[k].most : e->most;
	}
}

/* Adds the mean, the least and the most of each entry. */
static void add_entry_rows(const entries *all, bool executions, double scale, struct table *t)
{
	for (uint32_t k = 0; k < all->n; k++) {
		const struct entry *e = &all->at[k];
		table_add_text(t, e->name);
		table_add_int(t, executions ? e->executions : e->count);
		table_add_number(t, e->busy / (double)e->count * scale);
		table_add_number(t, e->least * scale);
		table_add_number(t, e->most * scale);
	}
}

static void print_tasks(const entries *all, unsigned width, enum table_format format, struct buf *to)
{
	const struct table_column column[] = {
	    {.name = "statement", .title = "tasks of", .width = width, .left = true},
	    {.name = "count", .width = 7},
	    {.name = "mean_us", .title = "time_us", .width = 10, .decimals = 1, .exact = 3},
	    {.name = "least_us", .title = "least", .width = 10, .decimals = 1, .exact = 3},
	    {.name = "most_us", .title = "most", .width = 10, .decimals = 1, .exact = 3},
	};
	struct table t = table_open(format, column, sizeof column / sizeof *column);
	add_entry_rows(all, true, 1e-3, &t);
	put_table("tasks", &t, to);
}

static void print_lanes(const entries *all, unsigned width, enum table_format format, struct buf *to)
{
	const struct table_column column[] = {
	    {.name = "lane", .width = width, .left = true},
	    {.name = "ranks", .width = 7},
	    {.name = "mean_percent", .title = "busy", .width = 10, .decimals = 1, .exact = 1, .suffix = "%"},
	    {.name = "least_percent",
	     .title = "least",
	     .width = 10,
	     .decimals = 1,
	     .exact = 1,
	     .suffix = "%"},
	    {.name = "most_percent", .title = "most", .width = 10, .decimals = 1, .exact = 1, .suffix = "%"},
	};
	struct table t = table_open(format, column, sizeof column / sizeof *column);
	add_entry_rows(all, false, 100, &t);
	put_table("lanes", &t, to);
}

/* ---- where the time of each rank went */

struct rank_row {
	struct balance b;
	int64_t error_ns; /* see struct rt_tracer */
};

static void print_ranks(const struct rank_row *row, uint64_t n, unsigned width, enum table_format format,
                        struct buf *to)
{
	const struct table_column column[] = {
	    {.name = "rank", .width = width, .left = true},
	    {.name = "wall_us", .width = 14, .decimals = 3, .exact = 3},
	    {.name = "work_us", .before = " = ", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "exposed_us", .before = " + ", .width = 12, .decimals = 3, .exact = 3},
	    {.name = "idle_us", .before = " + ", .width = 12, .decimals = 3, .exact = 3},
	};
	struct table t = table_open(format, column, sizeof column / sizeof *column);
	int64_t error = 0;
	for (uint64_t k = 0; k < n; k++) {
		const struct balance *b = &row[k].b;
		table_add_int(&t, (int64_t)k);
		table_add_number(&t, (double)b->wall / 1e3);
		table_add_number(&t, (double)b->work / 1e3);
		table_add_number(&t, (double)b->exposed / 1e3);
		table_add_number(&t, (double)b->idle / 1e3);
		error = row[k].error_ns > error ? row[k].error_ns : error;
	}
	put_table("ranks", &t, to);
	if (format == TABLE_JSON)
		buf_printf(to, ",\n  \"clock_error_us\": %.3f}", (double)error / 1e3);
	else if (error)
		buf_printf(to, "clocks of GPUs are matched up to %.3f us\n", (double)error / 1e3);
}

enum status profile_print(struct rt_job *job, const struct trace_spans *s, const struct executions *executed,
                          int64_t error_ns, enum table_format format, struct buf *to)
{
	enum { NAMES, TASKS, LANES, TABLES };
	entries mine[TABLES] = {0}, all[TABLES] = {0};
	struct rank_row row = {balance_of(s), error_ns};
	void *table[TABLES] = {0}, *rows = NULL;
	uint64_t n[TABLES] = {0}, ranks = 0;
	name_communications(job, s, &mine[NAMES]);
	sum_tasks(job, s, &mine[TASKS]);
	sum_lanes(job, s, row.b.wall, &mine[LANES]);
	enum status status = executions_gather(job, &row, 1, sizeof row, &rows, &ranks);
	for (int k = 0; k < TABLES && status == STATUS_OK; k++)
		status = executions_gather(job, mine[k].at, mine[k].n, sizeof *mine[k].at, &table[k], &n[k]);
	if (status == STATUS_OK && job->rank == 0) {
		unsigned width = sizeof "communication" - 1;
		for (int k = 0; k < TABLES; k++) {
			add_entries(table[k], n[k], &all[k]);
			sort_entries(&all[k]);
			width = widest(&all[k], width);
		}
		add_executions(executed, &all[NAMES]);
		for (uint32_t k = 0; k < all[NAMES].n; k++)
			find_worst(executed, job->size, &all[NAMES].at[k]);
		print_communications(&all[NAMES], width, format, to);
		print_tasks(&all[TASKS], width, format, to);
		print_lanes(&all[LANES], width, format, to);
		print_ranks(rows, ranks, width, format, to);
	}
	for (int k = 0; k < TABLES; k++) {
		vec_free(&mine[k]);
		vec_free(&all[k]);
		free(table[k]);
	}
	free(rows);
	return status;
}
