/* chakra_build: see chakra_build.h. */
#include "import/chakra_build.h"
#include "base/checked.h"
#include "import/chakra_builder.h"
#include "import/chakra_groups.h"
#include <stdlib.h>
#include <string.h>

/* ---- operands of a node */

/* Returns true if both are collectives of one group: they run one after the other, so the later one need not
 * wait. */
static bool is_ordered_by_group(const struct builder *b, const struct chakra_node *n, uint32_t dep)
{
	const struct chakra_node *x = &b->t->node.at[dep];
	return n->kind == CHAKRA_COMM_COLL && x->kind == CHAKRA_COMM_COLL && b->made[dep].waits &&
	       !strcmp(n->group ? n->group : "", x->group ? x->group : "");
}

/* Adds the waits and inputs that a node needs, as statements before it. */
static void prepare_node(struct builder *b, uint32_t k, const struct chakra_tensors *in,
                         const struct chakra_tensors *out)
{
	const struct chakra_node *n = &b->t->node.at[k];
	for (uint32_t i = 0; i < n->dep_n; i++)
		if (!is_ordered_by_group(b, n, (uint32_t)b->t->deps.at[n->dep + i]))
			builder_wait(b, (uint32_t)b->t->deps.at[n->dep + i]);
	for (uint32_t i = 0; i < in->list.n + out->list.n; i++) {
		bool is_in = i < in->list.n;
		const struct chakra_tensor *x = is_in ? &in->list.at[i] : &out->list.at[i - in->list.n];
		uint32_t s = builder_storage(b, x->storage);
		if (s == NO_STORAGE)
			continue;
		if (b->storage[s].comm)
			builder_wait(b, b->storage[s].comm - 1);
		if (is_in && !b->storage[s].value)
			builder_input(b, x, s);
	}
}

/* Returns true if an argument is written: its schema marks it, as in aten::add_(Tensor(a!) self, Tensor
 * other); without a schema, the name ends in a way that means the first argument is. */
static bool writes_argument(const struct chakra_node *n, uint32_t argument)
{
	const char *p = n->schema ? strchr(n->schema, '(') : NULL;
	unsigned depth = 0;
	if (!p) {
		size_t length = strcspn(n->name, ".");
		return !argument && length > 1 && n->name[length - 1] == '_' && strstr(n->name, "::");
	}
	for (p++; *p && (depth || *p != ')'); p++) {
		depth += *p == '(' || *p == '[';
		depth -= (*p == ')' || *p == ']') && depth;
		if (*p == ',' && !depth) {
			if (!argument--)
				return false;
		} else if (*p == '*' && !depth && (p[1] == ',' || p[1] == ')')) {
			argument++; /* not an argument; the ones after it are keywords */
		} else if (*p == '!' && depth && !argument) {
			return true;
		}
	}
	return false;
}

static void add_write(struct builder *b, uint32_t operand)
{
	for (uint32_t i = 0; i < b->writes.n; i++)
		if (b->writes.at[i] == operand)
			return;
	vec_push(&b->writes, operand);
}

static void add_operands(struct builder *b, uint32_t k, const struct chakra_tensors *in)
{
	const struct chakra_node *n = &b->t->node.at[k];
	for (uint32_t i = 0; i < in->list.n; i++) {
		uint32_t s = builder_storage(b, in->list.at[i].storage);
		if (s == NO_STORAGE)
			continue;
		uint32_t operand = builder_operand(b, k, b->storage[s].value);
		if (writes_argument(n, in->list.at[i].argument))
			add_write(b, operand);
	}
	for (uint32_t i = 0; i < n->dep_n; i++) {
		const struct made *made = &b->made[b->t->deps.at[n->dep + i]];
		value_id v = i >= n->data_n && made->order ? made->order : made->value;
		if (v)
			builder_operand(b, k, v);
	}
}

