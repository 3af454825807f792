/* explain_words: see explain_words.h. */
#include "explain/explain_words.h"
#include "ir/coalesce.h"
#include <string.h>

const char *const explain_bound_text[EXPLAIN_PARTS] = {
    [EXPLAIN_COMPUTE] = "compute: the work of the device",
    [EXPLAIN_MEMORY] = "memory: reading and writing it",
    [EXPLAIN_BANDWIDTH] = "links: their bandwidth",
    [EXPLAIN_LATENCY] = "links: their latency",
    [EXPLAIN_HOST] = "launches: the host issuing statements",
};

const char *explain_short(struct timeline *t, op_id op)
{
	enum op_kind kind = (enum op_kind)t->m->op.at[op].kind;
	if (t->recorded)
		return timeline_label(t, op);
	if (kind != OP_END_COALESCING)
		return op_info[kind].hir;
	op_id first = ir_coalesce_first(t->m, op);
	if (first)
		coalesce_each (t->m, member, op)
			if (t->m->op.at[member].kind != t->m->op.at[first].kind)
				return "group";
	return first ? op_info[t->m->op.at[first].kind].hir : "group";
}

const char *explain_line(struct timeline *t, op_id op)
{
	const char *colon = strrchr(timeline_where(t, op), ':');
	return colon ? colon + 1 : "";
}

static const char *line_and_name(struct timeline *t, op_id op, struct arena *a)
{
	const char *line = explain_line(t, op);
	return arena_printf(a, "%s%s%s", line, *line ? " " : "", explain_short(t, op));
}

const char *explain_after(struct timeline *t, const struct explain_row *r, struct arena *a)
{
	if (!r->after_time)
		return "";
	if (!r->after)
		return "launch";
	if (!*r->after_lane && r->after == r->op)
		return "other ranks";
	return arena_printf(a, "%s%s%s", line_and_name(t, r->after, a), *r->after_lane ? ", " : "",
	                    r->after_lane);
}

const char *explain_lane(const struct explain_class *c, const struct explain_row *r, struct arena *a)
{
	const struct timeline_lane *lane = &c->c->lane.at[r->lane];
	if (r->lanes > 1)
		return arena_printf(a, "%u %s", r->lanes, lane->kind == LANE_STREAM ? "streams" : "teams");
	return lane->name;
}

const char *explain_bytes(int64_t bytes, struct arena *a)
{
	static const char *const unit[] = {"KiB", "MiB", "GiB", "TiB"};
	double n = (double)bytes / 1024;
	unsigned k = 0;
	if (!bytes)
		return "";
	if (bytes < 1024)
		return arena_printf(a, "%lld B", (long long)bytes);
	for (; k < 3 && n >= 999.95; k++)
		n /= 1024;
	return arena_printf(a, "%.1f %s", n, unit[k]);
}

const char *explain_flops(double flops, struct arena *a)
{
	static const char unit[] = " KMGTPE";
	unsigned k = 0;
	if (flops <= 0)
		return "";
	for (; k < 6 && flops >= 999.95; k++)
		flops /= 1000;
	return k ? arena_printf(a, "%.1f %c", flops, unit[k]) : arena_printf(a, "%.0f", flops);
}

enum explain_part explain_bound(const struct explain_class *c)
{
	unsigned most = 0;
	for (unsigned k = 1; k < EXPLAIN_PARTS; k++)
		if (c->chain[k] > c->chain[most])
			most = k;
	return (enum explain_part)most;
}

const char *explain_why_text(struct timeline *t, enum explain_why why, op_id other, struct arena *a)
{
	static const char *const text[EXPLAIN_WHY_COUNT] = {
#define EXPLAIN_TEXT(id, word, its_text) its_text,
	    EXPLAIN_WHYS(EXPLAIN_TEXT)
#undef EXPLAIN_TEXT
	};
	const char *gap = strstr(text[why], "{}");
	if (!gap)
		return text[why];
	const char *line = other ? explain_line(t, other) : "";
	return arena_printf(a, "%.*s%s%s%s%s%s", (int)(gap - text[why]), text[why],
	                    other ? explain_short(t, other) : "another", *line ? " (line " : "", line,
	                    *line ? ")" : "", gap + 2);
}
