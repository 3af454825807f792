/* trial: tries changes of a program, and keeps those that make it faster.
 *
 *     struct trial t;
 *     if (trial_open(&t, m, cx, trials, always)) {
 *             if (trial_try(&t, change, &what, &after) && trial_gains(&t, &after))
 *                     trial_keep(&t, change, &what, &after);
 *             trial_close(&t);
 *     }
 *
 * A change is made on a copy of the program. The passes that follow compile the copy, and its time is
 * predicted (pipeline_options.predict). These passes are the rest of the pipeline, without the passes
 * that try changes. If the pipeline ends before streams are assigned, they are those of the default
 * pipeline with schedule-overlap; programs of more than 1000 statements get effort 1. A change is
 * refused if ranks can no longer execute statements that they could execute before. */
#ifndef HIRC_PASS_TRIAL_H
#define HIRC_PASS_TRIAL_H
#include "pass/pipeline.h"

struct trial {
	struct module *m;
	struct pass_context *cx;
	struct pipeline rest; /* the passes that compile a copy */
	struct prediction now;
	int64_t first_peak; /* of the program before the pass */
	int64_t all, left;  /* number of trials, and of those left */
	bool always;        /* keep all changes that are possible */
};

/* Changes a program or a copy of it; both have the same ids. Returns false if it is not possible; the
 * program may then be half changed. */
typedef bool trial_change(struct module *m, const void *what);

/* Returns false after a remark if nothing can be predicted; then trial_close must not be called. trials,
 * always: the options of the pass. */
bool trial_open(struct trial *t, struct module *m, struct pass_context *cx, int64_t trials, bool always);
void trial_close(struct trial *t);
/* Predicts the program with a change. Returns false if the change is not possible, does not compile, or
 * if no trials are left. */
bool trial_try(struct trial *t, trial_change *change, const void *what, struct prediction *out);
/* Makes a change that has been tried, and keeps its prediction. */
void trial_keep(struct trial *t, trial_change *change, const void *what, struct prediction *after);
void prediction_free(struct prediction *p);

/* Returns true if a change that was tried makes the program faster. */
bool trial_gains(const struct trial *t, const struct prediction *after);
/* Returns true if a change that was tried needs no more memory than before, or no more than
 * schedule-overlap may add. */
bool trial_fits(const struct trial *t, const struct prediction *after);
/* Remarks `TEXT: predicted 12.345 us instead of 23.456` at a statement. */
void trial_remark(struct trial *t, op_id op, const struct prediction *after, int64_t before,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Remarks `TEXT: predicted 23.456 us HOW, 12.345 as it is`. */
void trial_remark_kept(struct trial *t, op_id op, const struct prediction *after, const char *how,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns true if a program has communicating statements of recorded graphs, whose names must not
 * change. */
bool trial_is_recorded(struct module *m);

#endif
