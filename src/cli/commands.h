/* commands: the table of commands. The entry of a command gets its name as argv[0], and returns the exit
 * code. */
#ifndef HIRC_CLI_COMMANDS_H
#define HIRC_CLI_COMMANDS_H

#define COMMAND(name, alias, help) int cmd_##name(int argc, char **argv);
#include "cli/commands.def"
#undef COMMAND

struct command {
	const char *name, *alias; /* alias NULL: none */
	int (*run)(int argc, char **argv);
	const char *help;
};
/* Returns all commands, in the order of commands.def. */
const struct command *commands_all(unsigned *n);
/* Returns the command with this name or alias; NULL: there is none. */
const struct command *command_find(const char *word);

#endif
