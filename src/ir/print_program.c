/* print_program: prints the text around the statements of a program in the concise surface.
 *
 *     param t = 8
 *     mesh m(x = 2)
 *     program p on m {
 *       input X: f32[t@x]
 *       …                        (print_hir.c)
 *       output Y
 *     } */
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/print.h"
#include "ir/print_hir.h"
#include "ir/print_type.h"
#include <string.h>

/* Prints {0 2 4 6} or {{0 1} {2 3}}. */
static uint32_t print_devices(const struct mesh *x, unsigned axis, uint32_t at, struct buf *out)
{
	buf_putc(out, '{');
	for (uint32_t i = 0; i < x->size[axis]; i++) {
		buf_puts(out, i ? " " : "");
		if (axis + 1 == x->rank)
			buf_printf(out, "%u", x->device[at++]);
		else
			at = print_devices(x, axis + 1, at, out);
	}
	buf_putc(out, '}');
	return at;
}

void print_mesh(const struct module *m, mesh_id id, struct buf *out)
{
	const struct mesh *x = &m->mesh.at[id];
	bool plain = true;
	for (uint32_t i = 0; i < x->device_count; i++)
		plain &= x->device[i] == i;
	buf_puts(out, "mesh ");
	hir_name(m, x->name, out);
	buf_putc(out, '(');
	for (unsigned k = 0; k < x->rank; k++) {
		buf_puts(out, k ? ", " : "");
		hir_name(m, x->axis_name[k], out);
		if (plain)
			buf_printf(out, " = %u", x->size[k]);
	}
	buf_putc(out, ')');
	if (!plain) {
		buf_puts(out, " = ");
		print_devices(x, 0, 0, out);
	}
}

void print_group(const struct module *m, group_id id, struct buf *out)
{
	const struct group *g = &m->group.at[id];
	buf_puts(out, "group ");
	hir_name(m, g->name, out);
	buf_printf(out, "(%u)", g->size);
	if (g->members) {
		const struct team *t = &m->team.at[g->members];
		buf_puts(out, " = {");
		for (uint32_t i = 0; i < t->device_n; i++)
			buf_printf(out, i ? " %u" : "%u", t->device[i]);
		buf_putc(out, '}');
	}
	hir_attrs(m, g->attrs, out);
}

void print_cluster(const struct module *m, struct buf *out)
{
	buf_puts(out, "cluster ");
	hir_name(m, m->recording.name, out);
	hir_attrs(m, m->recording.attrs, out);
}

static void print_declarations(struct module *m, bool ids, struct buf *out)
{
	for (param_id i = 1; i < m->param.n; i++) {
		const struct param *x = &m->param.at[i];
		if (x->meaning)
			continue;
		buf_puts(out, "param ");
		expr_print_param_hir(m, i, out);
		if (x->has_value)
			buf_printf(out, " = %lld", (long long)x->value);
		if (ids && x->name && !ir_is_scalar_name(m, x->name))
			buf_printf(out, " as i%d", (int)x->number);
		buf_putc(out, '\n');
	}
	for (mesh_id i = 1; i < m->mesh.n; i++) {
		print_mesh(m, i, out);
		buf_putc(out, '\n');
	}
	if (m->recording.name) {
		print_cluster(m, out);
		buf_putc(out, '\n');
	}
	for (group_id i = 1; i < m->group.n; i++) {
		print_group(m, i, out);
		buf_putc(out, '\n');
	}
}

static void print_input(struct hir_printer *p, const struct input *x)
{
	struct module *m = p->m;
	const struct value *v = &m->value.at[x->value];
	buf_puts(p->out, v->flags & VALUE_INOUT ? "  inout " : "  input ");
	ir_print_value_name(m, x->value, p->out);
	buf_puts(p->out, ": ");
	hir_stated_type(p, v->type);
	hir_memory(m, 0, m->value.at[x->value].type, p->out);
	hir_attrs(m, x->attrs, p->out);
	if (x->init) {
		const struct attrs *l = &m->attrs.at[x->init_args];
		buf_printf(p->out, " = %s(", names_text(m->names, x->init));
		for (uint32_t i = 0; i < l->n; i++) {
			const char *key = names_text(m->names, l->at[i].key);
			buf_puts(p->out, i ? ", " : "");
			if (strcmp(key, "value") && strcmp(key, "path"))
				buf_printf(p->out, "%s=", key);
			hir_attr_value(m, &l->at[i], p->out);
		}
		buf_putc(p->out, ')');
	}
	buf_putc(p->out, '\n');
	hir_schedule(p, x->value, m->value.at[x->value].type, 2);
	hir_ids(p, x->value, 2);
}

static void print_input_param(const struct module *m, param_id id, struct buf *out)
{
	buf_puts(out, "  input param ");
	expr_print_param_hir(m, id, out);
	buf_putc(out, '\n');
}

/* Returns true if the program returns outputs in the order in which it defines them. */
static bool outputs_in_order(const struct module *m)
{
	uint32_t k = 0;
	for (uint32_t i = 0; i < m->input.n; i++)
		if (m->value.at[m->input.at[i].value].flags & VALUE_INOUT &&
		    (k == m->output.n || m->output.at[k++] != m->input.at[i].value))
			return false;
	for (op_id op = m->region.at[m->body].first; op; op = m->op.at[op].next) {
		unsigned exported = 0;
		for (unsigned d = 0; d < m->op.at[op].def_n; d++) {
			value_id v = op_def(m, op, d);
			if (!(m->value.at[v].flags & VALUE_OUTPUT))
				continue;
			exported++;
			if (k == m->output.n || m->output.at[k++] != v)
				return false;
		}
		if (exported && exported != m->op.at[op].def_n)
			return false; /* `output` would export all results of the statement */
	}
	return k == m->output.n;
}

void ir_print_hir(struct module *m, struct buf *out)
{
	struct hir_printer p = {
	    .m = m, .out = out, .outputs_inline = outputs_in_order(m), .ids = !ir_numbers_are_default(m)};
	struct ir_numbers *saved = NULL;
	if (p.ids || ir_has_nameless(m)) {
		saved = ir_numbers_save(m);
		ir_number(m);
	} else {
		ir_find_names_meet(m);
	}
	print_declarations(m, p.ids, out);
	buf_puts(out, "program ");
	hir_name(m, m->name, out);
	if (m->default_mesh) {
		buf_puts(out, " on ");
		hir_name(m, m->mesh.at[m->default_mesh].name, out);
	}
	buf_puts(out, " {\n");
	for (uint32_t i = 0, k = 0; i <= m->input.n; i++) {
		for (; k < m->input_param.n && m->input_param.at[k].before == i; k++)
			print_input_param(m, m->input_param.at[k].param, out);
		if (i < m->input.n)
			print_input(&p, &m->input.at[i]);
	}
	hir_region(&p, m->body, 2);
	for (uint32_t i = 0; i < m->output.n && !p.outputs_inline; i++) {
		if (m->value.at[m->output.at[i]].flags & VALUE_INOUT)
			continue;
		buf_puts(out, "  output ");
		ir_print_value_name(m, m->output.at[i], out);
		buf_putc(out, '\n');
	}
	buf_puts(out, "}\n");
	hir_printer_free(&p);
	if (saved)
		ir_numbers_restore(m, saved);
}
