/* bench_cluster: makes the programs to measure, and starts the ranks. */
#include "cli/bench_cluster.h"
#include "base/file.h"
#include "base/pointwise.h"
#include "cli/bench_contention.h"
#include "rt/environment.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHES = 512 };
#define PROBE_NS 400000 /* the longer program should take this much longer than the shorter one */
#define GUESS_RATE 4    /* bytes or operations per nanosecond */
#define GUESS_RATE_BLAS 30

/* Puts a chain of `count` negations on blocks of n elements. */
static void put_touch(struct buf *out, const struct bench_probe *p, int64_t count)
{
	buf_printf(out, "  input A0: f32[np@x, %lld]\n", (long long)p->n);
	for (int64_t k = 1; k <= count; k++)
		buf_printf(out, "  %sA%lld = neg(A%lld)\n", k == count ? "output " : "", (long long)k,
		           (long long)(k - 1));
}

/* Puts `count` products into the same memory: cache misses must not count as time of the product. */
static void put_product(struct buf *out, const struct bench_probe *p, int64_t count)
{
	const char *t = dtype_name(p->dtype);
	buf_printf(out, "  input A: %s[np@x, %lld, %lld]\n", t, (long long)p->m, (long long)p->k);
	buf_printf(out, "  input B: %s[%lld, %lld]\n", t, (long long)p->k, (long long)p->n);
	buf_printf(out, "  output Y: %s[np@x, %lld, %lld] = allocate()\n", t, (long long)p->m,
	           (long long)p->n);
	for (int64_t k = 0; k < count; k++)
		buf_puts(out, "  Y <- matmul(A, B)\n");
}

/* Puts products that share the right operand. apart: each has a left operand and a result of its own. */
static void put_far(struct buf *out, const struct bench_probe *p, bool apart)
{
	const char *t = dtype_name(p->dtype);
	buf_printf(out, "  input B: %s[%lld, %lld]\n", t, (long long)p->k, (long long)p->n);
	for (int64_t k = 0; k < (apart ? p->far : 1); k++)
		buf_printf(out,
		           "  input A%lld: %s[np@x, %lld, %lld]\n  output Y%lld: %s[np@x, %lld, %lld] = "
		           "allocate()\n",
		           (long long)k, t, (long long)p->m, (long long)p->k, (long long)k, t,
		           (long long)p->m, (long long)p->n);
	for (int64_t k = 0; k < p->far; k++)
		buf_printf(out, "  Y%lld <- matmul(A%lld, B)\n", (long long)(apart ? k : 0),
		           (long long)(apart ? k : 0));
}

/* Puts operations `op`; a reduction reduces rows. */
static void put_function(struct buf *out, const struct bench_probe *p, int64_t count)
{
	static const int64_t row = 256;
	bool reduces = op_info[p->kind].traits & TRAIT_REDUCTION;
	buf_printf(out, "  input A: %s[np@x, %lld, %lld]\n", dtype_name(p->dtype), (long long)(p->n / row),
	           (long long)row);
	for (int64_t k = 0; k < count; k++) {
		buf_printf(out, "  output Y%lld = %s(A", (long long)k, p->op);
		for (uint32_t i = 1; i < op_info[p->kind].min_reads; i++)
			buf_puts(out, ", A");
		buf_puts(out, reduces ? ", axis=2)\n" : ")\n");
	}
}

/* Puts products, allreduces, or each allreduce beside a product. which: BENCH_WORKS, BENCH_SENDS or
 * BENCH_BOTH. */
static void put_beside(struct buf *out, const struct bench_probe *p, unsigned which)
{
	enum { TIMES = 3 };
	long long n = p->n, side = p->m;
	buf_printf(out, "  input A: f32[np@x, %lld, %lld]\n  input B: f32[%lld, %lld]\n", side, side, side,
	           side);
	buf_printf(out, "  input X: f32[%lld] partial(x)\n", n);
	for (unsigned k = 0; k < TIMES; k++) {
		if (which != BENCH_WORKS)
			buf_printf(out,
			           "  output Z%u: f32[%lld] = allocate()\n"
			           "  Z%u <- allreduce(X, axis=x) as c%u\n",
			           k, n, k, k);
		if (which != BENCH_SENDS)
			buf_printf(out,
			           "  output Y%u: f32[np@x, %lld, %lld] = allocate()\n"
			           "  Y%u <- matmul(A, B)\n",
			           k, side, side, k);
		if (which != BENCH_WORKS)
			buf_printf(out, "  wait(c%u)\n", k);
	}
}

