/* buckets: sorts the elements of x1 by bucket, number / x5. kernel_experts.c writes these definitions before
 * it:
 *
 *     LOAD(x), STORE(i)       an element of x1 as i64, and i64 as one of x0
 *     PLACES                  1: places in order of buckets (route), 0: elements of each bucket (count)
 *
 *     x2 elements, x3 buckets, x6 numbers, x7 elements of a thread, x4 and x8 strides of x1 and x0 */

KERNEL
{
	SHARED i64 less[THREADS];
	SHARED i64 own[THREADS];
	for (i64 bucket = BLOCK; bucket < arg.x3; bucket += BLOCKS) {
		EACH_THREAD {
			i64 first = thread * arg.x7, end = first + arg.x7 < arg.x2 ? first + arg.x7 : arg.x2;
			i64 before = 0, here = 0;
			for (i64 i = first; i < end; i++) {
				i64 number = LOAD(arg.x1[i * arg.x4]);
				if (number < 0 || number >= arg.x6) {
					fault(&arg.head, FAULT_EXPERT, number, arg.x6);
					continue;
				}
				number /= arg.x5;
				before += number < bucket;
				here += number == bucket;
			}
			less[thread] = before;
			own[thread] = here;
		}
		EACH_THREAD {
			if (thread == 0) {
				i64 next = 0, sum = 0;
				for (int k = 0; k < THREADS; k++)
					next += less[k], sum += own[k];
				less[0] = sum;
				for (int k = 0; k < THREADS; k++) {
					i64 n = own[k];
					own[k] = next;
					next += n;
				}
			}
		}
#if PLACES
		EACH_THREAD {
			i64 first = thread * arg.x7, end = first + arg.x7 < arg.x2 ? first + arg.x7 : arg.x2;
			for (i64 i = first; i < end; i++) {
				i64 number = LOAD(arg.x1[i * arg.x4]);
				if (number < 0 || number >= arg.x6 || number / arg.x5 != bucket)
					continue;
				arg.x0[own[thread]++ * arg.x8] = STORE(i);
			}
		}
#else
		EACH_THREAD {
			if (thread == 0)
				arg.x0[bucket * arg.x8] = STORE(less[0]);
		}
#endif
	}
}
