/* kernel_norm: kernels for layer norms and root-mean-square norms along an axis, alone or in a unit with the
 * steps that make the row and those that use the result.
 *
 *     H = X + R; Y = layernorm(H, g, b); Z = cast(Y)        of [8192, 4096] bf16
 *         a row: 256 threads with two vectors of 8. Each keeps its elements of H in registers: X and R are
 *         read once, H and Z written once
 *
 * Phases: the steps before the norm, and the sum of the row; the sum of squares around the mean; the norm
 * and the steps after it. The threads of a row add up their sums in between. A row that registers cannot
 * keep is read again in each phase.
 *
 * Arithmetic is in f32 (f64 for f64), sums are in f64. Of types of 16 bits and less, the elements of a vector
 * are first added up in f32, which is more exact than they are. */
#include "cuda/kernel_steps.h"
#include <stdlib.h>

enum { KEPT_ELEMENTS = 32, KEPT_BYTES = 128 }; /* of a thread; as many as fit one of the limits */

_Static_assert(KEPT_ELEMENTS *KERNEL_THREADS >= RT_UNIT_ROW, "the rows of units fit");

struct norm {
	struct kernel_steps *s;
	const struct rt_task *t; /* the step that is the norm */
	struct kernel_axes along, apart;
	int per;                          /* number of elements of a vector */
	unsigned threads, rows;           /* threads of a row; rows of a block */
	unsigned vectors, ahead;          /* vectors of a thread; of these loaded at once */
	bool kept;                        /* the row is in registers */
	unsigned length, count, all, eps; /* numbers of arguments: vectors and elements of a row, rows */
	unsigned groups;
};

static unsigned power_from(int64_t n, unsigned most)
{
	unsigned p = 1;
	while (p < n && p < most)
		p *= 2;
	return p;
}

static const char *wide_of(const struct norm *x)
{
	return dtype_name(dtype_wide(x->t->in[0].dtype));
}

/* Returns the type in which the elements of a vector are added up. */
static const char *part_of(const struct norm *x)
{
	return dtype_bytes(x->t->in[0].dtype) <= 2 ? "f32" : "f64";
}

/* Begins a phase in which each thread whose row exists walks over its vectors. */
static void write_row_start(struct kernel_writer *w, const struct norm *x)
{
	kernel_text(w, "EACH_THREAD {\noffset q = group * %u + APART;\nif (q < arg.x%u) {\nPLACE_q(q)\n",
	            x->rows, x->all);
}

/* Writes a walk over the vectors of a row. `loads`: the part of the steps has loads. body: what is done with
 * element e of vector u. */
static void write_walk(struct kernel_writer *w, const struct norm *x, bool steps,
                       void (*body)(struct kernel_writer *w, const struct norm *x))
{
	const struct kernel_steps *s = x->s;
	unsigned tile = x->threads * x->ahead;
	if (x->kept)
		kernel_text(w, "LOOP (c, %u) {\noffset base = c * %u + ALONG;\n",
		            (x->vectors + x->ahead - 1) / x->ahead, tile);
	else
		kernel_text(w, "for (offset base = ALONG; base < arg.x%u; base += %u) {\n", x->length, tile);
	if (steps)
		kernel_steps_declare(w, s, x->per, (int)x->ahead);
	for (int pass = !steps; pass < 2; pass++) {
		kernel_text(w,
		            "LOOP (u, %u) {\noffset number = base + u * %u;\nif (number < arg.x%u) {\n"
		            "PLACE_p(number)\n",
		            x->ahead, x->threads, x->length);
		if (pass == 0)
			kernel_steps_load(w, s, x->per, "q", "p", false);
		else
			body(w, x);
		kernel_text(w, "}\n}\n");
	}
	kernel_text(w, "}\n");
}

