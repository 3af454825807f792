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

static bool refuse_place(struct nv_reader *r, ast_id id, const char *text)
{
	nv_refuse(r, E_PRINTED_TYPE, id,
	          "this axis is parallel in a kernel; host IR knows serial (S), streamIdx and deviceIdx");
	if (nv_is_kernel_place(text))
		diag_note(
		    r->s->d, DIAG_NOWHERE,
		    "the axes of a kernel's schedule do not tell the tensor's shape: print the fusion before "
		    "it is "
		    "scheduled (NVFUSER_DUMP=fusion_ir_presched), or with its TransformPrinter section");
	return false;
}

bool nv_read_place(struct nv_reader *r, ast_id id, const char *text, mesh_id mesh, struct axis *a)
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
		return refuse_place(r, id, text);
	char letter = text[n + 1];
	unsigned from_last = letter >= 'x' && letter <= 'z'   ? (unsigned)(letter - 'x')
	                     : letter >= '3' && letter <= '9' ? (unsigned)(letter - '0')
	                                                      : 99;
	if (!mesh)
		return nv_refuse(r, E_MESH_NEEDED, id, "a device axis needs a DeviceMesh");
	if (from_last >= r->s->m->mesh.at[mesh].rank)
		return nv_refuse(r, E_AXIS_UNKNOWN, id, "the mesh of the tensor has no such axis");
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

/* Returns true if an extent is known to be another number than the size of a mesh axis. */
static bool is_other_size(const struct module *m, expr_id extent, mesh_id mesh, unsigned mesh_axis)
{
	int64_t n = m->mesh.at[mesh].size[mesh_axis], value = n;
	const struct expr *e = &m->expr.at[extent];
	if (e->kind == EXPR_PARAM && m->param.at[e->k].has_value)
		value = m->param.at[e->k].value;
	else
		expr_is_const(m, extent, &value);
	return value != n;
}

bool nv_read_id(struct nv_reader *r, ast_id id, mesh_id mesh, struct axis *out)
{
	struct sema *s = r->s;
	const char *head = ast_text(s->a, id);
	ast_id extent = ast_at(s->a, id)->first;
	struct axis a = {.kind = *head == 'r' ? AXIS_REDUCE : AXIS_ITER}; /* a broadcast axis, too */
	if (!strchr("irb?", *head)) /* ?: an iteration or broadcast axis, as its extent will be */
		return nv_refuse(r, E_PRINTED_TYPE, id,
		                 "an axis of host IR is iteration (i), reduction (r) or broadcast (b)");
	if (!nv_read_place(r, id, head + 1, mesh, &a))
		return false;
	a.rf = has_rf(s, id);
	for (ast_id x = ast_at(s->a, extent)->next; x; x = ast_at(s->a, x)->next)
		if (ast_at(s->a, x)->kind == AST_KEY)
			extent = ast_at(s->a, x)->first; /* {1 ex 6} */
	a.extent = nv_extent(r, id, extent);
	if (a.extent && a.kind == AXIS_REDUCE && a.place == PLACE_MESH &&
	    is_other_size(s->m, a.extent, mesh, a.mesh_axis))
		a.place = PLACE_NONE; /* reduced over the devices of another mesh */
	int64_t one;
	if (a.extent && *head == 'b' && a.place == PLACE_MESH && expr_is_const(s->m, a.extent, &one) &&
	    one == 1)
		a.place = PLACE_NONE; /* each device has the element */
	if (a.kind == AXIS_ITER && a.place != PLACE_MESH)
		a.rf = 0; /* a reshape made the axis */
	if (a.kind == AXIS_ITER && a.place == PLACE_MESH && a.rf)
		a.kind = AXIS_PARTIAL;
	*out = a;
	return a.extent != 0;
}

