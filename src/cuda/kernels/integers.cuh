/* integers: the pointwise operations on integers. */

#undef HELPERS
#undef F
#undef OF
#undef MOD
#undef POW
#undef EXP
#undef LOG
#undef SIN
#undef COS
#undef TANH
#undef ERFINV
#undef ERFCINV
#undef LGAMMA
#undef GELU
#undef GELU_TANH
#undef SILU
#undef SIGMOID
DEVICE i64 add_i64(i64 a, i64 b) { return (i64)((u64)a + (u64)b); }
DEVICE i64 sub_i64(i64 a, i64 b) { return (i64)((u64)a - (u64)b); }
DEVICE i64 mul_i64(i64 a, i64 b) { return (i64)((u64)a * (u64)b); }
DEVICE i64 div_i64(const struct head *h, i64 a, i64 b)
{
	if (b == 0)
		fault(h, FAULT_DIVISION, a, 0);
	return b == 0 ? 0 : b == -1 ? (i64)(0 - (u64)a) : a / b;
}
DEVICE i64 mod_i64(const struct head *h, i64 a, i64 b)
{
	if (b == 0)
		fault(h, FAULT_DIVISION, a, 0);
	i64 m = b == 0 || b == -1 ? 0 : a % b;
	return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
DEVICE i64 fmod_i64(const struct head *h, i64 a, i64 b)
{
	if (b == 0)
		fault(h, FAULT_DIVISION, a, 0);
	return b == 0 || b == -1 ? 0 : a % b;
}
DEVICE i64 gcd_i64(i64 a, i64 b)
{
	u64 x = a < 0 ? 0 - (u64)a : (u64)a, y = b < 0 ? 0 - (u64)b : (u64)b;
	while (y) {
		u64 rest = x % y;
		x = y;
		y = rest;
	}
	return (i64)x;
}
DEVICE i64 neg_i64(i64 a) { return (i64)(0 - (u64)a); }
DEVICE i64 abs_i64(i64 a) { return a < 0 ? (i64)(0 - (u64)a) : a; }
DEVICE i64 relu_i64(i64 a) { return a > 0 ? a : 0; }
DEVICE i64 pow_i64(const struct head *h, i64 a, i64 b)
{
	u64 r = 1, p = (u64)a;
	if (b < 0) {
		if (a == 0)
			fault(h, FAULT_POWER, b, 0);
		return a == 1 ? 1 : a == -1 ? (b & 1 ? -1 : 1) : 0;
	}
	for (; b > 0; b >>= 1, p *= p)
		if (b & 1)
			r *= p;
	return (i64)r;
}
DEVICE i64 maximum_i64(i64 a, i64 b) { return a > b ? a : b; }
DEVICE i64 minimum_i64(i64 a, i64 b) { return a < b ? a : b; }
DEVICE i64 bitwise_and_i64(i64 a, i64 b) { return a & b; }
DEVICE i64 bitwise_or_i64(i64 a, i64 b) { return a | b; }
DEVICE i64 bitwise_xor_i64(i64 a, i64 b) { return a ^ b; }
DEVICE i64 bitwise_not_i64(i64 a) { return ~a; }
DEVICE i64 bitwise_left_shift_i64(i64 a, i64 b) { return (u64)b < 64 ? (i64)((u64)a << b) : 0; }
DEVICE i64 bitwise_right_shift_i64(i64 a, i64 b) { return a >> ((u64)b < 64 ? b : 63); }
