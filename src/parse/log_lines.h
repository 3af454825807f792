/* log_lines: says how a listing is taken out of a log, which has other lines before and behind it, or a launcher's
 * words before each line:
 *
 *     [1,0]<stdout>:%HostIrContainer { (…) -> (…) :        grep -F '[1,0]<stdout>:' FILE | cut -b 15-
 *     [ RUN      ] MatmulTest                              tail -n +2 FILE
 *     %HostIrContainer { (…) -> (…) : */
#ifndef HIRC_PARSE_LOG_LINES_H
#define HIRC_PARSE_LOG_LINES_H
#include "parse/ast_build.h"

/* Adds a note to an error about text that belongs to no listing, if the file of the text holds one. end: offset of
 * the file's end. Returns false if there is no listing. */
bool log_lines_note_file(struct diag *d, struct source *s, uint32_t at, uint32_t end);
/* The same at a place of a text that is being parsed. */
bool log_lines_note(struct parser *p, uint32_t at);
/* Adds a note to the error about a second listing. */
void log_lines_note_second(struct parser *p, uint32_t at);

#endif
