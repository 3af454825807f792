/* completion_fish: a line `complete` an option. */
#include "cli/completion.h"
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

static void begin(const struct command *all, unsigned n, struct buf *out)
{
	buf_puts(out, "# Completion for fish, made by `hirc completions fish` of hirc's options.\n"
	              "\n"
	              "# Whether the command is of this name.\n"
	              "function __hirc_is\n"
	              "\tset -l words (commandline -opc)\n"
	              "\tset -q words[2]; or return 1\n"
	              "\tset -l command $words[2]\n"
	              "\tswitch $command\n");
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "\t\tcase %s\n\t\t\tset command %s\n", all[k].alias, all[k].name);
	buf_puts(out,
	         "\tend\n"
	         "\ttest $command = $argv[1]\n"
	         "end\n"
	         "\n"
	         "# Whether the command is still to come.\n"
	         "function __hirc_starts\n"
	         "\ttest (count (commandline -opc)) -eq 1\n"
	         "end\n"
	         "\n"
	         "# Whether an argument is completed, not an option or its value.\n"
	         "function __hirc_argument\n"
	         "\t__hirc_is $argv[1]; and not string match -q -- '-*' (commandline -ct)\n"
	         "end\n"
	         "\n"
	         "function __hirc_folders\n"
	         "\t__fish_complete_directories (commandline -ct | string replace -r '^--[^=]*=' '') ''\n"
	         "end\n"
	         "\n"
	         "# Words of a list, after those that stand there and their comma.\n"
	         "function __hirc_list\n"
	         "\tset -l before (commandline -ct | string replace -rf '^(--?[^=]*=)?(.*,)?[^,]*$' '$2')\n"
	         "\tfor word in $argv\n"
	         "\t\techo $before$word\n"
	         "\tend\n"
	         "end\n"
	         "\n"
	         "# The files of NAME=FILE.\n"
	         "function __hirc_file_after\n"
	         "\tset -l value (commandline -ct | string replace -r '^--[^=]*=' '')\n"
	         "\tset -l parts (string split -m 1 = -- $value)\n"
	         "\tset -q parts[2]; and string replace -r '^' \"$parts[1]=\" -- (__fish_complete_path "
	         "$parts[2])\n"
	         "end\n"
	         "\n"
	         "complete -c hirc -f\n"
	         "complete -c hirc -n __hirc_starts -l help -d 'list the commands'\n"
	         "complete -c hirc -n __hirc_starts -l version -d 'version and what this build can do'\n");
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

static void command(const struct command_line *c, struct buf *out)
{
	buf_printf(out, "\ncomplete -c hirc -n '__hirc_is %s' -l help -d 'list the options'\n", c->command);
	completion_each(c, o)
	{
		put_option(out, c->command, o, false);
		if (o->name && o->kind == OPTION_SWITCH && *(const bool *)o->to)
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

static void end(const struct command *all, unsigned n, struct buf *out)
{
	(void)all;
	(void)n;
	(void)out;
}

const struct completion_shell completion_fish = {"fish", begin, command, end};