/* Writes `d`: the element, without its mean. */
static void write_difference(struct kernel_writer *w, const struct norm *x, bool first)
{
	const char *type = dtype_name(x->t->in[0].dtype);
	kernel_text(w, "%s d = load_%s_%s(", wide_of(x), type, wide_of(x));
	if (x->kept && !first)
		kernel_text(w, "OWN(kept)[(c * %u + u) * %d + e]", x->ahead, x->per);
	else
		kernel_steps_row(w, x->s);
	kernel_text(w, ")%s;\n", first || x->t->norm == RT_NORM_RMS ? "" : " - mean");
}

/* The first phase; its sum is that of squares if the mean is 0. */
static void write_first(struct kernel_writer *w, const struct norm *x)
{
	const struct kernel_steps *s = x->s;
	const char *part = part_of(x);
	kernel_steps_open(w, s, x->per);
	kernel_text(w, "%s part = 0;\nLOOP (e, %d) {\n", part, x->per);
	kernel_steps_compute(w, s);
	kernel_steps_keep(w, s);
	if (x->kept) {
		kernel_text(w, "OWN(kept)[(c * %u + u) * %d + e] = ", x->ahead, x->per);
		kernel_steps_row(w, s);
		kernel_text(w, ";\n");
	}
	write_difference(w, x, true);
	kernel_text(w, x->t->norm == RT_NORM_RMS ? "part += (%s)d * (%s)d;\n" : "part += (%s)d;\n", part,
	            part);
	kernel_text(w, "}\nOWN(sum)[0] += (f64)part;\n");
	kernel_steps_store(w, s, x->per, "q", "p", false);
}

static void write_second(struct kernel_writer *w, const struct norm *x)
{
	const char *part = part_of(x);
	kernel_text(w, "%s part = 0;\nLOOP (e, %d) {\n", part, x->per);
	write_difference(w, x, false);
	kernel_text(w, "part += (%s)d * (%s)d;\n}\nOWN(sum)[0] += (f64)part;\n", part, part);
}

static void write_last(struct kernel_writer *w, const struct norm *x)
{
	struct kernel_steps *s = x->s;
	const struct kernel_step *step = &s->step[s->norm - 1];
	kernel_steps_open(w, s, x->per);
	kernel_text(w, "LOOP (e, %d) {\n", x->per);
	if (step->kind[0] == KERNEL_VALUE) /* steps after the norm may use its operand */
		kernel_text(w, "%s r%u = OWN(kept)[(c * %u + u) * %d + e];\n", kernel_bits(x->t->in[0].dtype),
		            step->from[0], x->ahead, x->per);
	write_difference(w, x, false);
	kernel_steps_compute(w, s);
	kernel_steps_keep(w, s);
	kernel_text(w, "}\n");
	kernel_steps_store(w, s, x->per, "q", "p", false);
}

static void write_text(struct kernel_writer *w, const struct norm *x)
{
	struct kernel_steps *s = x->s;
	const char *wide = wide_of(x);
	unsigned norm = s->norm - 1;
	for (int k = 0; k < s->views; k++) {
		kernel_offset(w, &x->apart, 1, "q", k);
		kernel_offset(w, &x->along, x->per, "p", k);
	}
	kernel_text(w, "#define ALONG ((offset)(thread %% %u))\n#define APART ((offset)(thread / %u))\n",
	            x->threads, x->threads);
	kernel_text(
	    w, "#define NORM(d) ((d) * scale)\nKERNEL\n{\nPRIVATE(f64, sum, 1);\nPRIVATE(%s, mean, 1);\n",
	    wide);
	if (x->kept)
		kernel_text(w, "PRIVATE(%s, kept, %u);\n", kernel_bits(x->t->in[0].dtype),
		            (x->vectors + x->ahead - 1) / x->ahead * x->ahead * (unsigned)x->per);
	kernel_text(w, "for (offset group = BLOCK; group < arg.x%u; group += BLOCKS) {\n", x->groups);
	s->from = 0, s->to = norm;
	write_row_start(w, x);
	kernel_text(w, "OWN(sum)[0] = 0;\n");
	write_walk(w, x, true, write_first);
	kernel_text(w, "} else OWN(sum)[0] = 0;\n}\nSUM_THREADS(sum, %u);\n", x->threads);
	if (x->t->norm == RT_NORM_LAYER) {
		write_row_start(w, x);
		kernel_text(w,
		            "%s mean = (%s)(OWN(sum)[0] / (f64)arg.x%u);\nOWN(mean)[0] = mean;\n"
		            "OWN(sum)[0] = 0;\n",
		            wide, wide, x->count);
		write_walk(w, x, !x->kept, write_second);
		kernel_text(w, "}\n}\nSUM_THREADS(sum, %u);\n", x->threads);
	}
	write_row_start(w, x);
	kernel_text(w, "%s scale = (%s)(1 / sqrt(OWN(sum)[0] / (f64)arg.x%u + arg.x%u));\n", wide, wide,
	            x->count, x->eps);
	if (x->t->norm == RT_NORM_LAYER)
		kernel_text(w, "%s mean = OWN(mean)[0];\n", wide);
	s->from = norm, s->to = s->steps, s->row_again = !x->kept;
	write_walk(w, x, true, write_last);
	kernel_text(w, "}\n}\n}\n}\n");
}

