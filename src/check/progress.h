/* progress: the order of waits and starts, on all ranks. */
#ifndef HIRC_CHECK_PROGRESS_H
#define HIRC_CHECK_PROGRESS_H
#include "check/checker.h"

/* Adds the meeting of the ranks that start the communication of op. It comes after the meeting `before`, 0:
 * none. */
uint32_t progress_meeting(struct checker *c, op_id op, uint32_t before);
/* Notes that a statement is issued to the current stream. */
void progress_issue(struct rank_check *w);
/* Notes that the current stream starts a Communication. */
void progress_start(struct rank_check *w, op_id op, uint32_t meeting);
/* Notes that the current stream continues after a meeting. */
void progress_stand(struct rank_check *w, uint32_t meeting);
void progress_wait(struct rank_check *w, op_id op, const struct transfer *t);
/* Notes that the current stream continues after the work of the stream that op synchronizes with. */
void progress_join(struct rank_check *w, op_id op, uint32_t stream);
/* Reports a deadlock. Call it only if all issued statements have their counterparts. */
void progress_check(struct checker *c);
void progress_free(struct progress *p);

#endif
