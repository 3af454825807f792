/* block: see block.h. */
#include "cost/block.h"
#include "base/vec.h"
#include "cost/local.h"
#include "ir/bucket.h"
#include "ir/edit.h"
#include "ir/expr.h"
#include <string.h>

struct keys { /* of attributes */
	name_id kind, time, group, bytes, in_bytes, scratch, storage, writes, op;
};

struct reader {              /* of a buffer, in a list */
	uint32_t node, next; /* next: in `readers` + 1 */
};

struct maker {
	struct module *m;
	const struct cost *cost;
	struct diag *d;
	struct arena *arena, *scratch;
	struct block *out;
	struct keys key;
	uint32_t *node;   /* by op: its node + 1, also of ops in loops; 0: not in the block */
	value_id *root;   /* by value: whose storage it shares */
	uint32_t *home;   /* by root: its storage + 1 */
	bool *written;    /* by root */
	uint8_t *waits;   /* by op: 1: waited for once, in the block; more: elsewhere, or more often */
	uint32_t *last;   /* by root that is written: the last node that did + 1 */
	uint32_t *since;  /* by such a root: the first of those that touched it since, in `readers` + 1 */
	uint32_t barrier; /* the last node that keeps its place + 1 */
	VEC(struct reader) readers;
	VEC(struct sched_node) nodes;
	VEC(op_id) op;
	VEC(struct sched_storage) storage;
	VEC(value_id) owner;
	VEC(struct sched_family) family;
	VEC(uint64_t) family_key, family_like; /* by family: what its members have in common */
	VEC(struct sched_pair) edge, use;
	VEC(uint64_t) lane; /* by lane: of which communicator */
	int64_t launch;
	double bytes_per_ns;
	bool failed, copies; /* copies: as in struct sched_problem */
};

static struct keys keys_of(struct names *names)
{
	return (struct keys){.kind = names_intern_z(names, "kind"),
	                     .time = names_intern_z(names, "time"),
	                     .group = names_intern_z(names, "group"),
	                     .bytes = names_intern_z(names, "bytes"),
	                     .in_bytes = names_intern_z(names, "in_bytes"),
	                     .scratch = names_intern_z(names, "scratch"),
	                     .storage = names_intern_z(names, "storage"),
	                     .writes = names_intern_z(names, "writes"),
	                     .op = names_intern_z(names, "op")};
}

static const struct attr *attr_of(const struct maker *k, op_id op, name_id key)
{
	const struct attrs *l = &k->m->attrs.at[k->m->op.at[op].attrs];
	for (uint32_t i = 0; i < l->n; i++)
		if (l->at[i].key == key)
			return &l->at[i];
	return NULL;
}

static int64_t int_of(const struct maker *k, op_id op, name_id key, int64_t otherwise)
{
	const struct attr *a = attr_of(k, op, key);
	return a && a->kind == ATTR_INT ? a->u.i : otherwise;
}

static bool name_is(const struct maker *k, op_id op, name_id key, const char *text)
{
	const struct attr *a = attr_of(k, op, key);
	return a && a->kind == ATTR_NAME && !strcmp(names_text(k->m->names, a->u.name), text);
}

static enum op_kind collective_of(struct module *m, op_id op)
{
	const struct attr *kind = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "kind") : NULL;
	enum op_kind found = kind && kind->kind == ATTR_NAME ? op_by_hir(names_text(m->names, kind->u.name))
	                     : m->op.at[op].flags & OP_ASYNC ? (enum op_kind)m->op.at[op].kind
	                                                     : OP_NONE;
	return op_info[found].traits & TRAIT_COLLECTIVE ? found : OP_NONE;
}

bool block_is_communication(struct module *m, op_id op)
{
	return collective_of(m, op) != OP_NONE;
}

