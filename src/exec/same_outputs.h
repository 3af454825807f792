/* same_outputs: compares the outputs of several runs of a program bit by bit.
 *
 * The comparison with the reference allows for rounding, and can miss an error that occurs in some runs
 * only, such as a buffer that is sometimes overwritten too early. Only elements of the outputs are
 * compared, since padding has no fixed value. */
#ifndef HIRC_EXEC_SAME_OUTPUTS_H
#define HIRC_EXEC_SAME_OUTPUTS_H
#include "exec/check_outputs.h"

struct same_outputs;

/* replay: the first run executes the accesses of a witness in the other order. Returns NULL if there is
 * nothing to compare, or after a message; then the job has failed. */
struct same_outputs *same_outputs_new(struct rt_job *job, const struct module *m,
                                      const struct check_output *out, unsigned n, bool replay);
void same_outputs_free(struct same_outputs *s); /* NULL is allowed */

/* After run `run`, from 0. Keeps the outputs of the first run. Returns STATUS_WRONG after a message if
 * those of a later run differ. Not collective. */
enum status same_outputs_compare(struct same_outputs *s, int64_t run);

#endif
