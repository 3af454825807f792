/* print_sections: prints facts that the container cannot express, in sections after it.
 *
 *     TransformPrinter :
 *     T1_g_float[iS4{2}, ideviceIdx.x5{3}]
 *       logical domain: (iS6{6})
 *       contiguity: t t
 *         Split: iS6{6} by factor 3 -> iS4{2}, ideviceIdx.x5{3}
 *       loop domain: (iS4{2}, ideviceIdx.x5{3})
 *     Hirc 1 :
 *       param t = 8192 as i0
 *       name T0 = X
 *
 * A line is printed iff parsing the text without it would give another fact. */
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/keeps_index.h"
#include "ir/number.h"
#include "ir/print.h"
#include "ir/print_nvfuser.h"
#include "ir/print_type.h"
#include "ir/printed.h"
#include "ir/spelling.h"
#include <string.h>

/* ---- TransformPrinter */

static void put_axes(struct nvfuser *p, value_id v, const char *what, const uint8_t *axis, unsigned n)
{
	buf_printf(p->out, "  %s domain: (", what);
	for (unsigned i = 0; i < n; i++) {
		buf_puts(p->out, i ? ", " : "");
		nvfuser_axis(p, v, axis[i]);
	}
	buf_puts(p->out, ")\n");
}

static void put_transform(struct nvfuser *p, value_id v, const struct xform *x)
{
	const struct type *t = value_type(p->m, v);
	buf_puts(p->out, "    ");
	switch ((enum xform_kind)x->kind) {
	case XFORM_SPLIT_OUTER:
	case XFORM_SPLIT_INNER:
		buf_puts(p->out, x->kind == XFORM_SPLIT_OUTER ? "Outer split: " : "Split: ");
		nvfuser_axis(p, v, x->in[0]);
		buf_puts(p->out, " by factor ");
		expr_print_nvfuser(p->m, x->factor, p->out);
		buf_puts(p->out, " -> ");
		nvfuser_axis(p, v, x->out[0]);
		buf_puts(p->out, ", ");
		nvfuser_axis(p, v, x->out[1]);
		break;
	case XFORM_MERGE:
		buf_puts(p->out, "Merge: ");
		nvfuser_axis(p, v, x->in[0]);
		buf_puts(p->out, " and ");
		nvfuser_axis(p, v, x->in[1]);
		buf_puts(p->out, " -> ");
		nvfuser_axis(p, v, x->out[0]);
		break;
	case XFORM_SWIZZLE1D: {
		unsigned from_last = ir_mesh(p->m, t->mesh)->rank - 1u - x->mesh_axis;
		nvfuser_axis(p, v, x->out[0]);
		buf_puts(p->out, " = Swizzle1D(");
		nvfuser_axis(p, v, x->in[0]);
		buf_printf(p->out, ", parallelType=deviceIdx.%c)",
		           from_last < 3 ? "xyz"[from_last] : (char)('0' + from_last));
		break;
	}
	}
	buf_putc(p->out, '\n');
}

/* Returns true if the allocation is the default of the block's context, apart from contiguity. */
static bool is_default_allocation(struct nvfuser *p, value_id v, const struct domain *d)
{
	struct domain_builder b;
	const struct value *x = ir_value(p->m, v);
	bool allocated = x->def && p->m->op.at[x->def].kind == OP_ALLOCATE;
	domain_edit(&b, d);
	printed_allocate(p->m, &b, x->flags & (VALUE_INPUT | VALUE_OUTPUT | VALUE_INOUT),
	                 allocated ? printed_size(p->m, d) : 0);
	return b.alloc_n == d->alloc_n && !memcmp(b.alloc, d->alloc, d->alloc_n);
}