static bool is_wait(struct module *m, op_id op)
{
	const struct attr *kind = m->op.at[op].kind == OP_EXTERN ? op_attr(m, op, "kind") : NULL;
	return m->op.at[op].kind == OP_WAIT ||
	       (kind && kind->kind == ATTR_NAME && !strcmp(names_text(m->names, kind->u.name), "wait"));
}

op_id block_waits_for(struct module *m, op_id op)
{
	if (!is_wait(m, op))
		return 0;
	if (m->op.at[op].kind == OP_WAIT)
		return op_operand_id(m, op, ROLE_STATEMENT, 0);
	while (op && (is_wait(m, op) || m->op.at[op].kind == OP_UNPACK)) {
		value_id v = op_read(m, op, 0);
		op = v ? m->value.at[v].def : 0;
	}
	return op && block_is_communication(m, op) ? op : 0;
}

const char *block_name(struct module *m, op_id op)
{
	const struct attr *a = op_attr(m, op, "name");
	value_id v = op_result(m, op, 0);
	if (a && a->kind == ATTR_STRING)
		return names_text(m->names, a->u.name);
	return v && m->value.at[v].name ? names_text(m->names, m->value.at[v].name) : NULL;
}

/* ---- storages */

/* On the rank that has most of it; what has no size was reported when the cost model was made. */
static int64_t local_bytes(const struct module *m, value_id v)
{
	struct local_shape shape;
	return local_shape(m, v, &shape) == EXPR_OK ? shape.bytes : 0;
}

static void add_storage(struct maker *k, value_id v, struct sched_storage s)
{
	if (v)
		k->home[v] = k->storage.n + 1;
	vec_push(&k->storage, s);
	vec_push(&k->owner, v);
}

/* A use of the storage of v, by a node. */
static void add_use(struct maker *k, uint32_t node, value_id v)
{
	uint32_t home = k->home[k->root[v]];
	if (home)
		vec_push(&k->use, ((struct sched_pair){node, home - 1}));
}

static void keep(struct maker *k, value_id v)
{
	uint32_t home = k->home[k->root[v]];
	if (home)
		k->storage.at[home - 1].kept = true;
}

static void add_results(struct maker *k, op_id op, uint32_t node)
{
	struct module *m = k->m;
	const struct attr *bytes = attr_of(k, op, k->key.bytes);
	bool resident = name_is(k, op, k->key.kind, "input") || name_is(k, op, k->key.kind, "attr") ||
	                name_is(k, op, k->key.storage, "input");
	for (unsigned i = 0; i < m->op.at[op].def_n; i++) {
		value_id v = m->operand.at[m->op.at[op].operand + i].id, of = ir_view_of(m, op, i);
		k->root[v] = of ? k->root[of] : v;
		if (of)
			continue;
		int64_t n = bytes && bytes->kind == ATTR_INTS && i < bytes->n ? bytes->u.ints[i]
		            : bytes && bytes->kind == ATTR_INT && !i          ? bytes->u.i
		                                                              : local_bytes(m, v);
		add_storage(k, v, (struct sched_storage){n, resident ? SCHED_NONE : node, resident});
	}
	int64_t scratch = int_of(k, op, k->key.scratch, 0);
	if (scratch > 0) {
		add_storage(k, 0, (struct sched_storage){scratch, node, false});
		vec_push(&k->use, ((struct sched_pair){node, k->storage.n - 1}));
	}
}

/* ---- order */

static void add_edge(struct maker *k, uint32_t from, uint32_t to)
{
	if (from != to)
		vec_push(&k->edge, ((struct sched_pair){from, to}));
}

/* A node touches a buffer that is written, or it writes it. */
static void touch(struct maker *k, uint32_t node, value_id root, bool writes)
{
	if (!k->written[root])
		return;
	if (k->last[root])
		add_edge(k, k->last[root] - 1, node);
	if (!writes) {
		vec_push(&k->readers, ((struct reader){node, k->since[root]}));
		k->since[root] = k->readers.n;
		return;
	}
	for (uint32_t r = k->since[root]; r; r = k->readers.at[r - 1].next)
		add_edge(k, k->readers.at[r - 1].node, node);
	k->since[root] = 0;
	k->last[root] = node + 1;
}

