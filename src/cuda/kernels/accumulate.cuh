/* accumulate: places x1 of a line of x0 are reduced with elements of x2, in order. kernel_index.c writes these
 * definitions before it, and those of put.cuh:
 *
 *     FOLD(a, b)                      the reduction of two numbers of type wide
 *     LOAD(x), TERM(x), STORE(x)      an element of x0, or of x2, as a number of type wide; the reverse of LOAD */

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
			}
		}
}
