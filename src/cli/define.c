/* define: see define.h. */
#include "cli/define.h"
#include "base/arena.h"
#include <stdio.h>
#include <string.h>

bool define_read(const char *text, struct sema_define *out)
{
	const char *equals = strchr(text, '=');
	if (!equals || equals == text) {
		fprintf(stderr, "hirc: error: -D takes name=value, not '%s'\n", text);
		return false;
	}
	if (!equals[1]) {
		fprintf(stderr, "hirc: error: -D %s has no value: write -D %s8\n", text, text);
		return false;
	}
	char *name = mem_strdup(text);
	name[equals - text] = '\0';
	*out = (struct sema_define){.name = name, .text = equals + 1};
	return true;
}
