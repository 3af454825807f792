/* sema_printed: makes the type of a tensor from its printed form.
 *
 *     T3_g___bfloat[istreamIdx20{3}, ideviceIdx.x22{2}rf, iS21{( ceilDiv(i0, 3) )}, rS23{4}rf]
 *
 * Without a TransformPrinter block, printed_domain makes the domain from the ids, with the rules that the
 * printer relies on. With a block, its logical domain and transforms tell how the loop domain was made. */
#include "ir/number.h"
#include "ir/number_counter.h"
#include "ir/print_nvfuser.h"
#include "parse/nvfuser.h"
#include "parse/other_names.h"
#include "parse/shape.h"
#include <string.h>

static bool refuse_printed(struct nv_reader *r, enum diagnostic code, ast_id node, const char *message)
{
	const struct ast_node *n = ast_at(r->s->a, node);
	diag_error_span(r->s->d, code, n->at, n->end - n->at, "%s", message);
	return false;
}

/* ---- meshes */

static bool same_devices(const struct mesh *a, const struct mesh *b)
{
	return a->rank == b->rank && !memcmp(a->size, b->size, sizeof *a->size * a->rank) &&
	       !memcmp(a->device, b->device, sizeof *a->device * a->device_count);
}

/* Returns the first mesh with these devices, or a new one with default axis names. */
static mesh_id find_mesh(struct nv_reader *r, ast_id devices)
{
	struct sema *s = r->s;
	const struct ast_node *n = ast_at(s->a, devices);
	const char *text = s->a->source->text;
	for (uint32_t i = 0; i < r->mesh.n; i++)
		if (r->mesh.at[i].length == n->end - n->at &&
		    !memcmp(text + r->mesh.at[i].at, text + n->at, n->end - n->at))
			return r->mesh.at[i].mesh;
	struct nv_mesh known = {.at = n->at, .length = n->end - n->at};
	struct buf name = {0};
	unsigned k = s->m->mesh.n - 1;
	do {
		name.n = 0;
		nvfuser_default_mesh_name(k++, &name);
	} while (sema_find_mesh(s, names_intern_z(s->m->names, name.at)));
	mesh_id id = sema_mesh_from_devices(s, devices, names_intern_z(s->m->names, name.at), NULL, 0);
	buf_free(&name);
	known.mesh = id;
	for (mesh_id i = 1; i < id; i++)
		if (same_devices(&s->m->mesh.at[i],
		                 &s->m->mesh.at[id])) { /* declared, or printed in another form before */
			s->m->mesh.n = id;
			known.mesh = i;
			break;
		}
	vec_push(&r->mesh, known);
	return known.mesh;
}

/* ---- ids */

static bool read_place(struct nv_reader *r, ast_id id, const char *text, mesh_id mesh, struct axis *a)
{
	unsigned n = (unsigned)strcspn(text, ".0123456789");
	if (n == 1 && *text == 'S')
		return true;
	if ((n == 9 || n == 6) && (!strncmp(text, "streamIdx", n) || !strncmp(text, "StreamIdx", n))) {
		a->place = PLACE_STREAM;
		return true;
	}
	if (n == 9 && !strncmp(text, "serialIdx", n)) {
		a->place = PLACE_SERIAL;
		return true;
	}
	if (n != 9 || strncmp(text, "deviceIdx", n) || text[n] != '.')
		return refuse_printed(
		    r, E_PRINTED_TYPE, id,
		    "this axis is parallel in a kernel; host IR knows serial (S), streamIdx and deviceIdx");
	char letter = text[n + 1];
	unsigned from_last = letter >= 'x' && letter <= 'z'   ? (unsigned)(letter - 'x')
	                     : letter >= '3' && letter <= '9' ? (unsigned)(letter - '0')
	                                                      : 99;
	if (!mesh)
		return refuse_printed(r, E_MESH_NEEDED, id, "a device axis needs a DeviceMesh");
	if (from_last >= r->s->m->mesh.at[mesh].rank)
		return refuse_printed(r, E_AXIS_UNKNOWN, id, "the mesh of the tensor has no such axis");
	a->place = PLACE_MESH;
	a->mesh_axis = (uint8_t)(r->s->m->mesh.at[mesh].rank - 1 - from_last);
	return true;
}

