/* print_type: prints types in the concise surface, and the schedule for layouts without sugar. */
#include "ir/print_type.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include "ir/print.h"
#include "ir/spelling.h"
#include <string.h>

static void put_name(const struct module *m, name_id name, struct buf *out)
{
	spelling_put_name(out, names_text(m->names, name));
}

static void print_place(const struct module *m, const struct sugar_place *p, const struct mesh *mesh,
                        struct buf *out)
{
	buf_putc(out, '@');
	switch ((enum sugar_kind)p->kind) {
	case SUGAR_MESH:
		put_name(m, mesh->axis_name[p->mesh_axis], out);
		return;
	case SUGAR_SWIZZLE:
		buf_puts(out, "swizzle1d(");
		put_name(m, mesh->axis_name[p->mesh_axis], out);
		break;
	case SUGAR_STREAM:
		buf_puts(out, "stream(");
		break;
	case SUGAR_SERIAL:
		buf_puts(out, "serial(");
		break;
	case SUGAR_BLOCK:
		buf_puts(out, "block(");
		break;
	}
	if (p->kind != SUGAR_SWIZZLE)
		expr_print_hir(m, p->factor, out);
	buf_putc(out, ')');
}

/* Prints an axis. The extent needs parentheses before a placement only if it is a sum or comparison. */
static void print_axis(const struct module *m, const struct sugar_axis *a, const struct mesh *mesh,
                       struct buf *out)
{
	expr_print_hir(m, a->extent, out);
	for (unsigned k = 0; k < a->place_n; k++)
		print_place(m, &a->place[k], mesh, out);
}

static void print_sugar(const struct module *m, type_id id, const struct sugar *s, struct buf *out)
{
	const struct type *t = &m->type.at[id];
	const struct mesh *mesh = &m->mesh.at[t->mesh];
	buf_puts(out, dtype_name(t->dtype));
	buf_putc(out, '[');
	for (unsigned i = 0; i < s->rank; i++) {
		buf_puts(out, i ? ", " : "");
		print_axis(m, &s->axis[i], mesh, out);
	}
	buf_putc(out, ']');
	if (t->mesh != m->default_mesh) {
		buf_puts(out, " on ");
		if (t->mesh)
			put_name(m, mesh->name, out);
		else
			buf_puts(out, "none");
	}
	bool partial = false, reduce = false;
	for (unsigned i = s->rank; i < s->axis_n; i++)
		if (s->axis[i].kind == AXIS_PARTIAL) {
			buf_puts(out, " partial");
			if (s->axis[i].reduce != REDUCE_SUM)
				buf_printf(out, " %s", reduce_op_name(s->axis[i].reduce));
			buf_putc(out, '(');
			put_name(m, mesh->axis_name[s->axis[i].place[0].mesh_axis], out);
			buf_putc(out, ')');
			partial = true;
		}
	for (unsigned i = s->rank; i < s->axis_n; i++)
		if (s->axis[i].kind == AXIS_REDUCE) {
			buf_puts(out, reduce ? ", " : " reduce(");
			if (s->axis[i].rf != partial)
				buf_puts(out, "rf ");
			print_axis(m, &s->axis[i], mesh, out);
			reduce = true;
		}
	buf_puts(out, reduce ? ")" : "");
}

/* Finds the sugar that a type starts from if no sugar expresses all of it: the extents, and the mesh
 * axes of hidden axes. */
static void base_sugar(const struct module *m, domain_id id, struct sugar *s)
{
	const struct domain *d = &m->domain.at[id];
	sugar_extents(m, id, s);
	for (unsigned i = d->rank; i < d->logical_n; i++)
		if (d->axis[i].place == PLACE_MESH)
			s->axis[i].place[s->axis[i].place_n++] =
			    (struct sugar_place){.kind = SUGAR_MESH, .mesh_axis = d->axis[i].mesh_axis};
}

void print_type_stated(struct module *m, type_id id, struct buf *out)
{
	struct sugar s;
	const struct type t = m->type.at[id];
	if (!sugar_from_domain(m, t.domain, t.mesh, &s))
		base_sugar(m, t.domain, &s);
	print_sugar(m, id, &s, out);
}

void ir_print_type(struct module *m, type_id t, struct buf *out)
{
	if (m->type.at[t].mesh == m->default_mesh || !m->type.at[t].mesh) {
		mesh_id mesh = m->default_mesh;
		m->default_mesh = m->type.at[t].mesh; /* messages omit `on none` */
		print_type_stated(m, t, out);
		m->default_mesh = mesh;
	} else {
		print_type_stated(m, t, out);
	}
}

static void separator(struct buf *out, bool *any)
{
	buf_puts(out, *any ? "; " : "");
	*any = true;
}

static void print_positions(const uint8_t *at, unsigned n, struct buf *out)
{
	buf_putc(out, '(');
	for (unsigned i = 0; i < n; i++)
		buf_printf(out, i ? ", %u" : "%u", at[i]);
	buf_putc(out, ')');
}

