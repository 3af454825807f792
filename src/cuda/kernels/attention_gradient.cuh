/* attention_gradient: a gradient of attention on tensor cores; see GRADIENT in rt/device.h. tensor_cores.cuh has the
 * products and stands before it. A block computes ROWS rows of the result: those of its own rows a and b. It reads KEYS
 * others at a time, c and d, two tiles ahead of their use:
 *
 *     s = a c^T     t = b d^T     p = 2^(s - l)     z = p * (t - d)     out += z c, or p d for the gradient of v
 *
 * While tensor cores multiply the weights of a tile, the scores of the next one become weights.
 *
 * The own rows are queries for the gradient of q, and keys for the others. l and d are sums of the queries. They are +inf
 * and 0 for a query that sees no key, or that is none, so that its p is 0.
 *
 * Before it: DEPTH, WIDTH, ROWS, KEYS; OF_KEYS, 1: the own rows are keys; OF_VALUES, 1: the gradient of v, without b and t;
 * CAUSAL, 1: query i sees the keys up to first + i; PLACE_q and AT_q0 … AT_q6, the matrices of a batch in out, a, b, c, the
 * mask, d and the sums; HAS_MASK, and MASKED(x, row, key), the score x with the mask, which is to be multiplied by SCALE.
 *
 *     x0 out, x1 a, x2 b, x3 c, x4 d, x5 sums, x6 own rows, x7 others, x8 blocks of a batch, x9 batches, x10 batches side
 *     by side, x11 … x15 distances between rows of out, a, b, c, d, x16, x17 strides of the sums, x18 first,
 *     x19 scale * log2(e), x20 factor of the result */

#define A_BYTES (PANELS(DEPTH) * PANEL(ROWS))
#define B_BYTES (OF_VALUES ? 0 : PANELS(WIDTH) * PANEL(ROWS))
#define C_BYTES (PANELS(DEPTH) * PANEL(KEYS))
#define D_BYTES (PANELS(WIDTH) * PANEL(KEYS))
#define LOG2_E 1.44269504f

/* Loads the sums of a query: l, times log2(e), and d. */
DEVICE void load_sums(f32 *to, const f32 *from, i64 down, i64 across, i64 row, i64 rows)
{
	f32 l = row < rows ? from[row * down] : -INF_F32;
	to[0] = l == -INF_F32 ? INF_F32 : l * LOG2_E;
	to[1] = row < rows ? from[row * down + across] : 0;
}
/* Tiles of others in shared memory; three follow each other */
#define C_OF(tile) (room_c + (tile) % 3 * C_BYTES)
#define D_OF(tile) (room_d + (tile) % 3 * D_BYTES)
#define SUMS_OF(tile) (room_sums + (tile) % 3 * KEYS * 2)
#define LOAD_OTHERS(tile)                                                                                    \
	do {                                                                                                 \
		load_tile(C_OF(tile), from_c, arg.x14, (i64)(tile)*KEYS, arg.x7, KEYS, DEPTH, thread);       \
		load_tile(D_OF(tile), from_d, arg.x15, (i64)(tile)*KEYS, arg.x7, KEYS, WIDTH, thread);       \
		if (OF_KEYS && thread < KEYS)                                                                \
			load_sums(SUMS_OF(tile) + thread * 2, from_sums, arg.x16, arg.x17,                   \
			          (i64)(tile)*KEYS + thread, arg.x7);                                        \
	} while (0)
/* l or d of the query of element i of s */
#define SUM_OF(tile, i, k)                                                                                   \
	(OF_KEYS ? SUMS_OF(tile)[((int)thread % 4 * 2 + (i) / 4 * 8 + (i) % 2) * 2 + (k)]                    \
	         : OWN(sums)[(i) % 4 / 2 * 2 + (k)])

/* Makes the weights of a tile from its scores. */
#define WEIGHTS(tile)                                                                                        \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		i64 own = own0 + thread / 32 * 16 + thread % 32 / 4,                                         \
		    other = (i64)(tile)*KEYS + thread % 4 * 2;                                               \
		if (HAS_MASK)                                                                                \
			LOOP (i, KEYS / 2) {                                                                 \
				i64 x = own + i % 4 / 2 * 8, y = other + i / 4 * 8 + i % 2;                  \
				x = x < arg.x6 ? x : arg.x6 - 1, y = y < arg.x7 ? y : arg.x7 - 1;            \
				OWN(s)[i] = MASKED(OWN(s)[i], OF_KEYS ? y : x, OF_KEYS ? x : y);             \
			}                                                                                    \
		if (OF_KEYS ? CAUSAL && (i64)(tile)*KEYS + arg.x18 < own0 + ROWS - 1                         \
		            : (i64)((tile) + 1) * KEYS > whole) { /* not all own rows see all of it */       \
			int edge[2];                                                                         \
			LOOP (c, 2) {                                                                        \
				i64 row = own + c * 8, at = row - arg.x18;                                   \
				if (!OF_KEYS)                                                                \
					at = CAUSAL && arg.x18 + row + 1 < arg.x7 ? arg.x18 + row + 1        \
					                                          : arg.x7;                  \
				at -= other;                                                                 \
				edge[c] = (int)(at < 0 ? 0 : at < KEYS ? at : KEYS);                         \
			}                                                                                    \
			LOOP (i, KEYS / 2)                                                                   \
				if ((i / 4 * 8 + i % 2 < edge[i % 4 / 2]) == OF_KEYS)                        \
					OWN(s)[i] = -INF_F32;                                                \
		}                                                                                            \
		LOOP (i, KEYS / 2)                                                                           \
			OWN(s)[i] = power_of_2(fmaf(OWN(s)[i], scale, -SUM_OF(tile, i, 0)));                 \
	}