expr_id nv_extent(struct nv_reader *r, ast_id id, ast_id extent)
{
	struct sema *s = r->s;
	const struct ast_node *n = ast_at(s->a, id), *shared = ast_at(s->a, n->first);
	if (n->flags & AST_AGAIN) { /* errors are reported at this place, which has the same text */
		const char *own = strchr(s->a->source->text + n->at, '{') + 1;
		own += strspn(own, " \t\r");
		diag_set_moved(s->d, shared->at, ast_at(s->a, extent)->end,
		               (uint32_t)(own - s->a->source->text));
	}
	expr_id e = sema_extent(s, extent);
	diag_set_moved(s->d, 0, 0, 0);
	return e;
}

static bool has_rf(const struct sema *s, ast_id id)
{
	ast_id extent = ast_at(s->a, id)->first;
	for (ast_id x = ast_at(s->a, extent)->next; x; x = ast_at(s->a, x)->next)
		if (ast_at(s->a, x)->kind != AST_KEY && !strcmp(ast_text(s->a, x), "rf"))
			return true;
	return false;
}

/* Reads an ID as an axis. */
static bool read_id(struct nv_reader *r, ast_id id, mesh_id mesh, struct axis *out)
{
	struct sema *s = r->s;
	const char *head = ast_text(s->a, id);
	ast_id extent = ast_at(s->a, id)->first;
	struct axis a = {.kind = *head == 'r' ? AXIS_REDUCE : AXIS_ITER}; /* a broadcast axis, too */
	if (*head != 'i' && *head != 'r' && *head != 'b')
		return refuse_printed(r, E_PRINTED_TYPE, id,
		                      "an axis of host IR is iteration (i), reduction (r) or broadcast (b)");
	if (!read_place(r, id, head + 1, mesh, &a))
		return false;
	a.rf = has_rf(s, id);
	for (ast_id x = ast_at(s->a, extent)->next; x; x = ast_at(s->a, x)->next)
		if (ast_at(s->a, x)->kind == AST_KEY)
			extent = ast_at(s->a, x)->first; /* {1 ex 6} */
	a.extent = nv_extent(r, id, extent);
	if (a.kind == AXIS_ITER && a.place != PLACE_MESH)
		a.rf = 0; /* a reshape made the axis */
	if (a.kind == AXIS_ITER && a.place == PLACE_MESH && a.rf)
		a.kind = AXIS_PARTIAL;
	*out = a;
	return a.extent != 0;
}

/* Returns the pending reduction of a partial axis. */
static uint8_t reduction_of(struct nv_reader *r, const struct nv_tensor *t, const struct axis *a,
                            mesh_id mesh)
{
	struct sema *s = r->s;
	if (a->kind != AXIS_PARTIAL)
		return 0;
	struct buf key = {0};
	enum reduce_op op = t->reduce;
	buf_printf(&key, "partial_%s", names_text(s->m->names, s->m->mesh.at[mesh].axis_name[a->mesh_axis]));
	ast_id value = t->attrs ? nv_key(r, t->attrs, key.at) : 0;
	if (value && !reduce_op_parse(ast_text(s->a, value), &op))
		refuse_printed(r, E_REDUCTION_UNKNOWN, value,
		               "a partial is pending with sum, prod, min, max or avg");
	buf_free(&key);
	return (uint8_t)op;
}

static bool is_named(const struct nv_reader *r, const struct nv_tensor *t, int32_t number)
{
	for (uint32_t i = t->named; i; i = r->named.at[i - 1].next)
		if (r->named.at[i - 1].number == number)
			return true;
	return false;
}

bool nv_ids(struct nv_reader *r, const struct nv_tensor *t, mesh_id mesh, struct printed_tensor *out)
{
	struct sema *s = r->s;
	*out = (struct printed_tensor){.mesh = mesh,
	                               .io = t->input || t->output,
	                               .by_number = r->by_number ? &r->numbers : NULL,
	                               .choice = t->choice ? &r->choice[t->choice - 1] : NULL,
	                               .permuted = t->permuted};
	ast_each (s->a, id, ast_child(s->a, t->node, 0)) {
		if (out->id_n == IR_MAX_AXES)
			return refuse_printed(r, E_AXES_LIMIT, t->node, "a tensor has at most 64 axes");
		struct printed_id *x = &out->id[out->id_n++];
		x->number = (int32_t)ast_at(s->a, id)->value.i;
		x->named = is_named(r, t, x->number);
		if (!read_id(r, id, mesh, &x->axis))
			return false;
		x->axis.reduce = reduction_of(r, t, &x->axis, mesh);
		x->broadcast = *ast_text(s->a, id) == 'b';
		x->made = x->axis.kind == AXIS_ITER && has_rf(s, id);
	}
	out->size = t->size ? sema_extent(s, t->size) : 0;
	return true;
}

