/* compile: reads a source and runs the passes; shared by every command that takes a program.
 *
 *     struct compile_options o = {0};
 *     c.table[c.table_n++] = compile_options_table(&o);
 *     options_parse(&c, argc, argv); …
 *     struct diag *d = compile_diag(&o);
 *     compile_options_finish(&o, d);
 *     struct module *m = compile_file(d, path, &o, &status);
 *     …
 *     compile_free(m);
 *     compile_warn_unused(d, &o);
 *     compile_options_free(&o);                                                            */
#ifndef HIRC_CLI_COMPILE_H
#define HIRC_CLI_COMPILE_H
#include "cli/compile_options.h"

struct plan;

/* Reads, parses and checks a source and runs the passes (`-`: standard input). NULL with *status set
 * after reporting. The module owns its source: free both with compile_free. */
struct module *compile_file(struct diag *d, const char *path, struct compile_options *o, enum status *status);
/* Compiles a source as compile_file does, and owns it. passes: false returns the program of the source,
 * before all passes. */
struct module *compile_source(struct diag *d, struct source *s, struct compile_options *o, bool passes,
                              enum status *status);
void compile_free(struct module *m);
struct sema_options compile_sema_options(const struct compile_options *o);
/* Checks the shapes of a program that was read, and runs the passes, unless `passes` is false. */
enum status compile_finish(struct diag *d, struct module *m, struct compile_options *o, bool passes);
/* Returns the cluster that --cluster names, read once; NULL with *status set after reporting. */
const struct cluster *compile_cluster(struct diag *d, struct compile_options *o, enum status *status);
/* With --remarks, names the copies of views in a plan, and why they stay. ir_number must have been called. */
void compile_remark_copies(const struct compile_options *o, struct module *m, const struct plan *p);

#endif
