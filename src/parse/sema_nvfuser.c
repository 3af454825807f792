/* sema_nvfuser: %HostIrContainer as a program.
 *
 * Tensors are known by their numbers; what they are called, and all else that the container does not
 * show, is in the section `Hirc 1 :` (sema_hirc.c). Types are read before the statements, since they
 * depend on all of the container (sema_collect.c). A statement whose result is bound already writes
 * it; operations go the way of the concise surface (sema_call.c). */
#include "ir/edit.h"
#include "ir/number.h"
#include "ir/print_order.h"
#include "parse/nvfuser.h"
#include <stdio.h>
#include <string.h>

static void block(struct nv_reader *r, ast_id list);

static struct op *op_at(struct nv_reader *r, op_id op)
{
	return &r->s->m->op.at[op];
}

static void append(struct nv_reader *r, op_id op)
{
	ir_append(r->s->m, r->s->region, op);
}

static bool is_kind(struct nv_reader *r, ast_id id, enum ast_kind kind)
{
	return id && ast_at(r->s->a, id)->kind == kind;
}

static bool is_name(struct nv_reader *r, ast_id id, const char *text)
{
	return is_kind(r, id, AST_NAME) && !strcmp(ast_text(r->s->a, id), text);
}

static bool refuse(struct nv_reader *r, ast_id node, const char *message)
{
	const struct ast_node *n = ast_at(r->s->a, node);
	diag_error_span(r->s->d, n->at, n->end - n->at, "%s", message);
	return false;
}

/* ---- tensors */

/* Whether what a region defines is visible in the one being filled. */
static bool is_visible(struct nv_reader *r, region_id defined)
{
	for (region_id g = r->s->region;;) {
		if (g == defined)
			return true;
		op_id owner = r->s->m->region.at[g].owner;
		if (!owner)
			return false;
		g = op_at(r, owner)->parent;
	}
}

/* What the value of a tensor has beyond its type. */
static void finish_value(struct nv_reader *r, struct nv_tensor *t, value_id v)
{
	struct sema *s = r->s;
	struct value *x = &s->m->value.at[v];
	int32_t number = sema_numbered(s, t->name, 'T');
	x->type = t->type; /* as printed: hidden axes are all there */
	x->name = t->given;
	x->number = t->value ? -1 : number; /* a second definition in another block gets a number of its own */
	x->flags |= (t->open ? VALUE_OPEN : 0) | (t->output ? VALUE_OUTPUT : 0);
	if (t->number_at < r->number.n && ir_domain(s->m, value_type(s->m, v)->domain)->axis_n)
		ir_set_axis_numbers(s->m, v, r->number.at + t->number_at);
	t->value = v;
	t->region = s->region;
	while (s->tensor_of.n <= t->name)
		vec_push(&s->tensor_of, 0);
	s->tensor_of.at[t->name] = v;
}

/* The value that a statement's result names: a bound one is written. Otherwise *defines is set and
 * the caller makes it. False after reporting. */
static bool find_result(struct nv_reader *r, ast_id node, struct nv_tensor **t, value_id *bound)
{
	*bound = 0;
	if (!is_kind(r, node, AST_TENSOR))
		return refuse(r, node, "a result is a tensor");
	*t = nv_find_tensor(r, ast_at(r->s->a, node)->name);
	if (!(*t)->value || !is_visible(r, (*t)->region))
		return true;
	if (!ir_is_bound(r->s->m, (*t)->value)) {
		diag_error(r->s->d, ast_at(r->s->a, node)->at, "%s is defined twice", ast_text(r->s->a, node));
		diag_note(r->s->d, r->s->m->value.at[(*t)->value].at, "it is no buffer: neither input, ALLOCATE nor view binds it");
		return false;
	}
	*bound = (*t)->value;
	return true;
}

static value_id define(struct nv_reader *r, struct nv_tensor *t, uint32_t at)
{
	value_id v = ir_value_new(r->s->m, t->type, t->given, at);
	finish_value(r, t, v);
	return v;
}

static value_id find_operand(struct nv_reader *r, ast_id node)
{
	if (!is_kind(r, node, AST_TENSOR)) {
		refuse(r, node, "a tensor is expected here");
		return 0;
	}
	const struct nv_tensor *t = nv_find_tensor(r, ast_at(r->s->a, node)->name);
	if (t && t->value && is_visible(r, t->region))
		return t->value;
	diag_error(r->s->d, ast_at(r->s->a, node)->at, "%s is used before it is defined", ast_text(r->s->a, node));
	return 0;
}

