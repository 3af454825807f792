/* sema_internal: what the files of the semantic step share.
 *
 *     sema.c          entry, order of the steps, -D
 *     sema_scope.c    names: tensors, scalars, meshes, statements
 *     sema_expr.c     index expressions, constants
 *     sema_decl.c     params, consts, meshes, groups; the Hirc section
 *     sema_type.c     types, placements, schedule primitives
 *     sema_stmt.c     statements of the concise surface
 *     sema_call.c     operations of both surfaces; with sema_operand.c, sema_argument.c (arguments),
 *                     sema_attr.c (attributes), sema_result.c (result types), sema_team.c (teams)
 *     nvfuser.h       lists the files of the nvFuser container, sema_nvfuser.c first */
#ifndef HIRC_PARSE_SEMA_INTERNAL_H
#define HIRC_PARSE_SEMA_INTERNAL_H
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "parse/sema.h"

enum scope_kind {
	SCOPE_NONE,
	SCOPE_CONST,
	SCOPE_PARAM,
	SCOPE_LET,
	SCOPE_INDEX,
	SCOPE_HANDLE,
	SCOPE_DEFINE,
	SCOPE_BROKEN
};

struct scope_entry {
	name_id name;
	uint8_t kind;   /* enum scope_kind */
	uint32_t depth; /* nesting it was defined at */
	uint32_t id;    /* expr_id (const, let), param_id, index_id, handle_id, number of a -D that is read at
	                   each use */
	uint32_t at;
	uint32_t outer; /* entry that it hides, index + 1 */
};

/* A use of a statement that stands later in the program, as `wait(c)` in a loop may. */
struct sema_forward {
	name_id name;
	uint32_t at;
	uint32_t operand; /* index into m->operand; 0: its statement is being put together */
};

#define SEMA_BROKEN UINT32_MAX /* in later_at, statement_of: the definition failed and was reported */

enum {
	/* of an index expression, with what its lets stand for; prints as twice as many brackets */
	SEMA_MAX_EXPR_DEPTH = 100,
	/* its names, numbers and operators: a let that is used twice counts twice */
	SEMA_MAX_EXPR_SIZE = 4096,
	SEMA_MAX_CALLS = 256,  /* operations within operations */
	SEMA_MAX_DEFINES = 16, /* -D that use others */
};

struct expr_measure {
	uint16_t depth, size; /* at most one above the limit */
};

/* Types by the node that was read: programs repeat a few types many times. */
struct type_cache {
	ast_id node; /* 0: free */
	type_id type;
	bool io;
};

/* A result of infer_check or infer_type: programs repeat a few operations on a few types many times. */
struct rule_cache {
	enum op_kind kind; /* OP_NONE: free */
	unsigned operand_n;
	unsigned result_k, result_n; /* which result, of how many */
	type_id operand[4];          /* 0: a scalar */
	attrs_id attrs;
	type_id stated, first;
	mesh_id mesh;
	team_id team;
	type_id result;
};

struct sema {
	struct diag *d;
	struct ast *a;
	struct module *m;
	const struct sema_options *options;
	VEC(struct scope_entry) entry; /* a stack */
	VEC(uint32_t) scalar_of;       /* by name_id: top entry index + 1 */
	VEC(value_id) tensor_of;       /* by name_id */
	VEC(op_id) statement_of;       /* by name_id: `… as c` */
	VEC(uint16_t) op_of;           /* by name_id: see call_find_op */
	VEC(uint32_t) output_at;       /* by name_id: 1 when the program exports the name */
	VEC(uint32_t) later_at;        /* by name_id: offset + 1 of a definition anywhere in the program, */
	ast_id program;                /* this block, once it was looked through for them: then 0 */
	VEC(name_id) broken_mesh;      /* meshes whose declaration was reported */
	VEC(uint8_t) later_statement;  /* by name_id: 1 when some statement has the name */
	VEC(struct sema_forward) forward;
	VEC(ast_id) index_def;            /* INDEX_DEF lines of `Index definitions:` */
	VEC(ast_id) defining;             /* of these, those being read: each is used by the one before */
	value_id last_value;              /* the last value whose type got hidden reduction axes, */
	type_id last_stated;              /* and its type before */
	struct type_cache type_cache[64]; /* by hash; emptied when a name is defined in the program */
	struct rule_cache rule_cache[64]; /* by hash */
	uint32_t depth;                   /* of nested blocks */
	region_id region;                 /* being filled */
	mesh_id mesh;                     /* default mesh for axis names in expressions */
	VEC(struct expr_measure) measure; /* by expr_id, as far as they were asked for */
	unsigned errors;                  /* that were reported before this file */
	const struct sema_define *reading[SEMA_MAX_DEFINES]; /* each used by the one before */
	unsigned reading_n;
	uint32_t calls; /* operations being read, each within the one before */
};

/* ---- sema.c */
/* The name of a node in the module's table (a -D text has a table of its own). */
name_id sema_name(const struct sema *s, ast_id id);
/* The -D of a name, marked used; NULL: none. */
struct sema_define *sema_find_define(const struct sema *s, const char *name);
/* The expression of a -D text, read where it is used. 0 after reporting; with late, 0 and *late when
 * names in it are unknown here, so that it is to be read at each use. */
expr_id sema_define_expr(struct sema *s, const struct sema_define *define, uint32_t at, bool *late);