static int64_t clamp_count(int64_t n, int64_t least, int64_t most)
{
	return n < least ? least : n > most ? most : n;
}

static void add_probe(struct bench_cluster *o, struct bench_probe p)
{
	int64_t guess = p.k ? 2 * p.m * p.n * p.k / (p.m * p.n * p.k > 1 << 15 ? GUESS_RATE_BLAS : GUESS_RATE)
	                    : 8 * p.n / GUESS_RATE;
	p.count[0] = p.k || p.n >= 1 << 20 ? 1 : 4;
	p.count[1] = p.count[0] + clamp_count(PROBE_NS / (guess + 1), 2,
	                                      p.k          ? 32
	                                      : o->probe.n ? 128
	                                                   : LAUNCHES);
	p.programs = p.beside ? 3 : 2;
	for (unsigned k = 0; k < p.programs; k++) {
		struct buf text = {0};
		buf_puts(&text, "mesh m(x = np)\nprogram measured on m {\n");
		if (p.traced)
			bench_contention_put(&text, &p, k);
		else if (p.beside)
			put_beside(&text, &p, k);
		else if (p.far)
			put_far(&text, &p, k == 1);
		else if (p.op)
			put_function(&text, &p, p.count[k]);
		else if (p.k)
			put_product(&text, &p, p.count[k]);
		else
			put_touch(&text, &p, p.count[k]);
		buf_puts(&text, "}\n");
		p.text[k] = text.at;
	}
	vec_push(&o->probe, p);
}

static void add_cube(struct bench_cluster *o, enum dtype t, int64_t n)
{
	add_probe(o, (struct bench_probe){.dtype = t, .m = n, .n = n, .k = n});
}

/* Returns true if the rate of an operation is measured: if it computes floats from floats. The time of
 * comparisons and `where` follows from their bytes. */
static bool is_measured(enum op_kind kind)
{
	switch (kind) {
#define POINTWISE(id, hir, operands, class, linear, real, meaning)                                           \
	case OP_##id:                                                                                        \
		return OP_##id != OP_WHERE && (CLASS_##class == CLASS_ANY || CLASS_##class == CLASS_REAL);
#include "base/pointwise.def"
#undef POINTWISE
	default:
		return op_info[kind].traits & TRAIT_REDUCTION || kind == OP_SOFTMAX;
	}
}

static void add_functions(struct bench_cluster *o)
{
	static const enum dtype types[] = {DTYPE_F32, DTYPE_BF16, DTYPE_F16, DTYPE_F64};
	for (unsigned t = 0; t < (o->quick ? 1 : 4); t++)
		for (unsigned k = 0; k < OP_KIND_COUNT; k++)
			if (o->quick ? k == OP_ADD : is_measured((enum op_kind)k))
				add_probe(o, (struct bench_probe){.op = op_info[k].hir,
				                                  .kind = (enum op_kind)k,
				                                  .dtype = types[t],
				                                  .n = o->quick ? 1 << 8
				                                       : o->gpu ? 1 << 22
				                                                : 1 << 14});
}

/* Adds a probe of products with `bytes` bytes of operands and results. */
static void add_far(struct bench_cluster *o, enum dtype t, int64_t bytes)
{
	int64_t side = o->quick ? 16 : o->gpu ? 1024 : 256, each = 3 * side * side * (int64_t)dtype_bytes(t);
	add_probe(
	    o,
	    (struct bench_probe){
	        .dtype = t, .m = side, .n = side, .k = 2 * side, .far = bytes / each > 1 ? bytes / each : 1});
}

/* Adds the grids of products. Extents double, since devices multiply small, flat and large matrices in
 * different ways. On a GPU the time follows the number of tiles, so extents grow fourfold, up to products
 * that fill the GPU. The times of larger products are extrapolated from the last two. */
