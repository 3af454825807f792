/* sema_spelling: turns the operations that nvFuser spells in its own way into those of ops.def.
 *
 *     __bfloat2float(T0…), __to_float(T0…)        cast(T0…): sema_function.c, as other names
 *     fmax(T0…, double(2))                        maximum(T0…, 2.0); of integers max(T0…, 2)
 *     Set.Permute( T0… )                          permute(T0…, dims=(1, 0)): sema_permute.c
 *     broadcast( T0…, flags = {true, false} )     reshape(T0…), and likewise squeeze
 *     broadcast( T0… )                            reshape(T0…) where it adds axes behind those of T0
 *     expand( T0…, {4, 8} ), repeat( T0… )        broadcast(T0…)
 *     reduction( T0…, op = add, … )               sum(T0…, axis=1): sema_reduction.c
 *     scan(T0…, dim=1, op_type=add, init=…)       scan(T0…, axis=1): sema_reduction.c
 *     pad( T0…, {0, 0, 1, 2} )                    pad(T0…, axis=1, before=1, after=2): sema_ranges.c, as slice
 *     cat( T0…, T1…, 0 )                          cat(T0…, T1…, axis=0)
 *     full({4, 8}, double(0)), full({}double(0))  full(0.0)
 *     TensorConstruct(double(0))                  full(0.0)
 *     iota(8, 0, 1, int64_t)                      iota(): sema_iota.c
 *     eye(8, float)                               one_hot(iota()): sema_iota.c
 *     rng_uniform({4, 8}, float)                  uniform(seed=0, offset=N): sema_random.c
 *     isreal(T0…)                                 full(1)
 *     reciprocal(T0…)                             1.0 / T0…
 *     clamp(T0…, double(0), double(1))            minimum(maximum(T0…, 0.0), 1.0)
 *     threshold(T0…, double(1), double(5))        where(T0… <= 1.0, 5.0, T0…)
 *     T0… & T1…                                   T0… and T1…, of bools; likewise | ^ ~
 *     T0… % T1…                                   fmod(T0…, T1…): the remainder has the sign of T0
 *     frac(T0…)                                   T0… - trunc(T0…)
 *     fma(T0…, T1…, T2…)                          T0… * T1… + T2…
 *     lerp(T0…, T1…, T2…)                         T0… + T2… * (T1… - T0…)
 *
 * The tree is changed in place. Forms of hirc's own, with keys, stay as they are. */
#include "parse/nvfuser.h"
#include "parse/shape.h"
#include <stdio.h>
#include <string.h>

ast_id nv_node(struct nv_reader *r, enum ast_kind kind, ast_id like, const char *name)
{
	struct ast *a = r->s->a;
	struct ast_node n = {.kind = (uint8_t)kind, .at = ast_at(a, like)->at, .end = ast_at(a, like)->end};
	n.name = name ? names_intern_z(r->s->m->names, name) : 0;
	vec_push(&a->nodes, n);
	return a->nodes.n - 1;
}

ast_id nv_node_int(struct nv_reader *r, ast_id like, int64_t value)
{
	ast_id id = nv_node(r, AST_INT, like, NULL);
	r->s->a->nodes.at[id].value.i = value;
	return id;
}

ast_id nv_node_expr(struct nv_reader *r, ast_id like, expr_id e)
{
	char text[40];
	snprintf(text, sizeof text, "limit %u", e);
	ast_id name = nv_node(r, AST_NAME, like, text);
	if (!sema_find_scalar(r->s, ast_at(r->s->a, name)->name))
		sema_define_scalar(r->s, ast_at(r->s->a, name)->name, SCOPE_LET, e,
		                   ast_at(r->s->a, like)->at);
	return name;
}

void nv_node_append(struct nv_reader *r, ast_id parent, ast_id child)
{
	struct ast_node *n = r->s->a->nodes.at;
	ast_id *link = &n[parent].first;
	while (*link)
		link = &n[*link].next;
	*link = child;
	n[child].next = 0;
	n[parent].height =
	    (uint16_t)(n[parent].height > n[child].height ? n[parent].height : n[child].height + 1);
}

void nv_node_key(struct nv_reader *r, ast_id call, const char *key, ast_id value)
{
	ast_id id = nv_node(r, AST_KEY, call, key);
	nv_node_append(r, id, value);
	nv_node_append(r, call, id);
}

void nv_rename_call(struct nv_reader *r, ast_id call, const char *name)
{
	r->s->a->nodes.at[call].name = names_intern_z(r->s->m->names, name);
}

