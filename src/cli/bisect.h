/* bisect: the shared parts of the files of `hirc bisect`.
 *
 *     passes    a  b  c  d  e  f          the command with --stop-after=c, …
 *     changes     1 2 3   4   5 6         the command with --change-limit=3, …
 *               good  │  bad
 *
 * A change is one that its pass can leave out (pass_may_change). The program still runs without changes, so
 * the search over changes comes first. If the command fails without any change, a pass that has to run causes
 * the failure, and the search is over the passes. */
#ifndef HIRC_CLI_BISECT_H
#define HIRC_CLI_BISECT_H
#include "base/vec.h"
#include "cli/cli_progress.h"
#include "cli/command_fault.h"

enum bisect_verdict {
	BISECT_GOOD,
	BISECT_BAD,
	BISECT_UNCLEAR, /* the command fails in another way */
};

struct bisect {
	struct attempt_command attempt;
	struct fault fault;
	struct buf text;    /* the program; owned */
	VEC(char *) pass;   /* passes that run, each once; owned */
	VEC(char *) change; /* `allocate: the end of A (a.hir:7)`; owned */
	const char *folder; /* --dump-dir; NULL: none */
	const char *color;
	bool without_changes; /* the search over passes leaves all changes out */
	uint32_t runs;        /* number of runs of the command */
	double done;          /* 0 … 1 */
	struct progress progress;
};

/* The result of a search: the place in the list of passes or changes where the failure begins. */
struct bisect_step {
	bool of_changes;
	uint32_t good, bad; /* with the first `good` the program is good, with the first `bad` it is bad; bad
	                       is more than good + 1 if the numbers between have no verdict */
};

/* Lists the passes and changes of the command. False after reporting. */
bool bisect_list(struct bisect *b);
/* Appends the options that run only the first n passes or changes. */
void bisect_put_options(const struct bisect *b, bool of_changes, uint32_t n, struct buf *out);
/* Returns the verdict on the program with the first n passes or changes. */
enum bisect_verdict bisect_ask(struct bisect *b, bool of_changes, uint32_t n);
/* Searches, given that the program is bad with all passes or changes, and good with none. False: interrupted,
 * or after reporting. */
bool bisect_search(struct bisect *b, bool of_changes, struct bisect_step *out);
/* Prints the step, and the difference of the programs before and after it. */
int bisect_report(struct bisect *b, const struct bisect_step *s);

#endif
