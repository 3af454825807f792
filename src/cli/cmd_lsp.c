/* cmd_lsp: hirc lsp: serves an editor over standard input and output. */
#include "base/vec.h"
#include "cli/commands.h"
#include "cli/define.h"
#include "cli/options.h"
#include <stdlib.h>
#ifdef HIRC_HAVE_CJSON
#include "lsp/lsp.h"
#include <unistd.h>
#endif

struct lsp_command {
	VEC(struct sema_define) define;
	int64_t np;
	bool stdio; /* the only way there is; editors name it */
};

static bool add_lsp_define(void *to, const char *text)
{
	struct lsp_command *c = to;
	struct sema_define d;
	if (!define_read(text, &d))
		return false;
	vec_push(&c->define, d);
	return true;
}

static enum status serve(struct lsp_command *c)
{
#ifdef HIRC_HAVE_CJSON
	return lsp_serve(STDIN_FILENO, STDOUT_FILENO,
	                 &(struct sema_options){c->define.at, c->define.n, c->np});
#else
	(void)c;
	fputs("hirc: error: this hirc was built without cJSON, which `hirc lsp` needs\n"
	      "note: install cJSON's headers (Debian: libcjson-dev) and build hirc again\n",
	      stderr);
	return STATUS_ABSENT;
#endif
}

int cmd_lsp(int argc, char **argv)
{
	struct lsp_command c = {.stdio = true};
	const struct option options[] = {
	    {.letter = 'D',
	     .kind = OPTION_CALL,
	     .to = &c,
	     .call = add_lsp_define,
	     .value = "NAME=TEXT",
	     .help = "give a param, const or scalar its value"},
	    {.name = "np",
	     .kind = OPTION_INT,
	     .to = &c.np,
	     .value = "N",
	     .min = 0,
	     .max = 65536,
	     .help = "number of ranks; 0: the file's default"},
	    {.name = "stdio",
	     .kind = OPTION_SWITCH,
	     .to = &c.stdio,
	     .help = "speak over standard input and output, the only way there is"},
	};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…]",
	    .about = "Serves an editor by the Language Server Protocol over standard input and output.",
	    .table = {{.title = "Options", .at = options, .n = sizeof options / sizeof *options}},
	    .table_n = 1,
	    .max_files = 0,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		if (line.file.n) {
			fprintf(stderr, "hirc: error: lsp takes no file; the editor sends the texts\n");
			status = STATUS_USAGE;
		} else if (!c.stdio) {
			fprintf(stderr, "hirc: error: there is no other way than --stdio\n");
			status = STATUS_USAGE;
		} else {
			status = serve(&c);
		}
	}
	for (uint32_t i = 0; i < c.define.n; i++)
		free((void *)c.define.at[i].name);
	vec_free(&c.define);
	options_free(&line);
	return status;
}
