/* passes: the changes of each pass, as the program before it beside the program after it. */
#include "ir/print.h"
#include "report/highlight.h"
#include "report/html.h"
#include "report/parts.h"
#include <ctype.h>

enum {
	AROUND = 3, /* lines around a change */
	OPEN = 60   /* changed lines that are shown unfolded */
};

/* Returns true if more parentheses open than close. */
static bool is_open(const char *text, uint32_t n)
{
	int open = 0;
	for (uint32_t i = 0; i < n; i++)
		open += (text[i] == '(') - (text[i] == ')');
	return open > 0;
}

/* Finds the bytes in which two lines differ; none if they have little in common. */
static void find_marks(struct rows_line a, struct rows_line b, uint32_t mark[2], uint32_t mark_end[2])
{
	uint32_t least = a.n < b.n ? a.n : b.n, begin = 0, end = 0, blanks = 0;
	while (begin < least && a.at[begin] == b.at[begin])
		begin++;
	while (end < least - begin && a.at[a.n - 1 - end] == b.at[b.n - 1 - end])
		end++;
	while (begin && (isalnum((unsigned char)a.at[begin - 1]) || (a.at[begin - 1] & 0x80)))
		begin--; /* extend to whole words */
	while (end && (isalnum((unsigned char)a.at[a.n - end]) || (a.at[a.n - end] & 0x80)))
		end--;
	while (blanks < begin && a.at[blanks] == ' ')
		blanks++;
	if (end && b.at[b.n - end] == ')' &&
	    (is_open(a.at + begin, a.n - end - begin) || is_open(b.at + begin, b.n - end - begin)))
		end--; /* extend a call to its end */
	bool much = begin - blanks + end >= (least - blanks) * 2 / 5;
	mark[0] = mark[1] = much ? begin : 0;
	mark_end[0] = much ? a.n - end : 0;
	mark_end[1] = much ? b.n - end : 0;
}

static void put_cell(const struct rows *rows, unsigned side, uint32_t line, const char *class, uint32_t mark,
                     uint32_t mark_end, struct buf *out)
{
	if (line == ROWS_NONE) {
		buf_puts(out, "<td class=\"no\"></td><td class=\"none\"></td>");
		return;
	}
	buf_printf(out, "<td class=\"no\">%u</td><td%s>", line + 1, class);
	highlight_put(out, rows->text[side].at[line].at, rows->text[side].at[line].n, false, mark, mark_end);
	buf_puts(out, "</td>");
}

static void put_pair(const struct rows *rows, const struct rows_pair *p, struct buf *out)
{
	uint32_t mark[2] = {0}, mark_end[2] = {0};
	if (!p->alike && p->line[0] != ROWS_NONE && p->line[1] != ROWS_NONE)
		find_marks(rows->text[0].at[p->line[0]], rows->text[1].at[p->line[1]], mark, mark_end);
	buf_puts(out, p->alike ? "<tr class=\"same\">" : "<tr>");
	put_cell(rows, 0, p->line[0], p->alike ? "" : " class=\"del\"", mark[0], mark_end[0], out);
	put_cell(rows, 1, p->line[1], p->alike ? " class=\"second\"" : " class=\"add\"", mark[1], mark_end[1],
	         out);
	buf_puts(out, "</tr>\n");
}

/* Returns true if a pair of lines is shown: it differs, or a pair near it does. */
static bool is_near(const struct rows *rows, uint32_t k)
{
	uint32_t from = k > AROUND ? k - AROUND : 0;
	for (uint32_t i = from; i < rows->pair.n && i <= k + AROUND; i++)
		if (!rows->pair.at[i].alike)
			return true;
	return false;
}

static void put_rows(struct report *r, const struct rows *rows, const char *pass, struct buf *out)
{
	uint32_t gap = 0, shown = 0, more = 0;
	buf_puts(out, "<div class=\"box\"><table class=\"diff code\"><colgroup><col class=\"no\"><col>"
	              "<col class=\"no\"><col></colgroup><tbody>\n");
	for (uint32_t k = 0; k <= rows->pair.n; k++) {
		bool end = k == rows->pair.n, near = !end && is_near(rows, k);
		if ((near || end) && gap && !more)
			buf_printf(out, "<tr class=\"gap\"><td colspan=\"4\">%u line%s alike</td></tr>\n",
			           gap, gap > 1 ? "s" : "");
		gap = near || end ? 0 : gap + 1;
		if (near && (shown >= REPORT_MOST_ROWS || r->rows >= REPORT_ALL_ROWS)) {
			more++;
		} else if (near) {
			put_pair(rows, &rows->pair.at[k], out);
			shown++;
			r->rows++;
		}
	}
	buf_puts(out, "</tbody></table></div>\n");
	if (more) {
		buf_printf(out, "<p class=\"note\">%u more lines: <code>", more);
		html_put(out, report_command(r, "compile", arena_printf(r->arena, "--print-after=%s", pass)));
		buf_puts(out, "</code> prints the program.</p>\n");
	}
}

