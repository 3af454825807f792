/* print_printed: names, attributes, axes and tensors in the nvFuser surface.
 *
 *     T0_g___bfloat[istreamIdx7{3}, ideviceIdx.x9{2}, iS8{( ceilDiv(i0, 3) )}] (DeviceMesh{0 1}) */
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print_nvfuser.h"
#include "ir/spelling.h"
#include <string.h>

static void put_expr(struct nvfuser *p, expr_id e)
{
	expr_print_nvfuser(p->m, e, p->out);
}

void nvfuser_name(struct nvfuser *p, name_id name)
{
	/* words of the body that are plain names elsewhere */
	static const char *const words[] = {
	    "FOR", "IF", "ELSE", "Manual", "Stream", "StartCoalescing", "EndCoalescing", "Deallocate"};
	const char *text = names_text(p->m->names, name);
	for (unsigned i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i], text)) {
			buf_printf(p->out, "`%s`", text);
			return;
		}
	spelling_put_name(p->out, text);
}

/* Keys are words of the concise surface or not: reserved words need no backquotes there. */
static void put_attr_key(struct nvfuser *p, name_id key)
{
	const char *text = names_text(p->m->names, key);
	size_t at = p->out->n;
	nvfuser_name(p, key);
	if (p->out->at[at] == '`' && strspn(text, "abcdefghijklmnopqrstuvwxyz") == strlen(text)) {
		p->out->n = at;
		buf_puts(p->out, text);
	}
	buf_putc(p->out, '=');
}

void nvfuser_attr(struct nvfuser *p, const struct attr *a)
{
	put_attr_key(p, a->key);
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT:
		buf_puti(p->out, a->u.i);
		return;
	case ATTR_FLOAT:
		spelling_put_double(p->out, a->u.f);
		return;
	case ATTR_NAME:
		nvfuser_name(p, a->u.name);
		return;
	case ATTR_STRING:
		spelling_put_string(p->out, names_text(p->m->names, a->u.name));
		return;
	case ATTR_EXPR:
		put_expr(p, a->u.expr);
		return;
	case ATTR_INTS:
	case ATTR_EXPRS:
		break;
	}
	bool ints = a->kind == ATTR_INTS;
	buf_putc(p->out, ints ? '(' : '[');
	for (uint32_t i = 0; i < a->n; i++) {
		buf_puts(p->out, i ? ", " : "");
		if (ints)
			buf_puti(p->out, a->u.ints[i]);
		else
			put_expr(p, a->u.exprs[i]);
	}
	buf_putc(p->out, ints ? ')' : ']');
}

static void put_mesh_axis(struct nvfuser *p, unsigned rank, unsigned axis)
{
	unsigned from_last = rank - 1 - axis;
	buf_putc(p->out, from_last < 3 ? "xyz"[from_last] : (char)('0' + from_last));
}

void nvfuser_axis(struct nvfuser *p, value_id v, unsigned axis)
{
	const struct type *t = value_type(p->m, v);
	const struct axis *a = &ir_domain(p->m, t->domain)->axis[axis];
	buf_putc(p->out, a->kind == AXIS_REDUCE ? 'r' : a->kind == AXIS_BROADCAST ? 'b' : 'i');
	switch ((enum axis_place)a->place) {
	case PLACE_NONE:
		buf_putc(p->out, 'S');
		break;
	case PLACE_SERIAL:
		buf_puts(p->out, "serialIdx");
		break;
	case PLACE_STREAM:
		buf_puts(p->out, "streamIdx");
		break;
	case PLACE_MESH:
		buf_puts(p->out, "deviceIdx.");
		put_mesh_axis(p, ir_mesh(p->m, t->mesh)->rank, a->mesh_axis);
		break;
	}
	buf_puti(p->out, ir_axis_number(p->m, v, axis));
	buf_putc(p->out, '{');
	int64_t extent;
	if (a->kind == AXIS_BROADCAST && !(expr_is_const(p->m, a->extent, &extent) && extent == 1))
		buf_puts(p->out, "1 ex ");
	put_expr(p, a->extent);
	buf_puts(p->out, a->rf ? "}rf" : "}");
}

/* {0 1} or {{0 1}{2 3}} */
static uint32_t put_devices(struct nvfuser *p, const struct mesh *x, unsigned axis, uint32_t at)
{
	buf_putc(p->out, '{');
	for (uint32_t i = 0; i < x->size[axis]; i++) {
		if (axis + 1u < x->rank)
			at = put_devices(p, x, axis + 1, at);
		else
			buf_printf(p->out, i ? " %u" : "%u", x->device[at++]);
	}
	buf_putc(p->out, '}');
	return at;
}

void nvfuser_tensor(struct nvfuser *p, value_id v)
{
	static const char *const memory[] = {
	    [MEMORY_GLOBAL] = "_g_", [MEMORY_LOCAL] = "_l_", [MEMORY_SYMMETRIC] = "_sym_"};
	const struct type *t = value_type(p->m, v);
	const struct domain *d = ir_domain(p->m, t->domain);
	buf_putc(p->out, 'T');
	buf_puti(p->out, p->m->value.at[v].number);
	buf_puts(p->out, memory[t->memory]);
	buf_puts(p->out, dtype_nvfuser_name((enum dtype)t->dtype));
	buf_putc(p->out, '[');
	for (unsigned i = 0; i < d->loop_n; i++) {
		buf_puts(p->out, i ? ", " : "");
		nvfuser_axis(p, v, d->loop[i]);
	}
	buf_putc(p->out, ']');
	if (t->mesh) {
		buf_puts(p->out, " (DeviceMesh");
		put_devices(p, ir_mesh(p->m, t->mesh), 0, 0);
		buf_putc(p->out, ')');
	}
}
