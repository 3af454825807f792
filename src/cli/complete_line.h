/* complete_line: `hirc complete WORD…`, which the scripts of shells ask for what may come next.
 *
 *     hirc complete compile --dump=h        --dump=hir
 *     hirc complete compile --dump = h      hir: bash cuts words at `=`
 *     hirc complete com                     compile<TAB>parse, run passes, print the program
 *
 * The words are those after `hirc`, the last of them is the one to complete. Each line of the output is a
 * word to take its place, with its help behind a tab. Words that end with `=` or `/` are not yet whole. */
#ifndef HIRC_CLI_COMPLETE_LINE_H
#define HIRC_CLI_COMPLETE_LINE_H
#include "cli/options.h"

/* The command; returns its exit code. */
int complete_words(int n, char **word);
/* Prints the candidates for the last of the words behind a command's name; argv[0] is the number of bytes of
 * it that are not to be printed. */
void complete_line(const struct command_line *c, int argc, char **argv);

/* The candidates of one word. */
struct complete {
	const char *word; /* the whole word so far */
	size_t from;      /* bytes of it that the shell has set apart, and are not printed */
	size_t fixed;     /* bytes of it in front of the value, such as `--dump=` */
	unsigned n;       /* candidates that were printed */
};
/* Prints a candidate for the part behind `fixed`, if it fits; n: its length. help: NULL: none. */
void complete_offer(struct complete *x, const char *text, size_t n, const char *help);

/* complete_files.c: offers folders, and files of one of the suffixes `hir|graph`; "": any; NULL: only
 * folders. */
void complete_offer_files(struct complete *x, const char *suffixes);

#endif
