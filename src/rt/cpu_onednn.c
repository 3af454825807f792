/* cpu_onednn: see cpu_onednn.h.
 *
 * oneDNN makes its code when it is first called, which takes 20 ms; programs of small contractions only,
 * where it wins little, are left to BLAS. What multiplies bf16 is made for each shape, in 1 ms, and kept by
 * the lane. */
#include "rt/cpu_onednn.h"
#include "base/arena.h"
#ifdef HIRC_HAVE_ONEDNN
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdlib.h>
#include <string.h>

/* m * n * k from which it is worth it. */
enum { LEAST_WORK = 1 << 24 };

/* Without AVX-512 BLAS is as fast. */
static bool has(dnnl_cpu_isa_t isa)
{
	return (dnnl_get_effective_cpu_isa() & isa) == isa;
}

/* The number belongs to the calling thread. */
static void use_threads(const struct cpu_lane *lane)
{
	if (lane->threads)
		omp_set_num_threads(lane->threads);
}

bool cpu_onednn_f32(const struct cpu_lane *lane, const struct cpu_product *p)
{
	bool at = p->a.col != 1, bt = p->b.col != 1;
	if ((double)p->m * (double)p->n * (double)p->k < LEAST_WORK || (at && bt) ||
	    !has(dnnl_cpu_isa_avx512_core))
		return false;
	use_threads(lane);
	return dnnl_sgemm(at ? 'T' : 'N', bt ? 'T' : 'N', p->m, p->n, p->k, 1, p->a.data,
	                  at ? p->a.col : p->a.row, p->b.data, bt ? p->b.col : p->b.row, p->add, p->c,
	                  p->c_row) == dnnl_success;
}

/* ---- bf16 */

enum { BF16_LEAST_WORK = 1 << 18, MOST_MADE = 256 };

/* What a primitive is made for. */
struct key {
	int64_t m, n, k, a_row, a_col, b_row, b_col, c_row, c_narrow, add;
};

struct made {
	struct key key;
	dnnl_primitive_t primitive; /* NULL: oneDNN has none */
	dnnl_exec_arg_t arg[4];     /* a, b, c, scratch */
	size_t scratch;             /* bytes */
};

struct cpu_onednn {
	dnnl_engine_t engine;
	dnnl_stream_t stream;
	unsigned n, oldest; /* made; the one that is replaced when there are MOST_MADE */
	struct made made[MOST_MADE];
};

bool cpu_onednn_takes_bf16(int64_t m, int64_t n, int64_t k)
{
	return (double)m * (double)n * (double)k >= BF16_LEAST_WORK && has(dnnl_cpu_isa_avx512_core_amx);
}

static void unmake(struct made *p)
{
	for (int i = 0; i < 4; i++)
		if (p->arg[i].memory)
			dnnl_memory_destroy(p->arg[i].memory);
	if (p->primitive)
		dnnl_primitive_destroy(p->primitive);
	*p = (struct made){0};
}

static bool describe(dnnl_memory_desc_t *d, int64_t m, int64_t n, int64_t row, int64_t col, bool narrow)
{
	return dnnl_memory_desc_init_by_strides(d, 2, (dnnl_dims_t){m, n}, narrow ? dnnl_bf16 : dnnl_f32,
	                                        (dnnl_dims_t){row, col}) == dnnl_success;
}

/* The caller's scratch, and the sum with c. */
static bool set_attributes(dnnl_primitive_attr_t attr, bool add)
{
	if (dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user) != dnnl_success)
		return false;
	dnnl_post_ops_t ops;
	if (!add)
		return true;
	if (dnnl_post_ops_create(&ops) != dnnl_success)
		return false;
	bool done = dnnl_post_ops_append_sum(ops, 1) == dnnl_success &&
	            dnnl_primitive_attr_set_post_ops(attr, ops) == dnnl_success;
	dnnl_post_ops_destroy(ops);
	return done;
}

