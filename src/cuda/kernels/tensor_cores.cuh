/* tensor_cores: products of tiles for attention.cuh and attention_gradient.cuh, one of which is written after it.
 *
 * Tiles lie in shared memory, 64 elements of a row at a time: a panel has all rows of a tile, 128 bytes
 * each. The eight pieces of 16 bytes of a row change places with its number, so that no access uses one
 * bank twice.
 *
 *     SCORES(s, q, k)    s[ROWS][KEYS] = q[ROWS][DEPTH] times the transpose of k[KEYS][DEPTH]
 *     VALUES(v)          o[ROWS][WIDTH] += p[ROWS][KEYS] times v[KEYS][WIDTH]
 *
 * A warp has 16 rows. Its threads keep s and o as mma.m16n8k16 has its result, and p as it has its first
 * operand:
 *
 *     s[4 j + c]    row lane / 4 + 8 * (c / 2),  column 8 j + lane % 4 * 2 + c % 2
 *     p[4 j + c]    row lane / 4 + 8 * (c % 2),  columns 16 j + 8 * (c / 2) + lane % 4 * 2, + 1
 *
 * There are three forms: C for the host; mma.sync; and on sm_90a wgmma, if DEPTH and WIDTH are multiples of
 * 64. wgmma computes until PRODUCTS_WAIT(n): at most n of the products that were started last are not over
 * then. HOLD(name) follows it for scores of another name than s. Before it:
 *
 *     ELEMENT         the dtype, bf16 or f16; LOAD(x) and STORE(x) convert it from and to f32 */

#define PANEL(rows) ((rows)*128)
#define PANELS(width) (((width) + 63) / 64)
#define PIECE(rows, row, piece) ((piece) / 8 * PANEL(rows) + (row)*128 + (((piece) ^ (row)) & 7) * 16)

#ifdef HIRC_HOST
#define BARRIER
#define COPIES_COMMIT
#define COPIES_WAIT(n)
#define PRODUCTS_WAIT(n)
#define HOLD(name)
#define EACH_LANE for (u32 thread = 0; thread < THREADS; thread++)
#define ROOM(name, bytes) _Alignas(16) u8 name[bytes]

DEVICE f32 power_of_2(f32 x) { return exp2f(x); }
DEVICE u32 two(f32 low, f32 high) { return (u32)STORE(low) | (u32)STORE(high) << 16; }
/* Copies 16 bytes to shared memory, or writes zeros there. */
DEVICE void copy_piece(u8 *to, const u16 *from, int live)
{
	if (live)
		__builtin_memcpy(to, from, 16);
	else
		__builtin_memset(to, 0, 16);
}
DEVICE f32 element(const u8 *tile, int rows, int row, int column)
{
	return LOAD(*(const u16 *)(tile + PIECE(rows, row, column / 8) + column % 8 * 2));
}
DEVICE void scores(f32 (*s)[KEYS / 2], const u8 *q, const u8 *k)
{
	for (u32 thread = 0; thread < THREADS; thread++)
		for (int at = 0; at < KEYS / 2; at++) {
			int row = thread / 32 * 16 + thread % 32 / 4 + at % 4 / 2 * 8;
			int key = at / 4 * 8 + thread % 4 * 2 + at % 2;
			s[thread][at] = 0;
			for (int e = 0; e < DEPTH; e++)
				s[thread][at] += element(q, ROWS, row, e) * element(k, KEYS, key, e);
		}
}
DEVICE void values(f32 (*o)[WIDTH / 2], u32 (*p)[KEYS / 4], const u8 *v)
{
	for (u32 thread = 0; thread < THREADS; thread++)
		for (int at = 0; at < WIDTH / 2; at++) {
			int column = at / 4 * 8 + thread % 4 * 2 + at % 2;
			for (int key = 0; key < KEYS; key++) {
				u32 both = p[thread / 4 * 4 + key % 8 / 2][key / 8 * 2 + at % 4 / 2];
				f32 weight = LOAD((u16)(key % 2 ? both >> 16 : both));
				o[thread][at] += weight * element(v, KEYS, key, column);
			}
		}
}
/* Replaces x of each thread by the largest, or the sum, of its quad: the threads with the same rows. */
DEVICE void quads(f32 (*x)[2], int sum)
{
	for (int first = 0; first < THREADS; first += 4)
		for (int c = 0; c < 2; c++) {
			f32 all = x[first][c];
			for (int k = 1; k < 4; k++)
				all = sum ? all + x[first + k][c] : fmaxf(all, x[first + k][c]);
			for (int k = 0; k < 4; k++)
				x[first + k][c] = all;
		}
}
#define SCORES(name, q, k) scores(name##_of, q, k)
#define VALUES(v) values(o_of, p_of, v)
#define QUADS(name, sum) quads(name##_of, sum)
#else
#define BARRIER __syncthreads()
#define EACH_LANE for (u32 thread = threadIdx.x, once = 1; once; once = 0)
#define COPIES_COMMIT asm volatile("cp.async.commit_group;" ::: "memory")
#define ROOM(name, bytes) extern __shared__ __align__(1024) u8 name[]
#define TEXT_OF(x) #x
#define NAME_OF(x) TEXT_OF(x)

