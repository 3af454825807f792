/* diag: printing of messages, as text for people or as JSON for tools.
 *
 * Text is printed as soon as a message is reported. A JSON object contains the
 * notes of its message, so it is printed only with the next message, in
 * diag_finish or in diag_free:
 *
 *     {"file":"a.hir","line":3,"column":12,"severity":"error","code":"E0203","message":"…",
 *      "notes":[{"message":"…"}]}
 *
 * A source line is shown as it is, except that characters that a terminal obeys
 * are escaped and that a very long line is cut to the part around the caret. No
 * line is shown if a message points at an empty one. */
#include "base/diag.h"
#include "base/arena.h"
#include "base/escape.h"
#include "base/json_put.h"
#include "base/str.h"
#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
	SNIPPET_MAX = 200,    /* bytes of a source line that are shown */
	SNIPPET_BEFORE = 100, /* of these, bytes before the caret if the line is cut */
};

static const struct {
	const char *name, *color;
} severities[] = {
    [DIAG_ERROR] = {"error", "\033[1;31m"},
    [DIAG_WARNING] = {"warning", "\033[1;35m"},
    [DIAG_NOTE] = {"note", "\033[1;36m"},
};
static const char color_bold[] = "\033[1m", color_caret[] = "\033[1;32m", color_off[] = "\033[0m";

struct diag {
	FILE *out;
	void (*sink)(void *to,
	             const struct diag_message *message); /* gets the messages instead of out; NULL: none */
	void *sink_to;
	enum diag_format format;
	bool color;
	struct source *source; /* borrowed; NULL: none */
	struct {
		struct source *source;
		uint32_t from, to, at;
	} moved; /* see diag_set_moved */
	unsigned errors, warnings;
	unsigned hidden;    /* errors since diag_finish that were counted but not shown */
	bool dropped;       /* the last message was not shown, so its notes are not either */
	struct buf message; /* scratch: the text of one message */
	struct buf text;    /* scratch: the printed message */
	struct buf json;    /* the last object, without its closing brace; empty: there is none */
	bool json_has_notes;
	struct buf *copy;         /* see diag_set_copy */
	void (*before)(void *to); /* NULL: nothing is called */
	void *before_to;
};

struct diag *diag_new(FILE *out, enum diag_format format, enum color_setting color)
{
	struct diag *d = mem_zalloc(sizeof *d);
	d->out = out;
	d->format = format;
	d->color = out && color_wanted(color, out);
	return d;
}

static void json_flush(struct diag *d)
{
	if (!d->json.n)
		return;
	buf_puts(&d->json, d->json_has_notes ? "]}" : "}");
	if (d->format == DIAG_JSON)
		fprintf(d->out, "%s\n", d->json.at);
	if (d->copy)
		buf_printf(d->copy, "%s%s", d->copy->n ? ",\n" : "\n", d->json.at);
	d->json.n = 0;
	d->json_has_notes = false;
}

void diag_set_before(struct diag *d, void (*call)(void *to), void *to)
{
	d->before = call;
	d->before_to = to;
}

void diag_free(struct diag *d)
{
	if (!d)
		return;
	json_flush(d);
	buf_free(&d->message);
	buf_free(&d->text);
	buf_free(&d->json);
	free(d);
}

void diag_set_sink(struct diag *d, void (*sink)(void *to, const struct diag_message *message), void *to)
{
	d->sink = sink;
	d->sink_to = to;
}

void diag_set_copy(struct diag *d, struct buf *members)
{
	json_flush(d);
	d->copy = members;
}

struct source *diag_set_source(struct diag *d, struct source *s)
{
	struct source *former = d->source;
	d->source = s;
	return former;
}

void diag_set_moved(struct diag *d, uint32_t from, uint32_t to, uint32_t at)
{
	d->moved.source = d->source;
	d->moved.from = from;
	d->moved.to = to;
	d->moved.at = at;
}

/* JSON */

