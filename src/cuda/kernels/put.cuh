/* put: elements of x2 go to the places x1 of a line of x0; of several in one place the last one stays. kernel_index.c
 * writes these definitions before it:
 *
 *     ROWS, ALONG                     lines of a block, and threads of a line
 *     INDEX(x), FROM(at)              an element of x1 as i64; an element of x2, or the number
 *     PLACE_q, AT_q0, AT_q1, AT_q2    the lines of x0, x1 and x2
 *
 *     x3 elements of a line of x1, x4 of x0; x5 lines, x6 groups of them; x7, x8 and x9 strides along x0, x1 and x2 */

#define NUMBER (first + thread % ALONG)
KERNEL
{
	SHARED i64 place[THREADS];
	for (i64 group = BLOCK; group < arg.x6; group += BLOCKS)
		for (i64 first = 0; first < arg.x3; first += ALONG) {
			EACH_THREAD {
				offset q = (offset)(group * ROWS + thread / ALONG);
				place[thread] = -1;
				if (q < arg.x5 && NUMBER < arg.x3) {
					PLACE_q(q)
					i64 k = INDEX(arg.x1[AT_q1 + NUMBER * arg.x8]);
					if (k < 0 || k >= arg.x4)
						fault(&arg.head, FAULT_INDEX, k, arg.x4);
					else
						place[thread] = k;
				}
			}
			EACH_THREAD {
				offset q = (offset)(group * ROWS + thread / ALONG);
				i64 k = place[thread];
				for (u32 later = thread + 1; k >= 0 && later % ALONG; later++)
					if (place[later] == k)
						k = -1;
				if (k >= 0) {
					PLACE_q(q)
					arg.x0[AT_q0 + k * arg.x7] = FROM(AT_q2 + NUMBER * arg.x9);
				}
			}
		}
}
