/* profile: the times of collectives, lanes and ranks, summed up from the spans of all ranks.
 *
 * The time of a collective is that of the rank on which it took least: a rank that comes early only waits. On
 * that rank, the part beside which tasks ran is hidden, the rest is exposed; late is the additional time on
 * the mean rank. The worst rank has the most exposed communication, its waiting for others included. Tasks
 * are summed up by statement. A lane is a stream or a communicator; its time is the part of the runs with
 * something in flight there. For the time of each rank, see balance.h. */
#ifndef HIRC_EXEC_PROFILE_H
#define HIRC_EXEC_PROFILE_H
#include "base/str.h"
#include "exec/executions.h"
#include "exec/trace.h"

/* Collective; rank 0 prints. executed: of all ranks. error_ns: as in struct rt_tracer. */
enum status profile_print(struct rt_job *job, const struct trace_spans *s, const struct executions *executed,
                          int64_t error_ns, struct buf *to);

#endif