void nv_keep_first(struct nv_reader *r, ast_id call)
{
	struct ast *a = r->s->a;
	if (ast_at(a, call)->first)
		a->nodes.at[ast_at(a, call)->first].next = 0;
}

static void drop_key(struct nv_reader *r, ast_id call, const char *key)
{
	struct ast *a = r->s->a;
	for (ast_id *link = &a->nodes.at[call].first; *link; link = &a->nodes.at[*link].next)
		if (nv_is(r, *link, AST_KEY) && !strcmp(ast_text(a, *link), key)) {
			*link = ast_at(a, *link)->next;
			return;
		}
}

/* ---- names and numbers */

/* Gives a function of nvFuser the name that it has here. */
static void rename_function(struct nv_reader *r, ast_id call)
{
	unsigned operands = 0;
	ast_each (r->s->a, x, call)
		operands += !nv_is(r, x, AST_KEY);
	enum op_kind kind = nv_function(ast_text(r->s->a, call), operands);
	if (kind != OP_NONE)
		nv_rename_call(r, call, op_info[kind].hir);
}

/* Makes an integer a number with a point. */
static void make_float(struct nv_reader *r, ast_id id)
{
	struct ast_node *n = &r->s->a->nodes.at[id];
	if (n->kind == AST_INT) {
		n->kind = AST_FLOAT;
		n->value.f = (double)n->value.i;
	}
}

/* Makes the word inf or nan a number. */
static void make_infinite(struct nv_reader *r, ast_id id)
{
	struct ast_node *n = &r->s->a->nodes.at[id];
	double number;
	if (n->kind == AST_NAME && sema_number_word(ast_text(r->s->a, id), &number)) {
		n->kind = AST_FLOAT;
		n->value.f = number;
	}
}

void nv_unwrap_numbers(struct nv_reader *r, ast_id id)
{
	struct ast *a = r->s->a;
	if (nv_is(r, id, AST_TENSOR) || nv_is(r, id, AST_ID))
		return;
	if (nv_is_name(r, id, "true") || nv_is_name(r, id, "false")) {
		struct ast_node *n = &a->nodes.at[id];
		n->value.i = nv_is_name(r, id, "true");
		n->kind = AST_INT;
		return;
	}
	ast_id first = ast_at(a, id)->first;
	bool one = nv_is(r, id, AST_CALL) && first && !ast_at(a, first)->next;
	enum dtype dtype = DTYPE_I64;
	bool typed =
	    one && (nv_dtype_word(ast_text(a, id), &dtype) || !strcmp(ast_text(a, id), "nvfuser_index_t"));
	bool is_float = typed && dtype_is_float(dtype);
	if (is_float)
		make_infinite(r, nv_is(r, first, AST_UNARY) ? ast_at(a, first)->first : first);
	if (typed && (nv_is(r, first, AST_INT) || nv_is(r, first, AST_FLOAT) || nv_is(r, first, AST_UNARY))) {
		if (is_float)
			make_float(r, nv_is(r, first, AST_UNARY) ? ast_at(a, first)->first : first);
		struct ast_node number = *ast_at(a, first);
		number.next = ast_at(a, id)->next;
		a->nodes.at[id] = number;
		return;
	}
	if (nv_is(r, id, AST_KEY) && nv_is(r, first, AST_NAME))
		return; /* accumulate=true */
	ast_each (a, child, id)
		nv_unwrap_numbers(r, child);
}

/* ---- operations whose arguments differ */

bool nv_is_int(struct nv_reader *r, ast_id id, int64_t value)
{
	return nv_is(r, id, AST_INT) && ast_at(r->s->a, id)->value.i == value;
}

/* Returns a node like another, in no list. */
ast_id nv_node_copy(struct nv_reader *r, ast_id of)
{
	ast_id id = nv_node(r, AST_INT, of, NULL);
	r->s->a->nodes.at[id] = *ast_at(r->s->a, of);
	r->s->a->nodes.at[id].next = 0;
	return id;
}

/* Makes cast(signbit(T0…)) of a signbit that is no bool. */
static void read_signbit(struct nv_reader *r, ast_id call, ast_id operand, const struct nv_tensor *result)
{
	nv_rename_call(r, call, "signbit");
	if (!result || r->s->m->type.at[result->type].dtype == DTYPE_BOOL)
		return;
	ast_id inner = nv_node(r, AST_CALL, call, "signbit");
	nv_node_append(r, inner, nv_node_copy(r, operand));
	r->s->a->nodes.at[call].first = 0;
	nv_node_append(r, call, inner);
	nv_rename_call(r, call, "cast");
}

