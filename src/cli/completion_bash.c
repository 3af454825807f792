/* completion_bash: a function that finds the words that may come next, with a `case` a command, and one that
 * offers them. */
#include "cli/completion.h"
#include "cli/embedded.h"
#include <string.h>

/* The place of the cases of commands in completion.bash. */
static const char options[] = "\t# @options@\n";

static void begin_bash(const struct command *all, unsigned n, struct buf *out)
{
	const char *rest = buf_put_until(out, cli_completion_bash, "@commands@");
	for (unsigned k = 0; k < n; k++)
		buf_printf(out, "%s ", all[k].name);
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "%s ", all[k].alias);
	rest = buf_put_until(out, rest, "\t# @aliases@\n");
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "\t%s) set -- %s \"$2\" ;;\n", all[k].alias, all[k].name);
	buf_put_until(out, rest, options);
}

/* The names of an option as a pattern of `case`. */
static void put_pattern(struct buf *out, const struct option *o)
{
	if (o->name)
		buf_printf(out, "--%s", o->name);
	if (o->letter)
		buf_printf(out, "%s-%c", o->name ? " | " : "", o->letter);
}

static void put_value(struct buf *out, const struct option *o)
{
	const char *words = completion_words(o);
	if (o->kind == OPTION_SWITCH || (!words && !completion_is_file(o) && !completion_is_folder(o)))
		return;
	buf_puts(out, "\t\t");
	put_pattern(out, o);
	buf_puts(out, ")");
	if (words) {
		buf_puts(out, " words='");
		completion_put_words(out, words, " ");
		buf_putc(out, '\'');
	}
	if (words && completion_is_list(o))
		buf_puts(out, " list=1");
	if (completion_is_file(o))
		buf_puts(out, " files='*'");
	else if (completion_is_folder(o))
		buf_puts(out, " files=/");
	buf_puts(out, " ;;\n");
}

static void put_bash_command(const struct command_line *c, struct buf *out)
{
	buf_printf(out, "\t%s)\n\t\toptions='--help", c->command);
	completion_each(c, o)
	{
		if (o->letter)
			buf_printf(out, " -%c", o->letter);
		if (o->name && (o->kind == OPTION_SWITCH || o->kind == OPTION_MAYBE))
			buf_printf(out, " --%s", o->name);
		if (o->name && o->kind != OPTION_SWITCH)
			buf_printf(out, " --%s=", o->name);
	}
	buf_puts(out, "'\n\t\tnegations='");
	const char *between = "";
	completion_each(c, o) if (o->kind == OPTION_SWITCH && o->name && strncmp(o->name, "no-", 3))
	{
		buf_printf(out, "%s--no-%s", between, o->name);
		between = " ";
	}
	buf_puts(out, "'\n\t\ttakes=' ");
	completion_each(c, o) if (completion_takes_word(o))
	{
		if (o->name)
			buf_printf(out, "--%s ", o->name);
		if (o->letter)
			buf_printf(out, "-%c ", o->letter);
	}
	buf_puts(out, "'\n");
	if (c->words) {
		buf_puts(out, "\t\targuments='");
		completion_put_words(out, c->words, " ");
		buf_puts(out, "'\n");
	}
	if (!c->no_files) {
		buf_puts(out, "\t\tsuffixes='");
		completion_put_words(out, c->suffixes ? c->suffixes : "hir", " ");
		buf_puts(out, "'\n");
	}
	buf_printf(out, "\t\tno_files=%s\n", c->no_files ? "1" : "");
	buf_puts(out, "\t\tcase $2 in\n");
	completion_each(c, o) put_value(out, o);
	buf_puts(out, "\t\tesac\n\t\t;;\n");
}

static void end_bash(const struct command *all, unsigned n, struct buf *out)
{
	(void)all;
	(void)n;
	buf_puts(out, strstr(cli_completion_bash, options) + strlen(options));
}

const struct completion_shell completion_bash = {"bash", begin_bash, put_bash_command, end_bash};
