/* ast_build: the shared state of grammar, lexer and lines.c while a source is read.
 *
 *     text → lex_scan (grammar/hir.re) → hir_lex (lines.c) → hir_parse (grammar/hir.y) → ast_make …
 *
 * lex_scan knows characters and words; lines.c knows lines, indentation and brackets, and skips the
 * rest of a broken statement; the grammar knows the rest, and each of its actions is one call of a
 * builder below. */
#ifndef HIRC_PARSE_AST_BUILD_H
#define HIRC_PARSE_AST_BUILD_H
#include "parse/ast.h"

enum {
	PARSE_MAX_NESTING = 256, /* open brackets, blocks and columns of indentation */
	PARSE_MAX_HEIGHT = 1000, /* of the AST: nothing that walks it needs a deeper stack */
	PARSE_MAX_STACK = 8192,  /* of the automaton: more than PARSE_MAX_HEIGHT can need */
	PARSE_MAX_NODES = 1u << 28,
	PARSE_MAX_NAME = 1 << 16, /* bytes of a name or string */
	PARSE_HIRC_VERSION = 1,   /* of the section `Hirc 1 :` */
};

/* A name token's value: the interned name, with this bit when it was in backquotes. */
#define PARSE_QUOTED 0x80000000u

struct parse_span {
	uint32_t at, end; /* byte offsets: first character, after the last */
};

enum parse_mode {
	MODE_HIR,      /* concise surface: blocks in braces */
	MODE_BODY,     /* inside %HostIrContainer: blocks by indentation */
	MODE_SECTIONS, /* after it: lines of the sections, then concise declarations */
};

struct parse_bracket {
	char kind;      /* ( [ { as written, or B block, I {} of an id, R () of a type's reduce */
	bool schedule;  /* a block of primitives */
	bool missing;   /* a block whose { the text lacks */
	int32_t column; /* then a line that begins in this column or before it ends the block; -1: only a }
	                   does */
	uint32_t at;
};

struct parse_token {
	int token;
	uint32_t line_start; /* of the line that holds it */
	int64_t value;       /* a name, or the number of an INT or HIRC_HEADER */
	struct parse_span span;
};

enum { AGAIN_SLOTS = 256 };

struct parse_again {              /* again.c */
	ast_id mesh[AGAIN_SLOTS]; /* DEVICES, by hash of the text */
	VEC(uint32_t) tensor;     /* by name: of ast.known; 0: none */
};

struct parser {
	struct ast *ast;
	struct diag *diag;

	/* lex_scan */
	const unsigned char *text, *limit, *cursor;
	uint32_t line_start; /* offset of the current line's first byte */
	enum parse_mode mode;

	/* lines.c */
	struct parse_token token[2]; /* by turns: the one given to the grammar last, and the next one */
	struct parse_token *last;    /* the former; its token is 0 where there is none yet */
	struct parse_token lead;     /* the first one of its statement */
	struct parse_token stash;    /* read, but an INDENT or DEDENTs come before it */
	bool stashed;
	bool at_lead; /* the next token begins a statement */
	bool panic;   /* the rest of the statement is to be skipped */
	struct parse_bracket bracket[PARSE_MAX_NESTING];
	unsigned brackets;
	unsigned lost;                      /* open brackets beyond the limit */
	unsigned blocks, lead_blocks;       /* B brackets: now, and where the statement began */
	uint32_t column[PARSE_MAX_NESTING]; /* open columns of indentation */
	unsigned columns, lead_columns;
	uint32_t container_at; /* its { */
	uint32_t
	    brace_at; /* a { is missing here, and the grammar has not yet taken the one put there; 0: none */
	bool ended;   /* such a block was ended: the end of its statement is next */
	bool told_comment, told_semicolon, told_outside; /* mistakes that are reported once a file */
	bool in_kernel;                                  /* of a unit: the next } ends it */

	struct parse_again again;

	/* builders */
	bool too_deep, too_large; /* reported */
	ast_id held;              /* the program or container, once there is one */
};

/* The next token, as it stands. 0 at the end of the text. */
int lex_scan(struct parser *p, struct parse_token *out);
/* The next significant character, over blanks, line ends and comments, and its column. */
const unsigned char *lex_peek_line(const struct parser *p, uint32_t *column);
/* The word at c, if it was interned, and the next character after it that is no blank. */
const unsigned char *lex_peek_word(const struct parser *p, const unsigned char *c, uint32_t *word);
const unsigned char *lex_skip_blanks(const unsigned char *c);
/* Behind the letters, digits and underscores at c. */
const unsigned char *lex_skip_word(const unsigned char *c);
static inline bool lex_is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}
/* Returns true if only a comment follows on the line. */
bool lex_ends_line(const unsigned char *c);

/* The last tensor with the name from c to end, in ast.known; 0: none. */
uint32_t again_find_name(const struct parser *p, const unsigned char *c, const unsigned char *end);
/* The tensor in ast.known whose text stands at c, where a tensor begins; 0: none. */
uint32_t again_find_tensor(struct parser *p, const unsigned char *c);
static inline uint32_t again_length(const struct parser *p, uint32_t known) /* bytes of its text */
{
	return p->ast->known.at[known].length;
}
/* The node whose text stands at c, where a mesh's devices begin; 0: none is known. */
ast_id again_find_mesh(struct parser *p, const unsigned char *c);
/* Remembers a node; returns it. */
ast_id again_keep_tensor(struct parser *p, ast_id id);
ast_id again_keep_mesh(struct parser *p, ast_id id);
/* Remembers the tensor that an AST_REPEAT defines: its text is the first `length` bytes of the statement. */
void again_keep_repeat(struct parser *p, ast_id statement, uint32_t name, uint32_t length);