static unsigned find_axis_position(const uint8_t *list, uint8_t axis)
{
	return (unsigned)((const uint8_t *)memchr(list, axis, IR_MAX_AXES) - list);
}

/* Prints the transforms after the base, as primitives. */
static void print_transforms(struct module *m, const struct domain *d, mesh_id mesh_id_,
                             struct domain_builder *b, struct buf *out, bool *any)
{
	const struct mesh *mesh = &m->mesh.at[mesh_id_];
	for (unsigned i = 0; i < d->xform_n; i++) {
		const struct xform *x = &d->xform[i];
		unsigned pos = find_axis_position(b->loop, x->in[0]);
		separator(out, any);
		switch ((enum xform_kind)x->kind) {
		case XFORM_SPLIT_OUTER:
		case XFORM_SPLIT_INNER:
			buf_printf(out, "split %u %s ", pos,
			           x->kind == XFORM_SPLIT_INNER ? "inner" : "outer");
			expr_print_hir(m, x->factor, out);
			domain_split(m, b, pos, x->factor, x->kind == XFORM_SPLIT_INNER);
			break;
		case XFORM_MERGE: {
			unsigned other = find_axis_position(b->loop, x->in[1]);
			if (other != pos + 1) { /* brings the second axis next to the first */
				uint8_t perm[IR_MAX_AXES], n = 0;
				for (uint8_t k = 0; k < b->loop_n; k++) {
					if (k != other)
						perm[n++] = k;
					if (k == pos)
						perm[n++] = (uint8_t)other;
				}
				buf_puts(out, "reorder ");
				print_positions(perm, n, out);
				buf_puts(out, "; ");
				domain_reorder(b, perm, n);
				pos = find_axis_position(b->loop, x->in[0]);
			}
			buf_printf(out, "merge %u", pos);
			domain_merge(m, b, pos);
			break;
		}
		case XFORM_SWIZZLE1D:
			buf_printf(out, "swizzle1d %u ", pos);
			put_name(m, mesh->axis_name[x->mesh_axis], out);
			domain_swizzle1d(m, b, pos, mesh, x->mesh_axis);
			break;
		}
	}
	for (unsigned i = 0; i < b->loop_n; i++) {
		const struct axis *want = &d->axis[b->loop[i]];
		if (want->place == b->axis[b->loop[i]].place)
			continue;
		separator(out, any);
		buf_printf(out, "parallelize %u ", i);
		if (want->place == PLACE_MESH)
			put_name(m, mesh->axis_name[want->mesh_axis], out);
		else
			buf_puts(out, want->place == PLACE_STREAM ? "stream" : "serial");
		domain_parallelize(m, b, i, (enum axis_place)want->place, mesh, want->mesh_axis);
	}
	if (memcmp(b->loop, d->loop, d->loop_n)) {
		uint8_t perm[IR_MAX_AXES];
		for (unsigned i = 0; i < d->loop_n; i++)
			perm[i] = (uint8_t)find_axis_position(b->loop, d->loop[i]);
		separator(out, any);
		buf_puts(out, "reorder ");
		print_positions(perm, d->loop_n, out);
		domain_reorder(b, perm, d->loop_n);
	}
}

bool print_type_schedule(struct module *m, type_id id, bool io, struct buf *out)
{
	struct sugar s;
	const struct type t = m->type.at[id];
	const struct domain d = m->domain.at[t.domain];
	struct domain_builder b;
	domain_id base;
	unsigned offending;
	bool any = false, sugar = sugar_from_domain(m, t.domain, t.mesh, &s);
	if (!sugar)
		base_sugar(m, t.domain, &s);
	if (sugar_expand(m, &s, t.mesh, io, &base, &offending))
		return false;
	if (base == t.domain)
		return false;
	domain_edit(&b, &m->domain.at[base]);
	buf_puts(out, " { ");
	if (!sugar)
		print_transforms(m, &d, t.mesh, &b, out, &any);
	domain_allocate_default(&b, io);
	bool unstreamed;
	uint8_t perm[IR_MAX_AXES];
	if ((b.alloc_n != d.alloc_n || memcmp(b.alloc, d.alloc, d.alloc_n)) &&
	    domain_allocation_order(&d, &unstreamed, perm)) {
		separator(out, &any);
		buf_puts(out, unstreamed ? "allocation unstreamed " : "allocation ");
		print_positions(perm, d.alloc_n, out);
	}
	if (memchr(d.contiguous, 0, d.alloc_n)) {
		separator(out, &any);
		buf_puts(out, "contiguity (");
		for (unsigned i = 0; i < d.alloc_n; i++)
			buf_printf(out, i ? ", %c" : "%c", d.contiguous[i] ? 't' : 'f');
		buf_putc(out, ')');
	}
	buf_puts(out, " }");
	return true;
}
