/* report_source: the text of the program with the numbers of its lines, which remarks and messages name. */
#include "base/diag.h"
#include "base/source.h"
#include "parse/ast.h"
#include "report/highlight.h"
#include "report/html.h"
#include "report/parts.h"
#include <stdlib.h>
#include <string.h>

static bool is_text(const struct source *s)
{
	if (!s || !s->size)
		return false;
	for (uint32_t at = 0; at < s->size;) {
		unsigned n = s->text[at] ? source_utf8_length(s->text + at, s->size - at) : 0;
		if (!n)
			return false;
		at += n;
	}
	return true;
}

static bool is_nvfuser(struct source *s)
{
	struct diag *silent = diag_new(NULL, DIAG_TEXT, 0);
	struct ast *a = ast_parse_shared(silent, s);
	bool found = a->surface == SURFACE_NVFUSER;
	ast_free(a);
	diag_free(silent);
	return found;
}

void report_find_source(struct report *r)
{
	r->has_source = is_text(r->m->source);
	r->nvfuser = r->has_source && is_nvfuser(r->m->source);
}

uint32_t report_line_of(const struct report *r, uint32_t at)
{
	uint32_t line = 0, column;
	if (r->m->source && at != DIAG_NOWHERE && at <= r->m->source->size)
		source_position(r->m->source, at, &line, &column);
	return line;
}

void report_put_line(struct report *r, uint32_t line, struct buf *out)
{
	if (!line)
		return;
	if (line <= REPORT_MOST_LINES && r->has_source)
		buf_printf(out, "<a href=\"#L%u\">line %u</a>", line, line);
	else
		buf_printf(out, "line %u", line);
}

/* Finds, by line, the first remark on it, counted from 1; 0: none. */
static uint32_t *find_said(const struct report *r)
{
	uint32_t *said = mem_zalloc(sizeof *said * (REPORT_MOST_LINES + 2));
	for (uint32_t k = r->remark.n < REPORT_MOST_REMARKS ? r->remark.n : REPORT_MOST_REMARKS; k > 0; k--) {
		uint32_t line = report_line_of(r, r->remark.at[k - 1].at);
		if (line && line <= REPORT_MOST_LINES)
			said[line] = k;
	}
	return said;
}

void report_source(struct report *r, struct buf *out)
{
	const struct source *s = r->m->source;
	if (!r->has_source) {
		if (s)
			buf_printf(out, "<p class=\"note\">%u bytes that are no text.</p>\n", s->size);
		return;
	}
	uint32_t *said = find_said(r), line = 0, more = 0;
	buf_puts(out, "<div class=\"box\"><table class=\"source code\"><colgroup><col class=\"no\"><col>"
	              "</colgroup><tbody>\n");
	for (const char *at = s->text, *end = s->text + s->size; at < end; line++) {
		const char *stop = memchr(at, '\n', (size_t)(end - at));
		stop = stop ? stop : end;
		uint32_t number = line + 1;
		if (number > REPORT_MOST_LINES) {
			more++;
		} else {
			buf_printf(out, "<tr id=\"L%u\"%s><td class=\"no\">", number,
			           said[number] ? " class=\"said\"" : "");
			if (said[number])
				buf_printf(out, "<a href=\"#R%u\">%u</a>", said[number], number);
			else
				buf_printf(out, "%u", number);
			buf_puts(out, "</td><td>");
			highlight_put(out, at, (uint32_t)(stop - at), r->nvfuser, 0, 0);
			buf_puts(out, "</td></tr>\n");
		}
		at = stop + 1;
	}
	buf_puts(out, "</tbody></table></div>\n");
	if (more) {
		buf_printf(out, "<p class=\"note\">%u more lines: ", more);
		html_printf(out, "%s has them.", s->name);
		buf_puts(out, "</p>\n");
	}
	free(said);
}
