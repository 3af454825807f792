/* color: see color.h. */
#include "base/color.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum color_setting color_setting_find(const char *word)
{
	return !strcmp(word, "always") ? COLOR_ALWAYS : !strcmp(word, "never") ? COLOR_NEVER : COLOR_AUTO;
}

bool color_wanted(enum color_setting s, FILE *out)
{
	const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
	if (s != COLOR_AUTO)
		return s == COLOR_ALWAYS;
	return isatty(fileno(out)) && !(no_color && *no_color) && !(terminal && !strcmp(terminal, "dumb"));
}