/* Makes 1 / T0 of reciprocal( T0 ). */
static void read_reciprocal(struct nv_reader *r, ast_id call)
{
	ast_id one = nv_node_int(r, call, 1);
	make_float(r, one);
	struct ast_node *n = &r->s->a->nodes.at[call];
	r->s->a->nodes.at[one].next = n->first;
	n->first = one;
	n->kind = AST_BINARY;
	nv_rename_call(r, call, "/");
}

static ast_id add_binary(struct nv_reader *r, const char *sign, ast_id left, ast_id right)
{
	ast_id id = nv_node(r, AST_BINARY, left, sign);
	nv_node_append(r, id, left);
	nv_node_append(r, id, right);
	return id;
}

/* Makes conditions of operations on the bits of bools. */
static void read_bits(struct nv_reader *r, ast_id expr, const struct nv_tensor *result)
{
	static const char *const other[][2] = {{"&", "and"}, {"|", "or"}, {"^", "!="}, {"~", "not"}};
	if (!result || r->s->m->type.at[result->type].dtype != DTYPE_BOOL)
		return;
	for (unsigned i = 0; i < sizeof other / sizeof *other; i++)
		if (!strcmp(ast_text(r->s->a, expr), other[i][0])) {
			nv_rename_call(r, expr, other[i][1]);
			return;
		}
}

/* Reads T0 % T1 as C computes it. */
static bool read_remainder(struct nv_reader *r, ast_id expr, const struct nv_tensor *result)
{
	if (result && dtype_is_float((enum dtype)r->s->m->type.at[result->type].dtype))
		return nv_refuse(r, E_OPERAND_DTYPE, expr,
		                 "`%` takes integers; write `remainder(T0…, T1…)` of floats");
	r->s->a->nodes.at[expr].kind = AST_CALL;
	nv_rename_call(r, expr, "fmod");
	return true;
}

/* Makes the sum or difference of a call. */
static void make_sum(struct nv_reader *r, ast_id call, const char *sign, ast_id left, ast_id right)
{
	struct ast_node *n = &r->s->a->nodes.at[call];
	n->first = 0;
	n->kind = AST_BINARY;
	nv_node_append(r, call, left);
	nv_node_append(r, call, right);
	nv_rename_call(r, call, sign);
}

/* Reads frac(x), fma(x, y, z) and lerp(x, y, weight). Returns false if the call is none of them. */
static bool read_sums(struct nv_reader *r, ast_id call)
{
	struct ast *a = r->s->a;
	const char *name = ast_text(a, call);
	ast_id of[4] = {0};
	unsigned n = 0;
	ast_each (a, x, call)
		if (n < 4)
			of[n++] = x;
	if (n == 1 && (!strcmp(name, "frac") || !strcmp(name, "fracf"))) {
		ast_id whole = nv_node(r, AST_CALL, call, "trunc");
		nv_node_append(r, whole, nv_node_copy(r, of[0]));
		make_sum(r, call, "-", nv_node_copy(r, of[0]), whole);
		return true;
	}
	bool fma = !strcmp(name, "fma") || !strcmp(name, "fmaf");
	if (n != 3 || (!fma && strcmp(name, "lerp") != 0))
		return false;
	ast_id x = nv_node_copy(r, of[0]), y = nv_node_copy(r, of[1]), z = nv_node_copy(r, of[2]);
	if (fma)
		make_sum(r, call, "+", add_binary(r, "*", x, y), z);
	else
		make_sum(r, call, "+", x,
		         add_binary(r, "*", z, add_binary(r, "-", y, nv_node_copy(r, of[0]))));
	return true;
}

/* Reads clamp(x, least, most) and threshold(x, limit, value). Returns false if the call is neither. */
static bool read_limits(struct nv_reader *r, ast_id call)
{
	struct ast *a = r->s->a;
	bool clamp = !strcmp(ast_text(a, call), "clamp");
	ast_id x = ast_at(a, call)->first, low = x ? ast_at(a, x)->next : 0,
	       high = low ? ast_at(a, low)->next : 0;
	if ((!clamp && strcmp(ast_text(a, call), "threshold") != 0) || !high || ast_at(a, high)->next)
		return false;
	ast_id inner = clamp ? nv_node(r, AST_CALL, call, "maximum")
	                     : add_binary(r, "<=", nv_node_copy(r, x), nv_node_copy(r, low));
	ast_id last = nv_node_copy(r, high), operand = nv_node_copy(r, x), limit = nv_node_copy(r, low);
	r->s->a->nodes.at[call].first = 0;
	if (clamp) {
		nv_node_append(r, inner, operand);
		nv_node_append(r, inner, limit);
	}
	nv_node_append(r, call, inner);
	nv_node_append(r, call, last);
	if (!clamp)
		nv_node_append(r, call, operand);
	nv_rename_call(r, call, clamp ? "minimum" : "where");
	return true;
}