static void json_message(struct diag *d, enum diag_severity severity, const char *number, uint32_t at)
{
	struct buf *b = &d->json;
	if (severity != DIAG_NOTE) {
		json_flush(d);
	} else if (b->n) {
		buf_puts(b, d->json_has_notes ? "," : ",\"notes\":[");
		d->json_has_notes = true;
	}
	buf_putc(b, '{');
	if (at != DIAG_NOWHERE) {
		uint32_t line, column;
		source_position(d->source, at, &line, &column);
		buf_puts(b, "\"file\":");
		json_put_string(b, source_name(d->source, at));
		buf_putc(b, ',');
		if (line)
			buf_printf(b, "\"line\":%u,\"column\":%u,", line, column);
	}
	if (severity != DIAG_NOTE || !d->json_has_notes)
		buf_printf(b, "\"severity\":\"%s\",", severities[severity].name);
	if (number)
		buf_printf(b, "\"code\":\"%s\",", number);
	buf_puts(b, "\"message\":");
	json_put_string(b, d->message.at);
	if (d->json_has_notes)
		buf_putc(b, '}');
}

/* Text */

static void put_color(struct diag *d, const char *code)
{
	if (d->color)
		buf_puts(&d->text, code);
}

/* Appends a text of the user to a message, so that the terminal obeys none of it. */
static void put_safe(struct buf *b, const char *s)
{
	escape_put(b, s, strlen(s));
}

static bool is_continuation(char c) /* a byte within a UTF-8 sequence, which takes no column */
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

/* Puts the source line around `at`, and below it the caret and underline. */
static void put_snippet(struct diag *d, uint32_t at, uint32_t length, uint32_t column)
{
	struct buf *b = &d->text;
	const char *text = d->source->text;
	uint32_t line = at - (column - 1), end = at;
	while (end < d->source->size && text[end] && text[end] != '\n')
		end++;
	if (end > line && text[end - 1] == '\r')
		end--;
	if (end == line)
		return;

	uint32_t from = line, to = end;
	if (end - line > SNIPPET_MAX) {
		if (at - line > SNIPPET_BEFORE)
			from = at - SNIPPET_BEFORE;
		while (from > line && is_continuation(text[from]))
			from--;
		if (to - from > SNIPPET_MAX)
			to = from + SNIPPET_MAX;
		while (to < end && is_continuation(text[to]))
			to++;
	}
	const char *before = from > line ? "..." : "", *after = to < end ? "..." : "";

	buf_printf(b, "  %s", before);
	unsigned under = 0;      /* columns of the underlined text */
	struct buf blanks = {0}; /* before the caret; tabs stay tabs, so that it is in its place */
	for (uint32_t i = from; i < to;) {
		unsigned columns;
		uint32_t bytes = escape_put_character(b, text + i, to - i, &columns);
		if (i < at)
			buf_pad(&blanks, text[i] == '\t' ? '\t' : ' ', columns);
		else if (i - at < length)
			under += columns;
		i += bytes;
	}
	buf_printf(b, "%s\n  ", after);
	buf_pad(b, ' ', (unsigned)strlen(before));
	buf_putn(b, blanks.at, blanks.n);
	buf_free(&blanks);
	put_color(d, color_caret);
	buf_putc(b, '^');
	buf_pad(b, '~', under > 1 ? under - 1 : 0);
	put_color(d, color_off);
	buf_putc(b, '\n');
}

static void text_message(struct diag *d, enum diag_severity severity, const char *number, uint32_t at,
                         uint32_t length)
{
	struct buf *b = &d->text;
	uint32_t line = 0, column = 0;
	b->n = 0;
	put_color(d, color_bold);
	if (at != DIAG_NOWHERE) {
		source_position(d->source, at, &line, &column);
		put_safe(b, source_name(d->source, at));
		if (line)
			buf_printf(b, ":%u:%u", line, column);
		buf_puts(b, ": ");
	} else if (severity != DIAG_NOTE) {
		buf_puts(b, "hirc: ");
	}
	put_color(d, severities[severity].color);
	buf_printf(b, "%s: ", severities[severity].name);
	put_color(d, color_off);
	put_color(d, color_bold);
	put_safe(b, d->message.at);
	put_color(d, color_off);
	if (number)
		buf_printf(b, " [%s]", number);
	buf_putc(b, '\n');
	if (line && source_text(d->source))
		put_snippet(d, at, length, column);
	fwrite(b->at, 1, b->n, d->out);
}

/* Both formats */

