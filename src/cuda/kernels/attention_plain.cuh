/* attention_plain: out = softmax(scale * q k^T) v for any dtypes, strides and extents, with an online
 * softmax; see attention.cuh. A block computes TILE rows and WIDTH columns of the result, from TILE keys at
 * a time. Before it:
 *
 *     Q(x), K(x), V(x), STORE(x)    elements to `wide`, the type of the arithmetic, and back
 *     ADD(x, y, sum)                x * y + sum
 *     EXP(x), CAUSAL                e^x; 1: row i sees the keys up to first + i
 *     PLACE_q, AT_q0 … AT_q5        the matrices of a batch in out, q, k, v, the mask and the logarithms
 *     MASKED(x, row, key)           the score x with the mask
 *     STORE_LOG(row, x)             stores the logarithm of a row's sum, or does nothing
 *
 *     x0 out, x1 q, x2 k, x3 v, x4 blocks, x5 blocks of a batch, x6 of them side by side, x7 rows, x8 keys,
 *     x9 elements of a key, x10 elements of a value, x11 … x18 strides of out, q, k, v, x19 first, x20 scale */

#define TILE 32
#define WIDTH 64
#define PART 16
KERNEL
{
	SHARED wide a[TILE][PART + 1];
	SHARED wide b[TILE][PART + 1];
	SHARED wide p[TILE][TILE + 1];
	SHARED wide v[TILE][WIDTH];
	SHARED wide best[TILE];
	SHARED wide less[TILE];
	SHARED wide by[TILE];
	SHARED f64 total[TILE];
	PRIVATE(wide, s, 4);
	PRIVATE(wide, o, 8);
	for (i64 block = BLOCK; block < arg.x4; block += BLOCKS) {
		i64 batch = block / arg.x5, row0 = block % arg.x5 / arg.x6 * TILE,
		    column0 = block % arg.x6 * WIDTH;
		i64 sees = arg.x8;
		if (CAUSAL && arg.x19 + row0 + TILE < sees)
			sees = arg.x19 + row0 + TILE;
		EACH_THREAD {
			LOOP (i, 8)
				OWN(o)[i] = 0;
			if (thread < TILE)
				best[thread] = -INFINITE, total[thread] = 0;
		}
		for (i64 key0 = 0; key0 < sees; key0 += TILE) {
			EACH_THREAD {
				PLACE_q((offset)batch)
				LOOP (i, 4)
					OWN(s)[i] = 0;
				LOOP (i, TILE * WIDTH / THREADS) {
					i64 key = key0 + i * (THREADS / WIDTH) + thread / WIDTH,
					    column = column0 + thread % WIDTH;
					v[key - key0][thread % WIDTH] =
					    key < sees && column < arg.x10
					        ? V(arg.x3[AT_q3 + key * arg.x17 + column * arg.x18])
					        : 0;
				}
			}
			for (i64 part = 0; part < arg.x9; part += PART) {
				EACH_THREAD {
					PLACE_q((offset)batch)
					LOOP (i, TILE * PART / THREADS) {
						int r = i * (THREADS / PART) + (int)(thread / PART);
						i64 e = part + thread % PART;
						a[r][thread % PART] =
						    row0 + r < arg.x7 && e < arg.x9
						        ? Q(arg.x1[AT_q1 + (row0 + r) * arg.x13 +
						                   e * arg.x14])
						        : 0;
						b[r][thread % PART] =
						    key0 + r < sees && e < arg.x9
						        ? K(arg.x2[AT_q2 + (key0 + r) * arg.x15 +
						                   e * arg.x16])
						        : 0;
					}
				}
				EACH_THREAD {
					LOOP (e, PART)
						LOOP (i, 4)
							(OWN(s)[i]) = ADD(a[thread / TILE + i * 8][e],
							                  b[thread % TILE][e], OWN(s)[i]);
				}
			}
			EACH_THREAD {
				PLACE_q((offset)batch)
				LOOP (i, 4) {
					int r = (int)(thread / TILE) + i * 8;
					i64 key = key0 + thread % TILE;
					p[r][thread % TILE] =
					    row0 + r < arg.x7 && key < sees &&
					            (!CAUSAL || key <= arg.x19 + row0 + r)
					        ? MASKED(OWN(s)[i] * (wide)arg.x20, row0 + r, key)
					        : -INFINITE;
				}
			}
			EACH_THREAD {
				if (thread < TILE) {
					wide most = best[thread];
					for (int k = 0; k < TILE; k++)
						most = p[thread][k] > most ? p[thread][k] : most;
					less[thread] = most == -INFINITE ? 0 : most;
					by[thread] = EXP(best[thread] - less[thread]);
					best[thread] = most;
				}
			}
			EACH_THREAD {
				LOOP (i, 4) {
					wide *x = &p[thread / TILE + i * 8][thread % TILE];
					*x = EXP(*x - less[thread / TILE + i * 8]);
				}
			}
			EACH_THREAD {
				if (thread < TILE) {
					f64 sum = 0;
					for (int k = 0; k < TILE; k++)
						sum += (f64)p[thread][k];
					total[thread] = total[thread] * (f64)by[thread] + sum;
				}
				LOOP (i, 8) {
					int r = (int)(thread / WIDTH) + i * 4;
					wide sum = OWN(o)[i] * by[r];
					for (int k = 0; k < TILE; k++)
						sum = ADD(p[r][k], v[k][thread % WIDTH], sum);
					OWN(o)[i] = sum;
				}
			}
		}
		EACH_THREAD {
			PLACE_q((offset)batch)
			if (column0 == 0 && thread < TILE && row0 + thread < arg.x7) {
				STORE_LOG(row0 + thread, best[thread] + (wide)log_f64(total[thread]));
			}
			LOOP (i, 8) {
				i64 row = row0 + thread / WIDTH + i * 4, column = column0 + thread % WIDTH;
				if (row < arg.x7 && column < arg.x10)
					arg.x0[AT_q0 + row * arg.x11 + column * arg.x12] = STORE(
					    total[row - row0] ? OWN(o)[i] / (wide)total[row - row0] : 0);
			}
		}
	}
}
