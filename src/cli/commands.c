/* commands: the table of commands. */
#include "cli/commands.h"
#include <stddef.h>
#include <string.h>

static const struct command commands[] = {
#define COMMAND(name, alias, help) {#name, alias, cmd_##name, help},
#include "cli/commands.def"
#undef COMMAND
};

const struct command *commands_all(unsigned *n)
{
	*n = sizeof commands / sizeof *commands;
	return commands;
}

const struct command *command_find(const char *word)
{
	for (unsigned i = 0; i < sizeof commands / sizeof *commands; i++)
		if (!strcmp(commands[i].name, word) ||
		    (commands[i].alias && !strcmp(commands[i].alias, word)))
			return &commands[i];
	return NULL;
}
