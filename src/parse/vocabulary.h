/* vocabulary: the words other than keywords that the semantic step knows, for tools that show or complete a
 * program.
 *
 * Each function gives the k-th word of a list; NULL after the last. */
#ifndef HIRC_PARSE_VOCABULARY_H
#define HIRC_PARSE_VOCABULARY_H
#include "ir/ir.h"

const char *vocabulary_placement(unsigned k);         /* after @, besides mesh axes: stream … */
const char *vocabulary_memory(unsigned k);            /* after a type: global … */
const char *vocabulary_primitive(unsigned k);         /* in a schedule: split … */
const char *vocabulary_initialiser(unsigned k);       /* of an input: random … */
const char *vocabulary_function(unsigned k);          /* in index expressions: ceilDiv … */
const char *vocabulary_value(unsigned k);             /* rank, streams, inf, nan */
const char *vocabulary_key(enum op_kind, unsigned k); /* of an operation, besides its attributes: root … */
const char *vocabulary_argument(const char *, unsigned k); /* of an initialiser: seed … */

/* Returns true if the values of an attribute are true and false. */
bool vocabulary_is_switch(const char *attribute);

#endif
