/* golden_job: one test from its reading to its result, a command after the other. */
#ifndef HIRC_GOLDEN_GOLDEN_JOB_H
#define HIRC_GOLDEN_GOLDEN_JOB_H
#include "golden/child.h"
#include "golden/golden_place.h"
#include "golden/golden_run.h"

enum golden_stage { GOLDEN_RUNNING, GOLDEN_ASKED, GOLDEN_KILLED }; /* to end by SIGTERM, by SIGKILL */

struct golden_job {
	const struct golden_options *options;
	struct golden_test test;
	struct golden_place place;
	struct golden_child child;
	struct buf text;    /* output of the commands before this one */
	uint32_t run;       /* the command that runs; all of them: the test is over */
	uint32_t index;     /* of the path */
	int64_t start, end; /* ns of the monotonic clock; when the next stage begins */
	enum golden_stage stage;
	bool late;       /* its time was over */
	uint32_t rounds; /* how often --update has written the file */
	bool again;      /* the last time it moved lines: the test runs once more */
	struct golden_result result;
};

int64_t golden_now(void); /* ns */
/* Reads the test and starts its first command. True: it runs; false: the result is there. */
bool golden_job_start(struct golden_job *j, struct golden_options *o, const char *path, uint32_t index);
/* After its command ended: starts the next. True: it runs; false: the result is there. */
bool golden_job_next(struct golden_job *j, int code);
/* Ends the command if its time is over, or if `now` does not matter. */
void golden_job_hurry(struct golden_job *j, int64_t now);
/* Frees all but the result. */
void golden_job_free(struct golden_job *j);

#endif
