/* attention: out = softmax(scale * q k^T) v on tensor cores, with an online softmax. tensor_cores.cuh has
 * the products and stands before it. A block computes ROWS rows of the result; it reads KEYS keys and their
 * values at a time, two tiles ahead of their use, and keeps of each row the largest score so far, the sum
 * of the weights, and the weighted sum of the values:
 *
 *     best' = max(best, scores)     p = 2^(scores - best')     by = 2^(best - best')
 *     total = total * by + sum p    o = o * by + p v           out = o / total
 *
 * While tensor cores multiply p with the values of a tile, the scores of the next tile become its p.
 *
 * If there are fewer blocks than the GPU can run, the tiles of keys are split over several blocks (SPLIT). Each
 * writes best, total and o of its rows to scratch memory, and the last one to end merges them:
 *
 *     best = max of best_k     by_k = 2^(best_k - best)     out = sum of by_k o_k / sum of by_k total_k
 *
 * Under a causal mask the rows of a block may see no key of its split; it then reads none, and writes -inf, 0 and 0.
 *
 * Before it: DEPTH, WIDTH, ROWS, KEYS; CAUSAL, 1: row i sees the keys up to first + i; PLACE_q and AT_q0 …
 * AT_q5, the matrices of a batch in out, q, k, v, the mask and the logarithms; HAS_MASK, and MASKED(x, row,
 * key), the score x with the mask, which is to be multiplied by SCALE; STORE_LOG(row, x), which stores the
 * logarithm of a row's sum, or does nothing; SPLIT, 1: keys are split; PART(split, row), where a row of a
 * split is in scratch memory: its best, its total and its WIDTH elements.
 *
 *     x0 out, x1 q, x2 k, x3 v, x4 rows, x5 keys, x6 blocks of a batch, x7 batches, x8 batches side by side,
 *     x9 … x12 distances between rows of out, q, k, v, x13 first, x14 scale * log2(e), x15 splits, x16 tiles
 *     of a split */

#define Q_BYTES (PANELS(DEPTH) * PANEL(ROWS))
#define K_BYTES (PANELS(DEPTH) * PANEL(KEYS))
#define V_BYTES (PANELS(WIDTH) * PANEL(KEYS))

#define LOAD_K(tile)                                                                                         \
	load_tile(room_k + (tile) % 2 * K_BYTES, from_k, arg.x11, (i64)(tile)*KEYS, arg.x5, KEYS, DEPTH,     \
	          thread)
#define LOAD_V(tile)                                                                                         \
	load_tile(room_v + (tile) % 2 * V_BYTES, from_v, arg.x12, (i64)(tile)*KEYS, arg.x5, KEYS, WIDTH,     \
	          thread)

/* Makes the weights of a tile from its scores. masked: not all rows see all of its keys. A row that has
 * seen none has the best score -inf. */
#define SOFTMAX(tile, masked)                                                                                \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		if (HAS_MASK) {                                                                              \
			i64 row = row0 + thread / 32 * 16 + thread % 32 / 4,                                 \
			    key = (i64)(tile)*KEYS + thread % 4 * 2;                                         \
			LOOP (i, KEYS / 2) {                                                                 \
				i64 r = row + i % 4 / 2 * 8, k = key + i / 4 * 8 + i % 2;                    \
				OWN(s)                                                                       \
				[i] = MASKED(OWN(s)[i], r < arg.x4 ? r : arg.x4 - 1,                         \
				             k < arg.x5 ? k : arg.x5 - 1);                                   \
			}                                                                                    \
		}                                                                                            \
		if (masked) {                                                                                \
			i64 key = (i64)(tile)*KEYS + thread % 4 * 2, sees = arg.x5;                          \
			i64 last = CAUSAL ? arg.x13 + row0 + thread / 32 * 16 + thread % 32 / 4 + 1 : sees;  \
			int low = (int)((last < sees ? last : sees) - key),                                  \
			    high = (int)((last + 8 * CAUSAL < sees ? last + 8 * CAUSAL : sees) - key);       \
			LOOP (i, KEYS / 2)                                                                   \
				if (i / 4 * 8 + i % 2 >= (i % 4 < 2 ? low : high))                           \
					OWN(s)[i] = -INF_F32;                                                \
		}                                                                                            \
		OWN(by)[0] = OWN(s)[0], OWN(by)[1] = OWN(s)[2];                                              \
		LOOP (i, KEYS / 2)                                                                           \
			OWN(by)[i % 4 / 2] = fmaxf(OWN(by)[i % 4 / 2], OWN(s)[i]);                           \
	}                                                                                                    \
	QUADS(by, 0);                                                                                        \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		LOOP (c, 2) {                                                                                \
			f32 most = fmaxf(OWN(best)[c], OWN(by)[c]), sum = 0;                                 \
			f32 less = most == -INF_F32 ? 0 : most * scale;                                      \
			OWN(by)[c] = power_of_2(fmaf(OWN(best)[c], scale, -less));                           \
			OWN(best)[c] = most;                                                                 \
			LOOP (i, KEYS / 4) {                                                                 \
				f32 *x = &OWN(s)[i / 2 * 4 + c * 2 + i % 2];                                 \
				*x = power_of_2(fmaf(*x, scale, -less));                                     \
				sum += *x;                                                                   \
			}                                                                                    \
			OWN(total)[c] = fmaf(OWN(total)[c], OWN(by)[c], sum);                                \
		}                                                                                            \
	}
