/* import_build: see import_build.h. */
#include "import/import_build.h"
#include "base/checked.h"
#include "base/source.h"
#include "ir/build.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RESULTS = IR_MAX_RESULTS, MIB = 1 << 20 };

static const int64_t FAR = INT64_C(1) << 40; /* bytes beyond a step table, to its last point */

struct builder {
	struct diag *d;
	const struct graph *g;
	struct module *m;
	struct arena *scratch;
	const char *text;
	uint32_t *first;       /* by node, and one at the end: its first value in `value` */
	VEC(value_id) value;   /* of all nodes, in order */
	VEC(uint32_t) storage; /* by index of `value`; UINT32_MAX: none */
	VEC(struct ir_use) use;
	VEC(struct attr) attr;
	VEC(int64_t) number; /* the numbers of the attributes' lists */
	bool *needed;        /* by node: other nodes need it */
};

static name_id name_of(struct builder *b, struct graph_text t)
{
	return names_intern(b->m->names, b->text + t.at, t.n);
}

static name_id intern_word(struct builder *b, const char *text)
{
	return names_intern_z(b->m->names, text);
}

/* ---- attributes */

static void add_int(struct builder *b, const char *key, int64_t v)
{
	vec_push(&b->attr, ((struct attr){.key = intern_word(b, key), .kind = ATTR_INT, .u.i = v}));
}

static void add_name(struct builder *b, const char *key, enum attr_kind kind, name_id v)
{
	vec_push(&b->attr, ((struct attr){.key = intern_word(b, key), .kind = (uint8_t)kind, .u.name = v}));
}

/* Adds the last n numbers as a list. */
static void add_list(struct builder *b, const char *key, uint32_t n)
{
	int64_t *list = arena_new_array(b->m->arena, int64_t, n + 1);
	memcpy(list, b->number.at + b->number.n - n, sizeof *list * n);
	vec_push(&b->attr,
	         ((struct attr){.key = intern_word(b, key), .kind = ATTR_INTS, .n = n, .u.ints = list}));
}

static bool has_attr(const struct builder *b, const char *key)
{
	for (uint32_t i = 0; i < b->attr.n; i++)
		if (!strcmp(names_text(b->m->names, b->attr.at[i].key), key))
			return true;
	return false;
}

static attrs_id take_attrs(struct builder *b)
{
	attrs_id made = ir_attrs(b->m, b->attr.at, b->attr.n);
	b->attr.n = 0;
	b->number.n = 0;
	return made;
}

/* ---- cluster and groups */

static void add_point(struct builder *b, int64_t bytes, double time)
{
	vec_push(&b->number, bytes);
	vec_push(&b->number, llround(fmin(time, (double)INT64_MAX / 2)));
}

/* Adds the points of a step table. The value of a step is for all sizes with the same whole number of MiB. Larger sizes
 * than the table has are on the line through the last two points, so these are far apart: times are whole ns. */
static void add_steps(struct builder *b, const struct graph_point *at, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct graph_point *here = &at[i], *next = i + 1 < n ? &at[i + 1] : NULL;
		int64_t end = here->bytes + MIB;
		add_point(b, here->bytes, here->time);
		if (next && next->bytes <= end) {
			add_point(b, next->bytes - 1, here->time);
			continue;
		}
		add_point(b, end - 1, here->time);
		const struct graph_point *from = next    ? here
		                                 : n > 1 ? here - 1
		                                         : here,
		                         *to = next ? next : here;
		double slope = to == from ? 0 : (to->time - from->time) / (double)(to->bytes - from->bytes);
		add_point(b, end, here->time + slope * MIB);
		if (!next)
			add_point(b, end + FAR, here->time + slope * (double)(MIB + FAR));
	}
}

static const char *collective_mnemonic(const struct builder *b, struct graph_text t, char *room, size_t size)
{
	if (graph_text_is(b->text, t, "alltoall"))
		return "all_to_all";
	snprintf(room, size, "%.*s", (int)t.n, b->text + t.at);
	return room;
}

