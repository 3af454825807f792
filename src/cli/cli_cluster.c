/* cli_cluster: --cluster. */
#include "cli/cli_cluster.h"
#include "base/source_read.h"
#include <string.h>
#include <unistd.h>

struct cluster *cluster_load(struct diag *d, const char *name, enum status *status)
{
	struct cluster *c = cluster_builtin(name);
	struct source *s;
	if (c)
		return c;
	bool path = !strcmp(name, "-") || strpbrk(name, "/.") || access(name, F_OK) == 0;
	if (!path) {
		struct suggest near = suggest_start(name);
		diag_error(d, E_CLUSTER_UNKNOWN, DIAG_NOWHERE,
		           "--cluster: '%s' is no file and no cluster of hirc", name);
		suggest_try(&near, "cpu");
		suggest_try(&near, "h100");
		suggest_try(&near, "h200");
		if (near.best)
			diag_suggest(d, &near);
		else
			diag_note(d, DIAG_NOWHERE,
			          "there are " CLUSTER_BUILTINS
			          "; `hirc bench --collectives -o FILE` writes a file");
		*status = STATUS_USAGE;
		return NULL;
	}
	*status = source_read(d, name, &s);
	if (*status != STATUS_OK)
		return NULL;
	c = cluster_read(d, s);
	source_free(s);
	*status = c ? STATUS_OK : STATUS_DIAGNOSTICS;
	return c;
}
