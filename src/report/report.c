/* report: writes the page, section by section, and collects data while passes run. */
#include "report/report.h"
#include "report/html.h"
#include "report/parts.h"

struct part {
	const char *id, *title;
	void (*put)(struct report *r, struct buf *out);
};
static const struct part parts[] = {
    {"summary", "Summary", report_summary},     {"source", "Source", report_source},
    {"passes", "Passes", report_passes},        {"result", "Result", report_result},
    {"layouts", "Layouts", report_layouts},     {"steps", "Pipeline", report_steps},
    {"timeline", "Timeline", report_timelines}, {"memory", "Memory", report_memory},
    {"remarks", "Remarks", report_remarks},     {"check", "Check", report_verdict},
};
enum { PARTS = sizeof parts / sizeof *parts };

void report_open(struct report *r)
{
	*r = (struct report){.arena = arena_new()};
}

void report_close(struct report *r)
{
	buf_free(&r->text);
	buf_free(&r->passes);
	vec_free(&r->pass);
	vec_free(&r->remark);
	vec_free(&r->message);
	arena_free(r->arena);
}

void report_remark(void *report, const char *pass, uint32_t at, const char *text)
{
	struct report *r = report;
	vec_push(&r->remark, ((struct report_remark){pass, arena_strndup(r->arena, text, strlen(text)), at}));
}

void report_message(void *report, const struct diag_message *message)
{
	struct report *r = report;
	struct report_message x = {.error = message->severity == DIAG_ERROR,
	                           .number = message->number,
	                           .text = arena_strndup(r->arena, message->text, strlen(message->text)),
	                           .at = message->source ? message->at : DIAG_NOWHERE};
	vec_push(&r->message, x);
}

void report_put_picture(struct buf *picture, size_t most, const char *command, struct buf *out)
{
	if (picture->n <= most) {
		html_figure(out, picture);
		return;
	}
	buf_puts(out, "<p class=\"note\">The picture is too large for this page: <code>");
	html_put(out, command);
	buf_puts(out, "</code> draws it.</p>\n");
	buf_free(picture);
}

const char *report_command(const struct report *r, const char *name, const char *more)
{
	if (r->part_n > 1 && !strcmp(name, "compile"))
		name = "sim"; /* hirc compile takes one file */
	return arena_printf(r->arena, "hirc %s%s%s %s", name, strcmp(name, "compile") ? r->times_words : "",
	                    r->program_words, more);
}

void report_put(struct report *r, struct buf *out)
{
	const char *program = names_text(r->m->names, r->m->name);
	const char *title = r->title ? r->title : *program ? program : r->m->source->name;
	struct buf section[PARTS] = {0};
	report_find_source(r);
	html_begin(out, title);
	buf_puts(out, "<header>\n<h1>");
	html_put(out, title);
	buf_puts(out, "</h1>\n<p class=\"note\">");
	for (uint32_t k = 0; k < r->part_n; k++)
		html_printf(out, "%s%s", k ? ", " : "", r->part[k].name);
	buf_puts(out, "</p>\n<nav aria-label=\"sections\"><ul>");
	for (unsigned k = 0; k < PARTS; k++) {
		parts[k].put(r, &section[k]);
		if (section[k].n)
			buf_printf(out, "<li><a href=\"#%s\">%s</a></li>", parts[k].id, parts[k].title);
	}
	buf_puts(out, "</ul></nav>\n</header>\n<main>\n");
	for (unsigned k = 0; k < PARTS; k++) {
		if (section[k].n) {
			html_section(out, parts[k].id, parts[k].title);
			buf_putn(out, section[k].at, section[k].n);
			buf_puts(out, "</section>\n");
		}
		buf_free(&section[k]);
	}
	buf_puts(out, "</main>\n<footer>");
	html_printf(out, "hirc %s", r->version);
	buf_puts(out, "</footer>\n");
	html_end(out);
}
