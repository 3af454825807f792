/* ir_files: see ir_files.h. */
#include "ir/ir_files.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/number.h"

/* Returns the condition that a rank runs a file. */
static expr_id condition_of(struct module *m, const struct ir_ranks *ranks, uint32_t n, uint32_t file)
{
	expr_id any = 0;
	for (uint32_t k = 0; k < n; k++) {
		const struct ir_ranks *r = &ranks[k];
		if (r->file != file)
			continue;
		expr_id first = expr_const(m, r->first), last = expr_const(m, r->last), e = expr_rank(m);
		e = r->first == r->last
		        ? expr_op(m, EXPR_EQ, e, first)
		        : expr_op(m, EXPR_AND, expr_op(m, EXPR_GE, e, first), expr_op(m, EXPR_LE, e, last));
		any = any ? expr_op(m, EXPR_OR, any, e) : e;
	}
	return any;
}

/* Makes a name of a number that the text states: T3, c3, i3. */
static void keep_number(struct module *m, char prefix, int32_t number, name_id *name)
{
	struct buf text = {0};
	if (*name || number < 0)
		return;
	ir_put_default_name(prefix, number, &text);
	*name = names_intern_z(m->names, text.at);
	buf_free(&text);
}

/* Makes names of numbers, since no two things of the joined program can have the same number. */
static void keep_numbers(struct ir_files *f, struct module *m)
{
	for (; f->value < m->value.n; f->value++)
		keep_number(m, 'T', m->value.at[f->value].number, &m->value.at[f->value].name);
	for (; f->op < m->op.n; f->op++)
		keep_number(m, 'c', m->op.at[f->op].number, &m->op.at[f->op].name);
	for (; f->index < m->index.n; f->index++)
		keep_number(m, 'i', m->index.at[f->index].number, &m->index.at[f->index].name);
}

void ir_files_take(struct ir_files *f, struct module *m, const struct ir_ranks *ranks, uint32_t ranks_n)
{
	const uint32_t file = f->branch.n;
	expr_id condition = condition_of(m, ranks, ranks_n, file);
	op_id branch = ir_op_new(m, OP_IF, m->source->file[file].at,
	                         &(struct ir_use){ROLE_SCALAR, ir_scalar_expr(m, condition)}, 1);
	region_id block = ir_region_new(m, branch);
	m->op.at[branch].flags |= OP_FILE;
	vec_push(&f->branch, branch);
	for (op_id op; (op = m->region.at[m->body].first);)
		ir_move_to_end(m, block, op);
	for (; f->input_param_n < m->input_param.n; f->input_param_n++)
		m->input_param.at[f->input_param_n].before += f->input.n;
	for (uint32_t k = 0; k < m->input.n; k++) {
		m->input.at[k].ranks = condition;
		vec_push(&f->input, m->input.at[k]);
	}
	for (uint32_t k = 0; k < m->output.n; k++)
		vec_push(&f->output, m->output.at[k]);
	f->default_mesh = !file || f->default_mesh == m->default_mesh ? m->default_mesh : 0;
	f->deallocates = (!file || f->deallocates) && m->deallocates;
	m->input.n = m->output.n = 0;
	m->default_mesh = 0;
	m->deallocates = false;
	keep_numbers(f, m);
}

void ir_files_join(struct ir_files *f, struct module *m)
{
	for (uint32_t k = 0; k < f->branch.n; k++)
		ir_append(m, m->body, f->branch.at[k]);
	for (uint32_t k = 0; k < f->input.n; k++)
		vec_push(&m->input, f->input.at[k]);
	for (uint32_t k = 0; k < f->output.n; k++)
		vec_push(&m->output, f->output.at[k]);
	m->default_mesh = f->default_mesh;
	m->deallocates = f->deallocates;
	vec_free(&f->branch);
	vec_free(&f->input);
	vec_free(&f->output);
}
