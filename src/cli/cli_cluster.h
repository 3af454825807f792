/* cli_cluster: --cluster, the figures that statements are costed with. */
#ifndef HIRC_CLI_CLI_CLUSTER_H
#define HIRC_CLI_CLI_CLUSTER_H
#include "base/status.h"
#include "cli/options.h"
#include "cost/cluster.h"

#define CLUSTER_DEFAULT "cpu"
/* An entry of an option table: to is a const char *, CLUSTER_DEFAULT at first. */
#define CLUSTER_OPTION(to_name)                                                                              \
	{                                                                                                    \
		.name = "cluster", .kind = OPTION_TEXT, .to = (to_name),                                     \
		.value = "FILE or " CLUSTER_BUILTINS, .words = CLUSTER_BUILTIN_LIST("|"), .file = FILE_READ, \
		.help = "the machine that times are of"                                                      \
	}

/* Loads the cluster that --cluster names: figures that come with hirc, or a file (`./cpu`: the file, `-`:
 * standard input). NULL with *status set after reporting; free it with cluster_free. */
struct cluster *cluster_load(struct diag *d, const char *name, enum status *status);

#endif
