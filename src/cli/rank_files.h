/* rank_files: a program that differs from rank to rank, as several files on the command line.
 *
 *     hirc check A.hir B.hir                 A.hir for rank 0, B.hir for rank 1
 *     hirc check 0-3:A.hir 4,6-7:B.hir …     the ranks of each file */
#ifndef HIRC_CLI_RANK_FILES_H
#define HIRC_CLI_RANK_FILES_H
#include "cli/compile.h"

/* Returns the name of the file in a word such as `0-3,6:NAME`; NULL: the word begins with no ranks. */
const char *rank_files_name(const char *word);
/* Reads the program of a command line: one file for all ranks, or several. For several, the options get the ranks
 * of the files, and their number if --np and -D np are absent. Reports mistakes and returns the exit code. */
enum status rank_files_read(struct diag *d, struct compile_options *o, const struct command_line *line,
                            struct source **out);
/* Compiles each file of a source by itself, and makes one program of them; recorded graphs are scheduled after that.
 * Returns it, or NULL with *status set after reporting. */
struct module *rank_files_compile(struct diag *d, struct source *s, struct compile_options *o, bool passes,
                                  enum status *status);
/* Reports an option that needs the program in one file. Returns false if it is given with several. */
bool rank_files_allow(struct diag *d, const struct source *s, bool is_given, const char *option);

#endif
