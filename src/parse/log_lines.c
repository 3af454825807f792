/* log_lines: see the header. */
#include "parse/log_lines.h"
#include <string.h>

enum { MOST_PREFIX = 60 };

/* The first and last lines of a container, and of a fusion without one: older versions print no comment behind its end.
 * The name tells the listings of a file apart. */
static const struct listing_form {
	const char *begin, *end, *name;
} forms[] = {{"%HostIrContainer {", "} // %HostIrContainer", "%HostIrContainer {"},
             {"Inputs:\n", "} // %kernel", "^Inputs:"},
             {"Inputs:\n", "\n}\n", "^Inputs:"},
             {"%kernel {", "\n}", "^%kernel"}};
enum { FORMS = sizeof forms / sizeof *forms };

/* Returns the first place of a text between two others, or NULL. */
static const char *find_text(const char *from, const char *to, const char *text)
{
	return from < to ? memmem(from, (size_t)(to - from), text, strlen(text)) : NULL;
}

static const char *find_line_start(const struct source *s, const char *at)
{
	while (at > s->text && at[-1] != '\n')
		at--;
	return at;
}

static unsigned find_line(struct source *s, const char *at)
{
	uint32_t line, column;
	source_position(s, (uint32_t)(at - s->text), &line, &column);
	return line;
}

static bool is_blank(const char *from, const char *to)
{
	while (from < to && (*from == ' ' || *from == '\t'))
		from++;
	return from == to;
}

/* Returns the place of the first listing, or NULL. */
static const char *find_listing(const char *from, const char *to, const struct listing_form **form)
{
	const char *listing = NULL;
	for (unsigned i = 0; i < FORMS && !listing; i++) {
		*form = &forms[i];
		listing = find_text(from, to, forms[i].begin);
		if (i && listing &&
		    (!find_text(listing, to, "%kernel") || !find_text(listing, to, forms[i].end)))
			listing = NULL; /* these words stand elsewhere, too */
	}
	return listing;
}

bool log_lines_note_file(struct diag *d, struct source *s, uint32_t at, uint32_t end)
{
	const char *name = source_name(s, at), *limit = s->text + end, *here = s->text + at, *from = here;
	if (s->released)
		return false;
	while (from > s->text && from[-1])
		from--; /* to the start of the file */
	const struct listing_form *form;
	const char *listing = find_listing(from, limit, &form);
	if (!listing)
		return false;
	const char *line = find_line_start(s, listing);
	int prefix = (int)(listing - line);
	if (!is_blank(line, listing)) {
		bool quote = memchr(line, '\'', (size_t)prefix) || prefix > MOST_PREFIX;
		if (quote)
			diag_note(d, DIAG_NOWHERE,
			          "a listing has nothing before its lines: `cut -b %d- %s` takes it away",
			          prefix + 1, name);
		else
			diag_note(d, DIAG_NOWHERE,
			          "`%.*s` stands before the lines of the listing: `grep -F '%.*s' %s | cut "
			          "-b %d-` takes it away",
			          prefix, line, prefix, line, name, prefix + 1);
		return true;
	}
	if (here < listing) {
		diag_note(d, DIAG_NOWHERE, "the listing begins in line %u: `tail -n +%u %s`",
		          find_line(s, listing), find_line(s, listing), name);
		return true;
	}
	const char *last = NULL;
	for (const char *c = from; (c = find_text(c, here, form->end)); c++)
		last = c;
	last += last && *last == '\n';
	const char *behind = last ? last + strcspn(last, "\n") : here;
	while (behind < here && strchr(" \t\r\n", *behind))
		behind++;
	if (last && behind == here && !strncmp(here, "Aliases:", 8)) {
		diag_note(
		    d, DIAG_NOWHERE,
		    "an alias is another name of a tensor: give it the tensor's name in the listing, and "
		    "take these lines out");
		return true;
	}
	if (last && behind == here)
		diag_note(d, DIAG_NOWHERE, "the listing ends in line %u: `head -n %u %s`", find_line(s, last),
		          find_line(s, last), name);
	return last && behind == here;
}

bool log_lines_note(struct parser *p, uint32_t at)
{
	return log_lines_note_file(p->diag, p->ast->source, at, (uint32_t)(p->limit - p->text));
}

void log_lines_note_second(struct parser *p, uint32_t at)
{
	const char *name = source_name(p->ast->source, at);
	const struct listing_form *form = forms;
	find_listing(p->ast->source->text, p->ast->source->text + (p->limit - p->text), &form);
	diag_note(p->diag, DIAG_NOWHERE,
	          "`csplit -z %s '/%s/' '{*}'` writes each listing to a file of its own%s", name, form->name,
	          form == forms ? "; those of several devices are one program: `hirc check xx00 xx01`" : "");
}