/* ---- TransformPrinter */

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

static ast_id find_line(const struct block *k, const char *name)
{
	struct ast *a = k->r->s->a;
	ast_each (a, line, k->t->block)
		if (ast_at(a, line)->kind == AST_XF_LINE && !strcmp(ast_text(a, line), name))
			return line;
	return 0;
}

/* Reads the logical axes: visible, partial, reductions. */
static bool read_logical(struct block *k)
{
	struct nv_reader *r = k->r;
	ast_id line = find_line(k, "logical");
	if (!line)
		return refuse_printed(r, E_PRINTED_TRANSFORM, k->t->block,
		                      "a TransformPrinter block needs its logical domain");
	for (unsigned group = 0; group < 3; group++)
		ast_each (r->s->a, id, line) {
			struct axis a;
			if (ast_at(r->s->a, id)->kind != AST_ID || !read_id(r, id, k->mesh, &a))
				return false;
			unsigned of = a.kind == AXIS_PARTIAL ? 1 : a.kind == AXIS_REDUCE ? 2 : 0;
			if (of != group)
				continue;
			if (axis_of(k, id) >= 0)
				return refuse_printed(r, E_PRINTED_TRANSFORM, id,
				                      "this axis stands twice in the domain");
			int x = domain_add_axis(&k->b, (enum axis_kind)a.kind, a.extent);
			if (x < 0)
				return refuse_printed(r, E_AXES_LIMIT, id,
				                      "a tensor has at most 16 logical axes");
			k->b.axis[x].rf = a.rf;
			k->b.axis[x].reduce = reduction_of(r, k->t, &a, k->mesh);
			k->number[x] = (int32_t)ast_at(r->s->a, id)->value.i;
		}
	return true;
}

static bool refuse_transform(struct block *k, ast_id line, const char *error)
{
	return error ? !refuse_printed(k->r, E_PRINTED_TRANSFORM, line, error) : false;
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
			return refuse_printed(k->r, E_PRINTED_TRANSFORM, line, "an axis is missing here");
		if (axis_of(k, id) >= 0)
			return refuse_printed(k->r, E_PRINTED_TRANSFORM, id, "this axis exists already");
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
		return refuse_printed(k->r, E_PRINTED_TRANSFORM, in, "this axis was transformed already");
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
		return refuse_printed(k->r, E_PRINTED_TRANSFORM, line, "an axis was transformed already");
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
		return refuse_printed(k->r, E_PRINTED_TRANSFORM, line,
		                      "this axis was transformed already or does not exist");
	if (ast_at(s->a, type)->kind != AST_NAME ||
	    !read_place(k->r, type, ast_text(s->a, type), k->mesh, &a))
		return false;
	if (a.place != PLACE_MESH)
		return refuse_printed(k->r, E_PRINTED_TRANSFORM, type, "swizzle1d takes a device axis");
	if (refuse_transform(k, line,
	                     domain_swizzle1d(s->m, &k->b, (unsigned)position_of(k, axis_of(k, in)),
	                                      &s->m->mesh.at[k->mesh], a.mesh_axis)))
		return false;
	return name_outputs(k, line, out, 0);
}

/* Reads a pad or slice of an axis. It is of the root domain: the operation tells it, too. */
static bool read_resize(struct block *k, ast_id line)
{
	ast_id in = ast_child(k->r->s->a, line, 0);
	return axis_of(k, in) < 0 ||
	       refuse_printed(k->r, E_PRINTED_TRANSFORM, in,
	                      "an axis is resized by a pad or slice, not for a loop");
}

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
		else if (!strcmp(what, "resize"))
			ok = read_resize(k, line);
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
			return refuse_printed(k->r, E_PRINTED_TRANSFORM, id,
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
			return refuse_printed(k->r, E_PRINTED_TRANSFORM,
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
			return refuse_printed(k->r, E_PRINTED_MEMORY, flag,
			                      "contiguity is t, f or n for each allocated axis");
		flags[n++] = *text != 'f';
		all &= *text != 'f';
	}
	if (n == k->b.alloc_n)
		memcpy(k->b.contiguous, flags, n);
	else if (stated || !all)
		return refuse_printed(k->r, E_PRINTED_MEMORY, line,
		                      "contiguity is t, f or n for each allocated axis");
	return true;
}

