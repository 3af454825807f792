/* profile: see profile.h. Each rank sums up its own spans; rank 0 gets all sums, and puts together what
 * belongs to one collective: the k-th execution of a statement on a communicator. */
#include "exec/profile.h"
#include "base/vec.h"
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 80, TEXT_BYTES = 44, WHERE_BYTES = 28 };

/* One execution on one rank. */
struct instance {
	uint64_t statement; /* hash */
	uint64_t match;     /* hash of statement and communicator */
	int64_t number;     /* of those with this match */
	int64_t time, hidden;
};

/* A statement or lane, on one rank or of all. */
struct entry {
	uint64_t key;
	char name[NAME_BYTES];
	int64_t first;              /* when it began */
	int64_t count;              /* ranks that have it */
	int64_t executions;         /* of a communication; of tasks on the rank with most */
	int64_t time, hidden, late; /* of a communication */
	double busy, least, most; /* by rank, of those that have it: the sum, and the extremes. Of a lane the
	                           * share of the run, of tasks nanoseconds */
};

typedef VEC(struct entry) entries;
typedef VEC(struct instance) instances;

static uint64_t hash(uint64_t h, const char *text)
{
	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3u;
	return (h ^ 0xff) * 0x100000001b3u;
}

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

/* Tasks of one rank: they run one at a time. */
struct tasks {
	VEC(int64_t) begin, end, before; /* before: time of those before this one */
};

static struct tasks tasks_of(const struct trace_spans *s)
{
	struct tasks t = {0};
	int64_t sum = 0;
	for (uint64_t k = 0; k < s->n; k++) {
		if (s->at[k].kind != RT_TRACE_TASK)
			continue;
		vec_push(&t.begin, s->at[k].begin);
		vec_push(&t.end, s->at[k].end);
		vec_push(&t.before, sum);
		sum += s->at[k].end - s->at[k].begin;
	}
	return t;
}

/* Time of tasks up to a moment. */
static int64_t task_time(const struct tasks *t, int64_t moment)
{
	uint32_t low = 0, high = t->begin.n; /* tasks below low have begun */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		if (t->begin.at[middle] < moment)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return 0;
	int64_t end = t->end.at[low - 1] < moment ? t->end.at[low - 1] : moment;
	return t->before.at[low - 1] + end - t->begin.at[low - 1];
}

static int by_match(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;
	if (x->match != y->match)
		return x->match < y->match ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return (x->time > y->time) - (x->time < y->time);
}

/* Statement and place, without the folder, each cut to what a line has room for. */
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

/* How long this rank's tasks took, by statement. */
static void sum_tasks(const struct rt_job *job, const struct trace_spans *s, entries *out)
{
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind != RT_TRACE_TASK)
			continue;
		const char *text = trace_text(job, x->label), *where = trace_where(job, x->label);
		struct buf name = {0};
		put_name(&name, text, where);
		struct entry *e = entry_of(out, hash(hash(0xcbf29ce484222325u, text), where), name.at);
		buf_free(&name);
		e->first = x->begin < e->first ? x->begin : e->first;
		e->executions++;
		e->busy += (double)(x->end - x->begin);
		e->least = e->most = e->busy;
	}
}

/* What this rank executed; the statements' names go to names. */
static void sum_up(const struct rt_job *job, const struct trace_spans *s, instances *out, entries *names)
{
	struct tasks tasks = tasks_of(s);
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind != RT_TRACE_COLLECTIVE && x->kind != RT_TRACE_MESSAGE)
			continue;
		const char *text = trace_text(job, x->label), *where = trace_where(job, x->label);
		struct instance i = {.statement = hash(hash(0xcbf29ce484222325u, text), where),
		                     .number = (int64_t)k,
		                     .time = x->end - x->begin,
		                     .hidden = task_time(&tasks, x->end) - task_time(&tasks, x->begin)};
		i.match = hash(i.statement, x->kind == RT_TRACE_MESSAGE ? "" : trace_text(job, x->lane));
		struct buf name = {0};
		put_name(&name, text, where);
		struct entry *e = entry_of(names, i.statement, name.at);
		e->first = x->begin < e->first ? x->begin : e->first;
		buf_free(&name);
		vec_push(out, i);
	}
	if (out->n)
		qsort(out->at, out->n, sizeof *out->at, by_match);
	for (uint32_t k = 0; k < out->n; k++)
		out->at[k].number =
		    k && out->at[k].match == out->at[k - 1].match ? out->at[k - 1].number + 1 : 0;
	vec_free(&tasks.begin);
	vec_free(&tasks.end);
	vec_free(&tasks.before);
}