static void put_block(struct nvfuser *p, value_id v)
{
	const struct domain d = *value_domain(p->m, v);
	uint8_t logical[IR_MAX_LOGICAL];
	for (uint8_t i = 0; i < d.logical_n; i++)
		logical[i] = i;
	nvfuser_tensor(p, v);
	buf_putc(p->out, '\n');
	put_axes(p, v, "logical", logical, d.logical_n);
	if (!is_default_allocation(p, v, &d))
		put_axes(p, v, "allocation", d.alloc, d.alloc_n);
	buf_puts(p->out, "  contiguity:");
	for (unsigned i = 0; i < d.alloc_n; i++) {
		unsigned a = d.alloc[i];
		bool none =
		    d.contiguous[i] && (d.axis[a].kind == AXIS_REDUCE || ir_axis_is_broadcast(p->m, v, a));
		buf_puts(p->out, none ? " n" : d.contiguous[i] ? " t" : " f");
	}
	buf_putc(p->out, '\n');
	for (unsigned i = 0; i < d.xform_n; i++)
		put_transform(p, v, &d.xform[i]);
	put_axes(p, v, "loop", d.loop, d.loop_n);
}

static void put_blocks(struct nvfuser *p)
{
	bool any = false;
	for (uint32_t i = 0; i < p->order.value.n; i++) {
		if (!printed_needs_block(p->m, &p->order, p->order.value.at[i]))
			continue;
		buf_puts(p->out, any ? "" : "TransformPrinter :\n");
		any = true;
		put_block(p, p->order.value.at[i]);
		buf_drain(p->out);
	}
}

/* ---- meshes */

void nvfuser_default_mesh_name(unsigned k, struct buf *out)
{
	buf_printf(out, "mesh%u", k);
}

void nvfuser_default_axis_name(unsigned rank, unsigned axis, struct buf *out)
{
	unsigned from_last = rank - 1 - axis;
	if (from_last < 3)
		buf_putc(out, "xyz"[from_last]);
	else
		buf_printf(out, "a%u", from_last);
}

static bool has_name(const struct module *m, name_id name, const struct buf *text)
{
	return !strcmp(names_text(m->names, name), text->at);
}

static bool names_are_default(const struct module *m, mesh_id id, unsigned k)
{
	const struct mesh *x = ir_mesh(m, id);
	struct buf text = {0};
	nvfuser_default_mesh_name(k, &text);
	bool same = has_name(m, x->name, &text);
	for (unsigned i = 0; same && i < x->rank; i++) {
		text.n = 0;
		nvfuser_default_axis_name(x->rank, i, &text);
		same = has_name(m, x->axis_name[i], &text);
	}
	buf_free(&text);
	return same;
}

static bool same_devices(const struct mesh *a, const struct mesh *b)
{
	return a->rank == b->rank && !memcmp(a->size, b->size, sizeof *a->size * a->rank) &&
	       !memcmp(a->device, b->device, sizeof *a->device * a->device_count);
}

/* Returns the mesh that DeviceMesh{…} is parsed as: the first with these devices. */
static mesh_id mesh_as_read(const struct module *m, mesh_id id)
{
	mesh_id i = 1;
	while (i < id && !same_devices(ir_mesh(m, i), ir_mesh(m, id)))
		i++;
	return i;
}

/* Returns true if parsing the tensors alone would give these meshes, in this order and with these names. */
static bool meshes_are_default(struct nvfuser *p)
{
	mesh_id next = 1;
	for (uint32_t i = 0; i < p->order.value.n; i++) {
		mesh_id x = value_type(p->m, p->order.value.at[i])->mesh;
		if (!x || x < next)
			continue;
		if (x != next || mesh_as_read(p->m, x) != x || !names_are_default(p->m, x, x - 1))
			return false;
		next++;
	}
	return next == p->m->mesh.n;
}

static void put_mesh_name(struct nvfuser *p, mesh_id x)
{
	if (x)
		spelling_put_name(p->out, names_text(p->m->names, ir_mesh(p->m, x)->name));
	else
		buf_putc(p->out, '0');
}

/* ---- Hirc */

struct lines {
	struct nvfuser *p;
	bool any;
};

