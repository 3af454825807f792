/* print_unit: prints units in nvFuser's form: where one is posted or launched, and its text.
 *
 *     PostOnStream (HostUnit0, Inputs:{T0…, }, Outputs:{T1…, })
 *
 *     HostUnit0: Inputs={T0…, } -> Outputs={T1…, }
 *     …
 *     %kernel { … } */
#include "ir/print_nvfuser.h"
#include "ir/unit.h"
#include <stdlib.h>
#include <string.h>

static const char *unit_prefix(const struct nvfuser *p, op_id op)
{
	return p->m->op.at[op].kind == OP_LAUNCH_KERNEL ? "Group" : "HostUnit";
}

/* Returns the number of a unit whose text no listing shows, from the name of its extern: Group7 or HostUnit7. -1: it
 * has text. */
static int unknown_number(const struct nvfuser *p, op_id op)
{
	if (!ir_unit_is_unknown(p->m, op))
		return -1;
	op_id kernel = p->m->region.at[p->m->op.at[op].region].first;
	const struct attrs *l = &p->m->attrs.at[p->m->op.at[kernel].attrs];
	const struct attr *callee = attrs_find(p->m, p->m->op.at[kernel].attrs, "callee");
	const char *name = callee ? names_text(p->m->names, callee->u.name) : "";
	char *end;
	const char *prefix = unit_prefix(p, op);
	size_t n = strlen(prefix);
	if (l->n != 1 || strncmp(name, prefix, n) != 0 || name[n] < '0' || name[n] > '9' ||
	    strlen(name) > n + 8)
		return -1;
	long number = strtol(name + n, &end, 10);
	return *end ? -1 : (int)number;
}

/* Returns true if the unit has a text. A unit without one may have the number of one with text, if both are in
 * the program: then it has the text of its extern. */
static bool has_text(const struct nvfuser *p, op_id op)
{
	if (unknown_number(p, op) < 0)
		return true;
	for (uint32_t i = 0; i < p->order.unit.n; i++) {
		op_id other = p->order.unit.at[i];
		if (p->m->op.at[other].kind == p->m->op.at[op].kind && unknown_number(p, other) < 0)
			return true;
	}
	return false;
}

/* Returns the number of a unit among the units of its kind. */
static unsigned unit_number(const struct nvfuser *p, op_id op)
{
	unsigned n = 0;
	if (!has_text(p, op))
		return (unsigned)unknown_number(p, op);
	for (uint32_t i = 0; p->order.unit.at[i] != op; i++)
		n += p->m->op.at[p->order.unit.at[i]].kind == p->m->op.at[op].kind;
	return n;
}

static void put_tensors(struct nvfuser *p, const value_id *list, uint32_t n, const char *after)
{
	for (uint32_t i = 0; i < n; i++) {
		nvfuser_tensor(p, list[i]);
		buf_puts(p->out, i + 1 < n ? ", " : after);
	}
}

/* Prints the scalars of a unit without a text, behind its inputs. */
static void put_unit_scalars(struct nvfuser *p, op_id op, const char *first, const char *before,
                             const char *after)
{
	if (has_text(p, op))
		return;
	op_id kernel = p->m->region.at[p->m->op.at[op].region].first;
	for (unsigned k = 0; k < op_role_count(p->m, kernel, ROLE_SCALAR); k++) {
		buf_puts(p->out, k ? before : first);
		nvfuser_scalar(p, op_operand_id(p->m, kernel, ROLE_SCALAR, k));
		buf_puts(p->out, after);
	}
}

void nvfuser_unit(struct nvfuser *p, op_id op, unsigned level)
{
	struct ir_unit_operands x;
	ir_unit_operands_find(p->m, op, &x);
	if (p->m->op.at[op].kind == OP_LAUNCH_KERNEL) {
		int in = (int)((level + 1) * NVFUSER_STEP);
		buf_printf(p->out, "LaunchKernel(\n%*sGroup ID: %u,\n%*sInputs: {", in, "",
		           unit_number(p, op), in, "");
		put_tensors(p, x.in.at, x.in.n, "");
		put_unit_scalars(p, op, x.in.n ? ", " : "", ", ", "");
		buf_printf(p->out, "},\n%*sOutputs: {", in, "");
		put_tensors(p, x.out.at, x.out.n, "");
		buf_printf(p->out, "},\n%*s)", (int)(level * NVFUSER_STEP), "");
	} else {
		buf_printf(p->out, "PostOnStream (HostUnit%u, Inputs:{", unit_number(p, op));
		put_tensors(p, x.in.at, x.in.n, ", ");
		put_unit_scalars(p, op, "", "", ", ");
		buf_puts(p->out, "}, Outputs:{");
		put_tensors(p, x.out.at, x.out.n, ", ");
		buf_puts(p->out, "})");
	}
	vec_free(&x.in);
	vec_free(&x.out);
}

static void put_unit_lists(struct nvfuser *p, const char *title, const value_id *list, uint32_t n)
{
	buf_puts(p->out, title);
	for (uint32_t i = 0; i < n; i++) {
		buf_pad(p->out, ' ', NVFUSER_STEP);
		nvfuser_tensor(p, list[i]);
		buf_putc(p->out, '\n');
	}
}

void nvfuser_unit_text(struct nvfuser *p, op_id op)
{
	if (!has_text(p, op))
		return;
	struct ir_unit_operands x;
	ir_unit_operands_find(p->m, op, &x);
	buf_printf(p->out, "\n%s%u: Inputs={", unit_prefix(p, op), unit_number(p, op));
	put_tensors(p, x.in.at, x.in.n, ", ");
	buf_puts(p->out, "} -> Outputs={");
	put_tensors(p, x.out.at, x.out.n, ", ");
	buf_puts(p->out, "}\n");
	put_unit_lists(p, "Inputs:\n", x.in.at, x.in.n);
	put_unit_lists(p, "Outputs:\n", x.out.at, x.out.n);
	buf_puts(p->out, "\n%kernel {\n");
	nvfuser_region(p, p->m->op.at[op].region, 0);
	buf_puts(p->out, "} // %kernel\n");
	vec_free(&x.in);
	vec_free(&x.out);
}
