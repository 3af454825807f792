/* cpu_onednn_make: see cpu_onednn_make.h. */
#ifdef HIRC_HAVE_ONEDNN
#include "rt/cpu_onednn_make.h"
#include "base/arena.h"
#include <stdlib.h>
#include <string.h>

static size_t whole_lines(size_t bytes)
{
	return (bytes + 63) & ~(size_t)63;
}

static void unmake(struct onednn_made *p)
{
	for (int i = 0; i < 4; i++)
		if (p->arg[i].memory)
			dnnl_memory_destroy(p->arg[i].memory);
	for (int i = 0; i < 3; i++)
		if (p->pack_arg[i].memory)
			dnnl_memory_destroy(p->pack_arg[i].memory);
	if (p->product)
		dnnl_primitive_destroy(p->product);
	if (p->pack)
		dnnl_primitive_destroy(p->pack);
	*p = (struct onednn_made){.key = p->key};
}

static bool describe_matrix(dnnl_memory_desc_t *d, int64_t m, int64_t n, int64_t row, int64_t col,
                            bool narrow)
{
	return dnnl_memory_desc_init_by_strides(d, 2, (dnnl_dims_t){m, n}, narrow ? dnnl_bf16 : dnnl_f32,
	                                        (dnnl_dims_t){row, col}) == dnnl_success;
}

/* Describes a matrix in an order that oneDNN chooses. */
static bool describe_any(dnnl_memory_desc_t *d, int64_t m, int64_t n, bool narrow)
{
	return dnnl_memory_desc_init_by_tag(d, 2, (dnnl_dims_t){m, n}, narrow ? dnnl_bf16 : dnnl_f32,
	                                    dnnl_format_tag_any) == dnnl_success;
}

/* Makes attributes: the caller provides the scratch memory; add: the sum includes c. Returns NULL on
 * failure. */
static dnnl_primitive_attr_t attributes(bool add)
{
	dnnl_primitive_attr_t attr;
	dnnl_post_ops_t ops;
	if (dnnl_primitive_attr_create(&attr) != dnnl_success)
		return NULL;
	bool done = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) == dnnl_success;
	if (done && add) {
		done = dnnl_post_ops_create(&ops) == dnnl_success;
		if (done) {
			done = dnnl_post_ops_append_sum(ops, 1) == dnnl_success &&
			       dnnl_primitive_attr_set_post_ops(attr, ops) == dnnl_success;
			dnnl_post_ops_destroy(ops);
		}
	}
	if (!done) {
		dnnl_primitive_attr_destroy(attr);
		return NULL;
	}
	return attr;
}

/* Makes a primitive and its arguments, whose memory is set later. scratch: raised to the size that it
 * needs. */
static bool make_primitive(const struct cpu_onednn *o, const_dnnl_primitive_desc_t d, int n, const int *role,
                           const dnnl_memory_desc_t *const *md, dnnl_primitive_t *out, dnnl_exec_arg_t *arg,
                           size_t *scratch)
{
	const dnnl_memory_desc_t *room = dnnl_primitive_desc_query_md(d, dnnl_query_scratchpad_md, 0);
	for (int i = 0; i < n; i++) {
		arg[i].arg = role[i];
		if (dnnl_memory_create(&arg[i].memory, md[i] ? md[i] : room, o->engine, DNNL_MEMORY_NONE) !=
		    dnnl_success)
			return false;
	}
	size_t bytes = whole_lines(dnnl_memory_desc_get_size(room));
	*scratch = bytes > *scratch ? bytes : *scratch;
	return dnnl_primitive_create(out, d) == dnnl_success;
}

/* Returns the number of an order; equal orders have one number. */
static unsigned layout_of(struct cpu_onednn *o, const dnnl_memory_desc_t *md)
{
	for (unsigned i = 0; i < o->layouts; i++)
		if (dnnl_memory_desc_equal(&o->layout[i], md))
			return i + 1;
	o->layout = mem_realloc(o->layout, sizeof *o->layout * (o->layouts + 1));
	o->layout[o->layouts++] = *md;
	return o->layouts;
}

