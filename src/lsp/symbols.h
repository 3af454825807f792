/* symbols: finds the meaning of each name in a file. It needs only the syntax tree, so it works on a program
 * with errors, too.
 *
 *     input X: f32[t@x, 8]       a symbol X and the mention that defines it; a mention of f32, t and x
 *     Y = relu(X)                a symbol Y; mentions of relu and X
 *
 * The rules are those of the semantic step: tensors and statements are visible in the whole program, scalars
 * in the block of their definition. Symbol 0 is none. */
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
extern const char *const symbol_kind_text[SYMBOL_KIND_COUNT]; /* texts for messages: `mesh axis` */

struct symbol {
	uint8_t kind;      /* enum symbol_kind */
	uint32_t name;     /* index into the AST's names */
	uint32_t at, end;  /* the name in its definition, with backquotes */
	uint32_t from, to; /* where the symbol can be used */
	ast_id node;       /* the declaration or statement that defines it */
	ast_id result;     /* of a tensor: its RESULT or INPUT, which may have a TYPE; otherwise 0 */
	uint32_t mesh;     /* the mesh symbol of an axis or tensor; 0: none, or not found */
	uint32_t same;     /* AXIS: the axis defined before with the same name */
};

enum mention_kind {
	MENTION_SYMBOL,    /* id: the symbol; 0: the name is not defined */
	MENTION_OP,        /* id: enum op_kind; OP_NONE: unknown operation */
	MENTION_KEY,       /* id: enum op_kind of its operation; OP_NONE: it belongs to something else */
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
	VEC(struct mention) mention; /* in order of place; they do not overlap */
};

void symbols_find(const struct ast *a, struct symbols *out);
void symbols_free(struct symbols *s);

/* Returns the mention that contains an offset or ends there; NULL: none. */
const struct mention *symbols_mention_at(const struct symbols *s, uint32_t offset);
/* Returns the symbol whose mention contains an offset or ends there; 0: no mention, or an unknown symbol. */
uint32_t symbols_symbol_at(const struct symbols *s, uint32_t offset);
/* Returns the end of the name that begins at an offset, with its backquotes; the offset itself if no name
 * begins there. */
uint32_t symbols_name_end(const struct source *s, uint32_t at);

#endif
