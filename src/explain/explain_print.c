/* explain_print: prints an explanation as text: a summary, a table of statements, a table of collectives,
 * advice. */
#include "base/table.h"
#include "explain/explain.h"
#include "explain/explain_words.h"
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 120, WIDEST_STATEMENT = 44, LINES = 2 /* of collectives that are alike */ };

struct unit { /* a unit of time */
	const char *name;
	double ns;
};

struct printing {
	struct explanation *x;
	const struct explain_output *o;
	const struct explain_class *c;
	struct unit unit;
	struct buf *out;
};

static const char *time_text(const struct printing *p, int64_t ns)
{
	return arena_printf(p->x->arena, "%.3f", (double)ns / p->unit.ns);
}

/* Returns the text of a time; "" for 0. */
static const char *time_or_none(const struct printing *p, int64_t ns)
{
	return ns ? time_text(p, ns) : "";
}

/* ---- the summary */

static void put_summary(struct printing *p)
{
	static const unsigned order[] = {EXPLAIN_COMPUTE, EXPLAIN_MEMORY, EXPLAIN_BANDWIDTH, EXPLAIN_LATENCY,
	                                 EXPLAIN_HOST};
	struct timeline *t = p->x->t;
	const struct timeline_class *c = p->c->c;
	struct buf *out = p->out;
	buf_printf(out, "%s", names_text(t->m->names, t->m->name));
	if (t->ranks)
		buf_printf(out, ", %lld rank%s", (long long)t->ranks, t->ranks == 1 ? "" : "s");
	if (t->machine)
		buf_printf(out, ", on %s", t->machine);
	if (!t->recorded)
		buf_printf(out, "; %s%s", c->name, c->end < t->runtime ? ", which end earlier" : "");
	buf_printf(out, "\n\nstep           %12.3f %s   bound by %s\n", (double)t->runtime / p->unit.ns,
	           p->unit.name, explain_bound_text[explain_bound(p->c)]);
	buf_printf(out, "compute        %12.3f %s  %5.1f %%\n", (double)c->work / p->unit.ns, p->unit.name,
	           timeline_percent(c->work, t->runtime));
	buf_printf(out, "communication  %12.3f %s  %5.1f %%\n", (double)p->c->communication / p->unit.ns,
	           p->unit.name, timeline_percent(p->c->communication, t->runtime));
	buf_printf(out, "  exposed      %12.3f %s  %5.1f %%\n", (double)c->exposed / p->unit.ns, p->unit.name,
	           timeline_percent(c->exposed, t->runtime));
	if (p->c->contention)
		buf_printf(
		    out, "contention     %12.3f %s  %5.1f %%, of work and communication beside each other\n",
		    (double)p->c->contention / p->unit.ns, p->unit.name,
		    timeline_percent(p->c->contention, t->runtime));
	if (!t->recorded)
		buf_printf(out, "host           %12.3f %s  %5.1f %%\n", (double)c->host / p->unit.ns,
		           p->unit.name, timeline_percent(c->host, t->runtime));
	buf_puts(out, "the longest chain:");
	const char *between = " ";
	for (unsigned k = 0; k < EXPLAIN_PARTS; k++)
		if (2000 * p->c->chain[order[k]] >= c->end && p->c->chain[order[k]]) {
			buf_printf(out, "%s%s %.1f %%", between, explain_part_word[order[k]],
			           timeline_percent(p->c->chain[order[k]], c->end));
			between = ", ";
		}
	buf_putc(out, '\n');
}

/* ---- statements */

struct ranked {
	int64_t weight;
	uint32_t row;
};

static int by_weight(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->weight != y->weight)
		return x->weight < y->weight ? 1 : -1;
	return (x->row > y->row) - (x->row < y->row);
}

/* Chooses the rows to print: those with the longest times or waits, in their order. */
static bool *chosen(const struct printing *p)
{
	uint32_t n = p->c->row.n;
	struct ranked *r = mem_alloc(sizeof *r * ((size_t)n + 1));
	bool *is = mem_zalloc((size_t)n + 1);
	for (uint32_t k = 0; k < n; k++)
		r[k] = (struct ranked){p->c->row.at[k].time + p->c->row.at[k].exposed, k};
	qsort(r, n, sizeof *r, by_weight);
	for (uint32_t k = 0; k < n && (!p->o->top || k < p->o->top); k++)
		is[r[k].row] = true;
	free(r);
	return is;
}

static void add_whys(const struct printing *p, const struct explain_row *r, struct table *t)
{
	struct arena *a = p->x->arena;
	enum explain_why most = explain_main_why(r);
	if (!r->exposed)
		return;
	table_add_note(
	    t, arena_printf(a, "why exposed: %s%s", explain_why_text(p->x->t, most, r->other[most], a),
	                    r->count > 1 && 2 * r->exposed_first > r->exposed ? "; most of it the first time"
	                                                                      : ""));
	for (unsigned k = 0; k < EXPLAIN_WHY_COUNT; k++)
		if (k != most && 10 * r->why[k] >= r->exposed)
			table_add_note(
			    t, arena_printf(a, "    %s %s of it: %s", time_text(p, r->why[k]), p->unit.name,
			                    explain_why_text(p->x->t, (enum explain_why)k, r->other[k], a)));
}

