/* written: reads of memory that nothing wrote. */
#ifndef HIRC_CHECK_WRITTEN_H
#define HIRC_CHECK_WRITTEN_H
#include "check/checker.h"

void written_add(struct rank_check *w, const struct access *a);
void written_clear(struct storage *x);
void written_free(struct storage *x);
void written_check(struct rank_check *w, op_id op, const struct access *a);
/* Notes an output with an element that is not written when the program ends. */
void written_end(struct rank_check *w, uint32_t storage);

#endif
