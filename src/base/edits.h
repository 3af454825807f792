/* edits: how one text becomes another, line by line. */
#ifndef HIRC_BASE_EDITS_H
#define HIRC_BASE_EDITS_H
#include "base/vec.h"
#include <stdbool.h>

enum edit_kind { EDIT_KEEP, EDIT_DELETE, EDIT_INSERT };

/* An edit keeps a line, deletes one, or inserts a line of the other text. */
struct edits {
	VEC(uint8_t) kind;  /* enum edit_kind, in order */
	uint32_t different; /* edits other than EDIT_KEEP */
};

/* Finds the fewest edits that turn n lines into m others. `same` returns true if line i equals the other line
 * j. If more than 1500 edits are needed, all lines between the common beginning and end are deleted and
 * inserted. The caller zeroes `out` before the call, and frees it with edits_free. */
void edits_find(uint32_t n, uint32_t m, bool (*same)(void *to, uint32_t i, uint32_t j), void *to,
                struct edits *out);
void edits_free(struct edits *e);

#endif
