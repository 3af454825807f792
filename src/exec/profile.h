/* profile: sums up the times of collectives, lanes and ranks from the spans of all ranks.
 *
 * The time of a collective is its time on the fastest rank, since a rank that comes early only waits. On
 * that rank, the time during which tasks ran is hidden, and the rest is exposed. `late` is the mean
 * additional time of the ranks. The worst rank has the most exposed communication, including its waiting
 * for others. Tasks are summed up by statement. A lane is a stream or a communicator; its time is the
 * part of the runs with something in flight there. For the time of each rank, see balance.h. */
#ifndef HIRC_EXEC_PROFILE_H
#define HIRC_EXEC_PROFILE_H
#include "base/str.h"
#include "base/table.h"
#include "exec/executions.h"
#include "exec/trace.h"

/* Collective; rank 0 prints text or a JSON object. executed: from all ranks. error_ns: see struct rt_tracer.
 */
enum status profile_print(struct rt_job *job, const struct trace_spans *s, const struct executions *executed,
                          int64_t error_ns, enum table_format format, struct buf *to);

#endif