static bool make_described(dnnl_engine_t engine, const_dnnl_primitive_desc_t d, const dnnl_memory_desc_t *md,
                           struct made *p)
{
	static const int role[] = {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST, DNNL_ARG_SCRATCHPAD};
	const dnnl_memory_desc_t *scratch = dnnl_primitive_desc_query_md(d, dnnl_query_scratchpad_md, 0);
	for (int i = 0; i < 4; i++) {
		p->arg[i].arg = role[i];
		if (dnnl_memory_create(&p->arg[i].memory, i < 3 ? &md[i] : scratch, engine,
		                       DNNL_MEMORY_NONE) != dnnl_success)
			return false;
	}
	p->scratch = dnnl_memory_desc_get_size(scratch);
	return dnnl_primitive_create(&p->primitive, d) == dnnl_success;
}

static void make(dnnl_engine_t engine, struct made *p)
{
	const struct key *k = &p->key;
	dnnl_memory_desc_t md[3];
	dnnl_matmul_desc_t product;
	dnnl_primitive_attr_t attr;
	dnnl_primitive_desc_t d;
	if (!describe(&md[0], k->m, k->k, k->a_row, k->a_col, true) ||
	    !describe(&md[1], k->k, k->n, k->b_row, k->b_col, true) ||
	    !describe(&md[2], k->m, k->n, k->c_row, 1, k->c_narrow) ||
	    dnnl_matmul_desc_init(&product, &md[0], &md[1], NULL, &md[2]) != dnnl_success ||
	    dnnl_primitive_attr_create(&attr) != dnnl_success)
		return;
	if (set_attributes(attr, k->add) &&
	    dnnl_primitive_desc_create(&d, &product, attr, engine, NULL) == dnnl_success) {
		if (!make_described(engine, d, md, p)) {
			struct key key = *k;
			unmake(p);
			p->key = key;
		}
		dnnl_primitive_desc_destroy(d);
	}
	dnnl_primitive_attr_destroy(attr);
}

static struct cpu_onednn *opened(struct cpu_lane *lane)
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

/* Made when it is first asked for, and kept. */
static struct made *made_for(struct cpu_onednn *o, const struct key *key)
{
	for (unsigned i = 0; i < o->n; i++)
		if (!memcmp(&o->made[i].key, key, sizeof *key))
			return &o->made[i];
	struct made *p = &o->made[o->n < MOST_MADE ? o->n++ : o->oldest++ % MOST_MADE];
	unmake(p);
	p->key = *key;
	make(o->engine, p);
	return p;
}

bool cpu_onednn_bf16(struct cpu_lane *lane, const struct cpu_product *p)
{
	struct key key = {p->m,     p->n,     p->k,     p->a.row,    p->a.col,
	                  p->b.row, p->b.col, p->c_row, p->c_narrow, p->add};
	char why[RT_WHY_BYTES];
	use_threads(lane);
	struct cpu_onednn *o = opened(lane);
	struct made *made = o ? made_for(o, &key) : NULL;
	void *scratch = made && made->primitive ? cpu_scratch(lane, 3, made->scratch, why) : NULL;
	if (!scratch)
		return false;
	void *data[] = {(void *)p->a.data, (void *)p->b.data, p->c, scratch};
	for (int i = 0; i < 4; i++)
		if (dnnl_memory_set_data_handle(made->arg[i].memory, data[i]) != dnnl_success)
			return false;
	return dnnl_primitive_execute(made->primitive, o->stream, 4, made->arg) == dnnl_success &&
	       dnnl_stream_wait(o->stream) == dnnl_success;
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
	free(o);
	lane->onednn = NULL;
}
#else
bool cpu_onednn_f32(const struct cpu_lane *lane, const struct cpu_product *p)
{
	(void)lane, (void)p;
	return false;
}

bool cpu_onednn_takes_bf16(int64_t m, int64_t n, int64_t k)
{
	(void)m, (void)n, (void)k;
	return false;
}

bool cpu_onednn_bf16(struct cpu_lane *lane, const struct cpu_product *p)
{
	(void)lane, (void)p;
	return false;
}

void cpu_onednn_free(struct cpu_lane *lane)
{
	(void)lane;
}
#endif