/* Returns true if the axes of one domain are those of a shorter one with axes of one element between them, and the
 * last axes of the two are not the same: a broadcast here would take these for each other. */
static bool adds_inner_axes(const struct module *m, const struct domain *from, const struct domain *to)
{
	unsigned k = 0, last = 0;
	if (from->rank >= to->rank)
		return false;
	while (last < from->rank &&
	       from->axis[from->rank - 1 - last].extent == to->axis[to->rank - 1 - last].extent)
		last++;
	for (unsigned i = 0; i < to->rank; i++) {
		bool same = k < from->rank && to->axis[i].extent == from->axis[k].extent;
		if (!same && !expr_is_one(m, to->axis[i].extent))
			return false;
		k += same;
	}
	return k == from->rank && last < from->rank;
}

/* Returns true for the broadcast of older versions, `broadcast( T0… )`, that adds axes behind others. */
static bool is_old_broadcast(struct nv_reader *r, ast_id operand, const struct nv_tensor *result)
{
	const struct module *m = r->s->m;
	const struct domain *d = nv_find_domain(r, operand);
	return d && result && !ast_at(r->s->a, operand)->next &&
	       adds_inner_axes(m, d, ir_domain(m, m->type.at[result->type].domain));
}

static bool may_be_equal(const struct module *m, expr_id a, expr_id b)
{
	int64_t x, y;
	return !expr_is_const(m, a, &x) || !expr_is_const(m, b, &y) || x == y;
}

/* Checks the flags of a broadcast or a squeeze. Returns false after reporting. */
static bool check_flags(struct nv_reader *r, ast_id call, const struct nv_tensor *result, bool squeeze)
{
	const struct module *m = r->s->m;
	ast_id flags = nv_key(r, call, "flags");
	const struct domain *operand = nv_find_domain(r, ast_at(r->s->a, call)->first),
	                    *made = result ? ir_domain(m, m->type.at[result->type].domain) : NULL,
	                    *all = squeeze ? operand : made, *some = squeeze ? made : operand;
	if (!flags || !all || !some)
		return true;
	unsigned n = 0, kept = 0;
	bool fits = true;
	ast_each (r->s->a, flag, flags) {
		bool lacks = nv_is_int(r, flag, 1); /* true is a number now */
		fits &= n < all->rank &&
		        (lacks || (kept < some->rank &&
		                   may_be_equal(m, all->axis[n].extent, some->axis[kept].extent)));
		n++;
		kept += !lacks;
	}
	return (fits && n == all->rank && kept == some->rank) ||
	       nv_refuse(
	           r, E_SHAPES_DIFFER, flags,
	           squeeze
	               ? "a squeeze has a flag for each axis of its operand: true, the result lacks it"
	               : "a broadcast has a flag for each axis of its result: true, the operand lacks it");
}

/* Drops the shape of a full, which the result tells. A number that varies is a tensor, and its one element is repeated. */
static bool read_full(struct nv_reader *r, ast_id call, ast_id shape, ast_id value,
                      const struct nv_tensor *result)
{
	if (result && !nv_check_extents(r, shape, result))
		return false;
	r->s->a->nodes.at[call].first = value;
	if (result && nv_is(r, value, AST_NAME) && sema_find_tensor(r->s, ast_at(r->s->a, value)->name)) {
		nv_round_numbers(r, call, (enum dtype)r->s->m->type.at[result->type].dtype);
		nv_rename_call(r, call, "broadcast");
	}
	return true;
}

/* Makes ( ( T0 + T1 ) - 1 ) / T1 of ceilDiv(T0, T1), as nvFuser computes it. */
static void read_ceil_div(struct nv_reader *r, ast_id call, ast_id left, ast_id right)
{
	ast_id sum = nv_node(r, AST_BINARY, call, "+"), less = nv_node(r, AST_BINARY, call, "-");
	nv_make_binary(r, sum, "+", nv_node_copy(r, left), nv_node_copy(r, right));
	nv_make_binary(r, less, "-", sum, nv_node_int(r, call, 1));
	nv_make_binary(r, call, "/", less, nv_node_copy(r, right));
}

