/* program: see program.h. */
#include "base/program.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool program_find(const char *name, struct buf *path)
{
	const char *at = getenv("PATH");
	while (at && *at) {
		size_t n = strcspn(at, ":");
		path->n = 0;
		buf_printf(path, "%.*s/%s", (int)n, at, name);
		if (n && access(path->at, X_OK) == 0)
			return true;
		at += n + (at[n] == ':');
	}
	return false;
}