static bool read_allocation(struct block *k, const struct printed_tensor *t)
{
	struct sema *s = k->r->s;
	ast_id line = find_line(k, "allocation"), contiguity = find_line(k, "contiguity");
	printed_allocate(s->m, &k->b, t->io, t->size);
	if (line) {
		uint64_t seen = 0;
		k->b.alloc_n = 0;
		ast_each (s->a, id, line) {
			int axis = axis_of(k, id);
			if (axis < 0 || seen >> axis & 1)
				return refuse_printed(k->r, E_PRINTED_MEMORY, id,
				                      "this axis is none of the tensor, or stands twice");
			seen |= (uint64_t)1 << axis;
			k->b.alloc[k->b.alloc_n++] = (uint8_t)axis;
		}
	}
	return !contiguity || read_contiguity(k, contiguity, line != 0);
}

static domain_id block_domain(struct nv_reader *r, const struct nv_tensor *t, const struct printed_tensor *p,
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
	refuse_printed(
	    r, E_PRINTED_MEMORY, find_line(&k, "allocation"),
	    "an allocation domain is the loop domain, with or without its stream splits, in any order");
	return 0;
}

/* ---- types */

/* Reports a dtype that hirc does not have, at the first tensor that has it. */
static void refuse_dtype(struct nv_reader *r, const struct nv_tensor *t, name_id dtype)
{
	struct sema *s = r->s;
	for (uint32_t i = 0; i < r->refused_dtype.n; i++)
		if (r->refused_dtype.at[i] == dtype)
			return;
	vec_push(&r->refused_dtype, dtype);
	const char *name = names_text(s->m->names, dtype);
	diag_error(s->d, E_DTYPE_UNKNOWN, ast_at(s->a, t->node)->at, "unknown dtype '%s'", name);
	other_name_note(s->d, OTHER_PRINTED_DTYPE, name);
}

static bool read_head(struct nv_reader *r, const struct nv_tensor *t, enum dtype *dtype, enum memory *memory)
{
	struct sema *s = r->s;
	ast_id memory_node = ast_child(s->a, t->node, 2), dtype_node = ast_child(s->a, t->node, 3);
	const char *text = ast_text(s->a, memory_node);
	*memory = !strcmp(text, "l") ? MEMORY_LOCAL : !strcmp(text, "sym") ? MEMORY_SYMMETRIC : MEMORY_GLOBAL;
	if (!strcmp(text, "s") || !strcmp(text, "t"))
		return refuse_printed(
		    r, E_MEMORY_UNKNOWN, memory_node,
		    "a tensor of host IR is in global (g), local (l) or symmetric (sym) memory");
	*dtype = DTYPE_F32;
	if (!dtype_node || ast_at(s->a, dtype_node)->kind == AST_NONE) {
		diag_warning(s->d, W_PRINTED_DTYPE, ast_at(s->a, t->node)->at,
		             "%s is printed without a dtype; float is assumed", ast_text(s->a, t->node));
		return true;
	}
	if (dtype_parse_nvfuser(ast_text(s->a, dtype_node), dtype))
		return true;
	*dtype = DTYPE_I64;
	if (!strcmp(ast_text(s->a, dtype_node), "nvfuser_index_t") ||
	    !strcmp(ast_text(s->a, dtype_node), "Index"))
		return true;
	if (t->random_state && !strcmp(ast_text(s->a, dtype_node), "uint64_t"))
		return true;
	refuse_dtype(r, t, ast_at(s->a, dtype_node)->name);
	return false;
}

/* Returns a type to use for one that cannot be read, so that uses of the tensor are not errors, too. */
static type_id broken_type(struct nv_reader *r)
{
	struct domain_builder b;
	domain_begin(&b);
	return type_make(r->s->m, DTYPE_F32, MEMORY_GLOBAL, 0, domain_finish(r->s->m, &b));
}

