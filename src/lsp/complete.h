/* complete: finds what kind of word fits at a place, and lists the words. */
#ifndef HIRC_LSP_COMPLETE_H
#define HIRC_LSP_COMPLETE_H
#include "lsp/request.h"

enum complete_place {
	COMPLETE_NOTHING,   /* in a string, or in a comment without a command */
	COMPLETE_FILE,      /* a declaration */
	COMPLETE_STATEMENT, /* the beginning of a statement */
	COMPLETE_OPERAND,   /* operations and names */
	COMPLETE_ARGUMENT,  /* of `call`: operands and keys */
	COMPLETE_VALUE,     /* of `key` in `call` */
	COMPLETE_DATA,      /* of an input, after = */
	COMPLETE_TYPE,      /* after : */
	COMPLETE_SUFFIX,    /* after ]: on, partial, a memory */
	COMPLETE_EXTENT,    /* in [ ] and index expressions: scalars */
	COMPLETE_PLACE,     /* after @ */
	COMPLETE_MESH,      /* after on */
	COMPLETE_TENSOR,    /* after schedule */
	COMPLETE_PRIMITIVE, /* in a schedule */
	COMPLETE_PASS,      /* after --passes= and similar options, in a comment */
	COMPLETE_OPTION,    /* of the pass `call` */
};

struct complete_context {
	enum complete_place place;
	uint32_t from; /* start of the word that is being typed */
	char call[64], key[64];
};

/* Reads backwards from an offset, at most to the beginning of the statement, since the text may have
 * errors. */
struct complete_context complete_find(const struct snapshot *x, uint32_t offset);

#endif
