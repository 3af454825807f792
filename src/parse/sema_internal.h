/* sema_internal: the structures and functions that the files of the semantic step share.
 *
 *     sema.c          entry, order of the steps, -D
 *     sema_files.c    declarations of a program of several files
 *     sema_scope.c    names: tensors, scalars, meshes, statements
 *     sema_expr.c     index expressions, constants
 *     sema_number.c   numbers with a point; sema_real.c: scalars of listings that are computed by them
 *     sema_unfit.c    numbers that a dtype does not have
 *     sema_decl.c     params, consts, meshes, groups; the Hirc section
 *     sema_type.c     types, placements, schedule primitives
 *     sema_stmt.c     statements of the concise surface
 *     sema_input.c    its inputs and outputs
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
	SCOPE_NUMBER,
	SCOPE_INDEX,
	SCOPE_HANDLE,
	SCOPE_DEFINE,
	SCOPE_BROKEN
};

struct scope_entry {
	name_id name;
	uint8_t kind;   /* enum scope_kind */
	uint32_t depth; /* nesting of its definition */
	uint32_t id;    /* expr_id (const, let), scalar_id (number), param_id, index_id, handle_id, or number
	                   of a -D that is read at each use */
	uint32_t at;
	uint32_t outer; /* index + 1 of the entry that it hides */
};

/* A use of a statement that is defined later in the program, which `wait(c)` in a loop may be. */
struct sema_forward {
	name_id name;
	uint32_t at;
	uint32_t operand; /* index into m->operand; 0: its statement is still being made */
};

#define SEMA_BROKEN UINT32_MAX /* in later_at, statement_of: the definition had an error, reported */

enum {
	/* of an index expression with its lets substituted; it prints with twice as many brackets */
	SEMA_MAX_EXPR_DEPTH = 100,
	/* number of names, numbers and operators; a let used twice counts twice */
	SEMA_MAX_EXPR_SIZE = 4096,
	SEMA_MAX_CALLS = 256,  /* nesting of operations */
	SEMA_MAX_DEFINES = 16, /* nesting of -D that use other -D */
};

struct expr_measure {
	uint16_t depth, size; /* at most one more than the limit */
};

/* Types by the node they were read from: programs repeat a few types many times. */
struct type_cache {
	ast_id node; /* 0: unused */
	type_id type;
	bool io;
};

/* Results of infer_check and infer_type: programs repeat a few operations on a few types many times. */
struct rule_cache {
	enum op_kind kind; /* OP_NONE: unused */
	unsigned operand_n;
	unsigned result_k, result_n; /* index of the result, and number of results */
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
	VEC(uint32_t) scalar_of;       /* by name_id: index + 1 of the innermost entry */
	VEC(value_id) tensor_of;       /* by name_id */
	VEC(op_id) statement_of;       /* by name_id: the statement of `… as c` */
	VEC(uint16_t) op_of;           /* by name_id: see call_find_op */
	VEC(uint32_t) output_at;       /* by name_id: 1 if the program exports the name */
	VEC(uint32_t) later_at;        /* by name_id: offset + 1 of a definition anywhere in `program` */
	bool wants_const;              /* the expression being read may have no params */
	ast_id program;                /* read for later_at when first needed; then 0 */
	VEC(name_id) broken_mesh;      /* meshes with errors in their declaration */
	VEC(uint8_t) later_statement;  /* by name_id: 1 if some statement has the name */
	VEC(struct sema_forward) forward;
	VEC(ast_id) index_def;            /* lines of `Index definitions:` */
	VEC(ast_id) defining;             /* the lines that are being read, each for the one before */
	value_id last_value;              /* the last value whose type was given hidden reduction axes, */
	type_id last_stated;              /* and its type before */
	struct type_cache type_cache[64]; /* by hash; cleared when the program defines a name */
	struct rule_cache rule_cache[64]; /* by hash */
	uint32_t depth;                   /* nesting of blocks */
	region_id region;                 /* the region that statements are added to */
	mesh_id mesh;                     /* mesh for axis names in expressions */
	VEC(struct expr_measure) measure; /* by expr_id, as far as computed */
	bool is_listing;                  /* a container of the nvFuser surface is read */
	bool is_foreign;                  /* a listing without a section Hirc, as nvFuser prints it */
	unsigned errors;                  /* number of errors reported before this file */
	const struct sema_define *reading[SEMA_MAX_DEFINES]; /* the -D being read, each for the one before */
	unsigned reading_n;
	uint32_t calls; /* operations being read, each inside the one before */
	uint32_t begin; /* offset of the file in a source of several */
};