static bool writes_operand(const struct attr *writes, unsigned read)
{
	if (writes && writes->kind == ATTR_INT)
		return writes->u.i == read;
	for (uint32_t i = 0; writes && writes->kind == ATTR_INTS && i < writes->n; i++)
		if (writes->u.ints[i] == read)
			return true;
	return false;
}

/* Calls `each` with every tensor that a statement touches, its results left out. */
static void each_touched(struct maker *k, op_id op, uint32_t node,
                         void (*each)(struct maker *, uint32_t node, value_id v, bool writes))
{
	const struct op *o = &k->m->op.at[op];
	const struct attr *writes = o->kind == OP_EXTERN ? attr_of(k, op, k->key.writes) : NULL;
	for (unsigned i = 0, read = 0; i < o->operand_n; i++) {
		struct operand x = k->m->operand.at[o->operand + i];
		if (x.role == ROLE_READ)
			each(k, node, x.id, writes_operand(writes, read++));
		else if (x.role == ROLE_WRITE || x.role == ROLE_FREE)
			each(k, node, x.id, true);
		read += x.role == ROLE_SCALAR;
	}
}

static void mark_written(struct maker *k, uint32_t node, value_id v, bool writes)
{
	(void)node;
	if (writes)
		k->written[k->root[v]] = true;
}

static void need(struct maker *k, uint32_t node, value_id v, bool writes)
{
	op_id def = k->m->value.at[v].def;
	if (def && k->node[def])
		add_edge(k, k->node[def] - 1, node);
	touch(k, node, k->root[v], writes);
	add_use(k, node, v);
}

/* ---- what it takes */

static uint64_t family_key_of(const struct maker *k, op_id op, uint32_t lane)
{
	const struct attr *reduce = attr_of(k, op, k->key.op);
	value_id v = op_result(k->m, op, 0);
	uint64_t how = reduce && reduce->kind == ATTR_NAME ? reduce->u.name : 0;
	bool bytes = k->m->op.at[op].kind == OP_ALLGATHER; /* which are moved as bytes */
	return ((((uint64_t)lane * OP_KIND_COUNT + (uint64_t)collective_of(k->m, op)) * DTYPE_COUNT +
	         (bytes ? DTYPE_U8 : value_type(k->m, v)->dtype)) *
	            ((uint64_t)names_count(k->m->names) + 1) +
	        how);
}

/* Whether a collective's result is used by waits alone. */
static bool only_waited_for(const struct maker *k, op_id op)
{
	value_id v = op_result(k->m, op, 0);
	for (uint32_t u = k->m->value.at[v].first_use; u; u = k->m->operand.at[u].next_use) {
		const struct operand *x = &k->m->operand.at[u];
		if (x->role != ROLE_DEF && !is_wait(k->m, x->op))
			return false;
	}
	return !(k->m->value.at[v].flags & VALUE_OUTPUT);
}

/* The points of a group's table for a collective; NULL: none. */
static const struct attr *table_of(const struct maker *k, group_id group, enum op_kind collective)
{
	const struct attrs *l = &k->m->attrs.at[k->m->group.at[group].attrs];
	for (uint32_t i = 0; i < l->n; i++)
		if (!strcmp(names_text(k->m->names, l->at[i].key), op_info[collective].hir))
			return &l->at[i];
	return NULL;
}

static const enum op_kind bucketed[] = {OP_ALLGATHER, OP_REDUCE_SCATTER, OP_ALLREDUCE};
enum { BUCKETED = sizeof bucketed / sizeof *bucketed, LARGEST_POINT = 40 };