/* ---- sema_scope.c */
void sema_scope_push(struct sema *s);
void sema_scope_pop(struct sema *s);
/* Defines a scalar name; reports a second definition in the same block and a clash with a tensor is none. */
bool sema_define_scalar(struct sema *s, name_id name, enum scope_kind kind, uint32_t id, uint32_t at);
const struct scope_entry *sema_find_scalar(const struct sema *s, name_id name);
value_id sema_find_tensor(const struct sema *s, name_id name); /* 0: none */
bool sema_define_tensor(struct sema *s, name_id name, value_id v, uint32_t at);
op_id sema_find_statement(const struct sema *s, name_id name); /* 0: none */
/* A statement that was reported: its uses are not. */
void sema_break_statement(struct sema *s, name_id name);
bool sema_is_broken_statement(const struct sema *s, name_id name);
bool sema_define_statement(struct sema *s, name_id name, op_id op, uint32_t at);
/* Names that stand anywhere in the program; uses before the definition are filled in at the end. */
void sema_mark_later_statement(struct sema *s, name_id name);
bool sema_is_later_statement(const struct sema *s, name_id name);
void sema_place_forward(struct sema *s, uint32_t operand);
void sema_resolve_forward(struct sema *s);
mesh_id sema_find_mesh(const struct sema *s, name_id name);
bool sema_is_mesh_axis(const struct sema *s, name_id name); /* of any mesh */
group_id sema_find_group(const struct sema *s, name_id name);
/* The definition of a tensor was reported: its uses are not. */
void sema_break_tensor(struct sema *s, name_id name);
/* `unknown tensor 'Z'` and a did-you-mean over names of that kind. */
void sema_unknown_tensor(struct sema *s, name_id name, uint32_t at);
void sema_unknown_mesh(struct sema *s, name_id name, uint32_t at, uint32_t length);
void sema_unknown_scalar(struct sema *s, name_id name, uint32_t at);
/* Returns true if a tensor is defined in the block being filled or in one around it; reports if not. */
bool sema_is_visible(struct sema *s, value_id v, name_id name, uint32_t at);
/* Returns true, after reporting, if one more block would be too deep. */
bool sema_too_deep(struct sema *s, ast_id stmt);
/* Reports the first statement that does not fit into a unit; settles the layouts that it leaves out. */
void sema_check_unit(struct sema *s, op_id unit);
/* Where the name stands in a declaration or statement that a keyword begins. */
uint32_t sema_name_at(const struct sema *s, ast_id id);
/* T7 → 7, i3 → 3, c12 → 12 (prefix letter given); -1 for other names. */
int32_t sema_numbered(const struct sema *s, name_id name, char prefix);

/* ---- sema_expr.c */
/* An index expression or extent from its AST. 0 after reporting. In the nvFuser surface an unknown
 * scalar becomes a param without value. */
expr_id sema_expr(struct sema *s, ast_id e);
/* The same, which must be a constant (consts and np only). */
bool sema_const(struct sema *s, ast_id e, int64_t *out);
/* Returns true if an expression has a tensor in it, so that it is an operation. */
bool sema_has_tensor(const struct sema *s, ast_id e);
/* Returns true if an expression uses names that are unknown here: loop indices, as a rule. */
bool sema_is_late(const struct sema *s, ast_id e);
/* sema_expr, then expr_canon. */
/* Adds a note to an error in the value of a name, where this is no integer. */
void sema_note_float(struct sema *s, ast_id value);
expr_id sema_extent(struct sema *s, ast_id e);

/* ---- sema_decl.c */
void sema_declaration(struct sema *s, ast_id decl); /* PARAM CONST MESH GROUP */
mesh_id sema_mesh_from_devices(struct sema *s, ast_id devices, name_id name, const name_id *axis_names,
                               unsigned axis_n);

/* ---- sema_cluster.c */
void sema_cluster(struct sema *s, ast_id decl);
/* Reads the times of a group's collectives from an ATTRS (0: none). */
void sema_cost_tables(struct sema *s, ast_id attrs, attrs_id *out);

/* ---- sema_type.c */
/* Returns true if a TYPE node says that the tensor is in global memory. */
bool sema_type_is_global(const struct sema *s, ast_id type);
/* A TYPE node; io: program input or output (default allocation without stream splits). 0 after
 * reporting. */
type_id sema_type(struct sema *s, ast_id type, bool io);
void sema_schedule(struct sema *s, ast_id schedule);

/* ---- sema_call.c */
/* Result as the surface states it. type 0: left out. value: the bound value that is written, or 0. */
struct sema_result {
	name_id name;
	type_id type;
	value_id bound; /* `Y <- …`: the value written */
	uint32_t at;
	bool output;
	bool in_global; /* the type says `global`: a view without a word is local */
};
/* Makes and appends the statement for an expression (CALL, BINARY, NAME, COMM …) with its
 * results; operands of nested calls become temporaries. as: name of `as c` or 0. Returns 0 after
 * reporting. The results' values are in out (result_n), may be NULL. */
op_id sema_call(struct sema *s, ast_id expr, const struct sema_result *result, unsigned result_n, name_id as,
                uint32_t at, value_id *out);
/* An operand expression as a use: a tensor (temporaries made as needed) or a scalar. */
bool sema_operand(struct sema *s, ast_id expr, struct ir_use *out);
/* The KEY children of a node as attributes, but for those of a list that ends with NULL. */
bool sema_attrs(struct sema *s, enum op_kind kind, ast_id keys, const char *const *but, attrs_id *out);
/* A team= list: (0 1) or several slices (0 1)(2 3). */
bool sema_team(struct sema *s, ast_id team, team_id *out);

/* ---- sema_stmt.c */
void sema_block(struct sema *s, ast_id block); /* statements of the concise surface */
void sema_program(struct sema *s, ast_id program);
/* `random(seed=1)`, `zeros()`, … as an input's data. */
bool sema_initialiser(struct sema *s, ast_id init, struct input *x);

/* ---- sema_nvfuser.c */
void sema_container(struct sema *s, ast_id file, ast_id container);

#endif
