/* buckets_group: buckets whose members start together.
 *
 *     a = extern "all_gather"(x) {kind=allgather}      a, b = extern "all_gather"(x, y) {kind=allgather}
 *     b = extern "all_gather"(y) {kind=allgather}      …
 *     …                                            →   c, d = extern "wait"(a, b) {kind=wait}
 *     c = extern "wait"(a) {kind=wait}
 *     d = extern "wait"(b) {kind=wait}
 *
 * Communications stand between start_coalescing and end_coalescing, and one wait names the latter. */
#include "cost/local.h"
#include "ir/edit.h"
#include "pass/buckets_applier.h"

static int64_t bytes_of(const struct module *m, value_id v)
{
	struct local_shape shape;
	return local_shape(m, v, &shape) == EXPR_OK ? shape.bytes : 0;
}

static void add_ints(struct applier *a, const char *key, const int64_t *at, uint32_t n)
{
	vec_push(&a->attr,
	         ((struct attr){.key = buckets_word(a, key), .kind = ATTR_INTS, .n = n, .u.ints = at}));
}

static void group_typed(struct applier *a, struct members *b)
{
	struct module *m = a->m;
	buckets_put(a, OP_START_COALESCING, buckets_place(a, b->comm.at[0]));
	for (uint32_t i = 0; i < b->comm.n; i++) {
		ir_move_to_end(m, a->region, a->b->op[b->comm.at[i]]);
		m->op.at[a->b->op[b->comm.at[i]]].flags |= OP_GROUPED;
	}
	b->made = buckets_put(a, OP_END_COALESCING, buckets_place(a, b->comm.at[0]));
	m->op.at[b->made].flags |= OP_ASYNC;
}

/* Results, operands and costs of several recorded statements together. */
struct joined {
	VEC(int64_t) view, bytes; /* by result: the operand that it is a view of, or -1; what it takes */
	VEC(int64_t) writes;      /* operands */
	unsigned reads;
	int64_t in_bytes;
	bool views, sized, in_sized; /* some member states it */
};

static void add_view(const struct module *m, struct joined *j, op_id op, unsigned result)
{
	value_id of = ir_view_of(m, op, result);
	unsigned read = 0;
	while (of && op_read(m, op, read) != of)
		read++;
	vec_push(&j->view, of ? (int64_t)(j->reads + read) : -1);
	j->views |= of != 0;
}

static void add_bytes(const struct module *m, struct joined *j, op_id op, unsigned result)
{
	const struct attr *stated = op_attr(m, op, "bytes");
	int64_t bytes = ir_view_of(m, op, result) ? 0 : bytes_of(m, op_def(m, op, result));
	if (stated && stated->kind == ATTR_INT && !result)
		bytes = stated->u.i;
	else if (stated && stated->kind == ATTR_INTS && result < stated->n)
		bytes = stated->u.ints[result];
	vec_push(&j->bytes, bytes);
	j->sized |= stated != NULL;
}

static void add_writes(const struct module *m, struct joined *j, op_id op)
{
	const struct attr *writes = op_attr(m, op, "writes");
	if (writes && writes->kind == ATTR_INT)
		vec_push(&j->writes, j->reads + writes->u.i);
	for (uint32_t i = 0; writes && writes->kind == ATTR_INTS && i < writes->n; i++)
		vec_push(&j->writes, j->reads + writes->u.ints[i]);
}

/* Takes a statement out; its results are those of the one that is made. */
static void join_statement(struct applier *a, struct joined *j, uint32_t node)
{
	struct module *m = a->m;
	op_id op = a->b->op[node];
	ir_remove(m, op);
	for (unsigned k = 0; k < m->op.at[op].def_n; k++) {
		add_view(m, j, op, k);
		add_bytes(m, j, op, k);
		vec_push(&a->use, ((struct ir_use){ROLE_DEF, op_def(m, op, k)}));
	}
	add_writes(m, j, op);
	j->reads += op_role_count(m, op, ROLE_READ);
	j->in_sized |= op_attr(m, op, "in_bytes") != NULL;
	j->in_bytes += a->b->p.node[node].in;
}

/* One statement for several recorded ones, with all their operands and results. */
static void put_joined(struct applier *a, const uint32_t *node, uint32_t n, int64_t time, bool timed)
{
	struct joined j = {0};
	for (uint32_t i = 0; i < n; i++)
		join_statement(a, &j, node[i]);
	for (uint32_t i = 0; i < n; i++)
		for (unsigned k = 0; k < op_role_count(a->m, a->b->op[node[i]], ROLE_READ); k++)
			buckets_add_read(a, op_read(a->m, a->b->op[node[i]], k));
	buckets_copy_attrs(a, a->b->op[node[0]]);
	if (timed)
		buckets_add_int(a, "time", time);
	if (j.in_sized)
		buckets_add_int(a, "in_bytes", j.in_bytes);
	if (j.sized)
		add_ints(a, "bytes", j.bytes.at, j.bytes.n);
	if (j.views)
		add_ints(a, "view", j.view.at, j.view.n);
	if (j.writes.n)
		add_ints(a, "writes", j.writes.at, j.writes.n);
	buckets_add_members(a, node, n);
	buckets_put(a, OP_EXTERN, buckets_place(a, node[0]));
	vec_free(&j.view);
	vec_free(&j.writes);
	vec_free(&j.bytes);
}

void buckets_put_grouped(struct applier *a, struct members *b, enum sched_step step, int64_t time)
{
	if (buckets_is_typed(a, b)) {
		if (step == SCHED_STEP_COMM)
			group_typed(a, b);
		else
			buckets_wait_typed(a, b);
		return;
	}
	bool comm = step == SCHED_STEP_COMM;
	const uint32_t *node = comm ? b->comm.at : b->wait.at;
	put_joined(a, node, comm ? b->comm.n : b->wait.n, time,
	           !comm || op_attr(a->m, a->b->op[node[0]], "time"));
}
