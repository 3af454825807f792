/* log_lines: says how a listing is taken out of a log, which has other lines before and behind it, or a launcher's
 * words before each line:
 *
 *     [1,0]<stdout>:%HostIrContainer { (…) -> (…) :        grep -F '[1,0]<stdout>:' FILE | cut -b 15-
 *     [ RUN      ] MatmulTest                              tail -n +2 FILE
 *     %HostIrContainer { (…) -> (…) : */
#ifndef HIRC_PARSE_LOG_LINES_H
#define HIRC_PARSE_LOG_LINES_H
#include "parse/ast_build.h"

/* Adds a note to an error about text that belongs to no listing, if the file holds one. Returns false if it does
 * not. */
bool log_lines_note(struct parser *p, uint32_t at);
/* Adds a note to the error about a second listing. */
void log_lines_note_second(struct parser *p, uint32_t at);

#endif
