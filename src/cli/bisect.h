/* bisect: the parts of hirc bisect.
 *
 *     passes    a  b  c  d  e  f          the command with --stop-after=c, …
 *     changes     1 2 3   4   5 6         the command with --change-limit=3, …
 *               good  │  bad
 *
 * Changes are those that a pass can leave out (pass_may_change): without them the program still runs, so the
 * search over changes comes first. Where the failure is there without any of them, a pass that has to run
 * makes it, and the search is over the passes. */
#ifndef HIRC_CLI_BISECT_H
#define HIRC_CLI_BISECT_H
#include "base/vec.h"
#include "cli/cli_progress.h"
#include "cli/fault.h"

enum bisect_verdict {
	BISECT_GOOD,
	BISECT_BAD,
	BISECT_UNCLEAR, /* the command fails in another way */
};

struct bisect {
	struct attempt_command attempt;
	struct fault fault;
	struct buf text;    /* the program; owned */
	VEC(char *) pass;   /* those that run, each once; owned */
	VEC(char *) change; /* `allocate: the end of A (a.hir:7)`; owned */
	const char *folder; /* --dump-dir; NULL: none */
	const char *color;
	bool without_changes; /* prefixes are compiled without the changes */
	uint32_t runs;        /* of the command */
	double done;          /* 0 … 1 */
	struct progress progress;
};

/* A place between two neighbours, of passes or changes. */
struct bisect_step {
	bool of_changes;
	uint32_t good, bad; /* the first `good` of them are in order, the first `bad` are not; more than one
	                       apart where those between have no verdict */
};

/* Fills in passes and changes. False after reporting. */
bool bisect_list(struct bisect *b);
/* Appends the options that admit the first n passes or changes. */
void bisect_put_options(const struct bisect *b, bool of_changes, uint32_t n, struct buf *out);
/* The verdict on the program with so many passes or changes. */
enum bisect_verdict bisect_ask(struct bisect *b, bool of_changes, uint32_t n);
/* Searches; the program with all of them is bad, and with none it is not. False: interrupted, or reported. */
bool bisect_search(struct bisect *b, bool of_changes, struct bisect_step *out);
/* Prints the step and how the program differs before and after. */
int bisect_report(struct bisect *b, const struct bisect_step *s);

#endif
