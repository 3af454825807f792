/* hover_tensor: describes shape, sharding and bytes of a tensor, of the whole and of each rank.
 *
 *     X: f32[10@x, 8]
 *     shape 10 x 8, 320 bytes
 *     axis 0 over x of ring(x = 4)
 *     ranks 0-2 hold 3 x 8, 96 bytes; rank 3 holds 1 x 8, 32 bytes */
#include "ir/expr.h"
#include "ir/layout.h"
#include "ir/part.h"
#include "ir/print_type.h"
#include "lsp/hover.h"
#include "lsp/settle.h"

enum { MANY_RANKS = 4096 }; /* with more, parts are not listed */

struct extents {
	unsigned n;
	int64_t at[IR_MAX_LOGICAL];
};

static void put_bytes(struct buf *b, int64_t n)
{
	static const char *const unit[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
	double x = (double)n;
	unsigned k = 0;
	while (x >= 1024 && k < 4) {
		x /= 1024;
		k++;
	}
	buf_printf(b, "%.4g %s", x, n == 1 ? "byte" : unit[k]);
}

static void put_part(struct buf *b, const struct extents *e, unsigned width)
{
	int64_t bytes = width;
	bool fits = true;
	for (unsigned i = 0; i < e->n; i++) {
		buf_printf(b, "%s%lld", i ? " x " : "", (long long)e->at[i]);
		fits &= !__builtin_mul_overflow(bytes, e->at[i], &bytes);
	}
	buf_puts(b, e->n ? ", " : "a number, ");
	if (fits)
		put_bytes(b, bytes);
	else
		buf_puts(b, "more bytes than 64 bits count");
}

static bool evaluate_extent(const struct module *m, expr_id e, int64_t *out)
{
	return expr_eval(m, e, &(struct expr_env){.rank = -1}, out, NULL) == EXPR_OK && *out >= 0;
}

/* Counts the elements of each axis that a rank holds, in all steps of loops. Returns false if they are not a
 * box. */
static bool measure_part(const struct module *m, type_id t, uint32_t device, struct extents *out)
{
	struct part p;
	if (!part_of(m, t, device, NULL, &p))
		return false;
	out->n = p.n;
	for (unsigned a = 0; a < p.n; a++)
		out->at[a] = part_count(&p.axis[a]);
	return p.exact;
}

static void put_ranks(struct buf *b, const struct mesh *mesh, uint32_t from, uint32_t to)
{
	if (from + 1 == to)
		buf_printf(b, "rank %u holds ", mesh->device[from]);
	else if (mesh->device[to - 1] - mesh->device[from] == to - 1 - from)
		buf_printf(b, "ranks %u-%u hold ", mesh->device[from], mesh->device[to - 1]);
	else
		buf_printf(b, "%u ranks from %u on hold ", to - from, mesh->device[from]);
}

static void put_parts(const struct module *m, type_id t, struct buf *b)
{
	const struct mesh *mesh = &m->mesh.at[m->type.at[t].mesh];
	unsigned width = dtype_bytes(m->type.at[t].dtype);
	struct extents first, here;
	if (mesh->device_count > MANY_RANKS || !measure_part(m, t, mesh->device[0], &first))
		return;
	for (uint32_t from = 0, k = 1; from < mesh->device_count; k++) {
		bool same = k < mesh->device_count && measure_part(m, t, mesh->device[k], &here) &&
		            !memcmp(here.at, first.at, sizeof *here.at * here.n);
		if (same)
			continue;
		buf_puts(b, from ? "; " : "\n");
		put_ranks(b, mesh, from, k);
		put_part(b, &first, width);
		first = here;
		from = k;
	}
	buf_puts(b, "\n");
}

static void sharding(const struct module *m, type_id t, struct buf *b)
{
	const struct type *type = &m->type.at[t];
	const struct domain *d = &m->domain.at[type->domain];
	if (!type->mesh)
		return;
	const struct mesh *mesh = &m->mesh.at[type->mesh];
	bool any = false;
	for (unsigned i = 0; i < d->rank; i++) {
		unsigned axes = layout_mesh_axes(m, t, i);
		for (unsigned k = 0; k < mesh->rank; k++)
			if (axes >> k & 1) {
				buf_printf(b, "%saxis %u over `%s`", any ? ", " : "\n", i,
				           names_text(m->names, mesh->axis_name[k]));
				any = true;
			}
	}
	for (unsigned k = 0; k < mesh->rank; k++)
		if (layout_partial(d, k) >= 0) {
			buf_printf(b, "%spending %s over `%s`", any ? ", " : "\n",
			           reduce_op_name(d->axis[layout_partial(d, k)].reduce),
			           names_text(m->names, mesh->axis_name[k]));
			any = true;
		}
	buf_puts(b, any ? " of `" : "\nreplicated on `");
	print_mesh(m, type->mesh, b);
	buf_puts(b, "`\n");
}

static void put_definition(struct request *r, const struct symbol *s, struct buf *b)
{
	const struct source *source = r->snapshot->source;
	const struct ast_node *n = ast_at(r->snapshot->ast, s->node);
	const char *text = source->text + n->at;
	size_t length = strcspn(text, "\n");
	buf_printf(b, "\n`%.*s%s`\n", (int)(length < n->end - n->at ? length : n->end - n->at), text,
	           length < n->end - n->at ? " …" : "");
}

void hover_tensor(struct request *r, uint32_t symbol, struct buf *b)
{
	const struct symbol *s = &r->snapshot->symbols.symbol.at[symbol];
	value_id v = r->snapshot->value.at[symbol];
	bool open = r->snapshot->module->value.at[v].flags & VALUE_OPEN;
	const struct module *settled = open ? settle_layouts(r->snapshot, r->options) : NULL;
	struct module *m = settled ? r->snapshot->settled : r->snapshot->module;
	const struct value *x = &m->value.at[v];
	const struct domain *d = &m->domain.at[m->type.at[x->type].domain];
	struct extents all = {.n = d->rank};
	bool known = true;
	buf_printf(b, "```hir\n%s: ", names_text(r->snapshot->ast->names, s->name));
	print_type_stated(m, x->type, b);
	buf_printf(b, "\n```\n");
	if (open)
		buf_puts(b, settled ? "\nthe layout is chosen by propagate-shardings\n"
		                    : "\nthe layout is left open\n");
	for (unsigned i = 0; i < d->rank; i++)
		known &= evaluate_extent(m, d->axis[i].extent, &all.at[i]);
	if (known) {
		buf_puts(b, "\nshape ");
		put_part(b, &all, dtype_bytes(m->type.at[x->type].dtype));
		buf_putc(b, '\n');
	}
	sharding(m, x->type, b);
	if (known && m->type.at[x->type].mesh)
		put_parts(m, x->type, b);
	put_definition(r, s, b);
}
