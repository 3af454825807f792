/* chakra_builder: see chakra_builder.h. */
#include "import/chakra_builder.h"
#include "ir/domain.h"
#include "ir/expr.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- names, attributes, types */

name_id builder_word(struct builder *b, const char *text)
{
	return names_intern_z(b->m->names, text);
}

static bool claim_name(struct builder *b, name_id name)
{
	while (b->taken.n <= name)
		vec_push(&b->taken, false);
	bool is_free = !b->taken.at[name];
	b->taken.at[name] = true;
	return is_free;
}

/* Returns a unique name for a tensor: the text, if necessary with the node's id after it. */
name_id builder_name(struct builder *b, const char *text, uint64_t id)
{
	name_id name = builder_word(b, text);
	for (unsigned k = 0; !claim_name(b, name); k++)
		name = builder_word(b, k ? arena_printf(b->scratch, "%s.%" PRIu64 ".%u", text, id, k)
		                         : arena_printf(b->scratch, "%s.%" PRIu64, text, id));
	return name;
}

void builder_int(struct builder *b, const char *key, int64_t v)
{
	vec_push(&b->attr, ((struct attr){.key = builder_word(b, key), .kind = ATTR_INT, .u.i = v}));
}

void builder_name_attr(struct builder *b, const char *key, enum attr_kind kind, name_id v)
{
	vec_push(&b->attr, ((struct attr){.key = builder_word(b, key), .kind = (uint8_t)kind, .u.name = v}));
}

static void add_list(struct builder *b, const char *key, const int64_t *at, uint32_t n)
{
	int64_t *list = arena_new_array(b->m->arena, int64_t, n);
	memcpy(list, at, sizeof *list * n);
	vec_push(&b->attr,
	         ((struct attr){.key = builder_word(b, key), .kind = ATTR_INTS, .n = n, .u.ints = list}));
}

type_id builder_type(struct builder *b, enum dtype dtype, unsigned rank, const int64_t *dim)
{
	struct domain_builder box;
	domain_begin(&box);
	for (unsigned k = 0; k < rank; k++)
		domain_add_axis(&box, AXIS_ITER, expr_const(b->m, dim[k]));
	domain_allocate_default(&box, false);
	return type_make(b->m, dtype, MEMORY_GLOBAL, 0, domain_finish(b->m, &box));
}

static int64_t bytes_of(const struct module *m, value_id v)
{
	const struct type *t = ir_type(m, m->value.at[v].type);
	const struct domain *d = ir_domain(m, t->domain);
	int64_t n = dtype_bytes(t->dtype), extent;
	for (unsigned i = 0; i < d->rank; i++)
		n *= expr_is_const(m, d->axis[i].extent, &extent) ? extent : 1;
	return n;
}

/* ---- storages */