static scalar_id scalar(struct nv_reader *r, ast_id e)
{
	expr_id x = sema_expr(r->s, e);
	return x ? ir_scalar_expr(r->s->m, x) : 0;
}

static attrs_id with_name(struct nv_reader *r, attrs_id attrs, const char *key, name_id value)
{
	struct attr a = {.key = names_intern_z(r->s->m->names, key), .kind = ATTR_NAME, .u.name = value};
	return ir_attrs_with(r->s->m, attrs, &a);
}

/* The keys of a call or attr line but those named, as attributes. */
static attrs_id other_keys(struct nv_reader *r, ast_id call, const char *const *but)
{
	attrs_id all = 0;
	if (!sema_attrs(r->s, call, but, &all))
		return 0;
	return all;
}

/* ---- streams */

/* Handles stand in the scalars' scope by the name "0x1", those of old dumps also by "1". */
static name_id handle_key(struct nv_reader *r, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof text, "0x%llx", (unsigned long long)value);
	return names_intern_z(r->s->m->names, text);
}

static void bind_handle(struct nv_reader *r, name_id key, handle_id h, uint32_t at)
{
	struct sema *s = r->s;
	const struct scope_entry *old = sema_find_scalar(s, key);
	if (old && old->depth == s->depth)
		s->entry.at[old - s->entry.at].id = h; /* nvFuser takes the stream anew */
	else
		sema_define_scalar(s, key, SCOPE_HANDLE, h, at);
}

static void get_current_stream(struct nv_reader *r, ast_id stmt, ast_id target)
{
	struct sema *s = r->s;
	const char *text = ast_text(s->a, target);
	bool hexadecimal = text[0] == '0' && text[1] == 'x';
	uint64_t value = strtoull(text, NULL, hexadecimal ? 16 : 10);
	const struct nv_fact *given = nv_find_fact(r->handle_name.at, r->handle_name.n, value);
	handle_id h = ir_handle_add(s->m, given ? given->name : 0);
	if (value > 0 && value <= INT32_MAX / 2)
		s->m->handle.at[h].number = (int32_t)value;
	bind_handle(r, handle_key(r, value), h, ast_at(s->a, target)->at);
	if (!hexadecimal)
		bind_handle(r, ast_at(s->a, target)->name, h, ast_at(s->a, target)->at);
	append(r, ir_op_new(s->m, OP_GET_CURRENT_STREAM, ast_at(s->a, stmt)->at, &(struct ir_use){ROLE_HANDLE, h}, 1));
}

static bool find_stream(struct nv_reader *r, ast_id stream, struct ir_use *out)
{
	struct sema *s = r->s;
	ast_id e = is_kind(r, stream, AST_STREAM) ? ast_at(s->a, stream)->first : 0;
	const struct ast_node *n = ast_at(s->a, e ? e : stream);
	const struct scope_entry *x = NULL;
	if (!e)
		return refuse(r, stream, "a stream is expected here, as in `Stream i3` or `Stream 0x1`");
	if (n->kind == AST_HANDLE)
		x = sema_find_scalar(s, handle_key(r, strtoull(ast_text(s->a, e), NULL, 16)));
	if (n->kind == AST_INT && n->value.i >= 0) {
		char text[24];
		snprintf(text, sizeof text, "%lld", (long long)n->value.i);
		uint32_t name = names_find(s->m->names, text, strlen(text));
		x = name ? sema_find_scalar(s, name) : NULL;
	}
	if (x && x->kind == SCOPE_HANDLE) {
		*out = (struct ir_use){ROLE_HANDLE, x->id};
		return true;
	}
	if (n->kind == AST_HANDLE)
		return refuse(r, e, "no GetCurrentStream defines this stream");
	*out = (struct ir_use){ROLE_SCALAR, scalar(r, e)};
	return out->id != 0;
}

static void stream_call(struct nv_reader *r, ast_id call, enum op_kind kind)
{
	struct ir_use use;
	ast_id stream = ast_at(r->s->a, call)->first;
	if (!stream || ast_at(r->s->a, stream)->next)
		refuse(r, call, "this takes one stream");
	else if (find_stream(r, stream, &use))
		append(r, ir_op_new(r->s->m, kind, ast_at(r->s->a, call)->at, &use, 1));
}

