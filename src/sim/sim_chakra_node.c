/* sim_chakra_node: see sim_chakra_node.h. Numbers of fields are those of src/import/chakra.proto. */
#include "sim/sim_chakra_node.h"
#include "cost/local.h"
#include <inttypes.h>
#include <string.h>

enum {
	NODE_ID = 1,
	NODE_NAME,
	NODE_TYPE,
	NODE_CTRL,
	NODE_DATA,
	NODE_DURATION = 7,
	NODE_INPUTS,
	NODE_OUTPUTS,
	NODE_ATTRIBUTE
};
enum { METADATA_VERSION = 1, METADATA_ATTRIBUTE };
enum { ATTRIBUTE_NAME = 1, ATTRIBUTE_INT64 = 9, ATTRIBUTE_STRING = 29 };
enum { VALUES_VALUES = 1, VALUES_SHAPES, VALUES_TYPES };

static void put_varint(struct buf *out, uint64_t v)
{
	for (; v > 0x7f; v >>= 7)
		buf_putc(out, (char)((v & 0x7f) | 0x80));
	buf_putc(out, (char)v);
}

static void put_number(struct buf *out, unsigned field, uint64_t v)
{
	put_varint(out, field << 3);
	put_varint(out, v);
}

static void put_bytes(struct buf *out, unsigned field, const char *data, size_t n)
{
	put_varint(out, field << 3 | 2);
	put_varint(out, n);
	buf_putn(out, data, n);
}

static void put_text(struct buf *out, unsigned field, const char *text)
{
	put_bytes(out, field, text, strlen(text));
}

static void put_message(struct buf *out, const struct buf *message)
{
	put_varint(out, message->n);
	buf_putn(out, message->at, message->n);
}

static void put_ids(struct buf *out, unsigned field, const uint32_t *id, uint32_t n)
{
	struct buf list = {0};
	for (uint32_t k = 0; k < n; k++)
		put_varint(&list, id[k]);
	if (n)
		put_bytes(out, field, list.at, list.n);
	buf_free(&list);
}

/* ---- attributes */

/* text NULL: the attribute is a number. */
static void put_attribute(struct buf *out, unsigned field, const char *name, int64_t v, const char *text)
{
	struct buf a = {0};
	put_text(&a, ATTRIBUTE_NAME, name);
	if (text)
		put_text(&a, ATTRIBUTE_STRING, text);
	else
		put_number(&a, ATTRIBUTE_INT64, (uint64_t)v);
	put_bytes(out, field, a.at, a.n);
	buf_free(&a);
}

void sim_chakra_add_int(struct chakra_draft *n, const char *name, int64_t v)
{
	put_attribute(&n->attributes, NODE_ATTRIBUTE, name, v, NULL);
}

void sim_chakra_add_text(struct chakra_draft *n, const char *name, const char *text)
{
	put_attribute(&n->attributes, NODE_ATTRIBUTE, name, 0, text);
}

/* ---- tensors */

/* Puts the first of PyTorch's names of a dtype. */
static void put_dtype(enum dtype t, struct buf *out)
{
	buf_puts(out, "'Tensor(");
	for (const char *p = dtype_torch_names(t); *p && *p != ' '; p++)
		buf_putc(out, *p == '|' ? ' ' : *p);
	buf_puts(out, ")'");
}

/* Puts one tensor. A storage that is larger or smaller than its tensor is a row of bytes. */
static void put_tensor(const struct chakra_tensor_text *t, uint32_t tensor, struct buf *values,
                       struct buf *shapes, struct buf *types)
{
	const struct timeline_tensor *x = &t->tensor[tensor];
	struct local_shape shape = {.rank = 1, .n = {x->bytes}, .elements = x->bytes};
	enum dtype dtype = DTYPE_U8;
	if (x->value && local_shape(t->m, x->value, &shape) == EXPR_OK && shape.bytes == x->bytes &&
	    shape.elements)
		dtype = value_type(t->m, x->value)->dtype;
	else
		shape = (struct local_shape){.rank = 1, .n = {x->bytes}, .elements = x->bytes};
	const char *comma = values->n ? ", " : "";
	buf_printf(values, "%s[%u, %u, 0, %" PRId64 ", %u, 'cuda:0']", comma, tensor + 1, tensor + 1,
	           shape.elements, dtype_bytes(dtype));
	buf_printf(shapes, "%s[", comma);
	for (unsigned i = 0; i < shape.rank; i++)
		buf_printf(shapes, "%s%" PRId64, i ? ", " : "", shape.n[i]);
	buf_puts(shapes, "]");
	buf_puts(types, comma);
	put_dtype(dtype, types);
}

