/* profile: what the spans of all ranks say about collectives and lanes.
 *
 * The time of a collective is that of the rank on which it took least: a rank that comes early only waits. On
 * that rank, what of it tasks ran beside is hidden, the rest exposed; late is how much longer it took on the
 * mean rank. Tasks are summed up by statement. Lanes are streams and communicators: how much of the run
 * something of theirs was under way. */
#ifndef HIRC_EXEC_PROFILE_H
#define HIRC_EXEC_PROFILE_H
#include "base/str.h"
#include "exec/trace.h"

/* Collective; rank 0 prints. */
enum status profile_print(struct rt_job *job, const struct trace_spans *s, struct buf *to);

#endif
