/* exec_gather: an output's blocks put together on rank 0. */
#ifndef HIRC_EXEC_EXEC_GATHER_H
#define HIRC_EXEC_EXEC_GATHER_H
#include "plan/data_map.h"
#include "rt/convert.h"
#include "rt/job.h"

/* Collective. memory: this rank's block, NULL where it holds nothing. On rank 0 *whole becomes the logical
 * tensor, row-major, in its dtype (malloc; elements that no rank holds have every bit set), elsewhere NULL; a
 * pending reduction is finished. */
enum status exec_gather_output(struct rt_job *job, const struct module *m, type_id t, const void *memory,
                               void **whole);

#endif