/* ---- Communications */

static void number_statement(struct nv_reader *r, struct nv_statement *x, op_id op)
{
	struct op *o = op_at(r, op);
	o->flags |= OP_ASYNC;
	o->number = x->number >= 0 && x->number <= INT32_MAX / 2 ? (int32_t)x->number : -1;
	o->name = x->given;
	x->op = op;
}

static attrs_id statement_attrs(struct nv_reader *r, const struct nv_statement *x, ast_id comm)
{
	static const char *const but[] = {"issue", NULL};
	attrs_id attrs = x->attrs ? other_keys(r, x->attrs, but) : 0;
	ast_id backend = nv_key(r, comm, "backend");
	if (backend && is_kind(r, backend, AST_NAME) && !is_name(r, backend, "NCCL"))
		attrs = with_name(r, attrs, "backend", ast_at(r->s->a, backend)->name);
	return attrs;
}

static bool check_keys(struct nv_reader *r, ast_id comm, const char *const *known)
{
	for ast_each(r->s->a, key, comm) {
		const char *const *k = known;
		while (*k && strcmp(*k, ast_text(r->s->a, key)))
			k++;
		if (!*k || !is_kind(r, key, AST_KEY)) {
			diag_error(r->s->d, ast_at(r->s->a, key)->at, "%s has no '%s'", ast_text(r->s->a, comm), ast_text(r->s->a, key));
			return false;
		}
	}
	return true;
}

static ast_id need_key(struct nv_reader *r, ast_id comm, const char *key)
{
	ast_id value = nv_key(r, comm, key);
	if (!value)
		diag_error(r->s->d, ast_at(r->s->a, comm)->at, "%s needs %s=", ast_text(r->s->a, comm), key);
	return value;
}

static op_id transfer(struct nv_reader *r, struct nv_statement *x, ast_id comm)
{
	static const char *const known[] = {"type", "buffer", "peer", "backend", NULL};
	struct sema *s = r->s;
	ast_id type = need_key(r, comm, "type"), buffer = need_key(r, comm, "buffer"), peer = need_key(r, comm, "peer");
	if (!type || !buffer || !peer || !check_keys(r, comm, known))
		return 0;
	bool send = is_name(r, type, "send");
	if (!send && !is_name(r, type, "recv")) {
		refuse(r, type, "a P2PCommunication is a send or a recv");
		return 0;
	}
	value_id v = find_operand(r, buffer);
	scalar_id to = v ? scalar(r, peer) : 0;
	if (!to)
		return 0;
	struct ir_use use[2] = {{ROLE_READ, v}, {ROLE_SCALAR, to}};
	if (!send) {
		use[0] = use[1];
		use[1] = (struct ir_use){ROLE_WRITE, v};
	}
	if (!send && !ir_is_bound(s->m, v)) {
		refuse(r, buffer, "a recv writes a buffer, and this is none");
		return 0;
	}
	op_id op = ir_op_new(s->m, send ? OP_SEND : OP_RECV, ast_at(s->a, comm)->at, use, 2);
	append(r, op);
	op_at(r, op)->attrs = statement_attrs(r, x, comm);
	number_statement(r, x, op);
	return op;
}

