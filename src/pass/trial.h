/* trial: changes of a program that are kept where they make it faster.
 *
 *     struct trial t;
 *     if (trial_open(&t, m, cx)) {
 *             if (trial_try(&t, change, &what, &after) && trial_gains(&t, &after))
 *                     trial_keep(&t, change, &what, &after);
 *             trial_close(&t);
 *     }
 *
 * A change is made on a copy of the program, which the passes that follow compile, and then it is predicted
 * for its time (pipeline_options.predict). They are those of the pipeline but for the passes that try
 * changes, or, where it ends before streams are assigned, those of the default pipeline with
 * schedule-overlap; of programs of more than 1000 statements with effort 1. A change is not possible after
 * which ranks cannot carry out statements that they could before. */
#ifndef HIRC_PASS_TRIAL_H
#define HIRC_PASS_TRIAL_H
#include "pass/pipeline.h"

enum { /* more memory that a change may take, as schedule-overlap has it by default */
       TRIAL_PERCENT = 5,
       TRIAL_INCREASE = 1 << 30,
};

struct trial {
	struct module *m;
	struct pass_context *cx;
	struct pipeline rest; /* the passes that compile a copy */
	struct prediction now;
	int64_t first_peak; /* of the program as the pass met it */
	int64_t left;       /* trials */
	bool always;        /* possible changes are made */
};

/* Changes a program, or a copy of it: ids are the same. False: it cannot be done; it may be half done then.
 */
typedef bool trial_change(struct module *m, const void *what);

enum { TRIAL_TRIALS, TRIAL_ALWAYS, TRIAL_OPTIONS }; /* the first options of passes that try changes */

/* False: nothing can be predicted, a remark says why; nothing is to be closed then. */
bool trial_open(struct trial *t, struct module *m, struct pass_context *cx);
void trial_close(struct trial *t);
/* Predicts the program with a change. False: it is not possible, does not compile, or no trials are left. */
bool trial_try(struct trial *t, trial_change *change, const void *what, struct prediction *out);
/* Makes the change, which has been tried. Takes the prediction over. */
void trial_keep(struct trial *t, trial_change *change, const void *what, struct prediction *after);
void prediction_free(struct prediction *p);

/* Returns true if a change that was tried makes the program faster. */
bool trial_gains(const struct trial *t, const struct prediction *after);
/* Returns true if a change that was tried needs no more memory than before, or than schedule-overlap would
 * take. */
bool trial_fits(const struct trial *t, const struct prediction *after);
/* Remarks `TEXT: predicted 12.345 us instead of 23.456`, at a statement. */
void trial_remark(struct trial *t, op_id op, const struct prediction *after, int64_t before,
                  const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Remarks `TEXT: predicted 23.456 us HOW, 12.345 as it is`. */
void trial_remark_kept(struct trial *t, op_id op, const struct prediction *after, const char *how,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns true if a program has statements of recorded graphs that communicate; their names are to stay. */
bool trial_is_recorded(struct module *m);

#endif