static void add_grids(struct bench_cluster *o)
{
	static const enum dtype of_cpu[] = {DTYPE_F32, DTYPE_F64, DTYPE_BF16},
	                        of_gpu[] = {DTYPE_F32, DTYPE_BF16};
	static const int64_t all[] = {1, 16, 32, 64, 128, 256, 512, 1024}, some[] = {1, 16, 32},
	                     wide[] = {1, 64, 256, 1024, 4096, 8192};
	struct bench_extents x = {.m = all, .n = all + 1, .m_n = 8, .n_n = 7};
	int64_t least = o->gpu ? 1 << 24 : 1 << 20, most = o->gpu ? 1 << 28 : 1 << 25;
	const enum dtype *of = o->gpu ? of_gpu : of_cpu;
	unsigned types = o->gpu ? 2 : 3;
	if (o->gpu)
		x = (struct bench_extents){.m = wide, .n = wide + 1, .m_n = 6, .n_n = 4};
	if (o->quick)
		x = (struct bench_extents){.m = some, .n = some + 1, .m_n = 3, .n_n = 2};
	o->extents = x;
	if (o->quick)
		least = most = 1 << 14;
	for (unsigned t = 0; t < types; t++) {
		for (int64_t bytes = least; bytes <= most; bytes *= 2)
			add_far(o, of[t], bytes);
		for (uint32_t m = 0; m < x.m_n; m++)
			for (uint32_t n = 0; n < x.n_n; n++)
				for (uint32_t k = 0; k < x.n_n; k++)
					add_probe(o, (struct bench_probe){.dtype = of[t],
					                                  .m = x.m[m],
					                                  .n = x.n[n],
					                                  .k = x.n[k],
					                                  .in_grid = true});
	}
}

/* Adds probes for the contention of allreduces or, with `beside_matmul`, also of each collective. */
static void add_beside(struct bench_cluster *o)
{
	struct bench_probe p = {.beside = true,
	                        .m = o->quick ? 32
	                             : o->gpu ? 2048
	                                      : 256,
	                        .n = o->quick ? 1 << 10
	                             : o->gpu ? 1 << 24
	                                      : 1 << 18};
	enum collective kind[COLLECTIVE_COUNT];
	unsigned kinds = o->beside_matmul ? bench_contention_kinds(kind) : 0;
	add_probe(o, p);
	p.traced = true;
	for (unsigned k = 0; k < kinds; k++) {
		p.collective = kind[k];
		add_probe(o, p);
	}
}

/* Adds all probes. Sizes of f32 range from those that fit in a cache to those that fit in none, in smaller
 * steps where the caches fill up. Dtypes without a grid get products of a few sizes, limited by the time they
 * take. */
static void add_probes(struct bench_cluster *o)
{
	static const enum dtype large[] = {DTYPE_F16, DTYPE_F64},
	                        slow[] = {DTYPE_F16, DTYPE_F8E4M3, DTYPE_F8E5M2, DTYPE_I64,
	                                  DTYPE_I32, DTYPE_I8,     DTYPE_U8};
	enum { CACHE_LEAST = 1 << 16, CACHE_MOST = 1 << 22 };
	int64_t most = o->quick ? 1 << 14 : 1 << 24;
	add_probe(o, (struct bench_probe){.dtype = DTYPE_F32, .n = 1});
	add_beside(o);
	for (int64_t n = 64; n <= most; n *= n >= CACHE_LEAST && n < CACHE_MOST ? 2 : 4)
		add_probe(o, (struct bench_probe){.dtype = DTYPE_F32, .n = n});
	add_functions(o);
	add_grids(o);
	for (int64_t n = o->quick ? 16 : 256; n <= (o->quick ? 16 : 4096) && o->gpu; n *= 4)
		for (unsigned t = o->quick; t < sizeof large / sizeof *large; t++)
			add_cube(o, large[t], n);
	for (unsigned t = 0; t < sizeof slow / sizeof *slow; t++)
		for (int64_t n = 16; n <= (o->quick ? 16 : 128); n *= 2)
			add_cube(o, slow[t], n);
}

