/* document: a text that the client has open, and its positions.
 *
 * A position is a line and a character in it, both from 0. Characters are UTF-16 code units or bytes, as
 * client and server agreed. A position past the end of a line or of the text means that end. */
#ifndef HIRC_LSP_DOCUMENT_H
#define HIRC_LSP_DOCUMENT_H
#include "base/str.h"
#include "base/vec.h"

enum document_columns { COLUMNS_UTF16, COLUMNS_UTF8 };

struct position {
	uint32_t line, character;
};

struct range {
	struct position start, end;
};

struct snapshot;

struct document {
	char *uri, *name; /* name: its name in messages; owned */
	struct buf text;
	int64_t version;
	VEC(uint32_t) line;        /* offset of each line's first byte, if `mapped` */
	bool mapped;               /* `line` belongs to the current text */
	bool dirty;                /* its messages have not been published */
	struct snapshot *snapshot; /* of the current text; NULL: not made */
};

/* Takes a copy of the text. */
struct document *document_new(const char *uri, const char *text);
void document_free(struct document *x);

uint32_t document_offset(struct document *x, enum document_columns columns, struct position at);
struct position document_position(struct document *x, enum document_columns columns, uint32_t offset);

/* Replaces the bytes from … to by text; frees all data made from the former text. */
void document_replace(struct document *x, uint32_t from, uint32_t to, const char *text);

#endif