DEVICE f32 power_of_2(f32 x)
{
	f32 y;
	asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
	return y;
}
DEVICE u32 two(f32 low, f32 high)
{
	u32 both;
	asm("cvt.rn." NAME_OF(ELEMENT) "x2.f32 %0, %1, %2;" : "=r"(both) : "f"(high), "f"(low));
	return both;
}
DEVICE u32 shared_at(const u8 *at) { return (u32)__cvta_generic_to_shared(at); }
DEVICE void copy_piece(u8 *to, const u16 *from, int live)
{
	asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16, %2;" ::"r"(shared_at(to)), "l"(from),
	             "r"(live ? 16 : 0)
	             : "memory");
}
DEVICE void quads(f32 *x, int sum)
{
	LOOP (k, 2)
		LOOP (c, 2) {
			f32 other = __shfl_xor_sync(0xffffffffu, x[c], k + 1);
			x[c] = sum ? x[c] + other : fmaxf(x[c], other);
		}
}
#define SCORES(name, q, k) scores(name##_own, shared_at(q), shared_at(k))
#define VALUES(v) values(o_own, p_own, shared_at(v))
#define QUADS(name, sum) quads(name##_own, sum)
#endif

#ifdef HIRC_HOST
#elif defined(__CUDA_ARCH_FEAT_SM90_ALL) && DEPTH % 64 == 0 && WIDTH % 64 == 0 && KEYS == 64
/* ---- wgmma: 64 rows of a warpgroup; see the descriptors of matrices in PTX's manual */

/* The tensor cores read shared memory by a way of their own, which must come after the copies. */
#define COPIES_WAIT(n)                                                                                       \
	asm volatile("cp.async.wait_group %0;\nfence.proxy.async.shared::cta;" ::"n"(n) : "memory")
#define PRODUCTS_WAIT(n)                                                                                     \
	do {                                                                                                 \
		asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(n) : "memory");                       \
		LOOP (i, KEYS / 2)                                                                           \
			asm volatile("" : "+f"(s_own[i])::"memory");                                         \
		LOOP (i, (n) ? 0 : WIDTH / 2)                                                                \
			asm volatile("" : "+f"(o_own[i])::"memory");                                         \
	} while (0)