/* What a collective takes by the size of its operand: as the group says, else by the model. */
static struct sched_family points_of(struct maker *k, op_id op, group_id group)
{
	enum op_kind collective = collective_of(k->m, op);
	const struct attr *table = group ? table_of(k, group, collective) : NULL;
	bool unknown = group && !table && cost_op_is_recorded(k->cost, op);
	uint32_t n = table ? table->n / 2 : unknown ? 0 : LARGEST_POINT;
	struct sched_point *point = arena_new_array(k->arena, struct sched_point, n);
	for (uint32_t i = 0; i < n; i++) {
		int64_t bytes = table ? table->u.ints[2 * i] : (int64_t)1 << i;
		int64_t time =
		    table   ? table->u.ints[2 * i + 1]
		    : group ? cost_group_operand_time(k->cost, collective, group, bytes)
		            : cost_collective_operand_time(k->cost, collective, k->m->op.at[op].team, bytes);
		point[i] = (struct sched_point){(double)bytes, (double)time};
	}
	return (struct sched_family){.point = point, .n = n};
}

/* Bytes of what it has as operands, or as results. */
static int64_t bytes_of(const struct maker *k, op_id op, enum role role)
{
	const struct op *o = &k->m->op.at[op];
	int64_t n = 0;
	for (unsigned i = 0; i < o->operand_n; i++)
		if (k->m->operand.at[o->operand + i].role == role)
			n += local_bytes(k->m, k->m->operand.at[o->operand + i].id);
	return n;
}

/* Whether a recorded collective has its data as its one operand, and makes a buffer of its own. */
static bool has_own_buffers(const struct maker *k, op_id op)
{
	int64_t in = bytes_of(k, op, ROLE_READ);
	return int_of(k, op, k->key.in_bytes, in) == in && !attr_of(k, op, k->key.writes) &&
	       !ir_view_of(k->m, op, 0);
}

static uint32_t find_family(struct maker *k, op_id op, group_id group, uint32_t lane)
{
	enum op_kind collective = collective_of(k->m, op);
	unsigned which = 0;
	while (which < BUCKETED && bucketed[which] != collective)
		which++;
	if (which == BUCKETED || k->m->op.at[op].def_n != 1 || op_role_count(k->m, op, ROLE_READ) != 1 ||
	    (group ? !only_waited_for(k, op) || !has_own_buffers(k, op)
	           : k->waits[op] != 1 || ir_bucket_refusal(k->m, op)))
		return SCHED_NONE;
	uint64_t key = family_key_of(k, op, lane), like = group ? 0 : ir_bucket_key(k->m, op);
	for (uint32_t f = 0; f < k->family.n; f++)
		if (k->family_key.at[f] == key && k->family_like.at[f] == like)
			return f;
	struct sched_family made = points_of(k, op, group);
	if (!made.n)
		return SCHED_NONE;
	made.lane = lane;
	made.collective = (enum sched_collective)which;
	k->copies |= !group;
	vec_push(&k->family, made);
	vec_push(&k->family_key, key);
	vec_push(&k->family_like, like);
	return k->family.n - 1;
}

static uint32_t find_lane(struct maker *k, op_id op, uint64_t communicator)
{
	uint32_t lane = 0;
	while (lane < k->lane.n && k->lane.at[lane] != communicator)
		lane++;
	if (lane == SCHED_MAX_LANES) {
		diag_error(k->d, k->m->op.at[op].at, "a program has at most %d communicators",
		           SCHED_MAX_LANES);
		k->failed = true;
		return 0;
	}
	if (lane == k->lane.n)
		vec_push(&k->lane, communicator);
	return lane;
}

static group_id find_group(struct maker *k, op_id op)
{
	const struct attr *a = attr_of(k, op, k->key.group);
	for (group_id g = 1; a && a->kind == ATTR_NAME && g < k->m->group.n; g++)
		if (k->m->group.at[g].name == a->u.name)
			return g;
	diag_error(k->d, k->m->op.at[op].at,
	           "this collective has no group: state it, as in `{kind=%s, group=g0}`",
	           op_info[collective_of(k->m, op)].hir);
	k->failed = true;
	return 0;
}