static int by_id(const void *a, const void *b)
{
	const struct storage *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

bool builder_tensors(struct builder *b, const struct chakra_node *n, struct chakra_tensors *in,
                     struct chakra_tensors *out)
{
	in->list.n = out->list.n = 0;
	return chakra_tensors(b->d, b->t, n, "inputs", &n->in, in) &&
	       chakra_tensors(b->d, b->t, n, "outputs", &n->out, out);
}

bool builder_storages(struct builder *b, struct chakra_tensors *in, struct chakra_tensors *out)
{
	VEC(struct storage) all = {0};
	bool ok = true;
	for (uint32_t k = 0; k < b->t->node.n && ok; k++) {
		ok = builder_tensors(b, &b->t->node.at[k], in, out);
		for (uint32_t i = 0; ok && i < in->list.n + out->list.n; i++)
			vec_push(&all, (struct storage){.id = i < in->list.n
			                                          ? in->list.at[i].storage
			                                          : out->list.at[i - in->list.n].storage});
	}
	if (all.n)
		qsort(all.at, all.n, sizeof *all.at, by_id);
	b->storage = arena_new_array(b->scratch, struct storage, all.n);
	for (uint32_t k = 0; k < all.n; k++)
		if (all.at[k].id && (!k || all.at[k].id != all.at[k - 1].id))
			b->storage[b->storage_n++] = all.at[k];
	vec_free(&all);
	return ok;
}

uint32_t builder_storage(const struct builder *b, uint64_t id)
{
	const struct storage key = {.id = id},
	                     *s = b->storage_n ? bsearch(&key, b->storage, b->storage_n, sizeof key, by_id)
	                                       : NULL;
	return s ? (uint32_t)(s - b->storage) : NO_STORAGE;
}

/* ---- statements */

value_id builder_result(struct builder *b, type_id type, name_id name, int64_t view, int64_t bytes)
{
	value_id v = ir_value_new(b->m, type, name, DIAG_NOWHERE);
	vec_push(&b->use, ((struct ir_use){ROLE_DEF, v}));
	vec_push(&b->view, view);
	vec_push(&b->bytes, view < 0 ? bytes : bytes_of(b->m, v));
	b->viewed |= view >= 0;
	b->sized |= view < 0 && bytes != bytes_of(b->m, v);
	return v;
}

/* Returns the index of a value among the operands of node k. */
uint32_t builder_operand(struct builder *b, uint32_t k, value_id v)
{
	while (b->seen.n <= v) {
		vec_push(&b->seen, 0);
		vec_push(&b->place, 0);
	}
	if (b->seen.at[v] != k + 1) {
		b->seen.at[v] = k + 1;
		b->place.at[v] = b->read.n;
		b->read_bytes += bytes_of(b->m, v);
		vec_push(&b->read, ((struct ir_use){ROLE_READ, v}));
	}
	return b->place.at[v];
}

op_id builder_end(struct builder *b)
{
	if (b->viewed)
		add_list(b, "view", b->view.at, b->view.n);
	if (b->sized)
		add_list(b, "bytes", b->bytes.at, b->bytes.n);
	if (b->writes.n)
		add_list(b, "writes", b->writes.at, b->writes.n);
	for (uint32_t i = 0; i < b->read.n; i++)
		vec_push(&b->use, b->read.at[i]);
	op_id op = ir_op_new(b->m, OP_EXTERN, DIAG_NOWHERE, b->use.at, b->use.n);
	b->m->op.at[op].attrs = ir_attrs(b->m, b->attr.at, b->attr.n);
	ir_append(b->m, b->m->body, op);
	b->use.n = b->read.n = b->attr.n = b->view.n = b->bytes.n = b->writes.n = 0;
	b->read_bytes = 0;
	b->viewed = b->sized = false;
	return op;
}

type_id builder_tensor_type(struct builder *b, const struct chakra_tensor *x)
{
	return builder_type(b, x->dtype, x->rank, x->dim);
}

/* Makes a scalar without bytes, which only gives an order. */
value_id builder_token(struct builder *b, const char *name, uint64_t id)
{
	return builder_result(b, builder_type(b, DTYPE_I64, 0, NULL), builder_name(b, name, id), -1, 0);
}

/* Adds the wait for a collective, before the first node that needs its results. */
void builder_wait(struct builder *b, uint32_t k)
{
	const struct chakra_node *n = &b->t->node.at[k];
	struct made *made = &b->made[k];
	unsigned results = op_result_count(b->m, made->op);
	if (!made->waits)
		return;
	made->waits = false;
	builder_name_attr(b, "callee", ATTR_STRING, builder_word(b, "wait"));
	builder_name_attr(b, "kind", ATTR_NAME, builder_word(b, "wait"));
	builder_int(b, "time", 0);
	for (unsigned i = 0; i < results; i++) {
		value_id from = op_result(b->m, made->op, i);
		uint32_t s = b->of_results.at[made->storage + i];
		name_id name = builder_name(
		    b,
		    arena_printf(b->scratch, "%s.wait", names_text(b->m->names, b->m->value.at[from].name)),
		    n->id);
		vec_push(&b->read, ((struct ir_use){ROLE_READ, from}));
		value_id v = builder_result(b, b->m->value.at[from].type, name, i, 0);
		if (!i)
			made->value = v;
		if (s != NO_STORAGE) {
			b->storage[s].value = v;
			b->storage[s].comm = 0;
		}
	}
	builder_end(b);
}

/* Adds an input for a tensor that exists from the beginning. */
void builder_input(struct builder *b, const struct chakra_tensor *x, uint32_t s)
{
	char text[40];
	snprintf(text, sizeof text, "storage.%" PRIu64, x->storage);
	builder_name_attr(b, "callee", ATTR_STRING, builder_word(b, "input"));
	builder_name_attr(b, "kind", ATTR_NAME, builder_word(b, "input"));
	builder_int(b, "time", 0);
	b->storage[s].value = builder_result(b, builder_tensor_type(b, x), builder_name(b, text, x->storage),
	                                     -1, x->cpu ? 0 : x->bytes);
	builder_end(b);
}
