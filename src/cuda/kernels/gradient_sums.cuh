/* gradient_sums: the sums of rows that gradients of attention need; see GRADIENT_SUMS in rt/device.h. A block has a row for
 * each 32 threads. Before it:
 *
 *     G(x), O(x), STORE(x)      elements to f64; an f64 to an element of the result
 *     LOG(x)                    an element of l as one of the result
 *     PLACE_q, AT_q0 … AT_q3    rows of out, g, o and l
 *
 *     x0 out, x1 g, x2 o, x3 l, x4 rows, x5 columns, x6, x7 strides of g and o along a row, x8 of out */

#define LANES 32
KERNEL
{
	SHARED f64 part[THREADS];
	for (i64 first = (i64)BLOCK * (THREADS / LANES); first < arg.x4;
	     first += (i64)BLOCKS * (THREADS / LANES)) {
		EACH_THREAD {
			i64 row = first + thread / LANES;
			f64 sum = 0;
			if (row < arg.x4) {
				PLACE_q((offset)row)
				for (i64 f = thread % LANES; f < arg.x5; f += LANES)
					sum += G(arg.x1[AT_q1 + f * arg.x6]) * O(arg.x2[AT_q2 + f * arg.x7]);
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
