/* exec_submit: submits the instructions of a plan to streams. Private to src/exec. */
#ifndef HIRC_EXEC_EXEC_SUBMIT_H
#define HIRC_EXEC_EXEC_SUBMIT_H
#include "exec/exec_records.h"

/* Submits the whole plan, starting with the first stream as the current one. Does not wait for its end.
 * Returns the status of the job if it has failed. */
enum status exec_submit(struct exec *e);

#endif
