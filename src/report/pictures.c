/* pictures: layouts, those that change first, and the steps of loops. */
#include "ir/edit.h"
#include "ir/print.h"
#include "report/html.h"
#include "report/parts.h"
#include "show/show_layout.h"
#include "show/show_steps.h"
#include <stdlib.h>
#include <string.h>

enum { OPEN = 4 }; /* changes that are shown unfolded */

struct pictures {
	struct report *r;
	struct module *m;
	struct diag *d;
	struct buf *out, alone; /* alone: tensors that do not change */
	bool *done;             /* by value */
	unsigned shown, more;
	const char *first_more; /* the name of a tensor that is not shown; NULL: all are shown */
};

/* Draws a layout. Changes are drawn one below the other, tensors that do not change side by side. */
static void draw_layout(struct pictures *p, const struct layout_picture *picture, const char *name)
{
	struct arena *a = p->r->arena;
	const char *command =
	    report_command(p->r, "show", arena_printf(a, "--layout=%s -o layout.svg", name));
	struct buf drawn = {0};
	layout_picture_svg(picture, &drawn);
	if (picture->n == 2) {
		buf_puts(p->out, p->shown < OPEN ? "<details open><summary><b>" : "<details><summary><b>");
		html_put(p->out, picture->change);
		buf_puts(p->out, "</b></summary>\n");
		report_put_picture(&drawn, REPORT_PICTURE, command, p->out);
		buf_puts(p->out, "</details>\n");
	} else {
		report_put_picture(&drawn, REPORT_PICTURE, command, &p->alone);
	}
}

static void put_layout(struct pictures *p, value_id v)
{
	struct layout_picture picture;
	struct buf name = {0};
	if (p->done[v])
		return;
	p->done[v] = true;
	ir_print_value_name(p->m, v, &name);
	if (strchr(name.at, ',')) { /* it would read as two names */
		buf_free(&name);
		return;
	}
	bool drawn = layout_picture_open(&picture, p->m, name.at, p->d);
	if (drawn && picture.n == 2)
		p->done[picture.side[0].value] = true; /* beside its new layout */
	if (drawn && p->shown < REPORT_MOST_PICTURES) {
		draw_layout(p, &picture, name.at);
		p->shown++;
	} else if (drawn && !p->more++) {
		p->first_more = arena_strndup(p->r->arena, name.at, name.n);
	}
	layout_picture_close(&picture);
	buf_free(&name);
}

static bool is_spread(const struct module *m, value_id v)
{
	mesh_id mesh = value_type(m, v)->mesh;
	return mesh && ir_mesh(m, mesh)->device_count > 1;
}

static bool is_change(const struct module *m, op_id op)
{
	return op_traits(m, op) & (TRAIT_RESHARD | TRAIT_COLLECTIVE) && op_read(m, op, 0) &&
	       op_result(m, op, 0) && is_spread(m, op_result(m, op, 0));
}

/* By value: tensors that passes inserted between a change and a copy of its result; the copy is drawn. */
static bool *find_copied(struct module *m)
{
	bool *copied = mem_zalloc(sizeof *copied * m->value.n);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op)) {
		value_id from = is_change(m, op) && layout_is_copy(m, op) ? op_read(m, op, 0) : 0;
		if (from && !m->value.at[from].name && m->value.at[from].def &&
		    is_change(m, m->value.at[from].def))
			copied[from] = true;
	}
	return copied;
}

void report_layouts(struct report *r, struct buf *out)
{
	struct module *m = r->laid_out ? r->laid_out : r->m;
	struct pictures p = {.r = r, .m = m, .out = out, .d = diag_new(NULL, DIAG_TEXT, 0)};
	p.done = mem_zalloc(sizeof *p.done * m->value.n);
	diag_set_source(p.d, m->source);
	bool *copied = find_copied(m);
	for (op_id op = ir_walk_first(m); op; op = ir_walk(m, op))
		if (is_change(m, op) && !copied[op_result(m, op, 0)] &&
		    (!layout_is_copy(m, op) || copied[op_read(m, op, 0)])) {
			p.done[op_result(m, op, 0)] = false;
			put_layout(&p, op_result(m, op, 0));
		}
	free(copied);
	for (uint32_t k = 0; k < m->input.n; k++)
		if (is_spread(m, m->input.at[k].value))
			put_layout(&p, m->input.at[k].value);
	for (uint32_t k = 0; k < m->output.n; k++)
		if (is_spread(m, m->output.at[k]))
			put_layout(&p, m->output.at[k]);
	if (p.alone.n) {
		buf_puts(out, "<div class=\"small\">\n");
		buf_putn(out, p.alone.at, p.alone.n);
		buf_puts(out, "</div>\n");
	}
	buf_free(&p.alone);
	if (p.more) {
		buf_printf(out, "<p class=\"note\">%u more: <code>", p.more);
		html_put(out, report_command(r, "show", arena_printf(r->arena, "--layout=%s", p.first_more)));
		buf_puts(out, "</code> shows one.</p>\n");
	}
	free(p.done);
	diag_free(p.d);
}

void report_steps(struct report *r, struct buf *out)
{
	enum { LOOPS = 4 };
	struct diag *d = diag_new(NULL, DIAG_TEXT, 0);
	bool found = true;
	diag_set_source(d, r->m->source);
	for (int64_t loop = 1; found && loop <= LOOPS; loop++) {
		struct steps_picture p;
		struct buf drawn = {0};
		found = steps_picture_open(&p, r->m, loop, d);
		if (found && p.n && p.rank_n) {
			buf_puts(out, "<h3>");
			html_put(out, p.title);
			buf_puts(out, "</h3>\n");
			steps_picture_svg(&p, &drawn);
			const char *options = strstr(r->program_words, " --pipeline=") ? "" : "--pipeline ";
			options =
			    arena_printf(r->arena, "%s--loop=%lld -o steps.svg", options, (long long)loop);
			report_put_picture(&drawn, REPORT_PICTURE, report_command(r, "show", options), out);
		}
		steps_picture_close(&p);
	}
	diag_free(d);
}
