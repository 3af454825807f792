/* sema_transforms: makes the domain of a tensor from its block of TransformPrinter.
 *
 *     T2_g_float[istreamIdx27{3}, iS28{2}]
 *       logical domain: (iS2{6})
 *         Outer split: iS2{6} by factor 3 -> istreamIdx27{3}, iS28{2}
 *       loop domain: (istreamIdx27{3}, iS28{2})
 *
 * The logical domain and the transforms tell how the loop domain was made. */
#include "ir/domain.h"
#include "parse/nvfuser.h"
#include <string.h>

struct block {
	struct nv_reader *r;
	const struct nv_tensor *t;
	mesh_id mesh;
	struct domain_builder b;
	int32_t number[IR_MAX_AXES]; /* by axis; -1: not printed */
};

static int axis_of(const struct block *k, ast_id id)
{
	int64_t number = ast_at(k->r->s->a, id)->value.i;
	for (int i = k->b.axis_n; i-- > 0;)
		if (k->number[i] == number)
			return i;
	return -1;
}

static int position_of(const struct block *k, int axis)
{
	for (int i = 0; axis >= 0 && i < k->b.loop_n; i++)
		if (k->b.loop[i] == axis)
			return i;
	return -1;
}

ast_id nv_block_line(struct nv_reader *r, const struct nv_tensor *t, const char *what)
{
	for (ast_id line = t->block ? ast_at(r->s->a, t->block)->first : 0; line;
	     line = ast_at(r->s->a, line)->next)
		if (nv_is(r, line, AST_XF_LINE) && !strcmp(ast_text(r->s->a, line), what))
			return line;
	return 0;
}

/* Reads the logical axes: visible, partial, reductions. */
static bool read_logical(struct block *k)
{
	struct nv_reader *r = k->r;
	ast_id line = nv_block_line(k->r, k->t, "logical");
	if (!line) /* older versions print no other one, if the two are equal */
		line = nv_block_line(k->r, k->t, "root");
	if (!line)
		return nv_refuse(r, E_PRINTED_TRANSFORM, k->t->block,
		                 "a TransformPrinter block needs its logical domain");
	for (unsigned group = 0; group < 3; group++)
		ast_each (r->s->a, id, line) {
			struct axis a;
			if (ast_at(r->s->a, id)->kind != AST_ID || !nv_read_id(r, id, k->mesh, &a))
				return false;
			unsigned of = a.kind == AXIS_PARTIAL ? 1 : a.kind == AXIS_REDUCE ? 2 : 0;
			if (of != group)
				continue;
			if (axis_of(k, id) >= 0)
				return nv_refuse(r, E_PRINTED_TRANSFORM, id,
				                 "this axis stands twice in the domain");
			int x = domain_add_axis(&k->b, (enum axis_kind)a.kind, a.extent);
			if (x < 0)
				return nv_refuse(r, E_AXES_LIMIT, id, "a tensor has at most 16 logical axes");
			k->b.axis[x].rf = a.rf;
			k->b.axis[x].reduce = nv_pending_reduction(r, k->t, &a, k->mesh);
			k->number[x] = (int32_t)ast_at(r->s->a, id)->value.i;
		}
	return true;
}

static bool refuse_transform(struct block *k, ast_id line, const char *error)
{
	return error ? !nv_refuse(k->r, E_PRINTED_TRANSFORM, line, error) : false;
}

/* Moves the axis at the second position to directly after the first. */
static void make_adjacent(struct block *k, int first, int second)
{
	uint8_t perm[IR_MAX_AXES];
	unsigned n = 0;
	for (int i = 0; i < k->b.loop_n; i++) {
		if (i != second)
			perm[n++] = (uint8_t)i;
		if (i == first)
			perm[n++] = (uint8_t)second;
	}
	domain_reorder(&k->b, perm, n);
}

static bool name_outputs(struct block *k, ast_id line, ast_id first, ast_id second)
{
	unsigned n = second ? 2 : 1;
	for (unsigned i = 0; i < n; i++) {
		ast_id id = i ? second : first;
		if (!id || ast_at(k->r->s->a, id)->kind != AST_ID)
			return nv_refuse(k->r, E_PRINTED_TRANSFORM, line, "an axis is missing here");
		if (axis_of(k, id) >= 0)
			return nv_refuse(k->r, E_PRINTED_TRANSFORM, id, "this axis exists already");
		k->number[k->b.axis_n - n + i] = (int32_t)ast_at(k->r->s->a, id)->value.i;
	}
	return true;
}