/* Gives the params that are extents of device axes the sizes of the mesh axes. */
static bool take_sizes(struct nv_reader *r, const struct nv_tensor *t, const struct printed_tensor *p)
{
	struct module *m = r->s->m;
	for (unsigned i = 0; i < p->id_n; i++) {
		const struct axis *a = &p->id[i].axis;
		const struct expr *e = &m->expr.at[a->extent];
		if (a->place != PLACE_MESH || e->kind != EXPR_PARAM || m->param.at[e->k].meaning)
			continue;
		struct param *x = &m->param.at[e->k];
		int64_t size = m->mesh.at[p->mesh].size[a->mesh_axis];
		if (!x->has_value) {
			x->has_value = true;
			x->value = size;
		}
		if (x->value == size)
			continue;
		diag_error(r->s->d, E_PRINTED_TYPE, ast_at(r->s->a, t->node)->at,
		           "a device axis of %s has %lld elements, but its mesh axis has %lld",
		           ast_text(r->s->a, t->node), (long long)x->value, (long long)size);
		diag_note(r->s->d, DIAG_NOWHERE,
		          "the extent of a device axis that is not split is the size of "
		          "its mesh axis: leave -D out");
		return false;
	}
	return true;
}

void nv_type(struct nv_reader *r, struct nv_tensor *t)
{
	struct sema *s = r->s;
	struct printed_tensor p;
	enum dtype dtype;
	enum memory memory;
	int32_t number[IR_MAX_AXES];
	int64_t repeat = ast_at(s->a, t->node)->kind == AST_REPEAT ? ast_at(s->a, t->node)->value.i : 0;
	t->number_at = r->number.n;
	if (repeat && !r->by_number && nv_alike_find_repeat(r, t, repeat))
		return;
	t->node = shape_tensor(s->a, t->node);
	ast_id devices = t->devices ? t->devices : ast_child(s->a, t->node, 1);
	bool has_mesh = devices && ast_at(s->a, devices)->kind == AST_DEVICES;
	mesh_id mesh = has_mesh ? find_mesh(r, devices) : r->all_ranks;
	if (!r->by_number && nv_alike_find(r, t)) {
		if (repeat)
			nv_alike_keep_repeat(r, t, repeat);
		return;
	}
	t->type = broken_type(r);
	if (mesh && t->mesh) {
		if (!same_devices(&s->m->mesh.at[t->mesh], &s->m->mesh.at[mesh]))
			refuse_printed(r, E_MESH_SHAPE, devices,
			               "the mesh that the Hirc section gives this tensor has other devices");
		mesh = t->mesh;
	}
	if ((has_mesh && !mesh) || !read_head(r, t, &dtype, &memory) || !nv_ids(r, t, mesh, &p))
		return;
	domain_id d;
	memset(number, -1, sizeof number);
	if (t->block) {
		d = block_domain(r, t, &p, number);
	} else {
		const char *why = "";
		d = printed_domain(s->m, &p, &why);
		t->ways = (uint8_t)(d && r->by_number ? printed_ways(s->m, &p) : 0);
		if (!d) {
			const struct ast_node *n = ast_at(s->a, t->node);
			diag_error_span(s->d, E_PRINTED_TYPE, n->at, n->end - n->at,
			                "the axes of %s cannot be put together: %s", ast_text(s->a, t->node),
			                why);
			diag_note(s->d, ast_at(s->a, t->node)->at,
			          "a stream or device axis numbered n and a plain axis n+1 are the halves of "
			          "a split; write other transforms in a TransformPrinter section");
		}
		for (unsigned i = 0; d && i < p.id_n; i++)
			number[ir_domain(s->m, d)->loop[i]] = p.id[i].number;
	}
	if (!d || !take_sizes(r, t, &p))
		return;
	t->type = type_make(s->m, dtype, memory, mesh, d);
	for (unsigned i = 0; i < ir_domain(s->m, d)->axis_n; i++)
		number[i] = number[i] > NUMBER_MAX ? -1 : number[i];
	for (unsigned i = 0; i < p.id_n; i++) {
		int32_t *n = &number[ir_domain(s->m, d)->loop[i]];
		if (*n >= 0 && p.id[i].broadcast)
			*n |= NUMBER_BROADCAST;
	}
	for (unsigned i = 0; i < ir_domain(s->m, d)->axis_n; i++)
		vec_push(&r->number, number[i]);
	nv_alike_keep(r, t);
	if (repeat)
		nv_alike_keep_repeat(r, t, repeat);
}
