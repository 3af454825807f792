/* split: see split.h. */
#include "cli/split.h"
#include "base/str.h"
#include <string.h>

static bool is_split(const char *line)
{
	size_t n = !strncmp(line, SPLIT_LINE, sizeof SPLIT_LINE - 1)         ? sizeof SPLIT_LINE - 1
	           : !strncmp(line, SPLIT_SLASHES, sizeof SPLIT_SLASHES - 1) ? sizeof SPLIT_SLASHES - 1
	                                                                     : 0;
	if (!n)
		return false;
	while (line[n] == ' ' || line[n] == '\r')
		n++;
	return !line[n] || line[n] == '\n';
}

/* Returns true if nothing but white space follows, as after a line that ends the last program. */
static bool is_blank(const char *text)
{
	return !text[strspn(text, " \t\r\n")];
}

enum status split_each(const struct source *whole, enum status (*one)(void *to, struct source *s, bool first),
                       void *to)
{
	enum status worst = STATUS_OK;
	const char *start = whole->text;
	uint32_t lines = 0;
	bool first = true;
	while (start && (first || !is_blank(start))) {
		const char *end = start, *next = NULL;
		uint32_t count = 0;
		while (*end && !is_split(end)) {
			end += strcspn(end, "\n");
			if (*end)
				end++, count++;
		}
		if (*end)
			next = strchr(end, '\n') ? strchr(end, '\n') + 1 : NULL;
		struct buf text = {0};
		buf_pad(&text, '\n', lines);
		buf_putn(&text, start, (size_t)(end - start));
		enum status status = one(to, source_from_text(whole->name, text.at, (uint32_t)text.n), first);
		worst = status > worst ? status : worst;
		buf_free(&text);
		lines += count + 1;
		start = next;
		first = false;
	}
	return worst;
}