static struct buf *line(struct lines *l)
{
	buf_drain(l->p->out);
	buf_puts(l->p->out, l->any ? "  " : "Hirc 1 :\n  ");
	l->any = true;
	return l->p->out;
}

/* The text of `attr T3 {`, keys separated by `, `, and `}`. */
struct attr_line {
	struct lines *l;
	const char *what;
	int32_t number;
	bool any;
};

static struct buf *print_key(struct attr_line *a, const char *name)
{
	struct buf *out = a->any ? a->l->p->out : line(a->l);
	if (!a->any && a->number >= 0)
		buf_printf(out, "attr %s%d {", a->what, (int)a->number);
	else if (!a->any)
		buf_printf(out, "attr %s {", a->what);
	else
		buf_puts(out, ", ");
	a->any = true;
	if (name)
		buf_printf(out, "%s=", name);
	return out;
}

static void end_attr_line(struct attr_line *a)
{
	buf_puts(a->l->p->out, a->any ? "}\n" : "");
}

static void put_program(struct lines *l)
{
	struct nvfuser *p = l->p;
	struct attr_line a = {l, "program", -1, false};
	mesh_id mesh = 0;
	for (uint32_t i = 0; i < p->order.value.n && !mesh; i++)
		mesh = value_type(p->m, p->order.value.at[i])->mesh;
	if (p->m->name && strcmp(names_text(p->m->names, p->m->name), "main") != 0) {
		print_key(&a, "name");
		spelling_put_name(p->out, names_text(p->m->names, p->m->name));
	}
	if (mesh != p->m->default_mesh) {
		print_key(&a, "mesh");
		put_mesh_name(p, p->m->default_mesh);
	}
	end_attr_line(&a);
}

static void note_param(param_id id, uint32_t *place, uint32_t *n)
{
	if (!place[id])
		place[id] = ++*n;
}

static void note_params(const struct module *m, expr_id e, uint32_t *place, uint32_t *n)
{
	const struct expr *x = &m->expr.at[e];
	if (!(x->flags & EXPR_HAS_PARAM))
		return;
	if (x->kind == EXPR_PARAM) {
		note_param((param_id)x->k, place, n);
		return;
	}
	note_params(m, x->a, place, n);
	note_params(m, x->b, place, n);
}

/* Returns true if a parallel axis with this extent gives the param its value: the size of the mesh axis. */
static bool has_value_by_mesh(struct nvfuser *p, param_id param)
{
	struct module *m = p->m;
	for (uint32_t i = 0; i < p->order.value.n; i++) {
		const struct type *t = value_type(m, p->order.value.at[i]);
		const struct domain *d = ir_domain(m, t->domain);
		for (unsigned a = 0; a < d->loop_n; a++) {
			const struct axis *x = &d->axis[d->loop[a]];
			const struct expr *e = &m->expr.at[x->extent];
			if (x->place == PLACE_MESH && e->kind == EXPR_PARAM && e->k == param)
				return m->param.at[param].value == m->mesh.at[t->mesh].size[x->mesh_axis];
		}
	}
	return false;
}

/* Returns true if the print of a param is its name. */
static bool tells_param(const struct module *m, const struct param *x)
{
	return ir_is_default_name(m, x->name, 'i', x->number) || ir_is_scalar_name(m, x->name);
}

/* Returns the first param from which on parsing would make all params by their use: without name and
 * value, in the order of first use: those of tensors, of the list of inputs, of statements. */
