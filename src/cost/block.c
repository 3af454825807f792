/* block: see block.h. */
#include "cost/block.h"
#include "base/vec.h"
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
	struct diag *d;
	struct arena *scratch;
	struct block *out;
	struct keys key;
	uint32_t *node;   /* by op: its node + 1, also of ops in loops; 0: not in the block */
	value_id *root;   /* by value: whose storage it shares */
	uint32_t *home;   /* by root: its storage + 1 */
	bool *written;    /* by root */
	uint32_t *last;   /* by root that is written: the last node that did + 1 */
	uint32_t *since;  /* by such a root: the first of those that touched it since, in `readers` + 1 */
	uint32_t barrier; /* the last node that keeps its place + 1 */
	VEC(struct reader) readers;
	VEC(struct sched_node) nodes;
	VEC(op_id) op;
	VEC(struct sched_storage) storage;
	VEC(value_id) owner;
	VEC(struct sched_family) family;
	VEC(uint64_t) family_key;
	VEC(struct sched_pair) edge, use;
	VEC(uint64_t) lane; /* by lane: of which communicator */
	int64_t launch;
	double bytes_per_ns;
	bool failed;
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

static int64_t type_bytes(const struct module *m, value_id v)
{
	const struct domain *d = value_domain(m, v);
	int64_t n = dtype_bytes((enum dtype)value_type(m, v)->dtype), extent;
	for (unsigned i = 0; i < d->rank; i++)
		n *= expr_is_const(m, d->axis[i].extent, &extent) ? extent : 1;
	return n;
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
		                                                              : type_bytes(m, v);
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

static int64_t family_key_of(const struct maker *k, op_id op, uint32_t lane)
{
	const struct attr *reduce = attr_of(k, op, k->key.op);
	value_id v = op_result(k->m, op, 0);
	uint64_t how = reduce && reduce->kind == ATTR_NAME ? reduce->u.name : 0;
	return (int64_t)((((uint64_t)lane * OP_KIND_COUNT + (uint64_t)collective_of(k->m, op)) * DTYPE_COUNT +
	                  value_type(k->m, v)->dtype) *
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

static uint32_t find_family(struct maker *k, op_id op, group_id group, uint32_t lane)
{
	static const enum op_kind bucketed[] = {OP_ALLGATHER, OP_REDUCE_SCATTER, OP_ALLREDUCE};
	enum op_kind collective = collective_of(k->m, op);
	unsigned which = 0;
	while (which < 3 && bucketed[which] != collective)
		which++;
	const struct attr *table = which < 3 ? table_of(k, group, collective) : NULL;
	if (!table || k->m->op.at[op].def_n != 1 || op_role_count(k->m, op, ROLE_READ) != 1 ||
	    !only_waited_for(k, op))
		return SCHED_NONE;
	uint64_t key = (uint64_t)family_key_of(k, op, lane);
	for (uint32_t f = 0; f < k->family.n; f++)
		if (k->family_key.at[f] == key)
			return f;
	struct sched_point *point = arena_new_array(k->scratch, struct sched_point, table->n / 2);
	for (uint32_t i = 0; i < table->n / 2; i++)
		point[i] =
		    (struct sched_point){(double)table->u.ints[2 * i], (double)table->u.ints[2 * i + 1]};
	vec_push(&k->family, ((struct sched_family){.lane = lane,
	                                            .collective = (enum sched_collective)which,
	                                            .point = point,
	                                            .n = table->n / 2}));
	vec_push(&k->family_key, key);
	return k->family.n - 1;
}

static uint32_t find_lane(struct maker *k, uint64_t communicator)
{
	uint32_t lane = 0;
	while (lane < k->lane.n && k->lane.at[lane] != communicator)
		lane++;
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
	struct module *m = k->m;
	group_id group = find_group(k, op);
	n->kind = SCHED_COMM;
	n->lane = find_lane(k, group);
	for (unsigned i = 0; i < op_role_count(m, op, ROLE_READ); i++)
		n->in += type_bytes(m, op_read(m, op, i));
	n->in = int_of(k, op, k->key.in_bytes, n->in);
	for (unsigned i = 0; i < op_result_count(m, op); i++)
		n->out += type_bytes(m, op_result(m, op, i));
	n->family = group ? find_family(k, op, group, n->lane) : SCHED_NONE;
}

/* What is packed, or unpacked, is read and written. */
static int64_t copy_time(const struct maker *k, op_id op)
{
	struct sched_problem p = {.bytes_per_ns = k->bytes_per_ns};
	unsigned n =
	    k->m->op.at[op].kind == OP_PACK ? op_role_count(k->m, op, ROLE_READ) : op_result_count(k->m, op);
	int64_t bytes = 0;
	for (unsigned i = 0; i < n; i++)
		bytes += type_bytes(k->m, k->m->op.at[op].kind == OP_PACK ? op_read(k->m, op, i)
		                                                          : op_result(k->m, op, i));
	return sched_copy_time(&p, bytes);
}

static void make_node(struct maker *k, op_id op)
{
	struct sched_node n = {.comm = SCHED_NONE, .family = SCHED_NONE};
	const struct attr *time = attr_of(k, op, k->key.time);
	if (k->m->op.at[op].kind == OP_PACK || k->m->op.at[op].kind == OP_UNPACK) {
		n.time = copy_time(k, op);
		vec_push(&k->nodes, n);
		return;
	}
	if (!time || time->kind != ATTR_INT || time->u.i < 0) {
		diag_error(k->d, k->m->op.at[op].at,
		           "what this takes is not known: state it in ns, as in `{time=2500}`");
		k->failed = true;
		return;
	}
	n.time = time->u.i;
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

/* A wait holds what was packed for its bucket. */
static void use_packed(struct maker *k, op_id op, uint32_t node)
{
	op_id comm = block_waits_for(k->m, op);
	value_id packed = comm ? op_read(k->m, comm, 0) : 0;
	op_id def = packed ? k->m->value.at[packed].def : 0;
	if (def && k->m->op.at[def].kind == OP_PACK)
		add_use(k, node, packed);
}

static void add_node(struct maker *k, op_id op)
{
	struct module *m = k->m;
	uint32_t node = k->nodes.n;
	k->node[op] = node + 1;
	make_node(k, op);
	if (k->failed)
		return;
	vec_push(&k->op, op);
	if (name_is(k, op, k->key.kind, "output"))
		for (unsigned i = 0; i < m->op.at[op].operand_n; i++)
			if (ir_operand(m, op, i)->role == ROLE_READ)
				keep(k, ir_operand(m, op, i)->id);
	each_touched(k, op, node, need);
	use_packed(k, op, node);
	add_results(k, op, node);
	for (unsigned i = 0; i < m->op.at[op].def_n; i++) {
		value_id v = ir_operand(m, op, i)->id;
		touch(k, node, k->root[v], k->root[v] == v);
	}
}

static void finish(struct maker *k, struct arena *a)
{
	struct sched_problem *p = &k->out->p;
#define COPY(list, type) memcpy(arena_new_array(a, type, (list).n + 1), (list).at, sizeof(type) * (list).n)
	*p = (struct sched_problem){.launch = k->launch,
	                            .bytes_per_ns = k->bytes_per_ns,
	                            .n = k->nodes.n,
	                            .storage_n = k->storage.n,
	                            .family_n = k->family.n,
	                            .lane_n = k->lane.n};
	p->node = k->nodes.n ? COPY(k->nodes, struct sched_node) : NULL;
	p->storage = k->storage.n ? COPY(k->storage, struct sched_storage) : NULL;
	p->family = k->family.n ? COPY(k->family, struct sched_family) : NULL;
	for (uint32_t i = 0; i < k->family.n; i++) {
		struct sched_family *f = &((struct sched_family *)p->family)[i];
		struct sched_point *point = arena_new_array(a, struct sched_point, f->n);
		memcpy(point, f->point, sizeof *point * f->n);
		f->point = point;
	}
	k->out->op = k->op.n ? COPY(k->op, op_id) : NULL;
	k->out->storage = k->owner.n ? COPY(k->owner, value_id) : NULL;
#undef COPY
	sched_problem_finish(p, a, k->edge.at, k->edge.n, k->use.at, k->use.n);
}

bool block_make(struct module *m, region_id region, struct diag *d, struct arena *a, struct block *out)
{
	struct maker k = {.m = m, .d = d, .scratch = arena_new(), .out = out, .key = keys_of(m->names)};
	const struct attr *launch = attrs_find(m, m->recording.attrs, "launch"),
	                  *rate = attrs_find(m, m->recording.attrs, "memory_rate");
	k.launch = launch ? launch->u.i : 0;
	k.bytes_per_ns = rate ? (double)rate->u.i / 1e9 : 1e300;
	k.node = arena_new_array(k.scratch, uint32_t, m->op.n);
	k.root = arena_new_array(k.scratch, value_id, m->value.n);
	k.home = arena_new_array(k.scratch, uint32_t, m->value.n);
	k.written = arena_new_array(k.scratch, bool, m->value.n);
	k.last = arena_new_array(k.scratch, uint32_t, m->value.n);
	k.since = arena_new_array(k.scratch, uint32_t, m->value.n);
	for (value_id v = 1; v < m->value.n; v++)
		k.root[v] = ir_root(m, v);
	region_each (m, op, region) { /* roots of externs' views, then what is written */
		for (unsigned i = 0; i < m->op.at[op].def_n; i++) {
			value_id v = ir_operand(m, op, i)->id, of = ir_view_of(m, op, i);
			k.root[v] = of ? k.root[of] : v;
		}
		each_touched(&k, op, 0, mark_written);
	}
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
	vec_free(&k.edge);
	vec_free(&k.use);
	vec_free(&k.lane);
	arena_free(k.scratch);
	return !k.failed;
}
