/* color: colours of text on a terminal, and --color=auto|always|never.
 *
 *     auto    on a terminal, unless NO_COLOR is set and not empty, or TERM is dumb
 *     always  also in a file or a pipe */
#ifndef HIRC_BASE_COLOR_H
#define HIRC_BASE_COLOR_H
#include <stdbool.h>
#include <stdio.h>

enum color_setting { COLOR_AUTO = -1, COLOR_NEVER, COLOR_ALWAYS };

/* Returns the setting that a word of --color names. */
enum color_setting color_setting_find(const char *word);
/* Returns true if text on `out` is to have colours. */
bool color_wanted(enum color_setting s, FILE *out);

#endif