static param_id first_implicit_param(struct nvfuser *p)
{
	struct module *m = p->m;
	uint32_t *place = mem_zalloc(sizeof *place * m->param.n), n = 0;
	bool *seen = mem_zalloc(sizeof *seen * m->domain.n);
	for (uint32_t i = 0; i < p->order.value.n; i++) {
		domain_id id = value_type(m, p->order.value.at[i])->domain;
		const struct domain *d = ir_domain(m, id);
		if (seen[id])
			continue;
		seen[id] = true;
		for (unsigned a = 0; a < d->loop_n; a++)
			note_params(m, d->axis[d->loop[a]].extent, place, &n);
		for (unsigned a = 0; a < d->logical_n; a++)
			note_params(m, d->axis[a].extent, place, &n);
	}
	for (uint32_t i = 0; i < m->input_param.n; i++)
		note_param(m->input_param.at[i].param, place, &n);
	for (uint32_t i = 0; i < p->order.printed_n; i++) {
		uint32_t s = p->order.scalar.at[i];
		if (!(s & PRINT_ORDER_INDEX))
			note_param(s, place, &n);
	}
	param_id first = m->param.n;
	while (first > 1) {
		const struct param *x = &m->param.at[first - 1];
		bool in_order = place[first - 1] && (first == m->param.n || place[first - 1] < place[first]);
		if ((x->has_value && !has_value_by_mesh(p, first - 1)) || x->meaning || !tells_param(m, x) ||
		    !in_order)
			break;
		first--;
	}
	free(place);
	free(seen);
	return first;
}

static void put_declarations(struct lines *l)
{
	struct nvfuser *p = l->p;
	struct module *m = p->m;
	param_id implicit = first_implicit_param(p);
	for (param_id i = 1; i < implicit; i++) {
		const struct param *x = &m->param.at[i];
		if (x->meaning)
			continue;
		struct buf *out = line(l);
		buf_puts(out, "param ");
		if (x->name)
			spelling_put_name(out, names_text(m->names, x->name));
		else
			buf_printf(out, "i%d", (int)x->number);
		if (x->has_value)
			buf_printf(out, " = %lld", (long long)x->value);
		if (!tells_param(m, x))
			buf_printf(out, " as i%d", (int)x->number);
		buf_putc(out, '\n');
	}
	bool stated = !meshes_are_default(p);
	for (mesh_id i = 1; i < m->mesh.n && stated; i++) {
		print_mesh(m, i, line(l));
		buf_putc(p->out, '\n');
	}
	if (m->recording.name) {
		print_cluster(m, line(l));
		buf_putc(p->out, '\n');
	}
	for (group_id i = 1; i < m->group.n; i++) {
		print_group(m, i, line(l));
		buf_putc(p->out, '\n');
	}
}

static void put_name_line(struct lines *l, const char *what, int32_t number, name_id name)
{
	struct buf *out = line(l);
	buf_puts(out, "name ");
	buf_puts(out, what);
	buf_puti(out, number);
	buf_puts(out, " = ");
	spelling_put_name(out, names_text(l->p->m->names, name));
	buf_putc(out, '\n');
}

static void put_names(struct lines *l)
{
	struct module *m = l->p->m;
	const struct print_order *o = &l->p->order;
	for (uint32_t i = 0; i < o->value.n; i++) {
		const struct value *v = ir_value(m, o->value.at[i]);
		if (!ir_is_default_name(m, v->name, 'T', v->number))
			put_name_line(l, "T", v->number, v->name);
	}
	int32_t last = -1;
	for (uint32_t i = 0; i < o->scalar.n; i++) {
		if (!(o->scalar.at[i] & PRINT_ORDER_INDEX))
			continue;
		const struct index *x = &m->index.at[o->scalar.at[i] & ~PRINT_ORDER_INDEX];
		if (!x->by_name && !ir_is_default_name(m, x->name, 'i', x->number) && x->number != last)
			put_name_line(l, "i", x->number, x->name);
		last = x->number;
	}
	for (uint32_t i = 0; i < o->handle.n; i++) {
		const struct handle *h = &m->handle.at[o->handle.at[i]];
		if (ir_is_default_name(m, h->name, 'm', h->number))
			continue;
		struct buf *out = line(l);
		buf_printf(out, "name 0x%x = ", (unsigned)h->number);
		spelling_put_name(out, names_text(m->names, h->name));
		buf_putc(out, '\n');
	}
	for (uint32_t i = 0; i < o->numbered.n; i++) {
		const struct op *x = &m->op.at[o->numbered.at[i]];
		if (!ir_is_default_name(m, x->name, 'c', x->number))
			put_name_line(l, "Communication ", x->number, x->name);
	}
}