static void put_list(struct buf *out, unsigned field, const struct buf *items)
{
	struct buf text = {0};
	buf_printf(&text, "[%s]", items->n ? items->at : "");
	put_text(out, field, text.at);
	buf_free(&text);
}

/* Puts `inputs` or `outputs`. An empty list says that there is no tensor. */
static void put_tensors(const struct chakra_tensor_text *t, const uint32_t *tensor, uint32_t n,
                        unsigned field, struct buf *out)
{
	struct buf values = {0}, shapes = {0}, types = {0}, message = {0};
	for (uint32_t k = 0; k < n; k++)
		put_tensor(t, tensor[k], &values, &shapes, &types);
	put_list(&message, VALUES_VALUES, &values);
	put_list(&message, VALUES_SHAPES, &shapes);
	put_list(&message, VALUES_TYPES, &types);
	put_bytes(out, field, message.at, message.n);
	buf_free(&values);
	buf_free(&shapes);
	buf_free(&types);
	buf_free(&message);
}

/* ---- nodes */

uint32_t sim_chakra_add(struct chakra_drafts *all, struct chakra_draft n)
{
	vec_push(&all->list, n);
	return all->list.n;
}

static void put_node(const struct chakra_draft *n, uint32_t id, const struct chakra_tensor_text *t,
                     struct buf *out)
{
	struct buf message = {0}, values = {0};
	put_number(&message, NODE_ID, id);
	put_text(&message, NODE_NAME, n->name);
	put_number(&message, NODE_TYPE, n->kind);
	put_ids(&message, NODE_CTRL, n->ctrl.at, n->ctrl.n);
	put_ids(&message, NODE_DATA, n->data.at, n->data.n);
	if (n->time)
		put_number(&message, NODE_DURATION, (uint64_t)(n->time + 500) / 1000);
	if (n->values) {
		put_text(&values, VALUES_VALUES, n->values);
		put_bytes(&message, NODE_INPUTS, values.at, values.n);
	} else {
		put_tensors(t, n->in.at, n->in.n, NODE_INPUTS, &message);
		put_tensors(t, n->out.at, n->out.n, NODE_OUTPUTS, &message);
	}
	if (n->attributes.n)
		buf_putn(&message, n->attributes.at, n->attributes.n);
	if (n->time)
		put_attribute(&message, NODE_ATTRIBUTE, "duration_ns", n->time, NULL);
	put_message(out, &message);
	buf_free(&message);
	buf_free(&values);
}

void sim_chakra_put(const struct chakra_drafts *all, const struct chakra_tensor_text *t, struct buf *out)
{
	struct buf metadata = {0};
	put_text(&metadata, METADATA_VERSION, "0.0.4");
	put_attribute(&metadata, METADATA_ATTRIBUTE, "contended", 1, NULL);
	put_message(out, &metadata);
	for (uint32_t k = 0; k < all->list.n; k++)
		put_node(&all->list.at[k], k + 1, t, out);
	buf_free(&metadata);
}

void sim_chakra_free_drafts(struct chakra_drafts *all)
{
	for (uint32_t k = 0; k < all->list.n; k++) {
		struct chakra_draft *n = &all->list.at[k];
		buf_free(&n->attributes);
		vec_free(&n->ctrl);
		vec_free(&n->data);
		vec_free(&n->in);
		vec_free(&n->out);
	}
	vec_free(&all->list);
}