#define ROUND_WEIGHTS                                                                                        \
	LOOP (i, KEYS / 4)                                                                                   \
		OWN(p)[i] = two(OWN(s)[i * 2], OWN(s)[i * 2 + 1]);

/* Adds the values of a tile, and makes the weights of the next one. */
#define STEP(tile, masked)                                                                                   \
	COPIES_WAIT(0);                                                                                      \
	BARRIER;                                                                                             \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		if ((tile) + 2 < tiles)                                                                      \
			LOAD_K((tile) + 2);                                                                  \
		LOAD_V((tile) + 1);                                                                          \
	}                                                                                                    \
	COPIES_COMMIT;                                                                                       \
	SCORES(s, room_q, room_k + ((tile) + 1) % 2 * K_BYTES);                                              \
	VALUES(room_v + (tile) % 2 * V_BYTES);                                                               \
	PRODUCTS_WAIT(1);                                                                                    \
	SOFTMAX((tile) + 1, masked)                                                                          \
	PRODUCTS_WAIT(0);                                                                                    \
	EACH_LANE                                                                                            \
	{                                                                                                    \
		LOOP (i, WIDTH / 2)                                                                          \
			OWN(o)[i] *= OWN(by)[i % 4 / 2];                                                     \
		ROUND_WEIGHTS                                                                                \
	}