/* Communication N (type=Allreduce, …) and CollectivePermute N (…). */
static void collective(struct nv_reader *r, struct nv_statement *x, ast_id comm)
{
	static const char *const known[] = {"type", "team", "root", "input", "output", "backend", "send_peer", "recv_peer", NULL};
	struct sema *s = r->s;
	ast_id type = nv_key(r, comm, "type"), input = need_key(r, comm, "input"), output = need_key(r, comm, "output"), team = nv_key(r, comm, "team");
	enum op_kind kind = OP_COLLECTIVE_PERMUTE;
	if (strcmp(ast_text(s->a, comm), "CollectivePermute"))
		kind = is_kind(r, type, AST_NAME) ? op_by_nvfuser(ast_text(s->a, type)) : OP_NONE;
	if (!input || !output || !check_keys(r, comm, known))
		return;
	if (!(op_info[kind].traits & TRAIT_COLLECTIVE)) {
		refuse(r, type ? type : comm, "type= is Allgather, Allreduce, ReduceScatter, Reduce, Broadcast, Gather, Scatter, SendRecv, AllToAll or CollectivePermute");
		return;
	}
	struct ir_use use[5];
	unsigned n = 1;
	struct nv_tensor *t;
	value_id bound, from = find_operand(r, input);
	team_id members = 0;
	if (!from || !find_result(r, output, &t, &bound) || (team && !sema_team(s, team, &members)))
		return;
	use[n++] = (struct ir_use){ROLE_READ, from};
	const char *keys[] = {"root", NULL};
	if (kind == OP_COLLECTIVE_PERMUTE)
		keys[0] = "send_peer", keys[1] = "recv_peer";
	for (unsigned k = 0; k < 2 && keys[k] && op_info[kind].traits & (kind == OP_COLLECTIVE_PERMUTE ? TRAIT_COLLECTIVE : TRAIT_ROOTED); k++) {
		ast_id e = need_key(r, comm, keys[k]);
		scalar_id value = e ? scalar(r, e) : 0;
		if (!value)
			return;
		use[n++] = (struct ir_use){ROLE_SCALAR, value};
	}
	uint32_t at = ast_at(s->a, comm)->at;
	if (bound)
		use[n++] = (struct ir_use){ROLE_WRITE, bound};
	else
		use[0] = (struct ir_use){ROLE_DEF, define(r, t, ast_at(s->a, output)->at)};
	op_id op = ir_op_new(s->m, kind, at, bound ? use + 1 : use, bound ? n - 1 : n);
	append(r, op);
	op_at(r, op)->team = members;
	op_at(r, op)->attrs = statement_attrs(r, x, comm);
	number_statement(r, x, op);
}

static void post(struct nv_reader *r, op_id transfer, uint32_t at)
{
	append(r, ir_op_new(r->s->m, OP_POST, at, &(struct ir_use){ROLE_STATEMENT, transfer}, 1));
}

/* A Communication that stands as a statement. */
static void communication(struct nv_reader *r, ast_id comm)
{
	struct sema *s = r->s;
	const struct ast_node *n = ast_at(s->a, comm);
	const char *name = ast_text(s->a, comm);
	struct nv_statement *x = nv_find_statement(r, n->value.i);
	bool is_transfer = !strcmp(name, "P2PCommunication");
	if (x->op && is_transfer && op_info[op_at(r, x->op)->kind].traits & TRAIT_P2P) {
		post(r, x->op, n->at);
		return;
	}
	if (x->op) {
		diag_error(s->d, n->at, "%s %lld stands twice", name, (long long)n->value.i);
		diag_note(s->d, op_at(r, x->op)->at, "the first is here");
		return;
	}
	if (is_transfer) {
		op_id op = transfer(r, x, comm);
		if (op && x->count > 1 && x->issue == ISSUE_BY_TEXT)
			post(r, op, n->at);
	} else if (!strcmp(name, "EndCoalescing")) {
		op_id op = ir_op_new(s->m, OP_END_COALESCING, n->at, NULL, 0);
		append(r, op);
		op_at(r, op)->attrs = statement_attrs(r, x, comm);
		number_statement(r, x, op);
	} else if (!strcmp(name, "Communication") || !strcmp(name, "CollectivePermute")) {
		collective(r, x, comm);
	} else {
		diag_error(s->d, n->at, "%s is not supported", name);
	}
}

/* Wait, post and ShareMemHandles: operands that are statements. */
static void naming_call(struct nv_reader *r, ast_id call, enum op_kind kind)
{
	struct sema *s = r->s;
	VEC(struct ir_use) use = {0};
	VEC(struct nv_pending) pending = {0};
	bool ok = true;
	for ast_each(s->a, child, call) {
		const struct ast_node *n = ast_at(s->a, child);
		if (n->kind != AST_COMM && n->kind != AST_COMM_REF) {
			ok = refuse(r, child, "a Communication is expected here");
			break;
		}
		struct nv_statement *x = nv_find_statement(r, n->value.i);
		if (!x->op && n->kind == AST_COMM && kind == OP_SHARE_MEM_HANDLES && x->issue == ISSUE_BY_TEXT && !(ok = transfer(r, x, child) != 0))
			break;
		if (!x->op)
			vec_push(&pending, (struct nv_pending){use.n, (uint32_t)(x - r->statement.at)});
		vec_push(&use, (struct ir_use){ROLE_STATEMENT, x->op});
	}
	if (ok && !use.n)
		ok = refuse(r, call, "this names at least one Communication");
	if (ok && use.n <= IR_MAX_OPERANDS) {
		op_id op = ir_op_new(s->m, kind, ast_at(s->a, call)->at, use.at, use.n);
		append(r, op);
		for (uint32_t i = 0; i < pending.n; i++) {
			pending.at[i].operand += op_at(r, op)->operand;
			vec_push(&r->pending, pending.at[i]);
		}
	}
	vec_free(&use);
	vec_free(&pending);
}

