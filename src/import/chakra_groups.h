/* chakra_groups: reads the groups of ranks in a trace. */
#ifndef HIRC_IMPORT_CHAKRA_GROUPS_H
#define HIRC_IMPORT_CHAKRA_GROUPS_H
#include "import/chakra.h"

/* Adds the groups of the node `## process_group:init ##`, whose values are JSON in a Python string:
 *
 *     ['[{"pg_name": "1", "pg_desc": "mesh_dp", "ranks": [0, 2], "group_size": 2, …}, …]']
 *
 * If ranks is empty, group_size is the number of ranks. A group that exists already is not changed. */
bool chakra_groups(struct diag *d, struct chakra *t, const struct chakra_node *n);
/* Adds the `NAME:N` of --group. */
bool chakra_group_add(struct diag *d, struct chakra *t, const char *text);
/* Returns the name of a collective's group. */
const char *chakra_group_name(const struct chakra_node *n);
/* Adds, with a warning, groups of unknown size that are used only where the size is not needed. */
void chakra_groups_assume(struct diag *d, struct chakra *t);

#endif
