/* golden_run: runs golden tests, several at a time. */
#ifndef HIRC_GOLDEN_GOLDEN_RUN_H
#define HIRC_GOLDEN_GOLDEN_RUN_H
#include "golden/features.h"
#include <stdint.h>

enum golden_outcome { GOLDEN_PASSED, GOLDEN_FAILED, GOLDEN_SKIPPED, GOLDEN_UPDATED };

struct golden_result {
	enum golden_outcome outcome;
	int64_t ns;       /* duration of the test */
	struct buf diff;  /* FAILED: expected and actual output; empty if these are equal */
	struct buf words; /* FAILED, SKIPPED: the reason, in lines */
};

struct golden_options {
	const char *hirc;               /* absolute path of the program that commands call hirc */
	const char *root;               /* %root; NULL: find it for each test */
	uint32_t jobs;                  /* tests at the same time, at least 1 */
	int64_t seconds;                /* time limit of a test */
	bool update;                    /* write the output into the tests */
	struct golden_features feature; /* golden_run sets its environment */
	/* Called for each test when it is done, in the order of the paths. The result is freed afterwards. */
	void (*report)(void *to, uint32_t index, const struct golden_result *r);
	void *to;
};

/* Runs n tests. Returns 0, or the signal that ended the run (SIGINT, SIGTERM or SIGHUP); then commands were
 * killed and folders removed. */
int golden_run(struct golden_options *o, char *const *path, uint32_t n);

#endif
