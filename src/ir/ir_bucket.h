/* ir_bucket: which Communications one can stand for, and its types.
 *
 *     A1: f32[16] = allgather(A, axis=x) as a       A: f32[16@x]        P: f32[2@x, 20] = pack(A, B)
 *     B1: f32[8, 3] = allgather(B, axis=x) as b     B: f32[8@x, 3]   →  G: f32[2, 20] = allgather(P, axis=x)
 *
 * A member is an allgather, reduce_scatter or allreduce along axes of a mesh, waited for once, in its block,
 * which the caller checks. Packing takes for granted that the ranks' parts of its tensor stand
 * one after the other in memory: so it is of 16@x, and not of [4, 16@x] in row-major order. A gathered tensor
 * of several dtypes is u8. Operands may be views; members that write into buffers share no bucket with those
 * that make their results. */
#ifndef HIRC_IR_IR_BUCKET_H
#define HIRC_IR_IR_BUCKET_H
#include "ir/ir.h"

/* Returns the reason why a Communication is no member of any bucket; NULL: it may be one. Params have
 * values. */
const char *ir_bucket_refusal(struct module *m, op_id comm);
/* Members of one kind, team, backend, op= and, but for allgathers, dtype are of one bucket if these are
 * equal, too.
 */
uint64_t ir_bucket_key(const struct module *m, op_id comm);
/* The blocks in which a bucket's Communication moves things: blocks= of its pack or unpack. */
int64_t ir_bucket_blocks(const struct module *m, op_id comm);
/* The types of the packed tensor of n members, and of the Communication's result. */
void ir_bucket_types(struct module *m, const op_id *comm, unsigned n, type_id *packed, type_id *result);

#endif
