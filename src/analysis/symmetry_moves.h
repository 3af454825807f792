/* symmetry_moves: how the value of an expression differs on ranks that a turn (symmetry.h) makes of one
 * another.
 *
 *     axis_index(x)                     moves by the step, modulo the size of x
 *     (axis_index(x) + i) % 8           likewise, if 8 is the size of x or divides it
 *     (axis_index(x) + i) % 8 == 0      nothing is known
 *     axis_index(x) % 2                 stays, if the step is even
 *     device(x, (axis_index(x) + 1) % 8)    is the device that the rank's turns into
 *
 * Only facts that hold on all ranks are given, from the value on one. */
#ifndef HIRC_ANALYSIS_SYMMETRY_MOVES_H
#define HIRC_ANALYSIS_SYMMETRY_MOVES_H
#include "analysis/symmetry.h"
#include "ir/expr.h"

/* Returns true if a rank may find another value than its neighbours. */
bool moves_by_rank(const struct module *m, expr_id e);
/* env has the least rank of an orbit, where the expression has a value. True: it has the same on all. */
bool moves_not(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
               const struct expr_env *env);
/* Finds how an expression moves on a turn: v becomes (v + *by) % *of; *of 0: it stays. False: that is not
 * known. */
bool moves_turning(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
                   const struct expr_env *env, int64_t *by, int64_t *of);
/* Returns true if the value is a rank that turns as the ranks do that find it. */
bool moves_as_rank(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
                   const struct expr_env *env);

#endif
