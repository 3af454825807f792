/* expr_print: prints expressions in either surface.
 *
 * The concise surface prints as few parentheses as possible. nvFuser's surface puts every operation in
 * parentheses, and constants last in products. It has C's operators, so its `/` of a loop index or of the rank is
 * floorDiv; one that must divide is exactDiv there. */
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/spelling.h"

static const struct {
	const char *text;   /* operator with its blanks, or name of the function */
	uint8_t precedence; /* 0: it is a function */
} spelling[EXPR_KIND_COUNT] = {
    [EXPR_OR] = {" or ", 1},          [EXPR_AND] = {" and ", 2}, [EXPR_NOT] = {"not ", 3},
    [EXPR_EQ] = {" == ", 4},          [EXPR_NE] = {" != ", 4},   [EXPR_LT] = {" < ", 4},
    [EXPR_LE] = {" <= ", 4},          [EXPR_GT] = {" > ", 4},    [EXPR_GE] = {" >= ", 4},
    [EXPR_ADD] = {" + ", 5},          [EXPR_SUB] = {" - ", 5},   [EXPR_MUL] = {"*", 6},
    [EXPR_DIV] = {" / ", 6},          [EXPR_MOD] = {" % ", 6},   [EXPR_FLOOR_DIV] = {"floorDiv", 0},
    [EXPR_CEIL_DIV] = {"ceilDiv", 0}, [EXPR_MIN] = {"min", 0},   [EXPR_MAX] = {"max", 0},
};

static void print_name(const struct module *m, name_id name, struct buf *out)
{
	spelling_put_name(out, names_text(m->names, name));
}

static void print_expr(const struct module *m, expr_id e, bool nvfuser, unsigned outer, struct buf *out);

static void print_param(const struct module *m, param_id id, bool nvfuser, struct buf *out)
{
	const struct param *x = &m->param.at[id];
	if (!x->name || (nvfuser && !ir_is_scalar_name(m, x->name)))
		buf_printf(out, "i%d", (int)x->number);
	else
		print_name(m, x->name, out);
}

void expr_print_param_hir(const struct module *m, param_id id, struct buf *out)
{
	print_param(m, id, false, out);
}

void expr_print_param_nvfuser(const struct module *m, param_id id, struct buf *out)
{
	print_param(m, id, true, out);
}

static void print_leaf(const struct module *m, const struct expr *x, bool nvfuser, struct buf *out)
{
	switch (x->kind) {
	case EXPR_CONST:
		buf_puti(out, x->k);
		break;
	case EXPR_PARAM:
		print_param(m, (param_id)x->k, nvfuser, out);
		break;
	case EXPR_INDEX: {
		const struct index *i = &m->index.at[x->k];
		if (!i->name || (nvfuser && !i->by_name))
			buf_printf(out, "i%d", (int)i->number);
		else
			print_name(m, i->name, out);
		break;
	}
	case EXPR_RANK:
		buf_puts(out, "rank");
		break;
	case EXPR_STREAMS:
		buf_puts(out, nvfuser ? "numberOfStreams" : "streams");
		break;
	default:
		break;
	}
}

/* Prints axis_index(x) or device(x, k). The mesh is named unless it is the program's mesh. */
static void print_place(const struct module *m, const struct expr *x, bool nvfuser, struct buf *out)
{
	const struct mesh *mesh = &m->mesh.at[x->k];
	if (nvfuser && x->kind == EXPR_AXIS_INDEX && x->k == m->default_mesh &&
	    !expr_device_index_is_rank(m)) {
		unsigned from_last = mesh->rank - 1u - x->mesh_axis;
		buf_printf(out, "deviceIdx.%c", from_last < 3 ? "xyz"[from_last] : (char)('0' + from_last));
		return;
	}
	buf_puts(out, x->kind == EXPR_DEVICE ? "device(" : "axis_index(");
	print_name(m, mesh->axis_name[x->mesh_axis], out);
	if (x->kind == EXPR_DEVICE) {
		buf_puts(out, ", ");
		print_expr(m, x->a, nvfuser, 0, out);
	}
	if (x->k != m->default_mesh) {
		buf_puts(out, ", ");
		print_name(m, mesh->name, out);
	}
	buf_putc(out, ')');
}

