/* cmd_completions: hirc completions: prints scripts for bash, zsh and fish, which call `hirc complete`. */
#include "cli/commands.h"
#include "cli/embedded.h"
#include "cli/options.h"
#include "cli/output.h"
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *script;
} shells[] = {{"bash", cli_completion_bash}, {"zsh", cli_completion_zsh}, {"fish", cli_completion_fish}};

static enum status print_script(const char *word)
{
	for (unsigned k = 0; word && k < sizeof shells / sizeof *shells; k++)
		if (!strcmp(shells[k].name, word)) {
			fputs(shells[k].script, stdout);
			return output_status(output_flush());
		}
	fprintf(stderr, "hirc completions: error: a shell is needed: bash, zsh or fish%s%s%s\n",
	        word ? ", not '" : "", word ? word : "", word ? "'" : "");
	return STATUS_USAGE;
}

int cmd_completions(int argc, char **argv)
{
	struct command_line line = {
	    .command = argv[0],
	    .usage = "bash | zsh | fish",
	    .about =
	        "Prints the script with which a shell completes command lines of hirc. `cmake --install` "
	        "puts "
	        "it\nwhere the shell looks; without it:\n"
	        "  bash  source <(hirc completions bash)\n"
	        "  zsh   hirc completions zsh > ~/.zfunc/_hirc    in a folder of $fpath, before compinit\n"
	        "  fish  hirc completions fish > ~/.config/fish/completions/hirc.fish",
	    .max_files = 1,
	    .words = "bash|zsh|fish",
	    .no_files = true,
	};
	enum status status;
	if (options_parse(&line, argc, argv, &status))
		status = print_script(line.file.n ? line.file.at[0] : NULL);
	options_free(&line);
	return status;
}