static void put_inputs(struct lines *l)
{
	struct nvfuser *p = l->p;
	for (uint32_t i = 0; i < p->m->input.n; i++) {
		const struct input *x = &p->m->input.at[i];
		const struct attrs *args = &p->m->attrs.at[x->init_args];
		if (!x->init)
			continue;
		struct buf *out = line(l);
		buf_printf(out, "input T%d = %s(", (int)ir_value(p->m, x->value)->number,
		           names_text(p->m->names, x->init));
		for (uint32_t k = 0; k < args->n; k++) {
			buf_puts(out, k ? ", " : "");
			nvfuser_attr(p, &args->at[k]);
		}
		buf_puts(out, ")\n");
	}
}

static void put_loops(struct lines *l)
{
	struct module *m = l->p->m;
	for (uint32_t i = 0; i < l->p->order.loop.n; i++) {
		const struct op *o = &m->op.at[l->p->order.loop.at[i]];
		if (m->index.at[m->region.at[o->region].index].by_name ||
		    !print_order_loop_kind_stated(m, l->p->order.loop.at[i]))
			continue;
		int32_t number = m->index.at[m->region.at[o->region].index].number;
		buf_printf(line(l), "loop i%d %s\n", (int)number,
		           o->flags & OP_STREAM_LOOP ? "stream" : "serial");
	}
}

/* Returns the pending operator of all partial axes. -1: there are none but sums; -2: they differ. */
static int partial_operator(const struct domain *d)
{
	int found = -1;
	bool sum = false;
	for (unsigned i = 0; i < d->logical_n; i++) {
		const struct axis *a = &d->axis[i];
		if (a->kind != AXIS_PARTIAL)
			continue;
		sum |= a->reduce == REDUCE_SUM;
		if (a->reduce != REDUCE_SUM && found != a->reduce)
			found = found < 0 ? a->reduce : -2;
	}
	return found >= 0 && sum ? -2 : found;
}

static void put_partials(struct lines *l)
{
	for (uint32_t i = 0; i < l->p->order.value.n; i++) {
		value_id v = l->p->order.value.at[i];
		int reduce = partial_operator(value_domain(l->p->m, v));
		if (reduce >= 0 && !l->p->order.term[v])
			buf_printf(line(l), "partial T%d %s\n", (int)ir_value(l->p->m, v)->number,
			           reduce_op_name(reduce));
	}
}

/* Prints facts about a tensor that its printed form cannot express. */
static void put_tensor_attrs(struct lines *l, value_id v, const struct input *input, bool inout)
{
	struct nvfuser *p = l->p;
	const struct value *x = ir_value(p->m, v);
	const struct type *t = value_type(p->m, v);
	const struct domain *d = ir_domain(p->m, t->domain);
	struct attr_line a = {l, "T", x->number, false};
	if (x->flags & VALUE_OPEN)
		buf_puts(print_key(&a, "layout"), "open");
	if (t->mesh && mesh_as_read(p->m, t->mesh) != t->mesh) {
		print_key(&a, "mesh");
		put_mesh_name(p, t->mesh);
	}
	if (input && inout != ((x->flags & VALUE_INOUT) != 0))
		buf_puts(print_key(&a, "inout"), x->flags & VALUE_INOUT ? "true" : "false");
	bool differ = partial_operator(d) == -2;
	for (unsigned i = 0; differ && i < d->logical_n; i++)
		if (d->axis[i].kind == AXIS_PARTIAL) {
			buf_printf(
			    print_key(&a, NULL), "partial_%s=%s",
			    names_text(p->m->names, ir_mesh(p->m, t->mesh)->axis_name[d->axis[i].mesh_axis]),
			    reduce_op_name(d->axis[i].reduce));
		}
	const struct attrs *list = input ? &p->m->attrs.at[input->attrs] : &p->m->attrs.at[0];
	for (uint32_t i = 0; i < list->n; i++) {
		print_key(&a, NULL);
		nvfuser_attr(p, &list->at[i]);
	}
	end_attr_line(&a);
}

