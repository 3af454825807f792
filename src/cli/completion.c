/* completion: the shared parts of the completions of all shells. */
#include "cli/completion.h"
#include <string.h>

const struct completion_shell *completion_find(const char *name)
{
	static const struct completion_shell *const all[] = {
#define SHELL(name) &completion_##name,
	    COMPLETION_SHELLS(SHELL)
#undef SHELL
	};
	for (unsigned k = 0; k < sizeof all / sizeof *all; k++)
		if (!strcmp(all[k]->name, name))
			return all[k];
	return NULL;
}

static bool names(const struct option *o, const char *what)
{
	return o->kind != OPTION_SWITCH && o->value && strstr(o->value, what);
}

const char *completion_words(const struct option *o)
{
	return o->words ? o->words : names(o, "|") ? o->value : NULL;
}

bool completion_is_list(const struct option *o)
{
	return o->several;
}

bool completion_is_file(const struct option *o)
{
	return names(o, "FILE") || names(o, ".json");
}

bool completion_is_folder(const struct option *o)
{
	return names(o, "DIR");
}

bool completion_takes_word(const struct option *o)
{
	return o->kind != OPTION_SWITCH && o->kind != OPTION_MAYBE;
}

void completion_put_words(struct buf *out, const char *words, const char *between)
{
	while (*words) {
		size_t n = strcspn(words, "|");
		buf_putn(out, words, n);
		words += n;
		if (*words) {
			buf_puts(out, between);
			words++;
		}
	}
}
