/* rank_graphs: recorded graphs that differ from rank to rank, as a program of several files.
 *
 *     rank0.et, rank1.et, rank2.et  →  the program of rank0.et for ranks 0 and 1, that of rank2.et for rank 2
 *
 * Each graph is imported and printed, so that a message names a line of `hirc import`. Ranks with the same program are
 * one class: their program is kept once. */
#ifndef HIRC_CLI_RANK_GRAPHS_H
#define HIRC_CLI_RANK_GRAPHS_H
#include "cli/compile.h"

/* Replaces the recorded graphs among the sources of o->ranks by their programs, and merges equal ones. Frees the
 * sources that it replaces. Returns false after reporting; then all sources are still the caller's. */
bool rank_graphs_import(struct diag *d, struct compile_options *o, struct source **of, uint32_t *n);
/* Gives each tensor of the joined program a name of its own, since a name stands for one tensor in all blocks: a second
 * `mm` becomes `mm@4` if its class begins with rank 4. */
void rank_graphs_rename(struct module *m);

#endif
