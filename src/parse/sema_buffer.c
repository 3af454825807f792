/* sema_buffer: buffers and views of %HostIrContainer.
 *
 *     T2… = ALLOCATE(buffer=T2…, mem_type=global, size=( i0 * 2 ), zero_init=false, resets_to_zero=false)
 *     T4… = ShardByStream(T2…, stream_index = i535)
 *     T6… = HirAliasSelect( T2…, axis = iS25{2}, index = 0 )
 *     T8… = SymmetricContiguousView(T7…) */
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "ir/number.h"
#include "ir/printed.h"
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <string.h>

static bool is_true(struct nv_reader *r, ast_id call, const char *key)
{
	ast_id value = nv_key(r, call, key);
	return value && nv_is_name(r, value, "true");
}

/* Warns if size= is another number than the product of the axes. Tensors with a parallel axis are left out, since listings
 * count these in several ways; and those with a broadcast, which may have more elements than memory. */
static void check_size(struct nv_reader *r, const struct nv_tensor *t, ast_id size)
{
	struct module *m = r->s->m;
	domain_id id = m->type.at[t->type].domain;
	for (unsigned i = 0; i < ir_domain(m, id)->axis_n; i++) {
		int32_t number = r->number.at[t->number_at + i];
		if (ir_domain(m, id)->axis[i].place != PLACE_NONE ||
		    (number >= 0 && number & NUMBER_BROADCAST))
			return;
	}
	struct domain d = *ir_domain(m, id);
	expr_id stated = sema_extent(r->s, size), made = printed_size(m, &d);
	int64_t a, b;
	if (stated && made && expr_is_const(m, stated, &a) && expr_is_const(m, made, &b) && a != b)
		diag_warning(r->s->d, W_PRINTED_SIZE, ast_at(r->s->a, size)->at,
		             "size= of %s is %lld, but its axes have %lld elements",
		             ast_text(r->s->a, t->node), (long long)a, (long long)b);
}

/* Appends the ALLOCATE of a tensor. at_name, at: places of its name and of the statement. */
static void allocate(struct nv_reader *r, struct nv_tensor *t, uint32_t at_name, uint32_t at, attrs_id attrs)
{
	value_id v = t->own ? nv_define_whole(r, t, at_name) : nv_define(r, t, at_name);
	op_id op = ir_op_new(r->s->m, OP_ALLOCATE, at, &(struct ir_use){ROLE_DEF, v}, 1);
	nv_append(r, op);
	nv_op(r, op)->attrs = attrs;
	if (t->own)
		nv_take_block(r, t, at);
}

value_id nv_make_buffer(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	allocate(r, t, at, at, 0);
	return t->value;
}

void nv_allocate(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call)
{
	static const char *const but[] = {"buffer", "mem_type", "size", "zero_init", "resets_to_zero", NULL};
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound;
	if (!nv_result(r, target, &t, &bound) || bound)
		return; /* nvFuser's ALLOCATE of a bound tensor does nothing */
	ast_id memory = nv_key(r, call, "mem_type");
	if (memory && nv_is_name(r, memory, "symmetric")) {
		struct type x = s->m->type.at[t->type];
		t->type = type_make(s->m, x.dtype, MEMORY_SYMMETRIC, x.mesh, x.domain);
	} else if (memory && !nv_is_name(r, memory, "global") && !nv_is_name(r, memory, "register")) {
		nv_refuse(r, E_MEMORY_UNKNOWN, memory, "mem_type= is global, symmetric or register");
	}
	attrs_id attrs = 0;
	name_id yes = names_intern_z(s->m->names, "true");
	if (is_true(r, call, "zero_init"))
		attrs = nv_with_name(r, attrs, "zero_init", yes);
	if (is_true(r, call, "resets_to_zero"))
		attrs = nv_with_name(r, attrs, "resets_to_zero", yes);
	attrs_id others = nv_attrs(r, OP_ALLOCATE, call, but);
	for (uint32_t i = 0; i < s->m->attrs.at[others].n; i++) {
		struct attr a = s->m->attrs.at[others].at[i];
		attrs = ir_attrs_with(s->m, attrs, &a);
	}
	ast_id size = nv_key(r, call, "size");
	if (size && !t->formal)
		check_size(r, t, size);
	allocate(r, t, ast_at(s->a, target)->at, ast_at(s->a, stmt)->at, attrs);
}

/* Returns true if an expression is ALLOCATE(…). */
static bool is_allocate(struct nv_reader *r, ast_id expr)
{
	return nv_is(r, expr, AST_CALL) && !strcmp(ast_text(r->s->a, expr), "ALLOCATE");
}

