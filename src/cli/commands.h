/* commands: the entry of each command; argv[0] is the command's name. They return exit codes. */
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
/* All of commands.def, in its order. */
const struct command *commands_all(unsigned *n);
/* Returns the command of a name or an alias; NULL: there is none. */
const struct command *command_find(const char *word);

#endif
