/* completion_zsh: a function a command, whose options are specifications of _arguments. */
#include "cli/completion.h"
#include "cli/embedded.h"
#include <string.h>

/* The place of the functions of commands in completion.zsh. */
static const char functions[] = "# @functions@\n";

/* In '…': escapes for the shell, and for _arguments if `escaped`. */
static void put_quoted(struct buf *out, const char *text, const char *escaped)
{
	for (; *text; text++) {
		if (*text == '\'') {
			buf_puts(out, "'\\''");
			continue;
		}
		if (strchr(escaped, *text))
			buf_putc(out, '\\');
		buf_putc(out, *text == '\n' ? ' ' : *text);
	}
}

static void begin_zsh(const struct command *all, unsigned n, struct buf *out)
{
	const char *rest = buf_put_until(out, cli_completion_zsh, "\t\t# @commands@\n");
	for (unsigned k = 0; k < n; k++) {
		const char *const word[] = {all[k].name, all[k].alias};
		for (unsigned w = 0; w < 2 && word[w]; w++) {
			buf_printf(out, "\t\t'%s:", word[w]);
			put_quoted(out, all[k].help, ":\\");
			buf_puts(out, "'\n");
		}
	}
	rest = buf_put_until(out, rest, "\t# @aliases@\n");
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "\t%s) command=%s ;;\n", all[k].alias, all[k].name);
	buf_put_until(out, rest, functions);
}

/* Puts the words that are offered for a value. */
static void put_action(struct buf *out, const struct option *o)
{
	const char *words = completion_words(o);
	if (words && completion_is_list(o)) {
		buf_puts(out, "_sequence compadd - ");
		completion_put_words(out, words, " ");
	} else if (words && completion_is_file(o)) {
		buf_puts(out, " _alternative \"words\\:word\\:(");
		completion_put_words(out, words, " ");
		buf_puts(out, ")\" \"files\\:file\\:_files\"");
	} else if (words) {
		buf_putc(out, '(');
		completion_put_words(out, words, " ");
		buf_putc(out, ')');
	} else if (completion_is_folder(o)) {
		buf_puts(out, "_files -/");
	} else if (completion_is_file(o)) {
		buf_puts(out, strchr(o->value, '=') ? "_hirc_file_after" : "_files");
	} else {
		buf_putc(out, ' '); /* a value, of which nothing is known */
	}
}

/* After the name: `=` where the value may follow it or be the next word, `=-` where it follows, `+` of a
 * letter.
 */
static void put_option(struct buf *out, const struct option *o, bool letter, const char *no)
{
	buf_puts(out, "\t\t'*");
	if (letter)
		buf_printf(out, "-%c%s", o->letter, completion_takes_word(o) ? "+" : "");
	else
		buf_printf(out, "--%s%s%s", no, o->name,
		           o->kind == OPTION_SWITCH  ? ""
		           : o->kind == OPTION_MAYBE ? "=-"
		                                     : "=");
	buf_putc(out, '[');
	if (*no)
		buf_puts(out, "not: ");
	put_quoted(out, o->help, "[]\\");
	buf_putc(out, ']');
	if (o->kind != OPTION_SWITCH && (!letter || completion_takes_word(o))) {
		bool plain = !o->value || strchr(o->value, '|');
		buf_puts(out, o->kind == OPTION_MAYBE ? "::" : ":");
		put_quoted(out, plain ? "value" : o->value, ":\\");
		buf_putc(out, ':');
		put_action(out, o);
	}
	buf_puts(out, "' \\\n");
}

/* Patterns, `any` or `none`, then words. */
static void put_arguments(struct buf *out, const struct command_line *c)
{
	const char *suffixes = c->suffixes ? c->suffixes : "hir";
	buf_puts(out, "\t\t'*:argument: _hirc_argument ");
	if (c->no_files || !*suffixes) {
		buf_puts(out, c->no_files ? "none" : "any");
	} else {
		buf_puts(out, "\"*.");
		completion_put_words(out, suffixes, " *.");
		buf_putc(out, '"');
	}
	if (c->words) {
		buf_putc(out, ' ');
		completion_put_words(out, c->words, " ");
	}
	buf_puts(out, "'\n");
}

static void put_zsh_command(const struct command_line *c, struct buf *out)
{
	buf_printf(out, "\n_hirc_%s()\n{\n\t_arguments -S \\\n\t\t'--help[list the options]' \\\n",
	           c->command);
	completion_each(c, o)
	{
		if (o->letter)
			put_option(out, o, true, "");
		if (o->name)
			put_option(out, o, false, "");
		if (o->name && o->kind == OPTION_SWITCH && o->init.on)
			put_option(out, o, false, "no-");
	}
	put_arguments(out, c);
	buf_puts(out, "}\n");
}

static void end_zsh(const struct command *all, unsigned n, struct buf *out)
{
	(void)all;
	(void)n;
	buf_puts(out, strstr(cli_completion_zsh, functions) + strlen(functions));
}

const struct completion_shell completion_zsh = {"zsh", begin_zsh, put_zsh_command, end_zsh};