#define HOLD(name)                                                                                           \
	LOOP (i, KEYS / 2)                                                                                   \
	asm volatile("" : "+f"(name##_own[i])::"memory")
#define LIST_8(f, i) f(i), f((i) + 1), f((i) + 2), f((i) + 3), f((i) + 4), f((i) + 5), f((i) + 6), f((i) + 7)
#define LIST_32(f, i) LIST_8(f, i), LIST_8(f, (i) + 8), LIST_8(f, (i) + 16), LIST_8(f, (i) + 24)
#define RESULT(i) "+f"(d[i])
#define WGMMA(n) "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32." NAME_OF(ELEMENT) "." NAME_OF(ELEMENT) " "
#define REGISTERS_32                                                                                         \
	"%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26," \
	"%27,%28,%29,%30,%31"
#define REGISTERS_64                                                                                         \
	REGISTERS_32 ",%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52," \
	             "%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63"

/* Describes rows of 128 bytes from an address on: groups of eight rows follow each other, and panels are
 * `panel` bytes apart. */
DEVICE u64 matrix_at(u32 at, u32 panel)
{
	return (u64)(at >> 4 & 0x3fff) | (u64)(panel >> 4) << 16 | (u64)(1024 >> 4) << 32 | (u64)1 << 62;
}
/* d = a b, or d += a b; a and the transpose of b are in shared memory */
DEVICE void multiply_64(f32 *d, u64 a, u64 b, int add)
{
	asm volatile("{\n.reg .pred p;\nsetp.ne.b32 p, %34, 0;\n" WGMMA(64) "{" REGISTERS_32
	                                                                    "}, %32, %33, p, 1, 1, 0, 0;\n}"
	             : LIST_32(RESULT, 0)
	             : "l"(a), "l"(b), "r"(add));
}
/* d += a b; a is in registers, b in shared memory */
DEVICE void add_64(f32 *d, const u32 *a, u64 b)
{
	asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n" WGMMA(
	                 64) "{" REGISTERS_32 "}, {%32,%33,%34,%35}, %36, p, 1, 1, 1;\n}"
	             : LIST_32(RESULT, 0)
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
DEVICE void add_128(f32 *d, const u32 *a, u64 b)
{
	asm volatile("{\n.reg .pred p;\nsetp.eq.b32 p, 0, 0;\n" WGMMA(
	                 128) "{" REGISTERS_64 "}, {%64,%65,%66,%67}, %68, p, 1, 1, 1;\n}"
	             : LIST_32(RESULT, 0), LIST_32(RESULT, 32)
	             : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}
DEVICE void scores(f32 *s, u32 q, u32 k)
{
	q += threadIdx.x / 128 * 64 * 128;
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
	LOOP (e, DEPTH / 16)
		multiply_64(s, matrix_at(q + e / 4 * PANEL(ROWS) + e % 4 * 32, 0),
		            matrix_at(k + e / 4 * PANEL(KEYS) + e % 4 * 32, 0), e > 0);
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
DEVICE void values(f32 *o, const u32 *p, u32 v)
{
	asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
	LOOP (key, KEYS / 16) {
		LOOP (n, WIDTH / 128)
			add_128(o + n * 64, p + key * 4,
			        matrix_at(v + n * 2 * PANEL(KEYS) + key * 2048, PANEL(KEYS)));
		if (WIDTH % 128)
			add_64(o + WIDTH / 128 * 64, p + key * 4,
			       matrix_at(v + WIDTH / 128 * 2 * PANEL(KEYS) + key * 2048, PANEL(KEYS)));
	}
	asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
#else
/* ---- mma.sync */

#define COPIES_WAIT(n) asm volatile("cp.async.wait_group %0;" ::"n"(n) : "memory")
#define PRODUCTS_WAIT(n)
#define HOLD(name)

/* Reads four matrices of 8 x 8; each thread gives the address of a row. */
DEVICE void matrices(u32 *to, u32 at)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
	             : "r"(at)
	             : "memory");
}
DEVICE void matrices_turned(u32 *to, u32 at)
{
	asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
	             : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
	             : "r"(at)
	             : "memory");
}
DEVICE void mma(f32 *d, const u32 *a, const u32 *b)
{
	asm("mma.sync.aligned.m16n8k16.row.col.f32." NAME_OF(ELEMENT) "." NAME_OF(
	        ELEMENT) ".f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
	    : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
	    : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
DEVICE void scores(f32 *s, u32 q, u32 k)
{
	u32 lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane % 16, key = lane % 8 + lane / 16 * 8;
	LOOP (i, KEYS / 2)
		s[i] = 0;
	LOOP (e, DEPTH / 16) {
		u32 a[4], b[4];
		matrices(a, q + PIECE(ROWS, row, e * 2 + lane / 16));
		LOOP (n, KEYS / 16) {
			matrices(b, k + PIECE(KEYS, n * 16 + key, e * 2 + lane / 8 % 2));
			mma(s + n * 8, a, b);
			mma(s + n * 8 + 4, a, b + 2);
		}
	}
}
DEVICE void values(f32 *o, const u32 *p, u32 v)
{
	u32 lane = threadIdx.x % 32;
	LOOP (key, KEYS / 16)
		LOOP (n, WIDTH / 16) {
			u32 b[4];
			matrices_turned(b, v + PIECE(KEYS, key * 16 + lane % 16, n * 2 + lane / 16));
			mma(o + n * 8, p + key * 4, b);
			mma(o + n * 8 + 4, p + key * 4, b + 2);
		}
}
#endif

/* Copies rows first … first + rows of a matrix to a tile; those from `end` on are 0. */
DEVICE void load_tile(u8 *to, const u16 *from, i64 row_stride, i64 first, i64 end, int rows, int width,
                      u32 thread)
{
	int pieces = width / 8, all = rows * pieces;
	from += first * row_stride;
	LOOP (i, (all + THREADS - 1) / THREADS) {
		int at = i * THREADS + (int)thread, row = at / pieces, piece = at % pieces;
		if (all % THREADS && at >= all)
			continue;
		int live = first + row < end;
		copy_piece(to + PIECE(rows, row, piece), from + (live ? row * row_stride : 0) + piece * 8,
		           live);
	}
}