static bool read_split(struct block *k, ast_id line, bool inner)
{
	struct sema *s = k->r->s;
	ast_id in = ast_child(s->a, line, 0), factor = ast_child(s->a, line, 1),
	       outer_id = ast_child(s->a, line, 2), inner_id = ast_child(s->a, line, 3);
	int axis = axis_of(k, in);
	if (axis < 0)
		return true; /* a transform from a root domain to the logical domain */
	if (position_of(k, axis) < 0)
		return nv_refuse(k->r, E_PRINTED_TRANSFORM, in, "this axis was transformed already");
	expr_id f = sema_extent(s, factor);
	if (!f ||
	    refuse_transform(k, line, domain_split(s->m, &k->b, (unsigned)position_of(k, axis), f, inner)))
		return false;
	return name_outputs(k, line, outer_id, inner_id);
}

static bool read_merge(struct block *k, ast_id line)
{
	struct sema *s = k->r->s;
	ast_id x = ast_child(s->a, line, 0), y = ast_child(s->a, line, 1), out = ast_child(s->a, line, 2);
	int first = position_of(k, axis_of(k, x)), second = position_of(k, axis_of(k, y));
	if (axis_of(k, x) < 0 || axis_of(k, y) < 0)
		return true;
	if (first < 0 || second < 0 || first == second)
		return nv_refuse(k->r, E_PRINTED_TRANSFORM, line, "an axis was transformed already");
	uint8_t axis = k->b.loop[first];
	if (second != first + 1)
		make_adjacent(k, first, second);
	if (refuse_transform(k, line, domain_merge(s->m, &k->b, (unsigned)position_of(k, axis))))
		return false;
	return name_outputs(k, line, out, 0);
}

static bool read_swizzle(struct block *k, ast_id line)
{
	struct sema *s = k->r->s;
	ast_id out = ast_child(s->a, line, 0), in = ast_child(s->a, line, 1), type = ast_child(s->a, line, 2);
	struct axis a = {0};
	if (!in || !type || position_of(k, axis_of(k, in)) < 0)
		return nv_refuse(k->r, E_PRINTED_TRANSFORM, line,
		                 "this axis was transformed already or does not exist");
	if (ast_at(s->a, type)->kind != AST_NAME ||
	    !nv_read_place(k->r, type, ast_text(s->a, type), k->mesh, &a))
		return false;
	if (a.place != PLACE_MESH)
		return nv_refuse(k->r, E_PRINTED_TRANSFORM, type, "swizzle1d takes a device axis");
	if (refuse_transform(k, line,
	                     domain_swizzle1d(s->m, &k->b, (unsigned)position_of(k, axis_of(k, in)),
	                                      &s->m->mesh.at[k->mesh], a.mesh_axis)))
		return false;
	return name_outputs(k, line, out, 0);
}

/* A resize is of the root domain, where the operation tells it, too: sema_schedule.c takes out those of a loop. */
static bool read_transforms(struct block *k)
{
	struct ast *a = k->r->s->a;
	ast_each (a, line, k->t->block) {
		if (ast_at(a, line)->kind != AST_XF_LINE)
			continue;
		const char *what = ast_text(a, line);
		bool ok = true;
		if (!strcmp(what, "outer-split") || !strcmp(what, "split"))
			ok = read_split(k, line, *what == 's');
		else if (!strcmp(what, "merge"))
			ok = read_merge(k, line);
		else if (!strcmp(what, "swizzle1d"))
			ok = read_swizzle(k, line);
		if (!ok)
			return false;
	}
	return true;
}