/* Compiles the programs for ranks that this process starts. */
static enum status prepare_probes(struct bench *b, struct bench_cluster *o, int64_t np, bool launched)
{
	struct diag *d = compile_diag(&b->compile);
	enum status status = STATUS_OK;
	for (uint32_t i = 0; i < o->probe.n; i++)
		for (unsigned k = 0; k < o->probe.at[i].programs && status == STATUS_OK; k++) {
			struct bench_probe *p = &o->probe.at[i];
			p->run[k].compile = b->compile;
			/* hirc's own programs: debug builds would take minutes to print and parse them */
			p->run[k].compile.verify_roundtrip = p->run[k].compile.pipeline.verify_each = false;
			p->run[k].path = "<measured>";
			p->run[k].text = p->text[k];
			p->run[k].ranks = b->ranks;
			p->run[k].repeat = 1;
			if (!launched)
				status = run_prepare(&p->run[k], d, np, true);
		}
	diag_finish(d);
	diag_free(d);
	return status;
}

static void free_probes(struct bench_cluster *o)
{
	for (uint32_t i = 0; i < o->probe.n; i++)
		for (unsigned k = 0; k < o->probe.at[i].programs; k++) {
			run_free(&o->probe.at[i].run[k]);
			free(o->probe.at[i].text[k]);
		}
	vec_free(&o->probe);
}

static bool check_output(const char *path)
{
	if (!strcmp(path, "-") || rt_env_rank() > 0 || file_try_replace(path))
		return true;
	fprintf(stderr, "hirc bench: error: cannot write '%s': %s\n", path, strerror(errno));
	return false;
}

static void use_transport(struct bench_cluster *o, const char *name)
{
	for (uint32_t i = 0; i < o->probe.n; i++)
		for (unsigned k = 0; k < o->probe.at[i].programs; k++)
			o->probe.at[i].run[k].ranks.transport = name;
}

/* Measures one transport after the other, and writes one file for all. */
static enum status measure_transports(struct bench *b, struct bench_cluster *o)
{
	uint32_t n = b->transport.n, measured = 0;
	struct bench_outcome *outcome = mem_zalloc(sizeof *outcome * n);
	struct bench_measured *x = mem_zalloc(sizeof *x * n);
	for (uint32_t t = 0; t < n; t++) {
		use_transport(o, b->transport.at[t]);
		bench_launch(b, t, bench_cluster_rank, o, &outcome[t]);
		if (!bench_outcome_is_measured(&outcome[t]) || rt_env_rank() > 0)
			continue;
		if (!bench_measured_read(outcome[t].results, o, &x[measured]))
			outcome[t].status = STATUS_INTERNAL;
		o->network_alone = ++measured > 0;
	}
	enum status status = bench_outcomes_status(outcome, n);
	if (measured) {
		enum status written = bench_cluster_file(o, x, measured);
		status = status == STATUS_OK ? written : status;
	}
	if (n > 1)
		bench_cluster_beside(o, outcome, x, measured);
	for (uint32_t t = 0; t < n; t++) {
		bench_outcome_free(&outcome[t]);
		bench_measured_free(&x[t]);
	}
	free(outcome);
	free(x);
	return status;
}

enum status bench_cluster(struct bench *b, struct bench_cluster *o)
{
	bool launched = b->launch.kind == RT_BOOT_MPI;
	int64_t np = b->compile.np > 0 ? b->compile.np : 2;
	if (!launched && np > RT_SHM_MAX_RANKS) {
		fprintf(stderr,
		        "hirc bench: error: %lld ranks are more than can be started here (limit %d)\n",
		        (long long)np, RT_SHM_MAX_RANKS);
		return STATUS_USAGE;
	}
	if (!check_output(o->output))
		return STATUS_DIAGNOSTICS;
	if (o->quick) {
		b->samples = b->samples ? b->samples : 2;
		b->warmup = 1;
		o->collectives.most = o->collectives.most < 4096 ? o->collectives.most : 4096;
	}
	o->gpu = rank_options_are_cuda(&b->ranks);
	add_probes(o);
	enum status status = prepare_probes(b, o, np, launched);
	b->launch.np = launched ? 0 : (int)np;
	if (status == STATUS_OK)
		status = measure_transports(b, o);
	free_probes(o);
	return status;
}
