/* timeline: texts and totals of timelines. */
#include "sim/timeline.h"
#include "cost/block.h"
#include "ir/coalesce.h"
#include "ir/number.h"
#include "ir/print.h"
#include <string.h>

void timeline_open(struct timeline *t, struct module *m)
{
	*t = (struct timeline){.m = m, .arena = arena_new()};
	t->label = mem_zalloc(sizeof *t->label * m->op.n);
	t->where = mem_zalloc(sizeof *t->where * m->op.n);
	ir_number(m); /* now, as statements are printed one at a time */
}

void timeline_close(struct timeline *t)
{
	for (uint32_t k = 0; k < t->class.n; k++) {
		struct timeline_class *c = &t->class.at[k];
		vec_free(&c->ranks);
		vec_free(&c->lane);
		vec_free(&c->span);
		vec_free(&c->memory);
		vec_free(&c->tensor);
		vec_free(&c->change);
		vec_free(&c->peer);
		vec_free(&c->held);
		vec_free(&c->critical);
	}
	vec_free(&t->class);
	vec_free(&t->remark);
	free(t->label);
	free(t->where);
	arena_free(t->arena);
}

static void sum_up(struct timeline_class *c)
{
	c->work = c->exposed = 0;
	for (uint32_t k = 0; k < c->span.n; k++)
		c->span.at[k].exposed = 0;
	for (uint32_t k = 0; k < c->span.n; k++) {
		struct timeline_span *s = &c->span.at[k];
		int64_t time = s->end - s->begin;
		if (s->kind != TIMELINE_WAIT) {
			c->lane.at[s->lane].busy += time;
			c->work += s->kind == TIMELINE_WORK ? time : 0;
		} else {
			c->exposed += time;
			if (s->comm != TIMELINE_NONE)
				c->span.at[s->comm].exposed += time;
		}
	}
}

/* Returns "ranks 0-7 16-23 …". */
static const char *ranks_text(struct timeline *t, const struct timeline_class *c)
{
	enum { MOST = 4 };
	struct buf text = {0};
	buf_puts(&text, c->count == 1 ? "rank" : "ranks");
	for (uint32_t k = 0; k < c->ranks.n && k < MOST; k++) {
		struct timeline_ranks r = c->ranks.at[k];
		buf_printf(&text, r.first == r.last ? " %u" : " %u-%u", r.first, r.last);
	}
	buf_puts(&text, c->ranks.n > MOST ? " …" : "");
	const char *name = arena_strndup(t->arena, text.at, text.n);
	buf_free(&text);
	return name;
}

void timeline_finish(struct timeline *t)
{
	for (uint32_t k = 0; k < t->class.n; k++) {
		struct timeline_class *c = &t->class.at[k];
		sum_up(c);
		if (!c->name)
			c->name = ranks_text(t, c);
	}
}

uint32_t timeline_last_class(const struct timeline *t)
{
	uint32_t last = 0;
	for (uint32_t k = 1; k < t->class.n; k++)
		if (t->class.at[k].end > t->class.at[last].end)
			last = k;
	return last;
}

const char *timeline_label(struct timeline *t, op_id op)
{
	struct buf text = {0};
	if (t->label[op])
		return t->label[op];
	if (t->recorded)
		t->label[op] = block_name(t->m, op);
	if (t->label[op])
		return t->label[op];
	op_id first = t->m->op.at[op].kind == OP_END_COALESCING ? ir_coalesce_first(t->m, op) : 0;
	unsigned others = 0;
	if (first)
		coalesce_each (t->m, member, op)
			others += member != first;
	ir_print_statement_numbered(t->m, first ? first : op, &text);
	const char *from = text.at;
	while (text.n && text.at[text.n - 1] == '\n')
		text.n--;
	text.at[text.n] = '\0';
	if (others) {
		buf_printf(&text, ", and %u more", others);
		from = text.at;
	}
	from += strspn(from, " ");
	t->label[op] = arena_strndup(t->arena, from, strlen(from));
	buf_free(&text);
	return t->label[op];
}

const char *timeline_where(struct timeline *t, op_id op)
{
	uint32_t line, column, at = t->m->op.at[op].at;
	if (!t->where[op] && t->m->source && at != DIAG_NOWHERE) {
		source_position(t->m->source, at, &line, &column);
		t->where[op] = arena_printf(t->arena, "%s:%u", source_name(t->m->source, at), line);
	}
	return t->where[op] ? t->where[op] : "";
}

const char *timeline_held_name(struct timeline *t, const struct timeline_held *h)
{
	struct buf text = {0};
	if (!h->value)
		return timeline_label(t, h->op);
	ir_print_value_name(t->m, h->value, &text);
	const char *name = arena_strndup(t->arena, text.at, text.n);
	buf_free(&text);
	return name;
}

void timeline_communication(const struct timeline *t, const struct timeline_class *c, timeline_rows *out)
{
	struct { /* by op: its rows */
		uint32_t row, next;
	} *known = mem_alloc(sizeof *known * (c->span.n + 1));
	uint32_t *first = mem_zalloc(sizeof *first * t->m->op.n), known_n = 0;
	for (uint32_t k = 0; k < c->span.n; k++) {
		const struct timeline_span *s = &c->span.at[k];
		if (s->kind != TIMELINE_COLLECTIVE && s->kind != TIMELINE_MESSAGE)
			continue;
		uint32_t i = first[s->op];
		while (i && out->at[known[i - 1].row].lane != s->lane)
			i = known[i - 1].next;
		if (!i) {
			known[known_n].row = out->n;
			known[known_n].next = first[s->op];
			first[s->op] = i = ++known_n;
			vec_push(out,
			         ((struct timeline_row){.op = s->op, .lane = s->lane, .first = s->begin}));
		}
		struct timeline_row *r = &out->at[known[i - 1].row];
		r->count++;
		r->bytes += s->bytes;
		r->time += s->end - s->begin;
		r->exposed += s->exposed;
	}
	free(known);
	free(first);
}