static void resolve_pending(struct nv_reader *r)
{
	struct module *m = r->s->m;
	for (uint32_t i = 0; i < r->pending.n; i++) {
		struct operand *o = &m->operand.at[r->pending.at[i].operand];
		const struct nv_statement *x = &r->statement.at[r->pending.at[i].statement];
		o->id = x->op;
		if (!x->op)
			diag_error(r->s->d, m->op.at[o->op].at, "no statement is Communication %lld", (long long)x->number);
	}
}

/* ---- memory */

static bool is_true(struct nv_reader *r, ast_id call, const char *key)
{
	ast_id value = nv_key(r, call, key);
	return value && is_name(r, value, "true");
}

static void allocate(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call)
{
	static const char *const but[] = {"buffer", "mem_type", "size", "zero_init", "resets_to_zero", NULL};
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound;
	if (!find_result(r, target, &t, &bound) || bound)
		return; /* nvFuser's ALLOCATE of a bound tensor does nothing */
	ast_id memory = nv_key(r, call, "mem_type");
	if (memory && is_name(r, memory, "symmetric")) {
		struct type x = s->m->type.at[t->type];
		t->type = type_make(s->m, (enum dtype)x.dtype, MEMORY_SYMMETRIC, x.mesh, x.domain);
	}
	attrs_id attrs = 0;
	name_id yes = names_intern_z(s->m->names, "true");
	if (is_true(r, call, "zero_init"))
		attrs = with_name(r, attrs, "zero_init", yes);
	if (is_true(r, call, "resets_to_zero"))
		attrs = with_name(r, attrs, "resets_to_zero", yes);
	attrs_id others = other_keys(r, call, but);
	for (uint32_t i = 0; i < s->m->attrs.at[others].n; i++) {
		struct attr a = s->m->attrs.at[others].at[i];
		attrs = ir_attrs_with(s->m, attrs, &a);
	}
	value_id v = define(r, t, ast_at(s->a, target)->at);
	op_id op = ir_op_new(s->m, OP_ALLOCATE, ast_at(s->a, stmt)->at, &(struct ir_use){ROLE_DEF, v}, 1);
	append(r, op);
	op_at(r, op)->attrs = attrs;
}

static void deallocate(struct nv_reader *r, ast_id stmt)
{
	value_id v = find_operand(r, ast_at(r->s->a, stmt)->first);
	if (v)
		append(r, ir_op_new(r->s->m, OP_DEALLOCATE, ast_at(r->s->a, stmt)->at, &(struct ir_use){ROLE_FREE, v}, 1));
}

/* The logical axis of a tensor that has the number of an id. */
static int logical_axis(struct nv_reader *r, value_id v, ast_id id)
{
	const struct domain *d = value_domain(r->s->m, v);
	for (unsigned a = 0; a < d->rank; a++)
		if (ir_axis_number(r->s->m, v, a) == ast_at(r->s->a, id)->value.i)
			return (int)a;
	return -1;
}

