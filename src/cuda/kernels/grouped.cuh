/* grouped: the product of each row of x1 with the matrix of its group in x2, a thread for each element. The ends of the
 * groups are x3. kernel_grouped.c writes these definitions before it:
 *
 *     wide                        the type of the sum
 *     A(x), B(x), END(x), STORE   elements of x1 and x2 as `wide`, of x3 as i64; the sum as an element
 *
 *     x4 rows here, from row x8 on; x5 columns, x6 elements of a row of x1, x7 groups; x9 … x16 strides of x0, x1, x2, x3 */

KERNEL
{
	EACH_THREAD {
		for (i64 v = (i64)BLOCK * THREADS + thread; v < arg.x4 * arg.x5; v += (i64)BLOCKS * THREADS) {
			i64 row = v / arg.x5, column = v % arg.x5, at = row + arg.x8, group = arg.x7;
			wide sum = 0;
			while (group-- > 0) {
				i64 start = group ? END(arg.x3[(group - 1) * arg.x16]) : 0;
				if (start <= at && at < END(arg.x3[group * arg.x16]))
					break;
			}
			for (i64 k = 0; k < arg.x6 && group >= 0; k++)
				sum += A(arg.x1[row * arg.x11 + k * arg.x12]) *
				       B(arg.x2[group * arg.x13 + k * arg.x14 + column * arg.x15]);
			arg.x0[row * arg.x9 + column * arg.x10] = STORE(sum);
		}
	}
}
