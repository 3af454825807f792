/* buckets_recorded: makes buckets of recorded statements.
 *
 *     a = extern "all_gather"(x) {kind=allgather}      P = pack(x, y)
 *     b = extern "all_gather"(y) {kind=allgather}      B = extern "all_gather"(P) {kind=allgather}
 *     c = extern "wait"(a) {kind=wait, view=(0)}   →   W = extern "wait"(B) {kind=wait, view=(0)}
 *     d = extern "wait"(b) {kind=wait, view=(0)}       c, d = unpack(W)
 *
 * The results of a reduction are parts of its buffer. Results of members that start together have
 * buffers of their own, and no pack:
 *
 *     a = extern "reduce"(x) {kind=allreduce}          P = pack(x, y)
 *     b = extern "reduce"(y) {kind=allreduce}          a, b = extern "reduce"(P) {kind=allreduce}
 *     c = extern "wait"(a) {kind=wait, view=(0)}   →   c, d = extern "wait"(a, b) {kind=wait, view=(0, 1)}
 *     d = extern "wait"(b) {kind=wait, view=(0)}
 *
 * Each new statement states the storages of its node in the scheduled problem, so that the problem of
 * the new program (cost/block.h) has the same memory. */
#include "ir/domain.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include "ir/infer.h"
#include "pass/buckets_applier.h"
#include <assert.h>

/* ---- storages */

/* Returns the value that owns the storage of a result: the value itself, or the operand that a wait
 * views. */
static value_id find_owner(const struct module *m, value_id result)
{
	op_id def = m->value.at[result].def;
	value_id of = def ? ir_view_of(m, def, 0) : 0;
	return of ? of : result;
}

/* Returns true if later nodes use a storage that node x makes. */
static bool outlives(const struct sched_problem *p, uint32_t storage, uint32_t x)
{
	for (uint32_t i = p->users.at[storage]; i < p->users.end[storage]; i++)
		if (p->users.item[i] != x)
			return true;
	return p->storage[storage].kept;
}

/* Returns the number of the result that owns a storage after node x; the number of results if none does. */
static uint32_t find_result(const struct applier *a, const value_id *result, uint32_t n, uint32_t storage,
                            uint32_t x)
{
	uint32_t k = 0;
	assert(storage <
	       a->b->p.storage_n); /* not for packed and gathered buffers: their types give the bytes */
	if (!a->b->storage[storage] || !outlives(&a->s->b.p, storage, x))
		return n;
	while (k < n && find_owner(a->m, result[k]) != a->b->storage[storage])
		k++;
	return k;
}

/* Adds to the next statement, node x of the scheduled problem, the bytes of its results if their types
 * do not give these, and its scratch memory. view: by result, the operand that it views, or -1; NULL: no
 * result is a view. */
static void add_storages(struct applier *a, uint32_t x, const int64_t *view)
{
	const struct sched_problem *p = &a->s->b.p;
	value_id *result = arena_new_array(a->scratch, value_id, a->use.n);
	int64_t *bytes = arena_new_array(a->scratch, int64_t, a->use.n + 1);
	uint32_t n = 0;
	bool differ = false;
	for (uint32_t i = 0; i < a->use.n; i++)
		if (a->use.at[i].role == ROLE_DEF)
			result[n++] = a->use.at[i].id;
	for (uint32_t i = p->makes.at[x]; i < p->makes.end[x]; i++) {
		uint32_t storage = p->makes.item[i];
		bytes[find_result(a, result, n, storage, x)] += p->storage[storage].bytes;
	}
	for (uint32_t k = 0; k < n; k++)
		differ |= !(view && view[k] >= 0) && bytes[k] != block_bytes(a->m, result[k]);
	if (differ)
		buckets_add_ints(a, "bytes", bytes, n);
	if (bytes[n])
		buckets_add_int(a, "scratch", bytes[n]);
	if (view)
		buckets_add_ints(a, "view", view, n);
}

/* ---- a statement for several */

static int64_t count_value_elements(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	int64_t n = 1, extent;
	for (unsigned i = 0; i < d->rank; i++)
		n *= expr_is_const(m, d->axis[i].extent, &extent) ? extent : 1;
	return n;
}

/* Adds a new result that contains n others one after the other. */
static value_id add_flat(struct applier *a, value_id like, int64_t n, const char *suffix)
{
	struct module *m = a->m;
	struct domain_builder box;
	domain_begin(&box);
	domain_add_axis(&box, AXIS_ITER, expr_const(m, n));
	domain_allocate_default(&box, false);
	return buckets_add_result(
	    a, like, type_make(m, value_type(m, like)->dtype, MEMORY_GLOBAL, 0, domain_finish(m, &box)),
	    suffix);
}

/* Removes the statements of nodes. The new statement defines their results. */
static void take_results(struct applier *a, const uint32_t *node, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		ir_remove(a->m, a->b->op[node[i]]);
		vec_push(&a->use, ((struct ir_use){ROLE_DEF, buckets_result(a, node[i])}));
	}
}

/* Adds members="a,b": the members of the statement, by the names of their results. */
static void add_members(struct applier *a, const uint32_t *node, uint32_t n)
{
	struct buf text = {0};
	for (uint32_t i = 0; i < n; i++)
		buf_printf(&text, "%s%s", i ? "," : "", block_name(a->m, a->b->op[node[i]]));
	vec_push(&a->attr, ((struct attr){.key = buckets_word(a, "members"),
	                                  .kind = ATTR_STRING,
	                                  .u.name = names_intern(a->m->names, text.at, text.n)}));
	buf_free(&text);
}

