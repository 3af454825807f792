/* report_source: the text of the program with the numbers of its lines, which remarks and messages name. */
#include "base/diag.h"
#include "base/source.h"
#include "base/utf8.h"
#include "parse/ast.h"
#include "report/highlight.h"
#include "report/html.h"
#include "report/parts.h"
#include <stdlib.h>
#include <string.h>

static bool is_text(const char *text, uint32_t n)
{
	for (uint32_t at = 0; at < n;) {
		unsigned length = text[at] ? utf8_length(text + at, n - at) : 0;
		if (!length)
			return false;
		at += length;
	}
	return n;
}

static bool is_nvfuser(struct source *s, uint32_t file)
{
	struct diag *silent = diag_new(NULL, DIAG_TEXT, 0);
	struct ast *a = s->file ? ast_parse_file(silent, s, file, NULL) : ast_parse_shared(silent, s);
	bool found = a->surface == SURFACE_NVFUSER;
	ast_free(a);
	diag_free(silent);
	return found;
}

static uint32_t count_lines(const char *text, const char *end)
{
	uint32_t n = 0;
	for (const char *at = text; at < end; n++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		at = stop ? stop + 1 : end;
	}
	return n;
}

void report_find_source(struct report *r)
{
	struct source *s = r->m->source;
	uint32_t rows = 0;
	r->part_n = s->file_n ? s->file_n : 1;
	r->part = arena_new_array(r->arena, struct report_part, r->part_n);
	r->has_source = true;
	for (uint32_t k = 0; k < r->part_n; k++) {
		struct report_part *x = &r->part[k];
		*x = (struct report_part){.name = s->name, .end = s->size, .rows = rows};
		if (s->file) {
			x->name = s->file[k].name;
			x->at = s->file[k].at;
			x->end = s->file[k].end;
		}
		rows += count_lines(s->text + x->at, s->text + x->end);
		r->has_source &= is_text(s->text + x->at, x->end - x->at);
	}
	for (uint32_t k = 0; k < r->part_n && r->has_source; k++)
		r->part[k].nvfuser = is_nvfuser(s, k);
}

static const struct report_part *find_part(const struct report *r, uint32_t at)
{
	const struct report_part *found = r->part;
	for (uint32_t k = 1; k < r->part_n && r->part[k].at <= at; k++)
		found = &r->part[k];
	return found;
}

/* Returns the line of an offset among those of all files, counted from 1; 0: none. Sets *line to that in its file. */
static uint32_t find_row(const struct report *r, uint32_t at, uint32_t *line)
{
	uint32_t column;
	*line = 0;
	if (at != DIAG_NOWHERE && at <= r->m->source->size)
		source_position(r->m->source, at, line, &column);
	return *line ? find_part(r, at)->rows + *line : 0;
}

void report_put_line(struct report *r, uint32_t at, struct buf *out)
{
	uint32_t line, row = find_row(r, at, &line);
	bool linked = row <= REPORT_MOST_LINES && r->has_source;
	if (!row)
		return;
	if (linked)
		buf_printf(out, "<a href=\"#L%u\">", row);
	if (r->part_n > 1)
		html_printf(out, "%s ", find_part(r, at)->name);
	buf_printf(out, "line %u%s", line, linked ? "</a>" : "");
}

/* Finds, by row, the first remark on it, counted from 1; 0: none. */
static uint32_t *find_said(const struct report *r)
{
	uint32_t *said = mem_zalloc(sizeof *said * (REPORT_MOST_LINES + 2)), line;
	for (uint32_t k = r->remark.n < REPORT_MOST_REMARKS ? r->remark.n : REPORT_MOST_REMARKS; k > 0; k--) {
		uint32_t row = find_row(r, r->remark.at[k - 1].at, &line);
		if (row && row <= REPORT_MOST_LINES)
			said[row] = k;
	}
	return said;
}

/* Puts the lines of a file. Returns how many it leaves out. */
static uint32_t put_file(const struct report *r, const struct report_part *x, const uint32_t *said,
                         struct buf *out)
{
	const char *text = r->m->source->text, *end = text + x->end;
	uint32_t line = 1, more = 0;
	if (r->part_n > 1 && x->rows < REPORT_MOST_LINES) {
		buf_puts(out, "<tr class=\"gap\"><td colspan=\"2\">");
		html_put(out, x->name);
		buf_puts(out, "</td></tr>\n");
	}
	for (const char *at = text + x->at; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		uint32_t row = x->rows + line;
		stop = stop ? stop : end;
		if (row > REPORT_MOST_LINES) {
			more++;
		} else {
			buf_printf(out, "<tr id=\"L%u\"%s><td class=\"no\">", row,
			           said[row] ? " class=\"said\"" : "");
			if (said[row])
				buf_printf(out, "<a href=\"#R%u\">%u</a>", said[row], line);
			else
				buf_printf(out, "%u", line);
			buf_puts(out, "</td><td>");
			highlight_put(out, at, (uint32_t)(stop - at), x->nvfuser, 0, 0);
			buf_puts(out, "</td></tr>\n");
		}
		at = stop + 1;
	}
	return more;
}

void report_source(struct report *r, struct buf *out)
{
	const struct source *s = r->m->source;
	uint32_t more = 0;
	const char *last = s->name;
	if (!r->has_source) {
		buf_printf(out, "<p class=\"note\">%u bytes that are no text.</p>\n", s->size);
		return;
	}
	uint32_t *said = find_said(r);
	buf_puts(out, "<div class=\"box\"><table class=\"source code\"><colgroup><col class=\"no\"><col>"
	              "</colgroup><tbody>\n");
	for (uint32_t k = 0; k < r->part_n; k++) {
		uint32_t left = put_file(r, &r->part[k], said, out);
		last = left && !more ? r->part[k].name : last;
		more += left;
	}
	buf_puts(out, "</tbody></table></div>\n");
	if (more) {
		buf_printf(out, "<p class=\"note\">%u more lines: ", more);
		html_printf(out, r->part_n > 1 ? "%s and the files after it have them." : "%s has them.",
		            last);
		buf_puts(out, "</p>\n");
	}
	free(said);
}
