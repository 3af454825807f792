/* print_pointwise: prints operations on elements as nvFuser does.
 *
 *     = __bfloat2float(T0…);       a cast between dtypes that C does not convert; else (float)(T0…);
 *     = expf(T0…);                 functions that compute in float have the suffix f
 *     = -T0…;                      ! and ~
 *     = T0…                        + - * / & | ^ << >> and comparisons
 *     == double(2);
 *     = fmax(T0…                   functions of several operands, a line each
 *     , double(2));
 *
 * src/parse/sema_spelling.c reads these forms. */
#include "base/dtype.h"
#include "ir/print_nvfuser.h"

enum form { FUNCTION, PREFIX, INFIX };

/* Returns the sign of an operation, or NULL. */
static const char *sign_of(enum op_kind kind, enum form *form)
{
	static const char *const infix[OP_KIND_COUNT] = {
	    [OP_ADD] = "+",         [OP_SUB] = "-",        [OP_MUL] = "*",         [OP_DIV] = "/",
	    [OP_EQ] = "==",         [OP_NE] = "!=",        [OP_LT] = "<",          [OP_LE] = "<=",
	    [OP_GT] = ">",          [OP_GE] = ">=",        [OP_AND] = "&&",        [OP_OR] = "||",
	    [OP_BITWISE_AND] = "&", [OP_BITWISE_OR] = "|", [OP_BITWISE_XOR] = "^", [OP_SHIFT_LEFT] = "<<",
	    [OP_SHIFT_RIGHT] = ">>"};
	*form = kind == OP_NOT || kind == OP_NEG || kind == OP_BITWISE_NOT ? PREFIX : INFIX;
	return kind == OP_NOT ? "!" : kind == OP_NEG ? "-" : kind == OP_BITWISE_NOT ? "~" : infix[kind];
}

static bool is_f32(const struct nvfuser *p, op_id op)
{
	return value_type(p->m, op_result(p->m, op, 0))->dtype == DTYPE_F32;
}

static void put_name(struct nvfuser *p, op_id op)
{
	enum op_kind kind = (enum op_kind)p->m->op.at[op].kind;
	bool floats = dtype_is_float((enum dtype)value_type(p->m, op_result(p->m, op, 0))->dtype);
	switch (kind) {
	case OP_MAXIMUM:
		buf_puts(p->out, floats ? "fmax" : "max");
		break;
	case OP_MINIMUM:
		buf_puts(p->out, floats ? "fmin" : "min");
		break;
	case OP_MOD:
		buf_puts(p->out, "remainder");
		break;
	case OP_FMOD:
		buf_puts(p->out, is_f32(p, op) ? "fmodf" : "fmod");
		break;
	case OP_ROUND:
		buf_puts(p->out, is_f32(p, op) ? "nearbyintf" : "nearbyint");
		break;
	case OP_GELU:
	case OP_GELU_TANH:
	case OP_SILU:
	case OP_SIGMOID:
		buf_puts(p->out, op_info[kind].hir);
		break;
	default:
		buf_puts(p->out, op_info[kind].hir);
		if (op_info[kind].traits & TRAIT_REAL && is_f32(p, op))
			buf_putc(p->out, 'f');
	}
	buf_putc(p->out, '(');
}

/* Returns the dtype's word in the name of a conversion. */
static const char *conversion_word(enum dtype t, bool to)
{
	const char *name = dtype_nvfuser_name(t);
	if (!dtype_is_integer(t))
		return name + (*name == '_' ? 2 : 0); /* __bfloat */
	return !to || t == DTYPE_I64 ? "int" : dtype_least(t) < 0 ? "int32" : "uint32";
}

static bool is_narrow(enum dtype t)
{
	return dtype_is_float(t) && t != DTYPE_F32 && t != DTYPE_F64;
}

static void put_cast(struct nvfuser *p, op_id op)
{
	enum dtype from = (enum dtype)value_type(p->m, op_read(p->m, op, 0))->dtype,
	           to = (enum dtype)value_type(p->m, op_result(p->m, op, 0))->dtype;
	if (is_narrow(from) || is_narrow(to))
		buf_printf(p->out, "__%s2%s(", conversion_word(from, false), conversion_word(to, true));
	else
		buf_printf(p->out, "(%s)(", dtype_nvfuser_name(to));
	nvfuser_tensor(p, op_read(p->m, op, 0));
	buf_puts(p->out, ");");
}

bool nvfuser_pointwise(struct nvfuser *p, op_id op, unsigned level)
{
	const struct op *o = &p->m->op.at[op];
	enum op_kind kind = (enum op_kind)o->kind;
	enum form form;
	unsigned n = 0;
	if (o->attrs || !(op_info[kind].traits & TRAIT_POINTWISE) || kind == OP_FULL || kind == OP_UNIFORM ||
	    kind == OP_BITCAST)
		return false;
	if (kind == OP_CAST) {
		put_cast(p, op);
		return true;
	}
	const char *sign = sign_of(kind, &form);
	if (kind == OP_FMOD && dtype_is_integer((enum dtype)value_type(p->m, op_result(p->m, op, 0))->dtype))
		sign = "%";
	if (!sign)
		put_name(p, op);
	else if (form == PREFIX)
		buf_puts(p->out, sign);
	for (unsigned i = 0; i < o->operand_n; i++) {
		const struct operand *x = ir_operand(p->m, op, i);
		if (x->role != ROLE_READ && x->role != ROLE_SCALAR)
			continue;
		if (n++) {
			nvfuser_next_line(p, level);
			if (!sign)
				p->out->n--; /* nvFuser has no blank before this comma */
			buf_puts(p->out, sign ? sign : ",");
			buf_putc(p->out, ' ');
		}
		if (x->role == ROLE_READ)
			nvfuser_tensor(p, x->id);
		else
			nvfuser_scalar(p, x->id);
	}
	buf_puts(p->out, sign ? ";" : ");");
	return true;
}
