/* ast_build: the state that grammar, lexer and lines.c share while they read a source.
 *
 *     text → lex_scan (grammar/hir.re) → hir_lex (lines.c) → hir_parse (grammar/hir.y) → ast_make …
 *
 * lex_scan knows characters and words; lines.c knows lines, indentation and brackets, and skips the rest of a
 * broken statement; the grammar knows the rest, and each of its actions is one call of a builder below. */
#ifndef HIRC_PARSE_AST_BUILD_H
#define HIRC_PARSE_AST_BUILD_H
#include "parse/ast.h"

enum {
	PARSE_MAX_NESTING = 256, /* open brackets, blocks and columns of indentation */
	PARSE_MAX_HEIGHT = 1000, /* of the AST, so that walking it needs no deeper stack */
	PARSE_MAX_STACK = 8192,  /* of the Bison automaton: more than PARSE_MAX_HEIGHT can need */
	PARSE_MAX_NODES = 1u << 28,
	PARSE_MAX_NAME = 1 << 16, /* bytes of a name or string */
	PARSE_HIRC_VERSION = 1,   /* of the section `Hirc 1 :` */
};

/* In a name token's value: the name was in backquotes. The other bits are the interned name. */
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
	char kind;      /* ( [ {, or B: block, I: {} of an id, R: () of a type's reduce */
	bool schedule;  /* a block of primitives */
	bool missing;   /* a block whose { the text lacks */
	int32_t column; /* then a line that begins in this column or before it ends the block; -1: only a }
	                   does */
	uint32_t at;
};

struct parse_token {
	int token;
	uint32_t line_start; /* of its line */
	int64_t value;       /* a name, or the number of an INT or HIRC_HEADER */
	struct parse_span span;
};

enum { AGAIN_SLOTS = 256 };

struct parse_again {              /* again.c */
	ast_id mesh[AGAIN_SLOTS]; /* DEVICES nodes, by hash of the text */
	VEC(uint32_t) tensor;     /* by name: index into ast.known; 0: none */
};

struct parser {
	struct ast *ast;
	struct diag *diag;

	/* state of lex_scan */
	const unsigned char *text, *limit, *cursor;
	uint32_t line_start; /* offset of the current line's first byte */
	enum parse_mode mode;

	/* state of lines.c */
	struct parse_token token[2]; /* used alternately: the token given to the grammar last, and the next
	                                one */
	struct parse_token *last;    /* the token given last; its number is 0 before the first one */
	struct parse_token lead;     /* the first token of its statement */
	struct parse_token stash;    /* a token that was read, but INDENT or DEDENT tokens come before it */
	bool stashed;
	bool at_lead; /* the next token begins a statement */
	bool panic;   /* skip the rest of the statement */
	struct parse_bracket bracket[PARSE_MAX_NESTING];
	unsigned brackets;
	unsigned lost;                      /* number of open brackets beyond the limit */
	unsigned blocks, lead_blocks;       /* number of open B brackets: now, and at the beginning of the
	                                       statement */
	uint32_t column[PARSE_MAX_NESTING]; /* columns of indentation that are open */
	unsigned columns, lead_columns;
	uint32_t container_at; /* offset of its { */
	uint32_t
	    brace_at; /* a { is missing here, and the grammar has not yet taken the one put there; 0: none */
	bool ended;   /* a block was ended; the end of its statement comes next */
	bool told_comment, told_semicolon, told_outside; /* mistakes that are reported once a file */
	bool is_fusion;                                  /* a fusion without a container */
	bool in_post;    /* inside a statement with a unit's text: lines are not indented */
	unsigned posted; /* how many such statements were read */
	ast_id units;    /* a list of the units in them; 0: none */
	bool in_kernel;  /* inside a unit's kernel: the next } ends it */

	struct parse_again again;

	/* state of the builders */
	bool too_deep, too_large; /* already reported */
	ast_id held;              /* the program or container; 0: none yet */
};

/* Scans the next token. Returns 0 at the end of the text. */
int lex_scan(struct parser *p, struct parse_token *out);
/* Returns the next character that is no blank, line end or comment, and its column. */
const unsigned char *lex_peek_line(const struct parser *p, uint32_t *column);
/* Returns the word at c if it is interned, and sets *after to the next character that is no blank. */
const unsigned char *lex_peek_word(const struct parser *p, const unsigned char *c, uint32_t *word);
const unsigned char *lex_skip_blanks(const unsigned char *c);
/* Returns the place after the letters, digits and underscores at c. */
const unsigned char *lex_skip_word(const unsigned char *c);
static inline bool lex_is_digit(unsigned char c)
{
	return c >= '0' && c <= '9';
}
/* Returns true if only a comment follows on the line. */
bool lex_ends_line(const unsigned char *c);

/* Returns the last tensor named by the text from c to end, as an index into ast.known; 0: none. */
uint32_t again_find_name(const struct parser *p, const unsigned char *c, const unsigned char *end);
/* Returns the tensor whose text stands at c, where a tensor begins, as an index into ast.known; 0: none. */
uint32_t again_find_tensor(struct parser *p, const unsigned char *c);
static inline uint32_t again_length(const struct parser *p, uint32_t known) /* bytes of its text */
{
	return p->ast->known.at[known].length;
}
/* Returns the node whose text stands at c, where the devices of a mesh begin; 0: none. */
ast_id again_find_mesh(struct parser *p, const unsigned char *c);
/* Keeps a node, so that its text is found again; returns it. */
ast_id again_keep_tensor(struct parser *p, ast_id id);
ast_id again_keep_mesh(struct parser *p, ast_id id);
/* Keeps the tensor that an AST_REPEAT defines. Its text is the first `length` bytes of the statement. */
void again_keep_repeat(struct parser *p, ast_id statement, uint32_t name, uint32_t length);