static const char *operator_text(enum expr_kind kind, bool nvfuser)
{
	if (nvfuser && kind == EXPR_AND)
		return " && ";
	if (nvfuser && kind == EXPR_OR)
		return " || ";
	if (nvfuser && kind == EXPR_MUL)
		return " * ";
	return spelling[kind].text;
}

static void print_expr(const struct module *m, expr_id e, bool nvfuser, unsigned outer, struct buf *out)
{
	const struct expr *x = &m->expr.at[e];
	switch (x->kind) {
	case EXPR_CONST:
	case EXPR_PARAM:
	case EXPR_INDEX:
	case EXPR_RANK:
	case EXPR_STREAMS:
		print_leaf(m, x, nvfuser, out);
		return;
	case EXPR_AXIS_INDEX:
	case EXPR_DEVICE:
		print_place(m, x, nvfuser, out);
		return;
	default:
		break;
	}
	enum expr_kind kind = (enum expr_kind)x->kind;
	bool swapped =
	    nvfuser && (kind == EXPR_DIV || kind == EXPR_FLOOR_DIV) && expr_division_rounds(m, x->a, x->b);
	bool exact = swapped && kind == EXPR_DIV;
	if (swapped)
		kind = EXPR_DIV;
	unsigned precedence = exact ? 0 : spelling[kind].precedence;
	if (!precedence) {
		buf_puts(out, nvfuser ? "( " : "");
		buf_printf(out, "%s(", exact ? "exactDiv" : spelling[kind].text);
		print_expr(m, x->a, nvfuser, 0, out);
		buf_puts(out, ", ");
		print_expr(m, x->b, nvfuser, 0, out);
		buf_puts(out, nvfuser ? ") )" : ")");
		return;
	}
	bool parentheses = nvfuser || precedence < outer;
	if (parentheses)
		buf_puts(out, nvfuser ? "( " : "(");
	if (x->kind == EXPR_NOT) {
		buf_puts(out, nvfuser ? "!" : "not ");
		print_expr(m, x->a, nvfuser, 7, out);
	} else if (nvfuser) {
		bool swap = x->kind == EXPR_MUL && m->expr.at[x->a].kind == EXPR_CONST;
		print_expr(m, swap ? x->b : x->a, true, 0, out);
		buf_puts(out, operator_text(kind, true));
		print_expr(m, swap ? x->a : x->b, true, 0, out);
	} else {
		print_expr(m, x->a, false, precedence == 4 ? 5 : precedence,
		           out); /* comparisons do not chain */
		buf_puts(out, operator_text(kind, false));
		print_expr(m, x->b, false, precedence + 1, out);
	}
	if (parentheses)
		buf_puts(out, nvfuser ? " )" : ")");
}

void expr_print_hir(const struct module *m, expr_id e, struct buf *out)
{
	print_expr(m, e, false, 0, out);
}

void expr_print_nvfuser(const struct module *m, expr_id e, struct buf *out)
{
	print_expr(m, e, true, 0, out);
}

void expr_print_failure(const struct module *m, expr_id offending, enum expr_status status, struct buf *out)
{
	static const char *const why[] = {[EXPR_UNDEFINED_PARAM] = "has no value",
	                                  [EXPR_OVERFLOW] = "has no value in 64 bits",
	                                  [EXPR_INDIVISIBLE] = "does not divide",
	                                  [EXPR_UNKNOWN] = "has no value here"};
	buf_putc(out, '\'');
	expr_print_hir(m, offending, out);
	buf_printf(out, "' %s", why[status]);
}
