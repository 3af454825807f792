/* cmd_completions: hirc completions: the completions of bash, zsh and fish, for the folders where they look.
 *
 * Each command prints its own part, as `hirc COMMAND --help=SHELL` does, from the tables with which it parses
 * its command line. */
#include "cli/completion.h"
#include "cli/output.h"
#include <stdio.h>
#include <string.h>

static enum status print_completions(const struct completion_shell *shell)
{
	unsigned n;
	const struct command *all = commands_all(&n);
	struct buf text = {0}, ask = {0};
	enum status status = STATUS_OK;
	buf_printf(&ask, "--help=%s", shell->name);
	shell->begin(all, n, &text);
	fputs(text.at, stdout);
	for (unsigned k = 0; k < n && status == STATUS_OK; k++) {
		struct buf name = {0};
		buf_puts(&name, all[k].name);
		status = (enum status)all[k].run(2, (char *[]){name.at, ask.at, NULL});
		buf_free(&name);
	}
	text.n = 0;
	buf_puts(&text, "");
	shell->end(all, n, &text);
	fputs(text.at, stdout);
	buf_free(&text);
	buf_free(&ask);
	return status == STATUS_OK && !output_flush() ? STATUS_DIAGNOSTICS : status;
}

#define WORD(name) "|" #name
static const char shells[] = COMPLETION_SHELLS(WORD);
#undef WORD

int cmd_completions(int argc, char **argv)
{
	struct command_line line = {
	    .command = argv[0],
	    .usage = "bash | zsh | fish",
	    .about =
	        "Prints the completions of a shell, made of the options of this hirc. `cmake --install` puts "
	        "them "
	        "where\nshells look; without it:\n"
	        "  bash  source <(hirc completions bash)\n"
	        "  zsh   hirc completions zsh > ~/.zfunc/_hirc    in a folder of $fpath, before compinit\n"
	        "  fish  hirc completions fish > ~/.config/fish/completions/hirc.fish",
	    .max_files = 1,
	    .words = shells + 1,
	    .no_files = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status)) {
		const struct completion_shell *shell = line.file.n ? completion_find(line.file.at[0]) : NULL;
		if (shell) {
			status = print_completions(shell);
		} else {
			fprintf(stderr,
			        "hirc completions: error: a shell is needed: bash, zsh or fish%s%s%s\n",
			        line.file.n ? ", not '" : "", line.file.n ? line.file.at[0] : "",
			        line.file.n ? "'" : "");
			status = STATUS_USAGE;
		}
	}
	options_free(&line);
	return status;
}
