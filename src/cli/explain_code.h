/* explain_code: the text of `hirc explain E0203`: a row of the table of diagnostics. */
#ifndef HIRC_CLI_EXPLAIN_CODE_H
#define HIRC_CLI_EXPLAIN_CODE_H
#include "base/str.h"

/* Returns true if a word has the form of a diagnostic's number: `E0203`, `w203`, `203`. The number need not
 * exist. */
bool explain_is_code(const char *word);
/* Adds the title, text, example and fix; false: the number does not exist, and nothing is added. */
bool explain_code(const char *word, struct buf *out);
/* Returns the number nearest to a word that is not a number of the table. */
const char *explain_code_nearest(const char *word);
/* Adds a line for each number, with its title. */
void explain_code_list(struct buf *out);
/* Adds the whole table as JSON: a list of objects with the columns of diagnostics.def. */
void explain_code_json(struct buf *out);

#endif
