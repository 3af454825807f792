/* sema_parted: reads the reductions that a kernel's schedule has parted: an axis of the root domain is split, and only some of
 * its parts, which are logical axes of the result, are reduced.
 *
 *     T2_l_float[iS2{4}, rS8{4}rf, iS9{16}rf]             F: f32[4, 14] = full(-inf)
 *        = reduction( T0_g_float[iS0{4}, iS1{50}], …   →  T2 = max(reshape(cat(T0, F, axis=1), [4, 4, 16]), axis=1)
 *      root domain : (iS2{4}, rS7{50}rf)
 *       Split: rS7{50}rf by factor 16 -> rS8{4}rf, iS9{16}rf
 *      logical domain : (iS2{4}, rS8{4}rf, iS9{16}rf)
 *
 * The transforms from the root to the logical domain become reshapes and permutes of the operand. Where a split has more
 * elements than its axis, nvFuser predicates the others away; here they get the value that changes nothing. */
#include "ir/domain.h"
#include "ir/expr.h"
#include "parse/nvfuser.h"
#include <string.h>

struct parted {
	struct nv_reader *r;
	ast_id call;
	const struct nv_tensor *result;
	enum reduce_op op;
	ast_id operand;           /* is wrapped in what the transforms become */
	ast_id axis[IR_MAX_AXES]; /* ids of the axes that the transforms have made so far */
	expr_id extent[IR_MAX_AXES];
	unsigned n;
	bool reshaped; /* the axes are not yet those of the operand */
};

static int find_axis(const struct parted *p, ast_id id)
{
	const struct ast *a = p->r->s->a;
	for (unsigned i = 0; nv_is(p->r, id, AST_ID) && i < p->n; i++)
		if (ast_at(a, p->axis[i])->value.i == ast_at(a, id)->value.i)
			return (int)i;
	return -1;
}

static bool read_extent(struct parted *p, ast_id id, expr_id *out)
{
	struct axis axis;
	if (!nv_is(p->r, id, AST_ID) ||
	    !nv_read_id(p->r, nv_serial_axis(p->r, id), p->r->s->m->type.at[p->result->type].mesh, &axis))
		return false;
	*out = axis.extent;
	return true;
}

/* Puts an axis at a place of the list. Returns false after reporting. */
static bool insert_axis(struct parted *p, unsigned at, ast_id id)
{
	expr_id extent;
	if (p->n == IR_MAX_AXES)
		return nv_refuse(p->r, E_AXES_LIMIT, id, "a tensor has at most 16 logical axes");
	if (!read_extent(p, id, &extent))
		return false;
	memmove(p->axis + at + 1, p->axis + at, (p->n - at) * sizeof *p->axis);
	memmove(p->extent + at + 1, p->extent + at, (p->n - at) * sizeof *p->extent);
	p->axis[at] = id;
	p->extent[at] = extent;
	p->n++;
	return true;
}

static void remove_axis(struct parted *p, unsigned at)
{
	p->n--;
	memmove(p->axis + at, p->axis + at + 1, (p->n - at) * sizeof *p->axis);
	memmove(p->extent + at, p->extent + at + 1, (p->n - at) * sizeof *p->extent);
}

/* Makes the operand the first one of a call. Returns the call. */
static ast_id wrap_operand(struct parted *p, const char *name)
{
	ast_id call = nv_node(p->r, AST_CALL, p->call, name);
	nv_node_append(p->r, call, p->operand);
	return p->operand = call;
}

/* Reshapes the operand to the axes of the list. */
static void reshape_operand(struct parted *p)
{
	if (!p->reshaped)
		return;
	ast_id call = wrap_operand(p, "reshape"), shape = nv_node(p->r, AST_LIST, p->call, NULL);
	for (unsigned i = 0; i < p->n; i++) {
		ast_id axis = nv_node(p->r, AST_AXIS, p->call, NULL);
		nv_node_append(p->r, axis, nv_node_expr(p->r, p->call, p->extent[i]));
		nv_node_append(p->r, shape, axis);
	}
	nv_node_append(p->r, call, shape);
	p->reshaped = false;
}

/* Brings the operand's axes into an order: axis i becomes the old axis order[i]. */
static void permute_operand(struct parted *p, const unsigned *order)
{
	struct parted old = *p;
	bool same = true;
	for (unsigned i = 0; i < p->n; i++)
		same &= order[i] == i;
	if (same)
		return;
	reshape_operand(p);
	ast_id call = wrap_operand(p, "permute"), dims = nv_node(p->r, AST_TUPLE, p->call, NULL);
	for (unsigned i = 0; i < p->n; i++) {
		nv_node_append(p->r, dims, nv_node_int(p->r, p->call, order[i]));
		p->axis[i] = old.axis[order[i]];
		p->extent[i] = old.extent[order[i]];
	}
	nv_node_key(p->r, call, "dims", dims);
}

/* Returns the number that changes nothing in the reduction. */
static ast_id make_identity(struct parted *p, enum dtype t)
{
	if (!dtype_is_float(t))
		return nv_node_int(p->r, p->call, reduce_identity_i64(p->op, t));
	ast_id number = nv_node(p->r, AST_FLOAT, p->call, NULL);
	p->r->s->a->nodes.at[number].value.f = reduce_identity_f64(p->op, t);
	return number;
}

