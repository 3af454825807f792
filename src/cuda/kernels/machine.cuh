/* machine: threads and blocks, on a GPU and on the host, where each is a loop; see kernel_prelude.c. */

#ifdef HIRC_HOST
#define SWAP(at, old, now) __sync_val_compare_and_swap(at, old, now)
#define TAKE_NUMBER(at) __sync_fetch_and_add(at, 1)
#define FENCE __sync_synchronize()
#define FRESH(at) (*(at))
#define FRESH_F32(at) (*(at))
#else
#define SWAP(at, old, now) atomicCAS(at, old, now)
#define TAKE_NUMBER(at) atomicAdd(at, 1)
#define FENCE __threadfence()
#define FRESH(at) (*(volatile u64 *)(at))
#define FRESH_F32(at) (*(volatile f32 *)(at))
#endif
DEVICE void fault(const struct head *h, u32 kind, i64 value, i64 limit)
{
	if (SWAP(&h->fault->kind, 0u, kind) != 0)
		return;
	h->fault->label = (u32)h->label;
	h->fault->value = value;
	h->fault->iteration = h->iteration;
	h->fault->limit = limit;
}
/* n / by for n < 2^31 */
struct divisor {
	u32 by, multiplier, shift, zero;
};
DEVICE u32 quotient(u32 n, struct divisor d) { return ((u32)((u64)n * d.multiplier >> 32) + n) >> d.shift; }
/* blocks and threads */
#ifdef HIRC_HOST
#define KERNEL                                                                                               \
	static void kernel(const struct arguments *given, u32 BLOCK, u32 BLOCKS);                            \
	__attribute__((visibility("default"))) const unsigned long hirc_kernel_argument_bytes =              \
	    sizeof(struct arguments);                                                                        \
	__attribute__((visibility("default"))) void hirc_kernel_run(unsigned grid, unsigned block,           \
	                                                            unsigned shared, const void *at)         \
	{                                                                                                    \
		for (u32 b = 0; b < grid; b++)                                                               \
			kernel((const struct arguments *)at, b, grid);                                       \
	}                                                                                                    \
	static void kernel(const struct arguments *given, u32 BLOCK, u32 BLOCKS)
#define arg (*given)
#define EACH_THREAD for (u32 thread = 0; thread < THREADS; thread++)
#define SHARED
#define PRIVATE(type, name, n) type name##_of[THREADS][n]
#define OWN(name) name##_of[thread]
#define ALIGNED
#define MOVE(bytes, to, from) __builtin_memcpy(to, from, bytes)
#define SUM_THREADS(name, n) sum_threads(name##_of, n)
#else
#define KERNEL                                                                                               \
	extern "C" __global__ void __launch_bounds__(THREADS)                                                \
	    hirc_kernel(const __grid_constant__ struct arguments arg)
#define BLOCK blockIdx.x
#define BLOCKS gridDim.x
#define EACH_THREAD for (u32 thread = threadIdx.x, once = 1; once; once = 0, __syncthreads())
#define SHARED __shared__
#define PRIVATE(type, name, n) type name##_own[n]
#define OWN(name) name##_own
#define ALIGNED __align__(16)
template <int bytes> DEVICE void move(void *to, const void *from)
{
	if (bytes >= 16)
		LOOP (i, bytes / 16)
			((uint4 *)to)[i] = ((const uint4 *)from)[i];
	else if (bytes == 8)
		*(uint2 *)to = *(const uint2 *)from;
	else if (bytes == 4)
		*(u32 *)to = *(const u32 *)from;
	else if (bytes == 2)
		*(u16 *)to = *(const u16 *)from;
	else
		*(u8 *)to = *(const u8 *)from;
}
#define MOVE(bytes, to, from) move<bytes>(to, from)
#define SUM_THREADS(name, n) sum_threads<n>(name##_own[0])
#endif
#define THREADS 256
/* Adds up x of n consecutive threads, n a power of two; all of them get the sum. A phase of the kernel lies
 * between two calls. The order is the same on a GPU and on the host: pairs of a warp, then warps. */
#ifdef HIRC_HOST
DEVICE void sum_threads(f64 (*x)[1], u32 n)
{
	for (u32 apart = n < 32 ? n / 2 : 16; apart > 0; apart /= 2) {
		f64 before[THREADS];
		for (u32 k = 0; k < THREADS; k++)
			before[k] = x[k][0];
		for (u32 k = 0; k < THREADS; k++)
			x[k][0] = before[k] + before[k ^ apart];
	}
	for (u32 first = 0; first < THREADS && n > 32; first += n) {
		f64 sum = x[first][0];
		for (u32 k = 32; k < n; k += 32)
			sum += x[first + k][0];
		for (u32 k = 0; k < n; k++)
			x[first + k][0] = sum;
	}
}
#else
template <int n> DEVICE void sum_threads(f64 &x)
{
	for (u32 apart = n < 32 ? n / 2 : 16; apart > 0; apart /= 2)
		x += __shfl_xor_sync(~0u, x, apart);
	if (n > 32) {
		__shared__ f64 part[THREADS / 32];
		u32 first = threadIdx.x / n * (n / 32);
		if (threadIdx.x % 32 == 0)
			part[threadIdx.x / 32] = x;
		__syncthreads();
		x = part[first];
		LOOP (k, n / 32 - 1)
			x += part[first + 1 + k];
	}
}
#endif
