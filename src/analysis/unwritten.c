/* unwritten: an output counts as written when a statement other than its ALLOCATE defines or writes
 * its storage, or when it is allocated with zero_init=true. */
#include "analysis/unwritten.h"
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/print.h"

static bool is_written_operand(const struct module *m, op_id op, const struct operand *x)
{
	if (x->role == ROLE_DEF)
		return m->op.at[op].kind == OP_ALLOCATE ? op_attr(m, op, "zero_init") != NULL
		                                        : !(op_traits(m, op) & TRAIT_VIEW);
	return x->role == ROLE_WRITE;
}

static void warn_unwritten_output(struct module *m, struct diag *d, value_id v)
{
	struct buf name = {0};
	struct ir_numbers *saved = ir_numbers_save(m);
	ir_number(m); /* gives nameless values names such as T3 */
	ir_print_value_name(m, v, &name);
	ir_numbers_restore(m, saved);
	diag_warning(d, W_OUTPUT_UNWRITTEN, m->value.at[v].at, "nothing writes the output '%s'", name.at);
	buf_free(&name);
}

void unwritten_outputs_warn(struct module *m, struct diag *d)
{
	bool *written = mem_zalloc(m->value.n);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		for (unsigned k = 0; k < m->op.at[op].operand_n; k++) {
			const struct operand *x = ir_operand(m, op, k);
			if (is_written_operand(m, op, x))
				written[ir_root(m, x->id)] = true;
		}
	for (uint32_t i = 0; i < m->output.n; i++) {
		value_id root = ir_root(m, m->output.at[i]);
		if (!written[root] && !(m->value.at[root].flags & (VALUE_INPUT | VALUE_INOUT)))
			warn_unwritten_output(m, d, m->output.at[i]);
	}
	free(written);
}