static void add_results(struct builder *b, uint32_t k, const struct chakra_tensors *out)
{
	const struct chakra_node *n = &b->t->node.at[k];
	struct made *made = &b->made[k];
	made->storage = b->of_results.n;
	for (uint32_t i = 0; i < out->list.n; i++) {
		const struct chakra_tensor *x = &out->list.at[i];
		uint32_t s = builder_storage(b, x->storage);
		bool again = false; /* an earlier result has the same storage */
		for (uint32_t r = made->storage; s != NO_STORAGE && r < b->of_results.n; r++)
			again |= b->of_results.at[r] == s;
		int64_t view = -1;
		if (s != NO_STORAGE && b->storage[s].value && !again) {
			value_id old = b->storage[s].value;
			bool known = old < b->seen.n && b->seen.at[old] == k + 1;
			view = builder_operand(b, k, old);
			if (!known || n->kind == CHAKRA_COMM_COLL)
				add_write(b, (uint32_t)view);
		}
		name_id name = i ? builder_name(b, arena_printf(b->scratch, "%s.%u", n->name, i), n->id)
		                 : builder_name(b, n->name, n->id);
		value_id v =
		    builder_result(b, builder_tensor_type(b, x), name, view, again || x->cpu ? 0 : x->bytes);
		if (!i)
			made->value = v;
		if (s != NO_STORAGE && !again) {
			b->storage[s].value = v;
			b->storage[s].comm = chakra_is_in_flight(n) ? k + 1 : 0;
		}
		vec_push(&b->of_results, again ? NO_STORAGE : s);
	}
}

/* ---- kind and time of a node */

static group_id group_of(struct builder *b, const struct chakra_node *n)
{
	const char *name = chakra_group_name(n);
	for (uint32_t k = 0; k < b->t->group.n; k++) {
		const struct chakra_group *g = &b->t->group.at[k];
		team_id members = 0;
		if (strcmp(g->name, name))
			continue;
		if (b->group[k])
			return b->group[k];
		if (g->member_n) {
			uint32_t *device = arena_new_array(b->scratch, uint32_t, g->member_n);
			for (uint32_t i = 0; i < g->member_n; i++)
				device[i] = (uint32_t)b->t->members.at[g->member + i];
			members = ir_team_make(b->m, 1, (uint32_t[]){0, g->member_n}, device);
		}
		bool digit = *name >= '0' && *name <= '9';
		name_id id = builder_word(b, digit ? arena_printf(b->scratch, "g%s", name) : name);
		for (group_id i = 1; i < b->m->group.n; i++)
			if (b->m->group.at[i].name == id)
				id = builder_word(
				    b, arena_printf(b->scratch, "%s_", names_text(b->m->names, id)));
		return b->group[k] = ir_group_add(b->m, id, (uint32_t)g->size, members, DIAG_NOWHERE);
	}
	chakra_refuse(b->d, E_TRACE_GROUP, b->t, n, n->group ? "pg_name" : NULL,
	              "the size of the group '%s' is not in the trace", name);
	diag_note(b->d, DIAG_NOWHERE, "`hirc import --group=%s:N` states it", name);
	return 0;
}

static const char *collective_mnemonic(int collective)
{
	switch (collective) {
#define NAME(number, name)                                                                                   \
	case number:                                                                                         \
		return name;
		CHAKRA_COLLECTIVES(NAME)
#undef NAME
	default:
		return NULL;
	}
}

/* Returns the bytes that a collective gives if it takes `bytes`. */
static int64_t result_bytes(const char *collective, int64_t ranks, int64_t bytes)
{
	int64_t n = bytes;
	if (!strcmp(collective, "allgather") || !strcmp(collective, "gather_to"))
		return checked_mul(bytes, ranks, &n) ? n : INT64_MAX;
	if (!strcmp(collective, "reduce_scatter") || !strcmp(collective, "scatter_from"))
		return (bytes + ranks - 1) / ranks;
	return n;
}

