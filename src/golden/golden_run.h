/* golden_run: golden tests, several at a time. */
#ifndef HIRC_GOLDEN_GOLDEN_RUN_H
#define HIRC_GOLDEN_GOLDEN_RUN_H
#include "golden/features.h"
#include <stdint.h>

enum golden_outcome { GOLDEN_PASSED, GOLDEN_FAILED, GOLDEN_SKIPPED, GOLDEN_UPDATED };

struct golden_result {
	enum golden_outcome outcome;
	int64_t ns;       /* that the test took */
	struct buf diff;  /* FAILED: expected and output, empty when these are alike */
	struct buf words; /* FAILED, SKIPPED: why, in lines */
};

struct golden_options {
	const char *hirc;               /* the program that commands call hirc; absolute */
	const char *root;               /* %root; NULL: found for each test */
	uint32_t jobs;                  /* tests at the same time, at least 1 */
	int64_t seconds;                /* that a test may take */
	bool update;                    /* write the output into the tests */
	struct golden_features feature; /* its environment is set here */
	/* Each test as it is done, in the order of the paths; the result is freed afterwards. */
	void (*report)(void *to, uint32_t index, const struct golden_result *r);
	void *to;
};

/* Runs n tests. Returns 0, or the signal that ended it (SIGINT, SIGTERM or SIGHUP): then commands were killed
 * and folders removed. */
int golden_run(struct golden_options *o, char *const *path, uint32_t n);

#endif