/* Appends elements that change nothing to an axis of the operand. Returns false after reporting. */
static bool fill_axis(struct parted *p, unsigned at, expr_id elements)
{
	struct module *m = p->r->s->m;
	const struct type *t = &m->type.at[p->result->type];
	enum dtype dtype = (enum dtype)t->dtype;
	mesh_id mesh = t->mesh;
	struct domain_builder b;
	reshape_operand(p);
	domain_begin(&b);
	for (unsigned i = 0; i < p->n; i++)
		domain_add_axis(&b, AXIS_ITER, i == at ? elements : p->extent[i]);
	domain_allocate_default(&b, false);
	type_id type = type_make(m, dtype, MEMORY_LOCAL, mesh, domain_finish(m, &b));
	ast_id full = nv_node(p->r, AST_CALL, p->call, "full"), filling;
	nv_node_append(p->r, full, make_identity(p, dtype));
	if (!nv_term(p->r, full, type, "the filling of a reduction", &filling))
		return false;
	ast_id call = wrap_operand(p, "cat");
	nv_node_append(p->r, call, filling);
	nv_node_key(p->r, call, "axis", nv_node_int(p->r, p->call, at));
	return true;
}

static bool split_axis(struct parted *p, ast_id line)
{
	struct module *m = p->r->s->m;
	ast_id outer = ast_child(p->r->s->a, line, 2), inner = ast_child(p->r->s->a, line, 3);
	int found = find_axis(p, ast_child(p->r->s->a, line, 0));
	expr_id x, y;
	if (found < 0)
		return true;
	if (!read_extent(p, outer, &x) || !read_extent(p, inner, &y))
		return false;
	unsigned at = (unsigned)found;
	expr_id whole = expr_mul(m, x, y), more = whole ? expr_op(m, EXPR_SUB, whole, p->extent[at]) : 0;
	int64_t elements = 1;
	more = more ? expr_canon(m, more) : 0;
	if (!more)
		return nv_refuse(p->r, E_OVERFLOW, line,
		                 "integer overflow: the value does not fit in 64 bits");
	if (expr_is_const(m, more, &elements) && elements < 0)
		return nv_refuse(p->r, E_SHAPES_DIFFER, line,
		                 "the parts have fewer elements than the axis that is split");
	if (elements && !fill_axis(p, at, more))
		return false;
	remove_axis(p, at);
	p->reshaped = true;
	return insert_axis(p, at, inner) && insert_axis(p, at, outer);
}

static bool merge_axes(struct parted *p, ast_id line)
{
	int outer = find_axis(p, ast_child(p->r->s->a, line, 0)),
	    inner = find_axis(p, ast_child(p->r->s->a, line, 1));
	if (outer < 0 || inner < 0)
		return true;
	unsigned order[IR_MAX_AXES], n = 0;
	for (unsigned i = 0; i < p->n; i++) {
		if ((int)i != inner)
			order[n++] = i;
		if ((int)i == outer)
			order[n++] = (unsigned)inner;
	}
	permute_operand(p, order);
	unsigned at = (unsigned)(outer - (inner < outer));
	remove_axis(p, at + 1);
	remove_axis(p, at);
	p->reshaped = true;
	return insert_axis(p, at, ast_child(p->r->s->a, line, 2));
}

/* Brings the axes into the order of the logical domain. */
static void order_axes(struct parted *p, ast_id logical)
{
	unsigned order[IR_MAX_AXES], n = 0;
	ast_each (p->r->s->a, id, logical) {
		int at = find_axis(p, id);
		if (at >= 0 && n < p->n)
			order[n++] = (unsigned)at;
	}
	if (n == p->n)
		permute_operand(p, order);
}

static bool follow_transforms(struct parted *p, ast_id root, ast_id logical)
{
	const struct ast *a = p->r->s->a;
	for (ast_id line = ast_at(a, root)->next; line && line != logical; line = ast_at(a, line)->next) {
		const char *what = ast_text(a, line);
		bool splits = !strcmp(what, "split") || !strcmp(what, "outer-split");
		if (splits ? !split_axis(p, line) : !strcmp(what, "merge") && !merge_axes(p, line))
			return false;
	}
	order_axes(p, logical);
	reshape_operand(p);
	return true;
}

bool nv_part_operand(struct nv_reader *r, ast_id call, const struct nv_tensor *result, enum reduce_op op)
{
	struct ast *a = r->s->a;
	struct nv_tensor printed = {.block = result->schedule};
	ast_id root = nv_block_line(r, &printed, "root"), logical = nv_block_line(r, &printed, "logical"),
	       operand = ast_at(a, call)->first;
	if (!root || !logical || !operand)
		return true;
	struct parted p = {.r = r, .call = call, .result = result, .op = op};
	ast_each (a, id, root)
		if (!insert_axis(&p, p.n, id))
			return false;
	ast_id rest = ast_at(a, operand)->next;
	p.operand = nv_node_copy(r, operand);
	if (!follow_transforms(&p, root, logical))
		return false;
	r->s->a->nodes.at[p.operand].next = rest;
	r->s->a->nodes.at[call].first = p.operand;
	return true;
}