/* Finds hirc's name of a collective, in *name. room: space for it. Returns false after reporting. */
static bool read_collective(struct builder *b, struct graph_text t, char *room, size_t size,
                            const char **name)
{
	*name = collective_mnemonic(b, t, room, size);
	enum op_kind kind = op_by_hir(*name);
	if (kind != OP_NONE && op_info[kind].traits & TRAIT_COLLECTIVE)
		return true;
	diag_error_span(b->d, E_COLLECTIVE_UNKNOWN, t.at, t.n, "this is no collective that hirc knows");
	return false;
}

static bool declare_recording(struct builder *b)
{
	const struct graph *g = b->g;
	struct recording *c = &b->m->recording;
	char room[64];
	c->name = intern_word(b, "recorded");
	c->at = DIAG_NOWHERE;
	add_int(b, "launch", g->launch);
	if (g->memory_rate > 0)
		add_int(b, "memory_rate", (int64_t)g->memory_rate);
	c->attrs = take_attrs(b);
	for (uint32_t i = 0; i < g->group.n; i++) {
		if (g->group.at[i].size < 1 || g->group.at[i].size > IR_MAX_DEVICES) {
			diag_error_span(b->d, E_GROUP_MEMBERS, g->group.at[i].name.at, g->group.at[i].name.n,
			                "a group has 1 to %d members", IR_MAX_DEVICES);
			return false;
		}
		const char *name = arena_printf(b->m->arena, "g%.*s", (int)g->group.at[i].name.n,
		                                b->text + g->group.at[i].name.at);
		ir_group_add(b->m, intern_word(b, name), (uint32_t)g->group.at[i].size, 0,
		             g->group.at[i].name.at);
	}
	for (uint32_t group = 0; group < g->group.n; group++) {
		for (uint32_t i = 0; i < g->table.n; i++) {
			const struct graph_table *t = &g->table.at[i];
			const struct graph_point *at = g->point.at + t->point;
			const char *name;
			uint32_t from = b->number.n;
			if (t->group != group)
				continue;
			if (!read_collective(b, t->collective, room, sizeof room, &name))
				return false;
			if (has_attr(b, name)) {
				diag_error_span(b->d, E_GRAPH_TENSORS, t->collective.at, t->collective.n,
				                "the group has a table of this collective already");
				return false;
			}
			if (t->stepped)
				add_steps(b, at, t->point_n);
			else
				for (uint32_t k = 0; k < t->point_n; k++)
					add_point(b, at[k].bytes, at[k].time);
			if (b->number.n - from > IR_MAX_OPERANDS) {
				diag_error_span(b->d, E_GRAPH_TENSORS, t->collective.at, t->collective.n,
				                "a table has at most %d points", IR_MAX_OPERANDS / 2);
				return false;
			}
			add_list(b, name, b->number.n - from);
		}
		b->m->group.at[group + 1].attrs = take_attrs(b);
	}
	return true;
}

/* ---- types */

/* Reads a type, `bf16[2,8192]`. A dtype that hirc lacks becomes bytes, a complex number a pair. Returns 0
 * after reporting; *none: it is not a tensor. */
