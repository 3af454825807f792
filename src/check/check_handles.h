/* check_handles: buffers that are announced to peers. */
#ifndef HIRC_CHECK_CHECK_HANDLES_H
#define HIRC_CHECK_CHECK_HANDLES_H
#include "check/checker.h"

void handles_share(struct rank_check *w, op_id op);
void handles_use(struct rank_check *w, op_id transfer); /* called when a transfer is issued */

#endif
