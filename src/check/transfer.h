/* transfer: Communications, their start and their wait. */
#ifndef HIRC_CHECK_TRANSFER_H
#define HIRC_CHECK_TRANSFER_H
#include "check/checker.h"

void transfer_collective(struct rank_check *w, const struct step *s);
/* Handles a message that the walk has reached and a post will issue. */
void transfer_prepare(struct rank_check *w, const struct step *s);
/* Handles a message of a tensor that the rank does not hold. */
void transfer_absent(struct rank_check *w, const struct step *s);
void transfer_message(struct rank_check *w, const struct step *s);
void transfer_end_group(struct rank_check *w, const struct step *s);
void transfer_wait(struct rank_check *w, const struct step *s);
void transfer_end(struct rank_check *w);
void transfer_free_all(struct rank_check *w);

#endif