/* Returns true if a line of the body that begins at c goes on with the statement before it. */
bool lines_begin_with_operator(const unsigned char *c);
/* After an error: skips the rest of the statement. */
void lines_panic(struct parser *p);

/* ---- builders (ast.c); a child 0 is absent */
ast_id ast_make_n(struct parser *p, enum ast_kind kind, struct parse_span at, uint32_t name, unsigned n,
                  const ast_id *child);
#define ast_make(p, kind, at, name, ...)                                                                     \
	ast_make_n((p), (kind), (at), (name), sizeof((ast_id[]){__VA_ARGS__}) / sizeof(ast_id),              \
	           (ast_id[]){__VA_ARGS__})
ast_id ast_leaf(struct parser *p, enum ast_kind kind, struct parse_span at, uint32_t name);
ast_id ast_int(struct parser *p, enum ast_kind kind, struct parse_span at, int64_t value);
ast_id ast_float(struct parser *p, struct parse_span at);
ast_id ast_handle(struct parser *p, struct parse_span at);
/* A list, of one child or (0) none, and one child more. Any kind that has only a list can be made so. */
ast_id ast_list(struct parser *p, enum ast_kind kind, struct parse_span at, ast_id child);
ast_id ast_add(struct parser *p, ast_id list, ast_id child);
/* The list becomes a node of another kind with the same children, and extra (or 0) after them … */
ast_id ast_become(struct parser *p, ast_id list, enum ast_kind kind, struct parse_span at, uint32_t name,
                  ast_id extra);
/* … or with first before them. */
ast_id ast_become_after(struct parser *p, ast_id first, ast_id list, enum ast_kind kind, struct parse_span at,
                        uint32_t name);
ast_id ast_flag(struct parser *p, ast_id id, unsigned flags);
/* A node with the children of another, whose text stands again. */
ast_id ast_again(struct parser *p, struct parse_span at, int64_t of);
/* The same of a tensor in ast.known. */
ast_id ast_tensor_again(struct parser *p, struct parse_span at, int64_t known);
/* The same of the devices in `(DeviceMesh{0 1})`. */
ast_id ast_mesh_again(struct parser *p, struct parse_span at, int64_t of);
ast_id ast_binary(struct parser *p, const char *operation, ast_id left, ast_id right);
ast_id ast_unary(struct parser *p, const char *operation, struct parse_span at, ast_id operand);
/* (a) is PAREN, (a, b) is TUPLE */
ast_id ast_parens(struct parser *p, struct parse_span at, ast_id list);
ast_id ast_ids(struct parser *p, struct parse_span at, ast_id name, ast_id tensor, ast_id integers);

/* ---- statements (ast_statement.c) */
ast_id ast_input(struct parser *p, struct parse_span at, uint32_t name, ast_id type, ast_id attrs,
                 ast_id init, unsigned flags);
ast_id ast_define(struct parser *p, struct parse_span at, ast_id targets, ast_id expr, ast_id as,
                  unsigned flags);
ast_id ast_write(struct parser *p, struct parse_span at, ast_id targets, ast_id expr, ast_id as);
ast_id ast_export(struct parser *p, struct parse_span at, ast_id targets);
ast_id ast_as(struct parser *p, struct parse_span at, uint32_t name); /* `as c` */
/* Adds the file's program or container; a file has one. */
ast_id ast_hold(struct parser *p, ast_id file, ast_id program);
void ast_finish(struct parser *p, ast_id file);

/* ---- the nvFuser surface (ast_nvfuser.c) */
ast_id ast_tensor(struct parser *p, struct parse_span at, struct parse_span head, ast_id ids, ast_id devices);
/* head is the span of `iS8`, close that of `}rf`. */
ast_id ast_iterdomain(struct parser *p, struct parse_span at, struct parse_span head, ast_id extent,
                      ast_id expanded, struct parse_span close);
/* The number of an axis, at c: behind the letters, and the point with the character of a mesh axis. */
const unsigned char *ast_axis_number(const unsigned char *c);
ast_id ast_communication(struct parser *p, struct parse_span at, uint32_t name, int64_t number, ast_id keys);
ast_id ast_share(struct parser *p, struct parse_span at, ast_id args);
/* `SetCurrentStream to Stream i3` as SetCurrentStream(Stream i3); `GetCurrentStream into …` likewise */
ast_id ast_old_call(struct parser *p, struct parse_span at, uint32_t name, ast_id operand);
ast_id ast_old_get(struct parser *p, struct parse_span at, uint32_t name, ast_id handle);
ast_id ast_container(struct parser *p, struct parse_span at, ast_id inputs, ast_id outputs, ast_id block);
ast_id ast_section(struct parser *p, struct parse_span at, const char *name, ast_id lines);
/* Stops reading where the version is not known. */
void ast_hirc_version(struct parser *p, struct parse_span at, int64_t version);
/* Adds the line to the last tensor of the section. */
ast_id ast_transform(struct parser *p, ast_id lines, ast_id line);
ast_id ast_swizzle(struct parser *p, struct parse_span at, ast_id out, ast_id call);

#endif