/* ---- sema.c */
/* Returns the name of a node in the module's table. The text of a -D has its own table. */
name_id sema_name(const struct sema *s, ast_id id);
/* Returns the -D of a name and marks it used; NULL: none. */
struct sema_define *sema_find_define(const struct sema *s, const char *name);
/* Returns the expression of a -D's text. Returns 0 after reporting an error. With `late`, also returns 0 and
 * sets *late if the text has names that are unknown here; then it must be read at each use. */
expr_id sema_define_expr(struct sema *s, const struct sema_define *define, uint32_t at, bool *late);

/* ---- sema_files.c */
/* Returns true if an offset is in the file that is being read. */
bool sema_is_own(const struct sema *s, uint32_t at);
/* Reports a declaration that differs from that of another file. */
void sema_report_unlike(struct sema *s, const char *kind, name_id name, uint32_t at, uint32_t other);
/* Adds a param, or finds that of another file with the same name, which must be alike. name: for messages. */
param_id sema_add_param(struct sema *s, const struct param *p, name_id name);

/* ---- sema_scope.c */
void sema_scope_push(struct sema *s);
void sema_scope_pop(struct sema *s);
/* Defines a scalar name. Reports a second definition in the same block; a tensor may have the same name. */
bool sema_define_scalar(struct sema *s, name_id name, enum scope_kind kind, uint32_t id, uint32_t at);
const struct scope_entry *sema_find_scalar(const struct sema *s, name_id name);
value_id sema_find_tensor(const struct sema *s, name_id name); /* 0: none */
bool sema_define_tensor(struct sema *s, name_id name, value_id v, uint32_t at);
op_id sema_find_statement(const struct sema *s, name_id name); /* 0: none */
/* Notes that a statement had an error, so that its uses are not reported. */
void sema_break_statement(struct sema *s, name_id name);
bool sema_is_broken_statement(const struct sema *s, name_id name);
bool sema_define_statement(struct sema *s, name_id name, op_id op, uint32_t at);
/* Notes that a statement with this name is defined anywhere in the program. Uses before the definition are
 * filled in at the end. */
void sema_mark_later_statement(struct sema *s, name_id name);
bool sema_is_later_statement(const struct sema *s, name_id name);
void sema_place_forward(struct sema *s, uint32_t operand);
void sema_resolve_forward(struct sema *s);
mesh_id sema_find_mesh(const struct sema *s, name_id name);
bool sema_is_mesh_axis(const struct sema *s, name_id name); /* of any mesh */
group_id sema_find_group(const struct sema *s, name_id name);
/* Notes that the definition of a tensor had an error, so that its uses are not reported. */
void sema_break_tensor(struct sema *s, name_id name);
/* Reports `unknown tensor 'Z'`, with a suggestion among names of tensors. */
void sema_unknown_tensor(struct sema *s, name_id name, uint32_t at);
void sema_unknown_mesh(struct sema *s, name_id name, uint32_t at, uint32_t length);
void sema_unknown_scalar(struct sema *s, name_id name, uint32_t at);
/* Returns true if a tensor is defined in the current block or one around it; otherwise reports it. */
bool sema_is_visible(struct sema *s, value_id v, name_id name, uint32_t at);
/* Returns true, after reporting, if one more block would be too deep. */
bool sema_too_deep(struct sema *s, ast_id stmt);
/* Reports the first statement that does not fit into a unit, and chooses layouts that the unit leaves out. */
void sema_check_unit(struct sema *s, op_id unit);
/* Returns the place of the name in a declaration or statement that begins with a keyword. */
uint32_t sema_name_at(const struct sema *s, ast_id id);
/* Returns 7 for T7, 3 for i3, 12 for c12 (with that prefix); -1 for other names. */
int32_t sema_numbered(const struct sema *s, name_id name, char prefix);

/* ---- sema_expr.c */
/* Reads an index expression or extent. Returns 0 after reporting. In the nvFuser surface an unknown scalar
 * becomes a param without a value. */
expr_id sema_expr(struct sema *s, ast_id e);
/* Reads a constant, which may use only consts and np. */
bool sema_const(struct sema *s, ast_id e, int64_t *out);
/* Returns true if an expression contains a tensor, and so is an operation. */
bool sema_has_tensor(const struct sema *s, ast_id e);
/* Returns true if an expression uses names that are unknown here, usually loop indices. */
bool sema_is_late(const struct sema *s, ast_id e);
/* Calls sema_expr, then expr_canon. */
expr_id sema_extent(struct sema *s, ast_id e);
/* Returns a scalar that a listing uses without a declaration: by its index definition, by its -D, or as a param
 * without a value. */
expr_id sema_foreign_scalar(struct sema *s, name_id name, uint32_t at);
/* Likewise, but returns the param; if the scalar is none, returns 0 and sets *e to its expression, 0 after an error. */
param_id sema_foreign_param(struct sema *s, name_id name, uint32_t at, expr_id *e);
enum conversion { CONVERSION_NONE, CONVERSION_FLOAT, CONVERSION_INTEGER, CONVERSION_BOOL };
/* Returns the conversion of a number that nvFuser prints: (double)(i0), __to_int64(d0), double(2). */
enum conversion sema_conversion(const char *name);
/* Returns true for ceilDiv, min and other functions of index expressions. */
bool sema_is_index_function(const char *name);

