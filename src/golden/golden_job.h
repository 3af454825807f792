/* golden_job: one test from reading it to its result; its commands run one after the other. */
#ifndef HIRC_GOLDEN_GOLDEN_JOB_H
#define HIRC_GOLDEN_GOLDEN_JOB_H
#include "golden/child.h"
#include "golden/golden_place.h"
#include "golden/golden_run.h"

enum golden_stage { GOLDEN_RUNNING, GOLDEN_ASKED, GOLDEN_KILLED }; /* ASKED: sent SIGTERM */

struct golden_job {
	const struct golden_options *options;
	struct golden_test test;
	struct golden_place place;
	struct golden_child child;
	struct buf text;    /* output of the commands before this one */
	uint32_t run;       /* number of the command that runs; after the last one, the test is over */
	uint32_t index;     /* of the path */
	int64_t start, end; /* ns of the monotonic clock; `end`: when the next stage begins */
	enum golden_stage stage;
	bool late;       /* it ran out of time */
	uint32_t rounds; /* how often --update has written the file */
	bool again;      /* the last time it moved lines: the test runs once more */
	struct golden_result result;
};

int64_t golden_now(void); /* ns */
/* Reads the test and starts its first command. Returns true if it runs, false if the result is known
 * already. */
bool golden_job_start(struct golden_job *j, struct golden_options *o, const char *path, uint32_t index);
/* Starts the next command after one has ended. Returns true if it runs, false if the result is known. */
bool golden_job_next(struct golden_job *j, int code);
/* Stops the command if its time is over at `now`, or if it has printed too much. */
void golden_job_hurry(struct golden_job *j, int64_t now);
/* Frees everything but the result. */
void golden_job_free(struct golden_job *j);

#endif
