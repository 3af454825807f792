/* commands: the table of commands. */
#include "cli/commands.h"
#include <stddef.h>

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