/* HirAliasSelect( T0, axis = iS1{8}, index = i ) and ShardByStream(T0, stream_index = i) */
static void view(struct nv_reader *r, ast_id stmt, ast_id target, ast_id call, bool select)
{
	static const char *const but_select[] = {"axis", "index", NULL}, *const but_shard[] = {"stream_index", NULL};
	struct sema *s = r->s;
	struct nv_tensor *t;
	value_id bound, from = ast_at(s->a, call)->first ? find_operand(r, ast_at(s->a, call)->first) : 0;
	ast_id axis = select ? need_key(r, call, "axis") : 0, index = need_key(r, call, select ? "index" : "stream_index");
	if (!from || (select && !axis) || !index || !find_result(r, target, &t, &bound))
		return;
	if (bound) {
		diag_error(s->d, ast_at(s->a, target)->at, "%s is defined twice", ast_text(s->a, target));
		return;
	}
	int k = select && is_kind(r, axis, AST_ID) ? logical_axis(r, from, axis) : -1;
	if (select && k < 0) {
		refuse(r, axis, "this is no logical axis of the tensor");
		return;
	}
	scalar_id at_index = scalar(r, index);
	if (!at_index)
		return;
	attrs_id attrs = 0;
	if (select) {
		struct attr a = {.key = names_intern_z(s->m->names, "axis"), .kind = ATTR_INT, .u.i = k};
		attrs = ir_attrs_with(s->m, 0, &a);
	}
	attrs_id others = other_keys(r, call, select ? but_select : but_shard);
	for (uint32_t i = 0; i < s->m->attrs.at[others].n; i++) {
		struct attr a = s->m->attrs.at[others].at[i];
		attrs = ir_attrs_with(s->m, attrs, &a);
	}
	value_id v = define(r, t, ast_at(s->a, target)->at);
	struct ir_use use[] = {{ROLE_DEF, v}, {ROLE_READ, from}, {ROLE_SCALAR, at_index}};
	op_id op = ir_op_new(s->m, select ? OP_SELECT : OP_SHARD_BY_STREAM, ast_at(s->a, stmt)->at, use, 3);
	append(r, op);
	op_at(r, op)->attrs = attrs;
}

/* ---- operations */

/* nvFuser prints cache_op= with every Set; it says nothing here. */
static void drop_cache_op(struct nv_reader *r, ast_id call)
{
	struct ast *a = r->s->a;
	ast_id before = 0;
	for ast_each(a, child, call) {
		if (is_kind(r, child, AST_KEY) && !strcmp(ast_text(a, child), "cache_op")) {
			*(before ? &a->nodes.at[before].next : &a->nodes.at[call].first) = ast_at(a, child)->next;
			return;
		}
		before = child;
	}
}

static void operation(struct nv_reader *r, ast_id stmt, ast_id targets, ast_id expr)
{
	struct sema *s = r->s;
	struct sema_result result[64];
	struct nv_tensor *tensor[64];
	value_id value[64];
	unsigned n = 0;
	if (is_kind(r, expr, AST_CALL) && (!strcmp(ast_text(s->a, expr), "Set") || !strcmp(ast_text(s->a, expr), "SegmenterSet"))) {
		drop_cache_op(r, expr);
		s->a->nodes.at[expr].name = names_intern_z(s->m->names, "set");
	}
	for (ast_id target = targets ? ast_at(s->a, targets)->first : 0; target; target = ast_at(s->a, target)->next) {
		value_id bound;
		if (n == 64) {
			refuse(r, target, "a statement has at most 64 results");
			return;
		}
		if (!find_result(r, target, &tensor[n], &bound))
			return;
		result[n] = (struct sema_result){.type = tensor[n]->type, .bound = bound, .at = ast_at(s->a, target)->at};
		n++;
	}
	op_id op = sema_call(s, expr, result, n, 0, ast_at(s->a, stmt)->at, value);
	for (unsigned k = 0; k < n; k++) {
		if (!op && !tensor[k]->value)
			define(r, tensor[k], result[k].at); /* so that uses do not fail too */
		else if (op && !result[k].bound)
			finish_value(r, tensor[k], value[k]);
	}
}

static void definition(struct nv_reader *r, ast_id stmt)
{
	struct ast *a = r->s->a;
	ast_id targets = ast_child(a, stmt, 0), expr = ast_child(a, stmt, 1), target = ast_at(a, targets)->first;
	bool single = !ast_at(a, target)->next;
	const char *name = is_kind(r, expr, AST_CALL) && !(ast_at(a, expr)->flags & AST_EXTERN) ? ast_text(a, expr) : "";
	if (is_kind(r, target, AST_HANDLE)) {
		if (!single || strcmp(name, "GetCurrentStream"))
			refuse(r, stmt, "a stream is defined by `Stream 0x1 = GetCurrentStream()`");
		else
			get_current_stream(r, stmt, target);
	} else if (single && !strcmp(name, "ALLOCATE")) {
		allocate(r, stmt, target, expr);
	} else if (single && (!strcmp(name, "HirAliasSelect") || !strcmp(name, "ShardByStream"))) {
		view(r, stmt, target, expr, *name == 'H');
	} else {
		operation(r, stmt, targets, expr);
	}
}

