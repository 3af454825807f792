/* gather: elements of x1 at the indices x2. kernel_index.c writes these definitions before it:
 *
 *     INDEX(x), bits          an element of x2 as i64; the type of the others
 *     PER, BYTES              elements and bytes of a vector
 *     PLACE_c, AT_c0 … AT_c2  vectors of x0, x1 and x2
 *
 *     x3 vectors, x4 stride of entries, x7 entries in all, x6 of them here, from x5 on; the others give 0 */

KERNEL
{
	EACH_THREAD {
		for (i64 v = (i64)BLOCK * THREADS + thread; v < arg.x3; v += (i64)BLOCKS * THREADS) {
			offset number = (offset)v;
			PLACE_c(number)
			i64 k = INDEX(arg.x2[AT_c2]);
			ALIGNED bits x[PER];
			LOOP (e, PER)
				x[e] = 0;
			if (k < 0 || k >= arg.x7)
				fault(&arg.head, FAULT_INDEX, k, arg.x7);
			else if (k >= arg.x5 && k - arg.x5 < arg.x6)
				MOVE(BYTES, x, arg.x1 + AT_c1 + (k - arg.x5) * arg.x4);
			MOVE(BYTES, arg.x0 + AT_c0, x);
		}
	}
}