static bool is_in(struct nv_reader *r, ast_id list, name_id name)
{
	ast_each (r->s->a, tensor, list)
		if (nv_is(r, tensor, AST_TENSOR) && ast_at(r->s->a, tensor)->name == name)
			return true;
	return false;
}

ast_id nv_find_definition(struct nv_reader *r, ast_id tree, name_id name, bool written)
{
	static const char *const result[] = {"output", "out"};
	struct ast *a = r->s->a;
	ast_id stmt = shape_expand(a, tree);
	uint8_t kind = ast_at(a, stmt)->kind;
	if (kind == AST_DEF)
		return is_in(r, ast_at(a, stmt)->first, name) &&
		               !(written && is_allocate(r, ast_child(a, stmt, 1)))
		           ? stmt
		           : 0;
	ast_id action = kind == AST_DO ? ast_at(a, stmt)->first : 0;
	for (unsigned i = 0; i < 2 && nv_is(r, action, AST_COMM); i++) {
		ast_id output = nv_key(r, action, result[i]);
		if (output)
			return ast_at(a, output)->name == name ? stmt : 0;
	}
	ast_id posted = action ? nv_key(r, action, "outputs") : 0;
	if (posted)
		return is_in(r, posted, name) ? stmt : 0;
	ast_id found = 0;
	if (kind == AST_FOR || kind == AST_IF || kind == AST_BLOCK)
		ast_each (a, child, stmt)
			found = found ? found : nv_find_definition(r, child, name, written);
	return found;
}

void nv_allocate_outputs(struct nv_reader *r, ast_id stmt)
{
	struct sema *s = r->s;
	for (uint32_t i = 0; i < r->tensor.n && s->region == s->m->body; i++) {
		struct nv_tensor *t = &r->tensor.at[i];
		if (!t->output || t->value || t->loop_view || !nv_find_definition(r, stmt, t->name, false))
			continue;
		nv_make_buffer(r, t, ast_at(s->a, stmt)->at);
	}
}

value_id nv_allocate_received(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	if (r->has_facts || t->received < 2)
		return 0;
	return nv_make_buffer(r, t, at);
}

bool nv_is_undefined(struct nv_reader *r, const struct nv_tensor *t)
{
	return !t->input && !nv_find_definition(r, r->body, t->name, true);
}

/* Returns true if another tensor of the listing is on other devices. */
static bool has_other_devices(struct nv_reader *r, const struct nv_tensor *t)
{
	const struct module *m = r->s->m;
	mesh_id mesh = m->type.at[t->type].mesh;
	for (uint32_t i = 0; mesh && i < r->tensor.n; i++) {
		mesh_id other = r->tensor.at[i].formal ? 0 : m->type.at[r->tensor.at[i].type].mesh;
		if (other && other != mesh)
			return true;
	}
	return false;
}

bool nv_allocate_elsewhere(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	struct sema *s = r->s;
	if (r->has_facts || t->value || !has_other_devices(r, t) ||
	    nv_find_definition(r, r->body, t->name, false))
		return false;
	diag_warning(
	    s->d, W_PRINTED_ELSEWHERE, at,
	    "%s is defined nowhere in this listing; it is taken for a tensor of another device's program",
	    names_text(s->m->names, t->name));
	nv_make_buffer(r, t, at);
	return true;
}

void nv_buffer_collect(struct nv_reader *r, ast_id stmt)
{
	struct ast *a = r->s->a;
	bool defines = nv_is(r, stmt, AST_DEF);
	ast_id call = defines                  ? ast_child(a, stmt, 1)
	              : nv_is(r, stmt, AST_DO) ? ast_at(a, stmt)->first
	                                       : 0,
	       tensor = 0;
	bool allocates = defines && nv_is(r, call, AST_CALL) && !strcmp(ast_text(a, call), "ALLOCATE"),
	     shards = defines && nv_is(r, call, AST_CALL) && !strcmp(ast_text(a, call), "ShardByStream");
	if (allocates)
		tensor = ast_at(a, ast_at(a, stmt)->first)->first;
	else if (shards)
		tensor = ast_at(a, call)->first;
	else if (!defines && nv_is(r, call, AST_COMM))
		tensor = nv_key(r, call, "output");
	struct nv_tensor *t =
	    nv_is(r, tensor, AST_TENSOR) ? nv_find_tensor(r, ast_at(a, tensor)->name) : NULL;
	if (!t || r->has_facts)
		return;
	t->unsized |= allocates && !nv_key(r, call, "size");
	t->sharded |= shards;
	t->received += !defines && t->received < 2;
}

bool nv_is_whole(const struct nv_tensor *t)
{
	return t->input || t->output || (t->unsized && t->sharded);
}