static void action(struct nv_reader *r, ast_id stmt)
{
	static const struct {
		const char *name;
		enum op_kind kind;
	} naming[] = {{"Wait", OP_WAIT}, {"post", OP_POST}, {"ShareMemHandles", OP_SHARE_MEM_HANDLES}},
	  streams[] = {{"SetCurrentStream", OP_SET_CURRENT_STREAM}, {"Synchronize", OP_SYNCHRONIZE}};
	struct sema *s = r->s;
	ast_id call = ast_at(s->a, stmt)->first;
	const char *name = ast_text(s->a, call);
	if (is_kind(r, call, AST_COMM)) {
		communication(r, call);
		return;
	}
	for (unsigned i = 0; i < 3; i++)
		if (!strcmp(naming[i].name, name)) {
			naming_call(r, call, naming[i].kind);
			return;
		}
	for (unsigned i = 0; i < 2; i++)
		if (!strcmp(streams[i].name, name)) {
			stream_call(r, call, streams[i].kind);
			return;
		}
	if (!strcmp(name, "StartCoalescing"))
		append(r, ir_op_new(s->m, OP_START_COALESCING, ast_at(s->a, stmt)->at, NULL, 0));
	else
		operation(r, stmt, 0, call);
}

/* ---- loops and conditions */

static bool too_deep(struct nv_reader *r, ast_id stmt)
{
	if (r->s->depth < IR_MAX_NESTING)
		return false;
	diag_error(r->s->d, ast_at(r->s->a, stmt)->at, "blocks are nested deeper than %d", IR_MAX_NESTING);
	return true;
}

static void region(struct nv_reader *r, region_id g, ast_id body)
{
	region_id outer = r->s->region;
	r->s->region = g;
	block(r, body);
	r->s->region = outer;
}

static void loop(struct nv_reader *r, ast_id stmt)
{
	struct sema *s = r->s;
	const struct ast_node n = *ast_at(s->a, stmt);
	bool over_id = n.flags & AST_FOR_IN;
	ast_id first = ast_child(s->a, stmt, 0), body = ast_child(s->a, stmt, over_id ? 1 : 2);
	expr_id from = over_id ? expr_const(s->m, 0) : sema_expr(s, first);
	expr_id to = over_id ? sema_extent(s, ast_at(s->a, first)->first) : sema_expr(s, ast_child(s->a, stmt, 1));
	if (!from || !to || too_deep(r, stmt))
		return;
	struct ir_use use[] = {{ROLE_SCALAR, ir_scalar_expr(s->m, from)}, {ROLE_SCALAR, ir_scalar_expr(s->m, to)}};
	op_id op = ir_op_new(s->m, OP_FOR, n.at, use, 2);
	append(r, op);
	int32_t number = sema_numbered(s, n.name, 'i');
	const struct nv_fact *given = number < 0 ? NULL : nv_find_fact(r->index_name.at, r->index_name.n, (uint64_t)number);
	index_id index = ir_index_add(s->m, number < 0 ? n.name : given ? given->name : 0);
	s->m->index.at[index].number = number;
	region_id g = ir_region_new(s->m, op);
	s->m->region.at[g].index = index;
	sema_scope_push(s);
	sema_define_scalar(s, n.name, SCOPE_INDEX, index, n.at);
	region(r, g, body);
	sema_scope_pop(s);
	const struct nv_fact *kind = number < 0 ? NULL : nv_find_fact(r->index_kind.at, r->index_kind.n, (uint64_t)number);
	bool stream = over_id || print_order_loop_is_stream(s->m, op);
	if (kind)
		stream = !strcmp(names_text(s->m->names, kind->name), "stream");
	op_at(r, op)->flags |= stream ? OP_STREAM_LOOP : 0;
}

static void condition(struct nv_reader *r, ast_id stmt)
{
	struct sema *s = r->s;
	ast_id then = ast_child(s->a, stmt, 1), otherwise = ast_child(s->a, stmt, 2);
	scalar_id c = scalar(r, ast_child(s->a, stmt, 0));
	if (!c || too_deep(r, stmt))
		return;
	op_id op = ir_op_new(s->m, OP_IF, ast_at(s->a, stmt)->at, &(struct ir_use){ROLE_SCALAR, c}, 1);
	append(r, op);
	region(r, ir_region_new(s->m, op), then);
	if (is_kind(r, otherwise, AST_BLOCK))
		region(r, ir_region_new(s->m, op), otherwise);
}

