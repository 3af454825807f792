/* kernel_chain: kernels for tasks that make each element of the result from one element of each operand,
 * alone or several in a unit.
 *
 *     Y = gelu(X + B), X and Y of [4096, 512], B of [512; 1]
 *         axes n = 4096, 512; vectors of 4 f32; a block handles 256 * 4 vectors at a time,
 *         a thread 4 of them, and loads these before it computes the first */
#include "cuda/kernel_steps.h"
#include <stdlib.h>

enum { MANY_VECTORS = 1 << 19, MOST_BLOCKS = 1 << 16 };

/* Returns the number of vectors that a thread handles at once: one if there are few, so that all processors
 * get some. */
static int unrolled(const struct kernel_steps *s, int64_t vectors)
{
	int loads = 0;
	for (int k = 0; k < s->views; k++)
		loads += s->loads[k] && s->inner[k];
	return vectors < MANY_VECTORS ? 1 : loads <= 2 ? 4 : loads <= 4 ? 2 : 1;
}

/* Returns the view whose elements the threads of all steps count. */
static int find_chain_output(const struct kernel_steps *s)
{
	for (unsigned k = s->steps; k-- > 0;)
		if (s->step[k].out >= 0)
			return s->step[k].out;
	return 0;
}

static void write_chain(struct kernel_writer *w, struct kernel_steps *s, const struct kernel_axes *x)
{
	int64_t count = kernel_axes_count(x);
	bool tail = x->nd == 1;
	int per = kernel_steps_vector(s, x, tail);
	int64_t vectors = (count + per - 1) / per;
	tail = tail && per > 1;
	kernel_offsets(w, kernel_axes_is_narrow(x));
	kernel_steps_arguments(w, s, x);
	int unroll = unrolled(s, vectors);
	int64_t tile = (int64_t)KERNEL_THREADS * unroll, tiles = (vectors + tile - 1) / tile;
	kernel_key(w, (unsigned)per);
	kernel_key(w, (unsigned)unroll);
	kernel_key(w, tail);
	unsigned n = kernel_extent(w, tail ? count : vectors), all = kernel_extent(w, tiles);
	kernel_grid(w, tiles < MOST_BLOCKS ? tiles : MOST_BLOCKS);
	kernel_place(w, x, per, "c");
	for (int k = 0; k < s->views; k++)
		kernel_offset(w, x, per, "c", k);
	kernel_text(w,
	            "KERNEL\n{\nEACH_THREAD {\nfor (offset tile = BLOCK; tile < arg.x%u; tile += BLOCKS) {\n",
	            all);
	kernel_steps_declare(w, s, per, unroll);
	for (int pass = 0; pass < 2; pass++) {
		kernel_text(w, "LOOP (u, %d) {\noffset number = tile * %d + u * %d + (offset)thread;\n",
		            unroll, (int)tile, KERNEL_THREADS);
		if (tail)
			kernel_text(w, "offset left = arg.x%u - number * %d;\nif (left > 0) {\n", n, per);
		else
			kernel_text(w, "if (number < arg.x%u) {\n", n);
		kernel_text(w, "PLACE_c(number)\n");
		if (pass == 0) {
			kernel_steps_load(w, s, per, "c", NULL, tail);
		} else {
			kernel_steps_open(w, s, per);
			kernel_text(w, "LOOP (e, %d) {\n", per);
			kernel_steps_compute(w, s);
			kernel_steps_keep(w, s);
			kernel_text(w, "}\n");
			kernel_steps_store(w, s, per, "c", NULL, tail);
		}
		kernel_text(w, "}\n}\n");
	}
	kernel_text(w, "}\n}\n}\n");
}

bool kernel_write_chain(struct kernel_writer *w, const struct rt_task *t)
{
	struct kernel_steps *s = malloc(sizeof *s);
	struct kernel_axes x;
	bool ok = s && kernel_steps_of(w, t, s);
	if (ok && rt_view_count(s->view[0]) == 0)
		kernel_grid(w, 0);
	else if (ok) {
		x.stride = malloc((size_t)s->views * sizeof *x.stride);
		kernel_axes_make(&x, s->view, s->views, ~0u, find_chain_output(s));
		write_chain(w, s, &x);
		free(x.stride);
	}
	free(s);
	return ok;
}
