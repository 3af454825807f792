/* transpose: a copy between views with different inner axes, by tiles. kernel_transpose.c writes these
 * definitions before it:
 *
 *     bits, CAST(x)           type of an element of the result; an element of the operand converted to it
 *     TILE, PAD               elements of a tile's side; elements in the least odd number of words
 *     PLACE_q, AT_q0, AT_q1   the matrices in x0 and x1
 *
 *     x2 blocks, x3 tiles of a matrix, x4 tiles across, x5 x x6 elements, x7 and x8 strides */

KERNEL
{
	SHARED bits tile[TILE][TILE + PAD];
	for (i64 block = BLOCK; block < arg.x2; block += BLOCKS) {
		offset number = (offset)(block % arg.x3), outer = (offset)(block / arg.x3);
		offset down = number / arg.x4 * TILE, right = number % arg.x4 * TILE;
		EACH_THREAD {
			PLACE_q(outer)
			LOOP (i, TILE * TILE / THREADS) {
				int at = i * THREADS + (int)thread, r = at % TILE, c = at / TILE;
				if (down + r < arg.x5 && right + c < arg.x6)
					tile[r][c] = CAST(arg.x1[AT_q1 + down + r + (right + c) * arg.x7]);
			}
		}
		EACH_THREAD {
			PLACE_q(outer)
			LOOP (i, TILE * TILE / THREADS) {
				int at = i * THREADS + (int)thread, c = at % TILE, r = at / TILE;
				if (down + r < arg.x5 && right + c < arg.x6)
					arg.x0[AT_q0 + (down + r) * arg.x8 + right + c] = tile[r][c];
			}
		}
	}
}
