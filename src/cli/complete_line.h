/* complete_line: `hirc complete WORD…`, with which the scripts of shells ask for completions.
 *
 *     hirc complete compile --dump=h        --dump=hir
 *     hirc complete compile --dump = h      hir: bash cuts words at `=`
 *     hirc complete com                     compile<TAB>parse, run passes, print the program
 *
 * The words are those after `hirc`; the last one is the word to complete. Each output line is a candidate
 * that replaces it, followed by a tab and its help. A candidate that ends with `=` or `/` is incomplete. */
#ifndef HIRC_CLI_COMPLETE_LINE_H
#define HIRC_CLI_COMPLETE_LINE_H
#include "cli/options.h"

/* Runs the command, and returns its exit code. */
int complete_words(int n, char **word);
/* Prints the candidates for the last word after a command's name. argv[0]: the number of its first bytes that
 * are not printed. */
void complete_line(const struct command_line *c, int argc, char **argv);

/* The candidates of one word. */
struct complete {
	const char *word; /* the whole word so far */
	size_t from;      /* its first bytes that the shell has cut off; they are not printed */
	size_t fixed;     /* its bytes before the value, such as `--dump=` */
	unsigned n;       /* candidates that were printed */
};
/* Prints a candidate for the part after `fixed`, if it fits. n: its length. help: NULL: none. */
void complete_offer(struct complete *x, const char *text, size_t n, const char *help);

/* complete_files.c: offers folders, and files with one of the suffixes, such as `hir|graph`. "": all files;
 * NULL: only folders. */
void complete_offer_files(struct complete *x, const char *suffixes);

#endif
