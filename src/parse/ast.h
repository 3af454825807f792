/* ast: the tree that the grammar builds, with the same nodes for both surfaces.
 *
 * A node is 32 bytes in one array; 0 is "no node". Children form a singly linked
 * list. Both surfaces use the same statements and expressions: `T3 = linear(A, B)`
 * is DEF(LIST, CALL) in either; only the leaves differ (TENSOR against NAME). */
#ifndef HIRC_PARSE_AST_H
#define HIRC_PARSE_AST_H
#include "base/diag.h"
#include "base/str.h"
#include "base/vec.h"

enum ast_kind {
#define AST(kind, spelling, children) AST_##kind,
#include "parse/ast_kinds.def"
#undef AST
	AST_KIND_COUNT
};

enum { /* flags */
       AST_OUTPUT = 1,
       AST_INOUT = 2,
       AST_FOR_IN = 4,
       AST_EXTERN = 8,
       AST_BARE = 16,
       AST_QUOTED = 32, /* the name was written in backquotes */
       AST_AGAIN = 64,  /* TYPE, TENSOR, DEVICES: the children are those of node value.i, which has the
	                   same text. ID: the children are those of another node whose text from the brace
	                   on is the same. TENSOR: value.i may be the AST_REPEAT that defines it, see
	                   shape_tensor */
};

typedef uint32_t ast_id;

struct ast_node {
	uint8_t kind;    /* enum ast_kind */
	uint8_t flags;   /* AST_OUTPUT and others */
	uint16_t height; /* of the tree below, bounded so that code may recurse; 0: a leaf */
	uint32_t name;   /* interned, 0: none */
	uint32_t at;     /* byte offset of the first character */
	uint32_t end;    /* byte offset after the last character */
	ast_id first;    /* first child */
	ast_id next;     /* next sibling */
	union {
		int64_t i;
		double f;
		ast_id last; /* while a list is built: its last child */
	} value;
};

struct ast_comment {
	uint32_t at, end; /* the comment, from its # (or //) to before the end of the line */
};

/* A printed tensor whose text may be repeated (again.c). */
struct ast_known {
	ast_id of;       /* the TENSOR that prints it, or the AST_REPEAT that defines it */
	uint32_t length; /* bytes of its text, which begins where that node begins */
	uint32_t name;
};

enum ast_surface { SURFACE_HIR, SURFACE_NVFUSER };

struct shapes;

struct ast {
	struct source *source; /* not owned */
	struct names *names;   /* owned, unless they are lent */
	bool names_are_lent;   /* a module owns them */
	VEC(struct ast_node) nodes;
	VEC(struct ast_comment) comments; /* in order of place */
	VEC(ast_id) exports;              /* all EXPORT nodes, in order of place */
	VEC(ast_id) named;                /* the NAME of every `as c`, in order of place */
	VEC(struct ast_known) known;      /* [0] is unused */
	struct shapes *shapes;            /* shape.h; owned; NULL: every token is read without reuse */
	ast_id root;                      /* AST_FILE */
	enum ast_surface surface;         /* of the program that the file holds */
};

static inline const struct ast_node *ast_at(const struct ast *a, ast_id id)
{
	return &a->nodes.at[id];
}
static inline uint32_t ast_length(const struct ast *a, ast_id id) /* bytes of its text */
{
	return a->nodes.at[id].end - a->nodes.at[id].at;
}
#define AST_NO_MEMORY "-" /* name of the memory of a tensor that is printed without one: T0[ iS0{4} ] */

/* ast_each (a, child, parent) statement: runs the statement for every child. */
#define ast_each(a, child, parent)                                                                           \
	for (ast_id child = ast_at((a), (parent))->first; child; child = ast_at((a), child)->next)
static inline const char *ast_text(const struct ast *a, ast_id id)
{
	return names_text(a->names, a->nodes.at[id].name);
}
/* Returns the index-th child, or 0. */
ast_id ast_child(const struct ast *a, ast_id id, unsigned index);

/* Parses a source of either surface. Always returns an AST; after errors, which are reported to d, it holds
 * the statements that could be read. */
struct ast *ast_parse(struct diag *d, struct source *s);
/* Parses in less time and memory, for a caller that builds a module: nodes may be AST_AGAIN or AST_REPEAT. */
struct ast *ast_parse_shared(struct diag *d, struct source *s);
/* The same for one file of a source of several. names: of an earlier file, which must outlive the AST; NULL: new
 * ones. */
struct ast *ast_parse_file(struct diag *d, struct source *s, uint32_t file, struct names *names);
void ast_free(struct ast *a);

/* --dump=ast: prints one node a line, two blanks a level, as `kind name value @line:col`. */
void ast_print(const struct ast *a, struct buf *out);
/* hirc fmt: prints the program in canonical spelling and keeps comments and consts. Idempotent. */
void ast_format(const struct ast *a, struct buf *out);

#endif
