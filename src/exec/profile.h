/* profile: what the spans of all ranks say about collectives, lanes and ranks.
 *
 * The time of a collective is that of the rank on which it took least: a rank that comes early only waits. On
 * that rank, what of it tasks ran beside is hidden, the rest exposed; late is how much longer it took on the
 * mean rank. The worst rank is the one on which most was exposed, its waiting for others included. Tasks are
 * summed up by statement. Lanes are streams and communicators: how much of the runs something of theirs was
 * under way. Of each rank it is said where the time of its runs went: see balance.h. */
#ifndef HIRC_EXEC_PROFILE_H
#define HIRC_EXEC_PROFILE_H
#include "base/str.h"
#include "exec/executions.h"
#include "exec/trace.h"

/* Collective; rank 0 prints. executed: of all ranks. error_ns: as in struct rt_tracer. */
enum status profile_print(struct rt_job *job, const struct trace_spans *s, const struct executions *executed,
                          int64_t error_ns, struct buf *to);

#endif