static bool add_collective(struct builder *b, uint32_t k, const struct chakra_tensors *in)
{
	const struct chakra_node *n = &b->t->node.at[k];
	const char *name = collective_mnemonic(n->collective);
	int64_t bytes = n->comm_size;
	if (!name)
		return chakra_refuse(b->d, E_TRACE_FIELD, b->t, n, "comm_type",
		                     "the node has none, and its name is not that of a collective");
	group_id group = group_of(b, n);
	if (!group)
		return false;
	for (uint32_t i = 0; n->comm_size < 0 && i < in->list.n; i++)
		bytes += in->list.at[i].bytes + (bytes < 0);
	if (bytes < 0 && !n->time && n->collective != CHAKRA_BARRIER)
		return chakra_refuse(
		    b->d, E_TRACE_TIME, b->t, n, "comm_size",
		    "without it, and without duration_micros, the time of this node is not known");
	bytes = bytes < 0 ? 0 : bytes;
	builder_name_attr(b, "kind", ATTR_NAME, builder_word(b, name));
	if (n->time)
		builder_int(b, "time", n->time);
	builder_name_attr(b, "group", ATTR_NAME, b->m->group.at[group].name);
	if (n->collective == CHAKRA_BARRIER)
		return true;
	if (bytes != b->read_bytes)
		builder_int(b, "in_bytes", bytes);
	if (!b->use.n) {
		int64_t size = result_bytes(name, b->m->group.at[group].size, bytes);
		if (size > INT64_MAX / 4096)
			return chakra_refuse(b->d, E_TRACE_FIELD, b->t, n, "comm_size", "this is too large");
		b->made[k].value =
		    builder_result(b, builder_type(b, DTYPE_U8, 1, &size), builder_name(b, n->name, n->id),
		                   -1, n->out.values ? 0 : size);
		vec_push(&b->of_results, NO_STORAGE);
	}
	b->made[k].waits = true;
	return true;
}

/* A message of a group runs beside work, until a node needs it. */
static bool send_in_flight(struct builder *b, uint32_t k)
{
	const struct chakra_node *n = &b->t->node.at[k];
	group_id group = group_of(b, n);
	if (!group)
		return false;
	builder_name_attr(b, "group", ATTR_NAME, b->m->group.at[group].name);
	if (!b->use.n) {
		b->made[k].value = builder_token(b, n->name, n->id);
		vec_push(&b->of_results, NO_STORAGE);
	}
	b->made[k].waits = true;
	return true;
}

static bool add_message(struct builder *b, uint32_t k)
{
	const struct chakra_node *n = &b->t->node.at[k];
	bool sends = n->kind == CHAKRA_COMM_SEND;
	int64_t peer = sends ? n->to : n->from;
	if (!n->time && n->comm_size < 0)
		return chakra_refuse(
		    b->d, E_TRACE_TIME, b->t, n, "comm_size",
		    "without it, and without duration_micros, the time of this node is not known");
	builder_name_attr(b, "kind", ATTR_NAME, builder_word(b, sends ? "send" : "recv"));
	if (n->time)
		builder_int(b, "time", n->time);
	if (n->comm_size >= 0)
		builder_int(b, "in_bytes", n->comm_size);
	if (peer >= 0)
		builder_int(b, "peer", peer);
	if (n->tag >= 0)
		builder_int(b, "tag", n->tag);
	return !n->group || send_in_flight(b, k);
}

static bool add_compute(struct builder *b, const struct chakra_node *n)
{
	bool labels = n->kind == CHAKRA_METADATA || n->kind >= CHAKRA_STORAGE;
	bool host = b->device && n->on_host == 1;
	if (labels || host) {
		builder_name_attr(b, "kind", ATTR_NAME, builder_word(b, "host"));
		builder_int(b, "time", host ? 0 : n->time);
		if (host && n->time)
			builder_int(b, "host_time", n->time);
		return true;
	}
	if (n->time || (b->timed && n->operations < 0 && n->tensor_size < 0)) {
		builder_int(b, "time", n->time);
		return true;
	}
	if (n->operations < 0 && n->tensor_size < 0)
		return chakra_refuse(
		    b->d, E_TRACE_TIME, b->t, n, "duration_micros",
		    "without it, num_ops and tensor_size, the time of this node is not known");
	if (n->operations >= 0)
		builder_int(b, "flops", n->operations);
	if (n->tensor_size >= 0)
		builder_int(b, "touches", n->tensor_size);
	return true;
}

/* Returns true if a result of a node has a storage of its own, which a node that reads it would keep alive. */
static bool makes_storage(const struct builder *b, uint32_t k)
{
	for (uint32_t i = b->made[k].storage; i < b->of_results.n; i++)
		if (b->of_results.at[i] != NO_STORAGE)
			return true;
	return false;
}

