/* cmd_explain: hirc explain: what a numbered message means, or what a program does. */
#include "cli/commands.h"
#include "cli/explain_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include <stdio.h>

struct explain_command {
	bool list, json;
};

static enum status print(const struct buf *text)
{
	return output_write(text) ? STATUS_OK : STATUS_DIAGNOSTICS;
}

static enum status code(const char *word)
{
	struct buf text = {0};
	enum status status = STATUS_USAGE;
	if (explain_code(word, &text)) {
		status = print(&text);
	} else {
		fprintf(stderr, "hirc explain: error: no message has the number '%s'\n", word);
		fprintf(stderr, "note: the nearest is %s; `hirc explain --list` has all\n",
		        explain_code_nearest(word));
	}
	buf_free(&text);
	return status;
}

static enum status list(const struct explain_command *c)
{
	struct buf text = {0};
	if (c->json)
		explain_code_json(&text);
	else
		explain_code_list(&text);
	enum status status = print(&text);
	buf_free(&text);
	return status;
}

static enum status refuse(const char *what)
{
	fprintf(stderr, "hirc explain: error: %s\n", what);
	return STATUS_USAGE;
}

static enum status explain(const struct explain_command *c, const struct command_line *line)
{
	if (c->list && line->file.n)
		return refuse("--list has all numbers: leave the other words away");
	if (c->list)
		return list(c);
	if (c->json)
		return refuse("--json is of --list");
	if (!line->file.n)
		return refuse("a number of a message is needed, as in `hirc explain E0203`");
	if (explain_is_code(line->file.at[0]))
		return code(line->file.at[0]);
	fprintf(stderr, "hirc explain: error: '%s' is no number of a message, as E0203 is\n",
	        line->file.at[0]);
	return STATUS_USAGE;
}

int cmd_explain(int argc, char **argv)
{
	struct explain_command c = {0};
	const struct option options[] = {
	    {.name = "list",
	     .kind = OPTION_SWITCH,
	     .to = &c.list,
	     .help = "print all numbers, each with its title"},
	    {.name = "json",
	     .kind = OPTION_SWITCH,
	     .to = &c.json,
	     .help = "with --list: print the whole table as JSON"},
	};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…] NUMBER",
	    .about =
	        "Says what a numbered error or warning means, as in `hirc explain E0203`: what is wrong, an "
	        "example, and its fix.",
	    .table = {{.title = "Options", .at = options, .n = sizeof options / sizeof *options}},
	    .table_n = 1,
	    .max_files = 1,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status))
		status = explain(&c, &line);
	options_free(&line);
	return status;
}
