/* symbols_walk: the state of one walk over a syntax tree, shared by the files that find symbols. */
#ifndef HIRC_LSP_SYMBOLS_WALK_H
#define HIRC_LSP_SYMBOLS_WALK_H
#include "lsp/symbols.h"

struct walk_names { /* symbols by name; 0: none */
	uint32_t *at;
	uint32_t n, cap;
};

struct walk_hidden { /* a scalar that a scalar of an inner block hides until that block ends */
	uint32_t name, symbol;
};

struct walk {
	const struct ast *a;
	struct symbols *out;
	uint32_t mesh;      /* mesh of the program; 0: none */
	uint32_t block_end; /* end of the current block */
	struct walk_names scalar_of, tensor_of, statement_of, mesh_of, group_of, op_of; /* op_of: kind + 1 */
	struct walk_names axis_of; /* the last axis of that name; its `same` leads to the earlier ones */
	VEC(struct walk_hidden) hidden;
};

/* ---- symbols.c */
uint32_t *walk_slot(struct walk *w, struct walk_names *names, uint32_t name);
/* Returns the place after the word at an offset, or after a sign, and after the blanks that follow. */
uint32_t walk_after_word(const struct walk *w, uint32_t at);
uint32_t walk_after_sign(const struct walk *w, uint32_t at);
/* Adds a mention of the name that begins at an offset. */
void walk_mention(struct walk *w, enum mention_kind kind, uint32_t at, uint32_t id, unsigned flags);
/* Adds a symbol. Returns 0 if it has no name. */
uint32_t walk_define(struct walk *w, enum symbol_kind kind, ast_id node, uint32_t name, uint32_t at);
void walk_declaration(struct walk *w, ast_id decl);

/* ---- symbols_expr.c */
/* Walks an index expression, or another node that contains scalars. */
void walk_index(struct walk *w, ast_id e);
/* Walks an operand: tensors, scalars, calls. */
void walk_operand(struct walk *w, ast_id e, unsigned flags);
void walk_type(struct walk *w, ast_id type);
/* Returns an axis of a mesh. mesh 0: of the program's mesh, otherwise of any mesh that has it. */
uint32_t walk_find_axis(struct walk *w, uint32_t name, uint32_t mesh);
/* Returns the mesh of a type; if the type names none, the program's. */
uint32_t walk_type_mesh(struct walk *w, ast_id type);

/* ---- symbols_walk.c */
/* Finds the tensors and statements of a block and of the blocks in it. */
void walk_find_tensors(struct walk *w, ast_id block);
void walk_block(struct walk *w, ast_id block);
void walk_container(struct walk *w, ast_id container);

#endif