static void block(struct nv_reader *r, ast_id list)
{
	struct sema *s = r->s;
	if (!list)
		return;
	sema_scope_push(s);
	for ast_each(s->a, stmt, list)
		switch (ast_at(s->a, stmt)->kind) {
		case AST_DEF: definition(r, stmt); break;
		case AST_DO: action(r, stmt); break;
		case AST_FOR: loop(r, stmt); break;
		case AST_IF: condition(r, stmt); break;
		case AST_DEALLOCATE: deallocate(r, stmt); break;
		default: break;
		}
	sema_scope_pop(s);
}

/* ---- the container */

static void inputs(struct nv_reader *r, ast_id list)
{
	struct sema *s = r->s;
	static const char *const but[] = {"layout", "mesh", "inout", NULL};
	for ast_each(s->a, node, list) {
		struct nv_tensor *t = nv_find_tensor(r, ast_at(s->a, node)->name);
		if (!t || t->value)
			continue;
		value_id v = define(r, t, ast_at(s->a, node)->at);
		bool inout = t->inout < 0 ? t->output : t->inout;
		s->m->value.at[v].flags |= VALUE_INPUT | (inout ? VALUE_INOUT | VALUE_OUTPUT : 0);
		struct input x = {.value = v};
		if (t->init)
			sema_initialiser(s, t->init, &x);
		if (t->attrs)
			x.attrs = other_keys(r, t->attrs, but);
		vec_push(&s->m->input, x);
	}
}

static void outputs(struct nv_reader *r, ast_id list)
{
	struct sema *s = r->s;
	for ast_each(s->a, node, list) {
		struct nv_tensor *t = nv_find_tensor(r, ast_at(s->a, node)->name);
		if (t && t->value)
			vec_push(&s->m->output, t->value);
		else if (t)
			diag_error(s->d, ast_at(s->a, node)->at, "output %s is never defined", ast_text(s->a, node));
	}
}

static void program_facts(struct nv_reader *r)
{
	struct sema *s = r->s;
	s->m->name = r->program_name ? r->program_name : names_intern_z(s->m->names, "main");
	for (uint32_t i = 0; i < r->tensor.n && !s->m->default_mesh; i++)
		s->m->default_mesh = s->m->type.at[r->tensor.at[i].type].mesh;
	if (r->no_mesh)
		s->m->default_mesh = 0;
	if (r->program_mesh) {
		s->m->default_mesh = sema_find_mesh(s, r->program_mesh);
		if (!s->m->default_mesh)
			diag_error(s->d, DIAG_NOWHERE, "the section Hirc names an unknown mesh '%s'", names_text(s->m->names, r->program_mesh));
	}
	s->mesh = s->m->default_mesh;
}

void sema_container(struct sema *s, ast_id file, ast_id container)
{
	struct nv_reader r = {.s = s};
	unsigned before = diag_error_count(s->d);
	(void)file;
	for ast_each(s->a, section, container)
		if (is_kind(&r, section, AST_SECTION) && !strcmp(ast_text(s->a, section), "Hirc"))
			nv_declarations(&r, section);
	nv_collect(&r, container);
	for ast_each(s->a, section, container)
		if (is_kind(&r, section, AST_SECTION) && !strcmp(ast_text(s->a, section), "Hirc"))
			nv_facts(&r, section);
	for (uint32_t i = 0; i < r.tensor.n; i++)
		nv_type(&r, &r.tensor.at[i]);
	if (diag_error_count(s->d) == before) {
		program_facts(&r);
		inputs(&r, ast_child(s->a, container, 0));
		block(&r, ast_child(s->a, container, 2));
		outputs(&r, ast_child(s->a, container, 1));
		resolve_pending(&r);
	}
	vec_free(&r.tensor);
	vec_free(&r.tensor_of);
	vec_free(&r.statement);
	vec_free(&r.index_name);
	vec_free(&r.index_kind);
	vec_free(&r.handle_name);
	vec_free(&r.named);
	vec_free(&r.number);
	vec_free(&r.pending);
	vec_free(&r.mesh);
}