static void put_statement_attrs(struct lines *l, op_id op)
{
	struct nvfuser *p = l->p;
	const struct op *o = &p->m->op.at[op];
	struct attr_line a = {l, "Communication ", o->number, false};
	if (o->kind == OP_DISPATCH || o->kind == OP_COMBINE)
		return; /* they print all their attributes */
	bool posted = p->order.flags[op] & PRINT_POSTED;
	if (op_traits(p->m, op) & TRAIT_P2P) {
		if (posted && !print_order_elides(p->m, &p->order, op))
			buf_puts(print_key(&a, "issue"), "post");
		if (!posted && p->order.flags[op] & PRINT_SHARED_EARLY)
			buf_puts(print_key(&a, "issue"), "here");
		if (infer_device_axis(p->m, p->m->value.at[op_transfer_buffer(p->m, op)].type, -1) >= 0)
			buf_puts(print_key(&a, "buffer"), "whole");
	}
	const struct attrs *list = &p->m->attrs.at[o->attrs];
	for (uint32_t i = 0; i < list->n; i++) {
		const struct attr *x = &list->at[i];
		bool shown = i + 1 == list->n && x->kind == ATTR_NAME &&
		             !strcmp(names_text(p->m->names, x->key), "backend") &&
		             strcmp(names_text(p->m->names, x->u.name), "NCCL") != 0;
		if (shown || !strcmp(names_text(p->m->names, x->key), "by_place"))
			continue;
		print_key(&a, NULL);
		nvfuser_attr(p, x);
	}
	const bool by_place = op_attr_is_true(p->m, op, "by_place");
	if (by_place != ir_is_printed_by_place(p->m, op))
		buf_puts(print_key(&a, "by_place"), by_place ? "true" : "false");
	end_attr_line(&a);
}

/* Says by which rule the axes are printed, if the text would be read by another one. The section alone says that it
 * is hirc's. */
static void put_rule(struct lines *l)
{
	static const char *const line_of[] = {[PRINTED_AS_HALVES] = "attr program {axes=numbered}\n",
	                                      [PRINTED_AS_OWN] = "attr program {axes=own}\n",
	                                      [PRINTED_AS_TWICE] = "attr program {axes=twice}\n"};
	const struct print_order *o = &l->p->order;
	if (o->rule == PRINTED_BY_HIRC && o->rule_stated && !l->any)
		buf_puts(l->p->out, "Hirc 1 :\n");
	else if (o->rule != PRINTED_BY_HIRC && (l->any || o->rule_stated))
		buf_puts(line(l), o->choice ? "attr program {axes=all}\n" : line_of[o->numbers.way]);
}

void nvfuser_sections(struct nvfuser *p)
{
	struct lines l = {.p = p};
	put_blocks(p);
	put_program(&l);
	put_declarations(&l);
	put_names(&l);
	put_inputs(&l);
	put_loops(&l);
	put_partials(&l);
	const struct input **input = mem_zalloc(sizeof *input * p->m->value.n);
	bool *inout = mem_zalloc(sizeof *inout * p->m->value.n);
	for (uint32_t i = 0, k = 0; i < p->m->input.n; i++) {
		value_id v = p->m->input.at[i].value;
		input[v] = &p->m->input.at[i];
		/* default: inputs that are the first outputs, in their order, are written */
		inout[v] = k < p->m->output.n && p->m->output.at[k] == v;
		k += inout[v];
	}
	for (uint32_t i = 0; i < p->order.value.n; i++) {
		value_id v = p->order.value.at[i];
		if (!p->order.term[v])
			put_tensor_attrs(&l, v, input[v], inout[v]);
	}
	free(input);
	free(inout);
	for (uint32_t i = 0; i < p->order.numbered.n; i++)
		put_statement_attrs(&l, p->order.numbered.at[i]);
	put_rule(&l);
}