KERNEL
{
	ROOM(room, Q_BYTES + 2 * K_BYTES + 2 * V_BYTES);
	u8 *const room_q = room, *const room_k = room + Q_BYTES, *const room_v = room_k + 2 * K_BYTES;
	PRIVATE(f32, s, KEYS / 2);
	PRIVATE(f32, o, WIDTH / 2);
	PRIVATE(u32, p, KEYS / 4);
	PRIVATE(f32, best, 2);
	PRIVATE(f32, total, 2);
	PRIVATE(f32, by, 2);
	const f32 scale = SCALE;
	const u32 group = SPLIT ? BLOCK / (u32)arg.x15 : BLOCK, split = SPLIT ? BLOCK % (u32)arg.x15 : 0;
	/* batches side by side share the caches; the longest rows of a batch come first */
	u32 side = group / (u32)(arg.x6 * arg.x8), within = group % (u32)(arg.x6 * arg.x8);
	u32 width = (u32)arg.x7 - side * (u32)arg.x8;
	width = width < (u32)arg.x8 ? width : (u32)arg.x8;
	const i64 row0 = (i64)(CAUSAL ? (u32)arg.x6 - 1 - within / width : within / width) * ROWS;
	PLACE_q((offset)(side * (u32)arg.x8 + within % width))
	const u16 *const from_q = arg.x1 + AT_q1, *const from_k = arg.x2 + AT_q2,
	                 *const from_v = arg.x3 + AT_q3;
	/* the end of the tiles that a row of the block sees, and of those that all rows see whole */
	i64 most = CAUSAL ? arg.x13 + row0 + ROWS : arg.x5, least = CAUSAL ? arg.x13 + row0 + 1 : arg.x5;
	const int all = (int)(((most < arg.x5 ? most : arg.x5) + KEYS - 1) / KEYS);
	int tile = SPLIT ? (int)(split * arg.x16) : 0;
	const int tiles = SPLIT && all - tile > arg.x16 ? tile + (int)arg.x16 : all;
	const int full = (int)((least < arg.x5 ? least : arg.x5) / KEYS), whole = full < tiles ? full : tiles;
	EACH_LANE
	{
		LOOP (i, WIDTH / 2)
			OWN(o)[i] = 0;
		LOOP (c, 2)
			OWN(best)[c] = -INF_F32, OWN(total)[c] = 0;
	}
	if (!(SPLIT && CAUSAL) || tile < tiles) { /* no row of the block may see a key of the split */
		EACH_LANE
		{
			load_tile(room_q, from_q, arg.x10, row0, arg.x4, ROWS, DEPTH, thread);
			LOAD_K(tile);
		}
		COPIES_COMMIT;
		EACH_LANE
		{
			if (tile + 1 < tiles)
				LOAD_K(tile + 1);
			LOAD_V(tile);
		}
		COPIES_COMMIT;
		COPIES_WAIT(1);
		BARRIER;
		SCORES(s, room_q, room_k + tile % 2 * K_BYTES);
		PRODUCTS_WAIT(0);
		SOFTMAX(tile, whole <= tile)
		EACH_LANE { ROUND_WEIGHTS }
		for (; tile + 1 < whole; tile++) {
			STEP(tile, 0)
		}
		for (; tile + 1 < tiles; tile++) {
			STEP(tile, 1)
		}
		COPIES_WAIT(0);
		BARRIER;
		VALUES(room_v + tile % 2 * V_BYTES);
		PRODUCTS_WAIT(0);
	}
	QUADS(total, 1);
	if (SPLIT) {
		u32 *const last = (u32 *)room; /* no more shared memory than the tiles have, which may be all */
		EACH_THREAD {
			LOOP (c, 2) {
				i64 row = row0 + thread / 32 * 16 + thread % 32 / 4 + c * 8;
				f32 *to = PART(split, row - row0);
				if (row >= arg.x4)
					continue;
				if (thread % 4 == 0)
					to[0] = OWN(best)[c], to[1] = OWN(total)[c];
				LOOP (i, WIDTH / 4)
					to[2 + i / 2 * 8 + thread % 4 * 2 + i % 2] =
					    OWN(o)[i / 2 * 4 + c * 2 + i % 2];
			}
			FENCE;
		}
		EACH_THREAD {
			if (thread == 0)
				last[0] = TAKE_NUMBER(&arg.head.scratch[group]) == (u64)arg.x15 - 1;
		}
		if (!last[0])
			return;
		EACH_THREAD {
			if (thread == 0)
				arg.head.scratch[group] = 0;
			FENCE;
			for (u32 i = thread; i < ROWS * WIDTH && row0 + i / WIDTH < arg.x4; i += THREADS) {
				i64 row = i / WIDTH;
				f32 most = -INF_F32, sum = 0, all = 0;
				for (u32 k = 0; k < arg.x15; k++)
					most = fmaxf(most, FRESH_F32(PART(k, row)));
				f32 less = most == -INF_F32 ? 0 : most * scale;
				for (u32 k = 0; k < arg.x15; k++) {
					f32 *from = PART(k, row);
					f32 by = power_of_2(fmaf(FRESH_F32(from), scale, -less));
					all = fmaf(FRESH_F32(from + 1), by, all);
					sum = fmaf(FRESH_F32(from + 2 + i % WIDTH), by, sum);
				}
				if (i % WIDTH == 0) {
					STORE_LOG(row0 + row, (less + log2f(all)) * 0.693147181f);
				}
				arg.x0[AT_q0 + (row0 + row) * arg.x9 + i % WIDTH] = STORE(all ? sum / all : 0);
			}
		}
		return;
	}
	EACH_LANE
	{
		LOOP (c, 2) {
			i64 row = row0 + thread / 32 * 16 + thread % 32 / 4 + c * 8;
			if (thread % 4 == 0 && row < arg.x4) {
				STORE_LOG(row,
				          (fmaf(OWN(best)[c], scale, log2f(OWN(total)[c]))) * 0.693147181f);
			}
			f32 by = OWN(total)[c] ? 1 / OWN(total)[c] : 0;
			u16 *to = arg.x0 + AT_q0 + row * arg.x9 + thread % 4 * 2;
			if (row < arg.x4)
				LOOP (i, WIDTH / 8) {
					u32 both =
					    two(OWN(o)[i * 4 + c * 2] * by, OWN(o)[i * 4 + c * 2 + 1] * by);
					MOVE(4, to + i * 8, &both);
				}
		}
	}
}