static bool write_norm(struct kernel_writer *w, struct norm *x)
{
	struct kernel_steps *s = x->s;
	kernel_offsets(w, kernel_axes_is_narrow(&x->along) && kernel_axes_is_narrow(&x->apart));
	x->per = kernel_steps_vector_apart(s, &x->along, &x->apart);
	int64_t count = kernel_axes_count(&x->along), length = count / x->per,
	        rows = kernel_axes_count(&x->apart);
	x->threads = power_from((length + 1) / 2, KERNEL_THREADS);
	x->rows = KERNEL_THREADS / x->threads;
	int64_t vectors = (length + x->threads - 1) / x->threads, elements = vectors * x->per;
	x->kept =
	    elements <= KEPT_ELEMENTS || elements * (int64_t)dtype_bytes(x->t->in[0].dtype) <= KEPT_BYTES;
	if (!x->kept && s->norm > 1) {
		snprintf(w->why, RT_WHY_BYTES, "a row of %lld elements is too long for a unit with a norm",
		         (long long)count);
		return false;
	}
	unsigned most = s->views <= 4 ? 4 : 2;
	x->ahead = vectors < most ? (unsigned)vectors : most;
	x->vectors = x->kept ? (unsigned)vectors : 0;
	kernel_steps_arguments(w, s, &x->along);
	kernel_key(w, s->norm);
	kernel_key(w, (unsigned)x->per);
	kernel_key(w, x->threads / 2);
	kernel_key(w, x->vectors);
	kernel_key(w, x->ahead);
	x->length = kernel_extent(w, length);
	x->count = kernel_extent(w, count);
	x->all = kernel_extent(w, rows);
	x->eps = kernel_f64(w, x->t->scalar[0].f);
	int64_t groups = (rows + x->rows - 1) / x->rows;
	x->groups = kernel_extent(w, groups);
	kernel_grid(w, groups < 1 << 20 ? groups : 1 << 20);
	kernel_place(w, &x->apart, 1, "q");
	kernel_place(w, &x->along, x->per, "p");
	write_text(w, x);
	return true;
}

bool kernel_write_norm(struct kernel_writer *w, const struct rt_task *t)
{
	struct kernel_steps *s = malloc(sizeof *s);
	bool ok = s && kernel_steps_of(w, t, s);
	if (ok && rt_view_count(s->view[0]) == 0) {
		kernel_grid(w, 0);
	} else if (ok) {
		struct norm x = {.s = s, .t = s->step[s->norm - 1].t};
		int out = s->step[s->norm - 1].out;
		x.along.stride = malloc(sizeof *x.along.stride * (size_t)s->views);
		x.apart.stride = malloc(sizeof *x.apart.stride * (size_t)s->views);
		kernel_axes_make(&x.along, s->view, s->views, s->removed, out < 0 ? 0 : out);
		kernel_axes_make(&x.apart, s->view, s->views, ~s->removed, out < 0 ? 0 : out);
		ok = write_norm(w, &x);
		free(x.along.stride);
		free(x.apart.stride);
	}
	free(s);
	return ok;
}
