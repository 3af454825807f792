/* other_names: names of other systems, and notes with hirc's names for them (other_names.def).
 *
 *     unknown operation 'concat'
 *     note: here it is called `cat`: `cat(A, B, axis=0)` */
#ifndef HIRC_PARSE_OTHER_NAMES_H
#define HIRC_PARSE_OTHER_NAMES_H
#include "base/diag.h"
#include "ir/ir.h"

enum other_kind {
	OTHER_DTYPE,
	OTHER_PRINTED_DTYPE,
	OTHER_OPERATION,
	OTHER_FUNCTION,
	OTHER_KEY,
	OTHER_PLACE,
	OTHER_WORD,
	OTHER_MODULE,
	OTHER_SIGN,
};

/* Returns hirc's name, or a sentence, for a name of another system; NULL: the name is unknown. */
const char *other_name_find(enum other_kind kind, const char *name);
/* Adds a note about a name of another system. Returns false if the name is unknown. */
bool other_name_note(struct diag *d, enum other_kind kind, const char *name);
/* Adds a note that shows a call of the operation. Returns false if the table has none. */
bool other_name_show_form(struct diag *d, enum op_kind kind);
/* Adds a note that shows a line of the keyword with this token. Returns false if the table has none. */
bool other_name_show_line(struct diag *d, int token);
/* Adds a note about a name with points in it, such as torch.relu, X.sum and W.T. */
void other_name_note_points(struct diag *d, const char *first, const char *last);

#endif
