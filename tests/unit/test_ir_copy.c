/* Tests of copies of programs: they print alike, and changing one does not change the other. */
#include "check.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "parse/ast.h"
#include "parse/sema.h"
#include <stdlib.h>

static const char text[] = "mesh m(x = 2)\n"
                           "program p on m {\n"
                           "  input X: f32[8@x, 4]\n"
                           "  input W: f32[6, 4]\n"
                           "  G: f32[8, 4] = set(X)\n"
                           "  output Y: f32[8, 6] = linear(G, W)\n"
                           "}\n";

static char *print(struct module *m)
{
	struct buf out = {0};
	ir_print_hir(m, &out);
	return out.at;
}

static op_id find(struct module *m, enum op_kind kind)
{
	op_id op = ir_walk_first(m);
	while (op && m->op.at[op].kind != kind)
		op = ir_walk(m, op);
	return op;
}

/* Removes the set, and makes a new expression. */
static void change(struct module *m)
{
	op_id set = find(m, OP_SET), linear = find(m, OP_LINEAR);
	value_id from = op_read(m, set, 0), to = op_def(m, set, 0);
	for (unsigned i = 0; i < m->op.at[linear].operand_n; i++)
		if (ir_operand(m, linear, i)->id == to)
			ir_operand_set(m, m->op.at[linear].operand + i, from);
	ir_remove(m, set);
	expr_id e = expr_const(m, 4711);
	CHECK(e == m->expr.n - 1);
	CHECK(expr_const(m, 4711) == e);
}

static void test_copy(void)
{
	struct diag *d = diag_new(stdout, DIAG_TEXT, 0);
	struct source *s = source_from_text("p.hir", text, sizeof text - 1);
	diag_set_source(d, s);
	struct ast *a = ast_parse(d, s);
	struct module *m = sema_build(d, a, &(struct sema_options){0});
	ast_free(a);
	struct module *n = module_copy(m);
	char *before = print(m), *copied = print(n);
	CHECK_STR(copied, before);
	change(n);
	char *changed = print(n), *after = print(m);
	CHECK(!strstr(changed, "set("));
	CHECK_STR(after, before);
	uint32_t exprs = m->expr.n;
	module_free(n);
	change(m); /* the copy's new expression is not in it */
	CHECK_EQ(m->expr.n, exprs + 1);
	char *again = print(m);
	CHECK_STR(again, changed);
	free(before), free(copied), free(changed), free(after), free(again);
	module_free(m);
	source_free(s);
	diag_free(d);
}

int main(void)
{
	test_copy();
	return check_result();
}
