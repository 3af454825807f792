/* gradient_sums: the sums of rows that gradients of attention need; see GRADIENT_SUMS in rt/device.h. A block has a row for
 * each LANES threads, which read PER elements at once. Before it:
 *
 *     LANES, PER                PER 1: elements lie x6 and x7 apart
 *     G_BITS, O_BITS            types of elements of g and o
 *     G(x), O(x), STORE(x)      elements to f64; an f64 to an element of the result
 *     LOG(x)                    an element of l as one of the result
 *     PLACE_q, AT_q0 … AT_q3    rows of out, g, o and l
 *
 *     x0 out, x1 g, x2 o, x3 l, x4 rows, x5 columns, x6, x7 strides of g and o along a row, x8 of out */

#define ROWS (THREADS / LANES)
KERNEL
{
	SHARED f64 part[THREADS];
	for (i64 first = (i64)BLOCK * ROWS; first < arg.x4; first += (i64)BLOCKS * ROWS) {
		EACH_THREAD {
			i64 row = first + thread / LANES;
			f64 sum = 0;
			if (row < arg.x4) {
				PLACE_q((offset)row)
				for (i64 f = thread % LANES * PER; f < arg.x5; f += LANES * PER) {
					ALIGNED G_BITS g[PER];
					ALIGNED O_BITS o[PER];
					MOVE(sizeof g, g, arg.x1 + AT_q1 + f * arg.x6);
					MOVE(sizeof o, o, arg.x2 + AT_q2 + f * arg.x7);
					LOOP (k, PER)
						sum += G(g[k]) * O(o[k]);
				}
			}
			part[thread] = sum;
		}
		EACH_THREAD {
			i64 row = first + thread / LANES;
			if (thread % LANES == 0 && row < arg.x4) {
				PLACE_q((offset)row)
				f64 sum = 0;
				LOOP (k, LANES)
					sum += part[thread + (u32)k];
				arg.x0[AT_q0] = LOG(arg.x3[AT_q3]);
				arg.x0[AT_q0 + arg.x8] = STORE(sum);
			}
		}
	}
}
