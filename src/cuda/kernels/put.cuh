/* put: elements of x2 go to the places x1 of a line of x0; of several in one place the last one stays. With FOLD they
 * are reduced with the elements in these places, in order. kernel_index.c writes these definitions before it:
 *
 *     ROWS, ALONG                     lines of a block, and threads of a line
 *     INDEX(x), FROM(at)              an element of x1 as i64; an element of x2, or the number
 *     PLACE_q, AT_q0, AT_q1, AT_q2    the lines of x0, x1 and x2
 *     FOLD(a, b)                      the reduction of two numbers of type wide
 *     LOAD(x), TERM(x), STORE(x)      an element of x0, or of x2, as a number of type wide; the reverse of LOAD
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
#ifdef FOLD
				u32 line = thread - thread % ALONG;
				for (u32 before = line; k >= 0 && before < thread; before++)
					if (place[before] == k)
						k = -1;
				if (k >= 0) {
					PLACE_q(q)
					wide all = LOAD(arg.x0[AT_q0 + k * arg.x7]);
					for (u32 term = thread; term < line + ALONG; term++)
						if (place[term] == k) {
							wide x = TERM(
							    FROM(AT_q2 + (first + term - line) * arg.x9));
							all = FOLD(all, x);
						}
					arg.x0[AT_q0 + k * arg.x7] = STORE(all);
				}
#else
				for (u32 later = thread + 1; k >= 0 && later % ALONG; later++)
					if (place[later] == k)
						k = -1;
				if (k >= 0) {
					PLACE_q(q)
					arg.x0[AT_q0 + k * arg.x7] = FROM(AT_q2 + NUMBER * arg.x9);
				}
#endif
			}
		}
}
