/* completion: scripts with which shells complete a command line of hirc.
 *
 *     begin   commands and their help, and code that finds the kind of the word to complete
 *     command a part for each command, made of its option tables
 *     end
 *
 * A command's part holds its options, the words that stand for their values, and which values are files or
 * folders. */
#ifndef HIRC_CLI_COMPLETION_H
#define HIRC_CLI_COMPLETION_H
#include "cli/commands.h"
#include "cli/options.h"

struct completion_shell {
	const char *name;
	void (*begin)(const struct command *all, unsigned n, struct buf *out);
	void (*command)(const struct command_line *c, struct buf *out);
	void (*end)(const struct command *all, unsigned n, struct buf *out);
};

#define COMPLETION_SHELLS(X) X(bash) X(zsh) X(fish)
#define SHELL(name) extern const struct completion_shell completion_##name;
COMPLETION_SHELLS(SHELL)
#undef SHELL

/* NULL: no shell of this name. */
const struct completion_shell *completion_find(const char *name);

/* ---- parts that the shells share */

/* The words that stand for values, between `|`; NULL: there are none. */
const char *completion_words(const struct option *o);
bool completion_is_list(const struct option *o);   /* of several, with commas between them */
bool completion_is_file(const struct option *o);   /* the value is, or holds, a file */
bool completion_is_folder(const struct option *o); /* likewise */
/* The value may be the next word of the command line, not only the text behind `=`. */
bool completion_takes_word(const struct option *o);
/* `a|b|c` with other text between the words. */
void completion_put_words(struct buf *out, const char *words, const char *between);

#define completion_each(c, o)                                                                                \
	for (unsigned t_ = 0; t_ < (c)->table_n; t_++)                                                       \
		for (const struct option *o = (c)->table[t_].row, *end_ = o + (c)->table[t_].n; o < end_;    \
		     o++)                                                                                    \
			if (!options_hidden(c, t_, o))

#endif
