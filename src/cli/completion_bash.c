/* completion_bash: a function that says what can stand where, with a `case` a command, and one that offers
 * it. */
#include "cli/completion.h"
#include <string.h>

static void begin(const struct command *all, unsigned n, struct buf *out)
{
	buf_puts(out,
	         "# Completion for bash, made by `hirc completions bash` of hirc's options.\n"
	         "\n"
	         "# _hirc_command COMMAND OPTION: into the caller's variables what the command takes, and\n"
	         "# what the option does.\n"
	         "_hirc_command()\n"
	         "{\n"
	         "\tcommands='");
	for (unsigned k = 0; k < n; k++)
		buf_printf(out, "%s ", all[k].name);
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "%s ", all[k].alias);
	buf_puts(out, "help --help --version'\n"
	              "\tcase $1 in\n");
	for (unsigned k = 0; k < n; k++)
		if (all[k].alias)
			buf_printf(out, "\t%s) set -- %s \"$2\" ;;\n", all[k].alias, all[k].name);
	buf_puts(out, "\tesac\n"
	              "\tcase $1 in\n");
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

static void command(const struct command_line *c, struct buf *out)
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

static const char script[] =
    "\tesac\n"
    "}\n"
    "\n"
    "# _hirc_offer_words TEXT: what of the words begins with cur, after prefix.\n"
    "_hirc_offer_words()\n"
    "{\n"
    "\tlocal word\n"
    "\twhile IFS= read -r word; do\n"
    "\t\tCOMPREPLY+=(\"$word\")\n"
    "\t\t[[ $word == *= ]] && compopt -o nospace 2>/dev/null\n"
    "\tdone < <(compgen -P \"$prefix\" -W \"$1\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "# _hirc_offer_files [-d | -f [-X PATTERN]]: likewise of files.\n"
    "_hirc_offer_files()\n"
    "{\n"
    "\tlocal word\n"
    "\tcompopt -o filenames 2>/dev/null\n"
    "\twhile IFS= read -r word; do\n"
    "\t\tCOMPREPLY+=(\"$prefix$word\")\n"
    "\tdone < <(compgen \"$@\" -- \"$cur\")\n"
    "}\n"
    "\n"
    "# Programs, and folders that may hold some; any files where there are neither.\n"
    "_hirc_offer_programs()\n"
    "{\n"
    "\tlocal suffix\n"
    "\tfor suffix in $suffixes; do\n"
    "\t\t_hirc_offer_files -f -X \"!*.$suffix\"\n"
    "\tdone\n"
    "\t[[ $suffixes ]] && _hirc_offer_files -d\n"
    "\t((${#COMPREPLY[@]})) || _hirc_offer_files -f\n"
    "}\n"
    "\n"
    "_hirc()\n"
    "{\n"
    "\tlocal IFS=$' \\t\\n' commands='' options='' negations='' takes='' arguments='' suffixes='' "
    "no_files=''\n"
    "\tlocal words='' list='' files='' prefix='' option='' i ended=''\n"
    "\tlocal cur=${COMP_WORDS[COMP_CWORD]} first=$COMP_CWORD command=${COMP_WORDS[1]}\n"
    "\tCOMPREPLY=()\n"
    "\t_hirc_command \"$command\" ''\n"
    "\tif ((COMP_CWORD == 1)); then\n"
    "\t\t_hirc_offer_words \"$commands\"\n"
    "\t\treturn\n"
    "\tfi\n"
    "\t# Readline cuts words at `=`: of `--name=value` it makes three. first: where what is completed "
    "begins.\n"
    "\tif [[ $cur == = ]]; then\n"
    "\t\tcur=''\n"
    "\t\tfirst=$((first + 1))\n"
    "\tfi\n"
    "\twhile ((first > 3)) && [[ ${COMP_WORDS[first - 1]} == = ]]; do\n"
    "\t\tfirst=$((first - 2))\n"
    "\tdone\n"
    "\tfor ((i = 2; i < first; i++)); do\n"
    "\t\t[[ ${COMP_WORDS[i]} == -- ]] && ended=1\n"
    "\tdone\n"
    "\tif [[ $ended ]]; then\n"
    "\t\t:\n"
    "\telif ((first < COMP_CWORD)) && [[ ${COMP_WORDS[first]} == --* ]]; then\n"
    "\t\toption=${COMP_WORDS[first]}\n"
    "\telif [[ $cur == --*=* ]]; then # where `=` does not cut\n"
    "\t\toption=${cur%%=*}\n"
    "\t\tprefix=$option=\n"
    "\t\tcur=${cur#*=}\n"
    "\telif [[ $takes == *\" ${COMP_WORDS[first - 1]} \"* ]]; then\n"
    "\t\toption=${COMP_WORDS[first - 1]}\n"
    "\tfi\n"
    "\tif [[ $option ]]; then\n"
    "\t\t_hirc_command \"$command\" \"$option\"\n"
    "\t\tif [[ $list && $cur == *,* ]]; then\n"
    "\t\t\tprefix+=${cur%,*},\n"
    "\t\t\tcur=${cur##*,}\n"
    "\t\tfi\n"
    "\t\t[[ $words ]] && _hirc_offer_words \"$words\"\n"
    "\t\tcase $files in\n"
    "\t\t/) _hirc_offer_files -d ;;\n"
    "\t\t'*') _hirc_offer_files -f ;;\n"
    "\t\tesac\n"
    "\telif [[ ! $ended && $cur == --no* ]]; then\n"
    "\t\t_hirc_offer_words \"$options $negations\"\n"
    "\telif [[ ! $ended && $cur == -* ]]; then\n"
    "\t\t_hirc_offer_words \"$options\"\n"
    "\telse\n"
    "\t\t_hirc_offer_words \"$arguments\"\n"
    "\t\t[[ $no_files ]] || _hirc_offer_programs\n"
    "\tfi\n"
    "}\n"
    "\n"
    "complete -F _hirc hirc\n";

static void end(const struct command *all, unsigned n, struct buf *out)
{
	(void)all;
	(void)n;
	buf_puts(out, script);
}

const struct completion_shell completion_bash = {"bash", begin, command, end};
