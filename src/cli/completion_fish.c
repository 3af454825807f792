/* completion_fish: a line `complete` an option. */
#include "cli/completion.h"
#include "cli/embedded.h"
#include <string.h>

/* In '…'. */
static void put_quoted(struct buf *out, const char *text)
{
	buf_putc(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			buf_putc(out, '\\');
		buf_putc(out, *text == '\n' ? ' ' : *text);
	}
	buf_putc(out, '\'');
}

static void begin_fish(const struct command *all, unsigned n, struct buf *out)
{
	const char *rest = buf_put_until(out, cli_completion_fish, "\t\t# @aliases@\n");
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "\t\tcase %s\n\t\t\tset command %s\n", all[k].alias, all[k].name);
	buf_puts(out, rest);
	for (unsigned k = 0; k < n; k++) {
		const char *const word[] = {all[k].name, all[k].alias};
		for (unsigned w = 0; w < 2 && word[w]; w++) {
			buf_printf(out, "complete -c hirc -n __hirc_starts -a %s -d ", word[w]);
			put_quoted(out, all[k].help);
			buf_putc(out, '\n');
		}
	}
}

static void put_words(struct buf *out, const struct option *o)
{
	bool list = completion_is_list(o);
	buf_puts(out, list ? " -a '(__hirc_list " : " -a '");
	completion_put_words(out, completion_words(o), " ");
	buf_puts(out, list ? ")'" : "'");
}

static void put_value(struct buf *out, const struct option *o)
{
	bool file = completion_is_file(o), after = file && strchr(o->value, '=');
	if (completion_takes_word(o))
		buf_puts(out, file && !after ? " -r -F" : " -x");
	else if (file)
		buf_puts(out, " -F");
	if (completion_words(o))
		put_words(out, o);
	else if (after)
		buf_puts(out, " -a '(__hirc_file_after)'");
	else if (completion_is_folder(o))
		buf_puts(out, " -a '(__hirc_folders)'");
}

static void put_option(struct buf *out, const char *command, const struct option *o, bool negated)
{
	buf_printf(out, "complete -c hirc -n '__hirc_is %s'", command);
	if (o->letter && !negated)
		buf_printf(out, " -s %c", o->letter);
	if (o->name)
		buf_printf(out, " -l %s%s", negated ? "no-" : "", o->name);
	if (o->kind != OPTION_SWITCH)
		put_value(out, o);
	buf_puts(out, " -d ");
	struct buf help = {0};
	buf_printf(&help, "%s%s", negated ? "not: " : "", o->help);
	put_quoted(out, help.at);
	buf_free(&help);
	buf_putc(out, '\n');
}

static void put_fish_command(const struct command_line *c, struct buf *out)
{
	buf_printf(out, "\ncomplete -c hirc -n '__hirc_is %s' -l help -d 'list the options'\n", c->command);
	completion_each(c, o)
	{
		put_option(out, c->command, o, false);
		if (o->name && o->kind == OPTION_SWITCH && o->init.on)
			put_option(out, c->command, o, true);
	}
	if (c->words) {
		buf_printf(out, "complete -c hirc -n '__hirc_argument %s' -a '", c->command);
		completion_put_words(out, c->words, " ");
		buf_puts(out, "'\n");
	}
	const char *suffixes = c->suffixes ? c->suffixes : "hir";
	for (const char *s = c->no_files ? NULL : suffixes; s;) {
		size_t n = strcspn(s, "|");
		if (n)
			buf_printf(out,
			           "complete -c hirc -n '__hirc_argument %s' -k -a '(__fish_complete_suffix "
			           ".%.*s)'\n",
			           c->command, (int)n, s);
		else
			buf_printf(out, "complete -c hirc -n '__hirc_argument %s' -F\n", c->command);
		s = s[n] ? s + n + 1 : NULL;
	}
}

static void end_fish(const struct command *all, unsigned n, struct buf *out)
{
	(void)all;
	(void)n;
	(void)out;
}

const struct completion_shell completion_fish = {"fish", begin_fish, put_fish_command, end_fish};