/* Makes the copy of b from its present order to the order that the product reads. */
static bool make_pack(struct cpu_onednn *o, const dnnl_memory_desc_t *lies, const dnnl_memory_desc_t *packed,
                      struct onednn_made *p)
{
	static const int role[] = {DNNL_ARG_FROM, DNNL_ARG_TO, DNNL_ARG_SCRATCHPAD};
	const dnnl_memory_desc_t *md[] = {lies, packed, NULL};
	dnnl_primitive_desc_t d;
	dnnl_primitive_attr_t attr = attributes(false);
	bool done = attr && dnnl_reorder_primitive_desc_create(&d, lies, o->engine, packed, o->engine,
	                                                       attr) == dnnl_success;
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	if (!done)
		return false;
	done = make_primitive(o, d, 3, role, md, &p->pack, p->pack_arg, &p->scratch);
	dnnl_primitive_desc_destroy(d);
	p->packed = whole_lines(dnnl_memory_desc_get_size(packed));
	p->layout = layout_of(o, packed);
	return done;
}

static bool make_product(struct cpu_onednn *o, struct onednn_made *p)
{
	static const int role[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
	const struct onednn_key *k = &p->key;
	dnnl_memory_desc_t a, b, any, c;
	dnnl_matmul_desc_t product;
	dnnl_primitive_desc_t d;
	if (!describe_matrix(&a, k->m, k->k, k->a_row, k->a_col, k->narrow) ||
	    !describe_matrix(&b, k->k, k->n, k->b_row, k->b_col, k->narrow) ||
	    !describe_any(&any, k->k, k->n, k->narrow) ||
	    !describe_matrix(&c, k->m, k->n, k->c_row, 1, k->c_narrow) ||
	    dnnl_matmul_desc_init(&product, &a, k->packed ? &any : &b, NULL, &c) != dnnl_success)
		return false;
	dnnl_primitive_attr_t attr = attributes(k->add);
	bool done = attr && dnnl_primitive_desc_create(&d, &product, attr, o->engine, NULL) == dnnl_success;
	if (attr)
		dnnl_primitive_attr_destroy(attr);
	if (!done)
		return false;
	const dnnl_memory_desc_t *read = dnnl_primitive_desc_query_md(d, dnnl_query_weights_md, 0);
	const dnnl_memory_desc_t *md[] = {&a, read, &c, NULL};
	done = (!k->packed || make_pack(o, &b, read, p)) &&
	       make_primitive(o, d, 4, role, md, &p->product, p->arg, &p->scratch);
	dnnl_primitive_desc_destroy(d);
	return done;
}

struct onednn_made *onednn_made(struct cpu_onednn *o, const struct onednn_key *key)
{
	struct onednn_made *p = NULL;
	for (unsigned i = 0; i < o->n && !p; i++)
		if (!memcmp(&o->made[i].key, key, sizeof *key))
			p = &o->made[i];
	if (!p) {
		p = &o->made[o->n < ONEDNN_MOST_MADE ? o->n++ : o->oldest++ % ONEDNN_MOST_MADE];
		unmake(p);
		p->key = *key;
		if (!make_product(o, p))
			unmake(p);
	}
	return p->product ? p : NULL;
}

struct cpu_onednn *onednn_opened(struct cpu_lane *lane)
{
	if (lane->onednn)
		return lane->onednn;
	struct cpu_onednn *o = mem_zalloc(sizeof *o);
	lane->onednn = o;
	if (dnnl_engine_create(&o->engine, dnnl_cpu, 0) != dnnl_success ||
	    dnnl_stream_create(&o->stream, o->engine, dnnl_stream_default_flags) != dnnl_success)
		cpu_onednn_free(lane);
	return lane->onednn;
}

void cpu_onednn_free(struct cpu_lane *lane)
{
	struct cpu_onednn *o = lane->onednn;
	if (!o)
		return;
	for (unsigned i = 0; i < o->n; i++)
		unmake(&o->made[i]);
	if (o->stream)
		dnnl_stream_destroy(o->stream);
	if (o->engine)
		dnnl_engine_destroy(o->engine);
	free(o->layout);
	free(o);
	lane->onednn = NULL;
}
#else
typedef int cpu_onednn_make_is_empty; /* a C file must not be empty */
#endif