static type_id read_type(struct builder *b, struct graph_text t, bool *none)
{
	const char *text = b->text + t.at, *bracket = memchr(text, '[', t.n);
	char name[16];
	struct domain_builder box;
	enum dtype dtype;
	int64_t last = 0;
	*none = !bracket;
	if (!bracket)
		return 0;
	snprintf(name, sizeof name, "%.*s", (int)(bracket - text), text);
	size_t digits = strcspn(name, "0123456789");
	long bits = strtol(name + digits, NULL, 10);
	if (!strcmp(name, "b8")) {
		dtype = DTYPE_BOOL;
	} else if (!strcmp(name, "c64") || !strcmp(name, "c128")) {
		dtype = bits == 64 ? DTYPE_F32 : DTYPE_F64;
		last = 2;
	} else if (!dtype_parse(name, &dtype)) {
		if (bits < 8 || bits > 1024) {
			diag_error_span(b->d, E_DTYPE_UNKNOWN, t.at, t.n, "'%s' is no dtype", name);
			return 0;
		}
		dtype = DTYPE_U8;
		last = bits / 8;
	}
	domain_begin(&box);
	int64_t count = 1;
	bool ok = true;
	for (const char *at = bracket + 1; ok && *at != ']';) {
		char *end;
		long long extent = strtoll(at, &end, 10);
		ok = end != at && (*end == ',' || *end == ']') && extent >= 0 &&
		     domain_add_axis(&box, AXIS_ITER, expr_const(b->m, extent)) >= 0;
		if (!checked_mul(count, extent ? extent : 1, &count))
			count = INT64_MAX;
		at = *end == ',' ? end + 1 : end;
	}
	if (ok && last)
		ok = domain_add_axis(&box, AXIS_ITER, expr_const(b->m, last)) >= 0;
	if (ok && count > INT64_MAX / 4096) {
		diag_error_span(b->d, E_GRAPH_TENSORS, t.at, t.n, "this tensor is too large");
		return 0;
	}
	if (!ok) {
		diag_error_span(b->d, E_GRAPH_TENSORS, t.at, t.n, "a tensor is written as dtype[extent,…]");
		return 0;
	}
	domain_allocate_default(&box, false);
	return type_make(b->m, dtype, MEMORY_GLOBAL, 0, domain_finish(b->m, &box));
}

static int64_t bytes_of(const struct module *m, type_id t)
{
	const struct domain *d = ir_domain(m, ir_type(m, t)->domain);
	int64_t n = dtype_bytes(ir_type(m, t)->dtype), extent;
	for (unsigned i = 0; i < d->rank; i++)
		n *= expr_is_const(m, d->axis[i].extent, &extent) ? extent : 1;
	return n;
}

/* ---- nodes */

struct result {
	type_id type;
	uint32_t storage; /* UINT32_MAX: none */
	int64_t view;     /* the operand of which it is a view; -1: it has its own storage */
	int64_t bytes;    /* bytes of its storage */
};

/* Reads the results of a node that are tensors. */
static bool read_results(struct builder *b, const struct graph_node *n, struct result *out, uint32_t *count)
{
	uint32_t stop = n->out.at + n->out.n, storage = 0;
	*count = 0;
	for (uint32_t at = n->out.at; at < stop;) {
		const char *semicolon = memchr(b->text + at, ';', stop - at);
		uint32_t end = semicolon ? (uint32_t)(semicolon - b->text) : stop;
		bool none;
		type_id t = read_type(b, (struct graph_text){at, end - at}, &none);
		if (!none && !t)
			return false;
		if (t && *count == MOST_RESULTS) {
			diag_error_span(b->d, E_GRAPH_TENSORS, n->out.at, n->out.n,
			                "a node has at most %d results", MOST_RESULTS);
			return false;
		}
		if (t)
			out[(*count)++] = (struct result){.type = t, .storage = UINT32_MAX, .view = -1};
		at = end + 1;
	}
	for (uint32_t k = 0; k < *count && storage < n->storage_n; k++)
		out[k].storage = b->g->id.at[n->storage + storage++];
	if (storage < n->storage_n) {
		diag_error_span(b->d, E_GRAPH_TENSORS, n->name.at, n->name.n,
		                "this has more storages than tensors");
		return false;
	}
	return true;
}

/* Finds the results that are views, and their operands. */
static bool find_views(struct builder *b, uint32_t node, struct result *r, uint32_t n)
{
	const struct graph_node *x = &b->g->node.at[node];
	for (uint32_t k = 0; k < n; k++) {
		uint32_t s = r[k].storage, operand = 0;
		r[k].bytes = 0;
		if (s == UINT32_MAX)
			continue;
		const struct graph_storage *storage = &b->g->storage.at[s];
		if (storage->def == node) {
			r[k].bytes = storage->cpu ? 0 : storage->bytes;
			continue;
		}
		for (uint32_t i = 0; i < x->in_n && r[k].view < 0; i++) {
			uint32_t in = b->g->id.at[x->in + i];
			for (uint32_t v = b->first[in]; v < b->first[in + 1]; v++, operand++)
				if (b->storage.at[v] == s && r[k].view < 0)
					r[k].view = operand;
		}
		if (r[k].view < 0) {
			diag_error_span(b->d, E_GRAPH_TENSORS, x->name.at, x->name.n,
			                "this has the storage %u, which is made neither by this node nor by "
			                "a node that it needs",
			                s);
			return false;
		}
	}
	return true;
}

