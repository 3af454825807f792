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

/* Prints the name, padded to the widest one. */
static void print_name(const char *name, int width, struct buf *to)
{
	int characters = 0;
	for (const char *at = name; *at; at++)
		characters += ((unsigned char)*at & 0xc0) != 0x80;
	buf_printf(to, "%s%*s", name, width > characters ? width - characters : 0, "");
}

static int widest(const entries *all, int width)
{
	for (uint32_t k = 0; k < all->n; k++)
		width = (int)strlen(all->at[k].name) > width ? (int)strlen(all->at[k].name) : width;
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

static void print_communications(const entries *all, int width, struct buf *to)
{
	print_name("communication", width, to);
	buf_printf(to, " %7s %6s %12s %12s %12s %12s %12s %12s %7s\n", "count", "ranks", "MiB", "time_us",
	           "exposed_us", "hidden_us", "late_us", "worst_us", "of_rank");
	for (uint32_t k = 0; k < all->n; k++) {
		const struct entry *e = &all->at[k];
		print_name(e->name, width, to);
		buf_printf(to, " %7lld %6lld %12.3f %12.3f %12.3f %12.3f %12.3f %12.3f %7lld\n",
		           (long long)e->executions, (long long)e->ranks, (double)e->bytes / (1 << 20),
		           (double)e->time / 1e3, (double)(e->time - e->hidden) / 1e3,
		           (double)e->hidden / 1e3, (double)e->late / 1e3, (double)e->worst / 1e3,
		           (long long)e->worst_rank);
	}
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

/* A table with the mean, least and largest number of each entry. */
struct table {
	const char *of, *count, *mean, *unit;
	double scale;    /* factor for each number */
	bool executions; /* the count is of executions, not of ranks */
};

static void print_table(const entries *all, const struct table *t, int width, struct buf *to)
{
	int wide = 10 - (int)strlen(t->unit);
	print_name(t->of, width, to);
	buf_printf(to, " %7s %10s %10s %10s\n", t->count, t->mean, "least", "most");
	for (uint32_t k = 0; k < all->n; k++) {
		const struct entry *e = &all->at[k];
		print_name(e->name, width, to);
		buf_printf(to, " %7lld", (long long)(t->executions ? e->executions : e->count));
		buf_printf(to, " %*.1f%s %*.1f%s %*.1f%s\n", wide, e->busy / (double)e->count * t->scale,
		           t->unit, wide, e->least * t->scale, t->unit, wide, e->most * t->scale, t->unit);
	}
}

/* ---- where the time of each rank went */

struct rank_row {
	struct balance b;
	int64_t error_ns; /* see struct rt_tracer */
};

static void print_ranks(const struct rank_row *row, uint64_t n, int width, struct buf *to)
{
	int64_t error = 0;
	print_name("rank", width, to);
	buf_printf(to, " %14s = %12s + %12s + %12s\n", "wall_us", "work_us", "exposed_us", "idle_us");
	for (uint64_t k = 0; k < n; k++) {
		const struct balance *b = &row[k].b;
		buf_printf(to, "%-*llu %14.3f = %12.3f + %12.3f + %12.3f\n", width, (unsigned long long)k,
		           (double)b->wall / 1e3, (double)b->work / 1e3, (double)b->exposed / 1e3,
		           (double)b->idle / 1e3);
		error = row[k].error_ns > error ? row[k].error_ns : error;
	}
	if (error)
		buf_printf(to, "clocks of GPUs are matched up to %.3f us\n", (double)error / 1e3);
}

enum status profile_print(struct rt_job *job, const struct trace_spans *s, const struct executions *executed,
                          int64_t error_ns, struct buf *to)
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
		int width = (int)strlen("communication");
		for (int k = 0; k < TABLES; k++) {
			add_entries(table[k], n[k], &all[k]);
			sort_entries(&all[k]);
			width = widest(&all[k], width);
		}
		add_executions(executed, &all[NAMES]);
		for (uint32_t k = 0; k < all[NAMES].n; k++)
			find_worst(executed, job->size, &all[NAMES].at[k]);
		print_communications(&all[NAMES], width, to);
		print_table(&all[TASKS], &(struct table){"tasks of", "count", "time_us", "", 1e-3, true},
		            width, to);
		print_table(&all[LANES], &(struct table){"lane", "ranks", "busy", "%", 100, false}, width,
		            to);
		print_ranks(rows, ranks, width, to);
	}
	for (int k = 0; k < TABLES; k++) {
		vec_free(&mine[k]);
		vec_free(&all[k]);
		free(table[k]);
	}
	free(rows);
	return status;
}
