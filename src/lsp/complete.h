/* complete: where in a text words are asked for, and the lists that fit. */
#ifndef HIRC_LSP_COMPLETE_H
#define HIRC_LSP_COMPLETE_H
#include "lsp/request.h"

enum complete_place {
	COMPLETE_NOTHING,   /* in a string, or in a comment without a command */
	COMPLETE_FILE,      /* a declaration */
	COMPLETE_STATEMENT, /* the begin of one */
	COMPLETE_OPERAND,   /* operations and names */
	COMPLETE_ARGUMENT,  /* of `call`: operands and keys */
	COMPLETE_VALUE,     /* of `key` in `call` */
	COMPLETE_DATA,      /* of an input, behind = */
	COMPLETE_TYPE,      /* behind : */
	COMPLETE_SUFFIX,    /* behind ]: on, partial, a memory */
	COMPLETE_EXTENT,    /* in [ ] and index expressions: scalars */
	COMPLETE_PLACE,     /* behind @ */
	COMPLETE_MESH,      /* behind on */
	COMPLETE_TENSOR,    /* behind schedule */
	COMPLETE_PRIMITIVE, /* in a schedule */
	COMPLETE_PASS,      /* behind --passes= and the like, in a comment */
	COMPLETE_OPTION,    /* of the pass `call` */
};

struct complete_context {
	enum complete_place place;
	uint32_t from; /* where the word begins that is being written */
	char call[64], key[64];
};

/* Reads backwards from an offset, at most to the begin of the statement: the text may be broken. */
struct complete_context complete_find(const struct snapshot *x, uint32_t offset);

#endif
