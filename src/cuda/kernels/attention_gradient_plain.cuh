/* attention_gradient_plain: a gradient of attention for any dtypes, strides and extents; see attention_gradient.cuh. A
 * block computes TILE own rows and WIDTH columns of the result, from TILE others at a time. Before it:
 *
 *     A(x), B(x), C(x), D(x), SUM(x)      elements to `wide`, the type of the arithmetic
 *     STORE(x)                            and back to one of the result
 *     ADD(x, y, sum), EXP(x)              x * y + sum; e^x
 *     OF_KEYS, OF_VALUES, CAUSAL          as in attention_gradient.cuh
 *     PLACE_q, AT_q0 … AT_q6              the matrices of a batch in out, a, b, c, the mask, d and the sums
 *     MASKED(x, row, key)                 the score x with the mask
 *
 *     x0 out, x1 a, x2 b, x3 c, x4 d, x5 sums, x6 blocks, x7 blocks of a batch, x8 of them side by side, x9 own rows,
 *     x10 others, x11 elements of a and c, x12 of b and d, x13 columns of the result, x14 … x25 strides of out, a, b, c, d
 *     and the sums, x26 first, x27 scale, x28 factor of the result */

#define TILE 32
#define WIDTH 64
#define PART 16

/* Adds to x the products of a tile of own rows and one of others. */
#define ADD_PRODUCTS(x, own, other, load_own, load_other, extent)                                            \
	for (i64 part = 0; part < (extent); part += PART) {                                                  \
		EACH_THREAD {                                                                                \
			PLACE_q((offset)batch)                                                               \
			LOOP (i, TILE * PART / THREADS) {                                                    \
				int r = i * (THREADS / PART) + (int)(thread / PART);                         \
				i64 e = part + thread % PART, row = own0 + r, column = other0 + r;           \
				x_tile[r][thread % PART] = row < arg.x9 && e < (extent) ? load_own(own) : 0; \
				y_tile[r][thread % PART] =                                                   \
				    column < arg.x10 && e < (extent) ? load_other(other) : 0;                \
			}                                                                                    \
		}                                                                                            \
		EACH_THREAD {                                                                                \
			LOOP (e, PART)                                                                       \
				LOOP (i, 4)                                                                  \
					(OWN(x)[i]) = ADD(x_tile[thread / TILE + i * 8][e],                  \
					                  y_tile[thread % TILE][e], OWN(x)[i]);              \
		}                                                                                            \
	}

KERNEL
{
	SHARED wide x_tile[TILE][PART + 1];
	SHARED wide y_tile[TILE][PART + 1];
	SHARED wide p[TILE][TILE + 1];
	SHARED wide v[TILE][WIDTH];
	PRIVATE(wide, s, 4);
	PRIVATE(wide, t, 4);
	PRIVATE(wide, o, 8);
	for (i64 block = BLOCK; block < arg.x6; block += BLOCKS) {
		i64 batch = block / arg.x7, own0 = block % arg.x7 / arg.x8 * TILE,
		    column0 = block % arg.x8 * WIDTH, begin = 0, end = arg.x10;
		if (CAUSAL && !OF_KEYS && arg.x26 + own0 + TILE < end)
			end = arg.x26 + own0 + TILE;
		if (CAUSAL && OF_KEYS && own0 > arg.x26)
			begin = (own0 - arg.x26) / TILE * TILE;
		EACH_THREAD {
			LOOP (i, 8)
				OWN(o)[i] = 0;
		}
		for (i64 other0 = begin; other0 < end; other0 += TILE) {
			EACH_THREAD {
				PLACE_q((offset)batch)
				LOOP (i, 4)
					OWN(s)[i] = OWN(t)[i] = 0;
				LOOP (i, TILE * WIDTH / THREADS) {
					i64 other = other0 + i * (THREADS / WIDTH) + thread / WIDTH,
					    column = column0 + thread % WIDTH;
					v[other - other0][thread % WIDTH] =
					    other >= arg.x10 || column >= arg.x13 ? 0
					    : OF_VALUES
					        ? D(arg.x4[AT_q5 + other * arg.x22 + column * arg.x23])
					        : C(arg.x3[AT_q3 + other * arg.x20 + column * arg.x21]);
				}
			}
			ADD_PRODUCTS(s, arg.x1[AT_q1 + row * arg.x16 + e * arg.x17],
			             arg.x3[AT_q3 + column * arg.x20 + e * arg.x21], A, C, arg.x11)
			if (!OF_VALUES)
				ADD_PRODUCTS(t, arg.x2[AT_q2 + row * arg.x18 + e * arg.x19],
				             arg.x4[AT_q5 + column * arg.x22 + e * arg.x23], B, D, arg.x12)
			EACH_THREAD {
				PLACE_q((offset)batch)
				LOOP (i, 4) {
					i64 own = own0 + thread / TILE + i * 8,
					    other = other0 + thread % TILE;
					i64 row = OF_KEYS ? other : own, key = OF_KEYS ? own : other;
					wide w = 0;
					if (own < arg.x9 && other < arg.x10 &&
					    (!CAUSAL || key <= arg.x26 + row)) {
						wide l = SUM(arg.x5[AT_q6 + row * arg.x24]),
						     d = SUM(arg.x5[AT_q6 + row * arg.x24 + arg.x25]);
						wide score = MASKED(OWN(s)[i] * (wide)arg.x27, row, key);
						if (score != -INFINITE && l != -INFINITE)
							w = EXP(score - l) * (OF_VALUES ? 1 : OWN(t)[i] - d);
					}
					p[thread / TILE + i * 8][thread % TILE] = w;
				}
			}
			EACH_THREAD {
				LOOP (i, 8) {
					wide sum = OWN(o)[i];
					for (int k = 0; k < TILE; k++)
						sum = ADD(p[thread / WIDTH + i * 4][k], v[k][thread % WIDTH],
						          sum);
					OWN(o)[i] = sum;
				}
			}
		}
		EACH_THREAD {
			PLACE_q((offset)batch)
			LOOP (i, 8) {
				i64 row = own0 + thread / WIDTH + i * 4, column = column0 + thread % WIDTH;
				if (row < arg.x9 && column < arg.x13)
					arg.x0[AT_q0 + row * arg.x14 + column * arg.x15] =
					    STORE(OWN(o)[i] * (wide)arg.x28);
			}
		}
	}
}