static bool add_kind(struct builder *b, const struct graph_node *n)
{
	char room[64];
	const char *name;
	if (n->kind != GRAPH_COMM) {
		if (n->kind != GRAPH_COMPUTE)
			add_name(b, "kind", ATTR_NAME, intern_word(b, graph_kind_name[n->kind]));
		add_int(b, "time", n->time);
		return true;
	}
	const struct graph_comm *c = &b->g->comm.at[n->comm];
	if (!read_collective(b, c->collective, room, sizeof room, &name))
		return false;
	add_name(b, "kind", ATTR_NAME, intern_word(b, name));
	add_int(b, "time", n->time);
	add_name(b, "group", ATTR_NAME, b->m->group.at[c->group + 1].name);
	if (c->reduce.n && op_info[op_by_hir(name)].traits & TRAIT_REDUCES)
		add_name(b, "op", ATTR_NAME, name_of(b, c->reduce));
	return true;
}

static void add_storages(struct builder *b, const struct graph_node *x, const struct result *r, uint32_t n,
                         int64_t in_bytes)
{
	bool view = false, bytes = false, input = false;
	for (uint32_t k = 0; k < n; k++) {
		view |= r[k].view >= 0;
		bytes |= r[k].view < 0 && r[k].bytes != bytes_of(b->m, r[k].type);
		input |= r[k].view < 0 && r[k].storage != UINT32_MAX &&
		         b->g->storage.at[r[k].storage].input && x->kind != GRAPH_INPUT &&
		         x->kind != GRAPH_ATTR;
	}
	if (view) {
		for (uint32_t k = 0; k < n; k++)
			vec_push(&b->number, r[k].view);
		add_list(b, "view", n);
	}
	if (bytes) {
		for (uint32_t k = 0; k < n; k++)
			vec_push(&b->number, r[k].bytes);
		add_list(b, "bytes", n);
	}
	if (input)
		add_name(b, "storage", ATTR_NAME, intern_word(b, "input"));
	if (x->kind == GRAPH_COMM && b->g->comm.at[x->comm].in_bytes != in_bytes)
		add_int(b, "in_bytes", b->g->comm.at[x->comm].in_bytes);
}

/* Adds writes=: the operands whose storages the node writes. */
static bool add_writes(struct builder *b, const struct graph_node *x)
{
	uint32_t n = 0;
	for (uint32_t k = 0; k < x->mutated_n; k++) {
		uint32_t operand = 0, written = b->g->id.at[x->mutated + k];
		bool found = false;
		for (uint32_t i = 0; i < x->in_n; i++) {
			uint32_t in = b->g->id.at[x->in + i];
			for (uint32_t v = b->first[in]; v < b->first[in + 1]; v++, operand++)
				if (in == written) {
					vec_push(&b->number, operand);
					n++;
					found = true;
				}
		}
		if (!found) {
			diag_error_span(b->d, E_GRAPH_TENSORS, x->name.at, x->name.n,
			                "this writes to node %u, which it does not need", written);
			return false;
		}
	}
	if (n)
		add_list(b, "writes", n);
	return true;
}

static value_id add_value(struct builder *b, uint32_t node, uint32_t k, type_id type)
{
	const struct graph_node *x = &b->g->node.at[node];
	name_id name = name_of(b, x->name);
	if (k) {
		struct buf text = {0};
		buf_printf(&text, "%.*s.%u", (int)x->name.n, b->text + x->name.at, k);
		name = names_intern(b->m->names, text.at, text.n);
		buf_free(&text);
	}
	return ir_value_new(b->m, type, name, x->name.at);
}