/* How busy this rank's lanes were. */
static void sum_lanes(const struct rt_job *job, const struct trace_spans *s, entries *out)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	for (uint64_t k = 0; k < s->n; k++) {
		first = s->at[k].begin < first ? s->at[k].begin : first;
		last = s->at[k].end > last ? s->at[k].end : last;
	}
	for (uint64_t k = 0; k < s->n; k++) {
		const struct trace_span *x = &s->at[k];
		if (x->kind == RT_TRACE_WAIT)
			continue;
		const char *name = x->lane ? trace_text(job, x->lane) : "messages";
		struct entry *e = entry_of(out, hash(0xcbf29ce484222325u, name), name);
		/* late: where the union of the spans so far ends */
		int64_t begin = e->count && e->late > x->begin ? e->late : x->begin;
		e->first = x->begin < e->first ? x->begin : e->first;
		e->time += x->end > begin ? x->end - begin : 0;
		e->late = !e->count || x->end > e->late ? x->end : e->late;
		e->count = 1;
	}
	for (uint32_t k = 0; k < out->n; k++) {
		struct entry *e = &out->at[k];
		e->busy = e->least = e->most = last > first ? (double)e->time / (double)(last - first) : 0;
	}
}

/* ---- all ranks */

/* Collective: rows of all ranks, one after the other; *total of them. */
static enum status gather(struct rt_job *job, const void *rows, uint32_t n, size_t bytes, void **out,
                          uint64_t *total)
{
	uint32_t most = 0, *count = mem_zalloc(sizeof *count * (size_t)job->size);
	enum status status = rt_job_allgather(job, "a profile", &n, sizeof n, count);
	for (int k = 0; k < job->size; k++)
		most = count[k] > most ? count[k] : most;
	char *mine = mem_zalloc(most * bytes + 1), *all = mem_zalloc(most * bytes * (size_t)job->size + 1);
	if (n)
		memcpy(mine, rows, n * bytes);
	if (status == STATUS_OK && most)
		status = rt_job_allgather(job, "a profile", mine, most * bytes, all);
	*total = 0;
	for (int k = 0; k < job->size; k++) {
		memmove(all + *total * bytes, all + (size_t)k * most * bytes, count[k] * bytes);
		*total += count[k];
	}
	*out = all;
	free(mine);
	free(count);
	return status;
}

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

/* Adds up executions: the first of those with one match and number is the fastest rank's. */
static void match_up(struct instance *all, uint64_t n, entries *out)
{
	qsort(all, (size_t)n, sizeof *all, by_match);
	for (uint64_t k = 0, last; k < n; k = last) {
		int64_t sum = 0;
		for (last = k;
		     last < n && all[last].match == all[k].match && all[last].number == all[k].number; last++)
			sum += all[last].time;
		struct entry *e = entry_of(out, all[k].statement, "");
		e->executions++;
		e->time += all[k].time;
		e->hidden += all[k].hidden;
		e->late += sum / (int64_t)(last - k) - all[k].time;
	}
}

/* The name, in characters as wide as the widest of all. */
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

static void print_statements(const entries *all, int width, struct buf *to)
{
	print_name("communication", width, to);
	buf_printf(to, " %7s %10s %10s %10s %10s\n", "count", "time_us", "exposed_us", "hidden_us",
	           "late_us");
	for (uint32_t k = 0; k < all->n; k++) {
		const struct entry *e = &all->at[k];
		print_name(e->name, width, to);
		buf_printf(to, " %7lld %10.1f %10.1f %10.1f %10.1f\n", (long long)e->executions,
		           (double)e->time / 1e3, (double)(e->time - e->hidden) / 1e3,
		           (double)e->hidden / 1e3, (double)e->late / 1e3);
	}
}

/* Of one rank into those of all. */
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

/* A table with the mean, the least and the most of each entry. */
struct table {
	const char *of, *count, *mean, *unit;
	double scale;    /* what a number is multiplied by */
	bool executions; /* the count is of these, not of ranks */
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

enum status profile_print(struct rt_job *job, const struct trace_spans *s, struct buf *to)
{
	enum { NAMES, TASKS, LANES, TABLES };
	entries mine[TABLES] = {0}, all[TABLES] = {0};
	instances own = {0};
	void *table[TABLES] = {0}, *executed = NULL;
	uint64_t n[TABLES] = {0}, executions = 0;
	sum_up(job, s, &own, &mine[NAMES]);
	sum_tasks(job, s, &mine[TASKS]);
	sum_lanes(job, s, &mine[LANES]);
	enum status status = gather(job, own.at, own.n, sizeof *own.at, &executed, &executions);
	for (int k = 0; k < TABLES && status == STATUS_OK; k++)
		status = gather(job, mine[k].at, mine[k].n, sizeof *mine[k].at, &table[k], &n[k]);
	if (status == STATUS_OK && job->rank == 0) {
		int width = (int)strlen("communication");
		for (int k = 0; k < TABLES; k++) {
			add_entries(table[k], n[k], &all[k]);
			sort_entries(&all[k]);
			width = widest(&all[k], width);
		}
		match_up(executed, executions, &all[NAMES]);
		print_statements(&all[NAMES], width, to);
		print_table(&all[TASKS], &(struct table){"tasks of", "count", "time_us", "", 1e-3, true},
		            width, to);
		print_table(&all[LANES], &(struct table){"lane", "ranks", "busy", "%", 100, false}, width,
		            to);
	}
	for (int k = 0; k < TABLES; k++) {
		vec_free(&mine[k]);
		vec_free(&all[k]);
		free(table[k]);
	}
	vec_free(&own);
	free(executed);
	return status;
}
