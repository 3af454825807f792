/* cmd_lsp: hirc lsp: serves an editor over standard input and output. */
#include "cli/commands.h"
#include "cli/compile.h"
#include <stdio.h>
#ifdef HIRC_HAVE_CJSON
#include "lsp/lsp.h"
#include <unistd.h>
#endif

struct lsp_command {
	struct compile_options compile;
	bool stdio; /* always on; editors pass it */
};

static enum status serve(struct lsp_command *c)
{
#ifdef HIRC_HAVE_CJSON
	return lsp_serve(STDIN_FILENO, STDOUT_FILENO,
	                 &(struct sema_options){.define = c->compile.define.at,
	                                        .define_n = c->compile.define.n,
	                                        .np = c->compile.np,
	                                        .paired = c->compile.paired});
#else
	(void)c;
	fputs("hirc: error: this hirc was built without cJSON, which `hirc lsp` needs\n"
	      "note: install cJSON's headers (Debian: libcjson-dev) and build hirc again\n",
	      stderr);
	return STATUS_ABSENT;
#endif
}

static const struct option rows[] = {
    DEFINE_OPTIONS(offsetof(struct lsp_command, compile)),
    {.name = "stdio",
     .kind = OPTION_SWITCH,
     .at = offsetof(struct lsp_command, stdio),
     .init.on = true,
     .help = "use standard input and output; always on"},
};

int cmd_lsp(int argc, char **argv)
{
	struct lsp_command c = {0};
	struct command_line line = {
	    .command = argv[0],
	    .usage = "[OPTION…]",
	    .about = "Serves an editor by the Language Server Protocol over standard input and output.",
	    .table = {OPTION_TABLE("Options", rows, &c)},
	    .table_n = 1,
	    .max_files = 0,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		if (line.file.n) {
			fprintf(stderr, "hirc: error: lsp takes no file; the editor sends the texts\n");
			status = STATUS_USAGE;
		} else if (!c.stdio) {
			fprintf(stderr, "hirc lsp: error: hirc serves only standard input and output: leave "
			                "--no-stdio out\n");
			status = STATUS_USAGE;
		} else {
			status = serve(&c);
		}
	}
	compile_options_free(&c.compile);
	options_free(&line);
	return status;
}
