/* scan: running reductions of x2 elements. kernel_lines.c writes these definitions before it:
 *
 *     ROWS, ALONG             lines of a block, and threads of a line
 *     FOLD(a, b)              the reduction of two numbers of type wide
 *     LOAD(x), STORE(x)       an element as a number of type wide; the reverse
 *     PLACE_q, AT_q0, AT_q1   the lines of x0 and x1
 *
 *     x4 and x7 strides along lines of x1 and x0, x5 lines, x6 groups of them */

#define EACH ((arg.x2 + ALONG - 1) / ALONG) /* elements of a thread */
#define FIRST ((i64)(thread % ALONG) * EACH)
#define END (FIRST + EACH < arg.x2 ? FIRST + EACH : arg.x2)
KERNEL
{
	SHARED wide part[THREADS];
	for (i64 group = BLOCK; group < arg.x6; group += BLOCKS) {
		EACH_THREAD {
			offset q = (offset)(group * ROWS + thread / ALONG);
			if (ALONG > 1 && q < arg.x5 && FIRST < arg.x2) {
				PLACE_q(q)
				wide sum = LOAD(arg.x1[AT_q1 + FIRST * arg.x4]);
				for (i64 i = FIRST + 1; i < END; i++) {
					wide x = LOAD(arg.x1[AT_q1 + i * arg.x4]);
					sum = FOLD(sum, x);
				}
				part[thread] = sum;
			}
		}
		EACH_THREAD {
			offset q = (offset)(group * ROWS + thread / ALONG);
			if (q < arg.x5 && FIRST < arg.x2) {
				PLACE_q(q)
				wide sum = LOAD(arg.x1[AT_q1 + FIRST * arg.x4]), before = sum;
				for (u32 k = thread - thread % ALONG; k < thread; k++)
					before = k % ALONG == 0 ? part[k] : FOLD(before, part[k]);
				if (thread % ALONG)
					sum = FOLD(before, sum);
				arg.x0[AT_q0 + FIRST * arg.x7] = STORE(sum);
				for (i64 i = FIRST + 1; i < END; i++) {
					wide x = LOAD(arg.x1[AT_q1 + i * arg.x4]);
					sum = FOLD(sum, x);
					arg.x0[AT_q0 + i * arg.x7] = STORE(sum);
				}
			}
		}
	}
}