/* Reads order and placements of the loop domain, which the tensor itself prints. */
static bool read_loop(struct block *k, const struct printed_tensor *t)
{
	struct sema *s = k->r->s;
	uint8_t perm[IR_MAX_AXES];
	unsigned n = 0;
	ast_each (s->a, id, ast_child(s->a, k->t->node, 0)) {
		int pos = position_of(k, axis_of(k, id));
		if (pos < 0)
			return nv_refuse(k->r, E_PRINTED_TRANSFORM, id,
			                 "the TransformPrinter block does not make this axis");
		perm[n++] = (uint8_t)pos;
	}
	if (refuse_transform(k, k->t->block,
	                     n == k->b.loop_n ? domain_reorder(&k->b, perm, n)
	                                      : "the block makes axes that the tensor does not print"))
		return false;
	for (unsigned i = 0; i < n; i++) {
		const struct axis *x = &t->id[i].axis;
		if (x->extent != k->b.axis[k->b.loop[i]].extent)
			return nv_refuse(k->r, E_PRINTED_TRANSFORM,
			                 ast_child(s->a, ast_child(s->a, k->t->node, 0), i),
			                 "this axis has another extent in the TransformPrinter block");
		if (x->place == PLACE_NONE)
			continue;
		if (refuse_transform(k, k->t->node,
		                     domain_parallelize(s->m, &k->b, i, (enum axis_place)x->place,
		                                        k->mesh ? &s->m->mesh.at[k->mesh] : NULL,
		                                        x->mesh_axis)))
			return false;
	}
	return true;
}

/* Reads one flag for each allocated axis. If no allocation is printed, nvFuser counts axes of the logical
 * domain; then only an f has a meaning here. */
static bool read_contiguity(struct block *k, ast_id line, bool stated)
{
	struct sema *s = k->r->s;
	uint8_t flags[IR_MAX_AXES];
	unsigned n = 0;
	bool all = true;
	ast_each (s->a, flag, line) {
		const char *text = ast_text(s->a, flag);
		if (n == IR_MAX_AXES || (strcmp(text, "t") && strcmp(text, "f") && strcmp(text, "n")))
			return nv_refuse(k->r, E_PRINTED_MEMORY, flag,
			                 "contiguity is t, f or n for each allocated axis");
		flags[n++] = *text != 'f';
		all &= *text != 'f';
	}
	if (n == k->b.alloc_n)
		memcpy(k->b.contiguous, flags, n);
	else if (stated || !all)
		return nv_refuse(k->r, E_PRINTED_MEMORY, line,
		                 "contiguity is t, f or n for each allocated axis");
	return true;
}

static bool read_allocation(struct block *k, const struct printed_tensor *t)
{
	struct sema *s = k->r->s;
	ast_id line = nv_block_line(k->r, k->t, "allocation"),
	       contiguity = nv_block_line(k->r, k->t, "contiguity");
	printed_allocate(s->m, &k->b, t->io, t->size);
	if (line) {
		uint64_t seen = 0;
		k->b.alloc_n = 0;
		ast_each (s->a, id, line) {
			int axis = axis_of(k, id);
			if (axis < 0 || seen >> axis & 1)
				return nv_refuse(k->r, E_PRINTED_MEMORY, id,
				                 "this axis is none of the tensor, or stands twice");
			seen |= (uint64_t)1 << axis;
			k->b.alloc[k->b.alloc_n++] = (uint8_t)axis;
		}
	}
	return !contiguity || read_contiguity(k, contiguity, line != 0);
}

domain_id nv_block_domain(struct nv_reader *r, const struct nv_tensor *t, const struct printed_tensor *p,
                          int32_t *number)
{
	struct block k = {.r = r, .t = t, .mesh = p->mesh};
	domain_begin(&k.b);
	memset(k.number, -1, sizeof k.number);
	if (!read_logical(&k) || !read_transforms(&k) || !read_loop(&k, p) || !read_allocation(&k, p))
		return 0;
	memcpy(number, k.number, sizeof k.number);
	domain_id id = domain_finish(r->s->m, &k.b);
	bool unstreamed;
	uint8_t perm[IR_MAX_AXES];
	if (domain_allocation_order(ir_domain(r->s->m, id), &unstreamed, perm))
		return id;
	nv_refuse(r, E_PRINTED_MEMORY, nv_block_line(r, t, "allocation"),
	          "an allocation domain is the loop domain, with or without its stream splits, in any order");
	return 0;
}