/* Returns true if the line at c in the body continues the statement before it. */
bool lines_begin_with_operator(const unsigned char *c);
/* Skips the rest of a statement, after an error. */
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
/* Makes a list of one child, or of none if child is 0; and adds a child. Any kind of node that only has a
 * list is made in this way. */
ast_id ast_list(struct parser *p, enum ast_kind kind, struct parse_span at, ast_id child);
ast_id ast_add(struct parser *p, ast_id list, ast_id child);
/* Makes a list a node of another kind with the same children, and adds `extra` after them unless it is 0. */
ast_id ast_become(struct parser *p, ast_id list, enum ast_kind kind, struct parse_span at, uint32_t name,
                  ast_id extra);
/* The same, but adds `first` before them. */
ast_id ast_become_after(struct parser *p, ast_id first, ast_id list, enum ast_kind kind, struct parse_span at,
                        uint32_t name);
ast_id ast_flag(struct parser *p, ast_id id, unsigned flags);
/* Makes a node with the children of an earlier node, whose text is repeated. */
ast_id ast_again(struct parser *p, struct parse_span at, int64_t of);
/* The same for a tensor, an index into ast.known. */
ast_id ast_tensor_again(struct parser *p, struct parse_span at, int64_t known);
/* The same for the devices in `(DeviceMesh{0 1})`. */
ast_id ast_mesh_again(struct parser *p, struct parse_span at, int64_t of);
ast_id ast_binary(struct parser *p, const char *operation, ast_id left, ast_id right);
ast_id ast_unary(struct parser *p, const char *operation, struct parse_span at, ast_id operand);
/* Makes a PAREN of (a), a TUPLE of (a, b). */
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
/* Adds the program or container of a file, which has only one. */
ast_id ast_hold(struct parser *p, ast_id file, ast_id program);
void ast_finish(struct parser *p, ast_id file);

/* ---- the nvFuser surface (ast_nvfuser.c) */
ast_id ast_tensor(struct parser *p, struct parse_span at, struct parse_span head, ast_id ids, ast_id devices);
/* Gives a tensor that is printed without a dtype one. */
ast_id ast_tensor_of(struct parser *p, ast_id tensor, struct parse_span at, uint32_t dtype);
/* head: the span of `iS8`; close: the span of `}rf`. */
ast_id ast_iterdomain(struct parser *p, struct parse_span at, struct parse_span head, ast_id extent,
                      ast_id expanded, struct parse_span close);
/* Returns the axis number at c: the digits after letters, or after the `.` and the letter of a mesh axis. */
const unsigned char *ast_axis_number(const unsigned char *c);
ast_id ast_communication(struct parser *p, struct parse_span at, uint32_t name, int64_t number, ast_id keys);
ast_id ast_share(struct parser *p, struct parse_span at, ast_id args);
/* Makes SetCurrentStream(Stream i3) of the old form `SetCurrentStream to Stream i3`, and the new form of
 * `GetCurrentStream into …`. */
ast_id ast_old_call(struct parser *p, struct parse_span at, uint32_t name, ast_id operand);
ast_id ast_old_get(struct parser *p, struct parse_span at, uint32_t name, ast_id handle);
ast_id ast_container(struct parser *p, struct parse_span at, ast_id inputs, ast_id outputs, ast_id block);
/* Makes a container of a fusion that stands alone: `Inputs:`, `Outputs:`, %kernel { … }. title: before the outputs. */
ast_id ast_fusion(struct parser *p, struct parse_span at, struct parse_span title_at, uint32_t title,
                  ast_id inputs, ast_id outputs, ast_id block);
/* The same without lists: the inputs are the tensors that no line makes, the outputs those that no line reads. title: the
 * place of `%kernel {`. */
ast_id ast_bare_fusion(struct parser *p, struct parse_span at, struct parse_span title, ast_id block);
/* Adds the reductions of a GroupedReductionOp to the statements; the key belongs to the last one. name: the operation's. */
/* Appends the statements of a unit or Communication that is posted with its text. */
ast_id ast_posted(struct parser *p, ast_id statements, struct parse_span at, ast_id kernel, ast_id inputs,
                  ast_id outputs);
ast_id ast_posted_communication(struct parser *p, ast_id statements, struct parse_span at, ast_id inputs,
                                ast_id outputs);
/* Moves the units that were posted with their text behind the statements of the container. */
void ast_add_units(struct parser *p, ast_id block);
ast_id ast_grouped(struct parser *p, ast_id statements, struct parse_span name_at, uint32_t name,
                   ast_id reductions, ast_id key);
ast_id ast_section(struct parser *p, struct parse_span at, const char *name, ast_id lines);
/* Stops reading if the version is unknown. */
void ast_hirc_version(struct parser *p, struct parse_span at, int64_t version);
/* Adds a line to the last tensor of the section. */
ast_id ast_transform(struct parser *p, ast_id lines, ast_id line);
ast_id ast_swizzle(struct parser *p, struct parse_span at, ast_id out, ast_id call);

#endif
