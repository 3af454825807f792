/* explain_print: an explanation for people: a summary, a table of statements, one of collectives, advice. */
#include "explain/explain.h"
#include "explain/explain_words.h"
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 120, WIDEST_STATEMENT = 44, LEAST_CUT = 20, LINES = 2 /* of collectives that are alike */ };

struct unit { /* of times */
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

/* "" of 0. */
static const char *time_or_none(const struct printing *p, int64_t ns)
{
	return ns ? time_text(p, ns) : "";
}

/* ---- tables */

enum { MOST_CELLS = 11 };

/* A line of a table, or, with cells 0, a text that stands below one. */
struct line {
	const char *cell[MOST_CELLS];
	const char *note;
};

struct table {
	VEC(struct line) line;
	unsigned n, cut[2]; /* cells; the two that are cut so that lines fit */
	const char *left;   /* by cell: 'l' to the left */
};

/* Columns that a text takes. */
static unsigned width_of(const char *text)
{
	unsigned n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* The first columns of a text, the last one `…` if there are more. */
static void put_cut(struct buf *out, const char *text, unsigned width)
{
	unsigned n = width_of(text), k = 0;
	const char *end = text;
	for (; *end && (k < (n > width ? width - 1 : n) || ((unsigned char)*end & 0xc0) == 0x80); end++)
		k += ((unsigned char)*end & 0xc0) != 0x80;
	if (n > width) /* the rest of the last letter */
		while (end > text && ((unsigned char)*end & 0xc0) == 0x80)
			end++;
	buf_putn(out, text, (size_t)(end - text));
	if (n > width)
		buf_puts(out, "…");
}

static void put_cell(struct buf *out, const char *text, unsigned width, bool left)
{
	unsigned n = width_of(text) < width ? width_of(text) : width;
	if (!left)
		buf_pad(out, ' ', width - n);
	put_cut(out, text, width);
	if (left)
		buf_pad(out, ' ', width - n);
}

static void put_table(const struct table *t, struct buf *out)
{
	unsigned width[MOST_CELLS] = {0}, all = 2 * (t->n - 1);
	for (uint32_t i = 0; i < t->line.n; i++)
		for (unsigned k = 0; k < t->n && !t->line.at[i].note; k++) {
			unsigned w = width_of(t->line.at[i].cell[k]);
			width[k] = w > width[k] ? w : width[k];
		}
	for (unsigned k = 0; k < t->n; k++)
		all += width[k];
	for (; all > COLUMNS; all--) { /* the wider of the two */
		unsigned *a = &width[t->cut[0]], *b = &width[t->cut[1]];
		if (*a >= *b && *a > LEAST_CUT)
			--*a;
		else if (*b > LEAST_CUT / 2)
			--*b;
		else
			break;
	}
	for (uint32_t i = 0; i < t->line.n; i++) {
		const struct line *l = &t->line.at[i];
		if (l->note) {
			buf_pad(out, ' ', width[0] + 4);
			put_cut(out, l->note, COLUMNS - width[0] - 4);
			buf_putc(out, '\n');
			continue;
		}
		for (unsigned k = 0; k < t->n; k++) {
			buf_puts(out, k ? "  " : "");
			put_cell(out, l->cell[k], width[k], t->left[k] == 'l');
		}
		while (out->n && out->at[out->n - 1] == ' ')
			out->n--;
		buf_putc(out, '\n');
	}
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

/* Chooses the rows to print: those that take or wait longest, in their order. */
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
	vec_push(&t->line,
	         ((struct line){.note = arena_printf(a, "why exposed: %s%s",
	                                             explain_why_text(p->x->t, most, r->other[most], a),
	                                             r->count > 1 && 2 * r->exposed_first > r->exposed
	                                                 ? "; most of it the first time"
	                                                 : "")}));
	for (unsigned k = 0; k < EXPLAIN_WHY_COUNT; k++)
		if (k != most && 10 * r->why[k] >= r->exposed)
			vec_push(&t->line,
			         ((struct line){
			             .note = arena_printf(
			                 a, "    %s %s of it: %s", time_text(p, r->why[k]), p->unit.name,
			                 explain_why_text(p->x->t, (enum explain_why)k, r->other[k], a))}));
}

static void add_total(const struct printing *p, bool communicates, struct table *t)
{
	struct arena *a = p->x->arena;
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
	if (rows)
		vec_push(&t->line, ((struct line){
		                       .cell = {"", communicates ? "all communication" : "all work", "",
		                                arena_printf(a, "%u", sum.count), explain_flops(sum.flops, a),
		                                explain_bytes(sum.bytes, a), time_text(p, sum.time), "", "",
		                                "", time_or_none(p, sum.exposed)}}));
}

static void put_statements(struct printing *p)
{
	struct arena *a = p->x->arena;
	struct table t = {.n = 11, .cut = {1, 9}, .left = "rllrrrrrrlr"};
	bool *is = chosen(p);
	uint32_t left_out = 0;
	vec_push(&t.line, ((struct line){.cell = {"line", "statement", "on", "times", "FLOP", "bytes",
	                                          p->unit.name, "begin", "idle", "waits for", "exposed"}}));
	for (uint32_t k = 0; k < p->c->row.n; k++) {
		const struct explain_row *r = &p->c->row.at[k];
		if (!is[k]) {
			left_out++;
			continue;
		}
		struct buf label = {0};
		put_cut(&label, timeline_label(p->x->t, r->op), WIDEST_STATEMENT);
		vec_push(&t.line,
		         ((struct line){
		             .cell = {explain_line(p->x->t, r->op), arena_strndup(a, label.at, label.n),
		                      explain_lane(p->c, r, a), arena_printf(a, "%u", r->count),
		                      explain_flops(r->flops, a), explain_bytes(r->bytes, a),
		                      time_text(p, r->time), time_text(p, r->begin), time_or_none(p, r->idle),
		                      explain_after(p->x->t, r, a), time_or_none(p, r->exposed)}}));
		buf_free(&label);
		add_whys(p, r, &t);
	}
	add_total(p, false, &t);
	add_total(p, true, &t);
	buf_putc(p->out, '\n');
	put_table(&t, p->out);
	if (left_out)
		buf_printf(p->out, "%u more statement%s less: --top=0 prints all\n", left_out,
		           left_out == 1 ? ", which takes" : "s, which take");
	vec_free(&t.line);
	free(is);
}

/* ---- collectives */

/* By op: its row; NULL: the class does not do it. */
static const struct explain_row **rows_by_op(const struct printing *p)
{
	const struct explain_row **row = mem_zalloc(sizeof *row * p->x->t->m->op.n);
	for (uint32_t k = 0; k < p->c->row.n; k++)
		row[p->c->row.at[k].op] = &p->c->row.at[k];
	return row;
}

/* Collectives that are done alike, for as long. */
struct alike {
	const struct explain_collective *first;
	uint32_t count, n; /* executions; statements */
	struct buf lines;  /* of the first ones */
};

static bool is_alike(const struct cost_choice *a, const struct cost_choice *b)
{
	return a->time == b->time && a->bytes == b->bytes && a->ranks == b->ranks &&
	       a->latency == b->latency && !strcmp(a->collective, b->collective) &&
	       !strcmp(a->links, b->links) && !strcmp(a->algorithm, b->algorithm);
}

/* A line, and below it the alternatives. */
static void add_collective(const struct printing *p, const struct alike *x, struct table *t)
{
	struct arena *a = p->x->arena;
	const struct cost_choice *o = &x->first->choice;
	const char *lines = x->lines.n ? x->lines.at : "";
	if (x->n > LINES)
		lines = arena_printf(a, "%s +%u", lines, x->n - LINES);
	vec_push(
	    &t->line,
	    ((struct line){
	        .cell = {
	            arena_strndup(a, lines, strlen(lines)), o->collective, arena_printf(a, "%u", x->count),
	            o->links, explain_bytes(o->bytes, a), time_text(p, o->time),
	            o->latency < 0 ? "" : arena_printf(a, "%.0f %%", timeline_percent(o->latency, o->time)),
	            o->algorithm}}));
	for (unsigned k = 0; k < o->n; k++) {
		const struct cost_alternative *e = &o->other[k];
		double ratio = o->time ? (double)e->time / (double)o->time : 0;
		const char *by = e->option ? arena_printf(a, " (%s)", e->option) : "";
		vec_push(&t->line,
		         ((struct line){.note = arena_printf(a, "%s%12s %s %7.2f  %s%s", k ? "    " : "else",
		                                             time_text(p, e->time), p->unit.name, ratio,
		                                             e->name, by)}));
	}
}

static void put_collectives(struct printing *p)
{
	struct table t = {.n = 8, .cut = {3, 7}, .left = "rlrlrrrl"};
	VEC(struct alike) all = {0};
	const struct explain_row **row = rows_by_op(p);
	vec_push(&t.line,
	         ((struct line){.cell = {"line", "collective", "times", "ranks", "bytes", p->unit.name,
	                                 "latency", "how; else: time, its ratio, and how"}}));
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
		put_table(&t, p->out);
	}
	if (p->o->top && all.n > p->o->top)
		buf_printf(p->out, "%u more kinds of collectives: --top=0 prints all\n",
		           all.n - (uint32_t)p->o->top);
	for (uint32_t i = 0; i < all.n; i++)
		buf_free(&all.at[i].lines);
	vec_free(&all);
	vec_free(&t.line);
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
	buf_puts(p->out, a->n ? "\nfaster, as compiled and simulated with\n"
	                      : "\nno other option makes it faster, as far as was tried\n");
	struct table table = {.n = 5, .cut = {0, 0}, .left = "lrrrl"};
	struct arena *arena = p->x->arena;
	int64_t exposed = t->class.at[timeline_last_class(t)].exposed; /* as that of advice is */
	for (uint32_t k = 0; k < a->n; k++)
		vec_push(&table.line,
		         ((struct line){
		             .cell = {a->at[k].option,
		                      arena_printf(arena, "%s %s", time_text(p, a->at[k].time), p->unit.name),
		                      arena_printf(arena, "%.1f %% less",
		                                   timeline_percent(t->runtime - a->at[k].time, t->runtime)),
		                      arena_printf(arena, "exposed %s", time_text(p, a->at[k].exposed)),
		                      arena_printf(arena, "instead of %s", time_text(p, exposed))}}));
	if (a->n)
		put_table(&table, p->out);
	vec_free(&table.line);
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