/* The cells of a row from the statement on; NULL: those of a total. */
static void add_figures(const struct printing *p, const char *statement, const struct explain_row *r,
                        bool total, struct table *t)
{
	struct arena *a = p->x->arena;
	table_add_text(t, statement);
	table_add_text(t, total ? NULL : explain_lane(p->c, r, a));
	table_add_int(t, r->count);
	table_add_text(t, explain_flops(r->flops, a));
	table_add_text(t, explain_bytes(r->bytes, a));
	table_add_text(t, time_text(p, r->time));
	table_add_text(t, total ? NULL : time_text(p, r->begin));
	table_add_text(t, total ? NULL : time_or_none(p, r->idle));
	table_add_text(t, total ? NULL : explain_after(p->x->t, r, a));
	table_add_text(t, time_or_none(p, r->exposed));
}

static void add_total(const struct printing *p, bool communicates, struct table *t)
{
	struct explain_row sum = {0};
	uint32_t rows = 0;
	for (uint32_t k = 0; k < p->c->row.n; k++) {
		const struct explain_row *r = &p->c->row.at[k];
		if (r->communicates != communicates || r->waits)
			continue;
		rows++;
		sum.count += r->count;
		sum.flops += r->flops;
		sum.bytes += r->bytes;
		sum.time += r->time;
		sum.exposed += r->exposed;
	}
	if (!rows)
		return;
	table_add_none(t);
	add_figures(p, communicates ? "all communication" : "all work", &sum, true, t);
}

static void put_statements(struct printing *p)
{
	const struct table_column column[] = {
	    {.title = "line"},
	    {.title = "statement", .left = true, .cut = 20},
	    {.title = "on", .left = true},
	    {.title = "times"},
	    {.title = "FLOP"},
	    {.title = "bytes"},
	    {.title = p->unit.name},
	    {.title = "begin"},
	    {.title = "idle"},
	    {.title = "waits for", .left = true, .cut = 10},
	    {.title = "exposed"},
	};
	struct table t = table_open(TABLE_TEXT, column, sizeof column / sizeof *column);
	bool *is = chosen(p);
	uint32_t left_out = 0;
	t.line = COLUMNS;
	for (uint32_t k = 0; k < p->c->row.n; k++) {
		const struct explain_row *r = &p->c->row.at[k];
		struct buf label = {0};
		if (!is[k]) {
			left_out++;
			continue;
		}
		table_put_cut(timeline_label(p->x->t, r->op), WIDEST_STATEMENT, &label);
		table_add_text(&t, explain_line(p->x->t, r->op));
		add_figures(p, label.at, r, false, &t);
		add_whys(p, r, &t);
		buf_free(&label);
	}
	add_total(p, false, &t);
	add_total(p, true, &t);
	buf_putc(p->out, '\n');
	table_put(&t, p->out);
	if (left_out)
		buf_printf(p->out, "%u more statement%s less: --top=0 prints all\n", left_out,
		           left_out == 1 ? ", which takes" : "s, which take");
	table_close(&t);
	free(is);
}

/* ---- collectives */

/* Returns rows by op; NULL: the class does not run it. */
static const struct explain_row **rows_by_op(const struct printing *p)
{
	const struct explain_row **row = mem_zalloc(sizeof *row * p->x->t->m->op.n);
	for (uint32_t k = 0; k < p->c->row.n; k++)
		row[p->c->row.at[k].op] = &p->c->row.at[k];
	return row;
}

/* Collectives done in the same way, with the same time. */
struct alike {
	const struct explain_collective *first;
	uint32_t count, n; /* count: executions; n: statements */
	struct buf lines;  /* of the first ones */
};

static bool is_alike(const struct cost_choice *a, const struct cost_choice *b)
{
	return a->time == b->time && a->bytes == b->bytes && a->ranks == b->ranks &&
	       a->latency == b->latency && !strcmp(a->collective, b->collective) &&
	       !strcmp(a->links, b->links) && !strcmp(a->algorithm, b->algorithm);
}

/* Adds a line for a collective, and below it the alternatives. */
static void add_collective(const struct printing *p, const struct alike *x, struct table *t)
{
	struct arena *a = p->x->arena;
	const struct cost_choice *o = &x->first->choice;
	const char *lines = x->lines.n ? x->lines.at : "";
	if (x->n > LINES)
		lines = arena_printf(a, "%s +%u", lines, x->n - LINES);
	table_add_text(t, lines);
	table_add_text(t, o->collective);
	table_add_int(t, x->count);
	table_add_text(t, o->links);
	table_add_text(t, explain_bytes(o->bytes, a));
	table_add_text(t, time_text(p, o->time));
	table_add_text(t, o->latency < 0 ? NULL
	                                 : arena_printf(a, "%.0f %%", timeline_percent(o->latency, o->time)));
	table_add_text(t, o->algorithm);
	for (unsigned k = 0; k < o->n; k++) {
		const struct cost_alternative *e = &o->other[k];
		double ratio = o->time ? (double)e->time / (double)o->time : 0;
		const char *by = e->option ? arena_printf(a, " (%s)", e->option) : "";
		table_add_note(t, arena_printf(a, "%s%12s %s %7.2f  %s%s", k ? "    " : "else",
		                               time_text(p, e->time), p->unit.name, ratio, e->name, by));
	}
}

