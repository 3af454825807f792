/* gemm: products of any dtypes and strides. kernel_gemm.c writes these definitions before it:
 *
 *     A(x), B(x), STORE(x)    elements to `wide`, the type of the sums, and back
 *     ADD(x, y, sum)          x * y + sum
 *     MORE                    statements that scale x and add bias and matrix, or the element at o
 *     A_DOWN, B_DOWN          1: rows are the inner axis of the operand
 *     PLACE_q, AT_q0 … AT_q4  the matrices of a batch in x0 = x1 @ x2
 *
 *     x3 blocks, x4 tiles of a batch, x5 tiles across, x6 x x7 elements, x8 in a sum, x9 … x14 strides */

#define TILE 64
#define DEPTH 16
KERNEL
{
	SHARED wide a[DEPTH][TILE + 1];
	SHARED wide b[DEPTH][TILE + 1];
	PRIVATE(wide, sum, 16);
	for (i64 block = BLOCK; block < arg.x3; block += BLOCKS) {
		i64 tile = block % arg.x4, batch = block / arg.x4;
		i64 row = tile / arg.x5 * TILE, column = tile % arg.x5 * TILE;
		EACH_THREAD {
			LOOP (i, 16)
				OWN(sum)[i] = 0;
		}
		for (i64 depth = 0; depth < arg.x8; depth += DEPTH) {
			EACH_THREAD {
				PLACE_q((offset)batch)
				LOOP (i, TILE * DEPTH / THREADS) {
					int at = i * THREADS + (int)thread,
					    l = A_DOWN ? at / TILE : at % DEPTH;
					int r = A_DOWN ? at % TILE : at / DEPTH;
					a[l][r] = row + r < arg.x6 && depth + l < arg.x8
					              ? A(arg.x1[AT_q1 + (row + r) * arg.x9 +
					                         (depth + l) * arg.x10])
					              : 0;
					l = B_DOWN ? at % DEPTH : at / TILE;
					int c = B_DOWN ? at / DEPTH : at % TILE;
					b[l][c] = column + c < arg.x7 && depth + l < arg.x8
					              ? B(arg.x2[AT_q2 + (depth + l) * arg.x11 +
					                         (column + c) * arg.x12])
					              : 0;
				}
			}
			EACH_THREAD {
				int r = thread / 16, c = thread % 16;
				for (int l = 0; l < DEPTH; l++) {
					wide x[4], y[4];
					LOOP (i, 4)
						x[i] = a[l][r + i * 16], y[i] = b[l][c + i * 16];
					LOOP (i, 4)
						LOOP (j, 4)
							(OWN(sum)[i * 4 + j]) =
							    ADD(x[i], y[j], OWN(sum)[i * 4 + j]);
				}
			}
		}
		EACH_THREAD {
			PLACE_q((offset)batch)
			LOOP (i, 4)
				LOOP (j, 4) {
					i64 m = row + (int)(thread / 16) + i * 16,
					    n = column + (int)(thread % 16) + j * 16;
					if (m < arg.x6 && n < arg.x7) {
						wide x = OWN(sum)[i * 4 + j];
						i64 o = AT_q0 + m * arg.x13 + n * arg.x14;
						MORE
						arg.x0[o] = STORE(x);
					}
				}
		}
	}
}
