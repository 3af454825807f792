/* print_tensor: prints axes and tensors in nvFuser's surface.
 *
 *     T0_g___bfloat[istreamIdx7{3}, ideviceIdx.x9{2}, iS8{( ceilDiv(i0, 3) )}] (DeviceMesh{0 1})
 *
 * Tensors of one type differ only in numbers, so the text between the numbers is made once for a type. A
 * dump prints a tensor several times, often soon after its definition, so the last texts are kept. */
#include "ir/expr.h"
#include "ir/number.h"
#include "ir/number_axes.h"
#include "ir/print_nvfuser.h"
#include <string.h>

static const char *const memory_text[] = {
    [MEMORY_GLOBAL] = "_g_", [MEMORY_LOCAL] = "_l_", [MEMORY_SYMMETRIC] = "_sym_"};

/* ---- axes */

static void put_mesh_axis(unsigned rank, unsigned axis, struct buf *out)
{
	unsigned from_last = rank - 1 - axis;
	buf_putc(out, from_last < 3 ? "xyz"[from_last] : (char)('0' + from_last));
}

/* Prints the part of an axis before its number … */
static void put_axis_head(const struct module *m, const struct type *t, unsigned axis, struct buf *out)
{
	const struct axis *a = &ir_domain(m, t->domain)->axis[axis];
	buf_putc(out, a->kind == AXIS_REDUCE ? 'r' : 'i');
	switch ((enum axis_place)a->place) {
	case PLACE_NONE:
		buf_putc(out, 'S');
		break;
	case PLACE_SERIAL:
		buf_puts(out, "serialIdx");
		break;
	case PLACE_STREAM:
		buf_puts(out, "streamIdx");
		break;
	case PLACE_MESH:
		buf_puts(out, "deviceIdx.");
		put_mesh_axis(ir_mesh(m, t->mesh)->rank, a->mesh_axis, out);
		break;
	}
}

/* … and after it, without the opening brace … */
static void put_axis_extent(const struct module *m, const struct type *t, unsigned axis, struct buf *out)
{
	const struct axis *a = &ir_domain(m, t->domain)->axis[axis];
	expr_print_nvfuser(m, a->extent, out);
	buf_puts(out, a->rf ? "}rf" : "}");
}

/* … and with it. */
static void put_axis_tail(const struct module *m, const struct type *t, unsigned axis, struct buf *out)
{
	buf_putc(out, '{');
	put_axis_extent(m, t, axis, out);
}

void nvfuser_axis(struct nvfuser *p, value_id v, unsigned axis)
{
	const struct type *t = value_type(p->m, v);
	bool broadcast = ir_axis_is_broadcast(p->m, v, axis);
	size_t at = p->out->n;
	put_axis_head(p->m, t, axis, p->out);
	if (broadcast)
		p->out->at[at] = 'b';
	buf_puti(p->out, ir_axis_number(p->m, v, axis));
	if (!broadcast || expr_is_one(p->m, ir_domain(p->m, t->domain)->axis[axis].extent)) {
		put_axis_tail(p->m, t, axis, p->out);
		return;
	}
	buf_puts(p->out, "{1 ex ");
	put_axis_extent(p->m, t, axis, p->out);
}

/* ---- forms */

/* Prints {0 1} or {{0 1}{2 3}}. */
static uint32_t put_devices(const struct mesh *x, unsigned axis, uint32_t at, struct buf *out)
{
	buf_putc(out, '{');
	for (uint32_t i = 0; i < x->size[axis]; i++) {
		if (axis + 1u < x->rank) {
			at = put_devices(x, axis + 1, at, out);
			continue;
		}
		buf_puts(out, i ? " " : "");
		buf_puti(out, x->device[at++]);
	}
	buf_putc(out, '}');
	return at;
}

static void put_mesh(const struct module *m, const struct type *t, struct buf *out)
{
	if (!t->mesh)
		return;
	buf_puts(out, " (DeviceMesh");
	put_devices(ir_mesh(m, t->mesh), 0, 0, out);
	buf_putc(out, ')');
}

static void end_piece(struct nvfuser_forms *f, struct nvfuser_form *form, unsigned axis, unsigned place)
{
	uint32_t start = f->piece.n ? f->piece.at[f->piece.n - 1].end : 0;
	vec_push(&f->piece, (struct nvfuser_piece){
	                        .end = (uint32_t)f->text.n, .axis = (uint8_t)axis, .place = (uint8_t)place});
	form->piece_n++;
	form->room += (uint32_t)f->text.n - start + STR_INT;
}