bool nv_spelling(struct nv_reader *r, ast_id expr, struct nv_tensor *result)
{
	struct ast *a = r->s->a;
	nv_unwrap_numbers(r, expr);
	if (nv_is(r, expr, AST_BINARY) && !strcmp(ast_text(a, expr), "%") && sema_has_tensor(r->s, expr))
		return read_remainder(r, expr, result);
	if (nv_is(r, expr, AST_BINARY) || nv_is(r, expr, AST_UNARY))
		read_bits(r, expr, result);
	if (!nv_is(r, expr, AST_CALL) || ast_at(a, expr)->flags & AST_EXTERN)
		return true;
	if (read_limits(r, expr) || read_sums(r, expr))
		return true;
	bool read;
	if (!nv_gather(r, expr, &read))
		return false;
	if (read)
		return true;
	const char *name = ast_text(a, expr);
	ast_id first = ast_at(a, expr)->first, second = first ? ast_at(a, first)->next : 0;
	bool braces = nv_is(r, second, AST_TUPLE) && !ast_at(a, second)->next;
	if (!strcmp(name, "Set.Permute") && result) {
		drop_key(r, expr, "cache_op");
		return nv_permute(r, expr, result);
	} else if ((!strcmp(name, "broadcast") && nv_key(r, expr, "flags")) || !strcmp(name, "squeeze")) {
		if (!check_flags(r, expr, result, *name == 's'))
			return false;
		drop_key(r, expr, "flags");
		nv_rename_call(r, expr, "reshape");
	} else if (!strcmp(name, "broadcast") && is_old_broadcast(r, first, result)) {
		nv_rename_call(r, expr, "reshape");
	} else if (!strcmp(name, "expand") || (!strcmp(name, "repeat") && first && !second)) {
		nv_keep_first(r, expr);
		nv_rename_call(r, expr, "broadcast");
	} else if (!strcmp(name, "mma") && result) {
		return nv_mma(r, expr, result);
	} else if (!strcmp(name, "reduction") && result) {
		return nv_reduction(r, expr, result);
	} else if (!strcmp(name, "scan") && result && nv_key(r, expr, "dim")) {
		return nv_scan(r, expr, result);
	} else if (!strcmp(name, "pad") && braces) {
		return nv_pad(r, expr, second);
	} else if (!strcmp(name, "slice") && braces) {
		return nv_slice(r, expr, second);
	} else if (!strcmp(name, "cat")) {
		nv_cat(r, expr);
	} else if (!strcmp(name, "matmul") && second && !ast_at(a, second)->next) {
		nv_matmul(r, expr, first, second, result);
	} else if (!strcmp(name, "linear") && second) {
		nv_linear(r, expr, first, second, result);
	} else if (!strcmp(name, "iota") && first && !nv_is(r, first, AST_KEY) && result) {
		return nv_iota(r, expr, result);
	} else if (!strcmp(name, "eye") && result) {
		return nv_eye(r, expr, result);
	} else if (nv_is_random(name) && result) {
		return nv_random(r, expr, result);
	} else if ((!strcmp(name, "signbit") || !strcmp(name, "signbitf")) && first && !second) {
		read_signbit(r, expr, first, result);
	} else if (!strcmp(name, "isreal") && first && !second) {
		nv_rename_call(r, expr, "full"); /* of true: no tensor is complex */
		a->nodes.at[expr].first = nv_node_int(r, expr, 1);
	} else if (!strcmp(name, "reciprocal") && first && !second) {
		read_reciprocal(r, expr);
	} else if (!strcmp(name, "ceilDiv") && second && nv_prints_tensor(r, expr)) {
		read_ceil_div(r, expr, first, second);
	} else if (!strcmp(name, "TensorConstruct") && first && !second) {
		nv_rename_call(r, expr, "full");
	} else if (!strcmp(name, "full") && nv_is(r, first, AST_TUPLE) && second) {
		return read_full(r, expr, first, second, result);
	} else {
		if (nv_function(name, 1) == OP_SET)
			drop_key(r, expr, "cache_op");
		if (!strcmp(name, "SegmenterSet"))
			nv_node_key(r, expr, "segment", nv_node(r, AST_NAME, expr, "true"));
		rename_function(r, expr);
	}
	return true;
}