/* ---- sema_number.c */
/* Finds the number that a word stands for: inf or nan. Returns false for another word. */
bool sema_number_word(const char *text, double *out);
/* Finds the number with a point that a name stands for, in a listing also by -D. Returns false if it is none. */
bool sema_find_number(const struct sema *s, ast_id name, double *out);
/* Finds the number with a point that is the whole text of a -D. Returns false if it is another text. */
bool sema_define_number(const struct sema_define *define, double *out);
/* Returns true if an expression is a number with a point, or arithmetic on numbers with one. */
bool sema_is_number(const struct sema *s, ast_id e);
/* Adds a note to an error in the value of a name, where this is no integer. */
void sema_note_float(struct sema *s, ast_id value);

/* ---- sema_real.c */
/* Returns true if a scalar of a listing is computed by numbers with a point. */
bool sema_is_real(const struct sema *s, ast_id e);
/* Computes such a scalar. *kind, *id: a literal (SCOPE_NUMBER), or an expression (SCOPE_LET): an integer, or a param
 * that stands for the formula. Returns false after reporting. */
bool sema_real(struct sema *s, ast_id e, enum scope_kind *kind, uint32_t *id);
/* Returns its value, where a number is needed; 0 after reporting. */
double sema_real_value(struct sema *s, ast_id e);

/* ---- sema_decl.c */
/* Reads a scalar among the inputs of a program: a node with the name of a param. One that -D makes a number with a
 * point or an expression is no input. */
void sema_input_param(struct sema *s, ast_id name);
void sema_declaration(struct sema *s, ast_id decl); /* PARAM CONST MESH GROUP */
mesh_id sema_mesh_from_devices(struct sema *s, ast_id devices, name_id name, const name_id *axis_names,
                               unsigned axis_n);

/* ---- sema_cluster.c */
void sema_cluster(struct sema *s, ast_id decl);
/* Reads the times of a group's collectives from an ATTRS node (0: none). */
void sema_cost_tables(struct sema *s, ast_id attrs, attrs_id *out);

/* ---- sema_type.c */
/* Returns true if a TYPE node states global memory. */
bool sema_type_is_global(const struct sema *s, ast_id type);
/* Reads a TYPE node. io: of a program input or output, whose default allocation has no stream splits. Returns
 * 0 after reporting. */
type_id sema_type(struct sema *s, ast_id type, bool io);
void sema_schedule(struct sema *s, ast_id schedule);

/* ---- sema_call.c */
/* A result as the source states it. type 0: left out. value: the bound value that is written; 0: none. */
struct sema_result {
	name_id name;
	type_id type;
	bool any_dtype; /* the operation gives the dtype: type has an assumed one */
	value_id bound; /* `Y <- …`: the value written */
	uint32_t at;
	bool output;
	bool in_global; /* the type says `global`; a view without that word is local */
};
/* Makes and appends the statement for an expression (CALL, BINARY, NAME, COMM …) with its results. Operands
 * that are nested calls become temporaries. as: the name from `as c`, or 0. out: gets the values of the
 * result_n results; may be NULL. Returns 0 after reporting. */
op_id sema_call(struct sema *s, ast_id expr, const struct sema_result *result, unsigned result_n, name_id as,
                uint32_t at, value_id *out);
/* Reads an operand: a tensor, with temporaries for nested calls, or a scalar. */
bool sema_operand(struct sema *s, ast_id expr, struct ir_use *out);
/* Reads the KEY children of a node as attributes, without the keys in the list `but`, which ends with
 * NULL. */
bool sema_attrs(struct sema *s, enum op_kind kind, ast_id keys, const char *const *but, attrs_id *out);
/* Reads a team= list: (0 1), or several slices (0 1)(2 3). */
bool sema_team(struct sema *s, ast_id team, team_id *out);

/* ---- sema_stmt.c */
void sema_block(struct sema *s, ast_id block); /* statements of the concise surface */
void sema_program(struct sema *s, ast_id program);

/* ---- sema_input.c */
/* Notes the names that are exported; they decide default allocations. */
void sema_note_exports(struct sema *s);
bool sema_is_exported(const struct sema *s, name_id name);
void sema_input(struct sema *s, ast_id stmt);
void sema_export(struct sema *s, ast_id stmt);
/* Reads `random(seed=1)`, `zeros()` and others as an input's data. */
bool sema_initialiser(struct sema *s, ast_id init, struct input *x);

/* ---- sema_nvfuser.c */
void sema_container(struct sema *s, ast_id file, ast_id container);

#endif
