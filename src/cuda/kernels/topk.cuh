/* topk: the places of the x3 largest of x2 elements. kernel_lines.c writes these definitions before it:
 *
 *     ROWS, ALONG             rows of a block, and threads of a row
 *     KEY(x), STORE(i)        an element as an integer of the same order; an index as an element
 *     PLACE_q, AT_q0, AT_q1   the rows of x0 and x1
 *
 *     x4 and x7 strides along rows of x1 and x0, x5 rows, x6 groups of them */

typedef struct {
	i64 key, offset;
} entry;
DEVICE int before(entry a, entry b) { return a.key > b.key || (a.key == b.key && a.offset < b.offset); }
DEVICE i64 key_of(f64 x)
{
	i64 bits = (i64)bits_f64(x);
	return x != x ? I64_MAX : x == 0 ? 0 : bits >= 0 ? bits : I64_MIN - bits;
}
KERNEL
{
	SHARED entry best[THREADS];
	SHARED entry taken[ROWS];
	for (i64 group = BLOCK; group < arg.x6; group += BLOCKS) {
		EACH_THREAD {
			if (thread < ROWS) {
				taken[thread].key = I64_MAX;
				taken[thread].offset = -1;
			}
		}
		for (i64 k = 0; k < arg.x3; k++) {
			EACH_THREAD {
				offset q = (offset)(group * ROWS + thread / ALONG);
				entry found = {I64_MIN, I64_MAX}, last = taken[thread / ALONG];
				if (q < arg.x5) {
					PLACE_q(q)
					for (i64 i = thread % ALONG; i < arg.x2; i += ALONG) {
						entry x = {KEY(arg.x1[AT_q1 + i * arg.x4]), i};
						if (before(last, x) && before(x, found))
							found = x;
					}
				}
				best[thread] = found;
			}
			for (u32 half = ALONG / 2; half > 0; half /= 2)
				EACH_THREAD {
					if (thread % ALONG < half &&
					    before(best[thread + half], best[thread]))
						best[thread] = best[thread + half];
				}
			EACH_THREAD {
				offset q = (offset)(group * ROWS + thread / ALONG);
				if (thread % ALONG == 0)
					taken[thread / ALONG] = best[thread];
				if (thread % ALONG == 0 && q < arg.x5) {
					PLACE_q(q)
					arg.x0[AT_q0 + k * arg.x7] = STORE(best[thread].offset);
				}
			}
		}
	}
}