/* Reports one message. number: NULL for a note. */
static void report_diagnostic(struct diag *d, enum diag_severity severity, const char *number, uint32_t at,
                              uint32_t length, const char *format, va_list args)
{
	assert(!number || *number == (severity == DIAG_ERROR ? 'E' : 'W'));
	d->errors += severity == DIAG_ERROR;
	d->warnings += severity == DIAG_WARNING;
	if (severity != DIAG_NOTE) {
		bool over =
		    severity == DIAG_ERROR ? d->errors > DIAG_MAX_ERRORS : d->errors >= DIAG_MAX_ERRORS;
		d->dropped = over;
		d->hidden += over && severity == DIAG_ERROR;
	}
	if (d->before && d->out)
		d->before(d->before_to);
	if (d->dropped || (!d->out && !d->sink))
		return;

	if (d->source == d->moved.source && at >= d->moved.from && at < d->moved.to)
		at += d->moved.at - d->moved.from;
	d->message.n = 0;
	buf_vprintf(&d->message, format, args);
	if (!d->source)
		at = DIAG_NOWHERE;
	else if (at != DIAG_NOWHERE && at > d->source->size)
		at = d->source->size;
	if (d->sink)
		d->sink(d->sink_to,
		        &(struct diag_message){severity, d->source, at, length, d->message.at, number});
	if (!d->sink && (d->format == DIAG_JSON || d->copy))
		json_message(d, severity, number, at);
	if (!d->sink && d->format == DIAG_TEXT)
		text_message(d, severity, number, at, length);
}

void diag_error(struct diag *d, enum diagnostic code, uint32_t at, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	report_diagnostic(d, DIAG_ERROR, diagnostic_info[code].number, at, 1, format, args);
	va_end(args);
}

void diag_error_span(struct diag *d, enum diagnostic code, uint32_t at, uint32_t length, const char *format,
                     ...)
{
	va_list args;
	va_start(args, format);
	report_diagnostic(d, DIAG_ERROR, diagnostic_info[code].number, at, length, format, args);
	va_end(args);
}

void diag_warning(struct diag *d, enum diagnostic code, uint32_t at, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	report_diagnostic(d, DIAG_WARNING, diagnostic_info[code].number, at, 1, format, args);
	va_end(args);
}

void diag_note(struct diag *d, uint32_t at, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	report_diagnostic(d, DIAG_NOTE, NULL, at, 1, format, args);
	va_end(args);
}

unsigned diag_error_count(const struct diag *d)
{
	return d->errors;
}

unsigned diag_warning_count(const struct diag *d)
{
	return d->warnings;
}

void diag_finish(struct diag *d)
{
	json_flush(d);
	if (d->hidden && (d->format == DIAG_JSON || d->copy)) {
		buf_printf(&d->json, "{\"severity\":\"note\",\"message\":\"%u more error%s not shown\"",
		           d->hidden, d->hidden == 1 ? "" : "s");
		json_flush(d);
	}
	if (d->hidden && d->format == DIAG_TEXT)
		fprintf(d->out, "%u more error%s not shown\n", d->hidden, d->hidden == 1 ? "" : "s");
	d->hidden = 0;
	if (d->out)
		fflush(d->out);
}

/* Suggestions */

static unsigned near_enough(const char *word)
{
	size_t limit = (strlen(word) + 2) / 3;
	return limit < 3 ? (unsigned)limit : 3;
}

struct suggest suggest_start(const char *word)
{
	return (struct suggest){.word = word, .distance = near_enough(word) + 1};
}

void suggest_try(struct suggest *s, const char *candidate)
{
	if (s->distance == 0)
		return;
	bool same = strcasecmp(s->word, candidate) == 0;
	const bool begins = strlen(s->word) >= 4 && !strncasecmp(s->word, candidate, strlen(s->word));
	unsigned distance = same ? 0 : begins ? 1 : str_distance(s->word, candidate, s->distance - 1);
	if (distance < s->distance &&
	    (same || distance < strlen(s->word))) { /* a larger distance would replace the whole word */
		s->distance = distance;
		s->best = candidate;
	}
}

void diag_suggest(struct diag *d, const struct suggest *s)
{
	if (s->best)
		diag_note(d, DIAG_NOWHERE, "did you mean '%s'?", s->best);
}