/* Reads Deallocate { T0 }. Of a view nvFuser only drops the handle: the buffer stays. */
void nv_deallocate(struct nv_reader *r, ast_id stmt)
{
	ast_id tensor = ast_at(r->s->a, stmt)->first;
	value_id v = nv_operand(r, tensor);
	if (v && !ir_is_part(r->s->m, v) && !nv_find_tensor(r, ast_at(r->s->a, tensor)->name)->alias)
		nv_append(r, ir_op_new(r->s->m, OP_DEALLOCATE, ast_at(r->s->a, stmt)->at,
		                       &(struct ir_use){ROLE_FREE, v}, 1));
}

/* Returns true if a statement reads or writes the buffer of a value. */
static bool uses_buffer(const struct module *m, op_id op, value_id buffer)
{
	static const enum role roles[] = {ROLE_DEF, ROLE_READ, ROLE_WRITE};
	for (unsigned i = 0; i < 3; i++)
		for (unsigned k = 0; k < op_role_count(m, op, roles[i]); k++)
			if (ir_root(m, op_operand_id(m, op, roles[i], k)) == buffer)
				return true;
	return false;
}

void nv_deallocate_after_wait(struct nv_reader *r, op_id wait)
{
	struct module *m = r->s->m;
	region_id region = nv_op(r, wait)->parent;
	for (unsigned k = 0; k < op_role_count(m, wait, ROLE_STATEMENT); k++) {
		op_id comm = op_operand_id(m, wait, ROLE_STATEMENT, k);
		op_id op = comm && nv_op(r, comm)->parent == region ? nv_op(r, comm)->next : 0;
		while (op && op != wait) {
			op_id next = nv_op(r, op)->next;
			if (nv_op(r, op)->kind == OP_DEALLOCATE &&
			    uses_buffer(m, comm, op_operand_id(m, op, ROLE_FREE, 0)))
				ir_move_to_end(m, region, op);
			op = next;
		}
	}
}

/* Returns the number that the listing gives an axis of an operand. The value of a tensor that is defined for a second
 * time has other numbers. */
static int32_t listed_number(struct nv_reader *r, ast_id operand, value_id v, unsigned axis)
{
	const struct nv_tensor *t = nv_find_tensor(r, ast_at(r->s->a, operand)->name);
	if (t && t->value == v && t->type == r->s->m->value.at[v].type && t->number_at < r->number.n)
		return r->number.at[t->number_at + axis] & ~NUMBER_BROADCAST;
	return ir_axis_number(r->s->m, v, axis);
}

/* Returns the logical axis of an operand with the number of an id. */
static int logical_axis(struct nv_reader *r, ast_id operand, value_id v, ast_id id)
{
	const struct domain *d = value_domain(r->s->m, v);
	for (unsigned a = 0; a < d->rank; a++)
		if (listed_number(r, operand, v, a) == ast_at(r->s->a, id)->value.i)
			return (int)a;
	return -1;
}

/* Reads SymmetricContiguousView(T0). */
void nv_symmetric_view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call)
{
	struct sema *s = r->s;
	struct nv_tensor *t;
	uint8_t axes[IR_MAX_MESH_AXES];
	ast_id operand = ast_at(s->a, call)->first;
	value_id bound, from = operand ? nv_operand(r, operand) : 0;
	if (!nv_result(r, target, &t, &bound))
		return;
	if (bound) {
		diag_error(s->d, E_DEFINED_TWICE, ast_at(s->a, target)->at, "%s is defined twice",
		           ast_text(s->a, target));
		return;
	}
	attrs_id attrs = nv_attrs(r, OP_SYMMETRIC_VIEW, call, (const char *const[]){NULL});
	value_id v = nv_define(r, t, ast_at(s->a, target)->at);
	if (!from)
		nv_refuse(r, E_OPERAND_COUNT, call, "SymmetricContiguousView has one operand");
	else if (value_type(s->m, from)->memory != MEMORY_SYMMETRIC)
		nv_refuse(r, E_SYMMETRIC, operand,
		          "the operand of a SymmetricContiguousView is in symmetric memory");
	else if (!infer_symmetric_axes(s->m, s->m->value.at[from].type, s->m->value.at[v].type, axes))
		nv_refuse(r, E_SYMMETRIC, target,
		          "this is not the operand with one mesh axis' blocks side by side");
	if (!from)
		return;
	struct ir_use use[] = {{ROLE_DEF, v}, {ROLE_READ, from}};
	op_id op = ir_op_new(s->m, OP_SYMMETRIC_VIEW, ast_at(s->a, stmt)->at, use, 2);
	nv_append(r, op);
	nv_op(r, op)->attrs = attrs;
	team_id team = infer_symmetric_team(s->m, op);
	nv_op(r, op)->team = team;
}

