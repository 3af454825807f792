/* sema_call: the state of a statement while it is made, shared by sema_operand.c, sema_attr.c,
 * sema_argument.c, sema_team.c, sema_result.c and sema_call.c. */
#ifndef HIRC_PARSE_SEMA_CALL_H
#define HIRC_PARSE_SEMA_CALL_H
#include "parse/sema_internal.h"

enum { FEW_USES = 64, MAX_ATTRS = 64 };

/* A statement that is being made. */
struct call {
	enum op_kind kind;
	ast_id node;
	unsigned read_n, attr_n;
	team_id team;
	ast_id scalar[OP_MAX_SCALARS]; /* by the keys of op_info; 0: absent */
	ast_id axis, team_list, group; /* other keys that are not attributes */
	struct ir_use *read;           /* positional operands and scalars, in order; in `few`, or in the
	                                  arena */
	/* space for the first read_n and attr_n of them */
	struct ir_use few[FEW_USES];
	struct attr attr[MAX_ATTRS];
};

/* Empties a call. Its lists are long, so they are not cleared. */
void call_begin(struct call *c);

/* Finds an operation by its name in the surface that is being read. */
enum op_kind call_find_op(struct sema *s, name_id name);

/* Reports `unknown operation`, with a suggestion. */
void call_unknown_op(struct sema *s, ast_id node);

/* Returns the expression without parentheses around it. */
ast_id call_strip(const struct sema *s, ast_id e);

/* Appends a positional operand. Returns false past the limit. */
bool call_push_read(struct sema *s, struct call *c, struct ir_use use, ast_id at);

/* Appends an index expression. */
bool call_push_scalar(struct sema *s, struct call *c, ast_id e);

/* Reads a number with a point, or arithmetic on numbers with one. Returns false if the expression is none.
 * After an error in it the value is 0. */
bool call_literal(struct sema *s, ast_id e, double *out);

/* Reads an attribute value. */
bool call_attr_value(struct sema *s, ast_id value, struct attr *a);

/* Returns false after reporting an attribute past the limit or a key given twice. */
bool call_may_add_attr(struct sema *s, const struct call *c, const struct attr *a, ast_id node);

/* Appends key=value if the operation takes it. */
bool call_push_attr(struct sema *s, struct call *c, ast_id key);

/* Sorts all arguments of c->node. */
bool call_read_arguments(struct sema *s, struct call *c);

/* Returns true if the operands of an operation are statements, streams or buffers. */
bool call_is_host(enum op_kind kind);

/* Checks the number of operands against ops.def. */
bool call_check_arity(struct sema *s, struct call *c);

/* Appends the scalars that follow the operands, in the order of struct op. */
bool call_push_special(struct sema *s, struct call *c);

/* Sets c->team to the team of a collective. */
bool call_find_team(struct sema *s, struct call *c, const struct sema_result *result);

/* Reads team=(0 1)(2 3). */
bool call_team_from_list(struct sema *s, struct call *c);
/* Finds the axes of a mesh that axis= names. */
bool call_mesh_axes(struct sema *s, const struct call *c, mesh_id mesh, uint8_t *axes, unsigned *count);

/* Sets types[k] to the type of result k. *open: its layout was left out. */
bool call_result_type(struct sema *s, struct call *c, const struct infer_draft *given,
                      const struct sema_result *r, type_id *types, unsigned k, bool *open);

/* Checks that an operation with accumulate=true writes only buffers. */
bool call_check_accumulate(struct sema *s, struct call *c, const struct infer_draft *draft,
                           const struct sema_result *result, unsigned n);
/* Reports an error in a pack or unpack whose operands and results are known. */
void call_check_pack(struct sema *s, op_id op, uint32_t at);

/* Warns of the numbers of a statement that the dtype beside them does not have; see sema_unfit.c. */
void sema_warn_unfit(struct sema *s, op_id op, uint32_t at);
bool call_check_symmetric(struct sema *s, struct call *c, const struct infer_draft *draft);
/* Checks the axis= of a select. */
bool call_check_select(struct sema *s, struct call *c, const struct infer_draft *draft);

#endif
