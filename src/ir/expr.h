/* expr: integer expressions over constants, params, loop indices and the rank.
 *
 * Expressions are hash-consed. Constants fold when an expression is built, in exact 64-bit arithmetic.
 * Builders return 0 on overflow, on division by a zero constant and if `/` leaves a remainder; the
 * caller reports it. Extents have the canonical form of expr_canon, a sum of products with constant
 * factors first, so that two extents are equal iff their ids are. Index expressions keep the form in
 * which they were written. */
#ifndef HIRC_IR_EXPR_H
#define HIRC_IR_EXPR_H
#include "ir/ir.h"

expr_id expr_const(struct module *m, int64_t k);
expr_id expr_param(struct module *m, param_id p);
expr_id expr_index(struct module *m, index_id i);
expr_id expr_rank(struct module *m);
expr_id expr_streams(struct module *m);
expr_id expr_axis_index(struct module *m, mesh_id mesh, unsigned mesh_axis);
expr_id expr_device(struct module *m, mesh_id mesh, unsigned mesh_axis, expr_id k);
/* Returns true if deviceIdx.x of a listing is the rank: nvFuser counts the devices of the job. It is axis_index of the last
 * axis on a mesh of several axes, and on one that holds all devices of the program in order. */
bool expr_device_index_is_rank(const struct module *m);
/* Returns true if the `/` of two numbers is floorDiv in a listing, since one of them varies by iteration or by rank. */
bool expr_division_rounds(const struct module *m, expr_id a, expr_id b);
/* Builds a binary expression, EXPR_ADD … EXPR_OR, or EXPR_NOT with b = 0. */
expr_id expr_op(struct module *m, enum expr_kind kind, expr_id a, expr_id b);
static inline expr_id expr_add(struct module *m, expr_id a, expr_id b)
{
	return expr_op(m, EXPR_ADD, a, b);
}
static inline expr_id expr_mul(struct module *m, expr_id a, expr_id b)
{
	return expr_op(m, EXPR_MUL, a, b);
}
static inline expr_id expr_ceil_div(struct module *m, expr_id a, expr_id b)
{
	return expr_op(m, EXPR_CEIL_DIV, a, b);
}

/* Returns the canonical form; equal polynomials have the same one. ceilDiv(k*e, k) becomes e; other
 * divisions are atoms. Returns 0 on overflow. */
expr_id expr_canon(struct module *m, expr_id e);
bool expr_is_const(const struct module *m, expr_id e, int64_t *out);
static inline bool expr_is_one(const struct module *m, expr_id e)
{
	int64_t k;
	return expr_is_const(m, e, &k) && k == 1;
}
/* Returns e with every use of loop index `from` replaced by `to`; 0 on overflow. */
expr_id expr_replace_index(struct module *m, expr_id e, index_id from, expr_id to);
bool expr_uses_index(const struct module *m, expr_id e, index_id i);

/* The rank, streams and loop indices for the evaluation of an expression. */
struct expr_env {
	int64_t rank;         /* device id; -1: unknown */
	int64_t streams;      /* value of `streams`; INT32_MAX: no limit */
	const int64_t *index; /* by index_id; NULL: none is known */
};
enum expr_status { EXPR_OK, EXPR_UNDEFINED_PARAM, EXPR_OVERFLOW, EXPR_INDIVISIBLE, EXPR_UNKNOWN };
/* Returns the number of a stream: the index modulo `streams`, or the index itself if `streams` is 0. A
 * negative index is then an error that the caller must report. */
static inline int64_t expr_stream(int64_t index, int64_t streams)
{
	return streams > 0 ? (index % streams + streams) % streams : index;
}

/* Computes the exact value. On failure *offending (may be NULL) is the faulty sub-expression: a param
 * without a value, a division with a remainder, or a term that is unknown here (an index, the rank, a
 * rank outside of the mesh). */
enum expr_status expr_eval(const struct module *m, expr_id e, const struct expr_env *env, int64_t *out,
                           expr_id *offending);

/* Finds the index of a device along an axis of a mesh. Returns false if the mesh does not contain the
 * device. */
bool mesh_axis_index(const struct mesh *mesh, uint32_t device, unsigned axis, uint32_t *out);
/* Finds the row-major position of a device. Returns false if the mesh does not contain it. */
bool mesh_position(const struct mesh *mesh, uint32_t device, uint32_t *out);
/* Returns the device whose coordinates are those of position, except index k along axis. */
uint32_t mesh_device_along(const struct mesh *mesh, uint32_t position, unsigned axis, uint32_t k);
/* Returns the axis with this name, or -1. */
int mesh_find_axis(const struct mesh *mesh, name_id name);
bool mesh_same_shape(const struct mesh *a, const struct mesh *b);
bool mesh_equal(const struct mesh *a, const struct mesh *b); /* apart from their names */

/* Print an expression. The concise surface: `4*h`, `ceilDiv(t, 3)`, `(8 + (rank - i)) % 8`. nvFuser's
 * surface: `( i0 * 4 )`, `( ceilDiv(i0, 3) )`; it needs the numbers of params and indices. */
void expr_print_hir(const struct module *m, expr_id e, struct buf *out);
/* Prints why expr_eval failed: `'rank / 2' does not divide`. offending: the faulty sub-expression. */
void expr_print_failure(const struct module *m, expr_id offending, enum expr_status status, struct buf *out);
void expr_print_nvfuser(const struct module *m, expr_id e, struct buf *out);
void expr_print_param_hir(const struct module *m, param_id id, struct buf *out);
void expr_print_param_nvfuser(const struct module *m, param_id id, struct buf *out);

#endif