static bool add_node(struct builder *b, uint32_t k, struct chakra_tensors *in, struct chakra_tensors *out)
{
	const struct chakra_node *n = &b->t->node.at[k];
	if (!builder_tensors(b, n, in, out))
		return false;
	if (out->list.n > IR_MAX_RESULTS)
		return chakra_refuse(b->d, E_TRACE_FIELD, b->t, n, "outputs", "a node has at most %d tensors",
		                     IR_MAX_RESULTS);
	prepare_node(b, k, in, out);
	builder_name_attr(b, "callee", ATTR_STRING, builder_word(b, n->name));
	add_operands(b, k, in);
	add_results(b, k, out);
	bool ok = n->kind == CHAKRA_COMM_COLL                                  ? add_collective(b, k, in)
	          : n->kind == CHAKRA_COMM_SEND || n->kind == CHAKRA_COMM_RECV ? add_message(b, k)
	                                                                       : add_compute(b, n);
	if (!ok)
		return false;
	if (!b->use.n && b->made[k].needed)
		b->made[k].value = builder_token(b, n->name, n->id);
	else if (b->made[k].ordered && !chakra_is_in_flight(n) && makes_storage(b, k))
		b->made[k].order = builder_token(b, arena_printf(b->scratch, "%s.order", n->name), n->id);
	if (!b->use.n)
		builder_name_attr(b, "name", ATTR_STRING, builder_word(b, n->name));
	if (b->read.n > IR_MAX_OPERANDS)
		return chakra_refuse(b->d, E_TRACE_FIELD, b->t, n, NULL, "a node needs at most %d others",
		                     IR_MAX_OPERANDS);
	b->made[k].op = builder_end(b);
	return true;
}

/* ---- the whole */

static void scan_nodes(struct builder *b)
{
	bool host = false;
	for (uint32_t k = 0; k < b->t->node.n; k++) {
		const struct chakra_node *n = &b->t->node.at[k];
		bool computes =
		    n->kind == CHAKRA_COMP || n->kind == CHAKRA_MEM_LOAD || n->kind == CHAKRA_MEM_STORE;
		for (uint32_t i = 0; i < n->dep_n; i++) {
			b->made[b->t->deps.at[n->dep + i]].needed = true;
			b->made[b->t->deps.at[n->dep + i]].ordered |= i >= n->data_n;
		}
		b->timed |= computes && n->time;
		host |= n->on_host == 1;
	}
	b->device = host && b->t->on_devices;
}

static name_id program_name(struct builder *b)
{
	const char *slash = strrchr(b->t->file, '/'), *from = slash ? slash + 1 : b->t->file,
	           *end = strstr(from, ".et");
	end = end ? end : strstr(from, ".json");
	if (*from == '<' || !*from || end == from)
		return builder_word(b, "trace");
	char *name = arena_strndup(b->scratch, from, end ? (size_t)(end - from) : strlen(from));
	for (char *p = name; *p; p++)
		if ((unsigned char)*p < ' ' || *p == '`' || (unsigned char)*p >= 0x7f)
			*p = '_';
	return builder_word(b, name);
}

struct module *chakra_build(struct diag *d, const struct chakra *t)
{
	struct builder b = {.d = d, .t = t, .m = module_new(names_new()), .scratch = arena_new()};
	struct chakra_tensors in = {0}, out = {0};
	struct module *m = b.m;
	b.made = arena_new_array(b.scratch, struct made, t->node.n);
	b.group = arena_new_array(b.scratch, group_id, t->group.n);
	m->name = program_name(&b);
	scan_nodes(&b);
	if (b.timed || t->contended) { /* recorded times include launches */
		m->recording.name = builder_word(&b, "recorded");
		m->recording.at = DIAG_NOWHERE;
		builder_int(&b, "launch", 0);
		if (t->contended)
			builder_int(&b, "contended", 1);
		m->recording.attrs = ir_attrs(m, b.attr.at, b.attr.n);
		b.attr.n = 0;
	}
	bool ok = builder_storages(&b, &in, &out);
	for (uint32_t k = 0; k < t->node.n && ok; k++)
		ok = add_node(&b, k, &in, &out);
	for (uint32_t k = 0; k < t->node.n && ok; k++)
		builder_wait(&b, k);
	arena_free(b.scratch);
	vec_free(&in.list);
	vec_free(&out.list);
	vec_free(&b.of_results);
	vec_free(&b.taken);
	vec_free(&b.seen);
	vec_free(&b.place);
	vec_free(&b.use);
	vec_free(&b.read);
	vec_free(&b.attr);
	vec_free(&b.view);
	vec_free(&b.bytes);
	vec_free(&b.writes);
	if (ok)
		return m;
	module_free(m);
	return NULL;
}