static void make_form(struct nvfuser *p, type_id id, struct nvfuser_form *form)
{
	const struct type *t = ir_type(p->m, id);
	const struct domain *d = ir_domain(p->m, t->domain);
	struct nvfuser_forms *f = &p->forms;
	struct buf *text = &f->text;
	uint8_t place[IR_MAX_AXES];
	*form = (struct nvfuser_form){.piece = f->piece.n, .text = (uint32_t)text->n, .room = STR_INT + 1};
	number_axis_places(d, place);
	buf_puts(text, memory_text[t->memory]);
	buf_puts(text, dtype_nvfuser_name(t->dtype));
	buf_putc(text, '[');
	for (unsigned i = 0; i < d->loop_n; i++) {
		buf_puts(text, i ? ", " : "");
		put_axis_head(p->m, t, d->loop[i], text);
		end_piece(f, form, d->loop[i], place[d->loop[i]]);
		put_axis_tail(p->m, t, d->loop[i], text);
	}
	buf_putc(text, ']');
	put_mesh(p->m, t, text);
	end_piece(f, form, 0, NUMBER_NO_PLACE);
}

static const struct nvfuser_form *form_of(struct nvfuser *p, type_id t)
{
	while (p->forms.form.n <= t)
		vec_push(&p->forms.form, (struct nvfuser_form){0});
	if (!p->forms.form.at[t].piece_n)
		make_form(p, t, &p->forms.form.at[t]);
	return &p->forms.form.at[t];
}

/* Prints a tensor axis by axis: those that are broadcasts are not in its type. */
static size_t put_broadcast_tensor(struct nvfuser *p, value_id v)
{
	const struct type *t = value_type(p->m, v);
	const struct domain *d = ir_domain(p->m, t->domain);
	size_t at = p->out->n;
	buf_printf(p->out, "T%d%s%s[", (int)p->m->value.at[v].number, memory_text[t->memory],
	           dtype_nvfuser_name((enum dtype)t->dtype));
	for (unsigned i = 0; i < d->loop_n; i++) {
		buf_puts(p->out, i ? ", " : "");
		nvfuser_axis(p, v, d->loop[i]);
	}
	buf_putc(p->out, ']');
	put_mesh(p->m, t, p->out);
	return p->out->n - at;
}

/* Prints a tensor. Returns the number of bytes. */
static size_t put_tensor(struct nvfuser *p, value_id v)
{
	if (number_has_broadcast(p->m, v))
		return put_broadcast_tensor(p, v);
	const struct value *x = ir_value(p->m, v);
	const struct nvfuser_form *form = form_of(p, x->type);
	const struct nvfuser_piece *piece = &p->forms.piece.at[form->piece];
	const int32_t *list = number_axis_list(p->m, v);
	const char *text = p->forms.text.at;
	char *to = buf_reserve(p->out, form->room);
	*to++ = 'T';
	to = str_put_int(to, x->number);
	for (uint32_t i = 0, at = form->text; i < form->piece_n; at = piece[i++].end) {
		memcpy(to, text + at, piece[i].end - at);
		to += piece[i].end - at;
		if (piece[i].place != NUMBER_NO_PLACE)
			to = str_put_int(to, list ? list[piece[i].axis] : x->axis_base + piece[i].place);
	}
	*to = '\0';
	size_t n = (size_t)(to - p->out->at) - p->out->n;
	p->out->n += n;
	return n;
}

void nvfuser_tensor(struct nvfuser *p, value_id v)
{
	struct nvfuser_recent *recent = &p->forms.recent[v % NVFUSER_RECENT];
	if (recent->value == v) {
		buf_putn(p->out, recent->text, recent->n);
		return;
	}
	size_t n = put_tensor(p, v);
	if (n > sizeof recent->text)
		return;
	recent->value = v;
	recent->n = (uint32_t)n;
	memcpy(recent->text, p->out->at + p->out->n - n, n);
}

void nvfuser_forms_free(struct nvfuser_forms *f)
{
	vec_free(&f->form);
	vec_free(&f->piece);
	buf_free(&f->text);
}