static bool add_node(struct builder *b, uint32_t node)
{
	const struct graph_node *x = &b->g->node.at[node];
	struct result result[MOST_RESULTS];
	uint32_t n, operands = 0;
	int64_t in_bytes = 0;
	if (!read_results(b, x, result, &n) || !find_views(b, node, result, n))
		return false;
	if (!n && b->needed[node]) { /* makes a value for the nodes that need it */
		struct domain_builder box;
		domain_begin(&box);
		domain_allocate_default(&box, false);
		result[n++] = (struct result){
		    .type = type_make(b->m, DTYPE_I64, MEMORY_GLOBAL, 0, domain_finish(b->m, &box)),
		    .storage = UINT32_MAX,
		    .view = -1};
	}
	b->first[node] = b->value.n;
	b->use.n = 0;
	for (uint32_t k = 0; k < n; k++) {
		value_id v = add_value(b, node, k, result[k].type);
		vec_push(&b->value, v);
		vec_push(&b->storage, result[k].storage);
		vec_push(&b->use, ((struct ir_use){ROLE_DEF, v}));
	}
	b->first[node + 1] = b->value.n;
	for (uint32_t i = 0; i < x->in_n; i++) {
		uint32_t in = b->g->id.at[x->in + i];
		for (uint32_t v = b->first[in]; v < b->first[in + 1]; v++) {
			vec_push(&b->use, ((struct ir_use){ROLE_READ, b->value.at[v]}));
			in_bytes += bytes_of(b->m, b->m->value.at[b->value.at[v]].type);
			operands++;
		}
	}
	if (operands > IR_MAX_OPERANDS) {
		diag_error_span(b->d, E_GRAPH_TENSORS, x->name.at, x->name.n,
		                "a node has at most %d operands", IR_MAX_OPERANDS);
		return false;
	}
	add_name(b, "callee", ATTR_STRING, name_of(b, x->target));
	if (!add_kind(b, x))
		return false;
	add_storages(b, x, result, n, in_bytes);
	if (!add_writes(b, x))
		return false;
	if (!n)
		add_name(b, "name", ATTR_STRING, name_of(b, x->name));
	op_id op = ir_op_new(b->m, OP_EXTERN, x->at, b->use.at, b->use.n);
	b->m->op.at[op].attrs = take_attrs(b);
	ir_append(b->m, b->m->body, op);
	return true;
}

/* Reports two nodes with one name, which would become one value. */
static bool check_names(struct builder *b)
{
	uint32_t n = names_count(b->m->names);
	bool *seen = arena_new_array(b->scratch, bool, n + 1);
	bool ok = true;
	for (uint32_t i = 0; i < b->value.n && ok; i++) {
		const struct value *v = &b->m->value.at[b->value.at[i]];
		ok = !seen[v->name];
		if (!ok)
			diag_error(b->d, E_DEFINED_TWICE, v->at, "two nodes have the name '%s'",
			           names_text(b->m->names, v->name));
		seen[v->name] = true;
	}
	return ok;
}

struct module *graph_build(struct diag *d, const struct graph *g)
{
	struct builder b = {.d = d, .g = g, .m = module_new(names_new()), .text = g->source->text};
	struct source *before = diag_set_source(d, g->source);
	struct module *m = b.m;
	m->source = g->source;
	m->name = g->name.n ? name_of(&b, g->name) : intern_word(&b, "graph");
	b.scratch = arena_new();
	b.first = arena_new_array(b.scratch, uint32_t, g->node.n + 1);
	b.needed = arena_new_array(b.scratch, bool, g->node.n + 1);
	for (uint32_t i = 0; i < g->node.n; i++)
		for (uint32_t k = 0; k < g->node.at[i].in_n; k++)
			b.needed[g->id.at[g->node.at[i].in + k]] = true;
	bool ok = declare_recording(&b);
	for (uint32_t i = 0; i < g->node.n && ok; i++) {
		source_release(g->source, g->node.at[i].at); /* nodes are in the order of the file */
		ok = add_node(&b, i);
	}
	ok = ok && check_names(&b);
	arena_free(b.scratch);
	vec_free(&b.value);
	vec_free(&b.storage);
	vec_free(&b.use);
	vec_free(&b.attr);
	vec_free(&b.number);
	diag_set_source(d, before);
	if (ok)
		return m;
	module_free(m);
	return NULL;
}
