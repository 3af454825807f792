/* exec_gather: puts the blocks of an output together on rank 0. */
#ifndef HIRC_EXEC_EXEC_GATHER_H
#define HIRC_EXEC_EXEC_GATHER_H
#include "plan/data_map.h"
#include "rt/convert.h"
#include "rt/job.h"

/* Collective. memory: this rank's block; NULL if it holds nothing. On rank 0 *whole becomes the logical
 * tensor, row-major, in its dtype and from malloc; elements that no rank holds have every bit set. On
 * other ranks *whole becomes NULL. A pending reduction is finished. */
enum status exec_gather_output(struct rt_job *job, const struct module *m, type_id t, const void *memory,
                               void **whole);

#endif