static void put_collectives(struct printing *p)
{
	const struct table_column column[] = {
	    {.title = "line"},    {.title = "collective", .left = true},
	    {.title = "times"},   {.title = "ranks", .left = true, .cut = 20},
	    {.title = "bytes"},   {.title = p->unit.name},
	    {.title = "latency"}, {.title = "how; else: time, its ratio, and how", .left = true, .cut = 10},
	};
	struct table t = table_open(TABLE_TEXT, column, sizeof column / sizeof *column);
	VEC(struct alike) all = {0};
	const struct explain_row **row = rows_by_op(p);
	t.line = COLUMNS;
	for (uint32_t k = 0; k < p->x->collective.n; k++) {
		const struct explain_collective *x = &p->x->collective.at[k];
		uint32_t i = 0;
		if (!row[x->op])
			continue;
		while (i < all.n && !is_alike(&all.at[i].first->choice, &x->choice))
			i++;
		if (i == all.n) {
			vec_push(&all, ((struct alike){.first = x}));
		}
		if (all.at[i].n < LINES)
			buf_printf(&all.at[i].lines, "%s%s", all.at[i].n ? " " : "",
			           explain_line(p->x->t, x->op));
		all.at[i].count += row[x->op]->count;
		all.at[i].n++;
	}
	for (uint32_t i = 0; i < all.n && (!p->o->top || i < p->o->top); i++)
		add_collective(p, &all.at[i], &t);
	if (all.n) {
		buf_putc(p->out, '\n');
		table_put(&t, p->out);
	}
	if (p->o->top && all.n > p->o->top)
		buf_printf(p->out, "%u more kinds of collectives: --top=0 prints all\n",
		           all.n - (uint32_t)p->o->top);
	for (uint32_t i = 0; i < all.n; i++)
		buf_free(&all.at[i].lines);
	vec_free(&all);
	table_close(&t);
	free(row);
}

/* ---- the rest */

static void put_advice(struct printing *p)
{
	const struct timeline *t = p->x->t;
	const explain_advices *a = p->o->advice;
	if (p->o->unlooked) {
		buf_printf(p->out, "\nadvice: %s\n", p->o->unlooked);
		return;
	}
	if (!a)
		return;
	if (!a->n && !*p->o->tried)
		buf_puts(p->out, "\nno other option was tried\n");
	else if (!a->n)
		buf_printf(p->out, "\nnone of these options makes it 1 %% faster\n%s", p->o->tried);
	else
		buf_puts(p->out, "\nfaster, as compiled and simulated with\n");
	static const struct table_column column[] = {{.title = "", .left = true},
	                                             {.title = ""},
	                                             {.title = ""},
	                                             {.title = ""},
	                                             {.title = "", .left = true}};
	struct table table = table_open(TABLE_TEXT, column, sizeof column / sizeof *column);
	struct arena *arena = p->x->arena;
	int64_t exposed = t->class.at[timeline_last_class(t)].exposed; /* compared with the advice, which
	                                                                  is about the class that ends last */
	for (uint32_t k = 0; k < a->n; k++) {
		table_add_text(&table, a->at[k].option);
		table_add_text(&table,
		               arena_printf(arena, "%s %s", time_text(p, a->at[k].time), p->unit.name));
		table_add_text(&table,
		               arena_printf(arena, "%.1f %% less",
		                            timeline_percent(t->runtime - a->at[k].time, t->runtime)));
		table_add_text(&table, arena_printf(arena, "exposed %s", time_text(p, a->at[k].exposed)));
		table_add_text(&table, arena_printf(arena, "instead of %s", time_text(p, exposed)));
	}
	table_put(&table, p->out);
	table_close(&table);
}

static void put_other_classes(struct printing *p)
{
	for (uint32_t k = 0; k < p->x->class.n; k++) {
		const struct timeline_class *c = p->x->class.at[k].c;
		if (c != p->c->c && c->ranks.n)
			buf_printf(p->out, "%s: done at %.3f %s, exposed %.3f: --rank=%u\n", c->name,
			           (double)c->end / p->unit.ns, p->unit.name, (double)c->exposed / p->unit.ns,
			           c->ranks.at[0].first);
	}
}

void explain_print(struct explanation *x, const struct explain_output *o, struct buf *out)
{
	bool us = x->t->runtime < 10000000;
	struct printing p = {.x = x,
	                     .o = o,
	                     .c = &x->class.at[explain_class_of(x, o->rank)],
	                     .unit = us ? (struct unit){"us", 1e3} : (struct unit){"ms", 1e6},
	                     .out = out};
	put_summary(&p);
	put_other_classes(&p);
	if (p.c->row.n)
		put_statements(&p);
	put_collectives(&p);
	put_advice(&p);
}
