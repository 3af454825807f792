/* ir_bucket: finds which Communications can be merged into one on a packed tensor, and its types.
 *
 *     A1: f32[16] = allgather(A, axis=x) as a       A: f32[16@x]        P: f32[2@x, 20] = pack(A, B)
 *     B1: f32[8, 3] = allgather(B, axis=x) as b     B: f32[8@x, 3]   →  G: f32[2, 20] = allgather(P, axis=x)
 *
 * A member is an allgather, reduce_scatter or allreduce along mesh axes. The caller checks that one wait
 * in its block waits for it. The ranks' parts of its tensor must follow one another in memory, since
 * packing assumes that: they do for 16@x, but not for [4, 16@x] in row-major order. A gathered tensor of
 * several dtypes is u8. Operands may be views. Members that write into buffers cannot share a bucket
 * with members that make their results. */
#ifndef HIRC_IR_IR_BUCKET_H
#define HIRC_IR_IR_BUCKET_H
#include "ir/ir.h"

/* Returns the reason why a Communication cannot be a member of a bucket; NULL if it can. Params must
 * have values. */
const char *ir_bucket_refusal(struct module *m, op_id comm);
/* Returns a key: members may share a bucket if their keys are equal, and also kind, team, backend, op=
 * and, except for allgathers, dtype. */
uint64_t ir_bucket_key(const struct module *m, op_id comm);
/* Returns the number of blocks that a bucket's Communication moves: the blocks= of its pack or unpack. */
int64_t ir_bucket_blocks(const struct module *m, op_id comm);
/* Finds the type of the packed tensor of n members, and that of the Communication's result. */
void ir_bucket_types(struct module *m, const op_id *comm, unsigned n, type_id *packed, type_id *result);

#endif
