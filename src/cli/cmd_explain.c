/* cmd_explain: hirc explain: explains a numbered message, or where the time of a program goes. */
#include "cli/commands.h"
#include "cli/explain_code.h"
#include "cli/explain_program.h"
#include "cli/options.h"
#include "cli/output.h"
#include <stdio.h>

struct explain_command {
	bool list, json;
	struct explain_program program;
};

static enum status print_text(const struct buf *text)
{
	return output_status(output_write(text));
}

static enum status code(const char *word)
{
	struct buf text = {0};
	enum status status = STATUS_USAGE;
	if (explain_code(word, &text)) {
		status = print_text(&text);
	} else {
		fprintf(stderr, "hirc explain: error: no message has the number '%s'\n", word);
		fprintf(stderr, "note: the nearest is %s; `hirc explain --list` has all\n",
		        explain_code_nearest(word));
	}
	buf_free(&text);
	return status;
}

static enum status list_codes(const struct explain_command *c)
{
	struct buf text = {0};
	if (c->json)
		explain_code_json(&text);
	else
		explain_code_list(&text);
	enum status status = print_text(&text);
	buf_free(&text);
	return status;
}

static enum status refuse_usage(const char *what)
{
	fprintf(stderr, "hirc explain: error: %s\n", what);
	return STATUS_USAGE;
}

/* Returns true if the command line has an option that is only for programs. HIRC_FLAGS does not count: it may
 * have options for all commands. */
static bool gives_of_program(const struct command_line *line)
{
	for (uint32_t k = line->of_environment; k < line->given.n; k++)
		for (unsigned t = 1; t < line->table_n; t++)
			if (option_table_has(&line->table[t], line->given.at[k]))
				return true;
	return false;
}

static enum status explain_argument(struct explain_command *c, struct command_line *line)
{
	if (c->list && (line->file.n || gives_of_program(line)))
		return refuse_usage("--list has all numbers: leave the other words away");
	if (c->list)
		return list_codes(c);
	if (!line->file.n && !options_read_input(line))
		return refuse_usage(
		    "a program or a number of a message is needed, as in `hirc explain E0203`");
	if (!explain_is_code(line->file.at[0])) {
		c->program.json = c->json;
		c->program.line = line;
		return explain_program(&c->program);
	}
	if (line->file.n > 1)
		return refuse_usage("one number of a message at a time");
	if (c->json || gives_of_program(line))
		return refuse_usage("a number of a message takes no options");
	return code(line->file.at[0]);
}

static const struct option rows[] = {
    {.name = "list",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct explain_command, list),
     .help = "print all numbers, each with its title"},
    {.name = "json",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct explain_command, json),
     .help = "print JSON: all figures of a program, or with --list the whole table"},
};

int cmd_explain(int argc, char **argv)
{
	struct explain_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] [RANKS:]FILE…|NUMBER",
	    .about =
	        "Explains a program: the time of each statement, what it waits for, and why communication is "
	        "exposed;\nhow each collective is done, and other ways to do it; and which options make the "
	        "program faster.\nExplains the number of an error or a warning, as in `hirc explain E0203`, "
	        "and its fix.\nSeveral files are one program: for the ranks 0, 1, …, or as in "
	        "`0-3:A.hir 4-7:B.hir`.\nExit code: 0, 1 after messages about the input, 2 for a wrong "
	        "command line.",
	    .table = {OPTION_TABLE("Options", rows, &c), explain_program_table(&c.program),
	              compile_options_table(&c.program.compile)},
	    .table_n = 3,
	    .max_files = UINT32_MAX,
	    .has_ranks = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status))
		status = explain_argument(&c, &line);
	options_free(&line);
	explain_program_free(&c.program);
	return status;
}
