/* scatter: adds rows of x1, times weights x2, to rows x3 of x0. kernel_experts.c writes these definitions
 * before it:
 *
 *     SUM(x), STORE(x)        elements of x0 to `wide`, the type of the sums, and back
 *     ROW(x), WEIGHT(x)       an element of x1 to `wide`, one of x2 to f64
 *     TO(x)                   an element of x3 to i64
 *     PLACE_c, AT_c0, AT_c1   the columns of x0 and x1
 *
 *     x4 rows of x0, x5 of x1, x6 columns, x7 … x10 strides of x2, x3, x0, x1 */

KERNEL
{
	SHARED u32 found[THREADS];
	SHARED u32 any[1];
	for (i64 row = BLOCK; row < arg.x4; row += BLOCKS) {
		for (i64 first = 0; first < arg.x5; first += 4 * THREADS) {
			EACH_THREAD {
				if (thread == 0)
					any[0] = 0;
			}
			EACH_THREAD {
				u32 bits = 0;
				LOOP (e, 4) {
					i64 j = first + thread * 4 + e;
					if (j < arg.x5) {
						i64 to = TO(arg.x3[j * arg.x8]);
						if (to >= arg.x4 && row == 0)
							fault(&arg.head, FAULT_TOKEN, to, arg.x4);
						bits |= (u32)(to == row) << e;
					}
				}
				found[thread] = bits;
				if (bits)
					any[0] = 1;
			}
			if (any[0])
				EACH_THREAD {
					for (i64 c = thread; c < arg.x6; c += THREADS) {
						PLACE_c((offset)c)
						wide sum = SUM(arg.x0[row * arg.x9 + AT_c0]);
						for (int k = 0; k < THREADS; k++) {
							u32 bits = found[k];
							for (int e = 0; bits >> e; e++)
								if (bits >> e & 1) {
									i64 j = first + k * 4 + e;
									wide weight =
									    (wide)WEIGHT(arg.x2[j * arg.x7]);
									sum +=
									    weight *
									    ROW(arg.x1[j * arg.x10 + AT_c1]);
								}
						}
						arg.x0[row * arg.x9 + AT_c0] = STORE(sum);
					}
				}
		}
	}
}
