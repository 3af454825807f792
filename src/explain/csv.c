/* csv: all rows of all classes, a line each. */
#include "explain/explain.h"
#include "explain/explain_words.h"
#include <string.h>

/* A cell, in quotes where it needs them. */
static void put_cell(struct buf *out, const char *text)
{
	if (!text[strcspn(text, ",\"\n\r")]) {
		buf_puts(out, text);
		return;
	}
	buf_putc(out, '"');
	for (; *text; text++)
		buf_printf(out, *text == '"' ? "\"\"" : "%c", *text);
	buf_putc(out, '"');
}

static void put_text(struct buf *out, const char *text)
{
	put_cell(out, text);
	buf_putc(out, ',');
}

static void put_int(struct buf *out, int64_t n)
{
	buf_printf(out, "%lld,", (long long)n);
}

static void put_row(struct explanation *x, const struct explain_class *c, const struct explain_row *r,
                    struct buf *out)
{
	enum explain_why why = explain_main_why(r);
	put_text(out, c->c->name);
	put_text(out, timeline_where(x->t, r->op));
	put_text(out, timeline_label(x->t, r->op));
	put_text(out, r->communicates ? "communication" : r->waits ? "wait" : "work");
	put_text(out, explain_lane(c, r, x->arena));
	put_int(out, r->count);
	buf_printf(out, "%.0f,", r->flops);
	put_int(out, r->bytes);
	put_int(out, r->time);
	put_int(out, r->alone);
	put_int(out, r->begin);
	put_int(out, r->first);
	put_int(out, r->idle);
	put_text(out, explain_after(x->t, r, x->arena));
	put_int(out, r->exposed);
	put_text(out, r->exposed ? explain_why_word[why] : "");
	put_cell(out, r->exposed ? explain_why_text(x->t, why, r->other[why], x->arena) : "");
	buf_putc(out, '\n');
}

void explain_csv(struct explanation *x, struct buf *out)
{
	buf_puts(out,
	         "ranks,where,statement,kind,on,count,flops,bytes,time_ns,alone_ns,begin_ns,first_ns,idle_ns,"
	         "waits_for,exposed_ns,reason,why\n");
	for (uint32_t k = 0; k < x->class.n; k++)
		for (uint32_t i = 0; i < x->class.at[k].row.n; i++)
			put_row(x, &x->class.at[k], &x->class.at[k].row.at[i], out);
}
