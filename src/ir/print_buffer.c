/* print_buffer: prints statements about buffers and their views in nvFuser's form.
 *
 *     T1_g_float[iS1{8}] = ALLOCATE(buffer=T1_g_float[iS1{8}], mem_type=global, size=8, ...)
 *     T2_g_float[iS2{4}] = ShardByStream(T1_g_float[iS1{8}], stream_index = i0) */
#include "ir/expr.h"
#include "ir/print_nvfuser.h"
#include "ir/printed.h"
#include <string.h>

static bool is_true(const struct nvfuser *p, op_id op, const char *key)
{
	const struct attr *a = op_attr(p->m, op, key);
	return a && a->kind == ATTR_NAME && !strcmp(names_text(p->m->names, a->u.name), "true");
}

void nvfuser_allocate(struct nvfuser *p, op_id op)
{
	static const char *const memory[] = {
	    [MEMORY_GLOBAL] = "global", [MEMORY_LOCAL] = "register", [MEMORY_SYMMETRIC] = "symmetric"};
	static const char *const shown[] = {"zero_init", "resets_to_zero", NULL};
	value_id v = op_result(p->m, op, 0);
	nvfuser_results(p, op);
	buf_puts(p->out, " = ALLOCATE(buffer=");
	nvfuser_tensor(p, v);
	buf_printf(p->out, ", mem_type=%s, size=", memory[value_type(p->m, v)->memory]);
	expr_id size = printed_size(p->m, value_domain(p->m, v));
	if (size)
		expr_print_nvfuser(p->m, size, p->out);
	else
		buf_putc(p->out, '0'); /* the size exceeds 64 bits */
	buf_printf(p->out, ", zero_init=%s", is_true(p, op, "zero_init") ? "true" : "false");
	buf_printf(p->out, ", resets_to_zero=%s", is_true(p, op, "resets_to_zero") ? "true" : "false");
	nvfuser_other_attrs(p, op, shown);
	buf_putc(p->out, ')');
}

void nvfuser_deallocate(struct nvfuser *p, op_id op, unsigned level)
{
	buf_puts(p->out, "Deallocate {\n");
	buf_pad(p->out, ' ', (level + 1) * NVFUSER_STEP);
	nvfuser_tensor(p, op_operand_id(p->m, op, ROLE_FREE, 0));
	buf_putc(p->out, '\n');
	buf_pad(p->out, ' ', level * NVFUSER_STEP);
	buf_putc(p->out, '}');
}

void nvfuser_select(struct nvfuser *p, op_id op, unsigned level)
{
	static const char *const shown[] = {"axis", NULL};
	value_id from = op_read(p->m, op, 0);
	nvfuser_results(p, op);
	nvfuser_next_line(p, level);
	buf_puts(p->out, "= HirAliasSelect( ");
	nvfuser_tensor(p, from);
	buf_puts(p->out, ", axis = ");
	nvfuser_axis(p, from, (unsigned)op_attr_int(p->m, op, "axis", 0));
	buf_puts(p->out, ", index = ");
	nvfuser_scalar(p, op_operand_id(p->m, op, ROLE_SCALAR, 0));
	nvfuser_other_attrs(p, op, shown);
	buf_puts(p->out, " )");
}

void nvfuser_shard_by_stream(struct nvfuser *p, op_id op)
{
	static const char *const shown[] = {NULL};
	nvfuser_results(p, op);
	buf_puts(p->out, " = ShardByStream(");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_puts(p->out, ", stream_index = ");
	nvfuser_scalar(p, op_operand_id(p->m, op, ROLE_SCALAR, 0));
	nvfuser_other_attrs(p, op, shown);
	buf_putc(p->out, ')');
}

void nvfuser_symmetric_view(struct nvfuser *p, op_id op)
{
	static const char *const shown[] = {NULL};
	nvfuser_results(p, op);
	buf_puts(p->out, " = SymmetricContiguousView(");
	nvfuser_tensor(p, op_read(p->m, op, 0));
	nvfuser_other_attrs(p, op, shown);
	buf_putc(p->out, ')');
}