/* Puts "2 lines removed, 6 added". */
static void put_counts(const struct rows *rows, struct buf *out)
{
	const struct {
		uint32_t n;
		const char *what;
	} part[] = {{rows->removed, "removed"}, {rows->added, "added"}};
	bool any = false;
	for (unsigned k = 0; k < 2; k++) {
		if (!part[k].n)
			continue;
		buf_printf(out, "%s%u%s %s", any ? ", " : "", part[k].n,
		           any             ? ""
		           : part[k].n > 1 ? " lines"
		                           : " line",
		           part[k].what);
		any = true;
	}
}

/* Puts the changes from the text before a pass to the one after it. Returns false if there are none. */
static bool put_changes(struct report *r, const char *pass, const struct buf *text)
{
	struct rows rows;
	rows_open(&rows, &r->text, text);
	bool changed = rows.removed + rows.added;
	if (changed) {
		buf_printf(&r->passes, "<details%s>\n<summary><b>%s</b> ",
		           rows.removed + rows.added <= OPEN ? " open" : "", pass);
		if (r->file)
			html_printf(&r->passes, "in %s ", r->file);
		put_counts(&rows, &r->passes);
		buf_puts(&r->passes, "</summary>\n");
		put_rows(r, &rows, pass, &r->passes);
		buf_puts(&r->passes, "</details>\n");
	}
	rows_close(&rows);
	return changed;
}

/* Returns the file that all statements of a program are from; NULL: they are from several, or the source is one file. */
static const char *find_file(const struct module *m)
{
	const struct source *s = m->source;
	const char *found = NULL;
	region_each (m, op, m->body) {
		const char *name = s->file_n > 1 ? source_name(s, m->op.at[op].at) : NULL;
		if (!name || (found && name != found))
			return NULL;
		found = name;
	}
	return found;
}

static void begin_program(struct report *r, const struct module *m)
{
	const char *file = find_file(m);
	r->file = file ? arena_strndup(r->arena, file, strlen(file)) : NULL;
	r->passed = 0;
}

bool report_after(void *report, struct module *m, const char *pass)
{
	struct report *r = report;
	struct buf text = {0};
	ir_print_hir(m, &text);
	if (!pass) {
		begin_program(r, m);
	} else {
		if (r->passed == r->pass.n)
			vec_push(&r->pass, ((struct report_pass){.name = pass}));
		r->pass.at[r->passed++].changed |= put_changes(r, pass, &text);
	}
	buf_free(&r->text);
	r->text = text;
	return true;
}

uint32_t report_passes_that_changed(const struct report *r)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < r->pass.n; k++)
		n += r->pass.at[k].changed;
	return n;
}

void report_passes(struct report *r, struct buf *out)
{
	uint32_t same = r->pass.n - report_passes_that_changed(r), shown = 0;
	if (same < r->pass.n)
		html_note(out, "The program before each pass, beside the program after it; numbers of "
		               "nameless tensors are not compared.");
	else
		html_note(out, r->pass.n ? "No pass changed the program." : "No pass ran.");
	buf_putn(out, r->passes.n ? r->passes.at : "", r->passes.n);
	if (same) {
		buf_puts(out, "<p>Unchanged by ");
		for (uint32_t k = 0; k < r->pass.n; k++)
			if (!r->pass.at[k].changed) {
				buf_printf(out, "%s<code>%s</code>",
				           !shown              ? ""
				           : shown + 1 == same ? " and "
				                               : ", ",
				           r->pass.at[k].name);
				shown++;
			}
		buf_puts(out, ".</p>\n");
	}
}

void report_result(struct report *r, struct buf *out)
{
	uint32_t lines = 0, more = 0;
	if (!r->text.n)
		return;
	buf_puts(out, "<details><summary>The program that runs, after all passes</summary>\n"
	              "<div class=\"box\"><pre class=\"wrap\">");
	for (const char *at = r->text.at, *end = at + r->text.n; at < end;) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		if (lines++ < REPORT_MOST_LINES) {
			highlight_put(out, at, (uint32_t)(stop - at), false, 0, 0);
			buf_putc(out, '\n');
		} else {
			more++;
		}
		at = stop + 1;
	}
	buf_puts(out, "</pre></div>\n");
	if (more) {
		buf_printf(out, "<p class=\"note\">%u more lines: <code>", more);
		html_put(out,
		         report_command(r, "compile", r->part_n > 1 ? "--print-after=all" : "--dump=hir"));
		buf_puts(out, "</code> prints them.</p>\n");
	}
	buf_puts(out, "</details>\n");
}