uint8_t nv_pending_reduction(struct nv_reader *r, const struct nv_tensor *t, const struct axis *a,
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
		nv_refuse(r, E_REDUCTION_UNKNOWN, value,
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

static bool has_rf_axis(const struct nv_reader *r, const struct nv_tensor *t, const char *text)
{
	ast_each (r->s->a, id, ast_child(r->s->a, t->node, 0))
		if (has_rf(r->s, id) && !strcmp(ast_text(r->s->a, id), text))
			return true;
	return false;
}

/* Returns true if a reduction over a device axis is pending in the tensor whose view, or view of a view, is t. */
static bool is_pending_before(struct nv_reader *r, const struct nv_tensor *t, const char *text)
{
	for (uint32_t views = 0; t && t->reshaped && views < r->tensor.n; views++) {
		t = nv_find_tensor(r, t->reshaped);
		if (!t || !has_rf_axis(r, t, text))
			return false;
	}
	return t && !t->reshaped;
}

bool nv_ids(struct nv_reader *r, const struct nv_tensor *t, mesh_id mesh, struct printed_tensor *out)
{
	struct sema *s = r->s;
	struct printed_numbers *numbers = nv_numbers_of(r, t);
	*out = (struct printed_tensor){.mesh = mesh,
	                               .io = nv_is_whole(t),
	                               .by_number = r->by_number ? numbers : NULL,
	                               .choice = t->choice ? &r->choice[t->choice - 1] : NULL,
	                               .permuted = t->permuted,
	                               .reshaped = t->reshaped != 0};
	ast_each (s->a, id, ast_child(s->a, t->node, 0)) {
		if (out->id_n == IR_MAX_AXES)
			return nv_refuse(r, E_AXES_LIMIT, t->node, "a tensor has at most 64 axes");
		struct printed_id *x = &out->id[out->id_n++];
		x->number = (int32_t)ast_at(s->a, id)->value.i;
		for (unsigned k = 0; k + 1 < out->id_n; k++)
			if (out->id[k].number == x->number)
				return nv_refuse(r, E_PRINTED_TYPE, id,
				                 "two axes of this tensor have one number");
		x->named = is_named(r, t, x->number);
		if (!nv_read_id(r, id, mesh, &x->axis))
			return false;
		if (t->reshaped && x->axis.kind == AXIS_PARTIAL &&
		    !is_pending_before(r, t, ast_text(s->a, id))) { /* the view made the axis */
			x->axis.kind = AXIS_ITER;
			x->axis.rf = 0;
		}
		x->axis.reduce = nv_pending_reduction(r, t, &x->axis, mesh);
		x->product = s->m->expr.at[x->axis.extent].kind == EXPR_MUL;
		x->broadcast = *ast_text(s->a, id) == 'b';
		x->made = x->axis.kind == AXIS_ITER && has_rf(s, id);
		if (x->made && s->m->expr.at[x->axis.extent].kind == EXPR_CEIL_DIV)
			printed_numbers_add_made(numbers, x->axis.extent);
	}
	out->size = t->size ? sema_extent(s, t->size) : 0;
	out->other_way = r->other_way.id_n && printed_are_alike(&r->other_way, out);
	return true;
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

bool nv_lacks_dtype(const struct nv_reader *r, const struct nv_tensor *t)
{
	const struct ast *a = r->s->a;
	ast_id dtype = ast_child(a, shape_tensor(r->s->a, t->node), 3);
	return !dtype || ast_at(a, dtype)->kind == AST_NONE;
}

static bool read_head(struct nv_reader *r, const struct nv_tensor *t, enum dtype *dtype, enum memory *memory)
{
	struct sema *s = r->s;
	ast_id memory_node = ast_child(s->a, t->node, 2), dtype_node = ast_child(s->a, t->node, 3);
	const char *text = ast_text(s->a, memory_node);
	bool of_kernel = !strcmp(text, "s") || !strcmp(text, "t"), none = !strcmp(text, AST_NO_MEMORY);
	*memory = !strcmp(text, "sym") ? MEMORY_SYMMETRIC : MEMORY_GLOBAL;
	if (!strcmp(text, "l") || of_kernel || (none && !nv_is_whole(t)))
		*memory = MEMORY_LOCAL;
	if (of_kernel && !r->scheduled)
		return nv_refuse(r, E_MEMORY_UNKNOWN, memory_node,
		                 "a tensor of host IR is in global (g), local (l) or symmetric (sym) memory");
	*dtype = DTYPE_F32;
	if (nv_lacks_dtype(r, t))
		return true;
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
			nv_refuse(r, E_MESH_SHAPE, devices,
			          "the mesh that the Hirc section gives this tensor has other devices");
		mesh = t->mesh;
	}
	if ((has_mesh && !mesh) || !read_head(r, t, &dtype, &memory) || !nv_ids(r, t, mesh, &p))
		return;
	domain_id d;
	memset(number, -1, sizeof number);
	if (t->block) {
		d = nv_block_domain(r, t, &p, number);
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
