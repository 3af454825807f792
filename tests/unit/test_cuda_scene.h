/* test_cuda_scene: tasks with their own memory, run by a kernel's source and by the CPU device.
 *
 * All sources go into one file: the prelude once, then each source with numbered names. */
#ifndef HIRC_TESTS_TEST_CUDA_SCENE_H
#define HIRC_TESTS_TEST_CUDA_SCENE_H
#include "base/vec.h"
#include "cuda/kernel_write.h"
#include "rt/fault.h"
#include "test_rt.h"
#include <math.h>
#include <sys/mman.h>

enum { SCENE_SHARED = 227 << 10, SCENE_BYTES = 16 << 20, SCENE_GAP = 64, EMPTY = -1 };

struct scene {
	const char *name;
	char *base; /* SCENE_BYTES, of which `used` are */
	size_t used;
	struct rt_task task;
	double ulps;    /* error allowed for a float, in ulps of its type; 0: the bits must be equal */
	double least;   /* error allowed for a float besides; 0: none */
	unsigned fault; /* the fault with which it ends; 0: none */
	int kernel;     /* the number of its source; EMPTY: there is nothing to do */
	struct cuda_launch launch;
	/* if arrays is not 0, the scene reduces arrays: */
	int arrays;
	enum reduce_op op;
	enum dtype type;
	void *out;
	const void *in[CUDA_REDUCE_ARRAYS];
	int64_t count;
};

static VEC(struct scene *) scenes;
static VEC(char *) sources;          /* without the prelude */
static VEC(struct scene *) first_of; /* by source: the scene for which it was written */
static uint32_t seed = 1;

static inline uint32_t next(void)
{
	return (seed = seed * 1664525 + 1013904223) >> 8;
}

static inline struct scene *scene_new(const char *name)
{
	struct scene *s = mem_zalloc(sizeof *s);
	s->name = name;
	s->base = mmap(NULL, SCENE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
	               -1, 0);
	s->used = SCENE_GAP;
	vec_push(&scenes, s);
	return s;
}

/* Returns memory that nothing else in the scene uses, `off` bytes after an address aligned to 64. */
static inline void *scene_memory(struct scene *s, size_t bytes, size_t off)
{
	char *at = s->base + ((s->used + 63) & ~(size_t)63) + off;
	s->used = (size_t)(at - s->base) + bytes + SCENE_GAP;
	if (s->used > SCENE_BYTES)
		abort();
	return at;
}

static inline void put_random(enum dtype t, void *at, bool special)
{
	static const double odd[] = {INFINITY, -INFINITY, NAN, 0.0, -0.0, 1e30, 3e-41, 1e-5};
	if (special && dtype_is_float(t) && next() % 8 == 0)
		rt_store_f64(t, at, odd[next() % 8]);
	else if (dtype_is_float(t))
		rt_store_f64(t, at, ((double)(next() % 65) - 32) / 8);
	else if (special && next() % 8 == 0)
		rt_store_i64(t, at, (int64_t)((uint64_t)next() << 40 ^ next()));
	else
		rt_store_i64(t, at, t == DTYPE_U8 ? next() % 20 : (int64_t)(next() % 19) - 9);
}

enum layout { DENSE, TURNED, GAPS, INNER_ONE, OUTER_ONE, OFF, LAYOUTS };

/* Returns a view with these extents: row-major, with axes in another order, with gaps, with one element along
 * the inner or outer axis, or row-major at an address aligned only to an element. */
static inline struct rt_view scene_view(struct scene *s, enum dtype t, int nd, const int64_t *n,
                                        enum layout l, bool special)
{
	struct rt_view v = {.dtype = t, .nd = nd};
	int64_t stride = 1;
	for (int k = 0; k < nd; k++) {
		int d = l == TURNED ? k : nd - 1 - k;
		bool one = (l == INNER_ONE && d == nd - 1) || (l == OUTER_ONE && d == 0);
		v.n[d] = n[d];
		v.stride[d] = one ? 0 : stride;
		stride *= one ? 1 : (n[d] ? n[d] : 1) + (l == GAPS ? 3 : 0);
	}
	size_t size = dtype_bytes(t);
	v.data = scene_memory(s, (size_t)stride * size, l == OFF ? size : 0);
	for (int64_t k = 0; k < stride; k++)
		put_random(t, (char *)v.data + (size_t)k * size, special);
	return v;
}

/* ---- sources */

static inline void scene_write(struct scene *s)
{
	struct buf source = {0};
	char why[RT_WHY_BYTES] = "";
	bool ok = s->arrays ? kernel_source_arrays(s->op, s->type, s->out, s->in, s->arrays, s->count,
	                                           &source, &s->launch, why)
	                    : kernel_source(&s->task, SCENE_SHARED, &source, &s->launch, why);
	CHECK(ok);
	if (!ok)
		printf("    %s: %s\n", s->name, why);
	s->kernel = EMPTY;
	if (!ok || !s->launch.grid) {
		buf_free(&source);
		return;
	}
	const char *body = strstr(source.at, "/* the kernel */");
	for (s->kernel = 0; s->kernel < (int)sources.n; s->kernel++)
		if (!strcmp(sources.at[s->kernel], body))
			break;
	if (s->kernel == (int)sources.n) {
		vec_push(&sources, mem_strdup(body));
		vec_push(&first_of, s);
	}
	buf_free(&source);
}

/* A file has the prelude and then the sources, each with its number. */
static inline void scene_put_prelude(struct buf *out)
{
	for (int k = 0; k < KERNEL_PRELUDE; k++)
		buf_puts(out, kernel_prelude[k]);
}

static inline void scene_put_source(struct buf *out, uint32_t k)
{
	static const char *const name[] = {"copy_piece",
	                                   "element",
	                                   "scores",
	                                   "values",
	                                   "quads",
	                                   "load_tile",
	                                   "power_of_2",
	                                   "two",
	                                   "shared_at",
	                                   "matrices",
	                                   "matrices_turned",
	                                   "mma",
	                                   "matrix_at",
	                                   "multiply_64",
	                                   "add_64",
	                                   "add_128",
	                                   "arguments",
	                                   "offset",
	                                   "kernel",
	                                   "wide",
	                                   "bits",
	                                   "entry",
	                                   "before",
	                                   "key_of",
	                                   "hirc_kernel",
	                                   "hirc_kernel_run",
	                                   "hirc_kernel_argument_bytes"};
	for (size_t i = 0; i < sizeof name / sizeof *name; i++)
		buf_printf(out, "#undef %s\n#define %s %s_%u\n", name[i], name[i], name[i], k);
	/* undefines macros of the source before, so that a source uses only its own */
	buf_puts(out, sources.at[k]);
	for (const char *line = sources.at[k]; (line = strstr(line, "#define ")); line++)
		buf_printf(out, "#undef %.*s\n", (int)strcspn(line + 8, " (\n"), line + 8);
}

#endif
