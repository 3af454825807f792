/* symbols: the meaning of the names of a file, from its syntax tree alone, so that a program with errors
 * has them, too.
 *
 *     input X: f32[t@x, 8]       a symbol X and the mention that defines it; a mention of f32, t and x
 *     Y = relu(X)                a symbol Y; mentions of relu and X
 *
 * Names are found as the semantic step finds them: tensors and statements are the program's, scalars those of
 * the block that they are defined in. Symbol 0 is none. */
#ifndef HIRC_LSP_SYMBOLS_H
#define HIRC_LSP_SYMBOLS_H
#include "ir/ir.h"
#include "parse/ast.h"

enum symbol_kind {
	SYMBOL_NONE,
	SYMBOL_PROGRAM,
	SYMBOL_PARAM,
	SYMBOL_CONST,
	SYMBOL_MESH,
	SYMBOL_AXIS, /* of a mesh */
	SYMBOL_GROUP,
	SYMBOL_CLUSTER,
	SYMBOL_TENSOR,
	SYMBOL_LET,
	SYMBOL_INDEX,
	SYMBOL_STREAM,    /* a handle: s = get_current_stream() */
	SYMBOL_STATEMENT, /* … as c */
	SYMBOL_KIND_COUNT
};
extern const char *const symbol_kind_text[SYMBOL_KIND_COUNT]; /* for people: `mesh axis` */

struct symbol {
	uint8_t kind;      /* enum symbol_kind */
	uint32_t name;     /* of the AST's names */
	uint32_t at, end;  /* its name where it is defined, with backquotes */
	uint32_t from, to; /* where it can be used */
	ast_id node;       /* the declaration or statement that defines it */
	ast_id result;     /* of a tensor: its RESULT or INPUT, which may hold a TYPE; else 0 */
	uint32_t mesh;     /* the symbol of an axis' or tensor's mesh; 0: none, or not found */
	uint32_t same;     /* AXIS: the former one of this name */
};

enum mention_kind {
	MENTION_SYMBOL,    /* id: the symbol; 0: the name is not defined */
	MENTION_OP,        /* id: enum op_kind; OP_NONE: there is no such operation */
	MENTION_KEY,       /* id: enum op_kind of the operation it belongs to; OP_NONE: of something else */
	MENTION_TYPE,      /* a dtype */
	MENTION_FUNCTION,  /* of index expressions */
	MENTION_PRIMITIVE, /* of a schedule */
	MENTION_WORD,      /* of a fixed list: stream, global, random … */
};

enum { MENTION_DEFINES = 1, MENTION_WRITES = 2 };

struct mention {
	uint8_t kind, flags;
	uint32_t at, end, id;
};

struct symbols {
	VEC(struct symbol) symbol;
	VEC(struct mention) mention; /* in order of place, apart from one another */
};

void symbols_find(const struct ast *a, struct symbols *out);
void symbols_free(struct symbols *s);

/* The mention that holds an offset, or ends there; NULL: none. */
const struct mention *symbols_mention_at(const struct symbols *s, uint32_t offset);
/* Returns the symbol whose mention holds an offset, or ends there; 0: there is none, or the symbol does not
 * exist. */
uint32_t symbols_symbol_at(const struct symbols *s, uint32_t offset);
/* Returns the end of the name that begins at an offset, backquotes included; the offset itself: none begins
 * there. */
uint32_t symbols_name_end(const struct source *s, uint32_t at);

#endif
