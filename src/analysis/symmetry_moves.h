/* symmetry_moves: finds how the value of an expression changes when a turn (symmetry.h) moves the rank
 * that evaluates it.
 *
 *     axis_index(x)                     moves by the step, modulo the size of x
 *     (axis_index(x) + i) % 8           likewise, if 8 is the size of x or divides it
 *     (axis_index(x) + i) % 8 == 0      nothing is known
 *     axis_index(x) % 2                 stays, if the step is even
 *     device(x, (axis_index(x) + 1) % 8)    moves as the ranks do
 *
 * The value is known on one rank only, so every fact returned here holds on all ranks. */
#ifndef HIRC_ANALYSIS_SYMMETRY_MOVES_H
#define HIRC_ANALYSIS_SYMMETRY_MOVES_H
#include "analysis/symmetry.h"
#include "ir/expr.h"

/* Returns true if the expression depends on the rank. */
bool moves_by_rank(const struct module *m, expr_id e);
/* Returns true if the expression has the same value on all ranks of an orbit. env: of the least rank of
 * the orbit, where the expression must have a value. */
bool moves_not(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
               const struct expr_env *env);
/* Finds how a turn moves the value: v becomes (v + *by) % *of; *of is 0 if v stays. Returns false if
 * that is not known. */
bool moves_turning(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
                   const struct expr_env *env, int64_t *by, int64_t *of);
/* Returns true if the value is a rank and the turn moves it as it moves the ranks. */
bool moves_as_rank(const struct symmetry *s, const struct symmetry_turn *t, expr_id e,
                   const struct expr_env *env);

#endif
