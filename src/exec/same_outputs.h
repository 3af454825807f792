/* same_outputs: compares the outputs of several runs of a program, bit by bit.
 *
 * The reference allows for rounding; a buffer that was overwritten too early now and then differs from run
 * to run. Only elements of the outputs are compared: padding may hold anything. */
#ifndef HIRC_EXEC_SAME_OUTPUTS_H
#define HIRC_EXEC_SAME_OUTPUTS_H
#include "exec/check_outputs.h"

struct same_outputs;

/* replay: the first run has the accesses of a witness in the other order.
 * NULL: there is nothing to compare, or a message was printed and the job has failed. */
struct same_outputs *same_outputs_new(struct rt_job *job, const struct module *m,
                                      const struct check_output *out, unsigned n, bool replay);
void same_outputs_free(struct same_outputs *s); /* NULL is allowed */

/* After run `run`, from 0. Of the first the outputs are kept; STATUS_WRONG with a message where those of
 * another differ. Not collective. */
enum status same_outputs_compare(struct same_outputs *s, int64_t run);

#endif