/* Returns by result the operand of the joined statement that it views, or -1; NULL: no result is a view. */
static const int64_t *find_views(const struct applier *a, const uint32_t *node, uint32_t n)
{
	int64_t *view = arena_new_array(a->scratch, int64_t, n);
	bool any = false;
	for (uint32_t i = 0; i < n; i++) {
		bool is = ir_view_of(a->m, a->b->op[node[i]], 0);
		view[i] = is ? (int64_t)i : -1;
		any |= is;
	}
	return any ? view : NULL;
}

/* Returns true if a statement writes its first operand. */
static bool writes_operand(const struct module *m, op_id op)
{
	const struct attr *writes = op_attr(m, op, "writes");
	bool first = writes && writes->kind == ATTR_INT && !writes->u.i;
	for (uint32_t i = 0; writes && writes->kind == ATTR_INTS && i < writes->n; i++)
		first |= !writes->u.ints[i];
	return first;
}

/* Adds the operands that the members write; each member has one operand. */
static void add_writes(struct applier *a, const uint32_t *node, uint32_t n)
{
	int64_t *written = arena_new_array(a->scratch, int64_t, n);
	uint32_t count = 0;
	for (uint32_t i = 0; i < n; i++)
		if (writes_operand(a->m, a->b->op[node[i]]))
			written[count++] = i;
	if (count)
		buckets_add_ints(a, "writes", written, count);
}

static void add_in_bytes(struct applier *a, const uint32_t *node, uint32_t n)
{
	int64_t bytes = 0;
	bool stated = false;
	for (uint32_t i = 0; i < n; i++) {
		bytes += sched_transfer(&a->b->p, node[i])->in;
		stated |= op_attr(a->m, a->b->op[node[i]], "in_bytes") != NULL;
	}
	if (stated)
		buckets_add_int(a, "in_bytes", bytes);
}

/* Puts one statement that makes all results of several nodes, as node x. packed: its operand; 0: it has
 * the operands of all nodes. */
static void put_joined(struct applier *a, const uint32_t *node, uint32_t n, value_id packed, uint32_t x)
{
	op_id first = a->b->op[node[0]];
	take_results(a, node, n);
	for (uint32_t i = 0; i < n && !packed; i++)
		buckets_add_read(a, buckets_operand(a, node[i]));
	if (packed)
		buckets_add_read(a, packed);
	buckets_copy_attrs(a, first);
	if (a->b->p.node[node[0]].kind != SCHED_COMM || op_attr(a->m, first, "time"))
		buckets_add_int(a, "time",
		                a->s->b.p.node[x].time); /* otherwise the machine's figures give it */
	add_in_bytes(a, node, n);
	add_storages(a, x, find_views(a, node, n));
	add_writes(a, node, n);
	add_members(a, node, n);
	buckets_put(a, OP_EXTERN, buckets_place(a, node[0]));
}

/* ---- the steps */

static void put_pack(struct applier *a, struct members *b)
{
	int64_t n = 0;
	for (uint32_t i = 0; i < b->comm.n; i++)
		n += count_value_elements(a->m, buckets_operand(a, b->comm.at[i]));
	b->packed = add_flat(a, buckets_result(a, b->comm.at[0]), n, "packed");
	for (uint32_t i = 0; i < b->comm.n; i++)
		buckets_add_read(a, buckets_operand(a, b->comm.at[i]));
	buckets_put(a, OP_PACK, buckets_place(a, b->comm.at[0]));
}

/* Puts the collective whose results are unpacked. */
static void put_gather(struct applier *a, struct members *b, uint32_t x)
{
	op_id first = a->b->op[b->comm.at[0]];
	int64_t n = 0;
	for (uint32_t i = 0; i < b->comm.n; i++)
		n += count_value_elements(a->m, buckets_result(a, b->comm.at[i]));
	b->result = add_flat(a, buckets_result(a, b->comm.at[0]), n, "bucket");
	buckets_add_read(a, b->packed);
	buckets_copy_attrs(a, first);
	if (op_attr(a->m, first, "time"))
		buckets_add_int(a, "time", a->s->b.p.node[x].time);
	add_members(a, b->comm.at, b->comm.n);
	buckets_put(a, OP_EXTERN, buckets_place(a, b->comm.at[0]));
}

static void put_gather_wait(struct applier *a, struct members *b, uint32_t x)
{
	static const int64_t view = 0;
	b->arrived =
	    add_flat(a, buckets_result(a, b->wait.at[0]), count_value_elements(a->m, b->result), "bucket");
	buckets_add_read(a, b->result);
	buckets_copy_attrs(a, a->b->op[b->wait.at[0]]);
	buckets_add_int(a, "time", a->s->b.p.node[x].time);
	add_members(a, b->wait.at, b->wait.n);
	add_storages(a, x, &view);
	buckets_put(a, OP_EXTERN, buckets_place(a, b->wait.at[0]));
}

static void put_unpack(struct applier *a, const struct members *b, uint32_t x)
{
	take_results(a, b->wait.at, b->wait.n);
	buckets_add_read(a, b->arrived);
	add_storages(a, x, NULL);
	buckets_put(a, OP_UNPACK, buckets_place(a, b->wait.at[0]));
}

void buckets_put_recorded(struct applier *a, struct members *b, enum sched_step step, uint32_t x)
{
	bool unpacks = buckets_unpacks(a, b);
	if (step == SCHED_STEP_PACK)
		put_pack(a, b);
	else if (step == SCHED_STEP_UNPACK)
		put_unpack(a, b, x);
	else if (unpacks && step == SCHED_STEP_COMM)
		put_gather(a, b, x);
	else if (unpacks)
		put_gather_wait(a, b, x);
	else if (step == SCHED_STEP_COMM)
		put_joined(a, b->comm.at, b->comm.n, b->packed, x);
	else
		put_joined(a, b->wait.at, b->wait.n, 0, x);
}
