/* summary: the most important figures, and the command that makes the page again. */
#include "report/html.h"
#include "report/parts.h"

static void tile_end(const char *what, struct buf *out)
{
	buf_printf(out, "</b><span>%s</span></div>\n", what);
}

static void tile_begin(struct buf *out)
{
	buf_puts(out, "<div><b>");
}

static void put_verdict(const struct report *r, struct buf *out)
{
	static const char *const word[] = {[CHECK_CLEAN] = "in order",
	                                   [CHECK_WRONG] = "not in order",
	                                   [CHECK_UNKNOWN] = "not known",
	                                   [CHECK_TOO_LONG] = "too long"};
	if (!r->checked)
		return;
	buf_printf(out, "<div><b class=\"%s\">%s",
	           r->check_status == CHECK_CLEAN   ? "good"
	           : r->check_status == CHECK_WRONG ? "bad"
	                                            : "note",
	           word[r->check_status]);
	tile_end("by <a href=\"#check\">hirc check</a>", out);
}

static void put_predicted(const struct timeline *t, struct buf *out)
{
	const struct timeline_class *most = report_most_exposed(t);
	int64_t peak = 0;
	for (uint32_t k = 0; k < t->class.n; k++)
		peak = t->class.at[k].peak > peak ? t->class.at[k].peak : peak;
	tile_begin(out);
	html_put_time(out, t->runtime);
	tile_end("step time, predicted", out);
	if (!most)
		return;
	tile_begin(out);
	html_put_percent(out, most->exposed, t->runtime);
	tile_end("exposed communication", out);
	if (t->binding && t->bound.runtime <= t->runtime) {
		tile_begin(out);
		html_put_time(out, t->bound.runtime);
		tile_end("no schedule is faster", out);
	}
	tile_begin(out);
	html_put_bytes(out, peak);
	tile_end("memory of a rank, at most", out);
}

static void put_meshes(const struct module *m, struct buf *out)
{
	for (mesh_id k = 1; k < m->mesh.n; k++) {
		const struct mesh *x = ir_mesh(m, k);
		html_printf(out, "%s%s(", k > 1 ? ", " : "", names_text(m->names, x->name));
		for (unsigned a = 0; a < x->rank; a++)
			html_printf(out, "%s%s = %u", a ? ", " : "", names_text(m->names, x->axis_name[a]),
			            x->size[a]);
		buf_putc(out, ')');
	}
}

void report_summary(struct report *r, struct buf *out)
{
	const struct module *m = r->m;
	bool recorded = r->predicted && r->predicted->recorded;
	buf_puts(out, "<div class=\"tiles\">\n");
	if (r->predicted)
		put_predicted(r->predicted, out);
	if (r->measured) {
		tile_begin(out);
		html_put_time(out, r->measured->runtime);
		tile_end("step time, measured", out);
	}
	if (!recorded) {
		tile_begin(out);
		buf_printf(out, "%lld", (long long)module_ranks(m));
		tile_end(module_ranks(m) == 1 ? "rank" : "ranks", out);
	}
	put_verdict(r, out);
	buf_puts(out, "</div>\n<dl>\n");
	if (m->mesh.n > 1) {
		buf_printf(out, "<dt>%s</dt><dd><code>", m->mesh.n > 2 ? "meshes" : "mesh");
		put_meshes(m, out);
		buf_puts(out, "</code></dd>\n");
	}
	if (r->predicted && r->predicted->machine) {
		buf_puts(out, "<dt>figures of</dt><dd>");
		html_put(out, r->predicted->machine);
		buf_puts(out, "</dd>\n");
	}
	buf_printf(out, "<dt>passes</dt><dd>%u of %u changed the program</dd>\n",
	           report_passes_that_changed(r), r->pass.n);
	buf_puts(out, "<dt>made by</dt><dd>");
	html_printf(out, "hirc %s", r->version);
	buf_puts(out, "</dd>\n<dt>again</dt><dd><code>");
	html_put(out, r->command);
	buf_puts(out, "</code></dd>\n</dl>\n");
}