#define START_SCORES(tile)                                                                                   \
	SCORES(s, room_a, C_OF(tile));                                                                       \
	if (!OF_VALUES)                                                                                      \
		SCORES(t, room_b, D_OF(tile));
/* Multiplies the weights of a tile by their slopes. */
#define SLOPES(tile)                                                                                         \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		LOOP (i, KEYS / 2)                                                                           \
			OWN(s)[i] *= OWN(t)[i] - SUM_OF(tile, i, 1);                                         \
	}
#define ROUND_WEIGHTS                                                                                        \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		LOOP (i, KEYS / 4)                                                                           \
			OWN(p)[i] = two(OWN(s)[i * 2], OWN(s)[i * 2 + 1]);                                   \
	}
#define ADD_TILE(tile) VALUES(OF_VALUES ? D_OF(tile) : C_OF(tile))

KERNEL
{
	ROOM(room, A_BYTES + B_BYTES + 3 * C_BYTES + 3 * D_BYTES + OF_KEYS * KEYS * 24);
	u8 *const room_a = room, *const room_b = room_a + A_BYTES, *const room_c = room_b + B_BYTES,
	          *const room_d = room_c + 3 * C_BYTES;
	f32 *const room_sums = (f32 *)(room_d + 3 * D_BYTES);
	PRIVATE(f32, s, KEYS / 2);
	PRIVATE(f32, t, KEYS / 2);
	PRIVATE(f32, o, WIDTH / 2);
	PRIVATE(u32, p, KEYS / 4);
	PRIVATE(f32, sums, 4); /* of two own queries */
	const f32 scale = SCALE;
	/* batches side by side share the caches; the blocks with the most others come first */
	u32 side = BLOCK / (u32)(arg.x8 * arg.x10), within = BLOCK % (u32)(arg.x8 * arg.x10);
	u32 width = (u32)arg.x9 - side * (u32)arg.x10;
	width = width < (u32)arg.x10 ? width : (u32)arg.x10;
	const i64 own0 = (i64)(CAUSAL && !OF_KEYS ? (u32)arg.x8 - 1 - within / width : within / width) * ROWS;
	PLACE_q((offset)(side * (u32)arg.x10 + within % width))
	const u16 *const from_a = arg.x1 + AT_q1, *const from_b = arg.x2 + AT_q2,
	                 *const from_c = arg.x3 + AT_q3, *const from_d = arg.x4 + AT_q5;
	const f32 *const from_sums = (const f32 *)arg.x5 + AT_q6;
	i64 end = arg.x7, begin = 0;
	if (CAUSAL && !OF_KEYS && arg.x18 + own0 + ROWS < end)
		end = arg.x18 + own0 + ROWS;
	if (CAUSAL && OF_KEYS && own0 > arg.x18)
		begin = own0 - arg.x18;
	/* a query of the block sees all keys before this one */
	const i64 whole = CAUSAL && arg.x18 + own0 + 1 < arg.x7 ? arg.x18 + own0 + 1 : arg.x7;
	const int first = (int)(begin / KEYS), tiles = (int)((end + KEYS - 1) / KEYS);
	EACH_LANE
	{
		load_tile(room_a, from_a, arg.x12, own0, arg.x6, ROWS, DEPTH, thread);
		if (!OF_VALUES)
			load_tile(room_b, from_b, arg.x13, own0, arg.x6, ROWS, WIDTH, thread);
		if (first < tiles)
			LOAD_OTHERS(first);
		LOOP (i, WIDTH / 2)
			OWN(o)[i] = 0;
		LOOP (c, 2)
			if (!OF_KEYS)
				load_sums(OWN(sums) + c * 2, from_sums, arg.x16, arg.x17,
				          own0 + thread / 32 * 16 + thread % 32 / 4 + c * 8, arg.x6);
	}
	COPIES_COMMIT;
	EACH_LANE
	{
		if (first + 1 < tiles)
			LOAD_OTHERS(first + 1);
	}
	COPIES_COMMIT;
	COPIES_WAIT(1);
	BARRIER;
	if (first < tiles) {
		START_SCORES(first)
		PRODUCTS_WAIT(0);
		HOLD(t);
		WEIGHTS(first)
		if (!OF_VALUES) {
			SLOPES(first)
		}
		ROUND_WEIGHTS
		int tile = first;
		for (; tile + 1 < tiles; tile++) {
			COPIES_WAIT(0);
			BARRIER;
			EACH_LANE
			{
				if (tile + 2 < tiles)
					LOAD_OTHERS(tile + 2);
			}
			COPIES_COMMIT;
			START_SCORES(tile + 1)
			ADD_TILE(tile);
			PRODUCTS_WAIT(2 - OF_VALUES);
			WEIGHTS(tile + 1)
			if (!OF_VALUES) {
				PRODUCTS_WAIT(1);
				HOLD(t);
				SLOPES(tile + 1)
			}
			PRODUCTS_WAIT(0);
			ROUND_WEIGHTS
		}
		ADD_TILE(tile);
		PRODUCTS_WAIT(0);
	}
	EACH_LANE
	{
		LOOP (c, 2) {
			i64 row = own0 + thread / 32 * 16 + thread % 32 / 4 + c * 8;
			f32 by = (f32)arg.x20;
			u16 *to = arg.x0 + AT_q0 + row * arg.x11 + thread % 4 * 2;
			if (row < arg.x6)
				LOOP (i, WIDTH / 8) {
					u32 both =
					    two(OWN(o)[i * 4 + c * 2] * by, OWN(o)[i * 4 + c * 2 + 1] * by);
					MOVE(4, to + i * 8, &both);
				}
		}
	}
}