static void make_communication(struct maker *k, op_id op, struct sched_node *n)
{
	bool recorded = k->m->op.at[op].kind == OP_EXTERN;
	group_id group = recorded ? find_group(k, op) : 0;
	uint64_t communicator =
	    recorded ? group
	             : (uint64_t)1 << 63 | (uint64_t)op_backend(k->m, op) << 32 | k->m->op.at[op].team;
	n->kind = SCHED_COMM;
	n->lane = find_lane(k, op, communicator);
	n->in = int_of(k, op, k->key.in_bytes, bytes_of(k, op, ROLE_READ));
	n->out = bytes_of(k, op, ROLE_DEF) + bytes_of(k, op, ROLE_WRITE);
	if (!k->failed)
		n->family = find_family(k, op, group, n->lane);
}

/* How often a loop runs; 1 when that depends on the rank. */
static int64_t trips_of(const struct maker *k, op_id op)
{
	const struct expr_env env = {.rank = 0};
	int64_t start, stop;
	if (k->m->op.at[op].kind != OP_FOR ||
	    expr_eval(k->m, op_scalar_expr(k->m, op, 0), &env, &start, NULL) != EXPR_OK ||
	    expr_eval(k->m, op_scalar_expr(k->m, op, 1), &env, &stop, NULL) != EXPR_OK)
		return 1;
	return stop > start ? stop - start : 0;
}