/* Returns true if the tensor's value is already this view. */
static bool is_same_view(struct nv_reader *r, value_id v, enum op_kind kind, value_id from, attrs_id attrs,
                         scalar_id index)
{
	op_id def = r->s->m->value.at[v].def;
	return def && nv_op(r, def)->kind == kind && nv_op(r, def)->attrs == attrs &&
	       op_read(r->s->m, def, 0) == from && op_operand_id(r->s->m, def, ROLE_SCALAR, 0) == index;
}

/* Returns true if the id with this number is a reduction of the operand, which holds no elements. */
static bool is_reduction(struct nv_reader *r, ast_id operand, value_id v, ast_id id)
{
	const struct domain *d = value_domain(r->s->m, v);
	for (unsigned a = d->rank; a < d->logical_n; a++)
		if (d->axis[a].kind == AXIS_REDUCE &&
		    listed_number(r, operand, v, a) == ast_at(r->s->a, id)->value.i)
			return true;
	return false;
}

/* Reads HirAliasSelect( T0, axis = iS1{8}, index = i ) or ShardByStream(T0, stream_index = i). */
void nv_view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call, bool select)
{
	static const char *const but_select[] = {"axis", "index", NULL}, *const but_shard[] = {"stream_index",
	                                                                                       NULL};
	struct sema *s = r->s;
	struct nv_tensor *t;
	ast_id operand = ast_at(s->a, call)->first;
	value_id bound, from = operand ? nv_operand(r, operand) : 0;
	ast_id axis = select ? nv_need_key(r, call, "axis") : 0,
	       index = nv_need_key(r, call, select ? "index" : "stream_index");
	if (!nv_result(r, target, &t, &bound))
		return;
	if (bound && !ir_is_part(s->m, bound)) {
		diag_error(s->d, E_DEFINED_TWICE, ast_at(s->a, target)->at, "%s is defined twice",
		           ast_text(s->a, target));
		return;
	}
	if (from && axis && nv_is(r, axis, AST_ID) && is_reduction(r, operand, from, axis)) {
		nv_stand_for(r, t, from); /* every index selects the same elements */
		t->alias = true;
		return;
	}
	int k = from && axis && nv_is(r, axis, AST_ID) ? logical_axis(r, operand, from, axis) : -1;
	if (from && axis && k < 0)
		nv_refuse(r, E_AXIS_ATTRIBUTE, axis, "this is no logical axis of the tensor");
	bool alone = select && k >= 0 && *ast_text(s->a, axis) == 'b' &&
	             expr_is_one(s->m, value_domain(s->m, from)->axis[k].extent);
	/* every index of a broadcast axis is its only element */
	scalar_id at_index = alone   ? ir_scalar_expr(s->m, expr_const(s->m, 0))
	                     : index ? nv_scalar(r, index)
	                             : 0;
	if (!from || !at_index || (select && k < 0)) {
		nv_define(r, t, ast_at(s->a, target)->at); /* so that uses of the result are not errors,
		                                              too */
		return;
	}
	attrs_id attrs = 0;
	if (select) {
		struct attr a = {.key = names_intern_z(s->m->names, "axis"), .kind = ATTR_INT, .u.i = k};
		attrs = ir_attrs_with(s->m, 0, &a);
	}
	attrs_id others =
	    nv_attrs(r, select ? OP_SELECT : OP_SHARD_BY_STREAM, call, select ? but_select : but_shard);
	for (uint32_t i = 0; i < s->m->attrs.at[others].n; i++) {
		struct attr a = s->m->attrs.at[others].at[i];
		attrs = ir_attrs_with(s->m, attrs, &a);
	}
	if (bound && is_same_view(r, bound, select ? OP_SELECT : OP_SHARD_BY_STREAM, from, attrs, at_index))
		return;
	value_id v = nv_define(r, t, ast_at(s->a, target)->at);
	const struct infer_draft draft = {.kind = select ? OP_SELECT : OP_SHARD_BY_STREAM,
	                                  .operand = &from,
	                                  .operand_n = 1,
	                                  .attrs = attrs,
	                                  .result_n = 1,
	                                  .stated = s->m->value.at[v].type,
	                                  .at = ast_at(s->a, target)->at};
	if (!infer_check(s->m, s->d, &draft))
		return;
	struct ir_use use[] = {{ROLE_DEF, v}, {ROLE_READ, from}, {ROLE_SCALAR, at_index}};
	op_id op = ir_op_new(s->m, select ? OP_SELECT : OP_SHARD_BY_STREAM, ast_at(s->a, stmt)->at, use, 3);
	nv_append(r, op);
	nv_op(r, op)->attrs = attrs;
}