static int64_t time_of(const struct maker *k, op_id op)
{
	int64_t time = cost_op_time(k->cost, op);
	bool pack = k->m->op.at[op].kind == OP_PACK;
	if (pack || k->m->op.at[op].kind == OP_UNPACK) {
		struct sched_problem p = {.bytes_per_ns = k->bytes_per_ns};
		int64_t results = bytes_of(k, op, ROLE_DEF) + bytes_of(k, op, ROLE_WRITE);
		return sched_copy_time(&p, pack ? bytes_of(k, op, ROLE_READ) : results);
	}
	for (region_id r = k->m->op.at[op].region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			time += (time_of(k, within) + k->launch) * trips_of(k, op);
	return time;
}

/* Statements that act on streams, or on other ranks beside their data, and blocks that hold such. */
static bool keeps_its_place(const struct maker *k, op_id op)
{
	const struct op *o = &k->m->op.at[op];
	const struct op_info *info = &op_info[o->kind];
	if (o->kind == OP_EXTERN &&
	    (name_is(k, op, k->key.kind, "send") || name_is(k, op, k->key.kind, "recv") ||
	     name_is(k, op, k->key.kind, "barrier")))
		return true;
	if (o->kind == OP_DISPATCH || o->kind == OP_COMBINE || o->kind == OP_SYMMETRIC_VIEW ||
	    info->traits & (TRAIT_P2P | TRAIT_ASYNC))
		return true;
	if (o->kind == OP_WAIT)
		return !k->node[op_operand_id(k->m, op, ROLE_STATEMENT, 0)];
	for (region_id r = o->region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			if (block_is_communication(k->m, within) || keeps_its_place(k, within))
				return true;
	return info->form == FORM_HOST && !(info->traits & TRAIT_MEMORY);
}

static void make_node(struct maker *k, op_id op)
{
	struct sched_node n = {.time = time_of(k, op), .comm = SCHED_NONE, .family = SCHED_NONE};
	if (block_is_communication(k->m, op)) {
		make_communication(k, op, &n);
	} else if (is_wait(k->m, op)) {
		op_id comm = block_waits_for(k->m, op);
		n.kind = SCHED_WAIT;
		if (comm && k->node[comm])
			n.comm = k->node[comm] - 1;
	}
	vec_push(&k->nodes, n);
}

/* The pack of which a collective has the result; 0: none. */
static op_id pack_of(const struct maker *k, op_id comm)
{
	value_id packed = comm ? op_read(k->m, comm, 0) : 0;
	op_id def = packed ? k->m->value.at[packed].def : 0;
	return def && k->m->op.at[def].kind == OP_PACK ? def : 0;
}

/* A wait holds what was packed for its bucket, as the collective does what it was packed from. */
static void use_packed(struct maker *k, op_id op, uint32_t node)
{
	op_id waited = pack_of(k, block_waits_for(k->m, op));
	op_id sent = block_is_communication(k->m, op) ? pack_of(k, op) : 0;
	if (waited)
		add_use(k, node, op_result(k->m, waited, 0));
	for (unsigned i = 0; sent && i < k->m->op.at[sent].operand_n; i++)
		if (ir_operand(k->m, sent, i)->role == ROLE_READ)
			add_use(k, node, ir_operand(k->m, sent, i)->id);
}

static void mark_received(struct maker *k, op_id wait)
{
	op_id comm = op_operand_id(k->m, wait, ROLE_STATEMENT, 0);
	for (unsigned i = 0; i < op_result_count(k->m, comm); i++)
		k->written[k->root[op_result(k->m, comm, i)]] = true;
}

/* All before a node that keeps its place, and all after. */
static void keep_place(struct maker *k, op_id op, uint32_t node)
{
	if (k->barrier)
		add_edge(k, k->barrier - 1, node);
	if (!keeps_its_place(k, op))
		return;
	for (uint32_t x = k->barrier; x < node; x++)
		add_edge(k, x, node);
	k->barrier = node + 1;
}

/* A wait is a use of its Communication's buffers; what comes after it sees the result. */
static void use_communication(struct maker *k, op_id wait, uint32_t node)
{
	op_id comm = op_operand_id(k->m, wait, ROLE_STATEMENT, 0);
	const struct op *o = &k->m->op.at[comm];
	if (!k->node[comm])
		return;
	add_edge(k, k->node[comm] - 1, node);
	for (unsigned i = 0; i < o->operand_n; i++) {
		struct operand x = k->m->operand.at[o->operand + i];
		if (x.role == ROLE_READ || x.role == ROLE_DEF || x.role == ROLE_WRITE) {
			touch(k, node, k->root[x.id], x.role != ROLE_READ);
			add_use(k, node, x.id);
		}
	}
}

/* What a statement, and those within, need and touch. */
static void add_needs(struct maker *k, op_id op, uint32_t node)
{
	k->node[op] = node + 1;
	each_touched(k, op, node, need);
	if (k->m->op.at[op].kind == OP_WAIT)
		use_communication(k, op, node);
	for (region_id r = k->m->op.at[op].region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			add_needs(k, within, node);
}

static void add_node(struct maker *k, op_id op)
{
	struct module *m = k->m;
	uint32_t node = k->nodes.n;
	make_node(k, op);
	vec_push(&k->op, op);
	keep_place(k, op, node);
	if (name_is(k, op, k->key.kind, "output"))
		for (unsigned i = 0; i < m->op.at[op].operand_n; i++)
			if (ir_operand(m, op, i)->role == ROLE_READ)
				keep(k, ir_operand(m, op, i)->id);
	add_needs(k, op, node);
	use_packed(k, op, node);
	add_results(k, op, node);
	for (unsigned i = 0; i < m->op.at[op].def_n; i++) {
		value_id v = ir_operand(m, op, i)->id;
		touch(k, node, k->root[v], k->root[v] == v);
	}
}

static void count_wait(struct maker *k, op_id wait, bool here)
{
	uint8_t *n = &k->waits[op_operand_id(k->m, wait, ROLE_STATEMENT, 0)];
	*n = *n || !here ? 2 : 1;
}

static void mark(struct maker *k, op_id op, bool here)
{
	for (unsigned i = 0; i < k->m->op.at[op].def_n; i++) {
		value_id v = ir_operand(k->m, op, i)->id, of = ir_view_of(k->m, op, i);
		k->root[v] = of ? k->root[of] : v;
	}
	each_touched(k, op, 0, mark_written);
	if (k->m->op.at[op].kind == OP_WAIT) {
		mark_received(k, op);
		count_wait(k, op, here);
	}
	for (region_id r = k->m->op.at[op].region; r; r = k->m->region.at[r].sibling)
		region_each (k->m, within, r)
			mark(k, within, false);
}

static void finish(struct maker *k, struct arena *a)
{
	struct sched_problem *p = &k->out->p;
#define COPY(list, type) memcpy(arena_new_array(a, type, (list).n + 1), (list).at, sizeof(type) * (list).n)
	*p = (struct sched_problem){.launch = k->launch,
	                            .bytes_per_ns = k->bytes_per_ns,
	                            .copies = k->copies,
	                            .n = k->nodes.n,
	                            .storage_n = k->storage.n,
	                            .family_n = k->family.n,
	                            .lane_n = k->lane.n};
	p->node = k->nodes.n ? COPY(k->nodes, struct sched_node) : NULL;
	p->storage = k->storage.n ? COPY(k->storage, struct sched_storage) : NULL;
	p->family = k->family.n ? COPY(k->family, struct sched_family) : NULL;
	k->out->op = k->op.n ? COPY(k->op, op_id) : NULL;
	k->out->storage = k->owner.n ? COPY(k->owner, value_id) : NULL;
#undef COPY
	sched_problem_finish(p, a, k->edge.at, k->edge.n, k->use.at, k->use.n);
}

bool block_make(struct module *m, region_id region, const struct cost *cost, struct diag *d, struct arena *a,
                struct block *out)
{
	const struct cluster *cluster = cost_cluster(cost);
	struct maker k = {.m = m,
	                  .cost = cost,
	                  .d = d,
	                  .arena = a,
	                  .scratch = arena_new(),
	                  .out = out,
	                  .key = keys_of(m->names)};
	const struct attr *launch = attrs_find(m, m->recording.attrs, "launch"),
	                  *rate = attrs_find(m, m->recording.attrs, "memory_rate");
	k.launch = launch ? launch->u.i : cluster->launch;
	k.bytes_per_ns = (double)(rate ? rate->u.i : cluster->memory_rate) / 1e9;
	k.node = arena_new_array(k.scratch, uint32_t, m->op.n);
	k.root = arena_new_array(k.scratch, value_id, m->value.n);
	k.home = arena_new_array(k.scratch, uint32_t, m->value.n);
	k.waits = arena_new_array(k.scratch, uint8_t, m->op.n);
	k.written = arena_new_array(k.scratch, bool, m->value.n);
	k.last = arena_new_array(k.scratch, uint32_t, m->value.n);
	k.since = arena_new_array(k.scratch, uint32_t, m->value.n);
	for (value_id v = 1; v < m->value.n; v++)
		k.root[v] = ir_root(m, v);
	region_each (m, op, region)
		mark(&k, op, true);
	for (uint32_t i = 0; i < m->input.n; i++)
		add_storage(&k, m->input.at[i].value,
		            (struct sched_storage){local_bytes(m, m->input.at[i].value), SCHED_NONE, true});
	region_each (m, op, region)
		if (!k.failed)
			add_node(&k, op);
	for (value_id v = 1; v < m->value.n; v++)
		if (m->value.at[v].flags & VALUE_OUTPUT)
			keep(&k, v);
	if (!k.failed)
		finish(&k, a);
	vec_free(&k.readers);
	vec_free(&k.nodes);
	vec_free(&k.op);
	vec_free(&k.storage);
	vec_free(&k.owner);
	vec_free(&k.family);
	vec_free(&k.family_key);
	vec_free(&k.family_like);
	vec_free(&k.edge);
	vec_free(&k.use);
	vec_free(&k.lane);
	arena_free(k.scratch);
	return !k.failed;
}
